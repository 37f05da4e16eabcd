//! FORMAT UNIT and SANITIZE.

use super::slow::{Diary, Slow};
use super::support::*;
use crate::*;
use linerate_block::{BackendError, Null, Ram, Tag};
use linerate_wire::scsi::{Access, Cdb, Sense, Transfer, asc};
use std::cell::RefCell;
use std::rc::Rc;

const FORMAT: Cdb = Cdb::FormatUnit { protection: 0, long: false, data: false, complete: false, format: 0 };
const WITH_LIST: Cdb = Cdb::FormatUnit { protection: 0, long: false, data: true, complete: false, format: 0 };
const ERASE: Cdb = Cdb::Sanitize { action: 2, immediate: false, unrestricted: false, len: 0 };
const EXIT: Cdb = Cdb::Sanitize { action: 0x1f, immediate: false, unrestricted: false, len: 0 };

fn slow(change: impl FnOnce(&mut linerate_block::Geometry)) -> (Bench, Rc<RefCell<Diary>>) {
    let (backend, diary) = Slow::new(3 << 20, change);
    (Bench::new(backend), diary)
}

fn fill(bench: &mut Bench) {
    for lba in (0..6144).step_by(2048) {
        bench.send(&Cdb::Write(Transfer::new(lba, 2048)), &[0x77; 1 << 20]).good();
    }
}

fn all(bench: &mut Bench) -> Vec<u8> {
    bench.send(&Cdb::Read(Transfer::new(0, 6144)), &[]).good()
}

fn overwrite(flags: u8, pattern: &[u8], immediate: bool) -> (Cdb, Vec<u8>) {
    let len = u16::try_from(pattern.len()).unwrap();
    let list = [&[flags, 0][..], &len.to_be_bytes(), pattern].concat();
    (Cdb::Sanitize { action: 1, immediate, unrestricted: false, len: len + 4 }, list)
}

/// Begins a command without data out, and returns its tag.
fn begin(bench: &mut Bench, cdb: &Cdb) -> Tag {
    let bytes = cdb.bytes().unwrap().sixteen();
    let task = bench.task(ALICE, lun(0), bytes.as_ref().unwrap(), 0, 0);
    assert!(matches!(bench.disks.command(0, &task), Step::Pending), "{cdb:?}");
    task.tag
}

/// Key, code and progress by REQUEST SENSE.
fn sense(bench: &mut Bench) -> Sense {
    Sense::parse(&bench.by(BOB, &Cdb::RequestSense { descriptors: true, allocation: 252 }, &[]).good()).unwrap()
}

#[test]
fn a_formatted_unit_reads_as_zeros() {
    // SBC-3, clause 5.3.
    let ram = || Ram::new(3 << 20, 512, false, 1).unwrap();
    for (mut bench, diary) in [(Bench::new(ram()), None), {
        let (bench, diary) = slow(|geometry| geometry.discard_zeroes = false);
        diary.borrow_mut().no_zeroes = true;
        (bench, Some(diary))
    }] {
        fill(&mut bench);
        bench.send(&FORMAT, &[]).good();
        assert!(all(&mut bench).iter().all(|byte| *byte == 0));
        // With a list: IMMED 0, an initialization pattern that is not as long as a block.
        let ended = bench.send(&WITH_LIST, &[0, 0x88, 0, 0, 0, 1, 0, 3, 1, 2, 3]);
        assert_eq!((ended.response.status, ended.response.wanted), (0, 11));
        let block: Vec<u8> = [1, 2, 3].into_iter().cycle().take(512).collect();
        assert!(all(&mut bench).chunks(512).all(|read| read == block), "the pattern begins anew in each block");
        assert_eq!((bench.disks.lent(), bench.disks.poll_timeout()), (0, None));
        if let Some(diary) = diary {
            assert_eq!(diary.borrow().asked.last().unwrap(), "read 0 6144");
            assert!(diary.borrow().asked.iter().rev().nth(1).unwrap() == "flush", "the cache is on the medium");
        }
    }
    assert_eq!((FORMAT.access(), ERASE.access()), (Access::Writes, Access::Writes));
}

#[test]
fn protection_information_is_as_it_was_and_says_nothing() {
    // SBC-3, clause 4.22: all ones. FMTPINFO and PROTECTION FIELDS USAGE must be the unit's (table 37).
    for (kind, protection, usage) in
        [(ProtectionType::Type1, 2, 0), (ProtectionType::Type2, 3, 0), (ProtectionType::Type3, 3, 1)]
    {
        let mut bench = Bench::new(Null::new(512, 512, 1).unwrap());
        bench.disks = Disks::new(&CONFIG);
        let options = UnitOptions { protection: Some(kind), name: None };
        bench.disks.add_with(0, Box::new(Ram::new(3 << 20, 512, true, 1).unwrap()), options).unwrap();
        bench.disks.nexus(ALICE, wwpn(ALICE));
        assert_eq!(bench.send(&Cdb::TestUnitReady, &[]).why(), (6, asc::RESET));
        fill(&mut bench);
        let format = |protection, data| Cdb::FormatUnit { protection, long: true, data, complete: false, format: 0 };
        for other in (0..4).filter(|other| *other != protection) {
            assert_eq!(bench.send(&format(other, true), &[0; 8]).why(), (5, asc::FIELD_IN_CDB), "{other}");
        }
        let list = |usage, byte| [&[usage, 0x88, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1][..], &[byte]].concat();
        bench.send(&format(protection, true), &list(usage, 0x5a)).good();
        let ended = bench.send(&format(protection, true), &list(1 - usage, 0));
        assert_eq!((ended.why(), ended.sense().unwrap().field.unwrap().byte), ((5, asc::FIELD_IN_PARAMETERS), 0));
        assert_eq!(all(&mut bench), vec![0x5a; 3 << 20]);
        assert_eq!(bench.disks.memory(Tag(bench.next)).unwrap().protection(3), Some([0xff; 8]));
        if usage == 0 {
            bench.send(&format(protection, false), &[]).good();
            assert_eq!(all(&mut bench), vec![0; 3 << 20]);
        } else {
            assert_eq!(bench.send(&format(protection, false), &[]).why(), (5, asc::FIELD_IN_CDB));
        }
        assert_eq!(bench.disks.memory(Tag(bench.next)).unwrap().protection(3), Some([0xff; 8]));
    }
}

#[test]
fn a_list_that_asks_for_something_else_changes_nothing() {
    let (mut bench, diary) = slow(|_| {});
    let field = |ended: Ended, code| {
        assert_eq!(ended.why(), (5, code));
        let field = ended.sense().unwrap().field.unwrap();
        (field.byte, field.bit)
    };
    for (list, at) in [
        (&[1, 0, 0, 0][..], (0, Some(2))),
        (&[0, 0x08, 0, 0][..], (1, Some(3))),
        (&[0, 0x40, 0, 0][..], (1, Some(6))),
        (&[0, 0, 0, 8][..], (2, None)),
        (&[0, 0x88, 0, 0, 0x20, 0, 0, 0][..], (4, Some(5))),
        (&[0, 0x88, 0, 0, 0, 2, 0, 0][..], (5, None)),
        (&[0, 0x88, 0, 0, 0, 0, 0, 1][..], (6, None)),
        (&[0, 0x88, 0, 0, 0, 1, 0, 0][..], (6, None)),
        (&[0, 0x88, 0, 0, 0, 1, 2, 1][..], (6, None)),
    ] {
        assert_eq!(field(bench.send(&WITH_LIST, list), asc::FIELD_IN_PARAMETERS), at, "{list:?}");
    }
    for list in [&[0, 0x88, 0, 0][..], &[0, 0x88, 0, 0, 0, 1, 0][..], &[0, 0x88, 0, 0, 0, 1, 0, 3, 1, 2][..]] {
        assert_eq!(bench.send(&WITH_LIST, list).why(), (5, asc::PARAMETER_LENGTH), "{list:?}");
    }
    assert_eq!(bench.send(&WITH_LIST, &[0; 3]).why(), (5, asc::INFORMATION_UNIT));
    let format = |long, data, complete, format| Cdb::FormatUnit { protection: 0, long, data, complete, format };
    assert_eq!(
        field(bench.send(&format(true, true, false, 0), &[0, 0, 0, 1, 0, 0, 0, 0]), asc::FIELD_IN_PARAMETERS).0,
        3
    );
    assert_eq!(
        field(bench.send(&format(true, true, false, 0), &[0, 0, 0, 0, 0, 0, 0, 1]), asc::FIELD_IN_PARAMETERS).0,
        4
    );
    assert_eq!(field(bench.send(&format(false, false, true, 0), &[]), asc::FIELD_IN_CDB), (1, Some(3)));
    assert_eq!(field(bench.send(&format(false, false, false, 3), &[]), asc::FIELD_IN_CDB), (1, Some(2)));
    // SANITIZE.
    for (len, action) in [(0, 1), (4, 1), (517, 1), (4, 2), (4, 0x1f)] {
        let cdb = Cdb::Sanitize { action, immediate: false, unrestricted: false, len };
        assert_eq!(field(bench.send(&cdb, &[0; 1024]), asc::FIELD_IN_CDB).0, 7);
    }
    let (cdb, mut list) = overwrite(0x21, &[1, 2], false);
    assert_eq!(field(bench.send(&cdb, &list), asc::FIELD_IN_PARAMETERS), (0, Some(6)));
    list[0] = 0;
    assert_eq!(field(bench.send(&cdb, &list), asc::FIELD_IN_PARAMETERS), (0, Some(4)));
    (list[0], list[3]) = (1, 1);
    assert_eq!(field(bench.send(&cdb, &list), asc::FIELD_IN_PARAMETERS), (2, None));
    // There are no keys to forget: CRYPTOGRAPHIC ERASE.
    let crypto = [0x48, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(bench.raw(ALICE, lun(0), &crypto, &[], 0).why(), (5, asc::FIELD_IN_CDB));
    assert_eq!((diary.borrow().asked.len(), bench.disks.lent()), (0, 0));
    let (mut bench, _) = slow(|geometry| geometry.read_only = true);
    assert_eq!((bench.send(&FORMAT, &[]).why(), bench.send(&ERASE, &[]).why().0), ((7, asc::WRITE_PROTECTED), 7));
}

#[test]
fn overwriting_inverts_between_its_passes() {
    // SBC-4, clause 5.30.2.
    let (mut bench, diary) = slow(|_| {});
    fill(&mut bench);
    diary.borrow_mut().asked.clear();
    let (cdb, list) = overwrite(0x82, &[0xf0, 0x0f, 0x01], false);
    assert_eq!(bench.send(&cdb, &list).response.wanted, 7);
    let writes = diary.borrow().asked.iter().filter(|asked| asked.starts_with("write")).count();
    assert_eq!((writes, diary.borrow().asked.last().map(String::as_str)), (6, Some("flush")));
    let block: Vec<u8> = [0x0f, 0xf0, 0xfe].into_iter().cycle().take(512).collect();
    assert!(all(&mut bench).chunks(512).all(|read| read == block), "the second pass is inverted");
    let (cdb, list) = overwrite(0x83, &[0xf0], false);
    bench.send(&cdb, &list).good();
    assert_eq!(all(&mut bench), vec![0xf0; 3 << 20]);
    bench.send(&ERASE, &[]).good();
    assert_eq!(all(&mut bench), vec![0; 3 << 20]);
    assert_eq!(bench.disks.lent(), 0);
}

#[test]
fn a_busy_unit_tells_how_far_it_is_and_does_little_else() {
    // SBC-4, clauses 4.8 and 4.11; SPC-4, clause 4.5.2.4.4.
    let (sanitize, list) = overwrite(1, &[9], true);
    for (cdb, list, code) in [(WITH_LIST, vec![0, 0x8a, 0, 0, 0, 1, 0, 1, 9], (4, 4)), (sanitize, list, (4, 0x1b))] {
        let mut bench = Bench::new(Ram::new(3 << 20, 512, false, 1).unwrap());
        bench.disks.add(1, Box::new(Ram::new(1 << 20, 512, false, 2).unwrap())).unwrap();
        for (who, number) in [(ALICE, 0), (BOB, 0), (ALICE, 1), (BOB, 1)] {
            while bench.raw(who, lun(number), &[0; 16], &[], 0).response.status != 0 {}
        }
        fill(&mut bench);
        bench.send(&cdb, &list).good();
        assert_eq!((sense(&mut bench).key.0, sense(&mut bench).code, sense(&mut bench).progress), (2, code, Some(0)));
        assert_eq!(bench.disks.poll_timeout(), Some(0), "it goes on by itself");
        for progress in [0, 0x5555, 0xaaaa] {
            for refused in [
                Cdb::TestUnitReady,
                Cdb::Read(Transfer::new(0, 1)),
                Cdb::Write(Transfer::new(0, 1)),
                Cdb::ReadCapacity10,
                FORMAT,
                ERASE,
                EXIT,
            ] {
                let ended = bench.by(BOB, &refused, &[]);
                assert_eq!(ended.why(), (2, code), "{refused:?}");
                assert!(ended.sense().unwrap().progress.is_some());
            }
            bench.by(BOB, &Cdb::Inquiry { page: None, allocation: 36 }, &[]).good();
            bench.by(BOB, &Cdb::ReportLuns { select: 0, allocation: 64 }, &[]).good();
            // The other unit does not notice, and a reset does not stop it.
            bench.raw(BOB, lun(1), &[0; 16], &[], 0).good();
            bench.disks.manage(0, BOB, lun(0), Function::LogicalUnitReset, &mut |_| {});
            assert_eq!(sense(&mut bench).code, asc::RESET);
            assert!(bench.disks.poll(0).is_none());
            assert_eq!(sense(&mut bench).progress, Some(progress));
        }
        assert!(bench.disks.poll(0).is_none());
        assert_eq!((sense(&mut bench).key.0, bench.disks.poll_timeout()), (0, None));
        while bench.send(&Cdb::TestUnitReady, &[]).response.status != 0 {}
        assert_eq!(all(&mut bench), vec![9; 3 << 20]);
    }
}

#[test]
fn a_command_that_waits_for_its_end_keeps_nobody_from_being_told() {
    let (mut bench, diary) = slow(|_| {});
    diary.borrow_mut().stuck = true;
    let tag = begin(&mut bench, &FORMAT);
    assert!(bench.disks.poll(0).is_none());
    assert_eq!(bench.by(BOB, &Cdb::TestUnitReady, &[]).why(), (2, (4, 4)), "it does not wait in the queue");
    assert_eq!(bench.disks.poll_timeout(), None, "the back end will tell");
    diary.borrow_mut().stuck = false;
    let mut steps = Vec::new();
    for _ in 0..20 {
        steps.extend(bench.disks.poll(0));
    }
    assert!(matches!(&steps[..], [(ended, Step::End(response))] if *ended == tag && response.status == 0), "{steps:?}");
    bench.by(BOB, &Cdb::TestUnitReady, &[]).good();
    // Who has asked may go: it ends nevertheless.
    for how in 0..3 {
        fill(&mut bench);
        let tag = begin(&mut bench, &ERASE);
        match how {
            0 => bench.disks.abort(tag, None),
            1 => {
                let mut aborted = Vec::new();
                bench.disks.manage(0, ALICE, lun(0), Function::AbortTaskSet, &mut |tag| aborted.push(tag));
                assert_eq!(aborted, [tag]);
            }
            _ => {
                bench.disks.manage(0, BOB, lun(0), Function::ClearTaskSet, &mut |_| {});
                let Some((ended, Step::End(response))) = bench.disks.poll(0) else { panic!("it was aborted") };
                assert_eq!((ended, response.status), (tag, Response::TASK_ABORTED));
            }
        }
        assert_eq!(sense(&mut bench).code, asc::SANITIZING);
        for _ in 0..20 {
            assert!(bench.disks.poll(0).is_none());
        }
        assert_eq!(all(&mut bench), vec![0; 3 << 20]);
    }
}

#[test]
fn what_was_begun_before_is_done_before() {
    let (mut bench, diary) = slow(|_| {});
    diary.borrow_mut().stuck = true;
    let write = Cdb::Write(Transfer::new(5, 1)).bytes().unwrap().sixteen().unwrap();
    let task = bench.task(ALICE, lun(0), &write, 512, 0);
    let Step::Receive { buffer } = bench.disks.command(0, &task) else { panic!("no data out is asked for") };
    let format = begin(&mut bench, &FORMAT);
    assert!(bench.disks.poll(0).is_none());
    assert!(diary.borrow().asked.is_empty(), "the data of a command before it is still to come");
    assert!(matches!(bench.disks.received(0, task.tag, Some(buffer)), Step::Pending));
    assert!(bench.disks.poll(0).is_none());
    assert_eq!(diary.borrow().asked, ["write 5 1"]);
    // Even if its task is gone: it may still change its block.
    bench.disks.abort(task.tag, None);
    for _ in 0..3 {
        assert!(bench.disks.poll(0).is_none());
    }
    assert_eq!((diary.borrow().asked.len(), bench.disks.poll_timeout()), (1, None));
    diary.borrow_mut().stuck = false;
    let ended: Vec<_> = (0..20).filter_map(|_| bench.disks.poll(0)).map(|(tag, _)| tag).collect();
    assert_eq!(ended, [format]);
}

#[test]
fn a_failure_is_told_until_it_was_mended() {
    // SBC-4, clauses 4.8 and 4.11.3: MEDIUM FORMAT CORRUPTED, and SANITIZE COMMAND FAILED until it is left.
    let (mut bench, diary) = slow(|_| {});
    let fails = |code| {
        diary.borrow_mut().results = vec![BackendError::Medium];
        (3, code)
    };
    let failed = fails((0x31, 0x01));
    assert_eq!(bench.send(&FORMAT, &[]).why(), failed);
    for cdb in [Cdb::TestUnitReady, Cdb::Read(Transfer::new(0, 1)), Cdb::Write(Transfer::new(0, 1))] {
        assert_eq!(bench.by(BOB, &cdb, &[]).why(), (3, (0x31, 0x00)));
    }
    assert_eq!(sense(&mut bench).code, asc::FORMAT_CORRUPTED);
    bench.send(&Cdb::ReadCapacity10, &[]).good();
    bench.send(&FORMAT, &[]).good();
    bench.send(&Cdb::TestUnitReady, &[]).good();
    for (unrestricted, left) in [(false, false), (true, true)] {
        let failed = fails((0x31, 0x03));
        let cdb = Cdb::Sanitize { action: 2, immediate: false, unrestricted, len: 0 };
        assert_eq!(bench.send(&cdb, &[]).why(), failed);
        assert_eq!(bench.send(&Cdb::Read(Transfer::new(0, 1)), &[]).why(), (3, (0x31, 0x03)));
        assert_eq!(bench.send(&FORMAT, &[]).why(), (3, (0x31, 0x03)));
        assert_eq!(bench.send(&EXIT, &[]).response.status == Response::GOOD, left);
        if !left {
            bench.send(&ERASE, &[]).good();
        }
        bench.send(&Cdb::Read(Transfer::new(0, 1)), &[]).good();
    }
    bench.send(&EXIT, &[]).good();
    assert_eq!(bench.disks.lent(), 0);
}

#[test]
fn jobs_take_turns() {
    let (mut bench, first) = slow(|_| {});
    let (backend, second) = Slow::new(3 << 20, |geometry| geometry.serial = 10);
    bench.disks.add(1, Box::new(backend)).unwrap();
    for number in [0, 1] {
        while bench.raw(ALICE, lun(number), &[0; 16], &[], 0).response.status != 0 {}
    }
    let erase = [0x48, 0x82, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let asked = || (first.borrow().asked.len(), second.borrow().asked.len());
    for number in [0, 1] {
        bench.raw(ALICE, lun(number), &erase, &[], 0).good();
    }
    first.borrow_mut().stuck = true;
    second.borrow_mut().stuck = true;
    let mut done = Vec::new();
    for _ in 0..3 {
        assert!(bench.disks.poll(0).is_none());
        done.push(asked());
    }
    assert_eq!(done, [(1, 0), (1, 1), (1, 1)], "an operation a poll");
    first.borrow_mut().stuck = false;
    (0..20).for_each(|_| assert!(bench.disks.poll(0).is_none()));
    assert_eq!(
        (asked(), bench.disks.poll_timeout()),
        ((2, 1), None),
        "the one that is stuck keeps the other from nothing"
    );
}
