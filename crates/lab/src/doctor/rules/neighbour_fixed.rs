//! Neighbours that somebody has set.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "neighbour-fixed",
    scope: Scope::Interface,
    about: "neighbours whose link-layer address somebody has set",
    means: "another adapter at that host, and nothing arrives there any more",
    published: "ip-neighbour(8), permanent",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let (name, typed) = (view.name(), view.typed());
    let fixed: Vec<_> =
        view.neighbours()?.into_iter().filter(|one| one.state == "permanent" && one.mac.is_some()).collect();
    // The next hop of the peer that was named.
    let hop = view.peer.as_ref().filter(|probed| probed.way == name && probed.refused.is_none());
    let dead = hop.filter(|probed| probed.answered == 0).map(|probed| probed.hop());
    let Some(first) = fixed.iter().find(|one| Some(one.address) == dead).or(fixed.first()) else { return healthy() };
    let severity = if Some(first.address) == dead { Severity::Warning } else { Severity::Note };
    let mac = first.mac.as_deref().unwrap_or_default();
    let what = match severity {
        Severity::Note => format!("{} of its neighbours are set by hand", fixed.len()),
        _ => format!("the neighbour {} is set by hand, and does not answer there", first.address),
    };
    Finding::new(severity, what)
        .seen(format!("{} is {mac}, permanent", first.address), format!("ip neigh show dev {typed}"))
        .mend(format!("ip neigh del {} dev {typed}", first.address))
        .alone()
}
