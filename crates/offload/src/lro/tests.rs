//! Tests that a merged packet can be segmented into the frames received, that unsuitable segments are not merged, and
//! that nothing is lost, duplicated or reordered.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::checksum::verify_checksums;
use super::super::headers::Version;
use super::super::segment::{Segments, header_len};
use super::super::sink::Frames;
use super::super::testing::{Shape, shapes};
use super::*;

const CONFIG: LroConfig = LroConfig { flows: 8, max_len: 65535, max_pieces: 64, timeout: 1000 };

/// A copy of a packet handed out.
#[derive(Debug, Clone, PartialEq)]
struct Out {
    header: Vec<u8>,
    pieces: Vec<Piece>,
    meta: Meta,
}

fn keep(outs: &mut Vec<Out>) -> impl FnMut(Merged<'_>) + '_ {
    |merged| {
        outs.push(Out { header: merged.header.to_vec(), pieces: merged.pieces.to_vec(), meta: merged.meta });
    }
}

fn offer(lro: &mut Lro, now: u64, name: u32, frame: &[u8], outs: &mut Vec<Out>) -> Pushed {
    let received = Received {
        head: frame,
        len: frame.len(),
        frame: name,
        verdict: verify_checksums(frame, &[]),
        vlan_tci: 0,
        hash: name,
    };
    lro.push(now, &received, keep(outs))
}

fn slices<'a>(out: &Out, frames: &'a [Vec<u8>]) -> Vec<&'a [u8]> {
    let piece = |piece: &Piece| &frames[piece.frame as usize][usize::from(piece.start)..usize::from(piece.end)];
    out.pieces.iter().map(piece).collect()
}

/// Frames into which a merged packet is segmented; for one segment, its frame.
fn apart(out: &Out, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    if let [only] = out.pieces[..] {
        let frame = &frames[only.frame as usize];
        assert!(frame.starts_with(&out.header), "a single segment's header is as received");
        assert_eq!((out.meta.gso_type, out.meta.flags), (0, Meta::DATA_VALID));
        return vec![frame.clone()];
    }
    let slices = slices(out, frames);
    let mut segments = Segments::from_meta(&out.header, &slices, &out.meta).unwrap();
    let mut apart = Vec::new();
    while let Some(len) = segments.next_len() {
        let mut frame = vec![0; len];
        segments.write_next(&mut frame[..]).unwrap();
        apart.push(frame);
    }
    apart
}

fn segmented(shape: &Shape, size: usize) -> Vec<Vec<u8>> {
    let small = Shape { payload: vec![0], ..shape.clone() }.frame();
    let template = &small[..header_len(&small).unwrap()];
    let payload = [&shape.payload[..]];
    let mut segments = Segments::new(template, &payload, u16::try_from(size).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(len) = segments.next_len() {
        let mut frame = vec![0; len];
        segments.write_next(&mut frame[..]).unwrap();
        frames.push(frame);
    }
    frames
}

proptest! {
    #[test]
    fn segmenting_and_merging_give_the_stream_back(shape in shapes(2..5000), size in 100..1449_usize, push: bool) {
        let flags = if push { 0x18 } else { 0x10 };
        let shape = Shape { udp: false, extensions: false, flags, ..shape };
        let frames = segmented(&shape, size);
        let mut lro = Lro::new(CONFIG);
        let mut outs = Vec::new();
        let mut passed = Vec::new();
        for (name, frame) in (0..).zip(&frames) {
            if offer(&mut lro, 0, name, frame, &mut outs) == Pushed::Pass {
                passed.push(frame.clone());
            }
        }
        lro.flush(keep(&mut outs));
        prop_assert_eq!(lro.held(), 0);
        if frames.len() == 1 {
            prop_assert_eq!(passed.len() + outs.len(), 1);
        } else {
            prop_assert_eq!((passed.len(), outs.len()), (0, 1), "one packet");
            let out = &outs[0];
            prop_assert_eq!(slices(out, &frames).concat(), &shape.payload[..]);
            prop_assert_eq!(apart(out, &frames), &frames[..]);
            // The whole packet, its checksum completed as requested, equals the one that etherparse builds.
            let mut whole = [&out.header[..], &slices(out, &frames).concat()].concat();
            prop_assert_eq!(out.meta.flags, Meta::NEEDS_CSUM | Meta::DATA_VALID);
            super::super::checksum::complete_checksum(&mut whole, &[], &out.meta).unwrap();
            prop_assert_eq!(verify_checksums(&whole, &[]), Verdict::Good);
            let right = shape.frame();
            let at = shape.transport_at() + 16;
            prop_assume!(right[at..at + 2] != [0, 0]);
            prop_assert_eq!(whole, right);
        }
    }

    /// Several flows, mixed, with all kinds of faults: the output equals the input, flow by flow.
    #[test]
    fn no_frame_is_lost_doubled_or_overtaken(
        steps in vec((0..12_u16, 0..12_u8, 1..60_usize, any::<u8>()), 1..200), max_pieces in 0..70_u16, max_len in 100..2000_u16,
    ) {
        struct Sender { shape: Shape }
        let mut senders: Vec<Sender> = (0..12)
            .map(|port| Sender { shape: Shape { v6: port % 3 == 0, tags: u8::from(port % 4 == 0), ports: (port, 80), ..Shape::default() } })
            .collect();
        let mut lro = Lro::new(LroConfig { max_pieces, max_len, ..CONFIG });
        let mut frames: Vec<Vec<u8>> = Vec::new();
        // Identifiers of the frames, in the order of delivery.
        let mut delivered = Vec::new();
        let mut check = Ok(());
        for (now, (who, what, len, byte)) in (0_u64..).step_by(40).zip(&steps) {
            let shape = &mut senders[usize::from(*who)].shape;
            shape.payload = vec![*byte; *len];
            shape.flags = 0x10;
            match what {
                0 => shape.flags |= 8,
                1 => shape.seq = shape.seq.wrapping_add(1),
                2 => shape.payload.clear(),
                3 => shape.flags |= 0x40,
                4 => shape.ack += 1,
                5 => shape.timestamp = shape.timestamp.map_or(Some(5), |value| value.checked_sub(1)),
                6 => shape.ident = shape.ident.wrapping_sub(1),
                _ => shape.payload = vec![*byte; 50],
            }
            let mut frame = shape.frame();
            if *what == 7 {
                let last = frame.len() - 1;
                frame[last] ^= 1;
            }
            shape.seq = shape.seq.wrapping_add(u32::try_from(shape.payload.len()).unwrap());
            shape.ident = shape.ident.wrapping_add(1);
            let name = u32::try_from(frames.len()).unwrap();
            frames.push(frame);
            let mut outs = Vec::new();
            lro.expire(now, keep(&mut outs));
            let pushed = offer(&mut lro, now, name, &frames[name as usize], &mut outs);
            prop_assert!(lro.held() <= 8 && lro.due().is_none_or(|due| due > now));
            for out in outs {
                check = check.and(checked(&out, &frames, max_len));
                delivered.extend(out.pieces.iter().map(|piece| piece.frame));
            }
            if pushed == Pushed::Pass {
                delivered.push(name);
            }
        }
        lro.flush(|merged| delivered.extend(merged.pieces.iter().map(|piece| piece.frame)));
        prop_assert_eq!(check, Ok(()));
        prop_assert_eq!((lro.held(), lro.due()), (0, None));
        let of = |who: u16, names: &[u32]| names.iter().copied().filter(|&name| steps[name as usize].0 == who).collect::<Vec<_>>();
        let sent: Vec<u32> = (0..u32::try_from(frames.len()).unwrap()).collect();
        prop_assert_eq!(delivered.len(), sent.len());
        for who in 0..12 {
            prop_assert_eq!(of(who, &delivered), of(who, &sent));
        }
    }

    #[test]
    fn hostile_frames_do_not_panic(
        frames in vec((shapes(0..40), any::<prop::sample::Index>(), any::<u8>(), any::<prop::sample::Index>(), vec(any::<u8>(), 0..80)), 1..20),
    ) {
        let mut lro = Lro::new(LroConfig { flows: 0, max_len: 0, max_pieces: 0, timeout: 0 });
        let mut pieces = 0;
        let mut wide = Lro::new(CONFIG);
        for (shape, at, value, cut, noise) in frames {
            let mut frame = shape.frame();
            let at = at.index(frame.len());
            frame[at] = value;
            let len = frame.len();
            frame.truncate(cut.index(len + 1));
            for bytes in [&frame, &noise] {
                let received = Received { head: bytes, len, frame: 1, verdict: Verdict::Good, vlan_tci: 0, hash: 0 };
                let _ = lro.push(0, &received, |_| ());
                let _ = wide.push(0, &received, |merged| pieces += merged.pieces.len());
                let _ = wide.push(0, &received, |merged| pieces += merged.pieces.len());
            }
        }
        wide.flush(|merged| pieces += merged.pieces.len());
        prop_assert!(pieces <= 80);
        lro.expire(0, |_| ());
        prop_assert_eq!(lro.held(), 0);
    }
}

fn checked(out: &Out, frames: &[Vec<u8>], max_len: u16) -> Result<(), String> {
    let came: Vec<_> = out.pieces.iter().map(|piece| frames[piece.frame as usize].clone()).collect();
    let headers = super::super::headers::Headers::parse(&out.header, usize::MAX).ok_or("no headers")?;
    let ip = headers.ip.ok_or("no packet")?;
    if out.pieces.len() > 1 && ip.end - headers.network > usize::from(max_len) {
        return Err(format!("{} bytes are too many", ip.end - headers.network));
    }
    let mut apart = apart(out, frames);
    // Newer time-stamps and a constant identification may be lost: they are restored before comparing.
    for (frame, came) in apart.iter_mut().zip(&came) {
        let at = ip.transport;
        let network = headers.network;
        if ip.version == Version::V4 && came[network + 4..network + 6] == out.header[network + 4..network + 6] {
            frame[network + 4..network + 6].copy_from_slice(&came[network + 4..network + 6]);
            frame[network + 10..network + 12].copy_from_slice(&came[network + 10..network + 12]);
        }
        if came[at + 12] >> 4 == 8 {
            frame[at + 24..at + 28].copy_from_slice(&came[at + 24..at + 28]);
            frame[at + 16..at + 18].copy_from_slice(&came[at + 16..at + 18]);
        }
    }
    if apart == came { Ok(()) } else { Err(format!("{apart:?} is not {came:?}")) }
}

/// Merges two consecutive segments, the second one altered by `change`; returns the number of packets.
fn pair(first: &Shape, change: impl FnOnce(&mut Shape, &mut Vec<u8>)) -> usize {
    let mut second = first.clone();
    second.seq = first.seq.wrapping_add(u32::try_from(first.payload.len()).unwrap());
    second.ident = first.ident.wrapping_add(1);
    let mut patch = Vec::new();
    change(&mut second, &mut patch);
    let mut frame = second.frame();
    for patch in patch.chunks_exact(2) {
        frame[usize::from(patch[0])] = patch[1];
    }
    if !patch.is_empty() {
        super::super::checksum::fill_checksums(&mut frame, &[]).unwrap();
    }
    let mut lro = Lro::new(CONFIG);
    let mut outs = Vec::new();
    let mut passed = 0;
    for (name, frame) in (0..).zip([first.frame(), frame]) {
        passed += usize::from(offer(&mut lro, 0, name, &frame, &mut outs) == Pushed::Pass);
    }
    lro.flush(keep(&mut outs));
    let pieces: usize = outs.iter().map(|out| out.pieces.len()).sum();
    assert_eq!(pieces + passed, 2);
    outs.len() + passed
}

#[test]
fn the_rules_one_by_one() {
    let v4 = Shape::default();
    let v6 = Shape { v6: true, ..Shape::default() };
    let stamped = Shape { timestamp: Some(u32::MAX), ..Shape::default() };
    for shape in [&v4, &v6, &stamped, &Shape { tags: 2, ..v6.clone() }] {
        assert_eq!(pair(shape, |_, _| ()), 1, "they follow");
        assert_eq!(pair(shape, |s, _| s.seq += 1), 2, "a gap");
        assert_eq!(pair(shape, |s, _| s.seq -= 1), 2, "an overlap");
        assert_eq!(pair(shape, |s, _| s.ack += 1), 2, "another acknowledgment");
        assert_eq!(pair(shape, |s, _| s.payload.push(0)), 2, "longer than the first");
        assert_eq!(pair(shape, |s, _| s.payload.truncate(1)), 1, "shorter");
        assert_eq!(pair(shape, |s, _| s.payload.clear()), 2, "no payload");
        assert_eq!(pair(shape, |s, _| s.flags |= 8), 1, "PSH");
        for flag in [0x01, 0x40, 0x80] {
            assert_eq!(pair(shape, |s, _| s.flags |= flag), 2, "flag {flag:#x}");
        }
        assert_eq!(pair(shape, |s, _| s.flags = 0), 2, "no ACK");
        assert_eq!(pair(shape, |s, _| s.ports.0 += 1), 2, "another flow");
        assert_eq!(pair(shape, |_, patch| patch.extend([5, 9])), 2, "another address of the frame");
        assert_eq!(pair(shape, |s, _| s.tags ^= 1), 2, "another tag");
    }
    // Offsets without tags: IPv4 at 14, TCP at 34; IPv6 at 14, TCP at 54.
    assert_eq!(pair(&v4, |_, patch| patch.extend([15, 3])), 2, "congestion experienced");
    assert_eq!(pair(&v4, |_, patch| patch.extend([22, 62])), 2, "another time to live");
    assert_eq!(pair(&v4, |_, patch| patch.extend([20, 0])), 2, "without DF");
    assert_eq!(pair(&v4, |_, patch| patch.extend([34 + 15, 1])), 2, "another window");
    assert_eq!(pair(&v4, |_, patch| patch.extend([34 + 13, 0x30])), 2, "URG");
    assert_eq!(pair(&v4, |_, patch| patch.extend([34 + 13, 0x12])), 2, "SYN");
    assert_eq!(pair(&v4, |_, patch| patch.extend([34 + 13, 0x14])), 2, "RST");
    assert_eq!(pair(&v4, |_, patch| patch.extend([34 + 12, 0x51])), 2, "AE (RFC 9768)");
    assert_eq!(pair(&v4, |s, _| s.ident = v4.ident), 1, "the same identification, with DF");
    assert_eq!(pair(&v4, |s, _| s.ident += 1), 2, "an identification left out");
    assert_eq!(pair(&v6, |_, patch| patch.extend([14, 0x63])), 2, "another traffic class");
    assert_eq!(pair(&v6, |_, patch| patch.extend([17, 0])), 2, "another flow label");
    assert_eq!(pair(&v6, |_, patch| patch.extend([21, 62])), 2, "another hop limit");
    assert_eq!(pair(&v6, |s, _| s.extensions = true), 2, "extension headers");
    assert_eq!(pair(&stamped, |s, _| s.timestamp = Some(3)), 1, "a newer time-stamp, past the wrap");
    assert_eq!(pair(&stamped, |s, _| s.timestamp = Some(u32::MAX - 1)), 2, "an older one");
    assert_eq!(pair(&stamped, |s, _| s.timestamp = None), 2, "none");
    assert_eq!(pair(&stamped, |_, patch| patch.extend([34 + 31, 78])), 2, "another echo");
    assert_eq!(pair(&stamped, |_, patch| patch.extend([34 + 20, 0])), 2, "another option");
    assert_eq!(pair(&Shape { flags: 0x18, ..v4.clone() }, |_, _| ()), 2, "PSH ends the first");
}

/// Merges two consecutive segments, both with these bytes in the TCP header; returns the number of packets.
fn two_with(first: &Shape, bytes: &[(usize, u8)]) -> usize {
    let second = Shape {
        seq: first.seq.wrapping_add(u32::try_from(first.payload.len()).unwrap()),
        ident: first.ident.wrapping_add(1),
        ..first.clone()
    };
    let mut lro = Lro::new(CONFIG);
    let (mut outs, mut passed) = (Vec::new(), 0);
    for (name, shape) in (0..).zip([first, &second]) {
        let mut frame = shape.frame();
        bytes.iter().for_each(|(at, byte)| frame[shape.transport_at() + at] = *byte);
        super::super::checksum::fill_checksums(&mut frame, &[]).unwrap();
        assert_eq!(verify_checksums(&frame, &[]), Verdict::Good);
        passed += usize::from(offer(&mut lro, 0, name, &frame, &mut outs) == Pushed::Pass);
    }
    lro.flush(keep(&mut outs));
    outs.len() + passed
}

/// Bits after the data offset: three reserved (RFC 9293, clause 3.1), and AE (RFC 9768). A merged segment cannot carry
/// their meaning for each original one.
#[test]
fn segments_with_reserved_bits_are_not_merged_though_all_have_them() {
    for shape in [Shape::default(), Shape { v6: true, ..Shape::default() }] {
        assert_eq!(two_with(&shape, &[]), 1, "they follow");
        for bit in [1, 2, 4, 8] {
            assert_eq!(two_with(&shape, &[(12, 0x50 | bit)]), 2, "bit {bit:#x}");
        }
        for flags in [0x11, 0x12, 0x14, 0x30, 0x50, 0x90, 0x00] {
            assert_eq!(two_with(&shape, &[(13, flags)]), 2, "flags {flags:#x}");
        }
    }
}

#[test]
fn without_df_the_same_identification_is_another_packet() {
    let first = Shape::default();
    let without = |shape: &Shape| {
        let mut frame = shape.frame();
        frame[14 + 6] = 0;
        super::super::checksum::fill_checksums(&mut frame, &[]).unwrap();
        frame
    };
    for (step, packets) in [(0, 2), (1, 1)] {
        let second = Shape { seq: first.seq + 7, ident: first.ident + step, ..first.clone() };
        let mut lro = Lro::new(CONFIG);
        let mut outs = Vec::new();
        offer(&mut lro, 0, 0, &without(&first), &mut outs);
        offer(&mut lro, 0, 1, &without(&second), &mut outs);
        lro.flush(keep(&mut outs));
        assert_eq!(outs.len(), packets, "{step}");
    }
}

#[test]
fn only_good_checksums_and_one_stripped_tag_are_merged() {
    let first = Shape::default();
    let second = Shape { seq: first.seq + 7, ident: first.ident + 1, ..first.clone() };
    let (first, second) = (first.frame(), second.frame());
    let two = |verdict, vlan_tci| {
        let mut lro = Lro::new(CONFIG);
        let mut outs = Vec::new();
        let mut received =
            Received { head: &first, len: first.len(), frame: 0, verdict: Verdict::Good, vlan_tci: 5, hash: 3 };
        assert_eq!(lro.push(0, &received, keep(&mut outs)), Pushed::Held);
        (received.head, received.frame, received.verdict, received.vlan_tci) = (&second, 1, verdict, vlan_tci);
        let pushed = lro.push(0, &received, keep(&mut outs));
        lro.flush(keep(&mut outs));
        assert_eq!((outs[0].meta.vlan_tci, outs[0].meta.hash), (5, 3));
        (pushed, outs.len())
    };
    assert_eq!(two(Verdict::Good, 5), (Pushed::Held, 1));
    assert_eq!(two(Verdict::Good, 6), (Pushed::Held, 2));
    assert_eq!(two(Verdict::Unknown, 5), (Pushed::Pass, 1));
    assert_eq!(two(Verdict::Bad, 5), (Pushed::Pass, 1));
}

#[test]
fn what_waits_too_long_and_what_is_too_much_goes_out() {
    let mut lro = Lro::new(CONFIG);
    let mut outs = Vec::new();
    let frame = |port: u16| Shape { ports: (port, 80), ..Shape::default() }.frame();
    for port in 0..8 {
        offer(&mut lro, u64::from(port) * 100, u32::from(port), &frame(port), &mut outs);
    }
    assert_eq!((lro.held(), lro.due(), outs.len()), (8, Some(1000), 0));
    lro.expire(999, keep(&mut outs));
    assert_eq!(outs.len(), 0);
    lro.expire(1150, keep(&mut outs));
    assert_eq!((lro.held(), lro.due(), outs.len()), (6, Some(1200), 2));
    assert_eq!([outs[0].pieces[0].frame, outs[1].pieces[0].frame], [0, 1]);
    for port in 8..11 {
        offer(&mut lro, 1160, u32::from(port), &frame(port), &mut outs);
    }
    assert_eq!((lro.held(), outs.len()), (8, 3), "the ninth flow pushes the oldest out");
    assert_eq!(outs[2].pieces[0].frame, 2);
    lro.flush(keep(&mut outs));
    assert_eq!((lro.held(), lro.due(), outs.len()), (0, None, 11));
}

#[test]
fn packets_stay_within_their_bounds() {
    let payload = vec![7; 64 * 1448];
    let shape = Shape { payload: payload[..60000].to_vec(), ..Shape::default() };
    let mut frames = segmented(&shape, 1448);
    let more =
        Shape { seq: shape.seq + 41 * 1448, ident: shape.ident + 41, payload: payload[..50000].to_vec(), ..shape };
    frames.truncate(41);
    frames.extend(segmented(&more, 1448));
    let mut lro = Lro::new(CONFIG);
    let mut outs = Vec::new();
    for (name, frame) in (0..).zip(&frames) {
        assert_eq!(offer(&mut lro, 0, name, frame, &mut outs), Pushed::Held);
    }
    lro.flush(keep(&mut outs));
    // 45 segments of 1448 bytes and the headers are 65200 bytes.
    assert_eq!(outs.iter().map(|out| out.pieces.len()).collect::<Vec<_>>(), [45, 31]);
    let total = u16::from_be_bytes([outs[0].header[16], outs[0].header[17]]);
    assert_eq!(usize::from(total), 40 + 45 * 1448);
}
