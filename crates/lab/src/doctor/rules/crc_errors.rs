//! Frames with a wrong check sequence.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "crc-errors",
    scope: Scope::Interface,
    about: "frames with a wrong check sequence",
    means: "cable, module or port damage frames: TCP sees them as loss, and slows down",
    published: "linux/if_link.h, rx_crc_errors; ethtool(8), eth-mac group",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let names = [
        "rx_crc_errors",
        "rx_frame_errors",
        "FrameCheckSequenceErrors",
        "AlignmentErrors",
        "etherStatsFragments",
        "etherStatsJabbers",
    ];
    let Some(finding) = view.losses(&names, "frames arrive damaged") else { return healthy() };
    finding.mend("clean or replace cable and module; see optical power in 'linerate nic show'").alone()
}
