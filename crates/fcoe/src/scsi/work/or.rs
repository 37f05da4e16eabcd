//! ORWRITE: bits are set in blocks that nobody else changes meanwhile.

use super::{Guarded, Next, Outcome, Tools, Work, Write};
use crate::scsi::response::failure;
use linerate_block::Buffer;

/// ORWRITE (16) (SBC-3, clause 5.7): the medium's blocks or the data out. Both have their protection information checked;
/// what is written has a new guard, and the tags of the data out.
#[derive(Debug)]
pub(in crate::scsi) struct Or {
    pub(in crate::scsi) lba: u64,
    pub(in crate::scsi) fua: bool,
    pub(in crate::scsi) data: Option<Buffer>,
    /// Handling of protection information; for protected blocks.
    pub(in crate::scsi) guarded: Option<Guarded>,
}

impl Or {
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        let next = match (outcome.result, outcome.buffer) {
            (Err(error), buffer) => {
                tools.give(buffer);
                failure(error, false, self.lba).into()
            }
            (Ok(()), None) => self.begin(tools),
            (Ok(()), Some(read)) => self.set(tools, read),
        };
        if matches!(next, Next::Step(_)) {
            tools.give(self.data.take());
        }
        next
    }

    /// True if protection information came with the blocks.
    fn moved(&self) -> bool {
        self.guarded.is_some_and(|guarded| guarded.moved)
    }

    fn begin(&self, tools: &mut Tools<'_>) -> Next {
        let data = self.data.as_ref().map_or(&[][..], Buffer::bytes);
        if let (Some(guarded), Some(protection)) = (self.guarded.as_ref().filter(|g| g.moved), tools.protection)
            && let Err(response) = guarded.verify(protection, data, self.lba, 0)
        {
            return response.into();
        }
        let stride = if self.moved() { tools.stride() } else { tools.block() };
        tools.read(self.lba, data.len() as u64 / stride)
    }

    fn set(&mut self, tools: &mut Tools<'_>, mut read: Buffer) -> Next {
        if let (Some(guarded), Some(protection)) = (&self.guarded, tools.protection)
            && let Err(response) = guarded.verify(protection, read.bytes(), self.lba, 0)
        {
            tools.pool.give(read);
            return response.into();
        }
        let (Some(mut data), Ok(block)) = (self.data.take(), usize::try_from(tools.block())) else {
            return tools.done(Some(read));
        };
        tools.strip(&mut read);
        let stride = if self.moved() { block + crate::ProtectionTuple::LEN } else { block };
        for (to, from) in data.bytes_mut().chunks_exact_mut(stride).zip(read.bytes().chunks_exact(block)) {
            let (to, tuple) = to.split_at_mut(block);
            to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
            if let (Some(protection), [high, low, ..]) = (tools.protection, tuple) {
                [*high, *low] = protection.guard.of(to).to_be_bytes();
            }
        }
        tools.pool.give(read);
        Next::Then(Work::Write(Write {
            lba: self.lba,
            fua: self.fua,
            data: Some(data),
            guarded: self.guarded,
            then: None,
        }))
    }
}
