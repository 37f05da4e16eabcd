//! SANITIZE (SBC-4, clause 5.30): all blocks are written over. What a back end keeps elsewhere of what was in them before is
//! its own: it is not reached by writing.

use super::disks::Disks;
use super::upkeep::{Fill, Job, Kind, Upkeep};
use super::{Response, Step};
use linerate_block::Tag;
use linerate_wire::scsi::{Cdb, Sense, asc};

/// Service actions.
mod action {
    pub(super) const OVERWRITE: u8 = 1;
    pub(super) const BLOCK_ERASE: u8 = 2;
}

impl Disks {
    /// SANITIZE before its parameter list, if it has one, has come.
    pub(super) fn sanitize(&mut self, tag: Tag, cdb: Cdb) -> Result<Step, Response> {
        let Cdb::Sanitize { action, immediate, unrestricted, len } = cdb else {
            return Err(Response::illegal(asc::OPCODE));
        };
        let index = self.tasks[tag].unit;
        let unit = &mut self.units[index];
        let erases = matches!(action, action::OVERWRITE | action::BLOCK_ERASE);
        if erases {
            unit.writable()?;
        }
        if action == action::OVERWRITE {
            // A header, and a pattern of up to a block.
            if !(5..=unit.geometry.block_size + 4).contains(&u32::from(len)) {
                return Err(Response::invalid_field(7, None));
            }
        } else if len != 0 {
            return Err(Response::invalid_field(7, None));
        }
        if !erases {
            // EXIT FAILURE MODE: the blocks are whatever they are.
            if matches!(unit.upkeep, Upkeep::Failed(Kind::Sanitize { unrestricted: false })) {
                return Err(Response::invalid_field(1, Some(4)));
            }
            unit.upkeep = Upkeep::Idle;
            return Ok(Step::End(Response::good(0)));
        }
        self.ready(index)?;
        if action == action::OVERWRITE {
            return self.receive_list(tag, cdb, u32::from(len));
        }
        let job = Job::new(Kind::Sanitize { unrestricted }, Fill::Zeroes, 1);
        Ok(self.maintain(tag, job, immediate, 0))
    }

    /// SANITIZE: OVERWRITE with its parameter list (SBC-4, clause 5.30.2).
    pub(super) fn overwrite(
        &mut self,
        tag: Tag,
        immediate: bool,
        unrestricted: bool,
        list: &[u8],
    ) -> Result<Step, Response> {
        let wrong = |byte, bit| Err(Response::check(&Sense::invalid_parameter(byte, bit)));
        let (&[flags, _, high, low], pattern) =
            list.split_first_chunk().ok_or_else(|| Response::illegal(asc::PARAMETER_LENGTH))?;
        // TEST is for the vendor.
        if flags & 0x60 != 0 {
            return wrong(0, Some(6));
        }
        let (invert, passes) = (flags & 0x80 != 0, u32::from(flags & 0x1f));
        if passes == 0 {
            return wrong(0, Some(4));
        }
        if usize::from(u16::from_be_bytes([high, low])) != pattern.len() {
            return wrong(2, None);
        }
        let fill = Fill::Pattern { bytes: pattern.to_vec(), invert };
        let job = Job::new(Kind::Sanitize { unrestricted }, fill, passes);
        Ok(self.maintain(tag, job, immediate, list.len() as u64))
    }
}
