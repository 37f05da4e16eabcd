//! UDP (RFC 768; RFC 8200, section 8.1): checksums, lengths, ports and broadcasts.

use crate::conformance::craft::{UDP, V4, bytes, udp};
use crate::conformance::stations::{At, CLOSED, DIRECTED, ECHO, HOST4, HOST6, OURS};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};
use std::net::{IpAddr, Ipv4Addr};

const FIELDS: &str = "RFC 768";
const CHECKSUM: &str = "RFC 1122, section 4.1.3.4";
const CHECKSUM6: &str = "RFC 8200, section 8.1";
const BROADCAST: &str = "RFC 1122, section 4.1.3.6";

/// Datagram to the echo service, changed.
fn with(a: At, change: fn(&mut Vec<u8>)) -> Vec<Vec<u8>> {
    let mut datagram = a.datagram4(ECHO, &bytes(40));
    change(&mut datagram);
    vec![a.frame4(&a.ip4(UDP).with(&datagram))]
}

fn with6(a: At, change: fn(&mut Vec<u8>)) -> Vec<Vec<u8>> {
    let mut datagram = a.datagram6(ECHO, &bytes(40));
    change(&mut datagram);
    vec![a.frame6(&a.ip6(UDP).with(&datagram))]
}

/// The same with a length field, and a checksum that is right for it.
fn length(a: At, field: u16, body: usize) -> Vec<Vec<u8>> {
    let whole = a.datagram4(ECHO, &bytes(body));
    vec![a.frame4(&a.ip4(UDP).with(&claimed(&whole, (a.v4(1).into(), HOST4.into()), field)))]
}

fn length6(a: At, field: u16, body: usize) -> Vec<Vec<u8>> {
    let whole = a.datagram6(ECHO, &bytes(body));
    vec![a.frame6(&a.ip6(UDP).with(&claimed(&whole, (a.v6(1).into(), HOST6.into()), field)))]
}

/// A datagram that claims to be of another length: its checksum is over so much of it as there is.
fn claimed(whole: &[u8], (from, to): (IpAddr, IpAddr), field: u16) -> Vec<u8> {
    use crate::conformance::craft::{checksum, pseudo};
    let mut datagram = whole.to_vec();
    datagram[4..6].copy_from_slice(&field.to_be_bytes());
    datagram[6..8].fill(0);
    let len = if field == 0 { datagram.len() } else { usize::from(field) };
    let covered = &datagram[..len.min(datagram.len())];
    let sum = checksum(&[&pseudo(from, to, UDP, len), covered]);
    datagram[6..8].copy_from_slice(&sum);
    datagram
}

/// Datagram whose checksum comes out as zero, and is sent as all ones.
fn ones(from: IpAddr, to: IpAddr) -> Vec<u8> {
    let plain = udp((from, OURS), (to, ECHO), &[0, 0]);
    // The last word takes the place of the checksum's complement.
    let datagram = udp((from, OURS), (to, ECHO), &plain[6..8]);
    assert_eq!(datagram[6..8], [0xff, 0xff]);
    datagram
}

fn broadcast(a: At, port: u16, to: Ipv4Addr) -> Vec<Vec<u8>> {
    let datagram = udp((a.v4(1).into(), OURS), (to.into(), port), b"all");
    vec![a.group4(&V4 { to, ..a.ip4(UDP) }.with(&datagram), to)]
}

pub(crate) const CASES: &[Case] = &[
    // ---- the service ----
    case("datagram for the echo service", "RFC 862", "udp", Same, |a| vec![a.udp4(ECHO, b"echo")]),
    case("datagram without data", FIELDS, "udp", Same, |a| vec![a.udp4(ECHO, b"")]),
    case("datagram of an odd length", FIELDS, "udp", Same, |a| vec![a.udp4(ECHO, b"odd")]),
    case("datagram that fills the MTU", FIELDS, "udp", Same, |a| vec![a.udp4(ECHO, &bytes(1472))]),
    case("datagram from an unknown neighbour", "RFC 1122, section 2.3.2.2", "arp request, udp", Same, |a| {
        vec![a.udp4(ECHO, b"who is it")]
    })
    .unmet(),
    case("two datagrams from an unknown neighbour", "RFC 1122, section 2.3.2.2", "arp request, 2 x udp", Same, |a| {
        vec![a.udp4(ECHO, b"one"), a.udp4(ECHO, b"two")]
    })
    .unmet(),
    case("datagram6 for the echo service", "RFC 862", "udp6", Same, |a| vec![a.udp6(ECHO, b"echo")]),
    case("datagram6 without data", FIELDS, "udp6", Same, |a| vec![a.udp6(ECHO, b"")]),
    case("datagram6 that fills the MTU", FIELDS, "udp6", Same, |a| vec![a.udp6(ECHO, &bytes(1452))]),
    case("datagram6 from an unknown neighbour", "RFC 4861, section 7.2.2", "icmp6 135/0, udp6", Same, |a| {
        vec![a.udp6(ECHO, b"who is it")]
    })
    .unmet(),
    case("datagram with a type of service", "RFC 1122, section 4.1.4", "udp", Same, |a| {
        vec![a.frame4(&V4 { tos: 0xb8, ..a.ip4(UDP) }.with(&a.datagram4(ECHO, b"urgent")))]
    }),
    // ---- checksums ----
    case("no checksum", CHECKSUM, "udp", Same, |a| with(a, |datagram| datagram[6..8].fill(0))),
    case("wrong checksum", CHECKSUM, "nothing", Same, |a| with(a, |datagram| datagram[6] ^= 1)),
    case("wrong data", CHECKSUM, "nothing", Same, |a| with(a, |datagram| datagram[20] ^= 1)),
    case("checksum of all ones", FIELDS, "udp", Same, |a| {
        vec![a.frame4(&a.ip4(UDP).with(&ones(a.v4(1).into(), HOST4.into())))]
    }),
    case("wrong checksum for a closed port", CHECKSUM, "nothing", Same, |a| {
        let mut datagram = a.datagram4(CLOSED, b"wrong");
        datagram[6] ^= 1;
        vec![a.frame4(&a.ip4(UDP).with(&datagram))]
    }),
    case("no checksum for a closed port", CHECKSUM, "icmp 3/3", Same, |a| {
        let mut datagram = a.datagram4(CLOSED, b"none");
        datagram[6..8].fill(0);
        vec![a.frame4(&a.ip4(UDP).with(&datagram))]
    }),
    case("no checksum over IPv6", CHECKSUM6, "nothing", Same, |a| with6(a, |datagram| datagram[6..8].fill(0))),
    case("no checksum over IPv6, for a closed port", CHECKSUM6, "nothing", Same, |a| {
        let mut datagram = a.datagram6(CLOSED, b"none");
        datagram[6..8].fill(0);
        vec![a.frame6(&a.ip6(UDP).with(&datagram))]
    }),
    case("wrong checksum over IPv6", CHECKSUM6, "nothing", Same, |a| with6(a, |datagram| datagram[6] ^= 1)),
    case("checksum of all ones over IPv6", CHECKSUM6, "udp6", Same, |a| {
        vec![a.frame6(&a.ip6(UDP).with(&ones(a.v6(1).into(), HOST6.into())))]
    }),
    // ---- lengths ----
    case("length beyond the packet", FIELDS, "nothing", Same, |a| length(a, 49, 40)),
    case("length short of the packet", FIELDS, "udp", Same, |a| length(a, 28, 40)),
    case("length of the header alone", FIELDS, "udp", Same, |a| length(a, 8, 40)),
    case("length within the header", FIELDS, "nothing", Same, |a| length(a, 7, 40)),
    case("length of zero", FIELDS, "nothing", Same, |a| length(a, 0, 40)),
    case("length beyond the packet, over IPv6", FIELDS, "nothing", Same, |a| length6(a, 49, 40)),
    case("length short of the packet, over IPv6", FIELDS, "udp6", Same, |a| length6(a, 28, 40)),
    case("length within the header, over IPv6", FIELDS, "nothing", Same, |a| length6(a, 7, 40)),
    case(
        "length of zero, over IPv6",
        "RFC 2675, section 4",
        "udp6",
        Differs("nothing", "only jumbograms have length 0 (RFC 2675, section 4); Linux takes the packet's"),
        |a| length6(a, 0, 40),
    ),
    case("datagram header cut short", FIELDS, "nothing", Same, |a| {
        vec![a.frame4(&a.ip4(UDP).with(&a.datagram4(ECHO, b"")[..7]))]
    }),
    case("datagram header cut short, over IPv6", FIELDS, "nothing", Same, |a| {
        vec![a.frame6(&a.ip6(UDP).with(&a.datagram6(ECHO, b"")[..7]))]
    }),
    // ---- ports ----
    case("port 0", FIELDS, "icmp 3/3", Same, |a| vec![a.udp4(0, b"nowhere")]),
    case("port 0 over IPv6", FIELDS, "icmp6 1/4", Same, |a| vec![a.udp6(0, b"nowhere")]),
    case("datagram from port 0", FIELDS, "nothing", Same, |a| {
        vec![a.frame4(&a.ip4(UDP).with(&udp((a.v4(1).into(), 0), (HOST4.into(), ECHO), b"no answer wanted")))]
    }),
    case("datagram from port 0 over IPv6", FIELDS, "nothing", Same, |a| {
        vec![a.frame6(&a.ip6(UDP).with(&udp((a.v6(1).into(), 0), (HOST6.into(), ECHO), b"no answer wanted")))]
    }),
    case("datagram from port 0 for a closed port", FIELDS, "icmp 3/3", Same, |a| {
        vec![a.frame4(&a.ip4(UDP).with(&udp((a.v4(1).into(), 0), (HOST4.into(), CLOSED), b"anybody")))]
    }),
    // ---- broadcasts ----
    case(
        "broadcast for the echo service",
        BROADCAST,
        "udp",
        Differs("nothing", "services answer no broadcast: one forged datagram would have all hosts answer"),
        |a| broadcast(a, ECHO, DIRECTED),
    ),
    case(
        "limited broadcast for the echo service",
        BROADCAST,
        "udp",
        Differs("nothing", "services answer no broadcast: one forged datagram would have all hosts answer"),
        |a| broadcast(a, ECHO, Ipv4Addr::BROADCAST),
    ),
    case(
        "unicast datagram in a broadcast frame",
        "RFC 1122, section 3.3.6",
        "udp",
        Differs("nothing", "RFC 1122 has such packets dropped; Linux takes them, unless told otherwise"),
        |a| {
            let packet = a.ip4(UDP).with(&a.datagram4(ECHO, b"loud"));
            vec![crate::conformance::craft::ethernet([0xff; 6], a.mac(1), 0x0800, &packet)]
        },
    ),
];
