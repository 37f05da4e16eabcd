use super::*;
use crate::field::put_u16;
use crate::scsi::opcode::VARIABLE_LENGTH;
use crate::scsi::{CdbForm, FORMS};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn what_the_linux_initiator_sent_is_read_and_written_again() {
    // From capture 02, frames 1 to 176.
    let inquiry = Cdb::Inquiry { page: None, allocation: 0x24 };
    let read = Cdb::Read(Transfer::new(0x18, 8));
    let write = Cdb::Write(Transfer::new(0, 0x40));
    let sense = |page, allocation| Cdb::ModeSense {
        ten: false,
        no_descriptors: false,
        long: false,
        control: 0,
        page,
        subpage: 0,
        allocation,
    };
    let codes =
        Cdb::ReportSupportedOperationCodes { timeouts: false, options: 1, opcode: 0x12, action: 0, allocation: 10 };
    let sync = Cdb::SynchronizeCache { width: Width::Ten, immediate: false, lba: 0, blocks: 0 };
    for (bytes, cdb) in [
        (&[0x12, 0, 0, 0, 0x24, 0][..], inquiry),
        (&[0x12, 1, 0x83, 0, 0x97, 0], Cdb::Inquiry { page: Some(0x83), allocation: 0x97 }),
        (&[0xa0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0], Cdb::ReportLuns { select: 0, allocation: 4096 }),
        (&[0; 6], Cdb::TestUnitReady),
        (&[0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0], Cdb::ReadCapacity16 { allocation: 32 }),
        (&[0x1a, 0, 0x3f, 0, 4, 0], sense(0x3f, 4)),
        (&[0x1a, 0, 8, 0, 0x20, 0], sense(8, 32)),
        (&[0xa3, 0x0c, 1, 0x12, 0, 0, 0, 0, 0, 10, 0, 0], codes),
        (&[0x28, 0, 0, 0, 0, 0x18, 0, 0, 8, 0], read),
        (&[0x2a, 0, 0, 0, 0, 0, 0, 0, 0x40, 0], write),
        (&[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0], sync),
    ] {
        let mut sixteen = [0; 16];
        sixteen[..bytes.len()].copy_from_slice(bytes);
        assert_eq!(Cdb::parse(&sixteen), Ok(cdb));
        let written = cdb.bytes().unwrap();
        assert_eq!((&*written, written.sixteen()), (bytes, Some(sixteen)));
    }
}

#[test]
fn a_command_of_every_form_is_known_and_no_other() {
    let mut known = [false; 256];
    for form in FORMS {
        known[usize::from(form.opcode())] = true;
        let len = usize::from(cdb_len(form.opcode()));
        assert_eq!(form.usage.len(), len, "{}", form.name);
        let mut cdb = vec![0; len];
        cdb[0] = form.opcode();
        match form.action {
            Some(action) if form.opcode() == VARIABLE_LENGTH => {
                put_u16(&mut cdb, 8, action);
                cdb[7] = 24;
            }
            Some(action) => cdb[1] = u8::try_from(action).unwrap(),
            None => {}
        }
        let read = Cdb::parse(&cdb).unwrap_or_else(|error| panic!("{}: {error}", form.name));
        // Six bytes say 256 blocks by 0.
        assert_eq!(&*read.bytes().unwrap(), &cdb[..], "{}", form.name);
        // A bit that is looked at changes the meaning or is refused; any other does not.
        let action = |byte| match form.action {
            Some(_) if len == 32 => (7..10).contains(&byte),
            Some(_) => byte == 1,
            None => false,
        };
        for byte in (1..len).filter(|byte| !action(*byte)) {
            for bit in 0..8 {
                let mut other = cdb.clone();
                other[byte] ^= 1 << bit;
                let same = Cdb::parse(&other) == Ok(read);
                assert_eq!(same, form.usage[byte] >> bit & 1 == 0, "{}: byte {byte} bit {bit}", form.name);
            }
        }
        assert_eq!(Cdb::parse(&cdb[..len - 1]), Err(CdbError::Truncated), "{}", form.name);
    }
    for opcode in 0..=255 {
        let mut cdb = [0; 32];
        cdb[0] = opcode;
        let unknown = Cdb::parse(&cdb) == Err(CdbError::Opcode(opcode));
        assert_eq!(unknown, !known[usize::from(opcode)], "{opcode:#x}");
        assert_eq!(Cdb::parse(&cdb[..1]).is_err_and(|error| error == CdbError::Opcode(opcode)), unknown);
    }
    assert_eq!(Cdb::parse(&[]), Err(CdbError::Truncated));
}

/// Names, service actions and usage data of all forms, as they were written by hand before they were derived from the fields.
const ROWS: &[(&str, Option<u16>, &str)] = &[
    ("TEST UNIT READY", None, "000000000004"),
    ("REQUEST SENSE", None, "03010000ff04"),
    ("READ (6)", None, "081fffffff04"),
    ("WRITE (6)", None, "0a1fffffff04"),
    ("INQUIRY", None, "1203ffffff04"),
    ("FORMAT UNIT", None, "04ff00000004"),
    ("MODE SELECT (6)", None, "15110000ff04"),
    ("MODE SENSE (6)", None, "1a08ffffff04"),
    ("START STOP UNIT", None, "1b01000ff704"),
    ("RECEIVE DIAGNOSTIC RESULTS", None, "1c01ffffff04"),
    ("SEND DIAGNOSTIC", None, "1df700ffff04"),
    ("READ CAPACITY (10)", None, "25000000000000000004"),
    ("READ (10)", None, "28f8ffffffff00ffff04"),
    ("WRITE (10)", None, "2af8ffffffff00ffff04"),
    ("WRITE AND VERIFY (10)", None, "2ef6ffffffff00ffff04"),
    ("VERIFY (10)", None, "2ff6ffffffff00ffff04"),
    ("PRE-FETCH (10)", None, "3402ffffffff00ffff04"),
    ("SYNCHRONIZE CACHE (10)", None, "3502ffffffff00ffff04"),
    ("READ DEFECT DATA (10)", None, "37001f00000000ffff04"),
    ("WRITE BUFFER", None, "3b1fffffffffffffff04"),
    ("READ BUFFER", None, "3c1fffffffffffffff04"),
    ("WRITE SAME (10)", None, "41feffffffff00ffff04"),
    ("UNMAP", None, "42010000000000ffff04"),
    ("SANITIZE: OVERWRITE", Some(0x01), "48a10000000000ffff04"),
    ("SANITIZE: BLOCK ERASE", Some(0x02), "48a20000000000ffff04"),
    ("SANITIZE: EXIT FAILURE MODE", Some(0x1f), "48bf0000000000ffff04"),
    ("LOG SELECT", None, "4c03ffff000000ffff04"),
    ("LOG SENSE", None, "4d01ffff00ffffffff04"),
    ("MODE SELECT (10)", None, "55110000000000ffff04"),
    ("MODE SENSE (10)", None, "5a18ffff000000ffff04"),
    ("PERSISTENT RESERVE IN: READ KEYS", Some(0x00), "5e000000000000ffff04"),
    ("PERSISTENT RESERVE IN: READ RESERVATION", Some(0x01), "5e010000000000ffff04"),
    ("PERSISTENT RESERVE IN: REPORT CAPABILITIES", Some(0x02), "5e020000000000ffff04"),
    ("PERSISTENT RESERVE IN: READ FULL STATUS", Some(0x03), "5e030000000000ffff04"),
    ("PERSISTENT RESERVE OUT: REGISTER", Some(0x00), "5f00000000ffffffff04"),
    ("PERSISTENT RESERVE OUT: RESERVE", Some(0x01), "5f01ff0000ffffffff04"),
    ("PERSISTENT RESERVE OUT: RELEASE", Some(0x02), "5f02ff0000ffffffff04"),
    ("PERSISTENT RESERVE OUT: CLEAR", Some(0x03), "5f03000000ffffffff04"),
    ("PERSISTENT RESERVE OUT: PREEMPT", Some(0x04), "5f04ff0000ffffffff04"),
    ("PERSISTENT RESERVE OUT: PREEMPT AND ABORT", Some(0x05), "5f05ff0000ffffffff04"),
    ("PERSISTENT RESERVE OUT: REGISTER AND IGNORE EXISTING KEY", Some(0x06), "5f06000000ffffffff04"),
    ("READ (32)", Some(0x09), "7f040000000000ff0009f800ffffffffffffffffffffffffffffffffffffffff"),
    ("VERIFY (32)", Some(0x0a), "7f040000000000ff000af600ffffffffffffffffffffffffffffffffffffffff"),
    ("WRITE (32)", Some(0x0b), "7f040000000000ff000bf800ffffffffffffffffffffffffffffffffffffffff"),
    ("WRITE AND VERIFY (32)", Some(0x0c), "7f040000000000ff000cf600ffffffffffffffffffffffffffffffffffffffff"),
    ("WRITE SAME (32)", Some(0x0d), "7f040000000000ff000dff00ffffffffffffffffffffffffffffffffffffffff"),
    ("EXTENDED COPY (LID1)", Some(0x00), "83000000000000000000ffffffff0004"),
    ("RECEIVE COPY OPERATING PARAMETERS", Some(0x03), "84030000000000000000ffffffff0004"),
    ("READ (16)", None, "88f8ffffffffffffffffffffffff0004"),
    ("COMPARE AND WRITE", None, "89f8ffffffffffffffff000000ff0004"),
    ("WRITE (16)", None, "8af8ffffffffffffffffffffffff0004"),
    ("ORWRITE (16)", None, "8bf8ffffffffffffffffffffffff0004"),
    ("WRITE AND VERIFY (16)", None, "8ef6ffffffffffffffffffffffff0004"),
    ("VERIFY (16)", None, "8ff6ffffffffffffffffffffffff0004"),
    ("PRE-FETCH (16)", None, "9002ffffffffffffffffffffffff0004"),
    ("SYNCHRONIZE CACHE (16)", None, "9102ffffffffffffffffffffffff0004"),
    ("WRITE SAME (16)", None, "93ffffffffffffffffffffffffff0004"),
    ("READ CAPACITY (16)", Some(0x10), "9e100000000000000000ffffffff0004"),
    ("GET LBA STATUS", Some(0x12), "9e12ffffffffffffffffffffffff0004"),
    ("REPORT LUNS", None, "a000ff000000ffffffff0004"),
    ("REPORT IDENTIFYING INFORMATION", Some(0x05), "a30500000000fffffffffe04"),
    ("SET IDENTIFYING INFORMATION", Some(0x06), "a40600000000fffffffffe04"),
    ("REPORT SUPPORTED OPERATION CODES", Some(0x0c), "a30c87ffffffffffffff0004"),
    ("REPORT TARGET PORT GROUPS", Some(0x0a), "a3ea00000000ffffffff0004"),
    ("READ (12)", None, "a8f8ffffffffffffffff0004"),
    ("WRITE (12)", None, "aaf8ffffffffffffffff0004"),
    ("WRITE AND VERIFY (12)", None, "aef6ffffffffffffffff0004"),
    ("READ DEFECT DATA (12)", None, "b71fffffffffffffffff0004"),
    ("VERIFY (12)", None, "aff6ffffffffffffffff0004"),
];

#[test]
fn the_usage_data_of_each_form_is_what_it_was() {
    // In this order; there may be others between them by now.
    let forms = FORMS.iter().filter(|form| ROWS.iter().any(|(name, ..)| *name == form.name));
    let hex = |usage: &[u8]| usage.iter().map(|byte| format!("{byte:02x}")).collect();
    let derived: Vec<_> = forms.map(|form| (form.name, form.action, hex(form.usage))).collect();
    let wanted: Vec<_> = ROWS.iter().map(|(name, action, usage)| (*name, *action, String::from(*usage))).collect();
    assert_eq!(derived, wanted);
}

#[test]
fn what_is_not_known_is_named() {
    let sense = |cdb: &[u8]| Cdb::parse(cdb).unwrap_err().sense();
    // SPC-4, clause 4.3.1: an unknown opcode.
    assert_eq!(sense(&[0x16; 16]), Sense::new(SenseKey::ILLEGAL_REQUEST, asc::OPCODE));
    // SPC-4, clause 4.3.5.2: an unknown service action.
    assert_eq!(sense(&[0x9e, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Sense::invalid_field(1, Some(4)));
    let several: BTreeSet<u8> = FORMS.iter().filter(|form| form.action.is_some()).map(CdbForm::opcode).collect();
    for opcode in several.into_iter().filter(|opcode| *opcode != VARIABLE_LENGTH) {
        for action in 0..0x20 {
            let known = FORMS.iter().any(|form| form.opcode() == opcode && form.action == Some(action.into()));
            let mut cdb = [0; 16];
            cdb[..2].copy_from_slice(&[opcode, action]);
            match Cdb::parse(&cdb[..usize::from(cdb_len(opcode))]) {
                Ok(_) => assert!(known, "{opcode:#x} {action:#x}"),
                Err(error) if known => panic!("{opcode:#x} {action:#x}: {error}"),
                Err(error) => assert_eq!(error.sense(), Sense::invalid_field(1, Some(4))),
            }
        }
    }
    // SPC-4, clause 4.3.3: another length, and an unknown service action, of 32 bytes.
    let long = |len, action| {
        let mut cdb = [0; 32];
        (cdb[0], cdb[7], cdb[9]) = (0x7f, len, action);
        sense(&cdb)
    };
    assert_eq!(long(20, 9), Sense::invalid_field(7, None));
    assert_eq!(long(24, 0x0e).field.map(|field| field.byte), Some(8));
    // SPC-4, clause 6.6.1: a page code without EVPD.
    assert_eq!(sense(&[0x12, 0, 0x80, 0, 36, 0]), Sense::invalid_field(2, None));
    // SAM-5, clause 5.2: NACA without NORMACA.
    assert_eq!(sense(&[0, 0, 0, 0, 0, 4]), Sense::invalid_field(5, Some(2)));
    assert_eq!(sense(&[0x41, 4, 0, 0, 0, 0, 0, 0, 1, 0]), Sense::invalid_field(1, Some(2)));
    assert_eq!(sense(&[0x7f; 32]).code, asc::FIELD_IN_CDB);
}

#[test]
fn values_that_do_not_fit_a_form_are_refused() {
    let six = Transfer { width: Width::Six, ..Transfer::new(0x1f_ffff, 256) };
    assert_eq!(&*Cdb::Read(six).bytes().unwrap(), &[8, 0x1f, 0xff, 0xff, 0, 0]);
    for bad in [
        Cdb::Read(Transfer { lba: 0x20_0000, ..six }),
        Cdb::Read(Transfer { blocks: 257, ..six }),
        Cdb::Read(Transfer { blocks: 0, ..six }),
        Cdb::Read(Transfer { fua: true, ..six }),
        Cdb::Read(Transfer { width: Width::Ten, ..Transfer::new(1 << 32, 1) }),
        Cdb::Read(Transfer { width: Width::Ten, ..Transfer::new(0, 65536) }),
        Cdb::Verify { transfer: Transfer { width: Width::Six, ..six }, compare: 0 },
        Cdb::Verify { transfer: Transfer { fua: true, width: Width::Ten, ..six }, compare: 0 },
        Cdb::PreFetch { width: Width::ThirtyTwo(ProtectionTags::default()), immediate: false, lba: 0, blocks: 0 },
        Cdb::WriteSame { width: Width::Ten, lba: 0, blocks: 0, protect: 0, anchor: false, unmap: false, no_data: true },
    ] {
        assert!(bad.bytes().is_err(), "{bad:?}");
    }
    assert_eq!(Transfer::new(1 << 32, 1).width, Width::Sixteen);
    let tags = ProtectionTags { reference: 7, application: 8, application_mask: 9 };
    let long = Cdb::Write(Transfer { width: Width::ThirtyTwo(tags), protect: 1, ..Transfer::new(3, 4) });
    let bytes = long.bytes().unwrap();
    assert_eq!((Cdb::parse(&bytes), bytes.sixteen()), (Ok(long), None));
}

proptest! {
    /// Whatever the bytes are, nothing panics, and what parses means the same when it is written.
    #[test]
    fn any_bytes_parse_or_are_refused(
        mut cdb in proptest::collection::vec(any::<u8>(), 0..40),
        form in 0..FORMS.len(),
    ) {
        for known in [false, true] {
            if known && let Some(opcode) = cdb.first_mut() {
                *opcode = FORMS[form].opcode();
            }
            if let Ok(read) = Cdb::parse(&cdb) {
                let written = read.bytes().unwrap();
                prop_assert_eq!(Cdb::parse(&written), Ok(read));
            }
        }
    }
}
