//! A command as a series of operations of its back end, one after another.

mod compare;
mod provision;

pub(super) use compare::{Compare, Verify};
pub(super) use provision::{Same, SameStage, Unmap};

use super::hold::Hold;
use super::response::failure;
use super::{Response, Step};
use crate::{BackendError, Buffer, Geometry, Operation, Pool};

/// Octets that one operation of a longer series moves.
const PIECE: u64 = 1 << 20;

/// What comes next.
pub(super) enum Next {
    Submit(Operation),
    Step(Step),
}

impl From<Response> for Next {
    fn from(response: Response) -> Self {
        Self::Step(Step::End(response))
    }
}

/// How the last operation ended; at first there was none, and nothing failed.
pub(super) struct Outcome {
    pub(super) result: Result<(), BackendError>,
    pub(super) buffer: Option<Buffer>,
}

impl Outcome {
    pub(super) const NONE: Self = Self { result: Ok(()), buffer: None };
}

/// What a series needs besides itself.
pub(super) struct Tools<'a> {
    pub(super) geometry: &'a Geometry,
    pub(super) pool: &'a mut Pool,
    /// Octets of data that the command wanted to move.
    pub(super) wanted: u64,
}

impl Tools<'_> {
    fn block(&self) -> u64 {
        u64::from(self.geometry.block_size)
    }

    /// Blocks of the next piece of `left` blocks, and their octets.
    fn piece(&self, left: u64) -> (u64, usize) {
        let blocks = left.min(PIECE / self.block());
        (blocks, usize::try_from(blocks * self.block()).unwrap_or(0))
    }

    fn good(&self) -> Next {
        Response::good(self.wanted).into()
    }

    /// Ends well, and the buffer is used again.
    fn done(&mut self, buffer: Option<Buffer>) -> Next {
        self.give(buffer);
        self.good()
    }

    fn give(&mut self, buffer: Option<Buffer>) {
        if let Some(buffer) = buffer {
            self.pool.give(buffer);
        }
    }

    fn read(&mut self, lba: u64, len: usize) -> Next {
        match self.pool.take(len) {
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
}

impl Work {
    /// What it needs of others.
    pub(super) fn hold(&self) -> Hold {
        match self {
            Self::Write(_) | Self::Same(_) | Self::Unmap(_) => Hold::Shared,
            Self::Compare(_) => Hold::Exclusive,
            Self::Idle | Self::Read(_) | Self::Flush(_) | Self::Verify(_) => Hold::None,
        }
    }

    /// Data out has come.
    pub(super) fn supply(&mut self, buffer: Buffer, pool: &mut Pool) {
        let data = match self {
            Self::Write(work) => &mut work.data,
            Self::Same(work) => &mut work.data,
            Self::Unmap(work) => &mut work.list,
            Self::Verify(work) => &mut work.data,
            Self::Compare(work) => &mut work.data,
            Self::Idle | Self::Read(_) | Self::Flush(_) => return pool.give(buffer),
        };
        if let Some(old) = data.replace(buffer) {
            pool.give(old);
        }
    }

    /// It is no more: what it has kept is used again.
    pub(super) fn release(self, pool: &mut Pool) {
        let data = match self {
            Self::Write(work) => work.data,
            Self::Same(work) => work.data,
            Self::Unmap(work) => work.list,
            Self::Verify(work) => work.data,
            Self::Compare(work) => work.data,
            Self::Idle | Self::Read(_) | Self::Flush(_) => None,
        };
        if let Some(buffer) = data {
            pool.give(buffer);
        }
    }

    /// After an operation has ended, or at first.
    pub(super) fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        match self {
            Self::Idle => {
                tools.give(outcome.buffer);
                tools.good()
            }
            Self::Read(work) => work.next(tools, outcome),
            Self::Write(work) => match work.next(tools, outcome) {
                Ok(next) => next,
                Err(verify) => {
                    *self = Self::Verify(verify);
                    self.next(tools, Outcome::NONE)
                }
            },
            Self::Flush(work) => work.next(tools, outcome),
            Self::Same(work) => work.next(tools, outcome),
            Self::Unmap(work) => work.next(tools, outcome),
            Self::Verify(work) => work.next(tools, outcome),
            Self::Compare(work) => work.next(tools, outcome),
        }
    }
}

/// READ.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) lba: u64,
    pub(super) len: u32,
    /// Put the cache on the medium before: FUA reads from the medium (SBC-3, clause 5.11).
    pub(super) flush: bool,
}

impl Read {
    fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        if let Err(error) = outcome.result {
            tools.give(outcome.buffer);
            return failure(error, false, self.lba).into();
        }
        if let Some(buffer) = outcome.buffer {
            return Next::Step(Step::Send { buffer, then: Response::good(tools.wanted) });
        }
        if std::mem::take(&mut self.flush) {
            return Next::Submit(Operation::Flush);
        }
        tools.read(self.lba, usize::try_from(self.len).unwrap_or(usize::MAX))
    }
}

/// WRITE, and the first half of WRITE AND VERIFY.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) lba: u64,
    pub(super) fua: bool,
    pub(super) data: Option<Buffer>,
    /// What is verified when it is written.
    pub(super) then: Option<Verify>,
}

impl Write {
    fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Result<Next, Verify> {
        if let Some(buffer) = self.data.take() {
            return Ok(Next::Submit(Operation::Write { lba: self.lba, buffer, fua: self.fua }));
        }
        if let Err(error) = outcome.result {
            tools.give(outcome.buffer);
            return Ok(failure(error, true, self.lba).into());
        }
        match self.then.take() {
            Some(verify) => Err(Verify { data: outcome.buffer, ..verify }),
            None => Ok(tools.done(outcome.buffer)),
        }
    }
}

/// One flush.
#[derive(Debug, Default)]
pub(super) struct Flush {
    asked: bool,
}

impl Flush {
    fn next(&mut self, tools: &mut Tools<'_>, outcome: Outcome) -> Next {
        tools.give(outcome.buffer);
        if let Err(error) = outcome.result {
            return failure(error, true, 0).into();
        }
        if std::mem::replace(&mut self.asked, true) { tools.good() } else { Next::Submit(Operation::Flush) }
    }
}
