//! Members of a bond that are down, or unlike.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;
use linerate_host::shell::word;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    name: "bond-half",
    scope: Scope::Interface,
    about: "members of a bond that are down, or unlike in speed or duplex",
    means: "the bond has less than all its links: less rate, or nothing to fall back on; frames over unlike links come late",
    published: "Documentation/networking/bonding.rst; /proc/net/bonding",
    proof: Proof::Look,
    look,
};

/// Lines of each member, by their names.
fn members(text: &str) -> Vec<(&str, BTreeMap<&str, &str>)> {
    let mut all: Vec<(&str, BTreeMap<&str, &str>)> = Vec::new();
    for (key, value) in text.lines().filter_map(|line| line.trim().split_once(": ")) {
        match all.last_mut() {
            _ if key == "Slave Interface" => all.push((value, BTreeMap::new())),
            Some((_, lines)) => _ = lines.entry(key).or_insert(value),
            None => {}
        }
    }
    all
}

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    if view.interface().kind.as_deref() != Some("bond") || !view.is_up() {
        return healthy();
    }
    let (path, read) = (format!("proc/net/bonding/{}", view.name()), format!("/proc/net/bonding/{}", view.typed()));
    let text = view.file(&path)?;
    let members = members(&text);
    let runs = |name: &str| view.interfaces.iter().find(|one| one.name == name).is_none_or(|one| one.has("RUNNING"));
    let state = |lines: &BTreeMap<&str, &str>| lines.get("MII Status").map_or("not told", |state| state).to_owned();
    let (up, down): (Vec<_>, Vec<_>) = members.iter().partition(|(name, lines)| state(lines) == "up" && runs(name));
    let mut found = Vec::new();
    if !down.is_empty() {
        let names: Vec<&str> = down.iter().map(|(name, _)| *name).collect();
        let of = members.len();
        let first = Finding::new(Severity::Warning, format!("{} of its {of} members are down", down.len()));
        let finding = down.iter().fold(first, |finding, (name, lines)| {
            let carrier = if runs(name) { "" } else { ", no carrier" };
            finding.seen(format!("{name}: MII Status {}{carrier}", state(lines)), read.as_str())
        });
        let set: Vec<String> = names.iter().map(|name| format!("ip link set dev {} up", word(name))).collect();
        found.push(finding.mend(format!("see cable, module and partner; {}", set.join("; "))));
    }
    let links: Vec<(&str, String)> = up
        .iter()
        .filter_map(|(name, lines)| Some((*name, lines.get("Speed")?, lines.get("Duplex")?)))
        .filter(|(_, speed, duplex)| !speed.starts_with("Unknown") && !duplex.starts_with("Unknown"))
        .map(|(name, speed, duplex)| (name, format!("{speed} {duplex}")))
        .collect();
    let kinds: BTreeSet<&str> = links.iter().map(|(_, link)| link.as_str()).collect();
    if kinds.len() > 1 {
        // Only one of them carries frames, and a slower one in reserve may be meant.
        let spare = text.lines().any(|line| line.starts_with("Bonding Mode: ") && line.contains("active-backup"));
        let severity = if spare { Severity::Note } else { Severity::Warning };
        let list: Vec<String> = links.iter().map(|(name, link)| format!("{name} {link}")).collect();
        found.push(
            Finding::new(severity, "its members have links of unlike speed or duplex")
                .seen(list.join(", "), read.as_str())
                .mend("ethtool -s DEV speed N duplex full autoneg on, the same for all; or ip link set DEV nomaster"),
        );
    }
    Ok(found)
}
