//! The receive path of TCP: from the far end of a veth pair to a socket's reader, as of UDP.
//!
//! The receiver's connection is restored (TCP_REPAIR), and its peer's segments are written by hand and sent by a packet
//! socket: the peer sends nothing again, and its checksums have to be verified. Acknowledgements are dropped by an XDP program
//! where they leave the receiver's namespace.

use super::Row;
use super::kernel_path::{KernelPath, Kind, Measured, Point, time_of, time_stretches};
use super::lan::{FAR, HERE, Lan, NEAR, PORT, THERE, settled};
use crate::profile::peer::Peer;
use crate::profile::sys::packet::Injector;
use crate::profile::sys::tcp::{self, Restored};
use crate::profile::{Order, Span};
use linerate_host::{Cause, Cut, Error, Place};
use linerate_wire::{MacAddr, TcpFlags};
use std::io;
use std::net::{SocketAddrV4, TcpStream};

pub(super) const ROWS: &[Row] = &[Row { id: "rx-tcp-kernel-recv", title: "kernel TCP recv", build: In::build }];

const SENDING: &str = "sending";
const DEVICE: &str = "veth, softirq";
const INPUT: &str = "ip input";
const ROUTE: &str = "route";
const SOCKET: &str = "socket";
const TCP: &str = "tcp input";
const READ: &str = "read, acknowledgement";
const AT_NETFILTER: &str = "netfilter";
const AT_TC: &str = "tc";
const FILTER: &str = "socket filter";

/// Segments of a stretch: a receiver's first buffer holds them.
const STRETCH: u32 = 16;

struct In {
    lan: Lan,
    injector: Injector,
    payload: Vec<u8>,
    /// Program at the near interface, which drops acknowledgements.
    _acknowledgements: Cut,
}

/// A receiver, and the numbers of its peer.
struct Receiver {
    stream: TcpStream,
    peer: Peer,
    frames: Vec<Vec<u8>>,
    room: Vec<u8>,
    payload: Vec<u8>,
}

fn named(errno: i32) -> String {
    io::Error::from_raw_os_error(errno).to_string()
}

impl In {
    fn build(order: &Order) -> Result<Box<dyn KernelPath>, Error> {
        let mut lan = Lan::veth()?;
        let index = lan.net.link(NEAR)?.index;
        let injector = Injector::new(index)
            .map_err(|e| Error::new("packet socket", Cause::System, e, "see what the kernel logged, and try again"))?;
        let acknowledgements = Cut::drop_at(Place::Xdp(NEAR))?;
        let payload = vec![0x55; order.payload()];
        Ok(Box::new(Self { lan, injector, payload, _acknowledgements: acknowledgements }))
    }

    /// A receiver at the far end.
    fn receiver(&self) -> Result<Receiver, String> {
        let peer = Peer {
            here: (MacAddr(self.lan.stations[0]), SocketAddrV4::new(HERE, 7)),
            there: (MacAddr(self.lan.stations[1]), SocketAddrV4::new(THERE, PORT)),
            seq: 1000,
            ack: 5000,
            stamps: (1, 0),
            window: u16::MAX,
        };
        let numbers = Restored {
            local: peer.there.1,
            remote: peer.here.1,
            seq: peer.ack,
            peer_seq: peer.seq,
            window: u32::from(peer.window) << 14,
            mss: 1460,
        };
        let restored = self.lan.at_far(|| tcp::restore(&numbers)).map_err(|e| e.to_string())?;
        let stream = restored.map_err(|e| format!("restoring a connection (TCP_REPAIR): {e}"))?;
        let payload = self.payload.clone();
        Ok(Receiver { stream, peer, frames: Vec::new(), room: vec![0; payload.len() + 1], payload })
    }

    /// Sends a frame; a call must end as `wanted`: with an error number, or for `None` having sent all.
    fn inject(&self, frame: &[u8], wanted: Option<i32>) -> Result<(), String> {
        match (self.injector.send(frame), wanted) {
            (Ok(n), None) if n == frame.len() => Ok(()),
            (Err(e), Some(wanted)) if e == wanted => Ok(()),
            (Ok(n), _) => Err(format!("a call sent {n} of {} bytes", frame.len())),
            (Err(e), _) => Err(named(e)),
        }
    }

    /// Sends stretches to a point at which all is dropped, which `count` counts.
    fn dropped(
        &self,
        mut receiver: Receiver,
        wanted: Option<i32>,
        count: &dyn Fn(&Receiver) -> Result<u64, String>,
        time: Span<'_>,
    ) -> Result<Measured, String> {
        receiver.prepare()?;
        let before = count(&receiver)?;
        let (ns, calls) = time_stretches(time, || {
            let mut frames = receiver.frames.iter();
            let ns = time_of(STRETCH, || self.inject(frames.next().map_or(&[][..], Vec::as_slice), wanted))?;
            Ok((ns, u64::from(STRETCH)))
        })?;
        let counted = settled(before, calls, || count(&receiver))?;
        let behind = receiver.drain()?;
        receiver.forget()?;
        Ok(Measured { ns, calls, counted, behind })
    }

    /// Sends stretches, each read at its end, outside of the time; with `reads`, each segment is read at once.
    fn taken(&self, mut receiver: Receiver, reads: bool, time: Span<'_>) -> Result<Measured, String> {
        let mut counted = 0;
        let (ns, calls) = time_stretches(time, || {
            receiver.prepare()?;
            let Receiver { stream, frames, room, payload, .. } = &mut receiver;
            let mut frames = frames.iter();
            let ns = time_of(STRETCH, || {
                self.inject(frames.next().map_or(&[][..], Vec::as_slice), None)?;
                if !reads {
                    return Ok(());
                }
                match tcp::receive(stream, room) {
                    Ok(n) if n == payload.len() => Ok(()),
                    Ok(n) => Err(format!("{n} of {} bytes arrived", payload.len())),
                    Err(e) => Err(format!("nothing arrived: {}", named(e))),
                }
            })?;
            counted += if reads { u64::from(STRETCH) } else { receiver.drain()? };
            receiver.pass();
            Ok((ns, u64::from(STRETCH)))
        })?;
        receiver.forget()?;
        Ok(Measured { ns, calls, counted, behind: 0 })
    }

    fn place(point: &str) -> Place<'static> {
        match point {
            SENDING => Place::TcEgress(NEAR),
            DEVICE | AT_TC => Place::TcIngress(FAR),
            INPUT | AT_NETFILTER => Place::PreRouting,
            _ => Place::LocalIn,
        }
    }
}

impl Receiver {
    /// Writes the frames of the next stretch.
    fn prepare(&mut self) -> Result<(), String> {
        let mut peer = self.peer;
        let flags = TcpFlags::ACK.union(TcpFlags::PSH);
        self.frames.resize(STRETCH as usize, vec![0; self.payload.len() + 66]);
        for frame in &mut self.frames {
            peer.frame(frame, flags, &[], &self.payload).ok_or("a frame is too long")?;
            peer.seq = peer.seq.wrapping_add(u32::try_from(self.payload.len()).unwrap_or(0));
        }
        Ok(())
    }

    /// The frames of a stretch were taken.
    fn pass(&mut self) {
        let bytes = u32::try_from(self.payload.len()).unwrap_or(0) * STRETCH;
        self.peer.seq = self.peer.seq.wrapping_add(bytes);
    }

    /// Reads all that there is; returns the number of segments.
    fn drain(&mut self) -> Result<u64, String> {
        let mut bytes = 0;
        loop {
            match tcp::receive(&self.stream, &mut self.room) {
                Ok(n) if n > 0 => bytes += n,
                Err(libc::EAGAIN) => return Ok((bytes / self.payload.len()) as u64),
                Ok(_) => return Err("the connection has ended".to_owned()),
                Err(e) => return Err(named(e)),
            }
        }
    }

    fn forget(self) -> Result<(), String> {
        tcp::forget(self.stream).map_err(|e| format!("TCP_REPAIR: {e}"))
    }
}

impl KernelPath for In {
    fn points(&self) -> Vec<Point> {
        let cut = |name, about, less| Point { name, about, kind: Kind::Cut { less } };
        let program = |name, about| Point { name, about, kind: Kind::Program };
        vec![
            Point {
                name: SENDING,
                about: "a send of a packet socket, dropped at tc egress",
                kind: Kind::Base { less: Some(AT_TC) },
            },
            cut(DEVICE, "veth's transmit, and the soft interrupt up to tc ingress, which drops", Some(AT_TC)),
            cut(INPUT, "ip_rcv; dropped at netfilter's PRE_ROUTING", Some(AT_NETFILTER)),
            cut(ROUTE, "the routing decision, up to netfilter's LOCAL_IN, which drops", Some(AT_NETFILTER)),
            cut(SOCKET, "TCP header, the connection is found, up to a socket filter, which drops", Some(FILTER)),
            cut(TCP, "checksum over all of it, numbers, queued; few acknowledgements, as nothing is read", None),
            Point {
                name: READ,
                about: "copied and freed by recv, a system call a segment, which acknowledges each, as far as XDP at the other end",
                kind: Kind::Whole,
            },
            program(AT_TC, "a BPF program that counts and lets pass"),
            program(AT_NETFILTER, "a BPF program that counts and lets pass"),
            program(FILTER, "a filter that lets pass"),
        ]
    }

    fn measure(&mut self, point: &str, time: Span<'_>) -> Result<Measured, String> {
        let text = |e: Error| e.to_string();
        let receiver = self.receiver()?;
        match point {
            SENDING => {
                let cut = Cut::drop_at(Self::place(point)).map_err(text)?;
                self.dropped(receiver, Some(libc::ENOBUFS), &|_| cut.count().map_err(text), time)
            }
            DEVICE | INPUT | ROUTE => {
                let cut = self.lan.cut_at_far(Self::place(point), false).map_err(text)?;
                self.dropped(receiver, None, &|_| cut.count().map_err(text), time)
            }
            SOCKET => {
                tcp::filter(&receiver.stream, false).map_err(|e| format!("a socket filter: {e}"))?;
                let drops = |receiver: &Receiver| tcp::drops(&receiver.stream).map(u64::from);
                self.dropped(receiver, None, &|receiver| drops(receiver).map_err(|e| format!("SO_MEMINFO: {e}")), time)
            }
            TCP => self.taken(receiver, false, time),
            READ => self.taken(receiver, true, time),
            FILTER => {
                tcp::filter(&receiver.stream, true).map_err(|e| format!("a socket filter: {e}"))?;
                self.taken(receiver, true, time)
            }
            AT_NETFILTER | AT_TC => {
                let program = self.lan.cut_at_far(Self::place(point), true).map_err(text)?;
                let measured = self.taken(receiver, true, time)?;
                Ok(Measured { counted: measured.counted.min(program.count().map_err(text)?), ..measured })
            }
            other => Err(format!("there is no point {other}")),
        }
    }
}
