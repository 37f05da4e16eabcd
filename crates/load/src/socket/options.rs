//! Options of sockets, one table: what is asked for, what the kernel calls it (socket(7), tcp(7), ip(7), ipv6(7)), where our own
//! stack has it, and each program's words where it cannot be had.

use super::Transport::{Tcp, Udp};
use super::{Family, Socket, TcpStream, Transport, UdpSocket, algorithm, sys};
use linerate_rt::net;
use linerate_stack::Traffic;
use linerate_stack::tcp::{Config, Connection, KeepAlive};
use linerate_text::cut;
use std::io::{Error, Result as Io};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Largest buffer for sending, and smallest for receiving, of a connection of our own, bytes.
const SENDS: u32 = 16 << 20;
const RECEIVES: u32 = 2048;

/// Options of a socket; those that are none, or false, are as the system has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Buffers, bytes.
    pub(crate) send: Option<u64>,
    pub(crate) receive: Option<u64>,
    /// Largest segment, bytes.
    pub(crate) segment: Option<u64>,
    pub(crate) no_delay: bool,
    pub(crate) keep_alive: bool,
    /// True for data that go to hosts of the same networks only.
    pub(crate) no_gateway: bool,
    pub(crate) priority: Option<u64>,
    /// Hops that packets may take.
    pub(crate) hops: Option<u64>,
    /// Type of service, or traffic class.
    pub(crate) service: Option<u64>,
    /// Rate to which the kernel paces what is sent, bytes per second.
    pub(crate) pacing: Option<u64>,
    /// True for datagrams that are not fragmented (IPv4).
    pub(crate) whole: bool,
    /// True if datagrams that the system drops at its own queues are errors.
    pub(crate) drops: bool,
    pub(crate) congestion: Option<String>,
}

/// An option: level and name, the transports and the family that have it, and our own transports that do.
pub(crate) struct Row {
    name: (libc::c_int, libc::c_int),
    of: &'static [Transport],
    family: Option<Family>,
    own: &'static [Transport],
    asked: fn(&Options) -> Option<u64>,
    /// Words of iperf3 with its number, flag of iperf 2, and words of netperf; those without the option have none.
    pub(crate) words: ((&'static str, u32), &'static str, &'static str),
}

const ALL: &[Transport] = &[Tcp, Udp];
const V4: Option<Family> = Some(Family::V4);
const V6: Option<Family> = Some(Family::V6);
const SOCKET: libc::c_int = libc::SOL_SOCKET;
const TCP: libc::c_int = libc::IPPROTO_TCP;
const IP: libc::c_int = libc::IPPROTO_IP;
const IPV6: libc::c_int = libc::IPPROTO_IPV6;
const NO: (&str, u32) = ("", 0);
const SIZE: (&str, u32) = ("socket buffer size", 124);
const SERVICE: &str = "type of service";

/// The numbers. A priority stands before the type of service, which changes it (ip(7)).
#[rustfmt::skip]
static ROWS: [Row; 15] = [
    Row { name: (SOCKET, libc::SO_SNDBUF), of: ALL, family: None, own: &[Tcp], asked: |o| o.send, words: (SIZE, "-w", "send buffer") },
    Row { name: (SOCKET, libc::SO_RCVBUF), of: ALL, family: None, own: &[Tcp], asked: |o| o.receive, words: (SIZE, "-w", "receive buffer") },
    Row { name: (TCP, libc::TCP_MAXSEG), of: &[Tcp], family: None, own: &[], asked: |o| o.segment, words: (("TCP MSS", 123), "-M", "") },
    Row { name: (TCP, libc::TCP_NODELAY), of: &[Tcp], family: None, own: ALL, asked: |o| on(o.no_delay), words: (("TCP NODELAY", 122), "-N", "no delay") },
    Row { name: (SOCKET, libc::SO_KEEPALIVE), of: ALL, family: None, own: ALL, asked: |o| on(o.keep_alive), words: (NO, "", "keep alive") },
    Row { name: (SOCKET, libc::SO_DONTROUTE), of: ALL, family: None, own: ALL, asked: |o| on(o.no_gateway), words: (NO, "", "no gateway") },
    Row { name: (SOCKET, libc::SO_PRIORITY), of: ALL, family: None, own: &[], asked: |o| o.priority, words: (NO, "", "priority") },
    Row { name: (IP, libc::IP_TTL), of: ALL, family: V4, own: &[], asked: |o| o.hops, words: (NO, "-T", "") },
    Row { name: (IPV6, libc::IPV6_UNICAST_HOPS), of: ALL, family: V6, own: &[], asked: |o| o.hops, words: (NO, "-T", "") },
    Row { name: (IP, libc::IP_TOS), of: ALL, family: V4, own: &[Udp], asked: |o| o.service, words: (("IP TOS", 125), "-S", SERVICE) },
    Row { name: (IPV6, libc::IPV6_TCLASS), of: ALL, family: V6, own: &[Udp], asked: |o| o.service, words: (("IPv6 traffic class", 126), "-S", SERVICE) },
    Row { name: (SOCKET, libc::SO_MAX_PACING_RATE), of: ALL, family: None, own: &[], asked: |o| o.pacing, words: (("socket pacing", 140), "", "") },
    Row { name: (IP, libc::IP_MTU_DISCOVER), of: &[Udp], family: V4, own: &[], asked: |o| o.whole.then_some(PROBE), words: (("IP Do-Not-Fragment flag", 145), "", "") },
    Row { name: (IP, libc::IP_RECVERR), of: &[Udp], family: V4, own: ALL, asked: |o| on(o.drops), words: (NO, "", "reports of drops") },
    Row { name: (IPV6, libc::IPV6_RECVERR), of: &[Udp], family: V6, own: ALL, asked: |o| on(o.drops), words: (NO, "", "reports of drops") },
];

/// The name.
#[rustfmt::skip]
static CONGESTION: Row =
    Row { name: (TCP, libc::TCP_CONGESTION), of: &[Tcp], family: None, own: ALL, asked: |_| None, words: (("TCP_CONGESTION", 134), "-Z", "congestion control") };

/// Value of `IP_MTU_DISCOVER` that has nothing fragmented: `IP_PMTUDISC_DO`.
const PROBE: u64 = 2;

fn on(asked: bool) -> Option<u64> {
    asked.then_some(1)
}

/// A number that stands for none if it is 0.
pub(crate) fn given(n: impl Into<u64>) -> Option<u64> {
    Some(n.into()).filter(|n| *n > 0)
}

/// An option that cannot be had.
pub(crate) struct Refused {
    pub(crate) row: &'static Row,
    /// Value that was asked for.
    pub(crate) value: String,
    pub(crate) error: Error,
}

impl Refused {
    /// True of congestion controls.
    pub(crate) fn is_name(&self) -> bool {
        std::ptr::eq(self.row, &raw const CONGESTION)
    }
}

impl Row {
    fn refused(&'static self, value: &impl ToString) -> impl FnOnce(Error) -> Refused {
        let value = value.to_string();
        move |error| Refused { row: self, value, error }
    }
}

impl Options {
    /// Sets them at a socket that stands, whose packets are of IPv4 or not.
    pub(crate) fn settle(&self, of: &Socket, v4: bool) -> Result<(), Refused> {
        let transport = if of.tcp().is_some() { Tcp } else { Udp };
        if let Some(fd) = of.kernel() {
            return self.set(fd, transport, v4);
        }
        self.check_own(transport)?;
        of.tcp().iter().for_each(|stream| self.set_own(stream));
        if let Socket::Udp(socket) = of {
            self.set_own_datagrams(socket);
        }
        Ok(())
    }

    /// Sets them at a socket of the kernel's.
    pub(crate) fn set(&self, of: BorrowedFd<'_>, transport: Transport, v4: bool) -> Result<(), Refused> {
        let has = |row: &&Row| row.of.contains(&transport) && row.family.is_none_or(|only| (only == Family::V4) == v4);
        for row in ROWS.iter().filter(has) {
            if let Some(value) = (row.asked)(self) {
                sys::set_option(of, row.name.0, row.name.1, value).map_err(row.refused(&value))?;
            }
        }
        match self.congestion.as_ref().filter(|_| transport == Tcp) {
            Some(name) => sys::set_congestion(of, name).map_err(CONGESTION.refused(name)),
            None => Ok(()),
        }
    }

    /// Refuses what our own stack has not. Zero is what all packets have.
    pub(crate) fn check_own(&self, transport: Transport) -> Result<(), Refused> {
        for row in ROWS.iter().filter(|row| row.of.contains(&transport) && !row.own.contains(&transport)) {
            if let Some(value) = (row.asked)(self).filter(|value| *value > 0) {
                return Err(row.refused(&value)(Error::from_raw_os_error(libc::EOPNOTSUPP)));
            }
        }
        match self.congestion.as_ref().filter(|_| transport == Tcp) {
            Some(name) => algorithm(name).map(drop).map_err(CONGESTION.refused(name)),
            None => Ok(()),
        }
    }

    /// Sets those that it has at a connection of our own.
    pub(crate) fn set_own(&self, of: &TcpStream) {
        let TcpStream::Own(stream, _) = of else { return };
        let (send, receive) = self.own_buffers();
        if send.is_some() || receive.is_some() {
            let has = Sizes::of_own(stream);
            stream.set_buffers(send.unwrap_or(has.send), receive.unwrap_or(has.receive));
        }
        if self.no_delay {
            stream.set_nodelay(true);
        }
        if self.keep_alive {
            stream.set_keep_alive(Some(Duration::from_nanos(KeepAlive::default().idle)));
        }
        if let Some(algorithm) = self.congestion.as_ref().and_then(|name| algorithm(name).ok()) {
            stream.set_congestion(algorithm);
        }
    }

    /// The same at a socket of our own for datagrams.
    pub(crate) fn set_own_datagrams(&self, of: &UdpSocket) {
        if let (UdpSocket::Own(socket, _), Some(class)) = (of, self.service) {
            // One that was just opened is not closed.
            let _ = socket.set_traffic(Traffic::new(cut(class, u8::MAX), 0));
        }
    }

    /// Buffers that a connection of our own gets: send, receive. As with the kernel, what is beyond its limits is cut. Windows are
    /// scaled for the usual size, so there is none that is larger.
    pub(crate) fn own_buffers(&self) -> (Option<u32>, Option<u32>) {
        let (usual, size) = (Config::default().receive, |n: u64| cut(n, u32::MAX));
        let receive = |n: u64| size(n).clamp(RECEIVES.min(usual), usual);
        (self.send.map(|n| size(n).min(SENDS)), self.receive.map(receive))
    }
}

/// Buffers that a socket has, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) send: u32,
    pub(crate) receive: u32,
}

impl Sizes {
    /// Those of a socket of the kernel's.
    pub(crate) fn of(fd: BorrowedFd<'_>) -> Io<Self> {
        let size = |name| sys::option(fd, SOCKET, name).map(|n| cut(n, 0));
        Ok(Self { send: size(libc::SO_SNDBUF)?, receive: size(libc::SO_RCVBUF)? })
    }

    /// Those of a connection of our own.
    pub(crate) fn of_own(stream: &net::TcpStream) -> Self {
        let (send, receive) = stream.look(Connection::buffers).unwrap_or_default();
        Self { send, receive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn all() -> Options {
        let name = Some("reno".to_owned());
        Options {
            send: Some(20_000),
            receive: Some(30_000),
            segment: Some(1000),
            no_delay: true,
            keep_alive: true,
            no_gateway: true,
            priority: Some(3),
            hops: Some(9),
            service: None,
            pacing: Some(5_000_000_000),
            whole: true,
            drops: true,
            congestion: name,
        }
    }

    #[test]
    fn the_kernel_has_what_is_set_and_nothing_else() {
        for (transport, kind) in [(Tcp, libc::SOCK_STREAM), (Udp, libc::SOCK_DGRAM)] {
            for (at, v4) in [("127.0.0.1:0", true), ("[::1]:0", false)] {
                let fd = sys::socket(at.parse().unwrap(), kind).unwrap();
                assert!(all().set(fd.as_fd(), transport, v4).is_ok(), "{at}");
                let has = |row: &Row| sys::option(fd.as_fd(), row.name.0, row.name.1).ok();
                for row in &ROWS {
                    let fits = row.of.contains(&transport) && row.family.is_none_or(|only| (only == Family::V4) == v4);
                    let Some(asked) = (row.asked)(&all()).filter(|_| fits) else { continue };
                    // Buffers are doubled (socket(7)), and a greater rate is none that this call has room for.
                    let factor = if matches!(row.name, (SOCKET, libc::SO_SNDBUF | libc::SO_RCVBUF)) { 2 } else { 1 };
                    let given = i32::try_from(factor * asked).unwrap_or(-1);
                    assert_eq!(has(row), Some(given), "{at} {:?}", row.words);
                }
                let service = Options { service: Some(0x20), ..Options::default() };
                assert!(service.set(fd.as_fd(), transport, v4).is_ok());
                let rows = ROWS.iter().filter(|row| row.words.2 == SERVICE && (row.family == V4) == v4);
                assert_eq!(rows.map(has).collect::<Vec<_>>(), [Some(0x20)]);
            }
        }
    }

    #[test]
    fn what_cannot_be_had_is_told_with_its_value() {
        let told =
            |refused: Result<(), Refused>| refused.map_err(|refused| (refused.row.words, refused.value)).unwrap_err();
        let fd = sys::socket("127.0.0.1:0".parse().unwrap(), libc::SOCK_STREAM).unwrap();
        let many = Options { segment: Some(1 << 40), ..Options::default() };
        assert_eq!(told(many.set(fd.as_fd(), Tcp, true)), ((("TCP MSS", 123), "-M", ""), (1_u64 << 40).to_string()));
        let unknown = Options { congestion: Some("no-such".to_owned()), ..Options::default() };
        for refused in [unknown.set(fd.as_fd(), Tcp, true), unknown.check_own(Tcp)] {
            assert!(refused.as_ref().is_err_and(Refused::is_name));
            assert_eq!(told(refused), ((("TCP_CONGESTION", 134), "-Z", "congestion control"), "no-such".to_owned()));
        }
        // Datagrams have no congestion control.
        assert!(unknown.check_own(Udp).is_ok());
        assert_eq!(told(all().check_own(Tcp)).0.1, "-M");
        assert_eq!(told(all().check_own(Udp)).0.2, "send buffer");
        let plain =
            Options { priority: Some(0), service: Some(0), no_delay: true, send: Some(1), ..Options::default() };
        assert!(plain.check_own(Tcp).is_ok());
    }

    #[test]
    fn buffers_of_our_own_are_cut_as_the_kernel_cuts_them() {
        let usual = Config::default().receive;
        let buffers = |send, receive| Options { send, receive, ..Options::default() }.own_buffers();
        assert_eq!(buffers(None, None), (None, None));
        assert_eq!(buffers(Some(5), Some(5)), (Some(5), Some(RECEIVES)));
        assert_eq!(buffers(Some(u64::MAX), Some(u64::MAX)), (Some(SENDS), Some(usual)));
    }
}
