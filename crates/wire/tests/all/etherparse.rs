//! Every format against etherparse, an independent implementation: what we write it reads and would write alike, and
//! what it writes we read.

use etherparse as ep;
use linerate_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Writes with `emit` into a dirty buffer larger than needed; returns what the header takes.
fn emitted(len: usize, emit: impl FnOnce(&mut [u8]) -> Result<&mut [u8], Error>) -> Vec<u8> {
    let mut buffer = vec![0xa5; len + 7];
    emit(&mut buffer).unwrap();
    assert_eq!(buffer.split_off(len), [0xa5; 7], "wrote beyond its length");
    buffer
}

fn ip_protocol() -> impl Strategy<Value = IpProtocol> {
    any::<u8>().prop_map(IpProtocol)
}

fn ipv4_repr() -> impl Strategy<Value = Ipv4Repr> {
    let ends = (any::<[u8; 4]>(), any::<[u8; 4]>());
    let flags = (any::<bool>(), any::<bool>(), 0..0x2000_u16);
    let rest = (ip_protocol(), 0..=65515_usize, any::<u8>(), any::<u8>(), any::<u16>());
    (ends, flags, rest).prop_map(|((src, dst), (dont_fragment, more_fragments, offset), rest)| {
        let (protocol, payload_len, ttl, tos, ident) = rest;
        let fragment_offset = offset * 8;
        let (src, dst) = (src.into(), dst.into());
        Ipv4Repr { src, dst, protocol, payload_len, ttl, tos, ident, dont_fragment, more_fragments, fragment_offset }
    })
}

fn ep_ipv4(repr: &Ipv4Repr) -> ep::Ipv4Header {
    let mut header = ep::Ipv4Header {
        dscp: (repr.tos >> 2).try_into().unwrap(),
        ecn: (repr.tos & 3).try_into().unwrap(),
        total_len: u16::try_from(repr.payload_len).unwrap() + 20,
        identification: repr.ident,
        dont_fragment: repr.dont_fragment,
        more_fragments: repr.more_fragments,
        fragment_offset: (repr.fragment_offset / 8).try_into().unwrap(),
        time_to_live: repr.ttl,
        protocol: ep::IpNumber(repr.protocol.0),
        header_checksum: 0,
        source: repr.src.octets(),
        destination: repr.dst.octets(),
        options: ep::Ipv4Options::default(),
    };
    header.header_checksum = header.calc_header_checksum();
    header
}

fn ipv6_repr() -> impl Strategy<Value = Ipv6Repr> {
    let ends = (any::<[u8; 16]>(), any::<[u8; 16]>());
    let rest = (ip_protocol(), any::<u16>(), any::<u8>(), any::<u8>(), 0..1_u32 << 20);
    (ends, rest).prop_map(|((src, dst), (next_header, payload_len, hop_limit, traffic_class, flow_label))| Ipv6Repr {
        src: src.into(),
        dst: dst.into(),
        next_header,
        payload_len: payload_len.into(),
        hop_limit,
        traffic_class,
        flow_label,
    })
}

fn ep_ipv6(repr: &Ipv6Repr) -> ep::Ipv6Header {
    ep::Ipv6Header {
        traffic_class: repr.traffic_class,
        flow_label: repr.flow_label.try_into().unwrap(),
        payload_length: repr.payload_len.try_into().unwrap(),
        next_header: ep::IpNumber(repr.next_header.0),
        hop_limit: repr.hop_limit,
        source: repr.src.octets(),
        destination: repr.dst.octets(),
    }
}

proptest! {
    #[test]
    fn ethernet(dst: [u8; 6], src: [u8; 6], ethertype: u16, payload in vec(any::<u8>(), 0..50)) {
        let theirs = ep::Ethernet2Header { destination: dst, source: src, ether_type: ep::EtherType(ethertype) };
        let repr = EthernetRepr { dst: MacAddr(dst), src: MacAddr(src), ethertype: EtherType(ethertype) };
        let bytes = emitted(repr.buffer_len(), |buffer| repr.emit(buffer));
        prop_assert_eq!(&bytes[..], theirs.to_bytes());

        let bytes = [bytes, payload.clone()].concat();
        let frame = EthernetFrame::new_checked(&bytes).unwrap();
        prop_assert_eq!(EthernetRepr::parse(&frame), repr);
        prop_assert_eq!(frame.payload(), payload);
    }

    #[test]
    fn vlan(pcp in 0..8_u8, dei: bool, vid in 0..4096_u16, ethertype: u16, payload in vec(any::<u8>(), 0..50)) {
        let theirs = ep::SingleVlanHeader {
            pcp: pcp.try_into().unwrap(),
            drop_eligible_indicator: dei,
            vlan_id: vid.try_into().unwrap(),
            ether_type: ep::EtherType(ethertype),
        };
        let repr = VlanRepr { tag: VlanTag::new(pcp, dei, vid).unwrap(), ethertype: EtherType(ethertype) };
        prop_assert_eq!((repr.tag.priority().number(), repr.tag.dei(), repr.tag.vid()), (pcp, dei, vid));
        let bytes = emitted(repr.buffer_len(), |buffer| repr.emit(buffer));
        prop_assert_eq!(&bytes[..], theirs.to_bytes());

        let bytes = [bytes, payload.clone()].concat();
        let header = VlanHeader::new_checked(&bytes).unwrap();
        prop_assert_eq!(VlanRepr::parse(&header), repr);
        prop_assert_eq!(header.payload(), payload);
    }

    #[test]
    fn arp(operation: u16, sender_mac: [u8; 6], sender_ipv4: [u8; 4], target_mac: [u8; 6], target_ipv4: [u8; 4]) {
        let theirs = ep::ArpEthIpv4Packet {
            operation: ep::ArpOperation(operation),
            sender_mac,
            sender_ipv4,
            target_mac,
            target_ipv4,
        };
        let repr = ArpRepr {
            operation: ArpOperation(operation),
            sender_mac: MacAddr(sender_mac),
            sender_ip: sender_ipv4.into(),
            target_mac: MacAddr(target_mac),
            target_ip: target_ipv4.into(),
        };
        let bytes = emitted(repr.buffer_len(), |buffer| repr.emit(buffer));
        prop_assert_eq!(&bytes[..], theirs.to_bytes());
        prop_assert_eq!(ArpRepr::parse(&ArpPacket::new_checked(&bytes).unwrap()), repr);
    }

    #[test]
    fn ipv4(repr in ipv4_repr(), options in 0..=10_usize, padding in 0..20_usize) {
        let mut theirs = ep_ipv4(&repr);
        let bytes = emitted(repr.buffer_len(), |buffer| repr.emit(buffer));
        prop_assert_eq!(&bytes, &theirs.to_bytes()[..]);

        // Their header with options and a payload, padded as Ethernet pads.
        let payload = vec![0x2a; repr.payload_len.min(200)];
        let repr = Ipv4Repr { payload_len: payload.len(), ..repr };
        theirs.options = vec![1; 4 * options][..].try_into().unwrap();
        theirs.set_payload_len(payload.len()).unwrap();
        theirs.header_checksum = theirs.calc_header_checksum();
        let mut bytes = [&theirs.to_bytes()[..], &payload, &vec![0xee; padding]].concat();
        let packet = Ipv4Packet::new_checked(&bytes).unwrap();
        prop_assert_eq!(Ipv4Repr::parse(&packet), repr);
        prop_assert_eq!(packet.payload(), payload);
        prop_assert_eq!(packet.header_len(), theirs.header_len());
        prop_assert_eq!(packet.checksum(), theirs.header_checksum);
        prop_assert!(packet.verify_checksum());

        let mut packet = Ipv4Packet::new_checked(&mut bytes).unwrap();
        packet.set_ttl(repr.ttl ^ 1);
        prop_assert!(!packet.verify_checksum());
        packet.fill_checksum();
        theirs.time_to_live ^= 1;
        prop_assert_eq!(packet.checksum(), theirs.calc_header_checksum());
    }

    #[test]
    fn ipv6(repr in ipv6_repr(), padding in 0..20_usize) {
        let bytes = emitted(repr.buffer_len(), |buffer| repr.emit(buffer));
        prop_assert_eq!(&bytes[..], ep_ipv6(&repr).to_bytes());

        let payload = vec![0x2a; repr.payload_len.min(200)];
        let repr = Ipv6Repr { payload_len: payload.len(), ..repr };
        let bytes = [&ep_ipv6(&repr).to_bytes()[..], &payload, &vec![0xee; padding]].concat();
        let packet = Ipv6Packet::new_checked(&bytes).unwrap();
        prop_assert_eq!(Ipv6Repr::parse(&packet), repr);
        prop_assert_eq!(packet.payload(), payload);
    }

    #[test]
    fn udp_on_ipv4(ip in ipv4_repr(), src_port: u16, dst_port: u16, payload in vec(any::<u8>(), 0..300)) {
        let ip = Ipv4Repr { payload_len: payload.len() + 8, ..ip };
        let theirs = ep::UdpHeader::with_ipv4_checksum(src_port, dst_port, &ep_ipv4(&ip), &payload).unwrap();
        let repr = UdpRepr { src_port, dst_port, payload_len: payload.len() };
        let mut bytes = vec![0xa5; repr.buffer_len() + payload.len()];
        repr.emit(&mut bytes).unwrap().copy_from_slice(&payload);
        let mut datagram = UdpDatagram::new_checked(&mut bytes).unwrap();
        prop_assert!(datagram.verify_checksum_v4(ip.src, ip.dst), "none was made");
        datagram.fill_checksum_v4(ip.src, ip.dst);
        prop_assert_eq!(&bytes, &[&theirs.to_bytes()[..], &payload].concat());

        bytes.extend([0xee; 5]);
        let datagram = UdpDatagram::new_checked(&bytes).unwrap();
        prop_assert_eq!(UdpRepr::parse(&datagram), repr);
        prop_assert_eq!(datagram.payload(), payload);
        prop_assert_eq!(datagram.checksum(), theirs.checksum);
        prop_assert!(datagram.verify_checksum_v4(ip.src, ip.dst));
        bytes[0] ^= 0x10;
        prop_assert!(!UdpDatagram::new_checked(&bytes).unwrap().verify_checksum_v4(ip.src, ip.dst));
    }

    #[test]
    fn udp_on_ipv6(ip in ipv6_repr(), src_port: u16, dst_port: u16, payload in vec(any::<u8>(), 0..300)) {
        let theirs = ep::UdpHeader::with_ipv6_checksum(src_port, dst_port, &ep_ipv6(&ip), &payload).unwrap();
        let repr = UdpRepr { src_port, dst_port, payload_len: payload.len() };
        let mut bytes = vec![0xa5; repr.buffer_len() + payload.len()];
        repr.emit(&mut bytes).unwrap().copy_from_slice(&payload);
        let mut datagram = UdpDatagram::new_checked(&mut bytes).unwrap();
        prop_assert!(!datagram.verify_checksum_v6(ip.src, ip.dst), "IPv6 demands one");
        datagram.fill_checksum_v6(ip.src, ip.dst);
        prop_assert!(datagram.verify_checksum_v6(ip.src, ip.dst));
        prop_assert_eq!(&bytes, &[&theirs.to_bytes()[..], &payload].concat());
        bytes[0] ^= 0x10;
        prop_assert!(!UdpDatagram::new_checked(&bytes).unwrap().verify_checksum_v6(ip.src, ip.dst));
    }

    #[test]
    fn setters_write_what_emit_writes(from in ipv4_repr(), to in ipv4_repr()) {
        let (from, to) = (Ipv4Repr { payload_len: 0, ..from }, Ipv4Repr { payload_len: 0, ..to });
        let mut bytes = emitted(20, |buffer| from.emit(buffer));
        let mut packet = Ipv4Packet::new_checked(&mut bytes).unwrap();
        packet.set_src(to.src);
        packet.set_dst(to.dst);
        packet.set_protocol(to.protocol);
        packet.set_ttl(to.ttl);
        packet.set_tos(to.tos);
        packet.set_ident(to.ident);
        packet.set_fragment_offset(to.fragment_offset);
        packet.set_more_fragments(to.more_fragments);
        packet.set_dont_fragment(to.dont_fragment);
        packet.fill_checksum();
        prop_assert_eq!(bytes, emitted(20, |buffer| to.emit(buffer)));
    }
}

#[test]
fn a_udp_checksum_of_zero_is_sent_as_ones() {
    // Port chosen so that everything covered sums to all ones, whose complement is zero.
    let (src, dst) = ([0, 0, 0, 0].into(), [0, 0, 0, 0].into());
    let repr = UdpRepr { src_port: 0xffff - 17 - 8 - 8, dst_port: 0, payload_len: 0 };
    let mut bytes = [0; 8];
    repr.emit(&mut bytes).unwrap();
    let mut datagram = UdpDatagram::new_checked(&mut bytes[..]).unwrap();
    datagram.fill_checksum_v4(src, dst);
    assert_eq!(datagram.checksum(), 0xffff);
    assert!(datagram.verify_checksum_v4(src, dst));
}
