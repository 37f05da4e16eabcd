//! CPU affinity of threads.

use std::io;
use std::mem::size_of;

/// CPUs that this thread may run on, by number.
pub(crate) fn allowed() -> io::Result<Vec<usize>> {
    // SAFETY: a cpu_set_t is plain bits, for which all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is as large as it is said to be, and pid 0 is this thread.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let most = usize::try_from(libc::CPU_SETSIZE).unwrap_or(0);
    // SAFETY: below CPU_SETSIZE.
    Ok((0..most).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect())
}

/// Pins this thread, and those it starts, to these CPUs.
pub(crate) fn restrict(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: as above.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let most = usize::try_from(libc::CPU_SETSIZE).unwrap_or(0);
    for cpu in cpus.iter().filter(|cpu| **cpu < most) {
        // SAFETY: below CPU_SETSIZE.
        unsafe { libc::CPU_SET(*cpu, &mut set) };
    }
    // SAFETY: the set is as large as it is said to be, and pid 0 is this thread.
    if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
