//! Protection information (SBC-3, clause 4.22).

use super::support::*;
use crate::*;
use linerate_wire::scsi::{Capacity, Cdb, ExtendedInquiry, Inquiry, ProtectionTags, Transfer, VpdPage, Width, asc};

/// A disk of 1 MiB in memory with protection information of that type.
fn bench(kind: ProtectionType) -> Bench {
    let mut disks = Disks::new(&CONFIG);
    disks.add_protected(0, Box::new(Ram::new(1 << 20, 512, true, 1).unwrap()), kind).unwrap();
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
    // What was never written is all ones and not compared (clause 4.22.2.1).
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
fn type_2_is_for_commands_of_32_octets() {
    // SBC-3, clauses 4.22.2.4, 5.14 and 5.36.
    let mut bench = bench(ProtectionType::Type2);
    let all = blocks(ProtectionType::Type2, 0x1234, 77);
    let tags = ProtectionTags { reference: 77, application: 0x1200, application_mask: 0xff00 };
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
    // What is made takes the tags of the command.
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
    assert_eq!([9, 10, 11].map(|action| bench.send(&ask(action), &[]).good()[1]), [3, 1, 3]);
    let verify = Cdb::Verify { transfer: long(8, 0, tags), compare: 0 };
    assert_eq!(bench.send(&verify, &[]).why(), (5, asc::OPCODE));
}

#[test]
fn commands_that_do_not_move_it_make_it() {
    let mut bench = bench(ProtectionType::Type1);
    let tuple = |bench: &mut Bench, lba| bench.send(&Cdb::Read(transfer(lba, 1)), &[]).good()[512..520].to_vec();
    let protection = Protection { kind: ProtectionType::Type1, guard: Guard::Crc16, block: 512 };
    let of = |block: &[u8], lba| protection.tuple(block, 0, lba, 0).octets().to_vec();
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
    for cdb in [
        Cdb::Verify { transfer: transfer(0, 1), compare: 0 },
        Cdb::WriteAndVerify { transfer: transfer(0, 1), compare: 0 },
        Cdb::CompareAndWrite { lba: 0, blocks: 1, protect: 1, dpo: false, fua: false },
    ] {
        assert_eq!(bench.send(&cdb, &[0; 2080]).why(), (5, asc::FIELD_IN_CDB));
    }
}
