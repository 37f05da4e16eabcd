//! A received frame for LRO: offsets and numbers of its TCP segment.

use linerate_wire::{IpProtocol, TcpFlags};

use super::super::checksum::Verdict;
use super::super::headers::{Headers, Version, u16_at, u32_at};
use super::Received;

/// Bytes of a frame that are parsed; segments with longer headers are not merged.
pub(super) const FRONT: usize = 128;

#[derive(Debug)]
pub(super) struct Segment {
    /// Hash of addresses and ports; never 0.
    pub(super) hash: u32,
    /// True if the segment meets all rules that concern it alone.
    pub(super) mergeable: bool,
    pub(super) push: bool,
    pub(super) version: Version,
    pub(super) network: usize,
    pub(super) transport: usize,
    /// Offsets of the payload's start and end.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) seq: u32,
    /// Identification of IPv4; 0 on IPv6.
    pub(super) ident: u16,
    /// True if the identification may be the same for all segments ("don't fragment" is set).
    pub(super) atomic: bool,
    /// TSval, if a time-stamp is the only option, with the layout that RFC 7323, appendix A recommends.
    pub(super) timestamp: Option<u32>,
}

impl Segment {
    /// Parses the segment in a frame; `None` if the frame holds no TCP header, or is a fragment.
    #[inline]
    pub(super) fn read(received: &Received<'_>) -> Option<Self> {
        let head = received.head;
        let headers = Headers::parse(head, received.len)?;
        let ip = headers.ip.filter(|ip| ip.protocol == IpProtocol::TCP && !ip.fragment)?;
        let (network, transport, end) = (headers.network, ip.transport, ip.end);
        let tcp: &[u8; 20] = head.get(transport..)?.first_chunk()?;
        let start = transport + usize::from(tcp[12] >> 4) * 4;
        let flags = TcpFlags(tcp[13]);
        let plain = match ip.version {
            Version::V4 => transport == network + 20,
            Version::V6 => transport == network + 40,
        };
        let shape =
            start >= transport + 20 && start < end && start <= head.len().min(FRONT) && end <= usize::from(u16::MAX);
        let good = received.verdict == Verdict::Good && tcp[12] & 0xf == 0;
        let timestamp = if start == transport + 32 && u32_at(head, transport + 20) == Some(0x0101_080a) {
            u32_at(head, transport + 24)
        } else {
            None
        };
        let (ident, atomic) = match ip.version {
            Version::V4 => (u16_at(head, network + 4)?, head.get(network + 6)? & 0x40 != 0),
            Version::V6 => (0, true),
        };
        Some(Self {
            hash: hash(head, network, transport, ip.version)?,
            mergeable: plain && shape && good && flags.0 & !TcpFlags::PSH.0 == TcpFlags::ACK.0,
            push: flags.contains(TcpFlags::PSH),
            version: ip.version,
            network,
            transport,
            start,
            end,
            seq: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
            ident,
            atomic,
            timestamp,
        })
    }

    /// Bytes of payload.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Bytes of the IP packet, IPv6's fixed header included.
    #[inline]
    pub(super) const fn ip_len(&self) -> usize {
        self.end - self.network
    }
}

/// Hash of addresses and ports, by multiplying and folding. Flows that collide on purpose only make packets go out
/// earlier.
#[inline]
fn hash(head: &[u8], network: usize, transport: usize, version: Version) -> Option<u32> {
    let ports = u64::from(u32_at(head, transport)?);
    let folded = match version {
        Version::V4 => mix(u64_at(head, network + 12)? ^ 0x9e37_79b9_7f4a_7c15, ports ^ 0xd1b5_4a32_d192_ed03),
        Version::V6 => {
            let addresses: &[u8; 32] = head.get(network + 8..)?.first_chunk()?;
            let [a, b, c, d] = std::array::from_fn(|word| u64_at(addresses, word * 8).unwrap_or(0));
            mix(a ^ 0x9e37_79b9_7f4a_7c15, b ^ 0xd1b5_4a32_d192_ed03) ^ mix(c ^ ports, d ^ 0x8cb9_2ba7_2f3d_8dd7)
        }
    };
    #[expect(clippy::cast_possible_truncation, reason = "both halves are added")]
    let hash = (folded ^ folded >> 32) as u32;
    Some(hash.max(1))
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|chunk| u64::from_ne_bytes(*chunk))
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "both halves are added")]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
