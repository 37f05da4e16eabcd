//! PCLMULQDQ and SSE 4.1: 16 bytes a vector, four vectors a step.

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, _mm_clmulepi64_si128, _mm_cvtsi32_si128, _mm_cvtsi128_si64, _mm_extract_epi32, _mm_loadu_si128,
    _mm_set_epi8, _mm_set_epi64x, _mm_setzero_si128, _mm_shuffle_epi8, _mm_storeu_si128, _mm_xor_si128,
};

use super::polynomial::Pair;
use super::{Kind, beyond, portable};

const LANES: usize = 16;
const VECTORS: usize = 4;

/// Continues `remainder` over `src`.
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn update<K: Kind>(remainder: u32, src: &[u8]) -> u32 {
    run::<K, false>(remainder, &mut [], src)
}

/// Like [`update`], and copies `src` to `dst` of the same length.
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn copy_and_update<K: Kind>(remainder: u32, dst: &mut [u8], src: &[u8]) -> u32 {
    run::<K, true>(remainder, dst, src)
}

/// Continues `remainder` over three words in little-endian order. They stay in registers: loading vectors that
/// were just stored in pieces would stall.
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn update_words<K: Kind>(remainder: u32, first: u64, second: u64, third: u64) -> u32 {
    let lanes = [reflect::<K>(pair([0, first ^ u64::from(remainder)])), reflect::<K>(pair([second, third]))];
    reduce::<K>(_mm_xor_si128(
        fold(lanes[0], const { K::POLYNOMIAL.last(8 * 16) }),
        fold(lanes[1], const { K::POLYNOMIAL.last(0) }),
    ))
}

/// `COPY`: copy to `dst`, which is as long as `src`; otherwise `dst` is ignored.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn run<K: Kind, const COPY: bool>(remainder: u32, dst: &mut [u8], src: &[u8]) -> u32 {
    let Some(first) = src.first_chunk::<LANES>() else {
        if COPY {
            dst.copy_from_slice(src);
        }
        return portable::update::<K>(remainder, src);
    };
    // 1 to 16 bytes, so that the rest is whole vectors.
    let head = (src.len() - 1) % LANES + 1;
    let vector = load(first);
    let to = if COPY {
        // The bytes after the head are written again later.
        dst.first_chunk_mut().into_iter().for_each(|to| store(to, vector));
        &mut dst[head..]
    } else {
        &mut []
    };
    let zero = _mm_setzero_si128();
    let vector = behind_zeros(_mm_xor_si128(vector, number(remainder)), head);
    let mut lanes = [zero, zero, zero, reflect::<K>(vector)];
    // Bytes of the remainder that reach beyond the head.
    let mut carry = reflect::<K>(number(beyond(remainder, head)));

    let (from, _) = src[head..].as_chunks::<LANES>();
    let (from_singles, from_steps) = from.split_at(from.len() % VECTORS);
    let (to, _) = to.as_chunks_mut::<LANES>();
    let (to_singles, to_steps) = to.split_at_mut(if COPY { from_singles.len() } else { 0 });
    let mut to = to_singles.iter_mut();
    for from in from_singles {
        let vector = unknown(load(from));
        to.next().into_iter().for_each(|to| store(to, vector));
        lanes = [lanes[1], lanes[2], lanes[3], _mm_xor_si128(reflect::<K>(vector), carry)];
        carry = zero;
    }
    let mut to = to_steps.as_chunks_mut::<VECTORS>().0.iter_mut();
    let by = const { K::POLYNOMIAL.fold(8 * 64) };
    for from in from_steps.as_chunks::<VECTORS>().0 {
        let vectors =
            [unknown(load(&from[0])), unknown(load(&from[1])), unknown(load(&from[2])), unknown(load(&from[3]))];
        if let Some(to) = to.next() {
            store(&mut to[0], vectors[0]);
            store(&mut to[1], vectors[1]);
            store(&mut to[2], vectors[2]);
            store(&mut to[3], vectors[3]);
        }
        lanes[0] = _mm_xor_si128(fold(lanes[0], by), _mm_xor_si128(reflect::<K>(vectors[0]), carry));
        lanes[1] = _mm_xor_si128(fold(lanes[1], by), reflect::<K>(vectors[1]));
        lanes[2] = _mm_xor_si128(fold(lanes[2], by), reflect::<K>(vectors[2]));
        lanes[3] = _mm_xor_si128(fold(lanes[3], by), reflect::<K>(vectors[3]));
        carry = zero;
    }
    let [a, b, c, d] = lanes;
    let sum = _mm_xor_si128(
        _mm_xor_si128(fold(a, const { K::POLYNOMIAL.last(8 * 48) }), fold(b, const { K::POLYNOMIAL.last(8 * 32) })),
        _mm_xor_si128(fold(c, const { K::POLYNOMIAL.last(8 * 16) }), fold(d, const { K::POLYNOMIAL.last(0) })),
    );
    reduce::<K>(sum)
}

/// Remainder of the result of [`Polynomial::last`](super::Polynomial::last) (Barrett): the quotient is one half of a
/// product, and the remainder is left after subtracting its product with the polynomial.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn reduce<K: Kind>(sum: __m128i) -> u32 {
    let by = pair(const { K::POLYNOMIAL.barrett() });
    if K::POLYNOMIAL.reflected {
        let quotient = _mm_clmulepi64_si128::<0x00>(sum, by);
        let rest = _mm_xor_si128(sum, _mm_clmulepi64_si128::<0x10>(quotient, by));
        _mm_extract_epi32::<2>(rest).cast_unsigned()
    } else {
        let quotient = _mm_xor_si128(sum, _mm_clmulepi64_si128::<0x01>(sum, by));
        let rest = _mm_xor_si128(sum, _mm_clmulepi64_si128::<0x11>(quotient, by));
        let [first, second, ..] = _mm_cvtsi128_si64(rest).to_be_bytes();
        u32::from_le_bytes([first, second, 0, 0])
    }
}

/// Folds a lane: both halves times their constants, added (xor).
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn fold(lane: __m128i, by: Pair) -> __m128i {
    let by = pair(by);
    _mm_xor_si128(_mm_clmulepi64_si128::<0x00>(lane, by), _mm_clmulepi64_si128::<0x11>(lane, by))
}

/// Converts bytes to a lane of coefficients: unchanged for reflected polynomials, reversed for others.
#[inline]
#[target_feature(enable = "sse4.1")]
fn reflect<K: Kind>(bytes: __m128i) -> __m128i {
    if K::POLYNOMIAL.reflected {
        bytes
    } else {
        _mm_shuffle_epi8(bytes, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
    }
}

/// The first `n` bytes, 1 to 16, after zeros.
#[inline]
#[target_feature(enable = "sse4.1")]
pub(super) fn behind_zeros(bytes: __m128i, n: usize) -> __m128i {
    /// Shuffle indices: zeros, and then the bytes in order.
    const PLACES: [u8; 2 * LANES] = [
        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 2, 3, 4,
        5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    ];
    match PLACES[n..].first_chunk() {
        Some(places) => _mm_shuffle_epi8(bytes, load(places)),
        None => bytes,
    }
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn pair([low, high]: Pair) -> __m128i {
    _mm_set_epi64x(high.cast_signed(), low.cast_signed())
}

/// Loads a remainder, to be added to a vector's first bytes.
#[inline]
#[target_feature(enable = "sse4.1")]
pub(super) fn number(remainder: u32) -> __m128i {
    _mm_cvtsi32_si128(remainder.cast_signed())
}

/// Hides the vector's origin from the compiler: see the Internet checksum's `unknown`.
#[inline]
#[target_feature(enable = "sse4.1")]
fn unknown(mut vector: __m128i) -> __m128i {
    // SAFETY: no instruction at all; the register is left as it is.
    unsafe { asm!("/* {0} */", inout(xmm_reg) vector, options(pure, nomem, nostack, preserves_flags)) }
    vector
}

#[inline]
#[target_feature(enable = "sse4.1")]
pub(super) fn load(from: &[u8; LANES]) -> __m128i {
    // SAFETY: `from` is 16 readable bytes, and the unaligned load asks no alignment.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn store(to: &mut [u8; LANES], vector: __m128i) {
    // SAFETY: `to` is 16 bytes that only we may write, and the unaligned store asks no alignment.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), vector) }
}
