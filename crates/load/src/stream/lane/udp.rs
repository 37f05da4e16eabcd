//! Lanes of datagrams.

use super::Job;
use super::pace::Pace;
use crate::socket::UdpSocket;
use crate::stream::fault::Fault;
use crate::stream::protocol::{Header, Receipt};
use linerate_rt::monotonic_ns;
use std::io::ErrorKind;

/// Time in ns after the end within which a receiver takes what has arrived.
const LATE_NS: u64 = 200_000_000;

impl Job {
    /// Sends datagrams until the end, or a limit.
    pub(super) fn send_udp(&self, socket: &UdpSocket) -> Result<(), Fault> {
        let (mut datagram, wide) = (self.payload.block.clone(), self.settings.wide_counters);
        let (mut number, mut bytes) = (0, 0);
        let mut pace = Pace::new(self.settings.rate, self.settings.burst);
        while !self.shared.is_done(true) && self.shared.claim(datagram.len() as u64) && pace.wait(bytes, &self.shared) {
            number += 1;
            Header { sent_us: monotonic_ns() / 1000, number }.write(wide, &mut datagram);
            self.counters.sent(number);
            loop {
                match socket.send(&datagram) {
                    Ok(n) => {
                        bytes += n as u64;
                        self.counters.bytes(bytes);
                    }
                    Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                    // The interface's queue is full: the datagram is lost here, as it could be anywhere.
                    Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => {}
                    Err(e) => return self.is_over(Fault::Write(e)),
                }
                break;
            }
        }
        Ok(())
    }

    /// Receives until the end, and then what has arrived.
    pub(super) fn receive_udp(&self, socket: &UdpSocket) -> Result<(), Fault> {
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
            let Some(header) = Header::read(wide, &datagram[..n]) else {
                // The end that was shut down, or no datagram of a test.
                if n == 0 && self.shared.is_done(false) {
                    return Ok(());
                }
                continue;
            };
            if counted != self.shared.counted() {
                counted = self.shared.counted();
                receipt.calm();
            }
            receipt.arrived(header, monotonic_ns() / 1000);
            bytes += n as u64;
            self.counters.bytes(bytes);
            self.counters.received(&receipt);
            self.shared.got(n as u64, 1);
        }
    }
}
