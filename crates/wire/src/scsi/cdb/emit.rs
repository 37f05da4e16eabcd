//! Commands in, bytes out.

use super::field::{self as at, report_opcodes, six, sixteen, start_stop, ten, thirty_two, twelve};
use super::{Cdb, CdbOctets, Transfer, Width, cdb_len};
use crate::Error;
use crate::field::{put, put_u16};
use crate::scsi::opcode::*;

const NAME: &str = "scsi command";

impl Cdb {
    /// The command's bytes.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] when a value does not fit the field of the form, [`Error::Malformed`] when the command has no
    /// form of that width or no such option in it.
    pub fn octets(&self) -> Result<CdbOctets, Error> {
        let mut to = [0; 32];
        let opcode = match *self {
            Self::TestUnitReady => TEST_UNIT_READY,
            Self::RequestSense { descriptors, allocation } => {
                to[at::OPTIONS] = u8::from(descriptors);
                to[six::LENGTH] = allocation;
                REQUEST_SENSE
            }
            Self::Inquiry { page, allocation } => {
                to[at::OPTIONS] = u8::from(page.is_some());
                to[at::SELECTION] = page.unwrap_or(0);
                put_u16(&mut to, six::ALLOCATION, allocation);
                INQUIRY
            }
            Self::ReportLuns { select, allocation } => {
                to[at::SELECTION] = select;
                put(&mut to, twelve::LENGTH, &allocation.to_be_bytes());
                REPORT_LUNS
            }
            Self::ModeSense { ten, no_descriptors, long, control, page, subpage, allocation } => {
                to[at::OPTIONS] = u8::from(no_descriptors) << 3 | u8::from(long) << 4;
                to[at::SELECTION] = control << 6 | page & 0x3f;
                to[at::SUBPAGE] = subpage;
                if ten {
                    put_u16(&mut to, ten::LENGTH, allocation);
                    MODE_SENSE_10
                } else {
                    to[six::LENGTH] =
                        u8::try_from(allocation).map_err(|_| Error::TooLarge(NAME, "allocation length"))?;
                    if long {
                        return Err(Error::Malformed(NAME, "form: MODE SENSE (6) has no long block descriptors"));
                    }
                    MODE_SENSE_6
                }
            }
            Self::StartStop { immediate, modifier, power, no_flush, load, start } => {
                to[at::OPTIONS] = u8::from(immediate);
                to[start_stop::MODIFIER] = modifier & 0xf;
                to[start_stop::POWER] = power << 4 | u8::from(no_flush) << 2 | u8::from(load) << 1 | u8::from(start);
                START_STOP_UNIT
            }
            Self::ReadCapacity10 => READ_CAPACITY_10,
            Self::ReadCapacity16 { allocation } => {
                to[at::OPTIONS] = 0x10;
                put(&mut to, sixteen::LENGTH, &allocation.to_be_bytes());
                SERVICE_ACTION_IN_16
            }
            Self::Read(transfer) => {
                put_transfer(&mut to, &transfer, [Some(READ_6), Some(READ_10), Some(READ_12), Some(READ_16)], 9, 0)?
            }
            Self::Write(transfer) => put_transfer(
                &mut to,
                &transfer,
                [Some(WRITE_6), Some(WRITE_10), Some(WRITE_12), Some(WRITE_16)],
                11,
                0,
            )?,
            Self::WriteAndVerify { transfer, compare } => {
                let opcodes = [None, Some(WRITE_AND_VERIFY_10), None, Some(WRITE_AND_VERIFY_16)];
                put_verify(&mut to, &transfer, opcodes, 12, compare)?
            }
            Self::Verify { transfer, compare } => {
                put_verify(&mut to, &transfer, [None, Some(VERIFY_10), None, Some(VERIFY_16)], 10, compare)?
            }
            Self::PreFetch { width, immediate, lba, blocks } => {
                let opcodes = [None, Some(PRE_FETCH_10), None, Some(PRE_FETCH_16)];
                put_plain(&mut to, width, lba, blocks, opcodes, immediate)?
            }
            Self::SynchronizeCache { width, immediate, lba, blocks } => {
                let opcodes = [None, Some(SYNCHRONIZE_CACHE_10), None, Some(SYNCHRONIZE_CACHE_16)];
                put_plain(&mut to, width, lba, blocks, opcodes, immediate)?
            }
            Self::WriteSame { width, lba, blocks, protect, anchor, unmap, no_data } => {
                if no_data && width == Width::Ten {
                    return Err(Error::Malformed(NAME, "form: WRITE SAME (10) always has data"));
                }
                let transfer = Transfer { width, lba, blocks, protect, dpo: anchor, fua: unmap };
                let opcodes = [None, Some(WRITE_SAME_10), None, Some(WRITE_SAME_16)];
                put_transfer(&mut to, &transfer, opcodes, 13, u8::from(no_data))?
            }
            Self::Unmap { anchor, len } => {
                to[at::OPTIONS] = u8::from(anchor);
                put_u16(&mut to, ten::LENGTH, len);
                UNMAP
            }
            Self::CompareAndWrite { lba, blocks, protect, dpo, fua } => {
                let transfer = Transfer { width: Width::Sixteen, lba, blocks: u32::from(blocks), protect, dpo, fua };
                put_transfer(&mut to, &transfer, [None, None, None, Some(COMPARE_AND_WRITE)], 0, 0)?
            }
            Self::PersistentReserveIn { action, allocation } => {
                to[at::OPTIONS] = action & 0x1f;
                put_u16(&mut to, ten::LENGTH, allocation);
                PERSISTENT_RESERVE_IN
            }
            Self::PersistentReserveOut { action, scope, kind, len } => {
                to[at::OPTIONS] = action & 0x1f;
                to[at::SELECTION] = scope << 4 | kind & 0xf;
                put(&mut to, ten::LIST_LENGTH, &len.to_be_bytes());
                PERSISTENT_RESERVE_OUT
            }
            Self::ReportSupportedOperationCodes { timeouts, options, opcode, action, allocation } => {
                to[at::OPTIONS] = 0x0c;
                to[at::SELECTION] = u8::from(timeouts) << 7 | options & 7;
                to[report_opcodes::OPCODE] = opcode;
                put_u16(&mut to, report_opcodes::ACTION, action);
                put(&mut to, twelve::LENGTH, &allocation.to_be_bytes());
                MAINTENANCE_IN
            }
        };
        to[at::OPCODE] = opcode;
        Ok(CdbOctets { octets: to, len: cdb_len(opcode) })
    }
}

/// Writes a transfer in its width; `opcodes` are those of 6, 10, 12 and 16 bytes, `action` that of 32. Returns the
/// opcode.
fn put_transfer(
    to: &mut [u8; 32],
    transfer: &Transfer,
    opcodes: [Option<u8>; 4],
    action: u16,
    flags: u8,
) -> Result<u8, Error> {
    let none = Error::Malformed(NAME, "form: the command has none of that width");
    let (lba, blocks) = (Error::TooLarge(NAME, "address"), Error::TooLarge(NAME, "number of blocks"));
    let flags = transfer.protect << 5 | u8::from(transfer.dpo) << 4 | u8::from(transfer.fua) << 3 | flags;
    let lba_32 = || u32::try_from(transfer.lba).map(u32::to_be_bytes).map_err(|_| lba);
    to[at::OPTIONS] = flags;
    match transfer.width {
        Width::Six => {
            if flags != 0 {
                return Err(Error::Malformed(NAME, "form: six octets have no options"));
            }
            let address = lba_32()?;
            if address[0] != 0 || address[1] > 0x1f {
                return Err(lba);
            }
            put(to, six::LBA, &address[1..]);
            to[six::LENGTH] = match transfer.blocks {
                256 => 0,
                0 => return Err(Error::Malformed(NAME, "form: six octets cannot say no block")),
                few => u8::try_from(few).map_err(|_| blocks)?,
            };
            opcodes[0].ok_or(none)
        }
        Width::Ten => {
            put(to, ten::LBA, &lba_32()?);
            put_u16(to, ten::LENGTH, u16::try_from(transfer.blocks).map_err(|_| blocks)?);
            opcodes[1].ok_or(none)
        }
        Width::Twelve => {
            put(to, twelve::LBA, &lba_32()?);
            put(to, twelve::LENGTH, &transfer.blocks.to_be_bytes());
            opcodes[2].ok_or(none)
        }
        Width::Sixteen => {
            put(to, sixteen::LBA, &transfer.lba.to_be_bytes());
            put(to, sixteen::LENGTH, &transfer.blocks.to_be_bytes());
            opcodes[3].ok_or(none)
        }
        Width::ThirtyTwo(tags) => {
            if action == 0 {
                return Err(none);
            }
            to[at::OPTIONS] = 0;
            to[thirty_two::ADDITIONAL_LENGTH] = 24;
            put_u16(to, thirty_two::SERVICE_ACTION, action);
            to[thirty_two::OPTIONS] = flags;
            put(to, thirty_two::LBA, &transfer.lba.to_be_bytes());
            put(to, thirty_two::REFERENCE_TAG, &tags.reference.to_be_bytes());
            put_u16(to, thirty_two::APPLICATION_TAG, tags.application);
            put_u16(to, thirty_two::APPLICATION_TAG_MASK, tags.application_mask);
            put(to, thirty_two::LENGTH, &transfer.blocks.to_be_bytes());
            Ok(VARIABLE_LENGTH)
        }
    }
}

fn put_verify(
    to: &mut [u8; 32],
    transfer: &Transfer,
    opcodes: [Option<u8>; 4],
    action: u16,
    compare: u8,
) -> Result<u8, Error> {
    if transfer.fua {
        return Err(Error::Malformed(NAME, "form: VERIFY has no FUA"));
    }
    put_transfer(to, transfer, opcodes, action, (compare & 3) << 1)
}

/// Writes blocks and the IMMED bit: what PRE-FETCH and SYNCHRONIZE CACHE have.
fn put_plain(
    to: &mut [u8; 32],
    width: Width,
    lba: u64,
    blocks: u32,
    opcodes: [Option<u8>; 4],
    immediate: bool,
) -> Result<u8, Error> {
    let transfer = Transfer { width, lba, blocks, protect: 0, dpo: false, fua: false };
    put_transfer(to, &transfer, opcodes, 0, u8::from(immediate) << 1)
}
