//! Moving runs of frames from slots to slots: the fast path of a switch.

use crate::copy::{begins, copy, put_u64, take_u64};
use crate::layout::{MAX_FRAGS, flags};
use crate::region::BUFFERS_RESERVED;
use crate::ring::Raw;
use crate::{RxBatch, SlotWord, TxBatch, TxRing};

/// Prefetch distance, in slots. Two rings are walked at once, and buffers whose addresses differ by a power of two
/// share few sets of the L1 cache, so it is shorter than where one ring is walked.
const AHEAD: u32 = 8;
/// Bytes of a frame that are compared.
const HEAD: u16 = 16;

/// Filter for the frames of a run: the first 16 bytes under a mask, and the greatest length.
#[derive(Clone, Copy, Debug)]
pub struct Alike {
    head: [u64; 2],
    mask: [u64; 2],
    longest: usize,
}

impl Alike {
    /// Accepts frames of 16 to `longest` bytes whose first 16 bytes equal `head` in the bits set in `mask`.
    #[must_use]
    pub fn new(head: [u8; 16], mask: [u8; 16], longest: usize) -> Self {
        let words = |bytes: [u8; 16]| {
            let (low, high) = bytes.split_at(8);
            [low, high].map(|half| half.try_into().map_or(0, u64::from_ne_bytes))
        };
        let (head, mask) = (words(head), words(mask));
        Self { head: [head[0] & mask[0], head[1] & mask[1]], mask, longest }
    }

    #[inline]
    fn begins(&self, first: u64, second: u64) -> bool {
        ((first & self.mask[0]) ^ self.head[0]) | ((second & self.mask[1]) ^ self.head[1]) == 0
    }
}

impl RxBatch<'_> {
    /// Moves received frames from the `i`th on into slots of a transmit batch from `to`'s `at`th on, as long as they
    /// are of one slot each, without metadata, whole and alike; it may stop earlier. The rings' slots exchange buffers
    /// if both are in one region of this process; otherwise frames are copied, up to either ring's end. Returns the
    /// number of frames and their bytes; the slot that ended the run is not counted yet. Moved slots must be released.
    pub fn move_run(&mut self, i: u32, to: &mut TxBatch<'_>, at: u32, alike: &Alike) -> (u32, u64) {
        let n = self.len().saturating_sub(i);
        let (from, target) = (&*self.ring, &*to.ring);
        // Between processes the sender could write to a frame after it was compared.
        let one = from.raw.region.id() == target.raw.region.id() && !from.raw.shared;
        if one && from.may_swap && target.may_swap {
            self.exchange_run(i, n, to, at, alike)
        } else {
            run::<true>(&from.raw, from.head.wrapping_add(i), n, to, at, alike)
        }
    }

    fn exchange_run(&mut self, i: u32, n: u32, to: &mut TxBatch<'_>, at: u32, alike: &Alike) -> (u32, u64) {
        let n = n.min(to.len().saturating_sub(at));
        let (cursor, start) = (self.ring.head.wrapping_add(i), to.ring.head.wrapping_add(at));
        let (from, target) = (&mut self.ring.raw, &mut to.ring.raw);
        let longest = from.limited(alike.longest);
        let (mut done, mut bytes) = (0, 0);
        while done < n {
            let (cursor, start) = (cursor.wrapping_add(done), start.wrapping_add(done));
            let (word, mine) = (from.slot(cursor).word(), from.buf(cursor));
            if !plain(word, longest) || mine < BUFFERS_RESERVED || word.buf_idx() != mine {
                break;
            }
            from.prefetch::<false>(cursor.wrapping_add(AHEAD));
            // SAFETY: the buffer is known privately and lies inside the region; 16 bytes fit, since the frame has them.
            // The slot is delivered and borrowed by the caller, and the region private: nobody writes to it.
            let (first, second) = unsafe {
                let src = from.at(mine).as_ptr();
                (take_u64(src), take_u64(src.add(8)))
            };
            if !alike.begins(first, second) {
                break;
            }
            let spare = target.buf(start);
            target.set_buf(start, mine);
            target.set_word(start, SlotWord::new(mine, word.len(), flags::BUF_CHANGED));
            from.set_buf(cursor, spare);
            from.slot(cursor).set(SlotWord::new(spare, 0, flags::BUF_CHANGED));
            bytes += u64::from(word.len());
            done += 1;
        }
        self.ring.swapped |= done > 0;
        (done, bytes)
    }
}

/// Frames of any kind, one by one.
impl RxBatch<'_> {
    /// True if [`RxBatch::move_chain`] into that ring exchanges buffers.
    #[inline]
    #[must_use]
    pub fn exchanges_with(&self, to: &TxRing) -> bool {
        // Between processes the sender could write to a frame after it was looked at.
        self.ring.swaps_with(to) && !self.ring.raw.shared
    }

    /// Slots and bytes of the frame that begins at the `i`th slot. None if its end is not in the batch, or one of its slots is
    /// void or bad, which is not counted here.
    #[must_use]
    pub fn chain(&self, i: u32) -> Option<(u32, usize)> {
        let raw = &self.ring.raw;
        let mut bytes = 0;
        for slots in (0..self.len().saturating_sub(i)).take(MAX_FRAGS) {
            let cursor = self.ring.head.wrapping_add(i + slots);
            let (word, mine) = (raw.slot(cursor).word(), raw.buf(cursor));
            let more = word.has(flags::MOREFRAG);
            let void = word.is_empty() && !more;
            if void || word.len() > raw.usable || mine < BUFFERS_RESERVED || word.buf_idx() != mine {
                return None;
            }
            bytes += usize::from(word.len());
            if !more {
                return Some((slots + 1, bytes));
            }
        }
        None
    }

    /// Moves the frame that begins at the `i`th slot into slots of a transmit batch from `to`'s `at`th on, with its metadata,
    /// by exchanging buffers; returns the number of slots. None, with nothing done, if these rings do not exchange buffers, the
    /// frame is not whole, or there is no room. Moved slots must be released.
    pub fn move_chain(&mut self, i: u32, to: &mut TxBatch<'_>, at: u32) -> Option<u32> {
        let (slots, _) = self.chain(i).filter(|_| self.exchanges_with(to.ring))?;
        if to.len().saturating_sub(at) < slots {
            return None;
        }
        for k in 0..slots {
            let word = self.ring.raw.slot(self.ring.head.wrapping_add(i + k)).word();
            self.exchange(i + k, word, to, at + k);
        }
        Some(slots)
    }
}

impl TxRing {
    /// Copies slots that are committed and not yet taken, as [`RxBatch::move_run`] does.
    pub fn copy_pending_run(&self, i: u32, to: &mut TxBatch<'_>, at: u32, alike: &Alike) -> (u32, u64) {
        let n = self.pending().saturating_sub(i);
        run::<false>(&self.raw, self.taken.wrapping_add(i), n, to, at, alike)
    }
}

/// True if a slot holds one whole frame without metadata, long enough to be compared.
#[inline]
fn plain(word: SlotWord, longest: u16) -> bool {
    (HEAD..=longest).contains(&word.len()) && !word.has(flags::MOREFRAG | flags::META)
}

/// `CHECKED`: another thread or process writes the slots, so they must name the buffer recorded for them.
#[inline]
fn run<const CHECKED: bool>(
    from: &Raw,
    cursor: u32,
    n: u32,
    to: &mut TxBatch<'_>,
    at: u32,
    alike: &Alike,
) -> (u32, u64) {
    let n = n.min(to.len().saturating_sub(at));
    let (target, start) = (&to.ring.raw, to.ring.head.wrapping_add(at));
    if from.shared || target.keeps_words() {
        carry::<CHECKED, true>(from, cursor, target, start, n, alike)
    } else {
        carry::<CHECKED, false>(from, cursor, target, start, n, alike)
    }
}

/// `OTHERS`: another process may write to the frames, or to slots that only this side writes.
#[inline(never)]
fn carry<const CHECKED: bool, const OTHERS: bool>(
    from: &Raw,
    cursor: u32,
    target: &Raw,
    start: u32,
    n: u32,
    alike: &Alike,
) -> (u32, u64) {
    let (slots, own) = from.run(cursor, n);
    let (free, spare) = target.run(start, n);
    // For a ring that this side writes, the kept words count, not the values another process may have written since.
    let own_words = OTHERS && !CHECKED && from.keeps_words();
    let longest = from.limited(alike.longest).min(target.usable);
    // By value: a copy of a frame could change anything, as far as the compiler knows, so that what it reads through a
    // reference it would read again for each frame.
    let (alike, sources, targets) = (*alike, from.buffers(cursor), target.buffers(start));
    let (mut done, mut bytes) = (0, 0);
    for (((slot, mine), free), spare) in slots.iter().zip(own).zip(free).zip(spare) {
        let word = if own_words { from.word(cursor.wrapping_add(done)) } else { slot.word() };
        let (len, mine, spare) = (word.len(), *mine, *spare);
        if !plain(word, longest) || mine < BUFFERS_RESERVED || (CHECKED && word.buf_idx() != mine) {
            break;
        }
        sources.prefetch::<false>(done + AHEAD);
        targets.prefetch::<true>(done + AHEAD);
        // SAFETY: both buffers are known privately and lie inside their regions; `len` is at least 16 and fits both. The
        // source slot is delivered or committed and the target slot reserved, all borrowed by the caller: in a private
        // region no other reference to either buffer is alive, and no two slots hold one; in a shared one another
        // process may write to either, and then they may be the same bytes.
        let of_run = unsafe {
            let (src, dst) = (sources.at(mine).as_ptr(), targets.at(spare).as_ptr());
            copy_alike::<OTHERS>(dst, src, len.into(), &alike)
        };
        if !of_run {
            break;
        }
        let word = SlotWord::new(spare, len, 0);
        if OTHERS {
            target.set_word(start.wrapping_add(done), word);
        } else {
            free.set(word);
        }
        bytes += u64::from(len);
        done += 1;
    }
    (done, bytes)
}

/// Copies a frame if it matches `alike`. `SHARED`: the sender may write to the frame meanwhile, so exactly the bytes
/// that were compared are stored, whatever the source holds by then.
///
/// # Safety
/// Both ranges must be mapped, `src` readable and `dst` writable, and `len` at least 16. Others may write to either, and
/// they may overlap, only if they are memory of a shared mapping.
#[inline(always)]
unsafe fn copy_alike<const SHARED: bool>(dst: *mut u8, src: *const u8, len: usize, alike: &Alike) -> bool {
    // SAFETY: the caller's promise; the 16 bytes that are compared and stored lie inside both ranges.
    unsafe {
        if !SHARED {
            let same = begins(src, &alike.head, &alike.mask);
            if same {
                copy::<true>(dst, src, len);
            }
            return same;
        }
        let (first, second) = (take_u64(src), take_u64(src.add(8)));
        if !alike.begins(first, second) {
            return false;
        }
        copy::<true>(dst, src, len);
        put_u64(dst, first);
        put_u64(dst.add(8), second);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Meta, Region, RegionConfig, RxRing, Sharing};

    #[test]
    fn a_run_is_copied_up_to_what_is_not_of_it() {
        let ring_bytes = 4 * Region::ring_room(64);
        let config = RegionConfig { buf_size: 512, buffers: 128, ring_bytes, sharing: Sharing::Private, huge: false };
        let region = Region::new(&config).unwrap();
        let (mut from, mut to) = (TxRing::new(&region, 0, 64).unwrap(), TxRing::new(&region, 1, 64).unwrap());
        // Marks the frame that ends a run, the tenth of twenty.
        let mut rest = [0xaa; 60];
        rest[3] = 0xbb;
        let fill = |ring: &mut TxRing, odd: &str| {
            let mut own = ring.own().unwrap();
            own.take(own.pending());
            own.complete(own.in_flight());
            let mut batch = ring.reserve(20);
            for i in 0..20 {
                assert!(batch.put(i, &[0xaa; 60]));
            }
            match odd {
                "another head" => assert!(batch.put(10, &rest)),
                "short" => batch.set(10, 15, 0),
                "long" => batch.set(10, 101, 0),
                "void" => batch.set(10, 0, 0),
                "chain" => batch.set(10, 60, flags::MOREFRAG),
                "metadata" => batch.set_meta(10, Meta::default()),
                _ => {}
            }
            batch.commit(20);
        };
        let mut mask = [0xff; 16];
        mask[15] = 0;
        let alike = Alike::new([0xaa; 16], mask, 100);
        for odd in ["another head", "short", "long", "void", "chain", "metadata", "nothing"] {
            fill(&mut from, odd);
            let mut batch = to.reserve(63);
            // Either ring may end within the run.
            let (mut done, mut bytes) = (0, 0);
            for _ in 0..3 {
                let (n, more) = from.copy_pending_run(done, &mut batch, done, &alike);
                (done, bytes) = (done + n, bytes + more);
            }
            let wanted = if odd == "nothing" { 20 } else { 10 };
            assert_eq!((done, bytes), (wanted, 60 * u64::from(wanted)), "{odd}");
            for i in 0..wanted {
                assert_eq!(batch.frame(i).bytes().unwrap()[..60], [0xaa; 60]);
            }
            batch.commit(wanted);
            assert_eq!(to.pending_word(wanted - 1).len(), 60);
            let mut own = to.own().unwrap();
            own.take(own.pending());
            own.complete(own.in_flight());
        }
        fill(&mut from, "nothing");
        let mut batch = to.reserve(7);
        let (n, _) = from.copy_pending_run(0, &mut batch, 5, &alike);
        assert!((1..=2).contains(&n), "no more than there is room for: {n}");
    }

    /// Frames that arrive are exchanged within one region and copied between two; the receiver sees the same.
    #[test]
    fn a_run_that_arrived_is_exchanged_within_a_region_and_copied_between_two() {
        let region = |sharing| {
            let ring_bytes = 4 * Region::ring_room(64);
            let config = RegionConfig { buf_size: 512, buffers: 160, ring_bytes, sharing, huge: false };
            Region::new(&config).unwrap()
        };
        let cases = [(Sharing::Private, true, true), (Sharing::Private, false, false), (Sharing::Shared, true, false)];
        // Miri has no memory shared between processes.
        for (sharing, one, exchanged) in cases.into_iter().take(if cfg!(miri) { 2 } else { 3 }) {
            let near = region(sharing);
            let far = if one { near.clone() } else { region(sharing) };
            let (mut from, mut to) = (RxRing::new(&near, 0, 64).unwrap(), TxRing::new(&far, 1, 64).unwrap());
            for i in 0..20 {
                let mut frame = [0xaa; 60];
                frame[20] = i;
                frame[3] = if i == 17 { 0xbb } else { 0xaa };
                assert!(from.own().unwrap().deliver_copy(&frame, None));
            }
            let (lent, spare): (Vec<_>, Vec<_>) =
                (0..20).map(|k| (from.slot_word(k).buf_idx(), to.slot_word(k).buf_idx())).unzip();
            let alike = Alike::new([0xaa; 16], [0xff; 16], 60);
            let mut batch = from.batch(64);
            let mut free = to.reserve(12);
            assert_eq!(batch.move_run(2, &mut free, 3, &alike), (9, 540), "as many as there is room for");
            free.commit(12);
            let mut free = to.reserve(40);
            assert_eq!(batch.move_run(11, &mut free, 0, &alike), (6, 360), "up to another head");
            assert_eq!(batch.move_run(17, &mut free, 6, &alike), (0, 0));
            assert_eq!(batch.move_run(18, &mut free, 6, &Alike::new([0xaa; 16], [0xff; 16], 59)), (0, 0), "too long");
            free.commit(6);
            batch.release(18);
            for i in 2..17_u8 {
                let k = u32::from(i) + 1;
                let mut own = to.own().unwrap();
                let (frame, flags) = own.pending_look(k).unwrap();
                assert_eq!((frame.len(), frame.to_vec()[20], flags & flags::MOREFRAG), (60, i, 0));
                let kept = to.slot_word(k).buf_idx() == spare[k as usize];
                let back = from.slot_word(u32::from(i)).buf_idx() == lent[usize::from(i)];
                assert_eq!((kept, back), (!exchanged, !exchanged), "frame {i}");
            }
            let mut all: Vec<u32> =
                (0..64).flat_map(|k| [from.slot_word(k), to.slot_word(k)]).map(SlotWord::buf_idx).collect();
            all.sort_unstable();
            all.dedup();
            assert!(!one || all.len() == 128, "no two slots hold one buffer");
        }
    }

    /// A chain goes whole or not at all: with its metadata, between rings of one region, past nothing that is bad.
    #[test]
    fn a_chain_is_moved_whole_or_not_at_all() {
        let region = || {
            let ring_bytes = 4 * Region::ring_room(128);
            let config =
                RegionConfig { buf_size: 512, buffers: 256, ring_bytes, sharing: Sharing::Private, huge: false };
            Region::new(&config).unwrap()
        };
        let meta = Meta { hash: 7, ..Meta::default() };
        for odd in
            ["void", "long", "index", "unfinished", "no room", "another region", "65 slots", "nothing", "empty part"]
        {
            let (mut from, mut to) = {
                let region = region();
                (RxRing::new(&region, 0, 128).unwrap(), TxRing::new(&region, 1, 128).unwrap())
            };
            let n = if odd == "65 slots" { 65 } else { 5 };
            let mut own = from.own().unwrap();
            for i in 0..n {
                assert!(own.free_frame(i).unwrap().write(0, &[u8::try_from(i).unwrap(); 60]));
                own.set_free(i, 60, if i + 1 < n { flags::MOREFRAG } else { 0 }, (i == 0).then_some(meta));
            }
            own.deliver(n);
            let third = from.raw.slot(2).word();
            match odd {
                "void" => from.raw.slot(4).set(SlotWord::new(from.slot_word(4).buf_idx(), 0, 0)),
                "long" => from.raw.slot(2).set(SlotWord::new(third.buf_idx(), 513, flags::MOREFRAG)),
                "index" => from.raw.slot(2).set(third.with_buf(from.slot_word(30).buf_idx())),
                "empty part" => from.raw.slot(2).set(SlotWord::new(third.buf_idx(), 0, flags::MOREFRAG)),
                _ => {}
            }
            let mut strange = TxRing::new(&region(), 1, 128).unwrap();
            let target = if odd == "another region" { &mut strange } else { &mut to };
            let lent: Vec<u32> = (0..n).map(|k| from.slot_word(k).buf_idx()).collect();
            let mut batch = from.batch(if odd == "unfinished" { 4 } else { 128 });
            let mut free = target.reserve(if odd == "no room" { 5 } else { 128 });
            let moved = batch.move_chain(0, &mut free, 1);
            let goes = odd == "nothing" || odd == "empty part";
            assert_eq!(moved, goes.then_some(5), "{odd}");
            if !goes {
                assert!(
                    (0..n).all(|k| batch.ring.slot_word(k).buf_idx() == lent[k as usize] || odd == "index"),
                    "{odd}"
                );
                let wanted = if odd == "another region" || odd == "no room" { Some((5, 300)) } else { None };
                assert_eq!(batch.chain(0), wanted, "{odd}");
                assert_eq!((from.stats.bad_index, from.stats.bad_length), (0, 0), "nothing is counted twice: {odd}");
                continue;
            }
            free.commit(6);
            batch.release(5);
            assert_eq!(to.raw.meta(1), meta);
            for k in 0..5_u32 {
                let word = to.slot_word(k + 1);
                assert_eq!((word.buf_idx(), word.has(flags::MOREFRAG)), (lent[k as usize], k < 4), "{odd}");
                assert_eq!(usize::from(word.len()), if k == 2 && odd == "empty part" { 0 } else { 60 });
            }
        }
    }

    /// Simulates a write between the comparison and the end of the copy by the copy itself: the target begins eight
    /// bytes after the source, so copying the first bytes changes the bytes that its last part reads.
    #[test]
    #[cfg_attr(miri, ignore = "miri has no memory that processes share")]
    fn what_was_checked_is_what_goes_on_though_its_sender_writes_meanwhile() {
        let ring_bytes = Region::ring_room(64);
        let config = RegionConfig { buf_size: 512, buffers: 8, ring_bytes, sharing: Sharing::Shared, huge: false };
        let region = Region::new(&config).unwrap();
        let head: [u8; 16] = std::array::from_fn(|i| 0xa0 + u8::try_from(i).unwrap());
        let alike = Alike::new(head, [0xff; 16], 100);
        for len in [17, 20, 65, 70] {
            let at = region.buffer_memory().0.as_ptr();
            let mut got = [0u8; 16];
            // SAFETY: all of it lies in the first two buffers, which no ring has, and nobody else maps the region.
            let of_run = unsafe {
                copy::<false>(at, [0x55; 128].as_ptr(), 128);
                copy::<false>(at, head.as_ptr(), 16);
                let of_run = copy_alike::<true>(at.add(8), at, len, &alike);
                copy::<true>(got.as_mut_ptr(), at.add(8), 16);
                of_run
            };
            assert!(of_run && got == head, "{len} bytes: {got:x?}");
        }
    }

    /// A peer that writes to the slots names another buffer in the middle of a run: the run ends there, exchanged or
    /// copied.
    #[test]
    fn a_slot_that_names_another_buffer_ends_a_run() {
        for exchanged in [true, false] {
            let ring_bytes = 4 * Region::ring_room(64);
            let config =
                RegionConfig { buf_size: 512, buffers: 160, ring_bytes, sharing: Sharing::Private, huge: false };
            let near = Region::new(&config).unwrap();
            let far = if exchanged { near.clone() } else { Region::new(&config).unwrap() };
            let (mut from, mut to) = (RxRing::new(&near, 0, 64).unwrap(), TxRing::new(&far, 1, 64).unwrap());
            for _ in 0..20 {
                assert!(from.own().unwrap().deliver_copy(&[0xaa; 60], None));
            }
            let odd = from.slot_word(7);
            from.raw.slot(7).set(odd.with_buf(from.slot_word(30).buf_idx()));
            let alike = Alike::new([0xaa; 16], [0xff; 16], 60);
            let (mut batch, mut free) = (from.batch(20), to.reserve(20));
            assert_eq!(batch.move_run(0, &mut free, 0, &alike), (7, 420));
            assert_eq!(batch.move_run(7, &mut free, 7, &alike), (0, 0));
            assert_eq!(batch.move_run(8, &mut free, 7, &alike), (12, 720));
        }
    }
}
