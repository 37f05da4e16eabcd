//! Task attributes, as frames show them: real disks behind the target.

use crate::target::rig::{Rig, SECOND, cdb, plain};
use linerate_block::{Memory, Ram};
use linerate_fcoe::{Disks, DisksConfig, Peer, TargetConfig};
use linerate_wire::{FcpCommand, FcpResponse, OxId, RxId, Wwn, fcp_attribute, fcp_function, r_ctl};

/// A rig with one disk in memory whose bytes are 0x11, and two initiators that know that they are new.
fn disks(change: impl Fn(Peer) -> Peer) -> Rig<Disks> {
    let mut disks = Disks::new(&DisksConfig { wwpn: Wwn(1), wwnn: Wwn(2), buffers: 1 << 20 });
    let mut ram = Ram::new(1 << 20, 512, false, 7).unwrap();
    ram.write(0, &[0x11; 1 << 20]);
    disks.add(0, Box::new(ram)).unwrap();
    // Others have their turn after two frames.
    let mut rig = Rig::of(disks, TargetConfig { turn: 2, ..TargetConfig::default() }, change);
    for from in [0, 1] {
        rig.command(from, OxId(0), &plain(&[0; 16]));
        assert_eq!(rig.response(OxId(0)).0, 2, "unit attention");
    }
    rig
}

impl Rig<Disks> {
    fn ask(&mut self, from: usize, ox_id: OxId, attribute: u8, write: bool, blocks: u16) {
        let cdb = cdb(if write { 0x2a } else { 0x28 }, 0, blocks);
        let data_len = u32::from(blocks) * 512;
        let command = FcpCommand { attribute, read: !write, write, data_len, ..plain(&cdb) };
        self.command(from, ox_id, &command);
    }

    /// Frames of data of this exchange that have gone, each of 0x11.
    fn old_data(&mut self, ox_id: OxId, frames: usize) {
        for _ in 0..frames {
            let sent = self.wire.expect(r_ctl::DATA);
            assert_eq!(sent.header.ox_id, ox_id);
            assert!(sent.payload.iter().all(|byte| *byte == 0x11), "it was overtaken");
        }
    }
}

/// SAM-5, clause 8.6.3: an ordered WRITE waits until the READ before it has ended, whose frames are made of memory as there
/// is room.
#[test]
fn an_ordered_write_does_not_overtake_a_read() {
    for retry in [false, true] {
        let mut rig = disks(|peer| Peer { retry, ..peer });
        rig.wire.room = 2;
        rig.ask(0, OxId(1), fcp_attribute::SIMPLE, false, 64);
        rig.ask(0, OxId(2), fcp_attribute::ORDERED, true, 64);
        rig.ask(1, OxId(3), fcp_attribute::SIMPLE, true, 64);
        rig.old_data(OxId(1), 2);
        rig.wire.room = 14;
        rig.poll();
        // 32768 bytes in frames of 2112.
        rig.old_data(OxId(1), 14);
        rig.wire.silent();
        // The last frame of all is the response; the ordered command follows it at once, though nobody asks again.
        rig.wire.room = 2;
        rig.poll();
        assert_eq!(rig.response(OxId(1)), (0, 0, None));
        let (rx_id, _, len) = rig.ready();
        assert_eq!(len, 64 * 512);
        rig.wire.silent();
        rig.wire.room = 1000;
        rig.data(0, OxId(2), rx_id, 0, &[0x22; 64 * 512]);
        assert_eq!(rig.response(OxId(2)), (0, 0, None));
        // Clause 8.6.2: a simple command waits for the ordered one before it.
        rig.poll();
        let (rx_id, _, _) = rig.ready();
        rig.data(1, OxId(3), rx_id, 0, &[0x33; 64 * 512]);
        assert_eq!(rig.response(OxId(3)), (0, 0, None));
    }
}

/// SAM-5, clauses 8.6.2 and 8.6.4: a WRITE waits for an ordered READ before it; one at the head of the queue does not.
#[test]
fn an_ordered_read_is_overtaken_only_by_the_head_of_the_queue() {
    let mut rig = disks(|peer| peer);
    rig.wire.room = 2;
    rig.ask(0, OxId(1), fcp_attribute::ORDERED, false, 64);
    rig.ask(0, OxId(2), fcp_attribute::SIMPLE, true, 1);
    rig.old_data(OxId(1), 2);
    rig.ask(0, OxId(3), fcp_attribute::HEAD_OF_QUEUE, true, 1);
    rig.wire.room = 15;
    rig.poll();
    rig.old_data(OxId(1), 2);
    let head = rig.wire.expect(r_ctl::DATA_DESCRIPTOR).header;
    assert_eq!(head.ox_id, OxId(3));
    rig.old_data(OxId(1), 12);
    rig.wire.silent();
    rig.wire.room = 1000;
    rig.poll();
    assert_eq!(rig.response(OxId(1)), (0, 0, None));
    assert_eq!(rig.wire.expect(r_ctl::DATA_DESCRIPTOR).header.ox_id, OxId(2), "the ordered one before it has ended");
    rig.data(0, OxId(3), head.rx_id, 0, &[0x33; 512]);
    assert_eq!(rig.response(OxId(3)), (0, 0, None));
}

/// SAM-5, clause 8.6.5: there is no auto contingent allegiance, so that nothing is done under it.
#[test]
fn a_command_under_aca_is_refused() {
    let mut rig = disks(|peer| peer);
    rig.ask(0, OxId(1), fcp_attribute::ACA, false, 1);
    let sent = rig.wire.expect(r_ctl::STATUS);
    let unit = FcpResponse::parse(&sent.payload).unwrap();
    assert_eq!((unit.status, unit.sense[2], unit.sense[12]), (2, 5, 0x49), "ILLEGAL REQUEST, INVALID MESSAGE ERROR");
}

/// SAM-5, clauses 7.7 and 5.3.1: a reset ends the WRITE of another, which is told at once; what its initiator still sends is
/// not written.
#[test]
fn a_write_that_another_has_ended_is_answered_before_its_data_is_there() {
    let mut rig = disks(|peer| peer);
    rig.ask(0, OxId(1), fcp_attribute::SIMPLE, true, 4);
    let (rx_id, _, _) = rig.ready();
    rig.command(1, OxId(2), &FcpCommand { function: fcp_function::LOGICAL_UNIT_RESET, ..plain(&[0; 16]) });
    assert_eq!(rig.response(OxId(2)), (0, 0, Some(0)));
    rig.poll();
    assert_eq!(rig.response(OxId(1)), (0x40, -2048, None), "TASK ABORTED");
    rig.data(0, OxId(1), rx_id, 0, &[0x22; 2048]);
    rig.wire.silent();
    rig.ask(1, OxId(3), fcp_attribute::SIMPLE, false, 4);
    assert_eq!(rig.response(OxId(3)).0, 2, "unit attention");
    rig.ask(1, OxId(4), fcp_attribute::SIMPLE, false, 4);
    rig.old_data(OxId(4), 1);
}

/// A READ that ends before its time keeps nobody waiting: by ABTS, by a function, by a logout, with no byte taken.
#[test]
fn a_read_that_is_cut_short_has_ended() {
    type End = fn(&mut Rig<Disks>);
    let ends: [(End, &str); 4] = [
        (|rig| rig.abts(0, OxId(1), RxId::UNASSIGNED), "ABTS"),
        (
            |rig| rig.command(0, OxId(9), &FcpCommand { function: fcp_function::ABORT_TASK_SET, ..plain(&[0; 16]) }),
            "function",
        ),
        (|rig| rig.target.down(rig.peers[0].id), "logout"),
        (|rig| rig.ask(0, OxId(1), fcp_attribute::SIMPLE, false, 65), "another of its name"),
    ];
    for (end, why) in ends {
        let mut rig = disks(|peer| peer);
        rig.wire.room = 2;
        rig.ask(0, OxId(1), fcp_attribute::SIMPLE, false, 64);
        rig.ask(1, OxId(2), fcp_attribute::ORDERED, true, 1);
        rig.old_data(OxId(1), 2);
        rig.now += 5 * SECOND;
        end(&mut rig);
        rig.wire.room = 1000;
        rig.poll();
        let frames = rig.wire.all();
        assert!(frames.iter().any(|sent| sent.header.r_ctl == r_ctl::DATA_DESCRIPTOR), "{why}");
    }
    let mut rig = disks(|peer| peer);
    let cdb = cdb(0x28, 0, 64);
    rig.command(0, OxId(1), &FcpCommand { read: true, data_len: 0, ..plain(&cdb) });
    assert_eq!(rig.response(OxId(1)), (0, 64 * 512, None));
    rig.ask(0, OxId(2), fcp_attribute::ORDERED, true, 1);
    rig.ready();
}
