//! A joiner has the region from the offer on, and may write to it before it is paired. What it wrote there is gone by
//! then.

use super::switch::Host;
use super::{Honest, until};
use crate::stranger::*;
use linerate_port::Link;

/// Cursors that would be believed, a pause of all classes, sleepers, a swap, and slots that name other buffers.
fn scribble(map: &Map, inward: Pair, outward: Pair) {
    for pair in [inward, outward] {
        map.put(pair.published(), 5);
        map.put(pair.released(), 5);
        map.put(pair.swaps(), 1);
        map.put(pair.pause(), 0xffff_ffff);
        pair.sleepers().into_iter().for_each(|at| map.put(at, 1));
        (0..16).for_each(|k| map.put_u64(pair.told() + 8 * k, u64::MAX));
        (0..64).for_each(|k| map.put_u64(pair.slot(k), slot(9, 60, 1)));
    }
}

/// All of it is as a new pairing has it: there is nobody to change it but the joiner.
fn is_new(joiner: &Joiner) {
    for pair in [joiner.inward, joiner.outward] {
        let map = &joiner.map;
        assert_eq!((map.see(pair.published()), map.see(pair.released())), (0, 0));
        assert_eq!((map.see(pair.swaps()), map.see(pair.pause())), (0, 0));
        assert_eq!(pair.sleepers().map(|at| map.see(at)), [0, 0]);
        assert!((0..32).all(|k| map.see(pair.told() + 4 * k) == 0));
        for k in 0..64 {
            let word = [map.see(pair.slot(k)), map.see(pair.slot(k) + 4)];
            assert_eq!(word, [pair.first_buf + k, 0], "slot {k}");
        }
    }
}

#[test]
fn a_cables_lines_are_written_anew_before_it_is_paired() {
    let mut honest = Honest::new("early");
    for _ in 0..3 {
        let joiner = until("let in", || Joiner::join_writing(&honest.path, &hello(), scribble));
        until("link up", || (honest.port.link() == Link::Up).then_some(()));
        is_new(&joiner);
        assert_eq!(honest.sync(), 0);
        honest.send(1);
        assert_eq!(honest.tx.ring.pending(), 0, "no pause");
        assert_eq!(joiner.map.see(joiner.inward.published()), 1);
        assert_eq!(honest.port.link(), Link::Up);
        drop(joiner);
        honest.serves_the_next("early");
    }
}

#[test]
fn a_switch_ports_lines_are_written_anew_before_it_is_paired() {
    let mut host = Host::new("early", &[]);
    let hello = switch_hello("evil", 64, 2048);
    let joiner = until("let in", || {
        // The switch takes the port, and is not polled while it is looked at: nothing else writes to the lines until then.
        let mut idle = host.switch.lock().unwrap();
        let joiner = std::thread::scope(|scope| {
            let joins = scope.spawn(|| Joiner::join_writing(&host.path, &hello, scribble));
            while !joins.is_finished() {
                host.listener.admit(&mut idle);
            }
            joins.join().unwrap()
        });
        joiner.iter().for_each(is_new);
        drop(idle);
        joiner
    });
    until("it has a port", || host.live().iter().any(|name| name == "evil").then_some(()));
    host.talks("beside one who wrote early");
    let evil = host.port("evil").unwrap();
    assert!(!evil.gone && evil.count.received == 0, "{evil:?}");
    assert_eq!(host.listener.counters().violations, 0);
    drop(joiner);
    host.gone("it left");
}

/// A paired process may send before the switch is polled again: the rings, which are many slots to write, must be ready
/// before it is told.
#[test]
fn what_a_switch_port_publishes_as_soon_as_it_is_paired_comes_in() {
    let mut host = Host::new("at-once", &[]);
    let hello = switch_hello("evil", 32768, 2048);
    for _ in 0..20 {
        let joiner = until("let in", || Joiner::join_saying(&host.path, &hello));
        (0..32).for_each(|_| joiner.send(&[0x33; 60]));
        let count = || host.port("evil").filter(|port| !port.gone).map(|port| port.count);
        until("all came in", || count().filter(|count| count.received + count.refused.total() == 32));
        drop(joiner);
        host.gone("it left");
    }
    host.talks("after them");
}
