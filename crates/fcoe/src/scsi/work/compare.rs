//! VERIFY and COMPARE AND WRITE: what is on the medium against what came.

use super::{Next, Outcome, Tools};
use crate::Buffer;
use crate::scsi::Response;
use crate::scsi::response::failure;
use linerate_wire::scsi::{Sense, SenseKey, asc};

/// VERIFY (SBC-3, clause 5.29), and the second half of WRITE AND VERIFY.
#[derive(Debug)]
pub(in crate::scsi) struct Verify {
    /// The block that is read next.
    pub(in crate::scsi) lba: u64,
    /// Blocks that are not yet verified.
    pub(in crate::scsi) left: u64,
    /// Blocks that were verified.
    pub(in crate::scsi) done: u64,
    /// What they are compared with, if anything.
    pub(in crate::scsi) data: Option<Buffer>,
    /// The data is one block, with which all are compared (BYTCHK 3).
    pub(in crate::scsi) one: bool,
}

impl Verify {
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        if let Err(error) = outcome.result {
            tools.give(outcome.buffer);
            tools.give(self.data.take());
            return failure(error, false, self.lba).into();
        }
        if let Some(mut read) = outcome.buffer {
            if let Err(response) = tools.verify_and_strip(self.lba, &mut read) {
                tools.pool.give(read);
                tools.give(self.data.take());
                return response.into();
            }
            let same = self.data.as_ref().is_none_or(|data| self.is_same(data.bytes(), read.bytes(), tools.block()));
            let blocks = read.len() as u64 / tools.block();
            tools.pool.give(read);
            if !same {
                tools.give(self.data.take());
                return Response::check(&Sense::new(SenseKey::MISCOMPARE, asc::MISCOMPARE)).into();
            }
            self.lba += blocks;
            self.left -= blocks.min(self.left);
            self.done += blocks;
        }
        if self.left == 0 {
            let data = self.data.take();
            return tools.done(data);
        }
        let next = tools.read(self.lba, tools.piece(self.left));
        if matches!(next, Next::Step(_)) {
            tools.give(self.data.take());
        }
        next
    }

    fn is_same(&self, data: &[u8], read: &[u8], block: u64) -> bool {
        if self.one {
            return !data.is_empty() && read.chunks(data.len()).all(|block| block == data);
        }
        let from = usize::try_from(self.done * block).unwrap_or(usize::MAX);
        data.get(from..).and_then(|data| data.get(..read.len())) == Some(read)
    }
}

/// COMPARE AND WRITE (SBC-3, clause 5.2): the first half of the data is compared, the second written.
#[derive(Debug)]
pub(in crate::scsi) struct Compare {
    pub(in crate::scsi) lba: u64,
    pub(in crate::scsi) fua: bool,
    pub(in crate::scsi) data: Option<Buffer>,
}

impl Compare {
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        // The data is kept until it was compared: who has none left has written.
        let writing = self.data.is_none();
        if let Err(error) = outcome.result {
            tools.give(outcome.buffer);
            tools.give(self.data.take());
            return failure(error, writing, self.lba).into();
        }
        let Some(data) = self.data.take() else {
            return tools.done(outcome.buffer);
        };
        let (expected, new) = data.bytes().split_at(data.len() / 2);
        let Some(mut read) = outcome.buffer else {
            let next = tools.read(self.lba, expected.len() as u64 / tools.block());
            match next {
                Next::Submit(_) => self.data = Some(data),
                Next::Step(_) => tools.pool.give(data),
            }
            return next;
        };
        if let Err(response) = tools.verify_and_strip(self.lba, &mut read) {
            tools.pool.give(read);
            tools.pool.give(data);
            return response.into();
        }
        let differs = expected.iter().zip(read.bytes()).position(|(expected, read)| expected != read);
        if let Some(at) = differs {
            tools.pool.give(read);
            tools.pool.give(data);
            let miscompare = Sense::new(SenseKey::MISCOMPARE, asc::MISCOMPARE);
            return Response::check(&miscompare.at(at as u64)).into();
        }
        read.bytes_mut().copy_from_slice(new);
        tools.pool.give(data);
        tools.write(self.lba, read, self.fua)
    }
}
