//! Command descriptor blocks.

mod commands;
mod declare;
mod form;
mod transfer;

use std::ops::Deref;

use super::{Sense, SenseKey, asc};
use crate::Error;
use crate::field::{Bit, Field, array_at};
use form::Action;

pub use commands::{Cdb, FORMS, opcode};
pub use form::CdbForm;
pub use transfer::ProtectionTags;

const NAME: &str = "scsi command";

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
    /// The command at the front of `cdb`, which may have more bytes.
    ///
    /// # Errors
    ///
    /// [`CdbError`], whose [`sense`](CdbError::sense) is the answer to it.
    pub fn parse(cdb: &[u8]) -> Result<Self, CdbError> {
        let opcode = *cdb.first().ok_or(CdbError::Truncated)?;
        let len = cdb_len(opcode);
        // A short one whose opcode is not known anyway is told that first.
        if cdb.len() < usize::from(len) {
            return Err(if is_known(opcode) { CdbError::Truncated } else { CdbError::Opcode(opcode) });
        }
        refuse(opcode, cdb)?;
        let long = opcode == opcode::VARIABLE_LENGTH;
        let action = if long { u16::get(cdb, 8) } else { u16::from(Action::get(cdb, 1)) };
        let command = Self::read(opcode, action, cdb)?.ok_or(match opcode {
            _ if !is_known(opcode) => CdbError::Opcode(opcode),
            opcode::VARIABLE_LENGTH => CdbError::Field { byte: 8, bit: None },
            _ => field(1, 4),
        })?;
        // NACA is not offered (NORMACA in INQUIRY): SAM-5, clause 5.2.
        let control = if long { 1 } else { len - 1 };
        if Bit::<2>::get(cdb, usize::from(control)) {
            return Err(field(u16::from(control), 2));
        }
        Ok(command)
    }

    /// The command's bytes.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] when a value does not fit the field of the form, [`Error::Malformed`] when the command has no
    /// form of that width or no such option in it.
    pub fn bytes(&self) -> Result<CdbBytes, Error> {
        let mut bytes = [0; 32];
        match transfer::of(self)? {
            Some((family, transfer, flags)) => transfer::write(family, &transfer, flags, &mut bytes)?,
            None => self.write(&mut bytes)?,
        }
        match self {
            Self::ModeSense { ten: false, long: true, .. } => {
                Err(Error::Malformed(NAME, "form: MODE SENSE (6) has no long block descriptors"))
            }
            Self::ReadDefectData { twelve: false, index: 1.., .. } => {
                Err(Error::Malformed(NAME, "form: READ DEFECT DATA (10) begins at the first"))
            }
            _ => Ok(CdbBytes { bytes, len: cdb_len(bytes[0]) }),
        }
    }

    /// Effect of the command on the medium.
    #[must_use]
    pub const fn access(&self) -> Access {
        match self {
            Self::StartStop { power: 0, start: true, .. } => Access::Neither,
            _ => self.declared_access(),
        }
    }
}

/// True if a form has this opcode.
fn is_known(opcode: u8) -> bool {
    FORMS.iter().any(|form| form.opcode() == opcode)
}

/// Values that no field of the command has.
fn refuse(opcode: u8, cdb: &[u8]) -> Result<(), CdbError> {
    match opcode {
        // Bit 1 asked for command support data before SPC-3: other data than what is sent now.
        opcode::INQUIRY if cdb[1] & 2 != 0 => Err(field(1, 1)),
        opcode::INQUIRY if cdb[1] & 1 == 0 && cdb[2] != 0 => Err(CdbError::Field { byte: 2, bit: None }),
        // The additional length (SPC-4, clause 4.3.3).
        opcode::VARIABLE_LENGTH if cdb[7] != 24 => Err(CdbError::Field { byte: 7, bit: None }),
        _ => Ok(()),
    }
}

const fn field(byte: u16, bit: u8) -> CdbError {
    CdbError::Field { byte, bit: Some(bit) }
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
