//! Shards of one host: neighbours, settings and identifications are common, whichever shard a frame comes by.

use crate::world::*;
use linerate_stack::{Discard, Fills, Host, Route, SendError};
use linerate_wire::{EtherType, MacAddr};
use std::net::{Ipv4Addr, SocketAddr};

const PEER4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const US4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Two shards of one host, which knows no neighbours.
fn pair() -> [World; 2] {
    let first = World::alone();
    let mut second = World::alone();
    second.host = first.host.shard();
    [first, second]
}

fn ethertype(frame: &[u8]) -> EtherType {
    EtherType(u16::from_be_bytes([frame[12], frame[13]]))
}

#[test]
fn an_answer_that_comes_by_another_shard_sends_what_waits() {
    let [mut asks, mut hears] = pair();
    let (id, to) = (asks.bind(us4(), 5000), SocketAddr::new(peer4(), 9));
    assert_eq!(asks.host.udp_send(asks.now, id, Some(to), b"waits", &mut asks.ring), Ok(()));
    let sent = asks.sent();
    assert_eq!(sent.iter().map(|frame| ethertype(frame)).collect::<Vec<_>>(), [EtherType::ARP]);
    let released = hears.take(&arp(2, (PEER, PEER4), (US, US4), US));
    assert_eq!(released.len(), 1, "the shard that heard the answer sends the datagram");
    assert_eq!((ethertype(&released[0]), &released[0][..6]), (EtherType::IPV4, &PEER.0[..]));
    assert!(released[0].ends_with(b"waits"));
    // Both know it now: nothing waits, nobody is asked.
    for world in [&mut asks, &mut hears] {
        let id = world.bind(us4(), 6000);
        assert_eq!(world.host.udp_send(world.now, id, Some(to), b"now", &mut world.ring), Ok(()));
        let sent = world.sent();
        assert_eq!((sent.len(), ethertype(&sent[0])), (1, EtherType::IPV4));
    }
    assert_eq!((asks.host.counters().neighbours, hears.host.counters().neighbours), (0, 1));
}

#[test]
fn settings_of_one_are_those_of_all() {
    let [mut changes, mut sends] = pair();
    changes.host.neighbours().insert_permanent(peer4(), PEER).unwrap();
    changes.host.neighbours().insert_permanent(ip("10.0.0.254"), MacAddr([2, 0, 0, 0, 0, 254])).unwrap();
    let id = sends.bind(us4(), 5000);
    let far = SocketAddr::new(ip("192.0.2.7"), 9);
    let mut send = |to: SocketAddr, len: usize| {
        let result = sends.host.udp_send(sends.now, id, Some(to), &vec![1; len], &mut sends.ring);
        (result, sends.sent())
    };
    assert_eq!(send(far, 10).0, Err(SendError::NoRoute));
    let via = Some(ip("10.0.0.254"));
    changes.host.set_route(Route { to: "0.0.0.0/0".parse().unwrap(), via }).unwrap();
    let (result, sent) = send(far, 10);
    assert_eq!((result, sent[0][5]), (Ok(()), 254));
    changes.host.set_mtu(1300).unwrap();
    assert_eq!(send(far, 1400).1.len(), 2, "fragments of the new MTU");
    changes.host.set_mac(MacAddr([2, 0, 0, 0, 0, 77]));
    assert_eq!(send(far, 10).1[0][11], 77);
    assert!(changes.host.remove_address(us4()));
    assert_eq!(send(SocketAddr::new(peer4(), 9), 10).0, Err(SendError::NoRoute));
    changes.host.add_address("10.0.0.1/24".parse().unwrap()).unwrap();
    assert_eq!(send(SocketAddr::new(peer4(), 9), 10).0, Ok(()));
    let sets: [fn(&mut Host, bool); 2] =
        [Host::set_up, |host, on| assert!(host.set_carrier(on) && !host.set_carrier(on))];
    for set in sets {
        set(&mut changes.host, false);
        assert_eq!(send(far, 10).0, Err(SendError::Down));
        set(&mut changes.host, true);
        assert_eq!(send(far, 10).0, Ok(()));
    }
    changes.host.add_address("10.0.0.7/24".parse().unwrap()).unwrap();
    let mut second = sends.host.shard();
    changes.host.add_address("10.0.0.8/24".parse().unwrap()).unwrap();
    assert!(second.udp_bind("10.0.0.8:1".parse().unwrap()).is_ok());
    // A change that is refused changes nothing, in no shard.
    let before = changes.host.addresses().to_vec();
    assert!(changes.host.add_address("224.0.0.1/24".parse().unwrap()).is_err());
    sends.host.poll(sends.now, &mut sends.ring);
    assert_eq!((sends.host.addresses(), sends.host.mtu()), (&before[..], 1300));
    assert_eq!((before.len(), sends.host.mac()), (5, MacAddr([2, 0, 0, 0, 0, 77])), "the link-local one too");
    let default = "0.0.0.0/0".parse().unwrap();
    assert!(sends.host.routes().any(|route| route.to == default && route.via == via));
    assert_eq!([(); 2].map(|()| sends.host.remove_route(default)), [true, false]);
    changes.host.poll(changes.now, &mut changes.ring);
    assert!(changes.host.routes().all(|route| route.to != default));
}

#[test]
fn checksums_of_the_adapter_are_a_shards_own_matter() {
    let [mut asks, mut makes] = pair();
    asks.host.neighbours().insert_permanent(peer4(), PEER).unwrap();
    let to = SocketAddr::new(peer4(), 9);
    let ids = [asks.bind(us4(), 5000), makes.bind(us4(), 5000)];
    let send = |world: &mut World, id| {
        assert_eq!(world.host.udp_send(world.now, id, Some(to), b"x", &mut world.ring), Ok(()));
        world.sent_with().remove(0).1.is_some()
    };
    assert!(!send(&mut asks, ids[0]) && !send(&mut makes, ids[1]));
    asks.host.set_fills(Fills { v4: true, v6: false });
    assert!(send(&mut asks, ids[0]), "headers that were kept before are made anew");
    assert!(!send(&mut makes, ids[1]));
    asks.host.set_fills(Fills::default());
    assert!(!send(&mut asks, ids[0]));
}

#[test]
fn kept_headers_end_with_what_they_were_made_of() {
    let [mut changes, mut sends] = pair();
    let to = SocketAddr::new(peer4(), 9);
    changes.host.neighbours().insert_permanent(peer4(), PEER).unwrap();
    let id = sends.bind(us4(), 5000);
    let mut prepare = |now: u64| {
        assert_eq!(sends.host.udp_send(now, id, Some(to), b"first", &mut sends.ring), Ok(()));
        let kept = sends.host.udp_prepared(id).expect("headers to be kept");
        (kept, sends.sent().remove(0))
    };
    let mut ring = World::alone();
    let (mut kept, first) = prepare(0);
    assert_eq!(kept.to(), to);
    assert_eq!(kept.send(999_999_999, b"first", &mut ring.ring), Some(true));
    let again = ring.sent().remove(0);
    assert_eq!((&again[..14], &again[20..24], &again[26..]), (&first[..14], &first[20..24], &first[26..]));
    assert_eq!(kept.send(1_000_000_000, b"first", &mut ring.ring), None, "its time is over");
    assert_eq!(kept.send(0, &[0; 1473], &mut ring.ring), None, "it needs fragments");
    let moved = MacAddr([2, 0, 0, 0, 0, 9]);
    for change in 0..4 {
        let (mut kept, _) = prepare(2_000_000_000);
        match change {
            0 => drop(changes.host.neighbours().insert_permanent(peer4(), moved).unwrap()),
            1 => changes.host.set_mac(MacAddr([2, 0, 0, 0, 0, 10])),
            2 => changes.host.set_mtu(1400).unwrap(),
            _ => changes.host.set_route(Route { to: "10.9.0.0/16".parse().unwrap(), via: Some(peer4()) }).unwrap(),
        }
        assert_eq!(kept.send(2_000_000_001, b"late", &mut ring.ring), None, "change {change}");
    }
    assert_eq!(ring.sent(), Vec::<Vec<u8>>::new());
    // A setting that is set to what it was ends nothing.
    let (mut kept, _) = prepare(3_000_000_000);
    changes.host.set_mtu(1400).unwrap();
    changes.host.set_up(true);
    assert_eq!(kept.send(3_000_000_001, b"on", &mut ring.ring), Some(true));
}

#[test]
fn fragments_of_two_shards_are_told_apart() {
    let mut worlds = pair();
    for to in [peer4(), peer6()] {
        worlds[0].host.neighbours().insert_permanent(to, PEER).unwrap();
        let mut idents = Vec::new();
        for shard in [0, 1, 0, 1] {
            let world = &mut worlds[shard];
            let id = world.host.udp_bind(SocketAddr::new(if to.is_ipv4() { us4() } else { us6() }, 0)).unwrap();
            let sent = world.host.udp_send(world.now, id, Some(SocketAddr::new(to, 9)), &[1; 2000], &mut world.ring);
            assert_eq!(sent, Ok(()));
            let frames = world.sent();
            assert_eq!(frames.len(), 2);
            // Of IPv6's fragment header the lower half.
            let at = if to.is_ipv4() { 18 } else { 60 };
            let ident = |frame: &[u8]| u16::from_be_bytes([frame[at], frame[at + 1]]);
            assert_eq!(ident(&frames[0]), ident(&frames[1]));
            idents.push(ident(&frames[0]));
        }
        idents.sort_unstable();
        idents.dedup();
        assert_eq!(idents.len(), 4, "{idents:?}");
    }
}

#[test]
fn a_path_mtu_told_to_one_shard_is_known_to_all() {
    let [mut hears, mut sends] = pair();
    hears.host.neighbours().insert_permanent(peer4(), PEER).unwrap();
    let to = SocketAddr::new(peer4(), 9);
    let id = sends.bind(us4(), 5000);
    // The other shard has the same socket, as the error may come by its queue.
    let same = hears.bind(us4(), 5000);
    assert_eq!(sends.host.udp_send(sends.now, id, Some(to), &[1; 1400], &mut sends.ring), Ok(()));
    let sent = sends.sent().remove(0);
    hears.take(&icmp_frame(peer4(), us4(), 3, 4, [0, 0, 4, 0], &sent[14..]));
    assert_eq!(hears.host.counters().errors_received, 1);
    assert_eq!(sends.host.udp_send(sends.now, id, Some(to), &[1; 1400], &mut sends.ring), Ok(()));
    assert_eq!(sends.sent().len(), 2, "1024 bytes a fragment");
    assert_eq!(hears.host.udp_error(same), None, "it is no error of the socket's");
    assert_eq!(hears.host.counters().discarded(Discard::NoSocket), 0);
}

#[test]
fn rfc1812_4_3_2_8_the_limit_of_errors_is_the_hosts() {
    let errors = |mut worlds: Vec<World>| {
        worlds[0].host.neighbours().insert_permanent(peer4(), PEER).unwrap();
        for turn in 0..400 {
            let at = turn % worlds.len();
            // Nobody listens there.
            worlds[at].take(&datagram(peer4(), us4(), 99, b"x"));
        }
        worlds.iter().map(|world| world.host.counters().errors_sent).sum::<u64>()
    };
    let alone = errors(vec![World::alone()]);
    assert!((1..200).contains(&alone), "{alone}");
    assert_eq!(errors(pair().into()), alone, "two shards send no more than one");
}
