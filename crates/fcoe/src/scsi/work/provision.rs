//! WRITE SAME and UNMAP: many blocks for little data.

use super::{Guarded, Next, Outcome, Tools};
use crate::ProtectionTuple;
use crate::scsi::Response;
use crate::scsi::response::failure;
use crate::scsi::unit::MAX_RANGES;
use linerate_block::{BackendError, Buffer, Operation};
use linerate_wire::scsi::{Sense, asc, parse_unmap};

/// WRITE SAME (SBC-3, clause 5.43).
#[derive(Debug)]
pub(in crate::scsi) struct Same {
    /// Next block to write.
    pub(in crate::scsi) lba: u64,
    /// Blocks not yet written.
    pub(in crate::scsi) left: u64,
    /// Blocks written.
    pub(in crate::scsi) done: u64,
    /// Blocks of zeros may be deallocated.
    pub(in crate::scsi) unmap: bool,
    /// Data of the block; None for zeros.
    pub(in crate::scsi) data: Option<Buffer>,
    /// Handling of protection information; for protected blocks.
    pub(in crate::scsi) guarded: Option<Guarded>,
    pub(in crate::scsi) stage: SameStage,
}

/// Progress of WRITE SAME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::scsi) enum SameStage {
    /// Not started.
    #[default]
    Begin,
    /// The device was asked to write zeros itself.
    Zeroes,
    /// Pieces are being written.
    Pieces,
}

impl Same {
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        match (self.stage, outcome.result) {
            (SameStage::Begin, _) => {
                let data = self.data.take();
                let next = self.begin(tools, data.as_ref().map_or(&[][..], Buffer::bytes));
                tools.give(data);
                next.unwrap_or_else(Next::from)
            }
            (SameStage::Zeroes, Ok(())) => tools.done(outcome.buffer),
            // The back end does not write zeros itself, so they are written as data.
            (SameStage::Zeroes, Err(BackendError::Unsupported)) => {
                self.stage = SameStage::Pieces;
                let piece = self.pattern(tools, &[]);
                self.write(tools, piece)
            }
            (SameStage::Pieces, Ok(())) => {
                let mut piece = outcome.buffer;
                let written = piece.as_ref().map_or(self.left, |piece| piece.len() as u64 / tools.stride());
                if let Some(piece) = piece.as_mut().filter(|_| !self.moved()) {
                    tools.strip(piece);
                }
                self.lba += written;
                self.done += written;
                self.left = self.left.saturating_sub(written);
                self.write(tools, piece)
            }
            (_, Err(error)) => {
                tools.give(outcome.buffer);
                failure(error, true, self.lba).into()
            }
        }
    }

    /// True if protection information came with the block.
    fn moved(&self) -> bool {
        self.guarded.is_some_and(|guarded| guarded.moved)
    }

    fn begin(&mut self, tools: &mut Tools<'_>, data: &[u8]) -> Result<Next, Response> {
        let (block, tuple) = data.split_at(data.len().min(usize::try_from(tools.block()).unwrap_or(0)));
        let made = tools.protection.is_some() && !self.moved();
        if let (false, Some(guarded), Some(protection)) = (tuple.is_empty(), self.guarded.as_mut(), tools.protection) {
            guarded.verify(protection, data, self.lba, 0)?;
            // The first block gets the received tag, unchanged (clause 5.43).
            guarded.reference = ProtectionTuple::read(tuple).reference;
        }
        // Blocks that the device deallocates or zeroes itself get protection information of all ones.
        let ones = tuple.iter().all(|byte| *byte == u8::MAX);
        if block.iter().all(|byte| *byte == 0) && ones && (self.unmap || !made) {
            self.stage = SameStage::Zeroes;
            let (lba, blocks, discard) = (self.lba, self.left, self.unmap);
            return Ok(Next::Submit(Operation::WriteZeroes { lba, blocks, discard, fua: false }));
        }
        self.stage = SameStage::Pieces;
        let piece = self.pattern(tools, data);
        Ok(self.write(tools, piece))
    }

    /// A piece filled with copies of the block.
    fn pattern(&self, tools: &mut Tools<'_>, block: &[u8]) -> Option<Buffer> {
        let mut piece = tools.pool.take(self.len(tools)?)?;
        if block.is_empty() {
            piece.bytes_mut().fill(0);
            if self.moved() {
                // Zeros without data have protection information of all ones.
                let (block, stride) = (usize::try_from(tools.block()).ok()?, usize::try_from(tools.stride()).ok()?);
                piece.bytes_mut().chunks_exact_mut(stride).for_each(|to| to[block..].fill(u8::MAX));
            }
        } else {
            piece.bytes_mut().chunks_exact_mut(block.len()).for_each(|to| to.copy_from_slice(block));
        }
        Some(piece)
    }

    /// Bytes of the next piece.
    fn len(&self, tools: &Tools<'_>) -> Option<usize> {
        let block = if self.moved() { tools.stride() } else { tools.block() };
        usize::try_from(tools.piece(self.left) * block).ok()
    }

    fn write(&self, tools: &mut Tools<'_>, piece: Option<Buffer>) -> Next {
        if self.left == 0 {
            return tools.done(piece);
        }
        let Some(mut buffer) = piece else { return Response::status(Response::TASK_SET_FULL).into() };
        buffer.resize(self.len(tools).unwrap_or(0));
        let Some((guarded, protection)) = self.guarded.as_ref().zip(tools.protection) else {
            return tools.write(self.lba, buffer, false);
        };
        let reference = protection.reference(guarded.reference, self.done);
        if guarded.moved {
            protection.number(buffer.bytes_mut(), reference);
            return Next::Submit(Operation::Write { lba: self.lba, buffer, fua: false });
        }
        tools.write_tagged(self.lba, buffer, false, guarded.application(), reference)
    }
}

/// UNMAP (SBC-3, clause 5.28).
#[derive(Debug, Default)]
pub(in crate::scsi) struct Unmap {
    /// The parameter list.
    pub(in crate::scsi) list: Option<Buffer>,
    /// Index of the next range.
    pub(in crate::scsi) range: usize,
    /// Deallocations are on the medium.
    flushed: bool,
}

impl Unmap {
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        tools.give(outcome.buffer);
        let next = match outcome.result {
            Ok(()) => self.step(tools).unwrap_or_else(Next::from),
            Err(error) => failure(error, true, 0).into(),
        };
        if matches!(next, Next::Step(_)) {
            tools.give(self.list.take());
        }
        next
    }

    fn step(&mut self, tools: &Tools<'_>) -> Result<Next, Response> {
        let list = self.list.as_ref().map_or(&[][..], Buffer::bytes);
        let ranges = parse_unmap(list).map_err(|_| Response::illegal(asc::PARAMETER_LENGTH))?;
        if self.range == 0 {
            // Nothing is deallocated if any range is invalid.
            let mut all = 0;
            for (i, range) in (0u16..).zip(ranges.clone()) {
                let blocks = u64::from(range.blocks);
                let end = range.lba.checked_add(blocks);
                if end.is_none_or(|end| end > tools.geometry.blocks) {
                    return Err(Response::illegal(asc::LBA_OUT_OF_RANGE));
                }
                all += blocks;
                // Clause 6.5.3: MAXIMUM UNMAP LBA COUNT and MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT.
                if i >= MAX_RANGES {
                    return Err(Response::check(&Sense::invalid_parameter(2, None)));
                }
                if all > tools.unmap_blocks.into() {
                    return Err(Response::check(&Sense::invalid_parameter(8 + 16 * i + 8, None)));
                }
            }
        }
        for (i, range) in ranges.enumerate().skip(self.range) {
            if range.blocks > 0 {
                self.range = i + 1;
                return Ok(Next::Submit(Operation::Discard { lba: range.lba, blocks: u64::from(range.blocks) }));
            }
        }
        if tools.writes_through && !std::mem::replace(&mut self.flushed, true) {
            return Ok(Next::Submit(Operation::Flush));
        }
        Ok(tools.good())
    }
}
