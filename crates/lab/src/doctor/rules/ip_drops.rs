//! Packets that the stack drops.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::protocols::{Grown, ipsec_counter, protocol_counter, tcp_counter};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "ip-drops",
    scope: Scope::Host,
    about: "packets that the stack drops while it is looked at",
    means: "they arrive, or are sent, and go no further",
    published: "RFC 4293; Documentation/networking/snmp_counter.rst; nstat(8)",
    proof: Proof::Look,
    look,
};

/// Counters of drops, what they mean and what to look at.
const COUNTERS: &[(&str, &str, &str, &str)] = &[
    (
        "TcpExt",
        "IPReversePathFilter",
        "their source is behind another interface",
        "sysctl -w net.ipv4.conf.all.rp_filter=2",
    ),
    (
        "Ip",
        "InAddrErrors",
        "they are for an address that is not here, and nothing is forwarded",
        "see 'ip addr', 'ip route', ip_forward",
    ),
    (
        "Ip",
        "InHdrErrors",
        "their header is damaged, or their hops are used up",
        "see 'ip -s link', net.ipv4.ip_default_ttl",
    ),
    ("Ip", "InDiscards", "there was no memory or room for them", "see 'nstat -az'"),
    (
        "Ip",
        "OutDiscards",
        "a packet filter or a full queue drops what is sent",
        "see 'nft list ruleset', 'tc -s qdisc'",
    ),
    ("Ip", "OutNoRoutes", "there is no route for them", "see 'ip route'"),
    ("Ip", "ReasmFails", "fragments did not become a packet", "see net.ipv4.ipfrag_high_thresh, ipfrag_time"),
    (
        "Xfrm",
        "OutNoStates",
        "a policy of IPsec wants them encrypted, and there is no key",
        "see 'ip xfrm policy', 'ip xfrm state'",
    ),
    ("Xfrm", "OutPolBlock", "a policy of IPsec blocks them", "see 'ip xfrm policy'"),
    ("Xfrm", "InNoPols", "they came unencrypted, and a policy of IPsec wants more", "see 'ip xfrm policy'"),
    ("Xfrm", "InPolBlock", "a policy of IPsec blocks them", "see 'ip xfrm policy'"),
];

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    // Requests that were too long for the path were dropped here, which says nothing of others.
    let probed_long = view.peer.as_ref().is_some_and(|probed| probed.answered > 0 && probed.largest < probed.mtu);
    for (protocol, name, words, mend) in COUNTERS {
        if *name == "OutDiscards" && probed_long {
            continue;
        }
        // Older kernels lack some.
        let counted = match *protocol {
            "TcpExt" => tcp_counter(view, name),
            "Xfrm" => ipsec_counter(view, &format!("Xfrm{name}")),
            protocol => protocol_counter(view, protocol, name),
        };
        let Ok(Grown { value, more: more @ 1.. }) = counted else { continue };
        found.push(
            Finding::new(Severity::Warning, format!("{more} packets were dropped while it was looked at: {words}"))
                .seen(format!("{protocol}{name} {value} (+{more})"), format!("nstat -az {protocol}{name}"))
                .mend(*mend),
        );
    }
    if found.is_empty() { healthy() } else { Ok(found) }
}
