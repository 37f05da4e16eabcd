//! Tests of segments against frames that etherparse builds one by one.

use linerate_ring::{Region, RegionConfig, Sharing, TxRing};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::checksum::{Verdict, complete_checksum, verify_checksums};
use super::super::testing::{Shape, shapes};
use super::*;

/// Segments built one by one, each as a frame.
fn naive(shape: &Shape, size: usize) -> Vec<Vec<u8>> {
    let chunks = shape.payload.chunks(size);
    let last = chunks.len() - 1;
    let segments = chunks.enumerate().map(|(i, chunk)| {
        let mut flags = shape.flags;
        if i > 0 {
            flags &= !0x80;
        }
        if i < last {
            flags &= !0x09;
        }
        let index = u32::try_from(i).unwrap();
        let seq = shape.seq.wrapping_add(index * u32::try_from(size).unwrap());
        let ident = shape.ident.wrapping_add(u16::try_from(i).unwrap());
        Shape { flags, seq, ident, payload: chunk.to_vec(), ..shape.clone() }.frame()
    });
    segments.collect()
}

/// A template with wrong lengths and checksums.
fn template(shape: &Shape, garbage: u8) -> Vec<u8> {
    let mut header = shape.frame()[..shape.header_len()].to_vec();
    let transport = shape.transport_at();
    let checksum = transport + if shape.udp { 6 } else { 16 };
    header[checksum..checksum + 2].fill(garbage);
    if shape.udp {
        header[transport + 4] = garbage;
    }
    let ip = 14 + 4 * usize::from(shape.tags);
    if shape.v6 {
        header[ip + 4..ip + 6].fill(garbage);
    } else {
        header[ip + 2..ip + 4].fill(garbage);
        header[ip + 10..ip + 12].fill(garbage);
    }
    header
}

fn cut<'a>(payload: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(payload.len() + 1)).collect();
    at.extend([0, payload.len()]);
    at.sort_unstable();
    at.windows(2).map(|ends| &payload[ends[0]..ends[1]]).collect()
}

fn written(mut segments: Segments<'_>) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some(len) = segments.next_len() {
        let mut frame = vec![0xa5; len + 3];
        assert_eq!(segments.write_next(&mut frame[..]), Some(len));
        assert_eq!(frame.split_off(len), [0xa5; 3], "wrote beyond the frame");
        frames.push(frame);
    }
    assert_eq!((segments.remaining(), segments.write_next(&mut [0; 2000][..])), (0, None));
    frames
}

fn meta_for(shape: &Shape, size: u16) -> Meta {
    let gso_type = match (shape.udp, shape.v6) {
        (true, _) => 5,
        (false, false) => 1,
        (false, true) => 4,
    };
    Meta { gso_type, gso_size: size, ..Meta::default() }
}

proptest! {
    #[test]
    fn segments_are_the_frames_built_one_by_one(
        shape in shapes(1..700), size in 1..300_u16, garbage: u8, cuts in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let slices = cut(&shape.payload, &cuts);
        let template = template(&shape, garbage);
        prop_assert_eq!(header_len(&template), Ok(template.len()));
        prop_assert_eq!(header_len(&shape.frame()), Ok(template.len()));
        let right = naive(&shape, usize::from(size));
        let segments = Segments::new(&template, &slices, size).unwrap();
        prop_assert_eq!(segments.remaining(), right.len());
        prop_assert_eq!(written(segments), &right[..]);
        let meta = meta_for(&shape, size);
        prop_assert_eq!(written(Segments::from_meta(&template, &slices, &meta).unwrap()), &right[..]);
        let wrong = Meta { gso_type: 3, ..meta };
        prop_assert_eq!(Segments::from_meta(&template, &slices, &wrong).err(), Some(SegmentError::Kind(3)));
    }

    #[test]
    fn prepared_headers_serve_many_requests(
        shape in shapes(1..700), sizes in vec(1..300_u16, 1..4), numbers: (u16, u32), garbage: u8,
    ) {
        let mut headers = Prepared::new(&template(&shape, garbage)).unwrap();
        prop_assert_eq!(headers.header_len(), shape.header_len());
        prop_assert_eq!(headers.is_tagged(), shape.tags > 0);
        prop_assert_eq!(headers.version() == crate::Version::V6, shape.v6);
        let slices = [&shape.payload[..]];
        for (k, size) in (0..).zip(sizes) {
            let (ident, seq) = (numbers.0.wrapping_add(k), numbers.1.wrapping_mul(1 + u32::from(k)));
            headers.set_ident(ident);
            headers.set_seq(seq);
            let now = Shape { ident, seq, ..shape.clone() };
            let segments = written(Segments::over(&headers, &slices, size).unwrap());
            prop_assert_eq!(&segments, &written(Segments::new(&template(&now, garbage), &slices, size).unwrap()));
            prop_assert_eq!(&segments, &naive(&now, size.into()));
            let whole = Prepared::of_frame(&now.frame()).unwrap();
            prop_assert_eq!(&segments, &written(Segments::over(&whole, &slices, size).unwrap()));
        }
    }

    /// A super-frame becomes the same segments elsewhere, or one right frame.
    #[test]
    fn super_frames_are_what_they_are_segmented_to(shape in shapes(1..700), size in 1..300_u16, garbage: u8) {
        let headers = Prepared::new(&template(&shape, garbage)).unwrap();
        let (front, meta) = headers.super_frame(shape.payload.len(), size).unwrap();
        let front = &front[..headers.header_len()];
        let transport = u16::try_from(shape.transport_at()).unwrap();
        let asked = Meta { flags: Meta::NEEDS_CSUM, csum_start: transport, ..meta_for(&shape, size) };
        let (hdr_len, csum_offset) = (u16::try_from(front.len()).unwrap(), if shape.udp { 6 } else { 16 });
        prop_assert_eq!(meta, Meta { hdr_len, csum_offset, ..asked });
        let mut frame = [front, &shape.payload].concat();
        complete_checksum(&mut frame, &[], &meta).unwrap();
        let field = usize::from(transport + csum_offset);
        prop_assert_eq!(verify_checksums(&frame, &[]), Verdict::Good);
        // All else, IP's length and checksum, UDP's length, TCP's flags among it, is as in a frame that was built at once.
        let built = shape.frame();
        prop_assert_eq!(&frame[..field], &built[..field]);
        prop_assert_eq!(&frame[field + 2..], &built[field + 2..]);
        let slices = [&shape.payload[..]];
        let segments = Segments::from_meta(front, &slices, &meta).unwrap();
        prop_assert_eq!(written(segments), naive(&shape, size.into()));
    }

    #[test]
    fn slots_hold_what_slices_hold(
        shape in shapes(1..2500), size in 1..1500_u16, cuts in vec(any::<prop::sample::Index>(), 0..6), shared: bool,
    ) {
        let slices = cut(&shape.payload, &cuts);
        let template = template(&shape, 0);
        let right = written(Segments::new(&template, &slices, size).unwrap());
        let sharing = if shared { Sharing::Shared } else { Sharing::Private };
        let config =
            RegionConfig { buf_size: 2048, buffers: 80, ring_bytes: Region::ring_room(64) + 4096, sharing, huge: false };
        let region = Region::new(&config).unwrap();
        let mut ring = TxRing::new(&region, 0, 64).unwrap();
        let mut segments = Segments::new(&template, &slices, size).unwrap();
        let mut batch = ring.reserve(1);
        for right in right {
            let mut frame = batch.frame(0);
            prop_assert_eq!(frame.bytes().is_none(), shared);
            prop_assert_eq!(segments.write_next(&mut frame), Some(right.len()));
            prop_assert_eq!(&frame.to_vec()[..right.len()], &right[..]);
        }
        prop_assert_eq!(segments.remaining(), 0);
    }

    #[test]
    fn hostile_requests_do_not_panic(
        bytes in vec(any::<u8>(), 0..300), shape in shapes(0..40), at: prop::sample::Index, value: u8,
        cut in any::<prop::sample::Index>(), size: u16, gso_type: u8, room in 0..400_usize,
    ) {
        let mut damaged = shape.frame();
        let at = at.index(damaged.len());
        damaged[at] = value;
        damaged.truncate(cut.index(damaged.len() + 1));
        let payload: [&[u8]; 3] = [&bytes, &[], &bytes];
        for template in [&bytes[..], &damaged, &damaged[..header_len(&damaged).unwrap_or(0)]] {
            let meta = Meta { gso_size: size, gso_type, ..Meta::default() };
            let _ = Segments::from_meta(template, &payload, &meta).is_ok();
            if let Ok(mut segments) = Segments::new(template, &payload, size % 64) {
                let mut to = vec![0; room];
                let fits = segments.next_len().is_some_and(|len| len <= room);
                prop_assert_eq!(segments.write_next(&mut to[..]).is_some(), fits);
                if !fits {
                    prop_assert_eq!(to, vec![0; room], "nothing is written that does not fit");
                }
            }
        }
    }
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let shape = Shape::default();
    let header = template(&shape, 0);
    let error = |template: &[u8], payload: &[&[u8]], size| {
        let error = Segments::new(template, payload, size).err();
        // Bad headers are found out when they are prepared, bad sizes when they are used.
        match Prepared::new(template) {
            Ok(headers) => assert_eq!(Segments::over(&headers, payload, size).err(), error),
            Err(refused) => assert_eq!(Some(refused), error),
        }
        error
    };
    assert_eq!(error(&header, &[], 1448), Some(SegmentError::Payload(0)));
    assert_eq!(error(&header, &[&[], &[]], 1448), Some(SegmentError::Payload(0)));
    assert_eq!(error(&header, &[&[0; 65536], &[0]], 1448), Some(SegmentError::Payload(65537)));
    assert_eq!(error(&header, &[&[0; 65536]], 1448), None);
    assert_eq!(error(&header, &[&[0]], 0), Some(SegmentError::Size(0)));
    assert_eq!(error(&header, &[&[0]], 65496), Some(SegmentError::Size(65496)), "40 bytes of headers");
    assert_eq!(error(&header, &[&[0]], 65495), None);
    assert_eq!(error(&header[..53], &[&[0]], 1), Some(SegmentError::Template));
    assert_eq!(error(&[&header[..], &[0]].concat(), &[&[0]], 1), Some(SegmentError::Template));
    assert_eq!(error(&[0; 257], &[&[0]], 1), Some(SegmentError::Header(257)));
    for flag in [2, 4, 32] {
        let mut bad = header.clone();
        bad[34 + 13] |= flag;
        assert_eq!(error(&bad, &[&[0]], 1), Some(SegmentError::Flags(0x10 | flag)));
    }
    let mut fragment = header.clone();
    fragment[14 + 6] |= 0x20;
    assert_eq!(error(&fragment, &[&[0]], 1), Some(SegmentError::Unsupported));
    let mut icmp = header.clone();
    icmp[14 + 9] = 1;
    assert_eq!(error(&icmp, &[&[0]], 1), Some(SegmentError::Template));
    for bad in [&fragment[..], &icmp, &header[..53], &[0; 257], &[&header[..], &[0]].concat()] {
        assert!(Prepared::new(bad).is_err());
    }
    assert_eq!(Prepared::of_frame(&[&header[..], &[0; 300]].concat()).map(|headers| headers.header_len()), Ok(54));
    // Hop-by-hop options of 240 bytes.
    let six = Shape { v6: true, ..Shape::default() };
    let mut long = template(&six, 0);
    let len = long.len() + 240;
    long.splice(54..54, [vec![6, 240 / 8 - 1], vec![0; 238]].concat());
    long[20] = 0;
    assert_eq!(Prepared::of_frame(&long).err(), Some(SegmentError::Header(len)));
    let headers = Prepared::new(&header).unwrap();
    assert!(headers.super_frame(65495, 1448).is_some(), "40 bytes of headers");
    assert!(headers.super_frame(65496, 1448).is_none());
}

#[test]
fn sixty_four_kilobytes_are_forty_six_frames() {
    let payload: Vec<u8> = (0..65536_u32).map(|i| i.to_be_bytes()[3] ^ i.to_be_bytes()[2]).collect();
    let shape = Shape { payload, flags: 0x99, tags: 1, timestamp: Some(9), ..Shape::default() };
    let right = {
        // No IP packet holds the whole payload, so the template is that of a small one.
        let small = Shape { payload: vec![1], ..shape.clone() };
        template(&small, 0xff)
    };
    let frames = written(Segments::new(&right, &[&shape.payload], 1448).unwrap());
    assert_eq!(frames.len(), 46);
    assert_eq!(frames, naive(&shape, 1448));
}
