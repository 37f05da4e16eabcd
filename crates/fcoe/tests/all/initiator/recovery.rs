//! Recovery from losses: each path of FCP-4, clause 12, that this initiator takes.

use crate::initiator::world::*;
use linerate_block::{Buffer, Tag};
use linerate_fcoe::{Data, InitiatorConfig, InitiatorEvent, Outcome, Peer, TransportError};
use linerate_wire::*;
use linerate_wire::{OxId, RxId};

/// The status of a target that has the exchange and works on it.
const WORKS: u32 = e_stat::SEQUENCE_INITIATIVE;
/// E_D_TOV and a second.
const REC_TOV: u64 = 3 * SECOND;

/// A WRITE whose data has gone, and what the peer is asked when nothing comes.
fn written(world: &mut World, len: usize) -> OxId {
    let ox_id = world.write(&pattern(len, 1));
    world.feed(&xfer_rdy(ox_id, 0, u32::try_from(len).unwrap()));
    assert_eq!(world.sent().len(), len / 2048);
    ox_id
}

/// Time passes until REC is sent; nothing else is.
fn rec(world: &mut World) -> Frame {
    let sent = world.pass(REC_TOV + TICK);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!((sent[0].header.r_ctl, sent[0].payload[0]), (r_ctl::ELS_REQUEST, 0x13));
    sent[0].clone()
}

/// The command is sent again, under another name, and goes well.
fn read_again(world: &mut World, before: OxId, len: usize) {
    let again = world.command();
    assert_ne!(again.header.ox_id, before);
    assert_eq!((again.header.rx_id, FcpCommand::parse(&again.payload).unwrap().cdb[0]), (RxId::UNASSIGNED, 0x28));
    let bytes = pattern(len, 77);
    for frame in data(before, &pattern(len, 3)) {
        world.feed(&frame);
    }
    for frame in data(again.header.ox_id, &bytes) {
        world.feed(&frame);
    }
    world.feed(&good(before));
    world.none_done();
    world.feed(&good(again.header.ox_id));
    assert_eq!(world.good().buffer.unwrap().bytes(), bytes, "nothing of the old exchange is in it");
}

/// FCP-4, clause 12.4.1: REC after REC_TOV without progress, not earlier, with the RX_ID as far as it is known; FC-LS-3,
/// clause 4.2.29: its fields.
#[test]
fn without_progress_the_target_is_asked() {
    let mut world = World::new();
    let ox_id = world.read(8192);
    assert!(world.pass(REC_TOV - 1).is_empty());
    let frame = &world.pass(TICK)[0];
    assert_eq!(
        (frame.header.f_ctl, frame.header.fc_type, frame.header.rx_id),
        (0x29_0000, FcType::ELS, RxId::UNASSIGNED)
    );
    assert!((0xe000..=0xefff).contains(&frame.header.ox_id.0));
    let which = ExchangeRepr { originator: world.peer.own, ox_id, rx_id: RxId::UNASSIGNED };
    assert_eq!(ElsRequest::parse(&frame.payload), Ok(ElsRequest::Rec(which)));

    // Data is progress; and it tells the RX_ID.
    let mut world = World::new();
    let ox_id = world.read(8192);
    let frames = data(ox_id, &pattern(8192, 1));
    for frame in &frames[..3] {
        assert!(world.pass(REC_TOV - TICK).is_empty());
        world.feed(frame);
    }
    let asked = rec(&mut world);
    assert_eq!(ExchangeRepr::parse(&asked.payload).map(|which| which.rx_id), Ok(RxId(0x11)));
    // So it is while the answer is awaited.
    world.feed(&frames[3]);
    world.feed(&reject(&asked, els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE));
    assert!(world.sent().is_empty());
    world.feed(&good(ox_id));
    world.good();
}

/// FCP-4, clause 12.4.1: a target that has the exchange and the initiative is waited for, and asked again.
#[test]
fn a_slow_target_is_waited_for() {
    let mut world = World::new();
    let ox_id = world.read(4096);
    for _ in 0..8 {
        let asked = rec(&mut world);
        world.feed(&rec_accept(&asked, WORKS, 0));
    }
    for frame in data(ox_id, &pattern(4096, 2)) {
        world.feed(&frame);
    }
    world.feed(&good(ox_id));
    assert_eq!(world.good().buffer.unwrap().bytes(), pattern(4096, 2));
    assert_eq!(world.initiator.counters(world.peer.id).rec, 8);
}

/// FCP-4, clause 12.4.1 and as golden capture 05: LS_RJT with invalid OX_ID-RX_ID combination: the
/// command is sent again at once; what comes of the old exchange is dropped.
#[test]
fn a_command_that_the_target_does_not_know_is_sent_again() {
    for reason in [els_reason::LOGICAL_ERROR, els_reason::UNABLE] {
        let mut world = World::new();
        let ox_id = world.read(4096);
        let asked = rec(&mut world);
        world.feed(&reject(&asked, reason, els_explanation::EXCHANGE));
        read_again(&mut world, ox_id, 4096);
    }
}

/// FC-FS-3, recovery qualifier: the name of the exchange that was given up is not used for R_A_TOV.
#[test]
fn a_name_rests() {
    let config = InitiatorConfig { exchanges: 4, queue_depth: 4, retries: 5 };
    let mut world = World::with(peer(), config);
    let ox_id = world.read(512);
    let asked = rec(&mut world);
    world.feed(&reject(&asked, els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE));
    let again = world.command().header.ox_id;
    world.feed(&data(again, &[1; 512])[0]);
    world.feed(&good(again));
    world.good();
    let round = |world: &mut World| {
        let mut seen = false;
        for _ in 0..0xe000 {
            world.submit(1, &[0; 6], Data::None);
            let ox_id_now = world.command().header.ox_id;
            seen |= ox_id_now == ox_id;
            world.feed(&good(ox_id_now));
            world.good();
        }
        seen
    };
    assert!(!round(&mut world), "all others were used");
    world.pass(world.peer.r_a_tov + TICK);
    assert!(round(&mut world));
}

/// Golden capture 14: a target that is slow, and rejects all RECs without an RX_ID. Five commands at once cost it the more
/// and Linux the I/O; here each has twice the time of the one before, and the last one's answer counts.
#[test]
fn a_slow_target_that_finds_no_exchange_has_longer_each_time() {
    let mut world = World::new();
    let mut ox_id = world.read(4096);
    for doubled in 0..3 {
        assert!(world.pass((REC_TOV << doubled) - TICK).is_empty(), "{doubled}");
        let asked = world.pass(2 * TICK).remove(0);
        world.feed(&reject(&asked, els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE));
        ox_id = world.command().header.ox_id;
    }
    assert!(world.pass(4 * SECOND).is_empty());
    let frames = data(ox_id, &pattern(4096, 5));
    world.feed(&frames[0]);
    // Now the exchange has its name at the target.
    assert_eq!(ExchangeRepr::parse(&rec(&mut world).payload).map(|which| which.rx_id), Ok(RxId(0x11)));
    world.feed(&frames[1]);
    world.feed(&good(ox_id));
    assert_eq!(world.good().buffer.unwrap().bytes(), pattern(4096, 5));
}

/// So often, then it is an error.
#[test]
fn a_command_is_not_sent_again_for_ever() {
    let mut world = World::with(peer(), InitiatorConfig { retries: 2, ..InitiatorConfig::default() });
    world.read(4096);
    for doubled in 0..3 {
        let asked = world.pass((REC_TOV << doubled) + TICK).remove(0);
        world.feed(&reject(&asked, els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE));
        if doubled < 2 {
            world.command();
        }
    }
    let done = world.done();
    assert_eq!((done.outcome, done.buffer.is_some()), (Outcome::Transport(TransportError::Retries), true));
    assert!(world.pass(60 * SECOND).is_empty());
    assert_eq!(world.initiator.counters(world.peer.id).resent, 2);
}

/// A command whose repetition does harm is not sent twice: its submitter decides.
#[test]
fn a_compare_and_write_is_not_repeated() {
    let mut world = World::new();
    let mut cdb = [0; 16];
    (cdb[0], cdb[13]) = (0x89, 1);
    world.submit(1, &cdb, Data::Out(Buffer::new(1024)));
    world.command();
    let asked = rec(&mut world);
    world.feed(&reject(&asked, els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE));
    assert_eq!(world.done().outcome, Outcome::Transport(TransportError::NotRepeatable));
}

/// FC-LS-3, clause 4.2.29: a peer without REC is not asked again, for no exchange; only a command's time ends its wait.
#[test]
fn a_peer_without_rec_is_asked_once() {
    for reason in [els_reason::NOT_SUPPORTED, els_reason::INVALID_COMMAND] {
        let mut world = World::new();
        let ox_id = world.read(512);
        let asked = rec(&mut world);
        world.feed(&reject(&asked, reason, els_explanation::NONE));
        let other = world.read(512);
        assert!(world.pass(25 * SECOND).is_empty());
        for ox_id in [ox_id, other] {
            world.feed(&data(ox_id, &[1; 512])[0]);
            world.feed(&good(ox_id));
            world.good();
        }
    }
}

/// FCP-4, clause 12.4.1: REC that is not answered is sent again; then the exchange is aborted and the command sent again.
#[test]
fn a_rec_is_repeated_and_then_the_exchange_aborted() {
    let mut world = World::new();
    let ox_id = world.read(512);
    let mut names = Vec::new();
    for _ in 0..3 {
        names.push(rec(&mut world).header.ox_id);
    }
    names.dedup();
    assert_eq!(names.len(), 3, "each has its own name");
    let sent = world.pass(REC_TOV + TICK);
    assert_eq!((sent.len(), sent[0].header.r_ctl, sent[0].header.ox_id), (1, r_ctl::BLS_ABTS, ox_id));
    world.feed(&ba_acc(ox_id, 1, 0));
    read_again(&mut world, ox_id, 512);
}

/// As golden capture 04: the last of the data out has come to the target or it would not hold the initiative, so something
/// in between was lost, which Linux's target does not count. Half of the command's time is waited; ABTS with the RX_ID
/// learned (FCP-4, clause 12.3), BA_ACC, and the command is sent again.
#[test]
fn a_write_whose_data_was_lost_is_aborted_and_sent_again() {
    let mut world = World::new();
    let ox_id = written(&mut world, 32_768);
    let mut sent = Vec::new();
    for _ in 0..5 {
        let mut frames = world.pass(REC_TOV + TICK);
        let frame = frames.remove(0);
        assert!(frames.is_empty());
        if frame.is(r_ctl::ELS_REQUEST) {
            world.feed(&rec_accept(&frame, WORKS, 0));
        } else {
            sent.push(frame);
        }
        sent.extend(world.sent());
    }
    assert_eq!(sent.len(), 1, "{sent:?}");
    let abort = sent[0].header;
    assert_eq!((abort.r_ctl, abort.fc_type, abort.f_ctl), (r_ctl::BLS_ABTS, FcType::BLS, 0x09_0000));
    assert_eq!((abort.ox_id, abort.rx_id, abort.parameter, sent[0].payload.len()), (ox_id, RxId(0x11), 0, 0));
    world.feed(&ba_acc(ox_id, 1, 0));
    let again = world.command();
    assert_eq!(FcpCommand::parse(&again.payload).unwrap().data_len, 32_768);
    world.feed(&xfer_rdy(ox_id, 0, 32_768));
    assert!(world.sent().is_empty(), "the old exchange is over");
    world.feed(&xfer_rdy(again.header.ox_id, 0, 32_768));
    let written: Vec<u8> = world.sent().iter().flat_map(|frame| frame.payload.clone()).collect();
    assert_eq!(written, pattern(32_768, 1));
    world.feed(&good(again.header.ox_id));
    world.good();
}

/// The same when it is lost again: half of the time that is left is waited, and so on, so that the command's time does not
/// end with the second loss.
#[test]
fn a_write_whose_data_was_lost_twice_is_sent_a_third_time() {
    let mut world = World::new();
    let mut ox_id = written(&mut world, 32_768);
    for asked in [5, 3] {
        for _ in 1..asked {
            let frame = rec(&mut world);
            world.feed(&rec_accept(&frame, WORKS, 0));
            assert!(world.sent().is_empty());
        }
        let frame = rec(&mut world);
        world.feed(&rec_accept(&frame, WORKS, 0));
        let abort = world.only();
        assert_eq!((abort.header.r_ctl, abort.header.ox_id), (r_ctl::BLS_ABTS, ox_id));
        world.feed(&ba_acc(ox_id, 1, 0));
        ox_id = world.command().header.ox_id;
        world.feed(&xfer_rdy(ox_id, 0, 32_768));
        assert_eq!(world.sent().len(), 16);
    }
    world.feed(&good(ox_id));
    world.good();
}

/// FCP-4, clause 12.4.1: a target that counts bytes says what it lacks; without SRR the exchange is aborted at once.
#[test]
fn a_target_that_counts_is_not_waited_for() {
    let mut world = World::new();
    let ox_id = written(&mut world, 32_768);
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, WORKS, 32_768));
    assert!(world.sent().is_empty(), "it has all");
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, WORKS, 2048));
    assert_eq!(world.only().header.r_ctl, r_ctl::BLS_ABTS);
    world.feed(&ba_rjt(ox_id));
    world.command();
}

/// FCP-4, clause 12.4.1: XFER_RDY, or the end of the data out, was lost: the target waits for us. FCP_RSP of a target
/// that waits for FCP_CONF was lost: so too.
#[test]
fn a_target_that_waits_for_us_has_lost_something() {
    for write in [true, false] {
        let mut world = World::new();
        let ox_id = if write { world.write(&[1; 4096]) } else { world.read(4096) };
        let asked = rec(&mut world);
        world.feed(&rec_accept(&asked, 0, 0));
        let abort = world.only().header;
        assert_eq!((abort.r_ctl, abort.ox_id, abort.rx_id), (r_ctl::BLS_ABTS, ox_id, RxId(0x11)), "REC told the RX_ID");
        world.feed(&ba_acc(ox_id, 1, 0));
        assert_ne!(world.command().header.ox_id, ox_id);
    }
}

/// FC-FS-3, clause 19.5.2: a target for which the exchange is complete has done the command, and its FCP_RSP was lost.
#[test]
fn a_command_that_is_complete_is_sent_again() {
    let mut world = World::new();
    let ox_id = world.read(4096);
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, e_stat::COMPLETE, 4096));
    read_again(&mut world, ox_id, 4096);
}

fn with_retry() -> World {
    let peer = Peer { retry: true, confirm: true, ..peer() };
    World::with(peer, InitiatorConfig::default())
}

/// FCP-4, clauses 12.4.1 and 8.2: where both have SRR, lost data out is asked for again from where it is lacking.
#[test]
fn data_out_is_retransmitted() {
    let mut world = with_retry();
    let ox_id = written(&mut world, 32_768);
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, WORKS, 8192));
    let srr = world.only();
    assert_eq!(
        (srr.header.r_ctl, srr.header.fc_type, srr.header.f_ctl),
        (r_ctl::FC4_LS_REQUEST, FcType::FCP, 0x29_0000)
    );
    let expected = FcpSrr { ox_id, rx_id: RxId(0x11), offset: 8192, r_ctl: r_ctl::DATA_DESCRIPTOR };
    assert_eq!(FcpSrr::parse(&srr.payload), Ok(expected));
    world.feed(&srr_reply(&srr, FcpSrrReply::Accept));
    world.feed(&xfer_rdy(ox_id, 8192, 24_576));
    let again: Vec<u8> = world.sent().iter().flat_map(|frame| frame.payload.clone()).collect();
    assert_eq!(again, pattern(32_768, 1)[8192..]);
    world.feed(&good(ox_id));
    world.good();
}

/// FCP-4, clause 12.4.1: lost data in, of which the status has come and is to be confirmed, is asked for again; the
/// exchange goes on.
#[test]
fn data_in_is_retransmitted() {
    // The sequence has another name than the one before, or the same.
    for seq_id in [5, 1] {
        let mut world = with_retry();
        let bytes = pattern(16_384, 8);
        let ox_id = world.read(16_384);
        for (i, frame) in data(ox_id, &bytes).iter().enumerate() {
            if i != 2 {
                world.feed(frame);
            }
        }
        let status = response(ox_id, &FcpResponse { confirm: true, ..FcpResponse::default() });
        world.feed(&status);
        let sent = world.pass(10_000_000 + TICK);
        let expected = FcpSrr { ox_id, rx_id: RxId(0x11), offset: 4224, r_ctl: r_ctl::DATA };
        assert_eq!((sent.len(), FcpSrr::parse(&sent[0].payload)), (1, Ok(expected)));
        world.feed(&srr_reply(&sent[0], FcpSrrReply::Accept));
        for frame in data_at(ox_id, seq_id, 4224, &bytes[4224..]) {
            world.feed(&frame);
        }
        world.feed(&status);
        assert_eq!(world.good().buffer.unwrap().bytes(), bytes);
        assert_eq!(world.only().header.r_ctl, r_ctl::CONFIRM);
    }
}

/// FCP-4, clause 12.4.1: a lost status is asked for again.
#[test]
fn a_status_is_retransmitted() {
    let mut world = with_retry();
    let ox_id = world.read(4096);
    for frame in data(ox_id, &pattern(4096, 1)) {
        world.feed(&frame);
    }
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, 0, 4096));
    let srr = world.only();
    assert_eq!(FcpSrr::parse(&srr.payload).map(|srr| srr.r_ctl), Ok(r_ctl::STATUS));
    world.feed(&srr_reply(&srr, FcpSrrReply::Accept));
    world.feed(&good(ox_id));
    assert_eq!(world.good().buffer.unwrap().bytes(), pattern(4096, 1));
}

/// FCP-4, clause 12.4.1: a target that has done the command and still has the exchange is asked for what was lost, so that
/// the command is not done twice, whatever it is.
#[test]
fn what_is_done_is_not_done_again() {
    let mut world = with_retry();
    let mut cdb = [0; 16];
    (cdb[0], cdb[13]) = (0x89, 1);
    world.submit(1, &cdb, Data::Out(Buffer::new(1024)));
    let ox_id = world.command().header.ox_id;
    world.feed(&xfer_rdy(ox_id, 0, 1024));
    assert_eq!(world.sent().len(), 1);
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, e_stat::COMPLETE, 1024));
    let srr = world.only();
    assert_eq!(FcpSrr::parse(&srr.payload).map(|srr| srr.r_ctl), Ok(r_ctl::STATUS));
    world.feed(&srr_reply(&srr, FcpSrrReply::Accept));
    world.feed(&good(ox_id));
    world.good();
    // Aborted, it is not done.
    let ox_id = world.read(512);
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, e_stat::COMPLETE | e_stat::ABNORMAL, 0));
    read_again(&mut world, ox_id, 512);
}

/// FCP-4, clause 12.4.1: SRR that is rejected, or not answered, is followed by ABTS.
#[test]
fn a_retransmission_that_fails_is_an_abort() {
    for answered in [true, false] {
        let mut world = with_retry();
        let ox_id = world.write(&[1; 4096]);
        let asked = rec(&mut world);
        world.feed(&rec_accept(&asked, 0, 0));
        let srr = world.only();
        assert!(srr.is(r_ctl::FC4_LS_REQUEST));
        let sent = if answered {
            world.feed(&srr_reply(&srr, FcpSrrReply::Reject { reason: 9, explanation: 0x2a }));
            world.sent()
        } else {
            world.pass(REC_TOV + TICK)
        };
        assert_eq!((sent.len(), sent[0].header.r_ctl, sent[0].header.ox_id), (1, r_ctl::BLS_ABTS, ox_id));
    }
}

/// As golden capture 05: a READ with all of its status but not of its data is not GOOD; the target has let the exchange go,
/// and the command is sent again.
#[test]
fn a_read_whose_data_was_lost_is_sent_again() {
    for lost in [0, 3, 15] {
        let mut world = World::new();
        let ox_id = world.read(32_768);
        for (i, frame) in data(ox_id, &pattern(32_768, 1)).iter().enumerate() {
            if i != lost {
                world.feed(frame);
            }
        }
        world.feed(&good(ox_id));
        world.none_done();
        world.now += 10_000_000 + TICK;
        read_again(&mut world, ox_id, 32_768);
        assert_eq!(world.initiator.counters(world.peer.id).short, 1);
    }
}

/// Frames that are lost for want of room on the way are lost again when all that lack some are asked for again at once:
/// the second time and on there is a pause, twice as long each time, and not the same for all.
#[test]
fn reads_that_lose_data_again_and_again_are_spread_out() {
    let (mut world, count) = (World::new(), 3);
    let mut names: Vec<OxId> = (0..count).map(|_| world.read(8192)).collect();
    for attempt in 0..4u32 {
        for ox_id in &names {
            world.feed(&data(*ox_id, &pattern(8192, 1))[1]);
            world.feed(&good(*ox_id));
        }
        let base = if attempt == 0 { 0 } else { 150_000_000 << (attempt - 1) };
        let mut seen = Vec::new();
        let asked = world.now;
        while seen.len() < count {
            let sent = world.pass(TICK);
            seen.extend(sent.into_iter().map(|frame| (frame, world.now - asked)));
            assert!(world.now - asked < 2 * SECOND, "{attempt}: {}", seen.len());
        }
        let waits: Vec<u64> = seen.iter().map(|(_, wait)| *wait).collect();
        assert!(seen.iter().all(|(frame, _)| frame.header.r_ctl == r_ctl::COMMAND));
        assert!(waits.iter().all(|wait| (base..2 * base + 3 * TICK).contains(wait)), "{attempt}: {waits:?}");
        assert!(attempt == 0 || waits[0] < waits[count - 1], "{attempt}: {waits:?}");
        names = seen.iter().map(|(frame, _)| frame.header.ox_id).collect();
    }
    for ox_id in names {
        data(ox_id, &pattern(8192, 1)).iter().for_each(|frame| world.feed(frame));
        world.feed(&good(ox_id));
        assert_eq!(world.good().buffer.unwrap().bytes(), pattern(8192, 1));
    }
    assert_eq!(world.initiator.counters(world.peer.id).resent, 12);
}

/// A command that waits for its turn to be sent again has its time like any other; the target has nothing of it to abort.
#[test]
fn a_pause_ends_with_the_commands_time() {
    let mut world = World::with(peer(), InitiatorConfig { retries: 100, ..InitiatorConfig::default() });
    let mut ox_id = world.read(8192);
    let began = world.now;
    let resent = loop {
        world.feed(&good(ox_id));
        let mut sent = Vec::new();
        while sent.is_empty() && world.now - began < 30 * SECOND - TICK {
            sent = world.pass(TICK);
        }
        match &sent[..] {
            [] => break world.initiator.counters(world.peer.id).resent,
            [again] => assert_eq!(again.header.r_ctl, r_ctl::COMMAND),
            more => panic!("{more:?}"),
        }
        ox_id = sent[0].header.ox_id;
    };
    world.none_done();
    assert!(world.pass(3 * TICK).is_empty());
    assert_eq!((world.done().outcome, resent), (Outcome::TimedOut, 9));
    assert!(world.pass(60 * SECOND).is_empty());
    assert_eq!(world.initiator.counters(world.peer.id).timed_out, 1);
}

/// A residual that does not fit the data is no success either.
#[test]
fn a_wrong_residual_is_not_believed() {
    for (len, residual) in [(4096, -512), (3584, 0), (0, 0), (4096, -8192)] {
        let mut world = World::new();
        let ox_id = world.read(4096);
        for frame in data(ox_id, &pattern(len, 1)) {
            world.feed(&frame);
        }
        world.feed(&response(ox_id, &FcpResponse { residual, ..FcpResponse::default() }));
        world.none_done();
        world.now += 10_000_000 + TICK;
        read_again(&mut world, ox_id, 4096);
    }
}

/// FCP-4, clause 12.3: a command whose time has passed is aborted. What reads is handed up at
/// once; what writes, when the target writes no more.
#[test]
fn a_command_has_its_time() {
    for write in [false, true] {
        let mut world = World::new();
        let ox_id = if write { world.write(&[1; 4096]) } else { world.read(4096) };
        let mut sent = Vec::new();
        for _ in 0..10 {
            for frame in world.pass(REC_TOV + TICK) {
                if frame.is(r_ctl::ELS_REQUEST) {
                    world.feed(&rec_accept(&frame, WORKS, 0));
                } else {
                    sent.push(frame);
                }
            }
        }
        assert_eq!((sent.len(), sent[0].header.r_ctl, sent[0].header.ox_id), (1, r_ctl::BLS_ABTS, ox_id));
        if write {
            world.none_done();
            world.feed(&ba_acc(ox_id, 1, 0));
        }
        let done = world.done();
        assert_eq!((done.outcome, done.buffer.is_some()), (Outcome::TimedOut, true));
        for frame in data(ox_id, &pattern(4096, 1)) {
            world.feed(&frame);
        }
        world.feed(&ba_acc(ox_id, 1, 0));
        world.none_done();
        assert!(world.pass(60 * SECOND).is_empty());
        assert_eq!(world.initiator.counters(world.peer.id).timed_out, 1);
    }
}

/// A command whose time passes while it is aborted to be sent again is not sent again.
#[test]
fn a_late_abort_is_the_end() {
    let mut world = World::new();
    let ox_id = world.write(&[1; 4096]);
    for _ in 0..8 {
        let asked = rec(&mut world);
        world.feed(&rec_accept(&asked, WORKS, 0));
    }
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, 0, 0));
    assert_eq!(world.only().header.r_ctl, r_ctl::BLS_ABTS);
    assert!(world.pass(7 * SECOND).is_empty());
    world.none_done();
    world.feed(&ba_acc(ox_id, 1, 0));
    assert!(world.sent().is_empty());
    assert_eq!(world.done().outcome, Outcome::TimedOut);
}

/// An answer that comes while the abort is on its way counts.
#[test]
fn an_answer_is_better_than_an_abort() {
    let mut world = World::new();
    let ox_id = written(&mut world, 4096);
    for _ in 0..3 {
        rec(&mut world);
    }
    assert_eq!(world.pass(REC_TOV + TICK).remove(0).header.r_ctl, r_ctl::BLS_ABTS);
    world.feed(&good(ox_id));
    world.good();
    world.feed(&ba_acc(ox_id, 1, 0));
    assert!(world.sent().is_empty());
    world.none_done();
}

/// As golden capture 06, with an end: ABTS with an unknown RX_ID is not answered. It is sent twice, 2 R_A_TOV apart; then
/// the exchange is given up, and the peer should log out (FCP-4, clause 12.3).
#[test]
fn a_peer_that_does_not_answer_abts_is_logged_out() {
    let mut world = World::new();
    let ox_id = world.write(&[1; 4096]);
    let mut aborts = Vec::new();
    let began = world.now;
    while world.now < began + 40 * SECOND {
        for frame in world.pass(SECOND) {
            if frame.is(r_ctl::BLS_ABTS) {
                assert_eq!((frame.header.ox_id, frame.header.rx_id), (ox_id, RxId::UNASSIGNED));
                aborts.push(world.now);
            }
        }
    }
    assert_eq!(aborts.len(), 2);
    assert_eq!((aborts[1] - aborts[0]).div_ceil(SECOND), 2 * world.peer.r_a_tov / SECOND);
    assert_eq!(world.done().outcome, Outcome::Transport(TransportError::AbortUnanswered));
    assert_eq!(world.initiator.poll_event(), Some(InitiatorEvent::Logout(world.peer.id)));
    assert_eq!(world.initiator.poll_event(), None);
    assert_eq!(world.initiator.counters(world.peer.id).abts_unanswered, 1);
}

/// A WRITE whose time has passed may still be executed by a target that does not answer ABTS: only a new session ends it.
#[test]
fn a_write_that_is_not_aborted_has_not_just_timed_out() {
    let mut world = World::new();
    world.write(&[1; 512]);
    while world.initiator.counters(world.peer.id).abts == 0 {
        for asked in world.pass(REC_TOV + TICK).into_iter().filter(|frame| frame.is(r_ctl::ELS_REQUEST)) {
            world.feed(&rec_accept(&asked, WORKS, 0));
        }
    }
    world.none_done();
    world.pass(5 * world.peer.r_a_tov);
    assert_eq!(world.done().outcome, Outcome::Transport(TransportError::AbortUnanswered));
    assert_eq!(world.initiator.counters(world.peer.id).timed_out, 1);
}

/// FC-LS-3, clause 4.2.16: a recovery qualifier, which a BA_ACC with a range of SEQ_CNT makes, is taken back by RRQ when
/// R_A_TOV has passed; without a range there is none.
#[test]
fn a_recovery_qualifier_is_reinstated() {
    for (low, high, rrq) in [(0, 0xffff, true), (1, 0, false)] {
        let mut world = World::new();
        let ox_id = world.write(&[1; 4096]);
        let asked = rec(&mut world);
        world.feed(&rec_accept(&asked, 0, 0));
        world.only();
        world.feed(&ba_acc(ox_id, low, high));
        let again = world.command().header.ox_id;
        world.feed(&response(again, &FcpResponse { status: 8, residual: -4096, ..FcpResponse::default() }));
        world.done();
        assert!(world.pass(world.peer.r_a_tov - 1).is_empty());
        let sent = world.pass(TICK);
        assert_eq!(sent.len(), usize::from(rrq));
        for frame in sent {
            let which = ExchangeRepr { originator: world.peer.own, ox_id, rx_id: RxId(0x11) };
            assert_eq!(ElsRequest::parse(&frame.payload), Ok(ElsRequest::Rrq(which)));
            // FC-FS-3, F_CTL: the first and only sequence of a new exchange, whose initiative goes to the peer.
            assert_eq!(frame.header.f_ctl, 0x29_0000);
            world.feed(&els_reply(&frame, &[2, 0, 0, 0]));
        }
        assert!(world.pass(60 * SECOND).is_empty());
        assert_eq!(world.initiator.poll_timeout(), None, "nothing is left");
    }
}

/// FC-LS-3, clause 4.2.29: what a peer that asks is told.
#[test]
fn a_peer_may_ask_as_well() {
    let mut world = World::new();
    let ox_id = world.write(&[1; 8192]);
    world.out.room = 1;
    world.feed(&xfer_rdy(ox_id, 0, 8192));
    let status = world.initiator.exchange_status(world.peer.id, ox_id, RxId::UNASSIGNED).unwrap();
    assert_eq!((status.rx_id, status.status, status.transferred), (RxId(0x11), e_stat::SEQUENCE_INITIATIVE, 2048));
    world.out.room = 10;
    world.sent();
    let status = world.initiator.exchange_status(world.peer.id, ox_id, RxId(0x11)).unwrap();
    assert_eq!((status.status, status.transferred), (0, 8192));
    assert_eq!(world.initiator.exchange_status(world.peer.id, ox_id, RxId(0x12)), None);
    assert_eq!(world.initiator.exchange_status(world.peer.id, OxId(ox_id.0 + 1), RxId::UNASSIGNED), None);
    assert_eq!(world.initiator.exchange_status(world.peer.id, OxId::UNASSIGNED, RxId::UNASSIGNED), None);
}

/// FC-FS-3, clauses 16.3.2 to 16.3.4: an ABTS of the target is accepted for an exchange that there is, whose command is
/// sent again, and rejected for others.
#[test]
fn an_abort_of_the_target_is_answered() {
    let mut world = World::new();
    let ox_id = world.read(4096);
    let abort = |ox_id| Frame {
        header: FcHeader { seq_id: 6, ..from_target(r_ctl::BLS_ABTS, 0x89_0000, ox_id) },
        payload: Vec::new(),
        sof: Sof::I3,
        eof: Eof::T,
    };
    world.feed(&abort(OxId(ox_id.0 + 5)));
    let frame = world.only();
    assert_eq!(
        (frame.header.r_ctl, frame.header.ox_id, frame.header.seq_id),
        (r_ctl::BLS_BA_RJT, OxId(ox_id.0 + 5), 6)
    );
    assert_eq!(frame.payload, [0, 3, 3, 0]);
    world.feed(&abort(ox_id));
    let sent = world.sent();
    assert_eq!((sent.len(), sent[0].header.r_ctl, sent[0].header.f_ctl), (2, r_ctl::BLS_BA_ACC, 0x19_0000));
    let accept = BaAccRepr::parse(&sent[0].payload).unwrap();
    assert_eq!((accept.ox_id, accept.rx_id, accept.low_seq_cnt, accept.high_seq_cnt), (ox_id, RxId(0x11), 0, 0xffff));
    assert!(sent[1].is(r_ctl::COMMAND) && sent[1].header.ox_id != ox_id);
}

/// A reset whose time passes is aborted as a command is; one that the target does not do says why.
#[test]
fn a_reset_has_its_time_too() {
    let mut world = World::new();
    world.initiator.lun_reset(world.now, &world.peer, LUN, Tag(3), 2 * SECOND).unwrap();
    world.command();
    let sent = world.pass(2 * SECOND + TICK);
    assert_eq!((sent.len(), sent[0].header.r_ctl), (1, r_ctl::BLS_ABTS));
    assert_eq!(world.done().outcome, Outcome::TimedOut);
    world.initiator.lun_reset(world.now, &world.peer, LUN, Tag(4), 2 * SECOND).unwrap();
    let ox_id = world.command().header.ox_id;
    world.feed(&response(ox_id, &FcpResponse { code: Some(9), ..FcpResponse::default() }));
    assert_eq!(world.done().outcome, Outcome::Function(9));
}

/// Nor does an ABTS that finds room late make a command outlive its time.
#[test]
fn an_abort_that_goes_late_has_its_time() {
    let mut world = World::new();
    let mut command = command(1, &write_cdb(512), Data::Out(Buffer::new(512)));
    command.timeout = 2 * SECOND;
    world.initiator.submit(world.now, &world.peer, command).unwrap();
    world.command();
    world.out.room = 0;
    assert!(world.pass(17 * SECOND).is_empty());
    world.out.room = 1;
    assert_eq!(world.only().header.r_ctl, r_ctl::BLS_ABTS);
    world.none_done();
    assert!(world.pass(2 * SECOND).is_empty());
    assert_eq!(world.done().outcome, Outcome::Transport(TransportError::AbortUnanswered));
}

/// A command that was never sent is not aborted; its time limit holds nevertheless.
#[test]
fn a_command_that_never_went_has_its_time() {
    let mut world = World::new();
    world.out.room = 0;
    world.submit(1, &[0; 6], Data::None);
    assert!(world.pass(40 * SECOND).is_empty());
    assert_eq!(world.done().outcome, Outcome::TimedOut);
    world.out.room = 10;
    assert!(world.pass(100 * SECOND).is_empty());
}
