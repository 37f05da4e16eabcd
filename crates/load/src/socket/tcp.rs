//! Byte streams of the kernel, or of a host of our own, used as the standard library's are.

use super::plain;
use super::sys::{self, Ready, TcpInfo};
use linerate_rt::{Stop, net};
use linerate_stack::tcp::{Algorithm, Connection};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

pub(crate) enum TcpStream {
    Kernel(std::net::TcpStream),
    /// Our own, with a number for reports.
    Own(net::TcpStream, i32),
}

pub(crate) enum TcpListener {
    Kernel(std::net::TcpListener),
    Own(net::TcpListener),
}

/// Time for which nobody is taken in when no descriptors are left.
const RESTS: Duration = Duration::from_millis(50);

/// Congestion controls of our own TCP, by the names that the kernel has for them.
const ALGORITHMS: [(&str, Algorithm); 2] = [("cubic", Algorithm::Cubic), ("reno", Algorithm::NewReno)];

/// Congestion control of our own TCP by its name.
pub(crate) fn algorithm(name: &str) -> io::Result<Algorithm> {
    let known = ALGORITHMS.iter().find(|(known, _)| *known == name);
    known.map(|(_, algorithm)| *algorithm).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
}

/// Waits until descriptors may be free again.
pub(crate) fn rest() {
    std::thread::sleep(RESTS);
}

impl TcpStream {
    pub(super) fn own(stream: net::TcpStream) -> Self {
        Self::Own(stream, super::number())
    }

    /// Its number, for reports.
    pub(crate) fn number(&self) -> i32 {
        match self {
            Self::Kernel(stream) => stream.as_raw_fd(),
            Self::Own(_, number) => *number,
        }
    }

    /// The kernel's descriptor, for options that only the kernel has.
    pub(crate) fn kernel(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Kernel(stream) => Some(stream.as_fd()),
            Self::Own(..) => None,
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Kernel(stream) => stream.local_addr(),
            Self::Own(stream, _) => Ok(stream.local_addr()),
        }
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Kernel(stream) => stream.peer_addr(),
            Self::Own(stream, _) => Ok(stream.peer_addr()),
        }
    }

    /// Descriptor for poll. That of our own may be readable though there is nothing to read: see [`Self::is_readable`].
    pub(crate) fn readiness(&self) -> io::Result<BorrowedFd<'_>> {
        match self {
            Self::Kernel(stream) => Ok(stream.as_fd()),
            Self::Own(stream, _) => stream.readiness(),
        }
    }

    /// True if there is something to read, or the end, after [`Self::readiness`] was readable.
    pub(crate) fn is_readable(&self) -> bool {
        match self {
            Self::Kernel(_) => true,
            Self::Own(stream, _) => {
                let look = |stream: &net::TcpStream| stream.read_with(|_| 0);
                !matches!(look(stream), Err(e) if e.kind() == ErrorKind::WouldBlock)
            }
        }
    }

    /// Has reads wait for nothing, or for ever; writes likewise.
    pub(crate) fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.set_nonblocking(on),
            Self::Own(stream, _) => {
                stream.set_nonblocking(on);
                Ok(())
            }
        }
    }

    /// Sets the time for which writes wait for room; none is until there is some.
    pub(crate) fn set_write_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.set_write_timeout(time),
            Self::Own(stream, _) => {
                stream.set_write_timeout(time);
                Ok(())
            }
        }
    }

    /// Has reads follow a poll, and writes wait so long at most.
    pub(crate) fn set_polled(&self, writes: Duration) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_write_timeout(Some(writes))
            }
            Self::Own(stream, _) => {
                stream.set_read_timeout(Some(Duration::ZERO));
                stream.set_write_timeout(Some(writes));
                Ok(())
            }
        }
    }

    /// Has the connection end when nothing of what was written is acknowledged for this time (tcp(7), TCP_USER_TIMEOUT): reads
    /// tell then what the system knows of the reason.
    pub(crate) fn set_user_timeout(&self, time: Duration) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => {
                let ms = u64::try_from(time.as_millis()).map_err(|_| io::ErrorKind::InvalidInput)?;
                sys::set_option(stream.as_fd(), libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, ms)
            }
            Self::Own(stream, _) => {
                stream.set_user_timeout(time);
                Ok(())
            }
        }
    }

    /// Sets the time for which reads wait; none is until something comes.
    pub(crate) fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.set_read_timeout(time),
            Self::Own(stream, _) => {
                stream.set_read_timeout(time);
                Ok(())
            }
        }
    }

    /// The same connection once more: it ends when both are dropped.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Kernel(stream) => stream.try_clone().map(Self::Kernel),
            Self::Own(stream, number) => Ok(Self::Own(stream.clone(), *number)),
        }
    }

    /// Has the other end asked whether it is there after this time of silence; one that has vanished is found out so.
    pub(crate) fn keep_alive(&self, idle: Duration) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => {
                let (fd, seconds) = (stream.as_fd(), idle.as_secs().max(3));
                sys::set_option(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
                for (name, value) in
                    [(libc::TCP_KEEPIDLE, seconds), (libc::TCP_KEEPINTVL, seconds / 3), (libc::TCP_KEEPCNT, 3)]
                {
                    sys::set_option(fd, libc::IPPROTO_TCP, name, value)?;
                }
                Ok(())
            }
            Self::Own(stream, _) => {
                stream.set_keep_alive(Some(idle));
                Ok(())
            }
        }
    }

    /// The same with the kernel's own words: seconds of silence, between two questions, and how many; none is the system's. Of
    /// our own there is nothing of it.
    pub(crate) fn keep_alive_as(&self, [idle, interval, count]: [Option<u32>; 3]) -> io::Result<()> {
        let Self::Kernel(stream) = self else { return Err(ErrorKind::Unsupported.into()) };
        sys::set_option(stream.as_fd(), libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
        for (name, value) in [(libc::TCP_KEEPIDLE, idle), (libc::TCP_KEEPINTVL, interval), (libc::TCP_KEEPCNT, count)] {
            value.map_or(Ok(()), |value| sys::set_option(stream.as_fd(), libc::IPPROTO_TCP, name, value.into()))?;
        }
        Ok(())
    }

    /// True if the other end is done or gone, and nothing is left to read. Waits for nothing; of our own, reads must wait for
    /// nothing either.
    pub(crate) fn has_ended(&self) -> bool {
        let waits = |e: &io::Error| matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock);
        match self {
            Self::Kernel(stream) => {
                let ready = sys::poll(&[(stream.as_fd(), Ready::Read)], Some(Duration::ZERO));
                ready.is_ok_and(|ready| ready[0])
                    && match stream.peek(&mut [0]) {
                        Ok(n) => n == 0,
                        Err(e) => !waits(&e),
                    }
            }
            Self::Own(stream, _) => {
                let mut readable = false;
                let looked = stream.read_with(|_| {
                    readable = true;
                    0
                });
                looked.map_or_else(|e| !waits(&e), |_| !readable)
            }
        }
    }

    pub(crate) fn set_nodelay(&self, on: bool) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.set_nodelay(on),
            Self::Own(stream, _) => {
                stream.set_nodelay(on);
                Ok(())
            }
        }
    }

    pub(crate) fn congestion(&self) -> Option<String> {
        match self {
            Self::Kernel(stream) => sys::congestion(stream.as_fd()).ok(),
            Self::Own(stream, _) => {
                let algorithm = stream.look(Connection::algorithm)?;
                ALGORITHMS.iter().find(|(_, known)| *known == algorithm).map(|(name, _)| (*name).to_owned())
            }
        }
    }

    /// Largest segment, as far as it is known.
    pub(crate) fn segment(&self) -> u64 {
        let known = match self {
            Self::Kernel(stream) => {
                let mss = sys::option(stream.as_fd(), libc::IPPROTO_TCP, libc::TCP_MAXSEG);
                mss.ok().and_then(|mss| u64::try_from(mss).ok())
            }
            Self::Own(stream, _) => stream.look(|connection| connection.mss().into()),
        };
        known.unwrap_or(0)
    }

    pub(crate) fn info(&self) -> Option<TcpInfo> {
        match self {
            Self::Kernel(stream) => sys::tcp_info(stream.as_fd()),
            Self::Own(stream, _) => stream.look(|connection| TcpInfo {
                cwnd: connection.congestion_window().into(),
                wnd: connection.peer_window().into(),
                rtt: connection.rtt().unwrap_or(0) / 1000,
                rttvar: connection.rtt_variation() / 1000,
                pmtu: u64::from(connection.mss()) + headers(stream.peer_addr()),
                retransmits: connection.counters().segments_again.into(),
                least_rtt: connection.least_rtt().unwrap_or(0) / 1000,
                delivery_rate: 0,
                acknowledged: connection.counters().acknowledged,
            }),
        }
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.shutdown(how),
            Self::Own(stream, _) => stream.shutdown(how),
        }
    }

    /// Ends the connection in both directions; whoever sleeps on it wakes.
    pub(crate) fn shut_down(&self) {
        match self {
            Self::Kernel(stream) => sys::shut_down(stream.as_fd()),
            Self::Own(stream, _) => drop(stream.shutdown(Shutdown::Both)),
        }
    }

    /// Ends the receiving; whoever sleeps on it wakes.
    pub(crate) fn receive_no_more(&self) {
        match self {
            Self::Kernel(stream) => sys::receive_no_more(stream.as_fd()),
            Self::Own(stream, _) => drop(stream.shutdown(Shutdown::Read)),
        }
    }

    /// Ends the sending: the other end reads to the end of what was written.
    pub(crate) fn send_no_more(&self) {
        // It fails where there is no connection left, which is as well.
        let _ = match self {
            Self::Kernel(stream) => stream.shutdown(Shutdown::Write),
            Self::Own(stream, _) => stream.shutdown(Shutdown::Write),
        };
    }

    /// Sends a part of a file without a copy in user space; returns the number of bytes.
    #[inline]
    pub(crate) fn send_file(&self, file: &File, at: u64, bytes: usize) -> io::Result<usize> {
        match self {
            Self::Kernel(stream) => sys::send_file(stream.as_fd(), file.as_fd(), at, bytes),
            Self::Own(stream, _) => {
                // No more than was asked for.
                stream.send_file(file, at, bytes as u64).map(|n| usize::try_from(n).unwrap_or(bytes))
            }
        }
    }
}

/// Bytes of headers of a packet beyond its segment: IP's, and TCP's without options.
fn headers(to: SocketAddr) -> u64 {
    if to.is_ipv4() { 40 } else { 60 }
}

impl Read for &TcpStream {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            TcpStream::Kernel(stream) => { stream }.read(into),
            TcpStream::Own(stream, _) => { stream }.read(into),
        }
    }
}

impl Write for &TcpStream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            TcpStream::Kernel(stream) => { stream }.write(bytes),
            TcpStream::Own(stream, _) => { stream }.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TcpListener {
    pub(crate) fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match self {
            Self::Kernel(listener) => listener.accept().map(|(stream, from)| (TcpStream::Kernel(stream), from)),
            Self::Own(listener) => listener.accept().map(|(stream, from)| (TcpStream::own(stream), from)),
        }
    }

    /// Takes the next connection in, with the address of its other end; `None` if nobody is there any more. An error says that no
    /// descriptors are left.
    pub(crate) fn take(&self) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        let gone = |e: &io::Error| {
            matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted)
        };
        match self.accept() {
            Ok((stream, from)) => Ok(Some((stream, plain(from)))),
            Err(e) if gone(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The same, once somebody is there; `None` as well when a stop is requested, and when the time is over.
    pub(crate) fn next(&self, stop: &Stop, within: Option<Duration>) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        let ready = sys::poll(&[(stop.as_fd(), Ready::Read), (self.readiness()?, Ready::Read)], within)?;
        if ready[0] || !ready[1] {
            return Ok(None);
        }
        self.take().or_else(|_| {
            rest();
            Ok(None)
        })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Kernel(listener) => listener.local_addr(),
            Self::Own(listener) => Ok(listener.local_addr()),
        }
    }

    /// Has [`Self::accept`] wait for nothing, or for ever.
    pub(crate) fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        match self {
            Self::Kernel(listener) => listener.set_nonblocking(on),
            Self::Own(listener) => {
                listener.set_nonblocking(on);
                Ok(())
            }
        }
    }

    /// The kernel's descriptor, for options that only the kernel has.
    pub(crate) fn kernel(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Kernel(listener) => Some(listener.as_fd()),
            Self::Own(_) => None,
        }
    }

    /// Descriptor for poll, readable if somebody may be there.
    pub(crate) fn readiness(&self) -> io::Result<BorrowedFd<'_>> {
        match self {
            Self::Kernel(listener) => Ok(listener.as_fd()),
            Self::Own(listener) => listener.readiness(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::{Pair, Via};
    use std::time::Instant;

    fn until(what: &str, is: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is() {
            assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_connection_has_ended_when_the_other_end_is_done_and_all_is_read() {
        for via in [Via::Kernel, Via::Stack] {
            let pair = match Pair::new(via, 7000, 1500) {
                Err(why) if why.contains("network namespace") => {
                    linerate_skip::skip!("{why}");
                    continue;
                }
                pair => pair.unwrap(),
            };
            let [near, far] = &pair.sides;
            let listener = far.run(|| far.site.listen()).unwrap().unwrap();
            let limit = Some(Duration::from_secs(20));
            let client = near.run(|| near.site.dial(&far.address, limit)).unwrap().unwrap();
            let (server, _) = listener.accept().unwrap();
            client.set_polled(Duration::from_secs(20)).unwrap();
            client.keep_alive(Duration::from_secs(30)).unwrap();
            assert!(!client.has_ended(), "{via:?}");
            assert_eq!((&server).write(b"x").unwrap(), 1);
            until("it is readable", || client.is_readable() && !client.has_ended());
            server.send_no_more();
            // What is there comes first.
            std::thread::sleep(Duration::from_millis(20));
            assert!(!client.has_ended(), "{via:?}");
            let again = client.try_clone().unwrap();
            until("it is read", || (&again).read(&mut [0]).is_ok_and(|n| n == 1));
            until("it has ended", || client.has_ended());
        }
    }
}
