//! Room in the table of neighbours.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "neighbour-table",
    scope: Scope::Host,
    about: "room in the table of neighbours",
    means: "when the table is full, new neighbours are not found, and what is sent to them is dropped",
    published: "Documentation/networking/ip-sysctl.rst, neigh/default/gc_thresh3; arp(7)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let name = "net.ipv4.neigh.default.gc_thresh3";
    let most = view.sysctl_number(name)?;
    // Permanent ones (ATF_PERM) do not count.
    let is_counted = |line: &str| {
        let flags = line.split_whitespace().nth(2)?.strip_prefix("0x")?;
        Some(u32::from_str_radix(flags, 16).ok()? & 4 == 0)
    };
    let table = view.file("proc/net/arp")?;
    let entries = table.lines().skip(1).filter(|line| is_counted(line) == Some(true)).count() as u64;
    if entries * 2 <= most {
        return healthy();
    }
    let finding = view
        .set(Severity::Warning, name, most, (entries * 4).max(4096))
        .seen(format!("{entries} entries that are not permanent"), "/proc/net/arp")
        .gain("the table has room for the neighbours that it has, and as many again");
    match full(&view.file("proc/net/stat/arp_cache").unwrap_or_default()) {
        0 => finding,
        times => finding.seen(format!("table_fulls {times}"), "/proc/net/stat/arp_cache"),
    }
    .alone()
}

/// Number of times that the table was full, of all processors.
fn full(text: &str) -> u64 {
    let mut lines = text.lines();
    let at = lines.next().and_then(|names| names.split_whitespace().position(|name| name == "table_fulls"));
    let count = |line: &str| u64::from_str_radix(line.split_whitespace().nth(at?)?, 16).ok();
    lines.filter_map(count).sum()
}
