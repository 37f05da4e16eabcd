//! Queues that hold a few packets.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "queue-short",
    scope: Scope::Interface,
    about: "queueing disciplines that hold a few packets",
    means: "a burst of a sender is dropped before it reaches the adapter",
    published: "tc-pfifo(8), tc-fq_codel(8); ip-link(8), txqueuelen",
    proof: Proof::Stream,
    look,
};

/// Packets of a super-frame.
const LEAST: u32 = 44;

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let (typed, interface) = (view.typed(), view.interface());
    let mtu = interface.mtu.unwrap_or(1500);
    let of = view.qdiscs()?;
    let packets = |kind: &str, limit: u32| if kind == "bfifo" { limit / mtu.max(1) } else { limit };
    let short =
        of.iter().filter_map(|one| Some((one, one.limit?))).find(|(one, limit)| packets(&one.kind, *limit) < LEAST);
    if let Some((one, limit)) = short {
        let unit = if one.kind == "bfifo" { "bytes" } else { "packets" };
        return Finding::new(Severity::Warning, format!("its queueing discipline holds {limit} {unit}"))
            .seen(
                format!("qdisc {} at {}, limit {limit}, {} dropped", one.kind, one.parent, one.drops),
                format!("tc -s qdisc show dev {typed}"),
            )
            .mend(format!(
                "tc qdisc replace dev {typed} {} {} limit 1000{}",
                place(&one.parent),
                one.kind,
                if unit == "bytes" { "000" } else { "" }
            ))
            .alone();
    }
    // It takes its limit from the interface. That of an ifb, which queues nothing, is 32.
    let Some(length) = interface.queue_length.filter(|length| *length < LEAST) else { return healthy() };
    if !of.iter().any(|one| one.kind == "pfifo_fast") || interface.kind.as_deref() == Some("ifb") {
        return healthy();
    }
    Finding::new(Severity::Warning, format!("its queueing discipline holds {length} packets"))
        .seen(format!("qlen {length}"), format!("ip link show dev {typed}"))
        .mend(format!("ip link set dev {typed} txqueuelen 1000"))
        .alone()
}

fn place(parent: &str) -> String {
    if parent == "root" { "root".to_owned() } else { format!("parent {parent}") }
}
