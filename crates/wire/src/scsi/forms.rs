//! The table of commands that parse, and their opcodes: REPORT SUPPORTED OPERATION CODES is answered from it.

use super::cdb::cdb_len;
use opcode::*;

/// A command as it may be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CdbForm {
    /// Its name in SPC-4 or SBC-3.
    pub name: &'static str,
    /// Its service action, if its opcode has several.
    pub action: Option<u16>,
    /// Its bytes: the opcode, and then a one for each bit that is looked at (SPC-4, clause 6.35.3: CDB usage data), but
    /// the service action itself where one stands.
    pub usage: &'static [u8],
}

impl CdbForm {
    /// The first byte.
    #[must_use]
    pub const fn opcode(&self) -> u8 {
        self.usage[0]
    }

    /// Bytes of the command descriptor block.
    #[must_use]
    pub const fn cdb_len(&self) -> u8 {
        cdb_len(self.opcode())
    }
}

const fn form(name: &'static str, usage: &'static [u8]) -> CdbForm {
    CdbForm { name, action: None, usage }
}

const fn action(name: &'static str, action: u16, usage: &'static [u8]) -> CdbForm {
    CdbForm { name, action: Some(action), usage }
}

/// All bits of a byte are evaluated.
const A: u8 = 0xff;
/// Evaluated bits of CONTROL: NACA.
const C: u8 = 0x04;
/// RDPROTECT or WRPROTECT, DPO, FUA.
const T: u8 = 0xf8;
/// VRPROTECT or WRPROTECT, DPO, BYTCHK.
const V: u8 = 0xf6;

/// All commands that [`Cdb::parse`](super::Cdb::parse) knows.
pub const FORMS: &[CdbForm] = &[
    form("TEST UNIT READY", &[TEST_UNIT_READY, 0, 0, 0, 0, C]),
    form("REQUEST SENSE", &[REQUEST_SENSE, 1, 0, 0, A, C]),
    form("READ (6)", &[READ_6, 0x1f, A, A, A, C]),
    form("WRITE (6)", &[WRITE_6, 0x1f, A, A, A, C]),
    form("INQUIRY", &[INQUIRY, 3, A, A, A, C]),
    form("FORMAT UNIT", &[FORMAT_UNIT, A, 0, 0, 0, C]),
    form("MODE SELECT (6)", &[MODE_SELECT_6, 0x11, 0, 0, A, C]),
    form("MODE SENSE (6)", &[MODE_SENSE_6, 8, A, A, A, C]),
    form("START STOP UNIT", &[START_STOP_UNIT, 1, 0, 0x0f, 0xf7, C]),
    form("RECEIVE DIAGNOSTIC RESULTS", &[RECEIVE_DIAGNOSTIC_RESULTS, 1, A, A, A, C]),
    form("SEND DIAGNOSTIC", &[SEND_DIAGNOSTIC, 0xf7, 0, A, A, C]),
    form("READ CAPACITY (10)", &[READ_CAPACITY_10, 0, 0, 0, 0, 0, 0, 0, 0, C]),
    form("READ (10)", &[READ_10, T, A, A, A, A, 0, A, A, C]),
    form("WRITE (10)", &[WRITE_10, T, A, A, A, A, 0, A, A, C]),
    form("WRITE AND VERIFY (10)", &[WRITE_AND_VERIFY_10, V, A, A, A, A, 0, A, A, C]),
    form("VERIFY (10)", &[VERIFY_10, V, A, A, A, A, 0, A, A, C]),
    form("PRE-FETCH (10)", &[PRE_FETCH_10, 2, A, A, A, A, 0, A, A, C]),
    form("SYNCHRONIZE CACHE (10)", &[SYNCHRONIZE_CACHE_10, 2, A, A, A, A, 0, A, A, C]),
    form("READ DEFECT DATA (10)", &[READ_DEFECT_DATA_10, 0, 0x1f, 0, 0, 0, 0, A, A, C]),
    form("WRITE BUFFER", &[WRITE_BUFFER, 0x1f, A, A, A, A, A, A, A, C]),
    form("READ BUFFER", &[READ_BUFFER, 0x1f, A, A, A, A, A, A, A, C]),
    form("WRITE SAME (10)", &[WRITE_SAME_10, 0xfe, A, A, A, A, 0, A, A, C]),
    form("UNMAP", &[UNMAP, 1, 0, 0, 0, 0, 0, A, A, C]),
    action("SANITIZE: OVERWRITE", 1, &[SANITIZE, 0xa1, 0, 0, 0, 0, 0, A, A, C]),
    action("SANITIZE: BLOCK ERASE", 2, &[SANITIZE, 0xa2, 0, 0, 0, 0, 0, A, A, C]),
    action("SANITIZE: EXIT FAILURE MODE", 0x1f, &[SANITIZE, 0xbf, 0, 0, 0, 0, 0, A, A, C]),
    form("LOG SELECT", &[LOG_SELECT, 3, A, A, 0, 0, 0, A, A, C]),
    form("LOG SENSE", &[LOG_SENSE, 1, A, A, 0, A, A, A, A, C]),
    form("MODE SELECT (10)", &[MODE_SELECT_10, 0x11, 0, 0, 0, 0, 0, A, A, C]),
    form("MODE SENSE (10)", &[MODE_SENSE_10, 0x18, A, A, 0, 0, 0, A, A, C]),
    action("PERSISTENT RESERVE IN: READ KEYS", 0, &[PERSISTENT_RESERVE_IN, 0, 0, 0, 0, 0, 0, A, A, C]),
    action("PERSISTENT RESERVE IN: READ RESERVATION", 1, &[PERSISTENT_RESERVE_IN, 1, 0, 0, 0, 0, 0, A, A, C]),
    action("PERSISTENT RESERVE IN: REPORT CAPABILITIES", 2, &[PERSISTENT_RESERVE_IN, 2, 0, 0, 0, 0, 0, A, A, C]),
    action("PERSISTENT RESERVE IN: READ FULL STATUS", 3, &[PERSISTENT_RESERVE_IN, 3, 0, 0, 0, 0, 0, A, A, C]),
    action("PERSISTENT RESERVE OUT: REGISTER", 0, &[PERSISTENT_RESERVE_OUT, 0, 0, 0, 0, A, A, A, A, C]),
    action("PERSISTENT RESERVE OUT: RESERVE", 1, &[PERSISTENT_RESERVE_OUT, 1, A, 0, 0, A, A, A, A, C]),
    action("PERSISTENT RESERVE OUT: RELEASE", 2, &[PERSISTENT_RESERVE_OUT, 2, A, 0, 0, A, A, A, A, C]),
    action("PERSISTENT RESERVE OUT: CLEAR", 3, &[PERSISTENT_RESERVE_OUT, 3, 0, 0, 0, A, A, A, A, C]),
    action("PERSISTENT RESERVE OUT: PREEMPT", 4, &[PERSISTENT_RESERVE_OUT, 4, A, 0, 0, A, A, A, A, C]),
    action("PERSISTENT RESERVE OUT: PREEMPT AND ABORT", 5, &[PERSISTENT_RESERVE_OUT, 5, A, 0, 0, A, A, A, A, C]),
    action(
        "PERSISTENT RESERVE OUT: REGISTER AND IGNORE EXISTING KEY",
        6,
        &[PERSISTENT_RESERVE_OUT, 6, 0, 0, 0, A, A, A, A, C],
    ),
    action("READ (32)", 0x09, &long(9, T)),
    action("VERIFY (32)", 0x0a, &long(10, V)),
    action("WRITE (32)", 0x0b, &long(11, T)),
    action("WRITE AND VERIFY (32)", 0x0c, &long(12, V)),
    action("WRITE SAME (32)", 0x0d, &long(13, 0xff)),
    action("EXTENDED COPY (LID1)", 0, &[EXTENDED_COPY, 0, 0, 0, 0, 0, 0, 0, 0, 0, A, A, A, A, 0, C]),
    action(
        "RECEIVE COPY OPERATING PARAMETERS",
        3,
        &[RECEIVE_COPY_RESULTS, 3, 0, 0, 0, 0, 0, 0, 0, 0, A, A, A, A, 0, C],
    ),
    form("READ (16)", &[READ_16, T, A, A, A, A, A, A, A, A, A, A, A, A, 0, C]),
    form("COMPARE AND WRITE", &[COMPARE_AND_WRITE, T, A, A, A, A, A, A, A, A, 0, 0, 0, A, 0, C]),
    form("WRITE (16)", &[WRITE_16, T, A, A, A, A, A, A, A, A, A, A, A, A, 0, C]),
    form("ORWRITE (16)", &[ORWRITE_16, T, A, A, A, A, A, A, A, A, A, A, A, A, 0, C]),
    form("WRITE AND VERIFY (16)", &[WRITE_AND_VERIFY_16, V, A, A, A, A, A, A, A, A, A, A, A, A, 0, C]),
    form("VERIFY (16)", &[VERIFY_16, V, A, A, A, A, A, A, A, A, A, A, A, A, 0, C]),
    form("PRE-FETCH (16)", &[PRE_FETCH_16, 2, A, A, A, A, A, A, A, A, A, A, A, A, 0, C]),
    form("SYNCHRONIZE CACHE (16)", &[SYNCHRONIZE_CACHE_16, 2, A, A, A, A, A, A, A, A, A, A, A, A, 0, C]),
    form("WRITE SAME (16)", &[WRITE_SAME_16, 0xff, A, A, A, A, A, A, A, A, A, A, A, A, 0, C]),
    action("READ CAPACITY (16)", 0x10, &[SERVICE_ACTION_IN_16, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, A, A, A, A, 0, C]),
    action("GET LBA STATUS", 0x12, &[SERVICE_ACTION_IN_16, 0x12, A, A, A, A, A, A, A, A, A, A, A, A, 0, C]),
    form("REPORT LUNS", &[REPORT_LUNS, 0, A, 0, 0, 0, A, A, A, A, 0, C]),
    action("REPORT IDENTIFYING INFORMATION", 5, &[MAINTENANCE_IN, 5, 0, 0, 0, 0, A, A, A, A, 0xfe, C]),
    action("SET IDENTIFYING INFORMATION", 6, &[MAINTENANCE_OUT, 6, 0, 0, 0, 0, A, A, A, A, 0xfe, C]),
    action("REPORT SUPPORTED OPERATION CODES", 0x0c, &[MAINTENANCE_IN, 0x0c, 0x87, A, A, A, A, A, A, A, 0, C]),
    action("REPORT TARGET PORT GROUPS", 0x0a, &[MAINTENANCE_IN, 0xea, 0, 0, 0, 0, A, A, A, A, 0, C]),
    form("READ (12)", &[READ_12, T, A, A, A, A, A, A, A, A, 0, C]),
    form("WRITE (12)", &[WRITE_12, T, A, A, A, A, A, A, A, A, 0, C]),
    form("WRITE AND VERIFY (12)", &[WRITE_AND_VERIFY_12, V, A, A, A, A, A, A, A, A, 0, C]),
    form("READ DEFECT DATA (12)", &[READ_DEFECT_DATA_12, 0x1f, A, A, A, A, A, A, A, A, 0, C]),
    form("VERIFY (12)", &[VERIFY_12, V, A, A, A, A, A, A, A, A, 0, C]),
];

/// A command of 32 bytes: CONTROL comes second, the service action in bytes 8 and 9.
const fn long(action: u8, flags: u8) -> [u8; 32] {
    [
        VARIABLE_LENGTH,
        C,
        0,
        0,
        0,
        0,
        0,
        A,
        0,
        action,
        flags,
        0,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
        A,
    ]
}

/// Opcodes, as the first byte of a command descriptor block says them (SPC-4, annex E.3.1).
pub mod opcode {
    /// TEST UNIT READY.
    pub const TEST_UNIT_READY: u8 = 0x00;
    /// REQUEST SENSE.
    pub const REQUEST_SENSE: u8 = 0x03;
    /// FORMAT UNIT.
    pub const FORMAT_UNIT: u8 = 0x04;
    /// READ (6).
    pub const READ_6: u8 = 0x08;
    /// WRITE (6).
    pub const WRITE_6: u8 = 0x0a;
    /// INQUIRY.
    pub const INQUIRY: u8 = 0x12;
    /// MODE SELECT (6).
    pub const MODE_SELECT_6: u8 = 0x15;
    /// MODE SENSE (6).
    pub const MODE_SENSE_6: u8 = 0x1a;
    /// START STOP UNIT.
    pub const START_STOP_UNIT: u8 = 0x1b;
    /// RECEIVE DIAGNOSTIC RESULTS.
    pub const RECEIVE_DIAGNOSTIC_RESULTS: u8 = 0x1c;
    /// SEND DIAGNOSTIC.
    pub const SEND_DIAGNOSTIC: u8 = 0x1d;
    /// READ CAPACITY (10).
    pub const READ_CAPACITY_10: u8 = 0x25;
    /// READ (10).
    pub const READ_10: u8 = 0x28;
    /// WRITE (10).
    pub const WRITE_10: u8 = 0x2a;
    /// WRITE AND VERIFY (10).
    pub const WRITE_AND_VERIFY_10: u8 = 0x2e;
    /// VERIFY (10).
    pub const VERIFY_10: u8 = 0x2f;
    /// PRE-FETCH (10).
    pub const PRE_FETCH_10: u8 = 0x34;
    /// SYNCHRONIZE CACHE (10).
    pub const SYNCHRONIZE_CACHE_10: u8 = 0x35;
    /// READ DEFECT DATA (10).
    pub const READ_DEFECT_DATA_10: u8 = 0x37;
    /// WRITE BUFFER.
    pub const WRITE_BUFFER: u8 = 0x3b;
    /// READ BUFFER (10).
    pub const READ_BUFFER: u8 = 0x3c;
    /// WRITE SAME (10).
    pub const WRITE_SAME_10: u8 = 0x41;
    /// UNMAP.
    pub const UNMAP: u8 = 0x42;
    /// SANITIZE, of which OVERWRITE is action 1, BLOCK ERASE 2 and EXIT FAILURE MODE 0x1f.
    pub const SANITIZE: u8 = 0x48;
    /// LOG SELECT.
    pub const LOG_SELECT: u8 = 0x4c;
    /// LOG SENSE.
    pub const LOG_SENSE: u8 = 0x4d;
    /// MODE SELECT (10).
    pub const MODE_SELECT_10: u8 = 0x55;
    /// MODE SENSE (10).
    pub const MODE_SENSE_10: u8 = 0x5a;
    /// PERSISTENT RESERVE IN.
    pub const PERSISTENT_RESERVE_IN: u8 = 0x5e;
    /// PERSISTENT RESERVE OUT.
    pub const PERSISTENT_RESERVE_OUT: u8 = 0x5f;
    /// A command of 32 bytes; its service action is in bytes 8 and 9.
    pub const VARIABLE_LENGTH: u8 = 0x7f;
    /// EXTENDED COPY, of which the one with a list identifier of one byte is action 0.
    pub const EXTENDED_COPY: u8 = 0x83;
    /// RECEIVE COPY RESULTS, of which OPERATING PARAMETERS is action 3.
    pub const RECEIVE_COPY_RESULTS: u8 = 0x84;
    /// READ (16).
    pub const READ_16: u8 = 0x88;
    /// COMPARE AND WRITE.
    pub const COMPARE_AND_WRITE: u8 = 0x89;
    /// WRITE (16).
    pub const WRITE_16: u8 = 0x8a;
    /// ORWRITE (16).
    pub const ORWRITE_16: u8 = 0x8b;
    /// WRITE AND VERIFY (16).
    pub const WRITE_AND_VERIFY_16: u8 = 0x8e;
    /// VERIFY (16).
    pub const VERIFY_16: u8 = 0x8f;
    /// PRE-FETCH (16).
    pub const PRE_FETCH_16: u8 = 0x90;
    /// SYNCHRONIZE CACHE (16).
    pub const SYNCHRONIZE_CACHE_16: u8 = 0x91;
    /// WRITE SAME (16).
    pub const WRITE_SAME_16: u8 = 0x93;
    /// SERVICE ACTION IN (16), of which READ CAPACITY (16) is action 0x10 and GET LBA STATUS action 0x12.
    pub const SERVICE_ACTION_IN_16: u8 = 0x9e;
    /// REPORT LUNS.
    pub const REPORT_LUNS: u8 = 0xa0;
    /// MAINTENANCE IN, of which REPORT IDENTIFYING INFORMATION is action 5, REPORT TARGET PORT GROUPS action 0x0a and REPORT
    /// SUPPORTED OPERATION CODES action 0x0c.
    pub const MAINTENANCE_IN: u8 = 0xa3;
    /// MAINTENANCE OUT, of which SET IDENTIFYING INFORMATION is action 6.
    pub const MAINTENANCE_OUT: u8 = 0xa4;
    /// READ (12).
    pub const READ_12: u8 = 0xa8;
    /// WRITE (12).
    pub const WRITE_12: u8 = 0xaa;
    /// WRITE AND VERIFY (12).
    pub const WRITE_AND_VERIFY_12: u8 = 0xae;
    /// READ DEFECT DATA (12).
    pub const READ_DEFECT_DATA_12: u8 = 0xb7;
    /// VERIFY (12).
    pub const VERIFY_12: u8 = 0xaf;
}
