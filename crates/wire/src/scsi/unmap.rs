//! UNMAP's parameter list.

use crate::Error;
use crate::field::{Field, record, u16_at};

const NAME: &str = "unmap list";

record! {
    /// Blocks that are not needed any more: an UNMAP block descriptor (SBC-3, clause 5.28.2).
    UnmapRange[16] bytes;
    0 lba: u64 = "The first logical block.";
    8 blocks: u32 = "Number of blocks.";
}

/// The ranges of a parameter list: 16 bytes each behind a header of 8 bytes, which has the lengths of what follows them, in
/// two bytes each: of all, and of the ranges.
///
/// # Errors
///
/// [`Error::Truncated`] when there is not even the header or less than the lengths in it say, [`Error::Malformed`] when
/// the lengths do not agree with each other.
pub fn parse_unmap(bytes: &[u8]) -> Result<impl Iterator<Item = UnmapRange> + Clone, Error> {
    if bytes.len() < 8 {
        return Err(Error::Truncated(NAME));
    }
    let (data, ranges) = (usize::from(u16_at(bytes, 0)), usize::from(u16_at(bytes, 2)));
    if data < ranges + 6 {
        return Err(Error::Malformed(NAME, "length"));
    }
    // SBC-3: a length that is no multiple of 16 has an incomplete range at its end, which is ignored.
    let list = bytes[8..].get(..ranges).ok_or(Error::Truncated(NAME))?;
    Ok(list.chunks_exact(UnmapRange::LEN).map(|range| UnmapRange::get(range, 0)))
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
    ranges.iter().for_each(|range| to.extend(range.bytes()));
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
