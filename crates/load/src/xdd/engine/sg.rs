//! SCSI disks through Linux's sg: each operation is a command that a thread waits for, as in xdd.

mod node;

use super::{Ended, Engine, Failure, Opened, Request, Shape};
use crate::xdd::sys;
use linerate_block::{BackendError, Buffer, Operation, Tag};
use linerate_port::Sleep;
use linerate_ring::Bell;
use linerate_rt::Sleeper;
use linerate_text::path::from_text;
use linerate_wire::scsi::{Sense, SenseKey};
pub use node::Generic;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Time limit of a command, as in Linux's own disk driver.
const TIMEOUT_MS: u32 = 30_000;
/// Number of times that a command is sent again after a unit attention (SAM-5, clause 5.14).
const ATTENTIONS: u32 = 8;
/// CHECK CONDITION (SAM-5, clause 5.3).
const CHECK_CONDITION: u8 = 2;
/// Bytes of a thread's stack. It calls the kernel and little else, and -processlock keeps all of it in memory.
const STACK: usize = 128 << 10;

/// The data of a command.
#[derive(Debug)]
pub enum Transfer<'a> {
    Nothing,
    /// Data to the device.
    Out(&'a [u8]),
    /// Data from the device.
    In(&'a mut [u8]),
}

impl Transfer<'_> {
    /// The same transfer for another attempt.
    fn again(&mut self) -> Transfer<'_> {
        match self {
            Self::Nothing => Transfer::Nothing,
            Self::Out(data) => Transfer::Out(data),
            Self::In(data) => Transfer::In(data),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// SCSI status (SAM-5, clause 5.3).
    pub status: u8,
    /// Status of the host adapter, 0 for no error.
    pub host: u16,
    /// Status of the driver; its lower four bits are 0 for no error, 8 for sense data present.
    pub driver: u16,
    /// Number of bytes of sense data.
    pub sense_len: u8,
    /// Number of bytes that were not transferred.
    pub residual: u32,
}

/// Executor of SCSI commands.
pub trait ScsiGeneric: Send {
    /// Executes a command and waits for its end, which comes within about `timeout_ms`.
    ///
    /// # Errors
    /// Error of the system, when the command could not be sent at all.
    fn execute(
        &self,
        command: &[u8],
        transfer: Transfer<'_>,
        sense: &mut [u8; 32],
        timeout_ms: u32,
    ) -> io::Result<Outcome>;
}

pub(super) fn open(request: &Request<'_>) -> Opened {
    let target = request.target;
    let path = &from_text(&target.name);
    let disk = node::disk(path, target.writes())?;
    let each = || Generic::open(path, target.writes(), target.request_bytes());
    let engine = Sg::new(each, disk, "SG_IO".into(), target.depth as usize)?;
    Ok(vec![Box::new(engine)])
}

/// Engine for SG_IO.
pub(super) struct Sg {
    shape: Shape,
    common: Arc<Common>,
    threads: Vec<JoinHandle<()>>,
    /// Keeps other programs from the disk while it is written.
    _disk: Option<Arc<File>>,
}

struct Common {
    queues: Mutex<Queues>,
    /// Signals new operations, or the end.
    more: Condvar,
    /// Number of operations that have ended and were not taken, so that polling costs no lock.
    ended: AtomicUsize,
    bell: Bell,
    /// Names of the disk that was opened, if it has any.
    names: Option<Vec<u8>>,
}

#[derive(Default)]
struct Queues {
    wanted: VecDeque<(Tag, Operation)>,
    ended: VecDeque<Ended>,
    closed: bool,
}

impl Sg {
    /// Drives a device with as many threads as operations may be in flight, and keeps `disk` open meanwhile. Each
    /// thread has a descriptor of its own: Linux's sg takes 16 commands at once per descriptor, and refuses more.
    pub(super) fn new<D: ScsiGeneric + 'static>(
        mut open: impl FnMut() -> Result<D, String>,
        disk: Option<Arc<File>>,
        path: String,
        depth: usize,
    ) -> Result<Self, String> {
        let first = open()?;
        let (blocks, block_size) = capacity(&first)?;
        let names = names(&first);
        let mut first = Some(first);
        let system = |e: io::Error| format!("{e}; give a smaller -queuedepth, or see ulimit -n and ulimit -u");
        let queues = Queues {
            wanted: VecDeque::with_capacity(depth + 1),
            ended: VecDeque::with_capacity(depth + 1),
            closed: false,
        };
        let common = Arc::new(Common {
            queues: Mutex::new(queues),
            more: Condvar::new(),
            ended: AtomicUsize::new(0),
            bell: Bell::new().map_err(system)?,
            names,
        });
        let shape = Shape { path, block_size, blocks, read_only: false, protected: false };
        let mut engine = Self { shape, common, threads: Vec::new(), _disk: disk };
        for n in 0..depth {
            let common = engine.common.clone();
            let device = first.take().map_or_else(&mut open, Ok)?;
            let thread = Builder::new().name(format!("sg {n}")).stack_size(STACK);
            let thread = thread.spawn(move || common.serve(&device, block_size));
            engine.threads.push(thread.map_err(system)?);
        }
        Ok(engine)
    }
}

impl Common {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, device: &dyn ScsiGeneric, block_size: u32) {
        // A signal would end the wait for a command, not the command.
        sys::block_signals();
        let mut queues = self.queues();
        loop {
            let Some((tag, operation)) = queues.wanted.pop_front() else {
                if queues.closed {
                    return;
                }
                queues = self.more.wait(queues).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(queues);
            let (buffer, result) = carry_out(device, operation, block_size, self.names.as_deref());
            queues = self.queues();
            queues.ended.push_back(Ended { tag, buffer, result: result.map_err(Box::new) });
            // Released with the queue's contents; the engine's Acquire load sees it and takes the lock.
            self.ended.store(queues.ended.len(), Release);
            self.bell.ring();
        }
    }
}

impl Engine for Sg {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        self.common.queues().wanted.push_back((tag, operation));
        self.common.more.notify_one();
    }

    fn complete(&mut self) -> Option<Ended> {
        if self.common.ended.load(Acquire) == 0 {
            return None;
        }
        let mut queues = self.common.queues();
        let completion = queues.ended.pop_front();
        self.common.ended.store(queues.ended.len(), Release);
        completion
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(self);
    }
}

impl Sleeper for Sg {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        // Cleared before the last check: an operation that ends after the check rings again.
        self.common.bell.clear();
        (self.common.ended.load(Acquire) == 0).then(|| Sleep::on_bell(&self.common.bell))
    }
}

impl Drop for Sg {
    fn drop(&mut self) {
        self.common.queues().closed = true;
        self.common.more.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn carry_out(
    device: &dyn ScsiGeneric,
    operation: Operation,
    block_size: u32,
    known: Option<&[u8]>,
) -> (Option<Buffer>, Result<(), Failure>) {
    let blocks = |len: usize| u32::try_from(len / block_size as usize).unwrap_or(u32::MAX);
    match operation {
        Operation::Read { lba, mut buffer } => {
            let (command, len) = read_or_write(false, false, lba, blocks(buffer.len()));
            let done = whole(device, &command[..len], &mut Transfer::In(buffer.bytes_mut()), known);
            (Some(buffer), done)
        }
        Operation::Write { lba, buffer, fua } => {
            let (command, len) = read_or_write(true, fua, lba, blocks(buffer.len()));
            let done = whole(device, &command[..len], &mut Transfer::Out(buffer.bytes()), known);
            (Some(buffer), done)
        }
        // SYNCHRONIZE CACHE (10), all blocks (SBC-3, clause 5.18).
        Operation::Flush => (None, whole(device, &[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0], &mut Transfer::Nothing, known)),
        Operation::Discard { .. } | Operation::WriteZeroes { .. } => (None, Err(BackendError::Unsupported.into())),
    }
}

/// Executes a command that must transfer all of its data. An attention by which the disk may be another one than the one
/// that was opened is an error, unless it has the same names: the data was meant for that one.
fn whole(
    device: &dyn ScsiGeneric,
    command: &[u8],
    transfer: &mut Transfer<'_>,
    known: Option<&[u8]>,
) -> Result<(), Failure> {
    let goes_on = |sense: &Sense| !sense.questions_identity() || known.is_some() && names(device).as_deref() == known;
    match ask(device, command, transfer, goes_on)? {
        0 => Ok(()),
        residual => Err(Failure::Short(residual)),
    }
}

/// Executes a command, and again after each unit attention that lets it; returns the number of bytes not transferred.
fn ask(
    device: &dyn ScsiGeneric,
    command: &[u8],
    transfer: &mut Transfer<'_>,
    goes_on: impl Fn(&Sense) -> bool,
) -> Result<u32, Failure> {
    for _ in 0..ATTENTIONS {
        let mut sense = [0; 32];
        let outcome = device.execute(command, transfer.again(), &mut sense, TIMEOUT_MS).map_err(Failure::System)?;
        match verdict(&outcome, &sense) {
            Err(Failure::Sense(sense)) if sense.key == SenseKey::UNIT_ATTENTION && goes_on(&sense) => {}
            other => return other.map(|()| outcome.residual),
        }
    }
    Err(Failure::Attentions)
}

/// Result of an outcome.
fn verdict(outcome: &Outcome, sense: &[u8; 32]) -> Result<(), Failure> {
    const DRIVER_SENSE: u16 = 8;
    if outcome.host != 0 || !matches!(outcome.driver & 0xf, 0 | DRIVER_SENSE) {
        return Err(Failure::Transport(outcome.host, outcome.driver));
    }
    match outcome.status {
        0 => Ok(()),
        CHECK_CONDITION => {
            let bytes = &sense[..usize::from(outcome.sense_len).min(sense.len())];
            let sense = Sense::parse(bytes).map_err(|_| Failure::Senseless)?;
            // A deferred error belongs to an earlier command, and this one was not executed (SPC-4, deferred errors).
            let done = matches!(sense.key, SenseKey::NO_SENSE | SenseKey::RECOVERED_ERROR) && !sense.deferred;
            if done { Ok(()) } else { Err(Failure::Sense(sense)) }
        }
        other => Err(Failure::Status(other)),
    }
}

/// READ (10) or WRITE (10) if the range permits, otherwise READ (16) or WRITE (16) (SBC-3, clauses 5.8 to 5.11, 5.25
/// ff.): the command and its length in bytes.
fn read_or_write(write: bool, fua: bool, lba: u64, blocks: u32) -> ([u8; 16], usize) {
    let mut command = [0; 16];
    command[1] = if fua { 8 } else { 0 };
    match (u32::try_from(lba), u16::try_from(blocks)) {
        (Ok(lba), Ok(blocks)) => {
            command[0] = if write { 0x2a } else { 0x28 };
            command[2..6].copy_from_slice(&lba.to_be_bytes());
            command[7..9].copy_from_slice(&blocks.to_be_bytes());
            (command, 10)
        }
        _ => {
            command[0] = if write { 0x8a } else { 0x88 };
            command[2..10].copy_from_slice(&lba.to_be_bytes());
            command[10..14].copy_from_slice(&blocks.to_be_bytes());
            (command, 16)
        }
    }
}

/// Names of a disk: page 83h of its INQUIRY (SPC-4, clause 7.8.5); None if it has none.
fn names(device: &dyn ScsiGeneric) -> Option<Vec<u8>> {
    let (mut data, mut sense) = (vec![0; 252], [0; 32]);
    let outcome = device.execute(&[0x12, 1, 0x83, 0, 252, 0], Transfer::In(&mut data), &mut sense, TIMEOUT_MS).ok()?;
    verdict(&outcome, &sense).ok()?;
    data.truncate(data.len().saturating_sub(usize::try_from(outcome.residual).ok()?));
    (data.len() > 4 && data[1] == 0x83).then_some(data)
}

/// Number of blocks, and bytes per block: READ CAPACITY (16), or (10) for a device that has only that (SBC-3, clauses
/// 5.15, 5.16).
fn capacity<D: ScsiGeneric>(device: &D) -> Result<(u64, u32), String> {
    let mut data = [0; 32];
    let mut long = [0; 16];
    (long[0], long[1], long[13]) = (0x9e, 0x10, 32);
    let by_long = ask(device, &long, &mut Transfer::In(&mut data), |_| true);
    let (last, block) = if by_long.is_ok() {
        (u64::from_be_bytes(data[..8].try_into().unwrap_or_default()), &data[8..12])
    } else {
        let short = [0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        ask(device, &short, &mut Transfer::In(&mut data[..8]), |_| true).map_err(|why| match why {
            Failure::System(e) => format!("SG_IO: {e}; give a SCSI device, or leave out -sgio"),
            why => format!("READ CAPACITY: {why}; is it a disk?"),
        })?;
        (u64::from(u32::from_be_bytes(data[..4].try_into().unwrap_or_default())), &data[4..8])
    };
    let block = u32::from_be_bytes(block.try_into().unwrap_or_default());
    if !block.is_power_of_two() || !(512..=65536).contains(&block) {
        return Err(format!("its blocks are of {block} bytes; only powers of two from 512 to 65536 are used here"));
    }
    Ok((last.saturating_add(1), block))
}

#[cfg(test)]
mod tests;
