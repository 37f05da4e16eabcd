//! EXTENDED COPY's parameter list.

use super::{Sense, SenseKey, asc};
use crate::field::{Field, record, u16_at, u32_at};

/// Offsets of the header (SPC-4, clause 6.4.3.1, with a list identifier of one byte).
mod header {
    pub(super) const LEN: usize = 16;
    pub(super) const TARGETS: usize = 2;
    pub(super) const SEGMENTS: usize = 8;
    pub(super) const INLINE: usize = 12;
}

/// Offsets of an identification descriptor (SPC-4, clause 6.4.5.3).
mod target {
    pub(super) const LEN: usize = 32;
    pub(super) const CODE: u8 = 0xe4;
    /// NUL, and the device type.
    pub(super) const TYPE: usize = 1;
    pub(super) const CODE_SET: usize = 4;
    pub(super) const KIND: usize = 5;
    pub(super) const LENGTH: usize = 7;
    pub(super) const IDENTIFIER: usize = 8;
    /// Three bytes, read with the one before them.
    pub(super) const BLOCK_SIZE: usize = 28;
}

/// Code and place of the length of a descriptor of blocks to be copied to blocks (SPC-4, clause 6.4.6.4).
mod segment {
    pub(super) const CODE: u8 = 0x02;
    pub(super) const LENGTH: usize = 2;
}

/// A unit that takes part in a copy (SPC-4, clause 6.4.5.3: CSCD descriptor E4h).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyTarget {
    /// Encoding, type and association of the name, as in a [`Designator`](super::Designator).
    pub code_set: u8,
    /// Type of the name.
    pub kind: u8,
    /// Subject of the name: the unit is 0.
    pub association: u8,
    /// The name, 20 bytes at most.
    pub identifier: Vec<u8>,
    /// Bytes of a logical block.
    pub block_size: u32,
}

record! {
    /// Blocks to be copied to blocks (SPC-4, clause 6.4.6.4: segment descriptor 02h).
    CopySegment[28] bytes([segment::CODE, 0, 0, 24]);
    4 from: u16 = "Index of the unit that is read.";
    6 to: u16 = "Index of the unit that is written.";
    10 blocks: u16 = "Number of blocks.";
    12 source: u64 = "The first block that is read.";
    20 destination: u64 = "The first block that is written.";
}

/// The parameter list of EXTENDED COPY (LID1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyList {
    /// Units, which segments name by their index.
    pub targets: Vec<CopyTarget>,
    /// Segments that are copied, in this order.
    pub segments: Vec<CopySegment>,
}

impl CopyList {
    /// Most units of a list.
    pub const MAX_TARGETS: u16 = 16;
    /// Most segments of a list.
    pub const MAX_SEGMENTS: u16 = 16;
    /// Most bytes of all descriptors.
    pub const MAX_DESCRIPTORS: u32 = 16 * 32 + 16 * 28;
    /// Longest list.
    pub const MAX_LEN: u32 = 16 + Self::MAX_DESCRIPTORS;
    /// Descriptors that are known, by their codes.
    pub const KNOWN: [u8; 2] = [segment::CODE, target::CODE];

    /// Parses a list.
    ///
    /// # Errors
    ///
    /// Sense data for the initiator.
    pub fn parse(bytes: &[u8]) -> Result<Self, Sense> {
        let illegal = |code| Sense::new(SenseKey::ILLEGAL_REQUEST, code);
        let short = || illegal(asc::PARAMETER_LENGTH);
        let (header, rest) = bytes.split_at_checked(header::LEN).ok_or_else(short)?;
        let (targets, segments) =
            (usize::from(u16_at(header, header::TARGETS)), u32_at(header, header::SEGMENTS) as usize);
        if u32_at(header, header::INLINE) != 0 {
            return Err(illegal(asc::INLINE_DATA));
        }
        if targets % target::LEN != 0 {
            return Err(Sense::invalid_parameter(2, None));
        }
        if targets / target::LEN > usize::from(Self::MAX_TARGETS) {
            return Err(illegal(asc::TOO_MANY_TARGETS));
        }
        if segments > usize::from(Self::MAX_SEGMENTS) * CopySegment::LEN {
            return Err(illegal(asc::TOO_MANY_SEGMENTS));
        }
        let (targets, rest) = rest.split_at_checked(targets).ok_or_else(short)?;
        let segments = rest.get(..segments).ok_or_else(short)?;
        let mut list = Self::default();
        for bytes in targets.chunks_exact(target::LEN) {
            // A null device stands for none.
            if bytes[0] != target::CODE || bytes[target::TYPE] & 0x20 != 0 {
                return Err(illegal(asc::TARGET_DESCRIPTOR));
            }
            let len = usize::from(bytes[target::LENGTH]);
            let identifier = bytes[target::IDENTIFIER..target::BLOCK_SIZE].get(..len);
            list.targets.push(CopyTarget {
                code_set: bytes[target::CODE_SET] & 0xf,
                kind: bytes[target::KIND] & 0xf,
                association: bytes[target::KIND] >> 4 & 3,
                identifier: identifier.ok_or_else(|| illegal(asc::FIELD_IN_PARAMETERS))?.to_vec(),
                block_size: u32_at(bytes, target::BLOCK_SIZE) & 0xff_ffff,
            });
        }
        // Each segment has a code of its own length, of which only one is known.
        for bytes in segments.chunks(CopySegment::LEN) {
            if bytes[0] != segment::CODE {
                return Err(illegal(asc::SEGMENT_DESCRIPTOR));
            }
            if bytes.len() < CopySegment::LEN || usize::from(u16_at(bytes, segment::LENGTH)) != CopySegment::LEN - 4 {
                return Err(short());
            }
            list.segments.push(CopySegment::get(bytes, 0));
        }
        Ok(list)
    }

    /// Appends the list to `to`, which has no more units and segments than are allowed; names of more than 20 bytes are cut.
    pub fn put(&self, to: &mut Vec<u8>) {
        let len = |count: usize, each: usize| {
            let [.., high, low] = (count * each).to_be_bytes();
            [high, low]
        };
        to.extend([0, 0]);
        to.extend(len(self.targets.len(), target::LEN));
        to.extend([0; 6]);
        to.extend(len(self.segments.len(), CopySegment::LEN));
        to.extend([0; 4]);
        for CopyTarget { code_set, kind, association, identifier, block_size } in &self.targets {
            let mut name = identifier.clone();
            name.truncate(target::BLOCK_SIZE - target::IDENTIFIER);
            let length = u8::try_from(name.len()).unwrap_or(0);
            name.resize(target::BLOCK_SIZE - target::IDENTIFIER, 0);
            to.extend([target::CODE, 0, 0, 0, code_set & 0xf, (association & 3) << 4 | kind & 0xf, 0, length]);
            to.extend(name);
            to.extend((block_size & 0xff_ffff).to_be_bytes());
        }
        self.segments.iter().for_each(|segment| to.extend(segment.bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_list_has_all_that_is_allowed() {
        let target = CopyTarget { code_set: 1, kind: 3, association: 0, identifier: vec![7; 16], block_size: 512 };
        let segment = CopySegment { from: 0, to: 15, blocks: 1, source: 0, destination: 0 };
        let (targets, segments) = (usize::from(CopyList::MAX_TARGETS), usize::from(CopyList::MAX_SEGMENTS));
        let list = CopyList { targets: vec![target; targets], segments: vec![segment; segments] };
        let mut bytes = Vec::new();
        list.put(&mut bytes);
        assert_eq!((u32::try_from(bytes.len()), CopyList::parse(&bytes)), (Ok(CopyList::MAX_LEN), Ok(list)));
        assert_eq!(CopyList::MAX_LEN - CopyList::MAX_DESCRIPTORS, 16);
    }

    #[test]
    fn a_list_is_as_spc_4_clause_6_4_lays_it_out() {
        let target =
            CopyTarget { code_set: 1, kind: 3, association: 0, identifier: vec![0x31; 8], block_size: 0x01_0203 };
        let segment = CopySegment { from: 0, to: 1, blocks: 0x0708, source: 1 << 40, destination: 5 };
        let list = CopyList { targets: vec![target.clone(), target], segments: vec![segment] };
        let mut bytes = Vec::new();
        list.put(&mut bytes);
        assert_eq!(bytes[..16], [0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 0]);
        assert_eq!(bytes[16..25], [0xe4, 0, 0, 0, 1, 3, 0, 8, 0x31]);
        assert_eq!(bytes[44..48], [0, 1, 2, 3]);
        assert_eq!(bytes[80..92], [2, 0, 0, 24, 0, 0, 0, 1, 0, 0, 7, 8]);
        assert_eq!((bytes.len(), CopyList::parse(&bytes)), (108, Ok(list)));
        let code = |bytes: &[u8]| CopyList::parse(bytes).unwrap_err().code;
        for len in 0..bytes.len() {
            assert_eq!(code(&bytes[..len]), asc::PARAMETER_LENGTH);
        }
        for (at, value, wanted) in [
            (3, 63, asc::FIELD_IN_PARAMETERS),
            (2, 4, asc::TOO_MANY_TARGETS),
            (9, 1, asc::TOO_MANY_SEGMENTS),
            (15, 1, asc::INLINE_DATA),
            (16, 0xe0, asc::TARGET_DESCRIPTOR),
            (17, 0x20, asc::TARGET_DESCRIPTOR),
            (23, 21, asc::FIELD_IN_PARAMETERS),
            (80, 0, asc::SEGMENT_DESCRIPTOR),
            (83, 20, asc::PARAMETER_LENGTH),
        ] {
            let mut other = bytes.clone();
            other[at] = value;
            assert_eq!(code(&other), wanted, "{at}");
        }
    }
}
