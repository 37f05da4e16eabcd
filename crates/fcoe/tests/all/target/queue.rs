//! Commands in their queues, task management functions, and logins that come and go.

use crate::target::mock::{Behaviour, Event, good};
use crate::target::rig::{Rig, SECOND, cdb, peer, plain, rig};
use linerate_block::Tag;
use linerate_fcoe::{Function, FunctionResponse, Lun, Peer, PeerId, Role, Step, Target, TargetConfig, TargetDrop};
use linerate_wire::{FcHeader, FcpCommand, FcpResponse, OxId, RxId, fcp_function, r_ctl};

/// SAM-5, clause 5.3.1: TASK SET FULL for who has tasks that can end, BUSY for who has none. The device server never hears
/// of them.
#[test]
fn a_full_queue_is_told() {
    let mut rig = Rig::new(TargetConfig { max_exchanges: 3, max_queue: 2, ..TargetConfig::default() }, |peer| peer);
    rig.device().plans = vec![Behaviour::Wait; 3].into();
    rig.read(0, OxId(1), 0, 1);
    rig.read(0, OxId(2), 0, 1);
    rig.read(0, OxId(3), 0, 1);
    assert_eq!(rig.response(OxId(3)), (0x28, -512, None), "two for each");
    rig.read(1, OxId(1), 0, 1);
    rig.read(1, OxId(2), 0, 1);
    assert_eq!(rig.response(OxId(2)), (0x28, -512, None), "three in all");
    assert_eq!((rig.target.counters().task_set_full, rig.target.counters().commands), (2, 3));
    let depths: Vec<u16> = rig.target.peers().map(|peer| peer.queue_depth).collect();
    assert_eq!(depths, [2, 1]);
    rig.device().later.push_back((Tag(0), Step::End(good(512))));
    rig.poll();
    assert_eq!(rig.response(OxId(1)), (0, 0, None));
    rig.read(0, OxId(3), 0, 1);
    rig.wire.expect(r_ctl::DATA);
    assert_eq!(rig.response(OxId(3)), (0, 0, None), "there is room again");

    let mut rig = Rig::new(TargetConfig { max_exchanges: 1, ..TargetConfig::default() }, |peer| peer);
    rig.device().plans.push_back(Behaviour::Wait);
    rig.read(0, OxId(1), 0, 1);
    rig.read(1, OxId(1), 0, 1);
    assert_eq!(rig.response(OxId(1)), (0x08, -512, None));
}

/// Ended exchanges that are only kept make room for a new command.
#[test]
fn what_has_ended_makes_room() {
    let config = TargetConfig { max_exchanges: 2, ..TargetConfig::default() };
    let mut rig = Rig::new(config, |peer| Peer { retry: true, ..peer });
    rig.write(0, OxId(1), 0, 1);
    rig.ready();
    rig.abts(0, OxId(1), RxId::UNASSIGNED);
    rig.wire.expect(r_ctl::BLS_BA_ACC);
    for ox_id in 2..10 {
        rig.read(0, OxId(ox_id), 0, 1);
        rig.wire.expect(r_ctl::DATA);
        assert_eq!(rig.response(OxId(ox_id)), (0, 0, None));
        assert_eq!(rig.target.exchanges(), 2);
    }
    assert_eq!(rig.target.exchange_status(rig.peers[0].fc_id, OxId(1), RxId(0)).unwrap().status, 0xb400_0000);
    rig.device().plans.push_back(Behaviour::Wait);
    rig.device().plans.push_back(Behaviour::Wait);
    rig.read(0, OxId(10), 0, 1);
    rig.read(0, OxId(11), 0, 1);
    assert_eq!((rig.target.counters().task_set_full, rig.target.peers().next().unwrap().queue_depth), (0, 2));
}

/// FC-FS-3, exchange identifiers: an OX_ID is free when its exchange has ended; the kernel uses it again at once.
#[test]
fn an_ox_id_is_used_again_at_once() {
    let mut rig = rig();
    for round in 0..1000_u16 {
        rig.read(0, OxId(0), u32::from(round), 1);
        assert_eq!(rig.wire.expect(r_ctl::DATA).header.rx_id, RxId(round));
        assert_eq!(rig.response(OxId(0)), (0, 0, None));
    }
    assert_eq!(rig.target.counters().drops(), 0);
    let mut rig = Rig::new(TargetConfig::default(), |peer| Peer { retry: true, confirm: true, ..peer });
    for _ in 0..3 {
        rig.read(0, OxId(0), 0, 1);
        rig.wire.expect(r_ctl::DATA);
        assert_eq!((rig.response(OxId(0)), rig.target.exchanges()), ((0, 0, None), 1), "the last is kept no longer");
        rig.now += SECOND / 25;
    }
    assert_eq!(rig.target.counters().replaced, 0);
}

/// FC-FS-3, exchange identifiers and timers: the same FCP_CMND within E_D_TOV is a frame that came twice; later, and
/// another after R_A_TOV, begins a new exchange, for only the originator gives OX_IDs.
#[test]
fn a_command_under_an_open_name() {
    let mut rig = rig();
    rig.write(0, OxId(1), 0, 1);
    rig.ready();
    rig.now += 2 * SECOND - 1;
    rig.write(0, OxId(1), 0, 1);
    rig.wire.silent();
    assert_eq!((rig.dropped(TargetDrop::Duplicate), rig.target.exchanges()), (1, 1));
    rig.now += 2 * SECOND + 1;
    rig.write(0, OxId(1), 1, 1);
    assert_eq!(rig.ready(), (RxId(1), 0, 512));
    assert_eq!((rig.target.counters().replaced, rig.target.exchanges()), (1, 1));
    assert_eq!(rig.device().events.last(), Some(&Event::Abort(0)));
    rig.now += 2 * SECOND;
    rig.write(0, OxId(1), 1, 1);
    assert_eq!(rig.ready(), (RxId(2), 0, 512));
    assert_eq!((rig.target.counters().replaced, rig.target.exchanges()), (2, 1));
}

/// FCP-4, clause 9.5: FCP_CMND that cannot be understood is answered RSP_CODE 0x02, and no exchange is left.
#[test]
fn invalid_fields_are_told() {
    let mut rig = rig();
    let command = plain(&[0; 16]);
    let wrong = [
        FcpCommand { attribute: 5, ..command },
        FcpCommand { read: true, write: true, data_len: 512, bidirectional_read_len: 512, ..command },
        FcpCommand { function: 0x80, ..command },
        FcpCommand { function: fcp_function::ABORT_TASK_SET | fcp_function::CLEAR_ACA, ..command },
    ];
    for wrong in &wrong {
        rig.command(0, OxId(1), wrong);
        assert_eq!(rig.response(OxId(1)), (0, 0, Some(2)));
    }
    let header = rig.header(0, r_ctl::COMMAND, 0x29_0000, OxId(1), RxId::UNASSIGNED);
    for len in [0, 12, 31, 33, 36] {
        rig.send(0, header, &[0; 64][..len]);
        assert_eq!(rig.response(OxId(1)), (0, 0, Some(2)), "{len}");
    }
    assert_eq!((rig.dropped(TargetDrop::Malformed), rig.target.exchanges()), (9, 0));
    // No frame of an FCP_CMND at all (FC-FS-3, clause 12): it is not answered.
    let wrong = [
        FcHeader { f_ctl: 0x28_0000, ..header },
        FcHeader { f_ctl: 0x21_0000, ..header },
        FcHeader { f_ctl: 0x09_0000, ..header },
        FcHeader { rx_id: RxId(3), ..header },
        FcHeader { ox_id: OxId::UNASSIGNED, ..header },
        FcHeader { r_ctl: r_ctl::STATUS, ..header },
        FcHeader { fc_type: linerate_wire::FcType(0x20), ..header },
    ];
    for wrong in wrong {
        rig.send(0, wrong, &[0; 32]);
    }
    rig.wire.silent();
    assert_eq!((rig.dropped(TargetDrop::Unexpected), rig.target.counters().commands), (7, 0));
}

/// FCP-4, clause 4.9: a function ends the tasks that the device server says, and what is being
/// sent to who has sent it; it is answered with
/// response information of 8 bytes.
#[test]
fn functions_end_the_tasks_they_cover() {
    let (here, there) = (Lun([0; 8]), Lun([0, 1, 0, 0, 0, 0, 0, 0]));
    let functions = [
        (fcp_function::ABORT_TASK_SET, Function::AbortTaskSet, [0, 4, 4, 4]),
        (fcp_function::CLEAR_TASK_SET, Function::ClearTaskSet, [0, 4, 3, 4]),
        (fcp_function::LOGICAL_UNIT_RESET, Function::LogicalUnitReset, [0, 4, 3, 4]),
        (fcp_function::TARGET_RESET, Function::TargetReset, [0, 0, 3, 3]),
        (fcp_function::CLEAR_ACA, Function::ClearAca, [4; 4]),
    ];
    for (flag, function, left) in functions {
        let mut rig = rig();
        rig.device().buffers = true;
        rig.wire.room = 0;
        let read = cdb(0x28, 0, 8);
        let write = cdb(0x2a, 0, 8);
        for (from, lun) in [(0, here), (0, there), (1, here), (1, there)] {
            let ox_id = u16::from(lun.0[1]) * 2;
            let command = FcpCommand { lun: lun.0, data_len: 4096, ..plain(&read) };
            rig.command(from, OxId(ox_id), &FcpCommand { read: true, ..command });
            rig.command(from, OxId(ox_id + 1), &FcpCommand { write: true, cdb: &write, ..command });
        }
        rig.command(0, OxId(9), &FcpCommand { function: flag, ..plain(&[0; 16]) });
        assert_eq!(rig.device().events.last(), Some(&Event::Manage(function, here)));
        rig.wire.room = 1000;
        rig.poll();
        let sent = rig.wire.expect(r_ctl::STATUS);
        assert_eq!((sent.header.ox_id, sent.header.f_ctl, sent.payload.len()), (OxId(9), 0x98_0000, 32));
        assert_eq!(FcpResponse::parse(&sent.payload).unwrap(), FcpResponse { code: Some(0), ..FcpResponse::default() });
        let rest = rig.wire.all();
        for (count, (from, ox_id)) in left.into_iter().zip([(0, 0), (0, 2), (1, 0), (1, 2)]) {
            let of = |sent: &&crate::target::wire::Sent| {
                let header = sent.header;
                header.d_id == rig.peers[from].fc_id && [ox_id, ox_id + 1].contains(&header.ox_id.0)
            };
            // Two frames of data and a response, and FCP_XFER_RDY of what the device server has not ended.
            assert_eq!(rest.iter().filter(of).count(), count, "{function:?}");
        }
        let open = left.iter().filter(|frames| **frames == 4).count();
        assert_eq!((rig.target.exchanges(), usize::try_from(rig.device().away).unwrap()), (open, open), "the writes");
    }
}

/// FCP-4, clause 9.5: how a function ended.
#[test]
fn functions_that_fail_say_so() {
    let mut rig = rig();
    rig.device().plans.push_back(Behaviour::Wait);
    rig.read(0, OxId(1), 0, 1);
    for (response, code) in
        [(FunctionResponse::Rejected, 4), (FunctionResponse::Failed, 5), (FunctionResponse::IncorrectLun, 9)]
    {
        rig.device().function = response;
        rig.command(0, OxId(2), &FcpCommand { function: fcp_function::TARGET_RESET, ..plain(&[0; 16]) });
        assert_eq!(rig.response(OxId(2)), (0, 0, Some(code)));
    }
    assert_eq!(rig.target.exchanges(), 1);
    // Nor does it end what is being sent.
    rig.wire.room = 0;
    rig.read(0, OxId(3), 0, 1);
    rig.command(0, OxId(4), &FcpCommand { function: fcp_function::LOGICAL_UNIT_RESET, ..plain(&[0; 16]) });
    rig.wire.room = 10;
    rig.poll();
    assert_eq!(rig.response(OxId(4)), (0, 0, Some(9)));
    rig.wire.expect(r_ctl::DATA);
    assert_eq!(rig.response(OxId(3)), (0, 0, None));
}

/// A peer that is gone takes its exchanges with it; one that is in its place has none of them, and frames of the first are
/// not taken.
#[test]
fn a_login_that_ends_ends_its_exchanges() {
    let mut rig = rig();
    rig.device().buffers = true;
    rig.wire.room = 1;
    rig.write(0, OxId(1), 0, 1);
    let (rx_id, _, _) = rig.ready();
    rig.read(0, OxId(2), 0, 8);
    rig.device().plans.push_back(Behaviour::Wait);
    rig.read(0, OxId(3), 0, 8);
    rig.write(1, OxId(1), 0, 1);
    rig.abts(0, OxId(77), RxId::UNASSIGNED);
    let lost = rig.peers[0].id;
    rig.target.down(lost);
    rig.target.down(lost);
    assert_eq!(rig.device().events[2..], [Event::Abort(0), Event::Abort(2), Event::Lost(0)]);
    assert_eq!((rig.target.exchanges(), rig.device().away, rig.target.peers().count()), (1, 1, 1));
    rig.wire.room = 1000;
    rig.poll();
    assert_eq!(rig.wire.expect(r_ctl::DATA_DESCRIPTOR).header.d_id, rig.peers[1].fc_id);
    rig.wire.silent();
    rig.data(0, OxId(1), rx_id, 0, &[1; 512]);
    assert_eq!(rig.dropped(TargetDrop::NotLoggedIn), 1);

    let again = Peer { id: PeerId { generation: 2, ..lost }, ..rig.peers[0] };
    assert!(rig.target.up(&again));
    rig.data(0, OxId(1), rx_id, 0, &[1; 512]);
    assert_eq!(rig.dropped(TargetDrop::NotLoggedIn), 2, "it is the earlier one's");
    rig.peers[0] = again;
    rig.data(0, OxId(1), rx_id, 0, &[1; 512]);
    assert_eq!(rig.dropped(TargetDrop::UnknownExchange), 1);
    // The next one comes before it was told that the last has gone.
    rig.now += SECOND;
    rig.write(0, OxId(1), 0, 1);
    rig.ready();
    assert!(rig.target.up(&Peer { id: PeerId { generation: 3, ..lost }, ..again }));
    assert_eq!((rig.target.exchanges(), rig.device().away), (1, 1));
}

#[test]
fn only_initiators_send_commands_and_only_so_many_log_in() {
    let config = TargetConfig { max_peers: 2, ..TargetConfig::default() };
    let mut rig = Rig::new(config, |peer| Peer { role: Role { target: true, initiator: false }, ..peer });
    rig.read(0, OxId(1), 0, 1);
    rig.wire.silent();
    assert_eq!(rig.dropped(TargetDrop::NotInitiator), 1);
    assert!(!rig.target.up(&peer(2)));
    assert_eq!(rig.device().events, [Event::Nexus(0), Event::Nexus(1)]);
}

/// Ten thousand commands open at once, each with its own place and data out; all end.
#[test]
fn ten_thousand_commands_at_once() {
    let mut rig = Rig::new(TargetConfig { max_queue: 8000, ..TargetConfig::default() }, |peer| peer);
    for i in 0..10_000_u16 {
        let from = usize::from(i % 2);
        rig.write(from, OxId(i), u32::from(i % 2048), 1);
    }
    let ready = rig.wire.all();
    assert_eq!((ready.len(), rig.target.exchanges()), (10_000, 10_000));
    for sent in ready.iter().rev() {
        let ox_id = sent.header.ox_id;
        rig.data(usize::from(ox_id.0 % 2), ox_id, sent.header.rx_id, 0, &[ox_id.0.to_le_bytes()[0]; 512]);
        assert_eq!(rig.response(ox_id), (0, 0, None));
    }
    assert_eq!((rig.target.exchanges(), rig.target.counters().drops()), (0, 0));
}

/// Answers wait for room too, as many as there is place for.
#[test]
fn answers_wait_for_room() {
    let mut rig = rig();
    rig.wire.room = 0;
    for ox_id in 0..300 {
        rig.abts(0, OxId(ox_id), RxId::UNASSIGNED);
    }
    assert_eq!((rig.dropped(TargetDrop::NoRoom), rig.target.is_blocked()), (44, true));
    rig.wire.room = 1000;
    rig.poll();
    assert_eq!(rig.wire.all().len(), 256);
    assert!(!rig.target.is_blocked());
}

/// A target works with any configuration.
#[test]
fn odd_configurations_work() {
    let config = TargetConfig { max_exchanges: 0, burst: 0, turn: 0, ..TargetConfig::default() };
    let mut target = Target::new(config, crate::target::mock::Mock::new(4096));
    assert!(target.up(&Peer { max_payload: 0, ..peer(0) }));
    let mut rig = Rig { target, ..crate::target::rig::rig() };
    rig.read(0, OxId(1), 0, 1);
    assert_eq!(rig.wire.all().iter().map(|sent| sent.payload.len()).collect::<Vec<_>>(), [256, 256, 24]);
    rig.write(0, OxId(1), 0, 1);
    assert_eq!(rig.ready(), (RxId(1), 0, 4));
    // FC-FS-3, data field: 2112 bytes are the most there are.
    let mut rig = Rig::new(TargetConfig::default(), |peer| Peer { max_payload: 5000, ..peer });
    rig.read(0, OxId(1), 0, 8);
    assert_eq!(rig.wire.all().iter().map(|sent| sent.payload.len()).collect::<Vec<_>>(), [2112, 1984, 24]);
    // FC-FS-3, fill bytes: only the last frame of a sequence has them.
    let mut rig = Rig::new(TargetConfig::default(), |peer| Peer { max_payload: 2047, ..peer });
    rig.read(0, OxId(1), 0, 8);
    assert_eq!(rig.wire.all().iter().map(|sent| sent.payload.len()).collect::<Vec<_>>(), [2044, 2044, 8, 24]);
}

/// RTV is answered when a session is up, and a PRLI may come again: what a peer says of itself counts from then on.
#[test]
fn a_peer_may_change() {
    let mut rig = rig();
    rig.target.change(&Peer { e_d_tov: 10 * SECOND, r_a_tov: 20 * SECOND, ..rig.peers[0] });
    rig.write(0, OxId(1), 0, 1);
    rig.ready();
    rig.now += 11 * SECOND - 1;
    rig.write(0, OxId(1), 0, 2);
    rig.wire.silent();
    assert_eq!(rig.dropped(TargetDrop::Late), 1, "within R_A_TOV");
    rig.write(0, OxId(2), 0, 1);
    rig.ready();
    rig.now += 11 * SECOND - 1;
    rig.poll();
    rig.wire.silent();
    rig.now += SECOND;
    rig.poll();
    rig.wire.expect(r_ctl::ELS_REQUEST);
    assert_eq!(rig.target.peers().next().unwrap().queue_depth, 1, "its commands go on");
    // One that becomes an initiator logs in thereby; one that is gone does not come back.
    let mut target = Target::new(TargetConfig::default(), crate::target::mock::Mock::new(4096));
    target.change(&Peer { role: Role { target: true, initiator: false }, ..peer(0) });
    assert_eq!(target.peers().count(), 0);
    target.change(&peer(0));
    assert_eq!(target.peers().count(), 1);
}
