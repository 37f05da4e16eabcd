//! The transmit path: from the system call to an interface that drops.

use super::Row;
use super::kernel_path::{KernelPath, Kind, Measured, Point, time_calls};
use super::lan::{FAR, Lan, NEAR, NOWHERE, PORT, THERE, sender, settled};
use crate::profile::sys::udp::{self, Errno, To};
use crate::profile::{Order, Span};
use linerate_host::{Cut, Error, Place};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

pub(super) const ROWS: &[Row] = &[
    Row { id: "tx-kernel-sendto", title: "kernel sendto", build: |order| Out::build(order, false, Lan::sink()?) },
    Row { id: "tx-kernel-send", title: "kernel send", build: |order| Out::build(order, true, Lan::sink()?) },
    Row { id: "tx-kernel-send-veth", title: "kernel send, veth", build: |order| Out::build(order, true, Lan::veth()?) },
];

const CALL: &str = "system call";
const SOCKET: &str = "socket";
const ROUTE: &str = "route";
const UDP: &str = "udp, ip";
const OUTPUT: &str = "ip output";
const ETHERNET: &str = "neighbour, ethernet";
const QUEUE: &str = "queueing discipline";
const DRIVER: &str = "driver";
const VETH: &str = "veth, softirq, XDP";
const AT_NETFILTER: &str = "netfilter";
const AT_TC: &str = "tc";

struct Out {
    lan: Lan,
    socket: UdpSocket,
    connected: bool,
    data: Vec<u8>,
    /// Program that drops at the far end of a veth pair; `None` if the near interface drops.
    far: Option<Cut>,
}

impl Out {
    fn build(order: &Order, connected: bool, lan: Lan) -> Result<Box<dyn KernelPath>, Error> {
        let far = if lan.has_far() { Some(lan.cut_at_far(Place::Xdp(FAR), false)?) } else { None };
        let payload = order.payload();
        Ok(Box::new(Self { socket: sender(connected)?, lan, connected, data: vec![0x55; payload], far }))
    }

    /// Calls repeatedly; every call must end as `wanted`: with an error number, or for `None` having sent all.
    fn calls(&self, to: Option<(Ipv4Addr, u16)>, wanted: Option<Errno>, time: Span<'_>) -> Result<(f64, u64), String> {
        // For a connected socket that must refuse at once: more than a datagram can hold.
        let too_much = [0; 65536];
        let to = to.map(|to| To::from(SocketAddr::from(to)));
        let data = if self.connected && wanted == Some(libc::EMSGSIZE) { &too_much[..] } else { &self.data };
        let all = data.len();
        time_calls(time, || {
            let result = match &to {
                Some(to) => udp::send_to(&self.socket, data, to),
                None => udp::send(&self.socket, data),
            };
            match (result, wanted) {
                (Ok(n), None) if n == all => Ok(()),
                (Err(e), Some(wanted)) if e == wanted => Ok(()),
                (Ok(n), _) => Err(format!("a call sent {n} of {all} bytes")),
                (Err(e), _) => Err(std::io::Error::from_raw_os_error(e).to_string()),
            }
        })
    }

    /// Number of packets that reached the near interface, dropped or not.
    fn reached(&mut self) -> Result<u64, String> {
        let stats = self.lan.stats().map_err(|e| e.to_string())?;
        Ok(stats.tx_packets + stats.tx_dropped + if self.far.is_none() { stats.rx_dropped } else { 0 })
    }

    /// Sends to the reachable address.
    fn send(&self, wanted: Option<Errno>, time: Span<'_>) -> Result<(f64, u64), String> {
        self.calls((!self.connected).then_some((THERE, PORT)), wanted, time)
    }

    fn all_the_way(&mut self, time: Span<'_>) -> Result<Measured, String> {
        let counted = |path: &mut Self| -> Result<u64, String> {
            match &path.far {
                Some(cut) => {
                    let seen = cut.count().map_err(|e| e.to_string())?;
                    Ok(seen + path.lan.stats().map_err(|e| e.to_string())?.tx_dropped)
                }
                None => Ok(path.lan.stats().map_err(|e| e.to_string())?.rx_dropped),
            }
        };
        let before = counted(self)?;
        let (ns, calls) = self.send(None, time)?;
        let counted = settled(before, calls, || counted(self))?;
        Ok(Measured { ns, calls, counted, behind: 0 })
    }

    fn program(place: &str) -> Place<'static> {
        match place {
            UDP => Place::LocalOut,
            OUTPUT | AT_NETFILTER => Place::PostRouting,
            _ => Place::TcEgress(NEAR),
        }
    }
}

impl KernelPath for Out {
    fn points(&self) -> Vec<Point> {
        let cut = |name, about| Point { name, about, kind: Kind::Cut { less: None } };
        let counted = |name, about, less| Point { name, about, kind: Kind::Cut { less: Some(less) } };
        let mut points = vec![cut(CALL, "getppid: into the kernel and back")];
        if self.connected {
            points.push(cut(SOCKET, "up to the first check in udp_sendmsg: 65536 bytes are refused (EMSGSIZE)"));
        } else {
            points
                .push(cut(SOCKET, "address copied, up to the first check in udp_sendmsg: port 0 is refused (EINVAL)"));
            points.push(cut(ROUTE, "udp_sendmsg and the look-up of a route of type unreachable (EHOSTUNREACH)"));
        }
        let udp = if self.connected {
            "route re-checked, buffer made, filled and freed, UDP and IP headers; dropped at netfilter's LOCAL_OUT"
        } else {
            "what a route that leads somewhere takes more, buffer made, filled and freed, UDP and IP headers; dropped at netfilter's LOCAL_OUT"
        };
        points.push(counted(UDP, udp, AT_NETFILTER));
        points.push(counted(OUTPUT, "ip_output; dropped at netfilter's POST_ROUTING", AT_NETFILTER));
        points.push(counted(ETHERNET, "fragment check, neighbour, Ethernet header; dropped at tc egress", AT_TC));
        if self.far.is_none() {
            points.push(cut(QUEUE, "into a queueing discipline, its lock included, which drops (blackhole)"));
            let about = "into the driver, which drops (ifb)";
            points.push(Point { name: DRIVER, about, kind: Kind::Whole });
        } else {
            let about = "no queueing discipline; veth's transmit, and the far end's soft interrupt up to an XDP program that drops";
            points.push(Point { name: VETH, about, kind: Kind::Whole });
        }
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
                let timed =
                    time_calls(time, || if udp::null_call() < 0 { Err("no parent".to_owned()) } else { Ok(()) })?;
                Ok(refused(timed, 0))
            }
            SOCKET => {
                let (to, wanted) =
                    if self.connected { (None, libc::EMSGSIZE) } else { (Some((THERE, 0)), libc::EINVAL) };
                let timed = self.calls(to, Some(wanted), time)?;
                Ok(refused(timed, self.reached()? - before))
            }
            ROUTE => {
                let timed = self.calls(Some((NOWHERE, PORT)), Some(libc::EHOSTUNREACH), time)?;
                Ok(refused(timed, self.reached()? - before))
            }
            UDP | OUTPUT | ETHERNET => {
                let cut = Cut::drop_at(Self::program(point)).map_err(text)?;
                // Netfilter's drop is an error for the sender; traffic control's is not reported to a UDP sender.
                let wanted = if point == ETHERNET { None } else { Some(libc::EPERM) };
                let (ns, calls) = self.send(wanted, time)?;
                let counted = cut.count().map_err(text)?;
                Ok(Measured { ns, calls, counted, behind: self.reached()? - before })
            }
            QUEUE => {
                self.lan.net.blackhole(NEAR, true).map_err(text)?;
                let drops = self.lan.net.queue_drops(NEAR).map_err(text)?;
                let sent = self.send(None, time);
                let dropped = self.lan.net.queue_drops(NEAR).map_err(text)?.wrapping_sub(drops);
                self.lan.net.blackhole(NEAR, false).map_err(text)?;
                let (ns, calls) = sent?;
                let behind = self.reached()? - before;
                Ok(Measured { ns, calls, counted: u64::from(dropped), behind })
            }
            DRIVER | VETH => self.all_the_way(time),
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
