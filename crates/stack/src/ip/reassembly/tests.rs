//! Tests of each clause of the RFCs, then against a naive model, then floods.

use linerate_wire::{IpProtocol, Ipv4Repr, Ipv6Chain, Ipv6FragmentRepr, Ipv6Repr};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const SECOND: u64 = 1_000_000_000;

/// A fragment of either version, before encoding.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    v6: bool,
    ident: u16,
    offset: usize,
    more: bool,
    payload: &'a [u8],
    congestion: bool,
}

impl<'a> Piece<'a> {
    fn new(v6: bool, offset: usize, more: bool, payload: &'a [u8]) -> Self {
        Self { v6, ident: 7, offset, more, payload, congestion: false }
    }

    fn bytes(&self) -> Vec<u8> {
        let offset = u16::try_from(self.offset).unwrap();
        let mut bytes = vec![0; 48 + self.payload.len()];
        if self.v6 {
            let ip = Ipv6Repr {
                payload_len: 8 + self.payload.len(),
                traffic_class: if self.congestion { CE } else { 0 },
                ..Ipv6Repr::new([1; 16].into(), [2; 16].into(), IpProtocol::IPV6_FRAGMENT)
            };
            let fragment =
                Ipv6FragmentRepr { next_header: IpProtocol(253), offset, more: self.more, ident: self.ident.into() };
            fragment.emit(ip.emit(&mut bytes).unwrap()).unwrap().copy_from_slice(self.payload);
        } else {
            bytes.truncate(20 + self.payload.len());
            let ip = Ipv4Repr {
                payload_len: self.payload.len(),
                ident: self.ident,
                tos: if self.congestion { CE } else { 0 },
                dont_fragment: false,
                more_fragments: self.more,
                fragment_offset: offset,
                ..Ipv4Repr::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol(253))
            };
            ip.emit(&mut bytes).unwrap().copy_from_slice(self.payload);
        }
        bytes
    }

    fn push(&self, to: &mut Reassembly, now: u64) -> Outcome {
        push(to, now, &self.bytes())
    }
}

/// Passes a packet through the parsers, as the stack does it.
fn push(to: &mut Reassembly, now: u64, bytes: &[u8]) -> Outcome {
    if bytes[0] >> 4 == 4 {
        return to.push_v4(now, &Ipv4Packet::new_checked(bytes).unwrap());
    }
    let packet = Ipv6Packet::new_checked(bytes).unwrap();
    // A first fragment without a byte of the protocol ends here (RFC 7112).
    let Ok(chain) = Ipv6Chain::walk(&packet) else { return DROPPED(Reason::Empty) };
    let fragment = chain.fragment.unwrap();
    to.push_v6(now, &packet, &fragment)
}

/// Payload of a packet, which must be valid and no fragment.
fn payload(packet: &[u8]) -> &[u8] {
    if packet[0] >> 4 == 4 {
        let packet = Ipv4Packet::new_checked(packet).unwrap();
        assert!(packet.verify_checksum() && !packet.is_fragment());
        return packet.payload();
    }
    let packet = Ipv6Packet::new_checked(packet).unwrap();
    let chain = Ipv6Chain::walk(&packet).unwrap();
    assert_eq!((chain.fragment, chain.protocol), (None, IpProtocol(253)));
    &packet.payload()[chain.offset..]
}

fn complete(outcome: Outcome) -> Vec<u8> {
    match outcome {
        Outcome::Complete(packet) => packet,
        other => panic!("not complete: {other:?}"),
    }
}

fn reassembly() -> Reassembly {
    Reassembly::new(Config::default())
}

fn counted(len: usize) -> Vec<u8> {
    (0..=250_u8).cycle().take(len).collect()
}

const DROPPED: fn(Reason) -> Outcome = Outcome::Dropped;

#[test]
fn rfc791_3_2_fragments_in_any_order_make_the_packet() {
    let whole = counted(44);
    for v6 in [false, true] {
        let parts = [(0, true, 0..16), (16, true, 16..40), (40, false, 40..44)];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut to = reassembly();
            let push = |to: &mut Reassembly, at: usize| {
                let (offset, more, range) = parts[at].clone();
                Piece::new(v6, offset, more, &whole[range]).push(to, 0)
            };
            assert_eq!(push(&mut to, order[0]), Outcome::Incomplete);
            assert_eq!(push(&mut to, order[1]), Outcome::Incomplete);
            assert_eq!(payload(&complete(push(&mut to, order[2]))), whole);
            assert_eq!((to.len(), to.bytes(), to.counters().completed), (0, 0, 1));
        }
    }
}

#[test]
fn rfc791_3_2_and_rfc8200_4_5_what_tells_datagrams_apart() {
    // Identification, in both; protocol, in IPv4 only.
    for v6 in [false, true] {
        let mut to = reassembly();
        let first = Piece::new(v6, 0, true, &[1; 8]);
        assert_eq!(first.push(&mut to, 0), Outcome::Incomplete);
        assert_eq!(Piece { ident: 8, ..Piece::new(v6, 8, false, &[2; 8]) }.push(&mut to, 0), Outcome::Incomplete);
        let mut other = Piece::new(v6, 8, false, &[2; 8]).bytes();
        if v6 {
            // RFC 8200, section 4.5: the next header of the first fragment counts, not those of the others.
            other[40] = 17;
            assert_eq!(payload(&complete(push(&mut to, 0, &other))).len(), 16);
        } else {
            other[9] = 17;
            assert_eq!(push(&mut to, 0, &other), Outcome::Incomplete);
            assert_eq!(to.len(), 3);
        }
    }
}

#[test]
fn rfc6864_4_1_the_identification_of_a_packet_that_is_no_fragment_is_ignored() {
    let mut to = reassembly();
    assert_eq!(Piece::new(false, 8, false, &[1; 8]).push(&mut to, 0), Outcome::Incomplete);
    let bytes = Piece::new(false, 0, false, &[2; 8]).bytes();
    assert_eq!(push(&mut to, 0, &bytes), Outcome::Complete(bytes));
    assert_eq!(payload(&complete(Piece::new(false, 0, true, &[1; 8]).push(&mut to, 0))), [1; 16]);
}

#[test]
fn rfc6946_4_an_atomic_fragment_is_alone() {
    let mut to = reassembly();
    assert_eq!(Piece::new(true, 0, true, &[1; 8]).push(&mut to, 0), Outcome::Incomplete);
    let packet = complete(Piece::new(true, 0, false, &[2; 5]).push(&mut to, 0));
    assert_eq!(payload(&packet), [2; 5]);
    assert_eq!(payload(&complete(Piece::new(true, 8, false, &[1; 8]).push(&mut to, 0))), [1; 16]);
}

#[test]
fn rfc8200_4_5_the_headers_before_the_fragment_header_stay() {
    // Destination options, then the fragment header.
    let fragment = |offset: u16, more: u16, data: &[u8; 8]| {
        let ip = Ipv6Repr { payload_len: 24, ..Ipv6Repr::new([1; 16].into(), [2; 16].into(), IpProtocol(60)) };
        let mut bytes = vec![0; 64];
        let [high, low] = (offset | more).to_be_bytes();
        let headers = [44, 0, 1, 4, 0, 0, 0, 0, 253, 0, high, low, 0, 0, 0, 1];
        ip.emit(&mut bytes).unwrap().copy_from_slice(&[&headers[..], data].concat());
        bytes
    };
    let mut to = reassembly();
    assert_eq!(push(&mut to, 0, &fragment(8, 0, &[2; 8])), Outcome::Incomplete);
    let packet = complete(push(&mut to, 0, &fragment(0, 1, &[1; 8])));
    assert_eq!(payload(&packet), [[1; 8], [2; 8]].concat());
    assert_eq!((packet.len(), packet[6], packet[40]), (64, 60, 253));
    // They count: with them no packet may have more than 65535 bytes after the IPv6 header.
    assert_eq!(push(&mut to, 0, &fragment(65512, 0, &[2; 8])), Outcome::Incomplete);
    assert_eq!(push(&mut to, 0, &fragment(65520, 0, &[2; 8])), DROPPED(Reason::TooLong));
}

#[test]
fn rfc3168_5_3_congestion_of_one_fragment_is_the_packets() {
    for v6 in [false, true] {
        let mut to = reassembly();
        assert_eq!(Piece::new(v6, 0, true, &[1; 8]).push(&mut to, 0), Outcome::Incomplete);
        let last = Piece { congestion: true, ..Piece::new(v6, 8, false, &[1]) };
        let packet = complete(last.push(&mut to, 0));
        let ecn = if v6 { packet[1] >> 4 } else { packet[1] };
        assert_eq!(ecn & CE, CE);
        assert_eq!(payload(&packet).len(), 9);
    }
}

#[test]
fn rfc5722_an_overlap_ends_the_whole_ipv6_datagram_and_what_comes_after() {
    let mut to = reassembly();
    assert_eq!(Piece::new(true, 0, true, &[1; 16]).push(&mut to, 0), Outcome::Incomplete);
    // The same bytes, but not the same fragment.
    assert_eq!(Piece::new(true, 8, true, &[1; 16]).push(&mut to, 0), DROPPED(Reason::Overlap));
    assert_eq!(Piece::new(true, 16, false, &[1; 8]).push(&mut to, 1), DROPPED(Reason::GivenUp));
    assert_eq!(Piece::new(true, 0, true, &[1; 16]).push(&mut to, 1), DROPPED(Reason::GivenUp));
    assert_eq!(to.bytes(), DATAGRAM_COST);
    let told = |to: &mut Reassembly, now| {
        let mut told = 0;
        to.poll(now, |_| told += 1);
        told
    };
    assert_eq!(told(&mut to, 60 * SECOND), 0, "and no ICMP error is sent");
    assert_eq!((to.len(), to.bytes(), to.counters().given_up), (0, 0, 1));
    assert_eq!(Piece::new(true, 0, true, &[1; 16]).push(&mut to, 61 * SECOND), Outcome::Incomplete, "then it is anew");
}

#[test]
fn rfc8200_4_5_exact_duplicates_are_dropped_alone() {
    for v6 in [false, true] {
        let mut to = reassembly();
        let first = Piece::new(v6, 0, true, &[1; 16]);
        for _ in 0..1000 {
            assert_eq!(first.push(&mut to, 0), Outcome::Incomplete);
        }
        let bytes = to.bytes();
        assert_eq!(first.push(&mut to, 0), Outcome::Incomplete);
        assert_eq!(to.bytes(), bytes, "a duplicate costs nothing");
        assert_eq!(payload(&complete(Piece::new(v6, 16, false, &[2]).push(&mut to, 0))).len(), 17);
        // The same place and length, other bytes.
        assert_eq!(first.push(&mut to, 0), Outcome::Incomplete);
        assert_eq!(Piece::new(v6, 0, true, &[9; 16]).push(&mut to, 0), DROPPED(Reason::Overlap));
    }
}

#[test]
fn rfc815_overlaps_of_ipv4_that_agree_fill_the_holes() {
    let whole = counted(48);
    let mut to = reassembly();
    let mut push = |offset: usize, len: usize| {
        let end = offset + len;
        Piece::new(false, offset, end < 48, &whole[offset..end]).push(&mut to, 0)
    };
    assert_eq!(push(8, 8), Outcome::Incomplete);
    assert_eq!(push(24, 8), Outcome::Incomplete);
    assert_eq!(push(40, 8), Outcome::Incomplete);
    // Over two pieces, three holes.
    assert_eq!(payload(&complete(push(0, 40))), whole);
    assert_eq!(to.bytes(), 0);
}

#[test]
fn rfc1858_overlaps_of_ipv4_that_differ_end_the_datagram() {
    let mut to = reassembly();
    assert_eq!(Piece::new(false, 0, true, &[1; 16]).push(&mut to, 0), Outcome::Incomplete);
    assert_eq!(Piece::new(false, 8, true, &[2; 16]).push(&mut to, 0), DROPPED(Reason::Overlap));
    assert_eq!(Piece::new(false, 16, false, &[1; 16]).push(&mut to, 0), DROPPED(Reason::GivenUp));
}

#[test]
fn fragments_that_disagree_on_the_end_end_the_datagram() {
    for v6 in [false, true] {
        let pairs = [
            // Two last fragments; one beyond the last; a last one before another.
            (Piece::new(v6, 8, false, &[1; 8]), Piece::new(v6, 16, false, &[1; 8])),
            (Piece::new(v6, 8, false, &[1; 8]), Piece::new(v6, 24, true, &[1; 8])),
            (Piece::new(v6, 24, true, &[1; 8]), Piece::new(v6, 8, false, &[1; 8])),
        ];
        for (one, two) in pairs {
            let mut to = reassembly();
            assert_eq!(one.push(&mut to, 0), Outcome::Incomplete);
            assert_eq!(two.push(&mut to, 0), DROPPED(Reason::Inconsistent));
            assert_eq!(one.push(&mut to, 0), DROPPED(Reason::GivenUp));
        }
    }
}

#[test]
fn rfc8200_4_5_lengths_that_are_no_multiple_of_8_are_dropped() {
    for v6 in [false, true] {
        let mut to = reassembly();
        assert_eq!(Piece::new(v6, 0, true, &[1; 9]).push(&mut to, 0), DROPPED(Reason::Unaligned));
        assert_eq!(Piece::new(v6, 8, true, &[]).push(&mut to, 0), DROPPED(Reason::Empty));
        assert_eq!(Piece::new(v6, 8, false, &[]).push(&mut to, 0), DROPPED(Reason::Empty));
        assert!(to.is_empty(), "none of them began a datagram");
    }
}

#[test]
fn rfc791_3_2_no_packet_beyond_65535_bytes_of_death() {
    let (v4, v6) = ([false, true].map(|v6| Piece::new(v6, 65528, false, &[1; 8])), [0; 100]);
    let mut to = reassembly();
    assert_eq!(v4[0].push(&mut to, 0), DROPPED(Reason::TooLong));
    assert_eq!(v4[1].push(&mut to, 0), DROPPED(Reason::TooLong));
    assert_eq!(Piece::new(false, 65512, false, &v6[..4]).push(&mut to, 0), DROPPED(Reason::TooLong));
    assert!(to.is_empty());
    // The largest there can be: 65515 bytes of IPv4, 65535 of IPv6.
    for (v6, len) in [(false, 65515), (true, 65535)] {
        let whole = counted(len);
        let cuts = Fragments::new(len, LARGEST, 9000).unwrap();
        let outcomes = cuts.map(|cut| Piece::new(v6, cut.offset.into(), cut.more, &whole[cut.range]).push(&mut to, 0));
        let last = outcomes.last().unwrap();
        assert_eq!(payload(&complete(last)), whole);
    }
}

#[test]
fn a_first_header_longer_than_the_others_may_not_push_the_packet_beyond_65535() {
    let mut to = reassembly();
    let zeros = vec![0; 65512];
    assert_eq!(Piece::new(false, 65512, false, &[1; 3]).push(&mut to, 0), Outcome::Incomplete);
    for at in (8..65512).step_by(8 * 1000) {
        let end = (at + 8000).min(65512);
        assert_eq!(Piece::new(false, at, true, &zeros[at..end]).push(&mut to, 0), Outcome::Incomplete);
    }
    // Options in the first: four bytes of no operation.
    let mut first = Piece::new(false, 0, true, &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]).bytes();
    first[0] = 0x46;
    assert_eq!(push(&mut to, 0, &first), DROPPED(Reason::TooLong));
    assert_eq!((to.len(), to.bytes(), to.counters().completed), (0, 0, 0));
}

#[test]
fn rfc1122_3_3_2_after_60_seconds_time_is_exceeded_and_the_first_fragment_is_told() {
    for v6 in [false, true] {
        let mut to = reassembly();
        let first = Piece::new(v6, 0, true, &[1; 8]);
        assert_eq!(to.poll_timeout(), None);
        assert_eq!(first.push(&mut to, 5), Outcome::Incomplete);
        // Later fragments do not extend the time.
        assert_eq!(Piece::new(v6, 16, true, &[1; 8]).push(&mut to, 59 * SECOND), Outcome::Incomplete);
        assert_eq!(to.poll_timeout(), Some(60 * SECOND + 5));
        to.poll(60 * SECOND, |_| panic!("too early"));
        let mut told = Vec::new();
        to.poll(60 * SECOND + 5, |first| told.push(first));
        assert_eq!(told, [first.bytes()]);
        assert_eq!((to.len(), to.bytes(), to.poll_timeout()), (0, 0, None));
    }
}

#[test]
fn rfc792_without_the_first_fragment_no_time_exceeded() {
    let mut to = reassembly();
    assert_eq!(Piece::new(false, 8, true, &[1; 8]).push(&mut to, 0), Outcome::Incomplete);
    to.poll(u64::MAX, |_| panic!("nobody to tell"));
    assert_eq!((to.len(), to.counters().timed_out), (0, 1));
}

/// RFC 791, section 3.2: any link of 68 bytes and more may have cut it; the last piece has the rest.
#[test]
fn rfc791_3_2_the_largest_datagram_in_the_smallest_pieces_is_joined() {
    for (v6, len) in [(false, 65_515), (true, 65_535)] {
        let whole = counted(len);
        let mut to = reassembly();
        let pieces = whole.chunks(8).enumerate().map(|(i, piece)| Piece::new(v6, i * 8, (i + 1) * 8 < len, piece));
        let pieces: Vec<_> = pieces.collect();
        // The odd ones backwards, then the even ones: the most holes that there can be.
        let mut most = 0;
        for piece in pieces.iter().skip(1).step_by(2).rev().chain(pieces.iter().skip(2).step_by(2)) {
            assert_eq!(piece.push(&mut to, 0), Outcome::Incomplete);
            most = to.bytes();
        }
        assert!(most > 8100 * (PIECE_COST + 8) && most < Config::default().bytes / 3, "each piece is charged: {most}");
        assert_eq!(payload(&complete(pieces[0].push(&mut to, 0))), whole);
        assert_eq!(to.bytes(), 0);
    }
}

/// The bookkeeping of pieces is charged, so that tiny ones cannot take more memory than large ones.
#[test]
fn tiny_pieces_are_limited_by_their_memory() {
    let config = Config { bytes: 50_000, ..Config::default() };
    let mut to = Reassembly::new(config);
    let kept = (0..4096).filter(|at| Piece::new(false, at * 16, true, &[1; 8]).push(&mut to, 0) == Outcome::Incomplete);
    assert_eq!(kept.count(), (config.bytes - DATAGRAM_COST - 20) / (PIECE_COST + 8));
    assert!(to.bytes() <= config.bytes);
}

#[test]
fn the_oldest_datagram_makes_room() {
    let mut to = Reassembly::new(Config { datagrams: 2, ..Config::default() });
    let first = |ident| Piece { ident, ..Piece::new(false, 0, true, &[1; 8]) };
    let last = |ident| Piece { ident, ..Piece::new(false, 8, false, &[1; 8]) };
    for ident in 0..3 {
        assert_eq!(first(ident).push(&mut to, 0), Outcome::Incomplete);
    }
    assert_eq!((to.len(), to.counters().evicted), (2, 1));
    assert_eq!(payload(&complete(last(1).push(&mut to, 0))).len(), 16);
    assert_eq!(payload(&complete(last(2).push(&mut to, 0))).len(), 16);
    assert_eq!(last(0).push(&mut to, 0), Outcome::Incomplete, "its first fragment is gone");

    // Bytes: one datagram may use the whole limit, and no more.
    let mut to = Reassembly::new(Config { bytes: 3000, ..Config::default() });
    let big = vec![0; 1400];
    let part = |ident, offset| Piece { ident, ..Piece::new(false, offset, true, &big) };
    assert_eq!(part(1, 0).push(&mut to, 0), Outcome::Incomplete);
    assert_eq!(part(2, 0).push(&mut to, 0), Outcome::Incomplete);
    assert_eq!((to.len(), to.counters().evicted), (1, 1));
    assert_eq!(part(2, 1400).push(&mut to, 0), DROPPED(Reason::NoRoom));
    assert_eq!(to.len(), 1);
    let all = to.bytes;
    for (bytes, outcome) in [(all, Outcome::Incomplete), (all - 1, DROPPED(Reason::NoRoom))] {
        let mut to = Reassembly::new(Config { bytes, ..Config::default() });
        assert_eq!(part(2, 0).push(&mut to, 0), outcome);
    }
}

#[test]
fn a_flood_of_fragments_stays_within_its_memory_and_service_goes_on() {
    let config = Config { bytes: 100_000, datagrams: 64, ..Config::default() };
    let mut to = Reassembly::new(config);
    for round in 0..50_000_u32 {
        let mut bytes = Piece::new(round % 2 == 0, 8 * (round as usize % 1000), true, &[1; 64]).bytes();
        let src = if round % 2 == 0 { 8 } else { 12 };
        bytes[src..src + 4].copy_from_slice(&round.to_be_bytes());
        push(&mut to, u64::from(round), &bytes);
        assert!(to.bytes() <= config.bytes && to.len() <= config.datagrams);
    }
    let whole = counted(100);
    assert_eq!(Piece::new(false, 0, true, &whole[..64]).push(&mut to, 0), Outcome::Incomplete);
    assert_eq!(payload(&complete(Piece::new(false, 64, false, &whole[64..]).push(&mut to, 0))), whole);
}

/// Byte by byte: the rules, without regard for time and space.
#[derive(Default)]
struct Model {
    bytes: Vec<Option<u8>>,
    fragments: Vec<(usize, usize)>,
    total: Option<usize>,
    dead: bool,
}

impl Model {
    fn push(&mut self, piece: &Piece<'_>) -> Outcome {
        let (from, end) = (piece.offset, piece.offset + piece.payload.len());
        if piece.payload.is_empty() {
            return DROPPED(Reason::Empty);
        }
        if piece.more && !piece.payload.len().is_multiple_of(8) {
            return DROPPED(Reason::Unaligned);
        }
        if self.dead {
            return DROPPED(Reason::GivenUp);
        }
        let highest = self.bytes.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        let wrong_end = self.total.is_some_and(|total| end > total || !piece.more && end != total);
        if wrong_end || !piece.more && highest > end {
            self.dead = true;
            return DROPPED(Reason::Inconsistent);
        }
        self.bytes.resize(self.bytes.len().max(end), None);
        let differs = (from..end).any(|at| self.bytes[at].is_some_and(|byte| byte != piece.payload[at - from]));
        let touches = (from..end).any(|at| self.bytes[at].is_some());
        let exact = self.fragments.contains(&(from, end));
        if differs || piece.v6 && touches && !exact {
            self.dead = true;
            return DROPPED(Reason::Overlap);
        }
        self.fragments.push((from, end));
        for at in from..end {
            self.bytes[at] = Some(piece.payload[at - from]);
        }
        self.total = self.total.or((!piece.more).then_some(end));
        match self.total {
            Some(total) if self.bytes[..total].iter().all(Option::is_some) => {
                let whole = std::mem::take(self).bytes.into_iter().flatten().collect();
                Outcome::Complete(whole)
            }
            _ => Outcome::Incomplete,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random fragments of a few datagrams, overlapping, duplicated, sometimes contradictory: each outcome equals the
    /// model's.
    #[test]
    fn as_the_model(
        v6: bool,
        pushes in vec((0..3_u16, 0..10_usize, 0..5_usize, prop::bool::weighted(0.75), 0..30_u8), 1..80),
    ) {
        let whole = counted(200);
        let mut to = reassembly();
        let mut models = [(); 3].map(|()| Model::default());
        for (ident, start, blocks, more, lie) in pushes {
            let (offset, len) = (start * 8, blocks * 8 + if more || lie != 1 { 0 } else { 3 });
            let mut payload_bytes = whole[offset..offset + len].to_vec();
            if let (2, Some(first)) = (lie, payload_bytes.first_mut()) {
                *first ^= 1;
            }
            // Not a fragment at all, or atomic.
            if offset == 0 && !more {
                continue;
            }
            let piece = Piece { ident, ..Piece::new(v6, offset, more, &payload_bytes) };
            let expected = models[usize::from(ident)].push(&piece);
            match (piece.push(&mut to, 0), expected) {
                (Outcome::Complete(packet), Outcome::Complete(expected)) => prop_assert_eq!(payload(&packet), expected),
                (ours, expected) => prop_assert_eq!(ours, expected),
            }
        }
    }

    /// Fragmented, shuffled, duplicated: the packet is reassembled, once for each time that all of it was there.
    #[test]
    fn what_is_cut_comes_back(
        v6: bool,
        len in 1..4000_usize,
        room in 8..700_usize,
        order in vec(any::<prop::sample::Index>(), 0..40),
        seed: u8,
    ) {
        let whole = counted(len + usize::from(seed))[usize::from(seed)..].to_vec();
        let mtu = room + if v6 { 48 } else { 20 };
        let cuts = if v6 { Fragments::v6(len, mtu) } else { Fragments::v4(len, mtu) }.unwrap().collect::<Vec<_>>();
        prop_assume!(cuts.len() > 1);
        let mut to = reassembly();
        let some = order.iter().map(|at| at.index(cuts.len()));
        let all = (0..cuts.len()).rev();
        let mut back = 0;
        for at in some.chain(all) {
            let Fragment { offset, more, range } = cuts[at].clone();
            let bytes = Piece::new(v6, offset.into(), more, &whole[range]).bytes();
            prop_assert!(bytes.len() <= mtu);
            if let Outcome::Complete(packet) = push(&mut to, 0, &bytes) {
                prop_assert_eq!(payload(&packet), &whole[..]);
                back += 1;
            }
        }
        prop_assert!(back >= 1);
    }

    /// Fragments of any payload cover all of it, in order, aligned, within the MTU.
    #[test]
    fn cuts_fit(len in 0..70_000_usize, mtu in 0..70_000_usize, small in any::<bool>(), v6: bool) {
        let mtu = if small { mtu % 200 } else { mtu };
        let header = if v6 { 48 } else { 20 };
        let cuts = if v6 { Fragments::v6(len, mtu) } else { Fragments::v4(len, mtu) };
        let Some(cuts) = cuts else {
            let most = if v6 { 65535 } else { 65515 };
            prop_assert!(len > most || mtu < header + len.min(8));
            return Ok(());
        };
        let mut at = 0;
        let mut last = true;
        for Fragment { offset, more, range } in cuts {
            prop_assert_eq!((usize::from(offset), range.start), (at, at));
            prop_assert!(range.len() + header <= mtu && (range.len() % 8 == 0 || !more));
            prop_assert!(!more || range.len() + 8 + header > mtu, "no fragment is smaller than it must be");
            at = range.end;
            last = more;
        }
        prop_assert_eq!((at, last), (len, false));
    }

    /// Arbitrary bytes cause no panic, and never exceed the limits.
    #[test]
    fn within_its_limits(packets in vec((any::<bool>(), vec(any::<u8>(), 60..120)), 1..100)) {
        let config = Config { bytes: 3000, datagrams: 4, timeout_ns: 50 };
        let mut to = Reassembly::new(config);
        for (now, (v6, mut bytes)) in packets.into_iter().enumerate() {
            let len = u8::try_from(bytes.len()).unwrap();
            if v6 {
                bytes[..7].copy_from_slice(&[0x60, 0, 0, 0, 0, len - 40, 44]);
                let ends = bytes[39] & 3;
                bytes[8..40].fill(ends);
                bytes[42] &= 1;
                bytes[44..48].fill(0);
                let packet = Ipv6Packet::new_checked(&bytes[..]).unwrap();
                if let Ok(Some(fragment)) = Ipv6Chain::walk(&packet).map(|chain| chain.fragment) {
                    to.push_v6(now as u64, &packet, &fragment);
                }
            } else {
                bytes[0] = 0x45 | bytes[0] & 7;
                bytes[2..6].copy_from_slice(&[0, len, 0, 0]);
                bytes[6] &= 0x21;
                bytes[9] &= 1;
                let ends = bytes[19] & 1;
                bytes[12..20].fill(ends);
                to.push_v4(now as u64, &Ipv4Packet::new_checked(&bytes[..]).unwrap());
            }
            let costs = to.datagrams.values().map(|datagram| datagram.bytes).sum::<usize>();
            prop_assert_eq!((to.bytes(), to.ages.len()), (costs, to.len()));
            prop_assert!(to.bytes() <= config.bytes && to.len() <= config.datagrams);
            for datagram in to.datagrams.values() {
                let Some(pieces) = &datagram.pieces else { continue };
                let bytes = pieces.iter().map(<[u8]>::len).sum::<usize>() + datagram.header.len();
                prop_assert_eq!(datagram.bytes, bytes + pieces.len() * PIECE_COST + DATAGRAM_COST);
            }
            to.poll(now as u64, drop);
        }
        to.poll(u64::MAX, drop);
        prop_assert_eq!((to.len(), to.bytes()), (0, 0));
    }
}
