//! Collisions.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "collisions",
    scope: Scope::Interface,
    about: "collisions",
    means: "the link is shared or half duplex",
    published: "linux/if_link.h, collisions",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let names = ["collisions", "LateCollisions", "SingleCollisionFrames", "MultipleCollisionFrames"];
    let Some(finding) = view.losses(&names, "frames collide") else { return healthy() };
    finding.mend(format!("ethtool -s {} autoneg on, at both ends", view.typed())).alone()
}
