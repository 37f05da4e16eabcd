//! Handlers of signals that ask a program to end.

use std::io;

/// Installs `handler` for these signals; it must only do what is safe in a signal handler (atomics, `write`,
/// [`die_of`], [`alarm`]). Interrupted system calls end with EINTR, or are restarted if `restart` is set and they can
/// be.
pub(crate) fn catch(signals: &[libc::c_int], restart: bool, handler: extern "C" fn(libc::c_int)) -> io::Result<()> {
    for signal in signals {
        // SAFETY: all zeros is a sigaction without flags, with an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = if restart { libc::SA_RESTART } else { 0 };
        // SAFETY: the action is whole and its handler has the form that flags without SA_SIGINFO ask for.
        if unsafe { libc::sigaction(*signal, &raw const action, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Runs code that may change errno, and restores errno. Safe in a signal handler.
pub(crate) fn keeping_errno(run: impl FnOnce()) {
    // SAFETY: the place of this thread's errno is valid for as long as the thread.
    let errno = unsafe { *libc::__errno_location() };
    run();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Schedules SIGALRM after that many seconds. Safe in a signal handler.
pub(crate) fn alarm(seconds: u32) {
    // SAFETY: the call takes any number and no memory, and is async-signal-safe.
    unsafe { libc::alarm(seconds) };
}

/// Ends the process as if the signal had not been caught. Safe in a signal handler.
pub(crate) fn die_of(signal: libc::c_int) {
    // SAFETY: both calls are async-signal-safe and take any signal number.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
