//! Filters of traffic control that limit or drop.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "traffic-filters",
    scope: Scope::Interface,
    about: "filters of traffic control that limit or drop",
    means: "packets are dropped before the stack or behind it, and no counter of the interface tells which",
    published: "tc(8), tc-police(8), tc-actions(8)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let typed = view.typed();
    let filters = view.filters()?;
    let does = |action: &&String| ["police", "drop", "ctinfo", "gate"].contains(&action.as_str());
    let Some(what) = filters.iter().flat_map(|one| &one.actions).find(does) else { return healthy() };
    let word = if what == "police" { "limits" } else { "drops" };
    let first = Finding::new(Severity::Warning, format!("a filter of traffic control {word} packets"));
    let read = format!("tc -s filter show dev {typed} ingress, egress or root");
    let all = filters.iter().take(4);
    all.fold(first, |finding, one| finding.seen(format!("{}: {}", one.kind, one.actions.join(", ")), read.as_str()))
        .mend(format!("tc filter del dev {typed} ingress"))
        .alone()
}
