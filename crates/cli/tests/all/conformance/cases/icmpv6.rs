//! ICMPv6: echoes, other questions, errors that are sent, and messages that must not be answered.

use crate::conformance::craft::{HOP_BY_HOP, ICMPV6, IPV6, OPTIONS, UDP, V6, bytes, ethernet, icmp6, options, udp};
use crate::conformance::stations::{ALL_NODES, At, CLOSED, HOST_LOCAL, HOST_MAC, HOST6, OURS, ROUTER_MAC, ROUTER6};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};
use std::net::Ipv6Addr;

const ECHO: &str = "RFC 4443, section 4.2";
const SILENCE: &str = "RFC 4443, section 2.4";
const NOBODYS: u8 = 253;

fn message(a: At, kind: u8, code: u8, rest: [u8; 4], body: &[u8]) -> Vec<Vec<u8>> {
    vec![a.frame6(&a.ip6(ICMPV6).with(&icmp6(a.v6(1), HOST6, kind, code, rest, body)))]
}

/// Echo between two addresses, in a frame to the subject or to its group.
fn ping(a: At, from: Ipv6Addr, to: Ipv6Addr) -> Vec<Vec<u8>> {
    let packet = V6::new(from, to, ICMPV6).with(&icmp6(from, to, 128, 0, a.ident(), b"echo"));
    vec![if to.is_multicast() { a.group6(&packet, to) } else { a.frame6(&packet) }]
}

fn group(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, last)
}

/// Frame from behind the router.
fn far(a: At, protocol: u8, payload: &[u8]) -> Vec<u8> {
    ethernet(HOST_MAC, ROUTER_MAC, IPV6, &V6::new(a.far6(1), HOST6, protocol).with(payload))
}

pub(crate) const CASES: &[Case] = &[
    // ---- echoes ----
    case("echo6 without data", ECHO, "icmp6 129/0", Same, |a| vec![a.ping6(b"")]),
    case("echo6 of 56 bytes", ECHO, "icmp6 129/0", Same, |a| vec![a.ping6(&bytes(56))]),
    case("echo6 of an odd length", ECHO, "icmp6 129/0", Same, |a| vec![a.ping6(&bytes(57))]),
    case("echo6 that fills the MTU", ECHO, "icmp6 129/0", Same, |a| vec![a.ping6(&At::body6(1500))]),
    case("echo6 from an unknown neighbour", "RFC 4861, section 7.2.2", "icmp6 135/0, icmp6 129/0", Same, |a| {
        vec![a.ping6(b"who is it")]
    })
    .unmet(),
    case("echo6 from behind the router", "RFC 4861, section 5.2", "icmp6 129/0", Same, |a| {
        vec![far(a, ICMPV6, &icmp6(a.far6(1), HOST6, 128, 0, a.ident(), b"from afar"))]
    }),
    case("echo6 between link-local addresses", ECHO, "icmp6 129/0", Same, |a| ping(a, a.local(1), HOST_LOCAL)),
    case("echo6 from a link-local address", ECHO, "icmp6 129/0", Same, |a| ping(a, a.local(1), HOST6)),
    case("echo6 to the link-local address from a global one", ECHO, "icmp6 129/0", Same, |a| {
        ping(a, a.v6(1), HOST_LOCAL)
    }),
    case(
        "echo6 with a traffic class",
        "RFC 8200, section 7",
        "icmp6 129/0",
        Differs("icmp6 129/0", "answers have traffic class 0; Linux gives the request's back"),
        |a| vec![a.frame6(&V6 { class: 0xb8 << 20, ..a.ip6(ICMPV6) }.with(&a.echo6(b"urgent")))],
    ),
    case("echo6 with a flow label", "RFC 8200, section 6", "icmp6 129/0", Same, |a| {
        vec![a.frame6(&V6 { class: 0x12345, ..a.ip6(ICMPV6) }.with(&a.echo6(b"flowing")))]
    }),
    case(
        "echo6 with a code",
        ECHO,
        "icmp6 129/5",
        Differs("nothing", "echoes have code 0; Linux takes any, and gives it back"),
        |a| message(a, 128, 5, a.ident(), b"coded"),
    ),
    case("echo6 with a wrong checksum", "RFC 4443, section 2.3", "nothing", Same, |a| {
        let mut wrong = a.echo6(b"wrong");
        wrong[2] ^= 0x10;
        vec![a.frame6(&a.ip6(ICMPV6).with(&wrong))]
    }),
    case("echo6 without a checksum", "RFC 4443, section 2.3", "nothing", Same, |a| {
        let mut without = a.echo6(b"without");
        without[2..4].fill(0);
        vec![a.frame6(&a.ip6(ICMPV6).with(&without))]
    }),
    case("echo6 with IPv4's checksum", "RFC 4443, section 2.3", "nothing", Same, |a| {
        vec![a.frame6(&a.ip6(ICMPV6).with(&crate::conformance::craft::icmp(128, 0, a.ident(), b"old")))]
    }),
    case("echo6 cut within its header", SILENCE, "nothing", Same, |a| {
        vec![a.frame6(&a.ip6(ICMPV6).with(&icmp6(a.v6(1), HOST6, 128, 0, [0; 4], b"")[..7]))]
    }),
    case("echo6 reply that nobody waits for", ECHO, "nothing", Same, |a| message(a, 129, 0, a.ident(), b"unasked")),
    case("echo6 to all nodes", ECHO, "icmp6 129/0", Same, |a| ping(a, a.v6(1), ALL_NODES)),
    case("echo6 to all nodes from a link-local address", ECHO, "icmp6 129/0", Same, |a| ping(a, a.local(1), ALL_NODES)),
    case("echo6 to the solicited-node group", ECHO, "icmp6 129/0", Same, |a| {
        ping(a, a.v6(1), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 2))
    }),
    case("echo6 to all routers", "RFC 4291, section 2.8", "nothing", Same, |a| ping(a, a.v6(1), group(2))),
    case("echo6 from no address", "RFC 4443, section 2.2", "nothing", Same, |a| ping(a, Ipv6Addr::UNSPECIFIED, HOST6)),
    case("unicast echo6 in a group's frame", "RFC 2464, section 7", "icmp6 129/0", Same, |a| {
        vec![ethernet([0x33, 0x33, 0, 0, 0, 1], a.mac(1), IPV6, &a.ip6(ICMPV6).with(&a.echo6(b"loud")))]
    }),
    // ---- other questions ----
    case("node information query", "RFC 4620, section 5", "nothing", Same, |a| {
        message(a, 139, 0, [0, 2, 0, 0], &[0; 24])
    }),
    case("extended echo6 request", "RFC 8335, section 4", "nothing", Same, |a| {
        message(a, 160, 0, [0, 1, 1, 1], &[0; 12])
    }),
    case("informational message of an unknown type", SILENCE, "nothing", Same, |a| {
        message(a, 200, 0, [1, 2, 3, 4], b"what")
    }),
    case("router solicitation6", "RFC 4861, section 6.1.1", "nothing", Same, |a| {
        let to = group(2);
        vec![a.group6(&a.discovery(a.local(1), to, 133, [0; 4], &[]), to)]
    }),
    // ---- errors sent ----
    case("datagram6 for a closed port", "RFC 4443, section 3.1", "icmp6 1/4", Same, |a| {
        vec![a.udp6(CLOSED, b"anybody")]
    }),
    case("closed port, from behind the router, over IPv6", "RFC 4443, section 3.1", "icmp6 1/4", Same, |a| {
        vec![far(a, UDP, &udp((a.far6(1).into(), OURS), (HOST6.into(), CLOSED), b"from afar"))]
    }),
    case("closed port, as much as an ICMPv6 error quotes", "RFC 4443, section 2.4 c", "icmp6 1/4", Same, |a| {
        vec![a.udp6(CLOSED, &bytes(1400))]
    }),
    case("closed port, from a link-local address", "RFC 4443, section 2.2", "icmp6 1/4", Same, |a| {
        let datagram = udp((a.local(1).into(), OURS), (HOST6.into(), CLOSED), b"near");
        vec![a.frame6(&V6::new(a.local(1), HOST6, UDP).with(&datagram))]
    }),
    case("unknown next header", "RFC 8200, section 4", "icmp6 4/1", Same, |a| {
        vec![a.frame6(&a.ip6(NOBODYS).with(b"experiment"))]
    }),
    case("segment of TCP over IPv6", "RFC 9293, section 3.10.7.1", "protocol 6", Same, |a| {
        let mut syn =
            [&OURS.to_be_bytes()[..], &CLOSED.to_be_bytes(), &[0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 4, 0, 0, 0, 0, 0]]
                .concat();
        let pseudo = crate::conformance::craft::pseudo(a.v6(1).into(), HOST6.into(), 6, syn.len());
        let sum = crate::conformance::craft::checksum(&[&pseudo, &syn]);
        syn[16..18].copy_from_slice(&sum);
        vec![a.frame6(&a.ip6(6).with(&syn))]
    }),
    case("ICMP of IPv4 in IPv6", "RFC 8200, section 4", "icmp6 4/1", Same, |a| {
        vec![a.frame6(&a.ip6(1).with(&a.echo4(b"old")))]
    }),
    // ---- errors that must not be sent ----
    case("all nodes' datagram for a closed port", "RFC 4443, section 2.4 e.3", "nothing", Same, |a| {
        let datagram = udp((a.v6(1).into(), OURS), (ALL_NODES.into(), CLOSED), b"all");
        vec![a.group6(&V6 { to: ALL_NODES, ..a.ip6(UDP) }.with(&datagram), ALL_NODES)]
    }),
    case("unknown next header to all nodes", "RFC 4443, section 2.4 e.3", "nothing", Same, |a| {
        vec![a.group6(&V6 { to: ALL_NODES, ..a.ip6(NOBODYS) }.with(b"experiment"), ALL_NODES)]
    }),
    case("closed port, in a group's frame", "RFC 4443, section 2.4 e.4", "nothing", Same, |a| {
        vec![ethernet([0x33, 0x33, 0, 0, 0, 1], a.mac(1), IPV6, &a.ip6(UDP).with(&a.datagram6(CLOSED, b"loud")))]
    }),
    case("closed port, from no address", "RFC 4443, section 2.4 e.6", "nothing", Same, |a| {
        let datagram = udp((Ipv6Addr::UNSPECIFIED.into(), OURS), (HOST6.into(), CLOSED), b"nobody");
        vec![a.frame6(&V6::new(Ipv6Addr::UNSPECIFIED, HOST6, UDP).with(&datagram))]
    }),
    case("error about an error", "RFC 4443, section 2.4 e.1", "nothing", Same, |a| {
        let chain = vec![(OPTIONS, options(&[0x9e, 0, 1, 2, 0, 0]))];
        let error = icmp6(a.v6(1), HOST6, 1, 4, [0; 4], &a.echoed6(b"x"));
        vec![a.frame6(&V6 { chain, ..a.ip6(ICMPV6) }.with(&error))]
    }),
    case(
        "error about a redirect",
        "RFC 4443, section 2.4 e.2",
        "icmp6 4/2",
        Differs("nothing", "RFC 4443 forbids errors about redirects; Linux sends this one"),
        |a| {
            let chain = vec![(HOP_BY_HOP, options(&[0x9e, 0, 1, 2, 0, 0]))];
            let redirect = icmp6(a.v6(1), HOST6, 137, 0, [0; 4], &[0; 32]);
            vec![a.frame6(&V6 { chain, hops: 255, ..a.ip6(ICMPV6) }.with(&redirect))]
        },
    ),
    // ---- errors received ----
    case("port unreachable, about an echoed datagram6", "RFC 4443, section 3.1", "2 x udp6", Same, |a| {
        let refused = a.frame6(&a.ip6(ICMPV6).with(&icmp6(a.v6(1), HOST6, 1, 4, [0; 4], &a.echoed6(b"one"))));
        vec![a.udp6(7, b"one"), vec![], refused, a.udp6(7, b"two")]
    }),
    case("unreachable6, its quote cut short", SILENCE, "nothing", Same, |a| {
        message(a, 1, 1, [0; 4], &a.echoed6(b"x")[..39])
    }),
    case("error of an unknown type", SILENCE, "nothing", Same, |a| message(a, 100, 0, [0; 4], &a.echoed6(b"x"))),
    case("time exceeded6", "RFC 4443, section 3.3", "nothing", Same, |a| message(a, 3, 0, [0; 4], &a.reply6(b"x"))),
    case("redirect6 from a global address", "RFC 4861, section 8.1", "2 x icmp6 129/0", Same, |a| {
        let body = [a.local(1).octets(), a.far6(1).octets()].concat();
        let redirect = a.discovery(ROUTER6, HOST6, 137, [0; 4], &body);
        let ping = far(a, ICMPV6, &icmp6(a.far6(1), HOST6, 128, 0, a.ident(), b"from afar"));
        vec![ping.clone(), ethernet(HOST_MAC, ROUTER_MAC, IPV6, &redirect), ping]
    }),
];
