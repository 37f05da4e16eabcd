//! Clocks of the kernel.

fn read(id: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a timespec to be written. The clocks used here always exist.
    unsafe { libc::clock_gettime(id, &raw mut t) };
    u64::try_from(t.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(t.tv_nsec).unwrap_or(0)
}

/// CLOCK_MONOTONIC in ns: the same for all processes of the machine.
pub(crate) fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}
