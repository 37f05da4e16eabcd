//! Echo requests to one host (RFC 792, RFC 4443): packets of which sizes come back, and when. They are not fragmented.

use crate::sys::icmp;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Header of an echo message, and of the packets around it.
const HEADER: usize = 8;
const V4: usize = 20;
const V6: usize = 40;
/// Longest packet.
const MOST: usize = 65_535;

/// A conversation of echo messages with one host.
#[derive(Debug)]
pub struct Echo {
    // The kernel's sockets of this family are all connected, written and read in one way.
    socket: UdpSocket,
    raw: bool,
    v6: bool,
    id: u16,
    sequence: u16,
    buffer: Vec<u8>,
}

/// Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    let sum = bytes.chunks(2).map(word).fold(0_u32, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    !u16::try_from(sum & 0xffff).unwrap_or_default()
}

impl Echo {
    /// Opens a socket to a host.
    ///
    /// # Errors
    /// The system has no such socket for this user (neither `net.ipv4.ping_group_range` nor CAP_NET_RAW), or no way to the
    /// host.
    pub fn open(to: IpAddr) -> io::Result<Self> {
        let to = to.to_canonical();
        let v6 = to.is_ipv6();
        let (fd, raw) = icmp::open(v6)?;
        let socket = UdpSocket::from(fd);
        // Told from those of others by it: a socket without privileges gets only its own.
        let id = u16::try_from(std::process::id() & 0xffff).unwrap_or_default();
        socket.connect(SocketAddr::new(to, 0))?;
        Ok(Self { socket, raw, v6, id, sequence: 0, buffer: vec![0; MOST] })
    }

    /// Smallest and largest packet that can be asked for.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        (if self.v6 { V6 } else { V4 } + HEADER, MOST)
    }

    /// Sends a request in a packet of so many bytes with its IP header, and waits for the response. None: there is none in time, or
    /// the packet is longer than the interface takes.
    ///
    /// # Errors
    /// The system's, of sending.
    pub fn ask(&mut self, packet: usize, limit: Duration) -> io::Result<Option<Duration>> {
        let (least, most) = self.sizes();
        let length = packet.clamp(least, most) - if self.v6 { V6 } else { V4 };
        self.sequence = self.sequence.wrapping_add(1);
        let message = self.request(length);
        let began = Instant::now();
        match self.socket.send(&message) {
            Ok(_) => {}
            Err(e) if e.raw_os_error() == Some(libc::EMSGSIZE) => return Ok(None),
            // Of an earlier request.
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => {}
            Err(e) => return Err(e),
        }
        loop {
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            self.socket.set_read_timeout(Some(left))?;
            match self.socket.recv(&mut self.buffer) {
                Ok(got) if self.is_response(got, message.len()) => return Ok(Some(began.elapsed())),
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(None),
                Err(e) if e.kind() == ErrorKind::Interrupted => return Ok(None),
                // What a router says of a packet (too long, no way) is no response.
                Err(_) => {}
            }
        }
    }

    /// The request with the present number, and content that no link compresses.
    fn request(&self, length: usize) -> Vec<u8> {
        let mut message = vec![0; length.max(HEADER)];
        message[0] = if self.v6 { 128 } else { 8 };
        message[4..6].copy_from_slice(&self.id.to_be_bytes());
        message[6..8].copy_from_slice(&self.sequence.to_be_bytes());
        let mut state = u32::from(self.sequence) | 1;
        for byte in &mut message[HEADER..] {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = state.to_be_bytes()[0];
        }
        // Of ICMPv6 the kernel makes the checksum, which has the addresses.
        if !self.v6 {
            let sum = checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        message
    }

    /// True if what was received is the response to the present request, with all its bytes.
    fn is_response(&self, got: usize, length: usize) -> bool {
        let packet = self.buffer.get(..got).unwrap_or_default();
        // A raw socket of IPv4 gives the IP header too.
        let header = match packet.first() {
            Some(first) if self.raw && !self.v6 => usize::from(first & 0xf) * 4,
            _ => 0,
        };
        let Some(message) = packet.get(header..).filter(|message| message.len() >= HEADER) else { return false };
        let number = message[6..8] == self.sequence.to_be_bytes();
        let ours = !self.raw || message[4..6] == self.id.to_be_bytes();
        let kind = if self.v6 { 129 } else { 0 };
        message[0] == kind && number && ours && message.len() == length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn checksums_are_those_of_rfc_1071() {
        // The example of its section 3: the sum is ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xff]), !0xff00);
    }

    #[test]
    fn this_host_answers_itself_packets_of_all_sizes() {
        for to in ["127.0.0.1", "::1"] {
            let to = to.parse().unwrap();
            let Some(mut echo) = linerate_skip::permitted(Echo::open(to), |e| {
                matches!(
                    e.kind(),
                    ErrorKind::PermissionDenied | ErrorKind::AddrNotAvailable | ErrorKind::NetworkUnreachable
                )
            }) else {
                return;
            };
            for size in [0, 100, 1500, 9000, 65_535, 1_000_000] {
                assert!(echo.ask(size, LIMIT).unwrap().is_some_and(|time| time < LIMIT), "{to} {size}");
            }
        }
    }

    #[test]
    fn only_the_response_to_the_present_request_is_one() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut echo = Echo { socket, raw: true, v6: false, id: 7, sequence: 9, buffer: vec![0; MOST] };
        let response =
            |kind: u8, id: u8, number: u8| [&[0x45][..], &[0; 19], &[kind, 0, 0, 0, 0, id, 0, number, 1]].concat();
        for (bytes, is) in [
            (response(0, 7, 9), true),
            (response(8, 7, 9), false),
            (response(0, 6, 9), false),
            (response(0, 7, 8), false),
            (response(0, 7, 9)[..28].to_vec(), false),
            (vec![0x4f; 20], false),
            (Vec::new(), false),
        ] {
            echo.buffer[..bytes.len()].copy_from_slice(&bytes);
            assert_eq!(echo.is_response(bytes.len(), 9), is, "{bytes:?}");
        }
    }
}
