//! ICMP, neighbour discovery and IPv6's extension headers: against etherparse, by clause, and whatever the bytes are.

use etherparse as ep;
use linerate_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv6Addr};

/// A message of `len` bytes before its payload: written by `emit` into dirty memory, with `payload` behind.
fn message(len: usize, payload: &[u8], emit: impl FnOnce(&mut [u8]) -> Result<&mut [u8], Error>) -> Vec<u8> {
    let mut buffer = vec![0xa5; len + payload.len()];
    let rest = emit(&mut buffer).unwrap();
    assert_eq!(rest.len(), payload.len(), "buffer_len is not what emit writes");
    rest.copy_from_slice(payload);
    buffer
}

fn icmpv4_repr() -> impl Strategy<Value = Icmpv4Repr> {
    prop_oneof![
        any::<(u16, u16)>().prop_map(|(ident, sequence)| Icmpv4Repr::EchoRequest { ident, sequence }),
        any::<(u16, u16)>().prop_map(|(ident, sequence)| Icmpv4Repr::EchoReply { ident, sequence }),
        (0..16_u8).prop_map(|code| Icmpv4Repr::Unreachable { code, mtu: 0 }),
        any::<u16>().prop_map(|mtu| Icmpv4Repr::Unreachable { code: Icmpv4Repr::FRAGMENTATION_NEEDED, mtu }),
        (0..2_u8).prop_map(|code| Icmpv4Repr::TimeExceeded { code }),
        any::<u8>().prop_map(|pointer| Icmpv4Repr::ParameterProblem { code: 0, pointer }),
        (19..=255_u8, any::<u8>(), any::<[u8; 4]>()).prop_map(|(kind, code, rest)| Icmpv4Repr::Other {
            kind,
            code,
            rest
        }),
    ]
}

fn icmpv6_repr() -> impl Strategy<Value = Icmpv6Repr> {
    prop_oneof![
        any::<(u16, u16)>().prop_map(|(ident, sequence)| Icmpv6Repr::EchoRequest { ident, sequence }),
        any::<(u16, u16)>().prop_map(|(ident, sequence)| Icmpv6Repr::EchoReply { ident, sequence }),
        (0..7_u8).prop_map(|code| Icmpv6Repr::Unreachable { code }),
        any::<u32>().prop_map(|mtu| Icmpv6Repr::PacketTooBig { mtu }),
        (0..2_u8).prop_map(|code| Icmpv6Repr::TimeExceeded { code }),
        (0..4_u8, any::<u32>()).prop_map(|(code, pointer)| Icmpv6Repr::ParameterProblem { code, pointer }),
        (138..=255_u8, any::<u8>(), any::<[u8; 4]>()).prop_map(|(kind, code, rest)| Icmpv6Repr::Other {
            kind,
            code,
            rest
        }),
    ]
}

fn prefix() -> impl Strategy<Value = NdpPrefix> {
    (any::<[u8; 16]>(), 0..=128_u8, any::<(bool, bool, u32, u32)>()).prop_map(|(prefix, len, rest)| {
        let (on_link, autonomous, valid_s, preferred_s) = rest;
        NdpPrefix { prefix: prefix.into(), len, on_link, autonomous, valid_s, preferred_s }
    })
}

fn router() -> impl Strategy<Value = NdpRouter> {
    let fields = any::<(u8, bool, bool, u16, u32, u32, Option<u32>)>();
    (fields, vec(prefix(), 0..=NdpRouter::PREFIXES)).prop_map(|(fields, prefixes)| {
        let (hop_limit, managed, other, lifetime_s, reachable_ms, retrans_ms, mtu) = fields;
        let prefixes = std::array::from_fn(|at| prefixes.get(at).copied());
        NdpRouter { hop_limit, managed, other, lifetime_s, reachable_ms, retrans_ms, mtu, prefixes }
    })
}

fn mac() -> impl Strategy<Value = Option<MacAddr>> {
    any::<Option<[u8; 6]>>().prop_map(|mac| mac.map(MacAddr))
}

fn unicast() -> impl Strategy<Value = Ipv6Addr> {
    any::<[u8; 16]>().prop_map(|mut bytes| {
        bytes[0] &= 0x3f;
        bytes.into()
    })
}

fn ndp_repr() -> impl Strategy<Value = NdpRepr> {
    prop_oneof![
        mac().prop_map(|source| NdpRepr::RouterSolicitation { source }),
        (router(), mac()).prop_map(|(router, source)| NdpRepr::RouterAdvertisement { router, source }),
        (unicast(), mac()).prop_map(|(target, source)| NdpRepr::NeighborSolicitation { target, source }),
        (unicast(), any::<[bool; 3]>(), mac()).prop_map(|(target, [router, solicited, overrides], mac)| {
            NdpRepr::NeighborAdvertisement { target, router, solicited, overrides, mac }
        }),
        (unicast(), unicast(), mac()).prop_map(|(target, destination, mac)| NdpRepr::Redirect {
            target,
            destination,
            mac
        }),
    ]
}

/// Their reading of our message's options: MAC addresses, MTU, prefixes.
fn ep_options(options: &[u8]) -> (Option<MacAddr>, Option<u32>, Vec<NdpPrefix>) {
    let (mut mac, mut mtu, mut prefixes) = (None, None, Vec::new());
    for option in ep::icmpv6::NdpOptionsIterator::from_slice(options) {
        match option.unwrap() {
            ep::icmpv6::NdpOptionSlice::SourceLinkLayerAddress(o) => {
                mac = Some(MacAddr(o.link_layer_address().try_into().unwrap()));
            }
            ep::icmpv6::NdpOptionSlice::TargetLinkLayerAddress(o) => {
                mac = Some(MacAddr(o.link_layer_address().try_into().unwrap()));
            }
            ep::icmpv6::NdpOptionSlice::Mtu(o) => mtu = Some(o.mtu()),
            ep::icmpv6::NdpOptionSlice::PrefixInformation(o) => prefixes.push(NdpPrefix {
                prefix: o.prefix().into(),
                len: o.prefix_length(),
                on_link: o.on_link(),
                autonomous: o.autonomous_address_configuration(),
                valid_s: o.valid_lifetime(),
                preferred_s: o.preferred_lifetime(),
            }),
            other => panic!("we never write {other:?}"),
        }
    }
    (mac, mtu, prefixes)
}

/// Neighbour discovery message as etherparse reads it.
fn ep_ndp(bytes: &[u8]) -> NdpRepr {
    let (header, body) = ep::Icmpv6Header::from_slice(bytes).unwrap();
    match header.icmp_type {
        ep::Icmpv6Type::RouterSolicitation => NdpRepr::RouterSolicitation { source: ep_options(body).0 },
        ep::Icmpv6Type::RouterAdvertisement(fixed) => {
            let body = ep::icmpv6::RouterAdvertisementPayloadSlice::from_slice(body).unwrap();
            let (source, mtu, prefixes) = ep_options(body.options());
            let router = NdpRouter {
                hop_limit: fixed.cur_hop_limit,
                managed: fixed.managed_address_config,
                other: fixed.other_config,
                lifetime_s: fixed.router_lifetime,
                reachable_ms: body.reachable_time(),
                retrans_ms: body.retrans_timer(),
                mtu,
                prefixes: std::array::from_fn(|at| prefixes.get(at).copied()),
            };
            NdpRepr::RouterAdvertisement { router, source }
        }
        ep::Icmpv6Type::NeighborSolicitation => {
            let body = ep::icmpv6::NeighborSolicitationPayloadSlice::from_slice(body).unwrap();
            NdpRepr::NeighborSolicitation { target: body.target_address(), source: ep_options(body.options()).0 }
        }
        ep::Icmpv6Type::NeighborAdvertisement(flags) => {
            let body = ep::icmpv6::NeighborAdvertisementPayloadSlice::from_slice(body).unwrap();
            NdpRepr::NeighborAdvertisement {
                target: body.target_address(),
                router: flags.router,
                solicited: flags.solicited,
                overrides: flags.r#override,
                mac: ep_options(body.options()).0,
            }
        }
        ep::Icmpv6Type::Redirect => {
            let body = ep::icmpv6::RedirectPayloadSlice::from_slice(body).unwrap();
            let (target, destination) = (body.target_address(), body.destination_address());
            NdpRepr::Redirect { target, destination, mac: ep_options(body.options()).0 }
        }
        other => panic!("not neighbour discovery: {other:?}"),
    }
}

/// Extension headers by etherparse, in its order.
fn extensions() -> impl Strategy<Value = ep::Ipv6Extensions> {
    // Padding only: PadN over 6, 14 or 22 bytes.
    let pad = || {
        (0..3_usize).prop_map(|n| {
            let mut bytes = vec![0; 6 + 8 * n];
            bytes[..2].copy_from_slice(&[1, 4 + 8 * u8::try_from(n).unwrap()]);
            ep::Ipv6RawExtHeader::new_raw(0.into(), &bytes).unwrap()
        })
    };
    let routing = proptest::option::of((pad(), proptest::option::of(pad())));
    let fragment = proptest::option::of((0..3_u16, any::<bool>(), any::<u32>()));
    (proptest::option::of(pad()), proptest::option::of(pad()), routing, fragment).prop_map(
        |(hop_by_hop_options, destination_options, routing, fragment)| ep::Ipv6Extensions {
            hop_by_hop_options,
            destination_options,
            routing: routing.map(|(routing, final_destination_options)| {
                // The same bytes as routing header of type 1 with nothing left to visit.
                let mut bytes = routing.payload().to_vec();
                bytes[..2].copy_from_slice(&[1, 0]);
                let routing = ep::Ipv6RawExtHeader::new_raw(0.into(), &bytes).unwrap();
                ep::Ipv6RoutingExtensions { routing, final_destination_options }
            }),
            fragment: fragment.map(|(offset, more, ident)| {
                ep::Ipv6FragmentHeader::new(0.into(), offset.try_into().unwrap(), more, ident)
            }),
            auth: None,
        },
    )
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let ends = ([1; 16].into(), [2; 16].into());
    let repr = Ipv6Repr { payload_len: payload.len(), ..Ipv6Repr::new(ends.0, ends.1, IpProtocol(next)) };
    message(40, payload, |buffer| repr.emit(buffer))
}

fn walk(packet: &[u8]) -> Result<Ipv6Chain, Ipv6Problem> {
    Ipv6Chain::walk(&Ipv6Packet::new_checked(packet).unwrap())
}

proptest! {
    #[test]
    fn icmpv4(repr in icmpv4_repr(), payload in vec(any::<u8>(), 0..80)) {
        let mut bytes = message(repr.buffer_len(), &payload, |buffer| repr.emit(buffer));
        Icmpv4Packet::new_checked(&mut bytes).unwrap().fill_checksum();
        let theirs = ep::Icmpv4Slice::from_slice(&bytes).unwrap();
        let header = ep::Icmpv4Header::with_checksum(theirs.icmp_type(), &payload);
        prop_assert_eq!(&bytes[..8], &header.to_bytes()[..]);
        match (repr, header.icmp_type) {
            (Icmpv4Repr::EchoRequest { ident, sequence }, ep::Icmpv4Type::EchoRequest(echo))
            | (Icmpv4Repr::EchoReply { ident, sequence }, ep::Icmpv4Type::EchoReply(echo)) => {
                prop_assert_eq!((ident, sequence), (echo.id, echo.seq));
            }
            (Icmpv4Repr::Unreachable { code, mtu }, ep::Icmpv4Type::DestinationUnreachable(theirs)) => {
                prop_assert_eq!(Some(theirs), ep::icmpv4::DestUnreachableHeader::from_values(code, mtu));
            }
            (Icmpv4Repr::TimeExceeded { code }, ep::Icmpv4Type::TimeExceeded(theirs)) => {
                prop_assert_eq!(code, theirs as u8);
            }
            (Icmpv4Repr::ParameterProblem { pointer, .. }, ep::Icmpv4Type::ParameterProblem(theirs)) => {
                prop_assert_eq!(theirs, ep::icmpv4::ParameterProblemHeader::PointerIndicatesError(pointer));
            }
            (Icmpv4Repr::Other { kind, code, rest }, ep::Icmpv4Type::Unknown { type_u8, code_u8, bytes5to8 }) => {
                prop_assert_eq!((kind, code, rest), (type_u8, code_u8, bytes5to8));
            }
            (ours, theirs) => prop_assert!(false, "{:?} is not {:?}", ours, theirs),
        }

        let packet = Icmpv4Packet::new_checked(&bytes).unwrap();
        prop_assert_eq!(Icmpv4Repr::parse(&packet), repr);
        prop_assert_eq!(packet.payload(), payload);
        prop_assert!(packet.verify_checksum());
        bytes[0] ^= 1;
        prop_assert!(!Icmpv4Packet::new_checked(&bytes).unwrap().verify_checksum());
    }

    #[test]
    fn icmpv6(repr in icmpv6_repr(), src: [u8; 16], dst: [u8; 16], payload in vec(any::<u8>(), 0..80)) {
        let mut bytes = message(repr.buffer_len(), &payload, |buffer| repr.emit(buffer));
        Icmpv6Packet::new_checked(&mut bytes).unwrap().fill_checksum(src.into(), dst.into());
        let theirs = ep::Icmpv6Slice::from_slice(&bytes).unwrap();
        prop_assert!(theirs.is_checksum_valid(src, dst));
        let header = ep::Icmpv6Header::with_checksum(theirs.icmp_type(), src, dst, &payload).unwrap();
        prop_assert_eq!(&bytes[..8], &header.to_bytes()[..]);
        match (repr, header.icmp_type) {
            (Icmpv6Repr::EchoRequest { ident, sequence }, ep::Icmpv6Type::EchoRequest(echo))
            | (Icmpv6Repr::EchoReply { ident, sequence }, ep::Icmpv6Type::EchoReply(echo)) => {
                prop_assert_eq!((ident, sequence), (echo.id, echo.seq));
            }
            (Icmpv6Repr::Unreachable { code }, ep::Icmpv6Type::DestinationUnreachable(theirs)) => {
                prop_assert_eq!(code, theirs as u8);
            }
            (Icmpv6Repr::PacketTooBig { mtu }, ep::Icmpv6Type::PacketTooBig { mtu: theirs }) => {
                prop_assert_eq!(mtu, theirs);
            }
            (Icmpv6Repr::TimeExceeded { code }, ep::Icmpv6Type::TimeExceeded(theirs)) => {
                prop_assert_eq!(code, theirs as u8);
            }
            (Icmpv6Repr::ParameterProblem { code, pointer }, ep::Icmpv6Type::ParameterProblem(theirs)) => {
                prop_assert_eq!((code, pointer), (theirs.code as u8, theirs.pointer));
            }
            (Icmpv6Repr::Other { kind, code, rest }, ep::Icmpv6Type::Unknown { type_u8, code_u8, bytes5to8 }) => {
                prop_assert_eq!((kind, code, rest), (type_u8, code_u8, bytes5to8));
            }
            (ours, theirs) => prop_assert!(false, "{:?} is not {:?}", ours, theirs),
        }

        let packet = Icmpv6Packet::new_checked(&bytes).unwrap();
        prop_assert_eq!(Icmpv6Repr::parse(&packet), repr);
        prop_assert_eq!(packet.payload(), payload);
        prop_assert!(packet.verify_checksum(src.into(), dst.into()));
    }

    #[test]
    fn ndp(repr in ndp_repr()) {
        let bytes = message(repr.buffer_len(), &[], |buffer| repr.emit(buffer));
        prop_assert_eq!(ep_ndp(&bytes), repr);
        prop_assert_eq!(NdpRepr::parse(&NdpPacket::new_checked(&bytes).unwrap()), repr);
        // Every shorter piece is refused, or ends before an option.
        for len in 0..bytes.len() {
            if let Ok(packet) = NdpPacket::new_checked(&bytes[..len]) {
                prop_assert_eq!(len % 8, 0);
                let _ = NdpRepr::parse(&packet);
            }
        }
    }

    #[test]
    fn extension_headers(mut exts in extensions(), payload in vec(any::<u8>(), 8..40)) {
        // They write the final options behind the fragment header, where only a first fragment has any.
        if let (Some(fragment), Some(routing)) = (&exts.fragment, &mut exts.routing)
            && fragment.fragment_offset.value() != 0
        {
            routing.final_destination_options = None;
        }
        let first = exts.set_next_headers(ep::IpNumber::UDP);
        let mut bytes = Vec::new();
        exts.write(&mut bytes, first).unwrap();
        let offset = bytes.len();
        bytes.extend_from_slice(&payload);
        let chain = walk(&ipv6(first.0, &bytes)).unwrap();

        let (theirs, upper, rest) = ep::Ipv6Extensions::from_slice(first, &bytes).unwrap();
        prop_assert_eq!((chain.protocol.0, chain.offset), (upper.0, offset));
        prop_assert_eq!(rest, &payload[..]);
        prop_assert_eq!(chain.fragment.is_some(), theirs.fragment.is_some());
        if let (Some(ours), Some(theirs)) = (chain.fragment, theirs.fragment) {
            let fields = (ours.repr.next_header.0, ours.repr.offset / 8, ours.repr.more, ours.repr.ident);
            let offset = theirs.fragment_offset.value();
            prop_assert_eq!(fields, (theirs.next_header.0, offset, theirs.more_fragments, theirs.identification));
            let written = message(8, &[], |buffer| ours.repr.emit(buffer));
            prop_assert_eq!(&written[..], &theirs.to_bytes()[..]);
            prop_assert_eq!(&bytes[ours.at..ours.at + 8], &written[..]);
            prop_assert_eq!(ipv6(first.0, &bytes)[ours.named_at], 44);
        }
        prop_assert_eq!(ipv6(first.0, &bytes)[chain.named_at], upper.0);
    }

    #[test]
    fn fragment_header(next: u8, offset in 0..0x2000_u16, more: bool, ident: u32) {
        let repr = Ipv6FragmentRepr { next_header: IpProtocol(next), offset: offset * 8, more, ident };
        let bytes = message(8, &[], |buffer| repr.emit(buffer));
        let theirs = ep::Ipv6FragmentHeader::new(next.into(), offset.try_into().unwrap(), more, ident);
        prop_assert_eq!(&bytes[..], &theirs.to_bytes()[..]);
        prop_assert_eq!(Ipv6FragmentRepr::parse(&Ipv6FragmentHeader::new_checked(&bytes).unwrap()), repr);
    }

    #[test]
    fn quotes(packet in vec(any::<u8>(), 0..40), cut in 28..60_usize, ports: (u16, u16)) {
        let mut v4 = Vec::new();
        let builder = ep::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(ports.0, ports.1);
        builder.write(&mut v4, &packet).unwrap();
        let quote = Quote::parse_v4(&v4[..cut.min(v4.len())]).unwrap();
        prop_assert_eq!((quote.src, quote.dst), (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])));
        prop_assert_eq!(quote.ports(), Some(ports));

        let mut v6 = Vec::new();
        ep::PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(ports.0, ports.1).write(&mut v6, &packet).unwrap();
        let quote = Quote::parse_v6(&v6[..(cut + 20).min(v6.len())]).unwrap();
        prop_assert_eq!((quote.src, quote.dst), (IpAddr::from([1; 16]), IpAddr::from([2; 16])));
        prop_assert_eq!(quote.ports(), Some(ports));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200), kind in 133..138_u8, next in 0..64_u8) {
        let _ = Icmpv4Packet::new_checked(&bytes).map(|p| (Icmpv4Repr::parse(&p), p.verify_checksum()));
        let _ = Icmpv6Packet::new_checked(&bytes).map(|p| Icmpv6Repr::parse(&p));
        let _ = (Quote::parse_v4(&bytes).map(|q| q.ports()), Quote::parse_v6(&bytes).map(|q| q.ports()));
        if let Ok(chain) = walk(&ipv6(next, &bytes)) {
            prop_assert!(chain.offset <= bytes.len());
        }
        let mut ndp = [&[kind, 0][..], &bytes].concat();
        ndp.iter_mut().skip(24).step_by(8).skip(1).for_each(|len| *len %= 4);
        if let Ok(packet) = NdpPacket::new_checked(&ndp) {
            let len = packet.options().map(|(_, option)| option.len()).sum::<usize>();
            prop_assert!(len <= ndp.len());
            let repr = NdpRepr::parse(&packet);
            let again = message(repr.buffer_len(), &[], |buffer| repr.emit(buffer));
            prop_assert_eq!(NdpRepr::parse(&NdpPacket::new_checked(&again).unwrap()), repr);
        }
    }
}

const NS: [u8; 24] = [135, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

fn ndp_error(bytes: &[u8]) -> Option<Error> {
    NdpPacket::new_checked(bytes).err()
}

#[test]
fn rfc4861_4_6_an_option_of_length_zero_spoils_the_message() {
    assert_eq!(ndp_error(&[&NS[..], &[14, 0]].concat()), Some(Error::Malformed("ndp", "option length")));
    assert_eq!(
        ndp_error(&[&NS[..], &[14, 0, 0, 0, 0, 0, 0, 0]].concat()),
        Some(Error::Malformed("ndp", "option length"))
    );
}

#[test]
fn rfc4861_7_1_1_a_solicitation_is_long_enough_has_code_0_and_no_group_as_target() {
    assert_eq!(ndp_error(&NS), None);
    assert_eq!(ndp_error(&NS[..23]), Some(Error::Truncated("ndp")));
    let mut bad = NS;
    bad[1] = 1;
    assert_eq!(ndp_error(&bad), Some(Error::Malformed("ndp", "code")));
    bad = NS;
    bad[8] = 0xff;
    assert_eq!(ndp_error(&bad), Some(Error::Malformed("ndp", "target")));
    assert_eq!(ndp_error(&[&NS[..], &[1, 1, 2, 0, 0, 0, 0]].concat()), Some(Error::Truncated("ndp")));
}

#[test]
fn rfc4861_8_1_a_redirect_is_not_for_a_group() {
    let mut redirect = [0; 40];
    redirect[0] = 137;
    assert_eq!(ndp_error(&redirect), None);
    redirect[24] = 0xff;
    assert_eq!(ndp_error(&redirect), Some(Error::Malformed("ndp", "destination")));
}

#[test]
fn rfc4861_4_6_unknown_options_and_other_lengths_are_skipped() {
    // A nonce, a link-layer address of 14 bytes, then Ethernet's.
    let nonce = [14, 1, 0, 0, 0, 0, 0, 0];
    let long = [[1, 2], [0; 2], [0; 2], [0; 2], [0; 2], [0; 2], [0; 2], [0; 2]].concat();
    let right = [1, 1, 2, 0, 0, 0, 0, 9];
    let bytes = [&NS[..], &nonce, &long, &right].concat();
    let NdpRepr::NeighborSolicitation { source, .. } = NdpRepr::parse(&NdpPacket::new_checked(&bytes).unwrap()) else {
        panic!("it is a solicitation");
    };
    assert_eq!(source, Some(MacAddr([2, 0, 0, 0, 0, 9])));
}

#[test]
fn a_prefix_longer_than_an_address_is_not_read_nor_written() {
    let prefix =
        NdpPrefix { prefix: [0; 16].into(), len: 128, on_link: true, autonomous: true, valid_s: 1, preferred_s: 1 };
    let router = NdpRouter { prefixes: [Some(prefix), None, None, None], ..NdpRouter::default() };
    let repr = NdpRepr::RouterAdvertisement { router, source: None };
    let mut bytes = message(repr.buffer_len(), &[], |buffer| repr.emit(buffer));
    assert_eq!(NdpRepr::parse(&NdpPacket::new_checked(&bytes).unwrap()), repr);
    bytes[18] = 129;
    let nothing = NdpRepr::RouterAdvertisement { router: NdpRouter::default(), source: None };
    assert_eq!(NdpRepr::parse(&NdpPacket::new_checked(&bytes).unwrap()), nothing);

    let long = NdpPrefix { len: 129, ..prefix };
    let router = NdpRouter { prefixes: [None, Some(long), None, None], ..NdpRouter::default() };
    let repr = NdpRepr::RouterAdvertisement { router, source: None };
    assert_eq!(repr.emit(&mut [0; 100]).err(), Some(Error::TooLarge("ndp", "prefix length")));
}

#[test]
fn rfc792_and_rfc4443_no_errors_about_errors() {
    assert!(Icmpv4Repr::Unreachable { code: 3, mtu: 0 }.is_error());
    assert!(Icmpv4Repr::Other { kind: 5, code: 0, rest: [0; 4] }.is_error(), "a redirect");
    assert!(!Icmpv4Repr::EchoRequest { ident: 1, sequence: 1 }.is_error());
    assert!(!Icmpv4Repr::Other { kind: 13, code: 0, rest: [0; 4] }.is_error(), "a time-stamp");
    assert!(Icmpv6Repr::PacketTooBig { mtu: 1280 }.is_error());
    assert!(Icmpv6Repr::Other { kind: 100, code: 0, rest: [0; 4] }.is_error(), "unknown errors are below 128");
    assert!(Icmpv6Repr::Other { kind: 137, code: 0, rest: [0; 4] }.is_error(), "a redirect");
    assert!(!Icmpv6Repr::Other { kind: 135, code: 0, rest: [0; 4] }.is_error());
}

#[test]
fn rfc1191_4_fragmentation_needed_states_the_next_hops_mtu_in_bytes_6_and_7() {
    let bytes = [3, 4, 0, 0, 0, 0, 0x05, 0xdc];
    let parsed = Icmpv4Repr::parse(&Icmpv4Packet::new_checked(&bytes).unwrap());
    assert_eq!(parsed, Icmpv4Repr::Unreachable { code: 4, mtu: 1500 });
    let mut port = bytes;
    port[1] = 3;
    let parsed = Icmpv4Repr::parse(&Icmpv4Packet::new_checked(&port).unwrap());
    assert_eq!(parsed, Icmpv4Repr::Unreachable { code: 3, mtu: 0 }, "bytes without meaning");
}

#[test]
fn rfc1122_3_2_2_a_quote_of_a_later_fragment_has_no_ports() {
    let mut packet = vec![0; 28];
    let repr = Ipv4Repr {
        payload_len: 8,
        fragment_offset: 8,
        ..Ipv4Repr::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol::UDP)
    };
    repr.emit(&mut packet).unwrap();
    let quote = Quote::parse_v4(&packet).unwrap();
    assert_eq!((quote.first, quote.ports()), (false, None));
    assert_eq!(Quote::parse_v4(&packet[..19]), Err(Error::Truncated("icmp quote")));
}

const PARAMETER: fn(u8, u32) -> Ipv6Problem =
    |code, pointer| Ipv6Problem::Parameter { code, pointer, multicast: false };

#[test]
fn rfc8200_4_3_hop_by_hop_options_stand_first_only() {
    let options = [0, 0, 1, 4, 0, 0, 0, 0];
    let udp = [17, 0, 1, 4, 0, 0, 0, 0];
    assert!(walk(&ipv6(0, &udp)).is_ok());
    // Destination options that name hop-by-hop options: their next header field is at fault.
    assert_eq!(walk(&ipv6(60, &[options, udp].concat())), Err(PARAMETER(1, 40)));
    assert_eq!(walk(&ipv6(0, &[options, udp].concat())), Err(PARAMETER(1, 40)));
}

#[test]
fn rfc8200_4_2_the_first_two_bits_of_an_option_say_what_to_do() {
    let with = |kind: u8| walk(&ipv6(60, &[17, 0, 0, kind, 0, 1, 1, 0]));
    assert!(with(0x1e).is_ok(), "00: skip");
    assert_eq!(with(0x5e), Err(Ipv6Problem::Discard), "01: discard");
    assert_eq!(with(0x9e), Err(Ipv6Problem::Parameter { code: 2, pointer: 43, multicast: true }), "10: report");
    assert_eq!(with(0xde), Err(PARAMETER(2, 43)), "11: report unless to a group");
    // An option longer than its header.
    assert_eq!(walk(&ipv6(60, &[17, 0, 1, 5, 0, 0, 0, 0])), Err(PARAMETER(0, 42)));
}

#[test]
fn rfc8200_4_4_a_routing_header_with_nothing_left_is_skipped_and_others_are_reported() {
    assert!(walk(&ipv6(43, &[17, 0, 200, 0, 0, 0, 0, 0])).is_ok());
    assert_eq!(walk(&ipv6(43, &[17, 0, 200, 1, 0, 0, 0, 0])), Err(PARAMETER(0, 42)));
}

#[test]
fn rfc5095_routing_type_0_is_not_followed() {
    assert_eq!(walk(&ipv6(43, &[17, 0, 0, 1, 0, 0, 0, 0])), Err(PARAMETER(0, 42)));
}

#[test]
fn rfc7112_a_first_fragment_has_all_headers() {
    let fragment = |more: u8, rest: &[u8]| walk(&ipv6(44, &[&[17, 0, 0, more, 0, 0, 0, 1], rest].concat()));
    assert_eq!(fragment(1, &[0; 7]), Err(PARAMETER(3, 0)));
    assert!(fragment(1, &[0; 8]).is_ok());
    // Alone, it is not a fragment but a short datagram.
    assert!(fragment(0, &[0; 7]).is_ok());
    let options = |rest: &[u8]| walk(&ipv6(44, &[&[60, 0, 0, 1, 0, 0, 0, 1], rest].concat()));
    assert_eq!(options(&[17, 1, 1, 4, 0, 0, 0, 0]), Err(PARAMETER(3, 0)));
}

#[test]
fn rfc8504_5_3_a_chain_of_headers_has_an_end() {
    let options = [60, 0, 1, 4, 0, 0, 0, 0];
    assert_eq!(walk(&ipv6(60, &options.repeat(100))), Err(Ipv6Problem::Discard));
    assert_eq!(walk(&ipv6(60, &options.repeat(3))), Err(Ipv6Problem::Discard), "cut short");
    let last = [17, 0, 1, 4, 0, 0, 0, 0];
    assert_eq!(walk(&ipv6(60, &[&options.repeat(7)[..], &last].concat())).unwrap().offset, 64);
    assert_eq!(walk(&ipv6(60, &[&options.repeat(8)[..], &last].concat())), Err(Ipv6Problem::Discard));
}

#[test]
fn rfc8200_4_1_one_fragment_header_at_most() {
    let fragment = [44, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(walk(&ipv6(44, &[fragment, fragment].concat())), Err(Ipv6Problem::Discard));
}
