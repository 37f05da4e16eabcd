//! Tests at the edges of a ring, of a batch and of the arguments that a call accepts.

use linerate_ring::{
    Alike, Foreign, Meta, Pipe, Region, RegionConfig, RegionError, RxRing, Sharing, TxRing, flags, forward,
};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::Arc;

fn config(slots: u32, rings: u32) -> RegionConfig {
    let ring_bytes = Region::ring_room(slots) * rings as usize;
    RegionConfig { buf_size: 512, buffers: slots * rings + 8, ring_bytes, sharing: Sharing::Private, huge: false }
}

fn region(slots: u32, rings: u32) -> Arc<Region> {
    Region::new(&config(slots, rings)).unwrap()
}

/// The first run ends where the ring does; the second begins where the ring begins.
#[test]
fn the_slots_of_a_batch_lie_in_two_runs_across_the_rings_end() {
    let region = region(64, 2);
    let (mut tx, mut rx) = (TxRing::new(&region, 0, 64).unwrap(), RxRing::new(&region, 1, 64).unwrap());
    assert_eq!((tx.slots(), rx.slots()), (64, 64));
    tx.reserve(60).commit(60);
    tx.own().unwrap().take(60);
    tx.own().unwrap().complete(60);
    let mut batch = tx.reserve(10);
    (0..10).for_each(|i| batch.set(i, 100 + i as usize, 0));
    let (first, second) = batch.slots();
    let lengths: Vec<u16> = first.iter().chain(second).map(|slot| slot.word().len()).collect();
    assert_eq!((first.len(), second.len(), lengths), (4, 6, (100..110).collect()));
    let batch = tx.reserve(3);
    assert_eq!((batch.slots().0.len(), batch.slots().1.len()), (3, 0));

    rx.own().unwrap().deliver(60);
    rx.batch(60).release(60);
    for k in 0..10 {
        rx.own().unwrap().set_free(k, 200 + k as usize, 0, None);
    }
    rx.own().unwrap().deliver(10);
    let batch = rx.batch(10);
    let (first, second) = batch.slots();
    let lengths: Vec<u16> = first.iter().chain(second).map(|slot| slot.word().len()).collect();
    assert_eq!((first.len(), second.len(), lengths), (4, 6, (200..210).collect()));
}

/// Forwards frames by exchange when each ring ends within the batch, at another place.
#[test]
fn frames_are_exchanged_across_the_ends_of_both_rings() {
    let region = region(64, 2);
    let (mut tx, mut rx) = (TxRing::new(&region, 0, 64).unwrap(), RxRing::new(&region, 1, 64).unwrap());
    tx.reserve(50).commit(50);
    tx.own().unwrap().take(50);
    tx.own().unwrap().complete(50);
    rx.own().unwrap().deliver(57);
    rx.batch(57).release(57);
    let mut all: Vec<u32> = (0..64).flat_map(|k| [tx.slot_word(k).buf_idx(), rx.slot_word(k).buf_idx()]).collect();
    for k in 0..30u8 {
        assert!(rx.own().unwrap().free_frame(k.into()).unwrap().write(0, &[k; 60]));
        rx.own().unwrap().set_free(k.into(), 60, 0, None);
    }
    rx.own().unwrap().deliver(30);
    let (from, to) = (rx.batch(30), tx.reserve(30));
    assert_eq!(forward(from, to, 30, |_| true), Some((30, 30)));
    assert_eq!((rx.available(), tx.pending()), (0, 30));
    for k in 0..30u8 {
        assert_eq!(tx.pending_frame(k.into()).to_vec(), [k; 60]);
    }
    let mut now: Vec<u32> = (0..64).flat_map(|k| [tx.slot_word(k).buf_idx(), rx.slot_word(k).buf_idx()]).collect();
    all.sort_unstable();
    now.sort_unstable();
    assert_eq!(all, now, "each buffer in one slot");
}

/// Delivers a slot whose buffer was taken out.
#[test]
fn a_slot_without_a_buffer_is_not_forwarded() {
    let region = region(64, 2);
    let (mut tx, mut rx) = (TxRing::new(&region, 0, 64).unwrap(), RxRing::new(&region, 1, 64).unwrap());
    let buffer = rx.own().unwrap().take_buffer().unwrap();
    (0..2).for_each(|k| rx.own().unwrap().set_free(k, 60, 0, None));
    rx.own().unwrap().deliver(2);
    assert_eq!((rx.slot_word(0).buf_idx(), rx.slot_word(0).len()), (0, 60));
    let (from, to) = (rx.batch(2), tx.reserve(2));
    assert_eq!(forward(from, to, 2, |_| true), Some((2, 1)));
    assert!(tx.slot_word(0).buf_idx() >= 2 && rx.slot_word(0).buf_idx() == 0);
    assert!(rx.own().unwrap().deliver_buffer(buffer, 60, 0, None).is_err(), "the next slot has one");
}

/// A frame that just fits is copied in, in one slot and in several; the next does not fit, and nothing of it is
/// visible.
#[test]
fn frames_are_copied_in_until_the_last_slot_is_taken() {
    let region = region(64, 1);
    let mut rx = RxRing::new(&region, 0, 64).unwrap();
    let one = usize::from(rx.slot_word(0).len()).max(rx.own().unwrap().free_frame(0).unwrap().len());
    for (frame, slots) in [(vec![1; 60], 60), (vec![2; 2 * one + 1], 3)] {
        for _ in 0..slots / frame.len().div_ceil(one) {
            assert!(rx.own().unwrap().deliver_copy(&frame, None));
        }
    }
    assert_eq!((rx.own().unwrap().room(), rx.available()), (0, 63));
    assert!(!rx.own().unwrap().deliver_copy(&[3; 60], None));
    rx.batch(2).release(2);
    assert!(!rx.own().unwrap().deliver_copy(&vec![4; 2 * one + 1], None));
    assert_eq!((rx.own().unwrap().room(), rx.available()), (2, 61));
}

#[test]
fn a_pipes_sender_gets_the_buffers_that_a_run_was_exchanged_for() {
    let region = region(64, 3);
    let pair = region.ring_pair(0, 64).unwrap();
    let (mut tx, mut a) = Pipe::Within.sender(&region, &pair, 0).unwrap();
    let (mut rx, mut b) = Pipe::Within.receiver(&region, &pair, 0).unwrap();
    let mut to = TxRing::new(&region, 1, 64).unwrap();
    let mut batch = tx.reserve(10);
    (0..10).for_each(|i| assert!(batch.put(i, &[7; 60])));
    batch.commit(10);
    a.sync(&mut tx, |_| true);
    assert_eq!(b.sync(&mut rx), 10);
    let (mut batch, mut free) = (rx.batch(10), to.reserve(10));
    assert_eq!(batch.move_run(0, &mut free, 0, &Alike::new([7; 16], [0xff; 16], 60)), (10, 600));
    free.commit(10);
    batch.release(10);
    b.sync(&mut rx);
    a.reclaim(&mut tx);
    assert_eq!(tx.outstanding(), 0);
    let mut all: Vec<u32> = (0..64).flat_map(|k| [tx.slot_word(k).buf_idx(), to.slot_word(k).buf_idx()]).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 128, "each buffer in one slot");
}

/// Enough rings that their sizes exceed the room added to a region for alignment.
#[test]
#[cfg_attr(miri, ignore = "a large region")]
fn as_many_rings_fit_as_room_was_asked_for() {
    let region = region(8192, 24);
    let rings: Vec<_> = (0..24).map(|id| TxRing::new(&region, id, 8192)).collect();
    assert!(rings.iter().all(Result::is_ok));
    assert!(TxRing::new(&region, 24, 8192).is_err());
}

#[test]
fn what_is_changed_in_place_is_what_leaves() {
    let region = region(64, 1);
    let mut tx = TxRing::new(&region, 0, 64).unwrap();
    let mut batch = tx.reserve(1);
    assert!(batch.put(0, &[1; 80]));
    let mut frame = batch.frame(0);
    assert_eq!(frame.bytes().unwrap().len(), frame.len());
    frame.bytes_mut().unwrap()[79] = 7;
    batch.commit(1);
    let mut frame = tx.pending_frame(0);
    assert_eq!((frame.bytes().unwrap()[78..].to_vec(), frame.bytes_mut().unwrap().len()), (vec![1, 7], 80));
}

/// Slots from the `from`th on: length, flags, metadata and bytes.
fn pending(ring: &mut TxRing, from: u32) -> Vec<(u16, u16, Option<Meta>, Vec<u8>)> {
    let all = from..ring.pending();
    all.map(|i| {
        let (word, meta) = (ring.pending_word(i), ring.pending_meta(i));
        (word.len(), word.flags(), meta, ring.pending_frame(i).to_vec())
    })
    .collect()
}

#[test]
fn what_is_committed_is_carried_to_another_ring_with_its_chains_and_metadata() {
    let (small, large) = (region(64, 1), Region::new(&RegionConfig { buf_size: 2048, ..config(64, 1) }).unwrap());
    let (mut to, mut from) = (TxRing::new(&small, 0, 64).unwrap(), TxRing::new(&large, 0, 64).unwrap());
    let meta = Meta { gso_size: 9, ..Meta::default() };
    let fits = u16::try_from(to.usable()).unwrap();
    let slots: [(u16, u16); 9] = [
        (60, 0),
        (fits, flags::MOREFRAG),
        (7, 0),
        // A frame that is too long, and a chain with one slot that is too long.
        (fits + 1, 0),
        (20, flags::MOREFRAG),
        (fits + 1, flags::MOREFRAG),
        (21, 0),
        (61, flags::META),
        // A chain that goes on with the slots committed next.
        (62, flags::MOREFRAG),
    ];
    let mut batch = from.reserve(9);
    for (i, (len, flags)) in (0..).zip(slots) {
        assert!(batch.put(i, &vec![u8::try_from(i).unwrap(); len.into()]));
        batch.set(i, len.into(), flags);
        if flags & flags::META != 0 {
            batch.set_meta(i, meta);
        }
    }
    batch.commit(9);
    assert_eq!(to.carry_over(&mut from), (2, false), "frames that stay behind");
    assert_eq!((from.pending(), to.pending()), (0, 5));
    let wanted: Vec<_> = [0, 1, 2, 7, 8]
        .map(|i: u8| {
            let (len, flags) = slots[usize::from(i)];
            (len, flags, (flags & flags::META != 0).then_some(meta), vec![i; len.into()])
        })
        .to_vec();
    assert_eq!(pending(&mut to, 0), wanted);

    // No more frames than there is room for, in order, and whole.
    from.own().unwrap().complete(9);
    let mut batch = from.reserve(60);
    (0..60).for_each(|i| assert!(batch.put(i, &[100; 50])));
    batch.set(57, 50, flags::MOREFRAG);
    batch.set(58, 50, flags::MOREFRAG);
    batch.commit(60);
    assert_eq!(to.carry_over(&mut from), (1, false), "the chain has three slots, and one is free");
    assert_eq!((from.pending(), to.pending()), (0, 62));
    from.own().unwrap().complete(60);
    let mut batch = from.reserve(2);
    (0..2).for_each(|i| batch.set(i, 50, flags::MOREFRAG));
    batch.commit(2);
    assert_eq!(to.carry_over(&mut from), (1, true), "its end is still to come");
}

#[test]
fn a_buffer_is_delivered_to_its_own_region_alone() {
    let (here, there) = (region(64, 1), region(64, 1));
    let (mut here, mut there) = (RxRing::new(&here, 0, 64).unwrap(), RxRing::new(&there, 0, 64).unwrap());
    let (mut ring, mut other) = (here.own().unwrap(), there.own().unwrap());
    let (mine, theirs) = (ring.take_buffer().unwrap(), other.take_buffer().unwrap());
    let theirs = ring.deliver_buffer(theirs, 60, 0, None).expect_err("of another region");
    let mine = ring.deliver_buffer(mine, ring.usable() + 1, 0, None).expect_err("longer than a buffer");
    assert!(ring.deliver_buffer(mine, ring.usable(), flags::MOREFRAG, None).is_ok());
    assert_eq!((ring.available(), ring.slot_word(0).len()), (1, u16::try_from(ring.usable()).unwrap()));
    assert!(other.deliver_buffer(theirs, 60, 0, None).is_ok());
}

#[test]
fn a_region_that_cannot_be_is_refused_by_the_number() {
    let good = config(64, 2);
    let refused = |config: RegionConfig| match Region::new(&config) {
        Err(RegionError::Config { what, got, .. }) => (what, got),
        other => panic!("{config:?}: {other:?}"),
    };
    for buf_size in [0, 256, 511, 513, 131_072] {
        assert_eq!(refused(RegionConfig { buf_size, ..good }), ("the buffer size", buf_size.into()));
    }
    let buffers = u32::MAX / 4 + 1;
    assert_eq!(refused(RegionConfig { buffers, ..good }), ("the number of buffers", buffers.into()));
    let ring_bytes = (1 << 34) + 1;
    assert_eq!(refused(RegionConfig { ring_bytes, ..good }), ("the ring room", ring_bytes as u64));
}

/// Each close waits for the one before: a thread that has closed takes the next, or makes room for another.
#[test]
#[cfg_attr(miri, ignore = "pipes and threads in numbers")]
fn closes_go_on_however_many_there_were() {
    for _ in 0..100 {
        let (mut reader, writer) = std::io::pipe().unwrap();
        drop(Foreign::from(OwnedFd::from(writer)));
        assert_eq!(reader.read(&mut [0; 1]).unwrap(), 0);
    }
}
