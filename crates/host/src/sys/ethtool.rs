//! Offloads and queues of an interface by the ethtool ioctl (`linux/ethtool.h`).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What an interface does for the kernel. On a veth pair: what it leaves undone for the far end to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offloads {
    /// Fills in checksums of frames that are sent; a veth passes them on unfilled.
    pub tx_checksum: bool,
    /// Cuts TCP super-frames that are sent; a veth passes them on whole.
    pub tso: bool,
    /// The kernel cuts super-frames late, just before the driver.
    pub gso: bool,
    /// The kernel joins received frames.
    pub gro: bool,
}

const GET_CHANNELS: u32 = 0x3c;
const GET_TX_CHECKSUM: u32 = 0x16;
const SET_TX_CHECKSUM: u32 = 0x17;
const GET_TSO: u32 = 0x1e;
const SET_TSO: u32 = 0x1f;
const GET_GSO: u32 = 0x23;
const SET_GSO: u32 = 0x24;
const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;

/// Queues in use (`struct ethtool_channels`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    /// For receive alone.
    pub rx: u32,
    /// For transmit alone.
    pub tx: u32,
    /// For both.
    pub combined: u32,
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    cmd: u32,
    data: u32,
}

/// `struct ifreq` as this ioctl reads it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    value: *mut Value,
    rest: [u8; 16],
}

fn call(socket: BorrowedFd<'_>, interface: &str, cmd: u32, data: u32) -> io::Result<u32> {
    let mut value = Value { cmd, data };
    let mut request = Request { name: [0; libc::IFNAMSIZ], value: &raw mut value, rest: [0; 16] };
    for (to, from) in request.name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from;
    }
    // SAFETY: the request is as large as an `ifreq` (40 bytes) or larger, and its value outlives the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(value.data),
    }
}

/// The offloads of an interface in the socket's network namespace (a socket of any family).
pub(crate) fn offloads(socket: BorrowedFd<'_>, interface: &str) -> io::Result<Offloads> {
    let on = |cmd| call(socket, interface, cmd, 0).map(|data| data != 0);
    Ok(Offloads { tx_checksum: on(GET_TX_CHECKSUM)?, tso: on(GET_TSO)?, gso: on(GET_GSO)?, gro: on(GET_GRO)? })
}

/// Sets what differs; gives what the interface then has (some offloads need others).
pub(crate) fn set_offloads(socket: BorrowedFd<'_>, interface: &str, wanted: Offloads) -> io::Result<Offloads> {
    let now = offloads(socket, interface)?;
    for (cmd, now, wanted) in [
        (SET_TX_CHECKSUM, now.tx_checksum, wanted.tx_checksum),
        (SET_TSO, now.tso, wanted.tso),
        (SET_GSO, now.gso, wanted.gso),
        (SET_GRO, now.gro, wanted.gro),
    ] {
        if now != wanted {
            call(socket, interface, cmd, wanted.into())?;
        }
    }
    offloads(socket, interface)
}

/// The queues that an interface uses; an error if its driver does not say.
pub(crate) fn channels(socket: BorrowedFd<'_>, interface: &str) -> io::Result<Channels> {
    // Command; greatest rx, tx, other, combined; then those in use in the same order.
    let mut numbers = [0u32; 9];
    numbers[0] = GET_CHANNELS;
    #[repr(C)]
    struct Request {
        name: [u8; libc::IFNAMSIZ],
        data: *mut u32,
        rest: [u8; 16],
    }
    let mut request = Request { name: [0; libc::IFNAMSIZ], data: numbers.as_mut_ptr(), rest: [0; 16] };
    for (to, from) in request.name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from;
    }
    // SAFETY: the request is as large as an `ifreq`, and the numbers as `struct ethtool_channels`; both outlive it.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(Channels { rx: numbers[5], tx: numbers[6], combined: numbers[8] }),
    }
}
