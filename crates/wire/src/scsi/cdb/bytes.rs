//! A command and its bytes, both ways: where a field is read stands in the same file as where it is written.

use super::field::{
    self as at, buffer, identifying, log, report_opcodes, six, sixteen, start_stop, ten, thirty_two, twelve,
};
use super::{Cdb, CdbBytes, CdbError, ProtectionTags, Transfer, Width, cdb_len};
use crate::Error;
use crate::field::{array_at, put, put_u16, u16_at, u32_at};
use crate::scsi::FORMS;
use crate::scsi::opcode::*;

const NAME: &str = "scsi command";

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
                    return Err(CdbError::Field { byte: 2, bit: None });
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
            MODE_SELECT_6 | MODE_SELECT_10 => {
                let ten = opcode == MODE_SELECT_10;
                Self::ModeSelect {
                    ten,
                    pages: cdb[at::OPTIONS] & 0x10 != 0,
                    save: cdb[at::OPTIONS] & 1 != 0,
                    len: if ten { u16_at(cdb, ten::LENGTH) } else { u16::from(cdb[six::LENGTH]) },
                }
            }
            LOG_SENSE => Self::LogSense {
                save: cdb[at::OPTIONS] & 1 != 0,
                control: cdb[at::SELECTION] >> 6,
                page: cdb[at::SELECTION] & 0x3f,
                subpage: cdb[at::SUBPAGE],
                pointer: u16_at(cdb, log::POINTER),
                allocation: u16_at(cdb, ten::LENGTH),
            },
            LOG_SELECT => Self::LogSelect {
                reset: cdb[at::OPTIONS] & 2 != 0,
                save: cdb[at::OPTIONS] & 1 != 0,
                control: cdb[at::SELECTION] >> 6,
                page: cdb[at::SELECTION] & 0x3f,
                subpage: cdb[at::SUBPAGE],
                len: u16_at(cdb, ten::LENGTH),
            },
            RECEIVE_DIAGNOSTIC_RESULTS => Self::ReceiveDiagnostic {
                coded: cdb[at::OPTIONS] & 1 != 0,
                page: cdb[at::SELECTION],
                allocation: u16_at(cdb, six::ALLOCATION),
            },
            READ_BUFFER => Self::ReadBuffer {
                mode: action,
                id: cdb[at::SELECTION],
                offset: u24_at(cdb, buffer::OFFSET),
                allocation: u24_at(cdb, buffer::LENGTH),
            },
            WRITE_BUFFER => Self::WriteBuffer {
                mode: action,
                id: cdb[at::SELECTION],
                offset: u24_at(cdb, buffer::OFFSET),
                len: u24_at(cdb, buffer::LENGTH),
            },
            READ_DEFECT_DATA_10 | READ_DEFECT_DATA_12 => {
                let twelve = opcode == READ_DEFECT_DATA_12;
                let options = cdb[if twelve { at::OPTIONS } else { at::SELECTION }];
                Self::ReadDefectData {
                    twelve,
                    primary: options & 0x10 != 0,
                    grown: options & 8 != 0,
                    format: options & 7,
                    index: if twelve { u32_at(cdb, twelve::LBA) } else { 0 },
                    allocation: if twelve { u32_at(cdb, twelve::LENGTH) } else { u32::from(u16_at(cdb, ten::LENGTH)) },
                }
            }
            FORMAT_UNIT => Self::FormatUnit {
                protection: cdb[at::OPTIONS] >> 6,
                long: cdb[at::OPTIONS] & 0x20 != 0,
                data: cdb[at::OPTIONS] & 0x10 != 0,
                complete: cdb[at::OPTIONS] & 8 != 0,
                format: cdb[at::OPTIONS] & 7,
            },
            // Keys of cryptographic erasure (action 3) there are none.
            SANITIZE if matches!(action, 1 | 2 | 0x1f) => Self::Sanitize {
                action,
                immediate: cdb[at::OPTIONS] & 0x80 != 0,
                unrestricted: cdb[at::OPTIONS] & 0x20 != 0,
                len: u16_at(cdb, ten::LENGTH),
            },
            MAINTENANCE_IN if action == 5 => Self::ReportIdentifyingInformation {
                kind: cdb[identifying::KIND] >> 1,
                allocation: u32_at(cdb, twelve::LENGTH),
            },
            MAINTENANCE_OUT if action == 6 => {
                Self::SetIdentifyingInformation { kind: cdb[identifying::KIND] >> 1, len: u32_at(cdb, twelve::LENGTH) }
            }
            EXTENDED_COPY if action == 0 => Self::ExtendedCopy { len: u32_at(cdb, sixteen::LENGTH) },
            RECEIVE_COPY_RESULTS if action == 3 => Self::CopyParameters { allocation: u32_at(cdb, sixteen::LENGTH) },
            ORWRITE_16 => Self::OrWrite(transfer(opcode, cdb)),
            START_STOP_UNIT => Self::StartStop {
                immediate: cdb[at::OPTIONS] & 1 != 0,
                modifier: cdb[start_stop::MODIFIER] & 0xf,
                power: cdb[start_stop::POWER] >> 4,
                no_flush: cdb[start_stop::POWER] & 4 != 0,
                load: cdb[start_stop::POWER] & 2 != 0,
                start: cdb[start_stop::POWER] & 1 != 0,
            },
            SEND_DIAGNOSTIC => Self::SendDiagnostic {
                code: cdb[at::OPTIONS] >> 5,
                pages: cdb[at::OPTIONS] & 0x10 != 0,
                test: cdb[at::OPTIONS] & 4 != 0,
                all_offline: cdb[at::OPTIONS] & 2 != 0,
                offline: cdb[at::OPTIONS] & 1 != 0,
                len: u16_at(cdb, six::ALLOCATION),
            },
            READ_CAPACITY_10 => Self::ReadCapacity10,
            SERVICE_ACTION_IN_16 if action == 0x10 => Self::ReadCapacity16 { allocation: u32_at(cdb, sixteen::LENGTH) },
            SERVICE_ACTION_IN_16 if action == 0x12 => Self::GetLbaStatus {
                lba: u64::from_be_bytes(array_at(cdb, sixteen::LBA)),
                allocation: u32_at(cdb, sixteen::LENGTH),
            },
            MAINTENANCE_IN if action == 0x0a => {
                Self::ReportTargetPortGroups { format: cdb[at::OPTIONS] >> 5, allocation: u32_at(cdb, twelve::LENGTH) }
            }
            WRITE_AND_VERIFY_10 | WRITE_AND_VERIFY_12 | WRITE_AND_VERIFY_16 => {
                Self::WriteAndVerify { transfer: verify(opcode, cdb), compare: cdb[at::OPTIONS] >> 1 & 3 }
            }
            VERIFY_10 | VERIFY_12 | VERIFY_16 => {
                Self::Verify { transfer: verify(opcode, cdb), compare: cdb[at::OPTIONS] >> 1 & 3 }
            }
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
            SERVICE_ACTION_IN_16
            | PERSISTENT_RESERVE_IN
            | PERSISTENT_RESERVE_OUT
            | MAINTENANCE_IN
            | MAINTENANCE_OUT
            | SANITIZE
            | EXTENDED_COPY
            | RECEIVE_COPY_RESULTS => {
                return Err(field(1, 4));
            }
            _ => return Err(CdbError::Opcode(opcode)),
        })
    }
}

/// Number of 3 bytes, of which none is the first of `cdb`.
fn u24_at(cdb: &[u8], at: usize) -> u32 {
    u32_at(cdb, at - 1) & 0xff_ffff
}

/// Writes a number of 3 bytes.
fn put_u24(to: &mut [u8; 32], at: usize, number: u32, field: &'static str) -> Result<(), Error> {
    let [high, low @ ..] = number.to_be_bytes();
    if high != 0 {
        return Err(Error::TooLarge(NAME, field));
    }
    put(to, at, &low);
    Ok(())
}

const fn field(byte: u16, bit: u8) -> CdbError {
    CdbError::Field { byte, bit: Some(bit) }
}

/// Common fields of READ and WRITE of all widths. `cdb` has the length that belongs to its opcode.
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
        return Err(CdbError::Field { byte: 7, bit: None });
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
        _ => Err(CdbError::Field { byte: 8, bit: None }),
    }
}

impl Cdb {
    /// The command's bytes.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] when a value does not fit the field of the form, [`Error::Malformed`] when the command has no
    /// form of that width or no such option in it.
    pub fn bytes(&self) -> Result<CdbBytes, Error> {
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
            Self::ModeSelect { ten, pages, save, len } => {
                to[at::OPTIONS] = u8::from(pages) << 4 | u8::from(save);
                if ten {
                    put_u16(&mut to, ten::LENGTH, len);
                    MODE_SELECT_10
                } else {
                    to[six::LENGTH] = u8::try_from(len).map_err(|_| Error::TooLarge(NAME, "parameter list length"))?;
                    MODE_SELECT_6
                }
            }
            Self::LogSense { save, control, page, subpage, pointer, allocation } => {
                to[at::OPTIONS] = u8::from(save);
                to[at::SELECTION] = control << 6 | page & 0x3f;
                to[at::SUBPAGE] = subpage;
                put_u16(&mut to, log::POINTER, pointer);
                put_u16(&mut to, ten::LENGTH, allocation);
                LOG_SENSE
            }
            Self::LogSelect { reset, save, control, page, subpage, len } => {
                to[at::OPTIONS] = u8::from(reset) << 1 | u8::from(save);
                to[at::SELECTION] = control << 6 | page & 0x3f;
                to[at::SUBPAGE] = subpage;
                put_u16(&mut to, ten::LENGTH, len);
                LOG_SELECT
            }
            Self::ReceiveDiagnostic { coded, page, allocation } => {
                to[at::OPTIONS] = u8::from(coded);
                to[at::SELECTION] = page;
                put_u16(&mut to, six::ALLOCATION, allocation);
                RECEIVE_DIAGNOSTIC_RESULTS
            }
            Self::ReadBuffer { mode, id, offset, allocation } => {
                to[at::OPTIONS] = mode & 0x1f;
                to[at::SELECTION] = id;
                put_u24(&mut to, buffer::OFFSET, offset, "buffer offset")?;
                put_u24(&mut to, buffer::LENGTH, allocation, "allocation length")?;
                READ_BUFFER
            }
            Self::WriteBuffer { mode, id, offset, len } => {
                to[at::OPTIONS] = mode & 0x1f;
                to[at::SELECTION] = id;
                put_u24(&mut to, buffer::OFFSET, offset, "buffer offset")?;
                put_u24(&mut to, buffer::LENGTH, len, "parameter list length")?;
                WRITE_BUFFER
            }
            Self::ReadDefectData { twelve, primary, grown, format, index, allocation } => {
                let options = u8::from(primary) << 4 | u8::from(grown) << 3 | format & 7;
                if twelve {
                    to[at::OPTIONS] = options;
                    put(&mut to, twelve::LBA, &index.to_be_bytes());
                    put(&mut to, twelve::LENGTH, &allocation.to_be_bytes());
                    READ_DEFECT_DATA_12
                } else {
                    to[at::SELECTION] = options;
                    let allocation =
                        u16::try_from(allocation).map_err(|_| Error::TooLarge(NAME, "allocation length"))?;
                    put_u16(&mut to, ten::LENGTH, allocation);
                    if index != 0 {
                        return Err(Error::Malformed(NAME, "form: READ DEFECT DATA (10) begins at the first"));
                    }
                    READ_DEFECT_DATA_10
                }
            }
            Self::FormatUnit { protection, long, data, complete, format } => {
                to[at::OPTIONS] = protection << 6 | u8::from(long) << 5 | u8::from(data) << 4;
                to[at::OPTIONS] |= u8::from(complete) << 3 | format & 7;
                FORMAT_UNIT
            }
            Self::Sanitize { action, immediate, unrestricted, len } => {
                to[at::OPTIONS] = u8::from(immediate) << 7 | u8::from(unrestricted) << 5 | action & 0x1f;
                put_u16(&mut to, ten::LENGTH, len);
                SANITIZE
            }
            Self::ReportIdentifyingInformation { kind, allocation } => {
                to[at::OPTIONS] = 5;
                put(&mut to, twelve::LENGTH, &allocation.to_be_bytes());
                to[identifying::KIND] = kind << 1;
                MAINTENANCE_IN
            }
            Self::SetIdentifyingInformation { kind, len } => {
                to[at::OPTIONS] = 6;
                put(&mut to, twelve::LENGTH, &len.to_be_bytes());
                to[identifying::KIND] = kind << 1;
                MAINTENANCE_OUT
            }
            Self::ExtendedCopy { len } => {
                put(&mut to, sixteen::LENGTH, &len.to_be_bytes());
                EXTENDED_COPY
            }
            Self::CopyParameters { allocation } => {
                to[at::OPTIONS] = 3;
                put(&mut to, sixteen::LENGTH, &allocation.to_be_bytes());
                RECEIVE_COPY_RESULTS
            }
            Self::OrWrite(transfer) => put_transfer(&mut to, &transfer, [None, None, None, Some(ORWRITE_16)], 0, 0)?,
            Self::StartStop { immediate, modifier, power, no_flush, load, start } => {
                to[at::OPTIONS] = u8::from(immediate);
                to[start_stop::MODIFIER] = modifier & 0xf;
                to[start_stop::POWER] = power << 4 | u8::from(no_flush) << 2 | u8::from(load) << 1 | u8::from(start);
                START_STOP_UNIT
            }
            Self::SendDiagnostic { code, pages, test, all_offline, offline, len } => {
                to[at::OPTIONS] = code << 5 | u8::from(pages) << 4 | u8::from(test) << 2;
                to[at::OPTIONS] |= u8::from(all_offline) << 1 | u8::from(offline);
                put_u16(&mut to, six::ALLOCATION, len);
                SEND_DIAGNOSTIC
            }
            Self::ReadCapacity10 => READ_CAPACITY_10,
            Self::ReadCapacity16 { allocation } => {
                to[at::OPTIONS] = 0x10;
                put(&mut to, sixteen::LENGTH, &allocation.to_be_bytes());
                SERVICE_ACTION_IN_16
            }
            Self::GetLbaStatus { lba, allocation } => {
                to[at::OPTIONS] = 0x12;
                put(&mut to, sixteen::LBA, &lba.to_be_bytes());
                put(&mut to, sixteen::LENGTH, &allocation.to_be_bytes());
                SERVICE_ACTION_IN_16
            }
            Self::ReportTargetPortGroups { format, allocation } => {
                to[at::OPTIONS] = format << 5 | 0x0a;
                put(&mut to, twelve::LENGTH, &allocation.to_be_bytes());
                MAINTENANCE_IN
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
                let opcodes = [None, Some(WRITE_AND_VERIFY_10), Some(WRITE_AND_VERIFY_12), Some(WRITE_AND_VERIFY_16)];
                put_verify(&mut to, &transfer, opcodes, 12, compare)?
            }
            Self::Verify { transfer, compare } => {
                let opcodes = [None, Some(VERIFY_10), Some(VERIFY_12), Some(VERIFY_16)];
                put_verify(&mut to, &transfer, opcodes, 10, compare)?
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
        Ok(CdbBytes { bytes: to, len: cdb_len(opcode) })
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
                return Err(Error::Malformed(NAME, "form: six bytes have no options"));
            }
            let address = lba_32()?;
            if address[0] != 0 || address[1] > 0x1f {
                return Err(lba);
            }
            put(to, six::LBA, &address[1..]);
            to[six::LENGTH] = match transfer.blocks {
                256 => 0,
                0 => return Err(Error::Malformed(NAME, "form: six bytes cannot say no block")),
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
