//! Bytes in, commands out.

use super::field::{self as at, report_opcodes, six, sixteen, start_stop, ten, thirty_two, twelve};
use super::{Cdb, CdbError, ProtectionTags, Transfer, Width, cdb_len};
use crate::field::{array_at, u16_at, u32_at};
use crate::scsi::FORMS;
use crate::scsi::opcode::*;

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
            return Err(if FORMS.iter().any(|form| form.opcode() == opcode) {
                CdbError::Truncated
            } else {
                CdbError::Opcode(opcode)
            });
        }
        let command = Self::read(opcode, cdb)?;
        // NACA is not offered (NORMACA in INQUIRY): SAM-5, clause 5.2.
        let control = if opcode == VARIABLE_LENGTH { 1 } else { len - 1 };
        if cdb[usize::from(control)] & 4 != 0 {
            return Err(field(u16::from(control), 2));
        }
        Ok(command)
    }

    fn read(opcode: u8, cdb: &[u8]) -> Result<Self, CdbError> {
        let action = cdb[at::OPTIONS] & 0x1f;
        Ok(match opcode {
            READ_6 | READ_10 | READ_12 | READ_16 => Self::Read(transfer(opcode, cdb)),
            WRITE_6 | WRITE_10 | WRITE_12 | WRITE_16 => Self::Write(transfer(opcode, cdb)),
            TEST_UNIT_READY => Self::TestUnitReady,
            REQUEST_SENSE => {
                Self::RequestSense { descriptors: cdb[at::OPTIONS] & 1 != 0, allocation: cdb[six::LENGTH] }
            }
            INQUIRY => {
                // Bit 1 asked for command support data before SPC-3: other data than what is sent now.
                if cdb[at::OPTIONS] & 2 != 0 {
                    return Err(field(1, 1));
                }
                let page = (cdb[at::OPTIONS] & 1 != 0).then_some(cdb[at::SELECTION]);
                if page.is_none() && cdb[at::SELECTION] != 0 {
                    return Err(CdbError::Field { octet: 2, bit: None });
                }
                Self::Inquiry { page, allocation: u16_at(cdb, six::ALLOCATION) }
            }
            REPORT_LUNS => Self::ReportLuns { select: cdb[at::SELECTION], allocation: u32_at(cdb, twelve::LENGTH) },
            MODE_SENSE_6 | MODE_SENSE_10 => {
                let ten = opcode == MODE_SENSE_10;
                Self::ModeSense {
                    ten,
                    no_descriptors: cdb[at::OPTIONS] & 8 != 0,
                    long: ten && cdb[at::OPTIONS] & 0x10 != 0,
                    control: cdb[at::SELECTION] >> 6,
                    page: cdb[at::SELECTION] & 0x3f,
                    subpage: cdb[at::SUBPAGE],
                    allocation: if ten { u16_at(cdb, ten::LENGTH) } else { u16::from(cdb[six::LENGTH]) },
                }
            }
            START_STOP_UNIT => Self::StartStop {
                immediate: cdb[at::OPTIONS] & 1 != 0,
                modifier: cdb[start_stop::MODIFIER] & 0xf,
                power: cdb[start_stop::POWER] >> 4,
                no_flush: cdb[start_stop::POWER] & 4 != 0,
                load: cdb[start_stop::POWER] & 2 != 0,
                start: cdb[start_stop::POWER] & 1 != 0,
            },
            READ_CAPACITY_10 => Self::ReadCapacity10,
            SERVICE_ACTION_IN_16 if action == 0x10 => Self::ReadCapacity16 { allocation: u32_at(cdb, sixteen::LENGTH) },
            WRITE_AND_VERIFY_10 | WRITE_AND_VERIFY_16 => {
                Self::WriteAndVerify { transfer: verify(opcode, cdb), compare: cdb[at::OPTIONS] >> 1 & 3 }
            }
            VERIFY_10 | VERIFY_16 => Self::Verify { transfer: verify(opcode, cdb), compare: cdb[at::OPTIONS] >> 1 & 3 },
            PRE_FETCH_10 | PRE_FETCH_16 => {
                let Transfer { width, lba, blocks, .. } = transfer(opcode, cdb);
                Self::PreFetch { width, immediate: cdb[at::OPTIONS] & 2 != 0, lba, blocks }
            }
            SYNCHRONIZE_CACHE_10 | SYNCHRONIZE_CACHE_16 => {
                let Transfer { width, lba, blocks, .. } = transfer(opcode, cdb);
                Self::SynchronizeCache { width, immediate: cdb[at::OPTIONS] & 2 != 0, lba, blocks }
            }
            WRITE_SAME_10 | WRITE_SAME_16 => {
                write_same(transfer(opcode, cdb), cdb[at::OPTIONS], 1, opcode == WRITE_SAME_16)?
            }
            UNMAP => Self::Unmap { anchor: cdb[at::OPTIONS] & 1 != 0, len: u16_at(cdb, ten::LENGTH) },
            COMPARE_AND_WRITE => {
                let Transfer { lba, protect, dpo, fua, .. } = transfer(opcode, cdb);
                Self::CompareAndWrite { lba, blocks: cdb[sixteen::COMPARED], protect, dpo, fua }
            }
            PERSISTENT_RESERVE_IN if action <= 3 => {
                Self::PersistentReserveIn { action, allocation: u16_at(cdb, ten::LENGTH) }
            }
            PERSISTENT_RESERVE_OUT if action <= 6 => {
                // REGISTER, CLEAR and REGISTER AND IGNORE EXISTING KEY do not look at scope and type.
                let of = if matches!(action, 0 | 3 | 6) { 0 } else { cdb[at::SELECTION] };
                Self::PersistentReserveOut {
                    action,
                    scope: of >> 4,
                    kind: of & 0xf,
                    len: u32_at(cdb, ten::LIST_LENGTH),
                }
            }
            MAINTENANCE_IN if action == 0x0c => Self::ReportSupportedOperationCodes {
                timeouts: cdb[at::SELECTION] & 0x80 != 0,
                options: cdb[at::SELECTION] & 7,
                opcode: cdb[report_opcodes::OPCODE],
                action: u16_at(cdb, report_opcodes::ACTION),
                allocation: u32_at(cdb, twelve::LENGTH),
            },
            VARIABLE_LENGTH => return long(cdb),
            SERVICE_ACTION_IN_16 | PERSISTENT_RESERVE_IN | PERSISTENT_RESERVE_OUT | MAINTENANCE_IN => {
                return Err(field(1, 4));
            }
            _ => return Err(CdbError::Opcode(opcode)),
        })
    }
}

const fn field(octet: u16, bit: u8) -> CdbError {
    CdbError::Field { octet, bit: Some(bit) }
}

/// What READ and WRITE of all widths have in common. `cdb` is as long as its opcode says.
#[inline]
fn transfer(opcode: u8, cdb: &[u8]) -> Transfer {
    let (width, lba, blocks) = match opcode >> 5 {
        0 => {
            let blocks = if cdb[six::LENGTH] == 0 { 256 } else { u32::from(cdb[six::LENGTH]) };
            let lba = u64::from(u32_at(cdb, six::LBA - 1) & 0x1f_ffff);
            return Transfer { width: Width::Six, lba, blocks, protect: 0, dpo: false, fua: false };
        }
        1 | 2 => (Width::Ten, u64::from(u32_at(cdb, ten::LBA)), u32::from(u16_at(cdb, ten::LENGTH))),
        4 => (Width::Sixteen, u64::from_be_bytes(array_at(cdb, sixteen::LBA)), u32_at(cdb, sixteen::LENGTH)),
        _ => (Width::Twelve, u64::from(u32_at(cdb, twelve::LBA)), u32_at(cdb, twelve::LENGTH)),
    };
    Transfer {
        width,
        lba,
        blocks,
        protect: cdb[at::OPTIONS] >> 5,
        dpo: cdb[at::OPTIONS] & 0x10 != 0,
        fua: cdb[at::OPTIONS] & 8 != 0,
    }
}

/// VERIFY and WRITE AND VERIFY have no FUA.
fn verify(opcode: u8, cdb: &[u8]) -> Transfer {
    Transfer { fua: false, ..transfer(opcode, cdb) }
}

/// WRITE SAME: ANCHOR and UNMAP stand where others have DPO and FUA; `flags` is the byte `at` that they are in.
fn write_same(transfer: Transfer, flags: u8, at: u16, may_lack_data: bool) -> Result<Cdb, CdbError> {
    // PBDATA and LBDATA were to write addresses into the blocks (SBC-2): other data than what came.
    if flags & 6 != 0 {
        return Err(field(at, if flags & 4 != 0 { 2 } else { 1 }));
    }
    let Transfer { width, lba, blocks, protect, dpo: anchor, fua: unmap } = transfer;
    Ok(Cdb::WriteSame { width, lba, blocks, protect, anchor, unmap, no_data: may_lack_data && flags & 1 != 0 })
}

/// A command of 32 bytes (SPC-4, clause 4.3.3).
fn long(cdb: &[u8]) -> Result<Cdb, CdbError> {
    if cdb[thirty_two::ADDITIONAL_LENGTH] != 24 {
        return Err(CdbError::Field { octet: 7, bit: None });
    }
    let flags = cdb[thirty_two::OPTIONS];
    let tags = ProtectionTags {
        reference: u32_at(cdb, thirty_two::REFERENCE_TAG),
        application: u16_at(cdb, thirty_two::APPLICATION_TAG),
        application_mask: u16_at(cdb, thirty_two::APPLICATION_TAG_MASK),
    };
    let all = Transfer {
        width: Width::ThirtyTwo(tags),
        lba: u64::from_be_bytes(array_at(cdb, thirty_two::LBA)),
        blocks: u32_at(cdb, thirty_two::LENGTH),
        protect: flags >> 5,
        dpo: flags & 0x10 != 0,
        fua: flags & 8 != 0,
    };
    let (transfer, compare) = (Transfer { fua: false, ..all }, flags >> 1 & 3);
    match u16_at(cdb, thirty_two::SERVICE_ACTION) {
        9 => Ok(Cdb::Read(all)),
        10 => Ok(Cdb::Verify { transfer, compare }),
        11 => Ok(Cdb::Write(all)),
        12 => Ok(Cdb::WriteAndVerify { transfer, compare }),
        13 => write_same(all, flags, 10, true),
        _ => Err(CdbError::Field { octet: 8, bit: None }),
    }
}
