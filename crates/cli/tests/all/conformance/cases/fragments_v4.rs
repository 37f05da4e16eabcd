//! Fragments of IPv4 (RFC 791, section 3.2; RFC 1122, section 3.3.2). Lost ones are not awaited: the errors about
//! them come after half a minute.

use crate::conformance::craft::{ICMP, UDP, V4, bytes, udp};
use crate::conformance::stations::{At, CLOSED, HOST4, OURS};
use crate::conformance::table::Expected::{Differs, Same};
use crate::conformance::table::{Case, case};

const WHOLE: &str = "RFC 1122, section 3.3.2";
const BOUNDS: &str = "RFC 791, section 3.2";
const OVERLAP: &str = "RFC 1858, section 4";

/// Fragments of an echo of so many bytes, of `size` bytes each.
fn echo(a: At, len: usize, size: usize) -> Vec<Vec<u8>> {
    frames(a, &a.ip4(ICMP).fragments(&a.echo4(&bytes(len - 8)), size))
}

fn frames(a: At, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    packets.iter().map(|packet| a.frame4(packet)).collect()
}

/// Pieces of an echo of 48 bytes by offset, in this order; the one that ends at 48 is the last.
fn pieces(a: At, pieces: &[(usize, usize)]) -> Vec<Vec<u8>> {
    let (ip, whole) = (a.ip4(ICMP), a.echo4(&bytes(40)));
    let piece = |(from, to): &(usize, usize)| a.frame4(&ip.fragment(*from, &whole[*from..*to], *to < 48));
    pieces.iter().map(piece).collect()
}

/// A piece of such an echo with other contents.
fn forged(a: At, from: usize, to: usize) -> Vec<u8> {
    a.frame4(&a.ip4(ICMP).fragment(from, &vec![0xee; to - from], to < 48))
}

/// Fragments with these bits of congestion notification.
fn congested(a: At, bits: [u8; 2]) -> Vec<Vec<u8>> {
    let whole = a.echo4(&bytes(40));
    let [first, last] = bits.map(|tos| V4 { tos, ..a.ip4(ICMP) });
    frames(a, &[first.fragment(0, &whole[..24], true), last.fragment(24, &whole[24..], false)])
}

pub(crate) const CASES: &[Case] = &[
    case("fragments in order", WHOLE, "icmp 0/0", Same, |a| pieces(a, &[(0, 24), (24, 48)])),
    case("fragments in reverse order", WHOLE, "icmp 0/0", Same, |a| pieces(a, &[(32, 48), (16, 32), (0, 16)])),
    case("the middle fragment last", WHOLE, "icmp 0/0", Same, |a| pieces(a, &[(0, 16), (32, 48), (16, 32)])),
    case("fragments of eight bytes", WHOLE, "icmp 0/0", Same, |a| echo(a, 64, 8)),
    case("an answer in fragments", WHOLE, "4 x fragment", Same, |a| echo(a, 5000, 1480)),
    case("the longest echo", WHOLE, "45 x fragment", Same, |a| echo(a, 65_515, 1480)),
    case("128 fragments", WHOLE, "icmp 0/0", Same, |a| echo(a, 1024, 8)),
    case("129 fragments", WHOLE, "icmp 0/0", Same, |a| echo(a, 1032, 8)),
    case("180 fragments", WHOLE, "icmp 0/0", Same, |a| echo(a, 1440, 8)),
    case("the first fragment twice", WHOLE, "icmp 0/0", Same, |a| pieces(a, &[(0, 24), (0, 24), (24, 48)])),
    case("the last fragment twice", WHOLE, "icmp 0/0", Same, |a| pieces(a, &[(24, 48), (24, 48), (0, 24)])),
    case("all fragments twice", WHOLE, "2 x icmp 0/0", Same, |a| {
        [pieces(a, &[(0, 24), (24, 48)]), pieces(a, &[(0, 24), (24, 48)])].concat()
    }),
    case("a fragment within another", OVERLAP, "icmp 0/0", Same, |a| pieces(a, &[(0, 24), (8, 16), (24, 48)])),
    case(
        "a fragment within another, with other contents",
        OVERLAP,
        "icmp 0/0",
        Differs("nothing", "contradicting fragments are given up; Linux keeps those that came first"),
        |a| [pieces(a, &[(0, 24)]), vec![forged(a, 8, 16)], pieces(a, &[(24, 48)])].concat(),
    ),
    case(
        "the same fragment with other contents",
        OVERLAP,
        "icmp 0/0",
        Differs("nothing", "contradicting fragments are given up; Linux keeps those that came first"),
        |a| [pieces(a, &[(0, 24)]), vec![forged(a, 0, 24)], pieces(a, &[(24, 48)])].concat(),
    ),
    case(
        "a fragment around another",
        OVERLAP,
        "nothing",
        Differs("icmp 0/0", "overlaps of the same bytes are taken over IPv4, as RFC 791 has it; Linux drops them all"),
        |a| pieces(a, &[(8, 16), (0, 24), (24, 48)]),
    ),
    case(
        "fragments that overlap",
        OVERLAP,
        "nothing",
        Differs("icmp 0/0", "overlaps of the same bytes are taken over IPv4, as RFC 791 has it; Linux drops them all"),
        |a| pieces(a, &[(0, 24), (16, 48)]),
    ),
    case(
        "fragments that overlap, the later one first",
        OVERLAP,
        "nothing",
        Differs("icmp 0/0", "overlaps of the same bytes are taken over IPv4, as RFC 791 has it; Linux drops them all"),
        |a| pieces(a, &[(16, 48), (0, 24)]),
    ),
    case("fragments that overlap and differ", OVERLAP, "nothing", Same, |a| {
        [pieces(a, &[(0, 24)]), vec![forged(a, 16, 48)]].concat()
    }),
    case("no first fragment", BOUNDS, "nothing", Same, |a| pieces(a, &[(16, 32), (32, 48)])),
    case("no middle fragment", BOUNDS, "nothing", Same, |a| pieces(a, &[(0, 16), (32, 48)])),
    case("no last fragment", BOUNDS, "nothing", Same, |a| pieces(a, &[(0, 16), (16, 32)])),
    case("a fragment whose length is no multiple of eight", BOUNDS, "nothing", Same, |a| {
        let (ip, whole) = (a.ip4(ICMP), a.echo4(&bytes(40)));
        frames(a, &[ip.fragment(0, &whole[..20], true), ip.fragment(24, &whole[24..], false)])
    }),
    case("a fragment beyond 65535 bytes", BOUNDS, "nothing", Same, |a| {
        vec![a.frame4(&a.ip4(ICMP).fragment(65_528, &bytes(16), false))]
    }),
    case("fragments of 65536 bytes", BOUNDS, "nothing", Same, |a| {
        // The header has 20 more: the packet would be too long by one byte.
        frames(a, &a.ip4(ICMP).fragments(&a.echo4(&bytes(65_508)), 1480))
    }),
    case("a last fragment without data", BOUNDS, "nothing", Same, |a| {
        let (ip, whole) = (a.ip4(ICMP), a.echo4(&bytes(40)));
        frames(a, &[ip.fragment(0, &whole, true), ip.fragment(48, &[], false)])
    }),
    case("two ends", BOUNDS, "nothing", Same, |a| {
        let (ip, whole) = (a.ip4(ICMP), a.echo4(&bytes(40)));
        frames(
            a,
            &[
                ip.fragment(40, &whole[40..], false),
                ip.fragment(32, &whole[32..40], false),
                ip.fragment(0, &whole[..32], true),
            ],
        )
    }),
    case("a fragment behind the end", BOUNDS, "nothing", Same, |a| {
        let (ip, whole) = (a.ip4(ICMP), a.echo4(&bytes(40)));
        frames(
            a,
            &[
                ip.fragment(24, &whole[24..], false),
                ip.fragment(48, &whole[..8], true),
                ip.fragment(0, &whole[..24], true),
            ],
        )
    }),
    case("two packets, their fragments mixed", WHOLE, "2 x icmp 0/0", Same, |a| {
        let (one, two) = (a.ip4(ICMP), V4 { ident: 0x4343, ..a.ip4(ICMP) });
        let [one, two] = [one, two].map(|ip| ip.fragments(&a.echo4(&bytes(40)), 24));
        frames(a, &[one[0].clone(), two[0].clone(), one[1].clone(), two[1].clone()])
    }),
    case("an identification used again", WHOLE, "2 x icmp 0/0", Same, |a| {
        [pieces(a, &[(0, 24), (24, 48)]), pieces(a, &[(0, 16), (16, 48)])].concat()
    }),
    case("fragments of two protocols", BOUNDS, "nothing", Same, |a| {
        let whole = a.echo4(&bytes(40));
        frames(a, &[a.ip4(ICMP).fragment(0, &whole[..24], true), a.ip4(UDP).fragment(24, &whole[24..], false)])
    }),
    case("fragments of two senders", BOUNDS, "nothing", Same, |a| {
        let whole = a.echo4(&bytes(40));
        let other = V4 { from: a.v4(2), ..a.ip4(ICMP) };
        frames(a, &[a.ip4(ICMP).fragment(0, &whole[..24], true), other.fragment(24, &whole[24..], false)])
    }),
    case("fragments that must not be fragmented", BOUNDS, "icmp 0/0", Same, |a| {
        let whole = a.echo4(&bytes(40));
        let [mut first, mut last] = [a.ip4(ICMP), a.ip4(ICMP)];
        (first.place, last.place) = (0x6000, 0x4003);
        frames(a, &[first.with(&whole[..24]), last.with(&whole[24..])])
    }),
    case("the reserved flag", BOUNDS, "icmp 0/0", Same, |a| {
        vec![a.frame4(&V4 { place: 0x8000, ..a.ip4(ICMP) }.with(&a.echo4(b"evil")))]
    }),
    case("options in the first fragment alone", WHOLE, "icmp 0/0", Same, |a| {
        let whole = a.echo4(&bytes(40));
        let first = V4 { options: vec![1, 1, 1, 0], ..a.ip4(ICMP) };
        frames(a, &[first.fragment(0, &whole[..24], true), a.ip4(ICMP).fragment(24, &whole[24..], false)])
    }),
    case(
        "congestion marked on one fragment",
        "RFC 3168, section 5.3",
        "icmp 0/0",
        Differs("icmp 0/0", "answers have type of service 0 (RFC 1349, which asks for the request's, is obsolete)"),
        |a| congested(a, [2, 3]),
    ),
    case(
        "congestion marked on a fragment whose sender knows no marks",
        "RFC 3168, section 5.3",
        "nothing",
        Differs("icmp 0/0", "marks of congestion are not looked at: no protocol here answers them"),
        |a| congested(a, [0, 3]),
    ),
    case("a datagram in fragments", WHOLE, "2 x fragment", Same, |a| {
        frames(a, &a.ip4(UDP).fragments(&a.datagram4(7, &bytes(2000)), 1480))
    }),
    case("a datagram in fragments for a closed port", "RFC 1122, section 3.2.2", "icmp 3/3", Same, |a| {
        frames(a, &a.ip4(UDP).fragments(&a.datagram4(CLOSED, &bytes(40)), 24))
    }),
    case("a datagram in fragments with a wrong checksum", WHOLE, "nothing", Same, |a| {
        let mut datagram = udp((a.v4(1).into(), OURS), (HOST4.into(), 7), &bytes(40));
        datagram[6] ^= 1;
        frames(a, &a.ip4(UDP).fragments(&datagram, 24))
    }),
    case("an unknown protocol in fragments", "RFC 1122, section 3.2.2.1", "icmp 3/2", Same, |a| {
        frames(a, &a.ip4(253).fragments(&bytes(48), 24))
    }),
];
