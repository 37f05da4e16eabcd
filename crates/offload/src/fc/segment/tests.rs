//! Tests against frames built one by one with linerate-wire's types, and against those of two Linux kernels.

use linerate_ring::{Region, RegionConfig, Sharing, TxRing};
use linerate_wire::{EtherType, EthernetRepr, FcId, FcType, MacAddr};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::testing::{CAPTURES, capture, fc};
use super::super::verify_fc_crc;
use super::*;
use crate::Verdict;

/// A sequence to be sent.
#[derive(Debug, Clone)]
struct Shape {
    /// VLAN tags, 0 to 2.
    tags: u8,
    header: FcHeader,
    payload: Vec<u8>,
    size: usize,
    start: bool,
    end: bool,
}

impl Shape {
    /// All headers before the FC header.
    fn front(&self, sof: Sof) -> Vec<u8> {
        let ethernet = EthernetRepr { dst: MacAddr([2; 6]), src: MacAddr([6; 6]), ethertype: EtherType::FCOE };
        let mut front = vec![0; 14];
        ethernet.emit(&mut front).unwrap();
        for tag in 0..self.tags {
            front.splice(12..12, [0x81, 0x00, 0x60, 100 + tag]);
        }
        front.extend(FcoeRepr { sof, eof: Eof::N }.header());
        front
    }

    /// The frames, built one by one.
    fn frames(&self) -> Vec<Vec<u8>> {
        let mut chunks: Vec<&[u8]> = self.payload.chunks(self.size).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        let last = chunks.len() - 1;
        let frame = |(i, chunk): (usize, &&[u8])| {
            let ends = i == last && self.end;
            let fill = [0, 3, 2, 1][chunk.len() % 4];
            let mut header = self.header;
            header.f_ctl &= !3;
            if !ends {
                header.f_ctl &= !0x19_0000;
            }
            header.f_ctl |= u32::try_from(fill).unwrap();
            header.seq_cnt = header.seq_cnt.wrapping_add(u16::try_from(i).unwrap());
            if header.f_ctl & 8 != 0 {
                header.parameter = header.parameter.wrapping_add(u32::try_from(i * self.size).unwrap());
            }
            let covered = [&header.bytes()[..], chunk, &[0; 3][..fill]].concat();
            let repr = FcoeRepr {
                sof: if i == 0 && self.start { Sof::I3 } else { Sof::N3 },
                eof: if ends { Eof::T } else { Eof::N },
            };
            let crc = covered.iter().fold(!0, |crc, byte| {
                (0..8)
                    .fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
            });
            [self.front(repr.sof), covered, repr.trailer(!crc).to_vec()].concat()
        };
        chunks.iter().enumerate().map(frame).collect()
    }
}

fn shapes(payload: std::ops::Range<usize>) -> impl Strategy<Value = Shape> {
    let header = any::<[u8; 24]>().prop_map(|bytes| FcHeader::parse(&bytes).unwrap());
    let flags = (any::<bool>(), any::<bool>());
    (0..3_u8, header, vec(any::<u8>(), payload), 1..40_usize, flags).prop_map(
        |(tags, header, payload, words, flags)| Shape {
            tags,
            header,
            payload,
            size: 4 * words,
            start: flags.0,
            end: flags.1,
        },
    )
}

fn cut<'a>(payload: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(payload.len() + 1)).collect();
    at.extend([0, payload.len()]);
    at.sort_unstable();
    at.windows(2).map(|ends| &payload[ends[0]..ends[1]]).collect()
}

fn written(mut segments: FcSegments<'_>) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some(len) = segments.next_len() {
        let remaining = segments.remaining();
        let mut frame = vec![0xa5; len + 3];
        assert_eq!(segments.write_next(&mut frame[..len - 1]), None, "it does not fit");
        assert_eq!(frame[..len], vec![0xa5; len], "and nothing is written");
        assert_eq!(segments.write_next(&mut frame[..]), Some(len));
        assert_eq!(frame.split_off(len), [0xa5; 3], "wrote beyond the frame");
        assert_eq!(segments.remaining(), remaining - 1);
        frames.push(frame);
    }
    assert_eq!((segments.remaining(), segments.write_next(&mut [0; 3000][..])), (0, None));
    frames
}

proptest! {
    #[test]
    fn segments_are_the_frames_built_one_by_one(
        shape in shapes(0..900), cuts in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let slices = cut(&shape.payload, &cuts);
        let front = shape.front(Sof(0));
        let segments = FcSegments::new(&front, &shape.header, &slices, shape.size, shape.start, shape.end).unwrap();
        let right = shape.frames();
        prop_assert_eq!(segments.remaining(), right.len());
        prop_assert_eq!(written(segments), right);
    }

    #[test]
    fn slots_hold_what_slices_hold(
        shape in shapes(0..5000), words in 1..=MAX_FC_PAYLOAD / 4, shared: bool,
        cuts in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let shape = Shape { size: 4 * words.max(100), ..shape };
        let slices = cut(&shape.payload, &cuts);
        let front = shape.front(Sof(0));
        let sharing = if shared { Sharing::Shared } else { Sharing::Private };
        let config =
            RegionConfig { buf_size: 4096, buffers: 80, ring_bytes: Region::ring_room(64) + 4096, sharing, huge: false };
        let region = Region::new(&config).unwrap();
        let mut ring = TxRing::new(&region, 0, 64).unwrap();
        let mut segments = FcSegments::new(&front, &shape.header, &slices, shape.size, shape.start, shape.end).unwrap();
        let mut batch = ring.reserve(1);
        for right in shape.frames() {
            let mut frame = batch.frame(0);
            prop_assert_eq!(frame.bytes().is_none(), shared);
            prop_assert_eq!(segments.write_next(&mut frame), Some(right.len()));
            prop_assert_eq!(&frame.to_vec()[..right.len()], &right[..]);
        }
        prop_assert_eq!(segments.remaining(), 0);
    }

    #[test]
    fn hostile_requests_do_not_panic(
        bytes in vec(any::<u8>(), 0..100), shape in shapes(0..40), at: prop::sample::Index, value: u8, size: usize,
        room in 0..400_usize,
    ) {
        let mut damaged = shape.front(Sof(0));
        let at = at.index(damaged.len());
        damaged[at] = value;
        let payload: [&[u8]; 3] = [&bytes, &[], &bytes];
        for front in [&bytes[..], &damaged] {
            for size in [size, size % 3000, 64] {
                let Ok(mut segments) = FcSegments::new(front, &shape.header, &payload, size, true, true) else { continue };
                let mut to = vec![0; room];
                let fits = segments.next_len().is_some_and(|len| len <= room);
                prop_assert_eq!(segments.write_next(&mut to[..]).is_some(), fits);
            }
        }
    }
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let shape =
        Shape { tags: 3, header: FcHeader::parse(&[0; 24]).unwrap(), payload: vec![], size: 4, start: true, end: true };
    let front = shape.front(Sof(0));
    let error = |front: &[u8], size| FcSegments::new(front, &shape.header, &[], size, true, true).err();
    assert_eq!((error(&front, 4), error(&front, 2112)), (None, None));
    for size in [0, 1, 6, 2114, 2116, usize::MAX] {
        assert_eq!(error(&front, size), Some(FcSegmentError::Size(size)));
    }
    assert_eq!(error(&front[..39], 4), Some(FcSegmentError::Front(39)));
    assert_eq!(error(&[&front[..], &[0]].concat(), 4), Some(FcSegmentError::Front(41)));
    assert_eq!(error(&[], 4), Some(FcSegmentError::Front(0)));
    let mut fip = front;
    fip[24..26].copy_from_slice(&EtherType::FIP.0.to_be_bytes());
    assert_eq!(error(&fip, 4), Some(FcSegmentError::Front(40)));
}

/// FC-FS-3, clause 12.7: the F_CTL bits that only a sequence's last frame has.
#[test]
fn the_end_of_a_part_is_not_the_end_of_the_sequence() {
    let header = FcHeader {
        f_ctl: 0x99_0008,
        fc_type: FcType::FCP,
        seq_cnt: 0xffff,
        parameter: 0xffff_f800,
        d_id: FcId::new(0x0e01),
        ..FcHeader::parse(&[0; 24]).unwrap()
    };
    let shape = Shape { tags: 0, header, payload: vec![7; 4100], size: 2048, start: false, end: false };
    let front = shape.front(Sof(0));
    let pieces = [&shape.payload[..]];
    let seen = |end| {
        let frames = written(FcSegments::new(&front, &shape.header, &pieces, 2048, false, end).unwrap());
        let view = |frame: &Vec<u8>| {
            let frame = fc(frame).unwrap();
            (frame.sof(), frame.eof(), frame.header().f_ctl, frame.header().seq_cnt, frame.header().parameter)
        };
        frames.iter().map(view).collect::<Vec<_>>()
    };
    let first = [(Sof::N3, Eof::N, 0x80_0008, 0xffff, 0xffff_f800), (Sof::N3, Eof::N, 0x80_0008, 0, 0)];
    assert_eq!(seen(false), [&first[..], &[(Sof::N3, Eof::N, 0x80_0008, 1, 2048)]].concat());
    assert_eq!(seen(true), [&first[..], &[(Sof::N3, Eof::T, 0x99_0008, 1, 2048)]].concat());
}

/// All sequences in a capture: the frames of each, in order.
fn sequences(frames: &[Vec<u8>]) -> Vec<Vec<&[u8]>> {
    let mut sequences: Vec<Vec<&[u8]>> = Vec::new();
    for frame in frames {
        let Some(view) = fc(frame) else { continue };
        if view.sof() == Sof::I3 {
            sequences.push(Vec::new());
        }
        if let Some(last) = sequences.last_mut() {
            last.push(frame);
        }
    }
    sequences
}

#[test]
fn sequences_of_the_linux_kernel_are_rebuilt_byte_for_byte() {
    let (mut single, mut several, mut filled) = (0, 0, 0);
    for name in CAPTURES {
        let frames = capture(name);
        for sequence in sequences(&frames) {
            let views: Vec<_> = sequence.iter().map(|frame| fc(frame).unwrap()).collect();
            let (first, last) = (&views[0], &views[views.len() - 1]);
            // Frames of one sequence may be missing or interleaved in captures of faults.
            let whole = last.eof() == Eof::T
                && views.iter().zip(0..).all(|(view, at)| {
                    let (header, begun) = (view.header(), first.header());
                    (header.s_id, header.ox_id, header.seq_id, header.seq_cnt)
                        == (begun.s_id, begun.ox_id, begun.seq_id, at)
                });
            if !whole {
                assert_ne!(name, CAPTURES[0], "no frame was lost there");
                continue;
            }
            let header = FcHeader { f_ctl: last.header().f_ctl, ..*first.header() };
            let at = sequence[0].len() - first.covered().len() - FcoeFrame::TRAILER_LEN;
            let front = &sequence[0][..at];
            let size = first.payload().len().next_multiple_of(4).max(4);
            let payload: Vec<&[u8]> = views.iter().map(FcoeFrame::payload).collect();
            let rebuilt = written(FcSegments::new(front, &header, &payload, size, true, true).unwrap());
            assert_eq!(rebuilt, sequence, "{name}: a sequence of {} frames", sequence.len());
            assert!(rebuilt.iter().all(|frame| verify_fc_crc(frame) == Verdict::Good));
            *(if views.len() > 1 { &mut several } else { &mut single }) += 1;
            filled += usize::from(last.header().fill() > 0);
        }
    }
    assert_eq!((single, several, filled), (185, 12, 3), "of one frame, of several, filled");
}
