//! SCSI disks through Linux's sg: each operation is a command that some thread waits for, as in xdd.

use super::{Engine, Opened, Request, Shape};
use crate::xdd::sys::sg;
use linerate_fcoe::{BackendError, Buffer, Completion, Operation, Tag};
use linerate_port::Interest;
use linerate_ring::Bell;
use linerate_rt::Sleeper;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// How long a command may take, as Linux's own disk driver has it.
const TIMEOUT_MS: u32 = 30_000;
/// How often a command is sent again that a unit attention kept from being done (SAM-5, clause 5.14).
const ATTENTIONS: u32 = 8;
/// CHECK CONDITION (SAM-5, clause 5.3).
const CHECK_CONDITION: u8 = 2;

/// The data of a command.
#[derive(Debug)]
pub enum Transfer<'a> {
    /// None.
    Nothing,
    /// To the device.
    Out(&'a [u8]),
    /// From the device.
    In(&'a mut [u8]),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The SCSI status (SAM-5, clause 5.3).
    pub status: u8,
    /// What the host adapter says, 0 for nothing wrong.
    pub host: u16,
    /// What the driver says; its lower four bits are 0 for nothing wrong, 8 says that there is sense data.
    pub driver: u16,
    /// Octets of sense data.
    pub sense_len: u8,
    /// Octets that were not transferred.
    pub residual: u32,
}

/// What executes SCSI commands, several at a time.
pub trait ScsiGeneric: Send + Sync {
    /// Executes a command and waits for its end, which comes within about `timeout_ms`.
    ///
    /// # Errors
    /// The system's, when the command could not be sent at all.
    fn execute(
        &self,
        command: &[u8],
        transfer: Transfer<'_>,
        sense: &mut [u8; 32],
        timeout_ms: u32,
    ) -> io::Result<Outcome>;
}

/// A device that takes the SG_IO ioctl: /dev/sgN, or a SCSI disk's block device.
#[derive(Debug)]
pub struct Generic(File);

impl ScsiGeneric for Generic {
    fn execute(
        &self,
        command: &[u8],
        transfer: Transfer<'_>,
        sense: &mut [u8; 32],
        timeout_ms: u32,
    ) -> io::Result<Outcome> {
        sg::execute(self.0.as_fd(), command, transfer, sense, timeout_ms)
    }
}

/// Opens a target's device.
pub(super) fn open(request: &Request<'_>) -> Opened {
    let target = request.target;
    // sg lets a read through a descriptor that may not write; nothing else.
    let file = OpenOptions::new().read(true).write(target.writes()).open(&target.name);
    let file = file.map_err(|e| format!("{e}; give a device that this user may open"))?;
    let depth = target.depth as usize;
    let engine = Sg::new(Arc::new(Generic(file)), "SG_IO".into(), depth)?;
    Ok(vec![Box::new(engine)])
}

/// The engine.
pub(super) struct Sg {
    shape: Shape,
    common: Arc<Common>,
    threads: Vec<JoinHandle<()>>,
}

struct Common {
    device: Arc<dyn ScsiGeneric>,
    queues: Mutex<Queues>,
    /// There is something to do, or no more will come.
    more: Condvar,
    /// Operations that have ended and were not taken, so that asking for one costs no lock.
    ended: AtomicUsize,
    bell: Bell,
}

#[derive(Default)]
struct Queues {
    wanted: VecDeque<(Tag, Operation)>,
    ended: VecDeque<Completion>,
    closed: bool,
}

impl Sg {
    /// Drives a device with so many threads as operations may be under way.
    ///
    /// # Errors
    /// Why its capacity cannot be read, or the threads cannot be started.
    pub(super) fn new(device: Arc<dyn ScsiGeneric>, path: String, depth: usize) -> Result<Self, String> {
        let (blocks, block_size) = capacity(&*device)?;
        let system = |e: io::Error| format!("{e}; free some threads or descriptors");
        let queues = Queues {
            wanted: VecDeque::with_capacity(depth + 1),
            ended: VecDeque::with_capacity(depth + 1),
            closed: false,
        };
        let common = Arc::new(Common {
            device,
            queues: Mutex::new(queues),
            more: Condvar::new(),
            ended: AtomicUsize::new(0),
            bell: Bell::new().map_err(system)?,
        });
        let mut engine =
            Self { shape: Shape { path, block_size, blocks, read_only: false }, common, threads: Vec::new() };
        for n in 0..depth {
            let common = engine.common.clone();
            let thread = linerate_rt::spawn(&format!("sg {n}"), &[], move || common.serve(block_size));
            engine.threads.push(thread.map_err(system)?);
        }
        Ok(engine)
    }
}

impl Common {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, block_size: u32) {
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
            let (buffer, result) = carry_out(&*self.device, operation, block_size);
            queues = self.queues();
            queues.ended.push_back(Completion { tag, buffer, result });
            // Released with the queue's content; the engine's Acquire load sees it and takes the lock.
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

    fn complete(&mut self) -> Option<Completion> {
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
    fn fall_asleep(&mut self) -> bool {
        // Cleared before the last look: what ends after the look rings again.
        self.common.bell.clear();
        self.common.ended.load(Acquire) == 0
    }
    fn wake_up(&mut self) {}
    fn waits_on(&self) -> Option<(BorrowedFd<'_>, Interest)> {
        Some((self.common.bell.as_fd(), Interest::Readable))
    }
    fn due(&self) -> Option<Instant> {
        None
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
) -> (Option<Buffer>, Result<(), BackendError>) {
    let blocks = |len: usize| u32::try_from(len / block_size as usize).unwrap_or(u32::MAX);
    match operation {
        Operation::Read { lba, mut buffer } => {
            let (command, len) = read_or_write(false, false, lba, blocks(buffer.len()));
            let done = command_again(device, &command[..len], &mut |d, c, s| {
                d.execute(c, Transfer::In(buffer.bytes_mut()), s, TIMEOUT_MS)
            });
            (Some(buffer), done)
        }
        Operation::Write { lba, buffer, fua } => {
            let (command, len) = read_or_write(true, fua, lba, blocks(buffer.len()));
            let done = command_again(device, &command[..len], &mut |d, c, s| {
                d.execute(c, Transfer::Out(buffer.bytes()), s, TIMEOUT_MS)
            });
            (Some(buffer), done)
        }
        Operation::Flush => {
            // SYNCHRONIZE CACHE (10), all blocks (SBC-3, clause 5.18).
            let command = [0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            let done = command_again(device, &command, &mut |d, c, s| d.execute(c, Transfer::Nothing, s, TIMEOUT_MS));
            (None, done)
        }
        Operation::Discard { .. } | Operation::WriteZeroes { .. } => (None, Err(BackendError::Unsupported)),
    }
}

type Send1<'a> = &'a mut dyn FnMut(&dyn ScsiGeneric, &[u8], &mut [u8; 32]) -> io::Result<Outcome>;

/// Sends a command, and again after each unit attention.
fn command_again(device: &dyn ScsiGeneric, command: &[u8], send: Send1<'_>) -> Result<(), BackendError> {
    for _ in 0..ATTENTIONS {
        let mut sense = [0; 32];
        let outcome = send(device, command, &mut sense).map_err(|_| BackendError::Gone)?;
        match verdict(&outcome, &sense) {
            Err(Trouble::Attention) => {}
            Err(Trouble::Failed(why)) => return Err(why),
            Ok(()) if outcome.residual > 0 => return Err(BackendError::Medium),
            Ok(()) => return Ok(()),
        }
    }
    Err(BackendError::Medium)
}

enum Trouble {
    Attention,
    Failed(BackendError),
}

/// What an outcome means, by its sense key (SPC-4, clause 4.5).
fn verdict(outcome: &Outcome, sense: &[u8; 32]) -> Result<(), Trouble> {
    const DRIVER_SENSE: u16 = 8;
    if outcome.host != 0 || !matches!(outcome.driver & 0xf, 0 | DRIVER_SENSE) {
        return Err(Trouble::Failed(BackendError::Gone));
    }
    match outcome.status {
        0 => Ok(()),
        CHECK_CONDITION => {
            let key = match (outcome.sense_len, sense[0] & 0x7f) {
                (3.., 0x70 | 0x71) => sense[2] & 0xf,
                (2.., 0x72 | 0x73) => sense[1] & 0xf,
                _ => return Err(Trouble::Failed(BackendError::Medium)),
            };
            match key {
                // No sense, recovered error.
                0 | 1 => Ok(()),
                5 => Err(Trouble::Failed(BackendError::Unsupported)),
                6 => Err(Trouble::Attention),
                7 => Err(Trouble::Failed(BackendError::ReadOnly)),
                _ => Err(Trouble::Failed(BackendError::Medium)),
            }
        }
        _ => Err(Trouble::Failed(BackendError::Medium)),
    }
}

/// READ (10) or WRITE (10) where they reach, otherwise READ (16) or WRITE (16) (SBC-3, clauses 5.8 to 5.11, 5.25 ff.):
/// the command and how many octets of it count.
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

/// Blocks there are, and octets of each: READ CAPACITY (16), or (10) of a device that has only that (SBC-3, clauses 5.15,
/// 5.16).
fn capacity(device: &dyn ScsiGeneric) -> Result<(u64, u32), String> {
    let mut data = [0; 32];
    let mut long = [0; 16];
    (long[0], long[1], long[13]) = (0x9e, 0x10, 32);
    let mut ask = |command: &[u8], len: usize| -> Result<(), String> {
        for _ in 0..ATTENTIONS {
            let mut sense = [0; 32];
            let outcome = device.execute(command, Transfer::In(&mut data[..len]), &mut sense, TIMEOUT_MS);
            let outcome = outcome.map_err(|e| format!("SG_IO: {e}; give a SCSI device, or leave out -sgio"))?;
            match verdict(&outcome, &sense) {
                Ok(()) => return Ok(()),
                Err(Trouble::Attention) => {}
                Err(Trouble::Failed(why)) => return Err(format!("READ CAPACITY: {why}; is it a disk?")),
            }
        }
        Err("READ CAPACITY: unit attentions without end; is it a disk?".into())
    };
    let by_long = ask(&long, 32);
    let (last, block) = if by_long.is_ok() {
        (u64::from_be_bytes(data[..8].try_into().unwrap_or_default()), &data[8..12])
    } else {
        ask(&[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], 8).map_err(|why| by_long.err().unwrap_or(why))?;
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
