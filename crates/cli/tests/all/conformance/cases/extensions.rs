//! Extension headers of IPv6 (RFC 8200, section 4).

use crate::conformance::craft::{HOP_BY_HOP, ICMPV6, NO_NEXT, OPTIONS, ROUTING, UDP, V6, options};
use crate::conformance::stations::{ALL_NODES, At};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};

const ACTIONS: &str = "RFC 8200, section 4.2";
const ORDER: &str = "RFC 8200, section 4.1";
const ROUTE: &str = "RFC 8200, section 4.4";
const LIMITS: &str = "RFC 8504, section 5.3";
/// Six bytes of padding.
const PAD: &[u8] = &[1, 4, 0, 0, 0, 0];

/// Unknown option with these two bits of what to do.
fn unknown(action: u8) -> Vec<u8> {
    vec![action << 6 | 0x1e, 4, 1, 2, 3, 4]
}

fn with(a: At, chain: Vec<(u8, Vec<u8>)>) -> Vec<Vec<u8>> {
    vec![a.frame6(&V6 { chain, ..a.ip6(ICMPV6) }.with(&a.echo6(b"extended")))]
}

/// Echo with options in a header of that kind.
fn echo(a: At, kind: u8, bytes: &[u8]) -> Vec<Vec<u8>> {
    with(a, vec![(kind, options(bytes))])
}

/// The same to all nodes.
fn to_all(a: At, kind: u8, bytes: &[u8]) -> Vec<Vec<u8>> {
    let message = crate::conformance::craft::icmp6(a.v6(1), ALL_NODES, 128, 0, a.ident(), b"extended");
    let ip = V6 { to: ALL_NODES, chain: vec![(kind, options(bytes))], ..a.ip6(ICMPV6) };
    vec![a.group6(&ip.with(&message), ALL_NODES)]
}

/// Routing header of a type, with an address.
fn route(kind: u8, left: u8) -> (u8, Vec<u8>) {
    (ROUTING, [&[0, 2, kind, left, 0, 0, 0, 0][..], &[0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]].concat())
}

fn padding(kind: u8) -> (u8, Vec<u8>) {
    (kind, options(PAD))
}

pub(crate) const CASES: &[Case] = &[
    // ---- padding ----
    case("hop-by-hop options of padding", ACTIONS, "icmp6 129/0", Same, |a| echo(a, HOP_BY_HOP, PAD)),
    case("hop-by-hop options of single bytes of padding", ACTIONS, "icmp6 129/0", Same, |a| {
        echo(a, HOP_BY_HOP, &[0; 6])
    }),
    case("destination options of padding", ACTIONS, "icmp6 129/0", Same, |a| echo(a, OPTIONS, PAD)),
    case("destination options of single bytes of padding", ACTIONS, "icmp6 129/0", Same, |a| echo(a, OPTIONS, &[0; 6])),
    case(
        "padding that is not zero",
        ACTIONS,
        "nothing",
        Differs("icmp6 129/0", "RFC 8200 sets no limit to padding, and has its contents ignored; Linux drops it"),
        |a| echo(a, OPTIONS, &[1, 4, 0, 0, 0, 1]),
    ),
    case(
        "eight bytes of padding",
        LIMITS,
        "nothing",
        Differs("icmp6 129/0", "RFC 8200 sets no limit to padding, and has its contents ignored; Linux drops it"),
        |a| echo(a, OPTIONS, &[1, 6, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0]),
    ),
    case(
        "padding behind the header's end",
        ACTIONS,
        "nothing",
        Differs(
            "icmp6 4/0",
            "a field that contradicts another is reported (RFC 4443, section 3.4); Linux drops the packet",
        ),
        |a| echo(a, OPTIONS, &[1, 5, 0, 0, 0, 0]),
    ),
    case("router alert of IPv6", "RFC 2711, section 2.1", "icmp6 129/0", Same, |a| {
        echo(a, HOP_BY_HOP, &[5, 2, 0, 0, 1, 0])
    }),
    // ---- unknown options ----
    case("hop-by-hop option to be skipped", ACTIONS, "icmp6 129/0", Same, |a| echo(a, HOP_BY_HOP, &unknown(0))),
    case("hop-by-hop option to be dropped for", ACTIONS, "nothing", Same, |a| echo(a, HOP_BY_HOP, &unknown(1))),
    case("hop-by-hop option to be reported", ACTIONS, "icmp6 4/2", Same, |a| echo(a, HOP_BY_HOP, &unknown(2))),
    case("hop-by-hop option to be reported to one sender", ACTIONS, "icmp6 4/2", Same, |a| {
        echo(a, HOP_BY_HOP, &unknown(3))
    }),
    case("destination option to be skipped", ACTIONS, "icmp6 129/0", Same, |a| echo(a, OPTIONS, &unknown(0))),
    case("destination option to be dropped for", ACTIONS, "nothing", Same, |a| echo(a, OPTIONS, &unknown(1))),
    case("destination option to be reported", ACTIONS, "icmp6 4/2", Same, |a| echo(a, OPTIONS, &unknown(2))),
    case("destination option to be reported to one sender", ACTIONS, "icmp6 4/2", Same, |a| {
        echo(a, OPTIONS, &unknown(3))
    }),
    case("hop-by-hop option to be skipped, to all nodes", ACTIONS, "icmp6 129/0", Same, |a| {
        to_all(a, HOP_BY_HOP, &unknown(0))
    }),
    case("hop-by-hop option to be dropped for, to all nodes", ACTIONS, "nothing", Same, |a| {
        to_all(a, HOP_BY_HOP, &unknown(1))
    }),
    case("hop-by-hop option to be reported, to all nodes", ACTIONS, "icmp6 4/2", Same, |a| {
        to_all(a, HOP_BY_HOP, &unknown(2))
    }),
    case("hop-by-hop option to be reported to one sender, to all nodes", ACTIONS, "nothing", Same, |a| {
        to_all(a, HOP_BY_HOP, &unknown(3))
    }),
    case("destination option to be reported, to all nodes", ACTIONS, "icmp6 4/2", Same, |a| {
        to_all(a, OPTIONS, &unknown(2))
    }),
    case("destination option to be reported to one sender, to all nodes", ACTIONS, "nothing", Same, |a| {
        to_all(a, OPTIONS, &unknown(3))
    }),
    case("unknown option behind padding", ACTIONS, "icmp6 4/2", Same, |a| echo(a, OPTIONS, &[0, 1, 0, 0x9e, 1, 0])),
    case(
        "option behind the header's end",
        ACTIONS,
        "nothing",
        Differs(
            "icmp6 4/0",
            "a field that contradicts another is reported (RFC 4443, section 3.4); Linux drops the packet",
        ),
        |a| echo(a, OPTIONS, &[0x1e, 5, 1, 2, 3, 4]),
    ),
    case(
        "nine options to be skipped",
        LIMITS,
        "nothing",
        Differs("icmp6 129/0", "RFC 8504 allows such a limit; linerate's is the packet's length"),
        |a| echo(a, OPTIONS, &[[0x1e, 0].repeat(9), vec![1, 2, 0, 0]].concat()),
    ),
    case("eight options to be skipped", LIMITS, "icmp6 129/0", Same, |a| {
        echo(a, OPTIONS, &[[0x1e, 0].repeat(8), vec![1, 4, 0, 0, 0, 0]].concat())
    }),
    case(
        "jumbo payload of a packet that is none",
        "RFC 2675, section 3",
        "icmp6 4/0",
        Differs("icmp6 4/2", "jumbograms are not supported, so the option is unknown (RFC 2675, section 3)"),
        |a| echo(a, HOP_BY_HOP, &[0xc2, 4, 0, 1, 0x11, 0x70]),
    ),
    // ---- routing headers ----
    case("routing header 0 with a segment left", "RFC 5095, section 3", "icmp6 4/0", Same, |a| {
        with(a, vec![route(0, 1)])
    }),
    case("routing header 0 without segments left", ROUTE, "icmp6 129/0", Same, |a| with(a, vec![route(0, 0)])),
    case("unknown routing header with a segment left", ROUTE, "icmp6 4/0", Same, |a| with(a, vec![route(200, 1)])),
    case("unknown routing header without segments left", ROUTE, "icmp6 129/0", Same, |a| with(a, vec![route(200, 0)])),
    case("routing header 0 to all nodes", ROUTE, "nothing", Same, |a| {
        let message = crate::conformance::craft::icmp6(a.v6(1), ALL_NODES, 128, 0, a.ident(), b"extended");
        vec![a.group6(&V6 { to: ALL_NODES, chain: vec![route(0, 1)], ..a.ip6(ICMPV6) }.with(&message), ALL_NODES)]
    }),
    case("routing header cut short", ROUTE, "nothing", Same, |a| {
        vec![a.frame6(&a.ip6(ROUTING).with(&[ICMPV6, 9, 0, 0, 0, 0, 0, 0]))]
    }),
    // ---- order ----
    case("all headers in the recommended order", ORDER, "icmp6 129/0", Same, |a| {
        with(a, vec![padding(HOP_BY_HOP), padding(OPTIONS), route(0, 0), padding(OPTIONS)])
    }),
    case("destination options twice", ORDER, "icmp6 129/0", Same, |a| {
        with(a, vec![padding(OPTIONS), padding(OPTIONS)])
    }),
    case("hop-by-hop options behind others", "RFC 8200, section 4.3", "icmp6 4/1", Same, |a| {
        with(a, vec![padding(OPTIONS), padding(HOP_BY_HOP)])
    }),
    case("hop-by-hop options twice", "RFC 8200, section 4.3", "icmp6 4/1", Same, |a| {
        with(a, vec![padding(HOP_BY_HOP), padding(HOP_BY_HOP)])
    }),
    case("eight headers", LIMITS, "icmp6 129/0", Same, |a| with(a, vec![padding(OPTIONS); 8])),
    case(
        "nine headers",
        LIMITS,
        "icmp6 129/0",
        Differs("nothing", "RFC 8504 allows a limit to the number of headers; Linux has none"),
        |a| with(a, vec![padding(OPTIONS); 9]),
    ),
    // ---- ends ----
    case("no next header", "RFC 8200, section 4.7", "nothing", Same, |a| {
        vec![a.frame6(&a.ip6(NO_NEXT).with(b"ignored"))]
    }),
    case("no next header behind options", "RFC 8200, section 4.7", "nothing", Same, |a| {
        vec![a.frame6(&V6 { chain: vec![padding(OPTIONS)], ..a.ip6(NO_NEXT) }.with(b""))]
    }),
    case("unknown next header behind options", "RFC 8200, section 4", "icmp6 4/1", Same, |a| {
        vec![a.frame6(&V6 { chain: vec![padding(OPTIONS)], ..a.ip6(253) }.with(b"experiment"))]
    }),
    case("options and nothing behind them", "RFC 8200, section 4", "nothing", Same, |a| {
        vec![a.frame6(&V6 { chain: vec![padding(OPTIONS)], ..a.ip6(ICMPV6) }.with(b""))]
    }),
    case("options cut short", ACTIONS, "nothing", Same, |a| {
        vec![a.frame6(&a.ip6(OPTIONS).with(&[ICMPV6, 1, 1, 4, 0, 0, 0, 0]))]
    }),
    case("hop-by-hop options cut short", ACTIONS, "nothing", Same, |a| {
        vec![a.frame6(&a.ip6(HOP_BY_HOP).with(&[ICMPV6, 1, 1, 4, 0, 0, 0, 0]))]
    }),
    case("a datagram behind options", ACTIONS, "udp6", Same, |a| {
        vec![a.frame6(&V6 { chain: vec![padding(OPTIONS)], ..a.ip6(UDP) }.with(&a.datagram6(7, b"extended")))]
    }),
];
