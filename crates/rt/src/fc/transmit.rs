//! FC output: sequences become frames in an adapter's queue, each byte copied once.

use super::LONGEST;
use linerate_fcoe::{Link, Sequence, Transmit};
use linerate_nic::NicTx;
use linerate_offload::{FcSegments, Frames, Sink};
use linerate_port::SlotWriter;
use linerate_wire::{EtherType, FcoeFrame, Priority, VlanTag};
use std::borrow::Cow;

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
    vlan: Option<VlanTag>,
    /// Priorities of 802.1Q that the queue carries if frames have no tag.
    usual: u8,
    /// Priority of FIP's frames, if it is not that of the tag that they are given.
    fip: Option<Priority>,
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
        let per_frame = SlotWriter::slots(&nic.port().ring, LONGEST).unwrap_or(1);
        let (usual, front, count) = (nic.port().priorities(), Front::default(), FcTxCounters::default());
        let mut tx = Self { interface, per_frame, vlan, usual, fip: None, front, unsaid: 0, count };
        tx.set_priorities(nic, None, None);
        tx
    }

    /// Gives FCoE's frames and FIP's other priorities than those of their tags, from now on. Frames without a tag get one of VLAN 0
    /// for a priority other than 0 (a priority tag: IEEE 802.1Q-2022, clause 9.6). None: they leave as they are made.
    pub fn set_priorities(&mut self, nic: &mut NicTx, fcoe: Option<Priority>, fip: Option<Priority>) {
        (self.front, self.fip) = (Front { priority: fcoe, ..Front::default() }, fip);
        let tags = [fcoe, fip].map(|priority| tagged(self.vlan, priority));
        let bits = |tag: Option<VlanTag>| tag.unwrap_or_default().priority().bit();
        let carried = tags.into_iter().fold(0, |all, tag| all | bits(tag));
        nic.port().set_priorities(if tags == [None; 2] { self.usual } else { carried });
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
        let frame = &*retagged(frame, self.tx.fip);
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

/// The tag of frames that are given this one, with another priority if there is one.
fn tagged(given: Option<VlanTag>, priority: Option<Priority>) -> Option<VlanTag> {
    match (given, priority) {
        (given, None) => given,
        (None, Some(priority)) if priority == Priority::default() => None,
        (given, Some(priority)) => Some(given.unwrap_or_default().with_priority(priority)),
    }
}

/// A frame that was built with its tag, if it has one, with another priority.
fn retagged(frame: &[u8], priority: Option<Priority>) -> Cow<'_, [u8]> {
    let (Some(_), Some((addresses, rest))) = (priority, frame.split_at_checked(12)) else { return frame.into() };
    let (given, rest) = match rest {
        [0x81, 0x00, high, low, rest @ ..] => (Some(VlanTag(u16::from_be_bytes([*high, *low]))), rest),
        rest => (None, rest),
    };
    let tag = tagged(given, priority).map(|tag| [EtherType::VLAN.0.to_be_bytes(), tag.0.to_be_bytes()].concat());
    [addresses, tag.as_deref().unwrap_or_default(), rest].concat().into()
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
    /// Priority of the frames, if it is not that of their link's tag.
    priority: Option<Priority>,
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
        if let Some(tag) = tagged(link.vlan, self.priority) {
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
