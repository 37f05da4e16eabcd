//! UNMAP's parameter list.

use crate::Error;
use crate::field::{array_at, u16_at, u32_at};

const NAME: &str = "unmap list";

/// Offsets of the parameter list (SBC-3, clause 5.28.2).
mod field {
    pub(super) const DATA_LENGTH: usize = 0;
    pub(super) const RANGES_LENGTH: usize = 2;
    pub(super) const RANGES: usize = 8;
}

/// Offsets of a range, an UNMAP block descriptor (SBC-3, clause 5.28.2).
mod range_field {
    pub(super) const LBA: usize = 0;
    pub(super) const BLOCKS: usize = 8;
}

/// Blocks that are not needed any more (SBC-3, clause 5.28.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnmapRange {
    /// The first.
    pub lba: u64,
    /// Number of blocks.
    pub blocks: u32,
}

/// The ranges of a parameter list: a header of 8 bytes and 16 bytes each.
///
/// # Errors
///
/// [`Error::Truncated`] when there is not even the header or less than the lengths in it say, [`Error::Malformed`] when
/// the lengths do not agree with each other.
pub fn parse_unmap(bytes: &[u8]) -> Result<impl Iterator<Item = UnmapRange> + Clone, Error> {
    if bytes.len() < 8 {
        return Err(Error::Truncated(NAME));
    }
    let (data, ranges) =
        (usize::from(u16_at(bytes, field::DATA_LENGTH)), usize::from(u16_at(bytes, field::RANGES_LENGTH)));
    if data < ranges + 6 {
        return Err(Error::Malformed(NAME, "length"));
    }
    // SBC-3: a length that is no multiple of 16 has an incomplete range at its end, which is ignored.
    let list = bytes[field::RANGES..].get(..ranges).ok_or(Error::Truncated(NAME))?;
    Ok(list.chunks_exact(16).map(|range| UnmapRange {
        lba: u64::from_be_bytes(array_at(range, range_field::LBA)),
        blocks: u32_at(range, range_field::BLOCKS),
    }))
}

/// Appends a parameter list to `to`.
///
/// # Errors
///
/// [`Error::TooLarge`] when there are more ranges than its length can say (4095).
pub fn put_unmap(ranges: &[UnmapRange], to: &mut Vec<u8>) -> Result<(), Error> {
    let too_large = Error::TooLarge(NAME, "number of ranges");
    let len = u16::try_from(ranges.len() * 16).map_err(|_| too_large)?;
    to.extend((len.checked_add(6).ok_or(too_large)?).to_be_bytes());
    to.extend(len.to_be_bytes());
    to.extend([0; 4]);
    for range in ranges {
        to.extend(range.lba.to_be_bytes());
        to.extend(range.blocks.to_be_bytes());
        to.extend([0; 4]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let ranges = [UnmapRange { lba: 1 << 40, blocks: 8 }, UnmapRange { lba: 7, blocks: u32::MAX }];
        let mut bytes = Vec::new();
        put_unmap(&ranges, &mut bytes).unwrap();
        assert_eq!(bytes[..8], [0, 38, 0, 32, 0, 0, 0, 0]);
        assert_eq!(parse_unmap(&bytes).unwrap().collect::<Vec<_>>(), ranges);
        assert_eq!(parse_unmap(&bytes[..39]).map(Iterator::count), Err(Error::Truncated(NAME)));
        for len in 0..8 {
            assert_eq!(parse_unmap(&bytes[..len]).map(Iterator::count), Err(Error::Truncated(NAME)));
        }
        bytes[1] = 37;
        assert_eq!(parse_unmap(&bytes).map(Iterator::count), Err(Error::Malformed(NAME, "length")));
        assert!(put_unmap(&[ranges[0]; 4096], &mut Vec::new()).is_err());
    }
}
