//! The transmit path of TCP: from the system call to the far end of a veth pair.
//!
//! A connection is restored (TCP_REPAIR), sends as many segments as its first congestion window lets out, each with a call of
//! its own, and is forgotten: nothing has to be acknowledged, and nothing is sent again. A segment that is dropped where TCP
//! hears of it stays the next to be sent, so each call copies its own bytes and sends, or tries to send, one segment.

use super::Row;
use super::kernel_path::{KernelPath, Kind, Measured, Point, time_calls, time_of, time_stretches};
use super::lan::{FAR, HERE, Lan, NEAR, PORT, THERE, settled};
use crate::profile::sys::tcp::{self, Restored};
use crate::profile::sys::udp;
use crate::profile::{Order, Span};
use linerate_host::{Cause, Cut, Error, Place};
use std::io;
use std::net::{SocketAddrV4, TcpStream};

pub(super) const ROWS: &[Row] = &[Row { id: "tx-tcp-kernel-veth", title: "kernel TCP send, veth", build: Out::build }];

const CALL: &str = "system call";
const SOCKET: &str = "socket";
const BUFFER: &str = "send buffer";
const SEGMENT: &str = "tcp, ip";
const OUTPUT: &str = "ip output";
const ETHERNET: &str = "neighbour, ethernet";
const VETH: &str = "veth, softirq, XDP";
const AT_NETFILTER: &str = "netfilter";
const AT_TC: &str = "tc";

/// Calls of a connection that are not timed, and that are: together its first congestion window (RFC 6928).
const WARM: u32 = 2;
const TIMED: u32 = 8;
/// Window of a peer that has room, and bytes of a segment on an MTU of 1500.
const OPEN: u32 = 1 << 30;
const MSS: u32 = 1460;

struct Out {
    lan: Lan,
    data: Vec<u8>,
    /// Socket without a connection.
    idle: TcpStream,
    /// Program that drops at the far end.
    far: Cut,
}

fn named(errno: i32) -> String {
    io::Error::from_raw_os_error(errno).to_string()
}

impl Out {
    fn build(order: &Order) -> Result<Box<dyn KernelPath>, Error> {
        let lan = Lan::veth()?;
        let far = lan.cut_at_far(Place::Xdp(FAR), false)?;
        let idle = tcp::open()
            .map_err(|e| Error::new("TCP socket", Cause::System, e, "see what the kernel logged, and try again"))?;
        Ok(Box::new(Self { lan, data: vec![0x55; order.payload()], idle, far }))
    }

    /// Sends by one connection after the other, to a peer with this window.
    fn send(&self, window: u32, time: Span<'_>) -> Result<(f64, u64), String> {
        let numbers = Restored {
            local: SocketAddrV4::new(HERE, 0),
            remote: SocketAddrV4::new(THERE, PORT),
            seq: 1000,
            peer_seq: 5000,
            window,
            mss: MSS,
        };
        let call = |stream: &TcpStream| match tcp::send(stream, &self.data) {
            Ok(n) if n == self.data.len() => Ok(()),
            Ok(n) => Err(format!("a call sent {n} of {} bytes", self.data.len())),
            Err(e) => Err(named(e)),
        };
        time_stretches(time, || {
            let stream = tcp::restore(&numbers).map_err(|e| format!("restoring a connection (TCP_REPAIR): {e}"))?;
            for _ in 0..WARM {
                call(&stream)?;
            }
            let ns = time_of(TIMED, || call(&stream))?;
            tcp::forget(stream).map_err(|e| format!("TCP_REPAIR: {e}"))?;
            Ok((ns, u64::from(WARM + TIMED)))
        })
    }

    /// Number of packets that reached the near interface, dropped or not.
    fn reached(&mut self) -> Result<u64, String> {
        let stats = self.lan.stats().map_err(|e| e.to_string())?;
        Ok(stats.tx_packets + stats.tx_dropped)
    }

    fn all_the_way(&mut self, time: Span<'_>) -> Result<Measured, String> {
        let counted = |path: &mut Self| -> Result<u64, String> {
            let seen = path.far.count().map_err(|e| e.to_string())?;
            Ok(seen + path.lan.stats().map_err(|e| e.to_string())?.tx_dropped)
        };
        let before = counted(self)?;
        let (ns, calls) = self.send(OPEN, time)?;
        let counted = settled(before, calls, || counted(self))?;
        Ok(Measured { ns, calls, counted, behind: 0 })
    }

    fn program(place: &str) -> Place<'static> {
        match place {
            SEGMENT => Place::LocalOut,
            OUTPUT | AT_NETFILTER => Place::PostRouting,
            _ => Place::TcEgress(NEAR),
        }
    }
}

impl KernelPath for Out {
    fn points(&self) -> Vec<Point> {
        let cut = |name, about, less| Point { name, about, kind: Kind::Cut { less } };
        let mut points = vec![
            cut(CALL, "getppid: into the kernel and back", None),
            cut(SOCKET, "lock, and the first check in tcp_sendmsg: without a connection it refuses (EPIPE)", None),
            cut(
                BUFFER,
                "buffer made and filled, and put in the queue; tcp_write_xmit up to a window that is closed",
                None,
            ),
            cut(
                SEGMENT,
                "head of the buffer copied, TCP header without checksum, kept route, IP header; dropped at netfilter's LOCAL_OUT",
                Some(AT_NETFILTER),
            ),
            cut(OUTPUT, "ip_output; dropped at netfilter's POST_ROUTING", Some(AT_NETFILTER)),
            cut(ETHERNET, "fragment check, neighbour, Ethernet header; dropped at tc egress", Some(AT_TC)),
            Point {
                name: VETH,
                about: "what TCP notes of a segment that is out; no queueing discipline; veth's transmit, and the far end's soft interrupt up to an XDP program that drops",
                kind: Kind::Whole,
            },
        ];
        for name in [AT_NETFILTER, AT_TC] {
            points.push(Point { name, about: "a BPF program that counts and lets pass", kind: Kind::Program });
        }
        points
    }

    fn measure(&mut self, point: &str, time: Span<'_>) -> Result<Measured, String> {
        let text = |e: Error| e.to_string();
        let refused = |(ns, calls), behind| Measured { ns, calls, counted: calls, behind };
        let before = self.reached()?;
        match point {
            CALL => {
                let null = || if udp::null_call() < 0 { Err("no parent".to_owned()) } else { Ok(()) };
                Ok(refused(time_calls(time, null)?, 0))
            }
            SOCKET => {
                let timed = time_calls(time, || match tcp::send(&self.idle, &self.data) {
                    Err(libc::EPIPE) => Ok(()),
                    Err(e) => Err(named(e)),
                    Ok(n) => Err(format!("a call sent {n} bytes")),
                })?;
                Ok(refused(timed, self.reached()? - before))
            }
            BUFFER => {
                let timed = self.send(0, time)?;
                Ok(refused(timed, self.reached()? - before))
            }
            SEGMENT | OUTPUT | ETHERNET => {
                let cut = Cut::drop_at(Self::program(point)).map_err(text)?;
                let (ns, calls) = self.send(OPEN, time)?;
                let counted = cut.count().map_err(text)?;
                Ok(Measured { ns, calls, counted, behind: self.reached()? - before })
            }
            VETH => self.all_the_way(time),
            AT_NETFILTER | AT_TC => {
                let program = Cut::pass_at(Self::program(point)).map_err(text)?;
                let measured = self.all_the_way(time)?;
                let passed = program.count().map_err(text)?;
                Ok(Measured { counted: measured.counted.min(passed), ..measured })
            }
            other => Err(format!("there is no point {other}")),
        }
    }
}
