//! Copies between private memory and memory that another process may be writing.
//!
//! A plain Rust copy from racing memory is undefined behaviour. These go through machine instructions that the compiler
//! cannot see into (x86-64), or through atomic bytes (elsewhere), so a race yields arbitrary bytes, and nothing worse.

/// Bytes that [`copy`] moves per step.
const LINE: usize = 64;

/// Copies `len` bytes. `SHARED`: the source is buffer memory, which others may be writing; otherwise it is private and
/// may be read-only.
///
/// # Safety
/// Both ranges must be mapped, `src` readable and `dst` writable. Others may write or read them at the same time, and
/// they may overlap, only if they are memory of a shared mapping; then arbitrary bytes may arrive.
#[inline]
pub(crate) unsafe fn copy<const SHARED: bool>(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's promise; each step stays inside [0, len).
    unsafe {
        if len >= LINE {
            let last = len - LINE;
            let mut at = 0;
            while at < last {
                step::line::<SHARED>(dst.add(at), src.add(at));
                at += LINE;
            }
            // The last step may overlap the one before it: every byte is copied, some twice.
            step::line::<SHARED>(dst.add(last), src.add(last));
        } else if len >= 32 {
            step::half::<SHARED>(dst, src, len - 32);
        } else if len >= 16 {
            step::sixteen::<SHARED>(dst, src);
            step::sixteen::<SHARED>(dst.add(len - 16), src.add(len - 16));
        } else {
            for at in 0..len {
                step::one::<SHARED>(dst.add(at), src.add(at));
            }
        }
    }
}

/// Stores eight bytes in native byte order.
///
/// # Safety
/// Eight bytes at `dst` must be mapped and writable. Others may read or write them at the same time only if they are
/// memory of a shared mapping.
#[inline(always)]
pub(crate) unsafe fn put_u64(dst: *mut u8, value: u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the caller's promise; one store of eight bytes.
    unsafe {
        std::arch::asm!("mov qword ptr [{t}], {v}", t = in(reg) dst, v = in(reg) value, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: the caller's promise.
    unsafe {
        copy::<false>(dst, value.to_ne_bytes().as_ptr(), 8);
    }
}

/// Loads eight bytes in native byte order, in one access.
///
/// # Safety
/// Eight bytes at `src` must be mapped and readable. Others may write them at the same time only if they are memory of
/// a shared mapping; then arbitrary bytes may be read.
#[inline(always)]
pub(crate) unsafe fn take_u64(src: *const u8) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the caller's promise; one load of eight bytes.
    unsafe {
        let value: u64;
        std::arch::asm!("mov {v}, qword ptr [{s}]", s = in(reg) src, v = out(reg) value,
            options(nostack, preserves_flags, readonly));
        value
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: the caller's promise.
    unsafe {
        let mut bytes = [0; 8];
        copy::<true>(bytes.as_mut_ptr(), src, 8);
        u64::from_ne_bytes(bytes)
    }
}

/// True if `len` bytes are equal. `src` is buffer memory, which others may be writing; `expected` is private.
///
/// # Safety
/// As for [`copy`]; nothing is written.
#[inline(always)]
pub(crate) unsafe fn equal(src: *const u8, expected: *const u8, len: usize) -> bool {
    // SAFETY: the caller's promise; each step stays inside [0, len), and the last may overlap the one before it.
    unsafe {
        let word = |at: usize| take_u64(src.add(at)) ^ expected.add(at).cast::<u64>().read_unaligned();
        match len {
            0..8 => (0..len).fold(0, |all, at| all | (step::take::<true>(src.add(at)) ^ *expected.add(at))) == 0,
            8..LINE => (0..len / 8).fold(word(len - 8), |all, i| all | word(8 * i)) == 0,
            _ => {
                let last = len - LINE;
                let line = |at: usize| step::same(src.add(at), expected.add(at));
                (0..last).step_by(LINE).all(line) && line(last)
            }
        }
    }
}

/// True if 16 bytes equal `head`, which has no bits beside those of `mask`, in the bits set in `mask`.
///
/// # Safety
/// 16 bytes at `src` must be mapped and readable.
#[inline(always)]
pub(crate) unsafe fn begins(src: *const u8, head: &[u64; 2], mask: &[u64; 2]) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{__m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x};
        let vector = |words: &[u64; 2]| {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { _mm_set_epi64x(words[1].cast_signed(), words[0].cast_signed()) }
        };
        let bytes: __m128i;
        // SAFETY: the caller's promise; one load of 16 bytes, and SSE2 is part of x86-64.
        unsafe {
            std::arch::asm!("movups {v}, [{s}]", s = in(reg) src, v = out(xmm_reg) bytes,
                options(nostack, preserves_flags, readonly));
            _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(bytes, vector(mask)), vector(head))) == 0xffff
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: the caller's promise.
    unsafe {
        (take_u64(src) & mask[0] ^ head[0]) | (take_u64(src.add(8)) & mask[1] ^ head[1]) == 0
    }
}

/// True if 32 bytes equal `expected` in the bits set in `mask`. `src` is buffer memory, which others may be writing.
///
/// # Safety
/// 32 bytes at `src` must be mapped and readable.
#[inline(always)]
pub(crate) unsafe fn matches(src: *const u8, expected: &[u8; 32], mask: &[u8; 32]) -> bool {
    // SAFETY: the caller's promise.
    unsafe { step::matches(src, expected, mask) }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod step {
    use std::arch::asm;

    /// True if the masked bits of 32 bytes are equal.
    #[inline(always)]
    pub(super) unsafe fn matches(src: *const u8, expected: &[u8; 32], mask: &[u8; 32]) -> bool {
        let equal: u32;
        // SAFETY: 32 bytes each, by the caller's promise and the arrays' types.
        unsafe {
            asm!(
                "movups {a}, [{s}]", "movups {b}, [{s} + 16]", "movups {x}, [{e}]", "movups {y}, [{e} + 16]",
                "pxor {a}, {x}", "pxor {b}, {y}", "movups {x}, [{m}]", "movups {y}, [{m} + 16]",
                "pand {a}, {x}", "pand {b}, {y}", "por {a}, {b}", "pxor {b}, {b}", "pcmpeqb {a}, {b}",
                "pmovmskb {q:e}, {a}",
                s = in(reg) src, e = in(reg) expected, m = in(reg) mask, q = out(reg) equal,
                a = out(xmm_reg) _, b = out(xmm_reg) _, x = out(xmm_reg) _, y = out(xmm_reg) _,
                options(nostack, preserves_flags, readonly)
            );
        }
        equal == 0xffff
    }

    /// True if two lines of 64 bytes are equal.
    #[inline(always)]
    pub(super) unsafe fn same(src: *const u8, expected: *const u8) -> bool {
        let equal: u32;
        // SAFETY: 64 bytes each, by the caller's promise.
        unsafe {
            asm!(
                "movups {a}, [{s}]", "movups {b}, [{s} + 16]", "movups {c}, [{s} + 32]", "movups {d}, [{s} + 48]",
                "movups {x}, [{t}]", "movups {y}, [{t} + 16]", "pcmpeqb {a}, {x}", "pcmpeqb {b}, {y}",
                "movups {x}, [{t} + 32]", "movups {y}, [{t} + 48]", "pcmpeqb {c}, {x}", "pcmpeqb {d}, {y}",
                "pand {a}, {b}", "pand {c}, {d}", "pand {a}, {c}", "pmovmskb {e:e}, {a}",
                s = in(reg) src, t = in(reg) expected, e = out(reg) equal,
                a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                x = out(xmm_reg) _, y = out(xmm_reg) _,
                options(nostack, preserves_flags, readonly)
            );
        }
        equal == 0xffff
    }

    /// Loads one byte.
    #[inline(always)]
    pub(super) unsafe fn take<const SHARED: bool>(src: *const u8) -> u8 {
        let byte: u8;
        // SAFETY: one byte, by the caller's promise.
        unsafe {
            asm!("mov {a}, byte ptr [{s}]", s = in(reg) src, a = out(reg_byte) byte,
                options(nostack, preserves_flags, readonly));
        }
        byte
    }

    #[inline(always)]
    pub(super) unsafe fn line<const SHARED: bool>(dst: *mut u8, src: *const u8) {
        // SAFETY: 64 bytes each, by the caller's promise.
        unsafe {
            asm!(
                "movups {a}, [{s}]", "movups {b}, [{s} + 16]", "movups {c}, [{s} + 32]", "movups {d}, [{s} + 48]",
                "movups [{t}], {a}", "movups [{t} + 16], {b}", "movups [{t} + 32], {c}", "movups [{t} + 48], {d}",
                s = in(reg) src, t = in(reg) dst,
                a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                options(nostack, preserves_flags)
            );
        }
    }

    /// Copies 32 bytes at the start and 32 bytes `tail` bytes later.
    #[inline(always)]
    pub(super) unsafe fn half<const SHARED: bool>(dst: *mut u8, src: *const u8, tail: usize) {
        // SAFETY: 32 + tail bytes each, by the caller's promise.
        unsafe {
            asm!(
                "movups {a}, [{s}]", "movups {b}, [{s} + 16]", "movups {c}, [{s} + {n}]", "movups {d}, [{s} + {n} + 16]",
                "movups [{t}], {a}", "movups [{t} + 16], {b}", "movups [{t} + {n}], {c}", "movups [{t} + {n} + 16], {d}",
                s = in(reg) src, t = in(reg) dst, n = in(reg) tail,
                a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                options(nostack, preserves_flags)
            );
        }
    }

    #[inline(always)]
    pub(super) unsafe fn sixteen<const SHARED: bool>(dst: *mut u8, src: *const u8) {
        // SAFETY: 16 bytes each, by the caller's promise.
        unsafe {
            asm!("movups {a}, [{s}]", "movups [{t}], {a}", s = in(reg) src, t = in(reg) dst, a = out(xmm_reg) _,
                options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    pub(super) unsafe fn one<const SHARED: bool>(dst: *mut u8, src: *const u8) {
        // SAFETY: one byte each, by the caller's promise.
        unsafe {
            let byte = take::<SHARED>(src);
            asm!("mov byte ptr [{t}], {a}", t = in(reg) dst, a = in(reg_byte) byte, options(nostack, preserves_flags));
        }
    }
}

#[cfg(any(not(target_arch = "x86_64"), miri))]
mod step {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    unsafe fn words<const SHARED: bool>(dst: *mut u8, src: *const u8, len: usize) {
        // SAFETY: len bytes each, by the caller's promise; atomics may race.
        unsafe {
            // Byte by byte: atomic accesses of two sizes to the same bytes may not race.
            for at in 0..len {
                one::<SHARED>(dst.add(at), src.add(at));
            }
        }
    }

    pub(super) unsafe fn line<const SHARED: bool>(dst: *mut u8, src: *const u8) {
        // SAFETY: the caller's promise.
        unsafe { words::<SHARED>(dst, src, 64) }
    }

    pub(super) unsafe fn half<const SHARED: bool>(dst: *mut u8, src: *const u8, tail: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            words::<SHARED>(dst, src, 32);
            words::<SHARED>(dst.add(tail), src.add(tail), 32);
        }
    }

    pub(super) unsafe fn sixteen<const SHARED: bool>(dst: *mut u8, src: *const u8) {
        // SAFETY: the caller's promise.
        unsafe { words::<SHARED>(dst, src, 16) }
    }

    pub(super) unsafe fn one<const SHARED: bool>(dst: *mut u8, src: *const u8) {
        // SAFETY: one byte each, by the caller's promise; atomics may race.
        unsafe { (*dst.cast::<AtomicU8>()).store(take::<SHARED>(src), Relaxed) }
    }

    pub(super) unsafe fn take<const SHARED: bool>(src: *const u8) -> u8 {
        // SAFETY: one byte, by the caller's promise; atomics may race, and private memory does not.
        unsafe { if SHARED { (*src.cast::<AtomicU8>()).load(Relaxed) } else { *src } }
    }

    pub(super) unsafe fn matches(src: *const u8, expected: &[u8; 32], mask: &[u8; 32]) -> bool {
        // SAFETY: 32 bytes, by the caller's promise.
        let differs = |at: usize| unsafe { (take::<true>(src.add(at)) ^ expected[at]) & mask[at] };
        (0..32).fold(0, |all, at| all | differs(at)) == 0
    }

    pub(super) unsafe fn same(src: *const u8, expected: *const u8) -> bool {
        // SAFETY: 64 bytes each, by the caller's promise.
        unsafe { (0..64).all(|at| take::<true>(src.add(at)) == *expected.add(at)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_alignment_is_copied_exactly() {
        let longest = if cfg!(miri) { 140 } else { 400 };
        for len in 0..longest {
            for shift in [0usize, 1, 7] {
                let mut src: Vec<u8> = (0..len + shift).map(|i| u8::try_from(i * 7 % 251).unwrap()).collect();
                let mut dst = vec![0xa5u8; len + shift + 1];
                // SAFETY: both vectors hold shift + len bytes.
                unsafe { copy::<false>(dst.as_mut_ptr().add(shift), src.as_mut_ptr().add(shift), len) };
                assert_eq!(dst[shift..shift + len], src[shift..], "{len} bytes at {shift}");
                assert_eq!(dst[shift + len], 0xa5, "not a byte more");
                assert!(dst[..shift].iter().all(|b| *b == 0xa5), "not a byte before");
            }
        }
    }

    #[test]
    fn a_difference_is_found_wherever_it_stands() {
        // Miri is slow: each path is taken once.
        let lens: Vec<usize> = if cfg!(miri) { vec![0, 3, 8, 13, 63, 64, 66, 130] } else { (0..300).collect() };
        for len in lens {
            let mut bytes: Vec<u8> = (0..len).map(|i| u8::try_from(i * 7 % 251).unwrap()).collect();
            let expected = bytes.clone();
            let at = bytes.as_mut_ptr();
            // SAFETY: both vectors hold len bytes, and `at` points into the first.
            unsafe {
                assert!(equal(at, expected.as_ptr(), len));
                for i in 0..len {
                    *at.add(i) ^= 0x10;
                    assert!(!equal(at, expected.as_ptr(), len), "byte {i} of {len}");
                    *at.add(i) ^= 0x10;
                }
                for i in 0..len.saturating_sub(8) {
                    assert_eq!(take_u64(at.add(i)), at.add(i).cast::<u64>().read_unaligned());
                }
            }
        }
    }

    #[test]
    fn a_mask_says_which_bits_matter() {
        let mut bytes: [u8; 40] = std::array::from_fn(|i| u8::try_from(i * 5).unwrap());
        let expected: [u8; 32] = bytes[3..35].try_into().unwrap();
        for bit in (0..256).step_by(if cfg!(miri) { 37 } else { 1 }) {
            bytes[3 + bit / 8] ^= 1 << (bit % 8);
            let only = |keep: bool| -> [u8; 32] {
                std::array::from_fn(|i| {
                    if i != bit / 8 {
                        0xff
                    } else if keep {
                        1 << (bit % 8)
                    } else {
                        !(1 << (bit % 8))
                    }
                })
            };
            // SAFETY: 32 of 40 bytes, from the third.
            unsafe {
                assert!(!matches(bytes.as_mut_ptr().add(3), &expected, &only(true)), "bit {bit}");
                assert!(matches(bytes.as_mut_ptr().add(3), &expected, &only(false)), "bit {bit}");
            }
            bytes[3 + bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_word_is_stored_as_it_stands_at_any_alignment() {
        for at in 0..9 {
            let mut bytes = [0xa5u8; 20];
            // SAFETY: at most 8 + 8 of 20 bytes.
            unsafe { put_u64(bytes.as_mut_ptr().add(at), 0x0102_0304_0506_0708u64.to_be()) };
            assert_eq!(bytes[at..at + 8], [1, 2, 3, 4, 5, 6, 7, 8]);
            assert!(bytes[..at].iter().chain(&bytes[at + 8..]).all(|b| *b == 0xa5));
        }
    }
}
