//! The way out: sequences become frames in a queue's slots, each octet copied once.

use super::LONGEST;
use linerate_fcoe::{Link, Sequence, Transmit};
use linerate_nic::{FcSegments, MAX_FC_HEADER, Sink, SlotWriter};
use linerate_port::TxQueue;
use linerate_wire::{EtherType, FcHeader, FcoeFrame};

/// A port's transmit queue, for an N_Port.
///
/// Frames longer than a slot become chains (`NS_MOREFRAG`). What no slot and no frame can ever hold is not sent, and
/// counted: whoever sent it is told that it went, and finds it lost.
pub struct FcTx {
    queue: TxQueue,
    /// Slots that the longest frame needs; one, if it never fits: then it is refused, not waited with.
    per_frame: u32,
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
    /// Sends through a queue.
    #[must_use]
    pub fn new(queue: TxQueue) -> Self {
        let per_frame = SlotWriter::slots(&queue.ring, LONGEST).unwrap_or(1);
        Self { queue, per_frame, count: FcTxCounters::default() }
    }

    /// Hands on what was sent, and gets sent slots back.
    #[inline]
    pub fn sync(&mut self) {
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

    /// Writes as many frames as there are slots for.
    #[inline]
    fn write(&mut self, segments: &mut FcSegments<'_>) -> usize {
        let mut writer = SlotWriter::new(&mut self.queue.ring, u32::MAX);
        let mut frames = 0;
        while let Some(len) = segments.write_next(&mut writer) {
            writer.end(len, None);
            frames += 1;
        }
        writer.commit();
        self.count.frames += frames as u64;
        frames
    }
}

impl Transmit for FcTx {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let (template, len) = template(&sequence.link, &sequence.header);
        let Sequence { payload, max_payload, start, end, .. } = *sequence;
        let segments = FcSegments::new(&template[..len], payload, max_payload, start, end).ok();
        // The first frame is the longest.
        let longest = segments.as_ref().and_then(FcSegments::next_len);
        let (Some(mut segments), Some(_)) =
            (segments, longest.and_then(|len| SlotWriter::slots(&self.queue.ring, len)))
        else {
            self.count.refused += 1;
            let all = payload.iter().fold(0_usize, |sum, piece| sum.saturating_add(piece.len()));
            return all.div_ceil(max_payload.max(1)).max(1);
        };
        let mut frames = self.write(&mut segments);
        if segments.remaining() > 0 {
            // Slots that came back since the last sync.
            self.queue.sync();
            frames += self.write(&mut segments);
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

/// The headers of a sequence's first frame, and their length.
#[inline]
fn template(link: &Link, header: &FcHeader) -> ([u8; MAX_FC_HEADER], usize) {
    let mut template = [0; MAX_FC_HEADER];
    let mut len = 0;
    let mut put = |octets: &[u8]| {
        template[len..len + octets.len()].copy_from_slice(octets);
        len += octets.len();
    };
    put(&link.dst.0);
    put(&link.src.0);
    if let Some(tag) = link.vlan {
        put(&EtherType::VLAN.0.to_be_bytes());
        put(&tag.0.to_be_bytes());
    }
    put(&EtherType::FCOE.0.to_be_bytes());
    put(&[0; FcoeFrame::HEADER_LEN]);
    put(&header.octets());
    (template, len)
}
