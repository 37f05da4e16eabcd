//! Reassembly of fragments, within fixed memory: IPv4 (RFC 791, section 3.2; RFC 815; RFC 1122, section 3.3.2; RFC
//! 6864) and IPv6 (RFC 8200, section 4.5; RFC 5722; RFC 6946). Fragmentation: [`Fragments`].
//!
//! All memory held is counted in bytes, bookkeeping included; when it exceeds the limit, or there are too many
//! datagrams, the oldest is dropped. Nothing else limits the fragments of a datagram: at 8 bytes each there can be 8192 of
//! them. A fragment takes time in proportion to its own length, whatever came before. A datagram whose fragments contradict each other is given up, and its later
//! fragments are dropped until its time is over.
//!
//! Out of scope: it sends no ICMP, but reports the errors that are due: [`Reason`], [`Reassembly::poll`].

mod fragments;
mod pieces;

use std::collections::BTreeMap;
use std::net::IpAddr;

use linerate_wire::{Ipv4Packet, Ipv6FragmentAt, Ipv6FragmentHeader, Ipv6Packet};

pub use fragments::{Fragment, Fragments};
use pieces::{Overlap, Pieces};

/// Bookkeeping bytes for a datagram: two map entries, with a key in each.
const DATAGRAM_COST: usize = 512;
/// Bookkeeping bytes for a piece: its share of a map whose nodes are half full, and the allocator's for its bytes.
const PIECE_COST: usize = 128;
/// The most bytes that IP's length fields can state.
const LARGEST: usize = 65535;
/// Congestion experienced codepoint (RFC 3168, section 5), in the type of service and the traffic class.
const CE: u8 = 0b11;
const IPV6_HEADER: usize = Ipv6Packet::<&[u8]>::HEADER_LEN;
const FRAGMENT_HEADER: usize = Ipv6FragmentHeader::<&[u8]>::LEN;

/// Limits of reassembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Bytes held in all, bookkeeping included.
    pub bytes: usize,
    /// Incomplete datagrams at a time; at least one.
    pub datagrams: usize,
    /// Time from its first fragment in which a datagram must be complete, in nanoseconds.
    pub timeout_ns: u64,
}

impl Default for Config {
    /// 60 seconds (RFC 1122, section 3.3.2; RFC 8200, section 4.5), 1024 datagrams, and 4 MB: three of the largest
    /// datagrams in pieces of 8 bytes, or sixty in pieces of 1480.
    fn default() -> Self {
        Self { bytes: 4_000_000, datagrams: 1024, timeout_ns: 60_000_000_000 }
    }
}

/// Result of processing a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Kept, or a duplicate; other fragments are missing.
    Incomplete,
    /// The packet as if it had never been fragmented: the first fragment's headers (in IPv6 without the fragment
    /// header), with length and IPv4 checksum corrected, and the whole payload.
    Complete(Vec<u8>),
    /// The fragment is dropped.
    Dropped(Reason),
}

/// Reason for which a fragment was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It carries no payload.
    Empty,
    /// More fragments follow, but its length is not a multiple of 8. For IPv6 a parameter problem is due, code 0, with
    /// the pointer to the payload length, byte 4.
    Unaligned,
    /// It would end beyond the largest IP packet ("ping of death"). For IPv6 a parameter problem is due, code 0, with
    /// the pointer to the fragment offset: two bytes into the fragment header.
    TooLong,
    /// It overlaps another fragment: with different bytes or, in IPv6, in any way but an exact duplicate. The datagram
    /// is given up.
    Overlap,
    /// It contradicts other fragments on the end of the datagram. The datagram is given up.
    Inconsistent,
    /// The datagram was given up before.
    GivenUp,
    /// There is no memory for it, even without all other datagrams.
    NoRoom,
}

/// Counts of events since the start, in datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reassembled.
    pub completed: u64,
    /// Dropped because they were not complete in time.
    pub timed_out: u64,
    /// Dropped to make room for newer ones.
    pub evicted: u64,
    /// Given up because their fragments were invalid or contradictory.
    pub given_up: u64,
}

/// Datagrams of which some fragments have arrived.
///
/// Times are nanoseconds of one clock that does not go back.
#[derive(Debug)]
pub struct Reassembly {
    config: Config,
    datagrams: BTreeMap<Key, Datagram>,
    /// Keys by arrival of the first fragment; as all have the same timeout, also by deadline.
    ages: BTreeMap<u64, Key>,
    arrivals: u64,
    bytes: usize,
    counters: Counters,
}

/// Key common to the fragments of one datagram: IPv4's includes the protocol (RFC 791, section 3.2), IPv6's does not
/// (RFC 8200, section 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// First, because it differs nearly always: what comes after it is seldom compared.
    ident: u32,
    src: IpAddr,
    dst: IpAddr,
    protocol: Option<u8>,
}

#[derive(Debug)]
struct Datagram {
    arrival: u64,
    deadline: u64,
    /// Bytes of memory counted for the datagram.
    bytes: usize,
    /// None if the datagram was given up.
    pieces: Option<Pieces>,
    /// Headers of the first fragment, up to its payload.
    header: Vec<u8>,
    /// Offset in the first fragment of the byte that names the fragment header, in IPv6.
    named_at: usize,
    /// True if a fragment is marked congestion experienced.
    congestion: bool,
}

/// One fragment of either version.
struct Part<'a> {
    header: &'a [u8],
    named_at: usize,
    offset: usize,
    more: bool,
    payload: &'a [u8],
    /// Largest offset at which the whole payload may end.
    limit: usize,
    congestion: bool,
    overlap: Overlap,
}

impl Reassembly {
    /// Makes an empty table with these limits.
    pub fn new(config: Config) -> Self {
        Self {
            config: Config { datagrams: config.datagrams.max(1), ..config },
            datagrams: BTreeMap::new(),
            ages: BTreeMap::new(),
            arrivals: 0,
            bytes: 0,
            counters: Counters::default(),
        }
    }

    /// Processes an IPv4 fragment. A packet that is no fragment is returned unchanged.
    pub fn push_v4(&mut self, now: u64, packet: &Ipv4Packet<&[u8]>) -> Outcome {
        let header = &packet.into_inner()[..packet.header_len()];
        if !packet.is_fragment() {
            return Outcome::Complete([header, packet.payload()].concat());
        }
        let key = Key {
            src: packet.src().into(),
            dst: packet.dst().into(),
            ident: packet.ident().into(),
            protocol: Some(packet.protocol().0),
        };
        let part = Part {
            header,
            named_at: 0,
            offset: packet.fragment_offset().into(),
            more: packet.more_fragments(),
            payload: packet.payload(),
            limit: LARGEST - header.len(),
            congestion: packet.tos() & CE == CE,
            overlap: Overlap::Agreeing,
        };
        self.push(now, key, &part)
    }

    /// Processes an IPv6 fragment; `fragment` is the result of [`linerate_wire::Ipv6Chain::walk`] for it. A fragment
    /// that is the whole packet (an atomic fragment) is returned at once, independent of others with its identification
    /// (RFC 6946, section 4).
    pub fn push_v6(&mut self, now: u64, packet: &Ipv6Packet<&[u8]>, fragment: &Ipv6FragmentAt) -> Outcome {
        let payload_at = fragment.at + FRAGMENT_HEADER;
        let Some(payload) = packet.payload().get(payload_at..) else { return Outcome::Dropped(Reason::Empty) };
        let header = &packet.into_inner()[..IPV6_HEADER + payload_at];
        let Ipv6FragmentAt { repr, named_at, .. } = *fragment;
        if repr.offset == 0 && !repr.more {
            let len = u16::try_from(fragment.at + payload.len());
            let Ok(len) = len else { return Outcome::Dropped(Reason::TooLong) };
            let mut whole = whole_v6(header, named_at, len, false);
            whole.extend_from_slice(payload);
            return Outcome::Complete(whole);
        }
        let key = Key { src: packet.src().into(), dst: packet.dst().into(), ident: repr.ident, protocol: None };
        let part = Part {
            header,
            named_at,
            offset: repr.offset.into(),
            more: repr.more,
            payload,
            limit: LARGEST - fragment.at,
            congestion: packet.traffic_class() & CE == CE,
            overlap: Overlap::Duplicate,
        };
        self.push(now, key, &part)
    }

    /// Drops datagrams that were not complete in time. For each whose first fragment has arrived, `out` gets that
    /// fragment (RFC 792, RFC 4443, section 3.3): ICMP time exceeded, code 1, is due to its sender.
    pub fn poll(&mut self, now: u64, mut out: impl FnMut(Vec<u8>)) {
        while let Some(key) = self.oldest().filter(|key| self.datagrams.get(key).is_none_or(|d| d.deadline <= now)) {
            let Some(datagram) = self.remove(&key) else { return };
            let Some(pieces) = datagram.pieces else { continue };
            self.counters.timed_out += 1;
            if let Some(first) = pieces.first() {
                out([&datagram.header, first].concat());
            }
        }
    }

    /// Time of the next call of [`poll`](Self::poll).
    pub fn poll_timeout(&self) -> Option<u64> {
        self.oldest().and_then(|key| self.datagrams.get(&key)).map(|datagram| datagram.deadline)
    }

    /// Bytes of memory held, bookkeeping included.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of datagrams held, those given up included.
    pub fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// True if no datagram is held.
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Counts of events since the start.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    fn push(&mut self, now: u64, key: Key, part: &Part<'_>) -> Outcome {
        let end = part.offset + part.payload.len();
        if part.payload.is_empty() {
            return Outcome::Dropped(Reason::Empty);
        }
        if part.more && !part.payload.len().is_multiple_of(8) {
            return Outcome::Dropped(Reason::Unaligned);
        }
        if end > part.limit {
            return Outcome::Dropped(Reason::TooLong);
        }
        match self.keep(now, key, part, end) {
            Ok(None) => Outcome::Incomplete,
            Ok(Some(packet)) => Outcome::Complete(packet),
            Err(reason) => {
                if matches!(reason, Reason::Overlap | Reason::Inconsistent) {
                    self.give_up(&key);
                }
                Outcome::Dropped(reason)
            }
        }
    }

    /// Stores the new bytes of `part`, which ends at `end`; returns the packet once it is complete.
    fn keep(&mut self, now: u64, key: Key, part: &Part<'_>, end: usize) -> Result<Option<Vec<u8>>, Reason> {
        let none = Pieces::default();
        let (pieces, held) = match self.datagrams.get(&key) {
            Some(datagram) => (datagram.pieces.as_ref().ok_or(Reason::GivenUp)?, datagram.bytes),
            None => (&none, 0),
        };
        let gaps = pieces.gaps(part.offset, part.more, part.payload, part.overlap)?;
        let header = if part.offset == 0 && pieces.first().is_none() { part.header } else { &[] };
        let bytes = gaps.iter().map(|(from, to)| to - from + PIECE_COST).sum::<usize>();
        self.make_room(now, key, held, bytes + header.len())?;

        let datagram = self.datagrams.get_mut(&key).ok_or(Reason::NoRoom)?;
        let pieces = datagram.pieces.as_mut().ok_or(Reason::GivenUp)?;
        for (from, to) in gaps {
            pieces.fill(from, &part.payload[from - part.offset..to - part.offset]);
        }
        if !part.more {
            pieces.ends_at(end);
        }
        if !header.is_empty() {
            datagram.header = header.to_vec();
            datagram.named_at = part.named_at;
        }
        datagram.congestion |= part.congestion;
        if pieces.complete().is_none() {
            return Ok(None);
        }
        self.remove(&key).map_or(Ok(None), |datagram| datagram.assemble().map(Some)).inspect(|_| {
            self.counters.completed += 1;
        })
    }

    /// Ensures that the datagram, which has `held` bytes, or is new and has none, may grow by `bytes`, and has an entry; drops the
    /// oldest others for that.
    fn make_room(&mut self, now: u64, key: Key, held: usize, bytes: usize) -> Result<(), Reason> {
        let new = held == 0;
        let need = bytes + if new { DATAGRAM_COST } else { 0 };
        if held + need > self.config.bytes {
            return Err(Reason::NoRoom);
        }
        while self.bytes + need > self.config.bytes || new && self.datagrams.len() == self.config.datagrams {
            let oldest = self.ages.values().copied().find(|&oldest| oldest != key).ok_or(Reason::NoRoom)?;
            self.remove(&oldest);
            self.counters.evicted += 1;
        }
        self.bytes += need;
        if new {
            let arrival = self.arrivals;
            self.arrivals += 1;
            self.ages.insert(arrival, key);
            let deadline = now.saturating_add(self.config.timeout_ns);
            let pieces = Some(Pieces::default());
            let header = Vec::new();
            let datagram = Datagram { arrival, deadline, bytes: need, pieces, header, named_at: 0, congestion: false };
            self.datagrams.insert(key, datagram);
        } else if let Some(datagram) = self.datagrams.get_mut(&key) {
            datagram.bytes += need;
        }
        Ok(())
    }

    /// Drops the datagram's bytes, and remembers until its deadline that it was given up (RFC 5722, section 4:
    /// fragments that have not arrived yet are discarded too).
    fn give_up(&mut self, key: &Key) {
        let Some(datagram) = self.datagrams.get_mut(key) else { return };
        datagram.pieces = None;
        datagram.header = Vec::new();
        self.bytes -= datagram.bytes - DATAGRAM_COST;
        datagram.bytes = DATAGRAM_COST;
        self.counters.given_up += 1;
    }

    fn remove(&mut self, key: &Key) -> Option<Datagram> {
        let datagram = self.datagrams.remove(key)?;
        self.ages.remove(&datagram.arrival);
        self.bytes -= datagram.bytes;
        Some(datagram)
    }

    fn oldest(&self) -> Option<Key> {
        self.ages.first_key_value().map(|(_, &key)| key)
    }
}

impl Datagram {
    /// Assembles the packet from its pieces, which must be complete.
    fn assemble(self) -> Result<Vec<u8>, Reason> {
        let Self { pieces, header, named_at, congestion, .. } = self;
        let pieces = pieces.ok_or(Reason::GivenUp)?;
        let len = pieces.iter().map(<[u8]>::len).sum::<usize>();
        let v4 = header.first().is_some_and(|first| first >> 4 == 4);
        // The others' headers may have been shorter than the first's. IPv4's length includes the header, IPv6's counts
        // the bytes after it, without the fragment header, which is removed.
        let uncounted = if v4 { 0 } else { IPV6_HEADER + FRAGMENT_HEADER };
        let Ok(total) = u16::try_from(header.len() - uncounted + len) else { return Err(Reason::TooLong) };
        let mut packet =
            if v4 { whole_v4(&header, total, congestion) } else { whole_v6(&header, named_at, total, congestion) };
        pieces.iter().for_each(|piece| packet.extend_from_slice(piece));
        Ok(packet)
    }
}

/// Header of a reassembled IPv4 packet of `total` bytes, in a vector with capacity for the whole packet.
fn whole_v4(header: &[u8], total: u16, congestion: bool) -> Vec<u8> {
    let mut whole = Vec::with_capacity(usize::from(total));
    whole.extend_from_slice(header);
    put_u16(&mut whole, 2, total);
    // Flags and fragment offset.
    put_u16(&mut whole, 6, 0);
    put_u16(&mut whole, 10, 0);
    // RFC 3168, section 5.3: a mark on one fragment marks the packet.
    whole[1] |= if congestion { CE } else { 0 };
    let checksum = linerate_sum::checksum(&whole);
    put_u16(&mut whole, 10, checksum);
    whole
}

/// Headers of a reassembled IPv6 packet with payload length `len`: the fragment header at the end of `header` is
/// removed, and byte `named_at`, which named it, names the header that followed it (RFC 8200, section 4.5).
fn whole_v6(header: &[u8], named_at: usize, len: u16, congestion: bool) -> Vec<u8> {
    let unfragmentable = header.len() - FRAGMENT_HEADER;
    let mut whole = Vec::with_capacity(IPV6_HEADER + usize::from(len));
    whole.extend_from_slice(&header[..unfragmentable]);
    whole[named_at] = header[unfragmentable];
    put_u16(&mut whole, 4, len);
    // The traffic class is four bits into the header.
    whole[1] |= if congestion { CE << 4 } else { 0 };
    whole
}

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests;
