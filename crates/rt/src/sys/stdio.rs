//! Standard output at the begin of the process.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Called before `main`: Rust's runtime opens /dev/null in the place of a standard output that is closed, so that nothing that
/// is written later fails.
// SAFETY: the section holds addresses of functions that the C runtime calls once, in the only thread; this one uses nothing
// that the runtime or the standard library would have to set up first.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: it reads the flags of a descriptor, if there is one, and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Relaxed);
}

/// True if standard output was closed when the process began.
#[must_use]
pub fn stdout_was_closed() -> bool {
    CLOSED.load(Relaxed)
}
