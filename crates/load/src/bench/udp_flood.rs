//! Bench of a flood of UDP datagrams over a cable, from one host's socket to another's.

use super::{Bench, Missing, Setting, failed};
use linerate_result::Unit;
use linerate_rt::net::{Node, Options};
use linerate_rt::{Clock, spawn};
use linerate_stack::{Cidr, SendError, UdpId};
use linerate_text::saturating_ns;
use linerate_wire::MacAddr;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};

pub(super) const BENCH: Bench = Bench {
    name: "udp-flood",
    about: "64-byte UDP frames by the fast path over a cable, taken from a socket on the other core and checked there",
    unit: Unit::Pps,
    two_cores: true,
    bound: Some(15e6),
    run,
    peers: &[],
};

/// Datagrams between two clock readings.
const BATCH: usize = 256;
/// Payload of a 64-byte frame, bytes.
pub(super) const BODY: usize = 22;
/// Addresses of the sender and of the receiver.
const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];
pub(super) const PORT: u16 = 9;
/// Longest time that datagrams may be in transit after the last was sent, nanoseconds.
const PATIENCE: u64 = 1_000_000_000;
/// Value of the count while datagrams are still being sent.
const MORE: u64 = u64::MAX;

fn run(setting: &Setting) -> Result<f64, Missing> {
    let [sender, receiver] = hosts("udp-flood")?;
    let time = saturating_ns(setting.time);
    let sent = Arc::new(AtomicU64::new(MORE));
    let theirs = sent.clone();
    let taking = spawn("udp-flood-rx", &[setting.cores[1]], move || receive(receiver, &theirs)).map_err(failed)?;
    let giving = spawn("udp-flood-tx", &[setting.cores[0]], move || {
        let given = send(sender, time);
        // The receiver ends when it knows the number sent, also after an error.
        sent.store(given.clone().unwrap_or(0), Release);
        given
    });
    let given = giving.map_err(failed)?.join().map_err(|_| failed("the sender panicked"))?;
    let taken = taking.join().map_err(|_| failed("the receiver panicked"))?;
    taken?.rate(given?)
}

/// Makes two hosts at the ends of a cable, with permanent neighbour entries for each other.
pub(super) fn hosts(cable: &str) -> Result<[(Node, UdpId); 2], Missing> {
    let ports = ["{1", "}1"].map(|end| format!("cable:{cable}{end}"));
    let ports = [ports[0].as_str(), &ports[1]];
    let cidr = |at: usize| Cidr::new(HOSTS[at].into(), 24).ok_or_else(|| failed("no address"));
    let addresses: [&[Cidr]; 2] = [&[cidr(0)?], &[cidr(1)?]];
    // Checksums are made and verified, although a cable could do without.
    let options = Options { software: true, ..Options::default() };
    let mut nodes = Node::open_all(&ports, &addresses, &options).map_err(failed)?.into_iter();
    let mut host = |at: usize| {
        let mut node = nodes.next().ok_or_else(|| failed("no such end"))?;
        node.set_mac(MACS[at]).map_err(failed)?;
        node.ip.host.neighbours().insert_permanent(HOSTS[1 - at].into(), MACS[1 - at]).map_err(failed)?;
        let socket = node.ip.host.udp_bind((HOSTS[at], PORT).into()).map_err(failed)?;
        Ok((node, socket))
    };
    Ok([host(0)?, host(1)?])
}

/// Connects the first host's socket to the second's.
pub(super) fn connect(node: &mut Node, socket: UdpId) {
    node.ip.host.udp_connect(socket, Some((HOSTS[1], PORT).into()));
}

/// Hands on all that was sent, unless nobody takes it.
pub(super) fn drain(node: &mut Node, clock: &mut Clock) {
    let until = clock.now() + PATIENCE;
    let mut now = 0;
    while node.port_tx().ring.pending() > 0 && now < until {
        now = clock.now();
        node.flush(now);
    }
}

/// Sends for a time; returns the number of datagrams sent.
fn send((mut node, socket): (Node, UdpId), time: u64) -> Result<u64, Missing> {
    connect(&mut node, socket);
    let mut clock = Clock::new();
    let (start, mut now, mut sent) = (clock.now(), 0, 0u64);
    let mut bodies = [[0; BODY]; BATCH];
    while now < start + time {
        now = clock.now();
        // All payloads are written first: one written just before cannot be read in longer words than it was written in
        // (store forwarding).
        for (body, number) in bodies.iter_mut().zip(sent..) {
            *body = datagram(number);
        }
        let (host, mut tx) = node.parts();
        for body in &bodies {
            match host.udp_send(now, socket, None, body, &mut tx) {
                Ok(()) => sent += 1,
                Err(SendError::NoRoom) => break,
                Err(e) => return Err(failed(e)),
            }
        }
        node.flush(now);
    }
    drain(&mut node, &mut clock);
    let count = *node.ip.host.counters();
    // The first datagram makes the header that the others copy, and one per second maintains the neighbour entry.
    if count.udp_sent != sent || count.udp_fast + 2 + sent / 1_000_000 < sent {
        return Err(failed(format!("{sent} datagrams were sent, but counted were {count:?}")));
    }
    Ok(sent)
}

/// Result of the receiver.
struct Taken {
    datagrams: u64,
    /// Datagrams with wrong bytes, sender or order.
    wrong: u64,
    /// Datagrams that the host dropped, with a reason.
    dropped: u64,
    /// Time from before the first datagram to behind the last one, nanoseconds.
    time: u64,
}

/// Takes and checks datagrams until all sent ones have arrived, or no more arrive.
fn receive((mut node, socket): (Node, UdpId), sent: &AtomicU64) -> Result<Taken, Missing> {
    let mut clock = Clock::new();
    let (mut datagrams, mut wrong, mut next) = (0u64, 0u64, 0u64);
    let (mut first, mut last) = (None, clock.now());
    let mut buffer = [0; 2048];
    let from = (HOSTS[0], PORT).into();
    loop {
        let now = clock.now();
        node.handle(now);
        let before = datagrams;
        while let Some((n, _, sender)) = node.ip.host.udp_recv(socket, &mut buffer) {
            datagrams += 1;
            let number = buffer.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            // Dropped datagrams leave a gap; none comes twice, or late.
            let right = number >= next && sender == from && buffer[..n] == datagram(number);
            wrong += u64::from(!right);
            next = number.wrapping_add(1);
        }
        if datagrams > before {
            first.get_or_insert(now);
            last = clock.now();
        } else {
            let sent = sent.load(Acquire);
            let dropped = node.ip.host.counters().discards().map(|(_, n)| n).sum::<u64>();
            if sent != MORE && (datagrams + dropped >= sent || now > last + PATIENCE) {
                return Ok(Taken { datagrams, wrong, dropped, time: last - first.unwrap_or(last) });
            }
        }
    }
}

impl Taken {
    /// Datagrams received per second; an error if a datagram was wrong, or went missing without a reason.
    fn rate(&self, sent: u64) -> Result<f64, Missing> {
        let Self { datagrams, wrong, dropped, time } = *self;
        if wrong > 0 || datagrams == 0 || datagrams + dropped != sent {
            let what = format!("{datagrams} were received, {wrong} of them wrong or out of order");
            return Err(failed(format!("of {sent} datagrams {what}; {dropped} were dropped with a reason")));
        }
        Ok(datagrams as f64 * 1e9 / time.max(1) as f64)
    }
}

/// Payload of the datagram with this number.
#[inline]
pub(super) fn datagram(number: u64) -> [u8; BODY] {
    let mut body = [0xa5; BODY];
    body[..8].copy_from_slice(&number.to_be_bytes());
    body[8..16].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_sent_is_received_or_accounted_for() {
        let Some(setting) = Setting::brief() else { return };
        assert!(run(&setting).unwrap() > 0.0);
    }

    #[test]
    fn what_is_wrong_or_missing_fails_the_run() {
        let taken = Taken { datagrams: 90, wrong: 0, dropped: 10, time: 1000 };
        assert_eq!(taken.rate(100), Ok(90e6));
        assert!(taken.rate(101).is_err(), "one went without a reason");
        assert!(Taken { wrong: 1, ..taken }.rate(100).is_err());
        assert!(Taken { datagrams: 0, wrong: 0, dropped: 0, time: 0 }.rate(0).is_err());
    }

    #[test]
    fn a_datagram_that_comes_twice_or_changed_is_wrong() {
        for bad in [|n: u64| datagram(n / 2), |n: u64| datagram(n).map(|b| b.wrapping_add(u8::from(n == 3)))] {
            let [(mut sender, out), receiver] = hosts("udp-wrong").unwrap();
            for n in 0..6 {
                let to = Some((HOSTS[1], PORT).into());
                let (host, mut tx) = sender.parts();
                host.udp_send(1, out, to, &bad(n), &mut tx).unwrap();
            }
            sender.flush(1);
            let taken = receive(receiver, &AtomicU64::new(6)).unwrap();
            assert_eq!(taken.datagrams, 6);
            assert!(taken.wrong > 0 && taken.rate(6).is_err());
        }
    }
}
