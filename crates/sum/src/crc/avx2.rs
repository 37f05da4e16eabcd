//! VPCLMULQDQ and AVX2: 32 bytes a vector, four vectors a step.

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_set_epi8, _mm_setzero_si128, _mm_xor_si128, _mm256_broadcastsi128_si256,
    _mm256_castsi256_si128, _mm256_clmulepi64_epi128, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_set_m128i,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_storeu_si256, _mm256_xor_si256, _mm256_zextsi128_si256,
};

use super::clmul::{self, behind_zeros, number, reduce};
use super::{Kind, Polynomial, beyond};

const LANES: usize = 32;
const HALF: usize = LANES / 2;
const VECTORS: usize = 4;

/// Multipliers for the two lanes of a vector.
type Pairs = [u64; 4];

/// Continues `remainder` over `src`.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1")]
pub(super) fn update<K: Kind>(remainder: u32, src: &[u8]) -> u32 {
    run::<K, false>(remainder, &mut [], src)
}

/// Like [`update`], and copies `src` to `dst` of the same length.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1")]
pub(super) fn copy_and_update<K: Kind>(remainder: u32, dst: &mut [u8], src: &[u8]) -> u32 {
    run::<K, true>(remainder, dst, src)
}

/// `COPY`: copy to `dst`, which is as long as `src`; otherwise `dst` is ignored.
#[inline]
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1")]
fn run<K: Kind, const COPY: bool>(remainder: u32, dst: &mut [u8], src: &[u8]) -> u32 {
    let Some(first) = src.first_chunk::<LANES>() else {
        return if COPY {
            clmul::copy_and_update::<K>(remainder, dst, src)
        } else {
            clmul::update::<K>(remainder, src)
        };
    };
    // 1 to 32 bytes, so that the rest is whole vectors.
    let head = (src.len() - 1) % LANES + 1;
    let vector = load(first);
    let to = if COPY {
        // The bytes after the head are written again later.
        dst.first_chunk_mut().into_iter().for_each(|to| store(to, vector));
        &mut dst[head..]
    } else {
        &mut []
    };
    let zero = _mm256_setzero_si256();
    let mut lanes = [zero, zero, zero, reflect::<K>(headed(remainder, vector, first, head))];
    // Bytes of the remainder that reach beyond the head.
    let mut carry = reflect::<K>(_mm256_zextsi128_si256(number(beyond(remainder, head))));

    let (from, _) = src[head..].as_chunks::<LANES>();
    let (from_singles, from_steps) = from.split_at(from.len() % VECTORS);
    let (to, _) = to.as_chunks_mut::<LANES>();
    let (to_singles, to_steps) = to.split_at_mut(if COPY { from_singles.len() } else { 0 });
    let mut to = to_singles.iter_mut();
    for from in from_singles {
        let vector = unknown(load(from));
        to.next().into_iter().for_each(|to| store(to, vector));
        lanes = [lanes[1], lanes[2], lanes[3], _mm256_xor_si256(reflect::<K>(vector), carry)];
        carry = zero;
    }
    let mut to = to_steps.as_chunks_mut::<VECTORS>().0.iter_mut();
    let by = const { &steps(&K::POLYNOMIAL) };
    for from in from_steps.as_chunks::<VECTORS>().0 {
        let vectors =
            [unknown(load(&from[0])), unknown(load(&from[1])), unknown(load(&from[2])), unknown(load(&from[3]))];
        if let Some(to) = to.next() {
            store(&mut to[0], vectors[0]);
            store(&mut to[1], vectors[1]);
            store(&mut to[2], vectors[2]);
            store(&mut to[3], vectors[3]);
        }
        lanes[0] = _mm256_xor_si256(fold(lanes[0], by), _mm256_xor_si256(reflect::<K>(vectors[0]), carry));
        lanes[1] = _mm256_xor_si256(fold(lanes[1], by), reflect::<K>(vectors[1]));
        lanes[2] = _mm256_xor_si256(fold(lanes[2], by), reflect::<K>(vectors[2]));
        lanes[3] = _mm256_xor_si256(fold(lanes[3], by), reflect::<K>(vectors[3]));
        carry = zero;
    }
    let [a, b, c, d] = lanes;
    let sum = _mm256_xor_si256(
        _mm256_xor_si256(fold(a, const { &ends(&K::POLYNOMIAL, 3) }), fold(b, const { &ends(&K::POLYNOMIAL, 2) })),
        _mm256_xor_si256(fold(c, const { &ends(&K::POLYNOMIAL, 1) }), fold(d, const { &ends(&K::POLYNOMIAL, 0) })),
    );
    reduce::<K>(_mm_xor_si128(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum)))
}

/// The first `n` bytes of `first`, which is also in `vector`, with the remainder added, after zeros.
#[inline]
#[target_feature(enable = "avx2,sse4.1")]
fn headed(remainder: u32, vector: __m256i, first: &[u8; LANES], n: usize) -> __m256i {
    let front = _mm_xor_si128(_mm256_castsi256_si128(vector), number(remainder));
    match n.checked_sub(HALF) {
        // No bytes in the front half, and a whole back half.
        Some(0) => _mm256_set_m128i(front, _mm_setzero_si128()),
        Some(more) => {
            let back = first[more..].first_chunk().map_or(_mm_setzero_si128(), |back| clmul::load(back));
            let back = _mm_xor_si128(back, number(beyond(remainder, more)));
            _mm256_set_m128i(back, behind_zeros(front, more))
        }
        None => _mm256_set_m128i(behind_zeros(front, n), _mm_setzero_si128()),
    }
}

/// Multipliers from one step to the next.
const fn steps(polynomial: &Polynomial) -> Pairs {
    let [low, high] = polynomial.fold(8 * 128);
    [low, high, low, high]
}

/// Multipliers from a vector, followed by `following` others, to the end.
const fn ends(polynomial: &Polynomial, following: u32) -> Pairs {
    let bits = 8 * 32 * following;
    let [a, b] = polynomial.last(bits + 8 * 16);
    let [c, d] = polynomial.last(bits);
    [a, b, c, d]
}

/// Folds each lane: both halves times their constants, added (xor).
#[inline]
#[target_feature(enable = "avx2,vpclmulqdq")]
fn fold(vector: __m256i, by: &Pairs) -> __m256i {
    let by = pairs(by);
    _mm256_xor_si256(_mm256_clmulepi64_epi128::<0x00>(vector, by), _mm256_clmulepi64_epi128::<0x11>(vector, by))
}

/// Converts bytes to lanes of coefficients: unchanged for reflected polynomials, reversed for others.
#[inline]
#[target_feature(enable = "avx2")]
fn reflect<K: Kind>(bytes: __m256i) -> __m256i {
    if K::POLYNOMIAL.reflected {
        bytes
    } else {
        let places: __m128i = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(places))
    }
}

/// Hides the vector's origin from the compiler: see the Internet checksum's `unknown`.
#[inline]
#[target_feature(enable = "avx2")]
fn unknown(mut vector: __m256i) -> __m256i {
    // SAFETY: no instruction at all; the register is left as it is.
    unsafe { asm!("/* {0} */", inout(ymm_reg) vector, options(pure, nomem, nostack, preserves_flags)) }
    vector
}

#[inline]
#[target_feature(enable = "avx2")]
fn pairs(by: &Pairs) -> __m256i {
    // SAFETY: `by` is 32 readable bytes, and the unaligned load asks no alignment.
    unsafe { _mm256_loadu_si256(by.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(from: &[u8; LANES]) -> __m256i {
    // SAFETY: `from` is 32 readable bytes, and the unaligned load asks no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(to: &mut [u8; LANES], vector: __m256i) {
    // SAFETY: `to` is 32 bytes that only we may write, and the unaligned store asks no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), vector) }
}
