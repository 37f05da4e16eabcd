//! Exchanges that lost something: ABTS, RRQ, REC, SRR, FCP_CONF.

use crate::target::mock::{Behaviour, Event, check, good, pattern};
use crate::target::rig::{Rig, SECOND, plain, rig};
use linerate_block::Tag;
use linerate_fcoe::{Peer, Step, TargetConfig, TargetDrop};
use linerate_wire::{FcHeader, FcType, FcpResponse, FcpSrr, FcpSrrReply, OxId, RxId, r_ctl};

/// A target whose initiators retry (SRR).
fn retrying() -> Rig {
    Rig::new(TargetConfig::default(), |peer| Peer { retry: true, ..peer })
}

/// BA_ACC is next: for this exchange.
fn accepted(rig: &mut Rig, ox_id: OxId, rx_id: RxId) {
    let sent = rig.wire.expect(r_ctl::BLS_BA_ACC);
    let header = sent.header;
    assert_eq!((header.fc_type, header.f_ctl, header.seq_id), (FcType::BLS, 0x99_0000, 9));
    assert_eq!((header.ox_id, header.rx_id), (ox_id, rx_id));
    let ([o, p], [r, s]) = (ox_id.0.to_be_bytes(), rx_id.0.to_be_bytes());
    assert_eq!(sent.payload, [0, 0, 0, 0, o, p, r, s, 0, 0, 0xff, 0xff]);
}

fn e_stat(rig: &Rig, ox_id: OxId, rx_id: RxId) -> Option<(u32, u32)> {
    let status = rig.target.exchange_status(rig.peers[0].fc_id, ox_id, rx_id)?;
    Some((status.status, status.transferred))
}

/// FCP-4, clause 12.3: ABTS ends the exchange wherever it is, also when RX_ID is 0xffff, and is answered BA_ACC.
#[test]
fn abts_ends_an_exchange_wherever_it_is() {
    for rx_known in [false, true] {
        let mut rig = rig();
        rig.device().buffers = true;
        rig.device().plans.push_back(Behaviour::Wait);
        rig.read(0, OxId(1), 0, 8);
        rig.write(0, OxId(2), 0, 8);
        let (rx_id, _, _) = rig.ready();
        assert_eq!(rx_id, RxId(1));
        rig.data(0, OxId(2), rx_id, 0, &[1; 2048]);
        rig.wire.room = 2;
        rig.read(0, OxId(3), 0, 100);
        assert_eq!(rig.wire.all().len(), 2);
        rig.wire.room = 1000;
        for (ox_id, rx_id) in [(3, 2), (1, 0), (2, 1)] {
            rig.abts(0, OxId(ox_id), if rx_known { RxId(rx_id) } else { RxId::UNASSIGNED });
            accepted(&mut rig, OxId(ox_id), RxId(rx_id));
        }
        rig.poll();
        rig.wire.silent();
        assert_eq!(rig.device().events[2..], [Event::Abort(0), Event::Abort(1)], "what is being sent has ended there");
        assert_eq!((rig.device().away, rig.target.counters().aborted), (0, 3));
        assert_eq!(rig.target.peers().next().unwrap().queue_depth, 0);
    }
}

/// FCP-4, clause 12.3: an RX_ID that is not the exchange's is answered BA_RJT, logical error, invalid OX_ID-RX_ID; without
/// RX_ID an exchange that is not there is as good as aborted.
#[test]
fn abts_of_an_unknown_exchange() {
    let mut rig = rig();
    rig.abts(0, OxId(0x77), RxId(0x1234));
    let sent = rig.wire.expect(r_ctl::BLS_BA_RJT);
    assert_eq!((sent.header.ox_id, sent.header.rx_id, sent.header.f_ctl), (OxId(0x77), RxId(0x1234), 0x99_0000));
    assert_eq!(sent.payload, [0, 3, 3, 0]);
    rig.abts(0, OxId(0x77), RxId::UNASSIGNED);
    accepted(&mut rig, OxId(0x77), RxId::UNASSIGNED);
    assert_eq!((rig.target.counters().aborted, rig.target.exchanges()), (0, 1), "its name rests");
}

/// FC-FS-3, recovery qualifier: after ABTS the names rest until RRQ, or for R_A_TOV; ABTS is answered again the while, and frames
/// of the exchange are not taken.
#[test]
fn names_of_an_aborted_exchange_rest() {
    let mut rig = rig();
    rig.write(0, OxId(2), 0, 8);
    let (rx_id, _, _) = rig.ready();
    for _ in 0..2 {
        rig.abts(0, OxId(2), rx_id);
        accepted(&mut rig, OxId(2), rx_id);
    }
    assert_eq!(rig.target.counters().aborted, 1);
    rig.data(0, OxId(2), rx_id, 0, &[1; 2048]);
    assert_eq!((rig.dropped(TargetDrop::UnaskedData), rig.device().memory.bytes[0]), (1, pattern(0)));
    assert_eq!(e_stat(&rig, OxId(2), rx_id), Some((0xb400_0000, 0)));
    let (s_id, other) = (rig.peers[0].fc_id, rig.peers[1].fc_id);
    assert!(!rig.target.reinstate(other, OxId(2), rx_id) && !rig.target.reinstate(s_id, OxId(3), rx_id));
    assert!(rig.target.reinstate(s_id, OxId(2), rx_id) && !rig.target.reinstate(s_id, OxId(2), rx_id));
    assert_eq!(e_stat(&rig, OxId(2), rx_id), None);

    rig.now += SECOND;
    rig.write(0, OxId(2), 0, 8);
    let (rx_id, _, _) = rig.ready();
    assert!(!rig.target.reinstate(s_id, OxId(2), rx_id), "an open exchange is not freed");
    rig.abts(0, OxId(2), RxId::UNASSIGNED);
    rig.now += 4 * SECOND - 1;
    rig.poll();
    assert_eq!(rig.target.exchanges(), 1);
    rig.now = rig.target.poll_timeout().unwrap();
    rig.poll();
    assert_eq!((rig.target.exchanges(), rig.target.poll_timeout()), (0, None));
}

/// FC-LS-3, Read Exchange Concise: REC tells who has the initiative and how much has gone, with RX_ID and without.
#[test]
fn rec_tells_how_far_an_exchange_is() {
    let mut rig = retrying();
    rig.device().plans.push_back(Behaviour::Wait);
    rig.read(0, OxId(1), 0, 8);
    assert_eq!(
        (e_stat(&rig, OxId(1), RxId::UNASSIGNED), e_stat(&rig, OxId(1), RxId(0))),
        (Some((0xc000_0000, 0)), Some((0xc000_0000, 0)))
    );
    assert_eq!((e_stat(&rig, OxId(1), RxId(5)), e_stat(&rig, OxId(2), RxId::UNASSIGNED)), (None, None));
    assert_eq!(rig.target.exchange_status(rig.peers[1].fc_id, OxId(1), RxId::UNASSIGNED), None);
    rig.wire.room = 0;
    rig.write(0, OxId(2), 0, 8);
    assert_eq!(e_stat(&rig, OxId(2), RxId::UNASSIGNED), Some((0xc000_0000, 0)), "FCP_XFER_RDY has not gone");
    rig.wire.room = 1;
    rig.poll();
    let (rx_id, _, _) = rig.ready();
    let frames = rig.data_frames(0, OxId(2), rx_id, 0, &[1; 4096]);
    rig.take(0, &frames[0]);
    assert_eq!(e_stat(&rig, OxId(2), RxId::UNASSIGNED), Some((0x8000_0000, 2048)), "the initiator has the initiative");
    rig.take(0, &frames[1]);
    assert_eq!(e_stat(&rig, OxId(2), RxId::UNASSIGNED), Some((0xc000_0000, 4096)), "FCP_RSP has not gone");
    rig.wire.room = 1;
    rig.poll();
    assert_eq!(e_stat(&rig, OxId(2), rx_id), Some((0xa000_0000, 4096)), "complete");
    // RR_TOV later nobody asks any more (FCP-4, clause 11.4): REC_TOV, twice R_A_TOV and a second.
    rig.now += 12 * SECOND - 1;
    rig.poll();
    assert_eq!(e_stat(&rig, OxId(2), rx_id), Some((0xa000_0000, 4096)));
    rig.now += SECOND;
    rig.poll();
    assert_eq!((e_stat(&rig, OxId(2), rx_id), rig.target.counters().expired), (None, 0), "its data came");
}

/// Linux gives an OX_ID again at once. When the FCP_CMND of its next user is lost, REC and SRR for it, which know no RX_ID,
/// must not find the exchange before: its GOOD would be taken for a WRITE that never was.
#[test]
fn an_ended_exchange_does_not_answer_for_the_next_of_its_name() {
    let mut rig = retrying();
    rig.write(0, OxId(1), 0, 1);
    let (rx_id, _, _) = rig.ready();
    rig.data(0, OxId(1), rx_id, 0, &[1; 512]);
    assert_eq!(rig.response(OxId(1)), (0, 0, None));
    assert_eq!(
        (e_stat(&rig, OxId(1), RxId::UNASSIGNED), e_stat(&rig, OxId(1), rx_id)),
        (None, Some((0xa000_0000, 512)))
    );
    rig.srr(0, &FcpSrr { ox_id: OxId(1), rx_id: RxId::UNASSIGNED, offset: 0, r_ctl: r_ctl::STATUS });
    assert_eq!(reply(&mut rig), FcpSrrReply::Reject { reason: 3, explanation: 0x17 });
    rig.poll();
    rig.wire.silent();
}

/// The reply to SRR is next.
fn reply(rig: &mut Rig) -> FcpSrrReply {
    let sent = rig.wire.expect(r_ctl::FC4_LS_REPLY);
    assert_eq!((sent.header.fc_type, sent.header.f_ctl, sent.header.ox_id), (FcType::FCP, 0x99_0000, OxId(0xeff0)));
    FcpSrrReply::parse(&sent.payload).unwrap()
}

const UNABLE: FcpSrrReply = FcpSrrReply::Reject { reason: 9, explanation: 0x2a };

/// FCP-4, clause 12.4: data in is sent again from the offset on, in a sequence of its own, and the response after it;
/// though all was sent before.
#[test]
fn srr_sends_data_in_again() {
    for buffers in [false, true] {
        let mut rig = retrying();
        rig.device().buffers = buffers;
        rig.read(0, OxId(1), 0, 16);
        rig.wire.all();
        rig.srr(0, &FcpSrr { ox_id: OxId(1), rx_id: RxId(0), offset: 2112, r_ctl: r_ctl::DATA });
        assert_eq!(reply(&mut rig), FcpSrrReply::Accept);
        for (number, len) in [2112_usize, 2112, 8192 - 3 * 2112].into_iter().enumerate() {
            let sent = rig.wire.expect(r_ctl::DATA);
            let at = 2112 * (number + 1);
            assert_eq!(
                (sent.header.seq_id, sent.header.seq_cnt as usize, sent.header.parameter as usize),
                (3, number, at)
            );
            assert_eq!(sent.payload, (at..at + len).map(pattern).collect::<Vec<u8>>());
        }
        let sent = rig.wire.expect(r_ctl::STATUS);
        assert_eq!((sent.header.seq_id, sent.payload), (4, vec![0; 24]));
        for offset in [8192, 4095] {
            rig.srr(0, &FcpSrr { ox_id: OxId(1), rx_id: RxId(0), offset, r_ctl: r_ctl::DATA });
            assert_eq!(reply(&mut rig), UNABLE);
        }
        rig.wire.silent();
        assert_eq!(rig.device().away, i32::from(buffers));
        rig.now += 20 * SECOND;
        rig.poll();
        assert_eq!((rig.target.exchanges(), rig.device().away), (0, 0));
    }
}

/// FCP-4, clause 12.4: SRR asks for what was sent; what was not yet sent comes all the same.
#[test]
fn srr_skips_nothing_that_was_not_sent() {
    let mut rig = retrying();
    rig.wire.room = 2;
    rig.read(0, OxId(1), 0, 16);
    assert_eq!(rig.wire.all().len(), 2);
    rig.wire.room = 1000;
    rig.srr(0, &FcpSrr { ox_id: OxId(1), rx_id: RxId(0), offset: 6336, r_ctl: r_ctl::DATA });
    assert_eq!(reply(&mut rig), FcpSrrReply::Accept);
    for at in [4224, 6336] {
        assert_eq!(rig.wire.expect(r_ctl::DATA).header.parameter, at);
    }
    assert_eq!(rig.response(OxId(1)), (0, 0, None));
    // FC-FS-3, clause 12.7: a request hands over the initiative.
    let header = rig.header(0, r_ctl::FC4_LS_REQUEST, 0x28_0000, OxId(0xeff0), RxId::UNASSIGNED);
    rig.send(0, header, &FcpSrr { ox_id: OxId(1), rx_id: RxId(0), offset: 0, r_ctl: r_ctl::STATUS }.bytes());
    rig.wire.silent();
    assert_eq!(rig.dropped(TargetDrop::Unexpected), 1);
}

/// A retransmission that waits for room is not forgotten.
#[test]
fn what_is_sent_again_may_wait() {
    for r_ctl in [r_ctl::DATA, r_ctl::STATUS] {
        let mut rig = retrying();
        rig.read(0, OxId(1), 0, 1);
        rig.wire.all();
        rig.wire.room = 1;
        rig.srr(0, &FcpSrr { ox_id: OxId(1), rx_id: RxId(0), offset: 0, r_ctl });
        assert_eq!(reply(&mut rig), FcpSrrReply::Accept);
        rig.now += 60 * SECOND;
        rig.poll();
        rig.wire.room = 2;
        rig.poll();
        assert_eq!(rig.wire.all().last().unwrap().header.r_ctl, r_ctl::STATUS);
        assert_eq!(rig.target.exchanges(), 1);
    }
}

/// FCP-4, clause 12.4: FCP_XFER_RDY is sent again from the offset on; data from there completes the command.
#[test]
fn srr_asks_for_data_out_again() {
    let mut rig = retrying();
    rig.write(0, OxId(1), 0, 16);
    let (rx_id, _, _) = rig.ready();
    let frames = rig.data_frames(0, OxId(1), rx_id, 0, &[1; 8192]);
    rig.take(0, &frames[0]);
    rig.take(0, &frames[2]);
    assert_eq!((rig.target.counters().early, rig.target.counters().drops()), (1, 0));
    rig.srr(0, &FcpSrr { ox_id: OxId(1), rx_id, offset: 4096, r_ctl: r_ctl::DATA_DESCRIPTOR });
    assert_eq!(reply(&mut rig), UNABLE, "what lies before did not come");
    rig.srr(0, &FcpSrr { ox_id: OxId(1), rx_id, offset: 2048, r_ctl: r_ctl::DATA_DESCRIPTOR });
    assert_eq!(reply(&mut rig), FcpSrrReply::Accept);
    assert_eq!(rig.ready(), (rx_id, 2048, 6144));
    rig.data(0, OxId(1), rx_id, 2048, &[2; 6144]);
    assert_eq!(rig.response(OxId(1)), (0, 0, None));
    assert_eq!(rig.device().memory.bytes[2047..2049], [1, 2]);
    // And the response again, though all is over.
    rig.srr(0, &FcpSrr { ox_id: OxId(1), rx_id, offset: 0, r_ctl: r_ctl::STATUS });
    assert_eq!(reply(&mut rig), FcpSrrReply::Accept);
    assert_eq!(rig.response(OxId(1)), (0, 0, None));
    assert_eq!(rig.target.counters().retransmissions, 2);
}

/// FCP-4, clause 8.4: what cannot be done is rejected, each with its reason.
#[test]
fn srr_is_rejected_with_its_reason() {
    let mut rig = retrying();
    let request = FcpSrr { ox_id: OxId(1), rx_id: RxId::UNASSIGNED, offset: 0, r_ctl: r_ctl::STATUS };
    rig.srr(0, &request);
    assert_eq!(reply(&mut rig), FcpSrrReply::Reject { reason: 3, explanation: 0x17 });
    rig.write(0, OxId(1), 0, 16);
    rig.ready();
    rig.srr(0, &request);
    assert_eq!(reply(&mut rig), FcpSrrReply::Reject { reason: 3, explanation: 0 }, "data is to come first");
    rig.device().plans.push_back(Behaviour::Wait);
    rig.read(0, OxId(2), 0, 1);
    rig.srr(0, &FcpSrr { ox_id: OxId(2), ..request });
    assert_eq!(reply(&mut rig), FcpSrrReply::Accept, "the response will come");
    rig.wire.silent();
    let mut rig = crate::target::rig::rig();
    rig.srr(0, &request);
    assert_eq!(reply(&mut rig), FcpSrrReply::Reject { reason: 0x0b, explanation: 0 }, "it was not agreed on");
    let header = rig.header(0, r_ctl::FC4_LS_REQUEST, 0x29_0000, OxId(0xeff0), RxId::UNASSIGNED);
    rig.send(0, header, &[0x15, 0, 0, 0]);
    assert_eq!(reply(&mut rig), FcpSrrReply::Reject { reason: 0x0b, explanation: 0 }, "no SRR");
    assert_eq!(rig.dropped(TargetDrop::Malformed), 1);
}

/// Ended exchanges are kept within bounds: the oldest goes first.
#[test]
fn finished_exchanges_are_bounded() {
    let config = TargetConfig { max_finished: 3, max_finished_bytes: 8192, ..TargetConfig::default() };
    let mut rig = Rig::new(config, |peer| Peer { retry: true, ..peer });
    for ox_id in 0..5 {
        rig.read(0, OxId(ox_id), 0, 1);
    }
    assert_eq!((rig.target.exchanges(), e_stat(&rig, OxId(1), RxId(1))), (3, None));
    rig.device().buffers = true;
    for ox_id in 5..8 {
        rig.read(0, OxId(ox_id), 0, 8);
    }
    assert_eq!((rig.target.exchanges(), rig.device().away), (2, 2), "two buffers of 4096 bytes");
    assert_eq!(e_stat(&rig, OxId(7), RxId(7)), Some((0xa000_0000, 4096)));
    // A retransmitted exchange is kept again, and counts once.
    for _ in 0..3 {
        rig.srr(0, &FcpSrr { ox_id: OxId(7), rx_id: RxId(7), offset: 0, r_ctl: r_ctl::STATUS });
    }
    assert_eq!((rig.target.exchanges(), rig.device().away), (2, 2));
    let lost = rig.peers[0].id;
    rig.target.down(lost);
    assert_eq!((rig.target.exchanges(), rig.device().away), (0, 0));
}

/// FCP-4, clause 4.5: sense data is to be confirmed when both sides do that; then the exchange lasts until FCP_CONF.
#[test]
fn sense_data_is_confirmed_when_that_was_agreed_on() {
    let mut rig = Rig::new(TargetConfig::default(), |peer| Peer { confirm: true, ..peer });
    for confirmed in [true, false] {
        rig.now += SECOND / 25;
        rig.device().plans.push_back(Behaviour::Send(vec![1; 4], check(6, 0)));
        let command = linerate_wire::FcpCommand { read: true, data_len: 4, ..plain(&[0; 16]) };
        rig.command(0, OxId(1), &command);
        rig.wire.expect(r_ctl::DATA);
        assert_eq!(rig.device().away, 0, "what is only to be confirmed needs no data");
        let sent = rig.wire.expect(r_ctl::STATUS);
        assert!(FcpResponse::parse(&sent.payload).unwrap().confirm);
        assert_eq!(sent.header.f_ctl & !3, 0x89_0000, "not the last sequence; the initiative goes over");
        assert_eq!(e_stat(&rig, OxId(1), sent.header.rx_id), Some((0x8000_0000, 4)));
        assert_eq!(rig.target.peers().next().unwrap().queue_depth, 0);
        if confirmed {
            let header = rig.header(0, r_ctl::CONFIRM, 0x19_0000, OxId(1), sent.header.rx_id);
            rig.send(0, header, &[]);
        } else {
            rig.now += 2 * SECOND;
            rig.poll();
        }
        assert_eq!(rig.target.exchanges(), 0);
    }
    rig.device().plans.push_back(Behaviour::End(good(0)));
    rig.command(0, OxId(1), &plain(&[0; 16]));
    assert_eq!(
        (rig.response(OxId(1)), rig.target.exchanges()),
        ((0, 0, None), 0),
        "without sense data there is nothing to confirm"
    );
    let header = rig.header(0, r_ctl::CONFIRM, 0x19_0000, OxId(1), RxId::UNASSIGNED);
    rig.send(0, header, &[]);
    assert_eq!(rig.dropped(TargetDrop::UnknownExchange), 1);
    rig.now += SECOND;
    rig.device().plans.push_back(Behaviour::Wait);
    rig.command(0, OxId(1), &plain(&[0; 16]));
    rig.send(0, header, &[]);
    assert_eq!((rig.dropped(TargetDrop::Unexpected), rig.target.exchanges()), (1, 1));
    // A response that did not ask for it is not confirmed, and may be asked for again.
    let mut rig = Rig::new(TargetConfig::default(), |peer| Peer { confirm: true, retry: true, ..peer });
    rig.command(0, OxId(1), &plain(&[0; 16]));
    assert_eq!(rig.response(OxId(1)), (0, 0, None));
    rig.send(0, FcHeader { rx_id: RxId(0), ..header }, &[]);
    assert_eq!((rig.dropped(TargetDrop::Unexpected), rig.target.exchanges()), (1, 1));
}

/// A WRITE whose data does not come is given up, and what it had is free.
#[test]
fn a_write_without_data_is_given_up() {
    let mut rig = Rig::new(TargetConfig { patience: 10 * SECOND, ..TargetConfig::default() }, |peer| peer);
    rig.device().buffers = true;
    rig.write(0, OxId(1), 0, 8);
    let (rx_id, _, _) = rig.ready();
    rig.now += 9 * SECOND;
    rig.poll();
    let frames = rig.data_frames(0, OxId(1), rx_id, 0, &[1; 4096]);
    rig.take(0, &frames[0]);
    rig.now += 9 * SECOND;
    rig.poll();
    assert_eq!((rig.target.exchanges(), rig.device().away), (1, 1), "it got on");
    rig.now += SECOND;
    rig.poll();
    assert_eq!((rig.target.exchanges(), rig.device().away, rig.target.counters().expired), (0, 0, 1));
    rig.take(0, &frames[1]);
    assert_eq!(rig.dropped(TargetDrop::UnknownExchange), 1);
    assert!(rig.wire.all().iter().all(|sent| sent.header.r_ctl == r_ctl::ELS_REQUEST), "REC was not answered");
    // A device server may take its time.
    rig.device().plans.push_back(Behaviour::Wait);
    rig.read(0, OxId(2), 0, 1);
    rig.now += 1000 * SECOND;
    rig.poll();
    rig.device().later.push_back((Tag(0), Step::End(good(512))));
    rig.poll();
    assert_eq!(rig.response(OxId(2)), (0, 0, None));
}
