//! Fixed-width fields at fixed places. The caller has checked that the header is there.

pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array_at(bytes, at))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

/// The front of `bytes` that a length field of 8 bits can count, and its length.
pub(crate) fn counted_u8(bytes: &[u8]) -> (&[u8], u8) {
    match u8::try_from(bytes.len()) {
        Ok(len) => (bytes, len),
        Err(_) => (&bytes[..usize::from(u8::MAX)], u8::MAX),
    }
}

/// The front of `bytes` that a length field of 16 bits can count, and its length.
pub(crate) fn counted_u16(bytes: &[u8]) -> (&[u8], u16) {
    match u16::try_from(bytes.len()) {
        Ok(len) => (bytes, len),
        Err(_) => (&bytes[..usize::from(u16::MAX)], u16::MAX),
    }
}

/// A number for a field of 32 bits in which the greatest number stands for all that are not less.
pub(crate) fn at_most_u32(number: u64) -> u32 {
    const GREATEST: u32 = u32::MAX;
    u32::try_from(number).unwrap_or(GREATEST)
}

pub(crate) fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, &value.to_be_bytes());
}
