//! Copies between private memory and memory that another process may be writing.
//!
//! A plain Rust copy from racing memory is undefined. These go through machine instructions that the compiler does not
//! see into (x86-64), or through atomic words (elsewhere), so a race yields some bytes, and nothing worse.

/// Bytes that [`copy`] moves per step.
const LINE: usize = 64;

/// Copies `len` bytes. `SHARED`: the source is buffer memory, which others may be writing; otherwise it is private and
/// perhaps read-only.
///
/// # Safety
/// Both ranges must be mapped, `src` readable and `dst` writable. Others may write or read them at the same time, and
/// they may overlap, only if they are memory of a shared mapping; then the bytes that arrive are some bytes.
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
            // The last line may overlap the one before it: every byte is copied, some twice.
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

/// Stores eight bytes as they stand in a register.
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

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod step {
    use std::arch::asm;

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

    /// 32 bytes at the start and 32 bytes `tail` later.
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
            asm!("mov {a}, byte ptr [{s}]", "mov byte ptr [{t}], {a}", s = in(reg) src, t = in(reg) dst,
                a = out(reg_byte) _, options(nostack, preserves_flags));
        }
    }
}

#[cfg(any(not(target_arch = "x86_64"), miri))]
mod step {
    use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

    unsafe fn words<const SHARED: bool>(dst: *mut u8, src: *const u8, len: usize) {
        // SAFETY: len bytes each, by the caller's promise; atomics may race.
        unsafe {
            // Miri allows no atomic accesses of two sizes to the same bytes.
            if SHARED
                && !cfg!(miri)
                && dst.addr().is_multiple_of(8)
                && src.addr().is_multiple_of(8)
                && len.is_multiple_of(8)
            {
                for at in (0..len).step_by(8) {
                    let word = (*src.add(at).cast::<AtomicU64>()).load(Relaxed);
                    (*dst.add(at).cast::<AtomicU64>()).store(word, Relaxed);
                }
            } else {
                for at in 0..len {
                    one::<SHARED>(dst.add(at), src.add(at));
                }
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
        // SAFETY: one byte each, by the caller's promise; atomics may race, and private memory does not.
        unsafe {
            let byte = if SHARED { (*src.cast::<AtomicU8>()).load(Relaxed) } else { *src };
            (*dst.cast::<AtomicU8>()).store(byte, Relaxed);
        }
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
