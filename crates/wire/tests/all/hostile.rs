//! Arbitrary bytes: no panic, and `new_checked` refuses them for the stated reason only.

use linerate_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Views `bytes` as everything there is and calls every getter, also after setters put `value` into the lengths.
fn read_everything(bytes: &[u8], value: u16) {
    let mut scratch = bytes.to_vec();
    if let Ok(frame) = EthernetFrame::new_checked(bytes) {
        let repr = EthernetRepr::parse(&frame);
        let _ = (repr, frame.payload(), frame.ethertype().to_string(), frame.into_inner());
    }
    if let Ok(header) = VlanHeader::new_checked(bytes) {
        let _ = (VlanRepr::parse(&header), header.payload(), header.into_inner());
    }
    if let Ok(packet) = ArpPacket::new_checked(bytes) {
        let _ = (ArpRepr::parse(&packet), packet.operation().to_string(), packet.into_inner());
    }
    if let Ok(packet) = Ipv4Packet::new_checked(bytes) {
        let _ = (Ipv4Repr::parse(&packet), packet.payload(), packet.header_len(), packet.total_len());
        let _ = (packet.is_fragment(), packet.verify_checksum(), packet.checksum(), packet.protocol().to_string());
        let mut packet = Ipv4Packet::new_checked(&mut scratch).unwrap();
        packet.set_total_len(value);
        packet.payload_mut().fill(0);
        packet.fill_checksum();
        let _ = Ipv4Repr::parse(&packet);
    }
    scratch.copy_from_slice(bytes);
    if let Ok(packet) = Ipv6Packet::new_checked(bytes) {
        let _ = (Ipv6Repr::parse(&packet), packet.payload(), packet.payload_len(), packet.into_inner());
        let mut packet = Ipv6Packet::new_checked(&mut scratch).unwrap();
        packet.set_payload_len(value);
        packet.payload_mut().fill(0);
        let _ = Ipv6Repr::parse(&packet);
    }
    scratch.copy_from_slice(bytes);
    if let Ok(udp) = UdpDatagram::new_checked(bytes) {
        let (v4, v6) = ([10, 0, 0, 1].into(), [0; 16].into());
        let _ = (UdpRepr::parse(&udp), udp.payload(), udp.len(), udp.checksum());
        let _ = (udp.verify_checksum_v4(v4, v4), udp.verify_checksum_v6(v6, v6));
        let mut udp = UdpDatagram::new_checked(&mut scratch).unwrap();
        udp.set_len(value);
        udp.payload_mut().fill(0);
        udp.fill_checksum_v4(v4, v4);
        udp.fill_checksum_v6(v6, v6);
        let _ = UdpRepr::parse(&udp);
    }
}

/// A right frame of one of several shapes, by etherparse.
fn right_frame() -> impl Strategy<Value = Vec<u8>> {
    (0..6, vec(any::<u8>(), 0..80)).prop_map(|(shape, payload)| {
        let ethernet = etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let mut bytes = Vec::new();
        match shape {
            0 => ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 2).write(&mut bytes, &payload),
            1 => ethernet.ipv6([1; 16], [2; 16], 64).udp(1, 2).write(&mut bytes, &payload),
            2 => ethernet
                .single_vlan(100.try_into().unwrap())
                .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
                .tcp(1, 2, 3, 4)
                .write(&mut bytes, &payload),
            3 => ethernet
                .double_vlan(100.try_into().unwrap(), 200.try_into().unwrap())
                .ipv6([1; 16], [2; 16], 64)
                .udp(1, 2)
                .write(&mut bytes, &payload),
            4 => ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).icmpv4_echo_request(1, 2).write(&mut bytes, &payload),
            _ => ethernet
                .arp(etherparse::ArpPacket::from(etherparse::ArpEthIpv4Packet {
                    operation: etherparse::ArpOperation::REQUEST,
                    sender_mac: [2, 0, 0, 0, 0, 1],
                    sender_ipv4: [10, 0, 0, 1],
                    target_mac: [0; 6],
                    target_ipv4: [10, 0, 0, 2],
                }))
                .write(&mut bytes),
        }
        .unwrap();
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200), value: u16) {
        read_everything(&bytes, value);
        prop_assert!(!summary(&bytes).contains('\n'));
    }

    #[test]
    fn damaged_frames(
        mut frame in right_frame(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
        cut: bool,
        value: u16,
    ) {
        for (at, byte) in damage {
            *at.get_mut(&mut frame) = byte;
        }
        if cut {
            frame.truncate(end.index(frame.len() + 1));
        }
        for start in 0..frame.len().min(64) {
            read_everything(&frame[start..], value);
        }
        prop_assert!(summary(&frame).len() < 400);
    }

    #[test]
    fn any_text_as_a_mac_address(text in "[0-9a-fA-F:-]{0,20}|\\PC{0,20}") {
        if let Ok(mac) = text.parse::<MacAddr>() {
            prop_assert_eq!(mac.to_string(), text.to_lowercase().replace('-', ":"));
        }
    }

    #[test]
    fn mac_addresses_survive_their_text(bytes: [u8; 6]) {
        let mac = MacAddr(bytes);
        prop_assert_eq!(mac.to_string().parse(), Ok(mac));
        prop_assert_eq!(mac.to_string().replace(':', "-").parse(), Ok(mac));
    }
}

#[test]
fn refusals_name_their_reason() {
    let ipv4 = |bytes: &[u8]| Ipv4Packet::new_checked(bytes).map(|_| ()).unwrap_err();
    let mut header = [0; 20];
    Ipv4Repr::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol::UDP).emit(&mut header).unwrap();
    assert!(Ipv4Packet::new_checked(&header).is_ok());
    let with = |at: usize, byte: u8| {
        let mut damaged = header;
        damaged[at] = byte;
        damaged
    };
    assert_eq!(ipv4(&header[..19]), Error::Truncated("ipv4"));
    assert_eq!(ipv4(&with(0, 0x65)), Error::Malformed("ipv4", "version"));
    assert_eq!(ipv4(&with(0, 0x44)), Error::Malformed("ipv4", "header length"));
    assert_eq!(ipv4(&with(0, 0x46)), Error::Malformed("ipv4", "total length"));
    assert_eq!(ipv4(&with(3, 19)), Error::Malformed("ipv4", "total length"));
    assert_eq!(ipv4(&with(3, 21)), Error::Truncated("ipv4"));

    let udp = |bytes: &[u8]| UdpDatagram::new_checked(bytes).map(|_| ()).unwrap_err();
    assert_eq!(udp(&[0; 7]), Error::Truncated("udp"));
    assert_eq!(udp(&[0, 1, 0, 2, 0, 7, 0, 0]), Error::Malformed("udp", "length"));
    assert_eq!(udp(&[0, 1, 0, 2, 0, 9, 0, 0]), Error::Truncated("udp"));

    let ipv6 = |bytes: &[u8]| Ipv6Packet::new_checked(bytes).map(|_| ()).unwrap_err();
    let mut header = [0; 40];
    assert_eq!(ipv6(&header), Error::Malformed("ipv6", "version"));
    (header[0], header[5]) = (0x60, 1);
    assert_eq!(ipv6(&header), Error::Truncated("ipv6"));

    assert_eq!(ArpPacket::new_checked([0; 27]), Err(Error::Truncated("arp")));
    assert_eq!(ArpPacket::new_checked([0; 28]), Err(Error::Malformed("arp", "address types")));
    assert_eq!(VlanHeader::new_checked([0; 3]), Err(Error::Truncated("vlan")));
    assert_eq!(EthernetFrame::new_checked([0; 13]), Err(Error::Truncated("ethernet")));
}

#[test]
fn what_does_not_fit_is_not_written() {
    let (v4, v6) = ([10, 0, 0, 1].into(), [1; 16].into());
    let ipv4 = Ipv4Repr::new(v4, v4, IpProtocol::UDP);
    let ipv6 = Ipv6Repr::new(v6, v6, IpProtocol::UDP);
    let udp = UdpRepr { src_port: 1, dst_port: 2, payload_len: 0 };
    let mut buffer = [0xa5; 64];
    assert_eq!(ipv4.emit(&mut buffer[..19]), Err(Error::Truncated("ipv4")));
    assert_eq!(ipv6.emit(&mut buffer[..39]), Err(Error::Truncated("ipv6")));
    assert_eq!(udp.emit(&mut buffer[..7]), Err(Error::Truncated("udp")));
    for payload_len in [65516, usize::MAX] {
        let too_large = Ipv4Repr { payload_len, ..ipv4 };
        assert_eq!(too_large.emit(&mut buffer), Err(Error::TooLarge("ipv4", "payload")));
    }
    for payload_len in [65528, usize::MAX] {
        let too_large = UdpRepr { payload_len, ..udp };
        assert_eq!(too_large.emit(&mut buffer), Err(Error::TooLarge("udp", "payload")));
    }
    let too_large = Ipv6Repr { payload_len: 65536, ..ipv6 };
    assert_eq!(too_large.emit(&mut buffer), Err(Error::TooLarge("ipv6", "payload")));
    let too_large = Ipv6Repr { flow_label: 1 << 20, ..ipv6 };
    assert_eq!(too_large.emit(&mut buffer), Err(Error::TooLarge("ipv6", "flow label")));
    let odd = Ipv4Repr { fragment_offset: 4, ..ipv4 };
    assert_eq!(odd.emit(&mut buffer), Err(Error::Malformed("ipv4", "fragment offset")));
    assert_eq!(VlanTag::new(8, false, 0), Err(Error::TooLarge("vlan", "priority")));
    assert_eq!(VlanTag::new(0, false, 4096), Err(Error::TooLarge("vlan", "VLAN identifier")));
    assert_eq!(buffer, [0xa5; 64]);
}
