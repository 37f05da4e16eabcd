//! Attacks that must fail: by safe code of this process, and by another process on this one.

use linerate_ring::{
    Alike, Buffer, Meta, Pipe, PipeRx, PipeTx, Region, RegionConfig, RegionError, RxRing, Sharing, TxRing,
};
use linerate_ring::{flags, forward};
use std::sync::Arc;

#[cfg(not(miri))]
mod script;

fn region(pairs: u32, sharing: Sharing) -> Arc<Region> {
    let ring_bytes = Region::ring_room(64) * 2 * pairs as usize + 4096;
    let config = RegionConfig { buf_size: 512, buffers: 64 * pairs + 8, ring_bytes, sharing, huge: false };
    Region::new(&config).unwrap()
}

type Ends = ((TxRing, PipeTx), (RxRing, PipeRx));

fn pipe(region: &Arc<Region>) -> Ends {
    let pair = region.ring_pair(0, 64).unwrap();
    (Pipe::Within.sender(region, &pair, 0).unwrap(), Pipe::Within.receiver(region, &pair, 0).unwrap())
}

fn send(ring: &mut TxRing, bytes: &[u8], flags: u16) {
    let mut batch = ring.reserve(1);
    assert!(batch.put(0, bytes));
    batch.set(0, bytes.len(), flags);
    batch.commit(1);
}

fn receive(ring: &mut RxRing) -> Option<Vec<u8>> {
    let mut batch = ring.batch(1);
    let frame = (!batch.is_empty()).then(|| batch.frame(0).map(|(frame, _)| frame.to_vec())).flatten();
    let n = batch.len();
    batch.release(n);
    frame
}

/// The buffers of a transmit ring, which must all be different.
fn buffers(ring: &TxRing) -> Vec<u32> {
    let mut all: Vec<u32> = (0..64).map(|k| ring.slot_word(k).buf_idx()).collect();
    all.sort_unstable();
    all
}

mod safe_code {
    use super::*;

    #[test]
    fn takes_each_half_of_a_private_pair_once() {
        let (region, other) = (region(2, Sharing::Private), region(2, Sharing::Private));
        let (pair, second) = (region.ring_pair(0, 64).unwrap(), region.ring_pair(1, 64).unwrap());
        let mut forged = pair;
        forged.first_buf = second.first_buf;
        let mut crossed = pair;
        crossed.rx = second.rx;
        for bad in [forged, crossed] {
            assert!(matches!(Pipe::Within.sender(&region, &bad, 0), Err(RegionError::Taken { half: "sender" })));
            assert!(matches!(Pipe::Within.receiver(&region, &bad, 0), Err(RegionError::Taken { half: "receiver" })));
        }
        assert!(Pipe::Within.sender(&region, &pair, 1).is_err(), "cursors start where the lines do");
        assert!(Pipe::Within.sender(&other, &pair, 0).is_err(), "another region's");
        assert!(Pipe::Maker.sender(&region, &pair, 0).is_err(), "a private region between processes");
        let sender = Pipe::Within.sender(&region, &pair, 0).unwrap();
        assert!(Pipe::Within.sender(&region, &pair, 0).is_err());
        drop(sender);
        assert!(Pipe::Within.sender(&region, &pair, 0).is_err(), "its buffers may be anywhere by now");
        let _receiver = Pipe::Within.receiver(&region, &pair, 0).unwrap();
        assert!(Pipe::Within.receiver(&region, &pair, 0).is_err());
    }

    #[test]
    fn cannot_play_the_engine_of_a_pipes_ring() {
        let region = region(1, Sharing::Private);
        let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region);
        send(&mut tx, b"lent", 0);
        assert!(tx.own().is_none());
        a.sync(&mut tx, |_| true);
        assert!(tx.own().is_none() && rx.own().is_none());
        b.sync(&mut rx);
        assert_eq!(receive(&mut rx).unwrap(), b"lent");
    }

    #[test]
    fn cannot_use_a_pipe_with_another_ring() {
        let region = region(3, Sharing::Private);
        let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region);
        let ((mut tx2, _a2), (mut rx2, _b2)) = pipe(&region);
        let (mut own_tx, mut own_rx) = (TxRing::new(&region, 0, 64), RxRing::new(&region, 0, 64));
        for other in [&mut tx2].into_iter().chain(own_tx.as_mut().ok()) {
            send(other, b"not this pipe's", 0);
            assert_eq!(a.sync(other, |_| true).slots, 0);
            assert_eq!(a.reset(other), (0, 0));
            assert_eq!(other.pending(), 1);
        }
        send(&mut tx, b"mine", 0);
        a.sync(&mut tx, |_| true);
        for other in [&mut rx2].into_iter().chain(own_rx.as_mut().ok()) {
            assert_eq!(b.sync(other), 0);
            assert_eq!(other.available(), 0);
        }
        assert_eq!(b.sync(&mut rx), 1);
    }

    #[test]
    fn cannot_take_slots_back_from_a_receiver_that_lives() {
        let region = region(1, Sharing::Private);
        let pair = region.ring_pair(0, 64).unwrap();
        let (mut tx, mut a) = Pipe::Within.sender(&region, &pair, 0).unwrap();
        let (mut rx, mut b) = Pipe::Within.receiver(&region, &pair, 0).unwrap();
        send(&mut tx, b"lent", 0);
        a.sync(&mut tx, |_| true);
        b.sync(&mut rx);
        assert_eq!(a.reset(&mut tx), (0, 1));
        region.renew(&pair, 1);
        a.reclaim(&mut tx);
        assert_eq!(tx.in_flight(), 1);
        drop(b);
        assert_eq!(a.reset(&mut tx), (0, 1), "the ring alone holds frames");
        assert_eq!(rx.batch(1).frame(0).unwrap().0.bytes().unwrap(), b"lent");
        drop(rx);
        assert_eq!(a.reset(&mut tx), (1, 1));
        assert_eq!(tx.free(), 63);
    }

    #[test]
    fn gets_no_buffer_twice_from_a_receiver_that_died_with_swapped_slots() {
        let region = region(2, Sharing::Private);
        let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region);
        let ((mut tx2, _a2), _) = pipe(&region);
        let mut before = [buffers(&tx), buffers(&tx2)].concat();
        for n in 0..8u8 {
            send(&mut tx, &[n], 0);
        }
        a.sync(&mut tx, |_| true);
        b.sync(&mut rx);
        assert_eq!(forward(rx.batch(5), tx2.reserve(5), 5, |_| true), Some((5, 5)));
        drop((rx, b));
        a.reset(&mut tx);
        let mut after = [buffers(&tx), buffers(&tx2)].concat();
        before.sort_unstable();
        after.sort_unstable();
        assert_eq!(before, after);
    }

    #[test]
    fn gets_no_buffer_twice_by_taking_it_from_a_delivered_slot() {
        let region = region(1, Sharing::Private);
        let mut rx = RxRing::new(&region, 0, 64).unwrap();
        assert!(rx.own().unwrap().deliver_copy(b"copied", None) && rx.own().unwrap().deliver_copy(b"twice", None));
        let delivered = [rx.slot_word(0).buf_idx(), rx.slot_word(1).buf_idx()];
        let taken: Vec<Buffer> = std::iter::from_fn(|| rx.own().unwrap().take_buffer()).collect();
        assert_eq!(taken.len(), 62, "all but the delivered ones");
        assert!(taken.iter().all(|buffer| !delivered.contains(&buffer.index())));
        assert_eq!(receive(&mut rx).unwrap(), b"copied");
        assert_eq!(rx.own().unwrap().take_buffer().unwrap().index(), delivered[0]);
        // Slots without buffers are delivered as they are, with their old words: nothing can be read from them.
        assert_eq!(receive(&mut rx).unwrap(), b"twice");
        rx.own().unwrap().deliver(63);
        for _ in 0..63 {
            assert_eq!(receive(&mut rx), None);
        }
    }

    #[test]
    fn cannot_reach_beyond_a_frame() {
        for sharing in [Sharing::Private, Sharing::Shared].into_iter().take(if cfg!(miri) { 1 } else { 2 }) {
            let region = region(1, sharing);
            let mut tx = TxRing::new(&region, 0, 64).unwrap();
            send(&mut tx, &[7; 40], 0);
            let mut frame = tx.pending_frame(0);
            assert_eq!(frame.len(), 40);
            for at in [0, 1, 7, 8, 9, 31, 32, 33, 39, 40, 41, 64, usize::MAX - 8, usize::MAX] {
                let fits = |len: usize| at <= 40 && len <= 40 - at;
                assert_eq!(frame.matches(at, &[7; 32], &[0xff; 32]), fits(32), "{at}");
                assert_eq!(frame.read_u64(at).is_some(), fits(8), "{at}");
                assert_eq!(frame.write_u64(at, u64::from_ne_bytes([7; 8])), fits(8), "{at}");
                for len in [0, 1, 8, 32, 40, 41] {
                    assert_eq!(frame.holds(at, &vec![7; len]), fits(len), "{len} at {at}");
                    assert_eq!(frame.read(at, &mut vec![0; len]), fits(len), "{len} at {at}");
                    assert_eq!(frame.write(at, &vec![7; len]), fits(len), "{len} at {at}");
                }
            }
            assert_eq!(frame.to_vec(), [7; 40]);
        }
    }

    #[test]
    #[should_panic(expected = "slot 1 of 1 pending ones")]
    fn cannot_reach_beyond_pending_slots() {
        let region = region(1, Sharing::Private);
        let mut tx = TxRing::new(&region, 0, 64).unwrap();
        send(&mut tx, b"one", 0);
        let _ = tx.pending_frame(1);
    }
}

#[test]
fn a_refused_chain_stays_refused_when_it_comes_in_parts() {
    let region = region(1, Sharing::Private);
    let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region);
    for _ in 0..63 {
        send(&mut tx, b"x", flags::MOREFRAG);
    }
    let moved = a.sync(&mut tx, |_| true);
    assert_eq!((moved.slots, moved.frames, moved.too_many_fragments), (63, 0, 1), "it fills the ring: never whole");
    b.sync(&mut rx);
    while rx.available() > 0 {
        assert_eq!(receive(&mut rx), None);
    }
    b.sync(&mut rx);
    a.reclaim(&mut tx);
    send(&mut tx, b"the rest", flags::MOREFRAG);
    a.sync(&mut tx, |_| true);
    send(&mut tx, b"its end", 0);
    send(&mut tx, b"another", 0);
    let moved = a.sync(&mut tx, |_| true);
    assert_eq!((moved.slots, moved.frames, moved.too_many_fragments), (2, 1, 0));
    b.sync(&mut rx);
    let got: Vec<_> = std::iter::from_fn(|| (rx.available() > 0).then(|| receive(&mut rx))).flatten().collect();
    assert_eq!(got, [b"another"]);
}

#[test]
fn the_rest_of_a_chain_that_was_refused_or_left_behind_is_refused_by_the_next_pipe() {
    for (full, open, first) in [(true, false, "another"), (false, true, "another"), (false, false, "its end")] {
        let region = region(4, Sharing::Private);
        let pairs = [region.ring_pair(0, 64).unwrap(), region.ring_pair(1, 64).unwrap()];
        let [old, new] = pairs.map(|pair| Pipe::Within.sender(&region, &pair, 0).unwrap());
        let (mut rx, mut b) = Pipe::Within.receiver(&region, &pairs[1], 0).unwrap();
        let ((mut gone, mut a), (mut tx, mut next)) = (old, new);
        (0..if full { 63 } else { 1 }).for_each(|_| send(&mut gone, b"x", flags::MOREFRAG));
        assert_eq!(a.sync(&mut gone, |_| true).too_many_fragments, full.into());
        next.inherit(&a, open);
        send(&mut tx, b"its end", 0);
        send(&mut tx, b"another", 0);
        next.sync(&mut tx, |_| true);
        b.sync(&mut rx);
        let got = std::iter::from_fn(|| (rx.available() > 0).then(|| receive(&mut rx))).flatten().next();
        assert_eq!(got.as_deref(), Some(first.as_bytes()));
    }
}

/// Regression: the part of the chain that fitted was carried over and went on with the next frame.
#[test]
fn a_chain_that_does_not_fit_a_successors_ring_stays_behind_whole() {
    let region = region(4, Sharing::Private);
    let mut old = TxRing::new(&region, 0, 128).unwrap();
    let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region);
    for _ in 0..40 {
        send(&mut old, b"single", 0);
    }
    for _ in 0..29 {
        send(&mut old, b"chain", flags::MOREFRAG);
    }
    send(&mut old, b"chain", 0);
    send(&mut old, b"short", 0);
    assert_eq!(tx.carry_over(&mut old), (1, false));
    assert_eq!((old.pending(), tx.pending()), (0, 41));
    assert_eq!(a.sync(&mut tx, |_| true).frames, 41);
    b.sync(&mut rx);
    let got: Vec<_> = std::iter::from_fn(|| receive(&mut rx)).collect();
    assert_eq!(got[40], b"short");
}

#[cfg(not(miri))]
mod another_process {
    use super::*;
    use crate::script;
    use linerate_ring::{Bell, RingPair};
    use proptest::prelude::*;
    use std::fs::File;
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    use std::os::unix::fs::FileExt;
    use std::os::unix::net::UnixDatagram;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn scribbles_in_vain(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            script::run(&bytes);
        }
    }

    /// Seeds and findings of the fuzzer; one is a ring full of one chain that its successor had to empty.
    #[test]
    fn scribbles_as_it_once_did() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/slots");
        let scripts: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(scripts.iter().any(|path| path.ends_with("full-ring-of-one-chain")));
        scripts.iter().for_each(|path| script::run(&std::fs::read(path).unwrap()));
    }

    #[test]
    fn cannot_make_a_full_ring_fuller() {
        let region = region(1, Sharing::Shared);
        let pair = region.ring_pair(0, 64).unwrap();
        let (mut rx, mut b) = Pipe::Maker.receiver(&region, &pair, 0).unwrap();
        let file = File::from(region.file().unwrap().try_clone_to_owned().unwrap());
        file.write_all_at(&64u32.to_le_bytes(), pair.lines).unwrap();
        assert_eq!((b.sync(&mut rx), b.violations()), (0, 1), "one more than can be out");
        file.write_all_at(&63u32.to_le_bytes(), pair.lines).unwrap();
        assert_eq!((b.sync(&mut rx), b.violations()), (63, 1));
    }

    /// Frames leave as they were committed, although another process can write lengths and flags in shared slots.
    #[test]
    fn cannot_change_what_was_committed() {
        let region = region(1, Sharing::Shared);
        let pair = region.ring_pair(0, 64).unwrap();
        let (mut tx, mut a) = Pipe::Maker.sender(&region, &pair, 0).unwrap();
        let file = region.file().unwrap().try_clone_to_owned().unwrap();
        let joined = Region::join(file.into(), region.buf_area(), region.buf_size(), region.buffers()).unwrap();
        let (mut rx, mut b) = Pipe::Joiner.receiver(&joined, &pair, 0).unwrap();
        let file = File::from(region.file().unwrap().try_clone_to_owned().unwrap());
        // Void, a chain without an end, longer than a buffer, with an offload request, noise.
        for word in [0, 60 << 32 | 0x20 << 48, 0xffff << 32, 60 << 32 | 0x80 << 48, u64::MAX, 0x1234_5678_9abc_def0] {
            send(&mut tx, b"plain", 0);
            send(&mut tx, b"cha", flags::MOREFRAG);
            send(&mut tx, b"in", 0);
            let mut batch = tx.reserve(1);
            assert!(batch.put(0, b"asks"));
            batch.set_meta(0, linerate_ring::Meta { flags: 1, ..Default::default() });
            batch.commit(1);
            for k in 0..64 {
                file.write_all_at(&word.to_le_bytes(), pair.tx.ring + 256 + 16 * k).unwrap();
            }
            assert_eq!((0..4).map(|i| tx.pending_word(i).len()).collect::<Vec<_>>(), [5, 3, 2, 4]);
            assert_eq!(tx.pending_words().map(|word| word.len()).collect::<Vec<_>>(), [5, 3, 2, 4]);
            let moved = a.sync(&mut tx, |_| true);
            assert_eq!((moved.slots, moved.frames, moved.bytes, moved.too_many_fragments), (4, 3, 14, 0), "{word:x}");
            b.sync(&mut rx);
            let mut batch = rx.batch(4);
            let seen: Vec<_> = (0..4).map(|i| batch.frame(i).map(|(f, flags)| (f.to_vec(), flags)).unwrap()).collect();
            let wanted = [(&b"plain"[..], 0), (b"cha", flags::MOREFRAG), (b"in", 0), (b"asks", flags::META)];
            assert!(
                seen.iter().zip(wanted).all(|((f, flags), (bytes, wanted))| f == bytes && *flags == wanted),
                "{seen:?}"
            );
            assert_eq!(batch.meta(3).map(|meta| meta.flags), Some(1));
            batch.release(4);
            b.sync(&mut rx);
        }
        // Frames in flight when the other end goes leave as committed too.
        send(&mut tx, b"plain", 0);
        a.sync(&mut tx, |_| true);
        (0..64).for_each(|k| file.write_all_at(&0u64.to_le_bytes(), pair.tx.ring + 256 + 16 * k).unwrap());
        assert_eq!(a.reset(&mut tx).0, 1);
    }

    /// A joiner must not erase the slots that the maker published between the hand-shake and the joiner's first look.
    #[test]
    fn that_joins_late_finds_what_was_published_early() {
        let region = region(1, Sharing::Shared);
        let pair = region.ring_pair(0, 64).unwrap();
        let (mut tx, mut a) = Pipe::Maker.sender(&region, &pair, 0).unwrap();
        send(&mut tx, b"early", 0);
        a.sync(&mut tx, |_| true);
        let file = region.file().unwrap().try_clone_to_owned().unwrap();
        let joined = Region::join(file.into(), region.buf_area(), region.buf_size(), region.buffers()).unwrap();
        let (mut rx, mut b) = Pipe::Joiner.receiver(&joined, &pair, 0).unwrap();
        b.sync(&mut rx);
        assert_eq!(receive(&mut rx).unwrap(), b"early");
    }

    /// The maker's ring holds other buffers than it was made with; the next joiner must send with those.
    #[test]
    fn that_joins_after_the_maker_has_swapped_is_told_of_its_buffers() {
        let region = region(2, Sharing::Shared);
        let (pair, other) = (region.ring_pair(0, 64).unwrap(), region.ring_pair(1, 64).unwrap());
        let (mut rx, mut b) = Pipe::Maker.receiver(&region, &pair, 0).unwrap();
        let (mut tx, _) = Pipe::Maker.sender(&region, &other, 0).unwrap();
        let join = |start| {
            let file = region.file().unwrap().try_clone_to_owned().unwrap();
            let joined = Region::join(file.into(), region.buf_area(), region.buf_size(), region.buffers()).unwrap();
            Pipe::Joiner.sender(&joined, &pair, start).unwrap()
        };
        let mut start = 0;
        for round in 0..3u8 {
            let (mut far, mut a) = join(start);
            for n in 0..40 {
                send(&mut far, &[round, n], 0);
            }
            a.sync(&mut far, |_| true);
            b.sync(&mut rx);
            if round == 0 {
                assert_eq!(forward(rx.batch(40), tx.reserve(40), 40, |_| true), Some((40, 40)));
            }
            for n in 0..rx.available() {
                assert_eq!(receive(&mut rx).unwrap(), [round, u8::try_from(n).unwrap()]);
            }
            start = b.reset(&mut rx).unwrap();
        }
        assert_eq!(rx.stats(), Default::default(), "nothing refused");
    }

    fn joined(region: &Region) -> Arc<Region> {
        let file = region.file().unwrap().try_clone_to_owned().unwrap();
        Region::join(file.into(), region.buf_area(), region.buf_size(), region.buffers()).unwrap()
    }

    /// Writes a slot of a ring through the region's file.
    fn write_slot(region: &Region, ring: u64, cursor: u64, word: [u32; 2]) {
        let file = File::from(region.file().unwrap().try_clone_to_owned().unwrap());
        let bytes = [word[0].to_le_bytes(), word[1].to_le_bytes()].concat();
        file.write_all_at(&bytes, ring + 256 + 16 * cursor).unwrap();
    }

    /// The first index beyond the buffers, the last one within, the reserved ones: a joiner takes indices inside only.
    #[test]
    fn swaps_buffers_in_up_to_the_regions_last() {
        let region = region(1, Sharing::Shared);
        let pair = region.ring_pair(0, 64).unwrap();
        let last = region.buffers() - 1;
        let cases = [(last, true), (last + 1, false), (last + 2, false), (u32::MAX, false), (0, false), (1, false)];
        let changed = u32::from(flags::BUF_CHANGED) << 16;
        let file = File::from(region.file().unwrap().try_clone_to_owned().unwrap());
        for (buf, taken) in cases {
            // A maker that receives gives slots back with other buffers.
            region.renew(&pair, 0);
            let (mut tx, mut a) = Pipe::Joiner.sender(&joined(&region), &pair, 0).unwrap();
            send(&mut tx, b"lent", 0);
            a.sync(&mut tx, |_| true);
            write_slot(&region, pair.rx.ring, 0, [buf, changed | 4]);
            file.write_all_at(&[1u32.to_le_bytes(), 1u32.to_le_bytes()].concat(), pair.lines + 128).unwrap();
            a.reclaim(&mut tx);
            assert_eq!((a.violations(), tx.in_flight()), (u64::from(!taken), 0), "buffer {buf} of {}", last + 1);
            assert_eq!(tx.slot_word(0).buf_idx() == buf, taken);
            // The same buffer, announced to a process that joins afterwards.
            region.renew(&pair, 0);
            write_slot(&region, pair.rx.ring, 0, [buf, 0]);
            let (tx, _) = Pipe::Joiner.sender(&joined(&region), &pair, 0).unwrap();
            assert_eq!(tx.slot_word(0).buf_idx() == buf, taken, "buffer {buf} of {}", last + 1);
            // A maker that sends puts other buffers into what it publishes.
            region.renew(&pair, 0);
            let (mut rx, mut b) = Pipe::Joiner.receiver(&joined(&region), &pair, 0).unwrap();
            write_slot(&region, pair.rx.ring, 0, [buf, 4]);
            file.write_all_at(&1u32.to_le_bytes(), pair.lines).unwrap();
            assert_eq!(b.sync(&mut rx), 1);
            assert_eq!(receive(&mut rx).is_some(), taken, "buffer {buf} of {}", last + 1);
            assert_eq!(rx.stats().bad_index, u64::from(!taken));
        }
    }

    /// A run ends at a slot that names a buffer of the region, but not the one lent there.
    #[test]
    fn names_another_buffer_within_a_run_in_vain() {
        let (near, far) = (region(1, Sharing::Shared), region(1, Sharing::Private));
        let pair = near.ring_pair(0, 64).unwrap();
        let (mut rx, mut b) = Pipe::Maker.receiver(&near, &pair, 0).unwrap();
        let (mut tx, mut a) = Pipe::Joiner.sender(&joined(&near), &pair, 0).unwrap();
        let mut to = TxRing::new(&far, 0, 64).unwrap();
        for _ in 0..20 {
            send(&mut tx, &[0xaa; 60], 0);
        }
        a.sync(&mut tx, |_| true);
        write_slot(&near, pair.rx.ring, 7, [pair.first_buf + 8, 60]);
        assert_eq!(b.sync(&mut rx), 20);
        let alike = Alike::new([0xaa; 16], [0xff; 16], 60);
        let (mut batch, mut free) = (rx.batch(20), to.reserve(20));
        assert_eq!(batch.move_run(0, &mut free, 0, &alike), (7, 420));
        assert_eq!(batch.move_run(7, &mut free, 7, &alike), (0, 0));
        assert!(batch.frame(7).is_none());
        assert_eq!(batch.move_run(8, &mut free, 7, &alike), (12, 720));
        batch.release(20);
        assert_eq!(rx.stats().bad_index, 1, "counted where it is looked at alone");
    }

    fn refused(region: &Region, pairs: &[RingPair]) -> bool {
        region.check_pairs(pairs).is_err()
    }

    #[test]
    fn cannot_say_of_a_region_what_its_file_does_not_hold() {
        let ring_bytes = Region::ring_room(64);
        let config = RegionConfig { buf_size: 512, buffers: 16384, ring_bytes, sharing: Sharing::Shared, huge: false };
        let region = Region::new(&config).unwrap();
        let (area, buf_size, buffers) = (region.buf_area(), region.buf_size(), region.buffers());
        let size = File::from(region.file().unwrap().try_clone_to_owned().unwrap()).metadata().unwrap().len();
        let joins = |area: u64, buf_size: u32, buffers: u64| {
            let file = region.file().unwrap().try_clone_to_owned().unwrap();
            Region::join(file.into(), area, buf_size, u32::try_from(buffers).unwrap()).is_ok()
        };
        assert!(joins(area, buf_size, buffers.into()));
        // Up to the file's end, and one buffer too many.
        let room = (size - area) / u64::from(buf_size);
        assert!(joins(area, buf_size, room) && !joins(area, buf_size, room + 1));
        assert!(!joins(area, buf_size, u32::MAX.into()));
        assert!(!joins(area, buf_size, 1), "more is left over than alignment takes");
        assert!(!joins(0, buf_size, buffers.into()) && !joins(area + 512, buf_size, buffers.into()));
        for (buf_size, buffers) in [(0, 1), (256, 2 * buffers), (768, buffers), (131_072, buffers / 256)] {
            assert!(!joins(area, buf_size, buffers.into()), "{buf_size}");
        }
    }

    #[test]
    fn cannot_offer_rings_that_overlap_or_stick_out() {
        let region = region(2, Sharing::Shared);
        let good = [region.ring_pair(0, 64).unwrap(), region.ring_pair(1, 64).unwrap()];
        assert!(!refused(&region, &good));
        assert!(refused(&region, &[good[0], good[0]]), "one pair twice");
        let with = |change: &dyn Fn(&mut RingPair)| {
            let mut pairs = good;
            change(&mut pairs[0]);
            pairs
        };
        type Change = fn(&mut RingPair);
        let changes: [(&str, Change); 14] = [
            ("metadata over metadata", |p| p.tx.meta = p.rx.meta + 512),
            ("a ring for both", |p| p.rx = p.tx),
            ("metadata over slots", |p| p.tx.meta = p.tx.ring),
            ("lines over slots", |p| p.lines = p.rx.ring + 256),
            ("unaligned", |p| p.tx.ring += 64),
            ("unaligned lines", |p| p.lines += 4),
            ("in the buffers", |p| p.tx.ring = 2 << 20),
            ("far away", |p| p.tx.ring = u64::MAX - 127),
            ("no power of two", |p| (p.tx.slots, p.rx.slots) = (65, 65)),
            ("no slots", |p| (p.tx.slots, p.rx.slots) = (0, 0)),
            ("two sizes", |p| p.rx.slots = 128),
            ("reserved buffers", |p| p.first_buf = 1),
            ("buffers beyond", |p| p.first_buf = u32::MAX - 3),
            ("buffers of another ring", |p| p.first_buf += 1),
        ];
        for (what, change) in changes {
            assert!(refused(&region, &with(&change)), "{what}");
        }
    }

    #[test]
    fn cannot_pass_something_else_for_a_bell() {
        let (reader, writer) = std::io::pipe().unwrap();
        let (left, _right) = std::os::unix::net::UnixStream::pair().unwrap();
        let file = File::open("/proc/self/exe").unwrap();
        let event = Bell::new().unwrap().as_fd().try_clone_to_owned().unwrap();
        let null = File::open("/dev/null").unwrap();
        let bad: [OwnedFd; 6] = [reader.into(), writer.into(), left.into(), file.into(), null.into(), event];
        for fd in bad {
            assert!(Bell::from_fd(fd.into()).is_err());
        }
    }

    /// True if a sleeper on the bell would wake.
    fn is_rung(bell: &Bell) -> bool {
        let mut entry = libc::pollfd { fd: bell.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry.
        unsafe { libc::poll(&raw mut entry, 1, 0) == 1 }
    }

    #[test]
    fn rings_by_what_it_was_handed_until_another_is() {
        let bell = Bell::between().unwrap();
        assert!(!is_rung(&bell));
        let first = Bell::from_fd(bell.hand_over().unwrap().into()).unwrap();
        for ring in [&first, &bell] {
            ring.ring();
            ring.ring();
            assert!(is_rung(&bell));
            bell.clear();
            assert!(!is_rung(&bell));
            bell.clear();
        }
        let second = Bell::from_fd(bell.hand_over().unwrap().into()).unwrap();
        first.ring();
        assert!(!is_rung(&bell), "of a pairing that is over");
        second.ring();
        assert!(is_rung(&bell));
    }

    /// Holds the same open file as the end that it was handed: fills the queue, makes the file block, shuts it down.
    #[test]
    fn cannot_hold_up_who_rings_or_clears_nor_hide_what_is_rung_within() {
        let (bell, inbox) = (Bell::between().unwrap(), UnixDatagram::pair().unwrap());
        let handed = UnixDatagram::from(bell.hand_over().unwrap());
        let full = |socket: &UnixDatagram| {
            socket.set_nonblocking(true).unwrap();
            while socket.send(b"noise").is_ok() {}
            socket.set_nonblocking(false).unwrap();
        };
        full(&handed);
        let far = Bell::from_fd(OwnedFd::from(inbox.1.try_clone().unwrap()).into()).unwrap();
        full(&inbox.1);
        far.ring();
        while is_rung(&bell) {
            bell.clear();
        }
        bell.clear();
        handed.shutdown(std::net::Shutdown::Both).unwrap();
        while is_rung(&bell) {
            bell.clear();
        }
        bell.ring();
        assert!(is_rung(&bell), "for whom this process rings");
        bell.clear();
        assert!(!is_rung(&bell));
        drop(handed);
        assert!(!is_rung(&bell), "nobody is left to ring, and nothing is rung");
    }

    /// A bell that sleeps on a socket made by another process, and both ends of it as that process keeps them.
    fn taken_over() -> (Bell, UnixDatagram, UnixDatagram) {
        let (bell, (near, far)) = (Bell::between().unwrap(), UnixDatagram::pair().unwrap());
        bell.take_over(OwnedFd::from(near.try_clone().unwrap()).into()).unwrap();
        far.send(&[]).unwrap();
        assert!(is_rung(&bell));
        bell.clear();
        assert!(!is_rung(&bell));
        (bell, near, far)
    }

    /// A socket that was shut for reading stays readable: a sleeper on it would wake for ever.
    #[test]
    fn a_bell_that_its_maker_shuts_falls_silent() {
        let (bell, near, far) = taken_over();
        near.shutdown(std::net::Shutdown::Read).unwrap();
        assert!(is_rung(&bell));
        bell.clear();
        assert!(!is_rung(&bell));
        bell.ring();
        assert!(is_rung(&bell), "by this process");
        drop((near, far));
    }

    #[test]
    fn a_bell_that_is_detached_is_rung_by_nobody_else() {
        let (bell, _near, far) = taken_over();
        far.send(&[]).unwrap();
        bell.detach();
        assert!(!is_rung(&bell));
        let _ = far.send(&[]);
        assert!(!is_rung(&bell));
        bell.ring();
        assert!(is_rung(&bell), "by this process");
    }

    /// Sends an empty message in a process's name; true if this process may.
    #[cfg(target_os = "linux")]
    fn send_as(socket: &UnixDatagram, process: libc::pid_t) -> bool {
        let mut control = [0u64; 8];
        // SAFETY: aligned control memory with room for credentials, which are written where CMSG_* says.
        unsafe {
            let who = libc::ucred { pid: process, uid: libc::getuid(), gid: libc::getgid() };
            let mut message: libc::msghdr = std::mem::zeroed();
            let room = u32::try_from(size_of_val(&who)).unwrap();
            (message.msg_control, message.msg_controllen) =
                (control.as_mut_ptr().cast(), libc::CMSG_SPACE(room) as usize);
            let head = libc::CMSG_FIRSTHDR(&raw const message);
            ((*head).cmsg_level, (*head).cmsg_type) = (libc::SOL_SOCKET, libc::SCM_CREDENTIALS);
            (*head).cmsg_len = libc::CMSG_LEN(room) as usize;
            libc::CMSG_DATA(head).cast::<libc::ucred>().write_unaligned(who);
            libc::sendmsg(socket.as_raw_fd(), &raw const message, 0) >= 0
        }
    }

    /// Credentials begin with a process id, which may equal the number of a descriptor here. Root may claim any process
    /// id.
    #[test]
    #[cfg(target_os = "linux")]
    fn credentials_that_come_with_messages_are_no_descriptors() {
        let (bell, near, far) = taken_over();
        let (on, own) = (1 as libc::c_int, std::process::id().cast_signed());
        // SAFETY: the option's value is readable for its length.
        let done = unsafe {
            libc::setsockopt(near.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PASSCRED, (&raw const on).cast(), 4)
        };
        assert_eq!(done, 0);
        let others =
            std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let process = std::iter::once(own).chain(others.filter(|process| *process > 200)).find(|process| {
            // SAFETY: integers. A number beyond the limit is refused.
            let there = unsafe {
                libc::fcntl(*process, libc::F_GETFD) < 0 && libc::dup2(far.as_raw_fd(), *process) == *process
            };
            there && send_as(&far, *process)
        });
        let Some(process) = process else {
            linerate_skip::skip!("no process's number is one that a descriptor can have; as root there are more");
            return;
        };
        for _ in 0..20 {
            bell.clear();
            assert!(send_as(&far, process));
        }
        bell.clear();
        // SAFETY: integers.
        assert_eq!(unsafe { libc::fcntl(process, libc::F_GETFD) }, 0, "still open");
    }

    /// A process that shares a socket can have each message bring a pidfd of its sender (SO_PASSPIDFD).
    #[test]
    #[cfg(target_os = "linux")]
    fn descriptors_of_processes_that_come_with_messages_are_closed() {
        let (bell, near, far) = taken_over();
        let on: libc::c_int = 1;
        // SAFETY: the value is readable for its length.
        let done = unsafe { libc::setsockopt(near.as_raw_fd(), libc::SOL_SOCKET, 76, (&raw const on).cast(), 4) };
        if done != 0 {
            linerate_skip::skip!("this kernel (before Linux 6.5) has no SO_PASSPIDFD");
            return;
        }
        for _ in 0..20 {
            far.send(&[]).unwrap();
            bell.clear();
        }
        let links =
            std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
        assert_eq!(links.filter(|link| link.to_string_lossy().contains("pidfd")).count(), 0);
    }
}

/// Regression: the pipe would have published slots that it had not written, and so a buffer held elsewhere.
#[test]
fn a_pipes_ring_in_private_memory_is_carried_over_by_nobody_else() {
    let region = region(2, Sharing::Private);
    let ((mut tx, _), _) = pipe(&region);
    let mut other = TxRing::new(&region, 0, 64).unwrap();
    send(&mut tx, b"the pipe's", 0);
    assert_eq!(other.carry_over(&mut tx), (0, false));
    assert_eq!((tx.pending(), other.pending()), (1, 0), "what was committed stays the pipe's");
}

/// Holes can be punched into a file of reserved pages despite its seals; with the pool empty, the next access would end
/// the process.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn a_shared_region_takes_no_reserved_pages_even_if_there_are() {
    use std::os::unix::fs::MetadataExt;
    const POOL: &str = "/proc/sys/vm/nr_hugepages";
    struct Restore(String);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = std::fs::write(POOL, self.0.trim());
        }
    }
    let before = std::fs::read_to_string(POOL).unwrap();
    let restore = Restore(before.clone());
    if std::fs::write(POOL, (before.trim().parse::<u32>().unwrap() + 8).to_string()).is_err() {
        linerate_skip::skip!("{POOL} cannot be written without root");
        return std::mem::forget(restore);
    }
    let config = RegionConfig { buf_size: 512, buffers: 64, ring_bytes: 65536, sharing: Sharing::Shared, huge: true };
    let region = Region::new(&config).unwrap();
    let file = std::fs::File::from(region.file().unwrap().try_clone_to_owned().unwrap());
    assert!(file.metadata().unwrap().blksize() < 2 << 20, "pages of the system's size");
}

#[test]
fn metadata_is_there_only_with_its_flag() {
    let region = region(1, Sharing::Private);
    let ((mut tx, mut a), (mut rx, mut b)) = pipe(&region);
    let meta = Meta { flags: Meta::NEEDS_CSUM, csum_start: 34, csum_offset: 6, ..Meta::default() };
    let mut batch = tx.reserve(3);
    for i in 0..3 {
        assert!(batch.put(i, b"frame"));
    }
    batch.set_meta(1, meta);
    batch.commit(3);
    assert_eq!([0, 1, 2].map(|i| tx.pending_meta(i)), [None, Some(meta), None]);
    a.sync(&mut tx, |_| true);
    b.sync(&mut rx);
    let batch = rx.batch(3);
    assert_eq!([0, 1, 2].map(|i| batch.meta(i)), [None, Some(meta), None]);
}
