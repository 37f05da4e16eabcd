//! Prefetching of cache lines. Between two cores a line takes hundreds of nanoseconds, and a plain loop over frames
//! keeps few of these misses outstanding.

/// Prefetches the line at an address, to be read. Any address will do.
#[inline(always)]
pub(crate) fn to_read(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint; it faults on no address and changes nothing.
    unsafe {
        std::arch::asm!("prefetcht0 [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

/// Prefetches the line at an address, to be written: it leaves the other core's cache now. Any address will do.
#[inline(always)]
pub(crate) fn to_write(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint; it faults on no address and changes nothing.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}
