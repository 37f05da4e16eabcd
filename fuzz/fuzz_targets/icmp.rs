//! ICMP, neighbour discovery, IPv6's extension headers, quotes: every view over every byte string; what parses is
//! written again as it was understood.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_wire::*;
use std::fmt::Debug;
use std::hint::black_box;

/// What was parsed, written into fresh memory, parses to the same.
fn again<R: PartialEq + Debug>(
    repr: &R,
    len: usize,
    emit: impl FnOnce(&R, &mut [u8]) -> Result<(), Error>,
    parse: impl FnOnce(&[u8]) -> R,
) {
    let mut buffer = vec![0xa5; len];
    emit(repr, &mut buffer).expect("what was parsed can be written");
    assert_eq!(&parse(&buffer), repr);
}

fn icmpv4(bytes: &[u8]) {
    let Ok(packet) = Icmpv4Packet::new_checked(bytes) else { return };
    assert_eq!(packet.payload().len() + 8, bytes.len());
    black_box((packet.verify_checksum(), packet.checksum()));
    let repr = Icmpv4Repr::parse(&packet);
    again(&repr, 8, |r, b| r.emit(b).map(drop), |b| Icmpv4Repr::parse(&Icmpv4Packet::new_checked(b).unwrap()));
    if repr.is_error() {
        quote(Quote::parse_v4(packet.payload()));
    }
}

fn icmpv6(bytes: &[u8]) {
    let Ok(packet) = Icmpv6Packet::new_checked(bytes) else { return };
    assert_eq!(packet.payload().len() + 8, bytes.len());
    black_box((packet.verify_checksum([1; 16].into(), [2; 16].into()), packet.checksum()));
    let repr = Icmpv6Repr::parse(&packet);
    again(&repr, 8, |r, b| r.emit(b).map(drop), |b| Icmpv6Repr::parse(&Icmpv6Packet::new_checked(b).unwrap()));
    if repr.is_error() {
        quote(Quote::parse_v6(packet.payload()));
    }
}

fn quote(quote: Result<Quote<'_>, Error>) {
    let _ = quote.map(|quote| black_box((quote.src, quote.dst, quote.protocol, quote.ports())));
}

fn ndp(bytes: &[u8]) {
    let Ok(packet) = NdpPacket::new_checked(bytes) else { return };
    assert!(packet.options().map(|(_, option)| option.len()).sum::<usize>() + 8 <= bytes.len());
    let repr = NdpRepr::parse(&packet);
    again(
        &repr,
        repr.buffer_len(),
        |r, b| r.emit(b).map(drop),
        |b| NdpRepr::parse(&NdpPacket::new_checked(b).unwrap()),
    );
}

fn chain(bytes: &[u8]) {
    let Ok(packet) = Ipv6Packet::new_checked(bytes) else { return };
    match Ipv6Chain::walk(&packet) {
        Ok(chain) => {
            let rest = &packet.payload()[chain.offset..];
            assert_eq!(bytes[chain.named_at], chain.protocol.0);
            if chain.protocol == IpProtocol::ICMPV6 {
                icmpv6(rest);
                ndp(rest);
            }
            if let Some(fragment) = chain.fragment {
                assert_eq!(bytes[fragment.named_at], IpProtocol::IPV6_FRAGMENT.0);
                assert!(fragment.at + 8 <= chain.offset);
            }
        }
        Err(Ipv6Problem::Parameter { pointer, .. }) => assert!((pointer as usize) < bytes.len()),
        Err(Ipv6Problem::Discard) => {}
    }
}

fuzz_target!(|bytes: &[u8]| {
    icmpv4(bytes);
    icmpv6(bytes);
    ndp(bytes);
    chain(bytes);
    quote(Quote::parse_v4(bytes));
    quote(Quote::parse_v6(bytes));
    if let Ok(packet) = Ipv4Packet::new_checked(bytes) {
        icmpv4(packet.payload());
    }
    // A right fixed header before whatever came, so that the walk is reached at once.
    if let [next, rest @ ..] = bytes
        && rest.len() < 2000
    {
        let ip =
            Ipv6Repr { payload_len: rest.len(), ..Ipv6Repr::new([1; 16].into(), [2; 16].into(), IpProtocol(*next)) };
        let mut packet = vec![0; 40 + rest.len()];
        ip.emit(&mut packet).unwrap().copy_from_slice(rest);
        chain(&packet);
    }
});
