//! Congestion of a queue, told to its senders while there is room yet: marks of IP packets (ECN, RFC 3168), and messages to the
//! senders of sampled frames (QCN, IEEE 802.1Q-2022, clause 30.2).
//!
//! Marks are set when a frame leaves the queue, so that they say how it is now. A congestion point samples frames that come into the
//! queue; its message goes to the source of the sampled frame, by the port that the frame came by.

use super::Switch;
use super::forward::{Head, Target};
use super::queues::{Item, Store};
use super::rewrite::Whole;
use super::table::PortId;
use super::vlan::Leave;
use linerate_offload::mark_congestion;
use linerate_sum::SplitMix64;
use linerate_wire::{CnTag, Cnm, EtherType, MacAddr, Priority, VlanTag};

/// Shares of one.
const ONE: u64 = 1_000_000;
/// Weight of the queue's growth in feedback (w).
const WEIGHT: i64 = 2;
/// Largest quantized feedback.
const MOST: i64 = 63;
/// Bytes between two samples, by the upper three of six bits of feedback; 15 % more or less, so that points do not sample in
/// step.
const PERIODS: [u64; 8] = [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500];
/// Priority of messages (cngCnmTransmitPriority).
const PRIORITY: u16 = 6;
/// Bytes of a shortest frame, without FCS.
const LEAST: usize = 60;

/// Thresholds of marks, as those of RED (Floyd and Jacobson 1993), of the queue as it is and not of its average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecn {
    /// Bytes of the queue up to which nothing is marked.
    pub least: u64,
    /// Bytes beyond which all is.
    pub most: u64,
    /// Probability of a mark at `most` bytes, in millionths; between the two it grows in a line.
    pub chance: u32,
}

impl Ecn {
    /// True if a frame of a queue of so many bytes is to be marked.
    fn marks(&self, bytes: u64, random: &mut SplitMix64) -> bool {
        if bytes <= self.least || bytes > self.most {
            return bytes > self.most;
        }
        let above = u128::from(bytes - self.least) * u128::from(self.chance);
        let chance = above / u128::from((self.most - self.least).max(1));
        u128::from(random.next_u64() % ONE) < chance
    }
}

/// Settings of congestion points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qcn {
    /// Priorities that are congestion-controlled, one bit each.
    pub priorities: u8,
    /// Bytes at which a queue is held (cpQSp).
    pub set_point: u32,
}

impl Qcn {
    /// Default of the set point.
    pub const SET_POINT: u32 = 26_000;
}

/// State of a queue's congestion point.
#[derive(Debug)]
pub(super) struct CongestionPoint {
    /// Bytes of the queue at the last sample (cpQLenOld).
    old: i64,
    /// Bytes until the next sample.
    left: u64,
}

impl Default for CongestionPoint {
    fn default() -> Self {
        Self { old: 0, left: PERIODS[0] }
    }
}

/// Finding of a sample, in bytes.
#[derive(Debug, PartialEq, Eq)]
struct Sample {
    feedback: u8,
    /// Beyond the set point, and since the last sample.
    offset: i64,
    delta: i64,
}

impl CongestionPoint {
    /// Takes note of a frame of `len` bytes that has made the queue `bytes` long; the finding, if it is sampled and its sender is to
    /// slow down.
    fn enqueued(&mut self, set_point: u32, bytes: u64, len: usize, random: &mut SplitMix64) -> Option<Sample> {
        if bytes <= len as u64 {
            // The queue was empty, however long it was at the last sample.
            self.old = 0;
        }
        self.left = self.left.saturating_sub(len as u64);
        if self.left > 0 {
            return None;
        }
        let (now, set_point) = (i64::try_from(bytes).unwrap_or(i64::MAX / 8), i64::from(set_point));
        let (offset, delta) = (now - set_point, now - std::mem::replace(&mut self.old, now));
        let worst = set_point * (2 * WEIGHT + 1);
        let feedback = (offset + WEIGHT * delta).clamp(0, worst) * MOST / worst.max(1);
        let feedback = u8::try_from(feedback).unwrap_or(0);
        self.left = PERIODS[usize::from(feedback >> 3)] * (850 + random.next_u64() % 301) / 1000;
        (feedback > 0).then_some(Sample { feedback, offset, delta })
    }
}

/// A message on its way to the source of a sampled frame.
pub(super) struct Notice {
    /// Port that the frame came by, and the one that it waits for, with its class.
    from: PortId,
    of: (PortId, usize),
    bytes: Vec<u8>,
}

/// Number of bytes in units of 64, within 16 bits.
fn units(bytes: i64) -> i16 {
    i16::try_from(bytes / 64).unwrap_or(if bytes < 0 { i16::MIN } else { i16::MAX })
}

/// Makes the message about a sampled frame: to its source, in its VLAN, with the flow of its CN-TAG. None of what has no source.
fn message(frame: &[u8], sample: &Sample, mac: [u8; 6], (port, class): (PortId, usize)) -> Option<Vec<u8>> {
    let (dst, rest) = frame.split_first_chunk::<6>()?;
    let (src, mut rest) = rest.split_first_chunk::<6>()?;
    if MacAddr(*src).is_multicast() {
        return None;
    }
    let mut bytes = [&src[..], &mac[..]].concat();
    let mut priority = Priority::default();
    let mut flow = 0_u16;
    if let [t0, t1, c0, c1, _, _, ..] = rest
        && EtherType(u16::from_be_bytes([*t0, *t1])) == EtherType::VLAN
    {
        let tag = VlanTag(u16::from_be_bytes([*c0, *c1]));
        priority = tag.priority();
        bytes.extend(EtherType::VLAN.0.to_be_bytes());
        bytes.extend((PRIORITY << 13 | tag.vid()).to_be_bytes());
        rest = &rest[4..];
    }
    if let [t0, t1, tagged @ ..] = rest
        && EtherType(u16::from_be_bytes([*t0, *t1])) == EtherType::CN_TAG
        && let Ok(tag) = CnTag::new_checked(tagged)
    {
        flow = tag.flow();
        rest = &rest[4..];
    }
    let msdu = &rest[..rest.len().min(Cnm::MAX_MSDU)];
    let [high, low] = (port << 3 | PortId::try_from(class).unwrap_or(0)).to_be_bytes();
    let [a, b, c, d, e, f] = mac;
    let cnm = Cnm {
        version: 0,
        feedback: sample.feedback,
        cpid: [a, b, c, d, e, f, high, low],
        q_offset: units(sample.offset),
        q_delta: units(sample.delta),
        priority: u8::try_from(priority.index()).unwrap_or(0),
        dst: MacAddr(*dst),
        msdu_len: u16::try_from(msdu.len()).unwrap_or(0),
    };
    for number in [EtherType::CN_TAG.0, flow, EtherType::CNM.0] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(cnm.bytes());
    bytes.extend(msdu);
    bytes.resize(bytes.len().max(LEAST), 0);
    Some(bytes)
}

impl Store {
    /// Marks a frame that leaves a queue of so many bytes, if it is to be marked and may be; true if it was not before.
    pub(super) fn mark(&mut self, class: usize, bytes: u64) -> bool {
        let marked = self.ecn[class].is_some_and(|ecn| ecn.marks(bytes, &mut self.random));
        marked && mark_congestion(&mut self.bytes)
    }

    /// Has a queue's congestion point look at a frame that has come into it.
    pub(super) fn sample(&mut self, of: (PortId, usize), bytes: u64, point: &mut CongestionPoint, item: &Item<'_>) {
        let (Some(qcn), Some(from)) = (self.qcn, item.from) else { return };
        if qcn.priorities & item.priority.bit() == 0 {
            return;
        }
        let sample = point.enqueued(qcn.set_point, bytes, item.bytes.len(), &mut self.random);
        let message = sample.and_then(|sample| message(item.bytes, &sample, self.mac, of));
        self.notices.extend(message.map(|bytes| Notice { from, of, bytes }));
    }
}

impl Switch {
    /// Sends the messages of congestion points.
    pub(super) fn notify_sources(&mut self) {
        let Some(store) = self.store.as_deref_mut() else { return };
        for Notice { from, of: (port, class), bytes } in std::mem::take(&mut store.notices) {
            let whole = Whole { bytes, ..Whole::default() };
            let Some((first, second)) = whole.head() else { continue };
            let tag = Head::new(first, second).tag;
            let member = |id: PortId| self.members.get(usize::from(id)).and_then(Option::as_ref);
            let vid = member(port).and_then(|member| member.policy.vlans.enter(tag));
            let leave = member(from).zip(vid).map(|(member, vid)| member.policy.vlans.leave(vid, tag));
            let Some(leave) = leave.filter(|leave| *leave != Leave::Not) else { continue };
            self.send_own(&Target { to: from, leave, watches: false }, &whole);
            let mut outlets = self.members[usize::from(port)].iter_mut().flat_map(|member| &mut member.outlets);
            if let Some(queues) = outlets.find_map(|outlet| outlet.queues.as_deref_mut()) {
                queues.classes[class].count.notices += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_grow_from_none_to_all() {
        let ecn = Ecn { least: 1000, most: 3000, chance: 100_000 };
        let mut random = SplitMix64::new(1);
        let mut of = |bytes: u64| (0..10_000).filter(|_| ecn.marks(bytes, &mut random)).count();
        assert_eq!([0, 1000].map(&mut of), [0, 0]);
        assert_eq!([3001, 1 << 30].map(&mut of), [10_000, 10_000]);
        let [half, full] = [2000, 3000].map(of);
        assert!((400..600).contains(&half) && (900..1100).contains(&full), "{half} {full}");
        let step = Ecn { least: 1000, most: 1000, chance: 100_000 };
        assert_eq!([999, 1000, 1001].map(|bytes| step.marks(bytes, &mut random)), [false, false, true]);
    }

    /// By hand, for a set point of 26000: feedback of 63 is 5 * 26000 above, and 63 * n / 130000 of n bytes.
    #[test]
    fn feedback_is_how_far_a_queue_is_above_its_set_point_and_how_fast_it_grows() {
        let mut random = SplitMix64::new(1);
        let mut point = CongestionPoint::default();
        // Frames of 1000 bytes at a queue of so many, until one is sampled: their number, and the finding.
        let mut next = |point: &mut CongestionPoint, bytes: u64| {
            for n in 1.. {
                let before = point.left;
                let sample = point.enqueued(26_000, bytes, 1000, &mut random);
                if point.left >= before {
                    return (n, sample);
                }
            }
            unreachable!("each period ends");
        };
        let found = |feedback, offset, delta| Some(Sample { feedback, offset, delta });
        // 150 000 bytes until the first sample. 20000 are below the set point, and grew from 0: -6000 + 40000.
        assert_eq!(next(&mut point, 20_000), (150, found(16, -6000, 20_000)));
        let mut within = |bytes: u64, period: std::ops::RangeInclusive<u64>, sample: Option<Sample>| {
            let (n, found) = next(&mut point, bytes);
            assert!(period.contains(&n) && found == sample, "{bytes}: {n} {found:?}");
        };
        // Feedback of 16 has the next sample after 50 000 bytes, of 11 after 75 000, 15 % more or less.
        within(30_000, 43..=58, found(11, 4000, 10_000));
        // It shrinks faster than it is above: nobody slows down, and the next sample is after 150 000 bytes.
        within(27_000, 64..=87, None);
        within(500_000, 128..=173, found(63, 474_000, 473_000));
        // The shortest period; and it stood, far above.
        within(500_000, 16..=22, found(63, 474_000, 0));
        // An empty queue has grown from nothing.
        assert_eq!(point.enqueued(26_000, 100, 100, &mut SplitMix64::new(2)), None);
        assert_eq!((point.old, next(&mut point, 18_000).1), (0, found(13, -8000, 18_000)));
    }

    #[test]
    fn a_message_has_what_its_frame_had() {
        let sample = Sample { feedback: 0x2a, offset: 64 * 100 + 63, delta: -64 };
        let head = [[2, 0, 0, 0, 0, 9], [2, 0, 0, 0, 0, 1]].concat();
        let body = [&[0x89, 6][..], &[0x5a; 100]].concat();
        let frame = [&head[..], &[0x81, 0, 0x60, 5, 0x22, 0xe9, 0x12, 0x34], &body[..]].concat();
        let made = message(&frame, &sample, [2, 0, 0, 0, 0, 7], (3, 1)).unwrap();
        let wanted = [
            &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 7, 0x81, 0, 0xc0, 5, 0x22, 0xe9, 0x12, 0x34, 0x22, 0xe7][..],
            &[0, 0x2a, 2, 0, 0, 0, 0, 7, 0, 25, 0, 100, 0xff, 0xff, 0x60, 0, 2, 0, 0, 0, 0, 9, 0, 64],
            &body[..64],
        ];
        assert_eq!(made, wanted.concat());
        // Without tags: flow 0, priority 0, and padding behind a short frame.
        let made = message(&[&head[..], &body[..3]].concat(), &sample, [2, 0, 0, 0, 0, 7], (3, 1)).unwrap();
        assert_eq!(made[12..18], [0x22, 0xe9, 0, 0, 0x22, 0xe7]);
        assert_eq!((made[32], &made[40..46], made.len()), (0, &[0, 3, 0x89, 6, 0x5a, 0][..], 60));
        let mut from_group = frame;
        from_group[6] = 1;
        assert_eq!(message(&from_group, &sample, [2; 6], (3, 1)), None);
        assert_eq!(message(&head[..11], &sample, [2; 6], (3, 1)), None);
    }
}
