//! READ BUFFER and WRITE BUFFER, defect lists, and identifying information.

use super::support::*;
use linerate_block::Ram;
use linerate_wire::scsi::{Access, Cdb, asc};

fn get(mode: u8, id: u8, offset: u32, allocation: u32) -> Cdb {
    Cdb::ReadBuffer { mode, id, offset, allocation }
}

fn put(mode: u8, id: u8, offset: u32, len: usize) -> Cdb {
    Cdb::WriteBuffer { mode, id, offset, len: u32::try_from(len).unwrap() }
}

fn byte(ended: &Ended) -> u16 {
    assert_eq!(ended.why(), (5, asc::FIELD_IN_CDB));
    ended.sense().unwrap().field.unwrap().byte
}

#[test]
fn a_units_buffer_keeps_what_is_written_to_it() {
    // SPC-4, clauses 6.18.3 and 6.18.4: modes 02h and 03h.
    let mut bench = Bench::ram();
    assert_eq!(bench.send(&get(3, 0, 0, 4), &[]).good(), [0, 0, 0x10, 0], "4096 bytes from anywhere on");
    assert_eq!(bench.send(&get(3, 1, 0, 4), &[]).good(), [0; 4]);
    assert_eq!(bench.send(&get(2, 0, 4094, 99), &[]).good(), [0, 0]);
    bench.send(&put(2, 0, 2, 3), &[1, 2, 3]).good();
    bench.send(&put(2, 0, 4095, 1), &[9]).good();
    bench.send(&put(2, 0, 4096, 0), &[]).good();
    assert_eq!(bench.by(BOB, &get(2, 0, 1, 5), &[]).good(), [0, 1, 2, 3, 0]);
    assert_eq!(bench.send(&get(2, 0, 0, 0xff_ffff), &[]).good().len(), 4096);
    assert!(bench.send(&get(2, 0, 4096, 1), &[]).good().is_empty());
    assert_eq!(byte(&bench.send(&put(2, 0, 4095, 2), &[9; 2])), 6);
    assert_eq!(byte(&bench.send(&put(2, 0, 0xff_ffff, 0), &[])), 3);
    assert_eq!((byte(&bench.send(&put(2, 1, 0, 1), &[9])), byte(&bench.send(&get(2, 1, 0, 1), &[]))), (2, 2));
    assert_eq!(byte(&bench.send(&get(2, 0, 4097, 1), &[])), 3);
    for mode in (0..32).filter(|mode| ![2, 0x0a].contains(mode)) {
        assert_eq!(byte(&bench.send(&put(mode, 0, 0, 4), &[0; 4])), 1, "no microcode is taken: {mode:#x}");
    }
    for mode in (0..32).filter(|mode| ![2, 3, 0x0a, 0x0b].contains(mode)) {
        assert_eq!(byte(&bench.send(&get(mode, 0, 0, 4), &[])), 1, "{mode:#x}");
    }
    assert_eq!((put(2, 0, 0, 4).access(), get(2, 0, 0, 4).access()), (Access::Writes, Access::Reads));
}

#[test]
fn what_an_initiator_echoes_is_its_own() {
    // SPC-4, clauses 6.18.8 and 6.18.9: modes 0Ah and 0Bh.
    let mut bench = Bench::ram();
    bench.disks.add(1, Box::new(Ram::new(1 << 20, 512, false, 2).unwrap())).unwrap();
    for (who, number) in [(ALICE, 0), (BOB, 0), (ALICE, 1), (BOB, 1)] {
        while bench.raw(who, lun(number), &[0; 16], &[], 0).response.status != 0 {}
    }
    assert_eq!(bench.send(&get(0x0b, 0, 0, 4), &[]).good(), [1, 0, 0x10, 0]);
    assert_eq!(bench.send(&get(0x0a, 0, 0, 4), &[]).why(), (5, (0x2c, 0)), "nothing was written");
    bench.send(&put(0x0a, 0, 0, 5), b"alice").good();
    bench.by(BOB, &put(0x0a, 0, 0, 3), b"bob").good();
    assert_eq!(bench.send(&get(0x0a, 0, 0, 4096), &[]).good(), b"alice");
    assert_eq!(bench.by(BOB, &get(0x0a, 0, 0, 2), &[]).good(), b"bo");
    assert_eq!(byte(&bench.send(&put(0x0a, 0, 0, 4097), &[0; 4097])), 6);
    // It is one for all units: the other one is told that its data is gone, once.
    let other = put(0x0a, 0, 0, 1).bytes().unwrap().sixteen().unwrap();
    bench.raw(ALICE, lun(1), &other, b"x", 0).good();
    assert_eq!(bench.send(&get(0x0a, 0, 0, 4096), &[]).why(), (0xb, (0x3f, 0x0f)));
    assert_eq!(bench.send(&get(0x0a, 0, 0, 4096), &[]).why(), (5, asc::COMMAND_SEQUENCE));
    bench.send(&put(0x0a, 0, 0, 1), b"y").good();
    assert_eq!(bench.send(&get(0x0a, 0, 0, 4096), &[]).good(), b"y");
}

#[test]
fn defects_there_are_none() {
    // SBC-3, clauses 5.17 and 5.18.
    let mut bench = Bench::ram();
    let ask = |twelve, format, allocation| Cdb::ReadDefectData {
        twelve,
        primary: true,
        grown: false,
        format,
        index: 0,
        allocation,
    };
    for format in [0, 3] {
        assert_eq!(bench.send(&ask(false, format, 255), &[]).good(), [0, 0x10 | format, 0, 0]);
        assert_eq!(bench.send(&ask(true, format, 255), &[]).good(), [0, 0x10 | format, 0, 0, 0, 0, 0, 0]);
    }
    for format in [1, 2, 4, 5, 6, 7] {
        let ended = bench.send(&ask(false, format, 255), &[]);
        assert_eq!((ended.why(), &ended.data[..]), ((1, (0x1c, 0)), &[0, 0x13, 0, 0][..]));
        assert_eq!((ended.response.sense[0], ended.response.wanted), (0x70, 4));
    }
    assert_eq!(ask(true, 0, 8).access(), Access::Reads);
}

#[test]
fn a_unit_is_called_what_it_was_named() {
    // SPC-4, clauses 6.32 and 6.43.
    let mut bench = Bench::ram();
    let report = |kind| Cdb::ReportIdentifyingInformation { kind, allocation: 4096 };
    let set = |kind, len: usize| Cdb::SetIdentifyingInformation { kind, len: u32::try_from(len).unwrap() };
    assert_eq!(bench.send(&report(0x7f), &[]).good(), [0, 0, 0, 8, 0, 0, 0, 64, 4, 0, 1, 0]);
    assert_eq!(bench.send(&report(0), &[]).good(), [0; 4]);
    bench.send(&set(0, 3), &[7, 0, 9]).good();
    assert_eq!(bench.by(BOB, &report(0), &[]).why(), (6, (0x3f, 0x05)), "the others are told");
    assert_eq!(bench.by(BOB, &report(0), &[]).good(), [0, 0, 0, 3, 7, 0, 9]);
    let ended = bench.send(&set(2, 6), "Döe\0\0".as_bytes());
    assert_eq!(ended.why(), (5, asc::FIELD_IN_PARAMETERS), "text ends at its NUL");
    assert_eq!(bench.send(&set(2, 2), &[0xff, 0]).why(), (5, asc::FIELD_IN_PARAMETERS));
    bench.send(&set(2, 5), "Döe\0".as_bytes()).good();
    assert_eq!(bench.send(&report(2), &[]).good()[4..], *"Döe\0".as_bytes());
    bench.send(&set(0, 0), &[]).good();
    assert_eq!((bench.send(&report(0), &[]).good(), bench.send(&report(2), &[]).good().len()), (vec![0; 4], 9));
    for (kind, len, at) in [(0, 65, 6), (2, 257, 6), (1, 1, 10), (0x7f, 1, 10)] {
        assert_eq!(byte(&bench.send(&set(kind, len), &vec![0; len])), at);
    }
    assert_eq!(byte(&bench.send(&report(1), &[])), 10);
    assert_eq!((set(0, 1).access(), report(0).access()), (Access::Writes, Access::Neither));
}
