//! Frames longer than this end takes.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "length-errors",
    scope: Scope::Interface,
    about: "frames longer than this end takes",
    means: "the other end sends with a larger MTU: its long frames are lost here",
    published: "linux/if_link.h, rx_length_errors, rx_over_errors",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let names =
        ["rx_length_errors", "rx_over_errors", "OutOfRangeLengthField", "FrameTooLongErrors", "etherStatsOversizePkts"];
    let Some(finding) = view.losses(&names, "frames longer than the MTU arrive") else { return healthy() };
    let typed = view.typed();
    let mtu = view.interface().mtu.unwrap_or_default();
    finding
        .seen(format!("MTU {mtu}"), format!("ip link show dev {typed}"))
        .mend(format!("ip link set dev {typed} mtu N, with the MTU of the other end"))
        .alone()
}
