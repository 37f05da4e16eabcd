//! FCP_CMND that comes late: a network may deliver a frame twice, the second time when its exchange has ended.

use crate::target::mock::{Behaviour, Event, good, pattern};
use crate::target::rig::{OURS, Rig, SECOND, cdb, plain, rig};
use linerate_block::Tag;
use linerate_fcoe::{Step, TargetConfig, TargetDrop};
use linerate_wire::{
    ElsAccept, ElsReply, ExchangeRepr, FcHeader, FcType, FcpCommand, LsRjtRepr, OxId, RecAccRepr, RxId, e_stat,
    fcp_function, r_ctl,
};

pub(crate) const UNKNOWN: LsRjtRepr = LsRjtRepr { reason: 0x03, explanation: 0x17, vendor: 0 };

impl Rig {
    /// WRITE of one block whose response has come, and its FCP_CMND once more: the RX_ID of what that has begun.
    fn zombie(&mut self) -> RxId {
        self.write(0, OxId(7), 3, 1);
        let (rx_id, _, _) = self.ready();
        self.data(0, OxId(7), rx_id, 0, &[0xaa; 512]);
        assert_eq!(self.response(OxId(7)), (0, 0, None));
        self.now += SECOND;
        self.write(0, OxId(7), 3, 1);
        self.ready().0
    }

    /// The next frame sent is REC: its OX_ID, and which exchange it is about.
    pub(crate) fn asked(&mut self) -> (OxId, ExchangeRepr) {
        let sent = self.wire.expect(r_ctl::ELS_REQUEST);
        let header = sent.header;
        assert_eq!((header.fc_type, header.f_ctl, header.rx_id), (FcType::ELS, 0x29_0000, RxId::UNASSIGNED));
        assert_eq!((header.s_id, header.d_id), (OURS, self.peers[0].fc_id));
        assert!((0xef00..0xf000).contains(&header.ox_id.0), "logins have those above, an initiator those below");
        assert_eq!(sent.payload[..4], [0x13, 0, 0, 0]);
        (header.ox_id, ExchangeRepr::parse(&sent.payload).unwrap())
    }

    pub(crate) fn reply(&mut self, from: usize, ox_id: OxId, reply: &ElsReply<'_>) {
        let mut bytes = [0; 32];
        let len = reply.emit(&mut bytes).unwrap();
        let header = self.header(from, r_ctl::ELS_REPLY, 0x99_0000, ox_id, RxId(0x1234));
        self.send(from, FcHeader { fc_type: FcType::ELS, ..header }, &bytes[..len]);
    }

    pub(crate) fn status(&mut self, ox_id: OxId, about: ExchangeRepr, status: u32) {
        let (originator, responder) = (about.originator, OURS);
        let ExchangeRepr { ox_id: subject, rx_id, .. } = about;
        let accept = RecAccRepr { ox_id: subject, rx_id, originator, responder, transferred: 0, status };
        self.reply(0, ox_id, &ElsReply::Accept(ElsAccept::Rec(accept)));
    }
}

/// FC-LS-3, Read Exchange Concise; FCP-4, clause 11: REC_TOV after data was asked for in vain, the initiator is asked
/// whether it knows the exchange. When it does not, the exchange is over: it holds no place in the queue, and nothing was
/// written.
#[test]
fn a_write_that_came_twice_is_given_up() {
    let mut rig = rig();
    let rx_id = rig.zombie();
    rig.device().memory.bytes[3 * 512..4 * 512].fill(0xbb);
    assert_eq!((rig.target.exchanges(), rig.target.peers().next().unwrap().queue_depth), (1, 1));
    rig.now += 3 * SECOND - 1;
    rig.poll();
    rig.wire.silent();
    rig.now += SECOND / 2;
    rig.poll();
    let (ox_id, about) = rig.asked();
    assert_eq!(about, ExchangeRepr { originator: rig.peers[0].fc_id, ox_id: OxId(7), rx_id });
    rig.wire.silent();
    rig.reply(0, ox_id, &ElsReply::Reject(UNKNOWN));
    assert_eq!((rig.target.exchanges(), rig.target.peers().next().unwrap().queue_depth), (0, 0));
    assert_eq!((rig.target.counters().forgotten, rig.target.counters().rec_polls), (1, 1));
    assert!(matches!(rig.device().events.last(), Some(Event::Abort(_))));
    // Data that comes nevertheless is nobody's.
    rig.data(0, OxId(7), rx_id, 0, &[0xaa; 512]);
    assert_eq!(rig.dropped(TargetDrop::UnknownExchange), 1);
    assert_eq!(rig.device().memory.bytes[3 * 512..4 * 512], [0xbb; 512]);
    rig.wire.silent();
}

/// The same when it says that the exchange has ended (E_STAT: complete); but not when it knows it, cannot say, or is
/// another.
#[test]
fn only_who_does_not_know_an_exchange_ends_it() {
    let mut rig = rig();
    rig.zombie();
    let next = |rig: &mut Rig| {
        rig.now += 3 * SECOND + SECOND / 2;
        rig.poll();
        rig.asked()
    };
    let (ox_id, about) = next(&mut rig);
    rig.status(ox_id, about, 0);
    rig.status(ox_id, about, e_stat::COMPLETE);
    assert_eq!(rig.dropped(TargetDrop::UnknownExchange), 1, "one reply to each");
    rig.now += SECOND;
    rig.poll();
    rig.wire.silent();
    for (reason, explanation) in [(0x0b, 0x2c), (0x03, 0x15), (0x05, 0x17)] {
        let (ox_id, _) = next(&mut rig);
        rig.reply(0, ox_id, &ElsReply::Reject(LsRjtRepr { reason, explanation, vendor: 0 }));
    }
    let (ox_id, _) = next(&mut rig);
    rig.reply(1, ox_id, &ElsReply::Reject(UNKNOWN));
    rig.reply(0, OxId(0xeeff), &ElsReply::Reject(UNKNOWN));
    rig.reply(0, OxId(ox_id.0 ^ 0x80), &ElsReply::Reject(UNKNOWN));
    assert_eq!(rig.dropped(TargetDrop::UnknownExchange), 4);
    rig.reply(0, ox_id, &ElsReply::Accept(ElsAccept::Plain));
    assert_eq!((rig.dropped(TargetDrop::Malformed), rig.target.exchanges()), (1, 1));
    let (ox_id, about) = next(&mut rig);
    rig.status(ox_id, about, e_stat::COMPLETE);
    assert_eq!((rig.target.exchanges(), rig.target.counters().forgotten), (0, 1));

    // A reply that comes when the data has come, or about what had its place before, ends nothing.
    let rx_id = rig.zombie();
    let (ox_id, _) = next(&mut rig);
    rig.data(0, OxId(7), rx_id, 0, &[0xcc; 512]);
    assert_eq!(rig.response(OxId(7)), (0, 0, None));
    rig.write(0, OxId(8), 0, 1);
    rig.ready();
    rig.reply(0, ox_id, &ElsReply::Reject(UNKNOWN));
    assert_eq!((rig.target.exchanges(), rig.target.counters().forgotten), (1, 1));
}

/// Nor does a reply that comes when the data has come, and the response waits for room; and a reply comes from the
/// exchange's responder (FC-FS-3, clause 12.7).
#[test]
fn an_exchange_whose_data_has_come_is_known() {
    let mut rig = rig();
    let rx_id = rig.zombie();
    rig.now += 3 * SECOND + SECOND / 2;
    rig.poll();
    let (ox_id, _) = rig.asked();
    let mut bytes = [0; 8];
    ElsReply::Reject(UNKNOWN).emit(&mut bytes).unwrap();
    let header = rig.header(0, r_ctl::ELS_REPLY, 0x59_0000, ox_id, RxId(0x1234));
    rig.send(0, FcHeader { fc_type: FcType::ELS, ..header }, &bytes);
    assert_eq!((rig.dropped(TargetDrop::Unexpected), rig.target.exchanges()), (1, 1));
    rig.wire.room = 0;
    rig.data(0, OxId(7), rx_id, 0, &[0xcc; 512]);
    rig.reply(0, ox_id, &ElsReply::Reject(UNKNOWN));
    rig.wire.room = 10;
    rig.poll();
    assert_eq!((rig.response(OxId(7)), rig.target.counters().forgotten), ((0, 0, None), 0));
}

/// So many at once are asked for in turns, and none is left.
#[test]
fn a_thousand_such_writes_are_given_up() {
    let mut rig = Rig::new(TargetConfig { max_queue: 2000, ..TargetConfig::default() }, |peer| peer);
    for ox_id in 0..1000 {
        rig.write(0, OxId(ox_id), 0, 1);
        rig.ready();
    }
    rig.now += 3 * SECOND;
    for turn in 1..=16 {
        rig.poll();
        let asked = rig.wire.all();
        assert_eq!(asked.len(), if turn < 16 { 64 } else { 40 });
        for sent in asked {
            rig.reply(0, sent.header.ox_id, &ElsReply::Reject(UNKNOWN));
        }
        rig.now += SECOND / 2;
    }
    assert_eq!((rig.target.exchanges(), rig.target.counters().forgotten), (0, 1000));
}

/// FC-FS-3, exchange identifiers: an OX_ID that is in use is not given again before R_A_TOV, so that one of two commands by
/// it has come late. Nothing is read or written for either until the initiator sends again what it has lost.
#[test]
fn of_two_commands_by_one_name_none_is_done() {
    let mut rig = rig();
    // One that a back end takes its time for, then another whose data would pass for its own.
    rig.device().plans.push_back(Behaviour::Wait);
    rig.read(0, OxId(7), 0, 1);
    rig.now += 4 * SECOND - 1;
    rig.read(0, OxId(7), 9, 1);
    rig.wire.silent();
    assert_eq!(rig.device().events.last(), Some(&Event::Abort(0)));
    assert_eq!((rig.dropped(TargetDrop::Late), rig.target.exchanges()), (1, 0));
    assert!(
        rig.target.exchange_status(rig.peers[0].fc_id, OxId(7), RxId::UNASSIGNED).is_none(),
        "REC tells that it is lost"
    );
    rig.device().later.push_back((Tag(0), Step::End(good(512))));
    rig.poll();
    rig.wire.silent();
    // A WRITE that is asked for its data: what comes for it is not written.
    rig.write(0, OxId(7), 3, 1);
    let (rx_id, _, _) = rig.ready();
    rig.write(0, OxId(7), 4, 1);
    rig.wire.silent();
    rig.data(0, OxId(7), rx_id, 0, &[0xaa; 512]);
    assert_eq!((rig.dropped(TargetDrop::Late), rig.dropped(TargetDrop::UnknownExchange)), (2, 1));
    assert!(rig.device().memory.bytes.iter().enumerate().all(|(at, byte)| *byte == pattern(at)));
    // A function does as much as a command.
    rig.now += SECOND;
    rig.write(0, OxId(7), 3, 1);
    rig.ready();
    rig.command(0, OxId(7), &FcpCommand { function: fcp_function::LOGICAL_UNIT_RESET, ..plain(&[0; 16]) });
    rig.wire.silent();
    assert_eq!((rig.target.counters().functions, rig.target.counters().replaced), (0, 3));
    // A response without data that has found no room yet tells nobody anything.
    rig.wire.room = 0;
    rig.command(0, OxId(7), &plain(&[0; 16]));
    rig.read(0, OxId(7), 9, 1);
    rig.wire.room = 10;
    rig.poll();
    rig.wire.silent();
    assert_eq!((rig.target.exchanges(), rig.target.counters().replaced), (0, 4));
}

/// Data under our name for an exchange tells that its initiator knows it: the other command is the late one.
#[test]
fn a_command_whose_data_comes_is_the_newer_one() {
    for buffers in [false, true] {
        let mut rig = Rig::new(TargetConfig { burst: 512, ..TargetConfig::default() }, |peer| peer);
        rig.device().buffers = buffers;
        rig.write(0, OxId(7), 3, 2);
        let (rx_id, _, _) = rig.ready();
        rig.data(0, OxId(7), rx_id, 0, &[0xaa; 512]);
        assert_eq!(rig.ready(), (rx_id, 512, 512));
        rig.read(0, OxId(7), 9, 1);
        rig.wire.silent();
        rig.wire.room = 0;
        rig.data(0, OxId(7), rx_id, 512, &[0xbb; 512]);
        rig.read(0, OxId(7), 9, 1);
        rig.wire.room = 10;
        rig.poll();
        assert_eq!(rig.response(OxId(7)), (0, 0, None));
        rig.wire.silent();
        assert_eq!((rig.dropped(TargetDrop::Late), rig.target.counters().replaced), (2, 0));
        assert_eq!(rig.device().memory.bytes[3 * 512..5 * 512], [[0xaa; 512], [0xbb; 512]].concat());
    }
}

/// FC-FS-3, recovery qualifier: after ABTS, frames of the exchange are dropped until RRQ, or for R_A_TOV; those too that
/// ABTS has overtaken.
#[test]
fn a_command_that_comes_after_its_abts_is_not_done() {
    let cdb = cdb(0x2a, 3, 1);
    let write = FcpCommand { write: true, data_len: 512, ..plain(&cdb) };
    for came in [true, false] {
        let mut rig = rig();
        if came {
            rig.command(0, OxId(7), &write);
            rig.ready();
        }
        rig.abts(0, OxId(7), RxId::UNASSIGNED);
        let accept = rig.wire.expect(r_ctl::BLS_BA_ACC);
        assert_eq!(accept.header.rx_id, RxId(if came { 0 } else { 0xffff }));
        rig.now += 4 * SECOND - 1;
        rig.command(0, OxId(7), &write);
        rig.wire.silent();
        assert_eq!((rig.dropped(TargetDrop::Late), rig.target.exchanges()), (1, 1));
        rig.now += 1;
        rig.command(0, OxId(7), &write);
        rig.ready();
        assert_eq!((rig.target.exchanges(), rig.target.counters().replaced), (1, 0));

        rig.abts(0, OxId(8), RxId::UNASSIGNED);
        rig.wire.expect(r_ctl::BLS_BA_ACC);
        assert!(rig.target.reinstate(rig.peers[0].fc_id, OxId(8), RxId::UNASSIGNED), "RRQ");
        rig.command(0, OxId(8), &write);
        rig.ready();
    }
    // Aborts of unknown exchanges fill no table.
    let mut rig =
        Rig::new(TargetConfig { max_exchanges: 100, max_finished: 20, ..TargetConfig::default() }, |peer| peer);
    for ox_id in 0..100 {
        rig.abts(0, OxId(ox_id), RxId::UNASSIGNED);
    }
    assert_eq!(rig.target.exchanges(), 20);
    rig.now += 5 * SECOND;
    rig.poll();
    assert_eq!(rig.target.exchanges(), 0);
}

/// An ended exchange proves nothing: an initiator may reuse its OX_ID for the same command, and Linux does.
#[test]
fn a_command_whose_twin_has_ended_is_done() {
    let mut rig = rig();
    for _ in 0..3 {
        rig.read(0, OxId(7), 0, 1);
        rig.wire.expect(r_ctl::DATA);
        assert_eq!((rig.response(OxId(7)), rig.target.exchanges()), ((0, 0, None), 0));
        rig.now += SECOND / 25;
    }
    assert_eq!(rig.target.counters().drops(), 0);
}
