//! Claims to addresses: over IPv4 (RFC 5227), and over IPv6 (RFC 4862, section 5.4; RFC 4429).

use crate::world::*;
use linerate_stack::{AddressState, Discard, Event};
use linerate_wire::MacAddr;
use std::net::{IpAddr, Ipv4Addr};

const US4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const NONE4: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const NOBODY: MacAddr = MacAddr::UNSPECIFIED;

/// A host whose link has just come up.
fn up() -> World {
    let mut world = World::alone();
    assert!(world.host.set_carrier(false) && world.host.set_carrier(true));
    world
}

/// A host whose addresses have been checked.
fn settled() -> World {
    let mut world = up();
    frames(&mut world, 20);
    assert_eq!(state(&world, us4()), Some(AddressState::Preferred));
    world
}

/// Frames of so many seconds, each with its time in milliseconds; the host is asked when it wants to be.
fn frames(world: &mut World, seconds: u64) -> Vec<(u64, Vec<u8>)> {
    let (begin, mut all) = (world.now, Vec::new());
    while let Some(at) = world.host.poll_timeout().filter(|at| *at <= begin + seconds * SECOND) {
        let passed = at.saturating_sub(world.now);
        let sent = world.later(passed);
        all.extend(sent.into_iter().map(|frame| ((world.now - begin) / 1_000_000, frame)));
    }
    world.now = begin + seconds * SECOND;
    all
}

fn is_arp(frame: &[u8]) -> bool {
    frame[12..14] == [8, 6]
}

/// Times and frames of ARP.
fn arps(all: &[(u64, Vec<u8>)]) -> Vec<(u64, Vec<u8>)> {
    all.iter().filter(|(_, frame)| is_arp(frame)).cloned().collect()
}

/// Times and frames of a kind of ICMPv6, without reports of groups, which have another header first.
fn kinds(all: &[(u64, Vec<u8>)], kind: u8) -> Vec<(u64, Vec<u8>)> {
    let is = |frame: &[u8]| frame[12..14] == [0x86, 0xdd] && frame[20] == ICMPV6 && message(frame).0 == kind;
    all.iter().filter(|(_, frame)| is(frame)).cloned().collect()
}

fn state(world: &World, addr: IpAddr) -> Option<AddressState> {
    world.host.address_state(addr)
}

fn lost(text: &str) -> Option<Event> {
    Some(Event::AddressLost { address: text.parse().unwrap(), mac: PEER })
}

fn contested(text: &str) -> Option<Event> {
    Some(Event::AddressContested { address: text.parse().unwrap(), mac: PEER })
}

/// The peer's claim to our address: what it answers to a probe.
fn claim() -> Vec<u8> {
    arp(2, (PEER, US4), (US, NONE4), US)
}

#[test]
fn rfc5227_2_1_1_and_2_3_an_address_is_probed_three_times_then_announced_twice() {
    let mut world = up();
    assert_eq!(state(&world, us4()), Some(AddressState::Checking));
    let sent = arps(&frames(&mut world, 20));
    let (probe, said) = (arp(1, (US, NONE4), (NOBODY, US4), ALL), arp(1, (US, US4), (NOBODY, US4), ALL));
    let all: Vec<_> = sent.iter().map(|(_, frame)| frame.clone()).collect();
    assert_eq!(all, [probe.clone(), probe.clone(), probe, said.clone(), said]);
    let at: Vec<u64> = sent.iter().map(|(at, _)| *at).collect();
    assert_eq!((at[0], at[3] - at[2], at[4] - at[3]), (0, 2000, 2000), "{at:?}");
    assert!(at.windows(2).take(2).all(|two| (1000..=2000).contains(&(two[1] - two[0]))), "{at:?}");
    assert_eq!((state(&world, us4()), world.host.poll_event()), (Some(AddressState::Preferred), None));
    // It is in use meanwhile, and announced by nothing else.
    let mut world = up();
    world.host.announce(&mut world.ring);
    assert!(world.sent().is_empty());
    assert_eq!(world.answer(&who_has(US4)), arp(2, (US, US4), (PEER, Ipv4Addr::new(10, 0, 0, 2)), PEER));
}

#[test]
fn rfc4862_5_4_2_an_address_is_asked_for_once_and_announced_after_a_second() {
    let mut world = up();
    let all = frames(&mut world, 20);
    let local = ip("fe80::ff:fe00:1");
    let asked = kinds(&all, 135);
    let said = kinds(&all, 136);
    for addr in [us6(), local] {
        let group = if addr == us6() { group() } else { ip("ff02::1:ff00:1") };
        let about = |(_, frame): &&(u64, Vec<u8>)| message(frame).3[..16] == bytes(addr);
        let asked: Vec<_> = asked.iter().filter(about).collect();
        let [(0, frame)] = asked[..] else { panic!("{asked:?}") };
        assert_eq!((ends(frame), frame[21], message(frame).3.len()), ((ip("::"), group), 255, 16), "without our MAC");
        let said: Vec<_> = said.iter().filter(about).collect();
        let [(1000, frame)] = said[..] else { panic!("{said:?}") };
        assert_eq!((ends(frame), message(frame).2[0]), ((addr, ip("ff02::1")), 0x20), "it replaces what was there");
    }
    // Section 5.4.2: the group of the address has been reported before.
    let first = |is: &dyn Fn(&[u8]) -> bool| all.iter().position(|(_, frame)| is(frame)).unwrap();
    let report = first(&|frame| frame[12..14] == [0x86, 0xdd] && frame[20] == 0);
    let asked = first(&|frame| frame[12..14] == [0x86, 0xdd] && frame[20] == ICMPV6);
    assert!(report < asked, "{report} {asked}");
}

#[test]
fn rfc5227_2_1_1_an_address_that_another_has_is_not_used() {
    let another = arp(1, (PEER, NONE4), (NOBODY, US4), ALL);
    for heard in [claim(), arp(1, (PEER, US4), (NOBODY, US4), ALL), another] {
        let mut world = up();
        assert!(world.later(0).iter().any(|frame| is_arp(frame)));
        world.drops(Discard::BadAddress, &heard);
        assert_eq!((world.host.poll_event(), world.host.poll_event()), (lost("10.0.0.1/24"), None));
        assert_eq!((state(&world, us4()), world.host.counters().conflicts), (None, 1));
        assert!(arps(&frames(&mut world, 20)).is_empty(), "it is neither probed any more nor announced");
        world.drops(Discard::NotForUs, &ping(peer4(), us4(), b""));
        // The others go on.
        world.host.neighbours().insert_permanent(peer6(), PEER).unwrap();
        world.answer(&ping(peer6(), us6(), b""));
        assert!(world.host.addresses().iter().all(|cidr| cidr.addr().is_ipv6()));
    }
}

#[test]
fn rfc5227_2_1_1_our_own_probe_that_comes_back_is_no_claim() {
    let mut world = up();
    for frame in world.later(0) {
        assert!(world.take(&frame).is_empty(), "{frame:x?}");
    }
    assert_eq!((world.host.addresses().len(), world.host.poll_event()), (3, None));
}

#[test]
fn rfc5227_2_4_c_an_address_in_use_is_defended_once_in_ten_seconds_and_never_given_up() {
    let mut world = settled();
    let said = arp(1, (US, US4), (NOBODY, US4), ALL);
    let claim = arp(1, (PEER, US4), (NOBODY, US4), ALL);
    for _ in 0..3 {
        assert_eq!(world.answer(&claim), said, "to all");
        assert_eq!(world.host.poll_event(), contested("10.0.0.1/24"));
        world.now += 10 * SECOND;
    }
    world.answer(&claim);
    assert_eq!(world.host.poll_event(), contested("10.0.0.1/24"));
    // Each claim lies within ten seconds of the one before.
    for _ in 0..5 {
        world.now += 10 * SECOND - 1;
        world.drops(Discard::BadAddress, &claim);
    }
    assert_eq!(world.host.poll_event(), None);
    assert_eq!((state(&world, us4()), world.host.counters().conflicts), (Some(AddressState::Preferred), 9));
    // A probe is answered, and is no claim any more (section 2.1.1).
    let mut world = settled();
    world.answer(&arp(1, (PEER, NONE4), (NOBODY, US4), ALL));
    assert_eq!((world.host.poll_event(), world.host.counters().conflicts), (None, 0));
}

#[test]
fn rfc4862_5_4_3_and_5_4_4_an_address_that_another_has_or_wants_is_not_used() {
    // Its owner's answer, from the address itself as Linux sends it, or from another one; a station that asks for it, too.
    let said = |from| discovery(from, ip("ff02::1"), 136, 0x20, us6(), Some((2, PEER)));
    let asks = discovery(ip("::"), group(), 135, 0, us6(), None);
    for heard in [said(us6()), said(ip("fe80::2")), asks] {
        let mut world = up();
        world.later(0);
        world.drops(Discard::BadAddress, &heard);
        assert_eq!((world.host.poll_event(), state(&world, us6())), (lost("fd00::1/64"), None));
        let later = frames(&mut world, 20);
        assert_eq!(kinds(&later, 136).len(), 1, "of the link-local one");
        world.answer(&who_has(US4));
    }
}

#[test]
fn rfc4861_7_1_2_what_is_no_advertisement_is_no_claim() {
    let mut world = up();
    world.later(0);
    let claim = discovery(us6(), ip("ff02::1"), 136, 0x20, us6(), Some((2, PEER)));
    let (mut hops, mut sum, mut station) = (claim.clone(), claim.clone(), claim.clone());
    hops[21] = 254;
    sum[60] ^= 1;
    station[6..12].copy_from_slice(&US.0);
    let other = discovery(us6(), ip("ff02::1"), 136, 0x20, ip("fd00::9"), Some((2, PEER)));
    let elsewhere = discovery(us6(), ip("ff02::9"), 136, 0x20, us6(), Some((2, PEER)));
    for frame in [hops, sum, station, other, elsewhere] {
        world.drops(Discard::BadAddress, &frame);
        assert_eq!((world.host.poll_event(), world.host.counters().conflicts), (None, 0), "{frame:x?}");
    }
    world.drops(Discard::BadAddress, &claim);
    assert_eq!(world.host.poll_event(), lost("fd00::1/64"));
}

/// A router may return frames to the port that they came from.
#[test]
fn rfc4862_appendix_a_our_own_solicitation_that_comes_back_is_no_claim() {
    let mut world = up();
    let sent = world.later(0);
    let asked = sent.iter().filter(|frame| frame[12..14] == [0x86, 0xdd] && frame[20] == ICMPV6);
    for frame in asked {
        world.drops(Discard::BadAddress, frame);
    }
    assert_eq!((world.host.addresses().len(), world.host.poll_event()), (3, None));
}

#[test]
fn rfc4429_3_3_others_caches_stay_as_they_are_while_an_address_is_checked() {
    for (checked, flags) in [(true, 0x40), (false, 0x60)] {
        let mut world = if checked { up() } else { settled() };
        world.later(0);
        let answer = world.answer(&solicitation());
        assert_eq!((message(&answer).0, message(&answer).2[0]), (136, flags), "without override while it is checked");
        // Section 3.2: who asks for others gives no MAC address with it.
        let id = world.bind(us6(), 5000);
        let asked = world.send(id, (ip("fd00::77"), 7), b"x");
        let (kind, _, _, rest) = message(&asked[0]);
        assert_eq!((kind, rest.len()), (135, if checked { 16 } else { 24 }));
        world.host.announce(&mut world.ring);
        assert_eq!(world.sent().len(), if checked { 0 } else { 3 });
    }
}

#[test]
fn rfc4862_5_4_4_a_claim_to_an_address_in_use_is_told_and_changes_nothing() {
    let mut world = settled();
    let claim = discovery(ip("fe80::2"), ip("ff02::1"), 136, 0x20, us6(), Some((2, PEER)));
    for _ in 0..100 {
        world.drops(Discard::BadAddress, &claim);
    }
    assert_eq!((world.host.poll_event(), world.host.poll_event()), (contested("fd00::1/64"), None), "once");
    world.now += 10 * SECOND;
    world.drops(Discard::BadAddress, &claim);
    assert_eq!(
        (world.host.poll_event(), state(&world, us6())),
        (contested("fd00::1/64"), Some(AddressState::Preferred))
    );
    // RFC 4861, section 7.2.3: who asks whether it may have it is answered.
    world.answer(&discovery(ip("::"), group(), 135, 0, us6(), None));
}

#[test]
fn addresses_that_come_later_are_checked_and_those_that_go_are_not() {
    let mut world = settled();
    world.host.add_address("10.0.0.9/24".parse().unwrap()).unwrap();
    assert_eq!(state(&world, ip("10.0.0.9")), Some(AddressState::Checking));
    assert_eq!(state(&world, us4()), Some(AddressState::Preferred), "the others stay as they are");
    let probe = arp(1, (US, NONE4), (NOBODY, Ipv4Addr::new(10, 0, 0, 9)), ALL);
    assert_eq!(world.later(0).iter().filter(|frame| **frame == probe).count(), 1);
    assert!(world.host.remove_address(ip("10.0.0.9")));
    assert!(arps(&frames(&mut world, 20)).is_empty());
    // Without a carrier nothing is asked; when it comes back, all of it again (RFC 5227, section 2.1).
    world.host.set_carrier(false);
    world.host.add_address("10.0.0.8/24".parse().unwrap()).unwrap();
    assert!(frames(&mut world, 20).is_empty());
    world.host.set_carrier(true);
    assert_eq!(arps(&frames(&mut world, 20)).len(), 10);
}

#[test]
fn a_claim_that_one_shard_hears_is_all_shards_loss() {
    let mut first = up();
    let mut second = World::alone();
    second.host = first.host.shard();
    first.later(0);
    second.drops(Discard::BadAddress, &claim());
    first.drops(Discard::NotForUs, &ping(peer4(), us4(), b""));
    assert_eq!((first.host.poll_event(), second.host.poll_event()), (lost("10.0.0.1/24"), None), "it is told once");
    assert_eq!(state(&first, us4()), None);
}
