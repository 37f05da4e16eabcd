//! CRC of Fibre Channel (FC-FS-3, clause 11.3.7), the same as Ethernet's and zlib's: the polynomial 0x04c11db7
//! reflected, initially all ones and inverted at the end.

use crate::crc::{self, Kind, Polynomial};

/// CRC-32.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crc32;

impl Kind for Crc32 {
    const POLYNOMIAL: Polynomial = Polynomial::new(32, 0x04c1_1db7, true);
}

/// CRC-32 of `bytes`. In an FC frame it is stored lowest byte first.
///
/// ```
/// // The check value of every catalogue of CRCs.
/// assert_eq!(linerate_sum::crc32(b"123456789"), 0xcbf4_3926);
/// ```
#[inline]
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32_update(0, bytes)
}

/// Continues the CRC-32 `crc` over `bytes`; the CRC of no bytes is 0.
///
/// ```
/// use linerate_sum::{crc32, crc32_update};
///
/// assert_eq!(crc32_update(crc32(b"12345"), b"6789"), crc32(b"123456789"));
/// ```
#[inline]
#[must_use]
pub fn crc32_update(crc: u32, bytes: &[u8]) -> u32 {
    !crc::update::<Crc32>(!crc, bytes)
}

/// Like [`crc32_update`], over the 24 bytes of three words in little-endian order: for a header that was just computed
/// and need not pass through memory.
///
/// ```
/// let words = [1, 2, 3];
/// assert_eq!(linerate_sum::crc32_words(7, words), linerate_sum::crc32_update(7, words.map(u64::to_le_bytes).as_flattened()));
/// ```
#[inline]
#[must_use]
pub fn crc32_words(crc: u32, words: [u64; 3]) -> u32 {
    !crc::update_words::<Crc32>(!crc, words)
}

/// Copies `from` to `to` and returns its [`crc32_update`], reading it once.
///
/// ```
/// let mut slot = [0; 5];
/// let crc = linerate_sum::copy_and_crc32(&mut slot, b"hello", 0);
/// assert_eq!((&slot, crc), (b"hello", linerate_sum::crc32(b"hello")));
/// ```
///
/// # Panics
///
/// Panics if the lengths differ, as [`slice::copy_from_slice`] does.
#[inline]
#[must_use = "whoever wants no CRC copies faster without"]
pub fn copy_and_crc32(to: &mut [u8], from: &[u8], crc: u32) -> u32 {
    assert_eq!(to.len(), from.len(), "copy_and_crc32: give source and destination of one length");
    !crc::copy_and_update::<Crc32>(!crc, to, from)
}
