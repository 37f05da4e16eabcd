//! AVX-512 (F and BW): 64 octets an instruction, four instructions a step, and the tail under a mask.

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
    let (to_steps, to_rest) = dst.as_chunks_mut::<STEP>();
    let (from_steps, from_rest) = src.as_chunks::<STEP>();
    let mut total = Total::zero();
    for (to, from) in to_steps.iter_mut().zip(from_steps) {
        for (to, from) in to.as_chunks_mut::<LANES>().0.iter_mut().zip(from.as_chunks::<LANES>().0) {
            let vector = load(from);
            store(to, vector);
            total.add(vector);
        }
    }
    let (to_vectors, to_rest) = to_rest.as_chunks_mut::<LANES>();
    let (from_vectors, from_rest) = from_rest.as_chunks::<LANES>();
    for (to, from) in to_vectors.iter_mut().zip(from_vectors) {
        let vector = load(from);
        store(to, vector);
        total.add(vector);
    }
    if !from_rest.is_empty() {
        let vector = load_tail(from_rest);
        store_tail(to_rest, vector);
        total.add(vector);
    }
    total.partial()
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
