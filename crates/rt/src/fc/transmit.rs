//! FC output: sequences become frames in an adapter's queue, each byte copied once.

use super::LONGEST;
use linerate_fcoe::{Link, Sequence, Transmit};
use linerate_nic::NicTx;
use linerate_offload::{FcSegments, Frames, Sink};
use linerate_port::SlotWriter;
use linerate_wire::{EtherType, FcoeFrame, VlanTag};

/// Frames after which the written slots are handed on, so that the receiver works while the rest is written.
const HANDED_ON: usize = 16;

/// Output of an N_Port through an interface.
///
/// Frames longer than a slot become chains (`NS_MOREFRAG`). A frame that can never fit is dropped and counted: its
/// sender is told that it was sent, and detects the loss.
pub struct FcTx {
    interface: usize,
    /// Slots that the longest frame needs; 1 if it never fits: then it is refused at once.
    per_frame: u32,
    front: Front,
    /// Frames since the last sync.
    unsaid: usize,
    count: FcTxCounters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FcTxCounters {
    /// Frames put into slots.
    pub frames: u64,
    /// Frames, or sequences, that can never be sent: too long for ring or interface, or with a payload size that FC
    /// does not allow.
    pub refused: u64,
}

impl FcTx {
    /// Makes the output of an interface. Its queue is stopped only by pause frames (PFC) for the frames' priority, if
    /// they have a tag.
    #[must_use]
    pub fn new(nic: &mut NicTx, interface: usize, vlan: Option<VlanTag>) -> Self {
        if let Some(tag) = vlan {
            nic.port().set_priorities(tag.priority().bit());
        }
        let per_frame = SlotWriter::slots(&nic.port().ring, LONGEST).unwrap_or(1);
        Self { interface, per_frame, front: Front::default(), unsaid: 0, count: FcTxCounters::default() }
    }

    /// Joins the output with its queue, at time `now`.
    #[inline]
    pub fn over<'a>(&'a mut self, nic: &'a mut NicTx, now: u64) -> FcOut<'a> {
        FcOut { tx: self, nic, now }
    }

    #[must_use]
    pub fn counters(&self) -> FcTxCounters {
        self.count
    }
}

/// An [`FcTx`] and the queue that it sends through.
pub struct FcOut<'a> {
    tx: &'a mut FcTx,
    nic: &'a mut NicTx,
    now: u64,
}

impl FcOut<'_> {
    fn sync(&mut self) {
        self.tx.unsaid = 0;
        self.nic.sync(self.now);
    }
}

impl Transmit for FcOut<'_> {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let FcTx { interface, front, count, unsaid, .. } = &mut *self.tx;
        let Sequence { link, header, max_payload, start, end, payload } = sequence;
        let segments = FcSegments::new(front.of(link), header, payload, *max_payload, *start, *end).ok();
        let sent = segments.map(|mut segments| {
            let sent = self.nic.send_all(*interface, &mut segments)?;
            if segments.next_len().is_none() {
                return Ok(sent);
            }
            // Reclaims slots that came back since the last sync.
            self.nic.sync(self.now);
            self.nic.send_all(*interface, &mut segments).map(|more| sent + more)
        });
        let Some(Ok(frames)) = sent else {
            count.refused += 1;
            let all = payload.iter().fold(0_usize, |sum, piece| sum.saturating_add(piece.len()));
            return all.div_ceil((*max_payload).max(1)).max(1);
        };
        count.frames += frames as u64;
        *unsaid += frames;
        if *unsaid >= HANDED_ON {
            self.sync();
        }
        frames
    }

    fn frame(&mut self, frame: &[u8]) -> bool {
        let mut sent = self.nic.send_all(self.tx.interface, &mut One(Some(frame)));
        if sent == Ok(0) {
            self.sync();
            sent = self.nic.send_all(self.tx.interface, &mut One(Some(frame)));
        }
        match sent {
            Ok(n) => self.tx.count.frames += n as u64,
            Err(_) => self.tx.count.refused += 1,
        }
        sent != Ok(0)
    }

    #[inline]
    fn room(&self) -> usize {
        (self.nic.free() / self.tx.per_frame) as usize
    }
}

/// A frame that was built elsewhere.
struct One<'a>(Option<&'a [u8]>);

impl Frames for One<'_> {
    fn next_len(&self) -> Option<usize> {
        self.0.map(<[u8]>::len)
    }

    fn write_next(&mut self, to: &mut (impl Sink + ?Sized)) -> Option<usize> {
        let frame = self.0.filter(|frame| frame.len() <= to.room())?;
        to.put(0, frame);
        self.0 = None;
        Some(frame.len())
    }
}

/// Bytes before an FC header: Ethernet with a tag, and FCoE.
const FRONT: usize = 14 + 4 + FcoeFrame::HEADER_LEN;

/// Headers before the FC header, cached between sequences: most go to the same destination as the one before.
#[derive(Default)]
struct Front {
    link: Option<Link>,
    bytes: [u8; FRONT],
    len: usize,
}

impl Front {
    /// Headers for this link, without SOF.
    #[inline]
    fn of(&mut self, link: &Link) -> &[u8] {
        if self.link != Some(*link) {
            self.make(link);
        }
        &self.bytes[..self.len]
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

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}
