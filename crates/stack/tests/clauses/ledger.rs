//! Each packet that arrives is counted once more by its result.

use crate::world::*;
use linerate_stack::{Counters, Discard};
use proptest::prelude::*;
use std::net::Ipv4Addr;

/// Results of arrived packets, summed independently of the code under test.
fn fates(counters: &Counters) -> u64 {
    use Discard::{BadAddress, BadChecksum, Fragments, Malformed, NoSocket, NotForUs, QueueFull};
    let discards = [NotForUs, Malformed, BadChecksum, BadAddress, NoSocket, QueueFull, Fragments];
    counters.udp_received
        + counters.echoes
        + counters.errors_received
        + counters.neighbours
        + counters.fragments
        + discards.into_iter().map(|why| counters.discarded(why)).sum::<u64>()
}

/// One packet of each kind.
fn kinds() -> Vec<Vec<u8>> {
    let mut all = vec![who_has(Ipv4Addr::new(10, 0, 0, 1)), who_has(Ipv4Addr::new(10, 0, 0, 9)), solicitation()];
    for (peer, us) in families() {
        all.push(ping(peer, us, b"hello"));
        all.push(datagram(peer, us, 7, &pattern(300)));
        all.push(datagram(peer, us, 99, b"nobody"));
        all.extend(fragments(peer, us, UDP, &udp((peer, 4000), (us, 7), &pattern(100)), 64));
        let ours = packet(us, peer, UDP, &udp((us, 7), (peer, 9), b"x"));
        let (kind, code) = if peer.is_ipv4() { (3, 3) } else { (1, 4) };
        all.push(icmp_frame(peer, us, kind, code, [0; 4], &ours));
        all.push(framed(&packet(peer, us, 132, b"SCTP")));
    }
    all.push(to(ALL, datagram(peer4(), ip("10.0.0.255"), 7, b"all")));
    all.push(discovery(peer6(), us6(), 136, 0x60, peer6(), Some((2, PEER))));
    all.push(framed(&packet(peer6(), us6(), 0, &[17, 0, 0x9e, 4, 0, 0, 0, 0])));
    all.extend(all.clone().iter().map(|frame| tagged(frame, 5)));
    all
}

#[test]
fn each_kind_has_its_fate() {
    let mut world = World::alone();
    for us in [us4(), us6()] {
        world.host.udp_bind((if us.is_ipv4() { ip("0.0.0.0") } else { ip("::") }, 7).into()).unwrap();
    }
    let all = kinds();
    all.iter().for_each(|frame| drop(world.take(frame)));
    world.later(100 * SECOND);
    let counters = world.host.counters();
    assert_eq!((counters.frames, fates(counters)), (all.len() as u64, all.len() as u64), "{counters:?}");
    // All terms of the equation occurred.
    assert_eq!((counters.udp_received, counters.echoes, counters.errors_received), (5, 2, 2), "{counters:?}");
    assert_eq!((counters.neighbours, counters.fragments), (4, 2), "{counters:?}");
    assert_eq!(
        (counters.discarded(Discard::NoSocket), counters.discarded(Discard::NotForUs)),
        (2, all.len() as u64 / 2 + 2)
    );
}

proptest! {
    #[test]
    fn nothing_is_lost_or_counted_twice(
        script in prop::collection::vec((0usize..1000, prop::option::of((any::<prop::sample::Index>(), any::<u8>())), 0u64..3), 1..200),
        full in any::<bool>(),
    ) {
        let mut world = World::alone();
        let ids = [us4(), us6()].map(|us| world.bind(us, 7));
        let all = kinds();
        for (which, edit, wait) in script {
            let mut frame = all[which % all.len()].clone();
            if let Some((at, value)) = edit {
                let at = at.index(frame.len());
                frame[at] = value;
            }
            world.host.handle(world.now, &frame, None, &mut world.ring);
            // To others, to ourselves, to nobody, to all.
            for to in ["10.0.0.2", "10.0.0.1", "10.0.0.77", "10.0.0.255"] {
                let _ = world.host.udp_send(world.now, ids[0], Some((ip(to), 7 + u16::try_from(which % 2).unwrap()).into()), b"x", &mut world.ring);
            }
            world.now += wait * SECOND;
            world.host.poll(world.now, &mut world.ring);
            let counters = world.host.counters();
            prop_assert_eq!(counters.frames + counters.looped, fates(counters));
            prop_assert_eq!(counters.unexplained(), 0);
            // With a full ring, answers are lost; the arrived packets still have a result.
            if !full {
                world.sent_with();
            }
        }
    }
}
