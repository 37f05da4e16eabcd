//! VERIFY, WRITE SAME, UNMAP, COMPARE AND WRITE: more blocks than data, or other ones.

use super::disks::Disks;
use super::transfer::medium_only;
use super::unit::{MAX_COMPARE, MAX_SPAN, length_field, options_field};
use super::work::{Compare, Same, SameStage, Unmap, Verify, Work};
use super::{Response, Step};
use linerate_wire::scsi::{Cdb, Transfer, asc};

impl Disks {
    /// VERIFY (SBC-3, clause 5.29).
    pub(super) fn verify(&mut self, place: usize, transfer: &Transfer, compare: u8) -> Result<Step, Response> {
        let slot = &mut self.tasks[place];
        let unit = &mut self.units[usize::from(slot.unit)];
        medium_only(unit, transfer)?;
        let blocks = u64::from(transfer.blocks);
        unit.has(transfer.lba, blocks)?;
        slot.wanted = 0;
        let one = compare == 3;
        let len = match compare {
            0 => 0,
            1 => unit.span(transfer)?.1,
            3 if blocks == 0 => 0,
            3 => unit.geometry.block_size,
            _ => return Err(Response::invalid_field(options_field(transfer.width), Some(2))),
        };
        if blocks == 0 || len == 0 && unit.is_direct() {
            return Ok(Step::End(Response::good(0)));
        }
        // A comparison with one block is as long as WRITE SAME of it.
        if one && blocks > MAX_SPAN / unit.block() {
            return Err(Response::invalid_field(length_field(transfer.width), None));
        }
        let work = Work::Verify(Verify { lba: transfer.lba, left: blocks, done: 0, data: None, one });
        if len == 0 {
            slot.work = work;
            return Ok(self.go(place));
        }
        self.receive(place, len, work)
    }

    /// WRITE SAME (SBC-3, clause 5.43).
    pub(super) fn write_same(&mut self, place: usize, cdb: &Cdb) -> Result<Step, Response> {
        let Cdb::WriteSame { width, lba, blocks, protect, anchor, unmap, no_data } = *cdb else {
            return Err(Response::illegal(asc::OPCODE));
        };
        let unit = &mut self.units[usize::from(self.tasks[place].unit)];
        medium_only(unit, &Transfer { width, lba, blocks, protect, dpo: false, fua: false })?;
        let options = options_field(width);
        if unmap && !unit.geometry.discards {
            return Err(Response::invalid_field(options, Some(3)));
        }
        if anchor {
            return Err(Response::invalid_field(options, Some(4)));
        }
        unit.writable()?;
        unit.has(lba, u64::from(blocks))?;
        // Clause 6.5.3: WSNZ, and MAXIMUM WRITE SAME LENGTH.
        if blocks == 0 || u64::from(blocks) > MAX_SPAN / unit.block() {
            return Err(Response::invalid_field(length_field(width), None));
        }
        let block = unit.geometry.block_size;
        // What is given back reads as zeros only on some devices.
        let unmap = unmap && unit.geometry.discard_zeroes;
        let work = Work::Same(Same { lba, left: u64::from(blocks), unmap, data: None, stage: SameStage::Begin });
        if no_data {
            let slot = &mut self.tasks[place];
            slot.wanted = 0;
            slot.work = work;
            return Ok(self.go(place));
        }
        self.receive(place, block, work)
    }

    /// UNMAP (SBC-3, clause 5.28).
    pub(super) fn unmap(&mut self, place: usize, anchor: bool, len: u16) -> Result<Step, Response> {
        let index = usize::from(self.tasks[place].unit);
        self.ready(index)?;
        let unit = &self.units[index];
        if !unit.geometry.discards {
            return Err(Response::illegal(asc::OPCODE));
        }
        if anchor {
            return Err(Response::invalid_field(1, Some(0)));
        }
        unit.writable()?;
        match len {
            0 => Ok(Step::End(Response::good(0))),
            1..8 => Err(Response::illegal(asc::PARAMETER_LENGTH)),
            _ => self.receive(place, u32::from(len), Work::Unmap(Unmap::default())),
        }
    }

    /// COMPARE AND WRITE (SBC-3, clause 5.2).
    pub(super) fn compare_and_write(
        &mut self,
        place: usize,
        lba: u64,
        blocks: u8,
        protect: u8,
        fua: bool,
    ) -> Result<Step, Response> {
        let unit = &self.units[usize::from(self.tasks[place].unit)];
        let transfer = Transfer { protect, ..Transfer::new(lba, u32::from(blocks)) };
        medium_only(unit, &transfer)?;
        unit.writable()?;
        unit.has(lba, u64::from(blocks))?;
        const { assert!(MAX_COMPARE == u8::MAX, "every number of blocks is within the limit") };
        if blocks == 0 {
            return Ok(Step::End(Response::good(0)));
        }
        let len = 2 * u32::from(blocks) * unit.geometry.block_size;
        self.receive(place, len, Work::Compare(Compare { lba, fua, data: None }))
    }
}
