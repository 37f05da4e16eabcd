//! System calls of xdd: a SCSI command through sg, priority, locked memory, processor time.

pub(super) mod sg;

use std::io;

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
