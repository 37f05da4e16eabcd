//! Neighbour discovery (RFC 4861).

use crate::world::*;
use linerate_stack::{Discard, NeighbourState};
use linerate_wire::MacAddr;
use std::net::IpAddr;

const ALL_NODES: MacAddr = MacAddr([0x33, 0x33, 0, 0, 0, 1]);

/// Flags, target and target link-layer address of an advertisement.
fn advertisement(frame: &[u8]) -> (u8, IpAddr, &[u8]) {
    let (kind, code, flags, rest) = message(frame);
    assert_eq!((kind, code, frame[21], &rest[16..18]), (136, 0, 255, &[2, 1][..]));
    (flags[0], <[u8; 16]>::try_from(&rest[..16]).unwrap().into(), &rest[18..])
}

fn state(world: &mut World) -> Option<NeighbourState> {
    world.host.neighbours().peek(peer6()).map(|row| row.state)
}

#[test]
fn rfc4861_7_2_4_a_solicitation_is_answered() {
    let mut world = World::alone();
    let answer = world.answer(&solicitation());
    assert_eq!(stations(&answer), (US, PEER));
    assert_eq!(ends(&answer), (us6(), peer6()));
    assert_eq!(advertisement(&answer), (0x60, us6(), &US.0[..]), "solicited, and overrides");
    assert_eq!(state(&mut world), Some(NeighbourState::Stale));
}

#[test]
fn rfc4861_7_1_1_what_is_no_solicitation_is_silently_dropped() {
    let mut world = World::alone();
    let mut hops = solicitation();
    hops[21] = 254;
    world.drops(Discard::BadAddress, &hops);
    let mut sum = solicitation();
    sum[57] ^= 1;
    world.drops(Discard::BadChecksum, &sum);
    let body = bytes(us6());
    let coded = to(US, framed(&packet_at(&icmp(peer6(), us6(), 135, 1, [0; 4], &body))));
    world.drops(Discard::Malformed, &coded);
    let short = framed(&packet_at(&icmp(peer6(), us6(), 135, 0, [0; 4], &body[..15])));
    world.drops(Discard::Malformed, &short);
    let empty = [&body[..], &[1, 0, 0, 0, 0, 0, 0, 0]].concat();
    world.drops(Discard::Malformed, &framed(&packet_at(&icmp(peer6(), us6(), 135, 0, [0; 4], &empty))));
    world.drops(Discard::NotForUs, &discovery(peer6(), group(), 135, 0, ip("fd00:1::1"), Some((1, PEER))));
    let group_mac = Some((1, MacAddr([1, 0, 0, 0, 0, 2])));
    world.drops(Discard::BadAddress, &discovery(peer6(), group(), 135, 0, us6(), group_mac));
    assert!(world.host.neighbours().is_empty());
}

/// A packet from the peer to us with hop limit 255.
fn packet_at(message: &[u8]) -> Vec<u8> {
    let (IpAddr::V6(src), IpAddr::V6(dst)) = (peer6(), us6()) else { unreachable!() };
    v6(src, dst, ICMPV6, 255, message)
}

#[test]
fn rfc4862_5_4_3_who_asks_whether_our_address_is_free_and_all_others_are_told_that_it_is_not() {
    let mut world = World::alone();
    let answer = world.answer(&discovery(ip("::"), group(), 135, 0, us6(), None));
    assert_eq!(stations(&answer), (US, ALL_NODES));
    assert_eq!(ends(&answer), (us6(), ip("ff02::1")));
    assert_eq!(advertisement(&answer), (0x20, us6(), &US.0[..]), "not solicited");
    assert!(world.host.neighbours().is_empty());
    // RFC 4861, section 7.1.1: no link-layer address, and to the solicited-node group only.
    world.drops(Discard::Malformed, &discovery(ip("::"), group(), 135, 0, us6(), Some((1, PEER))));
    world.drops(Discard::Malformed, &discovery(ip("::"), us6(), 135, 0, us6(), None));
}

#[test]
fn rfc4861_7_2_2_who_is_asked_for() {
    let mut world = World::alone();
    let id = world.bind(us6(), 5000);
    let asked = world.send(id, (ip("fd00::ab:cdef"), 7), b"x").remove(0);
    assert_eq!(stations(&asked), (US, MacAddr([0x33, 0x33, 0xff, 0xab, 0xcd, 0xef])));
    assert_eq!(ends(&asked), (us6(), ip("ff02::1:ffab:cdef")));
    let (kind, code, _, rest) = message(&asked);
    assert_eq!((kind, code, asked[21]), (135, 0, 255));
    assert_eq!(rest, [&bytes(ip("fd00::ab:cdef"))[..], &[1, 1], &US.0].concat());
    let sent = world.take(&discovery(ip("fd00::ab:cdef"), us6(), 136, 0x60, ip("fd00::ab:cdef"), Some((2, PEER))));
    assert!(sent.len() == 1 && sent[0].ends_with(b"x") && stations(&sent[0]) == (US, PEER));
}

#[test]
fn rfc4861_7_1_2_what_is_no_advertisement_is_silently_dropped() {
    let mut world = World::alone();
    let id = world.bind(us6(), 5000);
    world.send(id, (peer6(), 7), b"x");
    let said = |flags, to: IpAddr, mac| discovery(peer6(), to, 136, flags, peer6(), Some((2, mac)));
    let mut hops = said(0x60, us6(), PEER);
    hops[21] = 254;
    world.drops(Discard::BadAddress, &hops);
    world.drops(Discard::Malformed, &said(0x60, ip("ff02::1"), PEER));
    world.drops(Discard::BadAddress, &said(0x60, us6(), ALL_NODES));
    // RFC 4862, section 5.4.4: another station claims our address; it stays ours.
    world.drops(Discard::BadAddress, &discovery(peer6(), us6(), 136, 0x20, us6(), Some((2, PEER))));
    assert_eq!(state(&mut world), Some(NeighbourState::Incomplete));
    assert_eq!(world.take(&said(0x20, ip("ff02::1"), PEER)).len(), 1, "what waited");
}

#[test]
fn rfc4861_8_redirects_and_routers_are_not_followed() {
    let mut world = World::new();
    let router = ip("fe80::9");
    let redirect = [bytes(router), bytes(ip("fd05::1"))].concat();
    let (IpAddr::V6(src), IpAddr::V6(dst)) = (router, us6()) else { unreachable!() };
    let frame = framed(&v6(src, dst, ICMPV6, 255, &icmp(router, us6(), 137, 0, [0; 4], &redirect)));
    world.drops(Discard::NotForUs, &frame);
    let frame = framed(&v6(src, dst, ICMPV6, 255, &icmp(router, us6(), 134, 0, [64, 0, 7, 8], &[0; 8])));
    world.drops(Discard::NotForUs, &frame);
    let id = world.bind(us6(), 5000);
    let to = Some("[fd05::1]:7".parse().unwrap());
    assert!(world.host.udp_send(world.now, id, to, b"x", &mut world.ring).is_err());
}

#[test]
fn rfc6980_discovery_in_fragments_is_ignored() {
    let mut world = World::alone();
    let body = [&bytes(us6())[..], &[1, 1], &PEER.0].concat();
    let message = icmp(peer6(), us6(), 135, 0, [0; 4], &body);
    let mut frames = fragments(peer6(), us6(), ICMPV6, &message, 24);
    frames.iter_mut().for_each(|frame| frame[21] = 255);
    assert!(world.take(&frames[0]).is_empty());
    world.drops(Discard::Fragments, &frames[1]);
    assert!(world.host.neighbours().is_empty());
}
