//! A packet socket that sends whole frames by an interface.

use super::udp::{Errno, len_of, outcome};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Sends frames by one interface.
pub(crate) struct Injector(OwnedFd);

impl Injector {
    /// For the interface with that index, in the calling thread's namespace. It receives nothing.
    pub(crate) fn new(index: u32) -> io::Result<Self> {
        // SAFETY: the call has no pointers. Protocol 0: no packet is for it.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: the structure is plain numbers, for which zeros are fine.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::sa_family_t::try_from(libc::AF_PACKET).unwrap_or(0);
        address.sll_ifindex = i32::try_from(index).map_err(io::Error::other)?;
        // SAFETY: the address is readable for its length.
        let bound = unsafe { libc::bind(fd, (&raw const address).cast(), len_of::<libc::sockaddr_ll>()) };
        if bound == 0 { Ok(Self(socket)) } else { Err(io::Error::last_os_error()) }
    }

    #[inline]
    pub(crate) fn send(&self, frame: &[u8]) -> Result<usize, Errno> {
        // SAFETY: the frame is readable for its length.
        outcome(unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) })
    }
}
