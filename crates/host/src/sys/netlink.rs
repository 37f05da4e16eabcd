//! Netlink's sockets (`netlink(7)`): bytes to the kernel and back.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A socket of one protocol, in the network namespace of the thread that opened it.
pub(crate) struct Socket(OwnedFd);

impl Socket {
    /// Opens a socket (`NETLINK_ROUTE`, `NETLINK_GENERIC`).
    pub(crate) fn open(protocol: libc::c_int) -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor that comes back is new and ours.
        let socket = unsafe {
            match libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) {
                -1 => return Err(io::Error::last_os_error()),
                fd => Self(OwnedFd::from_raw_fd(fd)),
            }
        };
        let on: libc::c_int = 1;
        let len = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or(0);
        // Refusals in words, without the request in them. A kernel before 4.12 has only numbers.
        for option in [libc::NETLINK_CAP_ACK, libc::NETLINK_EXT_ACK] {
            let fd = socket.0.as_raw_fd();
            // SAFETY: `on` is readable for its length.
            unsafe { libc::setsockopt(fd, libc::SOL_NETLINK, option, (&raw const on).cast(), len) };
        }
        Ok(socket)
    }

    /// Sends a message to the kernel, the default destination of an unbound socket.
    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: `message` is readable for its length.
        match unsafe { libc::send(self.0.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Reads the next datagram of the kernel into the buffer, without waiting. A datagram of another sender gives an
    /// empty slice.
    pub(crate) fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        // SAFETY: an address is plain data, for which zeros are fine.
        let mut sender: libc::sockaddr_nl = unsafe { zeroed() };
        let mut len = libc::socklen_t::try_from(size_of::<libc::sockaddr_nl>()).unwrap_or(0);
        let (at, flags) = (buffer.as_mut_ptr().cast(), libc::MSG_DONTWAIT | libc::MSG_TRUNC);
        // SAFETY: `buffer` is writable for its length, and the address for `len` bytes.
        let got = unsafe {
            libc::recvfrom(self.0.as_raw_fd(), at, buffer.len(), flags, (&raw mut sender).cast(), &raw mut len)
        };
        let Ok(got) = usize::try_from(got) else { return Err(io::Error::last_os_error()) };
        if sender.nl_pid != 0 {
            return Ok(&[]);
        }
        buffer.get(..got).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "an answer beyond the buffer"))
    }
}
