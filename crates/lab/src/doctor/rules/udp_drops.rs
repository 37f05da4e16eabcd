//! Datagrams for which a socket had no room.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::protocols::{ipv6_counter, protocol_counter};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "udp-drops",
    scope: Scope::Host,
    about: "datagrams for which a socket had no room",
    means: "a program reads slower than datagrams come: they are lost after they have arrived",
    published: "udp(7), udp_rmem_min; nstat(8), UdpRcvbufErrors",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let mut all = vec![("UdpRcvbufErrors", protocol_counter(view, "Udp", "RcvbufErrors")?)];
    all.extend(ipv6_counter(view, "Udp6RcvbufErrors").ok().map(|counter| ("Udp6RcvbufErrors", counter)));
    let (lost, now) = all.iter().fold((0, 0), |(lost, now), (_, one)| (lost + one.value, now + one.more));
    let first = match (lost, now) {
        (0, _) => return healthy(),
        (lost, 0) => {
            Finding::new(Severity::Note, format!("{lost} datagrams found no room in their socket since the start"))
        }
        (_, now) => Finding::new(
            Severity::Warning,
            format!("{now} datagrams found no room in their socket while it was looked at"),
        ),
    };
    let shown =
        |name: &str| if name.contains('6') { "/proc/net/snmp6, nstat -az" } else { "/proc/net/snmp, nstat -az" };
    all.iter()
        .filter(|(_, one)| one.value > 0)
        .fold(first, |finding, (name, one)| finding.seen(format!("{name} {} (+{})", one.value, one.more), shown(name)))
        .mend("see 'ss -lunm' (d in skmem): a larger SO_RCVBUF there and net.core.rmem_max, or more threads that read")
        .alone()
}
