//! One poll's frames: where each lies, and in which interfaces' lists it stands.

use super::count::RxLedger;
use super::demux::{Key, Types, ViSet, each};
use linerate_ring::{Frame, Gathered, Meta, RxBatch, flags};

/// Slots looked at in one poll at most.
pub(super) const SLOTS: u32 = 256;
/// Bytes kept for frames that are copied together, of one batch.
const COPIES: usize = 1 << 20;
/// No further frame in a list.
pub(super) const END: u32 = u32::MAX;

/// The frames of one poll.
pub(super) struct Batch {
    /// Slots of the port's ring that they lie in.
    pub(super) slots: u32,
    pub(super) frames: Vec<Entry>,
    /// Each interface's list: its first frame and its last.
    lists: Vec<(u32, u32)>,
    /// Interfaces whose lists are not empty.
    pub(super) ready: ViSet,
    pub(super) copies: Vec<u8>,
}

/// A frame in an interface's list.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Its first slot in the batch.
    slot: u32,
    /// Where its copy begins, or [`END`] if it lies in its slot alone.
    copy: u32,
    pub(super) len: u32,
    pub(super) next: u32,
    /// Bytes that are passed over at its front once its tag is out.
    pub(super) skip: u16,
    /// True if the port gave metadata.
    pub(super) told: bool,
    /// One more than the queue that a filter of the adapter sends it to; 0: none does.
    pub(super) to: u8,
}

impl Entry {
    /// Metadata that the port gave.
    #[inline]
    pub(super) fn meta(&self, ring: &RxBatch<'_>) -> Meta {
        if self.told { ring.meta(self.slot).unwrap_or_default() } else { Meta::default() }
    }
}

/// Contents of a slot.
enum Found {
    /// A frame of so many slots.
    Frame { entry: Entry, key: Key, slots: u32 },
    /// Slots without a frame.
    Void,
    /// A frame shorter than an Ethernet header.
    Short { slots: u32 },
    /// Slots of a frame that is not whole, or too long to be copied.
    Spoiled { slots: u32 },
    /// The batch ends in the midst of a frame, or has copied as much as it may.
    Later,
}

impl Batch {
    pub(super) fn new(vis: usize) -> Self {
        let frames = Vec::with_capacity(SLOTS as usize * vis.clamp(1, 8));
        Self { slots: 0, frames, lists: vec![(END, END); vis], ready: 0, copies: Vec::with_capacity(COPIES) }
    }

    /// Empties all lists; says how many frames each interface had left.
    pub(super) fn clear(&mut self, mut left: impl FnMut(usize, u64)) {
        for vi in each(self.ready) {
            let mut at = std::mem::replace(&mut self.lists[vi], (END, END)).0;
            let mut n = 0;
            while at != END {
                (at, n) = (self.frames[at as usize].next, n + 1);
            }
            left(vi, n);
        }
        (self.ready, self.slots) = (0, 0);
        self.frames.clear();
        self.copies.clear();
    }

    /// Forgets the frames that were copied.
    pub(super) fn forget_copies(&mut self) {
        self.copies.clear();
    }

    /// Puts a frame at the end of some interfaces' lists.
    #[inline]
    pub(super) fn add(&mut self, vis: ViSet, entry: Entry) {
        each(vis).for_each(|vi| self.add_one(vi, entry));
    }

    /// Puts a frame at the end of one interface's list.
    #[inline]
    pub(super) fn add_one(&mut self, vi: usize, entry: Entry) {
        let n = u32::try_from(self.frames.len()).unwrap_or(END);
        self.frames.push(entry);
        let list = &mut self.lists[vi];
        let last = std::mem::replace(&mut list.1, n);
        if last == END {
            list.0 = n;
            self.ready |= 1 << vi;
        } else {
            self.frames[last as usize].next = n;
        }
    }

    /// The first frame of an interface's list, which is not taken out; [`END`] if there is none.
    pub(super) fn first(&self, vi: usize) -> u32 {
        self.lists[vi].0
    }

    /// An interface's list begins here from now on.
    pub(super) fn set_first(&mut self, vi: usize, at: u32) {
        self.lists[vi].0 = at;
        if at == END {
            self.lists[vi].1 = END;
            self.ready &= !(1 << vi);
        }
    }

    /// The next frame from a slot of the ring on, past those that are none or cannot be carried, which are counted; None
    /// at the end of what is whole.
    #[inline(always)]
    pub(super) fn next(
        &mut self,
        ring: &mut RxBatch<'_>,
        at: &mut u32,
        types: &Types,
        ledger: &mut RxLedger,
    ) -> Option<(Entry, Key)> {
        while *at < ring.len() {
            let Some((frame, word)) = ring.frame(*at) else {
                // Void, or bad, which the ring has counted: it is not looked at again.
                *at += 1;
                continue;
            };
            if let Some(plain) = Self::plain(&frame, word, *at, types) {
                (*at, ledger.frames) = (*at + 1, ledger.frames + 1);
                return Some(plain);
            }
            let (found, slots) = match self.find(ring, *at, types) {
                Found::Frame { entry, key, slots } => (Some((entry, key)), slots),
                Found::Void => {
                    *at += 1;
                    continue;
                }
                Found::Later => return None,
                Found::Short { slots } => {
                    ledger.too_short += 1;
                    (None, slots)
                }
                Found::Spoiled { slots } => {
                    ledger.spoiled += 1;
                    (None, slots)
                }
            };
            (*at, ledger.frames) = (*at + slots, ledger.frames + 1);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The frame at a slot of the ring, if it lies there alone and is none of the rare ones.
    #[inline(always)]
    fn plain(frame: &Frame<'_>, word: u16, slot: u32, types: &Types) -> Option<(Entry, Key)> {
        let bytes = frame.bytes().filter(|_| word & flags::MOREFRAG == 0)?;
        let key = Key::of(bytes, types)?;
        let (len, told) = (u32::try_from(bytes.len()).unwrap_or(0), word & flags::META != 0);
        Some((Entry { slot, copy: END, len, next: END, skip: 0, told, to: 0 }, key))
    }

    /// Returns the contents of a slot of the ring. Frames of several slots, and those that another process may write, are copied.
    #[cold]
    fn find(&mut self, ring: &mut RxBatch<'_>, slot: u32, types: &Types) -> Found {
        let Some((frame, word)) = ring.frame(slot) else { return Found::Void };
        if word & flags::MOREFRAG != 0 || frame.bytes().is_none() {
            return self.copy(ring, slot, types);
        }
        let len = frame.len();
        let Some(key) = Key::of_any(frame.bytes().unwrap_or_default(), types) else { return Found::Short { slots: 1 } };
        let (len, told) = (u32::try_from(len).unwrap_or(0), word & flags::META != 0);
        Found::Frame { entry: Entry { slot, copy: END, len, next: END, skip: 0, told, to: 0 }, key, slots: 1 }
    }

    fn copy(&mut self, ring: &mut RxBatch<'_>, slot: u32, types: &Types) -> Found {
        let told = ring.meta(slot).is_some();
        let start = self.copies.len();
        let slots = match ring.gather(slot, COPIES - start, &mut self.copies) {
            Gathered::Whole { slots } => slots,
            Gathered::Later => return Found::Later,
            // The next batch has room for it, unless there is none for any such frame.
            Gathered::TooLong { .. } if start > 0 => return Found::Later,
            Gathered::Spoiled { slots } | Gathered::TooLong { slots } => return Found::Spoiled { slots },
        };
        let Some(key) = Key::of_any(&self.copies[start..], types) else {
            self.copies.truncate(start);
            return Found::Short { slots };
        };
        let len = u32::try_from(self.copies.len() - start).unwrap_or(0);
        let copy = u32::try_from(start).unwrap_or(END);
        Found::Frame { entry: Entry { slot, copy, len, next: END, skip: 0, told, to: 0 }, key, slots }
    }
}

/// The bytes of a frame, to be looked at and changed; None of a slot that another process has spoiled meanwhile.
#[inline(always)]
pub(super) fn with<T>(
    ring: &mut RxBatch<'_>,
    copies: &mut [u8],
    entry: &Entry,
    look: impl FnOnce(&mut [u8]) -> T,
) -> Option<T> {
    if entry.copy == END {
        let (mut frame, _) = ring.frame(entry.slot)?;
        return frame.bytes_mut().map(look);
    }
    let at = entry.copy as usize;
    copies.get_mut(at..at + entry.len as usize).map(look)
}
