//! Verification of arriving frames: every byte of every marked frame, and the order of each stream.
//!
//! A frame in order, of the same length and flow as the one before, is compared in place by masks, at little more than
//! the cost of its loads. All other frames take the slow path, which is exact too: the expected headers are made from
//! the stream's template, the frame's length and its addresses, checksums included, and compared. A stream without a
//! given template is learned from its first consistent frame; only its MAC addresses are then taken on trust, and later
//! frames must have the same.

mod expected;
mod joint;
mod planned;
mod sequence;
mod view;

pub(crate) use joint::Joint;
pub use planned::{Injected, Matched};
pub use sequence::{Order, Sequence};

use crate::frame::{Flow, Heads, Layout, Mark, SEQUENCE_MASK, Stamp, Template, pattern};
use expected::ExpectedFrame;
use linerate_port::FaultPlan;
use linerate_ring::Frame;
use linerate_text::counters;
use planned::{Came, Seen, Verdict};
use std::sync::Arc;
use view::View;

/// Greatest number of streams that are told apart; frames of further streams count as foreign.
const STREAMS: usize = 256;

counters! {
    pub struct Received {
        /// All frames that arrived.
        pub frames: u64,
        pub bytes: u64,
        /// Frames of this run, each counted once, including damaged ones.
        pub ours: u64,
        /// Frames of this run that differ from those sent.
        pub corrupt: u64,
        /// Frames of this run that had arrived before.
        pub duplicates: u64,
        /// Frames of this run that arrived after a later one.
        pub reordered: u64,
        /// Frames missing before the last one that arrived, and not arrived since.
        pub lost: u64,
        /// Frames of other runs.
        pub foreign: u64,
        /// Arrivals of this run that were never sent: repeated though not doubled on purpose, or dropped on purpose.
        pub unsent: u64,
        /// Frames of this run that are whole, although damaged on purpose.
        pub mended: u64,
        /// Faults injected on purpose, matched by number; zeros if the sender's plan is not known.
        pub injected: Injected,
    }
}

impl Received {
    /// Frames that were damaged, but not on purpose.
    #[must_use]
    pub fn spoiled(&self) -> u64 {
        self.corrupt.saturating_sub(self.injected.corrupted.found)
    }
}

struct Stream {
    run: u16,
    heads: Heads,
    /// Expected form of the next frame, from the last one.
    last: ExpectedFrame,
    /// The only flow, or `None` for any flow whose checksums are right.
    flow: Option<Flow>,
    sequence: Sequence,
    seen: Seen,
}

pub struct Check {
    judge: Judge,
    scratch: Box<[u8; 65536]>,
}

/// State of the streams, and the counters.
struct Judge {
    vnet: usize,
    run: Option<u16>,
    streams: Vec<Stream>,
    /// Index of the last frame's stream; out of range if each frame is to be looked up in a plan.
    at: usize,
    plan: Option<FaultPlan>,
    joint: Option<Arc<Joint>>,
    counted: Received,
    /// Stamp of the last frame, if it carried one and was whole.
    stamp: Option<Stamp>,
}

impl Check {
    /// Makes a check of frames behind `vnet` bytes of virtio-net header, of the given run, or of any run.
    #[must_use]
    pub fn new(vnet: usize, run: Option<u16>) -> Self {
        let judge = Judge {
            vnet,
            run,
            streams: Vec::new(),
            at: 0,
            plan: None,
            joint: None,
            counted: Received::default(),
            stamp: None,
        };
        Self { judge, scratch: Box::new([0; 65536]) }
    }

    /// Sets the plan of injected faults; a stream's number is its queue's.
    pub fn plan(&mut self, plan: FaultPlan) {
        self.judge.plan = Some(plan);
        self.judge.at = usize::MAX;
    }

    /// Shares the streams that it learns with other threads, whose order is then counted in `joint`.
    pub(crate) fn join(&mut self, joint: Arc<Joint>) {
        self.judge.joint = Some(joint);
    }

    /// Hands over the last counts of streams that are shared with other threads; no more frames may follow.
    pub(crate) fn settle(&mut self) {
        self.judge.streams.iter_mut().for_each(|stream| stream.sequence.hand_over());
    }

    /// Expects a stream made from this template, of one flow or of any.
    pub fn expect(&mut self, template: &Template, run: u16, flow: Option<Flow>, len: usize) {
        let mut heads = Heads::new(template.clone());
        let last = match &flow {
            Some(flow) => ExpectedFrame::new(template, &heads.of(len).with(flow)),
            None => ExpectedFrame::new(template, heads.of(len)),
        };
        self.judge.streams.push(Stream {
            run,
            heads,
            last,
            flow,
            sequence: Sequence::default(),
            seen: Seen::default(),
        });
    }

    #[must_use]
    pub fn received(&self) -> Received {
        let mut counted = self.judge.counted;
        for stream in &self.judge.streams {
            counted.ours += stream.sequence.received();
            counted.duplicates += stream.sequence.duplicates();
            counted.reordered += stream.sequence.reordered();
            counted.lost += stream.sequence.lost();
        }
        if self.judge.plan.is_none() {
            counted.unsent = counted.duplicates;
        }
        counted
    }

    /// Frames and bytes so far, at low cost: the streams' own counts are left out.
    #[inline]
    #[must_use]
    pub(crate) fn counted(&self) -> Received {
        self.judge.counted
    }

    /// Number of copies sent that have arrived: without foreign frames, and without arrivals in excess of the copies
    /// sent.
    #[must_use]
    pub(crate) fn come(&self) -> u64 {
        let Received { frames, foreign, unsent, .. } = self.judge.counted;
        let again: u64 = match self.judge.plan {
            Some(_) => unsent,
            None => self.judge.streams.iter().map(|stream| stream.sequence.duplicates()).sum(),
        };
        frames.saturating_sub(foreign + again)
    }

    /// Stamp of the frame checked last, if it carried one and was whole.
    #[inline]
    #[must_use]
    pub fn stamp(&self) -> Option<Stamp> {
        self.judge.stamp
    }

    /// Checks a frame in a ring's buffer.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>) {
        if self.judge.usual(frame) {
            return;
        }
        let scratch = &mut self.scratch[..frame.len()];
        let whole = frame.read(0, scratch);
        debug_assert!(whole, "a frame of a ring is at most 65535 bytes");
        self.judge.unusual(scratch);
    }

    /// Checks a frame.
    #[inline]
    pub fn bytes(&mut self, frame: &[u8]) {
        if !self.judge.usual(frame) {
            self.judge.unusual(frame);
        }
    }
}

impl Judge {
    /// Counts a frame; true if it is as expected.
    #[inline]
    fn usual<V: View + ?Sized>(&mut self, frame: &V) -> bool {
        self.counted.frames += 1;
        self.counted.bytes += frame.size() as u64;
        let Some(stream) = self.streams.get_mut(self.at) else { return false };
        let Some(word) = stream.expected(frame) else { return false };
        self.stamp = stream.stamp(frame);
        stream.sequence.next(word & SEQUENCE_MASK);
        true
    }

    /// Checks a frame of another length, flow or stream than the one before, or a damaged one.
    #[cold]
    fn unusual(&mut self, frame: &[u8]) {
        self.stamp = None;
        if self.plan.is_some() && self.planned(frame) {
            return;
        }
        let layouts = [false, true].map(|v6| Layout { vnet: self.vnet, v6 });
        for layout in layouts {
            let Some(mark) = Mark::of(frame, layout) else { continue };
            if self.run.is_none_or(|run| run == mark.run) {
                return self.marked(frame, layout, mark);
            }
            self.counted.foreign += 1;
            return;
        }
        // No mark: too short for one, or its mark is damaged, or it is foreign.
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
        if self.plan.is_none() {
            self.at = at;
        }
        let stream = &mut self.streams[at];
        if stream.whole(frame) {
            self.stamp = stream.stamp(frame);
        } else {
            self.counted.corrupt += 1;
        }
        stream.sequence.next(mark.sequence);
    }

    /// Looks a frame up in the plan of faults; false if it is neither whole nor damaged as planned.
    fn planned(&mut self, frame: &[u8]) -> bool {
        let Some(plan) = self.plan else { return false };
        for at in 0..self.streams.len() {
            let stream = &mut self.streams[at];
            let Some((number, damaged)) = stream.number(frame, &plan) else { continue };
            if !damaged {
                self.stamp = stream.stamp(frame);
            }
            let again = stream.sequence.next(number) == Order::Again;
            let came = Came { bytes: frame.len(), again, damaged };
            let queue = stream.heads.template().stream;
            let verdict = stream.seen.arrived(&plan, &mut self.counted.injected, queue, number, came);
            self.counted.corrupt += u64::from(damaged);
            self.counted.unsent += u64::from(verdict == Verdict::Unsent);
            self.counted.mended += u64::from(verdict == Verdict::Mended);
            return true;
        }
        false
    }

    /// Learns a stream from its first frame.
    fn learn(&mut self, frame: &[u8], layout: Layout, mark: Mark) -> Option<usize> {
        let known_run = self.streams.iter().any(|s| s.run == mark.run);
        let learned = if self.streams.len() < STREAMS { Template::learn(frame, layout) } else { None };
        let Some((template, flow)) = learned else {
            // A run that is known by its number or by its other streams: then the stream's number, or the whole frame,
            // is damaged. An unknown run: foreign bytes.
            if self.run == Some(mark.run) || known_run {
                self.counted.ours += 1;
                self.counted.corrupt += 1;
            } else {
                self.counted.foreign += 1;
            }
            return None;
        };
        let mut heads = Heads::new(template);
        let head = heads.of(frame.len()).with(&flow);
        let last = ExpectedFrame::new(heads.template(), &head);
        let sequence = match &self.joint {
            Some(joint) => Sequence::shared(joint.share((mark.run, mark.stream, layout.v6))),
            None => Sequence::from(mark.sequence),
        };
        self.streams.push(Stream { run: mark.run, heads, last, flow: None, sequence, seen: Seen::default() });
        Some(self.streams.len() - 1)
    }
}

impl Stream {
    /// The word of a marked frame that differs from the one before only in mark and stamp.
    #[inline]
    fn expected<V: View + ?Sized>(&self, frame: &V) -> Option<u64> {
        let template = self.heads.template();
        let word = frame.mark(template.layout.words())?;
        let stamped = !template.stamps(frame.size()) || frame.mark(template.layout.end()).is_some();
        (Mark::run_of(word) == self.run && stamped && self.last.is(frame)).then_some(word)
    }

    /// Number of a frame of this stream, and true if it is damaged as planned; `None` if it is neither whole nor that.
    fn number(&mut self, frame: &[u8], plan: &FaultPlan) -> Option<(u64, bool)> {
        let (layout, queue) = (self.heads.template().layout, self.heads.template().stream);
        let of = |stream: &mut Self, frame: &[u8]| {
            let mark = Mark::of(frame, layout).filter(|mark| (mark.run, mark.stream) == (stream.run, queue))?;
            stream.whole(frame).then_some(mark.sequence)
        };
        if let Some(number) = of(self, frame) {
            return Some((number, false));
        }
        // One flipped bit leaves either the word or its complement intact.
        let words: [u8; 16] = frame.get(layout.words()..layout.end())?.try_into().ok()?;
        let halves = u128::from_be_bytes(words);
        let mut turned = frame.to_vec();
        [halves >> 64, !halves & u128::from(u64::MAX)].into_iter().find_map(|word| {
            let number = u64::try_from(word).ok()? & SEQUENCE_MASK;
            let bit = plan.fate(queue, number, frame.len()).flip?;
            turned[bit / 8] ^= 1 << (bit % 8);
            let right = of(self, &turned) == Some(number);
            turned[bit / 8] ^= 1 << (bit % 8);
            right.then_some((number, true))
        })
    }

    /// True if stamp and pattern are right.
    fn tail_is_right(&self, frame: &[u8]) -> bool {
        let template = self.heads.template();
        let (begin, len, vnet) = (template.body(frame.len()), frame.len(), template.layout.vnet);
        let stamped = !template.stamps(len) || Mark::word_at(frame, template.layout.end()).is_some();
        stamped && frame[begin..] == pattern()[begin - vnet..len - vnet]
    }

    #[inline]
    fn stamp<V: View + ?Sized>(&self, frame: &V) -> Option<Stamp> {
        let template = self.heads.template();
        if template.stamps(frame.size()) { frame.mark(template.layout.end()).map(Stamp::of) } else { None }
    }

    /// True if a marked frame is whole; its head becomes the one to expect.
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
            self.last = ExpectedFrame::new(self.heads.template(), &head);
        }
        right
    }

    /// Class of a frame without a mark: `Some(true)` if it is one of ours that is too short for a mark, `Some(false)`
    /// if it has our headers and should have a mark, `None` if it is foreign.
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

#[cfg(test)]
mod tests;
