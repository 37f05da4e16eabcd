//! Frames that are accepted: from the right sender, in the right state.

use crate::initiator::world::*;
use linerate_block::Buffer;
use linerate_fcoe::{Data, InitiatorConfig, Outcome, Peer, PeerId};
use linerate_wire::RxId;
use linerate_wire::*;

const WORKS: u32 = e_stat::SEQUENCE_INITIATIVE;
/// E_D_TOV and a second.
const REC_TOV: u64 = 3 * SECOND;

fn retrying() -> World {
    World::with(Peer { retry: true, confirm: true, ..peer() }, InitiatorConfig::default())
}

/// Time passes until REC is sent; nothing else is.
fn rec(world: &mut World) -> Frame {
    let mut sent = world.pass(REC_TOV + TICK);
    assert_eq!((sent.len(), sent[0].payload[0]), (1, 0x13), "{sent:?}");
    sent.remove(0)
}

/// GOOD is believed when exactly the data has moved: not while a part waits for room, nor with a hole before the end.
#[test]
fn good_comes_after_all_data() {
    let mut world = World::new();
    let ox_id = world.write(&pattern(8192, 1));
    world.out.room = 2;
    world.feed(&xfer_rdy(ox_id, 0, 8192));
    world.feed(&good(ox_id));
    world.none_done();
    world.out.room = 2;
    world.sent();
    world.feed(&good(ox_id));
    world.good();

    let mut world = World::new();
    let ox_id = world.read(8192);
    let frames = data(ox_id, &pattern(8192, 1));
    for i in [0, 2] {
        world.feed(&frames[i]);
    }
    world.feed(&response(ox_id, &FcpResponse { residual: 2112 - 8192, ..FcpResponse::default() }));
    world.none_done();
    assert_eq!(world.initiator.counters(world.peer.id).short, 1);
}

/// FC-FS-3, clauses 12.10 and 12.15: of a sequence only the last frame may be shorter than the others.
#[test]
fn a_short_frame_in_the_midst_is_none() {
    let mut world = World::new();
    let ox_id = world.read(8448);
    let frames = data(ox_id, &pattern(8448, 1));
    world.feed(&frames[0]);
    let mut cut = frames[2].clone();
    cut.payload.truncate(2108);
    world.feed(&cut);
    assert_eq!(world.initiator.counters(world.peer.id).discontinuous, 1);
    for frame in &frames[1..] {
        world.feed(frame);
    }
    world.feed(&good(ox_id));
    assert_eq!(world.good().buffer.unwrap().bytes(), pattern(8448, 1));
}

/// FC-FS-3, exchange identifiers: an exchange is with one peer, and begins when its command has gone.
#[test]
fn an_exchange_is_with_one_peer_and_begins_with_its_command() {
    let mut world = World::new();
    let ox_id = world.read(512);
    let other = Peer { id: PeerId { index: 4, generation: 1 }, fc_id: FcId::new(0x0e03), ..world.peer };
    world.initiator.submit(world.now, &other, command(1, &[0; 6], Data::None)).unwrap();
    world.command();
    let mut forged = good(ox_id);
    forged.header.s_id = other.fc_id;
    let bytes = forged.bytes();
    world.initiator.handle(world.now, &other, &FcoeFrame::new_checked(&bytes).unwrap(), &mut world.out);
    assert_eq!(world.initiator.counters(other.id).unknown_exchange, 1);
    assert_eq!(world.initiator.exchange_status(other.id, ox_id, RxId::UNASSIGNED), None);
    assert!(world.initiator.exchange_status(world.peer.id, ox_id, RxId::UNASSIGNED).is_some());
    world.none_done();

    world.out.room = 0;
    world.submit(2, &[0; 6], Data::None);
    assert!(world.sent().is_empty());
    world.feed(&good(OxId(ox_id.0 + 2)));
    assert_eq!(world.initiator.counters(world.peer.id).unknown_exchange, 1);
    assert_eq!(world.initiator.exchange_status(world.peer.id, OxId(ox_id.0 + 2), RxId::UNASSIGNED), None);
    world.none_done();
    world.out.room = 10;
    assert_eq!(world.command().header.ox_id, OxId(ox_id.0 + 2));
}

/// FCP-4, clause 12.3: after ABTS no data is sent, whatever the target asks for; its answer ends the exchange, whose name
/// rests until BA_ACC has come or can come no more.
#[test]
fn an_exchange_that_is_aborted_sends_nothing() {
    let mut world = World::new();
    let ox_id = world.write(&pattern(4096, 1));
    for _ in 0..3 {
        rec(&mut world);
    }
    let sent = world.pass(REC_TOV + TICK);
    assert!(sent.len() == 1 && sent[0].is(r_ctl::BLS_ABTS));
    world.feed(&xfer_rdy(ox_id, 0, 4096));
    assert!(world.sent().is_empty());
    assert_eq!(world.initiator.counters(world.peer.id).unexpected, 1);
    world.feed(&response(ox_id, &FcpResponse { status: 2, ..FcpResponse::default() }));
    assert_eq!((world.done().status, world.initiator.exchanges()), (2, 0));
    assert_eq!(world.initiator.poll_timeout(), Some(world.now + world.peer.r_a_tov));

    // A READ whose time has passed was told of: whatever the answer is, it is the end.
    let mut world = World::new();
    let ox_id = world.read(512);
    while world.initiator.counters(world.peer.id).abts == 0 {
        for asked in world.pass(REC_TOV + TICK).into_iter().filter(|frame| frame.is(r_ctl::ELS_REQUEST)) {
            world.feed(&rec_accept(&asked, WORKS, 0));
        }
    }
    assert_eq!(world.done().outcome, Outcome::TimedOut);
    world.feed(&data(ox_id, &[1; 512])[0]);
    world.feed(&good(ox_id));
    world.none_done();
    assert_eq!(world.initiator.exchanges(), 0);
}

/// FCP-4, clause 12.4.1, and the diagrams of annex C: a target that says that it has sent more than came is asked for it, be
/// it done or waiting for FCP_CONF; and never is more skipped than was asked for.
#[test]
fn what_the_target_has_sent_and_did_not_come_is_asked_for() {
    for (status, sent, offset) in [(e_stat::COMPLETE, 8192, 2112), (0, 8192, 2112), (0, 2112, 0)] {
        let mut world = retrying();
        let ox_id = world.read(8192);
        world.feed(&data(ox_id, &pattern(8192, 1))[0]);
        let asked = rec(&mut world);
        world.feed(&rec_accept(&asked, status, sent));
        let r_ctl = if sent > 2112 { r_ctl::DATA } else { r_ctl::STATUS };
        let wanted = FcpSrr { ox_id, rx_id: RxId(0x11), offset, r_ctl };
        assert_eq!(FcpSrr::parse(&world.only().payload), Ok(wanted));
    }
    let mut world = retrying();
    let ox_id = world.write(&pattern(8192, 1));
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, 0, 4096));
    let wanted = FcpSrr { ox_id, rx_id: RxId(0x11), offset: 0, r_ctl: r_ctl::DATA_DESCRIPTOR };
    assert_eq!(FcpSrr::parse(&world.only().payload), Ok(wanted), "nothing was asked for yet");
}

/// Data that contradicts itself is not mended by a part of it.
#[test]
fn what_contradicts_itself_is_not_asked_for_again() {
    let mut world = retrying();
    let ox_id = world.read(4096);
    let frames = data(ox_id, &pattern(4096, 1));
    world.feed(&frames[0]);
    let mut other = frames[0].clone();
    other.payload[7] ^= 1;
    world.feed(&other);
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, 0, 4096));
    assert!(world.only().is(r_ctl::BLS_ABTS));
}

/// FC-LS-3, Read Exchange Concise: a reply comes from the responder, is about what was asked, and counts while it is awaited.
#[test]
fn a_reply_answers_what_was_asked() {
    let mut world = retrying();
    let ox_id = world.read(512);
    let asked = rec(&mut world);
    let answer = reject(&asked, els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE);
    let mut forged = answer.clone();
    forged.header.f_ctl &= !f_ctl::EXCHANGE_RESPONDER;
    world.feed(&forged);
    assert_eq!(world.initiator.counters(world.peer.id).unknown_exchange, 1);
    let mut about = rec_accept(&asked, e_stat::COMPLETE, 512);
    about.payload[5] ^= 1;
    world.feed(&about);
    assert!(world.sent().is_empty());
    assert_eq!(world.initiator.counters(world.peer.id).malformed, 1);
    let again = rec(&mut world);
    world.feed(&answer);
    assert!(world.sent().is_empty(), "it answers the first");

    // The command ends, and FCP_CONF waits for room: a reply changes nothing any more.
    world.out.room = 0;
    world.feed(&data(ox_id, &[1; 512])[0]);
    let asked = {
        world.out.room = 1;
        let asked = rec(&mut world);
        world.out.room = 0;
        asked
    };
    assert_ne!(asked.header.ox_id, again.header.ox_id);
    world.feed(&response(ox_id, &FcpResponse { confirm: true, ..FcpResponse::default() }));
    world.good();
    world.feed(&reject(&asked, els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE));
    world.out.room = 10;
    let confirm = world.only();
    assert!(confirm.is(r_ctl::CONFIRM) && world.initiator.exchanges() == 0);
}

/// FCP-4, clause 8.4: an answer to SRR that is none is followed by ABTS, as a reject is.
#[test]
fn an_answer_to_srr_that_is_none_is_an_abort() {
    let mut world = retrying();
    world.write(&[1; 4096]);
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, 0, 0));
    let srr = world.only();
    let mut answer = srr_reply(&srr, FcpSrrReply::Accept);
    answer.payload[0] = 0x77;
    world.feed(&answer);
    assert!(world.only().is(r_ctl::BLS_ABTS));
}

/// FC-LS-3, clause 4.2.16: after RRQ the name is used again when its reply has come, or can come no more.
#[test]
fn a_name_rests_for_the_reply_to_its_rrq() {
    let mut world = World::new();
    world.submit(1, &[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], Data::Out(Buffer::new(512)));
    let ox_id = world.command().header.ox_id;
    let asked = rec(&mut world);
    world.feed(&rec_accept(&asked, 0, 0));
    world.only();
    world.feed(&ba_acc(ox_id, 0, 0xffff));
    let again = world.command().header.ox_id;
    world.feed(&response(again, &FcpResponse { status: 2, ..FcpResponse::default() }));
    world.done();
    let sent = world.pass(world.peer.r_a_tov);
    assert_eq!((sent.len(), sent[0].payload[0]), (1, ElsCommand::RRQ.0));
    assert_eq!(world.initiator.poll_timeout(), Some(world.now + 2 * world.peer.r_a_tov));
}

/// FC-FS-3, clause 12.10: SEQ_CNT and relative offset tell where a frame lies, whichever came before; a frame that is not
/// believed says nothing of the next.
#[test]
fn a_frame_is_measured_by_those_that_are_believed() {
    let bytes = pattern(3 * 2112 + 512, 1);
    let mut world = World::new();
    let ox_id = world.read(bytes.len() / 512 * 512);
    let frames = data(ox_id, &bytes[..bytes.len() / 512 * 512]);
    for i in [0, 2, 3, 1] {
        world.feed(&frames[i]);
    }
    world.feed(&good(ox_id));
    world.good();

    let mut world = World::new();
    let ox_id = world.read(8448);
    let frames = data(ox_id, &pattern(8448, 1));
    for (i, astray) in [(1, 100), (2, 2212)] {
        let mut frame = frames[i].clone();
        frame.header.parameter = astray;
        world.feed(&frame);
    }
    assert_eq!(world.initiator.counters(world.peer.id).discontinuous, 2);
}

/// FC-FS-3, RX_ID: what the responder called the exchange first is its name.
#[test]
fn a_foreign_rx_id_does_not_stay() {
    let mut world = World::new();
    let ox_id = world.read(4224);
    let frames = data(ox_id, &pattern(4224, 1));
    world.feed(&frames[0]);
    let mut foreign = frames[1].clone();
    foreign.header.rx_id = RxId(0x0012);
    world.feed(&foreign);
    assert_eq!(world.initiator.counters(world.peer.id).unknown_exchange, 1);
    world.feed(&frames[1]);
    world.feed(&good(ox_id));
    world.good();
}

/// FCP-4, clause 12.3: data that comes when ABTS is out does not call it back.
#[test]
fn data_does_not_end_an_abort() {
    let mut world = World::new();
    let ox_id = world.read(4224);
    let frames = data(ox_id, &pattern(4224, 1));
    let mut sent = Vec::new();
    while !sent.last().is_some_and(|frame: &Frame| frame.is(r_ctl::BLS_ABTS)) {
        sent.extend(world.pass(SECOND));
        assert!(sent.len() < 20);
    }
    world.feed(&frames[0]);
    world.feed(&ba_acc(ox_id, 1, 0));
    assert_ne!(world.command().header.ox_id, ox_id);
}

/// GOOD that comes again does not give its data more time.
#[test]
fn missing_data_has_its_time_once() {
    let mut world = World::new();
    let ox_id = world.read(4224);
    world.feed(&data(ox_id, &pattern(4224, 1))[0]);
    world.feed(&good(ox_id));
    let sent: Vec<_> = (0..10)
        .flat_map(|_| {
            world.feed(&good(ox_id));
            world.pass(5_000_000)
        })
        .collect();
    assert!(sent.len() == 1 && sent[0].is(r_ctl::COMMAND), "{sent:?}");
}

/// FCP-4, clause 12.3: one LOGO ends all that is not answered; and a BA_RJT that is none is no answer.
#[test]
fn a_silent_peer_is_logged_out_once() {
    let mut world = World::new();
    let ox_ids = [world.write(&[1; 512]), world.write(&[2; 512])];
    for _ in 0..35 {
        world.pass(SECOND);
        for ox_id in ox_ids {
            let mut cut = ba_rjt(ox_id);
            cut.payload.clear();
            world.feed(&cut);
        }
    }
    assert_eq!(std::iter::from_fn(|| world.initiator.poll_event()).count(), 1);
    assert_eq!(world.initiator.counters(world.peer.id).abts_unanswered, 2);
}

/// A request for which there is no room is sent when there is.
#[test]
fn rec_and_srr_wait_for_room() {
    let mut world = retrying();
    let ox_id = world.read(4224);
    world.out.room = 0;
    assert!(world.pass(REC_TOV + TICK).is_empty());
    world.out.room = 10;
    let asked = world.only();
    assert_eq!(asked.payload[0], 0x13);
    world.out.room = 0;
    world.feed(&rec_accept(&asked, 0, 4224));
    assert!(world.sent().is_empty());
    world.out.room = 10;
    let srr = world.only();
    assert_eq!((srr.header.r_ctl, srr.payload[0]), (r_ctl::FC4_LS_REQUEST, 0x14));
    for frame in data(ox_id, &pattern(4224, 1)) {
        world.feed(&frame);
    }
}

/// As many commands as are allowed are out, however many were GOOD.
#[test]
fn the_queue_grows_to_its_limit() {
    let mut world = World::with(peer(), InitiatorConfig { exchanges: 64, queue_depth: 2, retries: 5 });
    for _ in 0..10 {
        world.submit(1, &[0; 6], Data::None);
        let ox_id = world.command().header.ox_id;
        world.feed(&good(ox_id));
        world.good();
        assert_eq!(world.initiator.room(world.peer.id), 2);
    }
}

/// FC-LS-3, RRQ: another peer's end does not take what this one is to be told.
#[test]
fn an_rrq_outlives_other_peers() {
    let mut world = World::new();
    let other = Peer { id: PeerId { index: 9, generation: 1 }, fc_id: FcId::new(0x0e03), ..world.peer };
    world.initiator.submit(world.now, &other, command(8, &[0; 6], Data::None)).unwrap();
    world.command();
    let ox_id = world.write(&[1; 512]);
    let asked = world.pass(REC_TOV + TICK);
    let about = |frame: &&Frame| frame.header.d_id == world.peer.fc_id;
    let answer = rec_accept(asked.iter().find(about).unwrap(), 0, 0);
    world.feed(&answer);
    assert!(world.only().is(r_ctl::BLS_ABTS));
    world.feed(&ba_acc(ox_id, 0, 0xffff));
    world.command();
    world.initiator.down(other.id);
    let sent = world.pass(5 * SECOND);
    assert!(sent.iter().any(|frame| frame.payload.first() == Some(&0x12)), "{sent:?}");
}
