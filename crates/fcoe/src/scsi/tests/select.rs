//! MODE SELECT, and what the unit does then.

use super::slow::{Diary, Slow};
use super::support::*;
use crate::*;
use linerate_block::BackendError;
use linerate_wire::scsi::{Access, Cdb, FieldPointer, Sense, SenseKey, Transfer, UnmapRange, asc, put_unmap};
use std::cell::RefCell;
use std::rc::Rc;

fn slow() -> (Bench, Rc<RefCell<Diary>>) {
    let (backend, diary) = Slow::new(1 << 20, |_| {});
    (Bench::new(backend), diary)
}

/// MODE SELECT (6) of those pages, behind a header of zeros.
fn select(bench: &mut Bench, pages: &[u8]) -> Ended {
    let list = [&[0; 4], pages].concat();
    let len = u16::try_from(list.len()).unwrap();
    bench.send(&Cdb::ModeSelect { ten: false, pages: true, save: false, len }, &list)
}

/// Caching page with this byte of options.
fn caching(options: u8) -> [u8; 20] {
    let mut page = [0; 20];
    page[..3].copy_from_slice(&[0x08, 18, options]);
    page
}

/// Control page with D_SENSE, or SWP.
fn control(descriptors: bool, protected: bool) -> [u8; 12] {
    let (descriptors, protected) = (u8::from(descriptors) << 2, u8::from(protected) << 3);
    [0x0a, 10, 2 | descriptors, 0x10, protected, 0x40, 0, 0, 0, 0, 0, 0]
}

/// Body of a page by MODE SENSE (6).
fn sensed(bench: &mut Bench, who: PeerId, control: u8, page: u8) -> Vec<u8> {
    let cdb = [0x1a, 8, control << 6 | page, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bench.raw(who, lun(0), &cdb, &[], 255).good()[6..].to_vec()
}

fn field(ended: &Ended) -> FieldPointer {
    assert_eq!(ended.why(), (5, asc::FIELD_IN_PARAMETERS));
    ended.sense().unwrap().field.unwrap()
}

#[test]
fn only_what_can_be_changed_is_told_as_changeable() {
    // SPC-4, clause 6.13: PC 0, 1 and 2.
    let (mut bench, _) = slow();
    assert_eq!(sensed(&mut bench, ALICE, 1, 0x08), caching(4)[2..]);
    let mut mask = [0; 10];
    (mask[0], mask[2]) = (4, 8);
    assert_eq!(sensed(&mut bench, ALICE, 1, 0x0a), mask);
    assert!([0x01, 0x1c].iter().all(|page| sensed(&mut bench, ALICE, 1, *page) == [0; 10]));
    select(&mut bench, &[&caching(0)[..], &control(true, true)].concat()).good();
    for (control, cache, second) in [(0, 0, self::control(true, true)), (2, 4, self::control(false, false))] {
        assert_eq!(sensed(&mut bench, ALICE, control, 0x08)[0], cache);
        assert_eq!(sensed(&mut bench, ALICE, control, 0x0a), second[2..]);
    }
    // A reset brings the default values back.
    bench.disks.manage(0, ALICE, lun(0), Function::LogicalUnitReset, &mut |_| {});
    assert_eq!(bench.send(&Cdb::TestUnitReady, &[]).why(), (6, asc::RESET));
    assert_eq!(sensed(&mut bench, ALICE, 0, 0x08)[0], 4);
    // A back end without a volatile cache always writes through.
    let mut bench = Bench::ram();
    assert_eq!((sensed(&mut bench, ALICE, 1, 0x08)[0], sensed(&mut bench, ALICE, 0, 0x08)[0]), (0, 0));
    let pointer = field(&select(&mut bench, &caching(4)));
    assert_eq!(pointer, FieldPointer { in_cdb: false, byte: 6, bit: Some(2) });
}

#[test]
fn the_others_are_told_of_a_change_and_only_of_a_change() {
    // SPC-4, clause 6.11: MODE PARAMETERS CHANGED.
    let (mut bench, _) = slow();
    select(&mut bench, &caching(4)).good();
    bench.by(BOB, &Cdb::TestUnitReady, &[]).good();
    select(&mut bench, &caching(0)).good();
    assert_eq!(bench.by(BOB, &Cdb::TestUnitReady, &[]).why(), (6, (0x2a, 0x01)));
    bench.by(BOB, &Cdb::TestUnitReady, &[]).good();
    bench.send(&Cdb::TestUnitReady, &[]).good();
    assert_eq!(sensed(&mut bench, BOB, 0, 0x08)[0], 0, "all share it");
}

#[test]
fn without_its_cache_every_write_goes_to_the_medium() {
    // SBC-3, clause 6.5.5: WCE.
    let (mut bench, diary) = slow();
    select(&mut bench, &caching(0)).good();
    assert_eq!(std::mem::take(&mut diary.borrow_mut().asked), ["flush"], "what was cached before");
    let transfer = Transfer::new(0, 1);
    bench.send(&Cdb::Write(transfer), &[1; 512]).good();
    bench.send(&Cdb::OrWrite(Transfer { width: linerate_wire::scsi::Width::Sixteen, ..transfer }), &[2; 512]).good();
    let same = [0x93, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0];
    bench.raw(ALICE, lun(0), &same, &[3; 512], 0).good();
    let mut list = Vec::new();
    put_unmap(&[UnmapRange { lba: 4, blocks: 2 }], &mut list).unwrap();
    bench.send(&Cdb::Unmap { anchor: false, len: 24 }, &list).good();
    let asked =
        ["write 0 1 fua", "read 0 1", "write 0 1 fua", "write 1 1 fua", "discard 4 2", "flush"].map(String::from);
    assert_eq!(std::mem::take(&mut diary.borrow_mut().asked), asked);
    select(&mut bench, &caching(4)).good();
    bench.send(&Cdb::Write(transfer), &[1; 512]).good();
    assert_eq!(diary.borrow().asked, ["write 0 1"]);
}

#[test]
fn a_change_waits_for_the_writes_before_it() {
    let (mut bench, diary) = slow();
    diary.borrow_mut().stuck = true;
    let write = Cdb::Write(Transfer::new(0, 1)).bytes().unwrap().sixteen().unwrap();
    let task = bench.task(ALICE, lun(0), &write, 512, 0);
    let Step::Receive { mut buffer } = bench.disks.command(0, &task) else { panic!("no data out is asked for") };
    buffer.bytes_mut().fill(7);
    assert!(matches!(bench.disks.received(0, task.tag, Some(buffer)), Step::Pending));
    let cdb = [0x15, 0x10, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let change = bench.task(BOB, lun(0), &cdb, 24, 0);
    assert!(matches!(bench.disks.command(0, &change), Step::Pending), "what was written is not on the medium yet");
    diary.borrow_mut().stuck = false;
    let mut ended = Vec::new();
    while let Some((tag, step)) = bench.disks.poll(0) {
        ended.push((tag, matches!(step, Step::Receive { .. })));
    }
    assert_eq!(ended, [(task.tag, false), (change.tag, true)]);
}

#[test]
fn a_unit_that_was_write_protected_only_reads() {
    // SPC-4, clause 7.5.8: SWP.
    let (mut bench, diary) = slow();
    select(&mut bench, &control(false, true)).good();
    assert_eq!(diary.borrow().asked, ["flush"]);
    let sixteen = Transfer { width: linerate_wire::scsi::Width::Sixteen, ..Transfer::new(0, 1) };
    let mut list = Vec::new();
    put_unmap(&[UnmapRange { lba: 4, blocks: 2 }], &mut list).unwrap();
    for (cdb, data) in [
        (Cdb::Write(sixteen), vec![0; 512]),
        (Cdb::WriteAndVerify { transfer: sixteen, compare: 1 }, vec![0; 512]),
        (Cdb::OrWrite(sixteen), vec![0; 512]),
        (Cdb::CompareAndWrite { lba: 0, blocks: 1, protect: 0, dpo: false, fua: false }, vec![0; 1024]),
        (Cdb::Unmap { anchor: false, len: 24 }, list),
    ] {
        let ended = bench.send(&cdb, &data);
        assert_eq!(ended.why(), (7, (0x27, 0x02)), "{cdb:?}");
    }
    let same = [0x93, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0];
    assert_eq!(bench.raw(ALICE, lun(0), &same, &[3; 512], 0).why(), (7, asc::SOFTWARE_PROTECTED));
    bench.send(&Cdb::Read(sixteen), &[]).good();
    let header = bench.raw(ALICE, lun(0), &[0x1a, 0, 0x3f, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[], 4).good();
    assert_eq!(header[2], 0x90, "WP, DPOFUA");
    select(&mut bench, &control(false, false)).good();
    bench.send(&Cdb::Write(sixteen), &[1; 512]).good();
}

#[test]
fn sense_data_has_the_format_that_was_chosen() {
    // SPC-4, clause 7.5.8: D_SENSE.
    let (mut bench, diary) = slow();
    let fixed = bench.send(&Cdb::Read(Transfer::new(1 << 40, 1)), &[]).response;
    assert_eq!((fixed.sense_len, &fixed.sense[..3]), (18, &[0x70, 0, 5][..]));
    select(&mut bench, &control(true, false)).good();
    assert_eq!(bench.by(BOB, &Cdb::TestUnitReady, &[]).response.sense[..4], [0x72, 6, 0x2a, 1], "an attention");
    let unknown = bench.raw(BOB, lun(0), &[0xff; 16], &[], 0).response;
    assert_eq!((unknown.sense_len, &unknown.sense[..4]), (8, &[0x72, 5, 0x20, 0][..]));
    let field = bench.send(&Cdb::Inquiry { page: Some(0xb9), allocation: 4 }, &[]).response;
    assert_eq!(field.sense[..16], [0x72, 5, 0x24, 0, 0, 0, 0, 8, 2, 6, 0, 0, 0xc0, 0, 2, 0]);
    diary.borrow_mut().results.push(BackendError::Medium);
    let medium = bench.send(&Cdb::Read(Transfer::new(7, 1)), &[]).response;
    assert_eq!(medium.sense[..20], [0x72, 3, 0x11, 0, 0, 0, 0, 12, 0, 10, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    // REQUEST SENSE has a bit of its own.
    for (descriptors, first) in [(true, 0x72), (false, 0x70)] {
        assert_eq!(bench.send(&Cdb::RequestSense { descriptors, allocation: 252 }, &[]).good()[0], first);
    }
    // A LUN without a unit has no mode.
    assert_eq!(bench.raw(ALICE, lun(5), &[0; 16], &[], 0).response.sense[0], 0x70);
    // Addresses of more than 32 bits are told in this format only.
    let sense = Sense::new(SenseKey::MEDIUM_ERROR, asc::READ_ERROR).at(1 << 40);
    assert_eq!(Response::check(&sense).parsed_sense(), Some(sense));
    select(&mut bench, &control(false, false)).good();
    assert_eq!(bench.send(&Cdb::Read(Transfer::new(1 << 40, 1)), &[]).response.sense[0], 0x70);
}

#[test]
fn a_list_is_done_as_a_whole_or_not_at_all() {
    // SPC-4, clauses 6.11 and 7.5.4.
    let (mut bench, _) = slow();
    // Each length that cuts something off: of the header, of the descriptor, of a page.
    let list = [&[0, 0, 0, 8, 0, 0, 8, 0, 0, 0, 2, 0][..], &caching(0), &control(false, true)].concat();
    for len in (1..list.len()).filter(|len| ![12, 32].contains(len)) {
        let cdb = Cdb::ModeSelect { ten: false, pages: true, save: false, len: u16::try_from(len).unwrap() };
        let want = if len == 4 + 8 { 0 } else { 0x1a };
        assert_eq!(bench.send(&cdb, &list[..len]).why(), (5, (want, 0)), "{len}");
    }
    assert_eq!(sensed(&mut bench, ALICE, 0, 0x08)[0], 4);
    // A second page that is wrong keeps the first from counting; the pointer names the byte and its highest bit.
    let mut wrong = control(false, true);
    wrong[3] ^= 0x30;
    let pointer = field(&select(&mut bench, &[&caching(0)[..], &wrong].concat()));
    assert_eq!((pointer.byte, pointer.bit), (4 + 20 + 3, Some(5)));
    assert_eq!(sensed(&mut bench, ALICE, 0, 0x08)[0], 4);
    for (pages, byte, bit) in [
        (&[0x02, 2, 0, 0][..], 4, Some(5)),
        (&[0x4a, 1, 0, 0][..], 4, Some(6)),
        (&[0x08, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], 5, None),
    ] {
        let pointer = field(&select(&mut bench, pages));
        assert_eq!((pointer.byte, pointer.bit), (byte, bit));
    }
    let mut send = |list: &[u8], ten| {
        let len = u16::try_from(list.len()).unwrap();
        bench.send(&Cdb::ModeSelect { ten, pages: true, save: false, len }, list)
    };
    assert_eq!(field(&send(&[0, 1, 0, 0], false)).byte, 1, "medium type");
    assert_eq!(field(&send(&[0, 0, 0, 4, 0, 0, 0, 0], false)).byte, 3);
    assert_eq!(field(&send(&[0, 0, 0, 8, 0, 0, 8, 1, 0, 0, 2, 0], false)).byte, 4, "another number of blocks");
    assert_eq!(field(&send(&[0, 0, 0, 8, 0, 0, 8, 0, 0, 0, 4, 0], false)).byte, 9, "another length");
    let long = |blocks: u64, size: u32| {
        let mut list = vec![0, 0, 0, 0, 1, 0, 0, 16];
        list.extend(blocks.to_be_bytes());
        list.extend([0; 4]);
        list.extend(size.to_be_bytes());
        list
    };
    for blocks in [0, 2048, u64::MAX] {
        send(&long(blocks, 512), true).good();
    }
    assert_eq!((field(&send(&long(9, 512), true)).byte, field(&send(&long(0, 520), true)).byte), (8, 20));
    let ended = send(&[&[0, 0, 0, 0, 0, 0, 0, 0][..], &caching(0)].concat(), true);
    assert_eq!(ended.response.wanted, 28);
    assert_eq!(sensed(&mut bench, ALICE, 0, 0x08)[0], 0);
}

#[test]
fn saved_pages_and_pages_of_the_vendor_there_are_none() {
    let (mut bench, _) = slow();
    let select = |pages, save, len| Cdb::ModeSelect { ten: true, pages, save, len };
    for (cdb, bit) in [(select(true, true, 8), 0), (select(false, false, 8), 4)] {
        let ended = bench.send(&cdb, &[0; 8]);
        assert_eq!(ended.why(), (5, asc::FIELD_IN_CDB));
        assert_eq!(ended.sense().unwrap().field.map(|at| (at.byte, at.bit)), Some((1, Some(bit))));
    }
    bench.send(&select(true, false, 0), &[]).good();
    assert_eq!(bench.send(&select(true, false, 9), &[0; 8]).why(), (5, asc::INFORMATION_UNIT));
    assert_eq!(select(true, false, 8).access(), Access::Writes);
}
