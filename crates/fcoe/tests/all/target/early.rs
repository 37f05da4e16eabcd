//! Data out whose frames overtake each other: SEQ_CNT and relative offset (FC-FS-3, clauses 12.10 and 12.15) say where each
//! belongs, and it is written there only when they agree.

use crate::target::mock::{Mock, pattern};
use crate::target::rig::{Rig, SECOND, rig};
use crate::target::wire::frame;
use linerate_fcoe::{Peer, TargetConfig, TargetDrop};
use linerate_wire::{FcHeader, FcoeFrame, FcpSrr, OxId, Sof, f_ctl, r_ctl};

/// Bytes that are nowhere the same for long, and not those that were there before.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 7 + 3).to_le_bytes()[0]).collect()
}

/// A frame with other fields.
fn changed(bytes: &[u8], change: impl Fn(&mut FcHeader, &mut Sof, &mut Vec<u8>)) -> Vec<u8> {
    let good = FcoeFrame::new_checked(bytes).unwrap();
    let (mut header, mut sof, mut payload) = (*good.header(), good.sof(), good.payload().to_vec());
    header.f_ctl &= !f_ctl::FILL;
    change(&mut header, &mut sof, &mut payload);
    frame(header, sof, good.eof(), &payload)
}

/// The frames of another sequence of the exchange.
fn of_sequence(seq_id: u8, frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    frames.iter().map(|bytes| changed(bytes, |header, _, _| header.seq_id = seq_id)).collect()
}

/// All orders of so many things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let insert = |order: Vec<usize>| {
        (0..count).map(move |at| {
            let mut order = order.clone();
            order.insert(at, count - 1);
            order
        })
    };
    orders(count - 1).into_iter().flat_map(insert).collect()
}

impl Rig {
    /// A WRITE of these bytes, and the frames that are asked for.
    fn asked_for(&mut self, data: &[u8]) -> Vec<Vec<u8>> {
        self.write(0, OxId(7), 10, u16::try_from(data.len() / 512).unwrap());
        let (rx_id, offset, len) = self.ready();
        assert_eq!((offset, len as usize), (0, data.len()));
        self.data_frames(0, OxId(7), rx_id, 0, data)
    }

    /// The command has ended well, and has written these bytes and nothing else.
    #[track_caller]
    fn has_written(&mut self, data: &[u8]) {
        assert_eq!(self.response(OxId(7)), (0, 0, None));
        self.wire.silent();
        self.holds(data, 0);
        assert_eq!(self.device().away, 0);
    }

    /// Of the memory, these bytes at this place in the data have been written.
    #[track_caller]
    fn holds(&mut self, data: &[u8], offset: usize) {
        let start = 5120 + offset;
        for (at, byte) in self.device().memory.bytes.iter().enumerate() {
            let written = at.checked_sub(start).and_then(|i| data.get(i)).copied();
            assert_eq!(*byte, written.unwrap_or(pattern(at)), "byte {at}");
        }
    }

    fn take_all(&mut self, frames: &[Vec<u8>]) {
        for frame in frames {
            self.take(0, frame);
        }
    }
}

/// Five frames, the last shorter than the others, in each order that there is: the command ends with the last that comes,
/// and not before. The same when each comes twice in a row.
#[test]
fn frames_that_overtake_each_other_are_placed() {
    let data = bytes(9728);
    for (twice, buffers) in [(false, false), (false, true), (true, false)] {
        for order in orders(5) {
            let mut rig = Rig::of(Mock::new(1 << 14), TargetConfig::default(), |peer| peer);
            rig.device().buffers = buffers;
            let frames = rig.asked_for(&data);
            assert_eq!(frames.len(), 5);
            let mut early = 0;
            for (came, at) in order.iter().enumerate() {
                early += u64::from((0..*at).any(|before| !order[..came].contains(&before)));
                for _ in 0..if twice && came < 4 { 2 } else { 1 } {
                    rig.wire.silent();
                    rig.take(0, &frames[*at]);
                }
            }
            rig.has_written(&data);
            let counters = rig.target.counters();
            let doubled = if twice { 4 } else { 0 };
            assert_eq!(
                (counters.early, counters.drops(), counters.bytes_received),
                (early, doubled, 9728),
                "{order:?}"
            );
            assert_eq!((rig.dropped(TargetDrop::Duplicate), rig.target.exchanges()), (doubled, 0));
        }
    }
}

/// Each burst by itself, and a late frame of the one before is not taken for one of the next.
#[test]
fn each_burst_has_its_own_order() {
    let mut rig = Rig::new(TargetConfig { burst: 8192, ..TargetConfig::default() }, |peer| peer);
    let data = bytes(20_480);
    rig.write(0, OxId(7), 10, 40);
    let mut late = None;
    for (seq_id, start) in [(1, 0), (2, 8192), (3, 16_384)] {
        let (rx_id, offset, len) = rig.ready();
        assert_eq!(offset as usize, start);
        let piece = &data[start..start + len as usize];
        let mut frames = of_sequence(seq_id, rig.data_frames(0, OxId(7), rx_id, offset, piece));
        frames.reverse();
        if let Some(late) = late.replace(frames[0].clone()) {
            rig.take(0, &late);
        }
        rig.take_all(&frames);
    }
    rig.has_written(&data);
    assert_eq!((rig.target.counters().early, rig.dropped(TargetDrop::Duplicate)), (3 + 3 + 1, 2));
}

/// SEQ_CNT begins again at zero after 65535 (FC-FS-3, sequence count), and the frames are at the same distance.
#[test]
fn the_sequence_count_may_wrap_meanwhile() {
    let mut rig = rig();
    let data = bytes(1100 * 512);
    rig.write(0, OxId(7), 10, 1100);
    let (rx_id, _, _) = rig.ready();
    let count = data.len() / 8;
    let frames = rig.data_frames(0, OxId(7), rx_id, 0, &data[..2048 * 3]);
    let one = |i: usize| {
        let (model, piece) = (&frames[if i + 1 == count { 2 } else { usize::from(i > 0) }], &data[i * 8..i * 8 + 8]);
        changed(model, |header, _, payload| {
            header.seq_cnt = u16::try_from(i & 0xffff).unwrap();
            header.parameter = u32::try_from(i * 8).unwrap();
            *payload = piece.to_vec();
        })
    };
    for first in (0..count).step_by(4) {
        for i in [3, 1, 0, 2] {
            rig.take(0, &one(first + i));
        }
    }
    rig.has_written(&data);
    assert_eq!((rig.target.counters().early, rig.target.counters().drops()), (count as u64 / 2, 0));
}

/// So many frames may overtake one, and no more: what is farther ahead is dropped, and nothing is kept for it.
#[test]
fn a_frame_too_far_ahead_is_dropped() {
    let data = bytes(260 * 2048);
    let mut rig = rig();
    let frames = rig.asked_for(&data);
    for at in (1..260).rev() {
        rig.take(0, &frames[at]);
    }
    assert_eq!((rig.target.counters().early, rig.dropped(TargetDrop::Gap)), (256, 3));
    rig.take(0, &frames[0]);
    rig.wire.silent();
    rig.take_all(&frames[257..]);
    rig.has_written(&data);
}

/// Frames of which one does not say where it belongs, or another than the sequence says: none is written, none counts, and
/// those that come later find their places.
#[test]
fn a_frame_whose_place_is_not_proven_is_not_written() {
    let data = bytes(9728);
    type Change = fn(&mut FcHeader, &mut Sof, &mut Vec<u8>);
    let cases: [(usize, Change, TargetDrop); 14] = [
        // The count says another distance than the offset.
        (2, |header, _, _| header.seq_cnt += 1, TargetDrop::Gap),
        (2, |header, _, _| header.seq_cnt -= 1, TargetDrop::Gap),
        (2, |header, _, _| header.seq_cnt = 0, TargetDrop::Gap),
        (2, |header, _, _| header.seq_cnt = 0xffff, TargetDrop::Gap),
        (2, |header, _, _| header.parameter += 512, TargetDrop::Gap),
        (4, |header, _, _| header.seq_cnt += 1, TargetDrop::Gap),
        // It is not as long as the frames before it must be, and not the last either.
        (2, |_, _, payload| payload.truncate(2044), TargetDrop::Gap),
        (2, |_, _, payload| payload.extend([0; 4]), TargetDrop::Gap),
        // It begins a sequence, but not where one begins.
        (2, |_, sof, _| *sof = Sof::I3, TargetDrop::Gap),
        (4, |_, sof, _| *sof = Sof::I3, TargetDrop::Gap),
        // Beyond the burst, or at its end and not the last, or the last and not at its end.
        (4, |_, _, payload| payload.extend([0; 4]), TargetDrop::Beyond),
        (4, |header, _, _| header.f_ctl &= !f_ctl::END_SEQUENCE, TargetDrop::WrongEnd),
        (3, |header, _, _| header.f_ctl |= f_ctl::END_SEQUENCE, TargetDrop::WrongEnd),
        (3, |header, _, _| header.f_ctl &= !f_ctl::RELATIVE_OFFSET, TargetDrop::NoOffset),
    ];
    // With the sequence's first frame, and before it.
    for begun in [1, 0] {
        for (case, (at, change, reason)) in cases.iter().enumerate() {
            let mut rig = rig();
            let frames = rig.asked_for(&data);
            rig.take_all(&frames[..begun]);
            // The distance from the next frame is what counts.
            let wrong = changed(&frames[*at], |header, sof, payload| {
                change(header, sof, payload);
                payload.fill(0xee);
            });
            rig.take(0, &wrong);
            let counters = rig.target.counters();
            assert_eq!((rig.dropped(*reason), counters.drops(), counters.early), (1, 1, 0), "{begun} {case}");
            rig.holds(&data[..2048 * begun], 0);
            for at in (begun..5).rev() {
                rig.wire.silent();
                rig.take(0, &frames[at]);
            }
            rig.has_written(&data);
        }
    }
}

/// Once one has come early, the others must agree with it: about the sequence, and about the size of its frames.
#[test]
fn frames_that_come_early_agree_with_each_other() {
    let data = bytes(9728);
    for begun in [1, 0] {
        let mut rig = rig();
        let frames = rig.asked_for(&data);
        rig.take_all(&frames[..begun]);
        rig.take(0, &frames[3]);
        let other = changed(&frames[2], |header, _, payload| (header.seq_id, payload[0]) = (2, 0xee));
        rig.take(0, &other);
        assert_eq!(rig.dropped(TargetDrop::OutOfSequence), 1);
        let shorter = changed(&frames[2], |header, _, payload| {
            header.parameter = if begun == 1 { 2048 + 1024 } else { 2 * 1024 };
            *payload = vec![0xee; 1024];
        });
        rig.take(0, &shorter);
        assert_eq!(rig.dropped(TargetDrop::Gap), 1);
        // Into what is there, from the gap: neither all new nor all known.
        let across = changed(&frames[begun], |header, sof, payload| {
            (header.seq_id, header.parameter, *sof) = (1, header.parameter + 1024, Sof::N3);
            payload.fill(0xee);
        });
        rig.take(0, &across);
        assert_eq!((rig.dropped(TargetDrop::Gap), rig.target.counters().early), (2, 1));
        rig.take_all(&[&frames[begun..3], &frames[4..]].concat());
        rig.has_written(&data);
    }
}

/// The next frame in turn decides: when it is longer than the others were taken to be, or of another sequence, what came
/// early is not believed, and must come again. No byte is believed that did not come in its place.
#[test]
fn what_the_next_frame_refutes_must_come_again() {
    let data = bytes(8192);
    for case in 0..3 {
        let mut rig = rig();
        let frames = rig.asked_for(&data);
        // Frames of 1024 bytes, the first of which is missing: of nobody's sequence, or of another one's.
        let small = |i: u16| {
            changed(&frames[1], |header, _, payload| {
                (header.seq_id, header.seq_cnt, header.parameter) =
                    (if case == 1 { 9 } else { 1 }, i, u32::from(i) * 1024);
                *payload = vec![0xee; 1024];
            })
        };
        let early = if case == 2 { vec![frames[1].clone(), frames[3].clone()] } else { (1..7).map(small).collect() };
        rig.take_all(&early);
        assert_eq!(rig.target.counters().early, early.len() as u64);
        let first = changed(&frames[0], |header, _, _| {
            if case == 2 {
                // It counts from another number.
                header.seq_cnt = 100;
            }
        });
        let counted = |i: usize| changed(&frames[i], |header, _, _| header.seq_cnt += if case == 2 { 100 } else { 0 });
        rig.take(0, &first);
        for at in 1..4 {
            rig.wire.silent();
            rig.take(0, &counted(at));
        }
        rig.has_written(&data);
        assert_eq!(rig.target.counters().drops(), 0);
    }
}

/// FCP-4, clause 12.4: a frame that does not come is found as without those that came early. They count for nothing: REC
/// tells where the gap is, the data is asked for from there, and all of it must come, in a sequence of its own; a frame of
/// the sequence before is not taken for one of it.
#[test]
fn a_gap_that_does_not_fill_is_recovered_from() {
    let data = bytes(9728);
    let mut rig = Rig::new(TargetConfig::default(), |peer| Peer { retry: true, ..peer });
    let frames = rig.asked_for(&data);
    rig.take(0, &frames[0]);
    rig.now += SECOND;
    let late = changed(&frames[3], |_, _, payload| payload.fill(0xee));
    rig.take_all(&[frames[2].clone(), late.clone(), frames[4].clone()]);
    let s_id = rig.peers[0].fc_id;
    let rx_id = FcoeFrame::new_checked(&frames[0][..]).unwrap().header().rx_id;
    let status = rig.target.exchange_status(s_id, OxId(7), rx_id).unwrap();
    assert_eq!((status.status, status.transferred), (0x8000_0000, 2048), "the initiator has the initiative");
    // The target asks too, REC_TOV after the last frame in turn.
    rig.now += 2 * SECOND;
    rig.poll();
    rig.wire.expect(r_ctl::ELS_REQUEST);
    rig.srr(0, &FcpSrr { ox_id: OxId(7), rx_id, offset: 4096, r_ctl: r_ctl::DATA_DESCRIPTOR });
    rig.wire.expect(r_ctl::FC4_LS_REPLY);
    rig.wire.silent();
    rig.srr(0, &FcpSrr { ox_id: OxId(7), rx_id, offset: 2048, r_ctl: r_ctl::DATA_DESCRIPTOR });
    rig.wire.expect(r_ctl::FC4_LS_REPLY);
    assert_eq!(rig.ready(), (rx_id, 2048, 7680));
    rig.take(0, &frames[2]);
    rig.take(0, &late);
    assert_eq!((rig.dropped(TargetDrop::OutOfSequence), rig.target.counters().early), (2, 3));
    let again = of_sequence(2, rig.data_frames(0, OxId(7), rx_id, 2048, &data[2048..]));
    for at in [3, 1, 2, 0] {
        rig.wire.silent();
        rig.take(0, &again[at]);
    }
    rig.has_written(&data);
}

/// A frame of an older sequence that comes before all of this one: the first frame tells which is which.
#[test]
fn a_sequence_is_known_by_its_first_frame() {
    let data = bytes(8192);
    let mut rig = rig();
    let frames = rig.asked_for(&data);
    rig.take(0, &changed(&frames[2], |header, _, payload| (header.seq_id, payload[0]) = (5, 0xee)));
    rig.take(0, &frames[1]);
    assert_eq!((rig.target.counters().early, rig.dropped(TargetDrop::OutOfSequence)), (1, 1));
    rig.take(0, &frames[0]);
    rig.take_all(&[frames[3].clone(), frames[2].clone()]);
    rig.wire.silent();
    rig.take(0, &frames[1]);
    rig.has_written(&data);
}

/// A device server that takes its memory back fails the command, as it does with a frame in turn.
#[test]
fn memory_that_is_gone_fails_the_command() {
    let mut rig = rig();
    let frames = rig.asked_for(&bytes(8192));
    rig.device().memory_gone = true;
    rig.take(0, &frames[2]);
    assert_eq!(rig.response(OxId(7)), (2, -8192, None));
    rig.take(0, &frames[0]);
    assert_eq!((rig.dropped(TargetDrop::UnknownExchange), rig.target.counters().failed_steps), (1, 1));
    rig.holds(&[], 0);
}
