//! Pause frames.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "pause-frames",
    scope: Scope::Interface,
    about: "pause frames",
    means: "the receiver of them is slower than the sender, which is stopped: all its traffic waits, not only the fast flow",
    published: "IEEE 802.3, annex 31B; ethtool(8), -a",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let names = ["tx_pause_frames", "rx_pause_frames", "rx_xoff_frames", "tx_xoff_frames"];
    let Some(finding) = view.losses(&names, "pause frames flow") else { return healthy() };
    finding
        .mend("find the slower end: more queues, larger rings there; or switch pause off at both ends (ethtool -A)")
        .alone()
}
