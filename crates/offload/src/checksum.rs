//! Checksum offload: the checksums of IPv4's header, TCP and UDP, computed on transmit and verified on receive.
//!
//! A frame may lie in several buffers: `head` is the first and holds all headers, `rest` the others in order. Out of
//! scope: it drops nothing. A frame that cannot be verified is [`Verdict::Unknown`].

use linerate_ring::Meta;
use linerate_sum::{Sum, checksum};
use linerate_wire::IpProtocol;

use super::headers::{Headers, Ip, Version, u16_at};

/// Result of verifying a received frame's checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Verdict {
    /// All checksums are right: IPv4's header and TCP's or UDP's, or an FC frame's CRC.
    Good,
    Bad,
    /// Not verifiable: neither IP nor FC, a protocol other than TCP and UDP, a fragment, UDP on IPv4 without a
    /// checksum.
    #[default]
    Unknown,
}

impl Verdict {
    /// Flags for the metadata of the received slot.
    #[inline]
    #[must_use]
    pub const fn meta_flags(self) -> u8 {
        match self {
            Self::Good => Meta::DATA_VALID,
            Self::Bad | Self::Unknown => 0,
        }
    }
}

/// Reason for which a checksum cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumError {
    /// The request refers to bytes beyond the frame's first buffer.
    #[error(
        "checksum request: csum_start {start} + csum_offset {offset} is beyond the {len} bytes of the first buffer"
    )]
    Outside {
        /// Offset at which the coverage was to begin.
        start: u16,
        /// Offset of the checksum field, from `start`.
        offset: u16,
        /// Bytes in the first buffer.
        len: usize,
    },
    /// The frame holds no whole TCP segment or UDP datagram.
    #[error("checksum offload: no whole TCP or UDP header in the frame: send it with its checksum in place")]
    NotTransport,
}

/// Completes the checksum requested by a slot's metadata (VIRTIO 1.2, section 5.1.6.2): the field at `csum_start +
/// csum_offset` holds the pseudo-header's sum and gets the checksum of all bytes from `csum_start` on. Does nothing if
/// `meta` has no such request.
///
/// # Errors
///
/// [`ChecksumError::Outside`] if coverage or field lie outside of `head`; nothing is written then.
#[inline]
pub fn complete_checksum(head: &mut [u8], rest: &[&[u8]], meta: &Meta) -> Result<(), ChecksumError> {
    if meta.flags & Meta::NEEDS_CSUM == 0 {
        return Ok(());
    }
    let (start, offset) = (meta.csum_start, meta.csum_offset);
    let outside = ChecksumError::Outside { start, offset, len: head.len() };
    let at = usize::from(start) + usize::from(offset);
    if at + 2 > head.len() {
        return Err(outside);
    }
    let sum = requested(head, rest, meta);
    head[at..at + 2].copy_from_slice(&sum);
    Ok(())
}

/// The checksum of all bytes of a frame from `csum_start` on, as a request asks for it.
#[inline]
pub fn requested(head: &[u8], rest: &[&[u8]], meta: &Meta) -> [u8; 2] {
    let (mut sum, mut start) = (Sum::new(), usize::from(meta.csum_start));
    for part in std::iter::once(&head).chain(rest) {
        sum.add_bytes(part.get(start..).unwrap_or_default());
        start = start.saturating_sub(part.len());
    }
    closed(sum, meta.csum_offset)
}

/// Offset of the checksum field in UDP's header.
const UDP_FIELD: usize = 6;

/// The value of a requested checksum field at `csum_offset`, for `sum` over all covered bytes. Zero is a value like others but
/// in UDP, which is known by its offset: TCP's receivers take all ones too, but some analysers do not (RFC 9293, 3.1).
#[inline]
pub fn closed(sum: Sum, csum_offset: u16) -> [u8; 2] {
    let sum = sum.finish();
    (if usize::from(csum_offset) == UDP_FIELD { never_zero(sum) } else { sum }).to_be_bytes()
}

/// Writes all checksums of a frame, found by parsing: IPv4's header checksum and TCP's or UDP's, whatever the fields
/// hold. In a fragment, and above other protocols, only IPv4's.
///
/// # Errors
///
/// [`ChecksumError::NotTransport`] if it is no IP packet, or its TCP or UDP header is truncated; nothing is written
/// then.
#[inline]
pub fn fill_checksums(head: &mut [u8], rest: &[&[u8]]) -> Result<(), ChecksumError> {
    let headers = Headers::parse(head, total(head, rest)).ok_or(ChecksumError::NotTransport)?;
    let ip = headers.ip.ok_or(ChecksumError::NotTransport)?;
    if let Some(field) = field(&ip).filter(|_| !ip.fragment && !ip.under_way) {
        let at = ip.transport + field;
        if at + 2 > head.len().min(ip.end) {
            return Err(ChecksumError::NotTransport);
        }
        head[at..at + 2].fill(0);
        let sum = transport_sum(&headers, &ip, head, rest).finish();
        let sum = if ip.protocol == IpProtocol::UDP { never_zero(sum) } else { sum };
        head[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    fill_ipv4_checksum(head, &headers);
    Ok(())
}

/// Writes the checksum of the IPv4 header, if there is one.
#[inline]
pub fn fill_ipv4_checksum(head: &mut [u8], headers: &Headers) {
    let Some(Ip { version: Version::V4, transport, .. }) = headers.ip else { return };
    let Some(header) = head.get_mut(headers.network..transport) else { return };
    if header.len() >= 20 {
        header[10..12].fill(0);
        let sum = header_checksum(header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

#[inline]
#[must_use]
pub fn verify_checksums(head: &[u8], rest: &[&[u8]]) -> Verdict {
    Headers::parse(head, total(head, rest)).map_or(Verdict::Unknown, |headers| verify_parsed(&headers, head, rest))
}

/// Like [`verify_checksums`], for a frame that is parsed already.
#[inline]
#[must_use]
pub fn verify_parsed(headers: &Headers, head: &[u8], rest: &[&[u8]]) -> Verdict {
    let Some(ip) = headers.ip else { return Verdict::Unknown };
    if ip.version == Version::V4 && head.get(headers.network..ip.transport).is_none_or(|h| header_checksum(h) != 0) {
        return Verdict::Bad;
    }
    let Some(field) = field(&ip).filter(|_| !ip.fragment && !ip.under_way) else { return Verdict::Unknown };
    // A packet too short for its transport header is left to the stack, which refuses it.
    let Some(stored) = u16_at(head, ip.transport + field).filter(|_| ip.transport + field + 2 <= ip.end) else {
        return Verdict::Unknown;
    };
    if ip.protocol == IpProtocol::UDP && stored == 0 {
        // RFC 768: the sender computed none. RFC 8200, section 8.1: over IPv6 it is mandatory.
        return if ip.version == Version::V4 { Verdict::Unknown } else { Verdict::Bad };
    }
    if transport_sum(headers, &ip, head, rest).finish() == 0 { Verdict::Good } else { Verdict::Bad }
}

/// Request of a frame of `len` bytes whose checksum seems to be open: the field of TCP or UDP holds the pseudo-header's
/// sum, as a stack leaves it to its adapter. `head` is its beginning, with all headers. One in 65536 frames with a right
/// checksum seems so too: [`verify_checksums`] tells them apart.
#[inline]
#[must_use]
pub fn seems_open(head: &[u8], len: usize) -> Option<Meta> {
    let headers = Headers::parse(head, len)?;
    let ip = headers.ip.filter(|ip| !ip.fragment && !ip.under_way)?;
    let field = field(&ip)?;
    let stored = u16_at(head, ip.transport + field).filter(|_| ip.transport + field + 2 <= ip.end)?;
    let segment = u32::try_from(ip.end - ip.transport).ok()?;
    if pseudo_header(&headers, &ip, head, segment).fold() != stored {
        return None;
    }
    let (csum_start, csum_offset) = (u16::try_from(ip.transport).ok()?, u16::try_from(field).ok()?);
    Some(Meta { flags: Meta::NEEDS_CSUM, csum_start, csum_offset, ..Meta::default() })
}

/// Sum of the pseudo-header of a packet with these headers, for a transport segment of `len` bytes. Not complemented,
/// it is the initial value of a checksum field to be completed by a lower layer.
///
/// `head` holds the headers that were parsed; if it is too short, the sum covers the available part.
#[inline]
#[must_use]
pub fn pseudo_header(headers: &Headers, ip: &Ip, head: &[u8], len: u32) -> Sum {
    let mut sum = Sum::new();
    let network = head.get(headers.network..).unwrap_or_default();
    match ip.version {
        Version::V4 => network.get(12..).and_then(<[u8]>::first_chunk).map(|both: &[u8; 8]| add_words(&mut sum, both)),
        Version::V6 => network.get(8..).and_then(<[u8]>::first_chunk).map(|both: &[u8; 32]| add_words(&mut sum, both)),
    };
    // Zeros add nothing: the pseudo-headers of both versions are addresses, length and protocol.
    sum.add_u32(len).add_u16(u16::from(ip.protocol.0));
    sum
}

/// Checksum of an IPv4 header; nearly all are without options.
#[inline]
fn header_checksum(header: &[u8]) -> u16 {
    match <&[u8; 20]>::try_from(header) {
        Ok(header) => {
            let mut sum = Sum::new();
            add_words(&mut sum, header);
            sum.finish()
        }
        Err(_) => checksum(header),
    }
}

/// Adds bytes of a fixed number: a few additions, whereas [`Sum::add_bytes`] first chooses an implementation.
#[inline]
fn add_words<const N: usize>(sum: &mut Sum, bytes: &[u8; N]) {
    const { assert!(N.is_multiple_of(4)) };
    for word in bytes.as_chunks::<4>().0 {
        sum.add_u32(u32::from_be_bytes(*word));
    }
}

/// Offset of the checksum field in the transport header.
#[inline]
fn field(ip: &Ip) -> Option<usize> {
    match ip.protocol {
        IpProtocol::TCP => Some(16),
        IpProtocol::UDP => Some(UDP_FIELD),
        _ => None,
    }
}

/// Sum of pseudo-header, transport header and payload; padding after the packet's end is left out.
#[inline]
fn transport_sum(headers: &Headers, ip: &Ip, head: &[u8], rest: &[&[u8]]) -> Sum {
    let len = ip.end - ip.transport;
    let mut sum = pseudo_header(headers, ip, head, u32::try_from(len).unwrap_or(u32::MAX));
    let mut left = len;
    let first = head.get(ip.transport..).unwrap_or_default();
    for part in std::iter::once(&first).chain(rest) {
        let part = &part[..part.len().min(left)];
        sum.add_bytes(part);
        left -= part.len();
    }
    sum
}

#[inline]
fn total(head: &[u8], rest: &[&[u8]]) -> usize {
    head.len() + rest.iter().map(|part| part.len()).sum::<usize>()
}

/// Replaces a checksum of zero, which means "none" in UDP, by its equivalent, all ones (RFC 768).
#[inline]
pub(super) const fn never_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

#[cfg(test)]
mod tests;
