//! Reaction points of QCN (IEEE 802.1Q-2022, clause 30.3): the rate of a sender that congestion points have told to slow down.
//!
//! A message lowers the rate by its feedback. Then the rate rises in cycles, which end each time that so many bytes were sent, and
//! each time that a timer has run out: in the first five half of the way back to the rate before the message (fast recovery), then
//! past it by a step (active increase), and by more and more once both have ended more than five times (hyperactive increase). A
//! point that has its link's whole rate again is gone.

use super::demux::{ViSet, each};
use super::settings::Notices;
use linerate_sum::SplitMix64;
use linerate_wire::{CnTag, Cnm, EtherType};

/// Bytes of a cycle (rpgByteReset), and its time in ns (rpgTimeReset).
const BYTES: u64 = 150_000;
const TIME: u64 = 15_000_000;
/// Cycles of fast recovery (rpgThreshold); those behind them are half as long.
const FAST: u32 = 5;
/// Steps of active and of hyperactive increase in bit/s (rpgAiRate, rpgHaiRate).
const ACTIVE: u64 = 5_000_000;
const HYPERACTIVE: u64 = 50_000_000;
/// A message takes feedback of so many parts of the rate (1 / rpgGd), and half of it at most (rpgMinDecFac).
const PARTS: u64 = 128;
/// Least rate in bit/s (rpgMinRate).
const LEAST: u64 = 5_000_000;

/// A sender's rate; see the module's text.
#[derive(Debug)]
pub(super) struct ReactionPoint {
    /// Rates in bit/s: the link's, the one that is in force, and the one that it rises to.
    most: u64,
    rate: u64,
    target: u64,
    /// Bytes until the cycle of bytes ends, and the number of those that have.
    left: u64,
    byte_stage: u32,
    /// Time at which the timer's cycle ends, and the number of those that have.
    due: u64,
    time_stage: u32,
    random: SplitMix64,
}

impl ReactionPoint {
    /// A point at a link with this rate in bit/s, at time `now` in ns.
    pub(super) fn new(most: u64, now: u64, seed: u64) -> Self {
        let random = SplitMix64::new(seed);
        let mut point =
            Self { most, rate: most, target: most, left: 0, byte_stage: 0, due: now, time_stage: 0, random };
        point.left = point.spread(BYTES, 0);
        point.due += point.spread(TIME, 0);
        point
    }

    /// Rate in force, in bit/s.
    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    /// True if it has the link's whole rate.
    pub(super) fn is_over(&self) -> bool {
        self.rate >= self.most
    }

    /// Length of a cycle, 15 % more or less, so that points do not rise in step.
    fn spread(&mut self, length: u64, stage: u32) -> u64 {
        let length = if stage < FAST { length } else { length / 2 };
        length * (850 + self.random.next_u64() % 301) / 1000
    }

    /// Takes a message's feedback, 1 to 63; 0 says nothing.
    pub(super) fn congested(&mut self, now: u64, feedback: u8) {
        if feedback == 0 {
            return;
        }
        // Of several messages in the first cycle, the rate before the first of them stays the target.
        if self.byte_stage > 0 {
            self.target = self.rate;
            self.left = self.spread(BYTES, 0);
        }
        (self.byte_stage, self.time_stage) = (0, 0);
        let kept = PARTS - u64::from(feedback).min(PARTS / 2);
        self.rate = (self.rate / PARTS * kept).max(LEAST.min(self.most));
        self.due = now + self.spread(TIME, 0);
    }

    /// Takes note of bytes that were sent; at most one cycle ends with them.
    pub(super) fn sent(&mut self, bytes: u64) {
        if bytes < self.left {
            self.left -= bytes;
            return;
        }
        self.byte_stage += 1;
        self.left = self.spread(BYTES, self.byte_stage);
        self.rise();
    }

    /// Ends the timer's cycles that are over at this time.
    pub(super) fn tick(&mut self, now: u64) {
        while now >= self.due && !self.is_over() {
            self.time_stage += 1;
            self.due += self.spread(TIME, self.time_stage);
            self.rise();
        }
    }

    /// Raises the rate, as a cycle has ended.
    fn rise(&mut self) {
        let (fewer, more) = (self.byte_stage.min(self.time_stage), self.byte_stage.max(self.time_stage));
        let first = self.byte_stage == 1 || self.time_stage == 1;
        if first && self.target / 10 > self.rate {
            // The way back would be too steep.
            self.target /= 8;
        } else if more > FAST {
            let cycles = u64::from(fewer.saturating_sub(FAST));
            self.target = self.target.saturating_add(if cycles > 0 { HYPERACTIVE * cycles } else { ACTIVE });
        }
        self.rate = self.rate.midpoint(self.target).saturating_add(1).min(self.most);
    }
}

/// The points of a queue's interfaces.
pub(super) struct Reactions {
    /// Rate of the link in bit/s.
    most: u64,
    seed: u64,
    /// Interfaces that are slowed down, and their points.
    slowed: ViSet,
    points: Box<[Option<ReactionPoint>]>,
}

impl Reactions {
    /// For a link of this rate in bit/s, and so many interfaces.
    pub(super) fn new(most: u64, interfaces: usize, seed: u64) -> Self {
        Self { most, seed, slowed: 0, points: (0..interfaces).map(|_| None).collect() }
    }

    /// True if they are for such a link.
    pub(super) fn are_for(&self, most: u64) -> bool {
        self.most == most
    }

    /// Point of an interface, if it is slowed down.
    #[inline]
    pub(super) fn of(&mut self, vi: usize) -> Option<&mut ReactionPoint> {
        self.points.get_mut(vi)?.as_mut()
    }

    /// Takes the messages that have come, and the time; returns the interfaces whose rate may be another one.
    pub(super) fn turn(&mut self, now: u64, notices: &Notices) -> ViSet {
        let mut changed = self.slowed;
        for (interfaces, feedback) in notices.take() {
            for vi in each(interfaces).filter(|_| feedback > 0) {
                let seed = SplitMix64::nth(self.seed, vi as u64);
                let Some(place) = self.points.get_mut(vi) else { continue };
                place.get_or_insert_with(|| ReactionPoint::new(self.most, now, seed)).congested(now, feedback);
                (changed, self.slowed) = (changed | 1 << vi, self.slowed | 1 << vi);
            }
        }
        for vi in each(self.slowed) {
            let Some(place) = self.points.get_mut(vi) else { continue };
            place.iter_mut().for_each(|point| point.tick(now));
            if place.take_if(|point| point.is_over()).is_some() {
                self.slowed &= !(1 << vi);
            }
        }
        changed
    }
}

/// Reason that a message says nothing to a reaction point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is cut off, or says more than it has.
    Damaged,
    /// It is about a flow that is not here.
    NoFlow,
}

/// Reads a frame's message: its destination, the EtherType of what was sampled, and the feedback. None of any other frame.
///
/// A flow that has a number was tagged, and nothing here is.
pub(super) fn message(frame: &[u8]) -> Option<Result<(u64, EtherType, u8), Refused>> {
    let (mut ethertype, mut rest) = typed(frame.get(12..)?)?;
    if ethertype == EtherType::VLAN {
        (ethertype, rest) = typed(rest.get(2..)?)?;
    }
    let mut flow = 0;
    if ethertype == EtherType::CN_TAG {
        let tag = CnTag::new_checked(rest).ok()?;
        (flow, ethertype, rest) = (tag.flow(), tag.ethertype(), &rest[4..]);
    }
    if ethertype != EtherType::CNM {
        return None;
    }
    let Ok((cnm, msdu)) = Cnm::parse(rest) else { return Some(Err(Refused::Damaged)) };
    let to = frame[..6].iter().fold(0, |to, byte| to << 8 | u64::from(*byte));
    let sampled = typed(msdu).filter(|_| flow == 0).ok_or(Refused::NoFlow);
    Some(sampled.map(|(ethertype, _)| (to, ethertype, cnm.feedback)))
}

/// True if a frame is a message of a congestion point, or has a CN-TAG: no program sends such.
pub(crate) fn is_notification(frame: &[u8]) -> bool {
    let behind = |at: usize| frame.get(at..).and_then(typed).map(|(ethertype, _)| ethertype);
    let ethertype =
        behind(12).and_then(|ethertype| if ethertype == EtherType::VLAN { behind(16) } else { Some(ethertype) });
    matches!(ethertype, Some(EtherType::CNM | EtherType::CN_TAG))
}

/// An EtherType, and what is behind it.
fn typed(bytes: &[u8]) -> Option<(EtherType, &[u8])> {
    let ([high, low], rest) = bytes.split_first_chunk()?;
    Some((EtherType(u16::from_be_bytes([*high, *low])), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: u64 = 1_000_000_000;
    /// Bytes that end a cycle of any length, and a time that does.
    const ALL: u64 = BYTES * 115 / 100;
    const LONG: u64 = TIME * 115 / 100;

    /// By hand: 64 parts of 128 at most are taken; then each cycle goes half of the way back.
    #[test]
    fn a_message_takes_its_part_and_fast_recovery_gives_half_of_it_back_each_time() {
        let mut point = ReactionPoint::new(10 * G, 0, 1);
        assert!(point.is_over());
        point.congested(0, 32);
        assert_eq!((point.rate(), point.is_over()), (7_500_000_000, false));
        for wanted in [8_750, 9_375, 9_687, 9_843, 9_921] {
            point.sent(ALL);
            assert_eq!(point.rate() / 1_000_000, wanted);
        }
        // The target is the rate before the message until a cycle was over, then the one that it had.
        point.congested(0, 63);
        let low = 9_921_875_000 / 128 * 65;
        assert!(point.rate().abs_diff(low) < 200, "{}", point.rate());
        point.congested(0, 63);
        let low = low / 128 * 65;
        point.sent(ALL);
        assert!(point.rate().abs_diff(low.midpoint(9_921_875_000)) < 200, "{}", point.rate());
        point.congested(0, 0);
        assert_eq!(point.byte_stage, 1, "no feedback, no message");
    }

    /// Cycles of bytes and of the timer count apart: five of each are fast recovery's, more of one are active, more of both hyperactive.
    #[test]
    fn the_target_rises_by_steps_and_then_by_more_and_more() {
        let mut point = ReactionPoint::new(10 * G, 0, 1);
        point.congested(0, 63);
        point.sent(ALL);
        point.congested(0, 63);
        let before = point.target;
        for _ in 0..FAST {
            point.sent(ALL);
        }
        assert_eq!(point.target, before);
        for n in 1..=3 {
            point.sent(ALL);
            assert_eq!(point.target, before + n * ACTIVE);
        }
        let target = point.target;
        for n in 1..=FAST {
            point.tick(point.due);
            assert_eq!((point.target, point.time_stage), (target + u64::from(n) * ACTIVE, n), "bytes alone are beyond");
        }
        let mut target = point.target;
        for cycles in 1..=3 {
            point.tick(point.due);
            // Eight cycles of bytes are three beyond.
            target += cycles * HYPERACTIVE;
            assert_eq!(point.target, target);
        }
        let now = point.due;
        point.tick(now);
        assert_eq!(point.target, target + 3 * HYPERACTIVE);
        point.congested(now, 1);
        assert_eq!((point.byte_stage, point.time_stage), (0, 0));
    }

    #[test]
    fn a_rate_falls_no_lower_than_the_least_and_a_target_far_above_it_is_cut() {
        let mut point = ReactionPoint::new(10 * G, 0, 1);
        for _ in 0..100 {
            point.congested(0, 63);
        }
        assert_eq!((point.rate(), point.target), (LEAST, 10 * G));
        point.sent(ALL);
        assert_eq!(point.target, 10 * G / 8);
        assert_eq!(point.rate() / 1000, u64::midpoint(LEAST, 10 * G / 8) / 1000);
        let mut slow = ReactionPoint::new(1_000_000, 0, 1);
        slow.congested(0, 63);
        assert_eq!(slow.rate(), 1_000_000, "no link is made faster");
    }

    /// A sender that sends nothing any more is free after a time, and however late that is looked at.
    #[test]
    fn time_alone_ends_it() {
        for (late, looks) in [(1, 2000), (1 << 30, 1)] {
            let mut point = ReactionPoint::new(10 * G, 0, 1);
            (0..20).for_each(|_| point.congested(0, 63));
            (1..=looks).for_each(|n| point.tick(n * late * LONG));
            assert!(point.is_over(), "{} after {looks}", point.rate());
        }
    }

    #[test]
    fn cycles_are_of_the_length_that_the_standard_says_within_15_percent() {
        let mut point = ReactionPoint::new(10 * G, 0, 7);
        for (stage, [least, most]) in [(0, [127_500, 172_500]), (4, [127_500, 172_500]), (5, [63_750, 86_250])] {
            let all: Vec<u64> = (0..1000).map(|_| point.spread(BYTES, stage)).collect();
            assert!(all.iter().all(|n| (least..=most).contains(n)), "{stage}");
            assert!(all.iter().min() < Some(&(least + 3000)) && all.iter().max() > Some(&(most - 3000)), "{stage}");
        }
    }

    #[test]
    fn messages_are_read_and_others_are_not_taken_for_some() {
        let cnm = Cnm {
            version: 0,
            feedback: 9,
            cpid: [7; 8],
            q_offset: 1,
            q_delta: 2,
            priority: 3,
            dst: linerate_wire::MacAddr([2; 6]),
            msdu_len: 2,
        };
        let body = [&cnm.bytes()[..], &[0x89, 6]].concat();
        let with = |front: &[u8], body: &[u8]| [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], front, body].concat();
        let good = Some(Ok((0x0200_0000_0001, EtherType::FCOE, 9)));
        let (tag, typed): ([u8; 4], [u8; 2]) = ([0x22, 0xe9, 0, 0], [0x22, 0xe7]);
        let tagged = [&[0x81, 0, 0xc0, 5][..], &tag, &typed].concat();
        for front in [&tagged[4..], &typed, &tagged] {
            let frame = with(front, &body);
            assert_eq!(message(&frame), good);
            assert!(is_notification(&frame));
            for len in 12 + front.len()..frame.len() {
                assert_eq!(message(&frame[..len]), Some(Err(Refused::Damaged)), "{len}");
            }
            for len in 0..12 + front.len() {
                assert_eq!(message(&frame[..len]), None, "{len}");
            }
        }
        assert_eq!(message(&with(&[0x22, 0xe9, 0, 1, 0x22, 0xe7], &body)), Some(Err(Refused::NoFlow)));
        let none = Cnm { msdu_len: 1, ..cnm };
        assert_eq!(message(&with(&typed, &[&none.bytes()[..], &[0]].concat())), Some(Err(Refused::NoFlow)));
        for other in [&[0x22, 0xe9, 0, 0, 0x89, 6][..], &[0x89, 6], &[0x81, 0, 0, 5, 8, 0]] {
            assert_eq!(message(&with(other, &body)), None);
        }
        assert!(is_notification(&with(&tag, &[0x89, 6])) && !is_notification(&with(&[8, 0], &body)));
    }
}
