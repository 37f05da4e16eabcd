//! VERIFY and COMPARE AND WRITE: what is on the medium against what came.

use super::{Guarded, Next, Outcome, Tools};
use crate::scsi::Response;
use crate::scsi::response::failure;
use crate::{Buffer, Protection, ProtectionTuple};
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
    /// Of protected blocks. With data, "moved" means that their protection information is in it.
    pub(in crate::scsi) guarded: Option<Guarded>,
}

impl Verify {
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
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

    /// What the data is compared by, if its protection information came with it.
    fn guarded_data(&self) -> Option<(&Guarded, &Buffer)> {
        self.guarded.as_ref().filter(|guarded| guarded.moved).zip(self.data.as_ref())
    }

    /// Protection information that came is checked before anything is read (SBC-3, clause 5.29: BYTCHK 1).
    fn check_data(&self, tools: &Tools<'_>) -> Result<u64, Response> {
        match (self.guarded_data(), tools.protection) {
            (Some((guarded, data)), Some(protection)) => {
                guarded.verify(protection, data.bytes(), self.lba, self.done).map(|()| 0)
            }
            _ => Ok(0),
        }
    }

    /// How many blocks were read, if they are right.
    fn judge(&self, tools: &Tools<'_>, read: &[u8]) -> Result<u64, Response> {
        let (block, stride) = (tools.block(), tools.stride());
        let blocks = read.len() as u64 / stride;
        if let Some(protection) = tools.protection {
            if let Some((guarded, data)) = self.guarded_data() {
                let from = usize::try_from(self.done * stride).unwrap_or(usize::MAX);
                let data = data.bytes().get(from..).and_then(|data| data.get(..read.len())).unwrap_or_default();
                return compare(protection, guarded, data, read).map(|()| blocks);
            }
            // Nothing but the medium's own (BYTCHK 0, and 1 without protection information in the data).
            if let Some(guarded) = &self.guarded {
                guarded.verify(protection, read, self.lba, self.done)?;
            }
        }
        let (Ok(block), Ok(stride)) = (usize::try_from(block), usize::try_from(stride)) else { return Ok(blocks) };
        let Some(data) = &self.data else { return Ok(blocks) };
        let from = usize::try_from(self.done).unwrap_or(usize::MAX).saturating_mul(block);
        let data = if self.one { data.bytes() } else { data.bytes().get(from..).unwrap_or_default() };
        let mut wanted = data.chunks_exact(block).cycle();
        let enough = self.one && !data.is_empty() || data.len() / block >= read.len() / stride;
        let same = read.chunks_exact(stride).all(|read| wanted.next() == read.get(..block));
        if enough && same { Ok(blocks) } else { Err(miscompare(asc::MISCOMPARE)) }
    }
}

/// Compares blocks and the protection information behind them with what is on the medium, octet by octet; the guard not when
/// VRPROTECT is 2 (SBC-3, clause 5.29: BYTCHK 1; application tags are the initiators' own, ATO).
fn compare(protection: &Protection, guarded: &Guarded, data: &[u8], read: &[u8]) -> Result<(), Response> {
    if data.len() != read.len() {
        return Err(miscompare(asc::MISCOMPARE));
    }
    for (data, read) in data.chunks_exact(protection.stride()).zip(read.chunks_exact(protection.stride())) {
        let ((data, came), (read, there)) = (data.split_at(protection.block), read.split_at(protection.block));
        if data != read {
            return Err(miscompare(asc::MISCOMPARE));
        }
        let (came, there) = (ProtectionTuple::read(came), ProtectionTuple::read(there));
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

fn miscompare(code: (u8, u8)) -> Response {
    Response::check(&Sense::new(SenseKey::MISCOMPARE, code))
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
