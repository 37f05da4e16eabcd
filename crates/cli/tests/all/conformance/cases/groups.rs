//! Groups: reports of membership, and frames to groups that were joined, and not.

use crate::conformance::craft::{
    HOP_BY_HOP, ICMP, ICMPV6, IPV4, IPV6, UDP, V4, V6, ethernet, icmp, icmp6, options, solicited_node, udp,
};
use crate::conformance::stations::{ALL_HOSTS, ALL_NODES, At, ECHO, HOST_MAC, HOST6, OURS};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};
use std::net::{Ipv4Addr, Ipv6Addr};

const QUERY: &str = "RFC 3810, section 6.2";
const SCOPES: &str = "RFC 4291, section 2.7";
const NO_GROUP: Ipv6Addr = Ipv6Addr::UNSPECIFIED;
const ALERT: &[u8] = &[5, 2, 0, 0, 1, 0];

fn group(scope: u16, last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xff00 | scope, 0, 0, 0, 0, 0, 0, last)
}

/// Query for a group, or for all, that wants an answer within a millisecond; MLDv2's is four bytes longer.
fn query(a: At, of: Ipv6Addr, from: Ipv6Addr, hops: u8, chain: Vec<(u8, Vec<u8>)>, len: usize) -> Vec<Vec<u8>> {
    let to = if of.is_unspecified() { ALL_NODES } else { of };
    let body = [&of.octets()[..], &[2, 125, 0, 0]].concat();
    let message = icmp6(from, to, 130, 0, [0, 1, 0, 0], &body[..len - 8]);
    vec![a.group6(&V6 { hops, chain, ..V6::new(from, to, ICMPV6) }.with(&message), to)]
}

fn alert() -> Vec<(u8, Vec<u8>)> {
    vec![(HOP_BY_HOP, options(ALERT))]
}

fn ping(a: At, to: Ipv6Addr) -> Vec<u8> {
    V6 { to, ..a.ip6(ICMPV6) }.with(&icmp6(a.v6(1), to, 128, 0, a.ident(), b"group"))
}

fn ping4(a: At, to: Ipv4Addr) -> Vec<u8> {
    V4 { to, ..a.ip4(ICMP) }.with(&a.echo4(b"group"))
}

pub(crate) const CASES: &[Case] = &[
    // ---- frames ----
    case("echo6 to a group that nobody joined", SCOPES, "nothing", Same, |a| {
        vec![a.group6(&ping(a, group(2, 0x1234)), group(2, 0x1234))]
    }),
    case("echo6 to another's solicited-node group", SCOPES, "nothing", Same, |a| {
        let to = solicited_node(a.v6(2));
        vec![a.group6(&ping(a, to), to)]
    }),
    case("echo6 to all nodes of the interface", SCOPES, "nothing", Same, |a| {
        vec![a.group6(&ping(a, group(1, 1)), group(1, 1))]
    }),
    case("echo6 to a group of no scope", SCOPES, "nothing", Same, |a| {
        vec![a.group6(&ping(a, group(0, 1)), group(0, 1))]
    }),
    case("echo6 to all nodes of the site", SCOPES, "nothing", Same, |a| {
        vec![a.group6(&ping(a, group(5, 1)), group(5, 1))]
    }),
    case("echo6 to all nodes in another group's frame", "RFC 2464, section 7", "icmp6 129/0", Same, |a| {
        vec![ethernet([0x33, 0x33, 9, 9, 9, 9], a.mac(1), IPV6, &ping(a, ALL_NODES))]
    }),
    case("echo6 to all nodes in a frame for us", "RFC 2464, section 7", "icmp6 129/0", Same, |a| {
        vec![ethernet(HOST_MAC, a.mac(1), IPV6, &ping(a, ALL_NODES))]
    }),
    case("echo6 to all nodes in another station's frame", "RFC 2464, section 6", "nothing", Same, |a| {
        vec![ethernet(a.mac(9), a.mac(1), IPV6, &ping(a, ALL_NODES))]
    }),
    case(
        "datagram6 to all nodes for the echo service",
        "RFC 862",
        "udp6",
        Differs("nothing", "services answer no group: one forged datagram would have all hosts answer"),
        |a| {
            let datagram = udp((a.v6(1).into(), OURS), (ALL_NODES.into(), ECHO), b"all");
            vec![a.group6(&V6 { to: ALL_NODES, ..a.ip6(UDP) }.with(&datagram), ALL_NODES)]
        },
    ),
    case("datagram6 to another group for the echo service", SCOPES, "nothing", Same, |a| {
        let to = group(2, 0x1234);
        let datagram = udp((a.v6(1).into(), OURS), (to.into(), ECHO), b"all");
        vec![a.group6(&V6 { to, ..a.ip6(UDP) }.with(&datagram), to)]
    }),
    case("echo to a group that nobody joined", "RFC 1112, section 7.2", "nothing", Same, |a| {
        let to = Ipv4Addr::new(224, 0, 0, 251);
        vec![a.group4(&ping4(a, to), to)]
    }),
    case("echo to all routers", "RFC 1112, section 7.2", "nothing", Same, |a| {
        let to = Ipv4Addr::new(224, 0, 0, 2);
        vec![a.group4(&ping4(a, to), to)]
    }),
    case("datagram to another group for the echo service", "RFC 1112, section 7.2", "nothing", Same, |a| {
        let to = Ipv4Addr::new(239, 1, 2, 3);
        let datagram = udp((a.v4(1).into(), OURS), (to.into(), ECHO), b"all");
        vec![a.group4(&V4 { to, ..a.ip4(UDP) }.with(&datagram), to)]
    }),
    case(
        "datagram to all hosts for the echo service",
        "RFC 862",
        "udp",
        Differs("nothing", "services answer no group: one forged datagram would have all hosts answer"),
        |a| {
            let datagram = udp((a.v4(1).into(), OURS), (ALL_HOSTS.into(), ECHO), b"all");
            vec![a.group4(&V4 { to: ALL_HOSTS, ..a.ip4(UDP) }.with(&datagram), ALL_HOSTS)]
        },
    ),
    case(
        "unicast echo in a group's frame",
        "RFC 1122, section 3.3.6",
        "icmp 0/0",
        Differs("nothing", "RFC 1122 has such packets dropped; Linux takes them, unless told otherwise"),
        |a| vec![ethernet([1, 0, 0x5e, 0, 0, 1], a.mac(1), IPV4, &a.ip4(ICMP).with(&a.echo4(b"loud")))],
    ),
    case("query of IGMP", "RFC 3376, section 5", "nothing", Same, |a| {
        let ip = V4 { ttl: 1, options: vec![148, 4, 0, 0], to: ALL_HOSTS, ..a.ip4(2) };
        vec![a.group4(&ip.with(&icmp(0x11, 1, [0; 4], &[2, 125, 0, 0])), ALL_HOSTS)]
    })
    .patient(),
    // ---- queries that must not be answered ----
    case("query for a group that nobody joined", QUERY, "nothing", Same, |a| {
        query(a, group(2, 0x1234), a.local(1), 1, alert(), 28)
    })
    .patient(),
    case("query without router alert", QUERY, "nothing", Same, |a| query(a, NO_GROUP, a.local(1), 1, vec![], 28))
        .patient(),
    case("query from afar", QUERY, "nothing", Same, |a| query(a, NO_GROUP, a.local(1), 2, alert(), 28)).patient(),
    case("query from a global address", QUERY, "nothing", Same, |a| query(a, NO_GROUP, a.v6(1), 1, alert(), 28))
        .patient(),
    case("query from no address", QUERY, "nothing", Same, |a| query(a, NO_GROUP, NO_GROUP, 1, alert(), 28)).patient(),
    case("query of no version's length", "RFC 3810, section 8.1", "nothing", Same, |a| {
        query(a, NO_GROUP, a.local(1), 1, alert(), 26)
    })
    .patient(),
    case("query cut short", QUERY, "nothing", Same, |a| query(a, NO_GROUP, a.local(1), 1, alert(), 20)).patient(),
    case("query with a wrong checksum", "RFC 4443, section 2.3", "nothing", Same, |a| {
        let mut frames = query(a, NO_GROUP, a.local(1), 1, alert(), 28);
        frames[0][14 + 48 + 2] ^= 1;
        frames
    })
    .patient(),
    // ---- queries that are answered; MLDv1's last, for its querier is remembered ----
    case("query for all groups", QUERY, "icmp6 143/0", Same, |a| query(a, NO_GROUP, a.local(1), 1, alert(), 28))
        .reports(),
    case("query for one of our groups", QUERY, "icmp6 143/0", Same, |a| {
        query(a, solicited_node(HOST6), a.local(1), 1, alert(), 28)
    })
    .reports(),
    case("query of MLDv1 for all groups", "RFC 3810, section 8.2.1", "icmp6 131/0", Same, |a| {
        query(a, NO_GROUP, a.local(1), 1, alert(), 24)
    })
    .reports(),
    case("query of MLDv1 for one of our groups", "RFC 2710, section 4", "icmp6 131/0", Same, |a| {
        query(a, solicited_node(HOST6), a.local(1), 1, alert(), 24)
    })
    .reports(),
    case("query for all groups behind MLDv1's", "RFC 3810, section 8.2.1", "icmp6 131/0", Same, |a| {
        query(a, NO_GROUP, a.local(1), 1, alert(), 28)
    })
    .reports(),
];
