//! System calls of xdd: a SCSI command through sg, priority, locked memory, processor time.

pub(super) mod sg;

use std::io;
use std::time::Duration;

fn outcome(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Schedules the calling thread before all others without real-time priority (nice -20, setpriority(2), which in Linux
/// affects only the thread). Real-time scheduling would starve the kernel's threads on the same core.
pub(super) fn priority() -> io::Result<()> {
    // SAFETY: the call takes any numbers.
    outcome(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) })
}

/// Locks all memory that the process has now (mlockall(2)).
pub(super) fn lock_memory() -> io::Result<()> {
    // SAFETY: the call takes any flags.
    outcome(unsafe { libc::mlockall(libc::MCL_CURRENT) })
}

/// Blocks all signals in this thread; other threads handle them.
pub(super) fn block_signals() {
    // SAFETY: all zeros is memory for a signal set, which sigfillset makes one; both calls get valid pointers, or none.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}

/// Processor time of the whole process: user, system.
pub(super) fn process_time() -> (Duration, Duration) {
    // SAFETY: all zeros is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: an rusage to be written. The call cannot fail with this selector.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let duration = |t: libc::timeval| {
        Duration::from_secs(u64::try_from(t.tv_sec).unwrap_or(0))
            + Duration::from_micros(u64::try_from(t.tv_usec).unwrap_or(0))
    };
    (duration(usage.ru_utime), duration(usage.ru_stime))
}
