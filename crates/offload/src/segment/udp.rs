//! UDP segmentation (UDP_L4, Linux's UDP_SEGMENT): each segment is a datagram by itself.

use linerate_sum::Sum;

use crate::checksum::never_zero;

const LENGTH: usize = 4;
/// Offset of the checksum in the header.
pub(super) const CHECKSUM: usize = 6;

/// Bytes of the header.
pub(super) const HEADER_LEN: usize = 8;

/// Clears the fields of a template's header that [`patch`] writes.
pub(super) fn clear(header: &mut [u8; HEADER_LEN]) {
    header[LENGTH..].fill(0);
}

/// Writes length and checksum of a datagram into its header; `length` includes the header, `sum` covers all but the
/// payload, whose sum is separate because its length may be odd.
#[inline]
pub(super) fn patch(header: &mut [u8; HEADER_LEN], length: u16, mut sum: Sum, payload: Sum) {
    header[LENGTH..LENGTH + 2].copy_from_slice(&length.to_be_bytes());
    let checksum = never_zero(sum.add_u16(length).add_sum(payload).finish());
    header[CHECKSUM..].copy_from_slice(&checksum.to_be_bytes());
}
