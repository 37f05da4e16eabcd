//! Source of the frames of one stream, which fills a transmit ring.

use super::captured::Replay;
use super::sizes::Sizes;
use crate::frame::{Dice, Flows, Heads, Layout, Mark, Payload, Stamp, Template, pattern};
use linerate_ring::{TxBatch, TxRing, flags};
use linerate_rt::Clock;
use linerate_text::cut;

/// Division of a frame into slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Number of slots wanted.
    pub(super) slots: usize,
    /// Greatest number of bytes per slot.
    pub(super) most: usize,
}

impl Cut {
    /// Bytes of each slot except the last, and number of slots, for a frame of `len` bytes: netmap's arithmetic. There
    /// are more slots than wanted if they would be too long, and fewer if there are not so many bytes.
    #[inline]
    #[must_use]
    pub(super) fn of(self, len: usize) -> (usize, usize) {
        let each = len / self.slots;
        if each > self.most || (each == self.most && !len.is_multiple_of(self.slots)) {
            (self.most, len.div_ceil(self.most))
        } else if each == 0 {
            (1, len.max(1))
        } else {
            (each, self.slots)
        }
    }
}

/// Contents of a stream's frames.
pub(super) enum Content {
    /// linerate's frames, made from a template.
    Made {
        template: Template,
        flows: Flows,
        /// Run number in the mark.
        run: u16,
    },
    /// These bytes each time (a capture's first packet).
    Copied(Vec<u8>),
    /// Frames of a capture, at their times.
    Replayed(Box<Replay>),
    /// The present contents of the buffers.
    Rubbish,
}

/// Amount put into a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Filled {
    pub(super) frames: u32,
    pub(super) slots: u32,
}

/// The frames of one stream. It allocates nothing once its lengths were seen.
pub(super) struct Source {
    way: FrameWriter,
    sizes: Sizes,
    vnet: usize,
    cut: Cut,
    sequence: u64,
    /// Number of frames left out because the port cannot carry them.
    too_long: u64,
    prefetch: bool,
    libc_copy: bool,
    dice: Dice,
    /// Choice of the frame of a burst that is tagged.
    lots: Dice,
    scratch: Vec<u8>,
}

/// Slots of the frame of a burst that is tagged.
struct Tagged {
    first: u32,
    slots: u32,
    /// Bytes of each slot but the last.
    each: usize,
}

/// Ways to write a frame, selected once per burst.
enum FrameWriter {
    /// Frames that differ only in the mark: copy, then write 16 bytes in place. (Patching the template and copying it
    /// at once would stall: the copy's wide loads cannot be forwarded from the patch's narrow store.)
    Alike {
        whole: Vec<u8>,
        words: Option<usize>,
        run: u16,
    },
    /// Frames with headers by length and flow, mark, stamp and pattern written one after the other.
    Varied {
        heads: Heads,
        flows: Box<Flows>,
        run: u16,
        clock: Box<Clock>,
    },
    Copied(Vec<u8>),
    Replayed(Box<Replay>),
    Rubbish,
}

impl Source {
    /// Makes a source of frames of these lengths (without virtio-net header), divided by `cut`.
    #[must_use]
    pub(super) fn new(content: Content, sizes: Sizes, vnet: usize, cut: Cut, seed: u64) -> Self {
        let way = match content {
            Content::Made { template, flows, run } => match (&sizes, flows.single()) {
                (Sizes::Fixed(len), Some(flow)) if template.payload == Payload::Marked => {
                    let len = len + vnet;
                    let words = template.marks(len).then_some(template.layout.words());
                    FrameWriter::Alike { whole: template.frame(len, &flow, run, 0, 0), words, run }
                }
                _ => FrameWriter::Varied {
                    heads: Heads::new(template),
                    flows: Box::new(flows),
                    run,
                    clock: Box::default(),
                },
            },
            Content::Copied(bytes) => FrameWriter::Copied(bytes),
            Content::Replayed(replay) => FrameWriter::Replayed(replay),
            Content::Rubbish => FrameWriter::Rubbish,
        };
        Self {
            way,
            sizes,
            vnet,
            cut,
            sequence: 0,
            too_long: 0,
            prefetch: false,
            libc_copy: false,
            dice: Dice::new(seed),
            lots: Dice::new(!seed),
            scratch: vec![0; 65536 + 64],
        }
    }

    /// Selects the prefetch of each buffer's line some frames ahead of its use.
    pub(super) fn prefetch(&mut self, on: bool) {
        self.prefetch = on;
    }

    /// Selects copies by the C library's memcpy where memory is private.
    pub(super) fn copy_by_libc(&mut self, on: bool) {
        self.libc_copy = on;
    }

    #[must_use]
    pub(super) fn slots_of_longest(&self) -> usize {
        self.cut.of(self.sizes.longest() + self.vnet).1
    }

    /// Time at which the next frame is due, if frames have their own times.
    pub(super) fn due(&self) -> Option<u64> {
        if let FrameWriter::Replayed(replay) = &self.way { replay.due() } else { None }
    }

    pub(super) fn ended(&self) -> bool {
        if let FrameWriter::Replayed(replay) = &self.way { replay.ended() } else { false }
    }

    pub(super) fn too_long(&self) -> u64 {
        self.too_long
    }

    pub(super) fn replay(&self) -> Option<&Replay> {
        if let FrameWriter::Replayed(replay) = &self.way { Some(replay) } else { None }
    }

    /// Puts up to `most` frames into a ring, as far as it has room, and commits them.
    #[inline]
    pub(super) fn fill(&mut self, ring: &mut TxRing, most: u32, now: u64) -> Filled {
        let one_slot = self.slots_of_longest() == 1;
        let mut batch = ring.reserve(if one_slot { most } else { u32::MAX });
        let filled = match (&self.way, one_slot && !self.libc_copy) {
            (FrameWriter::Alike { words: Some(words), run, whole }, true) => {
                let (mut word, words) = (Mark::word(*run, self.sequence), *words);
                for i in 0..batch.len() {
                    if self.prefetch {
                        ahead(&mut batch, i);
                    }
                    let mut frame = batch.frame(i);
                    let fits = frame.write(0, whole);
                    debug_assert!(fits, "one slot holds the frame");
                    // The mark in the format of `Mark::bytes`: the word and its complement.
                    let marked = frame.write_u64(words, word) && frame.write_u64(words + 8, !word);
                    debug_assert!(marked, "a marked frame has room for its mark");
                    batch.set(i, whole.len(), 0);
                    word += 1;
                }
                Filled { frames: batch.len(), slots: batch.len() }
            }
            _ => self.fill_any(&mut batch, most, now),
        };
        self.sequence += u64::from(filled.frames);
        batch.commit(filled.slots);
        filled
    }

    fn fill_any(&mut self, batch: &mut TxBatch<'_>, most: u32, now: u64) -> Filled {
        let mut filled = Filled::default();
        let mut tagged = None;
        while filled.frames < most {
            if self.prefetch && filled.slots < batch.len() {
                ahead(batch, filled.slots);
            }
            let sequence = self.sequence + u64::from(filled.frames);
            let saved = self.dice.clone();
            let len = match &mut self.way {
                FrameWriter::Copied(bytes) => bytes.len() + self.vnet,
                FrameWriter::Replayed(replay) => match replay.peek(now) {
                    // A frame that the port cannot carry is skipped, and counted.
                    Some(len) if len > self.sizes.longest() => {
                        replay.take();
                        self.too_long += 1;
                        continue;
                    }
                    Some(len) => len + self.vnet,
                    None => break,
                },
                _ => self.sizes.pick(sequence, &mut self.dice) + self.vnet,
            };
            let (each, slots) = self.cut.of(len);
            let Some(slots) = u32::try_from(slots).ok().filter(|n| *n <= batch.len() - filled.slots) else {
                self.dice = saved;
                break;
            };
            let rubbish = matches!(self.way, FrameWriter::Rubbish);
            if !rubbish {
                self.way.write(&mut self.scratch[..len], self.vnet, sequence);
            }
            let mut at = 0;
            for k in 0..slots {
                let last = k + 1 == slots;
                let n = if last { len - at } else { each };
                let slot = filled.slots + k;
                if !rubbish {
                    let bytes = &self.scratch[at..at + n];
                    let mut frame = batch.frame(slot);
                    match frame.bytes_mut().filter(|_| self.libc_copy) {
                        Some(to) => to[..n].copy_from_slice(bytes),
                        None => {
                            let fits = frame.write(0, bytes);
                            debug_assert!(fits, "a piece is at most a slot");
                        }
                    }
                }
                batch.set(slot, n, if last { 0 } else { flags::MOREFRAG });
                at += n;
            }
            // Each frame of the burst is as likely as any other, whatever room there is.
            if self.way.stamps(len) && self.lots.between(0, filled.frames as usize) == 0 {
                tagged = Some(Tagged { first: filled.slots, slots, each });
            }
            filled.frames += 1;
            filled.slots += slots;
        }
        // Last of all, since it is the time just before the transmission.
        if let (Some(tagged), FrameWriter::Varied { heads, clock, .. }) = (tagged, &mut self.way) {
            tagged.stamp(batch, heads.template().layout, clock);
        }
        filled
    }
}

impl Tagged {
    /// Writes the tag with the present time, in as many slots as it lies in.
    fn stamp(&self, batch: &mut TxBatch<'_>, layout: Layout, clock: &mut Clock) {
        for (at, byte) in (layout.end()..).zip(Mark::bytes(Stamp { ns: clock.now(), tagged: true }.word())) {
            let slot = cut(at / self.each.max(1), u32::MAX).min(self.slots - 1);
            let fits = batch.frame(self.first + slot).write(at - slot as usize * self.each, &[byte]);
            debug_assert!(fits, "the frame is that long");
        }
    }
}

impl FrameWriter {
    /// True if frames of this length carry a time-stamp.
    fn stamps(&self, len: usize) -> bool {
        if let Self::Varied { heads, .. } = self { heads.template().stamps(len) } else { false }
    }

    /// Writes a whole frame into private memory.
    fn write(&mut self, to: &mut [u8], vnet: usize, sequence: u64) {
        let len = to.len();
        match self {
            Self::Alike { whole, words, run } => {
                to.copy_from_slice(whole);
                if let Some(at) = *words {
                    to[at..at + 16].copy_from_slice(&Mark::bytes(Mark::word(*run, sequence)));
                }
            }
            Self::Varied { heads, flows, run, clock } => {
                let flow = flows.pick();
                let template = heads.template();
                let (layout, begin) = (template.layout, template.body(len));
                let (marks, stamps) = (template.marks(len), template.stamps(len));
                to[begin..].copy_from_slice(&pattern()[begin - layout.vnet..len - layout.vnet]);
                if stamps {
                    to[layout.end()..layout.stamp_end()]
                        .copy_from_slice(&Mark::bytes(Stamp { ns: clock.now(), tagged: false }.word()));
                }
                if marks {
                    to[layout.words()..layout.end()].copy_from_slice(&Mark::bytes(Mark::word(*run, sequence)));
                }
                let head = heads.of(len);
                head.set(&flow);
                to[..head.bytes().len()].copy_from_slice(head.bytes());
                heads.template().number(to, sequence);
            }
            Self::Copied(bytes) => captured(to, vnet, bytes),
            Self::Replayed(replay) => captured(to, vnet, replay.take()),
            Self::Rubbish => {}
        }
    }
}

/// Writes a captured frame behind a virtio-net header that requests nothing.
fn captured(to: &mut [u8], vnet: usize, bytes: &[u8]) {
    to[..vnet].fill(0);
    to[vnet..].copy_from_slice(bytes);
}

/// Number of slots between prefetching a buffer and writing it.
const AHEAD: u32 = 4;

#[inline]
fn ahead(batch: &mut TxBatch<'_>, i: u32) {
    if i + AHEAD < batch.len() {
        linerate_sum::prefetch(batch.frame(i + AHEAD).as_ptr());
    }
}
