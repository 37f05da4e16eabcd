//! Operations on UNIX sockets that the standard library lacks.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// Most connections that wait to be accepted.
const BACKLOG: libc::c_int = 128;

/// Listens at a path, with a socket file that only its user may connect to, without a race: Linux gives the file the
/// mode that the socket has when it is bound.
///
/// # Errors
/// Errors of the kernel; also if the path is too long, or there is a file already.
pub(crate) fn listen_alone(path: &Path) -> io::Result<UnixListener> {
    // SAFETY: all zeros is a sockaddr_un of no family, with an empty path.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX.try_into().unwrap_or(1);
    let bytes = OsStr::as_bytes(path.as_os_str());
    // The last byte stays zero.
    if bytes.is_empty() || bytes.contains(&0) || bytes.len() >= address.sun_path.len() {
        let most = address.sun_path.len() - 1;
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a socket's path has 1 to {most} bytes")));
    }
    for (to, byte) in address.sun_path.iter_mut().zip(bytes) {
        *to = libc::c_char::from_ne_bytes([*byte]);
    }
    // SAFETY: the call takes no memory; its result is checked.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let done = |result: libc::c_int| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: the descriptor is open; the call takes no memory.
    done(unsafe { libc::fchmod(socket.as_raw_fd(), 0o600) })?;
    let len = libc::socklen_t::try_from(size_of::<libc::sockaddr_un>()).unwrap_or(0);
    // SAFETY: the address is whole, its path ends with a zero, and its length is its type's.
    done(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
    // SAFETY: the descriptor is open; the call takes no memory.
    done(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(UnixListener::from(socket))
}

/// Process id of the peer of a UNIX socket, if the kernel knows it.
pub(crate) fn peer_process(socket: BorrowedFd<'_>) -> Option<i32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = libc::socklen_t::try_from(size_of::<libc::ucred>()).unwrap_or(0);
    // SAFETY: a ucred to be written, of the given length; the descriptor is open for as long as it is borrowed.
    let result = unsafe {
        let to = (&raw mut credentials).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, to, &raw mut len)
    };
    (result == 0 && credentials.pid > 0).then_some(credentials.pid)
}
