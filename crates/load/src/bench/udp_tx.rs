//! Bench of a sender's cost per UDP datagram, from the send call to the ring.

use super::alone::{each_ns, on_core};
use super::{Bench, How, Missing, Peer, Setting, failed};
use linerate_result::Unit;
use linerate_rt::Clock;
use linerate_rt::net::{Node, Options};
use linerate_stack::{Path, UdpId};
use linerate_wire::{EtherType, EthernetFrame, IpProtocol, Ipv4Packet, MacAddr, UdpDatagram};
use std::net::Ipv4Addr;
use std::time::Duration;

pub(super) const BENCH: Bench = Bench {
    name: "udp-tx",
    about: "64-byte UDP frames from the send call to the ring of null:, by the fast path; one core",
    unit: Unit::Ns,
    two_cores: false,
    bound: Some(40.0),
    run: |setting| run(setting, Path::Fast),
    peers: &[
        Peer { name: "kernel's connected send", how: How::Script(&["udp-send", "--how", "send"]), wanted: Some(20.0) },
        Peer { name: "long way", how: How::Own(|setting| run(setting, Path::Long)), wanted: Some(3.0) },
        Peer { name: "flow table", how: How::Own(|setting| run(setting, Path::Flow)), wanted: None },
    ],
};

/// Datagrams between two syncs.
const BATCH: usize = 256;
/// Bytes of a frame, and of its payload.
const SIZE: usize = 64;
const BODY: usize = SIZE - 42;

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];
const PORTS: [u16; 2] = [1234, 9];

fn run(setting: &Setting, path: Path) -> Result<f64, Missing> {
    let time = setting.time;
    on_core(setting.cores[0], move || measure(path, time))
}

fn measure(path: Path, time: Duration) -> Result<f64, Missing> {
    let mut bed = Bed::new(path)?;
    let ns = each_ns(time, || bed.send())?;
    bed.judge(path)?;
    Ok(ns)
}

/// A host with one connected socket on `null:`.
struct Bed {
    node: Node,
    socket: UdpId,
    /// Payloads, sent in turn.
    bodies: [[u8; BODY]; BATCH],
    sent: u64,
    clock: Clock,
}

impl Bed {
    fn new(path: Path) -> Result<Self, Missing> {
        let options = Options { mac: Some(MACS[0]), software: true, ..Options::default() };
        let address = linerate_stack::Cidr::new(HERE.into(), 24).ok_or_else(|| failed("no address"))?;
        let mut node = Node::open("null:", &[address], &options).map_err(failed)?;
        let host = &mut node.ip.host;
        host.set_path(path);
        host.neighbours().insert_permanent(THERE.into(), MACS[1]).map_err(failed)?;
        let socket = host.udp_bind((Ipv4Addr::UNSPECIFIED, PORTS[0]).into()).map_err(failed)?;
        host.udp_connect(socket, Some((THERE, PORTS[1]).into()));
        Ok(Self { node, socket, bodies: std::array::from_fn(body), sent: 0, clock: Clock::new() })
    }

    /// Sends each payload once; every datagram must be accepted.
    fn send(&mut self) -> Result<u64, Missing> {
        let Self { node, socket, bodies, clock, .. } = self;
        let now = clock.now();
        let (host, mut tx) = node.parts();
        for body in bodies.iter() {
            host.udp_send(now, *socket, None, body, &mut tx).map_err(failed)?;
        }
        node.flush(now);
        self.sent += BATCH as u64;
        Ok(BATCH as u64)
    }

    /// Checks that all were sent, by the intended path, and that those still in the ring are right in every field.
    fn judge(&mut self, path: Path) -> Result<(), Missing> {
        let count = *self.node.ip.host.counters();
        // One datagram per second takes the slow path, to maintain the neighbour entry.
        let by = |n: u64, all: bool| if all { n + 2 + self.sent / 1_000_000 >= self.sent } else { n == 0 };
        let went = by(count.udp_fast, path == Path::Fast)
            && (path != Path::Flow || count.udp_flow + 2 + self.sent / 1_000_000 >= self.sent);
        let port = self.node.line().tx_counters();
        if count.udp_sent != self.sent || !went || port.frames != self.sent || port.bytes != self.sent * SIZE as u64 {
            return Err(failed(format!("{} datagrams were sent, but counted were {count:?}", self.sent)));
        }
        // `null:` leaves frames in their slots: the slots to be filled next hold the oldest ones.
        let mut batch = self.node.port_tx().ring.reserve(u32::MAX);
        let mut at = None;
        for i in 0..batch.len() {
            let frame = batch.frame(i);
            let Some(bytes) = frame.bytes().and_then(|bytes| bytes.get(..SIZE)) else { continue };
            if bytes.iter().all(|byte| *byte == 0) && at.is_none() {
                // Never used: there were fewer datagrams than slots.
                continue;
            }
            let number = read(bytes).ok_or_else(|| failed(format!("a frame came out wrong: {bytes:02x?}")))?;
            if at.is_some_and(|before| (before + 1) % BATCH != number) {
                return Err(failed(format!("after frame {at:?} stands {number} in the ring")));
            }
            at = Some(number);
        }
        at.map(|_| ()).ok_or_else(|| failed("no frame stands in the ring"))
    }
}

/// Payload with this number in its first two bytes.
fn body(number: usize) -> [u8; BODY] {
    let mut body = [0x55; BODY];
    body[..2].copy_from_slice(&u16::try_from(number).unwrap_or(0).to_be_bytes());
    body
}

/// Number of a frame; `None` unless all its fields and checksums are right.
fn read(bytes: &[u8]) -> Option<usize> {
    let frame = EthernetFrame::new_checked(bytes).ok()?;
    let ip = Ipv4Packet::new_checked(frame.payload()).ok()?;
    let udp = UdpDatagram::new_checked(ip.payload()).ok()?;
    let number = usize::from(u16::from_be_bytes(*udp.payload().first_chunk()?));
    let right = (frame.dst(), frame.src(), frame.ethertype()) == (MACS[1], MACS[0], EtherType::IPV4)
        && (ip.src(), ip.dst(), ip.protocol()) == (HERE, THERE, IpProtocol::UDP)
        && usize::from(ip.total_len()) == SIZE - 14
        && (ip.ident(), ip.dont_fragment()) == (0, true)
        && ip.verify_checksum()
        && (udp.src_port(), udp.dst_port()) == (PORTS[0], PORTS[1])
        && udp.checksum() != 0
        && udp.verify_checksum_v4(HERE, THERE)
        && udp.payload() == body(number);
    right.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_makes_the_frames_that_were_meant() {
        for path in [Path::Fast, Path::Flow, Path::Long] {
            let mut bed = Bed::new(path).unwrap();
            for _ in 0..9 {
                bed.send().unwrap();
            }
            bed.judge(path).unwrap();
            assert!(path != Path::Long || bed.judge(Path::Fast).is_err(), "it was the long way");
        }
    }

    #[test]
    fn a_wrong_byte_is_found() {
        let mut bed = Bed::new(Path::Fast).unwrap();
        for _ in 0..5 {
            bed.send().unwrap();
        }
        bed.judge(Path::Fast).unwrap();
        for at in [0, 14, 18, 25, 33, 40, 63] {
            let flip = |bed: &mut Bed| {
                let mut batch = bed.node.port_tx().ring.reserve(100);
                let mut frame = batch.frame(99);
                frame.bytes_mut().unwrap()[at] ^= 0x10;
            };
            flip(&mut bed);
            assert!(bed.judge(Path::Fast).is_err(), "byte {at}");
            flip(&mut bed);
            bed.judge(Path::Fast).unwrap();
        }
    }
}
