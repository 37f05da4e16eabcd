//! IP headers that are wrong, lengths that contradict each other, and hop limits.

use crate::conformance::craft::{ICMP, ICMPV6, IPV4, IPV6, UDP, V4, V6, bytes, cut, ethernet, padded};
use crate::conformance::stations::{At, CLOSED, HOST_MAC};
use crate::conformance::table::Expected::Same;
use crate::conformance::table::{Case, case};

const HEADER: &str = "RFC 1122, section 3.2.1";
const LENGTH: &str = "RFC 791, section 3.1";
const HEADER6: &str = "RFC 8200, section 3";
const TTL: &str = "RFC 1122, section 3.2.1.7";

fn with(a: At, ip: &V4) -> Vec<Vec<u8>> {
    vec![a.frame4(&ip.with(&a.echo4(&bytes(40))))]
}

fn with6(a: At, ip: &V6) -> Vec<Vec<u8>> {
    vec![a.frame6(&ip.with(&a.echo6(&bytes(40))))]
}

pub(crate) const CASES: &[Case] = &[
    // ---- IPv4 ----
    case("version 5", "RFC 1122, section 3.2.1.1", "nothing", Same, |a| {
        with(a, &V4 { version: Some(0x55), ..a.ip4(ICMP) })
    }),
    case("version 6 in a frame of IPv4", "RFC 1122, section 3.2.1.1", "nothing", Same, |a| {
        vec![ethernet(HOST_MAC, a.mac(1), IPV4, &a.ip6(ICMPV6).with(&a.echo6(b"lost")))]
    }),
    case("header of 16 bytes", LENGTH, "nothing", Same, |a| with(a, &V4 { version: Some(0x44), ..a.ip4(ICMP) })),
    case("header longer than the packet", LENGTH, "nothing", Same, |a| {
        vec![a.frame4(&V4 { version: Some(0x4f), ..a.ip4(ICMP) }.with(&a.echo4(b"")))]
    }),
    case("header cut short", LENGTH, "nothing", Same, |a| vec![cut(a.ping4(b""), 14 + 19)]),
    case("wrong header checksum", "RFC 1122, section 3.2.1.2", "nothing", Same, |a| {
        with(a, &V4 { checksum: Some(0x1234), ..a.ip4(ICMP) })
    }),
    case("no header checksum", "RFC 1122, section 3.2.1.2", "nothing", Same, |a| {
        with(a, &V4 { checksum: Some(0), ..a.ip4(ICMP) })
    }),
    case("total length of zero", LENGTH, "nothing", Same, |a| with(a, &V4 { total: Some(0), ..a.ip4(ICMP) })),
    case("total length within the header", LENGTH, "nothing", Same, |a| {
        with(a, &V4 { total: Some(19), ..a.ip4(ICMP) })
    }),
    case("total length of the header alone", LENGTH, "nothing", Same, |a| {
        with(a, &V4 { total: Some(20), ..a.ip4(ICMP) })
    }),
    case("total length within the message", LENGTH, "nothing", Same, |a| {
        with(a, &V4 { total: Some(40), ..a.ip4(ICMP) })
    }),
    case("total length beyond the frame", LENGTH, "nothing", Same, |a| with(a, &V4 { total: Some(69), ..a.ip4(ICMP) })),
    case("frame padded with zeros", "RFC 894", "icmp 0/0", Same, |a| vec![padded(a.ping4(b"x"), 60, 0)]),
    case("frame padded with rubbish", "RFC 894", "icmp 0/0", Same, |a| vec![padded(a.ping4(b"x"), 60, 0xaa)]),
    case("frame padded to the MTU", "RFC 894", "icmp 0/0", Same, |a| vec![padded(a.ping4(b"x"), 1514, 0xaa)]),
    case("time to live of 1", TTL, "icmp 0/0", Same, |a| with(a, &V4 { ttl: 1, ..a.ip4(ICMP) })),
    case("time to live of 0", TTL, "icmp 0/0", Same, |a| with(a, &V4 { ttl: 0, ..a.ip4(ICMP) })),
    case("time to live of 1 for a closed port", TTL, "icmp 3/3", Same, |a| {
        vec![a.frame4(&V4 { ttl: 1, ..a.ip4(UDP) }.with(&a.datagram4(CLOSED, b"traced")))]
    }),
    case("frame of IPv4 without a packet", LENGTH, "nothing", Same, |a| vec![a.frame4(&[])]),
    case("frame of IPv4 with a byte", LENGTH, "nothing", Same, |a| vec![a.frame4(&[0x45])]),
    case("padded frame of zeros", LENGTH, "nothing", Same, |a| vec![padded(a.frame4(&[]), 60, 0)]),
    // ---- IPv6 ----
    case("version 4 in a header of IPv6", HEADER6, "nothing", Same, |a| {
        with6(a, &V6 { version: Some(4), ..a.ip6(ICMPV6) })
    }),
    case("version 7", HEADER6, "nothing", Same, |a| with6(a, &V6 { version: Some(7), ..a.ip6(ICMPV6) })),
    case("IPv4 in a frame of IPv6", HEADER6, "nothing", Same, |a| {
        vec![ethernet(HOST_MAC, a.mac(1), IPV6, &a.ip4(ICMP).with(&a.echo4(&bytes(40))))]
    }),
    case("IPv6 header cut short", HEADER6, "nothing", Same, |a| vec![cut(a.ping6(b""), 14 + 39)]),
    case("payload length beyond the frame", HEADER6, "nothing", Same, |a| {
        with6(a, &V6 { len: Some(49), ..a.ip6(ICMPV6) })
    }),
    case("payload length within the message", HEADER6, "nothing", Same, |a| {
        with6(a, &V6 { len: Some(20), ..a.ip6(ICMPV6) })
    }),
    case("payload length of zero", HEADER6, "nothing", Same, |a| with6(a, &V6 { len: Some(0), ..a.ip6(ICMPV6) })),
    case("IPv6 frame padded with rubbish", "RFC 2464, section 3", "icmp6 129/0", Same, |a| {
        vec![padded(a.ping6(b"x"), 100, 0xaa)]
    }),
    case("hop limit of 1", HEADER6, "icmp6 129/0", Same, |a| with6(a, &V6 { hops: 1, ..a.ip6(ICMPV6) })),
    case("hop limit of 0", HEADER6, "icmp6 129/0", Same, |a| with6(a, &V6 { hops: 0, ..a.ip6(ICMPV6) })),
    case("hop limit of 0 for a closed port", HEADER6, "icmp6 1/4", Same, |a| {
        vec![a.frame6(&V6 { hops: 0, ..a.ip6(UDP) }.with(&a.datagram6(CLOSED, b"traced")))]
    }),
    case("frame of IPv6 without a packet", HEADER6, "nothing", Same, |a| vec![a.frame6(&[])]),
    case("IPv6 echo whose frame ends early", HEADER6, "nothing", Same, |a| {
        let whole = a.ping6(&bytes(56));
        let len = whole.len();
        vec![cut(whole, len - 1)]
    }),
    case("header checksum whose options are left out", HEADER, "nothing", Same, |a| {
        // The sum over the first 20 bytes alone.
        let ip = V4 { version: Some(0x46), total: Some(24 + 48), ..a.ip4(ICMP) };
        vec![a.frame4(&ip.with(&[&[30, 4, 9, 9][..], &a.echo4(&bytes(40))].concat()))]
    }),
];
