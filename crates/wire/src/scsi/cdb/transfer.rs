//! The commands that name blocks, in five widths (SPC-4, clause 4.3; SBC-3, clause 5).
//!
//! ```text
//!  bytes of the CDB     6     10     12     16     32
//!  options              1      1      1      1     10   PROTECT, DPO, FUA, IMMED, BYTCHK
//!  logical block        1      2      2      2     12   21 bits; 4 bytes; 4; 8; 8
//!  tags                 -      -      -      -     20   reference 4, application 2, its mask 2
//!  number of blocks     4      7      6     10     28   1 byte; 2; 4; 4; 4
//! ```

use super::commands::{Family, form_of};
use super::opcode::{VARIABLE_LENGTH, WRITE_SAME_10};
use super::{Cdb, CdbError, NAME, Transfer, Width, field};
use crate::Error;
use crate::field::{Bit, Bits, Field, put, record};

record! {
    /// Expected protection information (SBC-3, clause 5.14).
    #[derive(Default)]
    ProtectionTags[8];
    0 reference: u32 = "The reference tag of the first block.";
    4 application: u16 = "The application tag.";
    6 application_mask: u16 = "Mask of the bits of the application tag that are compared.";
}

impl Family {
    /// The command of this family; `cdb` has the length that belongs to its opcode.
    #[inline]
    pub(super) fn command(self, opcode: u8, cdb: &[u8]) -> Result<Cdb, CdbError> {
        let at = if opcode == VARIABLE_LENGTH { 10 } else { 1 };
        let transfer = transfer(opcode, at, cdb);
        let Transfer { width, lba, blocks, protect, dpo, fua } = transfer;
        let (immediate, compare) = (Bit::<1>::get(cdb, at), Bits::<2, 1>::get(cdb, at));
        // VERIFY and WRITE AND VERIFY have no FUA.
        let verified = Transfer { fua: false, ..transfer };
        Ok(match self {
            Self::Read => Cdb::Read(transfer),
            Self::Write => Cdb::Write(transfer),
            Self::OrWrite => Cdb::OrWrite(transfer),
            Self::WriteAndVerify => Cdb::WriteAndVerify { transfer: verified, compare },
            Self::Verify => Cdb::Verify { transfer: verified, compare },
            Self::PreFetch => Cdb::PreFetch { width, immediate, lba, blocks },
            Self::SynchronizeCache => Cdb::SynchronizeCache { width, immediate, lba, blocks },
            // PBDATA and LBDATA were to write addresses into the blocks (SBC-2): other data than what came.
            Self::WriteSame if compare != 0 => {
                return Err(field(
                    if opcode == VARIABLE_LENGTH { 10 } else { 1 },
                    if compare & 2 != 0 { 2 } else { 1 },
                ));
            }
            // ANCHOR and UNMAP stand where others have DPO and FUA.
            Self::WriteSame => {
                let no_data = opcode != WRITE_SAME_10 && Bit::<0>::get(cdb, at);
                Cdb::WriteSame { width, lba, blocks, protect, anchor: dpo, unmap: fua, no_data }
            }
        })
    }
}

/// Common fields of all widths, with the options at `at`.
#[inline]
fn transfer(opcode: u8, at: usize, cdb: &[u8]) -> Transfer {
    let (width, lba, blocks) = match opcode >> 5 {
        0 => {
            let blocks = if cdb[4] == 0 { 256 } else { u32::from(cdb[4]) };
            let lba = u64::from(u32::get(cdb, 0) & 0x1f_ffff);
            return Transfer { width: Width::Six, lba, blocks, protect: 0, dpo: false, fua: false };
        }
        1 | 2 => (Width::Ten, u32::get(cdb, 2).into(), u16::get(cdb, 7).into()),
        3 => (Width::ThirtyTwo(ProtectionTags::get(cdb, 20)), u64::get(cdb, 12), u32::get(cdb, 28)),
        4 => (Width::Sixteen, u64::get(cdb, 2), u32::get(cdb, 10)),
        _ => (Width::Twelve, u32::get(cdb, 2).into(), u32::get(cdb, 6)),
    };
    let (protect, dpo, fua) = (Bits::<7, 5>::get(cdb, at), Bit::<4>::get(cdb, at), Bit::<3>::get(cdb, at));
    Transfer { width, lba, blocks, protect, dpo, fua }
}

/// A command as its family, its transfer and the options that no transfer has; None if it is of no family.
#[inline]
pub(super) fn of(command: &Cdb) -> Result<Option<(Family, Transfer, u8)>, Error> {
    let plain = |width, lba, blocks| Transfer { width, lba, blocks, protect: 0, dpo: false, fua: false };
    Ok(Some(match *command {
        Cdb::Read(transfer) => (Family::Read, transfer, 0),
        Cdb::Write(transfer) => (Family::Write, transfer, 0),
        Cdb::OrWrite(transfer) => (Family::OrWrite, transfer, 0),
        Cdb::Verify { transfer, .. } | Cdb::WriteAndVerify { transfer, .. } if transfer.fua => {
            return Err(Error::Malformed(NAME, "form: VERIFY has no FUA"));
        }
        Cdb::WriteAndVerify { transfer, compare } => (Family::WriteAndVerify, transfer, (compare & 3) << 1),
        Cdb::Verify { transfer, compare } => (Family::Verify, transfer, (compare & 3) << 1),
        Cdb::PreFetch { width, immediate, lba, blocks } => {
            (Family::PreFetch, plain(width, lba, blocks), u8::from(immediate) << 1)
        }
        Cdb::SynchronizeCache { width, immediate, lba, blocks } => {
            (Family::SynchronizeCache, plain(width, lba, blocks), u8::from(immediate) << 1)
        }
        Cdb::WriteSame { width: Width::Ten, no_data: true, .. } => {
            return Err(Error::Malformed(NAME, "form: WRITE SAME (10) always has data"));
        }
        Cdb::WriteSame { width, lba, blocks, protect, anchor, unmap, no_data } => {
            let transfer = Transfer { width, lba, blocks, protect, dpo: anchor, fua: unmap };
            (Family::WriteSame, transfer, u8::from(no_data))
        }
        _ => return Ok(None),
    }))
}

/// Writes a transfer in its width.
pub(super) fn write(family: Family, transfer: &Transfer, flags: u8, to: &mut [u8; 32]) -> Result<(), Error> {
    let (lba, blocks) = (Error::TooLarge(NAME, "address"), Error::TooLarge(NAME, "number of blocks"));
    let flags = transfer.protect << 5 | u8::from(transfer.dpo) << 4 | u8::from(transfer.fua) << 3 | flags;
    let lba_32 = || u32::try_from(transfer.lba).map(u32::to_be_bytes).map_err(|_| lba);
    to[1] = flags;
    match transfer.width {
        Width::Six => {
            if flags != 0 {
                return Err(Error::Malformed(NAME, "form: six bytes have no options"));
            }
            let address = lba_32()?;
            if address[0] != 0 || address[1] > 0x1f {
                return Err(lba);
            }
            put(to, 1, &address[1..]);
            to[4] = match transfer.blocks {
                256 => 0,
                0 => return Err(Error::Malformed(NAME, "form: six bytes cannot say no block")),
                few => u8::try_from(few).map_err(|_| blocks)?,
            };
        }
        Width::Ten => {
            put(to, 2, &lba_32()?);
            u16::put(u16::try_from(transfer.blocks).map_err(|_| blocks)?, to, 7);
        }
        Width::Twelve => {
            put(to, 2, &lba_32()?);
            u32::put(transfer.blocks, to, 6);
        }
        Width::Sixteen => {
            u64::put(transfer.lba, to, 2);
            u32::put(transfer.blocks, to, 10);
        }
        Width::ThirtyTwo(tags) => {
            (to[1], to[7], to[10]) = (0, 24, flags);
            u64::put(transfer.lba, to, 12);
            ProtectionTags::put(tags, to, 20);
            u32::put(transfer.blocks, to, 28);
        }
    }
    let form = form_of(family, transfer.width);
    let (opcode, action) = form.ok_or(Error::Malformed(NAME, "form: the command has none of that width"))?;
    to[0] = opcode;
    if opcode == VARIABLE_LENGTH {
        u16::put(action, to, 8);
    }
    Ok(())
}
