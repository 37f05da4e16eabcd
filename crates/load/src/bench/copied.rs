//! Copies of 64 KiB, with which segmentation is compared.

use super::alone::{each_ns, on_core};
use super::sys::copy::{Copy, ways};
use super::{Missing, Setting, Variant, failed};
use std::hint::black_box;
use std::time::Duration;

/// Bytes of payload.
pub(super) const SIZE: usize = 65_536;
/// Size of a memory page, bytes.
const PAGE: usize = 4096;

/// Nanoseconds per call of `call`.
pub(super) fn timed(time: Duration, mut call: impl FnMut() -> Result<(), Missing>) -> Result<f64, Missing> {
    const CALLS: u64 = 8;
    each_ns(time, || (0..CALLS).try_for_each(|_| call()).map(|()| CALLS))
}

/// Roof of any work that moves each byte once: the same bytes copied, by every method, in pieces of several sizes.
/// Source and destination are aligned to cache lines, but lie at different offsets in their pages, since some
/// processors otherwise take a read for one of data just written (4K aliasing).
pub(super) fn copies() -> Vec<Variant> {
    let mut all = Vec::new();
    for (name, way) in ways() {
        for piece in PIECES {
            let size = if piece >= 4096 { format!("{} KiB", piece / 1024) } else { format!("{piece} bytes") };
            all.push(Variant::new(format!("{name}, {size} at a time"), move |setting: &Setting| {
                let time = setting.time;
                on_core(setting.cores[0], move || copied(way, piece, time)).map(|ns| SIZE as f64 * 1e9 / ns)
            }));
        }
    }
    all
}

/// Bytes copied at a time: all, several pages, a page, and a frame's payload.
const PIECES: [usize; 4] = [SIZE, 16_384, 4096, 1460];

/// Nanoseconds per copy of all the bytes.
fn copied(copy: Copy, piece: usize, time: Duration) -> Result<f64, Missing> {
    let payload: Vec<u8> = (0..SIZE).map(|i| u8::try_from((i * 7 + i / 251) % 256).unwrap_or(0)).collect();
    let (mut source, mut memory) = (vec![0; SIZE + PAGE], vec![0; SIZE + 2 * PAGE]);
    let from = source.as_ptr().align_offset(PAGE).min(PAGE);
    source[from..from + SIZE].copy_from_slice(&payload);
    let source = &source[from..from + SIZE];
    let to = memory.as_ptr().align_offset(PAGE).min(PAGE) + PAGE / 2;
    let memory = &mut memory[to..to + SIZE];
    let ns = timed(time, || {
        for (to, from) in memory.chunks_mut(piece).zip(black_box(source).chunks(piece)) {
            copy(to, from);
        }
        black_box(&mut *memory);
        Ok(())
    })?;
    if *memory == *payload { Ok(ns) } else { Err(failed("the copy came out wrong")) }
}

/// Copies the payload to its places in frames: `MOST` bytes behind `HEADERS` bytes of headers in each, frames `STRIDE`
/// bytes apart.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memcpy_is_tried_in_all_kinds_and_sizes_and_each_is_checked() {
        let setting =
            Setting { cores: [linerate_rt::cpus()[0]; 2], time: Duration::from_millis(1), rounds: 1, peers: None };
        let all = copies();
        for variant in &all {
            assert!(variant.measure(&setting).unwrap() > 0.0, "{}", variant.name);
        }
        let kinds =
            if cfg!(target_arch = "x86_64") { &["memcpy", "rep movsb", "non-temporal"][..] } else { &["memcpy"] };
        for kind in kinds {
            for size in ["64 KiB", "16 KiB", "4 KiB", "1460 bytes"] {
                let name = format!("{kind}, {size} at a time");
                assert!(all.iter().any(|variant| variant.name == name), "{name}");
            }
        }
        assert_eq!(copied(|_, _| (), SIZE, Duration::ZERO), Err(failed("the copy came out wrong")));
    }
}
