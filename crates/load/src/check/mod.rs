//! Verifying what arrives: every byte of every marked frame, and the order of each stream.
//!
//! A frame in order, of the same length and flow as the one before, costs three comparisons of bytes and one of its
//! number. Everything else takes the longer way, which is exact too: the headers that a frame ought to have are made
//! from the stream's template, its length and its addresses, checksums included, and compared. A stream whose template
//! was not given is learned from its first frame that is consistent with itself; only its MAC addresses are then taken on
//! trust, and later frames must have the same.

mod sequence;

pub use sequence::{Order, Sequence};

use crate::frame::{Flow, Head, Heads, Layout, Mark, SEQUENCE_MASK, Template, pattern};
use linerate_ring::Frame;

/// Most streams that are told apart; frames of further ones count as foreign.
const STREAMS: usize = 256;

/// What was received, in frames unless it says bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// All that came.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of this run, each counted once: also those that came damaged.
    pub ours: u64,
    /// Ours, but not as they were sent.
    pub corrupt: u64,
    /// Ours, and received before.
    pub duplicates: u64,
    /// Ours, and after a later one.
    pub reordered: u64,
    /// Missing before the last one that came, and not come since.
    pub lost: u64,
    /// Not of this run.
    pub foreign: u64,
}

impl Received {
    /// Adds what another queue received.
    pub fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.ours += other.ours;
        self.corrupt += other.corrupt;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.lost += other.lost;
        self.foreign += other.foreign;
    }
}

/// One stream.
struct Stream {
    run: u16,
    heads: Heads,
    /// The head of the last frame, its flow included.
    last: Head,
    /// The only flow, or any whose checksums are right.
    flow: Option<Flow>,
    sequence: Sequence,
}

/// Checks frames.
pub struct Check {
    vnet: usize,
    run: Option<u16>,
    streams: Vec<Stream>,
    /// The stream of the last frame.
    at: usize,
    counted: Received,
    scratch: Vec<u8>,
    /// Stamp of the last frame that carried one.
    stamp: Option<u64>,
}

impl Check {
    /// Frames behind `vnet` bytes of virtio-net header, of the given run, or of any when none is given.
    #[must_use]
    pub fn new(vnet: usize, run: Option<u16>) -> Self {
        let scratch = vec![0; 65536 + 64];
        Self { vnet, run, streams: Vec::new(), at: 0, counted: Received::default(), scratch, stamp: None }
    }

    /// Expects a stream made from this template, of one flow or of any.
    pub fn expect(&mut self, template: &Template, run: u16, flow: Option<Flow>, len: usize) {
        let mut heads = Heads::new(template.clone());
        let last = match &flow {
            Some(flow) => heads.of(len).with(flow),
            None => heads.of(len).clone(),
        };
        self.streams.push(Stream { run, heads, last, flow, sequence: Sequence::default() });
    }

    /// What came so far.
    #[must_use]
    pub fn received(&self) -> Received {
        let mut counted = self.counted;
        for stream in &self.streams {
            counted.ours += stream.sequence.received();
            counted.duplicates += stream.sequence.duplicates();
            counted.reordered += stream.sequence.reordered();
            counted.lost += stream.sequence.lost();
        }
        counted
    }

    /// Frames and bytes that came so far, cheaply: the streams' own counts are not in it.
    #[inline]
    #[must_use]
    pub(crate) fn counted(&self) -> Received {
        self.counted
    }

    /// The stamp of the frame checked last, if it carried one and was whole.
    #[inline]
    #[must_use]
    pub fn stamp(&self) -> Option<u64> {
        self.stamp
    }

    /// Checks a frame in a ring's buffer.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>) {
        if let Some(bytes) = frame.bytes() {
            return self.bytes(bytes);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let whole = frame.len() <= scratch.len() && frame.read(0, &mut scratch[..frame.len()]);
        debug_assert!(whole, "a frame of a ring is at most 65535 bytes");
        self.bytes(&scratch[..frame.len()]);
        self.scratch = scratch;
    }

    /// Checks a frame.
    #[inline]
    pub fn bytes(&mut self, frame: &[u8]) {
        self.counted.frames += 1;
        self.counted.bytes += frame.len() as u64;
        if let Some(stream) = self.streams.get_mut(self.at)
            && let Some(word) = stream.expected(frame)
        {
            self.stamp = stream.stamp(frame);
            stream.sequence.next(word & SEQUENCE_MASK);
            return;
        }
        self.unusual(frame);
    }

    /// Another length, flow or stream than the frame before, or not as it should be.
    #[cold]
    fn unusual(&mut self, frame: &[u8]) {
        self.stamp = None;
        let layouts = [false, true].map(|v6| Layout { vnet: self.vnet, v6 });
        for layout in layouts {
            let Some(mark) = Mark::of(frame, layout) else { continue };
            if self.run.is_none_or(|run| run == mark.run) {
                return self.marked(frame, layout, mark);
            }
            self.counted.foreign += 1;
            return;
        }
        // No mark: too short for one, or its mark is damaged, or it is not ours.
        for stream in &mut self.streams {
            match stream.resembles(frame) {
                Some(true) => return self.counted.ours += 1,
                Some(false) => {
                    self.counted.ours += 1;
                    self.counted.corrupt += 1;
                    return;
                }
                None => {}
            }
        }
        self.counted.foreign += 1;
    }

    fn marked(&mut self, frame: &[u8], layout: Layout, mark: Mark) {
        let of = |s: &Stream| (s.run, s.heads.template().stream, s.heads.template().layout);
        let found = self.streams.iter().position(|s| of(s) == (mark.run, mark.stream, layout));
        let Some(at) = found.or_else(|| self.learn(frame, layout, mark)) else {
            return;
        };
        self.at = at;
        let stream = &mut self.streams[at];
        if stream.whole(frame) {
            self.stamp = stream.stamp(frame);
        } else {
            self.counted.corrupt += 1;
        }
        stream.sequence.next(mark.sequence);
    }

    /// A stream not seen before.
    fn learn(&mut self, frame: &[u8], layout: Layout, mark: Mark) -> Option<usize> {
        let known_run = self.streams.iter().any(|s| s.run == mark.run);
        let learned = if self.streams.len() < STREAMS { Template::learn(frame, layout) } else { None };
        let Some((template, flow)) = learned else {
            // Of a run that is known by its number or by its other streams: then its stream's number, or all of it, is
            // damaged. Of an unknown run: somebody else's bytes.
            if self.run == Some(mark.run) || known_run {
                self.counted.ours += 1;
                self.counted.corrupt += 1;
            } else {
                self.counted.foreign += 1;
            }
            return None;
        };
        let mut heads = Heads::new(template);
        let last = heads.of(frame.len()).with(&flow);
        self.streams.push(Stream { run: mark.run, heads, last, flow: None, sequence: Sequence::from(mark.sequence) });
        Some(self.streams.len() - 1)
    }
}

impl Stream {
    /// The word of a marked frame that differs from the one before in nothing but mark and stamp.
    #[inline]
    fn expected(&self, frame: &[u8]) -> Option<u64> {
        let template = self.heads.template();
        let head = self.last.bytes();
        if frame.len() != self.last.frame_len() || !template.marks(frame.len()) || !same(&frame[..head.len()], head) {
            return None;
        }
        let word = Mark::word_at(frame, template.layout.words())?;
        let ours = Mark::run_of(word) == self.run;
        (ours && self.tail_is_right(frame)).then_some(word)
    }

    /// Stamp and pattern.
    #[inline]
    fn tail_is_right(&self, frame: &[u8]) -> bool {
        let template = self.heads.template();
        let begin = template.body(frame.len());
        let stamped = !template.stamps(frame.len()) || Mark::word_at(frame, template.layout.end()).is_some();
        let vnet = template.layout.vnet;
        stamped && same(&frame[begin..], &pattern()[begin - vnet..frame.len() - vnet])
    }

    #[inline]
    fn stamp(&self, frame: &[u8]) -> Option<u64> {
        let template = self.heads.template();
        if template.stamps(frame.len()) { Mark::word_at(frame, template.layout.end()) } else { None }
    }

    /// Whether a marked frame is whole; its head becomes the one to expect.
    fn whole(&mut self, frame: &[u8]) -> bool {
        self.head_is_right(frame) && self.tail_is_right(frame)
    }

    fn head_is_right(&mut self, frame: &[u8]) -> bool {
        let layout = self.heads.template().layout;
        let flow = self.flow.or_else(|| Flow::of(frame, layout));
        let mut head = self.heads.of(frame.len()).clone();
        if let Some(flow) = flow {
            head.set(&flow);
        }
        let right = frame.get(..head.bytes().len()) == Some(head.bytes());
        if right {
            self.last = head;
        }
        right
    }

    /// Of a frame without a mark: Some(true) if it is one of ours that is too short for a mark, Some(false) if it has our
    /// headers and should have one, None if it is not ours.
    fn resembles(&mut self, frame: &[u8]) -> Option<bool> {
        let marks = self.heads.template().marks(frame.len());
        if frame.len() < self.heads.template().layout.ip() || !self.head_is_right(frame) {
            return None;
        }
        if marks {
            return Some(false);
        }
        Some(self.tail_is_right(frame))
    }
}

/// Whether two slices are equal. Most are shorter than a call of the C library's comparison is worth.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    let word =
        |bytes: &[u8], at: usize| bytes.get(at..at + 8).and_then(|w| w.try_into().ok()).map_or(0, u64::from_ne_bytes);
    if a.len() != b.len() {
        return false;
    }
    let len = a.len();
    match len {
        0 => true,
        1..8 => a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0,
        8..=64 => {
            // The last word may overlap the one before it.
            let ends = word(a, len - 8) ^ word(b, len - 8);
            (0..len / 8).fold(ends, |all, i| all | (word(a, 8 * i) ^ word(b, 8 * i))) == 0
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests;
