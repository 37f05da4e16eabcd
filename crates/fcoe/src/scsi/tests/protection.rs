//! Protection information (SBC-3, clause 4.22).

use super::slow::Slow;
use super::support::*;
use crate::*;
use linerate_block::Ram;
use linerate_wire::scsi::{Capacity, Cdb, ExtendedInquiry, Inquiry, ProtectionTags, Transfer, VpdPage, Width, asc};

/// A disk of 1 MiB in memory with protection information of that type.
fn bench(kind: ProtectionType) -> Bench {
    sized(kind, 1 << 20)
}

fn of_type(kind: ProtectionType) -> UnitOptions {
    UnitOptions { protection: Some(kind), name: None }
}

fn sized(kind: ProtectionType, bytes: u64) -> Bench {
    let mut disks = Disks::new(&CONFIG);
    disks.add_with(0, Box::new(Ram::new(bytes, 512, true, 1).unwrap()), of_type(kind)).unwrap();
    let mut bench = Bench { disks, next: 0 };
    bench.disks.nexus(ALICE, wwpn(ALICE));
    assert_eq!(bench.send(&Cdb::TestUnitReady, &[]).why(), (6, asc::RESET));
    bench
}

/// Four blocks of which each has its tuple behind it.
fn blocks(kind: ProtectionType, application: u16, reference: u32) -> Vec<u8> {
    let protection = Protection { kind, guard: Guard::Crc16, block: 512 };
    let data: Vec<u8> = (0..2048).map(|i| u8::try_from(i % 241).unwrap()).collect();
    let mut blocks = vec![0; 4 * 520];
    protection.insert(&data, application, reference, &mut blocks);
    blocks
}

fn bare(blocks: &[u8]) -> Vec<u8> {
    blocks.chunks(520).flat_map(|block| &block[..512]).copied().collect()
}

fn transfer(lba: u64, protect: u8) -> Transfer {
    Transfer { protect, ..Transfer::new(lba, 4) }
}

fn long(lba: u64, protect: u8, tags: ProtectionTags) -> Transfer {
    Transfer { width: Width::ThirtyTwo(tags), ..transfer(lba, protect) }
}

#[test]
fn a_protected_unit_says_so() {
    // PROTECT, P_TYPE and PROT_EN, SPT (SPC-4, clauses 6.6.2 and 7.8.7; SBC-3, clause 5.16.2).
    for (kind, supported) in [(ProtectionType::Type1, 0), (ProtectionType::Type2, 2), (ProtectionType::Type3, 4)] {
        let mut bench = bench(kind);
        let inquiry = bench.send(&Cdb::Inquiry { page: None, allocation: 96 }, &[]).good();
        assert!(Inquiry::parse(&inquiry).unwrap().protect);
        let capacity = bench.send(&Cdb::ReadCapacity16 { allocation: 32 }, &[]).good();
        assert_eq!(capacity[12], (kind.code() - 1) << 1 | 1);
        assert_eq!(Capacity::parse_16(&capacity).unwrap().protection, kind.code());
        let page = bench.send(&Cdb::Inquiry { page: Some(VpdPage::EXTENDED), allocation: 64 }, &[]).good();
        let extended = ExtendedInquiry::parse(&page[4..]).unwrap();
        assert_eq!((extended.protection_types, extended.guard), (supported, true));
        assert_eq!(extended.reference, kind != ProtectionType::Type3);
    }
}

#[test]
fn what_comes_with_blocks_goes_with_them() {
    // SBC-3, clauses 5.11 and 5.33: RDPROTECT and WRPROTECT 1 to 5.
    for kind in [ProtectionType::Type1, ProtectionType::Type3] {
        let mut bench = bench(kind);
        let all = blocks(kind, 0x1234, 8);
        for protect in 1..=5 {
            let ended = bench.send(&Cdb::Write(transfer(8, protect)), &all);
            assert_eq!((ended.response.status, ended.response.wanted), (Response::GOOD, 2080));
            let ended = bench.send(&Cdb::Read(transfer(8, protect)), &[]);
            assert_eq!((ended.response.wanted, ended.good()), (2080, all.clone()));
        }
        assert_eq!(bench.send(&Cdb::Read(transfer(8, 0)), &[]).good(), bare(&all), "stripped");
        for protect in [6, 7] {
            assert_eq!(bench.send(&Cdb::Read(transfer(8, protect)), &[]).why(), (5, asc::FIELD_IN_CDB));
            assert_eq!(bench.send(&Cdb::Write(transfer(8, protect)), &all).why(), (5, asc::FIELD_IN_CDB));
        }
        // FCP_DL counts protection information.
        assert_eq!(bench.send(&Cdb::Write(transfer(8, 1)), &all[..2079]).why(), (5, asc::INFORMATION_UNIT));
    }
}

#[test]
fn without_it_in_the_data_it_is_made() {
    // SBC-3, clause 5.33: WRPROTECT 0.
    let mut bench = bench(ProtectionType::Type1);
    let all = blocks(ProtectionType::Type1, 0, 20);
    bench.send(&Cdb::Write(transfer(20, 0)), &bare(&all)).good();
    assert_eq!(bench.send(&Cdb::Read(transfer(20, 1)), &[]).good(), all);
    // Protection information of unwritten blocks is all ones and not compared (clause 4.22.2.1).
    let fresh = bench.send(&Cdb::Read(transfer(100, 1)), &[]).good();
    assert_eq!((&fresh[..512], &fresh[512..520]), (&[0; 512][..], &[0xff; 8][..]));
}

#[test]
fn what_is_wrong_is_not_written_and_not_read() {
    // SBC-3, clauses 5.11, 5.33 and 4.22.5: ABORTED COMMAND and the field, at its block.
    let all = blocks(ProtectionType::Type1, 7, 8);
    for (at, code, checked) in [
        (2 * 520 + 9, asc::GUARD_CHECK, [true, false, false, true, true]),
        (2 * 520 + 519, asc::REFERENCE_TAG_CHECK, [true, true, false, false, true]),
    ] {
        let mut bench = bench(ProtectionType::Type1);
        let mut bad = all.clone();
        bad[at] ^= 1;
        for (protect, checked) in (1..=5).zip(checked) {
            bench.send(&Cdb::Write(transfer(8, 1)), &all).good();
            let ended = bench.send(&Cdb::Write(transfer(8, protect)), &bad);
            if checked {
                assert_eq!((ended.why(), ended.sense().unwrap().information), ((0xb, code), Some(10)));
                assert_eq!(bench.send(&Cdb::Read(transfer(8, 3)), &[]).good(), all, "nothing is written");
            } else {
                ended.good();
            }
            // The same when it is on the medium.
            bench.send(&Cdb::Write(transfer(8, 3)), &bad).good();
            let ended = bench.send(&Cdb::Read(transfer(8, protect)), &[]);
            if checked {
                assert_eq!((ended.why(), ended.sense().unwrap().information), ((0xb, code), Some(10)));
            } else {
                assert_eq!(ended.good(), bad);
            }
        }
        assert_eq!(bench.send(&Cdb::Read(transfer(8, 0)), &[]).why(), (0xb, code), "RDPROTECT 0 checks too");
        let verify = Cdb::Verify { transfer: transfer(8, 0), compare: 0 };
        assert_eq!(bench.send(&verify, &[]).why(), (0xb, code));
    }
}

#[test]
fn type_2_is_for_commands_of_32_bytes() {
    // SBC-3, clauses 4.22.2.4, 5.14 and 5.36.
    let mut bench = bench(ProtectionType::Type2);
    let all = blocks(ProtectionType::Type2, 0x1234, 77);
    let tags = ProtectionTags { reference: 77, application: 0x12ab, application_mask: 0xff00 };
    bench.send(&Cdb::Write(long(8, 1, tags)), &all).good();
    assert_eq!(bench.send(&Cdb::Read(long(8, 1, tags)), &[]).good(), all);
    assert_eq!(bench.send(&Cdb::Read(long(8, 0, tags)), &[]).good(), bare(&all));
    assert_eq!(bench.send(&Cdb::Read(transfer(8, 0)), &[]).good(), bare(&all), "no tag is known");
    let other = ProtectionTags { reference: 78, ..tags };
    assert_eq!(bench.send(&Cdb::Read(long(8, 1, other)), &[]).why(), (0xb, asc::REFERENCE_TAG_CHECK));
    assert_eq!(bench.send(&Cdb::Write(long(8, 1, other)), &all).why(), (0xb, asc::REFERENCE_TAG_CHECK));
    let other = ProtectionTags { application: 0x1300, ..tags };
    assert_eq!(bench.send(&Cdb::Read(long(8, 1, other)), &[]).why(), (0xb, asc::APPLICATION_TAG_CHECK));
    for ended in [bench.send(&Cdb::Read(transfer(8, 1)), &[]), bench.send(&Cdb::Write(transfer(8, 1)), &all)] {
        assert_eq!(ended.why(), (5, asc::OPCODE));
    }
    // Generated protection information takes the tags of the command.
    bench.send(&Cdb::Write(long(8, 0, tags)), &bare(&all)).good();
    assert_eq!(bench.send(&Cdb::Read(long(8, 1, tags)), &[]).good(), blocks(ProtectionType::Type2, 0x1200, 77));
    // They are listed for it.
    let ask = |action| Cdb::ReportSupportedOperationCodes {
        timeouts: false,
        options: 2,
        opcode: 0x7f,
        action,
        allocation: 64,
    };
    assert_eq!((9..=14).map(|action| bench.send(&ask(action), &[]).good()[1]).collect::<Vec<_>>(), [3, 3, 3, 3, 3, 1]);
    // VERIFY (32), WRITE AND VERIFY (32) and WRITE SAME (32) are told the tags too (clauses 5.32, 5.40 and 5.45).
    let verify = |protect, tags, compare| Cdb::Verify { transfer: long(8, protect, tags), compare };
    let all = blocks(ProtectionType::Type2, 0x1200, 77);
    for protect in [0, 1, 2, 4] {
        bench.send(&verify(protect, tags, 0), &[]).good();
        let ended = bench.send(&verify(protect, ProtectionTags { reference: 78, ..tags }, 0), &[]);
        match protect {
            4 => _ = ended.good(),
            _ => assert_eq!(ended.why(), (0xb, asc::REFERENCE_TAG_CHECK)),
        }
    }
    assert_eq!(bench.send(&verify(1, other, 0), &[]).why(), (0xb, asc::APPLICATION_TAG_CHECK));
    assert_eq!(bench.send(&verify(1, other, 1), &all).why(), (0xb, asc::APPLICATION_TAG_CHECK));
    bench.send(&verify(1, tags, 1), &all).good();
    bench.send(&verify(0, tags, 1), &bare(&all)).good();
    let elsewhere = ProtectionTags { reference: 500, ..tags };
    let other = blocks(ProtectionType::Type2, 0x1234, 500);
    bench.send(&Cdb::WriteAndVerify { transfer: long(30, 1, elsewhere), compare: 1 }, &other).good();
    assert_eq!(bench.send(&Cdb::Read(long(30, 1, elsewhere)), &[]).good(), other);
    let same = Cdb::WriteSame {
        width: Width::ThirtyTwo(elsewhere),
        lba: 40,
        blocks: 4,
        protect: 0,
        anchor: false,
        unmap: false,
        no_data: false,
    };
    bench.send(&same, &[9; 512]).good();
    let read = bench.send(&Cdb::Read(long(40, 1, elsewhere)), &[]).good();
    let tuple = ProtectionTuple::parse(read[3 * 520 + 512..].try_into().unwrap());
    assert_eq!((tuple.application, tuple.reference), (0x1200, 503));
    // To others than type 2 they are no commands, and on type 2 shorter ones have no protection information.
    assert_eq!(bench.send(&Cdb::Verify { transfer: transfer(8, 1), compare: 0 }, &[]).why(), (5, asc::OPCODE));
    bench.send(&Cdb::Verify { transfer: transfer(8, 0), compare: 0 }, &[]).good();
    let mut first = first_type();
    for cdb in [verify(1, tags, 0), same, Cdb::WriteAndVerify { transfer: long(8, 1, tags), compare: 0 }] {
        assert_eq!(first.send(&cdb, &all).why(), (5, asc::OPCODE));
    }
}

fn first_type() -> Bench {
    bench(ProtectionType::Type1)
}

/// VERIFY from `lba` of four blocks.
fn verify(lba: u64, protect: u8, compare: u8) -> Cdb {
    Cdb::Verify { transfer: transfer(lba, protect), compare }
}

#[test]
fn verify_checks_what_is_on_the_medium() {
    // SBC-3, clause 5.29: VRPROTECT with BYTCHK 0. ABORTED COMMAND, the field, and the block.
    let all = blocks(ProtectionType::Type1, 7, 8);
    for (at, code, checked) in [
        (2 * 520 + 9, asc::GUARD_CHECK, [true, true, false, false, true, true]),
        (2 * 520 + 519, asc::REFERENCE_TAG_CHECK, [true, true, true, false, false, true]),
    ] {
        let mut bench = bench(ProtectionType::Type1);
        let mut bad = all.clone();
        bad[at] ^= 1;
        bench.send(&Cdb::Write(transfer(8, 3)), &bad).good();
        for (protect, checked) in (0..=5).zip(checked) {
            let ended = bench.send(&verify(8, protect, 0), &[]);
            if checked {
                assert_eq!((ended.why(), ended.sense().unwrap().information), ((0xb, code), Some(10)));
            } else {
                ended.good();
            }
        }
        for protect in [6, 7] {
            assert_eq!(bench.send(&verify(8, protect, 0), &[]).why(), (5, asc::FIELD_IN_CDB));
        }
        // With BYTCHK 1 only VRPROTECT 0 looks at it; what comes is compared with it otherwise.
        assert_eq!(bench.send(&verify(8, 0, 1), &bare(&bad)).why(), (0xb, code));
        bench.send(&verify(8, 3, 1), &bad).good();
    }
    // A device without protection information refuses to check it (clause 4.22).
    assert_eq!(Bench::ram().send(&verify(8, 1, 0), &[]).why(), (5, asc::FIELD_IN_CDB));
}

#[test]
fn verify_makes_of_one_block_what_write_same_makes_of_it() {
    // SBC-3, clause 5.29: BYTCHK 3 with VRPROTECT; more than one piece.
    let data = [5; 512];
    let block = |tuple: ProtectionTuple| [&data[..], &tuple.bytes()].concat();
    for (kind, reference) in [(ProtectionType::Type1, 0), (ProtectionType::Type3, 77)] {
        let mut disks = Disks::new(&CONFIG);
        disks.add_with(0, Box::new(Ram::new(2 << 20, 512, true, 1).unwrap()), of_type(kind)).unwrap();
        disks.nexus(ALICE, wwpn(ALICE));
        let mut bench = Bench { disks, next: 0 };
        assert_eq!(bench.send(&Cdb::TestUnitReady, &[]).why(), (6, asc::RESET));
        let whole = |protect| Transfer { protect, ..Transfer::new(0, 4096) };
        let good = ProtectionTuple { guard: Guard::Crc16.of(&data), application: 0x1234, reference };
        let write = |lba, blocks| Cdb::WriteSame {
            width: Width::Sixteen,
            lba,
            blocks,
            protect: 3,
            anchor: false,
            unmap: false,
            no_data: false,
        };
        bench.send(&write(0, 4096), &block(good)).good();
        let verify = |protect| Cdb::Verify { transfer: whole(protect), compare: 3 };
        for protect in 1..=5 {
            let ended = bench.send(&verify(protect), &block(good));
            assert_eq!((ended.response.status, ended.response.wanted), (Response::GOOD, 520), "{protect}");
        }
        assert_eq!(bench.send(&verify(0), &data).response.wanted, 512);
        assert_eq!(bench.send(&verify(1), &data).why(), (5, asc::INFORMATION_UNIT));
        assert_eq!(bench.send(&verify(6), &block(good)).why(), (5, asc::FIELD_IN_CDB));
        // The data out is checked, as far as requested, and then compared.
        let bad = block(ProtectionTuple { guard: good.guard ^ 1, ..good });
        assert_eq!(bench.send(&verify(1), &bad).why(), (0xb, asc::GUARD_CHECK));
        assert_eq!(bench.send(&verify(3), &bad).why(), (0xe, asc::GUARD_CHECK));
        bench.send(&verify(2), &bad).good();
        for (last, code) in [
            (ProtectionTuple { application: 9, ..good }, asc::APPLICATION_TAG_CHECK),
            (ProtectionTuple { reference: 9, ..good }, asc::REFERENCE_TAG_CHECK),
        ] {
            bench.send(&write(4095, 1), &block(last)).good();
            assert_eq!(bench.send(&verify(3), &block(good)).why(), (0xe, code));
        }
        assert_eq!(bench.disks.lent(), 0);
    }
}

#[test]
fn verify_compares_what_comes_byte_by_byte() {
    // SBC-3, clause 5.29: VRPROTECT with BYTCHK 1: what comes is checked as with WRITE, then compared; MISCOMPARE, and what
    // differs. FCP_DL counts protection information.
    for kind in [ProtectionType::Type1, ProtectionType::Type3] {
        let mut bench = bench(kind);
        let all = blocks(kind, 0x1234, 8);
        bench.send(&Cdb::Write(transfer(8, 1)), &all).good();
        for protect in 1..=5 {
            let ended = bench.send(&verify(8, protect, 1), &all);
            assert_eq!((ended.response.status, ended.response.wanted), (Response::GOOD, 2080));
        }
        bench.send(&verify(8, 0, 1), &bare(&all)).good();
        assert_eq!(bench.send(&verify(8, 1, 1), &all[..2079]).why(), (5, asc::INFORMATION_UNIT));
        for protect in [6, 7] {
            assert_eq!(bench.send(&verify(8, protect, 1), &all).why(), (5, asc::FIELD_IN_CDB));
        }
        for (at, code) in [
            (520 + 9, asc::MISCOMPARE),
            (520 + 512, asc::GUARD_CHECK),
            (520 + 514, asc::APPLICATION_TAG_CHECK),
            (520 + 519, asc::REFERENCE_TAG_CHECK),
        ] {
            let mut other = all.clone();
            other[at] ^= 1;
            // 3: nothing is checked, all is compared.
            assert_eq!(bench.send(&verify(8, 3, 1), &other).why(), (0xe, code));
            // 2: the guard is neither.
            let ended = bench.send(&verify(8, 2, 1), &other);
            match code {
                asc::GUARD_CHECK => _ = ended.good(),
                asc::REFERENCE_TAG_CHECK if kind == ProtectionType::Type1 => assert_eq!(ended.why(), (0xb, code)),
                _ => assert_eq!(ended.why(), (0xe, code)),
            }
        }
        // 1: what comes is wrong in itself.
        let mut bad = all.clone();
        bad[520 + 9] ^= 1;
        let ended = bench.send(&verify(8, 1, 1), &bad);
        assert_eq!((ended.why(), ended.sense().unwrap().information), ((0xb, asc::GUARD_CHECK), Some(9)));
    }
}

#[test]
fn long_verifications_go_on_where_they_were() {
    // More than one piece of 1 MiB, each with its own reference tags.
    let mut bench = sized(ProtectionType::Type1, 2 << 20);
    let (protection, data) = (Protection { kind: ProtectionType::Type1, guard: Guard::Crc16, block: 512 }, [3; 512]);
    let all: Vec<u8> =
        (0..3000).flat_map(|lba| [&data[..], &protection.tuple(&data, 5, lba, 0).bytes()].concat()).collect();
    let whole = |protect| Transfer { protect, ..Transfer::new(0, 3000) };
    bench.send(&Cdb::Write(whole(1)), &all).good();
    for protect in 0..5 {
        bench.send(&Cdb::Verify { transfer: whole(protect), compare: 0 }, &[]).good();
    }
    bench.send(&Cdb::Verify { transfer: whole(1), compare: 1 }, &all).good();
    let mut other = all.clone();
    *other.last_mut().unwrap() ^= 1;
    let verify = Cdb::Verify { transfer: whole(3), compare: 1 };
    assert_eq!(bench.send(&verify, &other).why(), (0xe, asc::REFERENCE_TAG_CHECK));
    assert_eq!(bench.disks.lent(), 0);
}

/// WRITE SAME of the whole disk.
fn same(protect: u8, unmap: bool, no_data: bool) -> Cdb {
    Cdb::WriteSame { width: Width::Sixteen, lba: 0, blocks: 2048, protect, anchor: false, unmap, no_data }
}

#[test]
fn write_same_writes_the_tags_that_came() {
    // SBC-3, clause 5.43: WRPROTECT as with WRITE; reference tags of type 1 count on from the one that came, those of type
    // 3 are all that one; guard and application tag are those that came.
    let data = [5; 512];
    let block = |tuple: ProtectionTuple| [&data[..], &tuple.bytes()].concat();
    let guard = Guard::Crc16.of(&data);
    for kind in [ProtectionType::Type1, ProtectionType::Type3] {
        let counts = kind == ProtectionType::Type1;
        let first = if counts { 0 } else { 0x55 };
        let good = ProtectionTuple { guard, application: 0x1234, reference: first };
        let mut bench = bench(kind);
        for protect in 1..=5 {
            let ended = bench.send(&same(protect, false, false), &block(good));
            assert_eq!((ended.response.status, ended.response.wanted), (Response::GOOD, 520));
            for lba in [0, 1, 2047_u32] {
                let read = bench.send(&Cdb::Read(Transfer { protect: 3, ..Transfer::new(lba.into(), 1) }), &[]).good();
                let reference = if counts { lba } else { first };
                assert_eq!(read, block(ProtectionTuple { reference, ..good }), "block {lba}");
            }
        }
        for (bad, code, checked) in [
            (ProtectionTuple { guard: guard ^ 1, ..good }, asc::GUARD_CHECK, [true, false, false, true, true]),
            (
                ProtectionTuple { reference: first ^ 1, ..good },
                asc::REFERENCE_TAG_CHECK,
                [counts, counts, false, false, counts],
            ),
        ] {
            for (protect, checked) in (1..=5).zip(checked) {
                let ended = bench.send(&same(protect, false, false), &block(bad));
                if checked {
                    assert_eq!((ended.why(), ended.sense().unwrap().information), ((0xb, code), Some(0)));
                } else {
                    ended.good();
                    let read = bench.send(&Cdb::Read(Transfer { protect: 3, ..Transfer::new(0, 1) }), &[]).good();
                    assert_eq!(read, block(bad), "as it came");
                }
            }
        }
        assert_eq!(bench.send(&same(1, false, false), &data).why(), (5, asc::INFORMATION_UNIT));
        for cdb in [same(6, false, false), same(7, false, false), same(6, false, true)] {
            assert_eq!(bench.send(&cdb, &block(good)).why(), (5, asc::FIELD_IN_CDB));
        }
        assert_eq!(bench.disks.lent(), 0);
    }
}

#[test]
fn write_same_gives_back_only_what_would_read_the_same() {
    // SBC-3, clause 5.43: UNMAP, with zeros whose protection information is all ones.
    let mut bench = bench(ProtectionType::Type1);
    let read = Cdb::Read(Transfer { protect: 3, ..Transfer::new(9, 1) });
    let zeros = |tuple: [u8; 8]| [&[0; 512][..], &tuple].concat();
    bench.send(&same(1, false, false), &zeros([0; 8])).good();
    assert_eq!(bench.send(&read, &[]).good(), zeros([0, 0, 0, 0, 0, 0, 0, 9]));
    bench.send(&same(1, true, false), &zeros([0; 8])).good();
    assert_eq!(bench.send(&read, &[]).good(), zeros([0, 0, 0, 0, 0, 0, 0, 9]), "it says more than nothing");
    bench.send(&same(1, true, false), &zeros([0xff; 8])).good();
    assert_eq!(bench.send(&read, &[]).good(), zeros([0xff; 8]), "given back");
}

#[test]
fn zeros_that_are_not_sent_have_protection_information_that_says_nothing() {
    // SBC-3, clause 5.44: NDOB, whatever WRPROTECT is; by a device that writes zeros itself, and by one that does not.
    for no_zeroes in [false, true] {
        let (backend, diary) = Slow::new(1 << 20, |geometry| geometry.protection = true);
        diary.borrow_mut().no_zeroes = no_zeroes;
        let mut bench = Bench::new(backend);
        let data: Vec<u8> = blocks(ProtectionType::Type1, 7, 8);
        for (protect, unmap) in [(0, false), (1, false), (5, false), (1, true)] {
            bench.send(&Cdb::Write(transfer(8, 1)), &data).good();
            let ended = bench.send(&same(protect, unmap, true), &[]);
            assert_eq!((ended.response.status, ended.response.wanted), (Response::GOOD, 0));
            let zeros = [[0; 512].to_vec(), vec![0xff; 8]].concat().repeat(4);
            assert_eq!(bench.send(&Cdb::Read(transfer(8, 1)), &[]).good(), zeros, "{protect}");
        }
        let one = Cdb::Verify { transfer: transfer(8, 1), compare: 3 };
        bench.send(&one, &[[0; 512].to_vec(), vec![0xff; 8]].concat()).good();
        assert_eq!(bench.disks.lent(), 0);
    }
}

#[test]
fn compare_and_write_moves_it() {
    // SBC-3, clause 5.2: WRPROTECT as with WRITE, for what is written; of what is compared it is not used.
    for kind in [ProtectionType::Type1, ProtectionType::Type3] {
        let mut bench = bench(kind);
        let (old, new) = (blocks(kind, 0x1234, 8), blocks(kind, 0x5678, 8));
        let compare = |protect| Cdb::CompareAndWrite { lba: 8, blocks: 4, protect, dpo: false, fua: false };
        let mut odd = old.clone();
        odd.chunks_mut(520).for_each(|block| block[512..].fill(0));
        for protect in 1..=5 {
            bench.send(&Cdb::Write(transfer(8, 1)), &old).good();
            let ended = bench.send(&compare(protect), &[&odd[..], &new].concat());
            assert_eq!((ended.response.status, ended.response.wanted), (Response::GOOD, 4160));
            assert_eq!(bench.send(&Cdb::Read(transfer(8, 1)), &[]).good(), new);
        }
        assert_eq!(bench.send(&compare(1), &[&odd[..], &new[1..]].concat()).why(), (5, asc::INFORMATION_UNIT));
        for protect in [6, 7] {
            assert_eq!(bench.send(&compare(protect), &[&odd[..], &new].concat()).why(), (5, asc::FIELD_IN_CDB));
        }
        // A difference is reported by its offset in the data, protection information included.
        let mut other = odd.clone();
        other[2 * 520 + 3] ^= 1;
        let ended = bench.send(&compare(3), &[&other[..], &new].concat());
        assert_eq!((ended.why(), ended.sense().unwrap().information), ((0xe, asc::MISCOMPARE), Some(2 * 520 + 3)));
        let mut bad = new.clone();
        bad[520 + 9] ^= 1;
        let ended = bench.send(&compare(1), &[&odd[..], &bad].concat());
        assert_eq!((ended.why(), ended.sense().unwrap().information), ((0xb, asc::GUARD_CHECK), Some(9)));
        assert_eq!(bench.send(&Cdb::Read(transfer(8, 1)), &[]).good(), new, "nothing is written");
        bench.send(&compare(3), &[&odd[..], &bad].concat()).good();
        assert_eq!(bench.disks.lent(), 0);
    }
    assert_eq!(
        bench(ProtectionType::Type2)
            .send(&Cdb::CompareAndWrite { lba: 0, blocks: 1, protect: 1, dpo: false, fua: false }, &[0; 1040])
            .why(),
        (5, asc::OPCODE)
    );
}

#[test]
fn compare_and_write_checks_what_it_reads() {
    // SBC-3, clause 4.22: the medium's own, the reference tag where the address tells it.
    let compare = Cdb::CompareAndWrite { lba: 8, blocks: 4, protect: 0, dpo: false, fua: false };
    for (kind, at, code) in [
        (ProtectionType::Type1, 2 * 520 + 9, Some(asc::GUARD_CHECK)),
        (ProtectionType::Type1, 2 * 520 + 519, Some(asc::REFERENCE_TAG_CHECK)),
        (ProtectionType::Type2, 2 * 520 + 519, None),
    ] {
        let mut bench = bench(kind);
        let mut bad = blocks(kind, 7, 8);
        bad[at] ^= 1;
        let tags = ProtectionTags { reference: 8, ..Default::default() };
        let write = if kind == ProtectionType::Type2 { long(8, 3, tags) } else { transfer(8, 3) };
        bench.send(&Cdb::Write(write), &bad).good();
        let ended = bench.send(&compare, &[bare(&bad), vec![1; 2048]].concat());
        match code {
            Some(code) => {
                assert_eq!((ended.why(), ended.sense().unwrap().information), ((0xb, code), Some(10)));
            }
            None => _ = ended.good(),
        }
        assert_eq!(bench.disks.lent(), 0);
    }
}

#[test]
fn write_and_verify_moves_it() {
    // SBC-3, clause 5.37: WRPROTECT.
    for kind in [ProtectionType::Type1, ProtectionType::Type3] {
        let mut bench = bench(kind);
        let all = blocks(kind, 0x1234, 8);
        for (protect, compare) in [(1, 0), (2, 1), (3, 0), (4, 1), (5, 1)] {
            bench.send(&Cdb::WriteAndVerify { transfer: transfer(8, protect), compare }, &all).good();
            assert_eq!(bench.send(&Cdb::Read(transfer(8, 1)), &[]).good(), all);
        }
        let mut bad = all.clone();
        bad[9] ^= 1;
        let write = |protect| Cdb::WriteAndVerify { transfer: transfer(8, protect), compare: 0 };
        assert_eq!(bench.send(&write(1), &bad).why(), (0xb, asc::GUARD_CHECK));
        bench.send(&write(3), &bad).good();
        assert_eq!(bench.send(&write(6), &all).why(), (5, asc::FIELD_IN_CDB));
        assert_eq!(bench.disks.lent(), 0);
    }
}

#[test]
fn application_tags_are_the_initiators_own() {
    // ATO (SPC-4, clause 7.5.8): they stay as they were written, so that a comparison may look at them.
    let ato = |bench: &mut Bench| {
        let ask = Cdb::ModeSense {
            ten: false,
            no_descriptors: true,
            long: false,
            control: 0,
            page: 0x0a,
            subpage: 0,
            allocation: 64,
        };
        bench.send(&ask, &[]).good()[4 + 5] >> 7
    };
    assert_eq!((ato(&mut bench(ProtectionType::Type1)), ato(&mut Bench::ram())), (1, 0));
}

#[test]
fn commands_that_do_not_move_it_make_it() {
    let mut bench = bench(ProtectionType::Type1);
    let tuple = |bench: &mut Bench, lba| bench.send(&Cdb::Read(transfer(lba, 1)), &[]).good()[512..520].to_vec();
    let protection = Protection { kind: ProtectionType::Type1, guard: Guard::Crc16, block: 512 };
    let of = |block: &[u8], lba| protection.tuple(block, 0, lba, 0).bytes().to_vec();
    let same = |unmap| Cdb::WriteSame {
        width: Width::Sixteen,
        lba: 0,
        blocks: 2048,
        protect: 0,
        anchor: false,
        unmap,
        no_data: false,
    };
    bench.send(&same(false), &[5; 512]).good();
    assert_eq!(tuple(&mut bench, 2000), of(&[5; 512], 2000));
    bench.send(&same(true), &[0; 512]).good();
    assert_eq!(tuple(&mut bench, 2000), [0xff; 8], "given back");
    bench.send(&same(false), &[0; 512]).good();
    assert_eq!(tuple(&mut bench, 2000), of(&[0; 512], 2000));
    let data = vec![1; 1024];
    let compare = Cdb::CompareAndWrite { lba: 7, blocks: 2, protect: 0, dpo: false, fua: false };
    bench.send(&compare, &[vec![0; 1024], data.clone()].concat()).good();
    assert_eq!(tuple(&mut bench, 8), of(&[1; 512], 8));
    bench.send(&Cdb::WriteAndVerify { transfer: Transfer::new(30, 2), compare: 1 }, &data).good();
    assert_eq!(tuple(&mut bench, 31), of(&[1; 512], 31));
    bench.send(&Cdb::Verify { transfer: Transfer::new(30, 2), compare: 1 }, &data).good();
}
