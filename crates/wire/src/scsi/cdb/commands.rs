//! The commands, each declared once: see [`commands!`].

use super::declare::{actions, commands, row};
use super::form::{Absent, Action, CdbForm, Either, Mark, OfReservation, Page, called, mark, transfer_usage, usage};
use super::{Access, CdbError, NAME, Transfer, Width, cdb_len};
use crate::Error;
use crate::field::{Bit, Bits, Field, U24};
use opcode::*;

/// RDPROTECT or WRPROTECT, DPO, FUA.
const TRANSFER: u8 = 0xf8;
/// VRPROTECT or WRPROTECT, DPO, BYTCHK.
const VERIFY: u8 = 0xf6;
/// IMMED of a transfer without data.
const IMMED: u8 = 2;
/// WRPROTECT, ANCHOR, UNMAP, PBDATA and LBDATA, which are refused; without NDOB.
const SAME: u8 = 0xfe;

commands! {
    transfers {
        /// READ (SBC-3, clauses 5.11 to 5.14; SBC-2 for 6 bytes).
        Reads Read (Transfer)
        /// WRITE (SBC-3, clauses 5.33 to 5.36; SBC-2 for 6 bytes).
        Writes Write (Transfer)
        /// WRITE AND VERIFY (SBC-3, clause 5.37 and on).
        Writes WriteAndVerify {
            /// Blocks to write.
            transfer: Transfer,
            /// BYTCHK: two bits; 1 compares the written blocks with the data out.
            compare: u8,
        }
        /// ORWRITE (16): set bits of blocks (SBC-3, clause 5.7).
        Writes OrWrite (Transfer)
        /// VERIFY (SBC-3, clauses 5.29 and on).
        Reads Verify {
            /// Blocks to verify.
            transfer: Transfer,
            /// BYTCHK: two bits; 1 compares with as many blocks of data out, 3 with one.
            compare: u8,
        }
        /// PRE-FETCH: read blocks into the cache (SBC-3, clauses 5.8 and 5.9).
        Reads PreFetch {
            /// Form: 10 or 16 bytes.
            width: Width,
            /// IMMED: return status at once.
            immediate: bool,
            /// The first logical block.
            lba: u64,
            /// Number of blocks; 0 for all to the end.
            blocks: u32,
        }
        /// SYNCHRONIZE CACHE (SBC-3, clauses 5.26 and 5.27).
        Writes SynchronizeCache {
            /// Form: 10 or 16 bytes.
            width: Width,
            /// IMMED: return status at once.
            immediate: bool,
            /// The first logical block.
            lba: u64,
            /// Number of blocks; 0 for all to the end.
            blocks: u32,
        }
        /// WRITE SAME: write one block many times (SBC-3, clauses 5.43 and on).
        Writes WriteSame {
            /// Form: 10, 16 or 32 bytes.
            width: Width,
            /// The first logical block.
            lba: u64,
            /// Number of blocks; 0 for all to the end.
            blocks: u32,
            /// WRPROTECT: three bits.
            protect: u8,
            /// ANCHOR: unmapped blocks stay allocated.
            anchor: bool,
            /// UNMAP: the blocks may be deallocated.
            unmap: bool,
            /// NDOB: there is no data out, zeros are written. Not in the form of 10 bytes.
            no_data: bool,
        }
    }

    command TEST_UNIT_READY = 0x00 "TEST UNIT READY",
        Neither TestUnitReady "TEST UNIT READY (SPC-4, clause 6.47).";
    command REQUEST_SENSE = 0x03 "REQUEST SENSE",
        Neither RequestSense "REQUEST SENSE (SPC-4, clause 6.39)." {
            1 descriptors: bool as Bit<0> = "Sense data in descriptor format.";
            4 allocation: u8 = "Allocation length in bytes.";
        };
    transfer READ_6 = 0x08 "READ (6)", Read Six 0;
    transfer WRITE_6 = 0x0a "WRITE (6)", Write Six 0;
    command INQUIRY = 0x12 "INQUIRY",
        Neither Inquiry "INQUIRY (SPC-4, clause 6.6)." {
            1 page: Option<u8> as Page = "A page of vital product data, or else the standard data.";
            3 allocation: u16 = "Allocation length in bytes.";
        };
    command FORMAT_UNIT = 0x04 "FORMAT UNIT",
        Writes FormatUnit "FORMAT UNIT (SBC-3, clause 5.3)." {
            1 protection: u8 as Bits<7, 6> = "FMTPINFO: two bits; protection information that the blocks are to have.";
            1 long: bool as Bit<5> = "LONGLIST: the parameter list has a long header.";
            1 data: bool as Bit<4> = "FMTDATA: there is a parameter list.";
            1 complete: bool as Bit<3> = "CMPLST: the defect list is complete.";
            1 format: u8 as Bits<2, 0> = "DEFECT LIST FORMAT: three bits.";
        };
    command MODE_SELECT_6 | MODE_SELECT_10 = 0x15 "MODE SELECT (6)",
        Writes ModeSelect "MODE SELECT (SPC-4, clauses 6.11 and 6.12)." {
            0 ten: bool as Bit<6> = "The form of 10 bytes; otherwise that of 6.";
            1 pages: bool as Bit<4> = "PF: the parameters are pages.";
            1 save: bool as Bit<0> = "SP: save the pages.";
            4 len: u16 as Either<6, u8, u16, 7> = "Parameter list length in bytes.";
        };
    command MODE_SENSE_6 | MODE_SENSE_10 = 0x1a "MODE SENSE (6)",
        Writes ModeSense "MODE SENSE (SPC-4, clauses 6.13 and 6.14)." {
            0 ten: bool as Bit<6> = "The form of 10 bytes; otherwise that of 6.";
            1 no_descriptors: bool as Bit<3> = "DBD: no block descriptor.";
            1 long: bool as Either<6, Absent<bool>, Bit<4>, 1> = "LLBAA: a long block descriptor is accepted.";
            2 control: u8 as Bits<7, 6> = "Current (0), changeable (1), default (2) or saved (3) values.";
            2 page: u8 as Bits<5, 0> = "Page code; 0x3f for all.";
            3 subpage: u8 = "Subpage code; 0xff for all.";
            4 allocation: u16 as Either<6, u8, u16, 7> = "Allocation length in bytes.";
        };
    command START_STOP_UNIT = 0x1b "START STOP UNIT",
        Writes StartStop "START STOP UNIT (SBC-3, clause 5.25)." {
            1 immediate: bool as Bit<0> = "IMMED: return status at once.";
            3 modifier: u8 as Bits<3, 0> = "POWER CONDITION MODIFIER: the kind of idle or standby.";
            4 power: u8 as Bits<7, 4> = "Power condition; 0 for `start` and `load`.";
            4 no_flush: bool as Bit<2> = "NO_FLUSH: do not flush the cache.";
            4 load: bool as Bit<1> = "Load or eject the medium.";
            4 start: bool as Bit<0> = "Start; otherwise stop.";
        };
    command RECEIVE_DIAGNOSTIC_RESULTS = 0x1c "RECEIVE DIAGNOSTIC RESULTS",
        Reads ReceiveDiagnostic "RECEIVE DIAGNOSTIC RESULTS (SPC-4, clause 6.28)." {
            1 coded: bool as Bit<0> = "PCV: a page is asked for; otherwise the results of the last SEND DIAGNOSTIC.";
            2 page: u8 = "Page code, if it counts.";
            3 allocation: u16 = "Allocation length in bytes.";
        };
    command SEND_DIAGNOSTIC = 0x1d "SEND DIAGNOSTIC",
        Writes SendDiagnostic "SEND DIAGNOSTIC (SPC-4, clause 6.42)." {
            1 code: u8 as Bits<7, 5> = "SELF-TEST CODE: three bits; 0 for the test of `test`, or none.";
            1 pages: bool as Bit<4> = "PF: the parameter list consists of pages.";
            1 test: bool as Bit<2> = "SELFTEST: the unit's default self-test.";
            1 all_offline: bool as Bit<1> = "UNITOFFL: the test may affect all units.";
            1 offline: bool as Bit<0> = "DEVOFFL: the test may affect this unit.";
            3 len: u16 = "Parameter list length in bytes.";
        };
    command READ_CAPACITY_10 = 0x25 "READ CAPACITY (10)",
        Neither ReadCapacity10 "READ CAPACITY (10) (SBC-3, clause 5.15).";
    transfer READ_10 = 0x28 "READ (10)", Read Ten TRANSFER;
    transfer WRITE_10 = 0x2a "WRITE (10)", Write Ten TRANSFER;
    transfer WRITE_AND_VERIFY_10 = 0x2e "WRITE AND VERIFY (10)", WriteAndVerify Ten VERIFY;
    transfer VERIFY_10 = 0x2f "VERIFY (10)", Verify Ten VERIFY;
    transfer PRE_FETCH_10 = 0x34 "PRE-FETCH (10)", PreFetch Ten IMMED;
    transfer SYNCHRONIZE_CACHE_10 = 0x35 "SYNCHRONIZE CACHE (10)", SynchronizeCache Ten IMMED;
    command READ_DEFECT_DATA_10 | READ_DEFECT_DATA_12 = 0x37 "READ DEFECT DATA (10)",
        Reads ReadDefectData "READ DEFECT DATA (SBC-3, clauses 5.17 and 5.18)." {
            0 twelve: bool as Bit<7> = "The form of 12 bytes; otherwise that of 10.";
            2 primary: bool as Either<7, Bit<4>, Bit<4>, 1> = "REQ_PLIST: the defects known from the start.";
            2 grown: bool as Either<7, Bit<3>, Bit<3>, 1> = "REQ_GLIST: the defects found since.";
            2 format: u8 as Either<7, Bits<2, 0>, Bits<2, 0>, 1> = "DEFECT LIST FORMAT: three bits.";
            2 index: u32 as Either<7, Absent<u32>, u32, 2> = "ADDRESS DESCRIPTOR INDEX: the first descriptor to report. In the form of 12 bytes only.";
            7 allocation: u32 as Either<7, u16, u32, 6> = "Allocation length in bytes.";
        };
    command WRITE_BUFFER = 0x3b "WRITE BUFFER",
        Writes WriteBuffer "WRITE BUFFER (SPC-4, clause 6.49)." {
            1 mode: u8 as Bits<4, 0> = "MODE: five bits; data (2), echo buffer (0x0a) …";
            2 id: u8 = "Number of the buffer.";
            3 offset: u32 as U24 = "First byte to write: 24 bits.";
            6 len: u32 as U24 = "Parameter list length in bytes: 24 bits.";
        };
    command READ_BUFFER = 0x3c "READ BUFFER",
        Reads ReadBuffer "READ BUFFER (10) (SPC-4, clause 6.18)." {
            1 mode: u8 as Bits<4, 0> = "MODE: five bits; data (2), descriptor (3), echo buffer (0x0a), its descriptor (0x0b) …";
            2 id: u8 = "Number of the buffer.";
            3 offset: u32 as U24 = "First byte to read: 24 bits.";
            6 allocation: u32 as U24 = "Allocation length in bytes: 24 bits.";
        };
    transfer WRITE_SAME_10 = 0x41 "WRITE SAME (10)", WriteSame Ten SAME;
    command UNMAP = 0x42 "UNMAP",
        Writes Unmap "UNMAP: deallocate blocks (SBC-3, clause 5.28)." {
            1 anchor: bool as Bit<0> = "ANCHOR: the blocks stay allocated.";
            7 len: u16 = "Parameter list length in bytes.";
        };
    command SANITIZE of 0x48 "SANITIZE" / 1 "SANITIZE: OVERWRITE" / 2 "SANITIZE: BLOCK ERASE"
        / 0x1f "SANITIZE: EXIT FAILURE MODE",
        Writes Sanitize "SANITIZE (SBC-3, clause 5.24)." {
            1 action: u8 as Action = "OVERWRITE (1), BLOCK ERASE (2), EXIT FAILURE MODE (0x1f).";
            1 immediate: bool as Bit<7> = "IMMED: return status at once.";
            1 unrestricted: bool as Bit<5> = "AUSE: a failure may be left by EXIT FAILURE MODE.";
            7 len: u16 = "Parameter list length in bytes.";
        };
    command LOG_SELECT = 0x4c "LOG SELECT",
        Writes LogSelect "LOG SELECT (SPC-4, clause 6.9)." {
            1 reset: bool as Bit<1> = "PCR: set the parameters back.";
            1 save: bool as Bit<0> = "SP: save the parameters.";
            2 control: u8 as Bits<7, 6> = "Kind of values, as in LOG SENSE.";
            2 page: u8 as Bits<5, 0> = "Page code; 0 for all.";
            3 subpage: u8 = "Subpage code; 0 for the page itself.";
            7 len: u16 = "Parameter list length in bytes.";
        };
    command LOG_SENSE = 0x4d "LOG SENSE",
        Neither LogSense "LOG SENSE (SPC-4, clause 6.10)." {
            1 save: bool as Bit<0> = "SP: save the parameters.";
            2 control: u8 as Bits<7, 6> = "Threshold (0), cumulative (1), default threshold (2) or default cumulative (3) values.";
            2 page: u8 as Bits<5, 0> = "Page code; 0 for the list of pages.";
            3 subpage: u8 = "Subpage code; 0 for the page itself.";
            5 pointer: u16 = "PARAMETER POINTER: the first parameter to report.";
            7 allocation: u16 = "Allocation length in bytes.";
        };
    form MODE_SELECT_10 = 0x55 "MODE SELECT (10)", ModeSelect;
    form MODE_SENSE_10 = 0x5a "MODE SENSE (10)", ModeSense;
    command PERSISTENT_RESERVE_IN of 0x5e "PERSISTENT RESERVE IN"
        / 0 "PERSISTENT RESERVE IN: READ KEYS"
        / 1 "PERSISTENT RESERVE IN: READ RESERVATION"
        / 2 "PERSISTENT RESERVE IN: REPORT CAPABILITIES"
        / 3 "PERSISTENT RESERVE IN: READ FULL STATUS",
        Neither PersistentReserveIn "PERSISTENT RESERVE IN (SPC-4, clause 6.15)." {
            1 action: u8 as Action = "READ KEYS (0), READ RESERVATION (1), REPORT CAPABILITIES (2), READ FULL STATUS (3).";
            7 allocation: u16 = "Allocation length in bytes.";
        };
    command PERSISTENT_RESERVE_OUT of 0x5f "PERSISTENT RESERVE OUT"
        / 0 "PERSISTENT RESERVE OUT: REGISTER"
        / 1 "PERSISTENT RESERVE OUT: RESERVE" + 2 u8
        / 2 "PERSISTENT RESERVE OUT: RELEASE" + 2 u8
        / 3 "PERSISTENT RESERVE OUT: CLEAR"
        / 4 "PERSISTENT RESERVE OUT: PREEMPT" + 2 u8
        / 5 "PERSISTENT RESERVE OUT: PREEMPT AND ABORT" + 2 u8
        / 6 "PERSISTENT RESERVE OUT: REGISTER AND IGNORE EXISTING KEY",
        Neither PersistentReserveOut "PERSISTENT RESERVE OUT (SPC-4, clause 6.16)." {
            1 action: u8 as Action = "Service action: 0 to 6.";
            2 scope: u8 as OfReservation<Bits<7, 4>> = "Scope of the reservation: 0 is the unit.";
            2 kind: u8 as OfReservation<Bits<3, 0>> = "Type of the reservation.";
            5 len: u32 = "Parameter list length in bytes.";
        };
    transfer VARIABLE_LENGTH of 0x7f "A command of 32 bytes; its service action is in bytes 8 and 9"
        / 0x09 "READ (32)", Read ThirtyTwo TRANSFER;
    transfer VARIABLE_LENGTH / 0x0a "VERIFY (32)", Verify ThirtyTwo VERIFY;
    transfer VARIABLE_LENGTH / 0x0b "WRITE (32)", Write ThirtyTwo TRANSFER;
    transfer VARIABLE_LENGTH / 0x0c "WRITE AND VERIFY (32)", WriteAndVerify ThirtyTwo VERIFY;
    transfer VARIABLE_LENGTH / 0x0d "WRITE SAME (32)", WriteSame ThirtyTwo SAME | 1;
    command EXTENDED_COPY of 0x83 "EXTENDED COPY" / 0 "EXTENDED COPY (LID1)",
        Writes ExtendedCopy "EXTENDED COPY (LID1) (SPC-4, clause 6.4)." {
            10 len: u32 = "Parameter list length in bytes.";
        };
    command RECEIVE_COPY_RESULTS of 0x84 "RECEIVE COPY RESULTS" / 3 "RECEIVE COPY OPERATING PARAMETERS",
        Writes CopyParameters "RECEIVE COPY OPERATING PARAMETERS (SPC-4, clause 6.23)." {
            10 allocation: u32 = "Allocation length in bytes.";
        };
    transfer READ_16 = 0x88 "READ (16)", Read Sixteen TRANSFER;
    command COMPARE_AND_WRITE = 0x89 "COMPARE AND WRITE",
        Writes CompareAndWrite "COMPARE AND WRITE: write blocks if the medium matches the first half of the data out (SBC-3, clause 5.2)." {
            2 lba: u64 = "The first logical block.";
            13 blocks: u8 = "Number of blocks; data out has twice as many.";
            1 protect: u8 as Bits<7, 5> = "WRPROTECT: three bits.";
            1 dpo: bool as Bit<4> = "Disable page out: do not cache the blocks.";
            1 fua: bool as Bit<3> = "Force unit access: not to a volatile cache only.";
        };
    transfer WRITE_16 = 0x8a "WRITE (16)", Write Sixteen TRANSFER;
    transfer ORWRITE_16 = 0x8b "ORWRITE (16)", OrWrite Sixteen TRANSFER;
    transfer WRITE_AND_VERIFY_16 = 0x8e "WRITE AND VERIFY (16)", WriteAndVerify Sixteen VERIFY;
    transfer VERIFY_16 = 0x8f "VERIFY (16)", Verify Sixteen VERIFY;
    transfer PRE_FETCH_16 = 0x90 "PRE-FETCH (16)", PreFetch Sixteen IMMED;
    transfer SYNCHRONIZE_CACHE_16 = 0x91 "SYNCHRONIZE CACHE (16)", SynchronizeCache Sixteen IMMED;
    transfer WRITE_SAME_16 = 0x93 "WRITE SAME (16)", WriteSame Sixteen SAME | 1;
    command SERVICE_ACTION_IN_16 of 0x9e "SERVICE ACTION IN (16)" / 0x10 "READ CAPACITY (16)",
        Neither ReadCapacity16 "READ CAPACITY (16) (SBC-3, clause 5.16)." {
            10 allocation: u32 = "Allocation length in bytes.";
        };
    command SERVICE_ACTION_IN_16 / 0x12 "GET LBA STATUS",
        Reads GetLbaStatus "GET LBA STATUS (SBC-3, clause 5.4)." {
            2 lba: u64 = "The first logical block.";
            10 allocation: u32 = "Allocation length in bytes.";
        };
    command REPORT_LUNS = 0xa0 "REPORT LUNS",
        Neither ReportLuns "REPORT LUNS (SPC-4, clause 6.33)." {
            2 select: u8 = "SELECT REPORT: kinds of units to report.";
            6 allocation: u32 = "Allocation length in bytes.";
        };
    command MAINTENANCE_IN of 0xa3 "MAINTENANCE IN" / 5 "REPORT IDENTIFYING INFORMATION",
        Neither ReportIdentifyingInformation "REPORT IDENTIFYING INFORMATION (SPC-4, clause 6.32)." {
            10 kind: u8 as Bits<7, 1> = "INFORMATION TYPE: seven bits; of the unit (0), as text (2), or what is supported (0x7f).";
            6 allocation: u32 = "Allocation length in bytes.";
        };
    command MAINTENANCE_OUT of 0xa4 "MAINTENANCE OUT" / 6 "SET IDENTIFYING INFORMATION",
        Writes SetIdentifyingInformation "SET IDENTIFYING INFORMATION (SPC-4, clause 6.43)." {
            10 kind: u8 as Bits<7, 1> = "INFORMATION TYPE: seven bits.";
            6 len: u32 = "Parameter list length in bytes.";
        };
    command MAINTENANCE_IN / 0x0c "REPORT SUPPORTED OPERATION CODES",
        Reads ReportSupportedOperationCodes "REPORT SUPPORTED OPERATION CODES (SPC-4, clause 6.35)." {
            2 timeouts: bool as Bit<7> = "RCTD: include command timeouts descriptors.";
            2 options: u8 as Bits<2, 0> = "REPORTING OPTIONS: all commands (0), or one by opcode (1), by opcode and service action (2), or by whichever it has (3).";
            3 opcode: u8 = "Requested opcode.";
            4 action: u16 = "Requested service action.";
            6 allocation: u32 = "Allocation length in bytes.";
        };
    command MAINTENANCE_IN / 0x0a "REPORT TARGET PORT GROUPS",
        Neither ReportTargetPortGroups "REPORT TARGET PORT GROUPS (SPC-4, clause 6.37)." {
            1 format: u8 as Bits<7, 5> = "PARAMETER DATA FORMAT: 0 for a header of the length only, 1 for the extended one.";
            6 allocation: u32 = "Allocation length in bytes.";
        };
    transfer READ_12 = 0xa8 "READ (12)", Read Twelve TRANSFER;
    transfer WRITE_12 = 0xaa "WRITE (12)", Write Twelve TRANSFER;
    transfer WRITE_AND_VERIFY_12 = 0xae "WRITE AND VERIFY (12)", WriteAndVerify Twelve VERIFY;
    form READ_DEFECT_DATA_12 = 0xb7 "READ DEFECT DATA (12)", ReadDefectData;
    transfer VERIFY_12 = 0xaf "VERIFY (12)", Verify Twelve VERIFY;
}

/// Writes a field, if it has place for the value.
fn put<F: Field>(value: F::Value, to: &mut [u8; 32], at: usize, field: &'static str) -> Result<(), Error> {
    if !F::fits(&value, to) {
        return Err(Error::TooLarge(NAME, called(field)));
    }
    F::put(value, to, at);
    Ok(())
}
