//! Ports that have nothing to say, and what wakes them.

use super::*;
use crate::sleep::Sleeper;
use crate::switch::Listener;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Longer than a port may be idle and awake, in ns.
const IDLE: u64 = 2_000_000;
const LIMIT: Duration = Duration::from_secs(30);

impl Bench {
    /// Turns, without frames, until every port that may be parked is; those that are awake then.
    fn rest(&mut self) -> Vec<usize> {
        for _ in 0..3 {
            self.now += IDLE;
            self.poll();
        }
        self.switch.awake.iter().map(|id| (*id).into()).collect()
    }
}

#[test]
fn idle_ports_are_parked_and_what_comes_wakes_one() {
    let mut b = Bench::plain(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]);
    for n in 0..4 {
        b.send(["a", "b", "c", "d"][usize::from(n)], &frame(ALL, mac(n)));
    }
    b.arrived(["a", "b", "c", "d"]);
    assert_eq!(b.rest(), [0; 0], "all are parked");
    for (from, to, name) in [(2, 0, "a"), (1, 3, "d"), (0, 1, "b")] {
        b.send(["a", "b", "c", "d"][usize::from(from)], &frame(mac(to), mac(from)));
        assert_eq!(b.receive(name).len(), 1, "{name}");
        assert_eq!(b.switch.awake, [u16::from(from)], "the sender alone is awake");
        assert_eq!(b.rest(), [0; 0]);
    }
    // Turns in which others work look for them as well, after a while.
    b.send("a", &frame(mac(1), mac(0)));
    let end = b.end("c");
    let mut batch = end.tx.ring.reserve(1);
    assert!(batch.put(0, &frame(mac(3), mac(2))));
    batch.commit(1);
    end.tx.sync();
    b.arrived(["d"]);
    b.switch.worked = true;
    b.now += 19_000;
    b.switch.poll(b.now);
    b.switch.worked = true;
    assert_eq!(b.arrived(["d"]), [0], "it was looked at a moment ago");
    b.now += 2_000;
    b.switch.poll(b.now);
    assert_eq!(b.arrived(["d"]), [1]);
    b.ledger();
}

#[test]
fn a_port_that_is_removed_while_it_is_parked_leaves_nothing() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.send("b", &frame(ALL, mac(2)));
    assert_eq!(b.rest(), [0; 0]);
    assert!(b.switch.detach("b"));
    b.ends.retain(|end| end.name != "b");
    b.add("d", Policy::default(), 1, 1500);
    assert_eq!(b.switch.awake, [1], "the newcomer has its place");
    b.arrived(["a", "c"]);
    b.send("a", &frame(mac(2), mac(1)));
    assert_eq!(b.arrived(["a", "c", "d"]), [0, 1, 1]);
    assert_eq!(b.rest(), [0; 0]);
    b.send("d", &frame(mac(1), mac(4)));
    assert_eq!(b.arrived(["a", "c", "d"]), [1, 0, 0]);
    b.ledger();
}

#[test]
fn a_port_whose_frame_waits_for_room_is_not_parked() {
    let mut b = Bench::plain(&["a", "c"]);
    b.add("b", pausing(0xff), 1, 1500);
    b.send("b", &frame(ALL, mac(2)));
    for _ in 0..64 {
        b.send("a", &frame(mac(2), mac(1)));
    }
    assert!(b.switch.has_waiting());
    assert_eq!(b.rest(), [0], "its frame waits for room at b");
    assert_eq!(b.arrived(["b"]), [63]);
    b.poll();
    assert_eq!(b.arrived(["b"]), [1]);
    assert_eq!(b.rest(), [0; 0]);
    b.ledger();
}

#[test]
fn a_neighbour_that_does_not_ring_waits_for_the_second() {
    let mut b = Bench::plain(&["a", "b"]);
    b.send("b", &frame(ALL, mac(2)));
    assert_eq!(b.rest(), [0; 0]);
    // Takes the announcement, as who is about to ring does, and does not ring.
    let sources = |b: &mut Bench| std::mem::take(&mut b.switch.members[0].as_mut().unwrap().sources);
    let mut held = sources(&mut b);
    held[0].rx.wake_up();
    b.switch.members[0].as_mut().unwrap().sources = held;
    b.send("a", &frame(mac(2), mac(1)));
    assert_eq!(b.arrived(["b"]), [0]);
    b.now += SECOND;
    b.poll();
    assert_eq!(b.arrived(["b"]), [1]);
}

/// Four programs hand a frame round; the clock runs a thousand times too fast, so that their ports are parked after a
/// microsecond. A wake-up that is lost ends the round.
#[test]
fn no_wake_up_is_lost_however_often_ports_are_parked() {
    const ROUNDS: u32 = 1_000;
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let mut b = Bench::plain(&NAMES);
    for (name, n) in NAMES.iter().zip(0..) {
        b.send(name, &frame(ALL, mac(n)));
    }
    b.arrived(NAMES);
    b.switch.parked.never_looks_anyway();
    let (done, begin) = (AtomicBool::new(false), Instant::now());
    let Bench { mut switch, ends, .. } = b;
    let mut most_awake = 0;
    std::thread::scope(|scope| {
        for (mut end, n) in ends.into_iter().zip(0..4) {
            let done = &done;
            scope.spawn(move || {
                let (mut left, mut heard) = (ROUNDS, Instant::now());
                let mut go = n == 0;
                while left > 0 && heard.elapsed() < LIMIT {
                    if std::mem::take(&mut go) {
                        left -= 1;
                        let mut batch = end.tx.ring.reserve(1);
                        assert!(batch.put(0, &frame(mac((n + 1) % 4), mac(n))));
                        batch.commit(1);
                        end.tx.sync();
                    }
                    end.rx.sync();
                    let mut batch = end.rx.ring.batch(u32::MAX);
                    let got = batch.len();
                    // In a clock so fast addresses are soon forgotten, and what is for another comes here too.
                    if (0..got).any(|i| batch.frame(i).unwrap().0.to_vec()[..6] == mac(n)) {
                        (go, heard) = (true, Instant::now());
                    }
                    batch.release(got);
                    std::thread::yield_now();
                }
                if n == 3 || left > 0 {
                    done.store(true, Relaxed);
                }
                assert_eq!(left, 0, "port {n} hears no more");
            });
        }
        while !done.load(Relaxed) {
            switch.poll(u64::try_from(begin.elapsed().as_nanos()).unwrap() * 1000);
            most_awake = most_awake.max(4 - switch.awake.len());
        }
    });
    assert!(done.load(Relaxed) && most_awake > 0);
}

/// Runs a switch and its listener until `over`, in a clock that runs ten times too fast.
fn turns(switch: &mut Switch, listener: &Listener, mut over: impl FnMut(&Switch) -> bool) {
    let begin = Instant::now();
    while !over(switch) {
        assert!(begin.elapsed() < LIMIT);
        listener.admit(switch);
        switch.poll(u64::try_from(begin.elapsed().as_nanos()).unwrap() * 10);
    }
}

#[test]
fn a_program_that_goes_while_its_port_is_parked_is_noticed() {
    let name = format!("parked-{}", std::process::id());
    let listener = Listener::open(&name, None).unwrap();
    let mut switch = Switch::new();
    let guest = |port: &str| crate::open(&format!("vale:{name}:{port},slots=64,queues=2"));
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| (guest("a").unwrap(), guest("b").unwrap()));
        turns(&mut switch, &listener, |switch| switch.members.iter().flatten().count() == 2);
        let (a, b) = opening.join().unwrap();
        switch.parked.never_looks_anyway();
        turns(&mut switch, &listener, |switch| switch.awake.is_empty());
        drop(a);
        turns(&mut switch, &listener, |switch| switch.members.iter().flatten().count() == 1);
        turns(&mut switch, &listener, |switch| switch.awake.is_empty());
        drop(b);
        turns(&mut switch, &listener, |switch| switch.members.iter().flatten().count() == 0);
    });
    assert_eq!(switch.ports().iter().filter(|port| port.gone).count(), 2);
}

/// Regression: the transmit queues of an attached cable's end were not looked at while nothing was to be sent, so that the end
/// never left a pairing in which it had sent something, and whoever came next was shut out.
#[test]
fn each_joiner_of_an_idle_switchs_cable_is_let_in() {
    let name = format!("rejoined-{}", std::process::id());
    let mut b = Bench::plain(&["a"]);
    let near = crate::open(&format!("cable:{name}{{1,slots=64,queues=2")).unwrap();
    b.switch.attach("far", near, Policy::default()).unwrap();
    // The second's look, which does not wait for a bell, is no help.
    b.switch.parked.never_looks_anyway();
    let begin = Instant::now();
    let turns = |b: &mut Bench, over: &mut dyn FnMut(&Bench) -> bool| {
        while !over(b) {
            assert!(begin.elapsed() < LIMIT, "nobody is let in, or a frame is lost");
            b.now += 100_000;
            b.poll();
        }
    };
    for round in 0..5 {
        turns(&mut b, &mut |b| b.switch.awake.is_empty());
        std::thread::scope(|scope| {
            let opening = scope.spawn(|| crate::open(&format!("cable:{name}}}1")));
            turns(&mut b, &mut |_| opening.is_finished());
            let mut far = opening.join().unwrap().unwrap_or_else(|e| panic!("joiner {round}: {e}"));
            turns(&mut b, &mut |b| b.switch.awake.is_empty());
            let mut rx = far.take_rx(0).unwrap();
            // The first frame may come before the switch has seen the link: then it waits for it, once and for all.
            b.send("a", &frame(ALL, mac(1)));
            turns(&mut b, &mut |_| {
                rx.sync();
                rx.ring.available() > 0
            });
            turns(&mut b, &mut |b| b.switch.awake.is_empty());
            rx.sync();
            assert_eq!(rx.ring.available(), 1, "joiner {round}");
        });
    }
}
