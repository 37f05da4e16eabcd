//! Packets with a wrong checksum.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::protocols::{ipv6_counter, protocol_counter};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "checksum-errors",
    scope: Scope::Host,
    about: "packets with a wrong checksum",
    means: "something on the way changes packets that Ethernet's own check sequence has passed (a switch, an adapter's memory, a wrong \
            offload): TCP sees it as loss, and one in 65,536 of them goes through unseen",
    published: "RFC 1071; Stone and Partridge, 2000: When the CRC and TCP checksum disagree; nstat(8)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let mut all = vec![("IpInHdrErrors".to_owned(), protocol_counter(view, "Ip", "InHdrErrors")?)];
    for protocol in ["Tcp", "Udp", "Icmp"] {
        all.push((format!("{protocol}InCsumErrors"), protocol_counter(view, protocol, "InCsumErrors")?));
    }
    for name in ["Udp6InCsumErrors", "Icmp6InCsumErrors"] {
        // A kernel without IPv6 has no such counters.
        all.extend(ipv6_counter(view, name).ok().map(|counter| (name.to_owned(), counter)));
    }
    all.retain(|(_, counter)| counter.value > 0);
    let grows: u64 = all.iter().map(|(_, counter)| counter.more).sum();
    let first = match (all.is_empty(), grows) {
        (true, _) => return healthy(),
        (_, 0) => Finding::new(Severity::Note, "packets came with a wrong checksum since the start"),
        (_, more) => {
            Finding::new(Severity::Warning, format!("{more} packets came with a wrong checksum while it was looked at"))
        }
    };
    all.iter()
        .fold(first, |finding, (name, counter)| {
            finding.seen(format!("{name} {} (+{})", counter.value, counter.more), "/proc/net/snmp, nstat -az")
        })
        .mend("find where: 'tcpdump -vv' at each hop names bad checksums; try the adapters' offloads off (ethtool -K DEV rx off tx off)")
        .alone()
}
