//! Segments that TCP sent again.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::protocols::protocol_counter;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "retransmits",
    scope: Scope::Host,
    about: "segments that TCP sent again",
    means: "the path loses packets, or delays them for long: each loss halves a connection's rate, or nearly so",
    published: "RFC 9293, section 3.8; RFC 9438, section 4.6; nstat(8), TcpRetransSegs",
    proof: Proof::Look,
    look,
};

/// Fewer segments tell nothing, and so few again are usual.
const ENOUGH: u64 = 10_000;
const USUAL: f64 = 0.01;

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let [again, sent] = [protocol_counter(view, "Tcp", "RetransSegs")?, protocol_counter(view, "Tcp", "OutSegs")?];
    let share = |again: u64, sent: u64| again as f64 / (again + sent).max(1) as f64;
    let (all, now) = (share(again.value, sent.value), share(again.more, sent.more));
    let (severity, share, when) = match (sent.value < ENOUGH || all < USUAL, sent.more < ENOUGH || now < USUAL) {
        (true, true) => return healthy(),
        (_, false) => (Severity::Warning, now, "while it was looked at"),
        (false, true) => (Severity::Note, all, "since the start"),
    };
    Finding::new(severity, format!("TCP has sent {:.1} % of its segments again {when}", 100.0 * share))
        .seen(format!("RetransSegs {} of OutSegs {}", again.value, sent.value), "/proc/net/snmp, nstat -az")
        .mend("see which peers: 'ss -ti' (retrans), and the rules about errors and drops at both ends")
        .alone()
}
