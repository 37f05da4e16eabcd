//! Commands that tell of a unit.

use super::slow::Slow;
use super::support::*;
use crate::*;
use linerate_block::{BackendError, Geometry, GeometryError, Null, Ram};
use linerate_wire::Wwn;
use linerate_wire::scsi::{
    Access, BlockCharacteristics, BlockLimits, BlockProvisioning, Capacity, Cdb, Designator, ExtendedInquiry, FORMS,
    Inquiry, ModePage, Qualifier, SenseKey, Transfer, UnmapRange, VpdPage, Width, asc, parse_luns, parse_mode,
    put_unmap,
};

fn page(bench: &mut Bench, page: u8) -> Vec<u8> {
    bench.send(&Cdb::Inquiry { page: Some(page), allocation: 1024 }, &[]).good()
}

fn mode(page: u8, control: u8) -> Cdb {
    Cdb::ModeSense { ten: true, no_descriptors: false, long: true, control, page, subpage: 0, allocation: 512 }
}

#[test]
fn vital_product_data_tells_what_the_back_end_is() {
    // SPC-4, clause 7.8; SBC-3, clause 6.6.
    let (backend, _) = Slow::new(1 << 20, |geometry| {
        geometry.physical_exponent = 3;
        geometry.discard_zeroes = false;
    });
    let mut bench = Bench::new(backend);
    let pages = page(&mut bench, VpdPage::SUPPORTED);
    for code in &pages[4..] {
        let data = page(&mut bench, *code);
        assert_eq!((data[1], usize::from(VpdPage::parse(&data).unwrap().len)), (*code, data.len() - 4));
    }
    assert_eq!(page(&mut bench, VpdPage::SERIAL)[4..], *b"0000000000000009");
    let data = page(&mut bench, VpdPage::DESIGNATORS);
    let all: Vec<_> = Designator::all(&data[4..]).collect();
    assert_eq!(all[0].identifier, b"LINERATEslow            0000000000000009");
    assert_eq!((all[1].kind, all[1].identifier), (3, &[0x30, 0, 0, 0, 0, 0, 0, 9][..]));
    assert_eq!((all[2].association, all[2].identifier), (1, &CONFIG.wwpn.0.to_be_bytes()[..]));
    assert_eq!((all[4].kind, all[4].identifier), (5, &[0, 0, 0, 1][..]), "the port's group");
    assert_eq!((all[5].association, all[5].identifier), (2, &[0x30, 0, 2, 0, 0, 0, 0, 0xff][..]), "no NAA 1");
    let limits = BlockLimits::parse(&page(&mut bench, VpdPage::LIMITS)[4..]).unwrap();
    assert_eq!((limits.granularity, limits.transfer, limits.write_same), (8, 16384, 131072));
    assert_eq!((limits.unmap_blocks, limits.unmap_ranges, limits.unmap_granularity), (1 << 21, 256, 8));
    let extended = ExtendedInquiry::parse(&page(&mut bench, VpdPage::EXTENDED)[4..]).unwrap();
    assert!(extended.volatile && extended.attributes && extended.nexus_attentions && !extended.guard);
    assert_eq!((limits.compare_and_write, limits.write_same_non_zero), (255, true));
    let disk = BlockCharacteristics::parse(&page(&mut bench, VpdPage::CHARACTERISTICS)[4..]).unwrap();
    assert!(disk.rotation == 1 && disk.verifies_unmapped, "nothing rotates; what is not there is compared");
    assert_eq!(disk.after_erase, 1, "WABEREQ (SBC-4): erased blocks are read without an error");
    let standard = Inquiry::parse(&bench.send(&Cdb::Inquiry { page: None, allocation: 96 }, &[]).good()).unwrap();
    assert!(standard.hierarchical && standard.queues && standard.version == 6, "HISUP, CMDQUE, SPC-4");
    let thin = BlockProvisioning::parse(&page(&mut bench, VpdPage::PROVISIONING)[4..]).unwrap();
    assert_eq!((thin.unmap, thin.write_same_16, thin.zeroes, thin.kind), (true, true, false, 2));
    let unknown = bench.send(&Cdb::Inquiry { page: Some(0xb5), allocation: 64 }, &[]);
    assert_eq!((unknown.why(), unknown.sense().unwrap().field.unwrap().byte), ((5, asc::FIELD_IN_CDB), 2));
    // One that cannot discard says so everywhere.
    let mut bench = Bench::new(Slow::new(4096, |geometry| geometry.discards = false).0);
    let thick = BlockProvisioning::parse(&page(&mut bench, VpdPage::PROVISIONING)[4..]).unwrap();
    assert_eq!(thick, BlockProvisioning::default());
    let limits = BlockLimits::parse(&page(&mut bench, VpdPage::LIMITS)[4..]).unwrap();
    assert_eq!((limits.unmap_blocks, limits.unmap_ranges), (0, 0));
    assert_eq!(bench.send(&Cdb::Unmap { anchor: false, len: 8 }, &[0; 8]).why(), (5, asc::OPCODE));
}

#[test]
fn an_allocation_length_cuts_what_is_sent() {
    // SPC-4, clause 4.3.5.6.
    let mut bench = Bench::ram();
    for allocation in [0, 1, 36, 96, 97, 65535] {
        let ended = bench.send(&Cdb::Inquiry { page: None, allocation }, &[]);
        assert_eq!(ended.response.wanted, u64::from(allocation.min(96)));
        assert_eq!(ended.good().len(), usize::from(allocation.min(96)));
    }
}

#[test]
fn capacity_is_told_in_both_ways() {
    // SBC-3, clauses 5.15 and 5.16.
    let mut bench = Bench::new(Null::new(3 << 41, 4096, 1).unwrap());
    let capacity = Capacity::parse_16(&bench.send(&Cdb::ReadCapacity16 { allocation: 32 }, &[]).good()).unwrap();
    assert_eq!((capacity.last, capacity.block_size), ((3 << 29) - 1, 4096));
    assert_eq!(bench.send(&Cdb::ReadCapacity10, &[]).good(), capacity.bytes_10());
    let mut bench = Bench::new(Null::new(1 << 41, 512, 1).unwrap());
    assert_eq!(bench.send(&Cdb::ReadCapacity10, &[]).good(), [0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0]);
}

#[test]
fn mode_pages_tell_how_the_unit_behaves() {
    // SPC-4, clause 7.5; SBC-3, clause 6.5: WCE, WP, DPOFUA, TAS.
    let mut bench = Bench::new(Slow::new(1 << 20, |geometry| geometry.read_only = true).0);
    let data = bench.send(&mode(ModePage::ALL, 0), &[]).good();
    let (header, pages) = parse_mode(true, &data).unwrap();
    assert_eq!((header.write_protected, header.dpo_fua, header.blocks), (true, true, Some((2048, 512))));
    let body = |code| pages.clone().find(|page| page.page == code).unwrap().body;
    assert_eq!(pages.map(|page| page.page).collect::<Vec<_>>(), [0x01, 0x08, 0x0a, 0x1c]);
    assert_eq!((body(ModePage::CACHING).len(), body(ModePage::CACHING)[0]), (18, 4));
    assert_eq!(body(ModePage::CONTROL)[..4], [0x02, 0x10, 0, 0x40]);
    assert_eq!(body(ModePage::EXCEPTIONS)[0], 8);
    // Default values are the current ones.
    assert_eq!(bench.send(&mode(ModePage::ALL, 2), &[]).good(), data);
    assert_eq!(bench.send(&mode(ModePage::ALL, 3), &[]).why(), (5, asc::SAVING_PARAMETERS));
    assert_eq!(bench.send(&mode(0x02, 0), &[]).why(), (5, asc::FIELD_IN_CDB));
    let subpage = Cdb::parse(&[0x1a, 0, 0x0a, 1, 255, 0]).unwrap();
    assert_eq!(bench.send(&subpage, &[]).why(), (5, asc::FIELD_IN_CDB));
    let bare = bench.send(&Cdb::parse(&[0x1a, 8, 0x08, 0xff, 255, 0]).unwrap(), &[]).good();
    assert_eq!((bare.len(), &bare[..6]), (24, &[23, 0, 0x90, 0, 8, 18][..]));
}

#[test]
fn every_command_of_the_table_is_done_or_denied_as_it_is_reported() {
    // SPC-4, clause 6.35.
    let (backend, _) = Slow::new(4096, |geometry| geometry.discards = false);
    for mut bench in [Bench::ram(), Bench::new(backend)] {
        let ask = |options, opcode, action, timeouts| Cdb::ReportSupportedOperationCodes {
            timeouts,
            options,
            opcode,
            action,
            allocation: 65535,
        };
        let all = bench.send(&ask(0, 0, 0, false), &[]).good();
        assert_eq!(u32::from_be_bytes(all[..4].try_into().unwrap()) as usize, all.len() - 4);
        let with_timeouts = bench.send(&ask(0, 0, 0, true), &[]).good();
        assert_eq!((with_timeouts.len() - 4) / 20, (all.len() - 4) / 8);
        for form in FORMS {
            let action = form.action.unwrap_or(0);
            let listed = all[4..].chunks(8).any(|entry| {
                entry[0] == form.opcode()
                    && entry[2..4] == action.to_be_bytes()
                    && entry[5] & 1 == u8::from(form.action.is_some())
            });
            let one = bench.send(&ask(3, form.opcode(), action, false), &[]).good();
            assert_eq!(one[1] & 7, if listed { 3 } else { 1 }, "{}", form.name);
            if listed {
                assert_eq!((&one[4..], usize::from(one[3])), (form.usage, form.usage.len()));
            }
            // A listed command is not answered with INVALID COMMAND OPERATION CODE, and an unlisted one is.
            let mut cdb = [0; 32];
            cdb[0] = form.opcode();
            if form.usage.len() == 32 {
                cdb[7] = 24;
                cdb[8..10].copy_from_slice(&action.to_be_bytes());
            } else if form.action.is_some() {
                cdb[1] = u8::try_from(action).unwrap();
            }
            let ended = bench.raw(ALICE, lun(0), &cdb, &[0; 1 << 18], 65535);
            let denied = ended.sense().is_some_and(|sense| sense.code == asc::OPCODE);
            assert_eq!(denied, !listed, "{}", form.name);
            // START STOP UNIT of zeros stops it.
            bench.send(&Cdb::parse(&[0x1b, 0, 0, 0, 1, 0]).unwrap(), &[]).good();
        }
        assert_eq!(bench.send(&ask(1, 0x5e, 0, false), &[]).why(), (5, asc::FIELD_IN_CDB));
        assert_eq!(bench.send(&ask(2, 0x12, 0, false), &[]).why(), (5, asc::FIELD_IN_CDB));
        assert_eq!(bench.send(&ask(4, 0x12, 0, false), &[]).why(), (5, asc::FIELD_IN_CDB));
        assert_eq!(bench.send(&ask(2, 0x5e, 1, false), &[]).good()[1], 3);
        assert_eq!(bench.send(&ask(1, 0x16, 0, true), &[]).good(), [0, 1, 0, 0]);
        assert_eq!(bench.send(&ask(1, 0x12, 0, true), &[]).good()[1..4], [0x83, 0, 6]);
        assert_eq!(bench.send(&ask(3, 0x12, 7, false), &[]).good(), [0, 1, 0, 0], "INQUIRY has no service action");
    }
}

#[test]
fn timeouts_are_told_where_they_are_asked_for() {
    // SPC-4, clauses 6.35.2 to 6.35.4: CTDP, and a command timeouts descriptor of 12 bytes that names none.
    const NONE: [u8; 12] = [0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut bench = Bench::ram();
    let mut ask = |options: u8, opcode, action, timeouts| {
        let cdb = Cdb::ReportSupportedOperationCodes { timeouts, options, opcode, action, allocation: 65535 };
        bench.send(&cdb, &[]).good()
    };
    let (bare, told) = (ask(0, 0, 0, false), ask(0, 0, 0, true));
    for (bare, told) in bare[4..].chunks(8).zip(told[4..].chunks(20)) {
        let flags = u8::from([0x48, 0x83, 0x84, 0x5e, 0x5f, 0x9e, 0xa3, 0xa4].contains(&bare[0]));
        assert_eq!((bare[5], told[5], &told[8..]), (flags, flags | 2, &NONE[..]));
        assert_eq!((&bare[..5], &bare[6..]), (&told[..5], &told[6..8]));
    }
    for (options, opcode, action) in [(1, 0x12, 0), (2, 0x9e, 0x10)] {
        let (bare, told) = (ask(options, opcode, action, false), ask(options, opcode, action, true));
        assert_eq!((bare[1], told[1]), (3, 0x83));
        assert_eq!(told[4..], [&bare[4..], &NONE].concat());
    }
}

#[test]
fn a_stopped_unit_is_not_ready() {
    // SBC-3, clause 5.25; SPC-4, clause 6.39: REQUEST SENSE tells why.
    let (backend, diary) = Slow::new(1 << 20, |_| {});
    let mut bench = Bench::new(backend);
    let start =
        |start, no_flush| Cdb::StartStop { immediate: false, modifier: 0, power: 0, no_flush, load: false, start };
    bench.send(&start(false, false), &[]).good();
    assert_eq!(diary.borrow().asked, ["flush"], "what was written lasts");
    for cdb in [
        Cdb::TestUnitReady,
        Cdb::Read(Transfer::new(0, 1)),
        Cdb::ReadCapacity10,
        Cdb::ReadCapacity16 { allocation: 32 },
        Cdb::SynchronizeCache { width: Width::Ten, immediate: false, lba: 0, blocks: 0 },
        Cdb::PreFetch { width: Width::Ten, immediate: false, lba: 0, blocks: 0 },
        Cdb::Unmap { anchor: false, len: 0 },
        Cdb::Verify { transfer: Transfer::new(0, 1), compare: 0 },
    ] {
        assert_eq!(bench.send(&cdb, &[]).why(), (2, asc::STOPPED), "{cdb:?}");
    }
    let sense = |descriptors| Cdb::RequestSense { descriptors, allocation: 252 };
    assert_eq!(bench.send(&sense(true), &[]).good(), [0x72, 2, 4, 2, 0, 0, 0, 0]);
    bench.send(&Cdb::Inquiry { page: None, allocation: 36 }, &[]).good();
    bench.send(&start(true, false), &[]).good();
    bench.send(&Cdb::TestUnitReady, &[]).good();
    assert_eq!(bench.send(&sense(false), &[]).good()[..3], [0x70, 0, 0]);
    bench.send(&start(false, true), &[]).good();
    bench.send(&start(true, false), &[]).good();
    assert_eq!(diary.borrow().asked, ["flush"]);
    // A reset starts it: the unit is as after power-on (SAM-5, clause 6.3.3).
    bench.send(&start(false, true), &[]).good();
    bench.disks.manage(0, BOB, lun(0), Function::LogicalUnitReset, &mut |_| {});
    assert_eq!(bench.send(&Cdb::TestUnitReady, &[]).why(), (6, asc::RESET));
    bench.send(&Cdb::TestUnitReady, &[]).good();
    for bad in [[0x1b, 0, 0, 0, 0x10, 0], [0x1b, 0, 0, 0, 2, 0]] {
        assert_eq!(bench.send(&Cdb::parse(&bad).unwrap(), &[]).why(), (5, asc::FIELD_IN_CDB));
    }
}

#[test]
fn the_default_test_passes_where_the_unit_is_ready_and_no_other_is_offered() {
    // SPC-4, clause 6.42; table 65: a reservation of either kind keeps others from it.
    let diagnostic =
        |code, test, len| Cdb::SendDiagnostic { code, pages: true, test, all_offline: false, offline: true, len };
    let mut bench = Bench::ram();
    for test in [false, true] {
        bench.send(&diagnostic(0, test, 0), &[]).good();
    }
    for (bad, byte) in [(diagnostic(1, false, 0), 1), (diagnostic(5, true, 0), 1), (diagnostic(0, false, 4), 3)] {
        let ended = bench.send(&bad, &[0; 4]);
        assert_eq!(ended.why(), (5, asc::FIELD_IN_CDB), "{bad:?}");
        assert_eq!(ended.sense().unwrap().field.map(|at| at.byte), Some(byte), "{bad:?}");
    }
    let listed =
        Cdb::ReportSupportedOperationCodes { timeouts: false, options: 1, opcode: 0x1d, action: 0, allocation: 10 };
    assert_eq!(bench.send(&listed, &[]).good(), [0, 3, 0, 6, 0x1d, 0xf7, 0, 0xff, 0xff, 4]);
    assert_eq!(diagnostic(0, true, 0).access(), Access::Writes);
    bench.send(&Cdb::parse(&[0x1b, 0, 0, 0, 0, 0]).unwrap(), &[]).good();
    assert_eq!(bench.send(&diagnostic(0, true, 0), &[]).why(), (2, asc::STOPPED));
    bench.send(&diagnostic(0, false, 0), &[]).good();
}

#[test]
fn a_flush_reaches_the_medium() {
    // SBC-3, clauses 5.26 and 5.27.
    let (backend, diary) = Slow::new(1 << 20, |_| {});
    let mut bench = Bench::new(backend);
    for (width, lba, blocks) in [(Width::Ten, 0, 0), (Width::Sixteen, 2047, 1)] {
        bench.send(&Cdb::SynchronizeCache { width, immediate: true, lba, blocks }, &[]).good();
    }
    assert_eq!(diary.borrow().asked, ["flush", "flush"]);
    let beyond = Cdb::SynchronizeCache { width: Width::Ten, immediate: false, lba: 2048, blocks: 1 };
    assert_eq!(bench.send(&beyond, &[]).why(), (5, asc::LBA_OUT_OF_RANGE));
    diary.borrow_mut().results.push(BackendError::Medium);
    let cdb = Cdb::SynchronizeCache { width: Width::Ten, immediate: false, lba: 0, blocks: 0 };
    assert_eq!(bench.send(&cdb, &[]).why(), (3, asc::WRITE_ERROR));
    let fetch = |lba| Cdb::PreFetch { width: Width::Ten, immediate: false, lba, blocks: 1 };
    bench.send(&fetch(0), &[]).good();
    assert_eq!(bench.send(&fetch(2048), &[]).why(), (5, asc::LBA_OUT_OF_RANGE));
}

#[test]
fn who_is_not_allowed_sees_no_unit() {
    // SPC-4, clauses 4.6.4, 6.6.2 and 6.33; the rule is in the description of `Disks`.
    let mut bench = Bench::ram();
    for number in [1, 300] {
        bench.disks.add(number, Box::new(Ram::new(4096, 512, false, u64::from(number)).unwrap())).unwrap();
    }
    let luns = |bench: &mut Bench, who| {
        let data = bench.by(who, &Cdb::ReportLuns { select: 0, allocation: 4096 }, &[]).good();
        parse_luns(&data).unwrap().0.collect::<Vec<_>>()
    };
    assert_eq!(luns(&mut bench, ALICE), [lun(0).0, lun(1).0, lun(300).0]);
    bench.disks.allow(wwpn(ALICE), &[1, 300]);
    assert_eq!((luns(&mut bench, ALICE), luns(&mut bench, BOB)), (vec![lun(1).0, lun(300).0], vec![]));
    for (who, number) in [(ALICE, 0), (BOB, 0), (BOB, 1), (ALICE, 2), (ALICE, 0x3fff)] {
        for cdb in [[0; 16], Cdb::Read(Transfer::new(0, 1)).bytes().unwrap().sixteen().unwrap(), [0xff; 16]] {
            assert_eq!(bench.raw(who, lun(number), &cdb, &[], 512).why(), (5, asc::LUN));
        }
        let data = bench.raw(who, lun(number), &[0x12, 0, 0, 0, 96, 0], &[], 96).good();
        let inquiry = Inquiry::parse(&data).unwrap();
        assert_eq!((inquiry.qualifier, inquiry.device_type), (Qualifier::NOT_SUPPORTED, 0x1f));
        assert_eq!(bench.raw(who, lun(number), &[0x12, 1, 0, 0, 96, 0], &[], 96).good(), [0x7f, 0, 0, 1, 0]);
        assert_eq!(bench.raw(who, lun(number), &[0x12, 1, 0x83, 0, 96, 0], &[], 96).why(), (5, asc::FIELD_IN_CDB));
        let sense = bench.raw(who, lun(number), &[3, 0, 0, 0, 18, 0], &[], 18).good();
        assert_eq!((sense[2], sense[12]), (SenseKey::ILLEGAL_REQUEST.0, asc::LUN.0));
        let sense = bench.raw(who, lun(number), &[3, 1, 0, 0, 252, 0], &[], 252).good();
        assert_eq!(sense, [0x72, SenseKey::ILLEGAL_REQUEST.0, asc::LUN.0, 0, 0, 0, 0, 0], "in descriptor format");
        assert_eq!(bench.raw(who, lun(number), &[3, 0, 0, 0, 4, 0], &[], 252).good(), [0x70, 0, 5, 0]);
        // Only at LUN 0 everybody may ask for the list (clause 6.33.1).
        let list = bench.raw(who, lun(number), &[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0], &[], 64);
        match number {
            0 => _ = list.good(),
            _ => assert_eq!(list.why(), (5, asc::LUN)),
        }
    }
    let function = bench.disks.manage(0, BOB, lun(1), Function::LogicalUnitReset, &mut |_| {});
    assert_eq!(function, FunctionResponse::IncorrectLun);
    // Addresses that are no number of a unit.
    for strange in [[0x80, 1, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 1], [0xff; 8]] {
        assert_eq!(bench.raw(ALICE, Lun(strange), &[0; 16], &[], 0).why(), (5, asc::LUN));
    }
    // A unit that is seen tells that it is new, by either addressing.
    assert_eq!(bench.raw(ALICE, Lun([0x40, 1, 0, 0, 0, 0, 0, 0]), &[0; 16], &[], 0).why(), (6, asc::RESET));
    bench.raw(ALICE, lun(1), &[0; 16], &[], 0);
    assert_eq!(bench.raw(ALICE, lun(1), &[0; 16], &[], 0).response.status, Response::GOOD);
    let strange = PeerId { index: 900, generation: 1 };
    assert_eq!(bench.raw(strange, lun(1), &[0; 16], &[], 0).why(), (5, asc::LUN), "who has not logged in");
}

#[test]
fn new_units_are_told_and_listed() {
    // SPC-4, clause 6.33.1: REPORTED LUNS DATA HAS CHANGED.
    let mut bench = Bench::ram();
    for number in (1..=400).rev() {
        bench.disks.add(number, Box::new(Null::new(4096, 512, u64::from(number)).unwrap())).unwrap();
    }
    assert_eq!(bench.raw(ALICE, lun(0), &[0; 16], &[], 0).why(), (6, asc::LUNS_CHANGED));
    assert_eq!(bench.raw(ALICE, lun(0), &[0; 16], &[], 0).response.status, Response::GOOD);
    let data = bench.by(BOB, &Cdb::ReportLuns { select: 2, allocation: 65535 }, &[]).good();
    let luns: Vec<_> = parse_luns(&data).unwrap().0.collect();
    assert_eq!(luns, (0..=400).map(|number| lun(number).0).collect::<Vec<_>>());
    // An initiator that has asked for the list is no longer notified.
    assert_eq!(bench.raw(BOB, lun(0), &[0; 16], &[], 0).response.status, Response::GOOD);
    assert_eq!(bench.raw(BOB, lun(400), &[0; 16], &[], 0).why(), (6, asc::RESET));
    assert_eq!(bench.raw(BOB, lun(400), &[0; 16], &[], 0).response.status, Response::GOOD);
    assert_eq!(bench.by(BOB, &Cdb::ReportLuns { select: 1, allocation: 64 }, &[]).good(), [0; 8]);
    assert_eq!(bench.by(BOB, &Cdb::ReportLuns { select: 3, allocation: 64 }, &[]).why(), (5, asc::FIELD_IN_CDB));
}

#[test]
fn disks_that_cannot_be_are_refused() {
    let mut disks = Disks::new(&CONFIG);
    let null = || Box::new(Null::new(4096, 512, 1).unwrap());
    assert_eq!(disks.add(0x4000, null()), Err(DisksError::Lun(0x4000)));
    disks.add(7, null()).unwrap();
    assert_eq!(disks.add(7, null()), Err(DisksError::Taken(7)));
    let (backend, _) = Slow::new(4096, |geometry| geometry.blocks = 0);
    assert!(matches!(disks.add(8, Box::new(backend)), Err(DisksError::Geometry(8, _))));
    let (backend, _) = Slow::new(4096, |geometry| geometry.block_size = 520);
    assert!(matches!(disks.add(8, Box::new(backend)), Err(DisksError::Geometry(8, GeometryError::BlockSize(520)))));
    disks.nexus(ALICE, Wwn(1));
    assert_eq!(disks.status().count(), 1);
}

#[test]
fn a_unit_attention_is_told_once_and_not_by_commands_that_ask_what_the_unit_is() {
    // SAM-5, clause 5.14.
    let mut bench = Bench::ram();
    bench.disks.nexus(ALICE, wwpn(ALICE));
    bench.send(&Cdb::Inquiry { page: None, allocation: 36 }, &[]).good();
    bench.send(&Cdb::ReportLuns { select: 0, allocation: 64 }, &[]).good();
    let sense = bench.send(&Cdb::RequestSense { descriptors: false, allocation: 18 }, &[]).good();
    assert_eq!((sense[2], sense[12], sense[13]), (6, 0x29, 0), "REQUEST SENSE tells it as data");
    bench.send(&Cdb::TestUnitReady, &[]).good();
    bench.by(BOB, &Cdb::TestUnitReady, &[]).good();
}

#[test]
fn the_one_port_group_is_active_and_the_blocks_are_there() {
    // SPC-4, clause 6.37: groups, with either header.
    let mut bench = Bench::ram();
    let group = [0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1];
    let ask = |format| Cdb::ReportTargetPortGroups { format, allocation: 64 };
    assert_eq!(bench.send(&ask(0), &[]).good(), [&[0, 0, 0, 12][..], &group].concat());
    assert_eq!(bench.send(&ask(1), &[]).good(), [&[0, 0, 0, 16, 0x10, 0, 0, 0][..], &group].concat());
    assert_eq!(bench.send(&ask(2), &[]).why(), (5, asc::FIELD_IN_CDB));
    let standard = Inquiry::parse(&bench.send(&Cdb::Inquiry { page: None, allocation: 96 }, &[]).good()).unwrap();
    assert_eq!(standard.port_groups, 1, "changed by no command");
}

#[test]
fn blocks_are_deallocated_where_the_back_end_knows_it() {
    // SBC-3, clause 5.4: one descriptor of blocks of one state; 0 is mapped or unknown, 1 deallocated.
    let status = |bench: &mut Bench, lba| bench.send(&Cdb::GetLbaStatus { lba, allocation: 64 }, &[]);
    let wanted = |lba: u64, blocks: u32, state| {
        [&[0, 0, 0, 20, 0, 0, 0, 0][..], &lba.to_be_bytes(), &blocks.to_be_bytes(), &[state, 0, 0, 0]].concat()
    };
    let mut bench = Bench::ram();
    assert_eq!(status(&mut bench, 3).good(), wanted(3, 2045, 1));
    assert_eq!(status(&mut bench, 2048).why(), (5, asc::LBA_OUT_OF_RANGE));
    bench.send(&Cdb::Write(Transfer::new(100, 8)), &[7; 4096]).good();
    assert_eq!(status(&mut bench, 3).good(), wanted(3, 97, 1));
    assert_eq!(status(&mut bench, 101).good(), wanted(101, 7, 0));
    let mut range = Vec::new();
    put_unmap(&[UnmapRange { lba: 100, blocks: 4 }], &mut range).unwrap();
    bench.send(&Cdb::Unmap { anchor: false, len: 24 }, &range).good();
    assert_eq!((status(&mut bench, 0).good(), status(&mut bench, 104).good()), (wanted(0, 104, 1), wanted(104, 4, 0)));
    let erase = Cdb::Sanitize { action: 2, immediate: false, unrestricted: false, len: 0 };
    bench.send(&erase, &[]).good();
    assert_eq!(status(&mut bench, 0).good(), wanted(0, 2048, 1));
    // It does not know, or has no blocks that are not provisioned.
    let mut large = Bench::new(Null::new(1 << 50, 512, 1).unwrap());
    assert_eq!(status(&mut large, 0).good(), wanted(0, u32::MAX, 0));
    for change in
        [|geometry: &mut Geometry| geometry.discards = false, |geometry: &mut Geometry| geometry.discard_zeroes = false]
    {
        let mut bench = Bench::new(Slow::new(1 << 20, change).0);
        assert_eq!(status(&mut bench, 3).good(), wanted(3, 2045, 0));
    }
}
