//! EXTENDED COPY.

use super::slow::{Diary, Slow};
use super::support::*;
use crate::*;
use linerate_block::{Backend, BackendError, Geometry, Ram};
use linerate_wire::scsi::{Access, Cdb, CopyList, CopySegment, CopyTarget, Inquiry, ReserveParameters, Transfer, asc};
use std::cell::RefCell;
use std::rc::Rc;

/// LUN 0 of 4 MiB in memory with number 0x1234, and that back end as LUN 1 with number 0x99.
fn with(backend: impl Backend + 'static) -> Bench {
    let mut bench = Bench::new(Ram::new(4 << 20, 512, false, 0x1234).unwrap());
    let options = UnitOptions { name: Some(UnitName::of_number(0x99)), ..Default::default() };
    bench.disks.add_with(1, Box::new(backend), options).unwrap();
    for (who, number) in [(ALICE, 0), (BOB, 0), (ALICE, 1), (BOB, 1)] {
        while bench.raw(who, lun(number), &[0; 16], &[], 0).response.status != 0 {}
    }
    bench
}

fn slow(change: impl FnOnce(&mut Geometry)) -> (Bench, Rc<RefCell<Diary>>) {
    let (backend, diary) = Slow::new(4 << 20, change);
    (with(backend), diary)
}

fn target(number: u64) -> CopyTarget {
    let identifier = Naa::local(number).bytes().to_vec();
    CopyTarget { code_set: 1, kind: 3, association: 0, identifier, block_size: 512 }
}

/// List of one segment from one LUN to another.
fn list(from: u16, to: u16, blocks: u16, source: u64, destination: u64) -> CopyList {
    let segments = vec![CopySegment { from, to, blocks, source, destination }];
    CopyList { targets: vec![target(0x1234), target(0x99)], segments }
}

fn command(list: &CopyList) -> (Cdb, Vec<u8>) {
    let mut bytes = Vec::new();
    list.put(&mut bytes);
    (Cdb::ExtendedCopy { len: u32::try_from(bytes.len()).unwrap() }, bytes)
}

fn copy(bench: &mut Bench, list: &CopyList) -> Ended {
    let (cdb, bytes) = command(list);
    bench.send(&cdb, &bytes)
}

fn at(number: u16, cdb: &Cdb) -> impl FnMut(&mut Bench, &[u8]) -> Ended + use<> {
    let cdb = cdb.bytes().unwrap().sixteen().unwrap();
    move |bench, data| bench.raw(ALICE, lun(number), &cdb, data, if data.is_empty() { u32::MAX } else { 0 })
}

fn pattern(blocks: usize) -> Vec<u8> {
    (0..blocks * 512).map(|i| u8::try_from((i / 512 * 7 + i) % 251).unwrap()).collect()
}

/// Begins a copy, and returns its tag.
fn begin(bench: &mut Bench, list: &CopyList) -> linerate_block::Tag {
    let (cdb, bytes) = command(list);
    let cdb = cdb.bytes().unwrap().sixteen().unwrap();
    let task = bench.task(ALICE, lun(0), &cdb, bytes.len(), 0);
    let Step::Receive { mut buffer } = bench.disks.command(0, &task) else { panic!("no list is asked for") };
    buffer.bytes_mut().copy_from_slice(&bytes);
    assert!(matches!(bench.disks.received(0, task.tag, Some(buffer)), Step::Pending));
    task.tag
}

#[test]
fn blocks_go_from_one_unit_to_another() {
    // SPC-4, clause 6.4.6.4.
    let data = pattern(5000);
    for mut bench in [with(Ram::new(4 << 20, 512, false, 7).unwrap()), slow(|_| {}).0] {
        bench.send(&Cdb::Write(Transfer::new(100, 5000)), &data).good();
        let ended = copy(&mut bench, &list(0, 1, 5000, 100, 17));
        assert_eq!((ended.response.status, ended.response.wanted), (0, 16 + 64 + 28));
        let read = Cdb::Read(Transfer::new(16, 5002));
        let all = at(1, &read)(&mut bench, &[]).good();
        assert_eq!((&all[512..512 + data.len()], &all[..512]), (&data[..], &[0; 512][..]));
        assert_eq!(all[512 + data.len()..], [0; 512]);
        // And back, in two segments.
        let mut back = list(1, 0, 2, 17, 6000);
        back.segments.push(CopySegment { from: 0, to: 0, blocks: 1, source: 6001, destination: 6100 });
        copy(&mut bench, &back).good();
        let read = |lba| Cdb::Read(Transfer::new(lba, 1));
        assert_eq!(bench.send(&read(6000), &[]).good(), data[..512]);
        assert_eq!(bench.send(&read(6100), &[]).good(), data[512..1024]);
        assert_eq!((bench.disks.lent(), bench.disks.poll_timeout()), (0, None));
    }
    assert_eq!(Cdb::ExtendedCopy { len: 0 }.access(), Access::Writes);
}

#[test]
fn blocks_that_overlap_arrive_as_they_were() {
    let data = pattern(5000);
    for (source, destination) in [(100, 350), (350, 100), (100, 4000)] {
        let (mut bench, _) = slow(|_| {});
        at(1, &Cdb::Write(Transfer::new(source, 4000)))(&mut bench, &data[..4000 * 512]).good();
        copy(&mut bench, &list(1, 1, 4000, source, destination)).good();
        let read = at(1, &Cdb::Read(Transfer::new(destination, 4000)))(&mut bench, &[]).good();
        assert!(read == data[..4000 * 512], "{source} to {destination}");
    }
}

#[test]
fn protection_information_is_made_for_its_new_place() {
    let memory = Ram::new(4 << 20, 512, true, 7).unwrap();
    let mut bench = with(memory);
    bench.send(&Cdb::Write(Transfer::new(0, 2)), &pattern(2)).good();
    copy(&mut bench, &list(0, 1, 2, 0, 40)).good();
    let read = Cdb::Read(Transfer { protect: 1, ..Transfer::new(40, 2) });
    let all = at(1, &read)(&mut bench, &[]).good();
    assert_eq!((&all[..512], &all[516..520]), (&pattern(2)[..512], &[0, 0, 0, 40][..]));
    copy(&mut bench, &list(1, 0, 2, 40, 9)).good();
    assert_eq!(bench.send(&Cdb::Read(Transfer::new(9, 2)), &[]).good(), pattern(2));
    at(1, &Cdb::Read(Transfer::new(0, 1)))(&mut bench, &[]).good();
    let last = linerate_block::Tag(bench.next);
    bench.disks.memory(last).unwrap().set_protection(41, [1, 2, 0, 0, 0, 0, 0, 41]);
    assert_eq!(copy(&mut bench, &list(1, 0, 2, 40, 9)).why(), (0xa, asc::GUARD_CHECK));
}

#[test]
fn a_copy_may_no_more_than_its_initiator() {
    // SPC-4, clauses 5.13.1 and 6.4.4.
    let (mut bench, _) = slow(|_| {});
    let mut unknown = list(0, 1, 1, 0, 0);
    unknown.targets[1] = target(0x98);
    assert_eq!(copy(&mut bench, &unknown).why(), (0xa, (0x0d, 0x02)));
    assert_eq!(copy(&mut bench, &list(0, 2, 1, 0, 0)).why(), (0xa, (0x0d, 0x02)), "an index beyond the list");
    for (source, destination) in [(8192, 0), (0, 8192), (u64::MAX, 0)] {
        assert_eq!(copy(&mut bench, &list(0, 1, 1, source, destination)).why(), (0xa, asc::LBA_OUT_OF_RANGE));
    }
    let mut other = list(0, 1, 1, 0, 0);
    other.targets[0].block_size = 520;
    assert_eq!(copy(&mut bench, &other).why(), (5, asc::FIELD_IN_PARAMETERS));
    let long = Cdb::ExtendedCopy { len: 977 };
    assert_eq!(bench.send(&long, &[0; 977]).why(), (5, asc::PARAMETER_LENGTH));
    assert_eq!(bench.send(&Cdb::ExtendedCopy { len: 3 }, &[0; 3]).why(), (5, asc::PARAMETER_LENGTH));
    bench.send(&Cdb::ExtendedCopy { len: 0 }, &[]).good();
    copy(&mut bench, &list(0, 1, 0, 0, 0)).good();
    // Reservations of another initiator, of either kind and on either side.
    let by_bob = |bench: &mut Bench, number, action, kind, keys: (u64, u64)| {
        let list = ReserveParameters { key: keys.0, action_key: keys.1, ..Default::default() };
        let cdb = Cdb::PersistentReserveOut { action, scope: 0, kind, len: 24 }.bytes().unwrap().sixteen().unwrap();
        bench.raw(BOB, lun(number), &cdb, &list.bytes(), 0).good();
    };
    for (kind, reads) in [(1, true), (3, false)] {
        by_bob(&mut bench, 1, 0, 0, (0, 1));
        by_bob(&mut bench, 1, 1, kind, (1, 0));
        assert_eq!(copy(&mut bench, &list(0, 1, 1, 0, 0)).why(), (0xa, (0x0d, 0x01)));
        assert_eq!(copy(&mut bench, &list(1, 0, 1, 0, 0)).response.status == 0, reads);
        by_bob(&mut bench, 1, 3, 0, (1, 0));
    }
    // One that is made while it copies.
    let tag = begin(&mut bench, &list(0, 1, 8000, 0, 0));
    for _ in 0..2 {
        assert!(bench.disks.poll(0).is_none());
    }
    by_bob(&mut bench, 1, 0, 0, (0, 1));
    by_bob(&mut bench, 1, 1, 1, (1, 0));
    let ended = (0..9).find_map(|_| bench.disks.poll(0)).unwrap();
    let Step::End(response) = ended.1 else { panic!("it has not ended") };
    assert_eq!((ended.0, response.parsed_sense().unwrap().code), (tag, (0x0d, 0x01)));
    by_bob(&mut bench, 1, 3, 0, (1, 0));
    // A stopped, a write-protected and a hidden unit.
    let mut stop = |byte| at(1, &Cdb::parse(&[0x1b, 0, 0, 0, byte, 0]).unwrap())(&mut bench, &[]).good();
    stop(0);
    assert_eq!(copy(&mut bench, &list(0, 1, 1, 0, 0)).why(), (0xa, asc::STOPPED));
    assert_eq!(bench.disks.lent(), 0);
    let (mut bench, _) = slow(|geometry| geometry.read_only = true);
    assert_eq!(copy(&mut bench, &list(0, 1, 1, 0, 0)).why(), (0xa, asc::WRITE_PROTECTED));
    copy(&mut bench, &list(1, 0, 1, 0, 0)).good();
    bench.disks.allow(wwpn(ALICE), &[0]);
    while bench.send(&Cdb::TestUnitReady, &[]).response.status != 0 {}
    assert_eq!(copy(&mut bench, &list(1, 0, 1, 0, 0)).why(), (0xa, asc::COPY_TARGET_NOT_REACHABLE));
}

#[test]
fn its_limits_are_told() {
    // SPC-4, clauses 6.6.2 and 6.23.
    let mut bench = with(Ram::new(1 << 30, 512, false, 7).unwrap());
    let inquiry = bench.send(&Cdb::Inquiry { page: None, allocation: 96 }, &[]).good();
    assert!(Inquiry::parse(&inquiry).unwrap().copies);
    let told = bench.send(&Cdb::CopyParameters { allocation: 4096 }, &[]).good();
    assert_eq!(told[..20], [0, 0, 0, 42, 0, 0, 0, 0, 0, 16, 0, 16, 0, 0, 3, 0xc0, 4, 0, 0, 0]);
    assert_eq!(told[20..], [&[0; 12][..], &[0, 0, 0, 16, 16, 9, 0, 0, 0, 0, 0, 2, 2, 0xe4]].concat());
    let mut large = with(Ram::new(1 << 30, 4096, false, 7).unwrap());
    let mut beyond = list(0, 0, 16385, 0, 20000);
    beyond.targets[0] = CopyTarget { block_size: 4096, ..target(0x99) };
    beyond.targets.truncate(1);
    assert_eq!(copy(&mut large, &beyond).why(), (5, asc::FIELD_IN_PARAMETERS), "64 MiB and a block");
    // More at a time than are told have to wait.
    for _ in 0..16 {
        begin(&mut bench, &list(0, 1, 1, 0, 0));
    }
    let (cdb, bytes) = command(&list(0, 1, 1, 0, 0));
    let cdb = cdb.bytes().unwrap().sixteen().unwrap();
    let task = bench.task(ALICE, lun(0), &cdb, bytes.len(), 0);
    let Step::Receive { mut buffer } = bench.disks.command(0, &task) else { panic!("no list is asked for") };
    buffer.bytes_mut().copy_from_slice(&bytes);
    let Step::End(response) = bench.disks.received(0, task.tag, Some(buffer)) else { panic!("it has begun") };
    assert_eq!(response.status, Response::TASK_SET_FULL);
    assert_eq!(bench.disks.poll_timeout(), Some(0));
    // They take turns, by one operation a poll.
    assert!((0..32).all(|_| bench.disks.poll(0).is_none()));
    let ended = (0..100).filter_map(|_| bench.disks.poll(0)).count();
    assert_eq!((ended, bench.disks.poll_timeout(), bench.disks.lent()), (16, None, 0));
}

#[test]
fn a_copy_goes_on_by_one_operation_a_poll_and_ends_with_its_task() {
    let (mut bench, diary) = slow(|_| {});
    bench.send(&Cdb::Write(Transfer::new(0, 8000)), &pattern(8000)).good();
    let copying = list(0, 1, 8000, 0, 0);
    begin(&mut bench, &copying);
    let mut done = Vec::new();
    for _ in 0..3 {
        assert!(bench.disks.poll(0).is_none());
        done.push(diary.borrow().asked.len());
    }
    assert_eq!(done, [0, 1, 1], "read, written, and then the next is read");
    // A comparison waits for the write under way; the copy waits for what an aborted task may still write.
    for how in 0..3 {
        let (mut bench, diary) = slow(|_| {});
        diary.borrow_mut().stuck = how > 0;
        let tag = begin(&mut bench, &copying);
        let polls = [1, 2, 2][how];
        for _ in 0..polls {
            assert!(bench.disks.poll(0).is_none());
        }
        if how == 2 {
            let mut aborted = Vec::new();
            bench.disks.manage(0, ALICE, lun(0), Function::AbortTaskSet, &mut |tag| aborted.push(tag));
            assert_eq!(aborted, [tag]);
        } else {
            bench.disks.abort(tag, None);
        }
        let before = diary.borrow().asked.len();
        let write = Cdb::Write(Transfer::new(5, 1)).bytes().unwrap().sixteen().unwrap();
        let task = bench.task(ALICE, lun(1), &write, 512, 0);
        let Step::Receive { buffer } = bench.disks.command(0, &task) else { panic!("no data out is asked for") };
        assert!(matches!(bench.disks.received(0, task.tag, Some(buffer)), Step::Pending));
        assert_eq!(diary.borrow().asked.len() - before, usize::from(how == 0), "{how}");
        diary.borrow_mut().stuck = false;
        let ended: Vec<_> = (0..20).filter_map(|_| bench.disks.poll(0)).map(|(tag, _)| tag).collect();
        assert_eq!((ended, bench.disks.lent()), (vec![task.tag], 0));
        assert!(diary.borrow().asked.last().unwrap().starts_with("write 5 1"));
        // Nothing is held any more.
        let compare = Cdb::CompareAndWrite { lba: 9, blocks: 1, protect: 0, dpo: false, fua: false };
        at(1, &compare)(&mut bench, &[0; 1024]).good();
    }
}

#[test]
fn a_comparison_and_a_copy_wait_for_each_other() {
    let (mut bench, diary) = slow(|_| {});
    let compare = Cdb::CompareAndWrite { lba: 9, blocks: 1, protect: 0, dpo: false, fua: false };
    let cdb = compare.bytes().unwrap().sixteen().unwrap();
    diary.borrow_mut().stuck = true;
    let task = bench.task(BOB, lun(1), &cdb, 1024, 0);
    let Step::Receive { mut buffer } = bench.disks.command(0, &task) else { panic!("no data out is asked for") };
    buffer.bytes_mut().fill(0);
    assert!(matches!(bench.disks.received(0, task.tag, Some(buffer)), Step::Pending));
    let tag = begin(&mut bench, &list(0, 1, 20, 0, 0));
    for _ in 0..5 {
        assert!(bench.disks.poll(0).is_none());
    }
    assert_eq!((&diary.borrow().asked[..], bench.disks.poll_timeout()), (&["read 9 1".to_string()][..], None));
    diary.borrow_mut().stuck = false;
    let ended: Vec<_> = (0..20).filter_map(|_| bench.disks.poll(0)).map(|(tag, _)| tag).collect();
    assert_eq!(ended, [task.tag, tag]);
    assert_eq!(diary.borrow().asked[1..], ["write 9 1", "write 0 20"]);
}

#[test]
fn a_failure_ends_it() {
    let (mut bench, diary) = slow(|_| {});
    for (from, to) in [(0, 1), (1, 0)] {
        diary.borrow_mut().results = vec![BackendError::Medium];
        let ended = copy(&mut bench, &list(from, to, 8, 0, 0));
        assert_eq!((ended.why().0, bench.disks.lent()), (0xa, 0));
    }
}

/// A unit that is removed ends the copies to it, whoever has its LUN next.
#[test]
fn a_copy_to_a_unit_that_is_removed_is_aborted() {
    let (mut bench, diary) = slow(|_| {});
    bench.send(&Cdb::Write(Transfer::new(0, 5000)), &pattern(5000)).good();
    let tag = begin(&mut bench, &list(0, 1, 5000, 0, 0));
    diary.borrow_mut().stuck = true;
    while diary.borrow().open.is_empty() {
        assert!(bench.disks.poll(0).is_none());
    }
    diary.borrow_mut().stuck = false;
    bench.disks.remove(1).unwrap();
    let ended: Vec<_> = std::iter::from_fn(|| bench.disks.poll(0)).collect();
    let [(of, Step::End(response))] = &ended[..] else { panic!("{ended:?}") };
    assert_eq!((*of, response.status), (tag, Response::TASK_ABORTED));
    let name = Some(UnitName::of_number(0x99));
    let next = Box::new(Ram::new(4 << 20, 512, false, 8).unwrap());
    bench.disks.add_with(1, next, UnitOptions { name, ..Default::default() }).unwrap();
    for _ in 0..100 {
        assert!(bench.disks.poll(0).is_none());
    }
    assert_eq!((bench.disks.leaving(), bench.disks.lent(), Rc::strong_count(&diary)), (0, 0, 1));
    while bench.raw(ALICE, lun(1), &[0; 16], &[], 0).response.status != 0 {}
    let all = at(1, &Cdb::Read(Transfer::new(0, 5000)))(&mut bench, &[]).good();
    assert!(all.iter().all(|byte| *byte == 0));
}
