//! Frames dropped on transmit.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "tx-drops",
    scope: Scope::Interface,
    about: "frames dropped on transmit",
    means: "frames are lost in this machine, before the wire",
    published: "linux/if_link.h, tx_dropped",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let names = ["tx_dropped", "tx_fifo_errors", "tx_carrier_errors", "tx_aborted_errors", "tx_heartbeat_errors"];
    let Some(mut finding) = view.losses(&names, "frames are dropped on transmit") else { return healthy() };
    // To stations that it does not know, as of each broadcast where it has no list of them.
    if view.is_tunnel() {
        finding.severity = Severity::Note;
    }
    finding.mend(format!("see the queueing discipline: tc -s qdisc show dev {}", view.typed())).alone()
}
