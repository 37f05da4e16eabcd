//! Addresses that cannot be on a link, and packets that are for others.

use crate::conformance::craft::{BROADCAST, ICMP, ICMPV6, IPV4, IPV6, UDP, V4, V6, ethernet, icmp6, udp};
use crate::conformance::stations::{At, CLOSED, DIRECTED, HOST_MAC, HOST4, HOST6, OURS};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};
use std::net::{Ipv4Addr, Ipv6Addr};

const SOURCE: &str = "RFC 1122, section 3.2.1.3";
const DESTINATION: &str = "RFC 1122, section 3.2.1.3";
const SOURCE6: &str = "RFC 4291, section 2.5";
const OTHERS: &str = "RFC 1122, section 3.3.1";

/// Echo between any two addresses, in a frame to the subject.
fn ping(a: At, from: Ipv4Addr, to: Ipv4Addr) -> Vec<Vec<u8>> {
    vec![a.frame4(&V4::new(from, to, ICMP).with(&a.echo4(b"martian")))]
}

fn ping6(a: At, from: Ipv6Addr, to: Ipv6Addr) -> Vec<Vec<u8>> {
    vec![a.frame6(&V6::new(from, to, ICMPV6).with(&icmp6(from, to, 128, 0, a.ident(), b"martian")))]
}

/// Datagram for a closed port.
fn closed(a: At, from: Ipv4Addr) -> Vec<Vec<u8>> {
    vec![a.frame4(&V4::new(from, HOST4, UDP).with(&udp((from.into(), OURS), (HOST4.into(), CLOSED), b"martian")))]
}

pub(crate) const CASES: &[Case] = &[
    // ---- sources ----
    case("echo from no address", SOURCE, "nothing", Same, |a| ping(a, Ipv4Addr::UNSPECIFIED, HOST4)),
    case("echo from the loopback address", SOURCE, "nothing", Same, |a| ping(a, Ipv4Addr::LOCALHOST, HOST4)),
    case("echo from another loopback address", SOURCE, "nothing", Same, |a| {
        ping(a, Ipv4Addr::new(127, 9, 9, 9), HOST4)
    }),
    case("echo from a group", SOURCE, "nothing", Same, |a| ping(a, Ipv4Addr::new(224, 0, 0, 1), HOST4)),
    case("echo from all", SOURCE, "nothing", Same, |a| ping(a, Ipv4Addr::BROADCAST, HOST4)),
    case(
        "echo from the network's broadcast address",
        SOURCE,
        "icmp 0/0",
        Differs("nothing", "RFC 1122 has such sources dropped; Linux answers to all"),
        |a| ping(a, DIRECTED, HOST4),
    ),
    case("echo from our own address", "RFC 1122, section 3.2.1.3", "nothing", Same, |a| ping(a, HOST4, HOST4)),
    case("datagram for a closed port from all", SOURCE, "nothing", Same, |a| closed(a, Ipv4Addr::BROADCAST)),
    case(
        "datagram for a closed port from the network's broadcast address",
        SOURCE,
        "icmp 3/3",
        Differs("nothing", "RFC 1122 has no errors sent to all; Linux sends it"),
        |a| closed(a, DIRECTED),
    ),
    case("datagram for a closed port from a group", SOURCE, "nothing", Same, |a| {
        closed(a, Ipv4Addr::new(239, 1, 1, 1))
    }),
    case("datagram for a closed port from no address", SOURCE, "nothing", Same, |a| closed(a, Ipv4Addr::UNSPECIFIED)),
    case("datagram for a closed port from our own address", SOURCE, "nothing", Same, |a| closed(a, HOST4)),
    // ---- destinations ----
    case("echo to the loopback address", DESTINATION, "nothing", Same, |a| ping(a, a.v4(1), Ipv4Addr::LOCALHOST)),
    case("echo to no address", DESTINATION, "nothing", Same, |a| ping(a, a.v4(1), Ipv4Addr::UNSPECIFIED)),
    case("echo to the network's address", DESTINATION, "nothing", Same, |a| {
        ping(a, a.v4(1), Ipv4Addr::new(10, 0, 0, 0))
    }),
    case("echo to a reserved address", DESTINATION, "nothing", Same, |a| ping(a, a.v4(1), Ipv4Addr::new(240, 0, 0, 1))),
    case("echo to all, in a frame for us", DESTINATION, "nothing", Same, |a| ping(a, a.v4(1), Ipv4Addr::BROADCAST)),
    case("echo to another, in a frame for us", OTHERS, "nothing", Same, |a| ping(a, a.v4(1), a.v4(2))),
    case("echo to one behind the router, in a frame for us", OTHERS, "nothing", Same, |a| ping(a, a.v4(1), a.far4(2))),
    case("echo to another, in a frame for all", OTHERS, "nothing", Same, |a| {
        vec![ethernet(BROADCAST, a.mac(1), IPV4, &V4::new(a.v4(1), a.v4(2), ICMP).with(&a.echo4(b"for another")))]
    }),
    case("echo to us, in a frame for another", "IEEE 802.3, clause 3.2.4", "nothing", Same, |a| {
        vec![ethernet(a.mac(9), a.mac(1), IPV4, &a.ip4(ICMP).with(&a.echo4(b"for another")))]
    }),
    case("datagram for a closed port of another, in a frame for us", OTHERS, "nothing", Same, |a| {
        let datagram = udp((a.v4(1).into(), OURS), (a.v4(2).into(), CLOSED), b"for another");
        vec![a.frame4(&V4::new(a.v4(1), a.v4(2), UDP).with(&datagram))]
    }),
    // ---- IPv6 ----
    case("echo6 from the loopback address", SOURCE6, "nothing", Same, |a| ping6(a, Ipv6Addr::LOCALHOST, HOST6)),
    case("echo6 from a group", "RFC 4291, section 2.7", "nothing", Same, |a| {
        ping6(a, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1), HOST6)
    }),
    case("echo6 from a mapped address", "RFC 4291, section 2.5.5.2", "nothing", Same, |a| {
        ping6(a, a.v4(1).to_ipv6_mapped(), HOST6)
    }),
    case("echo6 from our own address", SOURCE6, "nothing", Same, |a| ping6(a, HOST6, HOST6)),
    case("echo6 to the loopback address", SOURCE6, "nothing", Same, |a| ping6(a, a.v6(1), Ipv6Addr::LOCALHOST)),
    case("echo6 to no address", SOURCE6, "nothing", Same, |a| ping6(a, a.v6(1), Ipv6Addr::UNSPECIFIED)),
    case("echo6 to a mapped address of ours", "RFC 4291, section 2.5.5.2", "nothing", Same, |a| {
        ping6(a, a.v6(1), HOST4.to_ipv6_mapped())
    }),
    case("echo6 to the subnet's routers", "RFC 4291, section 2.6.1", "nothing", Same, |a| {
        ping6(a, a.v6(1), Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 0, 0, 0))
    }),
    case("echo6 to another, in a frame for us", "RFC 8200, section 2", "nothing", Same, |a| ping6(a, a.v6(1), a.v6(2))),
    case("echo6 to one behind the router, in a frame for us", "RFC 8200, section 2", "nothing", Same, |a| {
        ping6(a, a.v6(1), a.far6(2))
    }),
    case("echo6 to us, in a frame for another", "RFC 2464, section 6", "nothing", Same, |a| {
        vec![ethernet(a.mac(9), a.mac(1), IPV6, &a.ip6(ICMPV6).with(&a.echo6(b"for another")))]
    }),
    case("echo6 to us, in a frame for all", "RFC 2464, section 6", "icmp6 129/0", Same, |a| {
        vec![ethernet(BROADCAST, a.mac(1), IPV6, &a.ip6(ICMPV6).with(&a.echo6(b"loud")))]
    }),
    // ---- stations ----
    case(
        "echo from a group's MAC address",
        "IEEE 802.3, clause 3.2.3",
        "icmp 0/0",
        Differs("nothing", "frames cannot come from a group; Linux does not look at the source"),
        |a| vec![ethernet(HOST_MAC, [1, 0, 0x5e, 0, 0, 1], IPV4, &a.ip4(ICMP).with(&a.echo4(b"odd")))],
    ),
    case(
        "echo from the broadcast MAC address",
        "IEEE 802.3, clause 3.2.3",
        "icmp 0/0",
        Differs("nothing", "frames cannot come from a group; Linux does not look at the source"),
        |a| vec![ethernet(HOST_MAC, BROADCAST, IPV4, &a.ip4(ICMP).with(&a.echo4(b"odd")))],
    ),
    case("echo from our own MAC address", "IEEE 802.3, clause 3.2.3", "icmp 0/0", Same, |a| {
        vec![ethernet(HOST_MAC, HOST_MAC, IPV4, &a.ip4(ICMP).with(&a.echo4(b"odd")))]
    }),
    case("echo from MAC address zero", "IEEE 802.3, clause 3.2.3", "icmp 0/0", Same, |a| {
        vec![ethernet(HOST_MAC, [0; 6], IPV4, &a.ip4(ICMP).with(&a.echo4(b"odd")))]
    }),
];
