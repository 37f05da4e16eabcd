//! ETHTOOL_GDRVINFO by ioctl (`linux/ethtool.h`): the one request that ethtool's netlink family lacks.

use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

const ETHTOOL_GDRVINFO: u32 = 0x3;

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct Info {
    cmd: u32,
    driver: [u8; 32],
    version: [u8; 32],
    firmware: [u8; 32],
    rest: [u8; 96],
}

/// `struct ifreq` as this ioctl reads it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut Info,
    rest: [u8; 16],
}

/// Reads driver and firmware version, as zero-padded fields.
pub(crate) fn driver_and_firmware(interface: &str) -> io::Result<([u8; 32], [u8; 32])> {
    const { assert!(size_of::<Info>() == 196 && size_of::<Request>() >= size_of::<libc::ifreq>()) };
    if interface.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let mut info = Info { cmd: ETHTOOL_GDRVINFO, driver: [0; 32], version: [0; 32], firmware: [0; 32], rest: [0; 96] };
    let mut request = Request { name: [0; libc::IFNAMSIZ], data: &raw mut info, rest: [0; 16] };
    request.name[..interface.len()].copy_from_slice(interface.as_bytes());
    // Any socket will do; it belongs to the calling thread's network namespace.
    let socket = UnixDatagram::unbound()?;
    // SAFETY: the request is as large as an `ifreq` or larger, its data as `struct ethtool_drvinfo`, and both
    // outlive the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok((info.driver, info.firmware)),
    }
}
