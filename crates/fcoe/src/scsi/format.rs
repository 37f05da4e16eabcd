//! FORMAT UNIT (SBC-3, clause 5.3): the blocks stay as many and as long as they are, with the protection information that
//! they have; what they hold is gone.

use super::disks::Disks;
use super::unit::Unit;
use super::upkeep::{Fill, Job, Kind};
use super::{Response, Step};
use crate::ProtectionType;
use linerate_block::Tag;
use linerate_wire::scsi::{Cdb, Sense, asc};

/// Bits of the second byte of a parameter list (SBC-3, clause 5.3.2.2).
mod flag {
    pub(super) const VALID: u8 = 0x80;
    /// DPRY, DCRT, STPF and IP, which count only with the bit before.
    pub(super) const OPTIONS: u8 = 0x78;
    pub(super) const PATTERN: u8 = 0x08;
    pub(super) const IMMEDIATE: u8 = 0x02;
}

impl Disks {
    /// FORMAT UNIT before its parameter list has come.
    pub(super) fn format_unit(&mut self, tag: Tag, cdb: Cdb) -> Result<Step, Response> {
        let Cdb::FormatUnit { protection, long, data, complete, format } = cdb else {
            return Err(Response::illegal(asc::OPCODE));
        };
        let slot = &self.tasks[tag];
        self.ready(slot.unit)?;
        let unit = &self.units[slot.unit];
        unit.writable()?;
        let (information, usage) = protected(unit);
        // Without a parameter list, the usage of protection fields is 0, and there is no list of defects.
        if protection != information || !data && usage != 0 {
            return Err(Response::invalid_field(1, Some(7)));
        }
        if !data {
            if complete || format != 0 {
                return Err(Response::invalid_field(1, Some(if complete { 3 } else { 2 })));
            }
            return Ok(self.maintain(tag, Job::new(Kind::Format, Fill::Zeroes, 1), false, 0));
        }
        // The command does not say how long its list is: what comes is all of it, up to the longest that is taken.
        let (header, most) = (header(long), header(long) + 4 + unit.geometry.block_size);
        if slot.data_out < header {
            return Err(Response { wanted: u64::from(header), ..Response::illegal(asc::INFORMATION_UNIT) });
        }
        let len = slot.data_out.min(most);
        self.receive_list(tag, cdb, len)
    }

    /// FORMAT UNIT with its parameter list.
    pub(super) fn format_with(&mut self, tag: Tag, long: bool, list: &[u8]) -> Result<Step, Response> {
        let (fill, immediate, len) = parse(&self.units[self.tasks[tag].unit], long, list)?;
        Ok(self.maintain(tag, Job::new(Kind::Format, fill, 1), immediate, len))
    }
}

/// FMTPINFO and PROTECTION FIELDS USAGE for the protection information that a unit has (SBC-3, table 37).
fn protected(unit: &Unit) -> (u8, u8) {
    match unit.protection.map(|protection| protection.kind) {
        None => (0, 0),
        Some(ProtectionType::Type1) => (2, 0),
        Some(ProtectionType::Type2) => (3, 0),
        Some(ProtectionType::Type3) => (3, 1),
    }
}

const fn header(long: bool) -> u32 {
    if long { 8 } else { 4 }
}

/// Content, IMMED and length of a parameter list.
fn parse(unit: &Unit, long: bool, list: &[u8]) -> Result<(Fill, bool, u64), Response> {
    let wrong = |byte, bit| Response::check(&Sense::invalid_parameter(byte, bit));
    let short = || Response::illegal(asc::PARAMETER_LENGTH);
    let (header, rest) = list.split_at_checked(header(long) as usize).ok_or_else(short)?;
    let at = if long { 8 } else { 4 };
    if header[0] & 7 != protected(unit).1 {
        return Err(wrong(0, Some(2)));
    }
    let flags = header[1];
    if flags & flag::VALID == 0 && flags & flag::OPTIONS != 0 {
        return Err(wrong(1, u8::try_from((flags & flag::OPTIONS).ilog2()).ok()));
    }
    // Protection information stands behind whole blocks (PROTECTION INTERVAL EXPONENT).
    if long && header[3] != 0 {
        return Err(wrong(3, None));
    }
    // No block is to be avoided: there are no defects.
    let defects = if long { 4 } else { 2 };
    if header[defects..].iter().any(|byte| *byte != 0) {
        return Err(wrong(if long { 4 } else { 2 }, None));
    }
    let immediate = flags & flag::IMMEDIATE != 0;
    if flags & flag::PATTERN == 0 {
        return Ok((Fill::Zeroes, immediate, u64::from(at)));
    }
    // Initialization pattern descriptor (SBC-3, clause 5.3.2.3).
    let (&[modifier, kind, high, low], rest) = rest.split_first_chunk().ok_or_else(short)?;
    // Neither a modified pattern nor a secure one, which writes to blocks that nobody sees.
    if modifier & 0xe0 != 0 {
        return Err(wrong(at, u8::try_from(modifier.ilog2()).ok()));
    }
    let len = u16::from_be_bytes([high, low]);
    let fill = match (kind, len) {
        (0, 0) => Fill::Zeroes,
        (1, 1..) if u32::from(len) <= unit.geometry.block_size => {
            let bytes = rest.get(..usize::from(len)).ok_or_else(short)?.to_vec();
            Fill::Pattern { bytes, invert: false }
        }
        (0 | 1, _) => return Err(wrong(at + 2, None)),
        _ => return Err(wrong(at + 1, None)),
    };
    Ok((fill, immediate, u64::from(at) + 4 + u64::from(len)))
}
