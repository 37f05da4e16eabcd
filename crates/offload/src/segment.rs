//! Segmentation: a header template and the caller's slices become frames, each written once, directly into its slot,
//! with its checksums computed during the copy. The differences between TCP and UDP are in `tso` and `udp`.

mod prepared;
mod tso;
mod udp;

pub use prepared::Prepared;

use linerate_ring::Meta;
use linerate_sum::Sum;

use super::sink::{Frames, Sink};

/// VIRTIO_NET_HDR_GSO_TCPV4.
pub const GSO_TCPV4: u8 = Meta::GSO_TCPV4;
/// VIRTIO_NET_HDR_GSO_TCPV6.
pub const GSO_TCPV6: u8 = Meta::GSO_TCPV6;
/// VIRTIO_NET_HDR_GSO_UDP_L4.
pub const GSO_UDP_L4: u8 = 5;
/// VIRTIO_NET_HDR_GSO_ECN, in addition to TCP's: the first segment has CWR. The template says so itself.
pub const GSO_ECN: u8 = Meta::GSO_ECN;

/// Longest header template in bytes: Ethernet, three tags, IPv6 with some extension headers, TCP with all its options.
pub const MAX_HEADER: usize = 256;

/// Most bytes of payload in one request.
pub const MAX_PAYLOAD: usize = 65536;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    #[error("segmentation: the template holds no whole Ethernet, IP and TCP or UDP header: give all of them")]
    Template,
    #[error("segmentation: a header template of {0} bytes: give at most {MAX_HEADER}")]
    Header(usize),
    /// Segments of no bytes, or of more than an IP packet can hold.
    #[error("segmentation: gso_size {0} with these headers is no segment: give 1 to what 65535 bytes of IP leave")]
    Size(u16),
    #[error("segmentation: {0} bytes of payload: give 1 to {MAX_PAYLOAD}")]
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
    prepared::parse(head).map(|(_, _, len)| len)
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
    /// The headers; their variable fields are those of the last segment written, identification and sequence number
    /// those of the next.
    headers: Prepared,
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

impl Frames for Segments<'_> {
    #[inline]
    fn next_len(&self) -> Option<usize> {
        (self.left > 0).then(|| self.headers.header_len() + self.left.min(self.size))
    }

    #[inline]
    fn write_next(&mut self, to: &mut (impl Sink + ?Sized)) -> Option<usize> {
        let total = self.next_len().filter(|&total| total <= to.room())?;
        let len = total - self.headers.header_len();
        let sum = self.copy_payload(to, len);
        self.left -= len;
        let turn = Turn { first: std::mem::take(&mut self.first), last: self.left == 0 };
        to.put(0, self.headers.fill(turn, len, sum));
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
        let headers = Prepared::new(template)?;
        let left = check(&headers, payload, gso_size)?;
        Ok(Self { headers, payload, offset: 0, left, size: gso_size.into(), first: true })
    }

    /// Like [`new`](Self::new), with headers that were prepared before: nothing is parsed.
    ///
    /// # Errors
    ///
    /// [`SegmentError::Payload`] and [`SegmentError::Size`]; all else was found out when the headers were prepared.
    pub fn over(headers: &Prepared, payload: &'a [&'a [u8]], gso_size: u16) -> Result<Self, SegmentError> {
        let left = check(headers, payload, gso_size)?;
        Ok(Self { headers: headers.clone(), payload, offset: 0, left, size: gso_size.into(), first: true })
    }

    /// Like [`new`](Self::new), with the `gso_size` of a super-frame's metadata, whose `gso_type` must match the
    /// packet. Its `hdr_len` is not trusted (VIRTIO 1.2, section 5.1.6.2): see [`header_len`].
    ///
    /// # Errors
    ///
    /// [`SegmentError::Kind`] and those of [`new`](Self::new).
    pub fn from_meta(template: &[u8], payload: &'a [&'a [u8]], meta: &Meta) -> Result<Self, SegmentError> {
        let segments = Self::new(template, payload, meta.gso_size)?;
        let fits = meta.gso_type & !GSO_ECN == segments.headers.gso_type();
        if fits { Ok(segments) } else { Err(SegmentError::Kind(meta.gso_type)) }
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
        let (mut at, end) = (self.headers.header_len(), self.headers.header_len() + len);
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
}

/// Checks payload and size of a request with these headers; gives the number of bytes of payload.
fn check(headers: &Prepared, payload: &[&[u8]], gso_size: u16) -> Result<usize, SegmentError> {
    let left = payload.iter().try_fold(0_usize, |sum, slice| sum.checked_add(slice.len())).unwrap_or(usize::MAX);
    if left == 0 || left > MAX_PAYLOAD {
        return Err(SegmentError::Payload(left));
    }
    let size = usize::from(gso_size);
    if size == 0 || headers.ip_len(size) > usize::from(u16::MAX) {
        return Err(SegmentError::Size(gso_size));
    }
    Ok(left)
}

#[cfg(test)]
mod tests;
