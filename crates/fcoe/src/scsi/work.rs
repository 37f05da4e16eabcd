//! A command as a series of back-end operations, one after another.

mod compare;
mod flush;
mod or;
mod provision;
mod selftest;

pub(super) use compare::{Compare, Verify};
pub(super) use flush::Flush;
pub(super) use or::Or;
pub(super) use provision::{Same, SameStage, Unmap};
pub(super) use selftest::SelfTest;

use super::hold::{Hold, Span};
use super::response::failure;
use super::{Response, Step};
use crate::{Protection, ProtectionChecks, ProtectionError, ProtectionType};
use linerate_block::{BackendError, Buffer, Geometry, Operation, Pool};
use linerate_wire::scsi::{ProtectionTags, Sense, SenseKey, Transfer, Width, asc};

/// Bytes moved by one operation of a longer series.
pub(super) const PIECE: u64 = 1 << 20;

/// Next step.
pub(super) enum Next {
    Submit(Operation),
    Step(Step),
    /// Continue with another series.
    Then(Work),
}

impl From<Response> for Next {
    fn from(response: Response) -> Self {
        Self::Step(Step::End(response))
    }
}

/// Outcome of the last operation; at first, success without a buffer.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) result: Result<(), BackendError>,
    pub(super) buffer: Option<Buffer>,
}

impl Outcome {
    pub(super) const NONE: Self = Self { result: Ok(()), buffer: None };
}

/// Resources for a series.
pub(super) struct Tools<'a> {
    pub(super) geometry: &'a Geometry,
    /// Protection of the back end's blocks: if set, blocks in its buffers have protection information behind them.
    pub(super) protection: Option<&'a Protection>,
    pub(super) pool: &'a mut Pool,
    /// Most blocks covered by one UNMAP.
    pub(super) unmap_blocks: u32,
    /// A volatile cache must not be used.
    pub(super) writes_through: bool,
    /// Bytes of data that the command wanted to move.
    pub(super) wanted: u64,
}

impl Tools<'_> {
    fn block(&self) -> u64 {
        u64::from(self.geometry.block_size)
    }

    /// Bytes of a block in buffers of the back end.
    fn stride(&self) -> u64 {
        self.protection.map_or(self.block(), |protection| protection.stride() as u64)
    }

    /// Blocks of the next piece, of `left` blocks left.
    fn piece(&self, left: u64) -> u64 {
        left.min(PIECE / self.block())
    }

    /// Reference tag of an address where the command gives no other.
    fn reference(lba: u64) -> u32 {
        let [.., a, b, c, d] = lba.to_be_bytes();
        u32::from_be_bytes([a, b, c, d])
    }

    /// Verifies blocks read by the back end against their protection information, and removes that; for commands that
    /// give no tags.
    pub(super) fn verify_and_strip(&self, lba: u64, buffer: &mut Buffer) -> Result<(), Response> {
        if let Some(protection) = self.protection {
            // The reference tag is only known from the address: no command gives one here.
            let reference = protection.kind == ProtectionType::Type1;
            let checks = ProtectionChecks { guard: true, reference, application: None };
            let verified = protection.verify(buffer.bytes(), Self::reference(lba), &checks);
            verified.map_err(|error| unprotected(error, lba))?;
            self.strip(buffer);
        }
        Ok(())
    }

    /// Removes protection information.
    fn strip(&self, buffer: &mut Buffer) {
        if let Some(protection) = self.protection {
            let len = protection.strip(buffer.bytes_mut());
            buffer.resize(len);
        }
    }

    /// Writes blocks without protection information, which is generated here.
    pub(super) fn write(&mut self, lba: u64, data: Buffer, fua: bool) -> Next {
        self.write_tagged(lba, data, fua, 0, Self::reference(lba))
    }

    fn write_tagged(&mut self, lba: u64, data: Buffer, fua: bool, application: u16, reference: u32) -> Next {
        let Some(protection) = self.protection else {
            return Next::Submit(Operation::Write { lba, buffer: data, fua });
        };
        let Some(mut buffer) = self.pool.take(data.len() / protection.block * protection.stride()) else {
            self.pool.give(data);
            return Response::status(Response::TASK_SET_FULL).into();
        };
        protection.insert(data.bytes(), application, reference, buffer.bytes_mut());
        self.pool.give(data);
        Next::Submit(Operation::Write { lba, buffer, fua })
    }

    fn good(&self) -> Next {
        Response::good(self.wanted).into()
    }

    /// Ends successfully, and returns the buffer to the pool.
    fn done(&mut self, buffer: Option<Buffer>) -> Next {
        self.give(buffer);
        self.good()
    }

    fn give(&mut self, buffer: Option<Buffer>) {
        if let Some(buffer) = buffer {
            self.pool.give(buffer);
        }
    }

    pub(super) fn read(&mut self, lba: u64, blocks: u64) -> Next {
        match usize::try_from(blocks * self.stride()).ok().and_then(|len| self.pool.take(len)) {
            Some(buffer) => Next::Submit(Operation::Read { lba, buffer }),
            None => Response::status(Response::TASK_SET_FULL).into(),
        }
    }
}

/// A command under way.
#[derive(Debug, Default)]
pub(super) enum Work {
    /// None.
    #[default]
    Idle,
    Read(Read),
    Write(Write),
    /// SYNCHRONIZE CACHE, and START STOP UNIT before it stops.
    Flush(Flush),
    Same(Same),
    Unmap(Unmap),
    Verify(Verify),
    Compare(Compare),
    Or(Or),
    SelfTest(SelfTest),
    /// A command's parameter list, but no operation.
    List(Option<Buffer>),
}

impl Work {
    /// Hold that the work needs on the device.
    pub(super) fn hold(&self) -> Hold {
        match self {
            Self::Write(_) | Self::Same(_) | Self::Unmap(_) => Hold::Shared,
            Self::Compare(_) | Self::Or(_) => Hold::Exclusive,
            Self::Idle | Self::Read(_) | Self::Flush(_) | Self::Verify(_) | Self::SelfTest(_) | Self::List(_) => {
                Hold::None
            }
        }
    }

    /// Blocks that the work changes, of `block` bytes; perhaps some more. Its data has arrived.
    pub(super) fn span(&self, block: u64) -> Span {
        let blocks = |data: &Option<Buffer>| data.as_ref().map_or(0, |data| (data.len() as u64).div_ceil(block));
        match self {
            Self::Write(work) => Span::new(work.lba, blocks(&work.data)),
            Self::Same(work) => Span::new(work.lba, work.left),
            Self::Compare(work) => Span::new(work.lba, blocks(&work.data)),
            Self::Or(work) => Span::new(work.lba, blocks(&work.data)),
            // Its ranges may be anywhere.
            Self::Unmap(_) => Span::ALL,
            Self::Idle | Self::Read(_) | Self::Flush(_) | Self::Verify(_) | Self::SelfTest(_) | Self::List(_) => {
                Span::default()
            }
        }
    }

    /// Takes the data out that has arrived.
    pub(super) fn supply(&mut self, buffer: Buffer, pool: &mut Pool) {
        let data = match self {
            Self::Write(work) => &mut work.data,
            Self::Same(work) => &mut work.data,
            Self::Unmap(work) => &mut work.list,
            Self::Verify(work) => &mut work.data,
            Self::Compare(work) => &mut work.data,
            Self::Or(work) => &mut work.data,
            Self::List(list) => list,
            Self::Idle | Self::Read(_) | Self::Flush(_) | Self::SelfTest(_) => return pool.give(buffer),
        };
        if let Some(old) = data.replace(buffer) {
            pool.give(old);
        }
    }

    /// Ends the work and returns its buffers to the pool.
    pub(super) fn release(self, pool: &mut Pool) {
        let data = match self {
            Self::Write(work) => work.data,
            Self::Same(work) => work.data,
            Self::Unmap(work) => work.list,
            Self::Verify(work) => work.data,
            Self::Compare(work) => work.data,
            Self::Or(work) => work.data,
            Self::List(list) => list,
            Self::Idle | Self::Read(_) | Self::Flush(_) | Self::SelfTest(_) => None,
        };
        if let Some(buffer) = data {
            pool.give(buffer);
        }
    }

    /// Next step after an operation has ended, or at the start.
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        match self {
            Self::Idle | Self::List(_) => {
                tools.give(outcome.buffer);
                tools.good()
            }
            Self::Read(work) => work.next(tools, outcome),
            Self::Write(work) => work.next(tools, outcome),
            Self::Flush(work) => work.next(tools, outcome),
            Self::Same(work) => work.next(tools, outcome),
            Self::Unmap(work) => work.next(tools, outcome),
            Self::Verify(work) => work.next(tools, outcome),
            Self::Compare(work) => work.next(tools, outcome),
            Self::Or(work) => work.next(tools, outcome),
            Self::SelfTest(work) => work.next(tools, outcome),
        }
    }
}

/// Handling of protection information by a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guarded {
    /// The protection information is transferred with the blocks.
    pub(super) moved: bool,
    pub(super) checks: ProtectionChecks,
    /// The reference tag of the first block.
    pub(super) reference: u32,
    /// Verified blocks are compared with the guard in the data out.
    compares_guards: bool,
}

impl Guarded {
    /// Handling requested by RDPROTECT or WRPROTECT (SBC-3, clauses 5.11 and 5.33); None for an unknown value.
    pub(super) fn new(kind: ProtectionType, transfer: &Transfer) -> Option<Self> {
        let (guard, tags) = match transfer.protect {
            0 | 1 | 5 => (true, true),
            2 => (false, true),
            3 => (false, false),
            4 => (true, false),
            _ => return None,
        };
        let (reference, known, application) = match transfer.width {
            Width::ThirtyTwo(ProtectionTags { reference, application, application_mask }) => {
                (reference, true, tags.then_some((application, application_mask)))
            }
            _ => (Tools::reference(transfer.lba), kind == ProtectionType::Type1, None),
        };
        let checks = ProtectionChecks { guard, reference: tags && known, application };
        Some(Self { moved: transfer.protect != 0, checks, reference, compares_guards: transfer.protect != 2 })
    }

    /// The same handling, as if protection information came with the blocks.
    pub(super) fn moving(self) -> Self {
        Self { moved: true, ..self }
    }

    /// Verifies blocks against the protection information behind each; they begin at `lba`, after `done` blocks of the
    /// command.
    fn verify(&self, protection: &Protection, blocks: &[u8], lba: u64, done: u64) -> Result<(), Response> {
        let verified = protection.verify(blocks, protection.reference(self.reference, done), &self.checks);
        verified.map_err(|error| unprotected(error, lba))
    }

    /// Application tag of protection information generated here.
    fn application(&self) -> u16 {
        self.checks.application.map_or(0, |(value, mask)| value & mask)
    }
}

/// Response for blocks that do not match their protection information (SBC-3, clause 4.22.5).
fn unprotected(error: ProtectionError, lba: u64) -> Response {
    let (code, block) = match error {
        ProtectionError::Guard(block) => (asc::GUARD_CHECK, block),
        ProtectionError::Application(block) => (asc::APPLICATION_TAG_CHECK, block),
        ProtectionError::Reference(block) => (asc::REFERENCE_TAG_CHECK, block),
    };
    Response::check(&Sense::new(SenseKey::ABORTED_COMMAND, code).at(lba + block))
}

/// READ.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) lba: u64,
    pub(super) blocks: u32,
    /// Handling of protection information; for protected blocks.
    pub(super) guarded: Option<Guarded>,
    /// Flush the cache to the medium before: FUA reads from the medium (SBC-3, clause 5.11).
    pub(super) flush: bool,
}

impl Read {
    fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        if let Err(error) = outcome.result {
            tools.give(outcome.buffer);
            return failure(error, false, self.lba).into();
        }
        if let Some(mut buffer) = outcome.buffer {
            if let (Some(guarded), Some(protection)) = (&self.guarded, tools.protection) {
                if let Err(response) = guarded.verify(protection, buffer.bytes(), self.lba, 0) {
                    tools.pool.give(buffer);
                    return response.into();
                }
                if !guarded.moved {
                    tools.strip(&mut buffer);
                }
            }
            return Next::Step(Step::Send { buffer, then: Response::good(tools.wanted) });
        }
        if std::mem::take(&mut self.flush) {
            return Next::Submit(Operation::Flush);
        }
        tools.read(self.lba, u64::from(self.blocks))
    }
}

/// WRITE, the first half of WRITE AND VERIFY, and the second of COMPARE AND WRITE.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) lba: u64,
    pub(super) fua: bool,
    pub(super) data: Option<Buffer>,
    /// Handling of protection information; for protected blocks.
    pub(super) guarded: Option<Guarded>,
    /// Verification after the write.
    pub(super) then: Option<Verify>,
}

impl Write {
    fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        if let Some(buffer) = self.data.take() {
            let Some(guarded) = self.guarded.as_ref().filter(|guarded| guarded.moved) else {
                let tags = self.guarded.as_ref().map(|guarded| (guarded.reference, guarded.application()));
                let (reference, application) = tags.unwrap_or((Tools::reference(self.lba), 0));
                return tools.write_tagged(self.lba, buffer, self.fua, application, reference);
            };
            let verify = |protection: &Protection| guarded.verify(protection, buffer.bytes(), self.lba, 0);
            return match tools.protection.map_or(Ok(()), verify) {
                Ok(()) => Next::Submit(Operation::Write { lba: self.lba, buffer, fua: self.fua }),
                Err(response) => {
                    tools.pool.give(buffer);
                    response.into()
                }
            };
        }
        if let Err(error) = outcome.result {
            tools.give(outcome.buffer);
            return failure(error, true, self.lba).into();
        }
        match self.then.take() {
            Some(verify) => {
                let mut data = outcome.buffer;
                let moved = verify.guarded.is_some_and(|guarded| guarded.moved);
                if let Some(data) = data.as_mut().filter(|_| !moved) {
                    tools.strip(data);
                }
                Next::Then(Work::Verify(Verify { data, ..verify }))
            }
            None => tools.done(outcome.buffer),
        }
    }
}
