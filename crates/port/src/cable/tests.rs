use crate::{Clock, DropReason, Link, Sleeper, Spec, open, open_all, open_specs};
use std::time::Instant;

fn send(tx: &mut crate::TxQueue, bytes: &[u8]) -> bool {
    let mut batch = tx.ring.reserve(1);
    let ok = !batch.is_empty() && batch.put(0, bytes);
    batch.commit(ok.into());
    tx.sync();
    ok
}

fn receive(rx: &mut crate::RxQueue) -> Option<Vec<u8>> {
    rx.sync();
    let mut batch = rx.ring.batch(1);
    let frame = (!batch.is_empty()).then(|| batch.frame(0).map(|(f, _)| f.to_vec())).flatten();
    let n = batch.len();
    batch.release(n);
    frame
}

/// Time at which an idle queue wants to be synced again.
fn due(queue: &mut crate::TxQueue) -> Option<Instant> {
    let until = queue.fall_asleep().expect("nothing to do").until;
    queue.wake_up();
    until
}

#[test]
fn both_ends_of_one_process_talk_both_ways() {
    let mut ports = open_all(&["cable:t{1,queues=2", "cable:t}1"]).unwrap();
    assert_eq!(ports[1].info().tx_queues, 2, "the first end's options stand");
    for q in 0..2 {
        let (mut tx, mut rx) = (ports[0].take_tx(q).unwrap(), ports[1].take_rx(q).unwrap());
        assert!(send(&mut tx, b"to the right end"));
        assert_eq!(receive(&mut rx).unwrap(), b"to the right end");
        let (mut tx, mut rx) = (ports[1].take_tx(q).unwrap(), ports[0].take_rx(q).unwrap());
        assert!(send(&mut tx, b"to the left end"));
        assert_eq!(receive(&mut rx).unwrap(), b"to the left end");
        assert_eq!((tx.counters().frames, tx.counters().bytes), (1, 15));
    }
    assert!(ports[0].take_tx(2).is_none());
}

/// Regression: a sender that waited for the far end to read was woken at once, again and again, since the wire was free.
#[test]
fn only_frames_that_wait_for_the_wire_wake_for_it() {
    // The first is on its way for longer than a test is held up.
    let mut ports = open_all(&["cable:wire{1,rate=1K,slots=64,buf=16K", "cable:wire}1"]).unwrap();
    let mut tx = ports[0].take_tx(0).unwrap();
    assert!(send(&mut tx, &[0; 15_000]));
    assert_eq!(due(&mut tx), None);
    assert!(send(&mut tx, b"behind it"));
    assert!(due(&mut tx).is_some_and(|at| at > Instant::now()));
}

/// Both ends of a cable by one clock of virtual time.
fn virtual_cable(name: &str, options: &str) -> (Clock, Vec<crate::Port>) {
    let clock = Clock::of_virtual_time();
    let ends = ["{1", "}1"].map(|end| Spec::parse(&format!("cable:{name}{end},{options}")).unwrap().with_clock(&clock));
    (clock, open_specs(&ends).unwrap())
}

/// A frame of 1500 bytes keeps a wire of 10 Gb/s busy for 1219.2 ns.
#[test]
fn a_frame_arrives_when_its_last_bit_has_passed_the_cable() {
    let (clock, mut ports) = virtual_cable("far", "rate=10G,length=100");
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    for _ in 0..3 {
        assert!(send(&mut tx, &[0; 1500]));
    }
    let mut arrivals = Vec::new();
    while let Some(at) = clock.alarm() {
        for (ns, there) in [(at - 1, false), (at, true)] {
            clock.set(ns);
            clock.silence();
            tx.sync();
            assert_eq!(receive(&mut rx).is_some(), there, "{ns}");
        }
        arrivals.push(at);
    }
    rx.sync();
    tx.sync();
    assert_eq!(arrivals, [1220 + 500, 2439 + 500, 3658 + 500]);
    assert_eq!((tx.counters().frames, tx.ring.outstanding()), (3, 0));
    // A wire that was idle is free at once, and the way is as long as before.
    clock.set(1_000_000);
    assert!(send(&mut tx, &[0; 60]));
    assert_eq!(clock.alarm(), Some(1_000_000 + 68 + 500));
}

#[test]
fn what_is_on_its_way_arrives_in_spite_of_a_pause() {
    let (clock, mut ports) = virtual_cable("held", "rate=10G,length=100");
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    assert!(send(&mut tx, &[0; 1500]) && send(&mut tx, &[1; 1500]));
    rx.pause(0x01);
    clock.set(1720);
    tx.sync();
    assert!(receive(&mut rx).is_some() && clock.alarm() == Some(1720));
    clock.silence();
    clock.set(5000);
    tx.sync();
    assert_eq!((receive(&mut rx), tx.ring.pending()), (None, 1));
    rx.pause(0);
    tx.sync();
    clock.silence();
    clock.set(5000 + 1220 + 500);
    tx.sync();
    assert!(receive(&mut rx).is_some());
}

/// Regression: a wire with frames waiting for it when their queue was paused was owed the time of the pause, and sent that much at
/// once when it was over.
#[test]
fn a_wire_that_a_pause_kept_idle_saves_nothing_up() {
    for length in ["", ",length=0"] {
        let (clock, mut ports) = virtual_cable("idle", &format!("rate=10G{length}"));
        let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
        for _ in 0..50 {
            assert!(send(&mut tx, &[0; 1500]));
        }
        rx.pause(0x01);
        tx.sync();
        clock.set(30_000);
        tx.sync();
        rx.pause(0);
        tx.sync();
        let pending = tx.ring.pending();
        clock.set(30_000 + 1219);
        tx.sync();
        assert!(pending >= 48 && tx.ring.pending() >= 48, "{length}: {pending}, then {}", tx.ring.pending());
        clock.set(30_000 + 2 * 1220);
        tx.sync();
        assert!(tx.ring.pending() < pending, "{length}");
    }
}

#[test]
fn a_pause_and_a_delay_end_by_the_cables_clock() {
    let (clock, mut ports) = virtual_cable("paused", "faults=delay:3ms");
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    rx.pause(0x01);
    assert!(send(&mut tx, b"waits"));
    assert_eq!(clock.alarm(), Some(3_000_000));
    clock.silence();
    clock.set(3_000_000);
    tx.sync();
    assert_eq!(clock.alarm(), Some(1_003_000_000), "a second from the first frame that waits");
    for (ns, there) in [(1_002_999_999, false), (1_003_000_000, true)] {
        clock.set(ns);
        tx.sync();
        assert_eq!(receive(&mut rx).is_some(), there, "{ns}");
    }
}

#[test]
fn a_closed_end_takes_the_link_down_and_costs_what_it_had_not_read() {
    let mut ports = open_all(&["cable:t{1", "cable:t}1"]).unwrap();
    let mut tx = ports[0].take_tx(0).unwrap();
    for _ in 0..5 {
        send(&mut tx, b"frame");
    }
    assert_eq!(tx.link(), Link::Up);
    ports.pop();
    assert_eq!(tx.link(), Link::Down);
    tx.sync();
    assert_eq!(tx.counters().dropped.of(DropReason::PeerDied), 5);
    assert_eq!(tx.ring.outstanding(), 0, "all slots are back");
}

/// Regression: a queue that was first synced after the other end had gone got nothing, and no counter showed the loss.
#[test]
fn what_was_sent_before_the_first_sync_arrives_though_the_sender_is_gone() {
    let mut ports = open_all(&["cable:t{1", "cable:t}1"]).unwrap();
    let mut tx = ports[0].take_tx(0).unwrap();
    for n in 0..5 {
        assert!(send(&mut tx, &[n]));
    }
    let mut rx = ports[1].take_rx(0).unwrap();
    ports.remove(0);
    drop(tx);
    assert_eq!(rx.link(), Link::Down);
    for n in 0..5 {
        assert_eq!(receive(&mut rx).unwrap(), [n]);
    }
    assert_eq!(receive(&mut rx), None);
}

/// A ring that its user has taken out of its queue keeps its frames after the queue is dropped.
#[test]
fn a_ring_taken_out_of_its_queue_is_not_taken_back() {
    let mut ports = open_all(&["cable:t{1,slots=64", "cable:t}1"]).unwrap();
    let mut spare = open_all(&["null:,slots=64"]).unwrap();
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    assert!(send(&mut tx, b"borrowed"));
    rx.sync();
    let mut kept = std::mem::replace(&mut rx.ring, spare[0].take_rx(0).unwrap().ring);
    drop((rx, ports.pop()));
    assert_eq!(tx.link(), Link::Down);
    tx.sync();
    assert_eq!(tx.ring.in_flight(), 1);
    assert_eq!(kept.batch(1).frame(0).unwrap().0.bytes().unwrap(), b"borrowed");
}

#[test]
fn a_paused_queue_keeps_its_frames_and_other_classes_go_on() {
    let mut ports = open_all(&["cable:t{1,queues=2", "cable:t}1"]).unwrap();
    assert!(ports[1].info().caps.pause);
    let [(mut tx, mut rx), (mut other, mut far)] =
        [0, 1].map(|q| (ports[0].take_tx(q).unwrap(), ports[1].take_rx(q).unwrap()));
    assert_eq!((tx.priorities(), other.priorities()), (0x0f, 0xf0));
    assert!(send(&mut tx, b"before"));
    rx.pause(0x08);
    far.pause(0x08);
    for n in 0..3 {
        assert!(send(&mut tx, &[n]) && send(&mut other, &[n]));
    }
    assert_eq!((tx.ring.pending(), other.ring.pending()), (3, 0));
    assert_eq!(receive(&mut rx).unwrap(), b"before", "what has left arrives");
    assert!(receive(&mut rx).is_none() && receive(&mut far).is_some());
    tx.sync();
    assert_eq!(tx.ring.in_flight(), 0, "slots come back nevertheless");
    assert!(due(&mut tx).is_some());
    rx.pause(0x80);
    tx.sync();
    assert!((0..3).all(|n| receive(&mut rx).unwrap() == [n]));
    tx.sync();
    assert_eq!((due(&mut tx), tx.counters().frames, tx.counters().dropped.total()), (None, 4, 0));
    let raw = ports[0].raw_counters();
    assert_eq!(raw[0], ("tx_pauses".into(), 1), "{raw:?}");
    assert!(raw[1].0 == "tx_paused_us" && ports[1].raw_counters()[0].1 == 0, "{raw:?}");
    // A queue of one priority does not stop for another priority's pause.
    other.set_priorities(0x04);
    assert!(send(&mut other, b"goes"));
    other.set_priorities(0x08);
    assert!(send(&mut other, b"stays"));
    assert_eq!((other.priorities(), other.ring.pending()), (0x08, 1));
}

#[test]
fn a_receiver_that_goes_takes_its_pause_along() {
    let mut ports = open_all(&["cable:t{1", "cable:t}1"]).unwrap();
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    rx.pause(0xff);
    assert!(send(&mut tx, b"waits"));
    assert_eq!(tx.ring.pending(), 1);
    drop(rx);
    tx.sync();
    assert_eq!((tx.ring.pending(), due(&mut tx)), (0, None));
}

#[test]
fn wrong_names_and_conflicts_are_named() {
    for (names, word) in [
        (&["cable:x"][..], "names no end"),
        (&["cable:x{"], "letters, digits"),
        (&["cable:x/y{1"], "letters, digits"),
        (&["cable:x{1,rate=fast", "cable:x}1"], "rate=fast"),
        (&["cable:x{1,queues=200", "cable:x}1"], "queues=200"),
        (&["cable:x{1,slots=64", "cable:x}1,slots=128"], "slots=64 at its other end"),
        (&["cable:x{1,length=5", "cable:x}1"], "rate=10G,length=100"),
        (&["cable:x{1,rate=1G,length=200K", "cable:x}1"], "length=200K"),
        (&["cable:x{1,rate=1G,length=5", "cable:x}1,rate=1G,length=6"], "another length"),
        (&["cable:x{1,rate=1G,length=5"], "open both ends together"),
    ] {
        let line = open_all(names).err().unwrap().to_string();
        assert!(line.contains(word) && !line.contains('\n'), "{names:?}: {line}");
    }
    let _ = open;
}
