use etherparse::{ArpEthIpv4Packet, ArpOperation as Op, ArpPacket as Arp, IpNumber, PacketBuilder};

use super::*;

const MACS: &str = "02:00:00:00:00:01 > 02:00:00:00:00:02";

/// The summary of a frame, without the addresses that all frames here have.
fn described(write: impl FnOnce(etherparse::PacketBuilderStep<etherparse::Ethernet2Header>, &mut Vec<u8>)) -> String {
    let mut frame = Vec::new();
    write(PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]), &mut frame);
    summary(&frame).strip_prefix(MACS).unwrap().to_owned()
}

#[test]
fn udp_and_tcp_show_their_ports() {
    let udp4 = described(|ethernet, frame| {
        ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5353, 53).write(frame, &[0; 5]).unwrap();
    });
    assert_eq!(udp4, ", IPv4 (0x0800), length 47: 10.0.0.1.5353 > 10.0.0.2.53: UDP, length 5");
    let udp6 = described(|ethernet, frame| {
        let (src, dst) = ("fe80::1".parse().map(bytes).unwrap(), "ff02::fb".parse().map(bytes).unwrap());
        ethernet.ipv6(src, dst, 64).udp(5353, 5353).write(frame, &[0; 5]).unwrap();
    });
    assert_eq!(udp6, ", IPv6 (0x86dd), length 67: fe80::1.5353 > ff02::fb.5353: UDP, length 5");
    let tcp = described(|ethernet, frame| {
        ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(4000, 80, 0, 0).write(frame, &[0; 6]).unwrap();
    });
    assert_eq!(tcp, ", IPv4 (0x0800), length 60: 10.0.0.1.4000 > 10.0.0.2.80: TCP, segment of 26");
}

#[test]
fn tags_come_before_what_they_tag() {
    let single = described(|ethernet, frame| {
        let ethernet = ethernet.single_vlan(100.try_into().unwrap());
        ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 2).write(frame, &[]).unwrap();
    });
    assert_eq!(
        single,
        ", 802.1Q (0x8100), length 46: vlan 100, p 0, IPv4 (0x0800): 10.0.0.1.1 > 10.0.0.2.2: UDP, length 0"
    );
    let mut frame = [0; 18];
    frame[12..].copy_from_slice(&[0x88, 0xa8, 0x70, 0x05, 0x88, 0xb5]);
    assert!(summary(&frame).ends_with(", 802.1ad (0x88a8), length 18: vlan 5, p 3, DEI, ethertype 0x88b5"));
    let tags = [&[0; 12][..], &[0x81, 0].repeat(500)].concat();
    assert_eq!(summary(&tags).matches("vlan").count(), MAX_TAGS);
}

#[test]
fn arp_asks_and_answers() {
    let arp = |operation| {
        described(|ethernet, frame| {
            let packet = ArpEthIpv4Packet {
                operation,
                sender_mac: [2, 0, 0, 0, 0, 1],
                sender_ipv4: [10, 0, 0, 1],
                target_mac: [0; 6],
                target_ipv4: [10, 0, 0, 2],
            };
            ethernet.arp(Arp::from(packet)).write(frame).unwrap();
        })
    };
    assert_eq!(arp(Op::REQUEST), ", ARP (0x0806), length 42: Request who-has 10.0.0.2 tell 10.0.0.1");
    assert_eq!(arp(Op::REPLY), ", ARP (0x0806), length 42: Reply 10.0.0.1 is-at 02:00:00:00:00:01");
    assert_eq!(arp(Op(9)), ", ARP (0x0806), length 42: operation 9");
}

#[test]
fn fragments_and_other_protocols_have_no_ports() {
    let gre = described(|ethernet, frame| {
        ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).write(frame, IpNumber(47), &[0; 8]).unwrap();
    });
    assert_eq!(gre, ", IPv4 (0x0800), length 42: 10.0.0.1 > 10.0.0.2: protocol 47, length 8");
    let fragment = described(|ethernet, frame| {
        ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).write(frame, IpNumber::UDP, &[0; 8]).unwrap();
        frame[18..22].copy_from_slice(&[0x01, 0x00, 0x20, 0x02]);
    });
    assert_eq!(fragment, ", IPv4 (0x0800), length 42: 10.0.0.1 > 10.0.0.2: UDP, fragment 256:8@16+");
}

#[test]
fn broken_frames_say_where() {
    let short = described(|ethernet, frame| {
        ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 2).write(frame, &[0; 9]).unwrap();
        frame.truncate(50);
    });
    assert_eq!(short, ", IPv4 (0x0800), length 50 [ipv4: cut short]");
    let udp = described(|ethernet, frame| {
        ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).write(frame, IpNumber::UDP, &[0; 8]).unwrap();
    });
    assert_eq!(udp, ", IPv4 (0x0800), length 42: 10.0.0.1 > 10.0.0.2: UDP [udp: bad length]");
    assert_eq!(summary(&[]), "length 0 [ethernet: cut short]");
}

fn bytes(ip: std::net::Ipv6Addr) -> [u8; 16] {
    ip.octets()
}
