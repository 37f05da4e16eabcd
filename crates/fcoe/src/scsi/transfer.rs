//! READ and WRITE.

use super::disks::Disks;
use super::task::Stage;
use super::unit::{Unit, options_field};
use super::work::{Guarded, Read, Verify, Work, Write};
use super::{Response, Step};
use crate::{ProtectionTuple, ProtectionType};
use linerate_block::Tag;
use linerate_wire::scsi::{Access, Sense, SenseKey, Transfer, Width, asc};

impl Disks {
    #[inline]
    pub(super) fn read(&mut self, tag: Tag, transfer: &Transfer) -> Result<Step, Response> {
        let slot = &mut self.tasks[tag];
        let unit = &mut self.units[slot.unit];
        let guarded = medium(unit, transfer, Access::Reads)?;
        let (offset, len) = unit.span(transfer)?;
        // GOOD without the data would be believed.
        if slot.data_out > 0 && len > 0 {
            return Err(Response::illegal(asc::INFORMATION_UNIT));
        }
        unit.counters.reads += 1;
        unit.counters.bytes_read += u64::from(len);
        slot.wanted = u64::from(moved(unit, transfer.blocks, guarded.as_ref()));
        let then = Response::good(slot.wanted);
        if len == 0 {
            return Ok(Step::End(then));
        }
        if unit.is_direct() {
            return Ok(Step::SendMemory { offset, len, then });
        }
        let flush = transfer.fua && unit.geometry.volatile;
        slot.work = Work::Read(Read { lba: transfer.lba, blocks: transfer.blocks, guarded, flush });
        Ok(self.go(tag))
    }

    /// WRITE, and WRITE AND VERIFY with its BYTCHK field.
    #[inline]
    pub(super) fn write(&mut self, tag: Tag, transfer: &Transfer, compare: Option<u8>) -> Result<Step, Response> {
        let slot = &mut self.tasks[tag];
        let unit = &mut self.units[slot.unit];
        let guarded = medium(unit, transfer, Access::Writes)?;
        // Written blocks are always compared with the data out: BYTCHK 0 asks for less.
        if compare.is_some_and(|compare| compare > 1) {
            return Err(Response::invalid_field(options_field(transfer.width), Some(2)));
        }
        let (offset, len) = unit.span(transfer)?;
        let out = moved(unit, transfer.blocks, guarded.as_ref());
        if out > slot.data_out {
            return Err(Response { wanted: u64::from(out), ..Response::illegal(asc::INFORMATION_UNIT) });
        }
        unit.counters.writes += 1;
        unit.counters.bytes_written += u64::from(len);
        slot.wanted = u64::from(out);
        if len == 0 {
            return Ok(Step::End(Response::good(0)));
        }
        // The memory holds exactly the written data: there is nothing to verify.
        if unit.is_direct() {
            slot.stage = Stage::ReceivingMemory;
            return Ok(Step::ReceiveMemory { offset, len });
        }
        let blocks = u64::from(transfer.blocks);
        let lba = transfer.lba;
        let verify =
            compare.map(|_| Verify { lba, left: blocks, done: 0, data: None, one: false, guarded, flush: false });
        // The blocks to verify must be on the medium first (SBC-3, clause 5.37).
        let fua = transfer.fua || verify.is_some() && unit.geometry.volatile;
        let work = Work::Write(Write { lba, fua, data: None, guarded, then: verify });
        self.receive(tag, out, work)
    }
}

/// Sense data of a unit stopped by START STOP UNIT.
pub(super) const STOPPED: Sense = Sense::new(SenseKey::NOT_READY, asc::STOPPED);

/// Common checks of all commands to the medium; returns the handling of protection information if the blocks have any. A
/// command that writes is told of write protection before anything that is wrong with its fields.
#[inline]
pub(super) fn medium(unit: &Unit, transfer: &Transfer, access: Access) -> Result<Option<Guarded>, Response> {
    if unit.stopped {
        return Err(Response::check(&STOPPED));
    }
    let protect = || Response::invalid_field(options_field(transfer.width), Some(7));
    let long = matches!(transfer.width, Width::ThirtyTwo(_));
    // Commands of 32 bytes are for type 2 (SBC-3, clause 4.22.2.4).
    let second = unit.protection.is_some_and(|protection| protection.kind == ProtectionType::Type2);
    if long && !second {
        return Err(Response::illegal(asc::OPCODE));
    }
    if access == Access::Writes {
        unit.writable()?;
    }
    let Some(protection) = unit.protection else {
        // Without protection information there is none to transfer or check (SBC-3, clause 4.22).
        return if transfer.protect != 0 { Err(protect()) } else { Ok(None) };
    };
    // For type 2, only commands of 32 bytes may transfer it.
    if !long && second && transfer.protect != 0 {
        return Err(Response::illegal(asc::OPCODE));
    }
    Guarded::new(protection.kind, transfer).ok_or_else(protect).map(Some)
}

/// Bytes transferred for this number of blocks. They are few: [`Unit::span`] has passed them, or a byte counts them.
pub(super) fn moved(unit: &Unit, blocks: u32, guarded: Option<&Guarded>) -> u32 {
    blocks.saturating_mul(stride(unit, guarded))
}

/// Bytes of protection information behind a block (SBC-3, clause 4.22.3).
const TUPLE: u32 = 8;
const _: () = assert!(ProtectionTuple::LEN == TUPLE as usize);

/// Bytes transferred per block.
pub(super) fn stride(unit: &Unit, guarded: Option<&Guarded>) -> u32 {
    let tuple = unit.protection.is_some() && guarded.is_some_and(|guarded| guarded.moved);
    unit.geometry.block_size + if tuple { TUPLE } else { 0 }
}
