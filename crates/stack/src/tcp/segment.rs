//! Segments, in host order.

use super::seq::Seq;
use super::{PIECES, count};
use crate::ip::Traffic;
use linerate_wire::{TcpFlags, TcpOptions, TcpSegment};

/// A segment that has arrived. Several that follow each other may have been joined (LRO).
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Number of the first byte, or of SYN.
    pub seq: Seq,
    /// Number of the byte that is expected next, if [`TcpFlags::ACK`] is set.
    pub ack: Seq,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window, before scaling.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
    /// Data.
    pub payload: &'a [u8],
    /// A router has marked it for congestion (RFC 3168, section 5).
    pub is_marked: bool,
}

impl<'a> Segment<'a> {
    /// The segment in a view of its bytes. The checksum must have been verified.
    #[must_use]
    #[inline]
    pub fn new(view: &TcpSegment<&'a [u8]>) -> Self {
        Self {
            seq: Seq(view.seq()),
            ack: Seq(view.ack()),
            flags: view.flags(),
            window: view.window(),
            options: TcpOptions::parse(view.options()),
            payload: view.payload(),
            is_marked: false,
        }
    }

    /// Sequence numbers that it takes: its data, and one each for SYN and FIN.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u32 {
        let bits = u32::from(self.has(TcpFlags::SYN)) + u32::from(self.has(TcpFlags::FIN));
        count(self.payload.len()) + bits
    }

    /// True if it takes none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if it has this bit.
    #[must_use]
    #[inline]
    pub fn has(&self, bit: TcpFlags) -> bool {
        self.flags.contains(bit)
    }
}

/// A segment to be sent. Its payload lies in a few pieces; if it is longer than `mss` it is cut into several, of which each
/// has the same header but for its sequence number, and the last alone FIN and PSH.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Number of the first byte, or of SYN.
    pub seq: Seq,
    /// Number of the byte that is expected next, if [`TcpFlags::ACK`] is set.
    pub ack: Seq,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window, scaled.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
    /// Data: the pieces that are not empty come first.
    pub payload: [&'a [u8]; PIECES],
    /// Most bytes of data in a segment.
    pub mss: u32,
    /// Routers may mark it for congestion (ECT(0); RFC 3168, section 5).
    pub may_be_marked: bool,
    /// Traffic class, but for the bits of ECN, and flow label.
    pub traffic: Traffic,
}

impl<'a> Outgoing<'a> {
    /// Data of a segment that has none.
    pub(super) const NO_DATA: [&'static [u8]; PIECES] = [&[]; PIECES];

    /// Bytes of data.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> usize {
        self.payload.iter().map(|piece| piece.len()).sum()
    }

    /// Pieces of data that are not empty.
    #[must_use]
    #[inline]
    pub fn pieces(&self) -> &[&'a [u8]] {
        let pieces = self.payload.iter().position(|piece| piece.is_empty()).unwrap_or(PIECES);
        &self.payload[..pieces]
    }
}
