//! VLAN offload: tags put into frames and taken out of them, the filter of the VLANs that an adapter receives, and the
//! traffic class of a priority.
//!
//! Tags move a frame's octets in place; where a frame is copied anyway, [`tagged_front`] gives the octets that differ.

use linerate_ring::Meta;
use linerate_wire::{EtherType, VlanTag};

use super::headers::u16_at;

/// Octets of a tag.
pub const TAG_LEN: usize = 4;

/// Octets of the two addresses, behind which a tag stands.
const ADDRESSES: usize = 12;

/// Why a tag cannot be put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VlanError {
    /// There is no Ethernet header.
    #[error("vlan: {0} octets are no Ethernet frame: give at least 14")]
    Short(usize),
    /// Four octets more do not fit.
    #[error("vlan: a frame of {len} octets and its tag do not fit a buffer of {room}: leave 4 octets behind the frame")]
    NoRoom {
        /// Octets of the frame.
        len: usize,
        /// Octets of the buffer.
        room: usize,
    },
    /// The EtherType announces no tag.
    #[error("vlan: {0} announces no tag: use 802.1Q (0x8100) or 802.1ad (0x88a8)")]
    NotATag(EtherType),
}

/// Puts a tag into the frame in the first `len` octets of `buffer`, before any tags that it has; returns its new length.
/// `tpid` is [`EtherType::VLAN`] or [`EtherType::QINQ`].
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

/// The first 16 octets that `frame` has with a tag; its own octets from the 12th on follow them.
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

/// The outermost tag and the EtherType that announces it, if the frame is tagged.
#[inline]
#[must_use]
pub fn outer_tag(frame: &[u8]) -> Option<(EtherType, VlanTag)> {
    let tpid = EtherType(u16_at(frame, ADDRESSES)?);
    // Behind a tag stands an EtherType: a frame cut short before it is not one to strip.
    u16_at(frame, ADDRESSES + TAG_LEN).filter(|_| tpid.is_vlan())?;
    Some((tpid, VlanTag(u16_at(frame, ADDRESSES + 2)?)))
}

/// Takes the outermost tag out of `frame` and returns it; the frame is then [`TAG_LEN`] octets shorter. `None`, and
/// nothing written, when there is no tag.
#[inline]
pub fn strip_tag(frame: &mut [u8]) -> Option<(EtherType, VlanTag)> {
    let found = outer_tag(frame)?;
    frame.copy_within(ADDRESSES + TAG_LEN.., ADDRESSES);
    Some(found)
}

/// What was asked for a frame, after a tag was put into it: offsets count from the frame's first octet, and all behind
/// the addresses lies further back.
#[inline]
#[must_use]
pub fn tag_inserted(asked: Meta) -> Meta {
    shifted(asked, |at| at.saturating_add(TAG_LEN_U16))
}

/// What was asked for a frame, after a tag was taken out of it.
#[inline]
#[must_use]
pub fn tag_stripped(asked: Meta) -> Meta {
    shifted(asked, |at| at.saturating_sub(TAG_LEN_U16))
}

const TAG_LEN_U16: u16 = 4;

/// Offsets that nobody asked for stay what they are.
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

/// The VLANs that an adapter receives: one bit for each of 4096.
///
/// Untagged frames and priority tags (VLAN 0) belong to no VLAN and always pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VlanFilter {
    bits: Box<[u64; 64]>,
}

impl Default for VlanFilter {
    /// No VLAN.
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

    /// Whether VLAN `vid` was added.
    #[inline]
    #[must_use]
    pub fn contains(&self, vid: u16) -> bool {
        let (word, bit) = Self::place(vid);
        self.bits[word] & bit != 0
    }

    /// Whether a frame with this outermost tag passes.
    #[inline]
    #[must_use]
    pub fn passes(&self, tag: Option<VlanTag>) -> bool {
        tag.is_none_or(|tag| tag.vid() == 0 || self.contains(tag.vid()))
    }

    /// The VLANs that were added, in order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        (0..4096).filter(|&vid| self.contains(vid))
    }

    #[inline]
    fn place(vid: u16) -> (usize, u64) {
        (usize::from(vid & 0xfff) / 64, 1 << (vid % 64))
    }
}

/// The traffic class (0 is served last) of frames of priority `pcp` (0 to 7) where there are `classes` (1 to 8) of them:
/// the recommended mapping of IEEE 802.1Q-2022, table 8-5. Priority 1, "background", is below 0, "best effort".
#[inline]
#[must_use]
pub const fn traffic_class(pcp: u8, classes: u8) -> u8 {
    const TABLE: [[u8; 8]; 8] = [
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 0, 0, 1, 1, 2, 2],
        [0, 0, 1, 1, 2, 2, 3, 3],
        [0, 0, 1, 1, 2, 2, 3, 4],
        [1, 0, 2, 2, 3, 3, 4, 5],
        [1, 0, 2, 3, 4, 4, 5, 6],
        [1, 0, 2, 3, 4, 5, 6, 7],
    ];
    let classes = if classes == 0 {
        1
    } else if classes > 8 {
        8
    } else {
        classes
    };
    TABLE[classes as usize - 1][(pcp & 7) as usize]
}

#[cfg(test)]
mod tests;
