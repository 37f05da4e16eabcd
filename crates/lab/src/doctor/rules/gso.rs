//! Segmentation at the last moment.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "gso",
    scope: Scope::Interface,
    about: "segmentation at the last moment",
    means: "each segment passes the whole stack by itself, where the adapter does not segment",
    published: "Documentation/networking/segmentation-offloads.rst",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    view.off("tx-generic-segmentation", "gso", "up to twice the rate of TCP per processor")
}
