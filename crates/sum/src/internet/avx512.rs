//! AVX-512 (F, BW and VNNI): 64 bytes an instruction, four instructions a step, and the tail under a mask.

use std::arch::asm;
use std::arch::x86_64::{
    __m512i, __mmask64, _mm512_add_epi32, _mm512_add_epi64, _mm512_and_si512, _mm512_dpwssd_epi32, _mm512_loadu_si512,
    _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_reduce_add_epi64, _mm512_set1_epi16, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_xor_si512,
};

const LANES: usize = 64;
const STEP: usize = 4 * LANES;

/// Partial sum of `src`, at most `BLOCK` bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn sum(src: &[u8]) -> u64 {
    let (steps, rest) = src.as_chunks::<STEP>();
    let mut total = Total::zero();
    for step in steps {
        let (vectors, _) = step.as_chunks::<LANES>();
        total.add::<0>(load(&vectors[0]));
        total.add::<1>(load(&vectors[1]));
        total.add::<2>(load(&vectors[2]));
        total.add::<3>(load(&vectors[3]));
    }
    let (vectors, rest) = rest.as_chunks::<LANES>();
    for from in vectors {
        total.add::<0>(load(from));
    }
    if !rest.is_empty() {
        total.add::<1>(load_tail(rest));
    }
    total.partial()
}

/// Copies `src`, at most `BLOCK` bytes, to `dst` of the same length; returns its partial sum.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn copy(dst: &mut [u8], src: &[u8]) -> u64 {
    let mut total = Total::zero();
    // Stores across cache lines take twice as long: a first, short one aligns the others to lines. An odd one would
    // swap high and low bytes.
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
        let ((to, _), (from, _)) = (to.as_chunks_mut::<LANES>(), from.as_chunks::<LANES>());
        // All loads first: a load after a store to the same offset of another page would wait for it (4K aliasing).
        let vectors =
            [unknown(load(&from[0])), unknown(load(&from[1])), unknown(load(&from[2])), unknown(load(&from[3]))];
        store(&mut to[0], vectors[0]);
        store(&mut to[1], vectors[1]);
        store(&mut to[2], vectors[2]);
        store(&mut to[3], vectors[3]);
        total.add::<0>(vectors[0]);
        total.add::<1>(vectors[1]);
        total.add::<2>(vectors[2]);
        total.add::<3>(vectors[3]);
    }
    let (to_vectors, to_rest) = to_rest.as_chunks_mut::<LANES>();
    let (from_vectors, from_rest) = from_rest.as_chunks::<LANES>();
    for (to, from) in to_vectors.iter_mut().zip(from_vectors) {
        copy_vector::<0>(&mut total, to, from);
    }
    if !from_rest.is_empty() {
        copy_tail(&mut total, to_rest, from_rest);
    }
    total.partial()
}

#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn copy_vector<const TURN: usize>(total: &mut Total, to: &mut [u8; LANES], from: &[u8; LANES]) {
    let vector = unknown(load(from));
    store(to, vector);
    total.add::<TURN>(vector);
}

/// Copies and adds less than a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn copy_tail(total: &mut Total, to: &mut [u8], from: &[u8]) {
    let vector = load_tail(from);
    store_tail(to, vector);
    total.add::<1>(vector);
}

/// Hides the vector's origin from the compiler. Otherwise it recognises a loop that stores what it loads, and splits it
/// into a call of `memcpy` and a second pass for the sum.
#[inline]
#[target_feature(enable = "avx512f")]
fn unknown(mut vector: __m512i) -> __m512i {
    // SAFETY: no instruction at all; the register is left as it is.
    unsafe { asm!("/* {0} */", inout(zmm_reg) vector, options(pure, nomem, nostack, preserves_flags)) }
    vector
}

/// Sums of 16-bit words in 32-bit lanes, in two instructions a vector: the words minus 2^15, which makes them signed,
/// are multiplied by one and added in pairs. Four sums in turn, since an addition has more latency than a vector's
/// load.
struct Total {
    lanes: [__m512i; 4],
    vectors: u32,
}

impl Total {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn zero() -> Self {
        Self { lanes: [_mm512_setzero_si512(); 4], vectors: 0 }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn add<const TURN: usize>(&mut self, vector: __m512i) {
        let signed = _mm512_xor_si512(vector, _mm512_set1_epi16(i16::MIN));
        self.lanes[TURN] = _mm512_dpwssd_epi32(self.lanes[TURN], signed, _mm512_set1_epi16(1));
        self.vectors += 1;
    }

    /// Adds all words. A block has at most 2^14 + 1 vectors, and each adds less than 2^17 to a lane.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn partial(&self) -> u64 {
        let [a, b, c, d] = self.lanes;
        let signed = _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d));
        // Twice 2^15 were subtracted per vector.
        let words = _mm512_add_epi32(signed, _mm512_set1_epi32((self.vectors << 16).cast_signed()));
        let low = _mm512_and_si512(words, _mm512_set1_epi64(0xffff_ffff));
        _mm512_reduce_add_epi64(_mm512_add_epi64(low, _mm512_srli_epi64::<32>(words))).cast_unsigned()
    }
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

/// Loads `from`, with zeros after its bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn load_tail(from: &[u8]) -> __m512i {
    // SAFETY: the mask has at most `from.len()` bits, from the lowest, and bytes outside the mask are not touched.
    unsafe { _mm512_maskz_loadu_epi8(mask(from.len()), from.as_ptr().cast()) }
}

/// Stores the first bytes of `vector` to `to`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn store_tail(to: &mut [u8], vector: __m512i) {
    // SAFETY: the mask has at most `to.len()` bits, from the lowest, and bytes outside the mask are not touched.
    unsafe { _mm512_mask_storeu_epi8(to.as_mut_ptr().cast(), mask(to.len()), vector) }
}

/// Mask of the lowest `len` bits, all 64 if there are more.
#[inline]
fn mask(len: usize) -> __mmask64 {
    if len < LANES { (1 << len) - 1 } else { __mmask64::MAX }
}
