//! FCP_CMND that comes once more when its exchange has ended, and its OX_ID may be another's.

use crate::target::late::UNKNOWN;
use crate::target::mock::{Behaviour, good};
use crate::target::rig::{Rig, SECOND, plain, rig};
use linerate_fcoe::TargetDrop;
use linerate_wire::{ElsReply, ExchangeRepr, FcpCommand, LsRjtRepr, OxId, RxId, e_stat, fcp_function, r_ctl};

const X: OxId = OxId(7);
const MILLISECOND: u64 = 1_000_000;

impl Rig {
    /// READ of the block at `lba` under the OX_ID, answered.
    fn read_to_its_end(&mut self, lba: u32) {
        self.read(0, X, lba, 1);
        self.ends();
    }

    /// The data and the response of a READ are sent.
    fn ends(&mut self) {
        self.wire.expect(r_ctl::DATA);
        assert_eq!(self.response(X), (0, 0, None));
        self.wire.silent();
    }

    /// READ of block 3 that has ended, and 100 us later its FCP_CMND once more, about which the initiator is asked: the
    /// OX_ID of REC.
    fn doubted(&mut self) -> OxId {
        self.read_to_its_end(3);
        self.now += 100_000;
        self.read(0, X, 3, 1);
        self.after(10 * MILLISECOND - 1);
        self.wire.silent();
        self.after(1);
        let (ox_id, about) = self.asked();
        assert_eq!((about.originator, about.ox_id, about.rx_id), (self.peers[0].fc_id, X, RxId::UNASSIGNED));
        self.wire.silent();
        ox_id
    }

    fn after(&mut self, nanoseconds: u64) {
        self.now += nanoseconds;
        self.poll();
    }
}

/// An initiator that knows no exchange of the OX_ID did not mean the command; nor one that says it has ended.
#[test]
fn a_read_that_came_twice_is_not_done_again() {
    for complete in [false, true] {
        let mut rig = rig();
        let ox_id = rig.doubted();
        if complete {
            let about = ExchangeRepr { originator: rig.peers[0].fc_id, ox_id: X, rx_id: RxId::UNASSIGNED };
            rig.status(ox_id, about, e_stat::COMPLETE);
        } else {
            rig.reply(0, ox_id, &ElsReply::Reject(UNKNOWN));
        }
        rig.after(SECOND);
        rig.wire.silent();
        let counters = rig.target.counters();
        assert_eq!((counters.commands, counters.doubted, counters.twins), (1, 1, 1));
    }
}

/// The initiator has given the OX_ID to another command: that one is done, and what was held back is not.
#[test]
fn a_read_that_came_twice_gives_way_to_the_next_of_its_ox_id() {
    let mut rig = rig();
    let ox_id = rig.doubted();
    let about = ExchangeRepr { originator: rig.peers[0].fc_id, ox_id: X, rx_id: RxId::UNASSIGNED };
    // It knows that other command, which is on its way.
    rig.status(ox_id, about, 0);
    rig.after(9 * MILLISECOND);
    rig.wire.silent();
    rig.read_to_its_end(5);
    rig.after(SECOND);
    rig.wire.silent();
    assert_eq!((rig.target.counters().commands, rig.target.counters().twins), (2, 1));
}

/// A twin of a WRITE asks for no data: those of the WRITE that has the OX_ID by then would go where the twin says.
#[test]
fn a_write_that_came_twice_asks_for_no_data() {
    let mut rig = rig();
    rig.device().buffers = true;
    let write = |rig: &mut Rig, lba| {
        rig.write(0, X, lba, 1);
        let (rx_id, offset, len) = rig.ready();
        rig.data(0, X, rx_id, 0, &[0xaa; 512]);
        assert_eq!((offset, len, rig.response(X)), (0, 512, (0, 0, None)));
    };
    write(&mut rig, 3);
    rig.now += 100_000;
    rig.write(0, X, 3, 1);
    rig.after(10 * MILLISECOND);
    let (ox_id, about) = rig.asked();
    assert_eq!((about.ox_id, about.rx_id), (X, RxId::UNASSIGNED));
    // The initiator knows the WRITE of another block, which comes after the answer.
    rig.status(ox_id, about, 0);
    rig.wire.silent();
    write(&mut rig, 5);
    rig.after(SECOND);
    rig.wire.silent();
    assert_eq!((rig.target.counters().commands, rig.target.counters().twins), (2, 1));
    // The network is known to double frames: what the initiator knows is answered with BUSY, and done when it comes again.
    write(&mut rig, 3);
    rig.now += MILLISECOND;
    rig.write(0, X, 3, 1);
    rig.after(10 * MILLISECOND);
    let (ox_id, about) = rig.asked();
    rig.status(ox_id, about, 0);
    rig.after(10 * MILLISECOND);
    assert_eq!(rig.response(X), (8, -512, None));
    write(&mut rig, 3);
}

/// A twin of a command without data gives no GOOD to the next of its OX_ID.
#[test]
fn a_command_without_data_that_came_twice_is_not_answered() {
    let mut rig = rig();
    rig.device().plans.push_back(Behaviour::End(good(0)));
    rig.command(0, X, &plain(&[0; 16]));
    assert_eq!(rig.response(X), (0, 0, None));
    rig.now += MILLISECOND;
    rig.command(0, X, &plain(&[0; 16]));
    rig.after(10 * MILLISECOND);
    let (ox_id, _) = rig.asked();
    rig.reply(0, ox_id, &ElsReply::Reject(UNKNOWN));
    rig.after(SECOND);
    rig.wire.silent();
    assert_eq!((rig.target.counters().commands, rig.target.counters().twins), (1, 1));
}

/// A command that is meant is done 20 ms later, and until a second has passed nobody is asked again: an initiator may read
/// one block over and over.
#[test]
fn a_read_that_is_meant_is_done_and_asked_about_once_a_second() {
    let mut rig = rig();
    let ox_id = rig.doubted();
    // It cannot say.
    rig.reply(0, ox_id, &ElsReply::Reject(LsRjtRepr { reason: 0x0b, explanation: 0, vendor: 0 }));
    assert_eq!(rig.target.poll_timeout(), Some(rig.now + 10 * MILLISECOND));
    rig.after(10 * MILLISECOND - 1);
    rig.wire.silent();
    rig.after(1);
    rig.ends();
    for _ in 0..97 {
        rig.now += 10 * MILLISECOND;
        rig.read_to_its_end(3);
    }
    rig.now += 10 * MILLISECOND;
    rig.read(0, X, 3, 1);
    rig.wire.silent();
    assert_eq!(rig.target.counters().doubted, 2);
}

/// After 40 ms it is no twin: no queue of a network is as long.
#[test]
fn a_read_like_one_that_ended_long_ago_is_done_at_once() {
    let mut rig = rig();
    rig.read_to_its_end(3);
    rig.now += 40 * MILLISECOND;
    rig.read_to_its_end(3);
    // Another OX_ID, another block, another initiator.
    rig.read(0, OxId(8), 3, 1);
    rig.wire.expect(r_ctl::DATA);
    assert_eq!(rig.response(OxId(8)), (0, 0, None));
    rig.read_to_its_end(4);
    rig.read(1, X, 4, 1);
    rig.ends();
    assert_eq!(rig.target.counters().doubted, 0);
}

/// The exchange that the initiator knows may be another where frames come twice, and its FCP_CMND may be lost:
/// BUSY is right for either. It comes again, and is done.
#[test]
fn where_frames_come_twice_a_doubtful_read_is_busy() {
    let mut rig = rig();
    // A command that comes twice while it is under way.
    rig.device().plans.push_back(Behaviour::Wait);
    rig.read(0, OxId(9), 1, 1);
    rig.read(0, OxId(9), 1, 1);
    assert_eq!(rig.dropped(TargetDrop::Duplicate), 1);
    let ox_id = rig.doubted();
    let about = ExchangeRepr { originator: rig.peers[0].fc_id, ox_id: X, rx_id: RxId::UNASSIGNED };
    rig.status(ox_id, about, 0);
    rig.after(10 * MILLISECOND);
    assert_eq!(rig.response(X), (8, -512, None));
    rig.now += MILLISECOND;
    rig.read_to_its_end(3);
    rig.now += MILLISECOND;
    rig.read(0, X, 3, 1);
    rig.wire.silent();
    assert_eq!(rig.target.counters().doubted, 2);
}

/// REC is repeated each 20 ms; who answers none in 100 ms gets what it has sent.
#[test]
fn a_doubtful_read_of_an_initiator_that_answers_no_rec_is_done() {
    let mut rig = rig();
    rig.doubted();
    for _ in 0..4 {
        rig.after(20 * MILLISECOND);
        rig.asked();
    }
    rig.wire.silent();
    rig.after(20 * MILLISECOND);
    rig.ends();
}

/// ABTS, a reset and the end of the session end what is held back.
#[test]
fn what_is_held_back_ends_with_its_exchange_unit_or_session() {
    for case in 0..3 {
        let mut rig = rig();
        let ox_id = rig.doubted();
        match case {
            0 => rig.abts(0, X, RxId::UNASSIGNED),
            1 => {
                let reset = FcpCommand { function: fcp_function::LOGICAL_UNIT_RESET, ..plain(&[0; 16]) };
                rig.command(0, OxId(11), &reset);
            }
            _ => rig.target.down(rig.peers[0].id),
        }
        rig.wire.all();
        rig.reply(0, ox_id, &ElsReply::Reject(LsRjtRepr { reason: 0x0b, explanation: 0, vendor: 0 }));
        rig.after(SECOND);
        assert!(rig.wire.all().iter().all(|sent| sent.header.r_ctl != r_ctl::DATA), "case {case}");
    }
}

/// An initiator takes up sixteen places at most, and a command that finds none is done as it comes.
#[test]
fn who_doubles_everything_fills_nothing() {
    let mut rig = rig();
    rig.device().plans.push_back(Behaviour::Wait);
    rig.read(0, OxId(900), 1, 1);
    rig.read(0, OxId(900), 1, 1);
    for id in 0..40 {
        for _ in 0..2 {
            rig.read(0, OxId(id), 3, 1);
        }
    }
    let sent = rig.wire.all();
    let of = |kind: u8| sent.iter().filter(|sent| sent.header.r_ctl == kind).count();
    assert_eq!((of(r_ctl::ELS_REQUEST), of(r_ctl::STATUS)), (0, 40 + 24));
    rig.after(10 * MILLISECOND);
    assert_eq!(rig.wire.all().len(), 16, "one REC for each");
}
