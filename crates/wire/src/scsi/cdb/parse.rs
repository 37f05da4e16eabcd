//! Octets in, commands out.

use super::{Cdb, CdbError, ProtectionTags, Transfer, Width, cdb_len};
use crate::field::{array_at, u16_at, u32_at};
use crate::scsi::FORMS;
use crate::scsi::opcode::*;

impl Cdb {
    /// The command at the front of `cdb`, which may have more octets.
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
        let action = cdb[1] & 0x1f;
        Ok(match opcode {
            READ_6 | READ_10 | READ_12 | READ_16 => Self::Read(transfer(opcode, cdb)),
            WRITE_6 | WRITE_10 | WRITE_12 | WRITE_16 => Self::Write(transfer(opcode, cdb)),
            TEST_UNIT_READY => Self::TestUnitReady,
            REQUEST_SENSE => Self::RequestSense { descriptors: cdb[1] & 1 != 0, allocation: cdb[4] },
            INQUIRY => {
                // Bit 1 asked for command support data before SPC-3: other data than what is sent now.
                if cdb[1] & 2 != 0 {
                    return Err(field(1, 1));
                }
                let page = (cdb[1] & 1 != 0).then_some(cdb[2]);
                if page.is_none() && cdb[2] != 0 {
                    return Err(CdbError::Field { octet: 2, bit: None });
                }
                Self::Inquiry { page, allocation: u16_at(cdb, 3) }
            }
            REPORT_LUNS => Self::ReportLuns { select: cdb[2], allocation: u32_at(cdb, 6) },
            MODE_SENSE_6 | MODE_SENSE_10 => {
                let ten = opcode == MODE_SENSE_10;
                Self::ModeSense {
                    ten,
                    no_descriptors: cdb[1] & 8 != 0,
                    long: ten && cdb[1] & 0x10 != 0,
                    control: cdb[2] >> 6,
                    page: cdb[2] & 0x3f,
                    subpage: cdb[3],
                    allocation: if ten { u16_at(cdb, 7) } else { u16::from(cdb[4]) },
                }
            }
            START_STOP_UNIT => Self::StartStop {
                immediate: cdb[1] & 1 != 0,
                modifier: cdb[3] & 0xf,
                power: cdb[4] >> 4,
                no_flush: cdb[4] & 4 != 0,
                load: cdb[4] & 2 != 0,
                start: cdb[4] & 1 != 0,
            },
            READ_CAPACITY_10 => Self::ReadCapacity10,
            SERVICE_ACTION_IN_16 if action == 0x10 => Self::ReadCapacity16 { allocation: u32_at(cdb, 10) },
            WRITE_AND_VERIFY_10 | WRITE_AND_VERIFY_16 => {
                Self::WriteAndVerify { transfer: verify(opcode, cdb), compare: cdb[1] >> 1 & 3 }
            }
            VERIFY_10 | VERIFY_16 => Self::Verify { transfer: verify(opcode, cdb), compare: cdb[1] >> 1 & 3 },
            PRE_FETCH_10 | PRE_FETCH_16 => {
                let Transfer { width, lba, blocks, .. } = transfer(opcode, cdb);
                Self::PreFetch { width, immediate: cdb[1] & 2 != 0, lba, blocks }
            }
            SYNCHRONIZE_CACHE_10 | SYNCHRONIZE_CACHE_16 => {
                let Transfer { width, lba, blocks, .. } = transfer(opcode, cdb);
                Self::SynchronizeCache { width, immediate: cdb[1] & 2 != 0, lba, blocks }
            }
            WRITE_SAME_10 | WRITE_SAME_16 => write_same(transfer(opcode, cdb), cdb[1], 1, opcode == WRITE_SAME_16)?,
            UNMAP => Self::Unmap { anchor: cdb[1] & 1 != 0, len: u16_at(cdb, 7) },
            COMPARE_AND_WRITE => {
                let Transfer { lba, protect, dpo, fua, .. } = transfer(opcode, cdb);
                Self::CompareAndWrite { lba, blocks: cdb[13], protect, dpo, fua }
            }
            PERSISTENT_RESERVE_IN if action <= 3 => Self::PersistentReserveIn { action, allocation: u16_at(cdb, 7) },
            PERSISTENT_RESERVE_OUT if action <= 6 => {
                // REGISTER, CLEAR and REGISTER AND IGNORE EXISTING KEY do not look at scope and type.
                let of = if matches!(action, 0 | 3 | 6) { 0 } else { cdb[2] };
                Self::PersistentReserveOut { action, scope: of >> 4, kind: of & 0xf, len: u32_at(cdb, 5) }
            }
            MAINTENANCE_IN if action == 0x0c => Self::ReportSupportedOperationCodes {
                timeouts: cdb[2] & 0x80 != 0,
                options: cdb[2] & 7,
                opcode: cdb[3],
                action: u16_at(cdb, 4),
                allocation: u32_at(cdb, 6),
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
            let blocks = if cdb[4] == 0 { 256 } else { u32::from(cdb[4]) };
            let lba = u64::from(u32_at(cdb, 0) & 0x1f_ffff);
            return Transfer { width: Width::Six, lba, blocks, protect: 0, dpo: false, fua: false };
        }
        1 | 2 => (Width::Ten, u64::from(u32_at(cdb, 2)), u32::from(u16_at(cdb, 7))),
        4 => (Width::Sixteen, u64::from_be_bytes(array_at(cdb, 2)), u32_at(cdb, 10)),
        _ => (Width::Twelve, u64::from(u32_at(cdb, 2)), u32_at(cdb, 6)),
    };
    Transfer { width, lba, blocks, protect: cdb[1] >> 5, dpo: cdb[1] & 0x10 != 0, fua: cdb[1] & 8 != 0 }
}

/// VERIFY and WRITE AND VERIFY have no FUA.
fn verify(opcode: u8, cdb: &[u8]) -> Transfer {
    Transfer { fua: false, ..transfer(opcode, cdb) }
}

/// WRITE SAME: ANCHOR and UNMAP stand where others have DPO and FUA; `flags` is the octet `at` that they are in.
fn write_same(transfer: Transfer, flags: u8, at: u16, may_lack_data: bool) -> Result<Cdb, CdbError> {
    // PBDATA and LBDATA were to write addresses into the blocks (SBC-2): other data than what came.
    if flags & 6 != 0 {
        return Err(field(at, if flags & 4 != 0 { 2 } else { 1 }));
    }
    let Transfer { width, lba, blocks, protect, dpo: anchor, fua: unmap } = transfer;
    Ok(Cdb::WriteSame { width, lba, blocks, protect, anchor, unmap, no_data: may_lack_data && flags & 1 != 0 })
}

/// A command of 32 octets (SPC-4, clause 4.3.3).
fn long(cdb: &[u8]) -> Result<Cdb, CdbError> {
    if cdb[7] != 24 {
        return Err(CdbError::Field { octet: 7, bit: None });
    }
    let flags = cdb[10];
    let tags =
        ProtectionTags { reference: u32_at(cdb, 20), application: u16_at(cdb, 24), application_mask: u16_at(cdb, 26) };
    let all = Transfer {
        width: Width::ThirtyTwo(tags),
        lba: u64::from_be_bytes(array_at(cdb, 12)),
        blocks: u32_at(cdb, 28),
        protect: flags >> 5,
        dpo: flags & 0x10 != 0,
        fua: flags & 8 != 0,
    };
    let (transfer, compare) = (Transfer { fua: false, ..all }, flags >> 1 & 3);
    match u16_at(cdb, 8) {
        9 => Ok(Cdb::Read(all)),
        10 => Ok(Cdb::Verify { transfer, compare }),
        11 => Ok(Cdb::Write(all)),
        12 => Ok(Cdb::WriteAndVerify { transfer, compare }),
        13 => write_same(all, flags, 10, true),
        _ => Err(CdbError::Field { octet: 8, bit: None }),
    }
}
