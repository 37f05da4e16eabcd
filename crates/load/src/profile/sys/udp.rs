//! A UDP socket of the kernel, and a system call that does nothing: plain calls, with their errors as numbers.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// Error number of a call.
pub(crate) type Errno = i32;

/// Destination of a datagram in the kernel's format.
#[derive(Clone, Copy)]
pub(crate) enum To {
    V4(libc::sockaddr_in),
    V6(libc::sockaddr_in6),
}

impl From<SocketAddr> for To {
    fn from(address: SocketAddr) -> Self {
        // SAFETY: both structures are plain numbers, for which zeros are fine.
        let (mut v4, mut v6): (libc::sockaddr_in, libc::sockaddr_in6) = unsafe { (zeroed(), zeroed()) };
        match address {
            SocketAddr::V4(a) => {
                v4.sin_family = family(libc::AF_INET);
                v4.sin_port = a.port().to_be();
                v4.sin_addr.s_addr = u32::from_ne_bytes(a.ip().octets());
                Self::V4(v4)
            }
            SocketAddr::V6(a) => {
                v6.sin6_family = family(libc::AF_INET6);
                v6.sin6_port = a.port().to_be();
                v6.sin6_addr.s6_addr = a.ip().octets();
                v6.sin6_scope_id = a.scope_id();
                Self::V6(v6)
            }
        }
    }
}

impl To {
    #[inline]
    pub(super) fn raw(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        match self {
            Self::V4(a) => ((&raw const *a).cast(), len_of::<libc::sockaddr_in>()),
            Self::V6(a) => ((&raw const *a).cast(), len_of::<libc::sockaddr_in6>()),
        }
    }
}

fn family(family: libc::c_int) -> libc::sa_family_t {
    libc::sa_family_t::try_from(family).unwrap_or(0)
}

#[inline]
pub(super) fn len_of<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0)
}

#[inline]
pub(super) fn outcome(result: isize) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

/// Makes a system call that does almost nothing (`getppid`, which no library answers from memory).
#[inline]
pub(crate) fn null_call() -> i64 {
    // SAFETY: the call has no arguments.
    unsafe { libc::syscall(libc::SYS_getppid) }
}

/// Calls `send` on a connected socket.
#[inline]
pub(crate) fn send(socket: &UdpSocket, data: &[u8]) -> Result<usize, Errno> {
    // SAFETY: `data` is readable for its length.
    outcome(unsafe { libc::send(socket.as_raw_fd(), data.as_ptr().cast(), data.len(), libc::MSG_NOSIGNAL) })
}

#[inline]
pub(crate) fn send_to(socket: &UdpSocket, data: &[u8], to: &To) -> Result<usize, Errno> {
    let (at, len) = to.raw();
    // SAFETY: `data` is readable for its length, and so is the address.
    outcome(unsafe { libc::sendto(socket.as_raw_fd(), data.as_ptr().cast(), data.len(), libc::MSG_NOSIGNAL, at, len) })
}

#[inline]
pub(crate) fn receive(socket: &UdpSocket, data: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: `data` is writable for its length.
    outcome(unsafe { libc::recv(socket.as_raw_fd(), data.as_mut_ptr().cast(), data.len(), 0) })
}

/// The same datagram several times, for one `sendmmsg`.
pub(crate) struct Batch {
    messages: Vec<libc::mmsghdr>,
    // Data that the messages point at. Vectors, whose contents stay in place when the batch moves.
    _data: Vec<u8>,
    _part: Vec<libc::iovec>,
    _to: Vec<To>,
}

impl Batch {
    /// Makes `n` times `data`, for `to` or for the address of the connected socket.
    pub(crate) fn new(n: usize, data: &[u8], to: Option<To>) -> Self {
        let mut data = data.to_vec();
        let mut part = vec![libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() }];
        let to: Vec<To> = to.into_iter().collect();
        // SAFETY: an `mmsghdr` is plain data, for which zeros are fine.
        let mut message: libc::mmsghdr = unsafe { zeroed() };
        message.msg_hdr.msg_iov = part.as_mut_ptr();
        message.msg_hdr.msg_iovlen = 1;
        if let Some((at, len)) = to.first().map(To::raw) {
            message.msg_hdr.msg_name = at.cast_mut().cast();
            message.msg_hdr.msg_namelen = len;
        }
        Self { messages: vec![message; n], _data: data, _part: part, _to: to }
    }

    /// Sends the first `n` datagrams; returns the number sent. An error belongs to the first.
    #[inline]
    pub(crate) fn send(&mut self, socket: &UdpSocket, n: usize) -> Result<usize, Errno> {
        let n = u32::try_from(n.min(self.messages.len())).unwrap_or(0);
        // SAFETY: there are `n` messages; the data that they point at lives as long as they, and the kernel only reads
        // it.
        let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), self.messages.as_mut_ptr(), n, libc::MSG_NOSIGNAL) };
        outcome(sent as isize)
    }
}

/// Sets the send or receive buffer, beyond the system's limit if that is allowed (`SO_SNDBUFFORCE`, CAP_NET_ADMIN).
pub(crate) fn set_buffer(socket: &UdpSocket, receive: bool, bytes: i32) {
    let (forced, asked) = match receive {
        true => (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        false => (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
    };
    let len = len_of::<i32>();
    let set = |option| {
        // SAFETY: the value is a readable int.
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const bytes).cast(), len) == 0 }
    };
    // A smaller buffer only makes refusals likelier, and those are counted.
    let _ = set(forced) || set(asked);
}
