//! READ and WRITE.

use super::slow::{Diary, Slow};
use super::support::*;
use crate::*;
use linerate_block::{BackendError, Null, Ram};
use linerate_wire::scsi::{Cdb, Transfer, Width, asc};
use std::cell::RefCell;
use std::rc::Rc;

fn slow() -> (Bench, Rc<RefCell<Diary>>) {
    let (backend, diary) = Slow::new(1 << 20, |_| {});
    (Bench::new(backend), diary)
}

fn blocks(count: usize, value: u8) -> Vec<u8> {
    vec![value; count * 512]
}

#[test]
fn every_width_writes_and_reads() {
    // SBC-3, clauses 5.11 to 5.14 and 5.33 to 5.36.
    for mut bench in [Bench::ram(), slow().0] {
        for (i, width) in [Width::Six, Width::Ten, Width::Twelve, Width::Sixteen].into_iter().enumerate() {
            let value = u8::try_from(i).unwrap() + 1;
            let transfer = Transfer { width, ..Transfer::new(10 * i as u64, 3) };
            assert!(bench.send(&Cdb::Write(transfer), &blocks(3, value)).good().is_empty());
            let ended = bench.send(&Cdb::Read(Transfer { blocks: 4, ..transfer }), &[]);
            assert_eq!(ended.response.wanted, 2048);
            assert_eq!(ended.good(), [blocks(3, value), blocks(1, 0)].concat());
        }
        // READ (6) of 0 blocks means 256 (SBC-2, clause 5.5).
        assert_eq!(bench.raw(ALICE, lun(0), &[8, 0, 0, 0, 0, 0], &[], u32::MAX).good().len(), 256 * 512);
        let status = bench.disks.status().next().unwrap();
        assert_eq!((status.counters.reads, status.counters.writes, status.counters.bytes_written), (5, 4, 4 * 1536));
    }
}

#[test]
fn no_block_is_no_error() {
    // SBC-3, clause 5.11: a TRANSFER LENGTH of zero.
    for mut bench in [Bench::ram(), slow().0] {
        assert!(bench.send(&Cdb::Read(Transfer::new(2048, 0)), &[]).good().is_empty());
        assert!(bench.send(&Cdb::Write(Transfer::new(0, 0)), &[]).good().is_empty());
    }
}

#[test]
fn blocks_that_are_not_there_are_refused() {
    // SBC-3, clause 4.5: LOGICAL BLOCK ADDRESS OUT OF RANGE.
    for mut bench in [Bench::ram(), slow().0] {
        for (lba, count) in [(2048, 1), (2047, 2), (2049, 0), (u64::MAX, 1), (u64::MAX, 16384), (0, 2049)] {
            let transfer = Transfer { width: Width::Sixteen, ..Transfer::new(lba, count) };
            assert_eq!(bench.send(&Cdb::Read(transfer), &[]).why(), (5, asc::LBA_OUT_OF_RANGE));
            assert_eq!(bench.send(&Cdb::Write(transfer), &blocks(1, 1)).why(), (5, asc::LBA_OUT_OF_RANGE));
        }
        assert_eq!(bench.disks.status().next().unwrap().counters.checks, 14, "12 and that Alice and Bob were new");
    }
}

#[test]
fn more_than_the_maximum_transfer_length_is_refused() {
    // SBC-3, clause 6.6.3: 8 MiB here.
    for (width, byte) in [(Width::Ten, 7), (Width::Twelve, 6), (Width::Sixteen, 10)] {
        let mut bench = Bench::new(Null::new(1 << 40, 512, 1).unwrap());
        let most = Transfer { width, ..Transfer::new(0, 16384) };
        assert_eq!(bench.send(&Cdb::Read(most), &[]).good().len(), 8 << 20);
        for blocks in [16385, 65535] {
            let ended = bench.send(&Cdb::Read(Transfer { blocks, ..most }), &[]);
            assert_eq!(ended.why(), (5, asc::FIELD_IN_CDB));
            assert_eq!(ended.sense().unwrap().field.unwrap().byte, byte);
        }
    }
    let mut bench = Bench::new(Null::new(1 << 50, 4096, 1).unwrap());
    assert_eq!(bench.send(&Cdb::Read(Transfer::new(0, u32::MAX)), &[]).why(), (5, asc::FIELD_IN_CDB));
}

#[test]
fn what_is_wanted_and_what_is_given_may_differ() {
    // FCP-4, clause 9.5: the residual is what the command wanted against FCP_DL.
    for mut bench in [Bench::ram(), slow().0] {
        let cdb = |cdb: Cdb| cdb.bytes().unwrap().sixteen().unwrap();
        let read = bench.raw(ALICE, lun(0), &cdb(Cdb::Read(Transfer::new(0, 4))), &[], 600);
        assert_eq!((read.response.wanted, read.good().len()), (2048, 600));
        // A write that is given more takes what it needs.
        let write = bench.raw(ALICE, lun(0), &cdb(Cdb::Write(Transfer::new(0, 1))), &blocks(2, 7), 0);
        assert_eq!((write.response.status, write.response.wanted), (Response::GOOD, 512));
        // A write that is given less writes nothing.
        let write = bench.raw(ALICE, lun(0), &cdb(Cdb::Write(Transfer::new(0, 2))), &blocks(1, 8), 0);
        assert_eq!((write.response.wanted, write.why()), (1024, (5, asc::INFORMATION_UNIT)));
        assert_eq!(bench.send(&Cdb::Read(Transfer::new(0, 2)), &[]).good(), [blocks(1, 7), blocks(1, 0)].concat());
    }
}

#[test]
fn protection_information_that_is_not_there_is_not_asked_for() {
    // SBC-3, clause 5.11: RDPROTECT of a unit without protection information; clause 5.14: READ (32) needs type 2.
    let mut bench = Bench::ram();
    let protect = Transfer { protect: 1, ..Transfer::new(0, 1) };
    for ended in [bench.send(&Cdb::Read(protect), &[]), bench.send(&Cdb::Write(protect), &blocks(1, 0))] {
        assert_eq!((ended.why(), ended.sense().unwrap().field.unwrap().bit), ((5, asc::FIELD_IN_CDB), Some(7)));
    }
    let long = Transfer { width: Width::ThirtyTwo(Default::default()), ..Transfer::new(0, 1) };
    assert_eq!(bench.send(&Cdb::Read(long), &[]).why(), (5, asc::OPCODE));
}

#[test]
fn fua_reaches_the_medium() {
    // SBC-3, clauses 5.11 and 5.33: FUA; READ first puts on the medium what is in the cache.
    let (mut bench, diary) = slow();
    let fua = Transfer { fua: true, ..Transfer::new(1, 2) };
    bench.send(&Cdb::Write(fua), &blocks(2, 1)).good();
    bench.send(&Cdb::Write(Transfer::new(1, 1)), &blocks(1, 2)).good();
    bench.send(&Cdb::Read(fua), &[]).good();
    bench.send(&Cdb::Read(Transfer::new(1, 2)), &[]).good();
    assert_eq!(diary.borrow().asked, ["write 1 2 fua", "write 1 1", "flush", "read 1 2", "read 1 2"]);
    assert!(diary.borrow().flushes >= 5, "what is submitted is handed on");
}

#[test]
fn a_back_end_that_fails_is_told_as_it_failed() {
    // SPC-4, clause 4.5.6.
    let (mut bench, diary) = slow();
    for (error, read, write) in [
        (BackendError::Medium, (3, asc::READ_ERROR), (3, asc::WRITE_ERROR)),
        (BackendError::NoSpace, (7, asc::NO_SPACE), (7, asc::NO_SPACE)),
        (BackendError::ReadOnly, (7, asc::WRITE_PROTECTED), (7, asc::WRITE_PROTECTED)),
        (BackendError::Gone, (4, asc::UNIT_FAILURE), (4, asc::UNIT_FAILURE)),
        (BackendError::Unsupported, (4, asc::TARGET_FAILURE), (4, asc::TARGET_FAILURE)),
    ] {
        diary.borrow_mut().results.push(error);
        assert_eq!(bench.send(&Cdb::Read(Transfer::new(5, 1)), &[]).why(), read);
        diary.borrow_mut().results.push(error);
        assert_eq!(bench.send(&Cdb::Write(Transfer::new(5, 1)), &blocks(1, 1)).why(), write);
    }
    diary.borrow_mut().results.push(BackendError::Medium);
    let ended = bench.send(&Cdb::Read(Transfer::new(5, 1)), &[]);
    assert_eq!(ended.sense().unwrap().information, Some(5));
    assert_eq!(bench.disks.status().next().unwrap().counters.failures, 11);
    assert_eq!(bench.send(&Cdb::Read(Transfer::new(0, 2048)), &[]).good().len(), 1 << 20, "all buffers came back");
}

#[test]
fn what_is_read_only_is_not_written() {
    // SBC-3, clause 4.12: DATA PROTECT, WRITE PROTECTED, before any data is asked for.
    let mut bench = Bench::new(Ram::new(4096, 512, false, 1).unwrap().read_only());
    assert_eq!(bench.send(&Cdb::Write(Transfer::new(0, 1)), &blocks(1, 1)).why(), (7, asc::WRITE_PROTECTED));
    assert_eq!(bench.send(&Cdb::Read(Transfer::new(0, 1)), &[]).good(), blocks(1, 0));
}

#[test]
fn without_a_buffer_the_task_set_is_full() {
    // SAM-5, clause 5.3.1: TASK SET FULL.
    let (backend, diary) = Slow::new(1 << 20, |_| {});
    let mut disks = Disks::new(&DisksConfig { buffers: 4096, ..CONFIG });
    disks.add(0, Box::new(backend)).unwrap();
    disks.nexus(ALICE, wwpn(ALICE));
    let mut bench = Bench { disks, next: 0 };
    assert_eq!(bench.raw(ALICE, lun(0), &[0; 16], &[], 0).why(), (6, asc::RESET));
    diary.borrow_mut().stuck = true;
    let cdb = Cdb::Read(Transfer::new(0, 1)).bytes().unwrap();
    let first = bench.task(ALICE, lun(0), &cdb, 0, 512);
    assert!(matches!(bench.disks.command(0, &first), Step::Pending));
    for cdb in [Cdb::Read(Transfer::new(0, 1)), Cdb::Inquiry { page: None, allocation: 36 }] {
        assert_eq!(bench.send(&cdb, &[]).response.status, Response::TASK_SET_FULL);
    }
    let write = bench.send(&Cdb::Write(Transfer::new(0, 1)), &blocks(1, 1));
    assert_eq!(write.response.status, Response::TASK_SET_FULL);
    diary.borrow_mut().stuck = false;
    let (tag, step) = bench.disks.poll(0).unwrap();
    assert_eq!(tag, first.tag);
    assert_eq!(bench.finish(tag, step, &[], 512).good(), blocks(1, 0));
    assert_eq!(bench.send(&Cdb::Inquiry { page: None, allocation: 36 }, &[]).good().len(), 36);
}

/// Regression: a READ whose FCP_CMND had WRDATA ended GOOD, and its data went nowhere.
#[test]
fn what_reads_is_refused_to_who_wants_to_write() {
    let read = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    let inquiry = [0x12, 0, 0, 0, 96, 0];
    for mut bench in [Bench::ram(), Bench::new(Slow::new(4096, |_| {}).0)] {
        for cdb in [&read[..], &inquiry] {
            assert_eq!(bench.raw(ALICE, lun(0), cdb, &[0; 512], 0).why(), (5, asc::INFORMATION_UNIT), "{cdb:x?}");
        }
        assert_eq!(bench.raw(ALICE, lun(9), &inquiry, &[0; 96], 0).why(), (5, asc::INFORMATION_UNIT), "no such LUN");
        assert_eq!(bench.raw(ALICE, lun(0), &read, &[], 512).good().len(), 512);
    }
}
