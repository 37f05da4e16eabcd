//! One flow of the kernel's TCP, to look at the way that it takes.

use super::place::{Place, open};
use super::sys;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Time between two looks.
const LOOKS: Duration = Duration::from_millis(5);

/// A connection from that port.
///
/// # Errors
/// The system's: `AddrInUse` if the port is another one's, `ConnectionRefused` if the peer answers by a reset, `TimedOut` if nobody
/// answers in time.
pub fn connect_from(port: u16, to: SocketAddr, within: Duration) -> io::Result<TcpStream> {
    let fd = open(&Place::at_port(0), to, libc::SOCK_STREAM, port)?;
    sys::connect(fd.as_fd(), to, Some(within))?;
    Ok(TcpStream::from(fd))
}

/// Sends so many bytes at once, and waits until the other end has acknowledged them: false if it does not in time. `None`: the
/// connection has ended, or the system does not tell.
pub fn acknowledges(stream: &mut TcpStream, bytes: usize, within: Duration) -> Option<bool> {
    let now = |stream: &TcpStream| sys::tcp_info(stream.as_fd()).map(|info| info.acknowledged);
    let before = now(stream)?;
    stream.set_nodelay(true).ok()?;
    // Empty lines, which servers of lines ignore or refuse.
    stream.write_all(&b"\r\n".repeat(bytes.div_ceil(2))[..bytes]).ok()?;
    let began = Instant::now();
    let wanted = before + u64::try_from(bytes).ok()?;
    loop {
        match now(stream)? {
            acknowledged if acknowledged >= wanted => return Some(true),
            _ if stream.take_error().ok()?.is_some() => return None,
            _ if began.elapsed() > within => return Some(false),
            _ => std::thread::sleep(LOOKS),
        }
    }
}
