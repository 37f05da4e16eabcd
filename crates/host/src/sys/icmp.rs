//! Sockets for echo requests.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `IP_PMTUDISC_PROBE`, `IPV6_PMTUDISC_PROBE`: packets are neither fragmented nor held back by a path MTU that is known.
const PROBE: libc::c_int = 3;

/// Opens a socket for echo requests that are not fragmented: one without privileges where the system permits those
/// (`net.ipv4.ping_group_range`), or a raw one, which is told by true.
pub(crate) fn open(v6: bool) -> io::Result<(OwnedFd, bool)> {
    let (family, protocol) =
        if v6 { (libc::AF_INET6, libc::IPPROTO_ICMPV6) } else { (libc::AF_INET, libc::IPPROTO_ICMP) };
    let open = |kind: libc::c_int| {
        // SAFETY: no pointers; the descriptor that comes back is new and ours.
        unsafe {
            match libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) {
                -1 => Err(io::Error::last_os_error()),
                fd => Ok(OwnedFd::from_raw_fd(fd)),
            }
        }
    };
    let (fd, raw) = match open(libc::SOCK_DGRAM) {
        Ok(fd) => (fd, false),
        Err(_) => (open(libc::SOCK_RAW)?, true),
    };
    let (level, option) =
        if v6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER) } else { (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER) };
    let length = u32::try_from(size_of::<libc::c_int>()).unwrap_or_default();
    // SAFETY: the value is an int that lives through the call, and its length is given.
    let set = unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, std::ptr::from_ref(&PROBE).cast(), length) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok((fd, raw)) }
}
