//! VLAN offload: insertion and stripping of tags, the filter of the VLANs that an adapter receives, and the traffic
//! class of a priority.
//!
//! Tags are moved in place; where a frame is copied anyway, [`tagged_front`] gives the bytes that differ.

use linerate_ring::Meta;
use linerate_wire::{EtherType, VlanTag};

use super::headers::u16_at;

/// Bytes of a tag.
pub const TAG_LEN: usize = 4;

/// Bytes of the two MAC addresses, which a tag follows.
const ADDRESSES: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VlanError {
    #[error("vlan: {0} bytes are no Ethernet frame: give at least 14")]
    Short(usize),
    #[error("vlan: a frame of {len} bytes and its tag do not fit a buffer of {room}: leave 4 bytes behind the frame")]
    NoRoom { len: usize, room: usize },
    #[error("vlan: {0} announces no tag: use 802.1Q (0x8100) or 802.1ad (0x88a8)")]
    NotATag(EtherType),
}

/// Inserts a tag into the frame in the first `len` bytes of `buffer`, before any tags that it has; returns its new
/// length. `tpid` is [`EtherType::VLAN`] or [`EtherType::QINQ`].
///
/// # Errors
///
/// [`VlanError`]; nothing is written then.
#[inline]
pub fn insert_tag(buffer: &mut [u8], len: usize, tpid: EtherType, tag: VlanTag) -> Result<usize, VlanError> {
    let room = buffer.len();
    if len.checked_add(TAG_LEN).is_none_or(|tagged| tagged > room) {
        return Err(VlanError::NoRoom { len, room });
    }
    let front = tagged_front(&buffer[..len], tpid, tag)?;
    buffer.copy_within(ADDRESSES..len, ADDRESSES + TAG_LEN);
    buffer[..front.len()].copy_from_slice(&front);
    Ok(len + TAG_LEN)
}

/// The first 16 bytes of `frame` with a tag inserted; its own bytes from the 12th on follow them.
///
/// # Errors
///
/// [`VlanError::Short`] and [`VlanError::NotATag`].
#[inline]
pub fn tagged_front(frame: &[u8], tpid: EtherType, tag: VlanTag) -> Result<[u8; 16], VlanError> {
    let Some(addresses) = frame.first_chunk::<ADDRESSES>().filter(|_| frame.len() >= 14) else {
        return Err(VlanError::Short(frame.len()));
    };
    if !tpid.is_vlan() {
        return Err(VlanError::NotATag(tpid));
    }
    let mut front = [0; ADDRESSES + TAG_LEN];
    front[..ADDRESSES].copy_from_slice(addresses);
    front[12..14].copy_from_slice(&tpid.0.to_be_bytes());
    front[14..].copy_from_slice(&tag.0.to_be_bytes());
    Ok(front)
}

/// Outermost tag and its EtherType, if the frame is tagged.
#[inline]
#[must_use]
pub fn outer_tag(frame: &[u8]) -> Option<(EtherType, VlanTag)> {
    let tpid = EtherType(u16_at(frame, ADDRESSES)?);
    // A tag is followed by an EtherType: a frame truncated before it has nothing to strip.
    u16_at(frame, ADDRESSES + TAG_LEN).filter(|_| tpid.is_vlan())?;
    Some((tpid, VlanTag(u16_at(frame, ADDRESSES + 2)?)))
}

/// Removes the outermost tag from `frame` and returns it; the frame is then [`TAG_LEN`] bytes shorter. `None`, with
/// nothing written, if there is no tag.
#[inline]
pub fn strip_tag(frame: &mut [u8]) -> Option<(EtherType, VlanTag)> {
    let found = outer_tag(frame)?;
    frame.copy_within(ADDRESSES + TAG_LEN.., ADDRESSES);
    Some(found)
}

/// Adjusts a frame's offload request after a tag was inserted: the offsets count from the frame's first byte and grow
/// by the tag's length.
#[inline]
#[must_use]
pub fn tag_inserted(asked: Meta) -> Meta {
    shifted(asked, |at| at.saturating_add(TAG_LEN_U16))
}

/// Adjusts a frame's offload request after a tag was stripped.
#[inline]
#[must_use]
pub fn tag_stripped(asked: Meta) -> Meta {
    shifted(asked, |at| at.saturating_sub(TAG_LEN_U16))
}

const TAG_LEN_U16: u16 = 4;

/// Changes only the offsets that are in use.
#[inline]
fn shifted(asked: Meta, by: impl Fn(u16) -> u16) -> Meta {
    let mut meta = asked;
    if meta.flags & Meta::NEEDS_CSUM != 0 {
        meta.csum_start = by(meta.csum_start);
    }
    if meta.gso_type != 0 {
        meta.hdr_len = by(meta.hdr_len);
    }
    meta
}

/// Filter of the VLANs that an adapter receives: one bit for each of 4096.
///
/// Untagged frames and priority tags (VLAN 0) belong to no VLAN and always pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VlanFilter {
    bits: Box<[u64; 64]>,
}

impl Default for VlanFilter {
    /// Passes no VLAN.
    fn default() -> Self {
        Self { bits: Box::new([0; 64]) }
    }
}

impl VlanFilter {
    /// Lets VLAN `vid` (its low 12 bits) pass.
    pub fn add(&mut self, vid: u16) {
        let (word, bit) = Self::place(vid);
        self.bits[word] |= bit;
    }

    /// Stops VLAN `vid` (its low 12 bits).
    pub fn remove(&mut self, vid: u16) {
        let (word, bit) = Self::place(vid);
        self.bits[word] &= !bit;
    }

    /// True if VLAN `vid` was added.
    #[inline]
    #[must_use]
    pub fn contains(&self, vid: u16) -> bool {
        let (word, bit) = Self::place(vid);
        self.bits[word] & bit != 0
    }

    /// True if a frame with this outermost tag passes.
    #[inline]
    #[must_use]
    pub fn passes(&self, tag: Option<VlanTag>) -> bool {
        tag.is_none_or(|tag| tag.vid() == 0 || self.contains(tag.vid()))
    }

    /// VLANs that were added, in order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        (0..4096).filter(|&vid| self.contains(vid))
    }

    #[inline]
    fn place(vid: u16) -> (usize, u64) {
        (usize::from(vid & 0xfff) / 64, 1 << (vid % 64))
    }
}

#[cfg(test)]
mod tests;
