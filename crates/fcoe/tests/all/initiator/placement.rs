//! Commands that go well, and frames that do not fit.

use crate::initiator::world::*;
use linerate_block::{Buffer, Tag};
use linerate_fcoe::{Data, InitiatorConfig, Outcome, PeerId, Refused, TaskAttribute, TransportError};
use linerate_wire::*;
use linerate_wire::{OxId, RxId};

/// FCP-4, clause 9.2: FCP_CMND, one frame, the exchange's first sequence; RX_ID is not known.
#[test]
fn a_command_says_what_it_is() {
    let mut world = World::new();
    let ox_id = world.read(8192);
    world.feed(&data(ox_id, &pattern(8192, 1))[0]);
    let cdb = [0x88, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut command = command(9, &cdb, Data::Out(Buffer::new(4096)));
    command.attribute = TaskAttribute::Ordered;
    command.lun.0[1] = 5;
    world.initiator.submit(world.now, &world.peer, command).unwrap();
    let frame = world.command();
    assert_eq!((frame.sof, frame.eof), (Sof::I3, Eof::T));
    let FcHeader { f_ctl, ox_id: second, rx_id, d_id, s_id, fc_type, .. } = frame.header;
    assert_eq!((f_ctl, second, rx_id), (0x29_0000, OxId(ox_id.0 + 1), RxId::UNASSIGNED));
    assert_eq!((d_id, s_id, fc_type), (world.peer.fc_id, world.peer.own, FcType::FCP));
    let unit = FcpCommand::parse(&frame.payload).unwrap();
    assert_eq!((unit.lun[1], unit.attribute, unit.function), (5, fcp_attribute::ORDERED, 0));
    assert_eq!((unit.read, unit.write, unit.data_len, unit.cdb), (false, true, 4096, &cdb[..]));
}

/// FCP-4, clause 9.2: a CDB of 32 bytes is announced as additional words.
#[test]
fn a_long_cdb_is_sent_whole() {
    let mut world = World::new();
    let mut cdb = [0; 32];
    (cdb[0], cdb[9], cdb[31]) = (0x7f, 9, 0xee);
    world.submit(1, &cdb, Data::In(Buffer::new(512)));
    let frame = world.command();
    let unit = FcpCommand::parse(&frame.payload).unwrap();
    assert_eq!((frame.payload.len(), unit.cdb, unit.data_len), (48, &cdb[..], 512));
}

/// FCP-4, clause 9.5: a response that overtakes its data is told with what it said, once the data is there.
#[test]
fn a_residual_is_told_though_the_data_came_after_it() {
    let mut world = World::new();
    let ox_id = world.read(8192);
    world.feed(&response(ox_id, &FcpResponse { residual: -4096, ..FcpResponse::default() }));
    world.none_done();
    data(ox_id, &pattern(4096, 1)).iter().for_each(|frame| world.feed(frame));
    assert_eq!(world.good().residual, -4096);
}

#[test]
fn what_is_not_taken_comes_back() {
    let mut world = World::with(peer(), InitiatorConfig { exchanges: 3, queue_depth: 2, retries: 5 });
    let bad = command(1, &[], Data::None);
    let (why, bad) = world.initiator.submit(world.now, &world.peer, bad).unwrap_err();
    assert_eq!((why, bad.tag), (Refused::Malformed, Tag(1)));
    assert_eq!(world.initiator.room(world.peer.id), 2);
    for tag in 0..2 {
        world.submit(tag, &[0; 6], Data::None);
    }
    let (why, back) = world.initiator.submit(world.now, &world.peer, command(5, &[0; 6], Data::None)).unwrap_err();
    assert_eq!((why, back.tag, world.initiator.room(world.peer.id)), (Refused::Busy, Tag(5), 0));
    let other = linerate_fcoe::Peer { id: PeerId { index: 0, generation: 0 }, ..world.peer };
    world.initiator.submit(world.now, &other, command(6, &[0; 6], Data::None)).unwrap();
    let (why, _) = world.initiator.submit(world.now, &other, command(7, &[0; 6], Data::None)).unwrap_err();
    assert_eq!(why, Refused::Full);
}

/// FCP-4, clause 9.4: data is placed by its relative offset; the status ends the command, and its OX_ID is used again
/// later, its place at once.
#[test]
fn data_lies_where_it_belongs() {
    let mut world = World::new();
    let bytes = pattern(10_000, 3);
    let ox_id = world.read(10_240);
    for frame in data(ox_id, &bytes) {
        world.feed(&frame);
    }
    world.none_done();
    world.feed(&response(ox_id, &FcpResponse { residual: -240, ..FcpResponse::default() }));
    let done = world.good();
    assert_eq!((done.residual, done.tag, &done.buffer.unwrap().bytes()[..10_000]), (-240, Tag(7), &bytes[..]));
    assert_ne!(world.read(512), ox_id);
    let counters = world.initiator.counters(world.peer.id);
    assert_eq!((counters.commands, counters.responses, counters.bytes_in), (2, 1, 10_000));
    world.feed(&good(ox_id));
    world.none_done();
    assert_eq!(world.initiator.counters(world.peer.id).unknown_exchange, 1);
}

/// FCP-4, clause 9.4: several sequences, each with SEQ_CNT from 0 or counted on.
#[test]
fn data_comes_in_several_sequences() {
    for continued in [false, true] {
        let mut world = World::new();
        let bytes = pattern(9000, 5);
        let ox_id = world.read(9216);
        let mut frames = data_at(ox_id, 1, 0, &bytes[..5000]);
        let mut more = data_at(ox_id, 2, 5000, &bytes[5000..]);
        if continued {
            for frame in &mut more {
                frame.header.seq_cnt += 3;
            }
        }
        frames.append(&mut more);
        for frame in &frames {
            world.feed(frame);
        }
        world.feed(&response(ox_id, &FcpResponse { residual: -216, ..FcpResponse::default() }));
        assert_eq!(world.good().buffer.unwrap().bytes()[..9000], bytes);
    }
}

/// Frames that overtake each other are placed while count and offset agree (FC-FS-3, clauses 12.10 and 12.15).
#[test]
fn frames_that_overtake_each_other_are_consistent() {
    for order in [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [0, 2, 1, 4, 3], [0, 4, 3, 2, 1], [0, 3, 1, 4, 2]] {
        let mut world = World::new();
        let bytes = pattern(9728, 9);
        let ox_id = world.read(9728);
        let frames = data(ox_id, &bytes);
        assert_eq!(frames.len(), 5);
        for i in order {
            world.feed(&frames[i]);
        }
        world.feed(&good(ox_id));
        assert_eq!(world.good().buffer.unwrap().bytes(), bytes, "{order:?}");
        let counted = world.initiator.counters(world.peer.id).out_of_order;
        assert_eq!(counted == 0, order == [0, 1, 2, 3, 4], "{order:?}");
    }
}

/// A status that overtakes data waits for it.
#[test]
fn data_may_come_behind_its_status() {
    let mut world = World::new();
    let bytes = pattern(4096, 2);
    let ox_id = world.read(4096);
    let frames = data(ox_id, &bytes);
    world.feed(&frames[0]);
    world.feed(&good(ox_id));
    world.none_done();
    world.feed(&frames[1]);
    assert_eq!(world.good().buffer.unwrap().bytes(), bytes);
}

/// Counter for each kind of inconsistent frame. None of them moves a byte or ends the command.
#[test]
fn what_does_not_fit_is_dropped_and_counted() {
    let bytes = pattern(8192, 4);
    let mut world = World::new();
    let ox_id = world.read(8192);
    let frames = data(ox_id, &bytes);
    let change = |change: &dyn Fn(&mut Frame)| {
        let mut frame = frames[1].clone();
        change(&mut frame);
        frame
    };
    world.feed(&frames[0]);
    let mut expected = world.initiator.counters(world.peer.id);
    let mut check = |world: &mut World, frame: &Frame, count: &dyn Fn(&mut linerate_fcoe::InitiatorCounters)| {
        world.feed(frame);
        count(&mut expected);
        assert_eq!(world.initiator.counters(world.peer.id), expected, "{:?}", frame.header);
        world.none_done();
    };
    let w = &mut world;
    check(w, &change(&|f| f.header.ox_id.0 += 1), &|c| c.unknown_exchange += 1);
    check(w, &change(&|f| f.header.rx_id = RxId(0x12)), &|c| c.unknown_exchange += 1);
    check(w, &change(&|f| f.header.s_id = FcId::new(0x0e03)), &|c| c.unknown_exchange += 1);
    check(w, &change(&|f| f.header.f_ctl &= !f_ctl::EXCHANGE_RESPONDER), &|c| c.unknown_exchange += 1);
    check(w, &change(&|f| f.header.f_ctl &= !f_ctl::RELATIVE_OFFSET), &|c| c.malformed += 1);
    check(w, &change(&|f| f.header.df_ctl = 1), &|c| c.malformed += 1);
    check(w, &change(&|f| f.payload.clear()), &|c| c.malformed += 1);
    check(w, &change(&|f| f.header.parameter = 8192), &|c| c.beyond += 1);
    check(w, &change(&|f| f.header.parameter = 0xffff_ff00), &|c| c.beyond += 1);
    check(w, &change(&|f| f.header.parameter += 4), &|c| c.discontinuous += 1);
    check(w, &change(&|f| f.header.seq_cnt += 1), &|c| c.discontinuous += 1);
    check(w, &change(&|f| f.header.seq_id = 9), &|c| c.discontinuous += 1);
    check(w, &frames[0], &|c| c.duplicate += 1);
    check(w, &xfer_rdy(ox_id, 0, 512), &|c| c.unexpected += 1);
    check(w, &ba_acc(ox_id, 0, 0), &|c| c.unexpected += 1);
    check(w, &change(&|f| f.header.r_ctl = r_ctl::COMMAND), &|c| c.unexpected += 1);
    let mut bad = good(ox_id);
    bad.payload.truncate(20);
    check(w, &bad, &|c| c.malformed += 1);
    for frame in &frames[1..] {
        world.feed(frame);
    }
    world.feed(&good(ox_id));
    assert_eq!(world.good().buffer.unwrap().bytes(), bytes);
}

/// Two different frames for one place: neither is believed, and the command is sent again.
#[test]
fn data_that_contradicts_itself_is_not_believed() {
    let mut world = World::new();
    let bytes = pattern(4096, 4);
    let ox_id = world.read(4096);
    let frames = data(ox_id, &bytes);
    world.feed(&frames[0]);
    let mut other = frames[0].clone();
    other.payload[100] ^= 1;
    world.feed(&other);
    world.feed(&frames[1]);
    world.feed(&good(ox_id));
    world.none_done();
    let again = world.pass(10_000_000 + TICK);
    assert_eq!(again.len(), 1);
    let again = again[0].header.ox_id;
    for frame in data(again, &bytes) {
        world.feed(&frame);
    }
    world.feed(&good(again));
    assert_eq!(world.good().buffer.unwrap().bytes(), bytes);
    assert_eq!(world.initiator.counters(world.peer.id).overlap, 1);
}

/// FCP-4, clauses 9.3 and 9.4: data out goes as it is asked for, in frames of a multiple of 512 bytes, the relative offset
/// in the parameter; the last frame gives the sequence initiative back.
#[test]
fn data_goes_as_it_is_asked_for() {
    let mut world = World::new();
    let bytes = pattern(20_480, 6);
    let ox_id = world.write(&bytes);
    let mut written: Vec<u8> = Vec::new();
    for (i, (offset, len)) in [(0, 8192), (8192, 12_288)].into_iter().enumerate() {
        world.feed(&xfer_rdy(ox_id, offset, len));
        let frames = world.sent();
        assert_eq!(frames.len(), len as usize / 2048);
        for (at, frame) in frames.iter().enumerate() {
            let last = at + 1 == frames.len();
            assert_eq!(frame.header.f_ctl, if last { 0x09_0008 } else { 0x00_0008 });
            assert_eq!(
                (frame.sof, frame.eof),
                (if at == 0 { Sof::I3 } else { Sof::N3 }, if last { Eof::T } else { Eof::N })
            );
            assert_eq!((frame.header.rx_id, usize::from(frame.header.seq_id)), (RxId(0x11), i + 1));
            assert_eq!((usize::from(frame.header.seq_cnt), frame.header.parameter as usize), (at, written.len()));
            written.extend(&frame.payload);
        }
        world.none_done();
    }
    assert_eq!(written, bytes);
    world.feed(&good(ox_id));
    assert_eq!(world.good().buffer.unwrap().bytes(), bytes);
    assert_eq!(world.initiator.counters(world.peer.id).bytes_out, 20_480);
}

/// A burst goes on where it stopped when there was no room.
#[test]
fn data_waits_for_room() {
    let mut world = World::new();
    let bytes = pattern(16_384, 6);
    let ox_id = world.write(&bytes);
    world.out.room = 3;
    world.feed(&xfer_rdy(ox_id, 0, 16_384));
    assert!(world.initiator.wants_room());
    let mut frames = world.sent();
    assert_eq!(frames.len(), 3);
    world.feed(&xfer_rdy(ox_id, 0, 512));
    assert_eq!(world.initiator.counters(world.peer.id).unexpected, 1, "it has no initiative to ask");
    while world.initiator.wants_room() {
        world.out.room = 2;
        frames.extend(world.sent());
    }
    let written: Vec<u8> = frames.iter().flat_map(|frame| frame.payload.clone()).collect();
    assert_eq!((written, frames.len()), (bytes, 8));
    for (i, frame) in frames.iter().enumerate() {
        assert_eq!((usize::from(frame.header.seq_cnt), frame.header.parameter as usize), (i, i * 2048));
        assert_eq!((frame.sof == Sof::I3, frame.eof == Eof::T), (i == 0, i == 7));
    }
    world.out.room = usize::MAX;
    world.feed(&good(ox_id));
    world.good();
}

/// Requests that a target must not make.
#[test]
fn no_byte_goes_that_is_not_the_commands() {
    let mut world = World::new();
    let ox_id = world.write(&pattern(4096, 1));
    world.feed(&xfer_rdy(ox_id, 0, 4097));
    world.feed(&xfer_rdy(ox_id, 4095, 2));
    let mut bad = xfer_rdy(ox_id, 0, 4096);
    bad.payload.truncate(8);
    world.feed(&bad);
    world.feed(&xfer_rdy(ox_id, 0, 0));
    world.feed(&data(ox_id, &[1; 512])[0]);
    assert!(world.sent().is_empty());
    let counters = world.initiator.counters(world.peer.id);
    assert_eq!((counters.beyond, counters.malformed, counters.unexpected), (2, 2, 1));
    world.feed(&xfer_rdy(ox_id, 0, 4096));
    assert_eq!(world.sent().len(), 2);
    world.feed(&xfer_rdy(ox_id, 0, 4096));
    assert!(world.sent().is_empty(), "what has gone is not asked for twice");
    assert_eq!(world.initiator.counters(world.peer.id).duplicate, 1);
    world.feed(&good(ox_id));
    world.good();
}

/// GOOD before all data has gone is not this command's.
#[test]
fn a_write_is_not_good_before_its_data_has_gone() {
    let mut world = World::new();
    let ox_id = world.write(&pattern(4096, 1));
    world.feed(&good(ox_id));
    world.none_done();
    world.feed(&xfer_rdy(ox_id, 0, 2048));
    world.sent();
    world.feed(&good(ox_id));
    world.none_done();
    world.feed(&xfer_rdy(ox_id, 2048, 2048));
    world.sent();
    world.feed(&good(ox_id));
    world.good();
    assert_eq!(world.initiator.counters(world.peer.id).short, 2);
}

/// FCP-4, clause 9.5: status, sense data, residuals and RSP_CODE are handed up as they came.
#[test]
fn a_failure_is_handed_up_with_its_sense() {
    let mut world = World::new();
    let ox_id = world.read(4096);
    let sense = pattern(120, 3);
    world.feed(&response(ox_id, &FcpResponse { status: 2, residual: -4096, sense: &sense, ..FcpResponse::default() }));
    let done = world.done();
    assert_eq!((done.outcome, done.status, done.residual), (Outcome::Response, 2, -4096));
    assert_eq!((done.sense(), done.buffer.as_ref().map(Buffer::len)), (&sense[..96], Some(4096)));
    // A residual of more than there is would be subtracted by somebody.
    world.submit(1, &[0; 6], Data::None);
    let ox_id = world.command().header.ox_id;
    world.feed(&response(ox_id, &FcpResponse { residual: -9, ..FcpResponse::default() }));
    assert_eq!(world.good().residual, 0);
    let ox_id = world.write(&[1; 512]);
    world.feed(&response(ox_id, &FcpResponse { code: Some(2), ..FcpResponse::default() }));
    assert_eq!(world.done().outcome, Outcome::Transport(TransportError::ResponseCode(2)));
    // More than was asked for is no loss: the residual says so.
    let ox_id = world.read(512);
    world.feed(&data(ox_id, &[9; 512])[0]);
    world.feed(&response(ox_id, &FcpResponse { residual: 64, ..FcpResponse::default() }));
    assert_eq!(world.good().residual, 64);
}

/// FCP-4, clause 9.6: FCP_CONF is sent when it is asked for and both sides have agreed to it at PRLI.
#[test]
fn a_response_is_confirmed() {
    for agreed in [false, true] {
        let mut world = World::new();
        world.peer.confirm = agreed;
        world.submit(1, &[0; 6], Data::None);
        let ox_id = world.command().header.ox_id;
        world.out.room = 0;
        world.feed(&response(ox_id, &FcpResponse { confirm: true, ..FcpResponse::default() }));
        world.good();
        assert_eq!(world.initiator.wants_room(), agreed, "it waits for room");
        world.out.room = usize::MAX;
        let sent = world.sent();
        assert_eq!(sent.len(), usize::from(agreed));
        for frame in sent {
            assert_eq!((frame.header.r_ctl, frame.header.f_ctl), (r_ctl::CONFIRM, 0x18_0000));
            assert_eq!((frame.header.ox_id, frame.header.rx_id, frame.payload.len()), (ox_id, RxId(0x11), 0));
        }
    }
}

/// SAM-5, clause 5.3.1: TASK SET FULL is handed up, and the queue is kept shorter until commands go well again.
#[test]
fn a_full_task_set_is_heeded() {
    let mut world = World::with(peer(), InitiatorConfig { exchanges: 16, queue_depth: 8, retries: 5 });
    for tag in 0..8 {
        world.submit(tag, &[0; 6], Data::None);
    }
    let ids: Vec<OxId> = world.sent().iter().map(|frame| frame.header.ox_id).collect();
    world.feed(&response(ids[7], &FcpResponse { status: 0x28, ..FcpResponse::default() }));
    assert_eq!(world.done().status, 0x28);
    world.feed(&response(ids[6], &FcpResponse { status: 0x28, ..FcpResponse::default() }));
    assert_eq!(world.done().status, 0x28);
    assert_eq!((world.initiator.room(world.peer.id), world.initiator.outstanding(world.peer.id)), (0, 6));
    for &ox_id in &ids[..6] {
        world.feed(&good(ox_id));
        world.good();
    }
    assert_eq!(world.initiator.room(world.peer.id), 7, "six went well");
    assert_eq!(world.initiator.counters(world.peer.id).task_set_full, 2);
}

/// A peer that is gone ends all its commands at once, and nothing that comes later belongs to them.
#[test]
fn a_lost_peer_ends_its_commands() {
    let mut world = World::new();
    let first = world.read(4096);
    let second = world.write(&[1; 4096]);
    world.feed(&xfer_rdy(second, 0, 4096));
    world.initiator.down(world.peer.id);
    for _ in 0..2 {
        let done = world.initiator.poll_completion().unwrap();
        assert_eq!((done.outcome, done.buffer.unwrap().len()), (Outcome::LinkLost, 4096));
    }
    world.none_done();
    world.out.frames.clear();
    world.feed(&good(first));
    world.feed(&data(first, &[1; 512])[0]);
    assert!(world.pass(100 * SECOND).is_empty());
    world.none_done();
    assert_eq!(world.initiator.strangers().unknown_exchange, 2);
    // It comes back as another, and what is of the old login does not fit.
    world.peer.id.generation += 1;
    world.read(512);
}

/// SAM-5, clause 7.7; FCP-4, clause 4.9: LOGICAL UNIT RESET ends what was sent to the unit before.
#[test]
fn a_reset_ends_the_units_commands() {
    let mut world = World::new();
    world.read(512);
    let mut other = command(99, &[0; 6], Data::None);
    other.lun.0[1] = 1;
    world.initiator.submit(world.now, &world.peer, other).unwrap();
    world.command();
    world.initiator.lun_reset(world.now, &world.peer, LUN, Tag(50), SECOND).unwrap();
    let frame = world.command();
    let unit = FcpCommand::parse(&frame.payload).unwrap();
    assert_eq!((unit.function, unit.data_len, unit.lun), (fcp_function::LOGICAL_UNIT_RESET, 0, LUN.0));
    world.now += 1;
    let later = world.read(512);
    world.feed(&response(frame.header.ox_id, &FcpResponse { code: Some(0), ..FcpResponse::default() }));
    let done = world.initiator.poll_completion().unwrap();
    assert_eq!((done.tag, done.outcome), (Tag(50), Outcome::Function(0)));
    let done = world.initiator.poll_completion().unwrap();
    assert_eq!((done.tag, done.outcome), (Tag(7), Outcome::Transport(TransportError::Reset)));
    world.none_done();
    world.feed(&data(later, &[1; 512])[0]);
    world.feed(&good(later));
    world.good();
    assert_eq!(world.initiator.outstanding(world.peer.id), 1, "the other unit's goes on");
}
