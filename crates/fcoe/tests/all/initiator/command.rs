//! Content of FCP_CMND, and repetition of commands.

use crate::initiator::world::*;
use linerate_block::{Buffer, Tag};
use linerate_fcoe::{Data, Lun, Outcome, Peer, PeerId, Refused, TaskAttribute, TransportError};
use linerate_wire::OxId;
use linerate_wire::*;

/// FCP-4, clause 9.2.2: the task attribute.
#[test]
fn a_task_attribute_is_said() {
    for (attribute, said) in [
        (TaskAttribute::Simple, fcp_attribute::SIMPLE),
        (TaskAttribute::HeadOfQueue, fcp_attribute::HEAD_OF_QUEUE),
        (TaskAttribute::Ordered, fcp_attribute::ORDERED),
        (TaskAttribute::Aca, fcp_attribute::ACA),
    ] {
        let mut world = World::new();
        let command = linerate_fcoe::Command { attribute, ..command(1, &[0; 6], Data::None) };
        world.initiator.submit(world.now, &world.peer, command).unwrap();
        let frame = world.command();
        assert_eq!(frame.payload[9], said);
    }
}

/// FCP-4, clause 9.2: FCP_DL of zero goes with neither RDDATA nor WRDATA; a CDB has 6 to 32 bytes.
#[test]
fn no_byte_has_no_direction_and_no_cdb_is_longer_than_its_place() {
    let mut world = World::new();
    for data in [Data::In(Buffer::new(0)), Data::Out(Buffer::new(0)), Data::None] {
        world.submit(1, &[0; 6], data);
        let frame = world.command();
        assert_eq!((frame.payload[11], &frame.payload[28..]), (0, &[0; 4][..]));
        world.feed(&good(frame.header.ox_id));
        world.good();
    }
    for cdb_len in [0, 5, 33, 255] {
        let bad = linerate_fcoe::Command { cdb_len, ..command(1, &[0; 6], Data::None) };
        let (why, _) = world.initiator.submit(world.now, &world.peer, bad).unwrap_err();
        assert_eq!(why, Refused::Malformed, "{cdb_len}");
    }
}

/// FC-LS-3, receive data field size: a peer that takes less than a block has it in pieces.
#[test]
fn small_frames_carry_parts_of_blocks() {
    for (takes, sizes) in [(256, [256; 4].to_vec()), (508, vec![508, 508, 8]), (1452, vec![1024])] {
        let mut world = World::new();
        world.peer.max_payload = takes;
        let ox_id = world.write(&[1; 1024]);
        world.feed(&xfer_rdy(ox_id, 0, 1024));
        assert_eq!(world.sent().iter().map(|frame| frame.payload.len()).collect::<Vec<_>>(), sizes);
    }
}

/// SAM-5, clause 5.3.1: BUSY lowers the depth of the queue as TASK SET FULL does.
#[test]
fn a_busy_target_is_heeded() {
    let mut world = World::new();
    for tag in 0..8 {
        world.submit(tag, &[0; 6], Data::None);
    }
    let ids: Vec<OxId> = world.sent().iter().map(|frame| frame.header.ox_id).collect();
    world.feed(&response(ids[7], &FcpResponse { status: 8, ..FcpResponse::default() }));
    assert_eq!((world.done().status, world.initiator.room(world.peer.id)), (8, 0));
    assert_eq!(world.initiator.counters(world.peer.id).task_set_full, 1);
}

/// Commands whose repetition does harm: COMPARE AND WRITE, PERSISTENT RESERVE OUT, EXTENDED COPY, and unknown commands
/// of 32 bytes.
#[test]
fn only_what_may_be_done_twice_is_sent_twice() {
    let long = |high, low| {
        let mut cdb = [0; 32];
        (cdb[0], cdb[7], cdb[8], cdb[9]) = (0x7f, 24, high, low);
        cdb
    };
    let short = |code| {
        let mut cdb = [0; 32];
        cdb[0] = code;
        cdb
    };
    for (cdb, again) in [
        (short(0x28), true),
        (short(0x93), true),
        (short(0x89), false),
        (short(0x5f), false),
        (short(0x83), false),
        (long(0, 0x09), true),
        (long(0, 0x0d), true),
        (long(0, 0x08), false),
        (long(0, 0x0e), false),
        (long(1, 0x09), false),
    ] {
        let mut world = World::new();
        world.submit(1, &cdb, Data::None);
        world.command();
        let sent = world.pass(3 * SECOND + TICK);
        world.feed(&reject(&sent[0], els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE));
        match again {
            true => _ = world.command(),
            false => assert_eq!(world.done().outcome, Outcome::Transport(TransportError::NotRepeatable), "{cdb:x?}"),
        }
    }
    // A reset may be done twice.
    let mut world = World::new();
    world.initiator.lun_reset(world.now, &world.peer, LUN, Tag(3), 20 * SECOND).unwrap();
    world.command();
    let sent = world.pass(3 * SECOND + TICK);
    world.feed(&reject(&sent[0], els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE));
    assert_eq!(world.command().payload[10], fcp_function::LOGICAL_UNIT_RESET);
}

/// FCP-4, clause 9.5: a reset is done with RSP_CODE 0x00 or 0x08, and with no other; then what was sent before is over: of
/// the unit, of the peer, and only what was sent.
#[test]
fn a_reset_ends_commands_only_when_it_is_done() {
    for (code, done) in [(0, true), (8, true), (4, false), (5, false), (9, false)] {
        let mut world = World::new();
        world.read(512);
        world.initiator.lun_reset(world.now, &world.peer, LUN, Tag(50), SECOND).unwrap();
        let reset = world.command().header.ox_id;
        world.feed(&response(reset, &FcpResponse { code: Some(code), ..FcpResponse::default() }));
        let ended: Vec<_> = std::iter::from_fn(|| world.initiator.poll_completion()).map(|done| done.outcome).collect();
        let over = done.then_some(Outcome::Transport(TransportError::Reset));
        let wanted: Vec<_> = std::iter::once(Outcome::Function(code)).chain(over).collect();
        assert_eq!(ended, wanted);
    }
    let mut world = World::new();
    let other = Peer { id: PeerId { index: 9, generation: 1 }, fc_id: FcId::new(0x0e03), ..world.peer };
    world.initiator.submit(world.now, &other, command(8, &[0; 6], Data::None)).unwrap();
    world.command();
    // One that was lost, and is to be sent again when there is room.
    world.submit(7, &[0; 6], Data::None);
    world.command();
    let sent = world.pass(3 * SECOND + TICK);
    world.initiator.lun_reset(world.now, &world.peer, Lun([0; 8]), Tag(50), SECOND).unwrap();
    let reset = world.command().header.ox_id;
    world.out.room = 0;
    let asked = sent.iter().find(|frame| frame.header.d_id == world.peer.fc_id).unwrap();
    world.feed(&reject(asked, els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE));
    world.feed(&response(reset, &FcpResponse { code: Some(0), ..FcpResponse::default() }));
    assert_eq!((world.done().tag, world.initiator.outstanding(other.id)), (Tag(50), 1));
    world.out.room = 10;
    let again = world.command().header.ox_id;
    world.feed(&good(again));
    assert_eq!(world.good().tag, Tag(7));
}

/// FC-FS-3, recovery qualifier: nothing rests that was never sent, and nobody is told of what another session has aborted.
#[test]
fn only_names_that_were_on_their_way_rest() {
    let mut world = World::new();
    world.out.room = 0;
    world.submit(1, &[0; 6], Data::None);
    assert!(world.pass(31 * SECOND).is_empty());
    assert_eq!(world.done().outcome, Outcome::TimedOut);
    assert_eq!(world.initiator.poll_timeout(), None);

    let mut world = World::new();
    let ox_id = world.write(&[1; 512]);
    let sent = world.pass(3 * SECOND + TICK);
    world.feed(&rec_accept(&sent[0], 0, 0));
    assert!(world.only().is(r_ctl::BLS_ABTS));
    world.feed(&ba_acc(ox_id, 0, 0xffff));
    world.command();
    world.initiator.down(world.peer.id);
    assert_eq!(world.done().outcome, Outcome::LinkLost);
    world.peer.id.generation += 1;
    world.submit(1, &[0; 6], Data::None);
    let again = world.command().header.ox_id;
    world.feed(&good(again));
    world.good();
    assert!(world.pass(60 * SECOND).is_empty(), "no RRQ to who knows nothing of it");
}
