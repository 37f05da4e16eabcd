//! Frames: every view over every byte string, all getters; what parses is written again as it was understood.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_wire::*;
use std::fmt::Debug;
use std::hint::black_box;

/// What was parsed, written into fresh memory, parses to the same.
fn again<R: PartialEq + Debug>(
    repr: &R,
    len: usize,
    emit: impl FnOnce(&R, &mut [u8]) -> bool,
    parse: impl FnOnce(&[u8]) -> Option<R>,
) {
    let mut buffer = vec![0xa5; len];
    if emit(repr, &mut buffer) {
        assert_eq!(parse(&buffer).as_ref(), Some(repr));
    }
}

fn ethernet(bytes: &[u8]) {
    let Ok(frame) = EthernetFrame::new_checked(bytes) else { return };
    black_box((frame.dst(), frame.src(), frame.ethertype(), frame.payload().len()));
    let repr = EthernetRepr::parse(&frame);
    black_box(format!("{} {} {:?}", repr.dst, repr.ethertype, repr.src));
    assert_eq!(repr.dst.to_string().parse::<MacAddr>(), Ok(repr.dst));
    again(&repr, 64, |r, b| r.emit(b).is_ok(), |b| EthernetFrame::new_checked(b).ok().map(|f| EthernetRepr::parse(&f)));
}

fn vlan(bytes: &[u8]) {
    let Ok(header) = VlanHeader::new_checked(bytes) else { return };
    let tag = header.tag();
    assert_eq!(VlanTag::new(tag.priority().number(), tag.dei(), tag.vid()), Ok(tag));
    black_box((header.ethertype(), header.payload().len()));
    let repr = VlanRepr::parse(&header);
    again(&repr, 64, |r, b| r.emit(b).is_ok(), |b| VlanHeader::new_checked(b).ok().map(|h| VlanRepr::parse(&h)));
}

fn arp(bytes: &[u8]) {
    let Ok(packet) = ArpPacket::new_checked(bytes) else { return };
    black_box((packet.operation().to_string(), packet.sender_mac(), packet.sender_ip()));
    black_box((packet.target_mac(), packet.target_ip()));
    let repr = ArpRepr::parse(&packet);
    again(&repr, 64, |r, b| r.emit(b).is_ok(), |b| ArpPacket::new_checked(b).ok().map(|p| ArpRepr::parse(&p)));
}

fn ipv4(bytes: &[u8]) {
    let Ok(packet) = Ipv4Packet::new_checked(bytes) else { return };
    assert!(packet.header_len() + packet.payload().len() <= bytes.len());
    black_box((packet.tos(), packet.total_len(), packet.ident(), packet.dont_fragment(), packet.more_fragments()));
    black_box((packet.fragment_offset(), packet.is_fragment(), packet.ttl(), packet.protocol().to_string()));
    black_box((packet.checksum(), packet.verify_checksum()));
    udp(packet.payload(), |d| d.verify_checksum_v4(packet.src(), packet.dst()));
    let repr = Ipv4Repr::parse(&packet);
    again(
        &repr,
        65600,
        |r, b| r.emit(b).is_ok(),
        |b| {
            let packet = Ipv4Packet::new_checked(b).ok()?;
            assert!(packet.verify_checksum());
            Some(Ipv4Repr::parse(&packet))
        },
    );
}

fn ipv6(bytes: &[u8]) {
    let Ok(packet) = Ipv6Packet::new_checked(bytes) else { return };
    assert!(packet.payload().len() + 40 <= bytes.len());
    black_box((packet.traffic_class(), packet.flow_label(), packet.payload_len(), packet.next_header()));
    black_box(packet.hop_limit());
    udp(packet.payload(), |d| d.verify_checksum_v6(packet.src(), packet.dst()));
    let repr = Ipv6Repr::parse(&packet);
    again(&repr, 65600, |r, b| r.emit(b).is_ok(), |b| Ipv6Packet::new_checked(b).ok().map(|p| Ipv6Repr::parse(&p)));
}

fn udp(bytes: &[u8], verify: impl FnOnce(&UdpDatagram<&[u8]>) -> bool) {
    let Ok(datagram) = UdpDatagram::new_checked(bytes) else { return };
    assert!(datagram.payload().len() + 8 <= bytes.len());
    black_box((datagram.src_port(), datagram.dst_port(), datagram.len(), datagram.checksum(), verify(&datagram)));
    let repr = UdpRepr::parse(&datagram);
    again(&repr, 65600, |r, b| r.emit(b).is_ok(), |b| UdpDatagram::new_checked(b).ok().map(|d| UdpRepr::parse(&d)));
}

/// A packet to a group: reports have no more records than fit, and a query is written again as it was understood.
fn groups(bytes: &[u8]) {
    for ethertype in [EtherType::IPV4, EtherType::IPV6] {
        match GroupPacket::parse(ethertype, bytes) {
            Some(GroupPacket::Report(records)) => assert!(records.count() <= 1 + bytes.len() / 8),
            Some(GroupPacket::Query(query)) if (1..=12).contains(&(query.within_ms / 1000)) => {
                let query = GroupQuery { within_ms: query.within_ms / 1000 * 1000, ..query };
                if let Some(packet) = query.packet(125) {
                    assert_eq!(GroupPacket::parse(ethertype, &packet), Some(GroupPacket::Query(query)));
                }
            }
            _ => {}
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let line = summary(bytes);
    assert!(!line.chars().any(char::is_control), "{line:?}");
    ethernet(bytes);
    // Views are tried on every part of a frame, whether or not the header before it says so.
    for at in [0, 14, 18, 22] {
        let Some(part) = bytes.get(at..) else { break };
        vlan(part);
        arp(part);
        ipv4(part);
        ipv6(part);
        groups(part);
        udp(part, |_| true);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        black_box(text.parse::<MacAddr>().is_ok());
    }
});
