//! Queueing disciplines that limit the rate.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "shaped",
    scope: Scope::Interface,
    about: "queueing disciplines that limit the rate",
    means: "what is measured is the discipline, not the adapter",
    published: "tc(8); tc-tbf(8), tc-fq(8), tc-netem(8)",
    proof: Proof::Look,
    look,
};

/// Disciplines that are there to delay, drop or limit.
const KINDS: &[&str] = &["tbf", "netem", "htb", "hfsc", "cbq", "blackhole", "plug", "cake"];

/// Bytes per second, 40 Gb/s.
const WIDE: u64 = 5_000_000_000;

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let typed = view.typed();
    let read = format!("tc -s qdisc show dev {typed}");
    let mut seen = Vec::new();
    for one in view.qdiscs().unwrap_or_default() {
        let rate = one.rate.map(|rate| format!(", {} Mb/s", rate as f64 * 8.0 / 1e6)).unwrap_or_default();
        if KINDS.contains(&one.kind.as_str()) || one.rate.is_some() {
            seen.push((one.kind.clone(), format!("qdisc {} at {}{rate}, {} dropped", one.kind, one.parent, one.drops)));
        }
    }
    // The root alone is told with the interface, too.
    if let Some(root) = view.interface().qdisc.as_deref().filter(|root| seen.is_empty() && KINDS.contains(root)) {
        seen.push((root.to_owned(), format!("qdisc {root}")));
    }
    let Some((kind, _)) = seen.first() else { return healthy() };
    // Classes that hold to more than the link has, or than anybody asks for, hold nothing back.
    let ceiling = view.network.ceilings.get(&view.interface().index).copied();
    let most = view.speed().map_or(WIDE, |speed| u64::from(speed) * 125_000);
    let severity = match ceiling {
        Some(rate) if kind == "htb" && rate >= most => Severity::Note,
        _ => Severity::Warning,
    };
    let first = Finding::new(severity, format!("its queueing discipline is {kind}, which delays, drops or limits"));
    let finding = seen.iter().take(4).fold(first, |finding, (_, value)| finding.seen(value.as_str(), read.as_str()));
    finding.mend(format!("tc qdisc del dev {typed} root")).alone()
}
