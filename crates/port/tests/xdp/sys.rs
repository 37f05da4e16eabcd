//! The system calls that the tests need and the crate does not offer: a raw packet socket, the kernel's own way.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// An AF_PACKET socket on one interface: sends and receives whole frames, without waiting.
pub(crate) struct Packets(OwnedFd);

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

impl Packets {
    /// On an interface of the calling thread's network namespace.
    pub(crate) fn open(interface: &str) -> io::Result<Self> {
        let name = CString::new(interface)?;
        let protocol = u16::try_from(libc::ETH_P_ALL).unwrap().to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the descriptor that comes back is new and ours.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, kind, 0))?) };
        // SAFETY: a C string, alive.
        let index = i32::try_from(unsafe { libc::if_nametoindex(name.as_ptr()) }).unwrap();
        let set = |level, option, value: libc::c_int| {
            // SAFETY: four readable bytes.
            check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const value).cast(), 4) })
        };
        set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 64 << 20)?;
        set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 64 << 20)?;
        // SAFETY: all zero is a valid address.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = u16::try_from(libc::AF_PACKET).unwrap();
        address.sll_protocol = protocol;
        address.sll_ifindex = index;
        let len = u32::try_from(size_of::<libc::sockaddr_ll>()).unwrap();
        // SAFETY: readable for its size.
        check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) })?;
        Ok(Self(fd))
    }

    /// Sends one frame.
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: readable for its length.
        let n = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        if n < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// One frame, if one has come.
    pub(crate) fn receive(&self) -> Option<Vec<u8>> {
        let mut frame = vec![0u8; 65536];
        // SAFETY: writable for its length.
        let n = unsafe { libc::recv(self.0.as_raw_fd(), frame.as_mut_ptr().cast(), frame.len(), 0) };
        frame.truncate(usize::try_from(n).ok()?);
        Some(frame)
    }
}

/// Waits until a descriptor can be read, or the time (in ms) is over: then false.
pub(crate) fn readable(fd: BorrowedFd<'_>, ms: i32) -> bool {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry.
    unsafe { libc::poll(&raw mut poll, 1, ms) == 1 }
}
