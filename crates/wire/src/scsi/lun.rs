//! Logical unit numbers and the list of them.

use crate::Error;
use crate::field::{array_at, put, u32_at};

/// The bytes of a number below 16384 at the first level (SAM-5, clause 4.7.7): peripheral device addressing up to 255,
/// flat space addressing above. None when it is greater.
#[must_use]
pub const fn lun_bytes(number: u16) -> Option<[u8; 8]> {
    let [high, low] = number.to_be_bytes();
    match high {
        0 => Some([0, low, 0, 0, 0, 0, 0, 0]),
        1..=0x3f => Some([0x40 | high, low, 0, 0, 0, 0, 0, 0]),
        _ => None,
    }
}

/// The number that the bytes say, in either addressing method. None for other methods, other buses, and deeper levels.
#[must_use]
pub fn lun_number(lun: [u8; 8]) -> Option<u16> {
    if lun[2..] != [0; 6] {
        return None;
    }
    match lun[0] {
        0 => Some(u16::from(lun[1])),
        0x40..=0x7f => Some(u16::from_be_bytes([lun[0] & 0x3f, lun[1]])),
        _ => None,
    }
}

/// Writes the length of a list, which is all from `start` on, into the four bytes at `at`. What they cannot count is cut.
pub fn put_list_len(to: &mut Vec<u8>, at: usize, start: usize) {
    let len = match u32::try_from(to.len() - start) {
        Ok(len) => len,
        Err(_) => {
            to.truncate(start.saturating_add(u32::MAX as usize));
            u32::MAX
        }
    };
    put(to, at, &len.to_be_bytes());
}

/// Appends REPORT LUNS data to `to`: a header of 8 bytes with the list's length, and 8 bytes for each (SPC-4, clause
/// 6.33).
pub fn put_luns(luns: impl Iterator<Item = [u8; 8]>, to: &mut Vec<u8>) {
    let at = to.len();
    to.extend([0; 8]);
    luns.for_each(|lun| to.extend(lun));
    put_list_len(to, at, at + 8);
}

/// The LUNs of REPORT LUNS data, and how many bytes the whole list has; fewer LUNs come when the allocation length was
/// too small for all.
///
/// # Errors
///
/// [`Error::Truncated`] when there is not even the header.
pub fn parse_luns(bytes: &[u8]) -> Result<(impl Iterator<Item = [u8; 8]>, u32), Error> {
    let (header, list) = bytes.split_at_checked(8).ok_or(Error::Truncated("lun list"))?;
    let len = u32_at(header, 0);
    let there = list.len().min(len as usize);
    Ok((list[..there].chunks_exact(8).map(|lun| array_at(lun, 0)), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_addressed_as_sam_5_clause_4_7_says() {
        assert_eq!(lun_bytes(7), Some([0, 7, 0, 0, 0, 0, 0, 0]));
        assert_eq!(lun_bytes(0x0100), Some([0x41, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(lun_bytes(0x3fff), Some([0x7f, 0xff, 0, 0, 0, 0, 0, 0]));
        assert_eq!(lun_bytes(0x4000), None);
        for number in 0..0x4000 {
            assert_eq!(lun_bytes(number).and_then(lun_number), Some(number));
        }
        assert_eq!(lun_number([0x40, 7, 0, 0, 0, 0, 0, 0]), Some(7), "either method reaches a unit");
        for strange in [[1, 0, 0, 0, 0, 0, 0, 0], [0x80, 0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 1], [0xff; 8]] {
            assert_eq!(lun_number(strange), None);
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let luns = [lun_bytes(0).unwrap(), lun_bytes(300).unwrap()];
        let mut bytes = Vec::new();
        put_luns(luns.into_iter(), &mut bytes);
        assert_eq!(bytes[..8], [0, 0, 0, 16, 0, 0, 0, 0]);
        let (read, len) = parse_luns(&bytes).unwrap();
        assert_eq!((read.collect::<Vec<_>>(), len), (luns.to_vec(), 16));
        let (read, len) = parse_luns(&bytes[..17]).unwrap();
        assert_eq!((read.count(), len), (1, 16), "a short list says how long it would be");
        assert!(parse_luns(&bytes[..7]).is_err());
    }
}
