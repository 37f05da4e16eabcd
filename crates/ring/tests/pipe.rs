//! Tests of pipes against a model, across threads, and against a peer that writes invalid values.

use linerate_ring::{Pipe, PipeRx, PipeTx, Region, RegionConfig, RxRing, Sharing, TxRing, flags, forward};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

fn region(slots: u32, pairs: u32, sharing: Sharing) -> Arc<Region> {
    let ring_bytes = Region::ring_room(slots) * 2 * pairs as usize + 4096;
    let config = RegionConfig { buf_size: 512, buffers: slots * pairs + 8, ring_bytes, sharing, huge: false };
    Region::new(&config).unwrap()
}

type Ends = ((TxRing, PipeTx), (RxRing, PipeRx));

fn pipe(region: &Arc<Region>, slots: u32, tx: Pipe, rx: Pipe) -> Ends {
    let pair = region.ring_pair(0, slots).unwrap();
    (tx.sender(region, &pair, 0).unwrap(), rx.receiver(region, &pair, 0).unwrap())
}

fn send(ring: &mut TxRing, bytes: &[u8], more: bool) -> bool {
    let mut batch = ring.reserve(1);
    if batch.is_empty() {
        return false;
    }
    assert!(batch.put(0, bytes));
    batch.set(0, bytes.len(), if more { flags::MOREFRAG } else { 0 });
    batch.commit(1);
    true
}

fn receive(ring: &mut RxRing) -> Option<(Vec<u8>, u16)> {
    let mut batch = ring.batch(1);
    if batch.is_empty() {
        return None;
    }
    let got = batch.frame(0).map(|(frame, flags)| (frame.to_vec(), flags));
    batch.release(1);
    got
}

#[test]
fn a_frame_arrives_as_it_was_sent() {
    let region = region(64, 1, Sharing::Private);
    let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region, 64, Pipe::Within, Pipe::Within);
    assert!(send(&mut tx, b"hello, ring", false));
    assert_eq!(b.sync(&mut rx), 0, "not before the sync");
    let moved = a.sync(&mut tx, |_| true);
    assert_eq!((moved.slots, moved.frames, moved.bytes), (1, 1, 11));
    assert_eq!(b.sync(&mut rx), 1);
    assert_eq!(receive(&mut rx), Some((b"hello, ring".to_vec(), 0)));
    assert_eq!(tx.free(), 62);
    b.sync(&mut rx);
    a.reclaim(&mut tx);
    assert_eq!(tx.free(), 63, "the slot came back");
}

#[test]
fn a_full_ring_takes_all_slots_but_one() {
    let region = region(64, 1, Sharing::Private);
    let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region, 64, Pipe::Within, Pipe::Within);
    for round in 0..3u8 {
        let mut sent = 0;
        while send(&mut tx, &[round, sent], false) {
            sent += 1;
        }
        assert_eq!(sent, 63);
        a.sync(&mut tx, |_| true);
        b.sync(&mut rx);
        for i in 0..63 {
            assert_eq!(receive(&mut rx).unwrap().0, [round, i]);
        }
        b.sync(&mut rx);
        a.sync(&mut tx, |_| true);
    }
}

#[test]
fn an_unfinished_chain_stays_and_a_whole_one_goes() {
    let region = region(64, 1, Sharing::Private);
    let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region, 64, Pipe::Within, Pipe::Within);
    send(&mut tx, b"one", false);
    send(&mut tx, b"two-", true);
    assert_eq!(a.sync(&mut tx, |_| true).slots, 1);
    send(&mut tx, b"parts", false);
    let moved = a.sync(&mut tx, |_| true);
    assert_eq!((moved.slots, moved.frames, moved.bytes), (2, 1, 9));
    assert_eq!(b.sync(&mut rx), 3);
    let got: Vec<_> = std::iter::from_fn(|| receive(&mut rx)).collect();
    assert_eq!(got[1], (b"two-".to_vec(), flags::MOREFRAG));
    assert_eq!(got[2], (b"parts".to_vec(), 0));
}

#[test]
fn a_chain_of_more_than_64_slots_is_refused_and_counted() {
    let region = region(256, 1, Sharing::Private);
    let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region, 256, Pipe::Within, Pipe::Within);
    send(&mut tx, b"before", false);
    for _ in 0..70 {
        send(&mut tx, b"x", true);
    }
    send(&mut tx, b"end", false);
    send(&mut tx, b"after", false);
    let moved = a.sync(&mut tx, |_| true);
    assert_eq!((moved.frames, moved.too_many_fragments, moved.bytes), (2, 1, 11));
    let n = b.sync(&mut rx);
    let got: Vec<_> = (0..n).filter_map(|_| receive(&mut rx)).map(|(bytes, _)| bytes).collect();
    assert_eq!(got, [b"before".to_vec(), b"after".to_vec()]);
}

#[test]
fn admission_stops_between_frames() {
    let region = region(64, 1, Sharing::Private);
    let ((mut tx, mut a), _) = pipe(&region, 64, Pipe::Within, Pipe::Within);
    for _ in 0..4 {
        send(&mut tx, &[0; 100], false);
    }
    let mut left = 250usize;
    let moved = a.sync(&mut tx, |bytes| {
        let ok = bytes <= left;
        left -= if ok { bytes } else { 0 };
        ok
    });
    assert_eq!((moved.frames, moved.bytes, tx.pending()), (2, 200, 2));
}

#[test]
fn swapped_buffers_travel_and_come_home() {
    let region = region(64, 2, Sharing::Private);
    let ((mut tx1, mut a1), (mut rx1, mut b1)) = pipe(&region, 64, Pipe::Within, Pipe::Within);
    let ((mut tx2, mut a2), (mut rx2, mut b2)) = pipe(&region, 64, Pipe::Within, Pipe::Within);
    let buffers = |tx1: &TxRing, tx2: &TxRing| -> Vec<u32> {
        let mut all: Vec<u32> = Vec::new();
        for ring in [tx1, tx2] {
            all.extend((0..64).map(|k| ring.slot_word(k).buf_idx()));
        }
        all.sort_unstable();
        all
    };
    let before = buffers(&tx1, &tx2);
    for n in 0..if cfg!(miri) { 70 } else { 200u32 } {
        send(&mut tx1, &n.to_le_bytes(), false);
        a1.sync(&mut tx1, |_| true);
        b1.sync(&mut rx1);
        assert_eq!(forward(rx1.batch(8), tx2.reserve(8), 8, |_| true), Some((1, 1)));
        b1.sync(&mut rx1);
        a2.sync(&mut tx2, |_| true);
        b2.sync(&mut rx2);
        assert_eq!(receive(&mut rx2).unwrap().0, n.to_le_bytes());
        b2.sync(&mut rx2);
    }
    a1.reclaim(&mut tx1);
    a2.reclaim(&mut tx2);
    let after = buffers(&tx1, &tx2);
    assert_eq!(before, after, "no buffer is lost, none is in two places");
    assert_eq!(after.windows(2).filter(|w| w[0] == w[1]).count(), 0);
}

#[test]
fn extra_buffers_are_swapped_in_and_out() {
    let region = region(64, 1, Sharing::Private);
    let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region, 64, Pipe::Within, Pipe::Within);
    let mut extra = region.extra_buffers(2).unwrap();
    let was = extra[0].index();
    let mut batch = tx.reserve(1);
    assert!(batch.swap(0, &mut extra[0]));
    assert!(batch.put(0, b"in an extra buffer"));
    batch.commit(1);
    assert_ne!(extra[0].index(), was);
    a.sync(&mut tx, |_| true);
    b.sync(&mut rx);
    let mut batch = rx.batch(1);
    assert!(batch.swap(0, &mut extra[1]), "the receiver keeps the frame");
    batch.release(1);
    assert_eq!(extra[1].index(), was);
    let other = self::region(64, 1, Sharing::Private);
    let mut foreign = other.extra_buffers(1).unwrap();
    assert!(!tx.reserve(1).swap(0, &mut foreign[0]), "another region's buffer is refused");
}

#[test]
fn threads_hand_over_every_frame_once_and_in_order() {
    let frames: u32 = if cfg!(miri) { 150 } else { 200_000 };
    let region = region(64, 1, Sharing::Private);
    let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region, 64, Pipe::Within, Pipe::Within);
    let sender = std::thread::spawn(move || {
        let mut next = 0u32;
        while next < frames {
            let mut batch = tx.reserve(16);
            let n = batch.len().min(frames - next);
            for i in 0..n {
                assert!(batch.put(i, &(next + i).to_le_bytes()));
            }
            batch.commit(n);
            next += n;
            if a.sync(&mut tx, |_| true).slots == 0 {
                std::thread::yield_now();
            }
        }
    });
    let mut next = 0u32;
    while next < frames {
        if b.sync(&mut rx) == 0 {
            std::thread::yield_now();
        }
        let mut batch = rx.batch(16);
        for i in 0..batch.len() {
            let (frame, _) = batch.frame(i).unwrap();
            assert_eq!(frame.bytes().unwrap(), (next + i).to_le_bytes());
        }
        let n = batch.len();
        batch.release(n);
        next += n;
    }
    sender.join().unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "miri has no shared memory")]
fn a_dead_consumer_costs_only_what_was_on_its_way() {
    let region = region(64, 1, Sharing::Shared);
    let pair = region.ring_pair(0, 64).unwrap();
    let (mut tx, mut a) = Pipe::Within.sender(&region, &pair, 0).unwrap();
    let (mut rx, mut b) = Pipe::Within.receiver(&region, &pair, 0).unwrap();
    for i in 0..10u8 {
        send(&mut tx, &[i], false);
    }
    a.sync(&mut tx, |_| true);
    b.sync(&mut rx);
    for _ in 0..3 {
        receive(&mut rx);
    }
    b.sync(&mut rx);
    drop((rx, b));
    send(&mut tx, b"still mine", false);
    let (lost, start) = a.reset(&mut tx);
    assert_eq!((lost, start), (7, 10));
    assert_eq!(tx.free(), 62, "all slots are back but the one that is not sent yet");
    let (mut rx, mut b) = Pipe::Within.receiver(&region, &pair, start).unwrap();
    a.sync(&mut tx, |_| true);
    b.sync(&mut rx);
    assert_eq!(receive(&mut rx).unwrap().0, b"still mine");
}

#[test]
#[cfg_attr(miri, ignore = "miri has no shared memory")]
fn a_dead_producer_leaves_what_it_had_published() {
    let region = region(64, 1, Sharing::Shared);
    let pair = region.ring_pair(0, 64).unwrap();
    let (mut tx, mut a) = Pipe::Within.sender(&region, &pair, 0).unwrap();
    let (mut rx, mut b) = Pipe::Within.receiver(&region, &pair, 0).unwrap();
    send(&mut tx, b"last words", false);
    a.sync(&mut tx, |_| true);
    send(&mut tx, b"never synced", false);
    drop((tx, a));
    assert_eq!(b.reset(&mut rx), None, "a frame waits");
    assert_eq!(receive(&mut rx).unwrap().0, b"last words");
    assert_eq!(b.reset(&mut rx), Some(1));
    let (mut tx, mut a) = Pipe::Within.sender(&region, &pair, 1).unwrap();
    send(&mut tx, b"next one", false);
    a.sync(&mut tx, |_| true);
    b.sync(&mut rx);
    assert_eq!(receive(&mut rx).unwrap().0, b"next one");
}

#[test]
fn a_sleeper_is_told_once() {
    let region = region(64, 1, Sharing::Private);
    let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region, 64, Pipe::Within, Pipe::Within);
    assert!(!a.must_wake());
    assert!(b.fall_asleep());
    send(&mut tx, b"x", false);
    a.sync(&mut tx, |_| true);
    assert!(a.must_wake());
    assert!(!a.must_wake());
    assert!(!b.fall_asleep(), "something came: stay awake");
    b.sync(&mut rx);
    assert!(b.fall_asleep());
}

#[test]
fn a_sleeping_sender_is_told_of_another_pause() {
    let region = region(64, 1, Sharing::Private);
    let ((_tx, mut a), (_rx, mut b)) = pipe(&region, 64, Pipe::Within, Pipe::Within);
    assert_eq!(a.pause().priorities(), 0);
    b.pause(0x18);
    assert!(!a.fall_asleep(), "it has not looked");
    let first = a.pause();
    assert_eq!(first.priorities(), 0x18);
    assert!(a.fall_asleep());
    b.pause(0x18);
    assert!(b.must_wake() && !a.fall_asleep());
    assert!(a.pause() != first && a.pause().priorities() == 0x18, "asked for anew");
    assert!(a.fall_asleep());
    b.pause(0);
    assert!(b.must_wake());
    assert_eq!(a.pause().priorities(), 0);
}

#[derive(Clone, Debug)]
enum Op {
    Send(Vec<u8>),
    SyncTx,
    SyncRx,
    Receive,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 1..256).prop_map(Op::Send),
        1 => Just(Op::SyncTx),
        1 => Just(Op::SyncRx),
        4 => Just(Op::Receive),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 256 }, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_pipe_is_a_queue(ops in prop::collection::vec(op(), 1..if cfg!(miri) { 60 } else { 400 })) {
        let region = region(64, 1, Sharing::Private);
        let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region, 64, Pipe::Within, Pipe::Within);
        let (mut committed, mut published) = (VecDeque::new(), VecDeque::new());
        let mut delivered: VecDeque<Vec<u8>> = VecDeque::new();
        for op in ops {
            match op {
                Op::Send(bytes) => if send(&mut tx, &bytes, false) { committed.push_back(bytes) },
                Op::SyncTx => { a.sync(&mut tx, |_| true); published.append(&mut committed); }
                Op::SyncRx => { b.sync(&mut rx); delivered.append(&mut published); }
                Op::Receive => prop_assert_eq!(receive(&mut rx).map(|(bytes, _)| bytes), delivered.pop_front()),
            }
            prop_assert!(committed.len() + published.len() + delivered.len() <= 63);
        }
    }
}
