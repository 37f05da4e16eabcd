use super::*;
use crate::membership::{FLOATS_16, Listening, time_of};
use linerate_sum::checksum;
use proptest::prelude::*;

const ALL_SYSTEMS: [u8; 4] = [224, 0, 0, 1];
const V3_ROUTERS: [u8; 4] = [224, 0, 0, 22];

fn v4(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// An IPv4 packet of IGMP, with the router alert option and right checksums.
fn igmp(dst: [u8; 4], message: &[u8]) -> Vec<u8> {
    let total = u8::try_from(24 + message.len()).unwrap();
    let mut packet = vec![0x46, 0xc0, 0, total, 0, 0, 0x40, 0, 1, 2, 0, 0, 10, 0, 0, 9];
    packet.extend(dst);
    packet.extend([0x94, 4, 0, 0]);
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(message);
    let sum = checksum(&packet[24..]);
    packet[26..28].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// An IPv6 packet of ICMPv6, with the router alert option and a right checksum.
fn mld(src: &str, dst: &str, message: &[u8]) -> Vec<u8> {
    let (src, dst): (Ipv6Addr, Ipv6Addr) = (src.parse().unwrap(), dst.parse().unwrap());
    let mut packet = vec![0x60, 0, 0, 0, 0, u8::try_from(8 + message.len()).unwrap(), 0, 1];
    packet.extend(src.octets());
    packet.extend(dst.octets());
    packet.extend([58, 0, 5, 2, 0, 0, 1, 0]);
    packet.extend(message);
    crate::Icmpv6Packet::new_checked(&mut packet[48..]).unwrap().fill_checksum(src, dst);
    packet
}

fn of_v4(packet: &[u8]) -> Option<GroupPacket<'_>> {
    GroupPacket::parse(EtherType::IPV4, packet)
}

fn of_v6(packet: &[u8]) -> Option<GroupPacket<'_>> {
    GroupPacket::parse(EtherType::IPV6, packet)
}

fn records(packet: Option<GroupPacket<'_>>) -> Vec<(String, Listening)> {
    match packet {
        Some(GroupPacket::Report(records)) => records.map(|r| (r.group.to_string(), r.listening)).collect(),
        other => panic!("no report: {other:?}"),
    }
}

#[test]
fn reports_of_all_versions_of_igmp_are_read() {
    use Listening::{Begins, Ends};
    let group = [239, 1, 2, 3];
    for (kind, listening) in [(0x12, Begins), (0x16, Begins), (0x17, Ends)] {
        let packet = igmp(group, &[&[kind, 0, 0, 0][..], &group].concat());
        assert_eq!(records(of_v4(&packet)), [("239.1.2.3".to_owned(), listening)], "{kind:#x}");
    }
    // RFC 3376, section 4.2.12: kinds, with and without sources; auxiliary data is stepped over.
    let record = |kind: u8, last: u8, sources: u8, words: u8| {
        let rest = vec![7; usize::from(sources + words) * 4];
        [&[kind, words, 0, sources, 239, 0, 1, last][..], &rest].concat()
    };
    let all = [
        (record(1, 1, 0, 0), None),
        (record(1, 2, 2, 0), Some(Begins)),
        (record(2, 3, 0, 3), Some(Begins)),
        (record(3, 4, 0, 0), Some(Ends)),
        (record(3, 5, 1, 0), Some(Begins)),
        (record(4, 6, 1, 0), Some(Begins)),
        (record(5, 7, 1, 1), Some(Begins)),
        (record(6, 8, 1, 0), Some(Ends)),
        (record(9, 9, 1, 0), None),
        (vec![4, 0, 0, 0, 10, 0, 0, 1], None),
        (record(4, 10, 0, 0), Some(Begins)),
    ];
    let count = u8::try_from(all.len()).unwrap();
    let bytes: Vec<u8> = all.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
    let packet = igmp(V3_ROUTERS, &[&[0x22, 0, 0, 0, 0, 0, 0, count][..], &bytes].concat());
    let wanted = (1u8..).zip(&all).filter_map(|(n, (_, listening))| Some((format!("239.0.1.{n}"), (*listening)?)));
    let wanted: Vec<_> =
        wanted.map(|(group, l)| (if group.ends_with(".11") { "239.0.1.10".into() } else { group }, l)).collect();
    assert_eq!(records(of_v4(&packet)), wanted);
    // More records said than there are.
    let packet = igmp(V3_ROUTERS, &[&[0x22, 0, 0, 0, 0, 0, 0xff, 0xff][..], &record(4, 1, 0, 0), &[4, 0, 0]].concat());
    assert_eq!(records(of_v4(&packet)).len(), 1);
}

#[test]
fn reports_of_both_versions_of_mld_are_read() {
    use Listening::{Begins, Ends};
    let group = "ff05::1:3";
    let bytes = group.parse::<Ipv6Addr>().unwrap().octets();
    for (kind, to, listening) in [(131, group, Begins), (132, "ff02::2", Ends)] {
        let packet = mld("fe80::9", to, &[&[kind, 0, 0, 0, 0, 0, 0, 0][..], &bytes].concat());
        assert_eq!(records(of_v6(&packet)), [(group.to_owned(), listening)], "{kind}");
    }
    let record =
        |kind: u8, sources: u8| [&[kind, 0, 0, sources][..], &bytes, &vec![1; usize::from(sources) * 16]].concat();
    let list = [record(4, 0), record(3, 0), record(5, 2), record(1, 0)].concat();
    // RFC 3810, section 5.2.13: a host that has no address yet reports from none.
    for from in ["fe80::9", "::"] {
        let packet = mld(from, "ff02::16", &[&[143, 0, 0, 0, 0, 0, 0, 4][..], &list].concat());
        let wanted = [Begins, Ends, Begins].map(|listening| (group.to_owned(), listening));
        assert_eq!(records(of_v6(&packet)), wanted, "{from}");
    }
    let packet = mld("fd00::9", "ff02::16", &[&[143, 0, 0, 0, 0, 0, 0, 4][..], &list].concat());
    assert_eq!(of_v6(&packet), Some(GroupPacket::Data(v4("ff02::16"))), "from another link, as it seems");
}

#[test]
fn queries_are_told_apart_by_length_and_survive_the_wire() {
    let query = |group: &str, within_ms, sources| {
        let group = Some(v4(group)).filter(|group| !group.is_unspecified());
        GroupPacket::Query(GroupQuery { from: v4("10.0.0.9"), group, sources, within_ms })
    };
    let any = [0x11, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(of_v4(&igmp(ALL_SYSTEMS, &any)), Some(query("0.0.0.0", 10_000, false)), "version 1 says no time");
    let of_group = [0x11, 10, 0, 0, 239, 1, 2, 3];
    assert_eq!(of_v4(&igmp([239, 1, 2, 3], &of_group)), Some(query("239.1.2.3", 1000, false)));
    // RFC 3376, section 4.1.1: from 128 on a floating-point number.
    for (code, ms) in [(127, 12_700), (128, 12_800), (0xff, 3_174_400), (0x9a, 41_600)] {
        let message = [&[0x11, code, 0, 0, 239, 1, 2, 3, 2, 125, 0, 1][..], &[1, 2, 3, 4]].concat();
        assert_eq!(of_v4(&igmp([239, 1, 2, 3], &message)), Some(query("239.1.2.3", ms, true)), "{code:#x}");
    }
    for (from, group) in
        [("0.0.0.0", None), ("10.0.0.1", Some("239.1.2.3")), ("fe80::1", None), ("fe80::1", Some("ff02::1:ff00:1"))]
    {
        let query = GroupQuery { from: v4(from), group: group.map(v4), sources: false, within_ms: 10_000 };
        let packet = query.packet(125).unwrap();
        let ethertype = if query.from.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
        assert_eq!(GroupPacket::parse(ethertype, &packet), Some(GroupPacket::Query(query)));
    }
    let wrong = GroupQuery { from: v4("fe80::1"), group: Some(v4("239.1.2.3")), sources: false, within_ms: 1 };
    assert_eq!((wrong.packet(1), GroupQuery { group: None, sources: true, ..wrong }.packet(1)), (None, None));
}

#[test]
fn long_times_are_floating_point() {
    for (code, ms) in [(0, 0), (10_000, 10_000), (0x7fff, 32_767), (0x8000, 32_768), (0xffff, 8_387_584)] {
        assert_eq!(time_of(code, FLOATS_16), ms, "{code:#x}");
    }
}

/// A query that hosts would not answer is none (RFC 3376, section 9.1; RFC 3810, section 5.1.14).
#[test]
fn a_message_that_hosts_would_ignore_is_data() {
    let good = igmp(ALL_SYSTEMS, &[0x11, 100, 0, 0, 0, 0, 0, 0]);
    assert!(matches!(of_v4(&good), Some(GroupPacket::Query(_))));
    let data = Some(GroupPacket::Data(v4("224.0.0.1")));
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = good.clone();
        change(&mut packet);
        packet[10..12].fill(0);
        let sum = checksum(&packet[..24]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    };
    type Change = (&'static str, fn(&mut Vec<u8>));
    let changes: [Change; 5] = [
        ("it was routed", |packet| packet[8] = 2),
        ("no router alert", |packet| packet[20..24].copy_from_slice(&[1, 1, 1, 0])),
        ("another alert", |packet| packet[23] = 1),
        ("a wrong sum", |packet| packet[25] = 99),
        ("a fragment", |packet| packet[6] = 0x20),
    ];
    for (what, change) in changes {
        assert_eq!(of_v4(&changed(&change)), data, "{what}");
    }
    let mut packet = good.clone();
    packet[10] ^= 1;
    assert_eq!(of_v4(&packet), data, "a wrong sum of the header");
    assert_eq!(of_v4(&igmp(ALL_SYSTEMS, &[0x11, 100, 0, 0, 0, 0, 0, 0, 0])), data, "of a length between versions");
    let elsewhere = igmp([239, 0, 0, 1], &[0x11, 100, 0, 0, 0, 0, 0, 0]);
    assert_eq!(of_v4(&elsewhere), Some(GroupPacket::Data(v4("239.0.0.1"))), "a general query not to all systems");

    let message = [&[130, 0, 0, 0, 0x27, 0x10, 0, 0][..], &[0; 16]].concat();
    assert!(matches!(of_v6(&mld("fe80::1", "ff02::1", &message)), Some(GroupPacket::Query(_))));
    for (from, to) in [("::", "ff02::1"), ("fd00::1", "ff02::1"), ("fe80::1", "ff02::2")] {
        assert_eq!(of_v6(&mld(from, to, &message)), Some(GroupPacket::Data(v4(to))), "{from} {to}");
    }
    for (at, value) in [(7, 2), (42, 1), (48, 129), (60, 1)] {
        let mut packet = mld("fe80::1", "ff02::1", &message);
        packet[at] = value;
        assert_eq!(of_v6(&packet), Some(GroupPacket::Data(v4("ff02::1"))), "byte {at}");
    }
}

#[test]
fn routers_say_hello() {
    let mut hello = igmp([224, 0, 0, 13], &[0x20, 0, 0, 0, 0, 1, 0, 2]);
    hello[9] = 103;
    assert_eq!(of_v4(&hello), Some(GroupPacket::Hello));
    hello[24] = 0x23;
    assert_eq!(of_v4(&hello), Some(GroupPacket::Data(v4("224.0.0.13"))), "a join of PIM");
    let mut hello = mld("fe80::1", "ff02::d", &[0x20, 0, 0, 0, 0, 1, 0, 2]);
    hello[40] = 103;
    assert_eq!(of_v6(&hello), Some(GroupPacket::Hello));
}

#[test]
fn what_goes_to_no_group_or_is_cut_short_is_nothing() {
    let report = igmp(V3_ROUTERS, &[0x22, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 239, 0, 0, 1]);
    for len in 0..report.len() {
        assert_eq!(of_v4(&report[..len]), None, "{len} bytes");
    }
    let report = mld("fe80::9", "ff02::16", &[&[143, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0][..], &[0xff; 16]].concat());
    for len in 0..report.len() {
        assert_eq!(of_v6(&report[..len]), None, "{len} bytes");
    }
    assert_eq!(of_v4(&igmp([10, 0, 0, 1], &[0x16, 0, 0, 0, 239, 0, 0, 1])), None);
    assert_eq!(GroupPacket::parse(EtherType::ARP, &report), None);
}

proptest! {
    #[test]
    fn nothing_that_arrives_panics(
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        message in prop::collection::vec(any::<u8>(), 8..100),
        at in 0usize..148, byte: u8,
    ) {
        for mut packet in [bytes, igmp(ALL_SYSTEMS, &message), mld("fe80::1", "ff02::1", &message)] {
            for bent in [false, true] {
                if bent && !packet.is_empty() {
                    let at = at % packet.len();
                    packet[at] = byte;
                }
                for ethertype in [EtherType::IPV4, EtherType::IPV6] {
                    if let Some(GroupPacket::Report(records)) = GroupPacket::parse(ethertype, &packet) {
                        prop_assert!(records.count() <= packet.len() / 8);
                    }
                }
            }
        }
    }
}
