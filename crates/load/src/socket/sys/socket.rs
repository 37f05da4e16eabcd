//! Sockets with options that std's have not, and addresses in the kernel's form.

use super::outcome;
use std::fs::File;
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Length of a structure, for the kernel.
fn len<T>(of: &T) -> libc::socklen_t {
    libc::socklen_t::try_from(size_of_val(of)).unwrap_or(0)
}

/// Makes a socket of the family of this address; `kind` is SOCK_STREAM or SOCK_DGRAM.
pub(crate) fn socket(of: SocketAddr, kind: libc::c_int) -> io::Result<OwnedFd> {
    let family = if of.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: the call takes any numbers.
    let fd = outcome(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: a new descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An address in the kernel's form, of either family.
#[repr(C)]
union Address {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl Address {
    /// The address, and its length.
    fn of(address: SocketAddr) -> (Self, libc::socklen_t) {
        match address {
            SocketAddr::V4(v4) => {
                let raw = raw_v4(v4);
                (Self { v4: raw }, len(&raw))
            }
            SocketAddr::V6(v6) => {
                let raw = raw_v6(v6);
                (Self { v6: raw }, len(&raw))
            }
        }
    }
}

fn raw_v4(address: SocketAddrV4) -> libc::sockaddr_in {
    // SAFETY: all zeros is a valid sockaddr_in.
    let mut raw: libc::sockaddr_in = unsafe { zeroed() };
    raw.sin_family = libc::sa_family_t::try_from(libc::AF_INET).unwrap_or(0);
    raw.sin_port = address.port().to_be();
    raw.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
    raw
}

fn raw_v6(address: SocketAddrV6) -> libc::sockaddr_in6 {
    // SAFETY: all zeros is a valid sockaddr_in6.
    let mut raw: libc::sockaddr_in6 = unsafe { zeroed() };
    raw.sin6_family = libc::sa_family_t::try_from(libc::AF_INET6).unwrap_or(0);
    raw.sin6_port = address.port().to_be();
    raw.sin6_addr.s6_addr = address.ip().octets();
    raw.sin6_flowinfo = address.flowinfo();
    raw.sin6_scope_id = address.scope_id();
    raw
}

pub(crate) fn bind(fd: BorrowedFd<'_>, to: SocketAddr) -> io::Result<()> {
    let (address, len) = Address::of(to);
    // SAFETY: an address of that length, which the kernel only reads.
    outcome(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

pub(crate) fn listen(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call takes any numbers; the kernel cuts the length of the queue.
    outcome(unsafe { libc::listen(fd.as_raw_fd(), libc::c_int::MAX) }).map(drop)
}

/// Ends the receiving of a socket; what has arrived can still be read.
pub(crate) fn receive_no_more(fd: BorrowedFd<'_>) {
    // SAFETY: the call takes any numbers. It fails where there is no connection left, which is as well.
    let _ = unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_RD) };
}

/// Connects a socket, within this time if one is given. The flow information of an IPv6 address is in the machine's form
/// of the network's order.
pub(crate) fn connect(fd: BorrowedFd<'_>, to: SocketAddr, within: Option<Duration>) -> io::Result<()> {
    let (address, len) = Address::of(to);
    if within.is_some() {
        set_blocking(fd, false)?;
    }
    // SAFETY: an address of that length, which the kernel only reads.
    let begun = outcome(unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), len) });
    let Some(within) = within else { return begun.map(drop) };
    match begun {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => return Err(e),
        Err(_) if !poll(&[(fd, Ready::Write)], Some(within))?[0] => return Err(io::ErrorKind::TimedOut.into()),
        _ => {}
    }
    match option(fd, libc::SOL_SOCKET, libc::SO_ERROR)? {
        0 => set_blocking(fd, true),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn set_blocking(fd: BorrowedFd<'_>, blocking: bool) -> io::Result<()> {
    let mut on = libc::c_int::from(!blocking);
    // SAFETY: the ioctl reads one int, which lives until it returns.
    outcome(unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONBIO, &raw mut on) }).map(drop)
}

/// Sets an option that is a number: of 32 bits, but for a rate.
pub(crate) fn set_option(fd: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int, value: u64) -> io::Result<()> {
    if (level, name) == (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE) {
        return set_bytes(fd, level, name, &value.to_ne_bytes());
    }
    let value = libc::c_int::try_from(value).map_err(|_| io::ErrorKind::InvalidInput)?;
    set_bytes(fd, level, name, &value.to_ne_bytes())
}

/// Has the kernel drop all datagrams to a socket but those of four bytes that are one of two words.
pub(crate) fn take_only(fd: BorrowedFd<'_>, words: [[u8; 4]; 2]) -> io::Result<()> {
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: u16::try_from(code).unwrap_or(0), jt, jf, k };
    let is = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let load = |from| libc::BPF_LD | libc::BPF_W | from;
    let [one, other] = words.map(u32::from_be_bytes);
    // What a filter of UDP sees begins with the header of UDP, of 8 bytes.
    let mut all = [
        step(load(libc::BPF_LEN), 0, 0, 0),
        step(is, 0, 4, 8 + 4),
        step(load(libc::BPF_ABS), 0, 0, 8),
        step(is, 1, 0, one),
        step(is, 0, 1, other),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ];
    let program = libc::sock_fprog { len: 7, filter: all.as_mut_ptr() };
    let (level, name) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    // SAFETY: the kernel reads the program and as many instructions as it says, which live until the call returns.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const program).cast(), len(&program)) };
    outcome(result).map(drop)
}

/// Value of an option that is a number.
pub(crate) fn option(fd: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut size = len(&value);
    // SAFETY: one int may be written, as `size` says, and `size` itself.
    outcome(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut size) })?;
    Ok(value)
}

/// Has calls on a socket, and on connections that it takes in, return after this time at the latest.
pub(crate) fn time_limits(fd: BorrowedFd<'_>, limit: Duration) -> io::Result<()> {
    let limit = libc::timeval {
        tv_sec: libc::time_t::try_from(limit.as_secs()).map_err(|_| io::ErrorKind::InvalidInput)?,
        tv_usec: libc::suseconds_t::from(limit.subsec_micros()),
    };
    for name in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        let value = (&raw const limit).cast();
        // SAFETY: the kernel reads one timeval, which lives until the call returns.
        outcome(unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, name, value, len(&limit)) })?;
    }
    Ok(())
}

fn set_bytes(fd: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int, bytes: &[u8]) -> io::Result<()> {
    let size = libc::socklen_t::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the kernel reads so many bytes, which live until the call returns.
    outcome(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, bytes.as_ptr().cast(), size) }).map(drop)
}

pub(crate) fn bind_device(fd: BorrowedFd<'_>, interface: &str) -> io::Result<()> {
    set_bytes(fd, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, interface.as_bytes())
}

pub(crate) fn set_congestion(fd: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    set_bytes(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
}

pub(crate) fn congestion(fd: BorrowedFd<'_>) -> io::Result<String> {
    let mut name = [0u8; 16];
    let mut size = len(&name);
    // SAFETY: so many bytes may be written, and `size` itself.
    let result = unsafe {
        let name = name.as_mut_ptr().cast();
        libc::getsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, name, &raw mut size)
    };
    outcome(result)?;
    Ok(name.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect())
}

/// struct in6_flowlabel_req (linux/in6.h).
#[repr(C)]
struct FlowLabelRequest {
    destination: [u8; 16],
    label: u32,
    action: u8,
    share: u8,
    flags: u16,
    expires: u16,
    linger: u16,
    padding: u32,
}

/// IPV6_FLOWLABEL_MGR and IPV6_FLOWINFO_SEND (linux/in6.h).
const FLOWLABEL_MGR: libc::c_int = 32;
const FLOWINFO_SEND: libc::c_int = 33;

/// Gets a flow label for packets to an address; returns the address with it, to connect to.
pub(crate) fn flow_label(fd: BorrowedFd<'_>, to: SocketAddrV6, label: u32) -> io::Result<SocketAddrV6> {
    let request = FlowLabelRequest {
        destination: to.ip().octets(),
        label: label.to_be(),
        action: 0,  // IPV6_FL_A_GET
        share: 255, // IPV6_FL_S_ANY
        flags: 1,   // IPV6_FL_F_CREATE
        expires: 0,
        linger: 0,
        padding: 0,
    };
    let (level, size) = (libc::IPPROTO_IPV6, len(&request));
    // SAFETY: the kernel reads the request, which lives until the call returns.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), level, FLOWLABEL_MGR, (&raw const request).cast(), size) };
    outcome(result)?;
    set_option(fd, level, FLOWINFO_SEND, 1)?;
    Ok(SocketAddrV6::new(*to.ip(), to.port(), label.to_be(), to.scope_id()))
}

/// Ends a connection in both directions; whoever sleeps on it wakes.
pub(crate) fn shut_down(fd: BorrowedFd<'_>) {
    // SAFETY: the call takes any numbers. It fails where there is no connection left, which is as well.
    let _ = unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_RDWR) };
}

/// Sends a part of a file without a copy; returns the number of bytes.
#[inline]
pub(crate) fn send_file(to: BorrowedFd<'_>, from: BorrowedFd<'_>, at: u64, bytes: usize) -> io::Result<usize> {
    let mut at = libc::off_t::try_from(at).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the kernel reads and writes the offset, which lives until the call returns.
    let sent = unsafe { libc::sendfile(to.as_raw_fd(), from.as_raw_fd(), &raw mut at, bytes) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Makes a file without a name.
pub(crate) fn memory_file() -> io::Result<File> {
    // SAFETY: a name that ends with a zero, and flags of any kind.
    let fd = outcome(unsafe { libc::memfd_create(c"payload".as_ptr(), libc::MFD_CLOEXEC) })?;
    // SAFETY: a new descriptor that nobody else has.
    Ok(unsafe { File::from_raw_fd(fd) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// Something to read, or the end.
    Read,
    /// Room to write, or the end.
    Write,
}

/// Waits until one of these is ready, or the time is over; says which are. A signal does not end the wait early.
pub(crate) fn poll(on: &[(BorrowedFd<'_>, Ready)], within: Option<Duration>) -> io::Result<Vec<bool>> {
    let events = |ready| if ready == Ready::Read { libc::POLLIN } else { libc::POLLOUT };
    let entry =
        |(fd, ready): &(BorrowedFd<'_>, Ready)| libc::pollfd { fd: fd.as_raw_fd(), events: events(*ready), revents: 0 };
    let mut all: Vec<libc::pollfd> = on.iter().map(entry).collect();
    let count = libc::nfds_t::try_from(all.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let deadline = within.map(|within| std::time::Instant::now() + within);
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(std::time::Instant::now()));
        let time = left.map(|left| libc::timespec {
            tv_sec: libc::time_t::try_from(left.as_secs().min(1 << 30)).unwrap_or(0),
            tv_nsec: left.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: so many entries are read and written, a time is read, if there is one; no signals are named.
        match outcome(unsafe { libc::ppoll(all.as_mut_ptr(), count, time, std::ptr::null()) }) {
            Ok(_) => return Ok(all.iter().map(|entry| entry.revents != 0).collect()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

const _: () = assert!(size_of::<FlowLabelRequest>() == 32);
