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

#[derive(Debug)]
pub struct Control {
    fd: OwnedFd,
    index: u32,
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Control {
    /// Opens a socket for an interface of the calling thread's network namespace, by its index. Needs CAP_NET_RAW.
    pub fn open(index: u32) -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor that comes back is new and ours.
        let fd = unsafe {
            match libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) {
                -1 => return Err(io::Error::last_os_error()),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        Ok(Self { fd, index })
    }

    /// Makes a socket without an interface: every call on it fails. For simulations of the kernel.
    pub fn nowhere() -> io::Result<Self> {
        Ok(Self { fd: std::fs::File::open("/dev/null")?.into(), index: 0 })
    }

    /// True if the interface is up and has a carrier; an error of `NotFound` if it is gone, whatever has its name now.
    pub fn running(&self) -> io::Result<bool> {
        /// `struct ifreq` with one number.
        #[repr(C)]
        struct Request {
            name: [u8; libc::IFNAMSIZ],
            number: i32,
            rest: [u8; 20],
        }
        let number = i32::try_from(self.index).unwrap_or(0);
        let mut request = Request { name: [0; libc::IFNAMSIZ], number, rest: [0; 20] };
        let ask = |what: libc::c_ulong, request: &mut Request| {
            // SAFETY: the request is as large as an `ifreq` (40 bytes), with room for a whole name.
            check(unsafe { libc::ioctl(self.fd.as_raw_fd(), what as _, std::ptr::from_mut(request)) })
        };
        // By its index: the name may have been changed, or been given to another interface.
        ask(libc::SIOCGIFNAME as _, &mut request)
            .and_then(|()| {
                request.number = 0;
                ask(libc::SIOCGIFFLAGS as _, &mut request)
            })
            .map_err(|e| match e.raw_os_error() {
                Some(libc::ENODEV) => io::ErrorKind::NotFound.into(),
                _ => e,
            })?;
        let (wanted, [a, b, ..]) = (libc::IFF_UP | libc::IFF_RUNNING, request.number.to_ne_bytes());
        Ok(i32::from(i16::from_ne_bytes([a, b])) & wanted == wanted)
    }

    /// Adds a membership, until [`Control::leave`] or the end of this socket.
    pub fn join(&self, membership: Membership) -> io::Result<()> {
        self.member(PACKET_ADD_MEMBERSHIP, membership)
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Namespace, Rtnetlink, VethPair};
    use std::time::{Duration, Instant};

    /// An interface is what it is under any name, and is not the one that has its name afterwards.
    #[test]
    fn an_interface_is_known_by_its_index() {
        let made = linerate_skip::permitted(Namespace::quiet(), |e| e.cause == Cause::Capability);
        let Some(ns) = made else { return };
        ns.run_in(|| {
            let index = |name| Rtnetlink::open().unwrap().link(name).unwrap().index;
            let pair = VethPair::new(["ca", "cb"], 1, 1500).unwrap();
            // The kernel tells of carriers a little later.
            let until = |control: &Control, wanted: bool| {
                let deadline = Instant::now() + Duration::from_secs(10);
                while control.running().unwrap() != wanted {
                    assert!(Instant::now() < deadline, "it stays {}", !wanted);
                    std::thread::sleep(Duration::from_millis(5));
                }
            };
            let control = Control::open(index("ca")).unwrap();
            until(&control, true);
            pair.set_up("cb", false).unwrap();
            until(&control, false);
            drop(pair);
            let gone = |control: &Control| control.running().is_err_and(|e| e.kind() == io::ErrorKind::NotFound);
            assert!(gone(&control));
            let _other = VethPair::new(["ca", "cb"], 1, 1500).unwrap();
            until(&Control::open(index("ca")).unwrap(), true);
            assert!(gone(&control));
            assert!(Control::nowhere().unwrap().running().is_err_and(|e| e.kind() != io::ErrorKind::NotFound));
        })
        .unwrap();
    }
}
