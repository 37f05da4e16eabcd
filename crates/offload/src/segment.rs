//! Segmentation: a header template and the caller's slices become frames, each written once, directly into its slot,
//! with its checksums computed during the copy. The differences between TCP and UDP are in `tso` and `udp`.

mod tso;
mod udp;

use linerate_ring::Meta;
use linerate_sum::Sum;
use linerate_wire::IpProtocol;

use super::checksum::pseudo_header;
use super::headers::{Headers, Version};
use super::sink::{Frames, Sink};
use tso::Tcp;

/// VIRTIO_NET_HDR_GSO_TCPV4.
pub(super) const GSO_TCPV4: u8 = 1;
/// VIRTIO_NET_HDR_GSO_TCPV6.
pub(super) const GSO_TCPV6: u8 = 4;
/// VIRTIO_NET_HDR_GSO_UDP_L4.
const GSO_UDP_L4: u8 = 5;

/// Longest header template in bytes: Ethernet, three tags, IPv6 with some extension headers, TCP with all its options.
pub const MAX_HEADER: usize = 256;

/// Most bytes of payload in one request.
pub const MAX_PAYLOAD: usize = 65536;

/// Reason for which a request cannot be segmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The template does not hold whole headers of Ethernet, IP and TCP or UDP.
    #[error("segmentation: the template holds no whole Ethernet, IP and TCP or UDP header: give all of them")]
    Template,
    /// The template is too long.
    #[error("segmentation: a header template of {0} octets: give at most {MAX_HEADER}")]
    Header(usize),
    /// Segments of no bytes, or of more than an IP packet can hold.
    #[error("segmentation: gso_size {0} with these headers is no segment: give 1 to what 65535 octets of IP leave")]
    Size(u16),
    /// Nothing to send, or too much.
    #[error("segmentation: {0} octets of payload: give 1 to {MAX_PAYLOAD}")]
    Payload(usize),
    /// SYN, RST or URG is set, which is allowed on a single segment only.
    #[error("segmentation: TCP flags {0:#04x} on more than one segment: send SYN, RST and URG apart")]
    Flags(u8),
    /// The metadata asks for a kind of segmentation that does not match the packet, or that is not supported.
    #[error("segmentation: gso_type {0} does not fit the packet: ask for TCPv4 (1), TCPv6 (4) or UDP_L4 (5)")]
    Kind(u8),
    /// A fragment, or a packet whose header does not have its final destination.
    #[error("segmentation: the template is a fragment or source-routed: send it without segmentation")]
    Unsupported,
}

/// Number of bytes of `head`, the start of a frame, that are headers: the template of a super-frame.
///
/// # Errors
///
/// [`SegmentError::Template`] if the headers are not whole, or not TCP's or UDP's.
pub fn header_len(head: &[u8]) -> Result<usize, SegmentError> {
    let headers = Headers::parse_template(head).ok_or(SegmentError::Template)?;
    let ip = headers.ip.ok_or(SegmentError::Template)?;
    let transport = &head[ip.transport..];
    let len = match ip.protocol {
        IpProtocol::TCP => tso::header_len(transport),
        IpProtocol::UDP => (transport.len() >= udp::HEADER_LEN).then_some(udp::HEADER_LEN),
        _ => None,
    };
    len.map(|len| ip.transport + len).ok_or(SegmentError::Template)
}

/// A request being segmented.
///
/// ```
/// use linerate_offload::{Frames, Segments, Verdict, verify_checksums};
/// use linerate_wire::*;
///
/// // The headers of the flow; lengths and checksums are filled in for each segment.
/// let mut template = [0; 54];
/// let ethernet = EthernetRepr { dst: MacAddr([2; 6]), src: MacAddr([6; 6]), ethertype: EtherType::IPV4 };
/// let ip = Ipv4Repr { payload_len: 20, ..Ipv4Repr::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol::TCP) };
/// let header = ip.emit(ethernet.emit(&mut template)?)?;
/// header[12] = 0x50;
/// TcpSegment::new_checked(header)?.set_flags(TcpFlags::ACK.union(TcpFlags::PSH));
///
/// // The payload may lie in several places; each byte is copied once, from there into its frame.
/// let (head, body) = ([1; 100], [2; 3000]);
/// let payload = [&head[..], &body];
/// let mut segments = Segments::new(&template, &payload, 1460)?;
/// let mut lengths = Vec::new();
/// let mut slot = [0; 1514];
/// while let Some(len) = segments.write_next(&mut slot[..]) {
///     assert_eq!(verify_checksums(&slot[..len], &[]), Verdict::Good);
///     lengths.push(len);
/// }
/// assert_eq!(lengths, [1514, 1514, 234]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    /// The template; its variable fields are those of the last segment written.
    header: [u8; MAX_HEADER],
    header_len: usize,
    network: usize,
    transport: usize,
    network_part: Network,
    transport_part: Transport,
    /// Sum of the pseudo-header and the transport header, without the variable fields.
    transport_sum: Sum,
    /// Slices not used up; `offset` bytes of the first one are used.
    payload: &'a [&'a [u8]],
    offset: usize,
    left: usize,
    size: usize,
    first: bool,
}

/// Position of a segment in its request; a single segment is both first and last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) first: bool,
    pub(super) last: bool,
}

#[derive(Debug, Clone, Copy)]
enum Network {
    /// Identification of the next segment, and the sum of the header without identification, length and checksum.
    V4 {
        ident: u16,
        sum: Sum,
    },
    V6,
}

#[derive(Debug, Clone, Copy)]
enum Transport {
    Tcp(Tcp),
    Udp,
}

impl Frames for Segments<'_> {
    #[inline]
    fn next_len(&self) -> Option<usize> {
        (self.left > 0).then(|| self.header_len + self.left.min(self.size))
    }

    #[inline]
    fn write_next(&mut self, to: &mut (impl Sink + ?Sized)) -> Option<usize> {
        let total = self.next_len().filter(|&total| total <= to.room())?;
        let len = total - self.header_len;
        let sum = self.copy_payload(to, len);
        self.left -= len;
        let turn = Turn { first: std::mem::take(&mut self.first), last: self.left == 0 };
        self.patch_network(total);
        self.patch_transport(total, turn, len, sum);
        to.put(0, &self.header[..self.header_len]);
        Some(total)
    }
}

impl<'a> Segments<'a> {
    /// Prepares TSO4, TSO6 or UDP_L4, depending on the template: its headers, complete but for lengths and checksums,
    /// are put before each `gso_size` bytes of `payload`, whose slices are concatenated. VLAN tags of the template are
    /// in each frame. IPv4's identification continues from the template's.
    ///
    /// # Errors
    ///
    /// [`SegmentError`] gives the reason for which the request cannot be segmented.
    pub fn new(template: &[u8], payload: &'a [&'a [u8]], gso_size: u16) -> Result<Self, SegmentError> {
        if template.len() > MAX_HEADER {
            return Err(SegmentError::Header(template.len()));
        }
        if header_len(template)? != template.len() {
            return Err(SegmentError::Template);
        }
        let headers = Headers::parse_template(template).ok_or(SegmentError::Template)?;
        let ip = headers.ip.ok_or(SegmentError::Template)?;
        if ip.fragment || ip.under_way {
            return Err(SegmentError::Unsupported);
        }
        let left = payload.iter().try_fold(0_usize, |sum, slice| sum.checked_add(slice.len())).unwrap_or(usize::MAX);
        if left == 0 || left > MAX_PAYLOAD {
            return Err(SegmentError::Payload(left));
        }
        // IPv6's length field does not include the fixed header.
        let counted = template.len() - headers.network - if ip.version == Version::V6 { 40 } else { 0 };
        let size = usize::from(gso_size);
        if size == 0 || counted + size > usize::from(u16::MAX) {
            return Err(SegmentError::Size(gso_size));
        }

        let mut header = [0; MAX_HEADER];
        header[..template.len()].copy_from_slice(template);
        let (front, transport_header) = header[..template.len()].split_at_mut(ip.transport);
        let transport_part = if ip.protocol == IpProtocol::TCP {
            Transport::Tcp(Tcp::take(transport_header)?)
        } else {
            udp::clear(transport_header.first_chunk_mut().ok_or(SegmentError::Template)?);
            Transport::Udp
        };
        let mut transport_sum = pseudo_header(&headers, &ip, front, 0);
        transport_sum.add_bytes(transport_header);
        let network_part = match ip.version {
            Version::V4 => {
                let header = &mut front[headers.network..];
                let ident = u16::from_be_bytes([header[4], header[5]]);
                header[2..6].fill(0);
                header[10..12].fill(0);
                Network::V4 { ident, sum: *Sum::new().add_bytes(header) }
            }
            Version::V6 => Network::V6,
        };
        Ok(Self {
            header,
            header_len: template.len(),
            network: headers.network,
            transport: ip.transport,
            network_part,
            transport_part,
            transport_sum,
            payload,
            offset: 0,
            left,
            size,
            first: true,
        })
    }

    /// Like [`new`](Self::new), with the `gso_size` of a super-frame's metadata, whose `gso_type` must match the
    /// packet. Its `hdr_len` is not trusted (VIRTIO 1.2, section 5.1.6.2): see [`header_len`].
    ///
    /// # Errors
    ///
    /// [`SegmentError::Kind`] and those of [`new`](Self::new).
    pub fn from_meta(template: &[u8], payload: &'a [&'a [u8]], meta: &Meta) -> Result<Self, SegmentError> {
        /// VIRTIO_NET_HDR_GSO_ECN: the first segment has CWR; the template says so itself.
        const ECN: u8 = 0x80;

        let segments = Self::new(template, payload, meta.gso_size)?;
        let kind = match (segments.transport_part, segments.network_part) {
            (Transport::Tcp(_), Network::V4 { .. }) => GSO_TCPV4,
            (Transport::Tcp(_), Network::V6) => GSO_TCPV6,
            (Transport::Udp, _) => GSO_UDP_L4,
        };
        if meta.gso_type & !ECN == kind { Ok(segments) } else { Err(SegmentError::Kind(meta.gso_type)) }
    }

    /// Number of segments not yet written.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.left.div_ceil(self.size)
    }

    /// Writes the next `len` bytes of payload after the space for the header; returns their sum.
    #[inline]
    fn copy_payload(&mut self, to: &mut (impl Sink + ?Sized), len: usize) -> Sum {
        let (mut at, end) = (self.header_len, self.header_len + len);
        let mut sum = Sum::new();
        while at < end {
            let Some((slice, others)) = self.payload.split_first() else { break };
            let rest = &slice[self.offset..];
            if rest.len() > end - at {
                sum.add_sum(to.put_and_sum(at, &rest[..end - at]));
                self.offset += end - at;
                break;
            }
            sum.add_sum(to.put_and_sum(at, rest));
            at += rest.len();
            self.payload = others;
            self.offset = 0;
        }
        sum
    }

    #[inline]
    fn patch_network(&mut self, total: usize) {
        let header = &mut self.header[self.network..];
        match &mut self.network_part {
            Network::V4 { ident, sum } => {
                let length = length(total - self.network);
                let mut sum = *sum;
                let checksum = sum.add_u16(length).add_u16(*ident).finish();
                header[2..4].copy_from_slice(&length.to_be_bytes());
                header[4..6].copy_from_slice(&ident.to_be_bytes());
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                *ident = ident.wrapping_add(1);
            }
            Network::V6 => header[4..6].copy_from_slice(&length(total - self.network - 40).to_be_bytes()),
        }
    }

    #[inline]
    fn patch_transport(&mut self, total: usize, turn: Turn, len: usize, payload: Sum) {
        let transport_len = length(total - self.transport);
        let mut sum = self.transport_sum;
        sum.add_u16(transport_len);
        let header = &mut self.header[self.transport..];
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
    }
}

/// Converts a length that [`Segments::new`] has checked to fit IP's field.
#[inline]
fn length(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
