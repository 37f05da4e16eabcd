//! Fragments of IPv6 (RFC 8200, section 4.5). Lost ones are not awaited: the errors about them come after a minute.

use crate::conformance::craft::{
    FRAGMENT, HOP_BY_HOP, ICMPV6, OPTIONS, UDP, V6, bytes, icmp6, link_option, options, solicited_node,
};
use crate::conformance::stations::{At, CLOSED, HOST6};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};

const WHOLE: &str = "RFC 8200, section 4.5";
const OVERLAP: &str = "RFC 5722, section 4";
const ATOMIC: &str = "RFC 6946, section 4";
const FIRST: &str = "RFC 7112, section 5";
const IDENT: u32 = 0x0dd0_1234;

fn echo(a: At, len: usize, size: usize) -> Vec<Vec<u8>> {
    frames(a, &a.ip6(ICMPV6).fragments(IDENT, &a.echo6(&bytes(len - 8)), size))
}

fn frames(a: At, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    packets.iter().map(|packet| a.frame6(packet)).collect()
}

/// Pieces of an echo of 48 bytes by offset, in this order; the one that ends at 48 is the last.
fn pieces(a: At, pieces: &[(usize, usize)]) -> Vec<Vec<u8>> {
    let (ip, whole) = (a.ip6(ICMPV6), a.echo6(&bytes(40)));
    let piece = |(from, to): &(usize, usize)| a.frame6(&ip.fragment(IDENT, *from, &whole[*from..*to], *to < 48));
    pieces.iter().map(piece).collect()
}

/// A piece of such an echo with other contents.
fn forged(a: At, from: usize, to: usize) -> Vec<u8> {
    a.frame6(&a.ip6(ICMPV6).fragment(IDENT, from, &vec![0xee; to - from], to < 48))
}

fn congested(a: At, bits: [u32; 2]) -> Vec<Vec<u8>> {
    let whole = a.echo6(&bytes(40));
    let [first, last] = bits.map(|bits| V6 { class: bits << 20, ..a.ip6(ICMPV6) });
    frames(a, &[first.fragment(IDENT, 0, &whole[..24], true), last.fragment(IDENT, 24, &whole[24..], false)])
}

/// Fragment header by its bytes, behind which the protocol stands.
fn header(field: u16) -> (u8, Vec<u8>) {
    (FRAGMENT, [&[0, 0], &field.to_be_bytes()[..], &IDENT.to_be_bytes()].concat())
}

pub(crate) const CASES: &[Case] = &[
    case("fragments6 in order", WHOLE, "icmp6 129/0", Same, |a| pieces(a, &[(0, 24), (24, 48)])),
    case("fragments6 in reverse order", WHOLE, "icmp6 129/0", Same, |a| pieces(a, &[(32, 48), (16, 32), (0, 16)])),
    case("the middle fragment6 last", WHOLE, "icmp6 129/0", Same, |a| pieces(a, &[(0, 16), (32, 48), (16, 32)])),
    case("fragments6 of eight bytes", WHOLE, "icmp6 129/0", Same, |a| echo(a, 64, 8)),
    case("an answer in fragments6", WHOLE, "4 x fragment6", Same, |a| echo(a, 5000, 1448)),
    case("the longest echo6", WHOLE, "46 x fragment6", Same, |a| echo(a, 65_527, 1448)),
    case("128 fragments6", WHOLE, "icmp6 129/0", Same, |a| echo(a, 1024, 8)),
    case("129 fragments6", WHOLE, "icmp6 129/0", Same, |a| echo(a, 1032, 8)),
    case("180 fragments6", WHOLE, "icmp6 129/0", Same, |a| echo(a, 1440, 8)),
    case("the first fragment6 twice", OVERLAP, "icmp6 129/0", Same, |a| pieces(a, &[(0, 24), (0, 24), (24, 48)])),
    case("the last fragment6 twice", OVERLAP, "icmp6 129/0", Same, |a| pieces(a, &[(24, 48), (24, 48), (0, 24)])),
    case("all fragments6 twice", WHOLE, "2 x icmp6 129/0", Same, |a| {
        [pieces(a, &[(0, 24), (24, 48)]), pieces(a, &[(0, 24), (24, 48)])].concat()
    }),
    case(
        "a fragment6 within another",
        OVERLAP,
        "icmp6 129/0",
        Differs(
            "nothing",
            "RFC 5722 has all that overlaps given up; Linux takes what lies within another for a duplicate",
        ),
        |a| pieces(a, &[(0, 24), (8, 16), (24, 48)]),
    ),
    case(
        "a fragment6 within another, with other contents",
        OVERLAP,
        "icmp6 129/0",
        Differs(
            "nothing",
            "RFC 5722 has all that overlaps given up; Linux takes what lies within another for a duplicate",
        ),
        |a| [pieces(a, &[(0, 24)]), vec![forged(a, 8, 16)], pieces(a, &[(24, 48)])].concat(),
    ),
    case("a fragment6 around another", OVERLAP, "nothing", Same, |a| pieces(a, &[(8, 16), (0, 24), (24, 48)])),
    case("fragments6 that overlap", OVERLAP, "nothing", Same, |a| pieces(a, &[(0, 24), (16, 48)])),
    case("fragments6 that overlap, the later one first", OVERLAP, "nothing", Same, |a| pieces(a, &[(16, 48), (0, 24)])),
    case("fragments6 that overlap and differ", OVERLAP, "nothing", Same, |a| {
        [pieces(a, &[(0, 24)]), vec![forged(a, 16, 48)]].concat()
    }),
    case("no first fragment6", WHOLE, "nothing", Same, |a| pieces(a, &[(16, 32), (32, 48)])),
    case("no middle fragment6", WHOLE, "nothing", Same, |a| pieces(a, &[(0, 16), (32, 48)])),
    case("no last fragment6", WHOLE, "nothing", Same, |a| pieces(a, &[(0, 16), (16, 32)])),
    case("a fragment6 whose length is no multiple of eight", WHOLE, "icmp6 4/0", Same, |a| {
        vec![a.frame6(&a.ip6(ICMPV6).fragment(IDENT, 0, &a.echo6(&bytes(40))[..20], true))]
    }),
    case("a fragment6 beyond 65535 bytes", WHOLE, "icmp6 4/0", Same, |a| {
        vec![a.frame6(&a.ip6(ICMPV6).fragment(IDENT, 65_528, &bytes(16), false))]
    }),
    case("a last fragment6 without data", WHOLE, "nothing", Same, |a| {
        let (ip, whole) = (a.ip6(ICMPV6), a.echo6(&bytes(40)));
        frames(a, &[ip.fragment(IDENT, 0, &whole, true), ip.fragment(IDENT, 48, &[], false)])
    }),
    case("two ends of an IPv6 packet", WHOLE, "nothing", Same, |a| {
        let (ip, whole) = (a.ip6(ICMPV6), a.echo6(&bytes(40)));
        let all = [(40, 48, false), (32, 40, false), (0, 32, true)];
        frames(a, &all.map(|(from, to, more)| ip.fragment(IDENT, from, &whole[from..to], more)))
    }),
    case("two IPv6 packets, their fragments mixed", WHOLE, "2 x icmp6 129/0", Same, |a| {
        let [one, two] = [IDENT, IDENT + 1].map(|ident| a.ip6(ICMPV6).fragments(ident, &a.echo6(&bytes(40)), 24));
        frames(a, &[one[0].clone(), two[0].clone(), one[1].clone(), two[1].clone()])
    }),
    case(
        "congestion marked on one fragment6",
        "RFC 3168, section 5.3",
        "icmp6 129/0",
        Differs("icmp6 129/0", "answers have traffic class 0; Linux gives the request's back"),
        |a| congested(a, [2, 3]),
    ),
    case(
        "congestion marked on a fragment6 whose sender knows no marks",
        "RFC 3168, section 5.3",
        "nothing",
        Differs("icmp6 129/0", "marks of congestion are not looked at: no protocol here answers them"),
        |a| congested(a, [0, 3]),
    ),
    case("an atomic fragment", ATOMIC, "icmp6 129/0", Same, |a| {
        vec![a.frame6(&a.ip6(ICMPV6).fragment(IDENT, 0, &a.echo6(b"whole"), false))]
    }),
    case("an atomic fragment between others of its name", ATOMIC, "2 x icmp6 129/0", Same, |a| {
        let atom = a.frame6(&a.ip6(ICMPV6).fragment(IDENT, 0, &a.echo6(b"whole"), false));
        [pieces(a, &[(0, 24)]), vec![atom], pieces(a, &[(24, 48)])].concat()
    }),
    case(
        "an atomic fragment for a closed port",
        "RFC 4443, section 3.1",
        "icmp6 1/4",
        Differs("icmp6 1/4", "the error quotes the packet without its fragment header; Linux as it came"),
        |a| vec![a.frame6(&a.ip6(UDP).fragment(IDENT, 0, &a.datagram6(CLOSED, b"whole"), false))],
    ),
    case("reserved bits of a fragment header", WHOLE, "icmp6 129/0", Same, |a| {
        let mut chain = vec![header(6)];
        chain[0].1[1] = 0xff;
        vec![a.frame6(&V6 { chain, ..a.ip6(ICMPV6) }.with(&a.echo6(b"whole")))]
    }),
    case(
        "two fragment headers",
        "RFC 8200, section 4.1",
        "icmp6 4/0",
        Differs("nothing", "dropped without an error: RFC 8200 has such a header at most once, and asks for no error"),
        |a| vec![a.frame6(&V6 { chain: vec![header(0), header(0)], ..a.ip6(ICMPV6) }.with(&a.echo6(b"whole")))],
    ),
    case(
        "a fragment header cut short",
        WHOLE,
        "icmp6 4/0",
        Differs("nothing", "packets that end within a header are dropped without an error"),
        |a| vec![a.frame6(&V6 { protocol: FRAGMENT, ..a.ip6(FRAGMENT) }.with(&[58, 0, 0, 1]))],
    ),
    case("options in the fragmented part", WHOLE, "icmp6 129/0", Same, |a| {
        let whole = [&[ICMPV6, 0, 1, 4, 0, 0, 0, 0][..], &a.echo6(&bytes(40))].concat();
        frames(a, &V6 { protocol: OPTIONS, ..a.ip6(OPTIONS) }.fragments(IDENT, &whole, 24))
    }),
    case("hop-by-hop options before each fragment6", WHOLE, "icmp6 129/0", Same, |a| {
        let ip = V6 { chain: vec![(HOP_BY_HOP, options(&[1, 4, 0, 0, 0, 0]))], ..a.ip6(ICMPV6) };
        frames(a, &ip.fragments(IDENT, &a.echo6(&bytes(40)), 24))
    }),
    case("a first fragment6 that does not hold all headers", FIRST, "icmp6 4/3", Same, |a| {
        let whole = [&[ICMPV6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &a.echo6(&bytes(40))].concat();
        let ip = V6 { protocol: OPTIONS, ..a.ip6(OPTIONS) };
        frames(a, &[ip.fragment(IDENT, 0, &whole[..8], true), ip.fragment(IDENT, 8, &whole[8..], false)])
    }),
    case("a fragmented solicitation", "RFC 6980, section 5", "nothing", Same, |a| {
        let to = solicited_node(HOST6);
        let body = [&HOST6.octets()[..], &link_option(1, a.mac(1))].concat();
        let message = icmp6(a.v6(1), to, 135, 0, [0; 4], &body);
        let ip = V6 { to, hops: 255, ..a.ip6(ICMPV6) };
        ip.fragments(IDENT, &message, 24).iter().map(|packet| a.group6(packet, to)).collect()
    }),
    case("an atomic fragment of a solicitation", "RFC 6980, section 5", "nothing", Same, |a| {
        let to = solicited_node(HOST6);
        let body = [&HOST6.octets()[..], &link_option(1, a.mac(1))].concat();
        let message = icmp6(a.v6(1), to, 135, 0, [0; 4], &body);
        vec![a.group6(&V6 { to, hops: 255, ..a.ip6(ICMPV6) }.fragment(IDENT, 0, &message, false), to)]
    }),
    case("a datagram6 in fragments", WHOLE, "2 x fragment6", Same, |a| {
        frames(a, &a.ip6(UDP).fragments(IDENT, &a.datagram6(7, &bytes(2000)), 1448))
    }),
    case("a datagram6 in fragments for a closed port", "RFC 4443, section 3.1", "icmp6 1/4", Same, |a| {
        frames(a, &a.ip6(UDP).fragments(IDENT, &a.datagram6(CLOSED, &bytes(40)), 24))
    }),
    case("a datagram6 in fragments without a checksum", "RFC 8200, section 8.1", "nothing", Same, |a| {
        let mut datagram = a.datagram6(7, &bytes(40));
        datagram[6..8].fill(0);
        frames(a, &a.ip6(UDP).fragments(IDENT, &datagram, 24))
    }),
    case("an unknown next header in fragments", "RFC 8200, section 4", "icmp6 4/1", Same, |a| {
        frames(a, &a.ip6(253).fragments(IDENT, &bytes(48), 24))
    }),
];
