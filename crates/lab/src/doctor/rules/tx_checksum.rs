//! Checksums on transmit by the adapter.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "tx-checksum",
    scope: Scope::Interface,
    about: "checksums on transmit by the adapter",
    means: "each byte is read once more by a processor, and TSO is off with it",
    published: "linux/netdev_features.h; the 2012 tuning note: txcsum",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    view.off("tx-checksum-ip-generic", "tx", "a tenth to a third of the processor time of sending")
}
