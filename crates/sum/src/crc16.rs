//! Guard of T10 protection information (SBC-3, clause 4.22.4): the polynomial 0x8bb7, not reflected, initially zero,
//! not inverted.

use crate::crc::{self, Kind, Polynomial};

/// CRC16-T10DIF.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crc16T10Dif;

impl Kind for Crc16T10Dif {
    const POLYNOMIAL: Polynomial = Polynomial::new(16, 0x8bb7, false);
}

/// Guard of `bytes`, a logical block; it is stored in network order.
///
/// ```
/// // The check value of every catalogue of CRCs.
/// assert_eq!(linerate_sum::crc16_t10dif(b"123456789"), 0xd0db);
/// ```
#[inline]
#[must_use]
pub fn crc16_t10dif(bytes: &[u8]) -> u16 {
    crc16_t10dif_update(0, bytes)
}

/// Continues the guard `crc` over `bytes`; the guard of no bytes is 0.
///
/// ```
/// use linerate_sum::{crc16_t10dif, crc16_t10dif_update};
///
/// assert_eq!(crc16_t10dif_update(crc16_t10dif(b"12345"), b"6789"), crc16_t10dif(b"123456789"));
/// ```
#[inline]
#[must_use]
pub fn crc16_t10dif_update(crc: u16, bytes: &[u8]) -> u16 {
    let [first, second] = crc.to_be_bytes();
    let [first, second, ..] =
        crc::update::<Crc16T10Dif>(u32::from_le_bytes([first, second, 0, 0]), bytes).to_le_bytes();
    u16::from_be_bytes([first, second])
}
