//! Hints to the CPU that memory will be used soon.

use std::ptr::NonNull;

/// Hints that a line of memory will be used soon.
#[inline]
pub fn prefetch(at: NonNull<u8>) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.as_ptr().cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Hints that a line of memory will soon be written, so that no other core keeps it.
#[inline]
pub fn prefetch_to_write(at: NonNull<u8>) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(at.as_ptr().cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
