//! VERIFY, WRITE SAME, UNMAP, COMPARE AND WRITE, ORWRITE: commands whose blocks are not simply their data.
//!
//! Protection information goes with the data of all but UNMAP as with that of READ and WRITE.

use super::disks::Disks;
use super::transfer::{medium, moved, stride};
use super::unit::{MAX_COMPARE, MAX_SPAN, length_field, options_field};
use super::work::{Compare, Guarded, Or, Same, SameStage, Unmap, Verify, Work};
use super::{Response, Step};
use linerate_block::Tag;
use linerate_wire::scsi::{Access, Cdb, Transfer, asc};

impl Disks {
    /// VERIFY (SBC-3, clause 5.29).
    pub(super) fn verify(&mut self, tag: Tag, transfer: &Transfer, compare: u8) -> Result<Step, Response> {
        let slot = &mut self.tasks[tag];
        let unit = &mut self.units[slot.unit];
        let guarded = medium(unit, transfer, Access::Reads)?;
        let blocks = u64::from(transfer.blocks);
        unit.has(transfer.lba, blocks)?;
        slot.wanted = 0;
        let one = compare == 3;
        let len = match compare {
            0 => 0,
            1 => {
                unit.span(transfer)?;
                moved(unit, transfer.blocks, guarded.as_ref())
            }
            3 => stride(unit, guarded.as_ref()),
            _ => return Err(Response::invalid_field(options_field(transfer.width), Some(2))),
        };
        if blocks == 0 || len == 0 && unit.is_direct() {
            return Ok(Step::End(Response::good(0)));
        }
        // A comparison with one block has the length limit of WRITE SAME.
        if one && transfer.blocks > unit.blocks_in(MAX_SPAN) {
            return Err(Response::invalid_field(length_field(transfer.width), None));
        }
        // The blocks to verify must be on the medium first.
        let flush = unit.geometry.volatile;
        let work = Work::Verify(Verify { lba: transfer.lba, left: blocks, done: 0, data: None, one, guarded, flush });
        if len == 0 {
            slot.work = work;
            return Ok(self.go(tag));
        }
        self.receive(tag, len, work)
    }

    /// WRITE SAME (SBC-3, clause 5.43).
    pub(super) fn write_same(&mut self, tag: Tag, cdb: &Cdb) -> Result<Step, Response> {
        let Cdb::WriteSame { width, lba, blocks, protect, anchor, unmap, no_data } = *cdb else {
            return Err(Response::illegal(asc::OPCODE));
        };
        let unit = &mut self.units[self.tasks[tag].unit];
        let transfer = Transfer { width, lba, blocks, protect, dpo: false, fua: false };
        let guarded = medium(unit, &transfer, Access::Writes)?;
        let options = options_field(width);
        if unmap && !unit.geometry.discards {
            return Err(Response::invalid_field(options, Some(3)));
        }
        if anchor {
            return Err(Response::invalid_field(options, Some(4)));
        }
        unit.has(lba, u64::from(blocks))?;
        // Clause 6.5.3: WSNZ, and MAXIMUM WRITE SAME LENGTH.
        if blocks == 0 || blocks > unit.blocks_in(MAX_SPAN) {
            return Err(Response::invalid_field(length_field(width), None));
        }
        // Without data, zeros are written, whose protection information is all ones, without meaning (clause 5.44:
        // NDOB).
        let guarded = if no_data { guarded.map(Guarded::moving) } else { guarded };
        let len = stride(unit, guarded.as_ref());
        // Deallocated blocks read as zeros only on some devices.
        let unmap = unmap && unit.geometry.discard_zeroes;
        let (left, stage) = (u64::from(blocks), SameStage::Begin);
        let work = Work::Same(Same { lba, left, done: 0, unmap, data: None, guarded, stage });
        if no_data {
            let slot = &mut self.tasks[tag];
            slot.wanted = 0;
            slot.work = work;
            return Ok(self.go(tag));
        }
        self.receive(tag, len, work)
    }

    /// UNMAP (SBC-3, clause 5.28).
    pub(super) fn unmap(&mut self, tag: Tag, anchor: bool, len: u16) -> Result<Step, Response> {
        let index = self.tasks[tag].unit;
        self.ready(index)?;
        let unit = &self.units[index];
        if !unit.geometry.discards {
            return Err(Response::illegal(asc::OPCODE));
        }
        unit.writable()?;
        if anchor {
            return Err(Response::invalid_field(1, Some(0)));
        }
        if len == 0 {
            return Ok(Step::End(Response::good(0)));
        }
        self.receive(tag, u32::from(len), Work::Unmap(Unmap::default()))
    }

    /// COMPARE AND WRITE (SBC-3, clause 5.2).
    pub(super) fn compare_and_write(
        &mut self,
        tag: Tag,
        lba: u64,
        blocks: u8,
        protect: u8,
        fua: bool,
    ) -> Result<Step, Response> {
        let unit = &self.units[self.tasks[tag].unit];
        let transfer = Transfer { protect, ..Transfer::new(lba, u32::from(blocks)) };
        let guarded = medium(unit, &transfer, Access::Writes)?;
        unit.has(lba, u64::from(blocks))?;
        const { assert!(MAX_COMPARE == u8::MAX, "every number of blocks is within the limit") };
        if blocks == 0 {
            return Ok(Step::End(Response::good(0)));
        }
        let len = moved(unit, 2 * u32::from(blocks), guarded.as_ref());
        self.receive(tag, len, Work::Compare(Compare { lba, fua, data: None, guarded }))
    }

    /// ORWRITE (16) (SBC-3, clause 5.7).
    pub(super) fn or_write(&mut self, tag: Tag, transfer: &Transfer) -> Result<Step, Response> {
        let unit = &mut self.units[self.tasks[tag].unit];
        let guarded = medium(unit, transfer, Access::Writes)?;
        let (_, len) = unit.span(transfer)?;
        if len == 0 {
            return Ok(Step::End(Response::good(0)));
        }
        unit.counters.writes += 1;
        unit.counters.bytes_written += u64::from(len);
        let (lba, fua, out) = (transfer.lba, transfer.fua, moved(unit, transfer.blocks, guarded.as_ref()));
        self.receive(tag, out, Work::Or(Or { lba, fua, data: None, guarded }))
    }
}
