//! MODE SELECT (SPC-4, clauses 6.11 and 6.12): only changeable bits may differ from what MODE SENSE tells.

use super::attention::Attentions;
use super::disks::Disks;
use super::mode::{self, Mode};
use super::unit::Unit;
use super::{Response, Step};
use linerate_block::Tag;
use linerate_wire::scsi::{Cdb, Sense, asc};

impl Disks {
    /// MODE SELECT before its parameter list has come.
    pub(super) fn mode_select(&mut self, tag: Tag, cdb: Cdb) -> Result<Step, Response> {
        let Cdb::ModeSelect { pages, save, len, .. } = cdb else { return Err(Response::illegal(asc::OPCODE)) };
        // Without PF the pages would be the vendor's.
        if !pages {
            return Err(Response::invalid_field(1, Some(4)));
        }
        if save {
            return Err(Response::invalid_field(1, Some(0)));
        }
        if len == 0 {
            return Ok(Step::End(Response::good(0)));
        }
        self.receive_list(tag, cdb, u32::from(len))
    }

    /// MODE SELECT with its parameter list: all of it is done, or nothing.
    pub(super) fn select_mode(&mut self, tag: Tag, ten: bool, list: &[u8]) -> Result<Step, Response> {
        let (index, nexus, wanted) = (self.tasks[tag].unit, self.tasks[tag].nexus, self.tasks[tag].wanted);
        let unit = &mut self.units[index];
        let new = selected(unit, ten, list)?;
        let old = std::mem::replace(&mut unit.mode, new);
        if new != old {
            self.tell(index, Attentions::MODE_CHANGED, Some(nexus));
        }
        // What was cached before is to be on the medium (SPC-4, clause 7.5.8: SWP; SBC-3, clause 6.5.5: WCE).
        if old.write_cache && !new.write_cache || new.protected && !old.protected {
            return self.flush(tag, wanted);
        }
        Ok(Step::End(Response::good(wanted)))
    }
}

/// The mode that a parameter list asks for.
fn selected(unit: &Unit, ten: bool, list: &[u8]) -> Result<Mode, Response> {
    let short = || Response::illegal(asc::PARAMETER_LENGTH);
    let (header, rest) = list.split_at_checked(if ten { 8 } else { 4 }).ok_or_else(short)?;
    // A disk has medium type 0 (SBC-3, clause 6.5.1). Length and device-specific parameter are not looked at.
    let medium = if ten { 2 } else { 1 };
    if header[medium] != 0 {
        return Err(wrong(medium, None));
    }
    let long = ten && header[4] & 1 != 0;
    let len = if ten { usize::from(u16::from_be_bytes([header[6], header[7]])) } else { usize::from(header[3]) };
    if len != 0 && len != if long { 16 } else { 8 } {
        return Err(wrong(if ten { 6 } else { 3 }, None));
    }
    let (descriptor, mut pages) = rest.split_at_checked(len).ok_or_else(short)?;
    check_blocks(unit, descriptor, header.len())?;
    let mut mode = unit.mode;
    while !pages.is_empty() {
        let at = list.len() - pages.len();
        let (&[code, len], rest) = pages.split_first_chunk().ok_or_else(short)?;
        // No page has subpages (SPF). PS means nothing here.
        if code & 0x40 != 0 {
            return Err(wrong(at, Some(6)));
        }
        let page = code & 0x3f;
        let (Some(now), Some(mask)) = (mode::body(unit, &unit.mode, page), mode::changeable(unit, page)) else {
            return Err(wrong(at, Some(5)));
        };
        if usize::from(len) != now.len() {
            return Err(wrong(at + 1, None));
        }
        let (body, rest) = rest.split_at_checked(now.len()).ok_or_else(short)?;
        for (i, ((byte, now), mask)) in body.iter().zip(now).zip(mask).enumerate() {
            let other = (byte ^ now) & !mask;
            if other != 0 {
                return Err(wrong(at + 2 + i, u8::try_from(other.ilog2()).ok()));
            }
        }
        mode.read(page, body);
        pages = rest;
    }
    Ok(mode)
}

/// Checks that a block descriptor, at `at` of the list, asks for the blocks that there are. All of them are meant by zeros
/// and by ones too (SBC-3, clause 6.5.2).
fn check_blocks(unit: &Unit, descriptor: &[u8], at: usize) -> Result<(), Response> {
    let (count, size) = match descriptor.len() {
        8 => descriptor.split_at(4),
        16 => descriptor.split_at(8),
        _ => return Ok(()),
    };
    let ones = count.iter().all(|byte| *byte == u8::MAX);
    let blocks = count.iter().fold(0, |blocks, byte| blocks << 8 | u64::from(*byte));
    if blocks != 0 && !ones && blocks != unit.geometry.blocks {
        return Err(wrong(at, None));
    }
    let [.., a, b, c] = *size else { return Ok(()) };
    let high = if descriptor.len() == 16 { size[4] } else { 0 };
    if u32::from_be_bytes([high, a, b, c]) != unit.geometry.block_size {
        return Err(wrong(at + if descriptor.len() == 16 { 12 } else { 5 }, None));
    }
    Ok(())
}

/// INVALID FIELD IN PARAMETER LIST at that byte.
fn wrong(byte: usize, bit: Option<u8>) -> Response {
    // A list is no longer than two bytes can say.
    let [.., high, low] = byte.to_be_bytes();
    Response::check(&Sense::invalid_parameter(u16::from_be_bytes([high, low]), bit))
}
