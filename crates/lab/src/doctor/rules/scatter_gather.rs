//! Frames from several pieces of memory.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "scatter-gather",
    scope: Scope::Interface,
    about: "frames from several pieces of memory",
    means: "each frame is copied together before it is sent; TSO and zero-copy are off with it",
    published: "linux/netdev_features.h",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    view.off("tx-scatter-gather", "sg", "what a copy of each byte costs")
}
