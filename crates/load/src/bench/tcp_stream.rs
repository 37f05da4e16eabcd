//! Bench of one TCP connection over a cable, an end on each core, beside a skeleton that does the same to each byte and no more.

use super::tcp::{HEADERS, MSS, Segment};
use super::tcp_pair::{HOSTS, MACS, PATIENCE, connect, hosts, listen};
use super::{Bench, How, Missing, Peer, Setting, failed, tcp_loop};
use linerate_nic::{Flags, Nic, NicConfig, NicRx, NicTx, PUBLISHED};
use linerate_offload::Prepared;
use linerate_port::open_all;
use linerate_result::Unit;
use linerate_rt::net::Node;
use linerate_rt::{Clock, spawn};
use linerate_stack::tcp::TcpId;
use linerate_text::saturating_ns;
use linerate_wire::{TcpFlags, TcpSegment};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

macro_rules! bench {
    ($name:literal, $size:literal, $about:literal, $($peer:expr),*) => {
        Bench {
            name: $name,
            about: $about,
            unit: Unit::BytesPerSecond,
            two_cores: true,
            bound: None,
            run: |setting| run(setting, $size, Ends::new),
            peers: &[$($peer),*],
        }
    };
}

macro_rules! skeleton {
    ($size:literal, $wanted:expr) => {
        Peer {
            name: "the same bytes, copied, segmented and summed",
            how: How::Own(|setting| run(setting, $size, Bare::new)),
            wanted: $wanted,
        }
    };
}

macro_rules! kernel {
    ($wanted:literal, $($argument:literal),*) => {
        Peer { name: "the kernel on a veth pair", how: How::Script(&[$($argument),*]), wanted: Some($wanted) }
    };
}

pub(super) const BIG: Bench = bench!(
    "tcp-stream",
    2048,
    "one TCP connection over a cable, writes of 2 KiB, frames of 1500 bytes with checksums; an end on each core",
    skeleton!(2048, Some(0.5)),
    kernel!(20.0, "iperf3", "-l", "2K")
);
pub(super) const SMALL: Bench = bench!(
    "tcp-stream-64",
    64,
    "one TCP connection over a cable, writes of 64 bytes, frames of 1500 bytes with checksums; an end on each core",
    skeleton!(64, Some(0.3)),
    kernel!(30.0, "iperf3", "-l", "64")
);
pub(super) const HUGE: Bench = bench!(
    "tcp-stream-128k",
    131_072,
    "one TCP connection over a cable, writes of 128 KiB, frames of 1500 bytes with checksums; an end on each core",
    skeleton!(131_072, None),
    kernel!(1.5, "iperf2", "-P", "8", "-l", "128K")
);
pub(super) const SKELETON: Bench = Bench {
    name: "tcp-skeleton",
    about: "what the TCP streams are compared with: writes of 2 KiB, copied, segmented, summed and copied out, over a cable; an end on each core",
    unit: Unit::BytesPerSecond,
    two_cores: true,
    bound: None,
    run: |setting| run(setting, 2048, Bare::new),
    peers: &[Peer {
        name: "the copies and sums alone",
        how: How::Own(|setting| run(setting, 2048, tcp_loop::pair)),
        wanted: Some(0.8),
    }],
};

/// Bytes that are sent again and again.
const PERIOD: usize = 1 << 20;
/// Bytes between two clock readings of the sender.
const STRETCH: usize = 128 << 10;
/// Bytes that are read at once.
const READ: usize = 64 << 10;

pub(super) trait Sends: Send {
    /// Does what is due; true while more can be written.
    fn turn(&mut self, now: u64) -> Result<(), Missing>;
    /// Writes bytes, as many as there is room for.
    fn write(&mut self, bytes: &[u8]) -> usize;
}

pub(super) trait Receives: Send {
    fn turn(&mut self, now: u64);
    /// Reads bytes that have arrived.
    fn read(&mut self, into: &mut [u8]) -> Result<usize, Missing>;
}

pub(super) type Pair = (Box<dyn Sends>, Box<dyn Receives>);

/// The bytes, of which each word says where it is.
fn period() -> Vec<u8> {
    (0..PERIOD as u64 / 8).flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect()
}

/// Bytes per second from end to end.
fn run(setting: &Setting, size: usize, make: fn() -> Result<Pair, Missing>) -> Result<f64, Missing> {
    let (sender, receiver) = make()?;
    let time = saturating_ns(setting.time);
    let over = Arc::new(AtomicBool::new(false));
    let (theirs, ours) = (over.clone(), over.clone());
    let begun = Arc::new(AtomicBool::new(false));
    let seen = begun.clone();
    let written = Arc::new(AtomicU64::new(0));
    let count = written.clone();
    let taking = spawn("tcp-rx", &[setting.cores[1]], move || {
        let taken = receive(receiver, &theirs, &begun);
        theirs.store(true, Relaxed);
        taken
    });
    let giving = spawn("tcp-tx", &[setting.cores[0]], move || {
        let given = send(sender, size, time, &ours, (&seen, &count));
        ours.store(true, Relaxed);
        given
    });
    let given = giving.map_err(failed)?.join().map_err(|_| failed("the sender panicked"))?;
    let (bytes, ns) = taking.map_err(failed)?.join().map_err(|_| failed("the receiver panicked"))??;
    given?;
    if bytes == 0 || bytes > written.load(Relaxed) {
        return Err(failed(format!("{} bytes were written, {bytes} read", written.load(Relaxed))));
    }
    Ok(bytes as f64 * 1e9 / ns.max(1) as f64)
}

fn send(
    mut sender: Box<dyn Sends>,
    size: usize,
    time: u64,
    over: &AtomicBool,
    (begun, written): (&AtomicBool, &AtomicU64),
) -> Result<(), Missing> {
    let (mut clock, period) = (Clock::new(), period());
    // The time begins when the receiver has read something: on a busy machine its thread may come late.
    let mut until = None;
    let mut total = 0;
    loop {
        let now = clock.now();
        if until.is_none() && begun.load(Relaxed) {
            until = Some(now + time);
        }
        if until.is_some_and(|until| now >= until) || over.load(Relaxed) {
            return Ok(());
        }
        sender.turn(now)?;
        let stop = total + STRETCH as u64;
        while total < stop {
            let at = usize::try_from(total % PERIOD as u64).unwrap_or(0);
            let n = sender.write(&period[at..PERIOD.min(at + size)]);
            if n == 0 {
                break;
            }
            total += n as u64;
        }
        written.store(total, Relaxed);
    }
}

/// Reads until the sender is done; the bytes, and the time from the first to the last.
fn receive(mut receiver: Box<dyn Receives>, over: &AtomicBool, begun: &AtomicBool) -> Result<(u64, u64), Missing> {
    let (mut clock, period) = (Clock::new(), period());
    let (mut total, mut first, mut last) = (0_u64, None, clock.now());
    let mut buffer = vec![0; READ];
    while !over.load(Relaxed) {
        let now = clock.now();
        receiver.turn(now);
        let n = receiver.read(&mut buffer)?;
        if n == 0 {
            if now > last + PATIENCE {
                return Err(failed("no bytes come"));
            }
            continue;
        }
        // Where the bytes stand is checked of the first and the last, which no other place has.
        for (at, byte) in [(0, buffer[0]), (n - 1, buffer[n - 1])] {
            let place = usize::try_from((total + at as u64) % PERIOD as u64).unwrap_or(0);
            if period[place] != byte {
                return Err(failed(format!("byte {} is wrong", total + at as u64)));
            }
        }
        total += n as u64;
        first.get_or_insert(now);
        begun.store(true, Relaxed);
        last = clock.now();
    }
    Ok((total, last - first.unwrap_or(last)))
}

// ---- linerate's hosts ----

/// A host at an end of the cable, and its connection.
struct Ends {
    node: Node,
    id: TcpId,
}

impl Ends {
    #[expect(clippy::new_ret_no_self, reason = "both ends are made")]
    fn new() -> Result<Pair, Missing> {
        let mut hosts = hosts("tcp-stream", 1024)?;
        let listener = listen(&mut hosts, 5001)?;
        let (ours, theirs) = connect(&mut hosts, listener, 1)?[0];
        let [near, far] = hosts;
        Ok((Box::new(Self { node: near, id: ours }), Box::new(Self { node: far, id: theirs })))
    }
}

impl Sends for Ends {
    fn turn(&mut self, now: u64) -> Result<(), Missing> {
        self.node.handle(now);
        Ok(())
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) -> usize {
        self.node.ip.host.tcp_write(self.id, bytes).unwrap_or(0)
    }
}

impl Receives for Ends {
    fn turn(&mut self, now: u64) {
        self.node.handle(now);
    }

    fn read(&mut self, into: &mut [u8]) -> Result<usize, Missing> {
        Ok(self.node.ip.host.tcp_read(self.id, into).unwrap_or(0))
    }
}

// ---- the skeleton ----

/// Sender that copies writes into memory, and from there cuts them into frames with headers and checksums.
struct Bare {
    tx: NicTx,
    headers: Prepared,
    memory: Vec<u8>,
    held: usize,
    clock: u64,
}

/// Receiver that verifies each frame's checksum and copies its payload out.
struct BareEnd(NicRx);

impl Bare {
    #[expect(clippy::new_ret_no_self, reason = "both ends are made")]
    fn new() -> Result<Pair, Missing> {
        let ports = open_all(&["cable:tcp-bare{1,slots=1024", "cable:tcp-bare}1,slots=1024"]).map_err(failed)?;
        // Frames are shown where they lie, as hosts have them.
        let tags = Flags::VLAN_HWTAGGING.union(Flags::VLAN_HWFILTER);
        let capabilities = PUBLISHED.difference(Flags::LRO).difference(tags);
        let config = NicConfig { up: true, mac: Some(MACS[1].0), capabilities, verify: false, ..NicConfig::default() };
        let nics = ports.into_iter().map(|port| Nic::new(port, &config).map_err(failed));
        let [mut near, mut far] =
            <[Nic; 2]>::try_from(nics.collect::<Result<Vec<_>, _>>()?).map_err(|_| failed("there are two ends"))?;
        let first = Segment { stream: 7, ident: 0, seq: 0, flags: TcpFlags::ACK, payload: &[] };
        let headers = Prepared::new(&first.frame()?).map_err(failed)?;
        let (tx, rx) = near.take_tx(0).zip(far.take_rx(0)).ok_or_else(|| failed("no queue"))?;
        let ours = Self { tx, headers, memory: vec![0; STRETCH], held: 0, clock: 0 };
        Ok((Box::new(ours), Box::new(BareEnd(rx))))
    }

    /// Sends what is in memory.
    fn flush(&mut self) {
        let mut at = 0;
        while at < self.held {
            let end = self.held.min(at + 44 * MSS);
            let size = u16::try_from(MSS).unwrap_or(0);
            if self.tx.send_prepared(0, &self.headers, &[&self.memory[at..end]], size) {
                at = end;
            }
            self.tx.sync(self.clock);
        }
        self.held = 0;
    }
}

impl Sends for Bare {
    fn turn(&mut self, now: u64) -> Result<(), Missing> {
        self.clock = now;
        Ok(())
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) -> usize {
        if self.held + bytes.len() > self.memory.len() {
            self.flush();
        }
        self.memory[self.held..self.held + bytes.len()].copy_from_slice(bytes);
        self.held += bytes.len();
        bytes.len()
    }
}

impl Receives for BareEnd {
    fn turn(&mut self, now: u64) {
        self.0.poll(now);
    }

    fn read(&mut self, into: &mut [u8]) -> Result<usize, Missing> {
        let (mut at, mut wrong) = (0, 0_u64);
        let room = into.len() / MSS;
        self.0.receive(0, room, |frame| {
            let bytes = frame.head();
            let segment = bytes.get(HEADERS - 20..).and_then(|bytes| TcpSegment::new_checked(bytes).ok());
            match segment.filter(|segment| segment.verify_checksum_v4(HOSTS[0], HOSTS[1])) {
                Some(segment) => {
                    let payload = segment.payload();
                    into[at..at + payload.len()].copy_from_slice(payload);
                    at += payload.len();
                }
                None => wrong += 1,
            }
        });
        if wrong > 0 { Err(failed("a checksum is wrong")) } else { Ok(at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_in_their_order() {
        let Some(setting) = Setting::brief() else { return };
        for size in [64, 2048] {
            for make in [Ends::new, Bare::new, tcp_loop::pair] {
                assert!(run(&setting, size, make).unwrap() > 0.0, "{size}");
            }
        }
    }
}
