//! TCP segmentation by the adapter.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "tso",
    scope: Scope::Interface,
    about: "TCP segmentation by the adapter",
    means: "each segment passes the whole stack by itself",
    published: "Documentation/networking/segmentation-offloads.rst; the 2012 tuning note: tso",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    view.off("tx-tcp-segmentation", "tso", "a multiple of the rate of TCP per processor at MTU 1500")
}
