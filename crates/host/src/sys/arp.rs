//! Sockets for ARP packets.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// ETH_P_ARP, in the order of the wire.
const ARP: u16 = 0x0806_u16.to_be();

fn address(index: u32, mac: [u8; 6]) -> libc::sockaddr_ll {
    let [a, b, c, d, e, f] = mac;
    libc::sockaddr_ll {
        sll_family: u16::try_from(libc::AF_PACKET).unwrap_or_default(),
        sll_protocol: ARP,
        sll_ifindex: index.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: [a, b, c, d, e, f, 0, 0],
    }
}

/// Opens a socket for the ARP packets of an interface, without their Ethernet headers.
pub(crate) fn open(index: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor that comes back is new and ours.
    let fd = unsafe {
        match libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, i32::from(ARP)) {
            -1 => return Err(io::Error::last_os_error()),
            fd => OwnedFd::from_raw_fd(fd),
        }
    };
    let at = address(index, [0; 6]);
    // SAFETY: the address lives through the call, and its length is given.
    match unsafe { libc::bind(fd.as_raw_fd(), std::ptr::from_ref(&at).cast(), length()) } {
        0 => Ok(fd),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends an ARP packet to all stations.
pub(crate) fn send(fd: &impl AsRawFd, index: u32, packet: &[u8]) -> io::Result<()> {
    let to = address(index, [0xff; 6]);
    // SAFETY: packet and address live through the call, and their lengths are given.
    let sent = unsafe {
        libc::sendto(fd.as_raw_fd(), packet.as_ptr().cast(), packet.len(), 0, std::ptr::from_ref(&to).cast(), length())
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn length() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).unwrap_or_default()
}
