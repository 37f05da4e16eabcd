//! Requests in a frame's metadata, carried out on the way to a port that does not carry them out itself: a checksum left
//! open, the segmentation of a super-frame.

use crate::counters::DropReason;
use crate::info::Caps;
use crate::write::SlotWriter;
use linerate_offload::{
    Frames, GSO_ECN, GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, Segments, Sink, TAG_LEN, header_len, insert_tag, requested,
    tag_inserted,
};
use linerate_ring::{Meta, TxRing};
use linerate_text::counters;
use linerate_wire::{EtherType, VlanTag};

counters! {
    /// Requests carried out, by kind.
    pub struct Finished {
        /// Frames whose open checksum was completed.
        pub checksums: u64,
        /// Super-frames of TCP that were segmented.
        pub tso: u64,
        /// Super-frames of UDP that were segmented.
        pub uso: u64,
        /// Segments made of both.
        pub segments: u64,
    }
}

impl Finished {
    /// The counts by name, those that are not zero.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [("checksums", self.checksums), ("tso", self.tso), ("uso", self.uso), ("segments", self.segments)];
        all.into_iter().filter(|(_, n)| *n > 0)
    }
}

/// Result of putting a frame into a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// Frames in the ring: several segments of a super-frame.
    pub frames: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Reason that others are not there, and how many.
    pub dropped: Option<(DropReason, u32)>,
}

impl Put {
    pub(crate) fn none(reason: DropReason) -> Self {
        Self { dropped: Some((reason, 1)), ..Self::default() }
    }
}

/// Puts a tag that came in the metadata into the frame, if that has an Ethernet header.
pub fn tag_inside(frame: &mut Vec<u8>, meta: &mut Option<Meta>) {
    let Some(said) = meta else { return };
    let (tci, len) = (std::mem::take(&mut said.vlan_tci), frame.len());
    if tci != 0 && len >= 14 {
        frame.resize(len + TAG_LEN, 0);
        let inserted = insert_tag(frame, len, EtherType::VLAN, VlanTag(tci));
        debug_assert_eq!(inserted, Ok(len + TAG_LEN));
        *said = tag_inserted(*said);
    }
    if *said == Meta::default() {
        *meta = None;
    }
}

/// Puts frames into the rings of a port, in a form that the port takes.
#[derive(Clone, Copy, Debug)]
pub struct Finisher {
    caps: Caps,
    largest: usize,
    done: Finished,
}

impl Finisher {
    /// For a port with these capabilities, and frames of at most `largest` bytes.
    #[must_use]
    pub fn new(caps: Caps, largest: usize) -> Self {
        Self { caps, largest, done: Finished::default() }
    }

    /// What was carried out so far.
    #[must_use]
    pub fn done(&self) -> Finished {
        self.done
    }

    /// True if the port takes a frame with this metadata as it is.
    #[inline]
    #[must_use]
    pub fn takes(&self, meta: &Meta) -> bool {
        (self.caps.checksum || meta.flags & Meta::NEEDS_CSUM == 0) && meta.vlan_tci == 0 && self.segments(meta.gso_type)
    }

    /// True if the port does this kind of segmentation, or none is asked for.
    fn segments(&self, gso_type: u8) -> bool {
        match gso_type & !GSO_ECN {
            0 => true,
            GSO_TCPV4 | GSO_TCPV6 => self.caps.gso,
            GSO_UDP_L4 => self.caps.uso,
            _ => false,
        }
    }

    /// True if [`Finisher::put`] puts a frame, whose first bytes are `head`, without a change to it.
    pub(crate) fn passes(&self, head: &[u8], len: usize, meta: Option<Meta>) -> bool {
        let Some(meta) = meta else { return len <= self.largest };
        if !self.caps.checksum || !self.takes(&meta) {
            return false;
        }
        match header_len(head) {
            _ if meta.gso_type & !GSO_ECN == 0 => len <= self.largest,
            Ok(headers) => headers + usize::from(meta.gso_size).min(len.saturating_sub(headers)) <= self.largest,
            Err(_) => false,
        }
    }

    /// Number of frames that a frame becomes, from its length alone: what [`Finisher::put`] makes is compared with it.
    pub(crate) fn frames(&self, frame: &[u8], meta: Option<Meta>) -> u64 {
        match (meta.filter(|meta| !self.segments(meta.gso_type)), header_len(frame)) {
            (Some(meta), Ok(headers)) if meta.gso_size > 0 => {
                (frame.len() - headers).div_ceil(meta.gso_size.into()).max(1) as u64
            }
            _ => 1,
        }
    }

    /// Number of slots of a ring that a frame is given, whole or in segments; None if it cannot be put.
    #[must_use]
    pub fn slots(&self, ring: &TxRing, frame: &[u8], meta: Option<Meta>) -> Option<u32> {
        let Some(meta) = meta.filter(|meta| !self.segments(meta.gso_type)) else {
            return SlotWriter::slots(ring, frame.len());
        };
        let headers = header_len(frame).ok()?;
        let body = [&frame[headers..]];
        let segments = Segments::from_meta(&frame[..headers], &body, &meta).ok()?;
        let each = SlotWriter::slots(ring, segments.next_len()?)?;
        u32::try_from(segments.remaining()).ok()?.checked_mul(each)
    }

    /// Puts a frame into a ring, in at most `room` free slots.
    pub fn put(&mut self, ring: &mut TxRing, room: u32, frame: &[u8], meta: Option<Meta>) -> Put {
        if frame.is_empty() {
            // A slot of no bytes says that there is no frame.
            return Put::none(DropReason::TooShort);
        }
        let kind = meta.map_or(0, |meta| meta.gso_type & !GSO_ECN);
        if kind == 0 {
            return self.put_whole(ring, room, frame, meta, frame.len());
        }
        let (Some(meta), Ok(headers)) = (meta, header_len(frame)) else { return Put::none(DropReason::Unfinished) };
        let longest = headers + usize::from(meta.gso_size).min(frame.len() - headers);
        if self.segments(meta.gso_type) {
            return self.put_whole(ring, room, frame, Some(meta), longest);
        }
        let (head, body) = frame.split_at(headers);
        let payload = [body];
        let Ok(segments) = Segments::from_meta(head, &payload, &meta) else { return Put::none(DropReason::Unfinished) };
        let put = self.put_segments(ring, room, segments);
        if put.frames > 0 {
            *(if kind == GSO_UDP_L4 { &mut self.done.uso } else { &mut self.done.tso }) += 1;
            self.done.segments += u64::from(put.frames);
        }
        put
    }

    /// Puts a frame of which the longest segment has `longest` bytes.
    fn put_whole(&mut self, ring: &mut TxRing, room: u32, frame: &[u8], meta: Option<Meta>, longest: usize) -> Put {
        if longest > self.largest {
            return Put::none(DropReason::TooLong);
        }
        let Some(slots) = SlotWriter::slots(ring, frame.len()) else { return Put::none(DropReason::TooManyFragments) };
        if slots > room {
            return Put::none(DropReason::NoRoom);
        }
        let open = meta.filter(|meta| !self.caps.checksum && meta.flags & Meta::NEEDS_CSUM != 0);
        let field = open.map(|meta| usize::from(meta.csum_start) + usize::from(meta.csum_offset));
        if field.is_some_and(|at| at + 2 > frame.len()) {
            return Put::none(DropReason::Unfinished);
        }
        let mut writer = SlotWriter::new(ring, slots);
        writer.put(0, frame);
        if let (Some(meta), Some(at)) = (open, field) {
            writer.put(at, &requested(frame, &[], &meta));
            self.done.checksums += 1;
        }
        writer.end(frame.len(), meta.filter(|_| self.caps.checksum));
        writer.commit();
        Put { frames: 1, bytes: frame.len() as u64, dropped: None }
    }

    fn put_segments(&self, ring: &mut TxRing, room: u32, mut segments: Segments<'_>) -> Put {
        let longest = segments.next_len().unwrap_or(0);
        let Ok(all) = u32::try_from(segments.remaining()) else { return Put::none(DropReason::TooManyFragments) };
        if longest > self.largest {
            return Put::none(DropReason::TooLong);
        }
        let Some(each) = SlotWriter::slots(ring, longest) else { return Put::none(DropReason::TooManyFragments) };
        let most = all.min(room / each);
        let mut writer = SlotWriter::new(ring, most * each);
        let (mut frames, mut bytes) = (0, 0);
        while frames < most
            && let Some(len) = segments.write_next(&mut writer)
        {
            writer.end(len, None);
            (frames, bytes) = (frames + 1, bytes + len as u64);
        }
        writer.commit();
        Put { frames, bytes, dropped: (frames < all).then_some((DropReason::NoRoom, all - frames)) }
    }
}

#[cfg(test)]
mod tests;
