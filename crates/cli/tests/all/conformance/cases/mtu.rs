//! Path MTU discovery (RFC 1191, RFC 8201): reports of routers, plausible and forged, and what is sent afterwards.

use crate::conformance::craft::{ICMP, ICMPV6, UDP, V4, V6, bytes, icmp, icmp6, udp};
use crate::conformance::stations::{At, ECHO, HOST4, HOST6, OURS};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};

const V4_RFC: &str = "RFC 1191, section 6.3";
const V6_RFC: &str = "RFC 8201, section 4";

/// Report that this packet of the subject's was too long.
fn needed(a: At, mtu: u16, quoted: &[u8]) -> Vec<u8> {
    let [high, low] = mtu.to_be_bytes();
    a.frame4(&a.ip4(ICMP).with(&icmp(3, 4, [0, 0, high, low], &quoted[..quoted.len().min(548)])))
}

fn too_big(a: At, mtu: u32, quoted: &[u8]) -> Vec<u8> {
    let message = icmp6(a.v6(1), HOST6, 2, 0, mtu.to_be_bytes(), &quoted[..quoted.len().min(1232)]);
    a.frame6(&a.ip6(ICMPV6).with(&message))
}

/// A datagram that fills the MTU is echoed, reported as too long, and sent again.
fn datagrams4(a: At, mtu: u16) -> Vec<Vec<u8>> {
    let (datagram, echoed) = (a.udp4(ECHO, &bytes(1472)), a.echoed4(&bytes(1472)));
    vec![datagram.clone(), vec![], needed(a, mtu, &echoed), datagram]
}

fn datagrams6(a: At, mtu: u32) -> Vec<Vec<u8>> {
    let (datagram, echoed) = (a.udp6(ECHO, &bytes(1452)), a.echoed6(&bytes(1452)));
    vec![datagram.clone(), vec![], too_big(a, mtu, &echoed), datagram]
}

/// An echo that fills the MTU behind a report.
fn echo4(a: At, report: Vec<u8>) -> Vec<Vec<u8>> {
    vec![report, a.ping4(&bytes(1472))]
}

fn echo6(a: At, report: Vec<u8>) -> Vec<Vec<u8>> {
    vec![report, a.ping6(&bytes(1452))]
}

pub(crate) const CASES: &[Case] = &[
    // ---- IPv4 ----
    case("fragmentation needed, about a datagram", V4_RFC, "udp, 2 x fragment", Same, |a| datagrams4(a, 1400)),
    case("fragmentation needed, an odd MTU", V4_RFC, "udp, 2 x fragment", Same, |a| datagrams4(a, 1399)),
    case("fragmentation needed, below the least MTU", "RFC 1191, section 3", "udp, 3 x fragment", Same, |a| {
        datagrams4(a, 68)
    }),
    case(
        "fragmentation needed, from a router that gives no MTU",
        "RFC 1191, section 5",
        "udp, 3 x fragment",
        Differs("udp, 3 x fragment", "RFC 1191, section 5, allows 576; Linux takes its least, 552"),
        |a| datagrams4(a, 0),
    ),
    case("fragmentation needed, the MTU no smaller", V4_RFC, "2 x udp", Same, |a| datagrams4(a, 1500)),
    case("fragmentation needed, the MTU larger", V4_RFC, "2 x udp", Same, |a| datagrams4(a, 9000)),
    case(
        "fragmentation needed, about an echo reply",
        V4_RFC,
        "2 x fragment",
        Differs("icmp 0/0", "only reports about datagrams of a socket are believed: echo replies are sent without DF"),
        |a| echo4(a, needed(a, 1400, &a.reply4(&bytes(1472)))),
    ),
    case("fragmentation needed, about another host's datagram", "RFC 5927, section 7", "udp", Same, |a| {
        let quoted = V4 { from: a.v4(2), to: a.v4(1), ..a.ip4(UDP) };
        let quoted = quoted.with(&udp((a.v4(2).into(), ECHO), (a.v4(1).into(), OURS), &bytes(1472)));
        vec![needed(a, 1400, &quoted), a.udp4(ECHO, &bytes(1472))]
    }),
    case("fragmentation needed, about a port without a socket", "RFC 5927, section 7", "udp", Same, |a| {
        let quoted = V4 { from: HOST4, to: a.v4(1), ..a.ip4(UDP) };
        let quoted = quoted.with(&udp((HOST4.into(), 4321), (a.v4(1).into(), OURS), &bytes(1472)));
        vec![needed(a, 1400, &quoted), a.udp4(ECHO, &bytes(1472))]
    }),
    case("fragmentation needed, about a segment of TCP", "RFC 5927, section 7", "udp", Same, |a| {
        let quoted = V4 { from: HOST4, to: a.v4(1), ..a.ip4(6) }.with(&bytes(20));
        vec![needed(a, 1400, &quoted), a.udp4(ECHO, &bytes(1472))]
    }),
    // ---- IPv6 ----
    case("packet too big, about an echo reply", V6_RFC, "2 x fragment6", Same, |a| {
        echo6(a, too_big(a, 1400, &a.reply6(&bytes(1452))))
    }),
    case("packet too big, an odd MTU", V6_RFC, "2 x fragment6", Same, |a| {
        echo6(a, too_big(a, 1397, &a.reply6(&bytes(1452))))
    }),
    case("packet too big, the least MTU", V6_RFC, "2 x fragment6", Same, |a| {
        echo6(a, too_big(a, 1280, &a.reply6(&bytes(1452))))
    }),
    case("packet too big, below the least MTU", V6_RFC, "icmp6 129/0", Same, |a| {
        echo6(a, too_big(a, 1279, &a.reply6(&bytes(1452))))
    }),
    case("packet too big, no MTU at all", V6_RFC, "icmp6 129/0", Same, |a| {
        echo6(a, too_big(a, 0, &a.reply6(&bytes(1452))))
    }),
    case("packet too big, the MTU larger", V6_RFC, "icmp6 129/0", Same, |a| {
        echo6(a, too_big(a, 9000, &a.reply6(&bytes(1452))))
    }),
    case("packet too big, about a datagram", V6_RFC, "udp6, 2 x fragment6", Same, |a| datagrams6(a, 1400)),
    case(
        "packet too big, about an echo request",
        "RFC 8201, section 7",
        "2 x fragment6",
        Differs("icmp6 129/0", "nothing sends echo requests here, so the report is forged; Linux believes it"),
        |a| {
            let quoted = V6::new(HOST6, a.v6(1), ICMPV6).with(&icmp6(HOST6, a.v6(1), 128, 0, a.ident(), &bytes(1452)));
            echo6(a, too_big(a, 1400, &quoted))
        },
    ),
    case(
        "packet too big, about another host's packet",
        "RFC 8201, section 7",
        "2 x fragment6",
        Differs("icmp6 129/0", "the packet was not ours, so the report is forged; Linux believes it"),
        |a| {
            let quoted =
                V6::new(a.v6(2), a.v6(1), ICMPV6).with(&icmp6(a.v6(2), a.v6(1), 129, 0, a.ident(), &bytes(1452)));
            echo6(a, too_big(a, 1400, &quoted))
        },
    ),
    case("packet too big, about a port without a socket", "RFC 8201, section 7", "icmp6 129/0", Same, |a| {
        let datagram = udp((HOST6.into(), 4321), (a.v6(1).into(), OURS), &bytes(1452));
        echo6(a, too_big(a, 1400, &V6::new(HOST6, a.v6(1), UDP).with(&datagram)))
    }),
    case("packet too big, its quote cut short", V6_RFC, "icmp6 129/0", Same, |a| {
        echo6(a, too_big(a, 1400, &a.reply6(&bytes(1452))[..39]))
    }),
    case("packet too big with a wrong checksum", "RFC 4443, section 2.3", "icmp6 129/0", Same, |a| {
        let mut report = too_big(a, 1400, &a.reply6(&bytes(1452)));
        report[14 + 40 + 2] ^= 1;
        echo6(a, report)
    }),
];
