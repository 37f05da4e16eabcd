//! Disks that are added, removed and resized while initiators are logged in.

use super::slow::Slow;
use super::support::{ALICE, BOB, Bench, lun, wwpn};
use crate::scsi::disks::DisksError;
use crate::{DeviceServer, Response, Step, TaskAttribute};
use linerate_block::{Ram, SizeError};
use linerate_wire::scsi::{Capacity, Cdb, Transfer, VpdPage, asc, parse_luns};

const READY: [u8; 16] = [0; 16];

fn read() -> [u8; 16] {
    Cdb::Read(Transfer::new(0, 1)).bytes().unwrap().sixteen().unwrap()
}

/// Asks for the names of a unit (SPC-4, clause 7.8.5).
fn meet(bench: &mut Bench, who: crate::PeerId, number: u16) {
    let cdb = Cdb::Inquiry { page: Some(VpdPage::DESIGNATORS), allocation: 252 };
    bench.raw(who, lun(number), &cdb.bytes().unwrap().sixteen().unwrap(), &[], 252).good();
}

fn luns(bench: &mut Bench, who: crate::PeerId) -> Vec<[u8; 8]> {
    let data = bench.by(who, &Cdb::ReportLuns { select: 0, allocation: 4096 }, &[]).good();
    parse_luns(&data).unwrap().0.collect()
}

/// SPC-4, clause 6.33: REPORTED LUNS DATA HAS CHANGED, once, to all who see the disk; its own first news is that it is new.
#[test]
fn a_disk_that_is_added_is_told_of_and_one_that_is_removed_too() {
    let mut bench = Bench::ram();
    bench.disks.add(4, Box::new(Ram::new(8192, 512, false, 4).unwrap())).unwrap();
    for who in [ALICE, BOB] {
        assert_eq!(bench.raw(who, lun(0), &READY, &[], 0).why(), (6, asc::LUNS_CHANGED));
        bench.raw(who, lun(0), &READY, &[], 0).good();
        assert_eq!(bench.raw(who, lun(4), &READY, &[], 0).why(), (6, asc::RESET));
        assert_eq!(bench.raw(who, lun(4), &READY, &[], 0).why(), (6, asc::LUNS_CHANGED));
        assert_eq!(bench.raw(who, lun(4), &read(), &[], 512).good().len(), 512);
        assert_eq!(luns(&mut bench, who), [lun(0).0, lun(4).0]);
    }
    assert_eq!(bench.disks.add(4, Box::new(Ram::new(8192, 512, false, 5).unwrap())), Err(DisksError::Taken(4)));
    bench.disks.remove(4).unwrap();
    assert_eq!((bench.disks.remove(4), bench.disks.leaving()), (Err(DisksError::Unknown(4)), 0));
    for who in [ALICE, BOB] {
        assert_eq!(bench.raw(who, lun(4), &read(), &[], 512).why(), (5, asc::LUN));
        assert_eq!(bench.raw(who, lun(0), &READY, &[], 0).why(), (6, asc::LUNS_CHANGED));
        bench.raw(who, lun(0), &READY, &[], 0).good();
        assert_eq!(luns(&mut bench, who), [lun(0).0]);
    }
    assert_eq!(bench.disks.status().map(|disk| disk.lun).collect::<Vec<_>>(), [0]);
}

/// A thousand disks come and go at one place of the table, and the next at the same LUN is not the one before.
#[test]
fn a_lun_is_given_again_to_another_disk() {
    let mut bench = Bench::ram();
    let mut before = None;
    for round in 1..1000_u16 {
        let mut ram = Ram::new(4096, 512, false, u64::from(round)).unwrap();
        linerate_block::Memory::write(&mut ram, 0, &round.to_be_bytes());
        bench.disks.add(1, Box::new(ram)).unwrap();
        // What is sent again of the READ that has ended is not of this disk.
        assert!(before.is_none_or(|tag| bench.disks.memory(tag).is_none()));
        assert_eq!(bench.raw(ALICE, lun(1), &READY, &[], 0).why(), (6, asc::RESET));
        bench.raw(ALICE, lun(1), &READY, &[], 0).why();
        meet(&mut bench, ALICE, 1);
        assert_eq!(bench.raw(ALICE, lun(1), &read(), &[], 512).good()[..2], round.to_be_bytes());
        bench.disks.remove(1).unwrap();
        before = Some(linerate_block::Tag(bench.next));
    }
    assert_eq!(bench.disks.units.len(), 2);
}

/// A disk that is removed keeps its back end until what that has under way has ended; its tasks end with TASK ABORTED, and
/// nothing is left of their buffers.
#[test]
fn a_disk_is_removed_under_load() {
    let (slow, diary) = Slow::new(1 << 20, |_| ());
    let mut bench = Bench::ram();
    bench.disks.add(1, Box::new(slow)).unwrap();
    for _ in 0..2 {
        bench.raw(ALICE, lun(1), &READY, &[], 0).why();
    }
    diary.borrow_mut().stuck = true;
    let cdb = read();
    let mut tags = Vec::new();
    for attribute in [TaskAttribute::Simple, TaskAttribute::Simple, TaskAttribute::Ordered] {
        let task = crate::Task { attribute, ..bench.task(ALICE, lun(1), &cdb, 0, 512) };
        assert!(matches!(bench.disks.command(0, &task), Step::Pending));
        tags.push(task.tag);
    }
    let task = bench.task(ALICE, lun(1), &[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], 512, 0);
    let Step::Pending = bench.disks.command(0, &task) else { panic!("an ordered task is before it") };
    tags.push(task.tag);
    bench.disks.remove(1).unwrap();
    let ended = std::iter::from_fn(|| bench.disks.poll(0)).map(|(tag, step)| match step {
        Step::End(response) => (tag.0, response.status),
        other => panic!("{other:?}"),
    });
    let mut ended: Vec<_> = ended.collect();
    ended.sort_unstable();
    assert_eq!(ended, tags.iter().map(|tag| (tag.0, Response::TASK_ABORTED)).collect::<Vec<_>>());
    assert_eq!((bench.disks.leaving(), diary.borrow().open.len()), (1, 2));
    // The number can be another's before.
    bench.disks.add(1, Box::new(Ram::new(4096, 512, false, 7).unwrap())).unwrap();
    diary.borrow_mut().stuck = false;
    assert!(bench.disks.poll(0).is_none() && bench.disks.poll(0).is_none());
    assert_eq!((bench.disks.leaving(), bench.disks.lent(), std::rc::Rc::strong_count(&diary)), (0, 0, 1));
    bench.raw(ALICE, lun(1), &READY, &[], 0).why();
    bench.raw(ALICE, lun(1), &READY, &[], 0).why();
    meet(&mut bench, ALICE, 1);
    assert_eq!(bench.raw(ALICE, lun(1), &read(), &[], 512).good().len(), 512);
}

/// A unit attention ends one command; what an initiator has queued behind it is meant for the disk before. All of it ends
/// with LOGICAL UNIT NOT SUPPORTED, in this session and the next ones, until the initiator asks for the disk's name.
#[test]
fn another_disk_under_a_lun_is_out_of_reach_until_its_name_is_asked_for() {
    let mut bench = Bench::ram();
    let write = Cdb::Write(Transfer::new(0, 1)).bytes().unwrap().sixteen().unwrap();
    let disk = |number| Box::new(Ram::new(1 << 20, 512, false, number).unwrap());
    bench.disks.remove(0).unwrap();
    bench.disks.add(0, disk(0x5678)).unwrap();
    let denied = |bench: &mut Bench, who| {
        for code in [asc::RESET, asc::LUNS_CHANGED] {
            assert_eq!(bench.raw(who, lun(0), &write, &[1; 512], 0).why(), (6, code));
        }
        for _ in 0..3 {
            assert_eq!(bench.raw(who, lun(0), &write, &[1; 512], 0).why(), (5, asc::LUN));
            assert_eq!(bench.raw(who, lun(0), &read(), &[], 512).why(), (5, asc::LUN));
            assert_eq!(bench.raw(who, lun(0), &READY, &[], 0).why(), (5, asc::LUN));
            // These do not show whose disk it is.
            bench.by(who, &Cdb::Inquiry { page: None, allocation: 36 }, &[]).good();
            luns(bench, who);
        }
    };
    denied(&mut bench, ALICE);
    meet(&mut bench, ALICE, 0);
    assert_eq!(bench.raw(ALICE, lun(0), &read(), &[], 512).good(), [0; 512]);
    denied(&mut bench, BOB);
    // A session that comes back is of an initiator that knows the disk before.
    bench.disks.nexus_lost(BOB);
    let again = crate::PeerId { generation: 2, ..BOB };
    bench.disks.nexus(again, wwpn(BOB));
    assert_eq!(bench.raw(again, lun(0), &write, &[1; 512], 0).why(), (6, asc::RESET));
    assert_eq!(bench.raw(again, lun(0), &write, &[1; 512], 0).why(), (5, asc::LUN));
    // The disk that it knows is used as it was.
    bench.disks.remove(0).unwrap();
    bench.disks.add(0, disk(0x1234)).unwrap();
    for code in [asc::RESET, asc::LUNS_CHANGED] {
        assert_eq!(bench.raw(again, lun(0), &write, &[1; 512], 0).why(), (6, code));
    }
    bench.raw(again, lun(0), &write, &[1; 512], 0).good();
    // A newcomer knows none.
    let carol = crate::PeerId { index: 2, generation: 1 };
    bench.disks.nexus(carol, wwpn(carol));
    assert_eq!(bench.raw(carol, lun(0), &read(), &[], 512).why(), (6, asc::RESET));
    assert_eq!(bench.raw(carol, lun(0), &read(), &[], 512).good(), [1; 512]);
}

/// SPC-4, clause 6.41 and SBC-3, clause 4.3: CAPACITY DATA HAS CHANGED to everybody; blocks that are no more are out of range.
#[test]
fn a_disk_takes_over_another_size() {
    let (slow, diary) = Slow::new(1 << 20, |_| ());
    let mut bench = Bench::new(slow);
    let capacity = |bench: &mut Bench| {
        let data = bench.by(ALICE, &Cdb::ReadCapacity16 { allocation: 32 }, &[]).good();
        Capacity::parse_16(&data).unwrap().last
    };
    assert_eq!((capacity(&mut bench), bench.disks.refresh(1)), (2047, Err(DisksError::Unknown(1))));
    assert_eq!(bench.disks.refresh(0), Err(DisksError::Size(0, SizeError::Fixed)));
    diary.borrow_mut().blocks = Some(100);
    assert_eq!(bench.disks.refresh(0), Ok(51_200));
    for who in [ALICE, BOB] {
        assert_eq!(bench.raw(who, lun(0), &READY, &[], 0).why(), (6, asc::CAPACITY_CHANGED));
        bench.raw(who, lun(0), &READY, &[], 0).good();
    }
    assert_eq!(capacity(&mut bench), 99);
    assert_eq!(bench.send(&Cdb::Read(Transfer::new(100, 1)), &[]).why(), (5, asc::LBA_OUT_OF_RANGE));
    assert_eq!(bench.disks.refresh(0), Ok(51_200));
    bench.raw(ALICE, lun(0), &READY, &[], 0).good();
}

/// Rules are replaced as a whole, and only those are told for whom something has changed.
#[test]
fn who_may_see_a_disk_is_changed() {
    let mut bench = Bench::ram();
    bench.disks.allow_only(&[(wwpn(ALICE), vec![0])]);
    bench.raw(ALICE, lun(0), &READY, &[], 0).good();
    assert_eq!(bench.raw(BOB, lun(0), &READY, &[], 0).why(), (5, asc::LUN));
    bench.disks.allow_only(&[(wwpn(BOB), vec![0]), (wwpn(ALICE), vec![])]);
    assert_eq!(bench.raw(ALICE, lun(0), &READY, &[], 0).why(), (5, asc::LUN));
    assert_eq!(bench.raw(BOB, lun(0), &READY, &[], 0).why(), (6, asc::LUNS_CHANGED));
    bench.raw(BOB, lun(0), &READY, &[], 0).good();
    bench.disks.allow_only(&[(wwpn(ALICE), vec![])]);
    assert_eq!(bench.raw(BOB, lun(0), &READY, &[], 0).why(), (5, asc::LUN));
    bench.disks.allow_only(&[]);
    for who in [ALICE, BOB] {
        assert_eq!(bench.raw(who, lun(0), &READY, &[], 0).why(), (6, asc::LUNS_CHANGED));
        bench.raw(who, lun(0), &READY, &[], 0).good();
    }
}

/// SPC-4, clause 7.8.5: a name is of one unit. Two disks with one name would be one with two ways to every multipath.
#[test]
fn two_disks_do_not_have_one_name() {
    let mut bench = Bench::ram();
    let same = || Box::new(Ram::new(8192, 512, false, 0x1234).unwrap());
    assert_eq!(bench.disks.add(7, same()), Err(DisksError::Name(7, 0)));
    bench.disks.remove(0).unwrap();
    assert_eq!(bench.disks.add(7, same()), Ok(()));
}
