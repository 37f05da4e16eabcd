//! AVX2: 32 bytes an instruction, four instructions a step.

use std::arch::asm;
use std::arch::x86_64::{
    __m256i, _mm_add_epi64, _mm_cvtsi128_si64, _mm_extract_epi64, _mm256_add_epi64, _mm256_castsi256_si128,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srli_epi64,
    _mm256_storeu_si256, _mm256_sub_epi64,
};

use super::{add, portable};

const LANES: usize = 32;
const STEP: usize = 4 * LANES;

/// Partial sum of `src`, at most `BLOCK` bytes.
#[target_feature(enable = "avx2")]
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
    add(total.partial(), portable::sum(rest))
}

/// Copies `src`, at most `BLOCK` bytes, to `dst` of the same length; returns its partial sum.
#[target_feature(enable = "avx2")]
pub(super) fn copy(dst: &mut [u8], src: &[u8]) -> u64 {
    let (to_steps, to_rest) = dst.as_chunks_mut::<STEP>();
    let (from_steps, from_rest) = src.as_chunks::<STEP>();
    let mut total = Total::zero();
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
    add(total.partial(), portable::copy(to_rest, from_rest))
}

/// Hides the vector's origin from the compiler. Otherwise it recognises a loop that stores what it loads, and splits it
/// into a call of `memcpy` and a second pass for the sum.
#[inline]
#[target_feature(enable = "avx2")]
fn unknown(mut vector: __m256i) -> __m256i {
    // SAFETY: no instruction at all; the register is left as it is.
    unsafe { asm!("/* {0} */", inout(ymm_reg) vector, options(pure, nomem, nostack, preserves_flags)) }
    vector
}

/// Sums of 64-bit lanes, each of two 32-bit words, in three instructions a vector: the whole lanes are added with
/// wrap-around, the high words separately, and the difference is the sum of the low words.
struct Total {
    whole: __m256i,
    high: __m256i,
}

impl Total {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn zero() -> Self {
        Self { whole: _mm256_setzero_si256(), high: _mm256_setzero_si256() }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn add(&mut self, vector: __m256i) {
        self.whole = _mm256_add_epi64(self.whole, vector);
        self.high = _mm256_add_epi64(self.high, _mm256_srli_epi64::<32>(vector));
    }

    /// Adds all 32-bit words: below 2^60, since a block has at most 2^18 of them.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn partial(&self) -> u64 {
        let low = _mm256_sub_epi64(self.whole, _mm256_slli_epi64::<32>(self.high));
        let words = _mm256_add_epi64(low, self.high);
        let pair = _mm_add_epi64(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        _mm_cvtsi128_si64(pair).cast_unsigned() + _mm_extract_epi64::<1>(pair).cast_unsigned()
    }
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
