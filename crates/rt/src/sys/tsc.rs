//! The CPU's time-stamp counter, where it counts at one rate in all states and on all cores.

/// True if [`ticks`] can be used as a clock.
#[cfg(target_arch = "x86_64")]
pub(crate) fn usable() -> bool {
    use std::arch::x86_64::__cpuid;
    // CPUID 8000_0007h EDX bit 8, invariant TSC (Intel SDM volume 3, 19.17.1; AMD APM volume 3, E.4.6).
    const LEAF: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= LEAF && __cpuid(LEAF).edx & 1 << 8 != 0
}

/// Ticks since an arbitrary time.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Ticks, read after all earlier instructions are done (Intel SDM volume 2, RDTSC).
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn ticks_after() -> u64 {
    // SAFETY: every x86-64 processor has both instructions.
    unsafe {
        std::arch::x86_64::_mm_lfence();
        std::arch::x86_64::_rdtsc()
    }
}

/// Ticks: always 0, as there is no counter.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ticks_after() -> u64 {
    0
}

/// True if [`ticks`] can be used as a clock: never here.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn usable() -> bool {
    false
}

/// Ticks: always 0, as there is no counter.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ticks() -> u64 {
    0
}
