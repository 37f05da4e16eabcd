//! Autoconfiguration: routers are asked for (RFC 4861, section 6.3.7), and their advertisements used (RFC 4861, section 6.3.4;
//! RFC 4862, section 5.5).

use crate::world::*;
use linerate_stack::{AddressState, Config, Discard, Event, NeighbourState, Route, SendError};
use linerate_wire::MacAddr;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
const MADE: &str = "fd05::ff:fe00:1";
const HOUR: u64 = 3600;
const FOR_EVER: u32 = u32::MAX;
/// Flags of a prefix: on the link, and autonomous.
const L: u8 = 0x80;
const A: u8 = 0x40;

fn router() -> IpAddr {
    ip("fe80::9")
}

/// A host that takes its addresses from routers, with its link up.
fn auto() -> World {
    let mut world = World::alone();
    world.host.set_auto(true).unwrap();
    assert!(world.host.set_carrier(false) && world.host.set_carrier(true));
    world
}

fn prefix(text: &str, len: u8, flags: u8, valid: u32, preferred: u32) -> Vec<u8> {
    let mut option = vec![3, 4, len, flags];
    option.extend(valid.to_be_bytes());
    option.extend(preferred.to_be_bytes());
    option.extend([0; 4]);
    option.extend(bytes(ip(text)));
    option
}

/// A router's advertisement to all: its lifetime in seconds, and options.
fn advertisement(from: IpAddr, lifetime: u16, options: &[Vec<u8>]) -> Vec<u8> {
    advertisement_of(from, 64, [0; 2], lifetime, options)
}

/// One that tells of a hop limit, and of neighbours' times in milliseconds.
fn advertisement_of(from: IpAddr, hops: u8, times: [u32; 2], lifetime: u16, options: &[Vec<u8>]) -> Vec<u8> {
    let [high, low] = lifetime.to_be_bytes();
    let body = [&times.map(u32::to_be_bytes).concat(), &options.concat(), &[1, 1][..], &ROUTER.0].concat();
    let message = icmp(from, ip("ff02::1"), 134, 0, [hops, 0, high, low], &body);
    let (IpAddr::V6(src), IpAddr::V6(dst)) = (from, ip("ff02::1")) else { unreachable!() };
    ethernet(ROUTER, MacAddr([0x33, 0x33, 0, 0, 0, 1]), 0x86dd, &v6(src, dst, ICMPV6, 255, &message))
}

fn has(world: &World, text: &str) -> bool {
    world.host.addresses().iter().any(|cidr| cidr.to_string() == text)
}

fn default(world: &World) -> Option<IpAddr> {
    world.host.routes().find(|route| route.to.to_string() == "::/0").and_then(|route| route.via)
}

/// Frames of so many seconds, with their times in seconds.
fn pass(world: &mut World, seconds: u64) -> Vec<(u64, Vec<u8>)> {
    let (begin, mut all) = (world.now, Vec::new());
    while let Some(at) = world.host.poll_timeout().filter(|at| *at <= begin + seconds * SECOND) {
        let sent = world.later(at.saturating_sub(world.now));
        all.extend(sent.into_iter().map(|frame| ((world.now - begin) / SECOND, frame)));
    }
    world.now = begin + seconds * SECOND;
    all
}

fn solicitations(all: &[(u64, Vec<u8>)]) -> Vec<(u64, IpAddr, usize)> {
    let is = |frame: &[u8]| frame[12..14] == [0x86, 0xdd] && frame[20] == ICMPV6 && message(frame).0 == 133;
    let asked = all.iter().filter(|(_, frame)| is(frame));
    asked
        .map(|(at, frame)| {
            assert_eq!((ends(frame).1, frame[21], &frame[..6]), (ip("ff02::2"), 255, &[0x33, 0x33, 0, 0, 0, 2][..]));
            (*at, ends(frame).0, message(frame).3.len())
        })
        .collect()
}

#[test]
fn rfc4861_6_3_7_routers_are_asked_for_three_times_and_no_more_when_one_has_answered() {
    let local = ip("fe80::ff:fe00:1");
    let mut world = auto();
    // RFC 4429, section 3.2: from no address while the link-local one is checked, then with our MAC address.
    assert_eq!(solicitations(&pass(&mut world, 60)), [(0, ip("::"), 0), (4, local, 8), (8, local, 8)]);
    for (lifetime, asked) in [(1800, 1), (0, 3)] {
        let mut world = auto();
        let first = world.later(0).into_iter().map(|frame| (0, frame)).collect::<Vec<_>>();
        assert!(world.take(&advertisement(router(), lifetime, &[])).is_empty());
        assert_eq!(solicitations(&first).len() + solicitations(&pass(&mut world, 60)).len(), asked, "{lifetime}");
    }
    // Without being told to, no host asks.
    let mut world = World::alone();
    assert!(world.host.set_carrier(false) && world.host.set_carrier(true));
    assert!(solicitations(&pass(&mut world, 60)).is_empty());
}

#[test]
fn rfc4862_5_3_there_is_a_link_local_address_whatever_routers_say() {
    let mut world = World::with(&Config::new(US, 7));
    for addr in [us4(), us6(), ip("fe80::ff:fe00:1")] {
        assert!(world.host.remove_address(addr));
    }
    world.host.set_auto(true).unwrap();
    assert!(has(&world, "fe80::ff:fe00:1/64") && world.host.addresses().len() == 1);
    let mut narrow = Config::new(US, 7);
    narrow.mtu = 1279;
    assert!(linerate_stack::Host::new(&narrow).unwrap().set_auto(true).is_err());
}

#[test]
fn rfc4862_5_5_3_an_address_is_made_of_a_prefix_and_the_router_is_the_way_out() {
    let mut world = auto();
    world.later(0);
    assert!(world.take(&advertisement(router(), 1800, &[prefix("fd05::", 64, L | A, 7200, 3600)])).is_empty());
    assert!(has(&world, "fd05::ff:fe00:1/64"));
    assert_eq!(default(&world), Some(router()));
    let IpAddr::V6(by) = router() else { unreachable!() };
    let made = Event::AddressMade { address: "fd05::ff:fe00:1/64".parse().unwrap(), router: by };
    let events = std::iter::from_fn(|| world.host.poll_event()).collect::<Vec<_>>();
    assert_eq!(events, [made, Event::DefaultRouter { router: Some(by) }]);
    // Section 5.4: it is checked as any other.
    assert_eq!(world.host.address_state(ip(MADE)), Some(AddressState::Checking));
    let asked = world.later(0);
    let about = |frame: &&Vec<u8>| frame[20] == ICMPV6 && message(frame).0 == 135;
    assert_eq!(
        asked.iter().filter(about).map(|frame| message(frame).3.to_vec()).collect::<Vec<_>>(),
        [bytes(ip(MADE))]
    );
    pass(&mut world, 5);
    assert_eq!(world.host.address_state(ip(MADE)), Some(AddressState::Preferred));
    // To the far end of the world by the router, whose MAC address it has told.
    let id = world.bind(ip("::"), 5000);
    let sent = world.send(id, (ip("2001:db8::7"), 7), b"x");
    assert_eq!((stations(&sent[0]), ends(&sent[0]).1), ((US, ROUTER), ip("2001:db8::7")));
    // A neighbour in the prefix is asked for itself.
    let sent = world.send(id, (ip("fd05::7"), 7), b"x");
    assert_eq!((message(&sent[0]).0, ends(&sent[0])), (135, (ip(MADE), ip("ff02::1:ff00:7"))));
    // The same once more makes nothing new.
    assert!(world.take(&advertisement(router(), 1800, &[prefix("fd05::", 64, L | A, 7200, 3600)])).is_empty());
    assert_eq!((world.host.poll_event(), world.host.addresses().len()), (None, 4));
}

#[test]
fn rfc4861_6_1_2_what_is_no_advertisement_is_silently_dropped() {
    let good = || advertisement(router(), 1800, &[prefix("fd05::", 64, L | A, 7200, 3600)]);
    let mut hops = good();
    hops[21] = 254;
    let mut sum = good();
    sum[57] ^= 1;
    let far = advertisement(ip("fd00::9"), 1800, &[prefix("fd05::", 64, L | A, 7200, 3600)]);
    let empty = advertisement(router(), 1800, &[vec![3, 0, 0, 0, 0, 0, 0, 0]]);
    for (why, frame) in [
        (Discard::BadAddress, hops),
        (Discard::BadChecksum, sum),
        (Discard::BadAddress, far),
        (Discard::Malformed, empty),
    ] {
        let mut world = auto();
        world.later(0);
        world.drops(why, &frame);
        assert_eq!((world.host.addresses().len(), default(&world)), (3, None), "{why:?}");
    }
}

#[test]
fn rfc4862_5_5_3_prefixes_of_which_no_address_is_made() {
    for option in [
        prefix("fd05::", 64, L, 7200, 3600),
        prefix("fd05::", 63, L | A, 7200, 3600),
        prefix("fd05::", 64, L | A, 3600, 7200),
        prefix("fd05::", 64, L | A, 0, 0),
        prefix("fe80::", 64, L | A, 7200, 3600),
        prefix("ff05::", 64, L | A, 7200, 3600),
    ] {
        let mut world = auto();
        world.later(0);
        assert!(world.take(&advertisement(router(), 1800, std::slice::from_ref(&option))).is_empty());
        assert_eq!(world.host.addresses().len(), 3, "{option:?}");
    }
    // Of an off-link prefix the address alone is ours: its neighbours are reached by the router.
    let mut world = auto();
    world.later(0);
    world.take(&advertisement(router(), 1800, &[prefix("fd05::", 64, A, 7200, 3600)]));
    pass(&mut world, 5);
    assert!(has(&world, "fd05::ff:fe00:1/128"));
    let id = world.bind(ip(MADE), 5000);
    assert_eq!(stations(&world.send(id, (ip("fd05::7"), 7), b"x")[0]), (US, ROUTER));
}

#[test]
fn rfc4862_5_5_3_e_no_advertisement_shortens_a_life_to_less_than_two_hours() {
    let valid = |world: &mut World, seconds: u32| {
        world.take(&advertisement(router(), 0, &[prefix("fd05::", 64, A, seconds, seconds.min(60))]));
    };
    let alive = |world: &mut World, seconds: u64| {
        pass(world, seconds);
        world.host.address_state(ip(MADE)).is_some()
    };
    // 2: three hours are left, ten seconds are told, two hours remain.
    let mut world = auto();
    valid(&mut world, 10_800);
    valid(&mut world, 10);
    assert!(alive(&mut world, 2 * HOUR - 1) && !alive(&mut world, 1));
    // 1: an hour is left; less is ignored, more is not.
    let mut world = auto();
    valid(&mut world, 3600);
    valid(&mut world, 10);
    assert!(alive(&mut world, HOUR - 1));
    valid(&mut world, 60);
    assert!(alive(&mut world, 59) && !alive(&mut world, 1));
    // More than two hours are believed, even if they are less than before.
    let mut world = auto();
    valid(&mut world, FOR_EVER);
    valid(&mut world, 7201);
    assert!(alive(&mut world, 7200) && !alive(&mut world, 1));
    let mut world = auto();
    valid(&mut world, FOR_EVER);
    assert!(alive(&mut world, 1000 * HOUR));
}

#[test]
fn rfc4862_5_5_4_an_address_grows_old_and_expires() {
    let mut world = auto();
    world.host.remove_address(us6());
    for (text, preferred) in [("fd05::", 100), ("fd06::", 1000)] {
        world.take(&advertisement(router(), 1800, &[prefix(text, 64, A, 1000, preferred)]));
    }
    pass(&mut world, 99);
    let id = world.bind(ip("::"), 5000);
    let far = (ip("2001:db8::7"), 7);
    assert_eq!(ends(&world.send(id, far, b"x")[0]).0, ip(MADE), "the first");
    pass(&mut world, 1);
    assert_eq!(world.host.address_state(ip(MADE)), Some(AddressState::Deprecated));
    assert_eq!(ends(&world.send(id, far, b"x")[0]).0, ip("fd06::ff:fe00:1"), "RFC 6724, rule 3");
    // It still answers, and is preferred again when the router says so.
    world.host.neighbours().insert_permanent(ip("fd05::7"), PEER).unwrap();
    assert_eq!(ends(&world.answer(&ping(ip("fd05::7"), ip(MADE), b"")),).0, ip(MADE));
    world.take(&advertisement(router(), 1800, &[prefix("fd05::", 64, A, 1000, 50)]));
    assert_eq!(world.host.address_state(ip(MADE)), Some(AddressState::Preferred));
    while world.host.poll_event().is_some() {}
    pass(&mut world, 900);
    assert_eq!(world.host.address_state(ip("fd06::ff:fe00:1")), None);
    let expired = Event::AddressExpired { address: "fd06::ff:fe00:1/128".parse().unwrap() };
    assert_eq!(world.host.poll_event(), Some(expired));
}

#[test]
fn rfc4861_6_3_4_and_6_3_5_a_router_is_the_default_for_its_lifetime() {
    let mut world = auto();
    let second = ip("fe80::8");
    world.take(&advertisement(router(), 100, &[]));
    world.take(&advertisement(second, 1000, &[]));
    assert_eq!(default(&world), Some(router()), "the one that is there stays");
    pass(&mut world, 99);
    assert_eq!(default(&world), Some(router()));
    pass(&mut world, 1);
    assert_eq!(default(&world), Some(second));
    world.take(&advertisement(second, 0, &[]));
    assert_eq!(default(&world), None);
    let id = world.bind(us6(), 5000);
    let to = Some(SocketAddr::new(ip("2001:db8::7"), 7));
    assert_eq!(world.host.udp_send(world.now, id, to, b"x", &mut world.ring), Err(SendError::NoRoute));
    // One that was configured by hand stays.
    world.host.set_route(Route { to: "::/0".parse().unwrap(), via: Some(peer6()) }).unwrap();
    world.take(&advertisement(router(), 100, &[]));
    pass(&mut world, 200);
    assert_eq!(default(&world), Some(peer6()));
}

#[test]
fn rfc4861_6_3_4_the_mtu_of_the_link_is_of_ipv6_alone() {
    let mtu = |bytes: u32| [&[5, 1, 0, 0][..], &bytes.to_be_bytes()].concat();
    let mut world = auto();
    for (peer, _) in families() {
        world.host.neighbours().insert_permanent(peer, PEER).unwrap();
    }
    let ids = [us4(), us6()].map(|us| world.bind(us, 5000));
    let mut sent = |options: &[Vec<u8>]| {
        world.take(&advertisement(router(), 100, options));
        pass(&mut world, 2);
        [peer4(), peer6()].map(|to| world.send(ids[usize::from(to.is_ipv6())], (to, 7), &[0; 1400]).len())
    };
    for wrong in [1279, 1501] {
        assert_eq!(sent(&[mtu(wrong)]), [1, 1], "{wrong}");
    }
    assert_eq!(sent(&[mtu(1280)]), [1, 2]);
    assert_eq!(sent(&[]), [1, 2], "it stays until another is told");
    assert_eq!(sent(&[mtu(1500)]), [1, 1]);
}

#[test]
fn rfc4861_6_3_4_the_hop_limit_of_ipv6_packets_is_what_a_router_says() {
    let mut world = auto();
    for (peer, _) in families() {
        world.host.neighbours().insert_permanent(peer, PEER).unwrap();
    }
    pass(&mut world, 5);
    let ids = [us4(), us6()].map(|us| world.bind(us, 5000));
    let group = world.bind(us6(), 5001);
    // Of a datagram whose headers are kept, of one in fragments, of an echo and of an ICMP error; then of SYN.
    let mut sent = |hops: u8| {
        world.take(&advertisement_of(router(), hops, [0; 2], 100, &[]));
        let mut frames = Vec::new();
        for len in [10, 10, 2000] {
            frames.extend(world.send(ids[1], (peer6(), 7), &vec![0; len]));
        }
        frames.extend(world.take(&ping(peer6(), us6(), b"")));
        frames.extend(world.take(&datagram(peer6(), us6(), 99, b"nobody")));
        world.host.tcp_connect(world.now, None, SocketAddr::new(peer6(), 80)).unwrap();
        frames.extend(world.later(0));
        assert_eq!(frames.len(), 7);
        // Not of groups, nor of what must come from the link, nor over IPv4.
        let groups = world.send(group, (ip("ff02::1:77"), 7), b"x");
        let asks = world.send(ids[1], (ip("fd00::99"), 7), b"x");
        let others = world.send(ids[0], (peer4(), 7), b"x");
        assert_eq!((groups[0][21], asks[0][21], others[0][22]), (1, 255, 64), "{hops}");
        world.host.neighbours().remove(ip("fd00::99"));
        let limits = frames.iter().map(|frame| frame[21]).collect::<Vec<_>>();
        assert_eq!(limits, [limits[0]; 7], "{hops}");
        limits[0]
    };
    assert_eq!(sent(0), 64, "unspecified");
    assert_eq!(sent(17), 17);
    assert_eq!(sent(0), 17, "it stays until another is told");
    assert_eq!(sent(255), 255);
}

#[test]
fn rfc4861_6_3_4_neighbours_times_are_what_a_router_says_within_bounds() {
    let mut world = auto();
    pass(&mut world, 5);
    let ids = [us4(), us6()].map(|us| world.bind(us, 5000));
    let ms = 1_000_000;
    // Time between two requests for one that never answers, and how long one that has answered counts as reachable.
    let times = |world: &mut World, told: [u32; 2], v6: bool| {
        world.take(&advertisement_of(router(), 64, told, 100, &[]));
        let (peer, us) = families()[usize::from(v6)];
        let nobody = ip(if v6 { "fd00::99" } else { "10.0.0.99" });
        let begun = world.now;
        assert_eq!(world.send(ids[usize::from(v6)], (nobody, 7), b"x").len(), 1);
        let asked = |world: &mut World| world.host.neighbours().peek(nobody).is_some();
        while asked(world) {
            let at = world.host.poll_timeout().unwrap();
            world.later(at.saturating_sub(world.now));
        }
        let between = (world.now - begun) / 3;
        world.host.neighbours().remove(peer);
        world.send(ids[usize::from(v6)], (peer, 7), b"x");
        let begun = world.now;
        if let (IpAddr::V4(from), IpAddr::V4(to)) = (peer, us) {
            world.take(&arp(2, (PEER, from), (US, to), US));
        } else {
            world.take(&discovery(peer, us, 136, 0x60, peer, Some((2, PEER))));
        }
        let state = |world: &mut World| world.host.neighbours().peek(peer).unwrap().state;
        assert_eq!(state(world), NeighbourState::Reachable);
        while state(world) == NeighbourState::Reachable {
            let at = world.host.poll_timeout().unwrap();
            world.later(at.saturating_sub(world.now));
        }
        (between / ms, (world.now - begun) / ms)
    };
    let second = 1000;
    let (between, usual) = times(&mut world, [0, 0], true);
    assert!(between == second && (15 * second..=45 * second).contains(&usual), "{between} {usual}");
    let (between, reachable) = times(&mut world, [2000, 300], true);
    assert!(between == 300 && (1000..=3000).contains(&reachable), "{between} {reachable}");
    // They stay until others are told, and are of IPv6 alone.
    assert_eq!(times(&mut world, [0, 0], true), (300, reachable));
    assert_eq!(times(&mut world, [0, 0], false), (second, usual));
    // Nobody makes us ask without end, or never.
    let (between, least) = times(&mut world, [1, 1], true);
    assert!(between == 10 && (50..=150).contains(&least), "{between} {least}");
    assert_eq!(times(&mut world, [3_600_001, 3_600_001], true), (10, least));
}

#[test]
fn rfc4861_6_3_4_a_prefix_on_the_link_is_reached_without_the_router_for_its_lifetime() {
    let mut world = auto();
    world.take(&advertisement(router(), 1800, &[prefix("fd07::", 48, L, 100, 100)]));
    pass(&mut world, 5);
    let id = world.bind(us6(), 5000);
    assert_eq!(message(&world.send(id, (ip("fd07::7"), 7), b"x")[0]).0, 135, "it is asked for");
    pass(&mut world, 100);
    assert_eq!(stations(&world.send(id, (ip("fd07::8"), 7), b"x")[0]), (US, ROUTER));
    world.take(&advertisement(router(), 1800, &[prefix("fd07::", 48, L, 100, 100)]));
    world.take(&advertisement(router(), 1800, &[prefix("fd07::", 48, L, 0, 0)]));
    assert_eq!(stations(&world.send(id, (ip("fd07::9"), 7), b"x")[0]), (US, ROUTER), "at once");
    // The network of a configured address stays.
    world.take(&advertisement(router(), 1800, &[prefix("fd00::", 64, L, 10, 10)]));
    pass(&mut world, 20);
    assert_eq!(message(&world.send(id, (ip("fd00::7"), 7), b"x")[0]).0, 135);
}

#[test]
fn rfc4862_5_4_5_an_address_that_another_has_is_not_made_again() {
    let mut world = auto();
    world.later(0);
    let said = advertisement(router(), 1800, &[prefix("fd05::", 64, L | A, 7200, 3600)]);
    world.take(&said);
    world.later(0);
    world.drops(Discard::BadAddress, &discovery(ip("fe80::2"), ip("ff02::1"), 136, 0x20, ip(MADE), Some((2, PEER))));
    assert_eq!(world.host.address_state(ip(MADE)), None);
    world.take(&said);
    pass(&mut world, 5);
    assert_eq!(world.host.address_state(ip(MADE)), None);
    while let Some(event) = world.host.poll_event() {
        let lost = Event::AddressLost { address: "fd05::ff:fe00:1/64".parse().unwrap(), mac: PEER };
        assert!(matches!(event, Event::AddressMade { .. } | Event::DefaultRouter { .. }) || event == lost, "{event:?}");
    }
}

#[test]
fn what_routers_give_is_bounded() {
    let mut world = auto();
    for n in 1..200 {
        let from = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 1, n);
        let one = prefix(&format!("fd05:{n}::"), 64, L | A, 7200, 3600);
        let other = prefix(&format!("fd06:{n}::"), 64, L, 7200, 3600);
        world.take(&advertisement(from.into(), 1800, &[one, other]));
    }
    assert_eq!(world.host.addresses().len(), 3 + 16);
    assert!(world.host.routes().count() <= 3 + 16 + 16 + 1, "{}", world.host.routes().count());
    assert_eq!(world.host.counters().unexplained(), 0);
}
