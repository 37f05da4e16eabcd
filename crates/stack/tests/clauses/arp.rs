//! ARP (RFC 826), the requirements of RFC 1122, section 2.3.2, and VLAN tags.

use crate::world::*;
use linerate_ring::Meta;
use linerate_stack::{Discard, NeighbourState, SendError};
use linerate_wire::{MacAddr, VlanTag};
use std::net::{Ipv4Addr, SocketAddr};

const PEER4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const US4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn state(world: &mut World) -> Option<(Option<MacAddr>, NeighbourState)> {
    world.host.neighbours().peek(peer4()).map(|row| (row.mac, row.state))
}

#[test]
fn rfc826_a_request_for_our_address_is_answered_to_who_asked() {
    let mut world = World::alone();
    let answer = world.answer(&who_has(US4));
    assert_eq!(answer, arp(2, (US, US4), (PEER, PEER4), PEER));
    assert_eq!(state(&mut world), Some((Some(PEER), NeighbourState::Stale)));
}

#[test]
fn rfc826_others_requests_are_not_answered_and_only_update_what_is_known() {
    let mut world = World::alone();
    assert!(world.take(&who_has(Ipv4Addr::new(10, 0, 0, 9))).is_empty());
    assert_eq!(state(&mut world), None);
    world.answer(&who_has(US4));
    let moved = MacAddr([2, 0, 0, 0, 0, 9]);
    let other = arp(1, (moved, PEER4), (MacAddr::UNSPECIFIED, Ipv4Addr::new(10, 0, 0, 9)), ALL);
    assert!(world.take(&other).is_empty());
    assert_eq!(state(&mut world), Some((Some(moved), NeighbourState::Stale)));
}

#[test]
fn rfc826_what_is_not_ethernet_and_ipv4_is_malformed() {
    let mut world = World::new();
    let good = who_has(US4);
    for (at, value) in [(15, 6), (16, 9), (18, 8), (19, 16)] {
        let mut frame = good.clone();
        frame[at] = value;
        world.drops(Discard::Malformed, &frame);
    }
    world.drops(Discard::Malformed, &good[..41]);
    world.answer(&good);
}

#[test]
fn rfc826_senders_that_cannot_be_are_not_believed() {
    let mut world = World::alone();
    for (mac, ip) in [
        (ALL, PEER4),
        (MacAddr([1, 0, 0x5e, 0, 0, 1]), PEER4),
        (MacAddr::UNSPECIFIED, PEER4),
        (PEER, Ipv4Addr::new(224, 0, 0, 1)),
    ] {
        let mut frame = arp(1, (mac, ip), (MacAddr::UNSPECIFIED, US4), ALL);
        frame[6..12].copy_from_slice(&PEER.0);
        world.drops(Discard::BadAddress, &frame);
    }
    world.drops(Discard::BadAddress, &arp(1, (ALL, PEER4), (MacAddr::UNSPECIFIED, US4), ALL));
    assert!(world.host.neighbours().is_empty());
}

#[test]
fn rfc1122_3_2_1_3_addresses_of_no_station_are_not_answered() {
    let mut world = World::alone();
    for ip in [[127, 0, 0, 1], [255; 4], [10, 0, 0, 255]] {
        let request = arp(1, (PEER, ip.into()), (MacAddr::UNSPECIFIED, US4), ALL);
        world.drops(Discard::BadAddress, &request);
    }
    assert!(world.host.neighbours().is_empty());
}

/// Whoever says that it is somewhere else is answered, and has no place among the neighbours.
#[test]
fn rfc826_addresses_of_other_networks_are_not_learned() {
    let mut world = World::alone();
    let elsewhere = Ipv4Addr::new(192, 0, 2, 9);
    let answer = world.answer(&arp(1, (PEER, elsewhere), (MacAddr::UNSPECIFIED, US4), ALL));
    assert_eq!(answer, arp(2, (US, US4), (PEER, elsewhere), PEER));
    assert!(world.host.neighbours().is_empty());
}

#[test]
fn rfc5227_a_probe_is_answered_and_not_learned() {
    let mut world = World::alone();
    let probe = arp(1, (PEER, Ipv4Addr::UNSPECIFIED), (MacAddr::UNSPECIFIED, US4), ALL);
    assert_eq!(world.answer(&probe), arp(2, (US, US4), (PEER, Ipv4Addr::UNSPECIFIED), PEER));
    assert!(world.host.neighbours().is_empty());
}

#[test]
fn rfc5227_who_claims_our_address_is_no_neighbour() {
    let mut world = World::alone();
    world.drops(Discard::BadAddress, &arp(1, (PEER, US4), (MacAddr::UNSPECIFIED, US4), ALL));
    world.drops(Discard::BadAddress, &arp(2, (PEER, US4), (US, US4), US));
    assert!(world.host.neighbours().is_empty());
}

#[test]
fn rfc5227_section_3_addresses_are_announced() {
    let mut world = World::alone();
    world.host.announce(&mut world.ring);
    let sent = world.sent();
    assert_eq!(sent.len(), 3, "IPv4, IPv6, and its link-local address");
    assert_eq!(sent[0], arp(1, (US, US4), (MacAddr::UNSPECIFIED, US4), ALL));
}

#[test]
fn rfc1122_2_3_2_2_a_packet_waits_and_goes_when_the_neighbour_answers() {
    let mut world = World::alone();
    let id = world.bind(us4(), 5000);
    let asked = world.send(id, (peer4(), 7), b"first");
    assert_eq!(asked, [arp(1, (US, US4), (MacAddr::UNSPECIFIED, PEER4), ALL)]);
    assert!(world.send(id, (peer4(), 7), b"second").is_empty(), "it is asked once");
    let sent = world.take(&arp(2, (PEER, PEER4), (US, US4), US));
    assert_eq!(sent.len(), 2);
    assert!(sent[0].ends_with(b"first") && sent[1].ends_with(b"second"));
    assert!(sent.iter().all(|frame| stations(frame) == (US, PEER)));
    assert_eq!(world.send(id, (peer4(), 7), b"third").len(), 1);
    assert_eq!(state(&mut world), Some((Some(PEER), NeighbourState::Reachable)));
}

#[test]
fn rfc1122_2_3_2_2_the_largest_datagram_waits_whole() {
    for (peer, us) in families() {
        let mut world = World::alone();
        let id = world.bind(us, 5000);
        let body = pattern(65_507);
        assert_eq!(world.send(id, (peer, 7), &body).len(), 1, "a request");
        let sent = if peer.is_ipv4() {
            world.take(&arp(2, (PEER, PEER4), (US, US4), US))
        } else {
            world.take(&discovery(peer, us, 136, 0x60, peer, Some((2, PEER))))
        };
        let header = if peer.is_ipv4() { 34 } else { 62 };
        let whole: Vec<u8> = sent.iter().flat_map(|frame| frame[header..].to_vec()).collect();
        assert!(whole[8..] == body, "{} frames, {} bytes", sent.len(), whole.len());
    }
}

#[test]
fn rfc1122_2_3_2_1_requests_are_a_second_apart_and_end_with_a_word_to_the_socket() {
    for (peer, us) in families() {
        let mut world = World::alone();
        let id = world.bind(us, 5000);
        world.host.udp_connect(id, Some(SocketAddr::new(peer, 7)));
        let mut requests = world.send(id, (peer, 7), b"x").len();
        for tenth in 0..40 {
            if tenth < 25 {
                requests += world.send(id, (peer, 7), b"x").len();
            }
            requests += world.later(SECOND / 10).len();
        }
        assert_eq!(requests, 3);
        assert_eq!(world.host.counters().discarded(Discard::NoNeighbour), 26);
        assert_eq!(world.host.counters().errors_received, 0, "nothing came");
        let told = |world: &mut World| world.host.udp_send(world.now, id, None, b"x", &mut world.ring);
        assert_eq!(told(&mut world), Err(SendError::Unreachable));
        assert_eq!(told(&mut world), Ok(()), "it is told once");
    }
}

#[test]
fn a_socket_hears_of_its_neighbour_at_once_though_the_datagram_of_another_found_out() {
    for (peer, us) in families() {
        let mut world = World::alone();
        let [id, other] = [5000, 5001].map(|port| world.bind(us, port));
        world.host.udp_connect(id, Some(SocketAddr::new(peer, 7)));
        world.send(id, (peer, 7), b"x");
        (0..2).for_each(|_| drop(world.later(SECOND)));
        world.now += SECOND;
        let far = if peer.is_ipv4() { "10.0.0.99" } else { "fd00::99" };
        assert_eq!(world.send(other, (ip(far), 7), b"x").len(), 1, "a request, and nobody has polled");
        assert!(world.host.poll_timeout().unwrap() <= world.now);
        assert!(world.later(0).is_empty());
        let told = world.host.udp_send(world.now, id, None, b"x", &mut world.ring);
        assert_eq!(told, Err(SendError::Unreachable));
    }
}

#[test]
fn frames_of_another_tag_are_not_for_us() {
    let asks = who_has(US4);
    let meta = |tci: u16| Some(Meta { vlan_tci: tci, ..Meta::default() });
    let answers = |world: &mut World, frame: &[u8], meta: Option<Meta>| {
        world.host.handle(world.now, frame, meta, &mut world.ring);
        world.sent().len()
    };
    let mut plain = World::new();
    assert_eq!(answers(&mut plain, &asks, None), 1);
    assert_eq!(answers(&mut plain, &tagged(&asks, 0xe000), None), 1, "a priority alone (IEEE 802.1Q, 9.6)");
    assert_eq!(answers(&mut plain, &tagged(&asks, 100), None), 0);
    assert_eq!(answers(&mut plain, &asks, meta(100)), 0);
    let mut member = World::new();
    let tag = VlanTag::new(3, false, 100).unwrap();
    member.host.set_vlan(Some(tag));
    assert_eq!(answers(&mut member, &asks, None), 0);
    assert_eq!(answers(&mut member, &tagged(&asks, 101), None), 0);
    assert_eq!(answers(&mut member, &tagged(&asks, 100), None), 1);
    assert_eq!(answers(&mut member, &asks, meta(100)), 1);
    assert_eq!(answers(&mut member, &tagged(&asks, 100), meta(5)), 0, "an outer tag that the adapter took out");
    assert_eq!(answers(&mut member, &tagged(&tagged(&asks, 100), 100), None), 0, "two tags");
    let mut world = member;
    let answer = world.answer(&tagged(&asks, 100));
    assert_eq!(answer, tagged(&arp(2, (US, US4), (PEER, PEER4), PEER), tag.0));
}
