//! The way out: sequences become frames in a queue's slots, each octet copied once.

use super::LONGEST;
use linerate_fcoe::{Link, Sequence, Transmit};
use linerate_offload::{FcSegments, Sink};
use linerate_port::SlotWriter;
use linerate_port::TxQueue;
use linerate_ring::TxRing;
use linerate_wire::{EtherType, FcoeFrame, VlanTag};

/// Frames after which what was written is handed on, so that the receiver works while the rest is written.
const HANDED_ON: usize = 16;
/// How many slots ahead of the one that is written its lines are fetched.
const AHEAD: u32 = 2;
/// The longest frames with which that pays: longer ones have more lines than a core can have under way.
const FETCHED: usize = 1024;

/// A port's transmit queue, for an N_Port.
///
/// Frames longer than a slot become chains (`NS_MOREFRAG`). What no slot and no frame can ever hold is not sent, and
/// counted: whoever sent it is told that it went, and finds it lost.
pub struct FcTx {
    queue: TxQueue,
    /// Slots that the longest frame needs; one, if it never fits: then it is refused, not waited with.
    per_frame: u32,
    front: Front,
    /// Frames since the last sync.
    unsaid: usize,
    count: FcTxCounters,
}

/// What was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FcTxCounters {
    /// Frames put into slots.
    pub frames: u64,
    /// Frames, or sequences, that can never be sent: too long for the ring, or cut into pieces that FC does not have.
    pub refused: u64,
}

impl FcTx {
    /// Sends through a queue. It stands still for no pause but that of the frames' priority, where they have a tag.
    #[must_use]
    pub fn new(mut queue: TxQueue, vlan: Option<VlanTag>) -> Self {
        if let Some(tag) = vlan {
            queue.set_classes(1 << tag.pcp());
        }
        let per_frame = SlotWriter::slots(&queue.ring, LONGEST).unwrap_or(1);
        Self { queue, per_frame, front: Front::default(), unsaid: 0, count: FcTxCounters::default() }
    }

    /// Hands on what was sent, and gets sent slots back.
    #[inline]
    pub fn sync(&mut self) {
        self.unsaid = 0;
        self.queue.sync();
    }

    /// The queue, for whoever waits on it or asks for its counters.
    pub fn queue(&mut self) -> &mut TxQueue {
        &mut self.queue
    }

    /// What was sent.
    #[must_use]
    pub fn counters(&self) -> FcTxCounters {
        self.count
    }
}

impl Transmit for FcTx {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let Self { queue, front, count, .. } = self;
        let Sequence { link, header, max_payload, start, end, payload } = sequence;
        let segments = FcSegments::new(front.of(link), header, payload, *max_payload, *start, *end).ok();
        // The first frame is the longest.
        let longest = segments.as_ref().and_then(FcSegments::next_len);
        let (Some(mut segments), Some(_)) = (segments, longest.and_then(|len| SlotWriter::slots(&queue.ring, len)))
        else {
            count.refused += 1;
            let all = payload.iter().fold(0_usize, |sum, piece| sum.saturating_add(piece.len()));
            return all.div_ceil((*max_payload).max(1)).max(1);
        };
        let mut frames = write(&mut queue.ring, &mut segments);
        if segments.next_len().is_some() {
            // Slots that came back since the last sync.
            queue.sync();
            frames += write(&mut queue.ring, &mut segments);
        }
        count.frames += frames as u64;
        self.unsaid += frames;
        if self.unsaid >= HANDED_ON {
            self.sync();
        }
        frames
    }

    fn frame(&mut self, frame: &[u8]) -> bool {
        let Some(slots) = SlotWriter::slots(&self.queue.ring, frame.len()) else {
            self.count.refused += 1;
            return true;
        };
        if self.queue.ring.free() < slots {
            self.queue.sync();
            if self.queue.ring.free() < slots {
                return false;
            }
        }
        let mut writer = SlotWriter::new(&mut self.queue.ring, slots);
        writer.put(0, frame);
        writer.end(frame.len(), None);
        writer.commit();
        self.count.frames += 1;
        true
    }

    #[inline]
    fn room(&self) -> usize {
        (self.queue.ring.free() / self.per_frame) as usize
    }
}

/// Writes as many frames as there are slots for.
#[inline]
fn write(ring: &mut TxRing, segments: &mut FcSegments<'_>) -> usize {
    let mut writer = SlotWriter::new(ring, u32::MAX);
    let mut frames = 0;
    loop {
        if let Some(len) = segments.next_len().filter(|len| *len <= FETCHED) {
            writer.fetch(AHEAD, len);
        }
        // Straight into the one slot that a frame nearly always has, or else into as many as it needs.
        let written = writer.with_first(|slot| segments.write_next(slot)).flatten();
        let Some(len) = written.or_else(|| segments.write_next(&mut writer)) else { break };
        writer.end(len, None);
        frames += 1;
    }
    writer.commit();
    frames
}

/// Octets before an FC header: Ethernet with a tag, and FCoE.
const FRONT: usize = 14 + 4 + FcoeFrame::HEADER_LEN;

/// What stands before the FC header, kept from one sequence to the next: most go to where the one before went.
#[derive(Default)]
struct Front {
    link: Option<Link>,
    octets: [u8; FRONT],
    len: usize,
}

impl Front {
    /// Of this link, without SOF.
    #[inline]
    fn of(&mut self, link: &Link) -> &[u8] {
        if self.link != Some(*link) {
            self.make(link);
        }
        &self.octets[..self.len]
    }

    #[inline(never)]
    fn make(&mut self, link: &Link) {
        self.link = Some(*link);
        self.len = 0;
        self.put(&link.dst.0);
        self.put(&link.src.0);
        if let Some(tag) = link.vlan {
            self.put(&EtherType::VLAN.0.to_be_bytes());
            self.put(&tag.0.to_be_bytes());
        }
        self.put(&EtherType::FCOE.0.to_be_bytes());
        self.put(&[0; FcoeFrame::HEADER_LEN]);
    }

    fn put(&mut self, octets: &[u8]) {
        self.octets[self.len..self.len + octets.len()].copy_from_slice(octets);
        self.len += octets.len();
    }
}
