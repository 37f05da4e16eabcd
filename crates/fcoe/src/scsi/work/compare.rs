//! VERIFY and COMPARE AND WRITE: comparison of the medium with the data out.

use super::{Guarded, Next, Outcome, Tools, Work, Write};
use crate::scsi::Response;
use crate::scsi::response::failure;
use crate::{Protection, ProtectionTuple};
use linerate_block::{Buffer, Operation};
use linerate_wire::scsi::{Sense, SenseKey, asc};

/// VERIFY (SBC-3, clause 5.29), and the second half of WRITE AND VERIFY.
#[derive(Debug)]
pub(in crate::scsi) struct Verify {
    /// Next block to read.
    pub(in crate::scsi) lba: u64,
    /// Blocks not yet verified.
    pub(in crate::scsi) left: u64,
    /// Blocks verified.
    pub(in crate::scsi) done: u64,
    /// Data to compare with, if any.
    pub(in crate::scsi) data: Option<Buffer>,
    /// The data is one block, with which all are compared (BYTCHK 3).
    pub(in crate::scsi) one: bool,
    /// Handling of protection information; for protected blocks. With data, "moved" means that it is in the data.
    pub(in crate::scsi) guarded: Option<Guarded>,
    /// Flush the cache to the medium before: VERIFY reads the medium (SBC-3, clause 5.29).
    pub(in crate::scsi) flush: bool,
}

impl Verify {
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        if std::mem::take(&mut self.flush) {
            return Next::Submit(Operation::Flush);
        }
        let judged = match (&outcome.result, &outcome.buffer) {
            (Err(error), _) => Err(failure(*error, false, self.lba)),
            (Ok(()), Some(read)) => self.judge(tools, read.bytes()),
            (Ok(()), None) => self.check_data(tools),
        };
        tools.give(outcome.buffer);
        let next = match judged {
            Err(response) => response.into(),
            Ok(blocks) => {
                self.lba += blocks;
                self.left -= blocks.min(self.left);
                self.done += blocks;
                if self.left == 0 { tools.good() } else { tools.read(self.lba, tools.piece(self.left)) }
            }
        };
        if matches!(next, Next::Step(_)) {
            tools.give(self.data.take());
        }
        next
    }

    /// Handling and data for a comparison, if protection information came with the data.
    fn guarded_data(&self) -> Option<(&Guarded, &Buffer)> {
        self.guarded.as_ref().filter(|guarded| guarded.moved).zip(self.data.as_ref())
    }

    /// Checks the protection information of the data before anything is read (SBC-3, clause 5.29: BYTCHK 1 and 3).
    fn check_data(&self, tools: &Tools<'_>) -> Result<u64, Response> {
        match (self.guarded_data(), tools.protection) {
            (Some((guarded, data)), Some(protection)) => {
                guarded.verify(protection, data.bytes(), self.lba, 0).map(|()| 0)
            }
            _ => Ok(0),
        }
    }

    /// Compares the blocks read; returns their number.
    fn judge(&self, tools: &Tools<'_>, read: &[u8]) -> Result<u64, Response> {
        let (block, stride) = (tools.block(), tools.stride());
        let blocks = read.len() as u64 / stride;
        if let Some(protection) = tools.protection {
            if let Some((guarded, data)) = self.guarded_data() {
                return self.compare(protection, guarded, data.bytes(), read).map(|()| blocks);
            }
            // Only the medium's own protection information is checked (BYTCHK 0, and 1 without it in the data).
            if let Some(guarded) = &self.guarded {
                guarded.verify(protection, read, self.lba, self.done)?;
            }
        }
        let (Ok(block), Ok(stride)) = (usize::try_from(block), usize::try_from(stride)) else { return Ok(blocks) };
        let Some(data) = &self.data else { return Ok(blocks) };
        let from =
            if self.one { Some(0) } else { usize::try_from(self.done).ok().and_then(|done| done.checked_mul(block)) };
        let rest = from.and_then(|from| data.bytes().get(from..)).unwrap_or_default();
        let mut wanted = rest.chunks_exact(block).cycle();
        let same = read.chunks_exact(stride).all(|read| wanted.next() == read.get(..block));
        if same { Ok(blocks) } else { Err(miscompare(asc::MISCOMPARE)) }
    }

    /// Compares blocks and the protection information behind them with the medium, byte by byte; not the guard when
    /// VRPROTECT is 2 (SBC-3, clause 5.29: BYTCHK 1 and 3; application tags belong to the initiators, ATO).
    fn compare(&self, protection: &Protection, guarded: &Guarded, data: &[u8], read: &[u8]) -> Result<(), Response> {
        let mut blocks = data.chunks_exact(protection.stride());
        let skipped = if self.one { Some(0) } else { usize::try_from(self.done).ok() };
        let mut next = skipped.and_then(|skipped| blocks.nth(skipped));
        for (done, read) in (self.done..).zip(read.chunks_exact(protection.stride())) {
            let Some(block) = next else { return Err(miscompare(asc::MISCOMPARE)) };
            let ((data, came), (read, there)) = (block.split_at(protection.block), read.split_at(protection.block));
            if data != read {
                return Err(miscompare(asc::MISCOMPARE));
            }
            let (mut came, there) = (ProtectionTuple::read(came), ProtectionTuple::read(there));
            // One block stands for as many as WRITE SAME makes of it.
            match self.one {
                true => came = protection.numbered(came, came.reference, done),
                false => next = blocks.next(),
            }
            if guarded.compares_guards && came.guard != there.guard {
                return Err(miscompare(asc::GUARD_CHECK));
            }
            if came.application != there.application {
                return Err(miscompare(asc::APPLICATION_TAG_CHECK));
            }
            if came.reference != there.reference {
                return Err(miscompare(asc::REFERENCE_TAG_CHECK));
            }
        }
        Ok(())
    }
}

fn miscompare(code: (u8, u8)) -> Response {
    Response::check(&Sense::new(SenseKey::MISCOMPARE, code))
}

/// COMPARE AND WRITE (SBC-3, clause 5.2): the first half of the data is compared, the second written. Of received
/// protection information, that of the second half counts.
#[derive(Debug)]
pub(in crate::scsi) struct Compare {
    pub(in crate::scsi) lba: u64,
    pub(in crate::scsi) fua: bool,
    pub(in crate::scsi) data: Option<Buffer>,
    /// Handling of protection information; for protected blocks.
    pub(in crate::scsi) guarded: Option<Guarded>,
}

impl Compare {
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        if let Err(error) = outcome.result {
            tools.give(outcome.buffer);
            tools.give(self.data.take());
            return failure(error, false, self.lba).into();
        }
        let data = self.data.as_ref().map_or(&[][..], Buffer::bytes);
        let (expected, new) = data.split_at(data.len() / 2);
        let moved = self.guarded.is_some_and(|guarded| guarded.moved);
        let stride = if moved { tools.stride() } else { tools.block() };
        let Some(mut read) = outcome.buffer else {
            let next = tools.read(self.lba, expected.len() as u64 / stride);
            if matches!(next, Next::Step(_)) {
                tools.give(self.data.take());
            }
            return next;
        };
        let judged = tools.verify_and_strip(self.lba, &mut read).and_then(|()| {
            let differs = difference(expected, stride, read.bytes(), tools.block());
            let miscompare = |at| Response::check(&Sense::new(SenseKey::MISCOMPARE, asc::MISCOMPARE).at(at));
            differs.map_or(Ok(()), |at| Err(miscompare(at)))
        });
        if judged.is_ok() {
            read.resize(new.len());
            read.bytes_mut().copy_from_slice(new);
        }
        tools.give(self.data.take());
        match judged {
            Ok(()) => {
                let (lba, fua, guarded) = (self.lba, self.fua, self.guarded);
                Next::Then(Work::Write(Write { lba, fua, data: Some(read), guarded, then: None }))
            }
            Err(response) => {
                tools.pool.give(read);
                response.into()
            }
        }
    }
}

/// Offset of the first byte of the expected data that differs from the data read; each block has `stride` bytes there,
/// `block` bytes here.
fn difference(expected: &[u8], stride: u64, read: &[u8], block: u64) -> Option<u64> {
    let (stride_len, block) = (usize::try_from(stride).ok()?, usize::try_from(block).ok()?);
    let blocks = expected.chunks_exact(stride_len).zip(read.chunks_exact(block));
    (0..).zip(blocks).find_map(|(done, (expected, read))| {
        let at = expected.iter().zip(read).position(|(expected, read)| expected != read)?;
        Some(done * stride + at as u64)
    })
}
