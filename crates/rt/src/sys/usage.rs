//! CPU time of the calling thread.

use std::time::Duration;

/// Time in user mode and in the kernel.
pub(crate) fn of_this_thread() -> (Duration, Duration) {
    // SAFETY: all zeros is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: an rusage to be written. The call cannot fail with this selector.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    (duration(usage.ru_utime), duration(usage.ru_stime))
}

fn duration(t: libc::timeval) -> Duration {
    Duration::from_secs(u64::try_from(t.tv_sec).unwrap_or(0))
        + Duration::from_micros(u64::try_from(t.tv_usec).unwrap_or(0))
}

/// Clock ticks per second, the unit of `/proc/stat`.
pub(crate) fn ticks_per_second() -> u64 {
    // SAFETY: the call takes any selector.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|hz| *hz > 0).unwrap_or(100)
}
