//! The receive path: from the far end of a veth pair to a socket's reader. Sending, receiving and reading happen on one
//! processor, one datagram at a time: the soft interrupt runs at the end of the send call. So each figure includes the
//! sending too; the cost of a sender that is cut off at tc egress is the base that is subtracted.

use super::Row;
use super::kernel_path::{KernelPath, Kind, Measured, Point, time_calls};
use super::lan::{FAR, Lan, NEAR, PORT, THERE, sender};
use crate::profile::sys::udp;
use crate::profile::{Order, Span};
use linerate_host::{Cut, Error, Place};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

pub(super) const ROWS: &[Row] = &[
    Row { id: "rx-kernel-recv", title: "kernel recv", build: |order| In::build(order, true) },
    Row { id: "rx-kernel-xdp", title: "kernel, XDP drop", build: |order| In::build(order, false) },
];

const SENDING: &str = "sending";
const DEVICE: &str = "veth, softirq";
const INPUT: &str = "ip input";
const ROUTE: &str = "route";
const UDP: &str = "udp";
const READ: &str = "socket, recv";
const XDP: &str = "veth, softirq, XDP";
const AT_NETFILTER: &str = "netfilter";
const AT_TC: &str = "tc";

/// Number of datagrams that certainly fill the smallest receive buffer.
const FILLS: u32 = 1000;

struct In {
    lan: Lan,
    socket: UdpSocket,
    data: Vec<u8>,
    /// True for a path to a reader, false for one to an XDP program that drops.
    reads: bool,
}

impl In {
    fn build(order: &Order, reads: bool) -> Result<Box<dyn KernelPath>, Error> {
        let lan = Lan::veth()?;
        let payload = order.payload();
        Ok(Box::new(Self { socket: sender(true)?, lan, data: vec![0x55; payload], reads }))
    }

    /// Opens a socket at the far end.
    fn receiver(&self) -> Result<UdpSocket, String> {
        let open = || {
            let socket = UdpSocket::bind(SocketAddr::from((THERE, PORT)))?;
            socket.set_read_timeout(Some(Duration::from_secs(1)))?;
            Ok(socket)
        };
        let opened = self.lan.at_far(open).map_err(|e| e.to_string())?;
        opened.map_err(|e: std::io::Error| format!("a socket at the far end: {e}"))
    }

    /// Number of datagrams that the far namespace's sockets had no room for.
    fn refused(&self) -> Result<u64, String> {
        let read = || std::fs::read_to_string("/proc/thread-self/net/snmp");
        let text = self.lan.at_far(read).map_err(|e| e.to_string())?.map_err(|e| format!("/proc/net/snmp: {e}"))?;
        parse(&text).ok_or_else(|| "/proc/net/snmp does not tell RcvbufErrors of UDP".to_owned())
    }

    fn send(&self) -> Result<(), String> {
        match udp::send(&self.socket, &self.data) {
            Ok(n) if n == self.data.len() => Ok(()),
            Ok(n) => Err(format!("a call sent {n} of {} bytes", self.data.len())),
            Err(e) => Err(std::io::Error::from_raw_os_error(e).to_string()),
        }
    }

    /// Sends to a point at which a program drops.
    fn dropped_by(&mut self, cut: &Cut, time: Span<'_>) -> Result<Measured, String> {
        let text = |e: Error| e.to_string();
        // Datagrams that are not dropped go into this socket, or overflow it.
        let reader = self.receiver()?;
        let before = self.refused()?;
        let (ns, calls) = time_calls(time, || self.send())?;
        let counted = self.settled(calls, |_| cut.count().map_err(text))?;
        let mut behind = self.refused()? - before;
        reader.set_nonblocking(true).map_err(|e| e.to_string())?;
        let mut room = [0; 16];
        while udp::receive(&reader, &mut room).is_ok() {
            behind += 1;
        }
        Ok(Measured { ns, calls, counted, behind })
    }

    /// Count once it is `calls`, or two seconds later.
    fn settled(&self, calls: u64, count: impl Fn(&Self) -> Result<u64, String>) -> Result<u64, String> {
        let until = Instant::now() + Duration::from_secs(2);
        loop {
            let counted = count(self)?;
            if counted >= calls || Instant::now() > until {
                return Ok(counted);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends to a socket that has no room.
    fn fill_and_send(&mut self, time: Span<'_>) -> Result<Measured, String> {
        let reader = self.receiver()?;
        udp::set_buffer(&reader, true, 0);
        // Until one is refused: the smallest buffer holds a few.
        let empty = self.refused()?;
        for _ in 0..FILLS {
            self.send()?;
            if self.refused()? > empty {
                break;
            }
        }
        let before = self.refused()?;
        let (ns, calls) = time_calls(time, || self.send())?;
        let counted = self.settled(calls, |path| Ok(path.refused()? - before))?;
        // Nobody reads, so datagrams that were not refused would be missing in the count.
        drop(reader);
        Ok(Measured { ns, calls, counted, behind: 0 })
    }

    fn send_and_read(&mut self, time: Span<'_>) -> Result<Measured, String> {
        let reader = self.receiver()?;
        let mut room = vec![0; self.data.len() + 1];
        let (ns, calls) = time_calls(time, || {
            self.send()?;
            match udp::receive(&reader, &mut room) {
                Ok(n) if n == self.data.len() => Ok(()),
                Ok(n) => Err(format!("{n} of {} bytes arrived", self.data.len())),
                Err(e) => Err(format!("nothing arrived: {}", std::io::Error::from_raw_os_error(e))),
            }
        })?;
        // Each call has read its datagram, or it would have failed.
        Ok(Measured { ns, calls, counted: calls, behind: 0 })
    }

    fn place(point: &str) -> Place<'static> {
        match point {
            SENDING => Place::TcEgress(NEAR),
            DEVICE | AT_TC => Place::TcIngress(FAR),
            INPUT | AT_NETFILTER => Place::PreRouting,
            ROUTE => Place::LocalIn,
            _ => Place::Xdp(FAR),
        }
    }
}

/// Value of `RcvbufErrors` of UDP.
fn parse(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split_ascii_whitespace().position(|name| name == "RcvbufErrors")?;
    numbers.split_ascii_whitespace().nth(at)?.parse().ok()
}

impl KernelPath for In {
    fn points(&self) -> Vec<Point> {
        let cut = |name, about, less| Point { name, about, kind: Kind::Cut { less: Some(less) } };
        let program = |name| Point { name, about: "a BPF program that counts and lets pass", kind: Kind::Program };
        let base = Point {
            name: SENDING,
            about: "a connected send, dropped at tc egress",
            kind: Kind::Base { less: Some(AT_TC) },
        };
        if !self.reads {
            let about = "veth's transmit, and the soft interrupt up to an XDP program that counts and drops";
            return vec![base, Point { name: XDP, about, kind: Kind::Whole }, program(AT_TC)];
        }
        vec![
            base,
            cut(DEVICE, "veth's transmit, and the soft interrupt up to tc ingress, which drops", AT_TC),
            cut(INPUT, "ip_rcv; dropped at netfilter's PRE_ROUTING", AT_NETFILTER),
            cut(ROUTE, "the routing decision, up to netfilter's LOCAL_IN, which drops", AT_NETFILTER),
            Point {
                name: UDP,
                about: "socket look-up, up to a receive buffer that is full (RcvbufErrors)",
                kind: Kind::Cut { less: None },
            },
            Point { name: READ, about: "queued, and read by recv, a system call", kind: Kind::Whole },
            program(AT_TC),
            program(AT_NETFILTER),
        ]
    }

    fn measure(&mut self, point: &str, time: Span<'_>) -> Result<Measured, String> {
        let text = |e: Error| e.to_string();
        match point {
            SENDING => {
                let cut = Cut::drop_at(Self::place(point)).map_err(text)?;
                self.dropped_by(&cut, time)
            }
            DEVICE | INPUT | ROUTE | XDP => {
                let cut = self.lan.cut_at_far(Self::place(point), false).map_err(text)?;
                self.dropped_by(&cut, time)
            }
            UDP => self.fill_and_send(time),
            READ => self.send_and_read(time),
            AT_TC if !self.reads => {
                let program = Cut::pass_at(Self::place(SENDING)).map_err(text)?;
                let measured = self.measure(XDP, time)?;
                Ok(Measured { counted: measured.counted.min(program.count().map_err(text)?), ..measured })
            }
            AT_NETFILTER | AT_TC => {
                let program = self.lan.cut_at_far(Self::place(point), true).map_err(text)?;
                let measured = self.send_and_read(time)?;
                Ok(Measured { counted: measured.counted.min(program.count().map_err(text)?), ..measured })
            }
            other => Err(format!("there is no point {other}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn counters_are_found_by_their_names() {
        let text = "Tcp: a b\nTcp: 1 2\nUdp: InDatagrams NoPorts RcvbufErrors\nUdp: 10 2 3\nUdpLite: RcvbufErrors\n";
        assert_eq!(parse(text), Some(3));
        for damaged in ["Udp: InDatagrams\nUdp: 1\n", "Udp: RcvbufErrors\nUdp: x\n", "Udp: RcvbufErrors\n", ""] {
            assert_eq!(parse(damaged), None);
        }
    }
}
