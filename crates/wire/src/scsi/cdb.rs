//! Command descriptor blocks.

mod bytes;

use std::ops::Deref;

use super::{Sense, SenseKey, asc};
use crate::field::array_at;

/// Offsets of the fields that commands have in common, by the length of their CDBs (SPC-4, clause 4.3; SBC-3, clause 5).
///
/// ```text
///  bytes of the CDB     6     10     12     16     32
///  opcode               0      0      0      0      0
///  options              1      1      1      1     10   PROTECT, DPO, FUA, IMMED, BYTCHK, a service action
///  service action       -      -      -      -      8   2 bytes
///  logical block        1      2      2      2     12   21 bits; 4 bytes; 4; 8; 8
///  length               4      7      6     10     28   of a transfer, a list or an allocation: 1 byte; 2; 4; 4; 4
/// ```
mod field {
    pub(super) const OPCODE: usize = 0;
    /// Options and service action, of all but the longest.
    pub(super) const OPTIONS: usize = 1;
    /// Third byte of several commands: a page code, a selection, or scope and type of a reservation.
    pub(super) const SELECTION: usize = 2;
    /// MODE SENSE (SPC-4, clauses 6.13 and 6.14).
    pub(super) const SUBPAGE: usize = 3;

    /// START STOP UNIT (SBC-3, clause 5.25).
    pub(super) mod start_stop {
        pub(in super::super) const MODIFIER: usize = 3;
        pub(in super::super) const POWER: usize = 4;
    }
    /// LOG SENSE (SPC-4, clause 6.12).
    pub(super) mod log {
        pub(in super::super) const POINTER: usize = 5;
    }
    /// READ BUFFER and WRITE BUFFER (SPC-4, clauses 6.18 and 6.49): numbers of 3 bytes, read with the one before them.
    pub(super) mod buffer {
        pub(in super::super) const OFFSET: usize = 3;
        pub(in super::super) const LENGTH: usize = 6;
    }
    /// REPORT and SET IDENTIFYING INFORMATION (SPC-4, clauses 6.32 and 6.43).
    pub(super) mod identifying {
        pub(in super::super) const KIND: usize = 10;
    }
    /// REPORT SUPPORTED OPERATION CODES (SPC-4, clause 6.35).
    pub(super) mod report_opcodes {
        pub(in super::super) const OPCODE: usize = 3;
        pub(in super::super) const ACTION: usize = 4;
    }

    pub(super) mod six {
        pub(in super::super) const LBA: usize = 1;
        /// INQUIRY's allocation length, SEND DIAGNOSTIC's list length, of 2 bytes (SPC-4, clauses 6.6 and 6.42).
        pub(in super::super) const ALLOCATION: usize = 3;
        pub(in super::super) const LENGTH: usize = 4;
    }
    pub(super) mod ten {
        pub(in super::super) const LBA: usize = 2;
        pub(in super::super) const LENGTH: usize = 7;
        /// PERSISTENT RESERVE OUT's parameter list length, of 4 bytes (SPC-4, clause 6.16).
        pub(in super::super) const LIST_LENGTH: usize = 5;
    }
    pub(super) mod twelve {
        pub(in super::super) const LBA: usize = 2;
        pub(in super::super) const LENGTH: usize = 6;
    }
    pub(super) mod sixteen {
        pub(in super::super) const LBA: usize = 2;
        pub(in super::super) const LENGTH: usize = 10;
        /// COMPARE AND WRITE counts in one byte.
        pub(in super::super) const COMPARED: usize = 13;
    }
    pub(super) mod thirty_two {
        pub(in super::super) const ADDITIONAL_LENGTH: usize = 7;
        pub(in super::super) const SERVICE_ACTION: usize = 8;
        pub(in super::super) const OPTIONS: usize = 10;
        pub(in super::super) const LBA: usize = 12;
        pub(in super::super) const REFERENCE_TAG: usize = 20;
        pub(in super::super) const APPLICATION_TAG: usize = 24;
        pub(in super::super) const APPLICATION_TAG_MASK: usize = 26;
        pub(in super::super) const LENGTH: usize = 28;
    }
}

/// Form of a command, by the length of its CDB: the forms differ in the sizes of their fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 6 bytes: 21 bits of address, 1 to 256 blocks.
    Six,
    /// 10 bytes: 32 bits of address, 65535 blocks.
    Ten,
    /// 12 bytes: 32 bits of address.
    Twelve,
    /// 16 bytes: 64 bits of address.
    Sixteen,
    /// 32 bytes: as 16, and the expected protection information.
    ThirtyTwo(ProtectionTags),
}

/// Expected protection information (SBC-3, clause 5.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProtectionTags {
    /// The reference tag of the first block.
    pub reference: u32,
    /// The application tag.
    pub application: u16,
    /// Mask of the bits of the application tag that are compared.
    pub application_mask: u16,
}

/// Parameters of READ, WRITE and similar commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Form of the command.
    pub width: Width,
    /// The first logical block.
    pub lba: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// RDPROTECT, VRPROTECT or WRPROTECT: three bits.
    pub protect: u8,
    /// Disable page out: do not cache the blocks.
    pub dpo: bool,
    /// Force unit access: bypass a volatile cache. VERIFY and WRITE AND VERIFY have no such bit.
    pub fua: bool,
}

impl Transfer {
    /// Transfer in the shortest form of 10 bytes or more that can address those blocks, with no option set.
    #[must_use]
    pub fn new(lba: u64, blocks: u32) -> Self {
        let ten = u32::try_from(lba).is_ok() && u16::try_from(blocks).is_ok();
        let width = if ten { Width::Ten } else { Width::Sixteen };
        Self { width, lba, blocks, protect: 0, dpo: false, fua: false }
    }
}

/// A command, of those that [`FORMS`](super::FORMS) lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cdb {
    /// TEST UNIT READY (SPC-4, clause 6.47)
    TestUnitReady,
    /// REQUEST SENSE (SPC-4, clause 6.39)
    RequestSense {
        /// Sense data in descriptor format.
        descriptors: bool,
        /// Allocation length in bytes.
        allocation: u8,
    },
    /// INQUIRY (SPC-4, clause 6.6)
    Inquiry {
        /// A page of vital product data, or else the standard data.
        page: Option<u8>,
        /// Allocation length in bytes.
        allocation: u16,
    },
    /// REPORT LUNS (SPC-4, clause 6.33)
    ReportLuns {
        /// SELECT REPORT: kinds of units to report.
        select: u8,
        /// Allocation length in bytes.
        allocation: u32,
    },
    /// MODE SENSE (SPC-4, clauses 6.13 and 6.14)
    ModeSense {
        /// The form of 10 bytes; otherwise that of 6.
        ten: bool,
        /// DBD: no block descriptor.
        no_descriptors: bool,
        /// LLBAA: a long block descriptor is accepted.
        long: bool,
        /// Current (0), changeable (1), default (2) or saved (3) values.
        control: u8,
        /// Page code; 0x3f for all.
        page: u8,
        /// Subpage code; 0xff for all.
        subpage: u8,
        /// Allocation length in bytes.
        allocation: u16,
    },
    /// MODE SELECT (SPC-4, clauses 6.11 and 6.12).
    ModeSelect {
        /// The form of 10 bytes; otherwise that of 6.
        ten: bool,
        /// PF: the parameters are pages.
        pages: bool,
        /// SP: save the pages.
        save: bool,
        /// Parameter list length in bytes.
        len: u16,
    },
    /// LOG SENSE (SPC-4, clause 6.10).
    LogSense {
        /// SP: save the parameters.
        save: bool,
        /// Threshold (0), cumulative (1), default threshold (2) or default cumulative (3) values.
        control: u8,
        /// Page code.
        page: u8,
        /// Subpage code.
        subpage: u8,
        /// PARAMETER POINTER: the first parameter to report.
        pointer: u16,
        /// Allocation length in bytes.
        allocation: u16,
    },
    /// LOG SELECT (SPC-4, clause 6.9).
    LogSelect {
        /// PCR: set the parameters back.
        reset: bool,
        /// SP: save the parameters.
        save: bool,
        /// Kind of values, as in LOG SENSE.
        control: u8,
        /// Page code; 0 for all.
        page: u8,
        /// Subpage code.
        subpage: u8,
        /// Parameter list length in bytes.
        len: u16,
    },
    /// START STOP UNIT (SBC-3, clause 5.25).
    StartStop {
        /// IMMED: return status at once.
        immediate: bool,
        /// Power condition modifier.
        modifier: u8,
        /// Power condition; 0 for `start` and `load`.
        power: u8,
        /// NO_FLUSH: do not flush the cache.
        no_flush: bool,
        /// Load or eject the medium.
        load: bool,
        /// Start; otherwise stop.
        start: bool,
    },
    /// SEND DIAGNOSTIC (SPC-4, clause 6.42).
    SendDiagnostic {
        /// SELF-TEST CODE: three bits; 0 for the test of `test`, or none.
        code: u8,
        /// PF: the parameter list consists of pages.
        pages: bool,
        /// SELFTEST: the unit's default self-test.
        test: bool,
        /// UNITOFFL: the test may affect all units.
        all_offline: bool,
        /// DEVOFFL: the test may affect this unit.
        offline: bool,
        /// Parameter list length in bytes.
        len: u16,
    },
    /// RECEIVE DIAGNOSTIC RESULTS (SPC-4, clause 6.28).
    ReceiveDiagnostic {
        /// PCV: a page is asked for; otherwise the results of the last SEND DIAGNOSTIC.
        coded: bool,
        /// Page code.
        page: u8,
        /// Allocation length in bytes.
        allocation: u16,
    },
    /// READ BUFFER (10) (SPC-4, clause 6.18).
    ReadBuffer {
        /// MODE: five bits; data (2), descriptor (3), echo buffer (0x0a), its descriptor (0x0b) …
        mode: u8,
        /// Number of the buffer.
        id: u8,
        /// First byte to read: 24 bits.
        offset: u32,
        /// Allocation length in bytes: 24 bits.
        allocation: u32,
    },
    /// WRITE BUFFER (SPC-4, clause 6.49).
    WriteBuffer {
        /// MODE: five bits; data (2), echo buffer (0x0a) …
        mode: u8,
        /// Number of the buffer.
        id: u8,
        /// First byte to write: 24 bits.
        offset: u32,
        /// Parameter list length in bytes: 24 bits.
        len: u32,
    },
    /// READ DEFECT DATA (SBC-3, clauses 5.17 and 5.18).
    ReadDefectData {
        /// The form of 12 bytes; otherwise that of 10.
        twelve: bool,
        /// REQ_PLIST: the defects known from the start.
        primary: bool,
        /// REQ_GLIST: the defects found since.
        grown: bool,
        /// DEFECT LIST FORMAT: three bits.
        format: u8,
        /// ADDRESS DESCRIPTOR INDEX: the first descriptor to report. In the form of 12 bytes only.
        index: u32,
        /// Allocation length in bytes.
        allocation: u32,
    },
    /// REPORT IDENTIFYING INFORMATION (SPC-4, clause 6.32).
    ReportIdentifyingInformation {
        /// INFORMATION TYPE: seven bits; of the unit (0), as text (2), or what is supported (0x7f).
        kind: u8,
        /// Allocation length in bytes.
        allocation: u32,
    },
    /// SET IDENTIFYING INFORMATION (SPC-4, clause 6.43).
    SetIdentifyingInformation {
        /// INFORMATION TYPE: seven bits.
        kind: u8,
        /// Parameter list length in bytes.
        len: u32,
    },
    /// FORMAT UNIT (SBC-3, clause 5.3).
    FormatUnit {
        /// FMTPINFO: two bits; protection information that the blocks are to have.
        protection: u8,
        /// LONGLIST: the parameter list has a long header.
        long: bool,
        /// FMTDATA: there is a parameter list.
        data: bool,
        /// CMPLST: the defect list is complete.
        complete: bool,
        /// DEFECT LIST FORMAT: three bits.
        format: u8,
    },
    /// SANITIZE (SBC-3, clause 5.24).
    Sanitize {
        /// OVERWRITE (1), BLOCK ERASE (2), EXIT FAILURE MODE (0x1f).
        action: u8,
        /// IMMED: return status at once.
        immediate: bool,
        /// AUSE: a failure may be left by EXIT FAILURE MODE.
        unrestricted: bool,
        /// Parameter list length in bytes.
        len: u16,
    },
    /// EXTENDED COPY (LID1) (SPC-4, clause 6.4).
    ExtendedCopy {
        /// Parameter list length in bytes.
        len: u32,
    },
    /// RECEIVE COPY OPERATING PARAMETERS (SPC-4, clause 6.23).
    CopyParameters {
        /// Allocation length in bytes.
        allocation: u32,
    },
    /// READ CAPACITY (10) (SBC-3, clause 5.15)
    ReadCapacity10,
    /// READ CAPACITY (16) (SBC-3, clause 5.16)
    ReadCapacity16 {
        /// Allocation length in bytes.
        allocation: u32,
    },
    /// GET LBA STATUS (SBC-3, clause 5.4).
    GetLbaStatus {
        /// The first logical block.
        lba: u64,
        /// Allocation length in bytes.
        allocation: u32,
    },
    /// REPORT TARGET PORT GROUPS (SPC-4, clause 6.37).
    ReportTargetPortGroups {
        /// PARAMETER DATA FORMAT: 0 for a header of the length only, 1 for the extended one.
        format: u8,
        /// Allocation length in bytes.
        allocation: u32,
    },
    /// READ (SBC-3, clauses 5.11 to 5.14; SBC-2 for 6 bytes).
    Read(Transfer),
    /// WRITE (SBC-3, clauses 5.33 to 5.36; SBC-2 for 6 bytes).
    Write(Transfer),
    /// WRITE AND VERIFY (SBC-3, clause 5.37 and on).
    WriteAndVerify {
        /// Blocks to write.
        transfer: Transfer,
        /// BYTCHK: two bits; 1 compares the written blocks with the data out.
        compare: u8,
    },
    /// ORWRITE (16): set bits of blocks (SBC-3, clause 5.7).
    OrWrite(Transfer),
    /// VERIFY (SBC-3, clauses 5.29 and on).
    Verify {
        /// Blocks to verify.
        transfer: Transfer,
        /// BYTCHK: two bits; 1 compares with as many blocks of data out, 3 with one.
        compare: u8,
    },
    /// PRE-FETCH: read blocks into the cache (SBC-3, clauses 5.8 and 5.9).
    PreFetch {
        /// Form: 10 or 16 bytes.
        width: Width,
        /// IMMED: return status at once.
        immediate: bool,
        /// The first logical block.
        lba: u64,
        /// Number of blocks; 0 for all to the end.
        blocks: u32,
    },
    /// SYNCHRONIZE CACHE (SBC-3, clauses 5.26 and 5.27).
    SynchronizeCache {
        /// Form: 10 or 16 bytes.
        width: Width,
        /// IMMED: return status at once.
        immediate: bool,
        /// The first logical block.
        lba: u64,
        /// Number of blocks; 0 for all to the end.
        blocks: u32,
    },
    /// WRITE SAME: write one block many times (SBC-3, clauses 5.43 and on).
    WriteSame {
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
    },
    /// UNMAP: deallocate blocks (SBC-3, clause 5.28).
    Unmap {
        /// ANCHOR: the blocks stay allocated.
        anchor: bool,
        /// Parameter list length in bytes.
        len: u16,
    },
    /// COMPARE AND WRITE: write blocks if the medium matches the first half of the data out (SBC-3, clause 5.2).
    CompareAndWrite {
        /// The first logical block.
        lba: u64,
        /// Number of blocks; data out has twice as many.
        blocks: u8,
        /// WRPROTECT: three bits.
        protect: u8,
        /// Disable page out: do not cache the blocks.
        dpo: bool,
        /// Force unit access: not to a volatile cache only.
        fua: bool,
    },
    /// PERSISTENT RESERVE IN (SPC-4, clause 6.15)
    PersistentReserveIn {
        /// READ KEYS (0), READ RESERVATION (1), REPORT CAPABILITIES (2), READ FULL STATUS (3).
        action: u8,
        /// Allocation length in bytes.
        allocation: u16,
    },
    /// PERSISTENT RESERVE OUT (SPC-4, clause 6.16).
    PersistentReserveOut {
        /// Service action: 0 to 6.
        action: u8,
        /// Scope of the reservation: 0 is the unit.
        scope: u8,
        /// Type of the reservation.
        kind: u8,
        /// Parameter list length in bytes.
        len: u32,
    },
    /// REPORT SUPPORTED OPERATION CODES (SPC-4, clause 6.35)
    ReportSupportedOperationCodes {
        /// RCTD: include command timeouts descriptors.
        timeouts: bool,
        /// REPORTING OPTIONS: all commands (0), or one by opcode (1), by opcode and service action (2), or by whichever
        /// it has (3).
        options: u8,
        /// Requested opcode.
        opcode: u8,
        /// Requested service action.
        action: u16,
        /// Allocation length in bytes.
        allocation: u32,
    },
}

/// Effect of a command on the medium, for conflicts with reservations (SPC-4, table 65; SBC-3, table 13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Allowed under any reservation, or with rules of its own.
    Neither,
    /// Allowed where others may read.
    Reads,
    /// Allowed to the reservation's holders only.
    Writes,
}

impl Cdb {
    /// Effect of the command on the medium.
    #[must_use]
    pub const fn access(&self) -> Access {
        match self {
            Self::Inquiry { .. }
            | Self::ReportLuns { .. }
            | Self::RequestSense { .. }
            | Self::TestUnitReady
            | Self::ReadCapacity10
            | Self::ReadCapacity16 { .. }
            | Self::ReportTargetPortGroups { .. }
            | Self::PersistentReserveIn { .. }
            | Self::LogSense { .. }
            | Self::ReportIdentifyingInformation { .. }
            // PERSISTENT RESERVE OUT has rules of its own.
            | Self::PersistentReserveOut { .. }
            | Self::StartStop { power: 0, start: true, .. } => Access::Neither,
            Self::Read(_)
            | Self::Verify { .. }
            | Self::PreFetch { .. }
            | Self::GetLbaStatus { .. }
            | Self::ReadBuffer { .. }
            | Self::ReadDefectData { .. }
            | Self::ReceiveDiagnostic { .. }
            | Self::ReportSupportedOperationCodes { .. } => Access::Reads,
            Self::Write(_)
            | Self::WriteAndVerify { .. }
            | Self::WriteSame { .. }
            | Self::Unmap { .. }
            | Self::CompareAndWrite { .. }
            | Self::SynchronizeCache { .. }
            | Self::OrWrite(_)
            | Self::ExtendedCopy { .. }
            | Self::CopyParameters { .. }
            | Self::FormatUnit { .. }
            | Self::Sanitize { .. }
            | Self::ModeSelect { .. }
            | Self::ModeSense { .. }
            | Self::LogSelect { .. }
            | Self::WriteBuffer { .. }
            | Self::SetIdentifyingInformation { .. }
            | Self::SendDiagnostic { .. }
            | Self::StartStop { .. } => Access::Writes,
        }
    }
}

/// Reason that bytes are not a supported command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CdbError {
    /// Fewer bytes than the command has.
    #[error("scsi command: cut short: give all bytes of the command")]
    Truncated,
    /// Unknown opcode.
    #[error("scsi command: opcode {0:#04x} is not known: use one that REPORT SUPPORTED OPERATION CODES lists")]
    Opcode(u8),
    /// Unsupported value of a field.
    #[error("scsi command: byte {byte} has a value that is not known: use one of its standard")]
    Field {
        /// The field's first byte.
        byte: u16,
        /// The field's highest bit, if it is not a whole byte.
        bit: Option<u8>,
    },
}

impl CdbError {
    /// Sense data for the initiator.
    #[must_use]
    pub const fn sense(self) -> Sense {
        match self {
            Self::Truncated => Sense::new(SenseKey::ILLEGAL_REQUEST, asc::FIELD_IN_CDB),
            Self::Opcode(_) => Sense::new(SenseKey::ILLEGAL_REQUEST, asc::OPCODE),
            Self::Field { byte, bit } => Sense::invalid_field(byte, bit),
        }
    }
}

/// A serialized command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CdbBytes {
    bytes: [u8; 32],
    len: u8,
}

impl CdbBytes {
    /// The first 16 bytes, padded with zeros, as in FCP_CMND. None for a longer command.
    #[must_use]
    pub fn sixteen(&self) -> Option<[u8; 16]> {
        (self.len <= 16).then(|| array_at(&self.bytes, 0))
    }
}

impl Deref for CdbBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Length of a CDB in bytes, from the opcode's three highest bits (SPC-4, clause 4.3.5.1).
pub(super) const fn cdb_len(opcode: u8) -> u8 {
    match opcode >> 5 {
        0 => 6,
        1 | 2 => 10,
        3 => 32,
        4 => 16,
        _ => 12,
    }
}

#[cfg(test)]
mod tests;
