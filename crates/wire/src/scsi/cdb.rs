//! Command descriptor blocks.

mod octets;

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

/// Which of a command's forms it is: they differ in how large its fields may be.
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
    /// 32 bytes: as 16, and what the protection information is to be.
    ThirtyTwo(ProtectionTags),
}

/// Expected protection information (SBC-3, clause 5.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProtectionTags {
    /// The reference tag of the first block.
    pub reference: u32,
    /// The application tag.
    pub application: u16,
    /// The bits of it that are compared.
    pub application_mask: u16,
}

/// Blocks to be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Which form.
    pub width: Width,
    /// The first logical block.
    pub lba: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// RDPROTECT, VRPROTECT or WRPROTECT: three bits.
    pub protect: u8,
    /// Not worth a place in a cache.
    pub dpo: bool,
    /// Not from or to a cache only. VERIFY and WRITE AND VERIFY have no such bit.
    pub fua: bool,
}

impl Transfer {
    /// The shortest form of 10 bytes or more that reaches those blocks, with no option set.
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
    /// Is the unit ready? (SPC-4, clause 6.47)
    TestUnitReady,
    /// REQUEST SENSE (SPC-4, clause 6.39)
    RequestSense {
        /// In descriptor format.
        descriptors: bool,
        /// Bytes that are taken.
        allocation: u8,
    },
    /// INQUIRY (SPC-4, clause 6.6)
    Inquiry {
        /// A page of vital product data, or else the standard data.
        page: Option<u8>,
        /// Bytes that are taken.
        allocation: u16,
    },
    /// Which units are there? (SPC-4, clause 6.33)
    ReportLuns {
        /// Which kinds of units.
        select: u8,
        /// Bytes that are taken.
        allocation: u32,
    },
    /// MODE SENSE (SPC-4, clauses 6.13 and 6.14)
    ModeSense {
        /// The form of 10 bytes; otherwise that of 6.
        ten: bool,
        /// No block descriptor, please.
        no_descriptors: bool,
        /// A long block descriptor would be taken.
        long: bool,
        /// Current (0), changeable (1), default (2) or saved (3) values.
        control: u8,
        /// Which page; 0x3f for all.
        page: u8,
        /// Which subpage; 0xff for all.
        subpage: u8,
        /// Bytes that are taken.
        allocation: u16,
    },
    /// Start, stop, and power conditions (SBC-3, clause 5.25).
    StartStop {
        /// Do not wait for the end.
        immediate: bool,
        /// Power condition modifier.
        modifier: u8,
        /// Which power condition; 0 for `start` and `load`.
        power: u8,
        /// Keep the cache as it is.
        no_flush: bool,
        /// Load or eject the medium.
        load: bool,
        /// Start; otherwise stop.
        start: bool,
    },
    /// Test the unit (SPC-4, clause 6.42).
    SendDiagnostic {
        /// SELF-TEST CODE: three bits, which test; 0 for that of `test`, or none.
        code: u8,
        /// The parameter list is of pages.
        pages: bool,
        /// The unit's default test.
        test: bool,
        /// The test may disturb all units.
        all_offline: bool,
        /// The test may disturb this unit.
        offline: bool,
        /// Bytes of parameter list.
        len: u16,
    },
    /// READ CAPACITY (10) (SBC-3, clause 5.15)
    ReadCapacity10,
    /// READ CAPACITY (16) (SBC-3, clause 5.16)
    ReadCapacity16 {
        /// Bytes that are taken.
        allocation: u32,
    },
    /// Read blocks (SBC-3, clauses 5.11 to 5.14; SBC-2 for 6 bytes).
    Read(Transfer),
    /// Write blocks (SBC-3, clauses 5.33 to 5.36; SBC-2 for 6 bytes).
    Write(Transfer),
    /// Write blocks and verify them on the medium (SBC-3, clause 5.37 and on).
    WriteAndVerify {
        /// Which.
        transfer: Transfer,
        /// BYTCHK: two bits; with 1 they are compared with what came.
        compare: u8,
    },
    /// Verify blocks on the medium (SBC-3, clauses 5.29 and on).
    Verify {
        /// Which.
        transfer: Transfer,
        /// BYTCHK: two bits; 1 compares with as many blocks of data out, 3 with one.
        compare: u8,
    },
    /// Read blocks into the cache (SBC-3, clauses 5.8 and 5.9).
    PreFetch {
        /// Ten or sixteen bytes.
        width: Width,
        /// Do not wait for the end.
        immediate: bool,
        /// The first logical block.
        lba: u64,
        /// Number of blocks; 0 for all to the end.
        blocks: u32,
    },
    /// Put the cache on the medium (SBC-3, clauses 5.26 and 5.27).
    SynchronizeCache {
        /// Ten or sixteen bytes.
        width: Width,
        /// Do not wait for the end.
        immediate: bool,
        /// The first logical block.
        lba: u64,
        /// Number of blocks; 0 for all to the end.
        blocks: u32,
    },
    /// Write the same block many times (SBC-3, clauses 5.43 and on).
    WriteSame {
        /// Which form: 10, 16 or 32 bytes.
        width: Width,
        /// The first logical block.
        lba: u64,
        /// Number of blocks; 0 for all to the end.
        blocks: u32,
        /// WRPROTECT: three bits.
        protect: u8,
        /// Blocks that are given back keep their place.
        anchor: bool,
        /// Blocks may be given back.
        unmap: bool,
        /// There is no data out: zeros are written. Not in the form of 10 bytes.
        no_data: bool,
    },
    /// Give blocks back (SBC-3, clause 5.28).
    Unmap {
        /// They keep their place.
        anchor: bool,
        /// Bytes of parameter list.
        len: u16,
    },
    /// Write blocks if the medium has others that came with them (SBC-3, clause 5.2).
    CompareAndWrite {
        /// The first logical block.
        lba: u64,
        /// Number of blocks; data out has twice as many.
        blocks: u8,
        /// WRPROTECT: three bits.
        protect: u8,
        /// Not worth a place in a cache.
        dpo: bool,
        /// Not to a cache only.
        fua: bool,
    },
    /// PERSISTENT RESERVE IN (SPC-4, clause 6.15)
    PersistentReserveIn {
        /// READ KEYS (0), READ RESERVATION (1), REPORT CAPABILITIES (2), READ FULL STATUS (3).
        action: u8,
        /// Bytes that are taken.
        allocation: u16,
    },
    /// Register and reserve (SPC-4, clause 6.16).
    PersistentReserveOut {
        /// Which service action: 0 to 6.
        action: u8,
        /// Of what: 0 is the unit.
        scope: u8,
        /// Which type.
        kind: u8,
        /// Bytes of parameter list.
        len: u32,
    },
    /// Which commands are there? (SPC-4, clause 6.35)
    ReportSupportedOperationCodes {
        /// With timeouts.
        timeouts: bool,
        /// All (0), one by its opcode (1), by opcode and service action (2), or by what it has (3).
        options: u8,
        /// Which opcode.
        opcode: u8,
        /// Which service action.
        action: u16,
        /// Bytes that are taken.
        allocation: u32,
    },
}

/// Effect of a command on the medium, as a reservation sees it (SPC-4, table 65; SBC-3, table 13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It is let through whatever is reserved, or has rules of its own.
    Neither,
    /// It is let through where others may read.
    Reads,
    /// It is let through to nobody else.
    Writes,
}

impl Cdb {
    /// Its effect on the medium.
    #[must_use]
    pub const fn access(&self) -> Access {
        match self {
            Self::Inquiry { .. }
            | Self::ReportLuns { .. }
            | Self::RequestSense { .. }
            | Self::TestUnitReady
            | Self::ReadCapacity10
            | Self::ReadCapacity16 { .. }
            | Self::PersistentReserveIn { .. }
            // It has rules of its own.
            | Self::PersistentReserveOut { .. }
            | Self::StartStop { power: 0, start: true, .. } => Access::Neither,
            Self::Read(_)
            | Self::Verify { .. }
            | Self::PreFetch { .. }
            | Self::ReportSupportedOperationCodes { .. } => Access::Reads,
            Self::Write(_)
            | Self::WriteAndVerify { .. }
            | Self::WriteSame { .. }
            | Self::Unmap { .. }
            | Self::CompareAndWrite { .. }
            | Self::SynchronizeCache { .. }
            | Self::ModeSense { .. }
            | Self::SendDiagnostic { .. }
            | Self::StartStop { .. } => Access::Writes,
        }
    }
}

/// Why bytes are no command that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CdbError {
    /// There are fewer bytes than the command has.
    #[error("scsi command: cut short: give all octets of the command")]
    Truncated,
    /// The opcode is not known.
    #[error("scsi command: opcode {0:#04x} is not known: use one that REPORT SUPPORTED OPERATION CODES lists")]
    Opcode(u8),
    /// A field has a value that is not known.
    #[error("scsi command: octet {octet} has a value that is not known: use one of its standard")]
    Field {
        /// The field's first byte.
        octet: u16,
        /// Its highest bit, if it is no whole byte.
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
            Self::Field { octet, bit } => Sense::invalid_field(octet, bit),
        }
    }
}

/// The bytes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CdbOctets {
    octets: [u8; 32],
    len: u8,
}

impl CdbOctets {
    /// The first 16 bytes, zeros after the last: as FCP_CMND carries them. None for a longer command.
    #[must_use]
    pub fn sixteen(&self) -> Option<[u8; 16]> {
        (self.len <= 16).then(|| array_at(&self.octets, 0))
    }
}

impl Deref for CdbOctets {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }
}

/// Bytes of a command, which the opcode's three highest bits say (SPC-4, clause 4.3.5.1).
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
