//! A TCP socket of the kernel whose connection is made without a peer (TCP_REPAIR, for which CAP_NET_ADMIN is needed).

use super::udp::{Errno, To, len_of, outcome};
use std::io;
use std::mem::size_of_val;
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Numbers of a connection that is restored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restored {
    /// Its local and its remote end.
    pub(crate) local: SocketAddrV4,
    pub(crate) remote: SocketAddrV4,
    /// Number of its next byte, and of the peer's.
    pub(crate) seq: u32,
    pub(crate) peer_seq: u32,
    /// The peer's window, bytes.
    pub(crate) window: u32,
    /// Bytes of a segment, options not counted.
    pub(crate) mss: u32,
}

/// Values of TCP_REPAIR.
const ON: i32 = 1;
const OFF_WITHOUT_PROBE: i32 = -1;
/// Values of TCP_REPAIR_QUEUE.
const RECEIVED: i32 = 1;
const SENT: i32 = 2;
/// Our window, bytes: as much as the first buffer of a receiver holds.
const OWN_WINDOW: u32 = 65_535;

/// Makes a TCP socket without a connection.
pub(crate) fn open() -> io::Result<TcpStream> {
    // SAFETY: the call has no pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else's.
    Ok(TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) }))
}

fn set<T: ?Sized>(stream: &TcpStream, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let len = libc::socklen_t::try_from(size_of_val(value)).unwrap_or(0);
    // SAFETY: the value is readable for its length.
    let done = unsafe { libc::setsockopt(stream.as_raw_fd(), level, option, (&raw const *value).cast(), len) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes an established connection with timestamps, SACK and a window scale of 14, without a packet. Its congestion control is
/// reno, which paces nothing, and each write goes out at once.
pub(crate) fn restore(numbers: &Restored) -> io::Result<TcpStream> {
    let Restored { local, remote, seq, peer_seq, window, mss } = *numbers;
    let stream = open()?;
    let tcp = libc::IPPROTO_TCP;
    set(&stream, tcp, libc::TCP_REPAIR, &ON)?;
    let call = |function: unsafe extern "C" fn(_, _, _) -> _, address: SocketAddrV4| {
        let to = To::from(SocketAddr::V4(address));
        let (at, len) = to.raw();
        // SAFETY: the address is readable for its length.
        if unsafe { function(stream.as_raw_fd(), at, len) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    call(libc::bind, local)?;
    for (queue, number) in [(SENT, seq), (RECEIVED, peer_seq)] {
        set(&stream, tcp, libc::TCP_REPAIR_QUEUE, &queue)?;
        set(&stream, tcp, libc::TCP_QUEUE_SEQ, &number)?;
    }
    set(&stream, tcp, libc::TCP_MAXSEG, &mss)?;
    set(&stream, tcp, libc::TCP_CONGESTION, &b"reno"[..])?;
    set(&stream, tcp, libc::TCP_NODELAY, &1)?;
    call(libc::connect, remote)?;
    // Pairs of a TCP option's kind and its value: MSS, window scales (the peer's, and ours above), SACK, timestamps.
    let options: [u32; 8] = [2, mss, 3, 14 | 7 << 16, 4, 0, 8, 0];
    set(&stream, tcp, libc::TCP_REPAIR_OPTIONS, &options)?;
    // struct tcp_repair_window: number and window that the peer told last, its greatest, and what we told.
    let windows: [u32; 5] = [peer_seq, window, window.max(OWN_WINDOW), OWN_WINDOW, peer_seq];
    set(&stream, tcp, libc::TCP_REPAIR_WINDOW, &windows)?;
    set(&stream, tcp, libc::TCP_REPAIR, &OFF_WITHOUT_PROBE)?;
    Ok(stream)
}

/// Closes a connection without a packet.
pub(crate) fn forget(stream: TcpStream) -> io::Result<()> {
    set(&stream, libc::IPPROTO_TCP, libc::TCP_REPAIR, &ON)
}

/// Calls `send`; the bytes make a segment of their own (MSG_EOR).
#[inline]
pub(crate) fn send(stream: &TcpStream, data: &[u8]) -> Result<usize, Errno> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_EOR;
    // SAFETY: `data` is readable for its length.
    outcome(unsafe { libc::send(stream.as_raw_fd(), data.as_ptr().cast(), data.len(), flags) })
}

/// Calls `recv`, which does not wait.
#[inline]
pub(crate) fn receive(stream: &TcpStream, data: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: `data` is writable for its length.
    outcome(unsafe { libc::recv(stream.as_raw_fd(), data.as_mut_ptr().cast(), data.len(), libc::MSG_DONTWAIT) })
}

/// Attaches a socket filter that takes all packets, or none.
pub(crate) fn filter(stream: &TcpStream, takes: bool) -> io::Result<()> {
    // BPF_RET with a constant: as many bytes of the packet are kept.
    let mut all = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: if takes { u32::MAX } else { 0 } }];
    let program = libc::sock_fprog { len: 1, filter: all.as_mut_ptr() };
    set(stream, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Number of packets that the socket has dropped, in 32 bits.
pub(crate) fn drops(stream: &TcpStream) -> io::Result<u32> {
    /// SO_MEMINFO, and the index of the drops in it (SK_MEMINFO_DROPS).
    const MEMINFO: (libc::c_int, usize) = (55, 8);
    let mut all = [0_u32; 16];
    let mut len = len_of::<[u32; 16]>();
    let fd = stream.as_raw_fd();
    // SAFETY: the array is writable for its length, and so is the length.
    let done = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, MEMINFO.0, all.as_mut_ptr().cast(), &raw mut len) };
    if done == 0 { Ok(all[MEMINFO.1]) } else { Err(io::Error::last_os_error()) }
}
