//! Rules that every kind of port keeps, tested on every row of [`KINDS`].

mod load;
mod rigs;
mod sys;

use linerate_port::{KINDS, Link, RxQueue, Sleep, Sleeper};
use linerate_ring::flags;
use load::{Inbox, LIMIT, Load, NAP, drain, exchange, frame, rest_rx, rest_tx};
use rigs::{Far, FramePath, RIGS, Rig, Shape, Skipped};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// Runs a test on every rig; says which had to be skipped.
fn on_every_rig(shape: &Shape, test: impl Fn(&str, Rig)) {
    // AF_XDP has no buffers of other sizes: there is nothing to be tried, and nothing is skipped.
    let fits = |kind: &str| kind != "xdp" || shape.buf.is_none();
    for (kind, setup) in RIGS.iter().filter(|(kind, _)| fits(kind)) {
        match setup(shape) {
            Ok(rig) => test(kind, rig),
            Err(Skipped(why)) => linerate_skip::skip!("{why}"),
        }
    }
}

/// Runs a test on every way of every rig, each time with a fresh rig.
fn on_every_way(shape: &Shape, test: impl Fn(FramePath)) {
    on_every_rig(shape, |kind, rig| {
        let ways = rig.ways.len();
        let mut rig = Some(rig);
        for i in 0..ways {
            let setup = RIGS.iter().find(|(name, _)| name == &kind).unwrap().1;
            let Some(mut rig) = rig.take().or_else(|| setup(shape).ok()) else { panic!("{kind}: not again") };
            test(rig.ways.swap_remove(i));
        }
    });
}

fn now(way: FramePath) -> Option<(FramePath, RxQueue)> {
    match way.far {
        Far::Now(rx) => {
            let later = Far::Later(Box::new(|| unreachable!("the receiver is there")));
            Some((FramePath { far: later, ..way }, rx))
        }
        Far::Later(_) => None,
    }
}

/// Sends a load down every way and checks that it arrives whole and in order and is counted right.
fn arrives(shape: &Shape, load: &Load<'_>) {
    on_every_way(shape, |way| {
        let name = way.name.clone();
        let Outcome { inbox, sent, received } = exchange(way, load);
        let bytes: usize = (0..load.frames).map(|n| load.len(n)).sum();
        let astray = (0..load.frames).zip(&inbox.numbers).find(|(wanted, came)| wanted != *came);
        assert_eq!((astray, inbox.numbers.len()), (None, load.frames as usize), "{name}: order");
        assert_eq!((sent.frames, sent.bytes), (load.frames.into(), bytes as u64), "{name}");
        assert_eq!((sent.dropped.total(), received.dropped.total()), (0, 0), "{name}");
        assert_eq!(received.slots, inbox.slots, "{name}: slots");
        assert!(sent.batches > 0 && received.batches > 0, "{name}");
    });
}
use load::Outcome;

#[test]
fn every_kind_has_a_rig() {
    for kind in KINDS {
        assert!(RIGS.iter().any(|(name, _)| *name == kind.name), "give '{}' a rig", kind.name);
    }
    assert_eq!(RIGS.len(), KINDS.len());
}

#[test]
fn every_size_arrives_byte_for_byte() {
    let sizes: Vec<_> = (60..=1514).collect();
    for (batch, slots) in [(1, 64), (7, 64), (64, 256), (255, 1024)] {
        let shape = Shape { slots, ..Shape::USUAL };
        arrives(&shape, &Load { sizes: &sizes, frames: 2 * 1455 + 3, batch, chains: false });
    }
}

#[test]
fn every_size_arrives_in_chains() {
    let sizes: Vec<_> = (60..=1514).collect();
    for (batch, slots) in [(7, 64), (64, 256), (255, 1024)] {
        let shape = Shape { slots, ..Shape::USUAL };
        arrives(&shape, &Load { sizes: &sizes, frames: 1455 + 3, batch, chains: true });
    }
}

#[test]
fn jumbo_frames_arrive() {
    let sizes: Vec<_> = (60..=9014).step_by(37).chain([9014]).collect();
    let shape = Shape { mtu: 9000, ..Shape::USUAL };
    for chains in [false, true] {
        arrives(&shape, &Load { sizes: &sizes, frames: 500, batch: 31, chains });
    }
}

#[test]
fn frames_longer_than_a_buffer_arrive_as_chains() {
    let sizes: Vec<_> = (60..=1514).step_by(7).collect();
    let shape = Shape { slots: 64, buf: Some(512), ..Shape::USUAL };
    let load = Load { sizes: &sizes, frames: 800, batch: 30, chains: false };
    arrives(&shape, &load);
    on_every_way(&shape, |way| {
        let name = way.name.clone();
        let long = (0..load.frames).filter(|n| load.len(*n) > 512 - 256).count();
        assert_eq!(exchange(way, &load).inbox.chains as usize, long, "{name}");
    });
}

#[test]
fn nothing_that_was_accepted_is_lost_when_nobody_receives_for_a_while() {
    let load = Load { sizes: &[60, 1514, 64, 300], frames: 24_000, batch: 64, chains: false };
    on_every_way(&Shape::USUAL, |way| {
        let Some((way, mut rx)) = now(way) else { return };
        let (mut tx, name, until) = (way.tx, way.name, Instant::now() + LIMIT);
        let (mut inbox, mut next, mut stuck) = (Inbox::new(), 0, 0);
        // Until all is gone; or, where senders wait, nothing has moved for many syncs. A kernel takes all, when it gets to it.
        while (next < load.frames || tx.ring.outstanding() > 0) && (stuck < 50 || !way.blocks) {
            assert!(Instant::now() < until, "{name}: {next} frames taken");
            let before = (next, tx.ring.outstanding());
            next = load.fill(&mut tx, next);
            tx.sync();
            stuck = if before == (next, tx.ring.outstanding()) { stuck + 1 } else { 0 };
            if stuck > 0 {
                rest_tx(&mut tx);
            }
        }
        assert_eq!(stuck > 0, way.blocks, "{name}: {next} frames taken");
        while next < load.frames || tx.ring.outstanding() > 0 {
            assert!(Instant::now() < until, "{name}: {next} frames in time");
            inbox.take(&mut rx, &load);
            next = load.fill(&mut tx, next);
            tx.sync();
            std::thread::yield_now();
        }
        drain(&name, &tx.counters(), &mut rx, &mut inbox, &load, until);
        assert_eq!(tx.counters().frames, u64::from(load.frames), "{name}");
        assert_eq!(rx.counters().dropped.total() == 0, way.blocks, "{name}: {:?}", rx.counters());
        assert!(inbox.numbers.is_sorted(), "{name}: order");
    });
}

#[test]
fn void_slots_are_passed_over_and_unfinished_frames_wait() {
    let load = Load { sizes: &[100], frames: 4, batch: 64, chains: false };
    on_every_rig(&Shape::USUAL, |kind, rig| {
        let (keep, mut ends) = (rig.keep, Vec::new());
        for way in rig.ways {
            let name = way.name.clone();
            if let Some((way, rx)) = now(way) {
                ends.push((name, way.tx, Some(rx)));
            }
        }
        ends.extend(rig.sinks.into_iter().map(|tx| (kind.to_owned(), tx, None)));
        for (name, mut tx, mut rx) in ends {
            let mut inbox = Inbox::new();
            let mut batch = tx.ring.reserve(7);
            for (slot, number) in [(1, 0), (3, 1)] {
                assert!(batch.put(slot, &frame(number, 100)));
            }
            for void in [0, 2, 4] {
                batch.set(void, 0, 0);
            }
            // Two thirds of a frame.
            for (slot, part) in [5, 6].into_iter().zip(frame(2, 100).chunks(40)) {
                assert!(batch.frame(slot).write(0, part));
                batch.set(slot, part.len(), flags::MOREFRAG);
            }
            batch.commit(7);
            let mut see = |tx: &mut linerate_port::TxQueue, frames: u64, slots: u32| {
                let until = Instant::now() + LIMIT;
                while tx.ring.outstanding() > slots {
                    assert!(Instant::now() < until, "{name}");
                    tx.sync();
                    rx.iter_mut().for_each(|rx| inbox.take(rx, &load));
                    std::thread::yield_now();
                }
                tx.sync();
                assert_eq!(tx.counters().frames, frames, "{name}: void and unfinished ones are not sent");
                assert_eq!(tx.counters().bytes, frames * 100, "{name}");
                assert_eq!(tx.ring.outstanding(), slots, "{name}: what is unfinished stays");
                if let Some(rx) = &mut rx {
                    drain(&name, &tx.counters(), rx, &mut inbox, &load, until);
                }
            };
            see(&mut tx, 2, 2);
            let mut batch = tx.ring.reserve(1);
            assert!(batch.put(0, &frame(2, 100)[80..]));
            batch.commit(1);
            see(&mut tx, 3, 0);
            assert_eq!(tx.counters().dropped.total(), 0, "{name}");
            if rx.is_some() {
                assert_eq!(inbox.numbers, [0, 1, 2], "{name}");
            }
        }
        drop(keep);
    });
}

#[test]
fn what_can_never_be_sent_is_counted_and_passed() {
    let load = Load { sizes: &[100], frames: 1, batch: 64, chains: false };
    let shape = Shape { slots: 256, ..Shape::USUAL };
    on_every_way(&shape, |way| {
        let Some((way, mut rx)) = now(way) else { return };
        let (mut tx, name, until) = (way.tx, way.name, Instant::now() + LIMIT);
        let mut batch = tx.ring.reserve(71);
        for i in 0..70 {
            assert!(batch.frame(i).write(0, &[0xee; 20]));
            batch.set(i, 20, if i < 69 { flags::MOREFRAG } else { 0 });
        }
        assert!(batch.put(70, &frame(0, 100)));
        batch.commit(71);
        let mut inbox = Inbox::new();
        while tx.ring.outstanding() > 0 {
            assert!(Instant::now() < until, "{name}");
            tx.sync();
            inbox.take(&mut rx, &load);
            std::thread::yield_now();
        }
        assert_eq!((tx.counters().frames, tx.counters().dropped.total()), (1, 1), "{name}: 64 slots a frame");
        drain(&name, &tx.counters(), &mut rx, &mut inbox, &load, until);
        assert_eq!(inbox.numbers, [0], "{name}");
    });
}

#[test]
fn a_sleeping_receiver_is_woken() {
    const ROUNDS: u32 = 200;
    let load = Load { sizes: &[60, 1000], frames: ROUNDS, batch: 1, chains: false };
    on_every_way(&Shape::USUAL, |way| {
        let Some((way, mut rx)) = now(way) else { return };
        let (mut tx, name, until) = (way.tx, way.name, Instant::now() + LIMIT);
        let round = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..ROUNDS {
                    round.wait();
                    assert_eq!(load.fill(&mut tx, n), n + 1);
                    tx.sync();
                }
            });
            let mut inbox = Inbox::new();
            for n in 1..=ROUNDS as usize {
                inbox.take(&mut rx, &load);
                round.wait();
                let (mut naps, mut woken) = (0, false);
                while inbox.numbers.len() < n {
                    assert!(Instant::now() < until, "{name}: frame {n}");
                    if let Some(sleep) = rx.fall_asleep() {
                        let (fd, interest) = sleep.on.expect("a receiver that waits says on what");
                        woken |= sys::poll(fd, interest, LIMIT / 4);
                        naps += 1;
                    }
                    rx.wake_up();
                    inbox.take(&mut rx, &load);
                }
                assert!(naps == 0 || woken, "{name}: it slept through its frame {n}");
            }
        });
    });
}

#[test]
fn a_sleeping_sender_is_woken() {
    let load = Load { sizes: &[1000], frames: u32::MAX, batch: 64, chains: false };
    on_every_way(&Shape::USUAL, |way| {
        let Some((way, mut rx)) = now(way) else { return };
        if !way.blocks {
            return;
        }
        let (mut tx, name) = (way.tx, way.name);
        let (mut next, mut inbox) = (0, Inbox::new());
        for _ in 0..20 {
            let until = Instant::now() + LIMIT;
            // Full: the sender may sleep, and has no slot to fill.
            let mut stuck = 0;
            while stuck < 3 {
                assert!(Instant::now() < until, "{name}");
                let before = (next, tx.ring.outstanding());
                next = load.fill(&mut tx, next);
                tx.sync();
                stuck = if before == (next, tx.ring.outstanding()) { stuck + 1 } else { 0 };
            }
            assert_eq!(tx.ring.free(), 0, "{name}");
            let awake = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !awake.load(Relaxed) && Instant::now() < until {
                        inbox.take(&mut rx, &load);
                        rest_rx(&mut rx);
                    }
                });
                while tx.ring.free() == 0 {
                    assert!(Instant::now() < until, "{name}: not woken");
                    match tx.fall_asleep() {
                        Some(Sleep { until: Some(due), .. }) => {
                            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(NAP));
                        }
                        Some(Sleep { on, .. }) => {
                            let (fd, interest) = on.expect("a sender that waits says on what");
                            assert!(sys::poll(fd, interest, LIMIT / 4), "{name}: it sleeps on");
                        }
                        None => {}
                    }
                    tx.wake_up();
                    tx.sync();
                }
                awake.store(true, Relaxed);
            });
        }
    });
}

#[test]
fn a_pause_holds_frames_back_where_the_port_says_so_and_nowhere_else() {
    let load = Load { sizes: &[60, 1514], frames: 20, batch: 20, chains: false };
    on_every_way(&Shape::USUAL, |way| {
        let pauses = way.pauses;
        let Some((way, mut rx)) = now(way) else { return };
        let (mut tx, name, until) = (way.tx, way.name, Instant::now() + LIMIT);
        let mut inbox = Inbox::new();
        assert_eq!(tx.priorities(), 0xff, "{name}: a queue alone carries all priorities");
        tx.sync();
        inbox.take(&mut rx, &load);
        rx.pause(0x08);
        assert_eq!(load.fill(&mut tx, 0), 20);
        tx.sync();
        if pauses {
            assert_eq!((tx.ring.pending(), tx.counters().frames), (20, 0), "{name}: held back");
            let sleep = tx.fall_asleep().expect("there is nothing to do");
            assert!(sleep.until.is_some(), "{name}: not for good");
            rx.pause(0);
            let (fd, interest) = sleep.on.expect("a sender that waits says on what");
            assert!(sys::poll(fd, interest, LIMIT / 4), "{name}: it sleeps on");
            tx.wake_up();
        }
        while tx.ring.outstanding() > 0 {
            assert!(Instant::now() < until, "{name}");
            tx.sync();
            inbox.take(&mut rx, &load);
            std::thread::yield_now();
        }
        drain(&name, &tx.counters(), &mut rx, &mut inbox, &load, until);
        assert_eq!((tx.counters().frames, tx.counters().dropped.total()), (20, 0), "{name}");
    });
}

#[test]
fn the_link_goes_down_with_the_far_end() {
    on_every_rig(&Shape::USUAL, |kind, mut rig| {
        let Some(cut) = rig.cut.take() else { return };
        let load = Load { sizes: &[60], frames: 30, batch: 30, chains: false };
        let mut back = rig.ways.pop().unwrap();
        let Some((way, mut rx)) = now(rig.ways.pop().unwrap()) else { return };
        let (mut tx, until) = (way.tx, Instant::now() + LIMIT);
        let settle = |tx: &mut linerate_port::TxQueue, wanted: Link| {
            while tx.link() != wanted {
                assert!(Instant::now() < until, "{kind}: the link is not {wanted:?}");
                tx.sync();
                std::thread::sleep(NAP);
            }
        };
        let Far::Now(near) = &mut back.far else { panic!("{kind}: one receiver now, the other later") };
        near.sync();
        settle(&mut tx, Link::Up);
        assert_eq!(near.link(), Link::Up, "{kind}");
        let mut inbox = Inbox::new();
        let half = Load { frames: 10, ..load };
        assert_eq!(half.fill(&mut tx, 0), 10);
        tx.sync();
        drain(kind, &tx.counters(), &mut rx, &mut inbox, &half, until);
        drop((rx, back.tx));
        cut();
        // Frames sent now are counted, or wait; the call returns.
        assert_eq!(load.fill(&mut tx, 10), 30);
        while near.link() == Link::Up {
            assert!(Instant::now() < until, "{kind}: the receiver does not see it");
            near.sync();
            std::thread::sleep(NAP);
        }
        // Of an interface that was deleted nothing is left that could come up again.
        settle(&mut tx, if matches!(kind, "packet" | "xdp") { Link::Gone } else { Link::Down });
        let count = tx.counters();
        assert_eq!(count.frames + count.dropped.total() + u64::from(tx.ring.pending()), 30, "{kind}: {count:?}");
    });
}

#[test]
fn a_name_that_is_open_gives_one_line_or_a_second_port() {
    on_every_rig(&Shape::USUAL, |kind, mut rig| {
        let again = rig.again.take().unwrap();
        match (again.open)() {
            Ok(_) => assert!(!again.must_fail, "{kind}: two have it"),
            Err(e) => {
                let line = e.to_string();
                assert!(again.must_fail, "{line}");
                assert!(!line.contains('\n') && line.contains("; "), "{line}");
            }
        }
    });
}

#[test]
fn a_source_gives_and_a_sink_takes() {
    on_every_rig(&Shape::USUAL, |kind, rig| {
        for mut tx in rig.sinks {
            let load = Load { sizes: &[60, 1514], frames: 1000, batch: 64, chains: true };
            let mut next = 0;
            for _ in 0..1000 {
                next = load.fill(&mut tx, next);
                tx.sync();
            }
            assert_eq!((next, tx.counters().frames, tx.counters().bytes), (1000, 1000, 500 * 1574), "{kind}");
            assert_eq!(tx.ring.outstanding(), 0, "{kind}");
        }
        for mut rx in rig.sources {
            for _ in 0..10 {
                rx.sync();
                let mut batch = rx.ring.batch(u32::MAX);
                let n = batch.len();
                assert!(n > 0 && (0..n).all(|i| batch.frame(i).is_some_and(|(frame, _)| frame.len() == 60)), "{kind}");
                batch.release(n);
            }
        }
    });
}
