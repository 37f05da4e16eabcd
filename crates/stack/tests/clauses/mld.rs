//! Multicast listener discovery (RFC 3810, RFC 2710): what a bridge that snoops has to hear.

use crate::world::*;
use linerate_stack::{Config, Discard};
use linerate_wire::MacAddr;
use std::net::{IpAddr, Ipv6Addr};

const ALERT: [u8; 8] = [58, 0, 5, 2, 0, 0, 1, 0];
const LOCAL: &str = "fe80::2";
const MS: u64 = SECOND / 1000;

fn v6_of(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// Solicited-node groups of fd00::1 (and of the link-local address), and of fd00::ab:cdef.
fn ours() -> [Ipv6Addr; 2] {
    ["ff02::1:ff00:1", "ff02::1:ffab:cdef"].map(v6_of)
}

fn world() -> World {
    let mut world = World::with(&Config::new(US, 7));
    world.host.add_address("fd00::ab:cdef/64".parse().unwrap()).unwrap();
    assert_eq!((world.later(0), world.host.poll_timeout()), (vec![], None), "the link was not up yet");
    world
}

/// Kinds and groups of a report's records.
fn records(frame: &[u8]) -> Vec<(u8, Ipv6Addr)> {
    assert_eq!(stations(frame), (US, MacAddr([0x33, 0x33, 0, 0, 0, 0x16])));
    assert_eq!(ends(frame), (ip("fe80::ff:fe00:1"), ip("ff02::16")));
    assert_eq!((frame[20], frame[21], &frame[54..62]), (0, 1, &ALERT[..]), "hop-by-hop options, one hop");
    let report = &frame[62..];
    assert_eq!((&report[..2], &report[4..6]), (&[143, 0][..], &[0, 0][..]));
    let n = usize::from(u16::from_be_bytes([report[6], report[7]]));
    assert_eq!(report.len(), 8 + 20 * n);
    let record = |bytes: &[u8]| {
        assert_eq!(bytes[1..4], [0; 3], "no auxiliary data, no sources");
        (bytes[0], Ipv6Addr::from(*bytes[4..].first_chunk::<16>().unwrap()))
    };
    report[8..].chunks(20).map(record).collect()
}

/// A query for a group, or for all (`::`); `more` behind it makes it one of version 2.
fn query(from: &str, hops: u8, options: &[u8; 8], code: u16, group: &str, more: &[u8]) -> Vec<u8> {
    let to = if group == "::" { "ff02::1" } else { group };
    let body = [bytes(ip(group)), more.to_vec()].concat();
    let [high, low] = code.to_be_bytes();
    let message = icmp(ip(from), ip(to), 130, 0, [high, low, 0, 0], &body);
    let packet = v6(v6_of(from), v6_of(to), 0, hops, &[&options[..], &message].concat());
    let IpAddr::V6(group) = ip(to) else { unreachable!() };
    let [.., a, b, c, d] = group.octets();
    to_station(MacAddr([0x33, 0x33, a, b, c, d]), &packet)
}

fn to_station(station: MacAddr, packet: &[u8]) -> Vec<u8> {
    to(station, framed(packet))
}

const V2: [u8; 4] = [2, 125, 0, 0];

#[test]
fn rfc3810_6_1_groups_are_reported_when_the_link_comes_up_and_once_more() {
    let mut world = world();
    world.host.announce(&mut world.ring);
    world.sent();
    assert_eq!(world.host.poll_timeout(), Some(0));
    for wait in [0, SECOND] {
        let sent = world.later(wait);
        assert_eq!(sent.len(), 1);
        assert_eq!(records(&sent[0]), ours().map(|group| (4, group)));
    }
    assert_eq!((world.later(10 * SECOND), world.host.poll_timeout()), (vec![], None));
    assert_eq!(world.host.counters().discarded(Discard::NoRoom), 0, "all found room");
    // An address that is added later.
    world.host.add_address("fd00::77/64".parse().unwrap()).unwrap();
    let sent = world.later(0);
    assert_eq!(records(&sent[0]).last(), Some(&(4, v6_of("ff02::1:ff00:77"))));
    assert_eq!((world.later(SECOND).len(), world.host.poll_timeout()), (1, None));
    // Without a carrier nothing is sent.
    world.host.set_carrier(false);
    world.host.add_address("fd00::78/64".parse().unwrap()).unwrap();
    assert_eq!(world.later(0), Vec::<Vec<u8>>::new());
    // All of them when it is back, beside the probes for its addresses.
    world.host.set_carrier(true);
    for wait in [0, SECOND] {
        let mut sent = world.later(wait);
        sent.retain(|frame| frame[12..14] == [0x86, 0xdd] && frame[20] == 0);
        assert_eq!((sent.len(), records(&sent[0]).len()), (1, 4));
    }
    (0..10).for_each(|_| drop(world.later(SECOND)));
    world.host.set_carrier(true);
    assert_eq!(world.host.poll_timeout(), None, "nothing new");
}

#[test]
fn a_host_without_ipv6_has_nothing_to_report() {
    let mut world = World::alone();
    for address in world.host.addresses().to_vec() {
        if address.addr().is_ipv6() {
            world.host.remove_address(address.addr());
        }
    }
    world.host.announce(&mut world.ring);
    world.sent();
    assert_eq!((world.later(0), world.later(SECOND)), (vec![], vec![]));
}

#[test]
fn rfc3810_6_2_a_query_is_answered_within_its_time() {
    let mut at = Vec::new();
    for round in 0..8 {
        let mut world = world();
        world.now += round * SECOND;
        assert_eq!(world.take(&query(LOCAL, 1, &ALERT, 1000, "::", &V2)), Vec::<Vec<u8>>::new(), "not at once");
        let due = world.host.poll_timeout().unwrap();
        assert!((world.now..=world.now + 1000 * MS).contains(&due), "{due}");
        at.push(due - world.now);
        let sent = world.later(due - world.now);
        assert_eq!(records(&sent[0]), ours().map(|group| (2, group)));
        assert_eq!((sent.len(), world.host.poll_timeout()), (1, None));
        // One group; an answer follows a report by a tenth of a second at least.
        world.take(&query(LOCAL, 1, &ALERT, 0, "ff02::1:ffab:cdef", &V2));
        assert_eq!((world.later(0), world.later(100 * MS).len()), (vec![], 1));
    }
    at.sort_unstable();
    at.dedup();
    assert!(at.len() > 4, "hosts must not answer all at once: {at:?}");
}

#[test]
fn rfc3810_8_2_1_a_querier_of_version_1_is_answered_in_version_1() {
    let mut world = world();
    world.take(&query(LOCAL, 1, &ALERT, 0, "::", &[]));
    let sent = world.later(0);
    assert_eq!(sent.len(), 2);
    for (frame, group) in sent.iter().zip(ours()) {
        assert_eq!(ends(frame), (ip("fe80::ff:fe00:1"), group.into()));
        assert_eq!((frame[20], frame[21], &frame[54..62]), (0, 1, &ALERT[..]));
        assert_eq!((&frame[62..64], &frame[66..]), (&[131, 0][..], &[&[0; 4][..], &group.octets()].concat()[..]));
    }
    // Also to queries of version 2, until the old querier has been silent for long.
    world.now += SECOND;
    world.take(&query(LOCAL, 1, &ALERT, 0, "::", &V2));
    assert_eq!(world.later(0)[0][62], 131);
    world.now += 260 * SECOND;
    world.take(&query(LOCAL, 1, &ALERT, 0, "::", &V2));
    assert_eq!(world.later(0)[0][62], 143);
}

/// A neighbour that asks without pause, and wants each answer at once.
#[test]
fn queries_without_pause_do_not_make_reports_without_pause() {
    let mut world = world();
    let mut sent = 0;
    for _ in 0..10_000 {
        world.take(&query(LOCAL, 1, &ALERT, 0, "::", &V2));
        sent += world.later(MS / 10).len();
    }
    assert!((9..=11).contains(&sent), "{sent} reports in a second");
}

#[test]
fn rfc3810_5_1_14_what_is_no_query_of_this_link_is_dropped() {
    let mut world = world();
    let none = [58, 0, 1, 4, 0, 0, 0, 0];
    world.drops(Discard::BadAddress, &query("fd00::2", 1, &ALERT, 0, "::", &V2));
    world.drops(Discard::BadAddress, &query(LOCAL, 2, &ALERT, 0, "::", &V2));
    world.drops(Discard::BadAddress, &query(LOCAL, 1, &none, 0, "::", &V2));
    world.drops(Discard::Malformed, &query(LOCAL, 1, &ALERT, 0, "::", &V2[..3]));
    world.drops(Discard::NotForUs, &query(LOCAL, 1, &ALERT, 0, "ff02::1:ff00:2", &V2));
    let mut sum = query(LOCAL, 1, &ALERT, 0, "::", &V2);
    sum[64] ^= 1;
    world.drops(Discard::BadChecksum, &sum);
    assert_eq!((world.later(SECOND), world.host.poll_timeout()), (vec![], None));
}
