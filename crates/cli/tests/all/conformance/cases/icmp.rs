//! ICMP over IPv4: echoes, other questions, errors that are sent, and messages that must not be answered.

use crate::conformance::craft::{BROADCAST, ICMP, IPV4, UDP, V4, bytes, cut, ethernet, icmp, udp};
use crate::conformance::stations::{ALL_HOSTS, At, CLOSED, DIRECTED, HOST_MAC, HOST4, OURS, ROUTER_MAC, ROUTER4};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};
use std::net::Ipv4Addr;

const ECHO: &str = "RFC 1122, section 3.2.2.6";
const SILENCE: &str = "RFC 1122, section 3.2.2";
/// Protocol for experiments (RFC 3692).
const NOBODYS: u8 = 253;

fn message(a: At, message: &[u8]) -> Vec<Vec<u8>> {
    vec![a.frame4(&a.ip4(ICMP).with(message))]
}

fn broadcast(a: At, protocol: u8, payload: &[u8], to: Ipv4Addr) -> Vec<Vec<u8>> {
    vec![a.group4(&V4 { to, ..a.ip4(protocol) }.with(payload), to)]
}

/// Frame from behind the router.
fn far(a: At, protocol: u8, payload: &[u8]) -> Vec<u8> {
    ethernet(HOST_MAC, ROUTER_MAC, IPV4, &V4::new(a.far4(1), HOST4, protocol).with(payload))
}

pub(crate) const CASES: &[Case] = &[
    // ---- echoes ----
    case("echo without data", ECHO, "icmp 0/0", Same, |a| vec![a.ping4(b"")]),
    case("echo of 56 bytes", ECHO, "icmp 0/0", Same, |a| vec![a.ping4(&bytes(56))]),
    case("echo of an odd length", ECHO, "icmp 0/0", Same, |a| vec![a.ping4(&bytes(57))]),
    case("echo that fills the MTU", ECHO, "icmp 0/0", Same, |a| vec![a.ping4(&At::body4(1500))]),
    case("echo from an unknown neighbour", "RFC 826", "arp request, icmp 0/0", Same, |a| vec![a.ping4(b"who is it")])
        .unmet(),
    case("echo from behind the router", "RFC 1122, section 3.3.1", "icmp 0/0", Same, |a| {
        vec![far(a, ICMP, &a.echo4(b"from afar"))]
    }),
    case(
        "echo with a type of service",
        "RFC 1349, section 5.1",
        "icmp 0/0",
        Differs("icmp 0/0", "answers have type of service 0 (RFC 1349, which asks for the request's, is obsolete)"),
        |a| vec![a.frame4(&V4 { tos: 0xb8, ..a.ip4(ICMP) }.with(&a.echo4(b"urgent")))],
    ),
    case("echo that must not be fragmented", ECHO, "icmp 0/0", Same, |a| {
        vec![a.frame4(&V4 { place: 0x4000, ..a.ip4(ICMP) }.with(&a.echo4(b"in one piece")))]
    }),
    case(
        "echo with a code",
        "RFC 792, page 14",
        "icmp 0/5",
        Differs("nothing", "echoes have code 0; Linux takes any, and gives it back"),
        |a| message(a, &icmp(8, 5, a.ident(), b"coded")),
    ),
    case("echo with a wrong checksum", SILENCE, "nothing", Same, |a| {
        let mut wrong = a.echo4(b"wrong");
        wrong[2] ^= 0x10;
        message(a, &wrong)
    }),
    case("echo cut within its header", SILENCE, "nothing", Same, |a| message(a, &icmp(8, 0, [0; 4], b"")[..7])),
    case("echo reply that nobody waits for", ECHO, "nothing", Same, |a| message(a, &icmp(0, 0, a.ident(), b"unasked"))),
    case("broadcast echo", ECHO, "nothing", Same, |a| broadcast(a, ICMP, &a.echo4(b"all"), DIRECTED)),
    case("limited broadcast echo", ECHO, "nothing", Same, |a| {
        broadcast(a, ICMP, &a.echo4(b"all"), Ipv4Addr::BROADCAST)
    }),
    case("echo to all hosts", ECHO, "nothing", Same, |a| broadcast(a, ICMP, &a.echo4(b"all"), ALL_HOSTS)),
    case(
        "unicast echo in a broadcast frame",
        "RFC 1122, section 3.3.6",
        "icmp 0/0",
        Differs("nothing", "RFC 1122 has such packets dropped; Linux takes them, unless told otherwise"),
        |a| vec![ethernet(BROADCAST, a.mac(1), IPV4, &a.ip4(ICMP).with(&a.echo4(b"loud")))],
    ),
    // ---- other questions ----
    case(
        "timestamp request",
        "RFC 1122, section 3.2.2.8",
        "icmp 14/0",
        Differs("nothing", "not answered: a host may answer (RFC 1122, section 3.2.2.8), and need not"),
        |a| message(a, &icmp(13, 0, a.ident(), &[0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
    ),
    case("timestamp request cut short", "RFC 1122, section 3.2.2.8", "nothing", Same, |a| {
        message(a, &icmp(13, 0, a.ident(), &[]))
    }),
    case("broadcast timestamp request", "RFC 1122, section 3.2.2.8", "nothing", Same, |a| {
        broadcast(a, ICMP, &icmp(13, 0, a.ident(), &[0; 12]), DIRECTED)
    }),
    case("address mask request", "RFC 1122, section 3.2.2.9", "nothing", Same, |a| {
        message(a, &icmp(17, 0, a.ident(), &[0; 4]))
    }),
    case("information request", "RFC 1122, section 3.2.2.7", "nothing", Same, |a| {
        message(a, &icmp(15, 0, a.ident(), &[]))
    }),
    case("extended echo request", "RFC 8335, section 4", "nothing", Same, |a| {
        message(a, &icmp(42, 0, [0x10, 1, 1, 1], &[0x20, 0, 0, 0, 0, 8, 3, 2, 0, 0, 0, 1]))
    }),
    case("router solicitation", "RFC 1256, section 5", "nothing", Same, |a| message(a, &icmp(10, 0, [0; 4], &[]))),
    case("message of an unknown type", SILENCE, "nothing", Same, |a| message(a, &icmp(200, 0, [1, 2, 3, 4], b"what"))),
    case("domain name request", "RFC 6918, section 2", "nothing", Same, |a| message(a, &icmp(37, 0, a.ident(), &[]))),
    // ---- errors sent ----
    case("datagram for a closed port", "RFC 1122, section 4.1.3.1", "icmp 3/3", Same, |a| {
        vec![a.udp4(CLOSED, b"anybody")]
    }),
    case(
        "precedence of an error",
        "RFC 1812, section 4.3.2.5",
        "icmp 3/3",
        Differs(
            "icmp 3/3",
            "errors have routine precedence; RFC 1812 asks routers, not hosts, for internetwork control",
        ),
        |a| vec![a.udp4(CLOSED, b"anybody")],
    )
    .exactly(),
    case("closed port, from behind the router", "RFC 1122, section 4.1.3.1", "icmp 3/3", Same, |a| {
        vec![far(a, UDP, &udp((a.far4(1).into(), OURS), (HOST4.into(), CLOSED), b"from afar"))]
    }),
    case("closed port, as much as an error quotes", "RFC 1812, section 4.3.2.3", "icmp 3/3", Same, |a| {
        vec![a.udp4(CLOSED, &bytes(1400))]
    }),
    case(
        "closed port, a type of service",
        "RFC 1349, section 5.1",
        "icmp 3/3",
        Differs("icmp 3/3", "answers have type of service 0 (RFC 1349, which asks for the request's, is obsolete)"),
        |a| vec![a.frame4(&V4 { tos: 0x10, ..a.ip4(UDP) }.with(&a.datagram4(CLOSED, b"soon")))],
    ),
    case("unknown protocol", "RFC 1122, section 3.2.2.1", "icmp 3/2", Same, |a| {
        vec![a.frame4(&a.ip4(NOBODYS).with(b"experiment"))]
    }),
    case("segment of TCP", "RFC 9293, section 3.10.7.1", "protocol 6", Same, |a| {
        // A SYN; its checksum is right.
        let mut syn =
            [&OURS.to_be_bytes()[..], &CLOSED.to_be_bytes(), &[0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 4, 0, 0, 0, 0, 0]]
                .concat();
        let pseudo = crate::conformance::craft::pseudo(a.v4(1).into(), HOST4.into(), 6, syn.len());
        let sum = crate::conformance::craft::checksum(&[&pseudo, &syn]);
        syn[16..18].copy_from_slice(&sum);
        vec![a.frame4(&a.ip4(6).with(&syn))]
    }),
    // ---- errors that must not be sent ----
    case("broadcast for a closed port", SILENCE, "nothing", Same, |a| {
        broadcast(a, UDP, &udp((a.v4(1).into(), OURS), (DIRECTED.into(), CLOSED), b"all"), DIRECTED)
    }),
    case("group's datagram for a closed port", SILENCE, "nothing", Same, |a| {
        broadcast(a, UDP, &udp((a.v4(1).into(), OURS), (ALL_HOSTS.into(), CLOSED), b"all"), ALL_HOSTS)
    }),
    case("unknown protocol, broadcast", SILENCE, "nothing", Same, |a| broadcast(a, NOBODYS, b"experiment", DIRECTED)),
    case("closed port, in a broadcast frame", SILENCE, "nothing", Same, |a| {
        vec![ethernet(BROADCAST, a.mac(1), IPV4, &a.ip4(UDP).with(&a.datagram4(CLOSED, b"loud")))]
    }),
    case("error with a wrong option", SILENCE, "nothing", Same, |a| {
        let ip = V4 { options: vec![7, 1, 0, 0], ..a.ip4(ICMP) };
        vec![a.frame4(&ip.with(&icmp(3, 3, [0; 4], &a.echoed4(b"x"))))]
    }),
    // ---- errors received ----
    case("port unreachable, about an echoed datagram", "RFC 1122, section 3.2.2.1", "2 x udp", Same, |a| {
        let refused = a.frame4(&a.ip4(ICMP).with(&icmp(3, 3, [0; 4], &a.echoed4(b"one"))));
        vec![a.udp4(7, b"one"), vec![], refused, a.udp4(7, b"two")]
    }),
    case("unreachable, about nothing that was sent", "RFC 1122, section 3.2.2.1", "nothing", Same, |a| {
        let quoted = V4 { from: HOST4, to: a.v4(1), ..a.ip4(UDP) };
        let quoted = quoted.with(&udp((HOST4.into(), 4321), (a.v4(1).into(), OURS), b"never"));
        message(a, &icmp(3, 1, [0; 4], &quoted))
    }),
    case("unreachable, its quote cut short", SILENCE, "nothing", Same, |a| {
        message(a, &icmp(3, 1, [0; 4], &a.echoed4(b"x")[..19]))
    }),
    case("time exceeded", "RFC 1122, section 3.2.2.4", "nothing", Same, |a| {
        message(a, &icmp(11, 0, [0; 4], &a.reply4(b"x")))
    }),
    case("source quench", "RFC 6633, section 3", "nothing", Same, |a| {
        message(a, &icmp(4, 0, [0; 4], &a.echoed4(b"x")))
    }),
    case("parameter problem", "RFC 1122, section 3.2.2.5", "nothing", Same, |a| {
        message(a, &icmp(12, 0, [20, 0, 0, 0], &a.echoed4(b"x")))
    }),
    case(
        "redirect to another router",
        "RFC 1122, section 3.2.2.2",
        "2 x icmp 0/0",
        Differs(
            "2 x icmp 0/0",
            "routes are configured, and redirects, which RFC 1122 has hosts follow, do not change them",
        ),
        |a| {
            let quoted = V4::new(HOST4, a.far4(1), ICMP).with(&icmp(0, 0, a.ident(), b"from afar"));
            let redirect = icmp(5, 1, a.v4(1).octets(), &quoted);
            let redirect = ethernet(HOST_MAC, ROUTER_MAC, IPV4, &V4::new(ROUTER4, HOST4, ICMP).with(&redirect));
            let ping = far(a, ICMP, &a.echo4(b"from afar"));
            vec![ping.clone(), redirect, ping]
        },
    ),
    case("message of one byte", SILENCE, "nothing", Same, |a| message(a, &[8])),
    case("packet without a message", SILENCE, "nothing", Same, |a| message(a, &[])),
    case("echo whose frame ends early", SILENCE, "nothing", Same, |a| {
        let whole = a.ping4(&bytes(56));
        let len = whole.len();
        vec![cut(whole, len - 1)]
    }),
];
