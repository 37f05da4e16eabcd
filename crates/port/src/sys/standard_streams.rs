//! Standard input and output as captures.

use std::fs::{File, OpenOptions};
use std::io::{self, Error, ErrorKind, IsTerminal};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Opens a pipe anew, so that it does not block, and others that have it notice nothing. Other files stay as they are.
fn own(file: impl AsFd, options: &mut OpenOptions, block: bool) -> io::Result<File> {
    let file = File::from(file.as_fd().try_clone_to_owned()?);
    if block || !file.metadata()?.file_type().is_fifo() {
        return Ok(file);
    }
    options.custom_flags(libc::O_NONBLOCK).open(format!("/proc/self/fd/{}", file.as_raw_fd())).or(Ok(file))
}

fn no_terminal(of: &impl IsTerminal) -> io::Result<()> {
    if of.is_terminal() { Err(Error::other("it is a terminal, and no capture")) } else { Ok(()) }
}

/// Standard input.
pub(crate) fn input(block: bool) -> io::Result<File> {
    no_terminal(&io::stdin())?;
    own(io::stdin(), OpenOptions::new().read(true), block)
}

/// Takes standard output; what is printed from now on goes to standard error.
pub(crate) fn take_output() -> io::Result<File> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    no_terminal(&io::stdout())?;
    if TAKEN.swap(true, Relaxed) {
        return Err(ErrorKind::ResourceBusy.into());
    }
    let file = own(io::stdout(), OpenOptions::new().write(true), false)?;
    // SAFETY: dup2 touches no memory, and nobody owns the descriptors of the standard streams.
    if unsafe { libc::dup2(io::stderr().as_raw_fd(), io::stdout().as_raw_fd()) } < 0 {
        return Err(Error::last_os_error());
    }
    Ok(file)
}
