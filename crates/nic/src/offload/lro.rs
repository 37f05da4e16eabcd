//! Large receive offload: TCP segments that follow each other become one packet.
//!
//! Nothing is copied but the first segment's header: a merged packet is that header, patched, and the places of its
//! payload in the received frames.

use linerate_ring::Meta;

use super::checksum::Verdict;

/// The longest front of a frame that is looked at; segments with longer headers are passed on.
pub(super) const FRONT: usize = 128;

/// The bounds of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LroConfig {
    /// Flows held at once, rounded up to a power of two from 8 to 4096. One more pushes the oldest of its set out.
    pub flows: usize,
    /// The most octets of a merged IP packet, at most 65535.
    pub max_len: u16,
    /// The most segments of a merged packet, 2 to 64.
    pub max_pieces: u16,
    /// How long a segment may wait for the next one, in nanoseconds.
    pub timeout: u64,
}

/// A received frame, as it is offered.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// The front of the frame: all of it, or what its first buffer holds.
    pub head: &'a [u8],
    /// Octets of the whole frame.
    pub len: usize,
    /// The caller's name for the frame; comes back in [`Piece::frame`].
    pub frame: u32,
    /// Only good checksums are merged.
    pub verdict: Verdict,
    /// The tag that was stripped from the frame, 0 for none: part of what makes a flow.
    pub vlan_tci: u16,
    /// The receive hash, to be handed on with the merged packet.
    pub hash: u32,
}

/// What became of an offered frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It is held, or was handed to `out` already within this call.
    Held,
    /// It is not for merging: deliver it now, as it is. What was before it in its flow has been handed to `out`.
    Pass,
}

/// Octets `start..end` of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The name that the caller gave the frame.
    pub frame: u32,
    /// Where the payload begins in it.
    pub start: u16,
    /// Where it ends.
    pub end: u16,
}

/// A packet handed out.
#[derive(Debug, Clone, Copy)]
pub struct Merged<'a> {
    /// Its headers, Ethernet to TCP. Of a single segment they are as received; of several the lengths are those of the
    /// whole, IPv4's checksum is right, and TCP's field holds the pseudo-header's sum, as `meta` says.
    pub header: &'a [u8],
    /// Its payload, in order. With one piece the frame may be delivered as it came.
    pub pieces: &'a [Piece],
    /// Of several segments: NEEDS_CSUM and DATA_VALID, gso_type, gso_size, hdr_len, csum_start, csum_offset: such a
    /// packet may be given to whatever segments. Of one: DATA_VALID. The stripped tag and the hash are the first's.
    pub meta: Meta,
}

/// The table of flows that are being merged.
#[derive(Debug)]
pub struct Lro {
    config: LroConfig,
}

impl Lro {
    /// An empty table; all memory that it will ever have is taken now.
    #[must_use]
    pub fn new(config: LroConfig) -> Self {
        Self { config }
    }

    /// Offers a frame received at `now` (nanoseconds, monotonic). Packets that it completes or that may not wait longer
    /// go to `out`, in their order within a flow.
    pub fn push(&mut self, now: u64, received: &Received<'_>, out: impl FnMut(Merged<'_>)) -> Pushed {
        let _ = (now, received, out);
        todo!()
    }

    /// Hands out what has waited for [`LroConfig::timeout`].
    pub fn expire(&mut self, now: u64, out: impl FnMut(Merged<'_>)) {
        let _ = (now, out);
        todo!()
    }

    /// Hands out everything, as at the end of a receive batch.
    pub fn flush(&mut self, out: impl FnMut(Merged<'_>)) {
        let _ = out;
        todo!()
    }

    /// When [`expire`](Self::expire) has something to do; `None` when nothing is held.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        todo!("{:?}", self.config)
    }

    /// Flows held.
    #[must_use]
    pub fn held(&self) -> usize {
        todo!()
    }
}
