//! VERIFY, WRITE AND VERIFY, COMPARE AND WRITE, WRITE SAME, UNMAP.

use super::slow::{Diary, Slow};
use super::support::*;
use crate::*;
use linerate_block::{BackendError, Null, Ram};
use linerate_wire::scsi::{Cdb, ProtectionTags, Transfer, UnmapRange, Width, asc, put_unmap};
use std::cell::RefCell;
use std::rc::Rc;

fn slow() -> (Bench, Rc<RefCell<Diary>>) {
    let (backend, diary) = Slow::new(4 << 20, |_| {});
    (Bench::new(backend), diary)
}

fn both() -> [Bench; 2] {
    [Bench::new(Ram::new(4 << 20, 512, false, 1).unwrap()), slow().0]
}

fn write(bench: &mut Bench, lba: u64, data: &[u8]) {
    let blocks = u32::try_from(data.len() / 512).unwrap();
    bench.send(&Cdb::Write(Transfer::new(lba, blocks)), data).good();
}

fn read(bench: &mut Bench, lba: u64, blocks: u32) -> Vec<u8> {
    bench.send(&Cdb::Read(Transfer::new(lba, blocks)), &[]).good()
}

/// Blocks that are all different.
fn pattern(blocks: usize) -> Vec<u8> {
    (0..blocks * 512).map(|i| u8::try_from((i / 512 + i) % 251).unwrap()).collect()
}

#[test]
fn verify_compares_what_it_is_told_to() {
    // SBC-3, clause 5.29: BYTCHK 0, 1 and 3.
    for mut bench in both() {
        let data = pattern(4000);
        write(&mut bench, 100, &data);
        let verify = |lba, blocks, compare| Cdb::Verify { transfer: Transfer::new(lba, blocks), compare };
        assert!(bench.send(&verify(100, 4000, 0), &[]).good().is_empty());
        let ended = bench.send(&verify(100, 4000, 1), &data);
        assert_eq!((ended.response.wanted, ended.response.status), (4000 * 512, Response::GOOD));
        for at in [0, 4000 * 512 - 1, 2048 * 512] {
            let mut other = data.clone();
            other[at] ^= 1;
            assert_eq!(bench.send(&verify(100, 4000, 1), &other).why(), (0xe, asc::MISCOMPARE));
        }
        assert_eq!(bench.send(&verify(0, 100, 3), &[0; 512]).response.status, Response::GOOD);
        assert_eq!(bench.send(&verify(0, 101, 3), &[0; 512]).why(), (0xe, asc::MISCOMPARE));
        assert_eq!(bench.send(&verify(0, 1, 2), &[0; 512]).why(), (5, asc::FIELD_IN_CDB));
        assert_eq!(bench.send(&verify(8192, 1, 0), &[]).why(), (5, asc::LBA_OUT_OF_RANGE));
        let short = bench.send(&verify(0, 2, 1), &[0; 512]);
        assert_eq!((short.why(), short.response.wanted), ((5, asc::INFORMATION_UNIT), 1024));
        bench.send(&verify(8192, 0, 1), &[]).good();
        bench.send(&verify(0, 0, 3), &[]).good();
    }
}

#[test]
fn verify_reads_the_medium() {
    // SBC-3, clause 5.29: in pieces, and an error is told.
    let (mut bench, diary) = slow();
    let verify = Cdb::Verify { transfer: Transfer::new(0, 5000), compare: 0 };
    bench.send(&verify, &[]).good();
    assert_eq!(diary.borrow().asked, ["flush", "read 0 2048", "read 2048 2048", "read 4096 904"]);
    diary.borrow_mut().asked.clear();
    bench.send(&Cdb::Verify { transfer: Transfer::new(7, 1), compare: 1 }, &[0; 512]).good();
    assert_eq!(diary.borrow().asked, ["flush", "read 7 1"], "what was written is verified on the medium");
    for ends in [1, 2] {
        diary.borrow_mut().asked.clear();
        diary.borrow_mut().results = vec![BackendError::Medium];
        if ends == 2 {
            diary.borrow_mut().good = 1;
        }
        assert_eq!(bench.send(&verify, &[]).why(), (3, asc::READ_ERROR));
        assert_eq!(diary.borrow().asked.len(), ends);
    }
    let (backend, diary) = Slow::new(1 << 20, |geometry| geometry.volatile = false);
    Bench::new(backend).send(&Cdb::Verify { transfer: Transfer::new(0, 1), compare: 0 }, &[]).good();
    assert_eq!(diary.borrow().asked, ["read 0 1"], "without a volatile cache all is there");
}

#[test]
fn more_than_a_verification_can_have_is_refused() {
    // SBC-3, clause 6.6.3: data out is a transfer; one block stands for as many as WRITE SAME writes.
    let mut bench = Bench::new(Null::new(1 << 40, 512, 1).unwrap());
    let verify = |blocks, compare| Cdb::Verify {
        transfer: Transfer { width: Width::Sixteen, ..Transfer::new(0, blocks) },
        compare,
    };
    bench.send(&verify(131_072, 3), &[0; 512]).good();
    for (cdb, most) in [(verify(131_073, 3), 512), (verify(16_385, 1), 16_385 * 512)] {
        let ended = bench.send(&cdb, &vec![0; most]);
        assert_eq!((ended.why(), ended.sense().unwrap().field.unwrap().byte), ((5, asc::FIELD_IN_CDB), 10));
    }
}

#[test]
fn nothing_that_is_read_only_is_asked_to_change() {
    // SBC-3, clause 4.12: DATA PROTECT, WRITE PROTECTED.
    let (backend, diary) = Slow::new(1 << 20, |geometry| geometry.read_only = true);
    let mut bench = Bench::new(backend);
    let transfer = Transfer::new(0, 1);
    let same = |no_data| Cdb::WriteSame {
        width: Width::Sixteen,
        lba: 0,
        blocks: 1,
        protect: 0,
        anchor: false,
        unmap: false,
        no_data,
    };
    let mut range = Vec::new();
    put_unmap(&[UnmapRange { lba: 0, blocks: 1 }], &mut range).unwrap();
    for (cdb, data) in [
        (Cdb::WriteAndVerify { transfer, compare: 1 }, &[0; 512][..]),
        (same(false), &[0; 512]),
        (same(true), &[]),
        (Cdb::Unmap { anchor: false, len: 24 }, &range),
        (Cdb::CompareAndWrite { lba: 0, blocks: 1, protect: 0, dpo: false, fua: false }, &[0; 1024]),
    ] {
        assert_eq!(bench.send(&cdb, data).why(), (7, asc::WRITE_PROTECTED), "{cdb:?}");
    }
    assert!(diary.borrow().asked.is_empty());
    bench.send(&Cdb::Verify { transfer, compare: 1 }, &[0; 512]).good();
}

#[test]
fn write_protection_is_told_before_what_is_wrong_with_a_command() {
    // Fields that only say how a command is to write do not matter where it must not.
    let transfer = |protect| Transfer { protect, width: Width::Sixteen, ..Transfer::new(0, 1) };
    let same = |width, blocks, protect, anchor, unmap| Cdb::WriteSame {
        width,
        lba: 0,
        blocks,
        protect,
        anchor,
        unmap,
        no_data: false,
    };
    let wrong = [
        Cdb::Write(transfer(1)),
        Cdb::Write(Transfer::new(u64::from(u32::MAX), 1)),
        Cdb::OrWrite(transfer(1)),
        Cdb::WriteAndVerify { transfer: transfer(1), compare: 0 },
        Cdb::WriteAndVerify { transfer: transfer(0), compare: 2 },
        same(Width::Ten, 1, 0, false, true),
        same(Width::Sixteen, 1, 0, false, true),
        same(Width::Sixteen, 1, 0, true, true),
        same(Width::Sixteen, 1, 1, false, false),
        same(Width::Sixteen, 0, 0, false, false),
        Cdb::CompareAndWrite { lba: 0, blocks: 1, protect: 1, dpo: false, fua: false },
        Cdb::FormatUnit { protection: 3, long: true, data: false, complete: false, format: 1 },
        Cdb::Sanitize { action: 1, immediate: false, unrestricted: false, len: 0 },
        Cdb::Sanitize { action: 2, immediate: false, unrestricted: false, len: 4 },
    ];
    for read_only in [true, false] {
        let (backend, diary) =
            Slow::new(1 << 20, |geometry| (geometry.read_only, geometry.discards) = (read_only, false));
        let mut bench = Bench::new(backend);
        for cdb in &wrong {
            let key = if read_only { 7 } else { 5 };
            assert_eq!(bench.send(cdb, &[0; 1024]).why().0, key, "{cdb:?}");
        }
        assert!(diary.borrow().asked.is_empty());
    }
    for (read_only, key) in [(true, 7), (false, 5)] {
        let mut bench = Bench::new(Slow::new(1 << 20, |geometry| geometry.read_only = read_only).0);
        assert_eq!(bench.send(&Cdb::Unmap { anchor: true, len: 24 }, &[0; 24]).why().0, key);
    }
    // What the unit does not have at all stays unknown to it.
    let mut bench =
        Bench::new(Slow::new(1 << 20, |geometry| (geometry.read_only, geometry.discards) = (true, false)).0);
    assert_eq!(bench.send(&Cdb::Unmap { anchor: false, len: 24 }, &[0; 24]).why(), (5, asc::OPCODE));
    let long = Transfer { width: Width::ThirtyTwo(ProtectionTags::default()), ..transfer(0) };
    assert_eq!(bench.send(&Cdb::Write(long), &[0; 512]).why(), (5, asc::OPCODE));
}

#[test]
fn what_was_compared_is_written_as_the_command_says() {
    // SBC-3, clause 5.2: FUA.
    for (fua, write) in [(false, "write 7 2"), (true, "write 7 2 fua")] {
        let (mut bench, diary) = slow();
        let cdb = Cdb::CompareAndWrite { lba: 7, blocks: 2, protect: 0, dpo: false, fua };
        bench.send(&cdb, &[vec![0; 1024], vec![9; 1024]].concat()).good();
        assert_eq!(diary.borrow().asked, ["read 7 2", write]);
        // A failure to read, and one to write.
        diary.borrow_mut().results = vec![BackendError::Medium];
        let ended = bench.send(&cdb, &[0; 2048]);
        assert_eq!((ended.why(), ended.sense().unwrap().information), ((3, asc::READ_ERROR), Some(7)));
        diary.borrow_mut().results = vec![BackendError::NoSpace];
        diary.borrow_mut().good = 1;
        assert_eq!(bench.send(&cdb, &[9; 2048]).why(), (7, asc::NO_SPACE));
        assert_eq!(bench.disks.lent(), 0);
    }
}

#[test]
fn what_is_written_is_verified() {
    // SBC-3, clause 5.37.
    let (mut bench, diary) = slow();
    let transfer = Transfer::new(5, 2);
    bench.send(&Cdb::WriteAndVerify { transfer, compare: 1 }, &pattern(2)).good();
    assert_eq!(diary.borrow().asked, ["write 5 2 fua", "read 5 2"]);
    diary.borrow_mut().results.push(BackendError::NoSpace);
    let ended = bench.send(&Cdb::WriteAndVerify { transfer, compare: 0 }, &pattern(2));
    assert_eq!(ended.why(), (7, asc::NO_SPACE));
    for mut bench in both() {
        bench.send(&Cdb::WriteAndVerify { transfer, compare: 0 }, &pattern(2)).good();
        assert_eq!(read(&mut bench, 5, 2), pattern(2));
        let refused = bench.send(&Cdb::WriteAndVerify { transfer, compare: 2 }, &pattern(2));
        assert_eq!(refused.why(), (5, asc::FIELD_IN_CDB));
    }
}

#[test]
fn compare_and_write_writes_only_what_was_expected() {
    // SBC-3, clause 5.2.
    for mut bench in both() {
        let old = pattern(2);
        write(&mut bench, 7, &old);
        let cdb = |blocks, fua| Cdb::CompareAndWrite { lba: 7, blocks, protect: 0, dpo: false, fua };
        let mut wrong = old.clone();
        wrong[700] ^= 0x80;
        let ended = bench.send(&cdb(2, false), &[wrong, vec![9; 1024]].concat());
        assert_eq!(ended.why(), (0xe, asc::MISCOMPARE));
        assert_eq!(ended.sense().unwrap().information, Some(700), "where it differs");
        assert_eq!(read(&mut bench, 7, 2), old);
        let ended = bench.send(&cdb(2, true), &[old.clone(), vec![9; 1024]].concat());
        assert_eq!((ended.response.status, ended.response.wanted), (Response::GOOD, 2048));
        assert_eq!(read(&mut bench, 7, 2), vec![9; 1024]);
        assert_eq!(bench.send(&cdb(2, false), &[9; 1024]).why(), (5, asc::INFORMATION_UNIT));
        bench.send(&cdb(0, false), &[]).good();
        let beyond = Cdb::CompareAndWrite { lba: 8191, blocks: 2, protect: 0, dpo: false, fua: false };
        assert_eq!(bench.send(&beyond, &[0; 2048]).why(), (5, asc::LBA_OUT_OF_RANGE));
    }
}

#[test]
fn nothing_is_written_between_comparing_and_writing() {
    // SBC-3, clause 5.2: an uninterrupted series of actions.
    let (mut bench, diary) = slow();
    diary.borrow_mut().stuck = true;
    let compare = Cdb::CompareAndWrite { lba: 0, blocks: 1, protect: 0, dpo: false, fua: false }.bytes().unwrap();
    let write = Cdb::Write(Transfer::new(0, 1)).bytes().unwrap();
    let begin = |bench: &mut Bench, cdb: &[u8], data: &[u8]| {
        let task = bench.task(ALICE, lun(0), cdb, data.len(), 0);
        let Step::Receive { mut buffer } = bench.disks.command(0, &task) else { panic!("no data is asked for") };
        buffer.bytes_mut().copy_from_slice(data);
        assert!(matches!(bench.disks.received(0, task.tag, Some(buffer)), Step::Pending));
        task.tag
    };
    let first = begin(&mut bench, &write, &[1; 512]);
    let compare_1 = begin(&mut bench, &compare, &[vec![1; 512], vec![2; 512]].concat());
    let second = begin(&mut bench, &write, &[3; 512]);
    let compare_3 = begin(&mut bench, &compare, &[vec![2; 512], vec![4; 512]].concat());
    assert_eq!(diary.borrow().asked, ["write 0 1"], "each waits for the one before");
    diary.borrow_mut().stuck = false;
    let mut ended = Vec::new();
    while let Some((tag, step)) = bench.disks.poll(0) {
        let Step::End(response) = step else { panic!("{step:?}") };
        ended.push((tag, response.status));
    }
    assert_eq!(diary.borrow().asked, ["write 0 1", "read 0 1", "write 0 1", "write 0 1", "read 0 1"]);
    assert_eq!(ended, [(first, 0), (compare_1, 0), (second, 0), (compare_3, Response::CHECK_CONDITION)]);
    assert_eq!(read(&mut bench, 0, 1), [3; 512]);
}

#[test]
fn write_same_repeats_a_block() {
    // SBC-3, clauses 5.43 to 5.45.
    let same = |width, blocks, unmap, no_data| Cdb::WriteSame {
        width,
        lba: 3,
        blocks,
        protect: 0,
        anchor: false,
        unmap,
        no_data,
    };
    for mut bench in both() {
        let block = pattern(1);
        let ended = bench.send(&same(Width::Sixteen, 5000, false, false), &block);
        assert_eq!((ended.response.status, ended.response.wanted), (Response::GOOD, 512));
        assert_eq!(read(&mut bench, 3, 5000), block.repeat(5000));
        assert!([read(&mut bench, 0, 3), read(&mut bench, 5003, 3)].concat().iter().all(|byte| *byte == 0));
        bench.send(&same(Width::Ten, 2, true, false), &[0; 512]).good();
        bench.send(&same(Width::Sixteen, 3, true, true), &[]).good();
        assert_eq!(read(&mut bench, 3, 4), [vec![0; 1536], block.clone()].concat());
        // UNMAP with a block of other than zeros writes it.
        bench.send(&same(Width::Ten, 2, true, false), &block).good();
        assert_eq!(read(&mut bench, 3, 3), [block.repeat(2), vec![0; 512]].concat());
        // WSNZ, MAXIMUM WRITE SAME LENGTH, ANC_SUP (clauses 6.6.3 and 6.6.4).
        for blocks in [0, 131_073] {
            let error = if blocks == 0 { asc::FIELD_IN_CDB } else { asc::LBA_OUT_OF_RANGE };
            assert_eq!(bench.send(&same(Width::Sixteen, blocks, false, false), &block).why(), (5, error));
        }
        let anchor = Cdb::parse(&[0x41, 0x18, 0, 0, 0, 0, 0, 0, 1, 0]).unwrap();
        assert_eq!(bench.send(&anchor, &block).why(), (5, asc::FIELD_IN_CDB));
        assert_eq!(bench.send(&same(Width::Ten, 1, false, false), &[]).why(), (5, asc::INFORMATION_UNIT));
    }
    let mut bench = Bench::new(Null::new(1 << 40, 512, 1).unwrap());
    bench.send(&same(Width::Sixteen, 131_072, false, true), &[]).good();
    assert_eq!(bench.send(&same(Width::Sixteen, 131_073, false, true), &[]).why(), (5, asc::FIELD_IN_CDB));
}

#[test]
fn write_same_uses_what_the_back_end_can() {
    let same =
        |unmap| Cdb::parse(&[0x93, if unmap { 9 } else { 1 }, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0]).unwrap();
    let (mut bench, diary) = slow();
    bench.send(&same(false), &[]).good();
    bench.send(&same(true), &[]).good();
    assert_eq!(diary.borrow().asked, ["zero 0 2048", "zero 0 2048 discard"]);
    // One that cannot write zeros itself is written to.
    diary.borrow_mut().no_zeroes = true;
    diary.borrow_mut().asked.clear();
    let block = [7; 512];
    write(&mut bench, 2047, &block);
    bench.send(&same(false), &[]).good();
    assert_eq!(diary.borrow().asked, ["write 2047 1", "zero 0 2048", "write 0 2048"]);
    assert_eq!(read(&mut bench, 2047, 1), [0; 512]);
    diary.borrow_mut().no_zeroes = false;
    diary.borrow_mut().results.push(BackendError::NoSpace);
    assert_eq!(bench.send(&same(false), &[]).why(), (7, asc::NO_SPACE));
    // Blocks are not deallocated instead of zeroed if deallocated blocks may read as anything.
    let (backend, diary) = Slow::new(1 << 20, |geometry| geometry.discard_zeroes = false);
    let mut bench = Bench::new(backend);
    bench.send(&same(true), &[]).good();
    assert_eq!(diary.borrow().asked, ["zero 0 2048"]);
    let mut bench = Bench::new(Slow::new(1 << 20, |geometry| geometry.discards = false).0);
    assert_eq!(bench.send(&same(true), &[]).why(), (5, asc::FIELD_IN_CDB));
}

#[test]
fn unmap_gives_back_all_ranges_or_none() {
    // SBC-3, clause 5.28.
    let list = |ranges: &[(u64, u32)]| {
        let mut list = Vec::new();
        let ranges: Vec<_> = ranges.iter().map(|(lba, blocks)| UnmapRange { lba: *lba, blocks: *blocks }).collect();
        put_unmap(&ranges, &mut list).unwrap();
        list
    };
    let cdb = |list: &[u8]| Cdb::Unmap { anchor: false, len: u16::try_from(list.len()).unwrap() };
    for mut bench in both() {
        let data = vec![1; 32 * 512];
        write(&mut bench, 0, &data);
        let ranges = list(&[(1, 2), (4, 1), (9, 0), (20, 1)]);
        bench.send(&cdb(&ranges), &ranges).good();
        let left = read(&mut bench, 0, 32);
        let gone: Vec<_> = (0..32).filter(|i| left[i * 512] == 0).collect();
        assert_eq!(gone, [1, 2, 4, 20]);
        for (bad, error) in [
            (list(&[(0, 1), (8192, 1)]), asc::LBA_OUT_OF_RANGE),
            (list(&[(0, 1), (u64::MAX, 1)]), asc::LBA_OUT_OF_RANGE),
            (list(&[(0, 1); 257]), asc::FIELD_IN_PARAMETERS),
            (list(&[(0, 1)])[..20].to_vec(), asc::PARAMETER_LENGTH),
            (vec![0; 7], asc::PARAMETER_LENGTH),
        ] {
            assert_eq!(bench.send(&cdb(&bad), &bad).why(), (5, error));
            assert_eq!(read(&mut bench, 0, 1), [1; 512], "nothing is given back");
        }
        bench.send(&cdb(&[]), &[]).good();
        assert_eq!(bench.send(&Cdb::Unmap { anchor: true, len: 8 }, &[0; 8]).why(), (5, asc::FIELD_IN_CDB));
    }
    // MAXIMUM UNMAP LBA COUNT (clause 6.6.3): 64 MiB of memory, and 1 GiB of what is none.
    let memory = Bench::new(Ram::new(128 << 20, 512, false, 1).unwrap());
    let nothing = Bench::new(Null::new(1 << 40, 512, 1).unwrap());
    for (mut bench, most) in [(memory, 131_072), (nothing, 2_097_152)] {
        let all = list(&[(0, most - 72), (u64::from(most), 72)]);
        bench.send(&cdb(&all), &all).good();
        let more = list(&[(0, most - 72), (u64::from(most), 73)]);
        assert_eq!(bench.send(&cdb(&more), &more).why(), (5, asc::FIELD_IN_PARAMETERS));
    }
    let (mut bench, diary) = slow();
    let ranges = list(&[(1, 2), (9, 0), (20, 1)]);
    bench.send(&cdb(&ranges), &ranges).good();
    assert_eq!(diary.borrow().asked, ["discard 1 2", "discard 20 1"], "a range of nothing is none");
    diary.borrow_mut().results.push(BackendError::Medium);
    assert_eq!(bench.send(&cdb(&ranges[..24]), &list(&[(0, 1)])).why(), (3, asc::WRITE_ERROR));
}
