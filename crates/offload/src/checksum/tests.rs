//! Tests against etherparse's checksums, with frames in one piece and in many.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::testing::{Shape, shapes};
use super::*;

/// `frame` after its first `at` bytes in pieces of `size`.
fn pieces(frame: &[u8], at: usize, size: usize) -> (Vec<u8>, Vec<&[u8]>) {
    (frame[..at].to_vec(), frame[at..].chunks(size).collect())
}

proptest! {
    #[test]
    fn what_etherparse_writes_is_good(shape in shapes(0..300), size in 1..100_usize, padding in 0..8_usize) {
        let mut frame = shape.frame();
        frame.resize(frame.len() + padding, 0xee);
        prop_assert_eq!(verify_checksums(&frame, &[]), Verdict::Good);
        let (head, rest) = pieces(&frame, shape.header_len(), size);
        prop_assert_eq!(verify_checksums(&head, &rest), Verdict::Good);
    }

    #[test]
    fn one_wrong_bit_is_bad(shape in shapes(0..300), at in any::<prop::sample::Index>(), bit in 0..8) {
        // From the transport header on, every byte is covered, except UDP's length and checksum fields.
        let mut frame = shape.frame();
        let start = shape.transport_at();
        let at = start + at.index(frame.len() - start);
        prop_assume!(!shape.udp || !(start + 4..start + 8).contains(&at));
        frame[at] ^= 1_u8 << bit;
        prop_assert_eq!(verify_checksums(&frame, &[]), Verdict::Bad);
    }

    #[test]
    fn one_wrong_bit_in_the_ipv4_header_is_not_good(at in 0..20_usize, bit in 0..8, udp: bool) {
        let mut frame = Shape { udp, ..Shape::default() }.frame();
        frame[14 + at] ^= 1_u8 << bit;
        prop_assert_ne!(verify_checksums(&frame, &[]), Verdict::Good);
    }

    #[test]
    fn filling_writes_what_etherparse_writes(shape in shapes(0..300), old: [u8; 4], size in 1..100_usize) {
        let right = shape.frame();
        let mut frame = right.clone();
        let field = shape.transport_at() + if shape.udp { 6 } else { 16 };
        frame[field..field + 2].copy_from_slice(&old[..2]);
        if !shape.v6 {
            let ip = shape.transport_at() - 20;
            frame[ip + 10..ip + 12].copy_from_slice(&old[2..]);
        }
        let (mut head, rest) = pieces(&frame, shape.header_len(), size);
        prop_assert_eq!(fill_checksums(&mut head, &rest), Ok(()));
        prop_assert_eq!([&head[..], &rest.concat()].concat(), &right[..]);
        prop_assert_eq!(fill_checksums(&mut frame, &[]), Ok(()));
        prop_assert_eq!(frame, right);
    }

    #[test]
    fn an_open_checksum_is_seen_and_its_request_completes_it(shape in shapes(0..300), at in any::<prop::sample::Index>()) {
        let right = shape.frame();
        let start = shape.transport_at();
        let field = start + if shape.udp { 6 } else { 16 };
        let headers = Headers::parse(&right, right.len()).unwrap();
        let len = u32::try_from(right.len() - start).unwrap();
        let pseudo = pseudo_header(&headers, &headers.ip.unwrap(), &right, len).fold();
        // By accident a right one is the same.
        prop_assume!(right[field..field + 2] != pseudo.to_be_bytes());
        prop_assert_eq!(seems_open(&right, right.len()), None);
        let mut open = right.clone();
        open[field..field + 2].copy_from_slice(&pseudo.to_be_bytes());
        // The headers are enough.
        let head = &open[..shape.header_len()];
        let request = seems_open(head, open.len()).unwrap();
        prop_assert_eq!(seems_open(&head[..at.index(field + 2)], open.len()), None, "its checksum is not there");
        prop_assert_eq!(request.flags, Meta::NEEDS_CSUM);
        prop_assert_eq!(complete_checksum(&mut open, &[], &request), Ok(()));
        prop_assert_eq!(open, right);
    }

    #[test]
    fn a_request_is_completed_as_virtio_says(shape in shapes(0..300), size in 1..100_usize) {
        let right = shape.frame();
        let mut frame = right.clone();
        let headers = Headers::parse(&frame, frame.len()).unwrap();
        let ip = headers.ip.unwrap();
        let offset = if shape.udp { 6 } else { 16 };
        let len = u32::try_from(ip.end - ip.transport).unwrap();
        let partial = pseudo_header(&headers, &ip, &frame, len).fold();
        frame[ip.transport + offset..][..2].copy_from_slice(&partial.to_be_bytes());
        let meta = Meta {
            flags: Meta::NEEDS_CSUM,
            csum_start: u16::try_from(ip.transport).unwrap(),
            csum_offset: u16::try_from(offset).unwrap(),
            ..Meta::default()
        };
        let (mut head, rest) = pieces(&frame, shape.header_len(), size);
        prop_assert_eq!(complete_checksum(&mut head, &rest, &meta), Ok(()));
        let completed = [&head[..], &rest.concat()].concat();
        prop_assert_eq!(verify_checksums(&completed, &[]), Verdict::Good);
        prop_assert_eq!(completed, right);
    }

    /// Regression: TCP's was all ones too, which receivers take, and tshark calls bad.
    #[test]
    fn a_checksum_of_zero_is_all_ones_in_udp_alone(shape in shapes(2..300)) {
        let mut frame = shape.frame();
        let start = shape.transport_at();
        let field = start + if shape.udp { 6 } else { 16 };
        // The last two bytes, where there is a pair, make up for the rest.
        prop_assume!((frame.len() - start) % 2 == 0);
        let last = frame.len() - 2;
        frame[last..].fill(0);
        prop_assert_eq!(fill_checksums(&mut frame, &[]), Ok(()));
        let checksum: [u8; 2] = frame[field..field + 2].try_into().unwrap();
        frame[last..].copy_from_slice(&checksum);
        let headers = Headers::parse(&frame, frame.len()).unwrap();
        let len = u32::try_from(frame.len() - start).unwrap();
        let pseudo = pseudo_header(&headers, &headers.ip.unwrap(), &frame, len).fold();
        frame[field..field + 2].copy_from_slice(&pseudo.to_be_bytes());
        let meta = Meta {
            flags: Meta::NEEDS_CSUM,
            csum_start: u16::try_from(start).unwrap(),
            csum_offset: u16::try_from(field - start).unwrap(),
            ..Meta::default()
        };
        prop_assert_eq!(complete_checksum(&mut frame, &[], &meta), Ok(()));
        prop_assert_eq!(&frame[field..field + 2], if shape.udp { &[0xff, 0xff] } else { &[0, 0] });
    }

    #[test]
    fn hostile_frames_and_requests_do_not_panic(
        mut bytes in vec(any::<u8>(), 0..200), shape in shapes(0..20), cut: prop::sample::Index,
        at in any::<prop::sample::Index>(), value: u8, start: u16, offset: u16,
    ) {
        let mut frame = shape.frame();
        let damaged = at.index(frame.len());
        frame[damaged] = value;
        frame.truncate(cut.index(frame.len() + 1));
        let meta = Meta { flags: Meta::NEEDS_CSUM, csum_start: start, csum_offset: offset, ..Meta::default() };
        let rest: [&[u8]; 2] = [&value.to_be_bytes(), &[]];
        for bytes in [&mut bytes, &mut frame] {
            let _ = verify_checksums(bytes, &rest);
            let _ = fill_checksums(bytes, &rest);
            let before = bytes.clone();
            if complete_checksum(bytes, &rest, &meta).is_err() {
                prop_assert_eq!(&before, &*bytes);
            }
            let small = Meta { csum_start: start % 300, csum_offset: offset % 300, ..meta };
            let _ = complete_checksum(bytes, &[], &small);
        }
    }
}

#[test]
fn what_cannot_be_judged_is_unknown() {
    let unknown = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = Shape { udp: true, ..Shape::default() }.frame();
        change(&mut frame);
        let headers = Headers::parse(&frame, frame.len()).unwrap();
        fill_ipv4_checksum(&mut frame, &headers);
        verify_checksums(&frame, &[])
    };
    assert_eq!(unknown(&|_| ()), Verdict::Good);
    assert_eq!(unknown(&|frame| frame[12..14].copy_from_slice(&[0x08, 0x06])), Verdict::Unknown, "ARP");
    assert_eq!(unknown(&|frame| frame[14 + 6] = 0x20), Verdict::Unknown, "first fragment");
    assert_eq!(unknown(&|frame| frame[14 + 7] = 1), Verdict::Unknown, "last fragment");
    assert_eq!(unknown(&|frame| frame[14 + 9] = 1), Verdict::Unknown, "ICMP");
    assert_eq!(unknown(&|frame| frame[34 + 6..34 + 8].fill(0)), Verdict::Unknown, "UDP without a checksum");
    assert_eq!(verify_checksums(&[0; 13], &[]), Verdict::Unknown);

    let mut v6 = Shape { udp: true, v6: true, ..Shape::default() }.frame();
    v6[54 + 6..54 + 8].fill(0);
    assert_eq!(verify_checksums(&v6, &[]), Verdict::Bad, "RFC 8200, section 8.1");
}

#[test]
fn ipv6_fragments_and_routes_are_stepped_over() {
    let with = |extension: [u8; 8]| {
        let mut frame = Shape { v6: true, ..Shape::default() }.frame();
        frame.splice(54..54, extension);
        frame[14 + 6] = extension_number(extension);
        let payload_len = u16::try_from(frame.len() - 54).unwrap();
        frame[14 + 4..14 + 6].copy_from_slice(&payload_len.to_be_bytes());
        verify_checksums(&frame, &[])
    };
    /// The test's mark in the reserved byte distinguishes a fragment header from a routing header.
    fn extension_number(extension: [u8; 8]) -> u8 {
        if extension[7] == 44 { 44 } else { 43 }
    }
    assert_eq!(with([6, 0, 0, 0, 0, 0, 0, 44]), Verdict::Good, "an atomic fragment is a packet (RFC 6946)");
    assert_eq!(with([6, 0, 0, 1, 0, 0, 0, 44]), Verdict::Unknown, "more fragments");
    assert_eq!(with([6, 0, 0, 8, 0, 0, 0, 44]), Verdict::Unknown, "a later fragment");
    assert_eq!(with([6, 0, 4, 0, 0, 0, 0, 43]), Verdict::Good, "a route at its end");
    assert_eq!(with([6, 0, 4, 1, 0, 0, 0, 43]), Verdict::Unknown, "a route under way");
}

#[test]
fn ipv4_alone_is_filled_in_above_what_is_not_ours() {
    let mut frame = Shape::default().frame();
    frame[14 + 9] = 1;
    let transport = frame[34..].to_vec();
    assert_eq!(fill_checksums(&mut frame, &[]), Ok(()));
    assert_eq!(checksum(&frame[14..34]), 0);
    assert_eq!(frame[34..], transport, "ICMP is not touched");
    let mut cut = Shape::default().frame();
    cut[16..18].copy_from_slice(&30_u16.to_be_bytes());
    let before = cut.clone();
    assert_eq!(fill_checksums(&mut cut, &[]), Err(ChecksumError::NotTransport), "10 bytes are no TCP header");
    assert_eq!(cut, before);
}

#[test]
fn a_slot_that_asks_for_nothing_gets_nothing() {
    let mut frame = [0x5a; 60];
    assert_eq!(complete_checksum(&mut frame, &[], &Meta::default()), Ok(()));
    assert_eq!(frame, [0x5a; 60]);
    assert_eq!(Verdict::Good.meta_flags(), Meta::DATA_VALID);
    assert_eq!(Verdict::Bad.meta_flags() | Verdict::Unknown.meta_flags(), 0);
}
