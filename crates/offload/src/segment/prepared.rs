//! Prepared headers: what of a flow's headers can be parsed, checked and summed once, for all frames that have them.
//!
//! Out of scope: it knows no payload, and no gso_size.

use linerate_ring::Meta;
use linerate_sum::Sum;
use linerate_wire::IpProtocol;

use super::tso::{self, Tcp};
use super::{GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, MAX_HEADER, SegmentError, Turn, udp};
use crate::checksum::pseudo_header;
use crate::headers::{Headers, Ip, Version};

/// Headers of a flow's frames, Ethernet to TCP or UDP, ready to be written before any payload.
///
/// They are kept as bytes, and the fields that differ from frame to frame are written over. The stack's fast path for
/// UDP keeps its headers as words, which is quicker for a datagram alone: its few fields are put into registers, and the
/// payload covers what the last word has too much. A segment's payload is there first, because the checksum comes with
/// the copy, and TCP has more fields: as words, a segment would take a third more instructions.
///
/// ```
/// use linerate_offload::{Frames, Prepared, Segments};
/// use linerate_wire::*;
///
/// let mut template = [0; 42];
/// let ethernet = EthernetRepr { dst: MacAddr([2; 6]), src: MacAddr([6; 6]), ethertype: EtherType::IPV4 };
/// let ip = Ipv4Repr { payload_len: 8, ..Ipv4Repr::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol::UDP) };
/// ip.emit(ethernet.emit(&mut template)?)?;
///
/// let mut headers = Prepared::new(&template)?;
/// let mut slot = [0; 1514];
/// for ident in [1, 100] {
///     headers.set_ident(ident);
///     let payload = [&[7; 2000][..]];
///     let mut segments = Segments::over(&headers, &payload, 1400)?;
///     assert_eq!(segments.write_next(&mut slot[..]), Some(1442));
///     assert_eq!(segments.write_next(&mut slot[..]), Some(642));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The headers; fields that differ from frame to frame are those of the last frame, or 0.
    bytes: [u8; MAX_HEADER],
    /// Bytes of the headers, and offsets of the IP header and of TCP's or UDP's.
    len: usize,
    network: usize,
    transport: usize,
    tagged: bool,
    network_part: Network,
    transport_part: Transport,
    /// Folded sum of the pseudo-header, without the length.
    pseudo_sum: u16,
    /// Folded sum of the pseudo-header and the transport header, without the fields that differ.
    transport_sum: u16,
}

#[derive(Debug, Clone, Copy)]
enum Network {
    /// Identification of the next frame, and the folded sum of the header without identification, length and checksum.
    V4 {
        ident: u16,
        sum: u16,
    },
    V6,
}

#[derive(Debug, Clone, Copy)]
enum Transport {
    Tcp(Tcp),
    Udp,
}

impl Prepared {
    /// Prepares headers: complete, but for lengths and checksums, which may hold anything.
    ///
    /// # Errors
    ///
    /// [`SegmentError`] gives the reason for which no segment can be made with them.
    pub fn new(template: &[u8]) -> Result<Self, SegmentError> {
        if template.len() > MAX_HEADER {
            return Err(SegmentError::Header(template.len()));
        }
        let headers = Self::of_frame(template)?;
        if headers.len == template.len() { Ok(headers) } else { Err(SegmentError::Template) }
    }

    /// Prepares the headers at the front of a frame, as far as [`header_len`](super::header_len) finds them.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn of_frame(frame: &[u8]) -> Result<Self, SegmentError> {
        let (headers, ip, len) = parse(frame)?;
        if len > MAX_HEADER {
            return Err(SegmentError::Header(len));
        }
        if ip.fragment || ip.under_way {
            return Err(SegmentError::Unsupported);
        }
        let mut bytes = [0; MAX_HEADER];
        bytes[..len].copy_from_slice(&frame[..len]);
        let (front, transport_header) = bytes[..len].split_at_mut(ip.transport);
        let transport_part = if ip.protocol == IpProtocol::TCP {
            Transport::Tcp(Tcp::take(transport_header)?)
        } else {
            udp::clear(transport_header.first_chunk_mut().ok_or(SegmentError::Template)?);
            Transport::Udp
        };
        let pseudo_sum = pseudo_header(&headers, &ip, front, 0);
        let mut transport_sum = pseudo_sum;
        transport_sum.add_bytes(transport_header);
        let network_part = match ip.version {
            Version::V4 => {
                let header = &mut front[headers.network..];
                let ident = u16::from_be_bytes([header[4], header[5]]);
                header[2..6].fill(0);
                header[10..12].fill(0);
                Network::V4 { ident, sum: Sum::new().add_bytes(header).fold() }
            }
            Version::V6 => Network::V6,
        };
        Ok(Self {
            bytes,
            len,
            network: headers.network,
            transport: ip.transport,
            tagged: headers.tag.is_some(),
            network_part,
            transport_part,
            pseudo_sum: pseudo_sum.fold(),
            transport_sum: transport_sum.fold(),
        })
    }

    /// Bytes of the headers.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        self.len
    }

    #[inline]
    #[must_use]
    pub fn version(&self) -> Version {
        match self.network_part {
            Network::V4 { .. } => Version::V4,
            Network::V6 => Version::V6,
        }
    }

    /// True if there is a VLAN tag among the headers.
    #[inline]
    #[must_use]
    pub fn is_tagged(&self) -> bool {
        self.tagged
    }

    /// virtio's kind of segmentation for such frames: TCPv4 (1), TCPv6 (4) or UDP_L4 (5).
    #[inline]
    #[must_use]
    pub fn gso_type(&self) -> u8 {
        match (self.transport_part, self.network_part) {
            (Transport::Tcp(_), Network::V4 { .. }) => GSO_TCPV4,
            (Transport::Tcp(_), Network::V6) => GSO_TCPV6,
            (Transport::Udp, _) => GSO_UDP_L4,
        }
    }

    /// Changes IPv4's identification, which counts up from the first segment on; IPv6 has none.
    #[inline]
    pub fn set_ident(&mut self, first: u16) {
        if let Network::V4 { ident, .. } = &mut self.network_part {
            *ident = first;
        }
    }

    /// Changes TCP's sequence number, that of the first segment; UDP has none.
    #[inline]
    pub fn set_seq(&mut self, first: u32) {
        if let Transport::Tcp(tcp) = &mut self.transport_part {
            tcp.set_seq(first);
        }
    }

    /// Number of bytes that IP's length field counts of a frame with so many bytes of payload.
    #[inline]
    pub(super) fn ip_len(&self, payload: usize) -> usize {
        let uncounted = match self.network_part {
            Network::V4 { .. } => 0,
            Network::V6 => IPV6,
        };
        self.len - self.network - uncounted + payload
    }

    /// Fills in the headers of the next frame, with `len` bytes of payload, and gives them. IP's length must hold what it
    /// counts of the frame.
    #[inline]
    pub(super) fn fill(&mut self, turn: Turn, len: usize, payload: Sum) -> &[u8] {
        self.patch_network(length(self.ip_len(len)));
        let transport_len = length(self.len - self.transport + len);
        let mut sum = Sum::new();
        sum.add_u16(self.transport_sum).add_u16(transport_len);
        let header = &mut self.bytes[self.transport..];
        match &mut self.transport_part {
            Transport::Tcp(tcp) => {
                if let Some(header) = header.first_chunk_mut() {
                    tcp.patch(header, turn, length(len), sum, payload);
                }
            }
            Transport::Udp => {
                if let Some(header) = header.first_chunk_mut() {
                    udp::patch(header, transport_len, sum, payload);
                }
            }
        }
        &self.bytes[..self.len]
    }

    #[inline]
    fn patch_network(&mut self, length: u16) {
        let header = &mut self.bytes[self.network..];
        match &mut self.network_part {
            Network::V4 { ident, sum } => {
                let checksum = Sum::new().add_u16(*sum).add_u16(length).add_u16(*ident).finish();
                header[2..4].copy_from_slice(&length.to_be_bytes());
                header[4..6].copy_from_slice(&ident.to_be_bytes());
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                *ident = ident.wrapping_add(1);
            }
            Network::V6 => header[4..6].copy_from_slice(&length.to_be_bytes()),
        }
    }

    /// Headers of the super-frame with so many bytes of payload, in the first [`Prepared::header_len`] bytes, and the
    /// request to a port that segments it. None if no IP packet holds as many.
    #[must_use]
    pub fn super_frame(&self, payload: usize, gso_size: u16) -> Option<([u8; MAX_HEADER], Meta)> {
        u16::try_from(self.ip_len(payload)).ok()?;
        let mut frame = self.clone();
        frame.fill(Turn { first: true, last: true }, payload, Sum::new());
        let csum_offset = match self.transport_part {
            Transport::Tcp(_) => Tcp::CHECKSUM,
            Transport::Udp => udp::CHECKSUM,
        };
        // Whoever completes the checksum wants the sum of the pseudo-header in its field.
        let mut pseudo = Sum::new();
        pseudo.add_u16(self.pseudo_sum).add_u16(length(self.len - self.transport + payload));
        let field = self.transport + csum_offset;
        frame.bytes[field..field + 2].copy_from_slice(&pseudo.fold().to_be_bytes());
        let [hdr_len, csum_start, csum_offset] = [self.len, self.transport, csum_offset].map(length);
        let asked = Meta { flags: Meta::NEEDS_CSUM, csum_start, csum_offset, ..Meta::default() };
        Some((frame.bytes, Meta { gso_type: self.gso_type(), gso_size, hdr_len, ..asked }))
    }
}

/// Bytes of IPv6's fixed header, which its length field does not count.
const IPV6: usize = 40;

/// Converts a length that fits IP's field, as is checked before headers are filled in.
#[inline]
fn length(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

/// Parses the start of a frame; gives its headers, the IP header among them, and how many bytes they have.
pub(super) fn parse(head: &[u8]) -> Result<(Headers, Ip, usize), SegmentError> {
    let headers = Headers::parse_template(head).ok_or(SegmentError::Template)?;
    let ip = headers.ip.ok_or(SegmentError::Template)?;
    let transport = &head[ip.transport..];
    let len = match ip.protocol {
        IpProtocol::TCP => tso::header_len(transport),
        IpProtocol::UDP => (transport.len() >= udp::HEADER_LEN).then_some(udp::HEADER_LEN),
        _ => None,
    };
    Ok((headers, ip, ip.transport + len.ok_or(SegmentError::Template)?))
}
