//! Operations on UNIX sockets that the standard library lacks.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Most connections that wait to be accepted.
const BACKLOG: libc::c_int = 128;

/// Listens at a path, with a socket file that only its user may connect to, without a race: Linux gives the file the
/// mode that the socket has when it is bound.
///
/// # Errors
/// Errors of the kernel; also if the path is too long, or there is a file already.
pub(crate) fn listen_alone(path: &Path) -> io::Result<UnixListener> {
    let (address, len) = address(path)?;
    let socket = stream_socket()?;
    // SAFETY: the descriptor is open; the call takes no memory.
    done(unsafe { libc::fchmod(socket.as_raw_fd(), 0o600) })?;
    // SAFETY: the address is whole, its path ends with a zero, and its length is its type's.
    done(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
    // SAFETY: the descriptor is open; the call takes no memory.
    done(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(UnixListener::from(socket))
}

/// Connects to the process that listens at a path, without waiting: `WouldBlock` if too many others wait for it. The
/// stream does not block either.
///
/// # Errors
/// Errors of the kernel; also if the path is too long.
pub(crate) fn connect_at_once(path: &Path) -> io::Result<UnixStream> {
    let (address, len) = address(path)?;
    let socket = stream_socket()?;
    // SAFETY: the address is whole, its path ends with a zero, and its length is its type's.
    done(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
    Ok(UnixStream::from(socket))
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn stream_socket() -> io::Result<OwnedFd> {
    // SAFETY: the call takes no memory; its result is checked.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Most bytes of a socket's path.
pub(crate) const MOST_PATH: usize = size_of::<libc::sockaddr_un>() - size_of::<libc::sa_family_t>() - 1;

fn address(path: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: all zeros is a sockaddr_un of no family, with an empty path.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX.try_into().unwrap_or(1);
    let bytes = OsStr::as_bytes(path.as_os_str());
    // The last byte stays zero.
    if bytes.is_empty() || bytes.contains(&0) || bytes.len() > MOST_PATH {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a socket's path has 1 to {MOST_PATH} bytes")));
    }
    for (to, byte) in address.sun_path.iter_mut().zip(bytes) {
        *to = libc::c_char::from_ne_bytes([*byte]);
    }
    Ok((address, libc::socklen_t::try_from(size_of::<libc::sockaddr_un>()).unwrap_or(0)))
}

/// Process id of the peer of a UNIX socket, if the kernel knows it.
pub(crate) fn peer_process(socket: BorrowedFd<'_>) -> Option<i32> {
    credentials(socket).map(|credentials| credentials.pid).filter(|pid| *pid > 0)
}

/// True if the peer of a UNIX socket runs as this process's user.
pub(crate) fn is_of_this_user(socket: BorrowedFd<'_>) -> bool {
    // SAFETY: no arguments, cannot fail.
    let user = unsafe { libc::geteuid() };
    credentials(socket).is_some_and(|credentials| credentials.uid == user)
}

fn credentials(socket: BorrowedFd<'_>) -> Option<libc::ucred> {
    let mut credentials = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut len = libc::socklen_t::try_from(size_of::<libc::ucred>()).unwrap_or(0);
    // SAFETY: a ucred to be written, of the given length; the descriptor is open for as long as it is borrowed.
    let result = unsafe {
        let to = (&raw mut credentials).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, to, &raw mut len)
    };
    (result == 0).then_some(credentials)
}
