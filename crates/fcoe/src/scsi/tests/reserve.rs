//! Persistent reservations.

use super::support::*;
use crate::*;
use linerate_wire::scsi::{Cdb, ReserveParameters, Transfer, Width, asc};

fn out(action: u8, kind: u8) -> Cdb {
    Cdb::PersistentReserveOut { action, scope: 0, kind, len: 24 }
}

fn list(key: u64, action_key: u64) -> ReserveParameters {
    ReserveParameters { key, action_key, ..Default::default() }
}

impl Bench {
    /// PERSISTENT RESERVE OUT; its status.
    fn pr(&mut self, who: PeerId, action: u8, kind: u8, key: u64, action_key: u64) -> u8 {
        self.by(who, &out(action, kind), &list(key, action_key).bytes()).response.status
    }

    fn report(&mut self, action: u8) -> Vec<u8> {
        self.send(&Cdb::PersistentReserveIn { action, allocation: 4096 }, &[]).good()
    }

    fn keys(&mut self) -> Vec<u64> {
        let data = self.report(0);
        data[8..].chunks(8).map(|key| u64::from_be_bytes(key.try_into().unwrap())).collect()
    }

    /// Key and type of the reservation.
    fn held(&mut self) -> Option<(u64, u8)> {
        let data = self.report(1);
        (data.len() > 8).then(|| (u64::from_be_bytes(data[8..16].try_into().unwrap()), data[21]))
    }

    /// Next unit attention of a nexus.
    fn told(&mut self, who: PeerId) -> Option<(u8, u8)> {
        let ended = self.by(who, &Cdb::TestUnitReady, &[]);
        (ended.response.status == Response::CHECK_CONDITION).then(|| ended.why().1)
    }

    fn statuses(&mut self, who: PeerId) -> [u8; 4] {
        let read = self.by(who, &Cdb::Read(Transfer::new(0, 1)), &[]).response.status;
        let write = self.by(who, &Cdb::Write(Transfer::new(0, 1)), &[0; 512]).response.status;
        let inquiry = self.by(who, &Cdb::Inquiry { page: None, allocation: 36 }, &[]).response.status;
        let sync = Cdb::SynchronizeCache { width: Width::Ten, immediate: false, lba: 0, blocks: 0 };
        [read, write, inquiry, self.by(who, &sync, &[]).response.status]
    }
}

const CONFLICT: u8 = Response::RESERVATION_CONFLICT;

#[test]
fn a_key_is_registered_changed_and_removed() {
    // SPC-4, clause 5.13.7.
    let mut bench = Bench::ram();
    assert_eq!(bench.pr(ALICE, 0, 0, 5, 1), CONFLICT, "who is not registered has key 0");
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 0), bench.keys()), (0, vec![]));
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(BOB, 6, 0, 77, 2)), (0, 0));
    assert_eq!(bench.keys(), [1, 2]);
    assert_eq!(bench.pr(ALICE, 0, 0, 9, 3), CONFLICT, "the key is another");
    assert_eq!((bench.pr(ALICE, 0, 0, 1, 3), bench.pr(BOB, 6, 0, 0, 4)), (0, 0));
    assert_eq!((bench.keys(), bench.report(0)[..4].to_vec()), (vec![3, 4], vec![0, 0, 0, 4]), "PRGENERATION");
    assert_eq!((bench.pr(ALICE, 0, 0, 3, 0), bench.pr(BOB, 6, 0, 0, 0), bench.keys()), (0, 0, vec![]));
}

#[test]
fn what_is_not_offered_is_refused() {
    // SPC-4, clause 6.16.3: SPEC_I_PT, ALL_TG_PT, APTPL; clause 6.15.4 says so.
    let mut bench = Bench::ram();
    for (list, bit) in [
        (ReserveParameters { named_initiators: true, ..list(0, 1) }, 3),
        (ReserveParameters { all_ports: true, ..list(0, 1) }, 2),
        (ReserveParameters { persist: true, ..list(0, 1) }, 0),
    ] {
        let ended = bench.send(&out(0, 0), &list.bytes());
        assert_eq!(
            (ended.why(), ended.sense().unwrap().field.unwrap().bit),
            ((5, asc::FIELD_IN_PARAMETERS), Some(bit))
        );
    }
    assert_eq!(bench.report(2), [0, 8, 0, 0x80, 0xea, 1, 0, 0]);
    let short = Cdb::PersistentReserveOut { action: 0, scope: 0, kind: 0, len: 23 };
    assert_eq!(bench.send(&short, &[0; 23]).why(), (5, asc::PARAMETER_LENGTH));
    let long = Cdb::PersistentReserveOut { action: 0, scope: 0, kind: 0, len: 32 };
    assert_eq!(bench.send(&long, &[0; 32]).why(), (5, asc::PARAMETER_LENGTH), "no names follow");
    assert_eq!(bench.send(&out(0, 0), &[0; 20]).why(), (5, asc::INFORMATION_UNIT));
    assert_eq!(bench.pr(ALICE, 0, 0, 0, 1), 0);
    let scoped = Cdb::PersistentReserveOut { action: 1, scope: 1, kind: 1, len: 24 };
    assert_eq!(bench.send(&scoped, &list(1, 0).bytes()).why(), (5, asc::FIELD_IN_CDB));
    assert_eq!(bench.send(&out(1, 2), &list(1, 0).bytes()).why(), (5, asc::FIELD_IN_CDB));
    assert_eq!((bench.held(), bench.keys()), (None, vec![1]));
}

#[test]
fn each_type_keeps_others_out_as_its_clause_says() {
    // SPC-4, table 65 and SBC-3, table 13: READ, WRITE, INQUIRY and SYNCHRONIZE CACHE of a stranger and of who is registered.
    const C: u8 = CONFLICT;
    for (kind, stranger, registered) in [
        (1, [0, C, 0, C], [0, C, 0, C]),
        (3, [C, C, 0, C], [C, C, 0, C]),
        (5, [0, C, 0, C], [0; 4]),
        (6, [C, C, 0, C], [0; 4]),
        (7, [0, C, 0, C], [0; 4]),
        (8, [C, C, 0, C], [0; 4]),
    ] {
        let mut bench = Bench::ram();
        assert_eq!(bench.pr(ALICE, 1, kind, 0, 0), CONFLICT, "RESERVE by a stranger");
        assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(ALICE, 1, kind, 1, 0)), (0, 0));
        assert_eq!(bench.pr(ALICE, 1, kind, 1, 0), 0, "again");
        assert_eq!(bench.held(), Some((if kind > 6 { 0 } else { 1 }, kind)));
        assert_eq!((bench.statuses(ALICE), bench.statuses(BOB)), ([0; 4], stranger), "type {kind}");
        assert_eq!(bench.pr(BOB, 0, 0, 0, 2), 0);
        assert_eq!(bench.statuses(BOB), registered, "type {kind}");
        let again = bench.pr(BOB, 1, kind, 2, 0);
        assert_eq!(again, if kind > 6 { 0 } else { C }, "all who are registered hold types 7 and 8");
        let other = if kind == 1 { 3 } else { 1 };
        assert_eq!(bench.pr(ALICE, 1, other, 1, 0), C, "another type");
        // RELEASE (clause 5.13.11.2): of another type it is refused, of who does not hold it nothing.
        assert_eq!(bench.by(ALICE, &out(2, other), &list(1, 0).bytes()).why(), (5, asc::INVALID_RELEASE));
        if kind < 7 {
            assert_eq!((bench.pr(BOB, 2, kind, 2, 0), bench.held().is_some()), (0, true));
        }
        assert_eq!((bench.pr(ALICE, 2, kind, 1, 0), bench.held()), (0, None));
        assert_eq!(bench.told(BOB), (kind >= 5).then_some(asc::RESERVATIONS_RELEASED));
        assert_eq!((bench.told(ALICE), bench.told(BOB)), (None, None));
    }
}

#[test]
fn commands_that_touch_no_block_are_for_everybody() {
    // SPC-4, table 65.
    let start = |start| Cdb::StartStop { immediate: false, modifier: 0, power: 0, no_flush: false, load: false, start };
    let commands = [
        (Cdb::TestUnitReady, 0),
        (Cdb::ReadCapacity10, 0),
        (Cdb::ReadCapacity16 { allocation: 32 }, 0),
        (Cdb::ReportLuns { select: 0, allocation: 64 }, 0),
        (Cdb::RequestSense { descriptors: false, allocation: 18 }, 0),
        (Cdb::PersistentReserveIn { action: 0, allocation: 8 }, 0),
        (start(true), 0),
        (start(false), CONFLICT),
        (Cdb::parse(&[0x1a, 0, 0x3f, 0, 255, 0]).unwrap(), CONFLICT),
    ];
    for kind in [1, 3] {
        let mut bench = Bench::ram();
        assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(ALICE, 1, kind, 1, 0)), (0, 0));
        for (cdb, status) in &commands {
            assert_eq!(bench.by(BOB, cdb, &[]).response.status, *status, "type {kind}: {cdb:?}");
        }
    }
}

#[test]
fn what_reads_and_what_writes_is_told_apart() {
    // SPC-4, table 65 and SBC-3, table 13: what a stranger may do under write exclusive and exclusive access.
    let transfer = Transfer::new(0, 1);
    let same = Cdb::WriteSame {
        width: Width::Sixteen,
        lba: 0,
        blocks: 1,
        protect: 0,
        anchor: false,
        unmap: false,
        no_data: true,
    };
    let codes =
        Cdb::ReportSupportedOperationCodes { timeouts: false, options: 0, opcode: 0, action: 0, allocation: 64 };
    let fetch = Cdb::PreFetch { width: Width::Ten, immediate: false, lba: 0, blocks: 1 };
    let compare = Cdb::CompareAndWrite { lba: 0, blocks: 1, protect: 0, dpo: false, fua: false };
    for (kind, reads) in [(1, 0), (3, CONFLICT)] {
        let mut bench = Bench::ram();
        assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(ALICE, 1, kind, 1, 0)), (0, 0));
        for (cdb, len, status) in [
            (Cdb::Verify { transfer, compare: 0 }, 0, reads),
            (Cdb::Verify { transfer, compare: 1 }, 512, reads),
            (fetch, 0, reads),
            (codes, 0, reads),
            (Cdb::WriteAndVerify { transfer, compare: 0 }, 512, CONFLICT),
            (same, 0, CONFLICT),
            (Cdb::Unmap { anchor: false, len: 0 }, 0, CONFLICT),
            (compare, 1024, CONFLICT),
        ] {
            let data = vec![0; len];
            assert_eq!(bench.by(BOB, &cdb, &data).response.status, status, "type {kind}: {cdb:?}");
            assert_eq!(bench.by(ALICE, &cdb, &data).response.status, 0, "type {kind}: {cdb:?}");
        }
    }
}

#[test]
fn a_holder_that_unregisters_releases() {
    // SPC-4, clause 5.13.11.3.
    let mut bench = Bench::ram();
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(BOB, 0, 0, 0, 2), bench.pr(ALICE, 1, 5, 1, 0)), (0, 0, 0));
    assert_eq!((bench.pr(ALICE, 0, 0, 1, 0), bench.held(), bench.keys()), (0, None, vec![2]));
    assert_eq!(bench.told(BOB), Some(asc::RESERVATIONS_RELEASED));
    // One that all hold goes with the last.
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(ALICE, 1, 8, 1, 0), bench.pr(ALICE, 0, 0, 1, 0)), (0, 0, 0));
    assert_eq!(bench.held(), Some((0, 8)));
    assert_eq!(bench.by(ALICE, &Cdb::Read(Transfer::new(0, 1)), &[]).response.status, CONFLICT, "she made it once");
    assert_eq!((bench.pr(BOB, 0, 0, 2, 0), bench.held()), (0, None));
}

#[test]
fn clear_removes_everything() {
    // SPC-4, clause 5.13.11.6.
    let mut bench = Bench::ram();
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(BOB, 0, 0, 0, 2), bench.pr(ALICE, 1, 1, 1, 0)), (0, 0, 0));
    assert_eq!(bench.pr(BOB, 3, 0, 1, 0), CONFLICT, "not its key");
    assert_eq!(bench.pr(BOB, 3, 0, 2, 0), 0);
    assert_eq!((bench.told(ALICE), bench.told(BOB)), (Some(asc::RESERVATIONS_PREEMPTED), None));
    assert_eq!((bench.keys(), bench.held()), (vec![], None));
}

#[test]
fn preempt_takes_the_reservation_of_the_key_that_it_names() {
    // SPC-4, clause 5.13.11.4.
    let mut bench = Bench::ram();
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(BOB, 0, 0, 0, 2)), (0, 0));
    assert_eq!((bench.pr(ALICE, 4, 1, 1, 9), bench.keys()), (CONFLICT, vec![1, 2]), "nobody has that key");
    assert_eq!(bench.by(ALICE, &out(4, 1), &list(1, 0).bytes()).why(), (5, asc::FIELD_IN_PARAMETERS));
    // Without a reservation it removes registrations.
    assert_eq!((bench.pr(ALICE, 4, 1, 1, 2), bench.keys(), bench.held()), (0, vec![1], None));
    assert_eq!(bench.told(BOB), Some(asc::REGISTRATIONS_PREEMPTED));
    // With one it takes it.
    assert_eq!((bench.pr(BOB, 0, 0, 0, 2), bench.pr(BOB, 1, 3, 2, 0)), (0, 0));
    assert_eq!((bench.pr(ALICE, 4, 5, 1, 2), bench.keys(), bench.held()), (0, vec![1], Some((1, 5))));
    assert_eq!((bench.told(BOB), bench.told(BOB)), (Some(asc::REGISTRATIONS_PREEMPTED), None));
    // A holder may preempt itself to change the type; who stays registered is told.
    assert_eq!((bench.pr(BOB, 0, 0, 0, 2), bench.pr(ALICE, 4, 1, 1, 1), bench.held()), (0, 0, Some((1, 1))));
    assert_eq!((bench.keys(), bench.told(BOB)), (vec![1, 2], Some(asc::RESERVATIONS_RELEASED)));
    // Of one that all hold, key 0 names all others.
    assert_eq!((bench.pr(ALICE, 2, 1, 1, 0), bench.pr(ALICE, 1, 7, 1, 0), bench.pr(BOB, 4, 3, 2, 0)), (0, 0, 0));
    assert_eq!(bench.told(ALICE), Some(asc::REGISTRATIONS_PREEMPTED));
    assert_eq!((bench.held(), bench.keys()), (Some((2, 3)), vec![2]));
}

#[test]
fn preempt_of_one_of_all_holders_leaves_the_reservation_to_the_others() {
    // SPC-4, clause 5.13.11.4: a key that is not zero names registrations, not the reservation that all hold.
    let mut bench = Bench::ram();
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(BOB, 0, 0, 0, 2), bench.pr(ALICE, 1, 7, 1, 0)), (0, 0, 0));
    assert_eq!((bench.pr(ALICE, 4, 8, 1, 2), bench.keys(), bench.held()), (0, vec![1], Some((0, 7))));
    assert_eq!(bench.told(BOB), Some(asc::REGISTRATIONS_PREEMPTED));
}

#[test]
fn preempt_without_abort_ends_no_task() {
    // SPC-4, clause 5.13.11.4.
    let (backend, diary) = super::slow::Slow::new(1 << 20, |_| {});
    let mut bench = Bench::new(backend);
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(BOB, 0, 0, 0, 2)), (0, 0));
    diary.borrow_mut().stuck = true;
    let cdb = Cdb::Read(Transfer::new(0, 1)).bytes().unwrap();
    let his = bench.task(BOB, lun(0), &cdb, 0, 512);
    assert!(matches!(bench.disks.command(0, &his), Step::Pending));
    assert_eq!(bench.pr(ALICE, 4, 1, 1, 2), 0);
    assert!(bench.disks.poll(0).is_none());
    diary.borrow_mut().stuck = false;
    let (tag, step) = bench.disks.poll(0).unwrap();
    assert_eq!((tag, matches!(step, Step::Send { .. })), (his.tag, true));
}

#[test]
fn preempt_and_abort_ends_the_tasks_of_whom_it_removes() {
    // SPC-4, clause 5.13.11.5, and TAS: they end with TASK ABORTED.
    let (backend, diary) = super::slow::Slow::new(1 << 20, |_| {});
    let mut bench = Bench::new(backend);
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(BOB, 0, 0, 0, 2)), (0, 0));
    diary.borrow_mut().stuck = true;
    let cdb = Cdb::Read(Transfer::new(0, 1)).bytes().unwrap();
    let (hers, his) = (bench.task(ALICE, lun(0), &cdb, 0, 512), bench.task(BOB, lun(0), &cdb, 0, 512));
    assert!(matches!(bench.disks.command(0, &hers), Step::Pending));
    assert!(matches!(bench.disks.command(0, &his), Step::Pending));
    assert_eq!(bench.pr(ALICE, 5, 1, 1, 2), 0);
    let (tag, step) = bench.disks.poll(0).unwrap();
    assert!(matches!(step, Step::End(Response { status: Response::TASK_ABORTED, .. })));
    assert_eq!(tag, his.tag);
    diary.borrow_mut().stuck = false;
    let (tag, step) = bench.disks.poll(0).unwrap();
    assert_eq!((tag, matches!(step, Step::Send { .. })), (hers.tag, true));
    assert!(bench.disks.poll(0).is_none());
    assert_eq!((bench.told(BOB), bench.told(BOB)), (Some(asc::REGISTRATIONS_PREEMPTED), None));
}

#[test]
fn a_reservation_outlives_logins_and_resets() {
    // SPC-4, clause 5.13.1: it is the port's name that holds it.
    let mut bench = Bench::ram();
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(ALICE, 1, 3, 1, 0)), (0, 0));
    bench.disks.nexus_lost(ALICE);
    assert_eq!(bench.statuses(BOB)[0], CONFLICT);
    let again = PeerId { index: 7, generation: 3 };
    bench.disks.nexus(again, wwpn(ALICE));
    assert_eq!(bench.told(again), Some(asc::RESET));
    assert_eq!(bench.disks.manage(0, BOB, lun(0), Function::LogicalUnitReset, &mut |_| {}), FunctionResponse::Complete);
    assert_eq!((bench.told(again), bench.told(BOB)), (Some(asc::RESET), Some(asc::RESET)));
    assert_eq!((bench.statuses(again), bench.statuses(BOB)[1]), ([0; 4], CONFLICT));
}

#[test]
fn full_status_names_everybody() {
    // SPC-4, clause 6.15.5.
    let mut bench = Bench::ram();
    assert_eq!((bench.pr(ALICE, 0, 0, 0, 1), bench.pr(BOB, 0, 0, 0, 2), bench.pr(BOB, 1, 6, 2, 0)), (0, 0, 0));
    let data = bench.report(3);
    assert_eq!((data.len(), &data[..8]), (8 + 2 * 48, &[0, 0, 0, 2, 0, 0, 0, 96][..]));
    for (part, peer, key, held) in [(&data[8..56], ALICE, 1, [0, 0]), (&data[56..], BOB, 2, [1, 6])] {
        assert_eq!((part[7], &part[12..14], &part[18..24]), (key, &held[..], &[0, 1, 0, 0, 0, 24][..]));
        assert_eq!(part[32..40], wwpn(peer).0.to_be_bytes());
    }
}

#[test]
fn registrations_are_bounded() {
    // SPC-4, clause 5.13.7: INSUFFICIENT REGISTRATION RESOURCES.
    let mut bench = Bench::ram();
    for index in 2..300 {
        let peer = PeerId { index, generation: 1 };
        bench.disks.nexus(peer, wwpn(peer));
        assert_eq!(bench.told(peer), Some(asc::RESET));
        let ended = bench.by(peer, &out(0, 0), &list(0, 1).bytes());
        if index < 258 {
            ended.good();
        } else {
            assert_eq!(ended.why(), (5, asc::REGISTRATION_RESOURCES));
        }
    }
    assert_eq!(bench.keys().len(), 256);
}
