//! CPU time of the calling thread and of the process.

use std::time::Duration;

/// Time of the calling thread, in user mode and in the kernel.
pub(crate) fn of_this_thread() -> (Duration, Duration) {
    of(libc::RUSAGE_THREAD)
}

/// Time of all threads of the process, and of its children that were waited for.
pub(crate) fn of_this_process() -> (Duration, Duration) {
    let (own, children) = (of(libc::RUSAGE_SELF), of(libc::RUSAGE_CHILDREN));
    (own.0 + children.0, own.1 + children.1)
}

fn of(whose: libc::c_int) -> (Duration, Duration) {
    // SAFETY: all zeros is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: an rusage to be written. The call cannot fail with these selectors.
    unsafe { libc::getrusage(whose, &raw mut usage) };
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
