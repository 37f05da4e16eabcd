//! Blocks that error correction could not mend.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "fec-errors",
    scope: Scope::Interface,
    about: "blocks that error correction could not mend",
    means: "the link is at the edge: what cannot be corrected is lost",
    published: "IEEE 802.3, clauses 74, 91 and 108; ethtool(8), --show-fec",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let fec = have(&view.adapter.fec)?;
    let all: Vec<(&str, u64)> = fec.counters.iter().filter(|(_, value)| *value > 0).collect();
    let Some((name, value)) = all.iter().find(|(name, _)| name.contains("uncorr")).or(all.first()) else {
        return healthy();
    };
    let severity = if name.contains("uncorr") { Severity::Warning } else { Severity::Note };
    Finding::new(severity, format!("error correction counts {name}"))
        .seen(format!("{name} {value}"), format!("ethtool --show-fec -I {}", view.typed()))
        .mend("clean or replace cable and module; the same FEC at both ends")
        .alone()
}
