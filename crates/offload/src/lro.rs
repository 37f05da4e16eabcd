//! Large receive offload: consecutive TCP segments become one packet.
//!
//! Only the first segment's header is copied: a merged packet is that header, patched, and the offsets of its payload
//! in the received frames. Segments are merged only if segmenting the packet (`Segments`) restores them: at most IPv4's
//! identification is lost, where "don't fragment" makes it meaningless (RFC 6864), and later time-stamps.
//!
//! A segment joins the packet held for its flow if
//!
//! - its checksums are good and it is no fragment, has no IP options or extension headers, and carries payload;
//! - its flags are ACK and at most PSH;
//! - it begins where the packet ends, is not longer than the packet's first segment, and the packet stays within
//!   [`LroConfig`]'s limits;
//! - everything else in its headers is equal: addresses and tags of the frame, type of service (so ECN), flow label, "don't
//!   fragment", time to live, acknowledgment number, window, options. A time-stamp option that stands alone may have a
//!   newer TSval; the packet keeps its first, which is the one to echo (RFC 7323, section 4.3);
//! - on IPv4 its identification increases by one, or is constant throughout while "don't fragment" is set.
//!
//! Otherwise the held packet is handed out first, and the segment starts the next one or passes. A segment that has PSH
//! or is shorter than the first completes a packet.

mod flow;
mod segment;

use linerate_ring::Meta;

use super::checksum::Verdict;
use flow::Flow;
use segment::Segment;

/// Limits of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LroConfig {
    /// Flows held at once, rounded up to a power of two from 8 to 4096. One more evicts the oldest of its set.
    pub flows: usize,
    /// Most bytes of a merged IP packet, at most 65535.
    pub max_len: u16,
    /// Most segments of a merged packet, 2 to 64.
    pub max_pieces: u16,
    /// Time for which a segment may wait for the next one, in nanoseconds.
    pub timeout: u64,
}

/// A received frame offered for merging.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// Start of the frame: all of it, or the part in its first buffer.
    pub head: &'a [u8],
    /// Bytes of the whole frame.
    pub len: usize,
    /// Identifier of the frame, chosen by the caller; returned in [`Piece::frame`].
    pub frame: u32,
    /// Result of checksum verification; only [`Verdict::Good`] is merged.
    pub verdict: Verdict,
    /// VLAN tag that was stripped from the frame, 0 for none: part of the flow's key.
    pub vlan_tci: u16,
    /// Receive hash, passed on with the merged packet.
    pub hash: u32,
}

/// Result of offering a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// Held, or handed to `out` already within this call.
    Held,
    /// Not for merging: deliver it now, as received. Earlier segments of its flow have been handed to `out`.
    Pass,
}

/// Bytes `start..end` of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Identifier that the caller gave the frame.
    pub frame: u32,
    /// Offset of the payload's first byte in the frame.
    pub start: u16,
    /// Offset of the payload's end.
    pub end: u16,
}

/// A packet handed out.
#[derive(Debug, Clone, Copy)]
pub struct Merged<'a> {
    /// Headers, Ethernet to TCP. Those of a single segment are as received; with several, the lengths are those of the
    /// whole packet, IPv4's checksum is right, and TCP's field holds the pseudo-header's sum, as `meta` says.
    pub header: &'a [u8],
    /// Payload, in order. With one piece the frame may be delivered as received.
    pub pieces: &'a [Piece],
    /// Metadata. For several segments: NEEDS_CSUM and DATA_VALID, gso_type, gso_size, hdr_len, csum_start, csum_offset,
    /// so that the packet can be segmented again. For one: DATA_VALID. The stripped tag and the hash are the first
    /// segment's.
    pub meta: Meta,
}

/// Table of the flows being merged: sets of eight, selected by the hash.
///
/// ```
/// use linerate_offload::{Lro, LroConfig, Pushed, Received, verify_checksums};
///
/// # let mut frame = vec![0; 60];
/// # frame[12] = 8;
/// let config = LroConfig { flows: 64, max_len: 65535, max_pieces: 64, timeout: 50_000 };
/// let mut lro = Lro::new(config);
/// let verdict = verify_checksums(&frame, &[]);
/// let received = Received { head: &frame, len: frame.len(), frame: 0, verdict, vlan_tci: 0, hash: 0 };
/// // Frames other than TCP segments are not held: they are passed on as received.
/// assert_eq!(lro.push(1000, &received, |merged| println!("{} pieces", merged.pieces.len())), Pushed::Pass);
/// // At the end of a batch, or when `due` says so:
/// lro.flush(|merged| println!("{} pieces", merged.pieces.len()));
/// assert_eq!(lro.due(), None);
/// ```
#[derive(Debug)]
pub struct Lro {
    config: LroConfig,
    /// Hashes of the flows held, 0 for a free place: the only data that a lookup reads.
    tags: Vec<[u32; WAYS]>,
    flows: Vec<Flow>,
    /// List of the flows held, from the oldest to the newest.
    oldest: u16,
    newest: u16,
    held: usize,
}

/// Flows in a set.
const WAYS: usize = 8;

/// End of the list of flows by age.
const NONE: u16 = u16::MAX;

impl Lro {
    /// Makes an empty table; all its memory is allocated now, about 700 bytes a flow.
    #[must_use]
    pub fn new(config: LroConfig) -> Self {
        let flows = config.flows.clamp(WAYS, 4096).next_power_of_two();
        let max_pieces = config.max_pieces.clamp(2, flow::PIECES);
        Self {
            config: LroConfig { flows, max_pieces, ..config },
            tags: vec![[0; WAYS]; flows / WAYS],
            flows: vec![Flow::default(); flows],
            oldest: NONE,
            newest: NONE,
            held: 0,
        }
    }

    /// Limits in effect.
    #[must_use]
    pub const fn config(&self) -> &LroConfig {
        &self.config
    }

    /// Offers a frame received at `now` (nanoseconds, monotonic). Packets that it completes or that may not wait longer
    /// are handed to `out`, in their order within a flow.
    #[inline]
    pub fn push(&mut self, now: u64, received: &Received<'_>, mut out: impl FnMut(Merged<'_>)) -> Pushed {
        // A frame without TCP has no flow here, and a fragment of TCP cannot be assigned to one.
        let Some(segment) = Segment::read(received) else { return Pushed::Pass };
        let set = segment.hash as usize & (self.tags.len() - 1);
        if let Some(way) = self.tags[set].iter().position(|&tag| tag == segment.hash) {
            let flow = &mut self.flows[set * WAYS + way];
            if segment.mergeable && flow.continues(&segment, received, &self.config) {
                if flow.append(&segment, received, &self.config) {
                    self.hand_out(set * WAYS + way, &mut out);
                }
                return Pushed::Held;
            }
            // Also if another flow has the same hash: its packet only goes out earlier.
            self.hand_out(set * WAYS + way, &mut out);
        }
        // PSH ends a packet: there is nothing to wait for.
        if !segment.mergeable || segment.push || segment.ip_len() > usize::from(self.config.max_len) {
            return Pushed::Pass;
        }
        let at = self.vacate(set, &mut out);
        self.flows[at].begin(now, &segment, received);
        self.tags[set][at % WAYS] = segment.hash;
        self.link(at);
        Pushed::Held
    }

    /// Hands out packets that have waited for [`LroConfig::timeout`].
    pub fn expire(&mut self, now: u64, mut out: impl FnMut(Merged<'_>)) {
        while self.due().is_some_and(|due| due <= now) {
            self.hand_out(usize::from(self.oldest), &mut out);
        }
    }

    /// Hands out all packets, oldest first, as at the end of a receive batch.
    pub fn flush(&mut self, mut out: impl FnMut(Merged<'_>)) {
        while self.oldest != NONE {
            self.hand_out(usize::from(self.oldest), &mut out);
        }
    }

    /// Time of the next call of [`expire`](Self::expire); `None` if no packet is held.
    #[inline]
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        let oldest = self.flows.get(usize::from(self.oldest))?;
        Some(oldest.started.saturating_add(self.config.timeout))
    }

    /// Number of flows held.
    #[inline]
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }

    /// Finds a free place in `set`; if there is none, its oldest flow is handed out.
    fn vacate(&mut self, set: usize, out: &mut impl FnMut(Merged<'_>)) -> usize {
        let first = set * WAYS;
        if let Some(way) = self.tags[set].iter().position(|&tag| tag == 0) {
            return first + way;
        }
        let oldest = (first..first + WAYS).min_by_key(|&at| self.flows[at].started).unwrap_or(first);
        self.hand_out(oldest, out);
        oldest
    }

    fn hand_out(&mut self, at: usize, out: &mut impl FnMut(Merged<'_>)) {
        self.tags[at / WAYS][at % WAYS] = 0;
        self.unlink(at);
        out(self.flows[at].finish());
    }

    #[inline]
    fn link(&mut self, at: usize) {
        let this = place(at);
        self.flows[at].older = self.newest;
        self.flows[at].newer = NONE;
        match self.flows.get_mut(usize::from(self.newest)) {
            Some(newest) => newest.newer = this,
            None => self.oldest = this,
        }
        self.newest = this;
        self.held += 1;
    }

    #[inline]
    fn unlink(&mut self, at: usize) {
        let Flow { older, newer, .. } = self.flows[at];
        match self.flows.get_mut(usize::from(older)) {
            Some(flow) => flow.newer = newer,
            None => self.oldest = newer,
        }
        match self.flows.get_mut(usize::from(newer)) {
            Some(flow) => flow.older = older,
            None => self.newest = older,
        }
        self.held -= 1;
    }
}

/// Converts a flow's index; there are at most 4096.
#[inline]
fn place(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(NONE)
}

#[cfg(test)]
mod tests;
