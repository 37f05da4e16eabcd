//! ORWRITE (16).

use super::slow::Slow;
use super::support::*;
use crate::*;
use linerate_block::{BackendError, Ram};
use linerate_wire::scsi::{Access, Cdb, Transfer, Width, asc};

fn transfer(lba: u64, blocks: u32) -> Transfer {
    Transfer { width: Width::Sixteen, ..Transfer::new(lba, blocks) }
}

#[test]
fn bits_are_set_and_none_is_cleared() {
    // SBC-3, clause 5.7.
    let (backend, diary) = Slow::new(1 << 20, |_| {});
    for mut bench in [Bench::ram(), Bench::new(backend)] {
        bench.send(&Cdb::Write(transfer(4, 2)), &[0x0f; 1024]).good();
        let ended = bench.send(&Cdb::OrWrite(transfer(5, 2)), &[0xaa; 1024]);
        assert_eq!((ended.response.status, ended.response.wanted), (0, 1024));
        let data = bench.send(&Cdb::Read(transfer(4, 4)), &[]).good();
        assert_eq!(data, [[0x0f; 512], [0xaf; 512], [0xaa; 512], [0; 512]].concat());
        bench.send(&Cdb::OrWrite(transfer(0, 0)), &[]).good();
        assert_eq!(bench.send(&Cdb::OrWrite(transfer(2047, 2)), &[0; 1024]).why(), (5, asc::LBA_OUT_OF_RANGE));
        assert_eq!(bench.send(&Cdb::OrWrite(transfer(0, 2)), &[0; 512]).why(), (5, asc::INFORMATION_UNIT));
        assert_eq!(bench.disks.lent(), 0);
    }
    let mut bench = Bench::new(Slow::new(1 << 20, |geometry| geometry.read_only = true).0);
    assert_eq!(bench.send(&Cdb::OrWrite(transfer(0, 1)), &[0; 512]).why(), (7, asc::WRITE_PROTECTED));
    assert_eq!(Cdb::OrWrite(transfer(0, 1)).access(), Access::Writes);
    assert_eq!(diary.borrow().asked[1..3], ["read 5 2", "write 5 2"]);
}

#[test]
fn it_ends_as_its_operations_fail() {
    let (backend, diary) = Slow::new(1 << 20, |_| {});
    let mut bench = Bench::new(backend);
    for (good, code) in [(0, asc::READ_ERROR), (1, asc::WRITE_ERROR)] {
        (diary.borrow_mut().good, diary.borrow_mut().results) = (good, vec![BackendError::Medium]);
        assert_eq!(bench.send(&Cdb::OrWrite(transfer(0, 1)), &[0; 512]).why(), (3, code));
        assert_eq!(bench.disks.lent(), 0);
    }
    let fua = Transfer { fua: true, ..transfer(3, 1) };
    bench.send(&Cdb::OrWrite(fua), &[0; 512]).good();
    assert_eq!(diary.borrow().asked.last().unwrap(), "write 3 1 fua");
}

#[test]
fn nobody_writes_between_its_read_and_its_write() {
    let (backend, diary) = Slow::new(1 << 20, |_| {});
    let mut bench = Bench::new(backend);
    diary.borrow_mut().stuck = true;
    let mut begin = |cdb: Cdb, fill| {
        let cdb = cdb.bytes().unwrap().sixteen().unwrap();
        let task = bench.task(ALICE, lun(0), &cdb, 512, 0);
        let Step::Receive { mut buffer } = bench.disks.command(0, &task) else { panic!("no data out is asked for") };
        buffer.bytes_mut().fill(fill);
        assert!(matches!(bench.disks.received(0, task.tag, Some(buffer)), Step::Pending));
    };
    begin(Cdb::OrWrite(transfer(0, 1)), 1);
    begin(Cdb::OrWrite(transfer(0, 1)), 2);
    begin(Cdb::Write(transfer(9, 1)), 2);
    assert_eq!(diary.borrow().asked, ["read 0 1"], "the others wait");
    diary.borrow_mut().stuck = false;
    let mut ended = 0;
    while let Some((_, step)) = bench.disks.poll(0) {
        assert!(matches!(step, Step::End(response) if response.status == 0));
        ended += 1;
    }
    assert_eq!(ended, 3);
    assert_eq!(bench.send(&Cdb::Read(transfer(0, 1)), &[]).good(), [3; 512]);
}

#[test]
fn protection_information_is_checked_on_both_sides_and_made_anew() {
    // SBC-3, clause 5.7: ORPROTECT.
    let protection = Protection { kind: ProtectionType::Type1, guard: Guard::Crc16, block: 512 };
    let blocks = |byte: u8, application| {
        let mut all = vec![0; 2 * 520];
        protection.insert(&[byte; 1024], application, 8, &mut all);
        all
    };
    let mut bench = Bench::new(Ram::new(1 << 20, 512, true, 1).unwrap());
    let guarded = |protect| Transfer { protect, ..transfer(8, 2) };
    bench.send(&Cdb::Write(guarded(1)), &blocks(1, 0x1111)).good();
    bench.send(&Cdb::OrWrite(guarded(1)), &blocks(2, 0x2222)).good();
    assert_eq!(bench.send(&Cdb::Read(guarded(1)), &[]).good(), blocks(3, 0x2222), "a new guard, the tags that came");
    bench.send(&Cdb::OrWrite(guarded(0)), &[4; 1024]).good();
    assert_eq!(bench.send(&Cdb::Read(guarded(1)), &[]).good(), blocks(7, 0), "made as WRITE makes it");
    let mut wrong = blocks(8, 0);
    wrong[520 + 512] ^= 1;
    let ended = bench.send(&Cdb::OrWrite(guarded(1)), &wrong);
    assert_eq!((ended.why(), ended.sense().unwrap().information), ((0xb, asc::GUARD_CHECK), Some(9)));
    bench.send(&Cdb::OrWrite(guarded(3)), &wrong).good();
    assert_eq!(bench.send(&Cdb::Read(guarded(1)), &[]).good(), blocks(15, 0));
    // What is on the medium is checked as well.
    bench.disks.memory(linerate_block::Tag(bench.next)).unwrap().set_protection(8, [1, 2, 0, 0, 0, 0, 0, 8]);
    for protect in [0, 1] {
        let data = if protect == 0 { vec![0; 1024] } else { blocks(0, 0) };
        let ended = bench.send(&Cdb::OrWrite(guarded(protect)), &data);
        assert_eq!((ended.why(), ended.sense().unwrap().information), ((0xb, asc::GUARD_CHECK), Some(8)));
    }
    assert_eq!(bench.send(&Cdb::OrWrite(guarded(6)), &blocks(0, 0)).why(), (5, asc::FIELD_IN_CDB));
    assert_eq!(bench.disks.lent(), 0);
}
