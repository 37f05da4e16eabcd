//! A packet being merged: the test whether a segment continues it, and its final headers.

use linerate_ring::Meta;
use linerate_sum::{Sum, checksum};
use linerate_wire::{IpProtocol, TcpFlags};

use super::super::headers::Version;
use super::super::segment::{GSO_TCPV4, GSO_TCPV6};
use super::segment::{FRONT, Segment};
use super::{LroConfig, Merged, NONE, Piece, Received};

/// Most segments of a packet: as many as a chain of slots holds.
pub(super) const PIECES: u16 = 64;

/// The packet held for one flow. In a free place only the memory of `pieces` is kept.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) started: u64,
    pub(super) older: u16,
    pub(super) newer: u16,
    version: Version,
    push: bool,
    /// Mask of the header bytes that must be equal.
    mask: &'static Mask,
    header_len: usize,
    network: usize,
    transport: usize,
    /// Bytes of payload of the first segment, and in total.
    size: usize,
    len: usize,
    next_seq: u32,
    timestamp: Option<u32>,
    ident: u16,
    /// Increment of the identification per segment, 1 or 0; known from the second segment on.
    step: u16,
    count: u16,
    vlan_tci: u16,
    hash: u32,
    header: [u8; FRONT],
    pieces: [Piece; PIECES as usize],
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            started: 0,
            older: NONE,
            newer: NONE,
            version: Version::V4,
            push: false,
            mask: &MASKS[0][0],
            header_len: 0,
            network: 0,
            transport: 0,
            size: 0,
            len: 0,
            next_seq: 0,
            timestamp: None,
            ident: 0,
            step: 0,
            count: 0,
            vlan_tci: 0,
            hash: 0,
            header: [0; FRONT],
            pieces: [Piece { frame: 0, start: 0, end: 0 }; PIECES as usize],
        }
    }
}

impl Flow {
    /// Starts a packet with a mergeable segment.
    pub(super) fn begin(&mut self, now: u64, segment: &Segment, received: &Received<'_>) {
        self.started = now;
        self.version = segment.version;
        self.push = false;
        let tags = (segment.network - 14) / 4;
        let kind = usize::from(segment.version == Version::V6) * 2 + usize::from(segment.timestamp.is_some());
        self.mask = &MASKS[tags][kind];
        self.header_len = segment.start;
        self.network = segment.network;
        self.transport = segment.transport;
        self.size = segment.len();
        self.len = 0;
        self.timestamp = segment.timestamp;
        self.ident = segment.ident;
        self.step = 0;
        self.count = 0;
        self.vlan_tci = received.vlan_tci;
        self.hash = received.hash;
        self.header[..segment.start].copy_from_slice(&received.head[..segment.start]);
        self.add(segment, received);
    }

    /// True if a mergeable segment of the same hash continues the packet.
    #[inline]
    pub(super) fn continues(&self, segment: &Segment, received: &Received<'_>, config: &LroConfig) -> bool {
        let step = segment.ident.wrapping_sub(self.ident);
        let counts_on = if self.count == 1 {
            step == 1 || (step == 0 && segment.atomic)
        } else {
            step == self.step.wrapping_mul(self.count)
        };
        let not_older = match (segment.timestamp, self.timestamp) {
            (Some(new), Some(last)) => new.wrapping_sub(last) < 1 << 31,
            (None, None) => true,
            _ => false,
        };
        segment.seq == self.next_seq
            && segment.start == self.header_len
            && segment.len() <= self.size
            && counts_on
            && not_older
            && received.vlan_tci == self.vlan_tci
            && self.header_len - self.network + self.len + segment.len() <= usize::from(config.max_len)
            && equal(received.head, &self.header, self.mask, self.header_len)
    }

    /// Appends a segment that [`continues`](Self::continues) the packet; true if that completes it.
    #[inline]
    pub(super) fn append(&mut self, segment: &Segment, received: &Received<'_>, config: &LroConfig) -> bool {
        if self.count == 1 {
            self.step = segment.ident.wrapping_sub(self.ident);
        }
        self.timestamp = segment.timestamp;
        self.push = segment.push;
        self.add(segment, received);
        segment.push || segment.len() < self.size || self.count >= config.max_pieces
    }

    #[inline]
    fn add(&mut self, segment: &Segment, received: &Received<'_>) {
        // A mergeable segment ends within 65535 bytes.
        let [start, end] = [segment.start, segment.end].map(|at| u16::try_from(at).unwrap_or(u16::MAX));
        self.pieces[usize::from(self.count % PIECES)] = Piece { frame: received.frame, start, end };
        self.count += 1;
        self.len += segment.len();
        self.next_seq = segment.seq.wrapping_add(u32::from(end - start));
    }

    /// Final headers, pieces and metadata of the packet.
    pub(super) fn finish(&mut self) -> Merged<'_> {
        let mut meta = Meta { flags: Meta::DATA_VALID, vlan_tci: self.vlan_tci, hash: self.hash, ..Meta::default() };
        if self.count > 1 {
            self.patch();
            meta.flags |= Meta::NEEDS_CSUM;
            meta.gso_type = if self.version == Version::V4 { GSO_TCPV4 } else { GSO_TCPV6 };
            [meta.hdr_len, meta.gso_size, meta.csum_start] = [self.header_len, self.size, self.transport].map(length);
            meta.csum_offset = 16;
        }
        Merged { header: &self.header[..self.header_len], pieces: &self.pieces[..usize::from(self.count)], meta }
    }

    /// Changes the first segment's header into that of the whole packet.
    fn patch(&mut self) {
        let (ip, tcp) = self.header[self.network..self.header_len].split_at_mut(self.transport - self.network);
        let transport_len = length(tcp.len() + self.len);
        let addresses = match self.version {
            Version::V4 => {
                let total = length(ip.len() + tcp.len() + self.len);
                ip[2..4].copy_from_slice(&total.to_be_bytes());
                ip[10..12].fill(0);
                let sum = checksum(ip);
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
                &ip[12..20]
            }
            Version::V6 => {
                ip[4..6].copy_from_slice(&transport_len.to_be_bytes());
                &ip[8..40]
            }
        };
        if self.push {
            tcp[13] |= TcpFlags::PSH.0;
        }
        let mut sum = Sum::new();
        sum.add_bytes(addresses).add_u16(u16::from(IpProtocol::TCP.0)).add_u16(transport_len);
        tcp[16..18].copy_from_slice(&sum.fold().to_be_bytes());
    }
}

/// Converts a length that is within `max_len`, or a header's.
#[inline]
fn length(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

type Mask = [u8; FRONT];

/// Masks by the number of VLAN tags, each for IPv4, IPv4 with time-stamp, IPv6, IPv6 with time-stamp.
static MASKS: [[Mask; 4]; 4] = {
    let mut masks = [[[0; FRONT]; 4]; 4];
    let mut tags = 0;
    while tags < 4 {
        let mut kind = 0;
        while kind < 4 {
            masks[tags][kind] = mask(14 + 4 * tags, kind >= 2, kind % 2 == 1);
            kind += 1;
        }
        tags += 1;
    }
    masks
};

/// All ones, except for the fields that differ between segments of a packet: those are checked separately.
const fn mask(network: usize, v6: bool, timestamp: bool) -> Mask {
    let mut mask = [0xff; FRONT];
    let transport = network + if v6 { 40 } else { 20 };
    // IPv4: total length, identification, header checksum. IPv6: payload length.
    if v6 {
        open(&mut mask, network + 4, 2);
    } else {
        open(&mut mask, network + 2, 4);
        open(&mut mask, network + 10, 2);
    }
    // TCP: sequence number, PSH, checksum, TSval.
    open(&mut mask, transport + 4, 4);
    mask[transport + 13] = !TcpFlags::PSH.0;
    open(&mut mask, transport + 16, 2);
    if timestamp {
        open(&mut mask, transport + 24, 4);
    }
    mask
}

const fn open(mask: &mut Mask, at: usize, len: usize) {
    let mut i = 0;
    while i < len {
        mask[at + i] = 0;
        i += 1;
    }
}

/// True if the first `len` bytes, at least 16, are equal where the mask has ones.
#[inline]
fn equal(new: &[u8], held: &Mask, mask: &Mask, len: usize) -> bool {
    const WIDE: usize = 16;

    let Some(new) = new.get(..len) else { return false };
    let (Some(held), Some(mask)) = (held.get(..len), mask.get(..len)) else { return false };
    let (Some(new_end), Some(held_end), Some(mask_end)) =
        (new.last_chunk::<WIDE>(), held.last_chunk::<WIDE>(), mask.last_chunk::<WIDE>())
    else {
        return false;
    };
    // The last 16 overlap the whole chunks before them, so that nothing is compared byte by byte.
    let whole = new.as_chunks::<WIDE>().0.iter().zip(held.as_chunks::<WIDE>().0).zip(mask.as_chunks::<WIDE>().0);
    let mut differing = differing(new_end, held_end, mask_end);
    for ((new, held), mask) in whole {
        differing |= self::differing(new, held, mask);
    }
    differing == 0
}

#[inline]
fn differing(new: &[u8; 16], held: &[u8; 16], mask: &[u8; 16]) -> u128 {
    (u128::from_ne_bytes(*new) ^ u128::from_ne_bytes(*held)) & u128::from_ne_bytes(*mask)
}
