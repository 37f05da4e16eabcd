//! Frames missed for want of receive descriptors.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, amount};
use linerate_host::tunables::Value;

pub(super) const RULE: Rule = Rule {
    name: "ring-rx",
    scope: Scope::Interface,
    about: "frames missed for want of receive descriptors",
    means: "bursts find no free descriptor, and are lost before any program sees them",
    published: "ethtool(8), -g; linux/if_link.h, rx_missed_errors",
    proof: Proof::Back,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let names = [
        "rx_missed_errors",
        "rx_fifo_errors",
        "rx_no_buffer_count",
        "rx_missed",
        "rx_out_of_buffer",
        "rx_dropped",
        "rx-alloc-fail",
        "rx-hw-drop-overruns",
    ];
    let Some(finding) = view.losses(&names, "received frames are lost for want of room") else { return healthy() };
    let (name, typed) = (view.name(), view.typed());
    let ring = view
        .adapter
        .rings
        .as_ref()
        .ok()
        .and_then(|rings| amount(&rings.sizes, "rx"))
        .and_then(|rx| Some((rx.now?, rx.most?)));
    match ring {
        Some((now, most)) if now < most => finding
            .seen(format!("receive ring {now} of {most}"), format!("ethtool -g {typed}"))
            .mend(format!("ethtool -G {typed} rx {most}"))
            .sets(name, "ring-rx", Value::Number(most))
            .gain("bursts of that many frames are held"),
        _ => finding
            .mend("more queues, or a reader that is faster: see the findings about queues, interrupts and backlog"),
    }
    .alone()
}
