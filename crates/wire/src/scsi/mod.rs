//! SCSI commands of a disk and the data that goes with them (SPC-4, SBC-3): what the bytes mean, not what is done.
//!
//! - [`Cdb`] is a command descriptor block, parsed strictly: what parses can be written again with the same meaning.
//! - [`Sense`] says why a command failed, in fixed and in descriptor format.
//! - The other types are data in or data out of one command each.
//!
//! Reserved bits are not looked at: SPC-4, clause 3.3.11, does not require it, and initiators in use set some.

mod capacity;
mod cdb;
mod forms;
mod inquiry;
mod lun;
mod mode;
mod reserve;
mod sense;
mod unmap;
mod vpd;

pub use capacity::{Capacity, Provisioning};
pub use cdb::{Cdb, CdbError, CdbOctets, ProtectionTags, Transfer, Width};
pub use forms::{CdbForm, FORMS};
pub use inquiry::{Inquiry, Qualifier};
pub use lun::{lun_number, lun_octets, parse_luns, put_list_len, put_luns};
pub use mode::{ModeHeader, ModePage, ModePages, emit_mode, parse_mode};
pub use reserve::{ReserveParameters, ReserveType};
pub use sense::{FieldPointer, Sense, SenseKey, asc};
pub use unmap::{UnmapRange, parse_unmap, put_unmap};
pub use vpd::{BlockCharacteristics, BlockLimits, BlockProvisioning, Designator, ExtendedInquiry, VpdPage, vpd};

/// Opcodes, as the first byte of a command descriptor block says them (SPC-4, annex E.3.1).
pub mod opcode {
    /// TEST UNIT READY.
    pub const TEST_UNIT_READY: u8 = 0x00;
    /// REQUEST SENSE.
    pub const REQUEST_SENSE: u8 = 0x03;
    /// READ (6).
    pub const READ_6: u8 = 0x08;
    /// WRITE (6).
    pub const WRITE_6: u8 = 0x0a;
    /// INQUIRY.
    pub const INQUIRY: u8 = 0x12;
    /// MODE SENSE (6).
    pub const MODE_SENSE_6: u8 = 0x1a;
    /// START STOP UNIT.
    pub const START_STOP_UNIT: u8 = 0x1b;
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
    /// WRITE SAME (10).
    pub const WRITE_SAME_10: u8 = 0x41;
    /// UNMAP.
    pub const UNMAP: u8 = 0x42;
    /// MODE SENSE (10).
    pub const MODE_SENSE_10: u8 = 0x5a;
    /// PERSISTENT RESERVE IN.
    pub const PERSISTENT_RESERVE_IN: u8 = 0x5e;
    /// PERSISTENT RESERVE OUT.
    pub const PERSISTENT_RESERVE_OUT: u8 = 0x5f;
    /// A command of 32 bytes; its service action is in bytes 8 and 9.
    pub const VARIABLE_LENGTH: u8 = 0x7f;
    /// READ (16).
    pub const READ_16: u8 = 0x88;
    /// COMPARE AND WRITE.
    pub const COMPARE_AND_WRITE: u8 = 0x89;
    /// WRITE (16).
    pub const WRITE_16: u8 = 0x8a;
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
    /// SERVICE ACTION IN (16), of which READ CAPACITY (16) is action 0x10.
    pub const SERVICE_ACTION_IN_16: u8 = 0x9e;
    /// REPORT LUNS.
    pub const REPORT_LUNS: u8 = 0xa0;
    /// MAINTENANCE IN, of which REPORT SUPPORTED OPERATION CODES is action 0x0c.
    pub const MAINTENANCE_IN: u8 = 0xa3;
    /// READ (12).
    pub const READ_12: u8 = 0xa8;
    /// WRITE (12).
    pub const WRITE_12: u8 = 0xaa;
}
