//! The fast path: the finished headers of a socket's last datagram, ready for the next one.
//!
//! A template holds the headers of the general path, as words with zeros for lengths and checksums, and
//! the sums of all constant parts. It is valid if two numbers are equal: every change that could affect it increments a
//! generation.

use crate::link::Generation;
use linerate_ring::{Frame, Meta};
use linerate_sum::Sum;
use linerate_wire::{IpProtocol, pseudo_header_v4, pseudo_header_v6};
use std::net::{IpAddr, SocketAddr};

/// Words of Ethernet, a VLAN tag, IPv6 and UDP.
const WORDS: usize = 9;

/// Longest payload of UDP in IPv4; no template is for longer ones.
const MOST: u16 = 65535 - 20 - 8;

/// Length of a datagram for a template: with IPv4's header, it fits 16 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UdpLen(u16);

/// Headers of datagrams from one socket to one destination.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    to: SocketAddr,
    valid: Generation,
    /// Time after which a datagram must take the general path again, so that the neighbour's state is checked.
    until: u64,
    /// Longest payload that needs no fragments, and fits one slot.
    most: u16,
    words: [u64; WORDS],
    v6: bool,
    tagged: bool,
    /// Request to the adapter; if there is one, the payload is not summed here.
    request: Option<Meta>,
    /// Folded sums of the constant parts.
    ip_sum: u16,
    udp_sum: u16,
}

/// Offsets of the IP header without and with a VLAN tag, bytes.
const PLAIN: usize = 14;
const TAGGED: usize = 18;

/// Offset of the UDP header behind the IP header's.
const fn udp_at(ip: usize, v6: bool) -> usize {
    ip + if v6 { 40 } else { 20 }
}

/// Sets a 16-bit field in the words, which must be 0 before.
#[inline(always)]
fn put(words: &mut [u64; WORDS], at: usize, value: u16) {
    words[at / 8] |= u64::from(value) << (48 - 8 * (at % 8));
}

impl Template {
    /// Makes a template from the headers of a datagram: `head` is Ethernet to UDP, the IP header begins at `ip`.
    pub(crate) fn new(
        head: &[u8],
        ip: usize,
        ends: (IpAddr, SocketAddr),
        request: Option<Meta>,
        (valid, until): (Generation, u64),
        most: usize,
    ) -> Self {
        let most = u16::try_from(most).map_or(MOST, |most| most.min(MOST));
        let (from, to) = ends;
        let v6 = to.is_ipv6();
        let tagged = ip == TAGGED;
        let udp = udp_at(ip, v6);
        debug_assert!((tagged || ip == PLAIN) && head.len() == udp + 8, "headers from Ethernet to UDP");
        let mut bytes = [0; 8 * WORDS];
        bytes[..head.len()].copy_from_slice(head);
        // Fields that differ from datagram to datagram.
        bytes[udp + 4..udp + 8].fill(0);
        let protocol = IpProtocol::UDP;
        let mut udp_sum = match (from, to.ip()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                bytes[ip + 2..ip + 4].fill(0);
                bytes[ip + 10..ip + 12].fill(0);
                pseudo_header_v4(src, dst, protocol, 0)
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                bytes[ip + 4..ip + 6].fill(0);
                pseudo_header_v6(src, dst, protocol, 0)
            }
            _ => Sum::new(),
        };
        if request.is_none() {
            udp_sum.add_bytes(&bytes[udp..udp + 4]);
        }
        let mut ip_sum = Sum::new();
        ip_sum.add_bytes(&bytes[ip..ip + 20]);
        let word = |i: usize| u64::from_be_bytes(bytes[8 * i..8 * i + 8].try_into().unwrap_or_default());
        let words = std::array::from_fn(word);
        Self { to, valid, until, most, words, v6, tagged, request, ip_sum: ip_sum.fold(), udp_sum: udp_sum.fold() }
    }

    /// Destination of the datagrams.
    #[inline]
    pub(crate) fn to(&self) -> SocketAddr {
        self.to
    }

    /// True if the template is valid for a datagram.
    #[inline]
    pub(crate) fn holds(&self, valid: Generation, now: u64, to: SocketAddr) -> bool {
        self.valid == valid && now < self.until && self.to == to
    }

    /// Length of a datagram with `len` bytes of payload; None if it is too long for this template.
    #[inline]
    pub(crate) fn udp_len(&self, len: usize) -> Option<UdpLen> {
        u16::try_from(len).ok().filter(|len| *len <= self.most).map(|len| UdpLen(len + 8))
    }

    /// Bytes of the headers.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        udp_at(if self.tagged { TAGGED } else { PLAIN }, self.v6) + 8
    }

    /// Request to the adapter.
    #[inline]
    pub(crate) fn request(&self) -> Option<Meta> {
        self.request
    }

    /// Writes headers and payload.
    #[inline]
    pub(crate) fn write(&self, frame: &mut Frame<'_>, datagram: (&[u8], UdpLen)) {
        match (self.v6, self.tagged) {
            (false, false) => self.write_at::<PLAIN, false>(frame, datagram),
            (false, true) => self.write_at::<TAGGED, false>(frame, datagram),
            (true, false) => self.write_at::<PLAIN, true>(frame, datagram),
            (true, true) => self.write_at::<TAGGED, true>(frame, datagram),
        }
    }

    /// The same for one layout: with constant offsets the words stay in registers, which takes half the instructions.
    #[inline]
    fn write_at<const IP: usize, const V6: bool>(
        &self,
        frame: &mut Frame<'_>,
        (body, UdpLen(udp_len)): (&[u8], UdpLen),
    ) {
        let udp = udp_at(IP, V6);
        let len = udp + 8;
        let mut words = self.words;
        if V6 {
            put(&mut words, IP + 4, udp_len);
        } else {
            let ip_len = udp_len + 20;
            put(&mut words, IP + 2, ip_len);
            put(&mut words, IP + 10, Sum::new().add_u16(self.ip_sum).add_u16(ip_len).finish());
        }
        // The length is summed twice: in the pseudo-header and in the UDP header.
        let mut sum = Sum::new();
        sum.add_u16(self.udp_sum).add_u16(udp_len);
        put(&mut words, udp + 4, udp_len);
        if self.request.is_some() {
            // Sum of the pseudo-header only; the adapter sums the ports.
            put(&mut words, udp + 6, sum.fold());
        } else {
            // A sum of zero is sent as all ones: zero means no checksum (RFC 768).
            let sum = match sum.add_u16(udp_len).add_bytes(body).finish() {
                0 => 0xffff,
                sum => sum,
            };
            put(&mut words, udp + 6, sum);
        }
        // The last word may reach into the payload, which is written next.
        let mut whole = true;
        for (i, word) in words[..len.div_ceil(8)].iter().enumerate() {
            whole &= frame.write_u64(8 * i, *word);
        }
        whole &= frame.write(len, body);
        debug_assert!(whole, "slots hold at least the headers and the payload that was allowed");
    }
}
