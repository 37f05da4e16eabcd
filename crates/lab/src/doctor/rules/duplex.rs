//! Duplex of the link.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "duplex",
    scope: Scope::Interface,
    about: "duplex of the link",
    means: "each side waits while the other sends; with the partner at full duplex frames collide and are lost",
    published: "IEEE 802.3, clause 4; ethtool(8)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let modes = have(&view.adapter.modes)?;
    if modes.duplex != Some("half") {
        return healthy();
    }
    let typed = view.typed();
    Finding::new(Severity::Error, "the link is half duplex")
        .seen("duplex half", view.link_modes())
        .mend(format!("ethtool -s {typed} autoneg on"))
        .gain("both directions at once, and no collisions")
        .alone()
}
