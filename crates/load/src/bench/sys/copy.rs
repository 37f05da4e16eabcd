//! Copies by all methods that a processor has: the roof of any work that moves every byte once.

/// Copy method; both slices have the same length.
pub(crate) type Copy = fn(&mut [u8], &[u8]);

/// Methods that this processor has, with their names.
pub(crate) fn ways() -> Vec<(&'static str, Copy)> {
    let mut ways: Vec<(&str, Copy)> = vec![("memcpy", <[u8]>::copy_from_slice)];
    #[cfg(target_arch = "x86_64")]
    {
        ways.push(("rep movsb", rep_movsb));
        ways.push(("non-temporal", non_temporal));
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            ways.push(("AVX2", |to, from| unsafe { avx2(to, from) }));
        }
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            ways.push(("AVX-512", |to, from| unsafe { avx512(to, from) }));
        }
    }
    ways
}

#[cfg(target_arch = "x86_64")]
fn rep_movsb(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len());
    // SAFETY: `to` is writable and `from` readable for that many bytes; the ABI keeps the direction flag clear.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") from.len() => _, inout("rdi") to.as_mut_ptr() => _, inout("rsi") from.as_ptr() => _,
            options(nostack, preserves_flags)
        );
    }
}

/// Bypasses the caches where the destination is aligned.
#[cfg(target_arch = "x86_64")]
fn non_temporal(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    assert_eq!(to.len(), from.len());
    let front = to.as_ptr().align_offset(16).min(to.len());
    let (to_front, to) = to.split_at_mut(front);
    let (from_front, from) = from.split_at(front);
    to_front.copy_from_slice(from_front);
    let (to_chunks, to_rest) = to.as_chunks_mut::<16>();
    let (from_chunks, from_rest) = from.as_chunks::<16>();
    for (to, from) in to_chunks.iter_mut().zip(from_chunks) {
        // SAFETY: 16 bytes each; `to` is aligned, since all before it are whole chunks behind an aligned place.
        unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast())) };
    }
    to_rest.copy_from_slice(from_rest);
    // SAFETY: every x86-64 processor has it. Streamed stores are ordered by nothing else: with the fence, a thread that
    // learns of the copy by a release sees its bytes.
    unsafe { _mm_sfence() };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};
    in_chunks::<32>(to, from, |to, from| {
        // SAFETY: 32 bytes each, at any alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm256_loadu_si256(from.as_ptr().cast())) }
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_storeu_si512};
    in_chunks::<64>(to, from, |to, from| {
        // SAFETY: 64 bytes each, at any alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_loadu_si512(from.as_ptr().cast())) }
    });
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn in_chunks<const N: usize>(to: &mut [u8], from: &[u8], each: impl Fn(&mut [u8; N], &[u8; N])) {
    assert_eq!(to.len(), from.len());
    let (to_chunks, to_rest) = to.as_chunks_mut::<N>();
    let (from_chunks, from_rest) = from.as_chunks::<N>();
    for (to, from) in to_chunks.iter_mut().zip(from_chunks) {
        each(to, from);
    }
    to_rest.copy_from_slice(from_rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_copies_every_length_at_every_alignment() {
        let from: Vec<u8> = (0..700u32).map(|i| u8::try_from(i % 251).unwrap()).collect();
        for (name, copy) in ways() {
            for (len, at) in (0..300).zip((0..64).cycle()).chain([(600, 0), (635, 63)]) {
                let mut to = vec![0xee; 700];
                copy(&mut to[at..at + len], &from[..len]);
                assert_eq!(to[at..at + len], from[..len], "{name}, {len} at {at}");
                assert!(to[..at].iter().chain(&to[at + len..]).all(|byte| *byte == 0xee), "{name}, {len} at {at}");
            }
        }
    }
}
