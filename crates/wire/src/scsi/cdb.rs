//! Command descriptor blocks.

use std::ops::Deref;

use super::opcode::*;
use super::{Sense, SenseKey, asc};
use crate::Error;
use crate::field::{array_at, put, put_u16, u16_at, u32_at};

const NAME: &str = "scsi command";

/// Which of a command's forms it is: they differ in how large its fields may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 6 octets: 21 bits of address, 1 to 256 blocks.
    Six,
    /// 10 octets: 32 bits of address, 65535 blocks.
    Ten,
    /// 12 octets: 32 bits of address.
    Twelve,
    /// 16 octets: 64 bits of address.
    Sixteen,
    /// 32 octets: as 16, and what the protection information is to be.
    ThirtyTwo(ProtectionTags),
}

/// What protection information is expected to be (SBC-3, clause 5.12).
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
    /// How many.
    pub blocks: u32,
    /// RDPROTECT, VRPROTECT or WRPROTECT: three bits.
    pub protect: u8,
    /// Not worth a place in a cache.
    pub dpo: bool,
    /// Not from or to a cache only. VERIFY and WRITE AND VERIFY have no such bit.
    pub fua: bool,
}

impl Transfer {
    /// The shortest form of 10 octets or more that reaches those blocks, with no option set.
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
    /// What is the matter? (SPC-4, clause 6.39)
    RequestSense {
        /// In descriptor format.
        descriptors: bool,
        /// Octets that are taken.
        allocation: u8,
    },
    /// What is the unit? (SPC-4, clause 6.6)
    Inquiry {
        /// A page of vital product data, or else the standard data.
        page: Option<u8>,
        /// Octets that are taken.
        allocation: u16,
    },
    /// Which units are there? (SPC-4, clause 6.33)
    ReportLuns {
        /// Which kinds of units.
        select: u8,
        /// Octets that are taken.
        allocation: u32,
    },
    /// How does the unit behave? (SPC-4, clauses 6.13 and 6.14)
    ModeSense {
        /// The form of 10 octets; otherwise that of 6.
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
        /// Octets that are taken.
        allocation: u16,
    },
    /// Start, stop, and power conditions (SBC-3, clause 5.25).
    StartStop {
        /// Do not wait for the end.
        immediate: bool,
        /// How deep the power condition is.
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
    /// How large is it? (SBC-3, clause 5.15)
    ReadCapacity10,
    /// How large is it, and what of protection and provisioning? (SBC-3, clause 5.16)
    ReadCapacity16 {
        /// Octets that are taken.
        allocation: u32,
    },
    /// Read blocks (SBC-3, clauses 5.10 to 5.14).
    Read(Transfer),
    /// Write blocks (SBC-3, clauses 5.32 to 5.36).
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
        /// Ten or sixteen octets.
        width: Width,
        /// Do not wait for the end.
        immediate: bool,
        /// The first logical block.
        lba: u64,
        /// How many; 0 for all to the end.
        blocks: u32,
    },
    /// Put the cache on the medium (SBC-3, clauses 5.26 and 5.27).
    SynchronizeCache {
        /// Ten or sixteen octets.
        width: Width,
        /// Do not wait for the end.
        immediate: bool,
        /// The first logical block.
        lba: u64,
        /// How many; 0 for all to the end.
        blocks: u32,
    },
    /// Write the same block many times (SBC-3, clauses 5.43 and on).
    WriteSame {
        /// Which form: 10, 16 or 32 octets.
        width: Width,
        /// The first logical block.
        lba: u64,
        /// How many; 0 for all to the end.
        blocks: u32,
        /// WRPROTECT: three bits.
        protect: u8,
        /// Blocks that are given back keep their place.
        anchor: bool,
        /// Blocks may be given back.
        unmap: bool,
        /// There is no data out: zeros are written. Not in the form of 10 octets.
        no_data: bool,
    },
    /// Give blocks back (SBC-3, clause 5.28).
    Unmap {
        /// They keep their place.
        anchor: bool,
        /// Octets of parameter list.
        len: u16,
    },
    /// Write blocks if the medium has others that came with them (SBC-3, clause 5.2).
    CompareAndWrite {
        /// The first logical block.
        lba: u64,
        /// How many; data out has twice as many.
        blocks: u8,
        /// WRPROTECT: three bits.
        protect: u8,
        /// Not worth a place in a cache.
        dpo: bool,
        /// Not to a cache only.
        fua: bool,
    },
    /// Who has registered or reserved? (SPC-4, clause 6.15)
    PersistentReserveIn {
        /// READ KEYS (0), READ RESERVATION (1), REPORT CAPABILITIES (2), READ FULL STATUS (3).
        action: u8,
        /// Octets that are taken.
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
        /// Octets of parameter list.
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
        /// Octets that are taken.
        allocation: u32,
    },
}

/// Why octets are no command that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CdbError {
    /// There are fewer octets than the command has.
    #[error("scsi command: cut short: give all octets of the command")]
    Truncated,
    /// The opcode is not known.
    #[error("scsi command: opcode {0:#04x} is not known: use one that REPORT SUPPORTED OPERATION CODES lists")]
    Opcode(u8),
    /// A field has a value that is not known.
    #[error("scsi command: octet {octet} has a value that is not known: use one of its standard")]
    Field {
        /// The field's first octet.
        octet: u16,
        /// Its highest bit, if it is no whole octet.
        bit: Option<u8>,
    },
}

impl CdbError {
    /// What the initiator is told.
    #[must_use]
    pub const fn sense(self) -> Sense {
        match self {
            Self::Truncated => Sense::new(SenseKey::ILLEGAL_REQUEST, asc::FIELD_IN_CDB),
            Self::Opcode(_) => Sense::new(SenseKey::ILLEGAL_REQUEST, asc::OPCODE),
            Self::Field { octet, bit } => Sense::invalid_field(octet, bit),
        }
    }
}

const fn field(octet: u16, bit: u8) -> CdbError {
    CdbError::Field { octet, bit: Some(bit) }
}

/// The octets of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CdbOctets {
    octets: [u8; 32],
    len: u8,
}

impl CdbOctets {
    /// The first 16 octets, zeros after the last: as FCP_CMND carries them. None for a longer command.
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
            return Err(if super::FORMS.iter().any(|form| form.opcode() == opcode) {
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

    /// The command's octets.
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
                to[1] = u8::from(descriptors);
                to[4] = allocation;
                REQUEST_SENSE
            }
            Self::Inquiry { page, allocation } => {
                to[1] = u8::from(page.is_some());
                to[2] = page.unwrap_or(0);
                put_u16(&mut to, 3, allocation);
                INQUIRY
            }
            Self::ReportLuns { select, allocation } => {
                to[2] = select;
                put(&mut to, 6, &allocation.to_be_bytes());
                REPORT_LUNS
            }
            Self::ModeSense { ten, no_descriptors, long, control, page, subpage, allocation } => {
                to[1] = u8::from(no_descriptors) << 3 | u8::from(long) << 4;
                to[2] = control << 6 | page & 0x3f;
                to[3] = subpage;
                if ten {
                    put_u16(&mut to, 7, allocation);
                    MODE_SENSE_10
                } else {
                    to[4] = u8::try_from(allocation).map_err(|_| Error::TooLarge(NAME, "allocation length"))?;
                    if long {
                        return Err(Error::Malformed(NAME, "form: MODE SENSE (6) has no long block descriptors"));
                    }
                    MODE_SENSE_6
                }
            }
            Self::StartStop { immediate, modifier, power, no_flush, load, start } => {
                to[1] = u8::from(immediate);
                to[3] = modifier & 0xf;
                to[4] = power << 4 | u8::from(no_flush) << 2 | u8::from(load) << 1 | u8::from(start);
                START_STOP_UNIT
            }
            Self::ReadCapacity10 => READ_CAPACITY_10,
            Self::ReadCapacity16 { allocation } => {
                to[1] = 0x10;
                put(&mut to, 10, &allocation.to_be_bytes());
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
                to[1] = u8::from(anchor);
                put_u16(&mut to, 7, len);
                UNMAP
            }
            Self::CompareAndWrite { lba, blocks, protect, dpo, fua } => {
                let transfer = Transfer { width: Width::Sixteen, lba, blocks: u32::from(blocks), protect, dpo, fua };
                put_transfer(&mut to, &transfer, [None, None, None, Some(COMPARE_AND_WRITE)], 0, 0)?
            }
            Self::PersistentReserveIn { action, allocation } => {
                to[1] = action & 0x1f;
                put_u16(&mut to, 7, allocation);
                PERSISTENT_RESERVE_IN
            }
            Self::PersistentReserveOut { action, scope, kind, len } => {
                to[1] = action & 0x1f;
                to[2] = scope << 4 | kind & 0xf;
                put(&mut to, 5, &len.to_be_bytes());
                PERSISTENT_RESERVE_OUT
            }
            Self::ReportSupportedOperationCodes { timeouts, options, opcode, action, allocation } => {
                to[1] = 0x0c;
                to[2] = u8::from(timeouts) << 7 | options & 7;
                to[3] = opcode;
                put_u16(&mut to, 4, action);
                put(&mut to, 6, &allocation.to_be_bytes());
                MAINTENANCE_IN
            }
        };
        to[0] = opcode;
        Ok(CdbOctets { octets: to, len: cdb_len(opcode) })
    }
}

/// Octets of a command, which the opcode's three highest bits say (SPC-4, clause 4.3.5.1).
const fn cdb_len(opcode: u8) -> u8 {
    match opcode >> 5 {
        0 => 6,
        1 | 2 => 10,
        3 => 32,
        4 => 16,
        _ => 12,
    }
}

/// What READ and WRITE of all widths have in common. `cdb` is as long as its opcode says.
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

/// Writes a transfer in its width; `opcodes` are those of 6, 10, 12 and 16 octets, `action` that of 32. Returns the
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
    to[1] = flags;
    match transfer.width {
        Width::Six => {
            if flags != 0 {
                return Err(Error::Malformed(NAME, "form: six octets have no options"));
            }
            let address = lba_32()?;
            if address[0] != 0 || address[1] > 0x1f {
                return Err(lba);
            }
            put(to, 1, &address[1..]);
            to[4] = match transfer.blocks {
                256 => 0,
                0 => return Err(Error::Malformed(NAME, "form: six octets cannot say no block")),
                few => u8::try_from(few).map_err(|_| blocks)?,
            };
            opcodes[0].ok_or(none)
        }
        Width::Ten => {
            put(to, 2, &lba_32()?);
            put_u16(to, 7, u16::try_from(transfer.blocks).map_err(|_| blocks)?);
            opcodes[1].ok_or(none)
        }
        Width::Twelve => {
            put(to, 2, &lba_32()?);
            put(to, 6, &transfer.blocks.to_be_bytes());
            opcodes[2].ok_or(none)
        }
        Width::Sixteen => {
            put(to, 2, &transfer.lba.to_be_bytes());
            put(to, 10, &transfer.blocks.to_be_bytes());
            opcodes[3].ok_or(none)
        }
        Width::ThirtyTwo(tags) => {
            if action == 0 {
                return Err(none);
            }
            to[1] = 0;
            to[7] = 24;
            put_u16(to, 8, action);
            to[10] = flags;
            put(to, 12, &transfer.lba.to_be_bytes());
            put(to, 20, &tags.reference.to_be_bytes());
            put_u16(to, 24, tags.application);
            put_u16(to, 26, tags.application_mask);
            put(to, 28, &transfer.blocks.to_be_bytes());
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

#[cfg(test)]
mod tests;
