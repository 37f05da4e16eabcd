//! Lanes of datagrams.

use super::Job;
use crate::sequence::{Seen, Sequence};
use crate::socket::{Pace, Socket, UdpSocket};
use crate::stream::fault::Fault;
use crate::stream::protocol::{Header, Receipt};
use linerate_rt::monotonic_ns;
use std::io::ErrorKind;
use std::sync::atomic::Ordering::Relaxed;

/// Datagrams of a batch, at most.
const MOST: usize = 32;
/// Time in ns after the end within which a receiver takes what has arrived.
const LATE_NS: u64 = 200_000_000;

impl Job {
    /// Sends datagrams until the end, or a limit.
    pub(super) fn send_udp(&self, socket: &UdpSocket) -> Result<(), Fault> {
        let (len, wide) = (self.payload.block.len(), self.settings.wide_counters);
        let mut pace = Pace::new(self.settings.rate, self.settings.burst);
        // Paced ones leave each at its time.
        let most = if self.settings.rate == 0 { socket.batch() } else { 1 };
        let mut batch = vec![self.payload.block.to_vec(); most];
        let (mut number, mut bytes) = (0, 0);
        while !self.shared.is_done(true) && pace.wait(u128::from(bytes) * 8, || self.shared.is_done(true)) {
            let filled = (0..most).take_while(|_| self.shared.claim(len as u64)).count();
            let sent_us = monotonic_ns() / 1000;
            for datagram in &mut batch[..filled] {
                number += 1;
                Header { sent_us, number }.write(wide, datagram);
            }
            let all: [&[u8]; MOST] = std::array::from_fn(|at| batch.get(at).map_or(&[][..], Vec::as_slice));
            let mut left = &all[..filled];
            while !left.is_empty() {
                match socket.send_batch(left) {
                    Ok(0) if self.shared.is_done(true) => return Ok(()),
                    Ok(0) => socket.wait_for_room(),
                    Ok(n) => {
                        left = &left[n..];
                        bytes += (n * len) as u64;
                        self.counters.bytes(bytes);
                    }
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    // The interface's queue is full: the datagram is lost here, as it could be anywhere.
                    Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => left = &left[1..],
                    // The end may come within a call; what it was to send was not sent.
                    Err(e) => return self.is_over(Fault::Write(e)),
                }
                // Never less than before: a figure in between is a difference.
                self.counters.sent(number - left.len() as u64);
            }
            if filled < most && !self.shared.lacks() {
                break;
            }
        }
        Ok(())
    }

    /// Receives until the end, and then what has arrived.
    pub(super) fn receive_udp(&self, socket: &UdpSocket) -> Result<(), Fault> {
        let (mut sequence, mut seen) = (Sequence::default(), Seen::default());
        let received = self.receive_in(socket, &mut sequence, &mut seen);
        // What was set aside last is nobody's.
        sequence.last(None);
        self.shared.outside.fetch_add(sequence.outside(), Relaxed);
        self.shared.copies.fetch_add(seen.copies(), Relaxed);
        received
    }

    fn receive_in(
        &self,
        socket: &UdpSocket,
        sequence: &mut Sequence<(Header, u64, u64)>,
        seen: &mut Seen,
    ) -> Result<(), Fault> {
        let (mut datagram, wide) = (vec![0; self.payload.block.len()], self.settings.wide_counters);
        let (mut receipt, mut bytes, mut late_until) = (Receipt::default(), 0, None);
        let mut counted = self.shared.counted();
        loop {
            if self.shared.is_done(false)
                && monotonic_ns() > *late_until.get_or_insert_with(|| monotonic_ns() + LATE_NS)
            {
                return Ok(());
            }
            let n = match socket.recv(&mut datagram) {
                Ok(n) => n,
                // A socket of our own is not woken for the end, and has nothing left.
                Err(e) if e.kind() == ErrorKind::WouldBlock && self.shared.is_done(false) => return Ok(()),
                // What the other end's kernel says of a socket that is closed there.
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::Interrupted | ErrorKind::ConnectionRefused | ErrorKind::WouldBlock
                    ) =>
                {
                    continue;
                }
                Err(e) => return self.is_over(Fault::Read(e)),
            };
            // Nothing has come by the socket that has been replaced.
            if n == 0
                && let Some(Socket::Udp(next)) = self.next().as_deref()
            {
                return self.receive_in(next, sequence, seen);
            }
            // The end that was shut down.
            if n == 0 && self.shared.is_done(false) {
                return Ok(());
            }
            if counted != self.shared.counted() {
                counted = self.shared.counted();
                receipt.calm();
            }
            let (now, before, mut datagrams) = (monotonic_ns() / 1000, bytes, 0);
            let mut take = |datagram: &[u8]| {
                // Others are no datagrams of a test.
                let Some(header) = Header::read(wide, datagram) else { return };
                let arrived = (header, now, datagram.len() as u64);
                for (header, now, len) in sequence.take(receipt.highest, header.number, arrived) {
                    receipt.arrived(header.number, header.transit(now), seen.again(header.number));
                    (bytes, datagrams) = (bytes + len, datagrams + 1);
                }
            };
            take(&datagram[..n]);
            socket.recv_batch(take);
            self.counters.bytes(bytes);
            self.counters.received(&receipt);
            self.shared.got(bytes - before, datagrams);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::lane::{Limit, Payload, Shared};
    use crate::stream::settings::{Settings, Transport};
    use std::sync::Arc;

    #[test]
    fn a_datagram_that_the_end_keeps_from_being_sent_is_not_counted() {
        let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(other.local_addr().unwrap()).unwrap();
        let socket = Arc::new(Socket::Udp(UdpSocket::Kernel(socket)));
        socket.shut_down();
        let settings = Settings { transport: Transport::Udp, block: 100, rate: 0, ..Settings::default() };
        let job = Job {
            socket: socket.clone(),
            next: crate::stream::lane::Next::default(),
            sends: true,
            counters: Arc::default(),
            shared: Arc::new(Shared::new(Limit::None, None, false, 1).unwrap()),
            payload: Arc::new(Payload::new(100, false, false, linerate_rt::random).unwrap()),
            settings: Arc::new(settings),
            file: None,
        };
        let Socket::Udp(udp) = &*socket else { unreachable!() };
        assert!(matches!(job.send_udp(udp), Err(Fault::Write(_))));
        assert_eq!((job.counters.read().packets, job.counters.read().bytes), (0, 0));
    }
}
