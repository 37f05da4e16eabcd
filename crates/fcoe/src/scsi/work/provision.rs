//! WRITE SAME and UNMAP: many blocks for little data.

use super::{Next, Outcome, Tools};
use crate::scsi::Response;
use crate::scsi::response::failure;
use crate::scsi::unit::{MAX_RANGES, MAX_SPAN};
use crate::{BackendError, Buffer, Operation};
use linerate_wire::scsi::{Sense, asc, parse_unmap};

/// WRITE SAME (SBC-3, clause 5.43).
#[derive(Debug)]
pub(in crate::scsi) struct Same {
    /// The block that is written next.
    pub(in crate::scsi) lba: u64,
    /// Blocks that are not yet written.
    pub(in crate::scsi) left: u64,
    /// Blocks that would be zeros may be given back.
    pub(in crate::scsi) unmap: bool,
    /// The block; none for zeros.
    pub(in crate::scsi) data: Option<Buffer>,
    pub(in crate::scsi) stage: SameStage,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::scsi) enum SameStage {
    /// Nothing is done.
    #[default]
    Begin,
    /// The device was asked to write zeros itself.
    Zeroes,
    /// Pieces are written.
    Pieces,
}

impl Same {
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        match (self.stage, outcome.result) {
            (SameStage::Begin, _) => {
                let data = self.data.take();
                let zeros = data.as_ref().is_none_or(|block| block.bytes().iter().all(|octet| *octet == 0));
                // Zeros that the device writes itself have no protection information, as what was given back.
                if zeros && (self.unmap || tools.protection.is_none()) {
                    tools.give(data);
                    self.stage = SameStage::Zeroes;
                    let (lba, blocks) = (self.lba, self.left);
                    return Next::Submit(Operation::WriteZeroes { lba, blocks, discard: self.unmap, fua: false });
                }
                self.stage = SameStage::Pieces;
                let piece = self.pattern(tools, data.as_ref());
                tools.give(data);
                self.write(tools, piece)
            }
            (SameStage::Zeroes, Ok(())) => tools.done(outcome.buffer),
            // A device that cannot do it itself is written to.
            (SameStage::Zeroes, Err(BackendError::Unsupported)) => {
                self.stage = SameStage::Pieces;
                let piece = self.pattern(tools, None);
                self.write(tools, piece)
            }
            (SameStage::Pieces, Ok(())) => {
                let mut piece = outcome.buffer;
                if let Some(piece) = &mut piece {
                    tools.strip(piece);
                }
                let written = piece.as_ref().map_or(self.left, |piece| piece.len() as u64 / tools.block());
                self.lba += written;
                self.left = self.left.saturating_sub(written);
                self.write(tools, piece)
            }
            (_, Err(error)) => {
                tools.give(outcome.buffer);
                failure(error, true, self.lba).into()
            }
        }
    }

    /// A piece full of the block.
    fn pattern(&self, tools: &mut Tools<'_>, block: Option<&Buffer>) -> Option<Buffer> {
        let mut piece = tools.pool.take(self.len(tools)?)?;
        match block {
            Some(block) if !block.is_empty() => {
                piece.bytes_mut().chunks_exact_mut(block.len()).for_each(|to| to.copy_from_slice(block.bytes()));
            }
            _ => piece.bytes_mut().fill(0),
        }
        Some(piece)
    }

    /// Octets of the next piece.
    fn len(&self, tools: &Tools<'_>) -> Option<usize> {
        usize::try_from(tools.piece(self.left) * tools.block()).ok()
    }

    fn write(&self, tools: &mut Tools<'_>, piece: Option<Buffer>) -> Next {
        if self.left == 0 {
            return tools.done(piece);
        }
        match piece {
            Some(mut buffer) => {
                buffer.resize(self.len(tools).unwrap_or(0));
                tools.write(self.lba, buffer, false)
            }
            None => Response::status(Response::TASK_SET_FULL).into(),
        }
    }
}

/// UNMAP (SBC-3, clause 5.28).
#[derive(Debug, Default)]
pub(in crate::scsi) struct Unmap {
    /// The parameter list.
    pub(in crate::scsi) list: Option<Buffer>,
    /// The range that is next.
    pub(in crate::scsi) range: usize,
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
            // Nothing is given back when any of it is not right.
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
                if all > MAX_SPAN / tools.block() {
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
        Ok(tools.good())
    }
}
