//! The process: whether one is alive, leaving the terminal, names of the system, fine sleep.

use super::outcome;
use std::ffi::CStr;
use std::io;

/// True if there is a process with this number.
pub(crate) fn is_alive(pid: i32) -> bool {
    // SAFETY: the call takes any numbers; signal 0 is not delivered.
    let result = unsafe { libc::kill(pid, 0) };
    result == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Goes on in a child without a terminal, in the directory `/`; the parent ends at once. Only for a process of one thread.
pub(crate) fn daemon() -> io::Result<()> {
    // SAFETY: the call takes any numbers. The child has this thread alone, and the caller promises that there is no other
    // one whose locks it would miss.
    outcome(unsafe { libc::daemon(0, 0) }).map(drop)
}

/// Has this thread, and those that it starts, run before all that are not real-time, at the highest priority (SCHED_RR).
pub(crate) fn realtime() -> io::Result<()> {
    // SAFETY: the call takes any number.
    let sched_priority = outcome(unsafe { libc::sched_get_priority_max(libc::SCHED_RR) })?;
    // SAFETY: the parameters live until the call returns; 0 is this thread.
    outcome(unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &libc::sched_param { sched_priority }) }).map(drop)
}

/// Name of the system, as `uname -a` prints it: system, host, release, version, machine.
pub(crate) fn system() -> String {
    // SAFETY: all zeros is a valid utsname.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: a utsname to be written.
    if unsafe { libc::uname(&raw mut names) } != 0 {
        return String::new();
    }
    let fields = [&names.sysname, &names.nodename, &names.release, &names.version, &names.machine];
    let text = |field: &[libc::c_char; 65]| {
        // SAFETY: the kernel ends each field with a zero, and it began with zeros.
        unsafe { CStr::from_ptr(field.as_ptr()) }.to_string_lossy().into_owned()
    };
    fields.map(text).join(" ")
}

/// Has sleeps of this thread end as soon as they are over, not within 50 us.
pub(crate) fn fine_sleep() {
    // SAFETY: the call takes any numbers; it changes a property of this thread only.
    let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}
