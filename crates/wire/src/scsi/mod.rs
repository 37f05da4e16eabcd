//! SCSI commands of a disk and the data that goes with them (SPC-4, SBC-3): what the bytes mean, not what is done.
//!
//! - [`Cdb`] is a command descriptor block, parsed strictly: what parses can be written again with the same meaning.
//! - [`Sense`] says why a command failed, in fixed and in descriptor format.
//! - The other types are data in or data out of one command each.
//!
//! Reserved bits are not looked at: SPC-4, clause 3.3.11, does not require it, and initiators in use set some.

mod capacity;
mod cdb;
mod copy;
mod inquiry;
mod lun;
mod mode;
mod reserve;
mod sense;
mod unmap;
mod vpd;

pub use capacity::{Capacity, Provisioning};
pub use cdb::{Access, Cdb, CdbBytes, CdbError, CdbForm, FORMS, ProtectionTags, Transfer, Width, opcode};
pub use copy::{CopyList, CopySegment, CopyTarget};
pub use inquiry::{Inquiry, Qualifier};
pub use lun::{lun_bytes, lun_number, parse_luns, put_list_len, put_luns};
pub use mode::{ModeHeader, ModePage, ModePages, emit_mode, parse_mode};
pub use reserve::{ReserveParameters, ReserveType};
pub use sense::{FieldPointer, Sense, SenseKey, asc};
pub use unmap::{UnmapRange, parse_unmap, put_unmap};
pub use vpd::{BlockCharacteristics, BlockLimits, BlockProvisioning, Designator, ExtendedInquiry, VpdPage, vpd};
