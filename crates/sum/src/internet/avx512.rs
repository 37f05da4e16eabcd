//! AVX-512 (F and BW): 64 octets an instruction, four instructions a step, and the tail under a mask.

use std::arch::asm;
use std::arch::x86_64::{
    __m512i, __mmask64, _mm512_add_epi64, _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8,
    _mm512_reduce_add_epi64, _mm512_setzero_si512, _mm512_slli_epi64, _mm512_srli_epi64, _mm512_storeu_si512,
    _mm512_sub_epi64,
};

const LANES: usize = 64;
const STEP: usize = 4 * LANES;

/// The partial of `src`, at most `BLOCK` octets.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn sum(src: &[u8]) -> u64 {
    let (steps, rest) = src.as_chunks::<STEP>();
    let mut total = Total::zero();
    for step in steps {
        for from in step.as_chunks::<LANES>().0 {
            total.add(load(from));
        }
    }
    let (vectors, rest) = rest.as_chunks::<LANES>();
    for from in vectors {
        total.add(load(from));
    }
    if !rest.is_empty() {
        total.add(load_tail(rest));
    }
    total.partial()
}

/// Copies `src`, at most `BLOCK` octets, to `dst` of the same length; returns its partial.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn copy(dst: &mut [u8], src: &[u8]) -> u64 {
    let mut total = Total::zero();
    // Stores that cross cache lines take twice as long: a first, short one brings the others to where lines begin. An
    // odd one would put high octets into the place of low ones.
    let skew = dst.as_ptr().align_offset(LANES);
    let skew = if skew.is_multiple_of(2) && src.len() > STEP { skew } else { 0 };
    let (to_skew, to) = dst.split_at_mut(skew);
    let (from_skew, from) = src.split_at(skew);
    if skew > 0 {
        copy_tail(&mut total, to_skew, from_skew);
    }
    let (to_steps, to_rest) = to.as_chunks_mut::<STEP>();
    let (from_steps, from_rest) = from.as_chunks::<STEP>();
    for (to, from) in to_steps.iter_mut().zip(from_steps) {
        for (to, from) in to.as_chunks_mut::<LANES>().0.iter_mut().zip(from.as_chunks::<LANES>().0) {
            let vector = unknown(load(from));
            store(to, vector);
            total.add(vector);
        }
    }
    let (to_vectors, to_rest) = to_rest.as_chunks_mut::<LANES>();
    let (from_vectors, from_rest) = from_rest.as_chunks::<LANES>();
    for (to, from) in to_vectors.iter_mut().zip(from_vectors) {
        let vector = unknown(load(from));
        store(to, vector);
        total.add(vector);
    }
    if !from_rest.is_empty() {
        copy_tail(&mut total, to_rest, from_rest);
    }
    total.partial()
}

/// Copies and adds less than a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn copy_tail(total: &mut Total, to: &mut [u8], from: &[u8]) {
    let vector = load_tail(from);
    store_tail(to, vector);
    total.add(vector);
}

/// The same vector, but the compiler does not know that. Otherwise it sees a loop that stores what it loads, and makes
/// two of it: a call of `memcpy`, and a second reading to sum.
#[inline]
#[target_feature(enable = "avx512f")]
fn unknown(mut vector: __m512i) -> __m512i {
    // SAFETY: no instruction at all; the register is left as it is.
    unsafe { asm!("/* {0} */", inout(zmm_reg) vector, options(pure, nomem, nostack, preserves_flags)) }
    vector
}

/// Sums of 64-bit lanes, each of two 32-bit words, in three instructions a vector: the whole lanes are added with
/// wrap-around, the high words apart, and the low words are what remains.
struct Total {
    whole: __m512i,
    high: __m512i,
}

impl Total {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn zero() -> Self {
        Self { whole: _mm512_setzero_si512(), high: _mm512_setzero_si512() }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add(&mut self, vector: __m512i) {
        self.whole = _mm512_add_epi64(self.whole, vector);
        self.high = _mm512_add_epi64(self.high, _mm512_srli_epi64::<32>(vector));
    }

    /// All 32-bit words added: below 2^60, since a block has at most 2^28 of them.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn partial(&self) -> u64 {
        let low = _mm512_sub_epi64(self.whole, _mm512_slli_epi64::<32>(self.high));
        _mm512_reduce_add_epi64(_mm512_add_epi64(low, self.high)).cast_unsigned()
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(from: &[u8; LANES]) -> __m512i {
    // SAFETY: `from` is 64 readable octets, and the unaligned load asks no alignment.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(to: &mut [u8; LANES], vector: __m512i) {
    // SAFETY: `to` is 64 octets that only we may write, and the unaligned store asks no alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), vector) }
}

/// The octets of `from` with zeros after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_tail(from: &[u8]) -> __m512i {
    // SAFETY: the mask has at most `from.len()` bits, from the lowest, and octets outside the mask are not touched.
    unsafe { _mm512_maskz_loadu_epi8(mask(from.len()), from.as_ptr().cast()) }
}

/// Writes the first octets of `vector` over `to`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn store_tail(to: &mut [u8], vector: __m512i) {
    // SAFETY: the mask has at most `to.len()` bits, from the lowest, and octets outside the mask are not touched.
    unsafe { _mm512_mask_storeu_epi8(to.as_mut_ptr().cast(), mask(to.len()), vector) }
}

/// The lowest `len` bits, all 64 when there are more.
#[inline]
fn mask(len: usize) -> __mmask64 {
    if len < LANES { (1 << len) - 1 } else { __mmask64::MAX }
}
