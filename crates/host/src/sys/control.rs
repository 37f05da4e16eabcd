//! Control socket of an interface: its state, and the addresses it receives.
//!
//! The socket is an AF_PACKET one without a protocol, which receives nothing. Its memberships (promiscuous mode,
//! addresses) end with it, even if the process is killed (`packet(7)`, PACKET_ADD_MEMBERSHIP).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;
const PACKET_DROP_MEMBERSHIP: libc::c_int = 2;

/// Frames to receive besides those to the interface's own address and broadcasts (`linux/if_packet.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// All frames.
    Promiscuous,
    /// All multicast frames.
    AllMulticast,
    /// Frames to this address.
    Address([u8; 6]),
}

/// A control socket.
#[derive(Debug)]
pub struct Control {
    fd: OwnedFd,
    name: [u8; libc::IFNAMSIZ],
    index: u32,
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Control {
    /// Opens a socket for an interface of the calling thread's network namespace. Needs CAP_NET_RAW.
    pub fn open(interface: &str, index: u32) -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor that comes back is new and ours.
        let fd = unsafe {
            match libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) {
                -1 => return Err(io::Error::last_os_error()),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        let mut name = [0; libc::IFNAMSIZ];
        for (to, from) in name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from;
        }
        Ok(Self { fd, name, index })
    }

    /// Makes a socket without an interface: every call on it fails. For simulations of the kernel.
    pub fn nowhere() -> io::Result<Self> {
        Ok(Self { fd: std::fs::File::open("/dev/null")?.into(), name: [0; libc::IFNAMSIZ], index: 0 })
    }

    /// True if the interface is up and has a carrier.
    pub fn running(&self) -> io::Result<bool> {
        #[repr(C)]
        struct Request {
            name: [u8; libc::IFNAMSIZ],
            flags: i16,
            rest: [u8; 22],
        }
        let mut request = Request { name: self.name, flags: 0, rest: [0; 22] };
        // SAFETY: the request is as large as an `ifreq` (40 bytes).
        check(unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) })?;
        let wanted = libc::IFF_UP | libc::IFF_RUNNING;
        Ok(i32::from(request.flags) & wanted == wanted)
    }

    /// Adds a membership, until [`Control::leave`] or the end of this socket.
    pub fn join(&self, membership: Membership) -> io::Result<()> {
        self.member(PACKET_ADD_MEMBERSHIP, membership)
    }

    /// Drops a membership.
    pub fn leave(&self, membership: Membership) -> io::Result<()> {
        self.member(PACKET_DROP_MEMBERSHIP, membership)
    }

    fn member(&self, option: libc::c_int, membership: Membership) -> io::Result<()> {
        /// `struct packet_mreq`.
        #[repr(C)]
        struct Request {
            index: u32,
            kind: u16,
            len: u16,
            address: [u8; 8],
        }
        let mut request = Request { index: self.index, kind: 0, len: 0, address: [0; 8] };
        request.kind = match membership {
            Membership::Promiscuous => 1,
            Membership::AllMulticast => 2,
            Membership::Address(address) => {
                request.address[..6].copy_from_slice(&address);
                request.len = 6;
                if address[0] & 1 == 1 { 0 } else { 3 }
            }
        };
        let len = u32::try_from(size_of::<Request>()).unwrap_or(0);
        let at = (&raw const request).cast();
        // SAFETY: the request is readable for its size.
        check(unsafe { libc::setsockopt(self.fd.as_raw_fd(), libc::SOL_PACKET, option, at, len) })
    }
}
