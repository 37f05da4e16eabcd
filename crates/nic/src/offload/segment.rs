//! Segmentation: a header template and the caller's slices become frames, each written once, straight into its slot,
//! with its checksums folded into the copy. What TCP and UDP differ in is in `tso` and `udp`.

use linerate_ring::{Frame, Meta};
use linerate_sum::Sum;

/// The longest header template: Ethernet, three tags, IPv6 with some extension headers, TCP with all its options.
pub const MAX_HEADER: usize = 256;

/// The most octets of payload in one request.
pub const MAX_PAYLOAD: usize = 65536;

/// Why a request cannot be segmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The template is not Ethernet, IP and TCP or UDP, whole.
    #[error("segmentation: the template holds no whole Ethernet, IP and TCP or UDP header: give all of them")]
    Template,
    /// The template is too long.
    #[error("segmentation: a header template of {0} octets: give at most {MAX_HEADER}")]
    Header(usize),
    /// Segments of no octets, or of more than an IP packet holds.
    #[error("segmentation: gso_size {0} with these headers is no segment: give 1 to what 65535 octets of IP leave")]
    Size(u16),
    /// Nothing to send, or too much.
    #[error("segmentation: {0} octets of payload: give 1 to {MAX_PAYLOAD}")]
    Payload(usize),
    /// SYN, RST or URG is set, which a row of segments cannot carry.
    #[error("segmentation: TCP flags {0:#04x} on more than one segment: send SYN, RST and URG apart")]
    Flags(u8),
    /// The metadata asks for a kind of segmentation that the packet is not of, or that is not done here.
    #[error("segmentation: gso_type {0} does not fit the packet: ask for TCPv4 (1), TCPv6 (4) or UDP_L4 (5)")]
    Kind(u8),
    /// A fragment, or a packet whose last destination is not in its header.
    #[error("segmentation: the template is a fragment or source-routed: send it without segmentation")]
    Unsupported,
}

/// Where a segment is written: a buffer, a ring's frame, or a chain of frames.
///
/// The caller of [`Segments::write_next`] makes it at least [`Segments::next_len`] octets long; what does not fit is not
/// written.
pub trait Sink {
    /// Octets there are.
    fn room(&self) -> usize;

    /// Writes `bytes` at `at`.
    fn put(&mut self, at: usize, bytes: &[u8]);

    /// Writes `bytes` at `at`; returns their sum.
    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum;
}

/// The octets of `head`, a frame's front, that are its headers: what is the template of a super-frame.
///
/// # Errors
///
/// [`SegmentError::Template`] when the headers are not whole.
pub fn header_len(head: &[u8]) -> Result<usize, SegmentError> {
    todo!("{head:?}")
}

/// A request being segmented.
pub struct Segments<'a> {
    payload: &'a [&'a [u8]],
}

impl<'a> Segments<'a> {
    /// TSO4, TSO6 or UDP_L4, as the template says: its headers, complete but for lengths and checksums, are put before
    /// each `gso_size` octets of `payload`, whose slices count as one run. VLAN tags in the template are in each frame.
    ///
    /// # Errors
    ///
    /// [`SegmentError`] says what cannot be segmented.
    pub fn new(template: &[u8], payload: &'a [&'a [u8]], gso_size: u16) -> Result<Self, SegmentError> {
        todo!("{template:?}{payload:?}{gso_size}")
    }

    /// As [`new`](Self::new), for a super-frame's metadata: `gso_size` is its, and its `gso_type` has to fit the packet.
    ///
    /// # Errors
    ///
    /// [`SegmentError::Kind`] and those of [`new`](Self::new).
    pub fn from_meta(template: &[u8], payload: &'a [&'a [u8]], meta: &Meta) -> Result<Self, SegmentError> {
        todo!("{template:?}{payload:?}{meta:?}")
    }

    /// Segments not yet written.
    pub fn remaining(&self) -> usize {
        self.payload.len()
    }

    /// Octets of the next frame; `None` when all are written.
    pub fn next_len(&self) -> Option<usize> {
        None
    }

    /// Writes the next frame to the front of `to`; returns its length. `None`, and nothing done, when all are written
    /// or `to` is shorter than [`next_len`](Self::next_len).
    pub fn write_next(&mut self, to: &mut (impl Sink + ?Sized)) -> Option<usize> {
        todo!("{}", to.room())
    }
}

impl Sink for [u8] {
    fn room(&self) -> usize {
        self.len()
    }
    fn put(&mut self, at: usize, bytes: &[u8]) {
        todo!("{at}{bytes:?}")
    }
    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum {
        todo!("{at}{bytes:?}")
    }
}
impl Sink for Frame<'_> {
    fn room(&self) -> usize {
        self.len()
    }
    fn put(&mut self, at: usize, bytes: &[u8]) {
        todo!("{at}{bytes:?}")
    }
    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum {
        todo!("{at}{bytes:?}")
    }
}
/// A chain: its frames in order, as one run of octets.
impl Sink for [Frame<'_>] {
    fn room(&self) -> usize {
        self.iter().map(Frame::len).sum()
    }
    fn put(&mut self, at: usize, bytes: &[u8]) {
        todo!("{at}{bytes:?}")
    }
    fn put_and_sum(&mut self, at: usize, bytes: &[u8]) -> Sum {
        todo!("{at}{bytes:?}")
    }
}
