//! Groups of IP: who gets them, as queries and reports go by, over a switch whose ports are all here.

use super::*;
use linerate_ring::Meta;
use linerate_wire::{
    EtherType, EthernetRepr, GroupQuery, Icmpv6Packet, IpProtocol, Ipv4Repr, Ipv6Repr, MacAddr, multicast_mac,
};
use std::net::IpAddr;
use std::sync::Arc;

const GROUP: &str = "239.1.2.3";
const GROUP_V6: &str = "ff05::1:3";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn ethernet(group: IpAddr, src: u8, packet: &[u8]) -> Vec<u8> {
    let ethertype = if group.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
    let mut bytes = vec![0; (14 + packet.len()).max(60)];
    let header = EthernetRepr { dst: multicast_mac(group).unwrap(), src: MacAddr(mac(src)), ethertype };
    header.emit(&mut bytes).unwrap()[..packet.len()].copy_from_slice(packet);
    bytes
}

fn data(group: &str) -> Vec<u8> {
    let packet = match ip(group) {
        IpAddr::V4(to) => {
            let mut packet = vec![7; 48];
            Ipv4Repr { payload_len: 28, ..Ipv4Repr::new([10, 0, 0, 1].into(), to, IpProtocol::UDP) }
                .emit(&mut packet)
                .unwrap();
            packet
        }
        IpAddr::V6(to) => {
            let mut packet = vec![7; 68];
            Ipv6Repr { payload_len: 28, ..Ipv6Repr::new("fe80::1".parse().unwrap(), to, IpProtocol::UDP) }
                .emit(&mut packet)
                .unwrap();
            packet
        }
    };
    ethernet(ip(group), 1, &packet)
}

/// A report or a leave, of IGMPv2 or MLDv1.
fn report(group: &str, joins: bool) -> Vec<u8> {
    let to = ip(group);
    match to {
        IpAddr::V4(group) => {
            let mut message = vec![if joins { 0x16 } else { 0x17 }, 0, 0, 0];
            message.extend(group.octets());
            let sum = linerate_sum::checksum(&message).to_be_bytes();
            message[2..4].copy_from_slice(&sum);
            let ip = Ipv4Repr::new([10, 0, 0, 9].into(), group, IpProtocol(2));
            let mut packet = vec![0; 28];
            Ipv4Repr { payload_len: 8, ttl: 1, ..ip }.emit(&mut packet).unwrap().copy_from_slice(&message);
            ethernet(to, 9, &packet)
        }
        IpAddr::V6(group) => {
            let from = "fe80::9".parse().unwrap();
            let mut message = vec![if joins { 131 } else { 132 }, 0, 0, 0, 0, 0, 0, 0];
            message.extend(group.octets());
            Icmpv6Packet::new_checked(&mut message[..]).unwrap().fill_checksum(from, group);
            let ip = Ipv6Repr::new(from, group, IpProtocol::HOP_BY_HOP);
            let mut packet = vec![0; 72];
            let rest = Ipv6Repr { payload_len: 32, hop_limit: 1, ..ip }.emit(&mut packet).unwrap();
            rest.copy_from_slice(&[&[58, 0, 5, 2, 0, 0, 1, 0][..], &message].concat());
            ethernet(to, 9, &packet)
        }
    }
}

fn query(from: &str, group: Option<&str>, within_ms: u64) -> Vec<u8> {
    let from = ip(from);
    let query = GroupQuery { from, group: group.map(ip), sources: false, within_ms };
    let all = if from.is_ipv4() { ip("224.0.0.1") } else { ip("ff02::1") };
    ethernet(group.map_or(all, ip), 8, &query.packet(125).unwrap())
}

/// Seconds pass, in rounds.
fn seconds(b: &mut Bench, n: u64) {
    for _ in 0..n {
        b.now += 1_000_000_000;
        b.poll();
    }
}

/// A switch that listens, between a querier at `q` whose question has been answered, and others.
fn asked(names: &[&'static str]) -> Bench {
    let mut b = Bench::plain(names);
    b.switch.snoop(None);
    seconds(&mut b, 100);
    b.send("q", &query("10.0.0.1", None, 10_000));
    b.send("q", &query("fe80::1", None, 10_000));
    seconds(&mut b, 13);
    names.iter().for_each(|name| drop(b.receive(name)));
    b
}

/// Ports that got a frame that `from` sent.
fn goes(b: &mut Bench, from: &str, bytes: &[u8]) -> Vec<&'static str> {
    let names: Vec<&'static str> = b.ends.iter().map(|end| end.name).collect();
    names.iter().for_each(|name| drop(b.receive(name)));
    b.send(from, bytes);
    names.into_iter().filter(|name| b.receive(name).iter().any(|frame| frame == bytes)).collect()
}

#[test]
fn groups_go_to_listeners_and_routers_where_a_querier_is_about() {
    for group in [GROUP, GROUP_V6] {
        let mut b = asked(&["a", "b", "c", "q"]);
        assert_eq!(goes(&mut b, "a", &data(group)), ["q"], "nobody listens");
        assert_eq!(goes(&mut b, "b", &report(group, true)), ["q"], "reports go to the router alone");
        assert_eq!(goes(&mut b, "a", &data(group)), ["b", "q"]);
        assert_eq!(goes(&mut b, "b", &data(group)), ["q"], "never back");
        assert_eq!(goes(&mut b, "q", &data(group)), ["b"]);
        // Another group, and one with the same MAC address.
        let (other, same) = if group == GROUP { ("239.1.2.4", "239.129.2.3") } else { ("ff05::1:4", "ff08::1:3") };
        assert_eq!((goes(&mut b, "a", &data(other)), goes(&mut b, "a", &data(same))), (vec!["q"], vec!["q"]));
        b.send("c", &report(group, true));
        assert_eq!(goes(&mut b, "a", &data(group)), ["b", "c", "q"]);
        let rows: Vec<_> = b.switch.groups().collect();
        assert_eq!((rows.len(), rows[0].group, rows[0].vlan), (1, ip(group), 1));
        assert!(matches!(rows[0].ports[..], [("b", 280..=286), ("c", 280..=286)]), "{rows:?}");
        let queriers: Vec<_> = b.switch.queriers().map(|row| (row.address, row.port)).collect();
        assert_eq!(queriers, [(ip("10.0.0.1"), Some("q")), (ip("fe80::1"), Some("q"))]);
        // The querier goes on, c answers, b does not.
        for _ in 0..3 {
            seconds(&mut b, 100);
            b.send("q", &query("10.0.0.1", None, 10_000));
            b.send("q", &query("fe80::1", None, 10_000));
            b.send("c", &report(group, true));
        }
        assert_eq!(goes(&mut b, "a", &data(group)), ["c", "q"]);
        // The querier has gone.
        seconds(&mut b, 260);
        assert_eq!(goes(&mut b, "a", &data(group)), ["b", "c", "q"]);
        assert_eq!(b.ledger().refused.total(), b.ledger().refused.of(DropReason::NoReceiver));
    }
}

#[test]
fn without_a_querier_and_until_its_first_answers_all_is_flooded() {
    let mut b = Bench::plain(&["a", "b", "q"]);
    b.switch.snoop(None);
    seconds(&mut b, 100);
    b.send("b", &report(GROUP, true));
    assert_eq!(goes(&mut b, "a", &data(GROUP)), ["b", "q"]);
    assert_eq!(goes(&mut b, "a", &data("239.9.9.9")), ["b", "q"]);
    assert_eq!(goes(&mut b, "q", &query("10.0.0.1", None, 10_000)), ["a", "b"], "queries are for all");
    seconds(&mut b, 9);
    assert_eq!(goes(&mut b, "a", &data("239.9.9.9")), ["b", "q"], "a listener may answer still");
    seconds(&mut b, 4);
    assert_eq!(goes(&mut b, "a", &data("239.9.9.9")), ["q"]);
    // A port that comes later gets all until it was asked.
    b.add("n", Policy::default(), 1, 1500);
    assert_eq!(goes(&mut b, "a", &data("239.9.9.9")), ["q", "n"]);
    b.send("q", &query("10.0.0.1", None, 10_000));
    seconds(&mut b, 13);
    assert_eq!(goes(&mut b, "a", &data("239.9.9.9")), ["q"]);
    // A query that asks for answers too late says nothing of the table.
    let mut b = Bench::plain(&["a", "b", "q"]);
    b.switch.snoop(None);
    for _ in 0..5 {
        b.send("q", &query("fe80::1", None, 30_000));
        seconds(&mut b, 50);
    }
    assert_eq!(goes(&mut b, "a", &data(GROUP_V6)), ["b", "q"]);
    b.ledger();
}

#[test]
fn what_must_be_flooded_is() {
    let mut b = asked(&["a", "b", "q"]);
    for group in ["224.0.0.251", "224.0.0.1", "ff02::1"] {
        assert_eq!(goes(&mut b, "a", &data(group)), ["b", "q"], "{group}");
    }
    assert_eq!(goes(&mut b, "a", &frame(ALL, mac(1))), ["b", "q"]);
    assert_eq!(goes(&mut b, "a", &frame([1, 0, 0x5e, 1, 2, 3], mac(1))), ["b", "q"], "no IP");
    assert_eq!(goes(&mut b, "a", &frame([3, 0, 0, 0, 0, 1], mac(1))), ["b", "q"], "a group of nobody's");
    assert_eq!(goes(&mut b, "a", &data(GROUP)[..30]), ["b", "q"], "cut short");
    assert_eq!(goes(&mut b, "a", &data(GROUP)[..15]), ["b", "q"]);
    // The solicitations for a host's address go to a group that it reports.
    let solicited = "ff02::1:ff00:9";
    b.send("b", &report(solicited, true));
    assert_eq!(goes(&mut b, "a", &data(solicited)), ["b", "q"]);
    // A fragment is data for its group, even of a report.
    let mut part = report("239.1.2.9", true);
    part[20] = 0x20;
    part[24..26].fill(0);
    let sum = linerate_sum::checksum(&part[14..34]).to_be_bytes();
    part[24..26].copy_from_slice(&sum);
    assert_eq!(goes(&mut b, "b", &part), ["q"]);
    assert_eq!(b.switch.groups().count(), 1);
    b.ledger();
}

#[test]
fn the_switch_asks_itself_and_is_silent_beside_another() {
    let mut b = Bench::new(&[("a", vlans("10")), ("b", vlans("10")), ("c", vlans("20")), ("t", vlans("t10+t20"))]);
    b.switch.snoop(Some([0, 0, 0, 0].into()));
    seconds(&mut b, 100);
    let first = b.receive("a");
    assert_eq!(first[0][..6], [1, 0, 0x5e, 0, 0, 1]);
    assert_eq!(first[1][..6], [0x33, 0x33, 0, 0, 0, 1]);
    assert_eq!(first.len(), 4, "two at the start, for each IP version");
    let trunk = b.receive("t");
    let tags: Vec<_> = trunk.iter().take(4).map(|frame| frame[12..16].to_vec()).collect();
    assert_eq!(tags, [vec![0x81, 0, 0, 10], vec![0x81, 0, 0, 10], vec![0x81, 0, 0, 20], vec![0x81, 0, 0, 20]]);
    assert_eq!([&trunk[0][..12], &trunk[0][16..]].concat(), first[0]);
    b.send("b", &report(GROUP, true));
    b.send("c", &report(GROUP, true));
    // To the trunk with a tag: not the same frame.
    assert_eq!(goes(&mut b, "a", &data(GROUP)), ["b"]);
    assert_eq!((b.count("t").sent, b.receive("t")), (b.count("t").sent, vec![]), "nobody listens there");
    // The last listener leaves; then one of two behind a port.
    let last = |b: &mut Bench, answers: bool| {
        b.send("b", &report(GROUP, false));
        let mut queries = 0;
        for _ in 0..7 {
            seconds(b, 1);
            let asked = b.receive("b").iter().filter(|frame| frame[..6] == [1, 0, 0x5e, 1, 2, 3]).count();
            queries += asked;
            if asked > 0 && answers {
                b.send("b", &report(GROUP, true));
            }
        }
        (queries, goes(b, "a", &data(GROUP)))
    };
    assert_eq!(last(&mut b, true), (2, vec!["b"]));
    assert_eq!(last(&mut b, false), (2, vec![]));
    assert_eq!(goes(&mut b, "a", &data(GROUP)), [] as [&str; 0]);
    assert_eq!(b.switch.groups().map(|row| row.vlan).collect::<Vec<_>>(), [20]);
    // A router comes up in VLAN 10.
    b.send("a", &query("10.0.0.1", None, 10_000));
    b.receive("a");
    b.receive("c");
    seconds(&mut b, 200);
    let (there, elsewhere) = (b.receive("a"), b.receive("c"));
    assert!(there.iter().all(|frame| frame[..2] == [0x33, 0x33]) && !there.is_empty(), "IPv6 alone");
    assert!(elsewhere.iter().any(|frame| frame[..2] == [1, 0]));
    seconds(&mut b, 100);
    assert!(b.receive("a").iter().any(|frame| frame[..2] == [1, 0]), "it has gone");
    let ledger = b.ledger();
    assert!(ledger.own > 0 && ledger.copies + ledger.own == ledger.sent + ledger.dropped.total());
}

/// Many more groups than the table has: whoever reports them gets all, and others get theirs.
#[test]
fn a_port_that_reports_everything_takes_nothing_from_others() {
    let mut b = asked(&["a", "b", "evil", "q"]);
    for n in 0..5000u32 {
        let [_, x, y, z] = n.to_be_bytes();
        b.send("evil", &report(&format!("239.{x}.{y}.{z}"), true));
        b.receive("q");
    }
    b.send("b", &report(GROUP, true));
    assert_eq!(goes(&mut b, "a", &data(GROUP)), ["b", "evil", "q"]);
    assert_eq!(goes(&mut b, "a", &data("239.0.19.130")), ["evil", "q"], "it did not fit, and goes there");
    let count = b.switch.group_counters().unwrap();
    assert_eq!((count.known, count.refused), (512 + 1, 5000 - 512));
    b.ledger();
}

/// A guest is believed for its own port only.
#[test]
fn a_guests_query_and_leave_change_nothing_for_others() {
    let mut b = Bench::plain(&["a", "b", "g"]);
    b.switch.snoop(None);
    let [near, far] = [0, 1].map(|_| Arc::new(Side::within(1).unwrap()));
    near.hang_up(&far);
    far.hang_up(&near);
    let id = b.switch.find("g").unwrap();
    b.switch.members[usize::from(id)].as_mut().unwrap().life = Some(far);
    seconds(&mut b, 100);
    for _ in 0..3 {
        b.send("g", &query("10.0.0.2", None, 1000));
        seconds(&mut b, 20);
    }
    assert_eq!(goes(&mut b, "a", &data(GROUP)), ["b", "g"], "a guest's query is no reason to tell groups apart");
    assert_eq!(b.switch.queriers().count(), 0);
    let mut b = asked(&["a", "b", "g", "q"]);
    b.send("b", &report(GROUP, true));
    let id = b.switch.find("g").unwrap();
    let [near, far] = [near, Arc::new(Side::within(1).unwrap())];
    near.hang_up(&far);
    far.hang_up(&near);
    b.switch.members[usize::from(id)].as_mut().unwrap().life = Some(far);
    b.send("g", &report(GROUP, false));
    b.send("b", &report(GROUP, false));
    b.send("g", &query("10.0.0.2", Some(GROUP), 100));
    seconds(&mut b, 10);
    assert_eq!(goes(&mut b, "a", &data(GROUP)), ["b", "g", "q"], "its own port gets all groups now");
    // The querier's question ends what a listener has left.
    b.send("q", &query("10.0.0.1", Some(GROUP), 1000));
    seconds(&mut b, 5);
    assert_eq!(goes(&mut b, "a", &data(GROUP)), ["g", "q"]);
    b.ledger();
}

/// A train of datagrams, whose length is a super-frame's.
#[test]
fn super_frames_of_groups_go_to_listeners_too() {
    let mut b = asked(&["a", "b", "c", "q"]);
    b.send("b", &report(GROUP, true));
    ["b", "c", "q"].iter().for_each(|name| drop(b.receive(name)));
    let mut udp = vec![7; 28 + 3000];
    udp[..20].copy_from_slice(&data(GROUP)[14..34]);
    udp[2..4].copy_from_slice(&3028u16.to_be_bytes());
    udp[10..12].fill(0);
    let sum = linerate_sum::checksum(&udp[..20]).to_be_bytes();
    udp[10..12].copy_from_slice(&sum);
    udp[20..28].copy_from_slice(&[0, 9, 0, 9, 0x0b, 0xc0, 0, 0]);
    let bytes = ethernet(ip(GROUP), 1, &udp);
    let meta = Meta {
        flags: Meta::NEEDS_CSUM,
        csum_start: 34,
        csum_offset: 6,
        gso_type: 5,
        gso_size: 1000,
        hdr_len: 42,
        ..Meta::default()
    };
    slots::send_parts(&mut b, "a", &bytes, 1700, Some(meta));
    assert_eq!(b.arrived(["b", "c", "q"]), [3, 0, 3]);
    b.ledger();
}
