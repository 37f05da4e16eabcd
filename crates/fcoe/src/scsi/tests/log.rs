//! Log pages, and the self-tests that one of them tells of.

use super::slow::Slow;
use super::support::*;
use crate::*;
use linerate_block::{BackendError, Ram};
use linerate_wire::scsi::{Access, Cdb, Transfer, asc};

fn log(page: u8, subpage: u8, pointer: u16) -> Cdb {
    Cdb::LogSense { save: false, control: 1, page, subpage, pointer, allocation: 4096 }
}

/// Codes and values of a page's parameters.
fn parameters(bench: &mut Bench, page: u8) -> Vec<(u16, Vec<u8>)> {
    let data = bench.send(&log(page, 0, 0), &[]).good();
    assert_eq!((data[0], data[1], usize::from(data[2]) << 8 | usize::from(data[3])), (0x80 | page, 0, data.len() - 4));
    let (mut rest, mut all) = (&data[4..], Vec::new());
    while let [a, b, _, len, after @ ..] = rest {
        let (value, next) = after.split_at(usize::from(*len));
        all.push((u16::from_be_bytes([*a, *b]), value.to_vec()));
        rest = next;
    }
    all
}

fn numbers(value: &[u8]) -> Vec<u64> {
    value.chunks(8).map(|number| u64::from_be_bytes(number.try_into().unwrap())).collect()
}

fn diagnostic(code: u8, test: bool) -> Cdb {
    Cdb::SendDiagnostic { code, pages: false, test, all_offline: false, offline: false, len: 0 }
}

#[test]
fn the_pages_that_there_are_are_listed() {
    // SPC-4, clause 7.3.18: pages, and pages with subpages.
    let mut bench = Bench::ram();
    assert_eq!(bench.send(&log(0, 0, 0), &[]).good(), [0, 0, 0, 6, 0, 2, 3, 0x10, 0x19, 0x2f]);
    let both = bench.send(&log(0, 0xff, 0), &[]).good();
    assert_eq!(both[..8], [0x40, 0xff, 0, 14, 0, 0, 0, 0xff]);
    for pair in both[4..].chunks(2) {
        bench.send(&log(pair[0], pair[1], 0), &[]).good();
    }
    let byte = |ended: Ended| {
        assert_eq!(ended.why(), (5, asc::FIELD_IN_CDB));
        ended.sense().unwrap().field.unwrap().byte
    };
    // Temperature, start-stop, and logical block provisioning are not known.
    for page in (0..0x40).filter(|page| ![0, 2, 3, 0x10, 0x19, 0x2f].contains(page)) {
        assert_eq!(byte(bench.send(&log(page, 0, 0), &[])), 2, "{page:#x}");
    }
    assert_eq!(byte(bench.send(&log(2, 1, 0), &[])), 3);
    for (page, beyond) in [(0, 1), (2, 7), (0x10, 21), (0x19, 4), (0x2f, 1)] {
        assert_eq!(byte(bench.send(&log(page, 0, beyond), &[])), 5, "{page:#x}");
    }
    let with = |save, control| Cdb::LogSense { save, control, page: 2, subpage: 0, pointer: 0, allocation: 99 };
    assert_eq!((byte(bench.send(&with(true, 1), &[])), byte(bench.send(&with(false, 0), &[]))), (1, 2));
    assert_eq!(bench.send(&log(2, 0, 6), &[]).good()[4..8], [0, 6, 2, 8], "from the second parameter on");
    assert_eq!(parameters(&mut bench, 0x2f), [(0, vec![0, 0, 0xff, 0])]);
    assert_eq!(log(0, 0, 0).access(), Access::Neither);
}

#[test]
fn what_is_counted_is_what_was_done() {
    // SPC-4, clauses 7.3.8 and 7.3.10.
    let (backend, diary) = Slow::new(1 << 20, |_| {});
    for (mut bench, diary) in [(Bench::ram(), None), (Bench::new(backend), Some(diary))] {
        bench.send(&Cdb::Write(Transfer::new(0, 3)), &[1; 1536]).good();
        bench.send(&Cdb::Read(Transfer::new(0, 2)), &[]).good();
        bench.send(&Cdb::Read(Transfer::new(0, 5)), &[]).good();
        assert_eq!(bench.send(&Cdb::Read(Transfer::new(1 << 20, 1)), &[]).why(), (5, asc::LBA_OUT_OF_RANGE));
        let statistics = parameters(&mut bench, 0x19);
        assert_eq!(
            statistics.iter().map(|(code, value)| (*code, value.len())).collect::<Vec<_>>(),
            [(1, 64), (2, 8), (3, 8)]
        );
        assert_eq!(numbers(&statistics[0].1), [2, 1, 3, 7, 0, 0, 0, 0]);
        let mut failed = [0, 0];
        if let Some(diary) = diary {
            diary.borrow_mut().results = vec![BackendError::Gone, BackendError::Medium];
            assert_eq!(bench.send(&Cdb::Read(Transfer::new(0, 1)), &[]).why().0, 3);
            assert_eq!(bench.send(&Cdb::Read(Transfer::new(0, 1)), &[]).why().0, 4, "no error of the medium");
            diary.borrow_mut().results = vec![BackendError::Medium];
            assert_eq!(bench.send(&Cdb::Write(Transfer::new(0, 1)), &[1; 512]).why().0, 3);
            failed = [1, 2];
        }
        let errors = |bench: &mut Bench, page| {
            let all = parameters(bench, page);
            assert_eq!(all.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [5, 6]);
            (numbers(&all[0].1)[0], numbers(&all[1].1)[0])
        };
        assert_eq!(errors(&mut bench, 2), (1536 + 512 * failed[0], failed[0]));
        assert_eq!(errors(&mut bench, 3), (3584 + 512 * failed[1], failed[0]));
        // LOG SELECT with PCR clears one page, or all, and tells the others.
        let clear = |page| Cdb::LogSelect { reset: true, save: false, control: 1, page, subpage: 0, len: 0 };
        bench.send(&clear(3), &[]).good();
        assert_eq!((errors(&mut bench, 3), errors(&mut bench, 2).0 > 0), ((0, 0), true));
        assert_eq!(bench.by(BOB, &Cdb::TestUnitReady, &[]).why(), (6, (0x2a, 0x02)));
        bench.send(&Cdb::TestUnitReady, &[]).good();
        bench.send(&clear(0), &[]).good();
        assert_eq!(errors(&mut bench, 2), (0, 0));
        assert_eq!(numbers(&parameters(&mut bench, 0x19)[0].1), [0; 8]);
        bench.send(&Cdb::Write(Transfer::new(0, 1)), &[1; 512]).good();
        assert_eq!((errors(&mut bench, 2), errors(&mut bench, 3)), ((512, 0), (0, 0)));
        let counters = bench.disks.status().next().unwrap().counters;
        assert!(counters.writes >= 2 && counters.bytes_written >= 2048, "the unit's own counters go on");
    }
}

#[test]
fn nothing_else_can_be_selected() {
    let mut bench = Bench::ram();
    let plain = Cdb::LogSelect { reset: false, save: false, control: 1, page: 0, subpage: 0, len: 0 };
    bench.send(&plain, &[]).good();
    bench.by(BOB, &Cdb::TestUnitReady, &[]).good();
    for (cdb, byte) in [
        (Cdb::LogSelect { reset: true, save: true, control: 1, page: 0, subpage: 0, len: 0 }, 1),
        (Cdb::LogSelect { reset: true, save: false, control: 1, page: 1, subpage: 0, len: 0 }, 2),
        (Cdb::LogSelect { reset: true, save: false, control: 1, page: 2, subpage: 1, len: 0 }, 3),
        (Cdb::LogSelect { reset: false, save: false, control: 1, page: 0, subpage: 0, len: 8 }, 7),
    ] {
        let ended = bench.send(&cdb, &[0; 8]);
        assert_eq!((ended.why(), ended.sense().unwrap().field.unwrap().byte), ((5, asc::FIELD_IN_CDB), byte));
    }
    assert_eq!(plain.access(), Access::Writes);
}

#[test]
fn a_self_test_reads_and_is_remembered() {
    // SPC-4, clauses 5.9 and 7.3.17.
    let (backend, diary) = Slow::new(4 << 20, |_| {});
    let mut bench = Bench::new(backend);
    assert_eq!(parameters(&mut bench, 0x10).len(), 20);
    assert!(parameters(&mut bench, 0x10).iter().all(|(_, value)| *value == [0; 16]));
    bench.send(&diagnostic(0, true), &[]).good();
    bench.send(&diagnostic(5, false), &[]).good();
    let short = ["read 0 1", "read 4096 1", "read 8191 1"];
    assert_eq!(std::mem::take(&mut diary.borrow_mut().asked), [short, short].concat());
    bench.send(&diagnostic(6, false), &[]).good();
    let all = ["read 0 2048", "read 2048 2048", "read 4096 2048", "read 6144 2048"];
    assert_eq!(std::mem::take(&mut diary.borrow_mut().asked), all);
    (diary.borrow_mut().good, diary.borrow_mut().results) = (2, vec![BackendError::Medium]);
    assert_eq!(bench.send(&diagnostic(0, true), &[]).why(), (4, (0x3e, 0x03)));
    let results = parameters(&mut bench, 0x10);
    assert_eq!(results[0].1, [4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1f, 0xff, 3, 0x11, 0, 0], "the newest is the first");
    let fine = [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    assert_eq!((results[1].1[0], results[2].1[0], &results[3].1[..]), (6 << 5, 5 << 5, &fine[..]));
    assert_eq!(results[4].1, [0; 16]);
    // One that is aborted says so.
    diary.borrow_mut().stuck = true;
    let cdb = diagnostic(5, false).bytes().unwrap().sixteen().unwrap();
    let task = bench.task(ALICE, lun(0), &cdb, 0, 0);
    assert!(matches!(bench.disks.command(0, &task), Step::Pending));
    bench.disks.abort(task.tag, None);
    diary.borrow_mut().stuck = false;
    assert!(bench.disks.poll(0).is_none());
    assert_eq!(parameters(&mut bench, 0x10)[0].1[0], 5 << 5 | 2);
    for _ in 0..30 {
        bench.send(&diagnostic(0, true), &[]).good();
    }
    assert_eq!(parameters(&mut bench, 0x10).len(), 20);
    // There is no test in the background, and memory has no other test than the short one.
    for code in [1, 2, 4, 3, 7] {
        assert_eq!(bench.send(&diagnostic(code, false), &[]).why(), (5, asc::FIELD_IN_CDB));
    }
    let mut memory = Bench::ram();
    assert_eq!(memory.send(&diagnostic(6, false), &[]).why(), (5, asc::FIELD_IN_CDB));
    memory.send(&diagnostic(5, false), &[]).good();
    assert_eq!(memory.disks.lent(), 0);
}

#[test]
fn a_self_test_verifies_protection_information() {
    let mut memory = Ram::new(1 << 20, 512, true, 1).unwrap();
    linerate_block::Backend::memory(&mut memory).unwrap().set_protection(2047, [1, 2, 0, 0, 0, 0, 7, 0xff]);
    let mut bench = Bench::new(memory);
    assert_eq!(bench.send(&diagnostic(5, false), &[]).why(), (4, asc::SELF_TEST_FAILED));
    let newest = &parameters(&mut bench, 0x10)[0].1;
    assert_eq!(newest[..], [5 << 5 | 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0xff, 0xb, 0x10, 1, 0]);
}

#[test]
fn diagnostic_pages_there_are_none_but_their_list() {
    // SPC-4, clauses 6.28 and 7.2.
    let mut bench = Bench::ram();
    let receive = |coded, page, allocation| Cdb::ReceiveDiagnostic { coded, page, allocation };
    assert_eq!(bench.send(&receive(true, 0, 255), &[]).good(), [0, 0, 0, 1, 0]);
    assert_eq!(bench.send(&receive(false, 0, 4), &[]).good(), [0, 0, 0, 1]);
    assert_eq!(bench.send(&receive(true, 0x40, 255), &[]).why(), (5, asc::FIELD_IN_CDB));
    assert_eq!(receive(true, 0, 4).access(), Access::Reads);
}
