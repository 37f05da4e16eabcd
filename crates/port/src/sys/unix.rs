//! UNIX datagram sockets (`unix(7)`) by path: binding with mode 0600, and finding and leaving a peer.

use super::socket::{check, set_option};
use linerate_ring::sys::message::refuse_descriptors;
use std::io;
use std::mem::{offset_of, size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes of a socket's longest path.
pub(crate) const LONGEST_PATH: usize = 107;

/// A new datagram socket. Frames carry no descriptors: the kernel refuses them (from Linux 6.16 on); otherwise it would
/// close them as the frame is received, and closing can take as long as their sender likes.
pub(crate) fn datagram() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers; the descriptor that comes back is new and ours.
    let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_UNIX, kind, 0))?) };
    refuse_descriptors(&fd);
    Ok(fd)
}

fn address(path: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: a `sockaddr_un` is plain data, for which zeros are fine.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() || bytes.len() > LONGEST_PATH {
        return Err(io::Error::from(io::ErrorKind::InvalidFilename));
    }
    address.sun_family = libc::sa_family_t::try_from(libc::AF_UNIX).unwrap_or(0);
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = from.cast_signed();
    }
    let len = offset_of!(libc::sockaddr_un, sun_path) + bytes.len() + 1;
    Ok((address, u32::try_from(len).unwrap_or(0)))
}

/// Binds to a path; only the owner of the process may send there.
pub(crate) fn bind(fd: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let (address, len) = address(path)?;
    // The file gets the socket's own mode, so that it is never open to others, whatever the umask.
    // SAFETY: no pointers in the first call; the address is readable for its length in the second.
    unsafe {
        check(libc::fchmod(fd.as_raw_fd(), 0o600))?;
        check(libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len)).map(drop)
    }
}

/// Makes the socket at a path the peer of this one.
pub(crate) fn connect(fd: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let (address, len) = address(path)?;
    // SAFETY: the address is readable for its length.
    check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

/// Leaves the peer: any socket may send here again.
pub(crate) fn disconnect(fd: BorrowedFd<'_>) {
    // SAFETY: a `sockaddr` is plain data, for which zeros are fine; zero is AF_UNSPEC.
    let none: libc::sockaddr = unsafe { zeroed() };
    let len = u32::try_from(size_of::<libc::sockaddr>()).unwrap_or(0);
    // There is nothing to do about an error, and none is known.
    // SAFETY: the address is readable for its length.
    unsafe { libc::connect(fd.as_raw_fd(), &raw const none, len) };
}

/// Sets the limit of bytes under way, beyond the system's limit if privileged.
pub(crate) fn set_send_buffer(fd: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
    set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes)
        .or_else(|_| set_option(fd.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes))
}
