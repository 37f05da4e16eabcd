//! VPCLMULQDQ and AVX-512 (F, BW and VBMI2): 64 bytes a vector, four vectors a step, and the head under a mask.

use std::arch::asm;
use std::arch::x86_64::{
    __m512i, __mmask64, _mm_cvtsi32_si128, _mm_set_epi8, _mm_xor_si128, _mm512_broadcast_i32x4, _mm512_castsi512_si128,
    _mm512_clmulepi64_epi128, _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_mask_storeu_epi8,
    _mm512_maskz_expand_epi8, _mm512_maskz_loadu_epi8, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_storeu_si512,
    _mm512_ternarylogic_epi64, _mm512_xor_si512, _mm512_zextsi128_si512,
};

use super::clmul::reduce;
use super::{Kind, Polynomial, beyond};

const LANES: usize = 64;
const VECTORS: usize = 4;

/// Multipliers for the four lanes of a vector.
type Pairs = [u64; 8];

/// Continues `remainder` over `src`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,vpclmulqdq,pclmulqdq,sse4.1")]
pub(super) fn update<K: Kind>(remainder: u32, src: &[u8]) -> u32 {
    run::<K, false>(remainder, &mut [], src)
}

/// Like [`update`], and copies `src` to `dst` of the same length.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,vpclmulqdq,pclmulqdq,sse4.1")]
pub(super) fn copy_and_update<K: Kind>(remainder: u32, dst: &mut [u8], src: &[u8]) -> u32 {
    run::<K, true>(remainder, dst, src)
}

/// `COPY`: copy to `dst`, which is as long as `src`; otherwise `dst` is ignored.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,vpclmulqdq,pclmulqdq,sse4.1")]
fn run<K: Kind, const COPY: bool>(remainder: u32, dst: &mut [u8], src: &[u8]) -> u32 {
    if src.is_empty() {
        return remainder;
    }
    // 1 to 64 bytes, so that the rest is whole vectors.
    let (first, from) = src.split_at((src.len() - 1) % LANES + 1);
    let vector = load_head(first);
    let to = if COPY {
        let (head, to) = dst.split_at_mut(first.len());
        store_head(head, vector);
        to
    } else {
        &mut []
    };
    // Bytes of the remainder that reach beyond the head.
    let carry = beyond(remainder, first.len());
    let last = reflect::<K>(behind_zeros(_mm512_xor_si512(vector, number(remainder)), first.len()));
    if from.is_empty() {
        return reduce::<K>(fold_lanes(fold(last, const { &ends(&K::POLYNOMIAL, 0) }))) ^ carry;
    }
    let zero = _mm512_setzero_si512();
    let mut lanes = [zero, zero, zero, last];
    let mut carry = reflect::<K>(number(carry));

    let (from, _) = from.as_chunks::<LANES>();
    let (from_singles, from_steps) = from.split_at(from.len() % VECTORS);
    let (to, _) = to.as_chunks_mut::<LANES>();
    let (to_singles, to_steps) = to.split_at_mut(if COPY { from_singles.len() } else { 0 });
    let mut to = to_singles.iter_mut();
    for from in from_singles {
        let vector = unknown(load(from));
        to.next().into_iter().for_each(|to| store(to, vector));
        lanes = [lanes[1], lanes[2], lanes[3], _mm512_xor_si512(reflect::<K>(vector), carry)];
        carry = zero;
    }
    let mut to = to_steps.as_chunks_mut::<VECTORS>().0.iter_mut();
    let by = const { &steps(&K::POLYNOMIAL) };
    for from in from_steps.as_chunks::<VECTORS>().0 {
        // All loads first: a load after a store to the same offset of another page would wait for it (4K aliasing).
        let vectors =
            [unknown(load(&from[0])), unknown(load(&from[1])), unknown(load(&from[2])), unknown(load(&from[3]))];
        if let Some(to) = to.next() {
            store(&mut to[0], vectors[0]);
            store(&mut to[1], vectors[1]);
            store(&mut to[2], vectors[2]);
            store(&mut to[3], vectors[3]);
        }
        lanes[0] = fold_onto(lanes[0], by, _mm512_xor_si512(reflect::<K>(vectors[0]), carry));
        lanes[1] = fold_onto(lanes[1], by, reflect::<K>(vectors[1]));
        lanes[2] = fold_onto(lanes[2], by, reflect::<K>(vectors[2]));
        lanes[3] = fold_onto(lanes[3], by, reflect::<K>(vectors[3]));
        carry = zero;
    }
    let sum =
        fold_onto(lanes[1], const { &ends(&K::POLYNOMIAL, 2) }, fold(lanes[0], const { &ends(&K::POLYNOMIAL, 3) }));
    let sum = _mm512_xor_si512(
        sum,
        fold_onto(lanes[3], const { &ends(&K::POLYNOMIAL, 0) }, fold(lanes[2], const { &ends(&K::POLYNOMIAL, 1) })),
    );
    reduce::<K>(fold_lanes(sum))
}

/// Multipliers from one step to the next.
const fn steps(polynomial: &Polynomial) -> Pairs {
    let [low, high] = polynomial.fold(8 * 256);
    [low, high, low, high, low, high, low, high]
}

/// Multipliers from a vector, followed by `following` others, to the end.
const fn ends(polynomial: &Polynomial, following: u32) -> Pairs {
    let bits = 8 * 64 * following;
    let [a, b] = polynomial.last(bits + 8 * 48);
    let [c, d] = polynomial.last(bits + 8 * 32);
    let [e, f] = polynomial.last(bits + 8 * 16);
    let [g, h] = polynomial.last(bits);
    [a, b, c, d, e, f, g, h]
}

/// Folds each lane by its constants, and adds the result to `to`.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold_onto(vector: __m512i, by: &Pairs, to: __m512i) -> __m512i {
    let by = pairs(by);
    let low = _mm512_clmulepi64_epi128::<0x00>(vector, by);
    let high = _mm512_clmulepi64_epi128::<0x11>(vector, by);
    // Exclusive or of all three.
    _mm512_ternarylogic_epi64::<0x96>(low, high, to)
}

/// Folds each lane: both halves times their constants, added (xor).
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold(vector: __m512i, by: &Pairs) -> __m512i {
    let by = pairs(by);
    _mm512_xor_si512(_mm512_clmulepi64_epi128::<0x00>(vector, by), _mm512_clmulepi64_epi128::<0x11>(vector, by))
}

/// Adds (xor) all lanes into one; the constants have shifted them to the same power.
#[inline]
#[target_feature(enable = "avx512f")]
fn fold_lanes(vector: __m512i) -> std::arch::x86_64::__m128i {
    let (a, b) = (_mm512_castsi512_si128(vector), _mm512_extracti32x4_epi32::<1>(vector));
    let (c, d) = (_mm512_extracti32x4_epi32::<2>(vector), _mm512_extracti32x4_epi32::<3>(vector));
    _mm_xor_si128(_mm_xor_si128(a, b), _mm_xor_si128(c, d))
}

/// Converts bytes to lanes of coefficients: unchanged for reflected polynomials, reversed for others.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn reflect<K: Kind>(bytes: __m512i) -> __m512i {
    if K::POLYNOMIAL.reflected {
        bytes
    } else {
        let places = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(places))
    }
}

/// The first `n` bytes, 1 to 64, after zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi2")]
fn behind_zeros(bytes: __m512i, n: usize) -> __m512i {
    _mm512_maskz_expand_epi8(__mmask64::MAX << (LANES - n), bytes)
}

/// Loads a remainder, to be added to a vector's first bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn number(remainder: u32) -> __m512i {
    _mm512_zextsi128_si512(_mm_cvtsi32_si128(remainder.cast_signed()))
}

/// Hides the vector's origin from the compiler: see the Internet checksum's `unknown`.
#[inline]
#[target_feature(enable = "avx512f")]
fn unknown(mut vector: __m512i) -> __m512i {
    // SAFETY: no instruction at all; the register is left as it is.
    unsafe { asm!("/* {0} */", inout(zmm_reg) vector, options(pure, nomem, nostack, preserves_flags)) }
    vector
}

#[inline]
#[target_feature(enable = "avx512f")]
fn pairs(by: &Pairs) -> __m512i {
    // SAFETY: `by` is 64 readable bytes, and the unaligned load asks no alignment.
    unsafe { _mm512_loadu_si512(by.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(from: &[u8; LANES]) -> __m512i {
    // SAFETY: `from` is 64 readable bytes, and the unaligned load asks no alignment.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(to: &mut [u8; LANES], vector: __m512i) {
    // SAFETY: `to` is 64 bytes that only we may write, and the unaligned store asks no alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), vector) }
}

/// Loads 1 to 64 bytes, with zeros after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_head(from: &[u8]) -> __m512i {
    // SAFETY: the mask has at most `from.len()` bits, from the lowest, and bytes outside the mask are not touched.
    unsafe { _mm512_maskz_loadu_epi8(mask(from.len()), from.as_ptr().cast()) }
}

/// Stores the first bytes of `vector` to `to`, 1 to 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn store_head(to: &mut [u8], vector: __m512i) {
    // SAFETY: the mask has at most `to.len()` bits, from the lowest, and bytes outside the mask are not touched.
    unsafe { _mm512_mask_storeu_epi8(to.as_mut_ptr().cast(), mask(to.len()), vector) }
}

/// Mask of the lowest `len` bits, 1 to 64.
#[inline]
fn mask(len: usize) -> __mmask64 {
    __mmask64::MAX >> (LANES - len.clamp(1, LANES))
}
