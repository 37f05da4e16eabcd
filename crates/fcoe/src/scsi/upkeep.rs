//! FORMAT UNIT and SANITIZE under way: a unit fills its whole medium, and does little else meanwhile (SBC-4, clauses 4.8 and
//! 4.11).
//!
//! A job is a series of pieces, each of a few operations. One job goes on by one operation a
//! [`poll`](super::DeviceServer::poll): it never keeps the server from its other units. Once begun it comes to its end, whoever has asked for it and whatever is
//! reset; it is not known any more after a restart of the program.

use super::disks::Disks;
use super::task::{Owner, Stage};
use super::unit::{MAX_SPAN, Unit, UnitIndex};
use super::work::{Flush, Guarded, Next, Outcome, PIECE, Same, SameStage, Work};
use super::{Response, Step};
use linerate_block::{Pool, Tag};
use linerate_wire::scsi::{Cdb, Sense, SenseKey, Transfer, asc};

/// Work of a unit on its medium.
#[derive(Debug, Default)]
pub(super) enum Upkeep {
    /// Nothing.
    #[default]
    Idle,
    Busy(Box<Job>),
    /// It could not be done, so that nobody knows what the blocks are.
    Failed(Kind),
}

/// Command that a job belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Format,
    /// With AUSE, EXIT FAILURE MODE leaves the failure.
    Sanitize {
        unrestricted: bool,
    },
}

/// Content of the blocks after a pass.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// Zeros; blocks may be deallocated where they read as zeros then.
    Zeroes,
    /// Copies of these bytes, from the first byte of each block on; every second pass inverts them if `invert` is set.
    Pattern { bytes: Vec<u8>, invert: bool },
}

/// A job under way.
#[derive(Debug)]
pub(super) struct Job {
    kind: Kind,
    fill: Fill,
    /// Passes in all, and the present one.
    passes: u32,
    pass: u32,
    /// First block of the present piece.
    lba: u64,
    /// The present piece, or the flush at the end.
    work: Work,
    /// Blocks of the present piece; none for the flush.
    blocks: u64,
    /// Outcome of the last operation; None while one is under way.
    outcome: Option<Outcome>,
    /// It waits for somebody else: for buffers, or for changes that began before.
    blocked: bool,
    /// The command that ends with the job, and the bytes that it wanted to move.
    waiter: Option<Tag>,
    wanted: u64,
}

impl Job {
    pub(super) fn new(kind: Kind, fill: Fill, passes: u32) -> Self {
        Self {
            kind,
            fill,
            passes,
            pass: 0,
            lba: 0,
            work: Work::Idle,
            blocks: 0,
            outcome: Some(Outcome::NONE),
            blocked: false,
            waiter: None,
            wanted: 0,
        }
    }

    /// Share that is done, in 65536ths.
    fn progress(&self, blocks: u64) -> u16 {
        let all = u128::from(blocks) * u128::from(self.passes);
        let done = u128::from(blocks) * u128::from(self.pass) + u128::from(self.lba);
        let [.., high, low] = (done * 0x1_0000 / all.max(1)).min(0xffff).to_be_bytes();
        u16::from_be_bytes([high, low])
    }

    /// Begins the next piece, or the flush behind the last one; false if there are no buffers.
    fn begin(&mut self, unit: &Unit, pool: &mut Pool) -> bool {
        if self.pass == self.passes {
            (self.work, self.blocks) = (Work::Flush(Flush::default()), 0);
            return true;
        }
        let most = if unit.in_memory { PIECE } else { u64::from(MAX_SPAN) };
        let left = (unit.geometry.blocks - self.lba).min(most / unit.block());
        let guarded = unit.protection.and_then(|protection| Guarded::new(protection.kind, &Transfer::new(self.lba, 0)));
        let data = match &self.fill {
            Fill::Zeroes => None,
            Fill::Pattern { bytes, invert } => {
                let len = usize::try_from(unit.stride()).ok();
                let Some(mut block) = len.and_then(|len| pool.take(len)) else { return false };
                // Protection information of all ones is not checked.
                block.bytes_mut().fill(u8::MAX);
                let flip = if *invert && self.pass % 2 == 1 { u8::MAX } else { 0 };
                let own = usize::try_from(unit.block()).unwrap_or(0);
                block.bytes_mut()[..own].iter_mut().zip(bytes.iter().cycle()).for_each(|(to, byte)| *to = byte ^ flip);
                Some(block)
            }
        };
        self.blocks = left;
        self.work = Work::Same(Same {
            lba: self.lba,
            left,
            done: 0,
            unmap: unit.geometry.discards && unit.geometry.discard_zeroes,
            data,
            guarded: guarded.map(Guarded::moving),
            stage: SameStage::Begin,
        });
        true
    }

    /// Counts the present piece as done; true if that was all.
    fn advance(&mut self, unit_blocks: u64, volatile: bool) -> bool {
        if self.blocks == 0 {
            return true;
        }
        self.lba += self.blocks;
        if self.lba >= unit_blocks {
            (self.lba, self.pass) = (0, self.pass + 1);
        }
        self.pass == self.passes && !volatile
    }
}

impl Upkeep {
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// Sense data about it; `blocks` is the unit's size.
    pub(super) fn sense(&self, blocks: u64) -> Option<Sense> {
        Some(match self {
            Self::Idle => return None,
            Self::Busy(job) => {
                let code = if job.kind == Kind::Format { asc::FORMATTING } else { asc::SANITIZING };
                Sense::new(SenseKey::NOT_READY, code).progressed(job.progress(blocks))
            }
            Self::Failed(Kind::Format) => Sense::new(SenseKey::MEDIUM_ERROR, asc::FORMAT_CORRUPTED),
            Self::Failed(Kind::Sanitize { .. }) => Sense::new(SenseKey::MEDIUM_ERROR, asc::SANITIZE_FAILED),
        })
    }

    /// True if a command is executed all the same: while it is busy, those that tell of the unit; after a failure, those that
    /// do not touch the medium, and those that try again.
    pub(super) fn admits(&self, cdb: &Cdb) -> bool {
        match self {
            Self::Idle => true,
            Self::Busy(_) => matches!(
                cdb,
                Cdb::Inquiry { .. }
                    | Cdb::ReportLuns { .. }
                    | Cdb::RequestSense { .. }
                    | Cdb::ReportSupportedOperationCodes { .. }
            ),
            Self::Failed(kind) => match cdb {
                Cdb::FormatUnit { .. } => *kind == Kind::Format,
                Cdb::TestUnitReady
                | Cdb::Read(_)
                | Cdb::Write(_)
                | Cdb::WriteAndVerify { .. }
                | Cdb::OrWrite(_)
                | Cdb::Verify { .. }
                | Cdb::PreFetch { .. }
                | Cdb::WriteSame { .. }
                | Cdb::Unmap { .. }
                | Cdb::CompareAndWrite { .. }
                | Cdb::GetLbaStatus { .. } => false,
                _ => true,
            },
        }
    }
}

impl Disks {
    /// Begins a job of a command that has moved `wanted` bytes; an immediate one ends at once, any other with the job.
    pub(super) fn maintain(&mut self, tag: Tag, mut job: Job, immediate: bool, wanted: u64) -> Step {
        let index = self.tasks[tag].unit;
        if !immediate {
            // What comes after it does not wait, but is told.
            self.end_task(tag);
            self.tasks[tag].stage = Stage::Maintaining;
            (job.waiter, job.wanted) = (Some(tag), wanted);
        }
        self.units[index].upkeep = Upkeep::Busy(Box::new(job));
        self.tended.push_back(index);
        if immediate { Step::End(Response::good(wanted)) } else { Step::Pending }
    }

    /// The command that waited for a job is gone.
    pub(super) fn forget_waiter(&mut self, index: UnitIndex) {
        if let Upkeep::Busy(job) = &mut self.units[index].upkeep {
            job.waiter = None;
        }
    }

    /// Ends a job whose unit is removed, without an outcome.
    pub(super) fn give_up(&mut self, index: UnitIndex) {
        if let Upkeep::Busy(job) = std::mem::take(&mut self.units[index].upkeep) {
            job.work.release(&mut self.pool);
            let buffer = job.outcome.and_then(|outcome| outcome.buffer);
            buffer.into_iter().for_each(|buffer| self.pool.give(buffer));
        }
        self.tended.retain(|tended| *tended != index);
    }

    /// Lets the next job that can go on do so by one operation.
    #[inline]
    pub(super) fn tend(&mut self) {
        for _ in 0..self.tended.len() {
            let Some(index) = self.tended.pop_front() else { return };
            let waits = matches!(&self.units[index].upkeep, Upkeep::Busy(job) if job.outcome.is_none());
            let ended = self.tend_unit(index);
            if !ended {
                self.tended.push_back(index);
            }
            let blocked = matches!(&self.units[index].upkeep, Upkeep::Busy(job) if job.blocked);
            if !waits && !blocked {
                return;
            }
        }
    }

    /// True if a job can go on without any event.
    pub(super) fn is_tending(&self) -> bool {
        self.tended.iter().any(
            |index| matches!(&self.units[*index].upkeep, Upkeep::Busy(job) if job.outcome.is_some() && !job.blocked),
        )
    }

    /// The outcome of a job's operation.
    pub(super) fn tended(&mut self, index: UnitIndex, outcome: Outcome) {
        match &mut self.units[index].upkeep {
            Upkeep::Busy(job) => job.outcome = Some(outcome),
            _ => outcome.buffer.into_iter().for_each(|buffer| self.pool.give(buffer)),
        }
    }

    /// Lets the job of a unit go on; true if it has ended.
    fn tend_unit(&mut self, index: UnitIndex) -> bool {
        let unit = &mut self.units[index];
        let Upkeep::Busy(mut job) = std::mem::take(&mut unit.upkeep) else { return true };
        let ended = self.go_on(index, &mut job);
        let Some(response) = ended else {
            self.units[index].upkeep = Upkeep::Busy(job);
            return false;
        };
        if response.status != Response::GOOD {
            self.units[index].upkeep = Upkeep::Failed(job.kind);
        }
        if let Some(tag) = job.waiter {
            let response = self.count(index, Response { wanted: job.wanted, ..response });
            self.tasks[tag].stage = Stage::Ready;
            self.ready.push_back((tag, Step::End(response)));
        }
        true
    }

    /// Submits the next operation of a job; its response, if there is none.
    fn go_on(&mut self, index: UnitIndex, job: &mut Job) -> Option<Response> {
        let unit = &self.units[index];
        job.blocked = !unit.holds.is_free();
        if job.blocked {
            return None;
        }
        let mut outcome = job.outcome.take()?;
        loop {
            let unit = &self.units[index];
            if matches!(job.work, Work::Idle) {
                job.blocked = !job.begin(unit, &mut self.pool);
                if job.blocked {
                    job.outcome = Some(Outcome::NONE);
                    return None;
                }
            }
            let mut tools = unit.tools(&mut self.pool, 0);
            let response = match job.work.next(&mut tools, outcome) {
                Next::Submit(operation) => {
                    job.outcome = self.launch(index, Owner::Upkeep, operation).ok();
                    return None;
                }
                Next::Then(work) => {
                    (job.work, outcome) = (work, Outcome::NONE);
                    continue;
                }
                Next::Step(Step::End(response)) => response,
                Next::Step(_) => Response::good(0),
            };
            job.work = Work::Idle;
            outcome = Outcome::NONE;
            match response.status {
                Response::GOOD => {
                    let geometry = &self.units[index].geometry;
                    if job.advance(geometry.blocks, geometry.volatile) {
                        return Some(Response::good(0));
                    }
                }
                // The piece begins again when there are buffers.
                Response::TASK_SET_FULL => {
                    (job.blocked, job.outcome) = (true, Some(outcome));
                    return None;
                }
                _ => {
                    let code = if job.kind == Kind::Format { asc::FORMAT_FAILED } else { asc::SANITIZE_FAILED };
                    return Some(Response::check(&Sense::new(SenseKey::MEDIUM_ERROR, code)));
                }
            }
        }
    }
}
