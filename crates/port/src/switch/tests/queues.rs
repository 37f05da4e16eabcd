//! Frames that find no room at an output, at a switch with buffers.

use super::slots::{send_parts, super_frame};
use super::*;
use crate::kinds::packet::tests::{OPEN, tcp};
use linerate_sum::SplitMix64;

/// Buffers without parts of the queues' own, and with the highest threshold.
fn buffers(bytes: u64, classes: &str) -> Buffers {
    let (alpha, classes) = ("8".parse().unwrap(), classes.parse().unwrap());
    Buffers { bytes, reserved: 0, alpha, classes, ..Buffers::default() }
}

/// A numbered frame of some length, with a priority.
fn numbered(to: u8, from: u8, priority: u16, len: usize, number: u32) -> Vec<u8> {
    let mut bytes = tagged(mac(to), mac(from), priority << 13);
    bytes.resize(len, 0x33);
    bytes[20..24].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn number_of(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[20..24].try_into().unwrap())
}

impl Bench {
    /// Class `class` of port `name`.
    pub(super) fn class(&self, name: &str, class: usize) -> ClassCounters {
        let ports = self.switch.ports();
        ports.iter().find(|port| port.name == name).unwrap().classes.unwrap()[class]
    }

    /// All that arrives at a port until nothing waits for it.
    pub(super) fn receive_all(&mut self, name: &str) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let came = self.receive(name);
            if came.is_empty() {
                return all;
            }
            all.extend(came);
            self.poll();
            self.ledger();
        }
    }
}

#[test]
fn what_finds_no_room_waits_in_order_and_stops_nobody() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.switch.buffers(&buffers(1 << 20, "1"));
    b.send("b", &frame(ALL, mac(2)));
    b.send("c", &frame(ALL, mac(3)));
    b.arrived(["a", "b", "c"]);
    let sent: Vec<_> = (0..200).map(|n| numbered(2, 1, 0, 60 + n as usize * 7, n)).collect();
    for frames in sent.chunks(40) {
        b.burst("a", frames);
        b.send("a", &frame(mac(3), mac(1)));
        assert_eq!(b.arrived(["c"]), [1], "it stands behind nobody");
        b.ledger();
    }
    let class = b.class("b", 0);
    assert_eq!((class.queued, class.waiting, class.dropped.total()), (137, 137, 0));
    assert_eq!(class.queued_bytes, sent[63..].iter().map(|frame| frame.len() as u64).sum::<u64>());
    assert_eq!(b.ledger().waiting, 137);
    assert!(b.switch.queued());
    assert!(b.receive_all("b") == sent);
    assert!(!b.switch.queued());
    b.send("a", &frame(mac(2), mac(1)));
    assert_eq!((b.arrived(["b"]), b.class("b", 0).queued), ([1], 137), "there is room again, and no queue is touched");
    assert_eq!((b.class("b", 0).waiting_bytes, b.ledger().dropped.total()), (0, 0));
}

/// Runs, floods, chains, open checksums, segments, tags that come and go: the same bytes arrive in the same order as at
/// receivers that always have room.
#[test]
fn what_waited_is_what_would_have_come_at_once() {
    let ports = [("a", vlans("10")), ("b", vlans("10")), ("c", vlans("10")), ("t", vlans("t10"))];
    let (bytes, meta) = super_frame(10_500, 1000);
    let open = tcp(101);
    let run = |b: &mut Bench, each: &mut dyn FnMut(&mut Bench)| {
        b.send("b", &frame(ALL, mac(2)));
        for round in 0..10u32 {
            let plain = |n: u32| [&frame(mac(2), mac(1))[..], &(round << 8 | n).to_be_bytes()].concat();
            b.burst("a", &(0..30).map(plain).collect::<Vec<_>>());
            each(b);
            b.burst("a", &vec![frame(ALL, mac(1)); 20]);
            each(b);
            send_parts(b, "a", &bytes, 1700, Some(meta));
            each(b);
            send_parts(b, "a", &open, 64, Some(OPEN));
            each(b);
            send_parts(b, "a", &tcp(300), 100, None);
            each(b);
        }
    };
    let mut at_once = Bench::new(&ports);
    let mut wanted = [Vec::new(), Vec::new(), Vec::new()];
    run(&mut at_once, &mut |b| {
        for (all, name) in wanted.iter_mut().zip(["b", "c", "t"]) {
            all.extend(b.receive(name));
        }
    });
    assert_eq!(at_once.ledger().dropped.total(), 0);
    let mut late = Bench::new(&ports);
    late.switch.buffers(&buffers(4 << 20, "1"));
    run(&mut late, &mut |b| {
        b.ledger();
    });
    assert!(late.ledger().waiting > 500, "{:?}", late.ledger());
    for (wanted, name) in wanted.iter().zip(["b", "c", "t"]) {
        assert!(late.receive_all(name) == *wanted, "{name}");
    }
    let (one, other) = (at_once.ledger(), late.ledger());
    assert_eq!((one.copies, one.sent, one.dropped), (other.copies, other.sent, other.dropped));
}

#[test]
fn a_queue_with_its_share_loses_by_reason_and_others_keep_theirs() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    // 64 cells: two queues in use have 4 of their own each, and share 40 with four others.
    b.switch.buffers(&Buffers { reserved: 1024, alpha: "1".parse().unwrap(), ..buffers(16 << 10, "1,1") });
    b.send("b", &frame(ALL, mac(2)));
    b.send("c", &frame(ALL, mac(3)));
    b.arrived(["a", "b", "c"]);
    for n in 0..200 {
        b.send("a", &numbered(2, 1, 0, 64, n));
    }
    let class = b.class("b", 0);
    assert_eq!((class.waiting, class.dropped.of(QueueDrop::Threshold)), (4 + 20, 200 - 63 - 24));
    assert_eq!(class.waiting_bytes, 24 * CELL as u64);
    let count = b.count("b");
    assert_eq!((count.dropped.of(DropReason::NoRoom), count.priorities[0].dropped), (113, 113));
    // Another class has its own cells, and a part of what is left.
    for n in 0..100 {
        b.send("a", &numbered(2, 1, 7, 64, n));
    }
    assert_eq!((b.class("b", 1).waiting, b.class("b", 0).waiting), (4 + 10, 24));
    b.ledger();
    assert_eq!(b.receive_all("b").len(), 63 + 24 + 14);
    assert_eq!((b.class("b", 0).waiting_bytes, b.class("b", 1).waiting_bytes), (0, 0));
    b.ledger();
}

/// A frame of many slots at the front of a queue waits for as many: a short one behind it does not take what is free.
#[test]
fn none_goes_past_one_that_needs_more_room() {
    let mut b = Bench::plain(&["a", "b"]);
    b.switch.buffers(&buffers(1 << 20, "1"));
    b.burst("a", &vec![frame(mac(2), mac(1)); 63]);
    let (bytes, meta) = super_frame(10_500, 1000);
    send_parts(&mut b, "a", &bytes, 1700, Some(meta));
    let end = b.end("b");
    end.rx.sync();
    end.rx.ring.batch(5).release(5);
    end.rx.sync();
    b.poll();
    b.send("a", &frame(mac(2), mac(1)));
    let lens: Vec<_> = b.receive_all("b").iter().map(Vec::len).collect();
    assert_eq!(lens, [&[60; 58][..], &[1054; 10], &[554, 60]].concat());
    b.ledger();
}

/// Lossless frames have their turn where all have theirs: the others need not leave them a part of the ring. A chain of them has
/// a place in the queue, too.
#[test]
fn a_port_with_a_lossless_priority_has_its_whole_ring_and_its_chains_wait_in_queues() {
    let mut b = Bench::plain(&["a", "c"]);
    b.add("b", pausing(1 << 3), 1, 1500);
    b.switch.buffers(&buffers(1 << 20, "1"));
    b.send("b", &frame(ALL, mac(2)));
    b.send("c", &frame(ALL, mac(3)));
    b.arrived(["a", "b", "c"]);
    b.burst("a", &vec![frame(mac(2), mac(1)); 63]);
    assert_eq!((b.count("b").sent, b.class("b", 0).queued), (63 + 1, 0));
    send_parts(&mut b, "a", &numbered(2, 1, 3, 200, 7), 50, None);
    b.send("a", &frame(mac(3), mac(1)));
    assert_eq!((b.switch.has_waiting(), b.arrived(["c"]), b.class("b", 0).queued), (false, [1], 1));
    assert_eq!(b.receive_all("b")[63], numbered(2, 1, 3, 200, 7));
    b.ledger();
}

/// A lossless priority has a place in the queues as others have, and beyond that waits in its sender's ring.
#[test]
fn lossless_frames_beyond_the_buffers_wait_at_their_sender() {
    let mut b = Bench::plain(&["a", "d"]);
    b.add("b", pausing(1 << 3), 1, 1500);
    b.switch.buffers(&buffers(8 << 10, "1,1,1,1"));
    b.send("b", &frame(ALL, mac(2)));
    b.arrived(["a", "d"]);
    let sent: Vec<_> = (0..120).map(|n| numbered(2, 1, 3, 100, n)).collect();
    for frames in sent.chunks(40) {
        b.burst("a", frames);
    }
    assert!(b.switch.has_waiting() && b.class("b", 1).waiting > 20, "{:?}", b.class("b", 1));
    for n in 0..100 {
        b.send("d", &numbered(2, 4, 0, 100, n));
    }
    assert!(b.class("b", 0).dropped.total() > 50, "{:?}", b.class("b", 0));
    let came = b.receive_all("b");
    assert!(came.iter().filter(|frame| frame[14] >> 5 == 3).eq(&sent));
    let count = b.count("b");
    assert_eq!((count.priorities[3].sent, count.priorities[3].dropped, b.class("b", 1).dropped.total()), (120, 0, 0));
    assert!(count.priorities[3].waits > 0 && !b.switch.has_waiting());
    b.ledger();
}

#[test]
fn a_receiver_that_has_stopped_fills_its_queue_and_then_loses_its_lossless_frames_after_a_second() {
    let mut b = Bench::plain(&["a", "c"]);
    b.add("b", pausing(0xff), 1, 1500);
    b.switch.buffers(&buffers(4 << 10, "1"));
    b.send("b", &frame(ALL, mac(2)));
    b.send("c", &frame(ALL, mac(3)));
    b.arrived(["a", "b", "c"]);
    while !b.switch.has_waiting() {
        b.send("a", &numbered(2, 1, 0, 64, 0));
    }
    b.send("a", &frame(mac(3), mac(1)));
    assert_eq!(b.arrived(["c"]), [0], "it stands behind one that waits");
    let waiting = b.class("b", 0).waiting;
    assert!(waiting > 10 && b.ledger().dropped.total() == 0, "{waiting}");
    b.now += SECOND;
    b.poll();
    assert_eq!((b.arrived(["c"]), b.count("b").dropped.of(DropReason::NoRoom)), ([1], 1));
    assert_eq!(b.class("b", 0).dropped.total(), 1);
    assert_eq!(b.receive_all("b").len() as u64, 63 + waiting);
    b.ledger();
}

#[test]
fn frames_in_queues_of_a_port_that_goes_are_lost_and_their_cells_are_not() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.switch.buffers(&Buffers { reserved: 1024, ..buffers(64 << 10, "1,1") });
    for _ in 0..50 {
        b.burst("a", &vec![numbered(2, 1, 5, 300, 0); 20]);
    }
    let waiting = [b.class("b", 1).waiting, b.class("c", 1).waiting];
    assert!(waiting[0] > 30 && waiting[1] > 5, "{waiting:?}");
    b.switch.detach("b");
    let gone = b.switch.ports().into_iter().find(|port| port.gone).unwrap();
    assert_eq!((gone.count.dropped.of(DropReason::PeerDied), gone.waiting()), (waiting[0], 0));
    assert_eq!(gone.classes.unwrap()[1].queued, waiting[0]);
    b.ledger();
    assert_eq!(b.receive_all("c").len() as u64, 63 + waiting[1]);
    b.switch.detach("c");
    b.add("d", Policy::default(), 1, 1500);
    for _ in 0..50 {
        b.burst("a", &vec![numbered(2, 1, 5, 300, 0); 20]);
    }
    // 256 cells without those of 4 queues of a and d are 240: two more than 214 were more than 8 times what is left.
    assert_eq!(b.class("d", 1).waiting_bytes / CELL as u64, 4 + 214);
    b.ledger();
}

/// What fills a queue may be a loop's: a probe that stood behind it would not find it.
#[test]
fn probes_go_before_what_waits_in_queues() {
    let mut b = Bench::plain(&["a", "b"]);
    b.switch.buffers(&buffers(1 << 20, "1"));
    b.now = 100 * SECOND;
    for _ in 0..20 {
        b.burst("a", &vec![frame(mac(2), mac(1)); 60]);
    }
    b.switch.find_loops();
    b.poll();
    assert_eq!(b.receive("b").len(), 63, "there was no room");
    b.poll();
    let group = probe::GROUP.to_be_bytes();
    assert_eq!(b.receive("b").iter().position(|frame| frame[..6] == group[2..]), Some(0));
    assert!(b.switch.queued());
    b.poll();
    b.ledger();
    assert_eq!(b.receive_all("b").len(), 20 * 60 - 63 - 62);
}

/// Frames of all kinds between ports of all kinds, receivers that are fast, slow or stopped: each frame is accounted for at
/// each moment, none overtakes another of its class, none of a lossless priority is lost.
#[test]
fn whatever_happens_each_frame_is_accounted_for_and_in_its_place() {
    for seed in 0..30 {
        let mut random = SplitMix64::new(seed);
        let mut below = move |most: u64| usize::try_from(random.next_u64() % most).unwrap();
        let mut b = Bench::plain(&["a", "b"]);
        b.add("c", pausing(0x88), 1, 1500);
        b.add("d", Policy::default(), 1, 300);
        let table = ["1", "1,1", "strict,1,5,rest", "1,strict,rest,7,9,2,strict,1"][below(4)];
        let (bytes, reserved) = ([0, 4, 40, 400][below(4)] << 10, [0, 300, 2000][below(3)]);
        let alpha = ["1/4", "1", "8"][below(3)].parse().unwrap();
        b.switch.buffers(&Buffers { reserved, alpha, ..buffers(bytes, table) });
        let names = ["a", "b", "c", "d"];
        b.send("c", &frame(ALL, mac(2)));
        b.arrived(names);
        // By receiver, sender and priority: the number of the last frame.
        let mut last = std::collections::HashMap::new();
        let (mut number, mut sent, mut came) = (0, 0, 0);
        let lossless = |frame: &[u8]| frame[5] == 2 && [3, 7].contains(&(frame[14] >> 5));
        let mut receive = |b: &mut Bench, at: usize| {
            for frame in b.receive(names[at]) {
                let (key, number) = ((at, frame[11], frame[14] >> 5), number_of(&frame));
                let before = last.insert(key, number);
                assert!(before.is_none_or(|before| before < number), "{seed}: {number} after {before:?}");
                came += usize::from(at == 2 && lossless(&frame));
            }
        };
        for _ in 0..1000 {
            if below(3) > 0 {
                let (from, to, priority) = (below(4), [0, 1, 2, 3, 0x77][below(5)], u16::try_from(below(8)).unwrap());
                b.end(names[from]).tx.sync();
                let room = b.end(names[from]).tx.ring.free() as usize;
                let mut one = || {
                    number += 1;
                    numbered(to, u8::try_from(from).unwrap(), priority, 64 + below(400), number)
                };
                let frames: Vec<_> = (0..room.min(20)).map(|_| one()).collect();
                sent += frames.iter().filter(|frame| from != 2 && lossless(frame)).count();
                b.burst(names[from], &frames);
            } else {
                receive(&mut b, below(4));
                b.poll();
            }
            b.ledger();
        }
        for _ in 0..40 {
            (0..4).for_each(|at| receive(&mut b, at));
            b.poll();
        }
        assert!(!b.switch.queued() && !b.switch.has_waiting());
        assert_eq!(came, sent, "{seed}: of lossless ones to c");
        b.ledger();
    }
}
