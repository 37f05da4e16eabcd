//! Checksums on receive by the adapter.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "rx-checksum",
    scope: Scope::Interface,
    about: "checksums on receive by the adapter",
    means: "each byte is read once more by a processor, and frames are not merged (GRO)",
    published: "linux/netdev_features.h; the 2012 tuning note: rxcsum",
    proof: Proof::Back,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    view.off("rx-checksum", "rx", "a tenth to a third of the processor time of receiving")
}
