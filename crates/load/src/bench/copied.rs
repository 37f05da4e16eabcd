//! 64 KiB copied, which is what segmentation is compared with.

use super::alone::each_ns;
use super::{Missing, failed};
use std::hint::black_box;
use std::time::Duration;

/// Bytes of payload.
pub(super) const SIZE: usize = 65_536;

/// Times a call; afterwards everything that it wrote is looked at.
pub(super) fn timed(time: Duration, mut call: impl FnMut() -> Result<(), Missing>) -> Result<f64, Missing> {
    const CALLS: u64 = 8;
    each_ns(time, || (0..CALLS).try_for_each(|_| call()).map(|()| CALLS))
}

/// The bytes in one piece.
pub(super) fn copy(payload: &[u8], time: Duration) -> Result<f64, Missing> {
    let mut memory = vec![0; SIZE];
    let ns = timed(time, || {
        memory.copy_from_slice(black_box(payload));
        black_box(&mut memory);
        Ok(())
    })?;
    if memory == payload { Ok(ns) } else { Err(failed("the copy came out wrong")) }
}

/// The bytes to where frames have them: so many in each, behind so many of headers, frames so far apart.
pub(super) fn copy_apart<const MOST: usize, const HEADERS: usize, const STRIDE: usize>(
    payload: &[u8],
    time: Duration,
) -> Result<f64, Missing> {
    let mut memory = vec![0; SIZE.div_ceil(MOST) * STRIDE];
    let ns = timed(time, || {
        for (to, from) in memory.chunks_mut(STRIDE).zip(black_box(payload).chunks(MOST)) {
            to[HEADERS..HEADERS + from.len()].copy_from_slice(from);
        }
        black_box(&mut memory);
        Ok(())
    })?;
    let wrong = |(to, from): (&[u8], &[u8])| to[HEADERS..HEADERS + from.len()] != *from;
    if memory.chunks(STRIDE).zip(payload.chunks(MOST)).any(wrong) {
        return Err(failed("the copy came out wrong"));
    }
    Ok(ns)
}
