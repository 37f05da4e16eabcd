//! An operation on a remote disk: one SCSI command, or several in a row.

use super::RemoteUnit;
use super::integrity::{Edge, Mismatch};
use linerate_block::{BackendError, Buffer, Completion, Operation, Pool, Tag};
use linerate_fcoe::{Command, Data, FoundLun, PeerId, ProtectionTuple};

/// Bytes of protection information for a block.
const TUPLE: usize = ProtectionTuple::LEN;
/// Tries of a command that the target refuses temporarily or does not answer in time, as many as Linux's, and the time
/// in ns for which there are more if they end sooner.
const TRIES: u8 = 6;
const PATIENCE: u64 = 30_000_000_000;
/// Pause before a command is tried again, in ns; each is twice as long as the one before, up to the longest.
const PAUSE: u64 = 2_000_000;
const LONGEST_PAUSE: u64 = 1_000_000_000;
/// Most bytes that one command transfers. Class 3 cannot retransmit a part: one lost frame costs the whole command, and
/// a long one may lose a frame each time.
const MOST: u32 = 512 << 10;

/// Next step of a job.
pub(super) enum Next {
    Command(Command),
    /// End: all is done.
    Done,
    /// End: the disk does not support the operation.
    Never,
    /// End: the data does not match its protection information.
    Damaged(Mismatch),
}

/// Kind of the commands of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Read,
    Write,
    Flush,
    Discard,
    /// Zeros by WRITE SAME; true if blocks may be deallocated.
    Zero(bool),
    /// Zeros by WRITE.
    WriteZeros,
}

/// An operation under way.
pub(super) struct Job {
    unit: usize,
    tag: Tag,
    what: What,
    /// The next block, and the number of blocks left.
    lba: u64,
    left: u64,
    /// Number of blocks of the command under way.
    piece: u64,
    /// A flush follows at the end.
    fua: bool,
    /// Number of tries of the command under way that have failed, and the time of the first failure.
    tries: u8,
    failing: u64,
    block: usize,
    /// The operation's buffer, while no command has it.
    buffer: Option<Buffer>,
    /// Checks of its blocks' protection information, if they have any.
    edge: Option<Edge>,
    /// Protection information of the operation's buffer.
    tuples: Vec<u8>,
    /// Offset in the buffer of the piece that the command under way transfers; None if it has the whole buffer.
    at: Option<usize>,
    /// Time at which the disk became unreachable during the operation, and the session that its command was sent in.
    lost: Option<(u64, Option<PeerId>)>,
    /// Number of commands of the disk that had written when the command under way was sent.
    pub(super) sent: u64,
}

/// Completion of an operation that was not begun.
pub(super) fn refused(tag: Tag, operation: Operation, error: BackendError) -> Completion {
    let buffer = match operation {
        Operation::Read { buffer, .. } | Operation::Write { buffer, .. } => Some(buffer),
        _ => None,
    };
    Completion { tag, buffer, result: Err(error) }
}

/// A buffer for a piece, from the pool while that has any.
fn take(pool: &mut Pool, len: usize) -> Buffer {
    pool.take(len).unwrap_or_else(|| Buffer::new(len))
}

impl Job {
    pub(super) fn new(index: usize, tag: Tag, operation: Operation, unit: &RemoteUnit) -> Result<Self, Completion> {
        let (lun, edge) = (&unit.lun, unit.edge);
        let block = lun.block_size as usize;
        let blocks = |buffer: &Buffer| (buffer.len() / block) as u64;
        let writes = !matches!(operation, Operation::Read { .. } | Operation::Flush);
        if writes && lun.read_only {
            return Err(refused(tag, operation, BackendError::ReadOnly));
        }
        let (what, lba, left, fua, buffer) = match operation {
            Operation::Read { lba, buffer } => (What::Read, lba, blocks(&buffer), false, Some(buffer)),
            Operation::Write { lba, buffer, fua } => (What::Write, lba, blocks(&buffer), fua && !lun.fua, Some(buffer)),
            Operation::Flush => (What::Flush, 0, 1, false, None),
            Operation::Discard { lba, blocks } => (What::Discard, lba, blocks, false, None),
            Operation::WriteZeroes { lba, blocks, discard, fua } => {
                (What::Zero(discard && lun.zeroes), lba, blocks, fua, None)
            }
        };
        let tuples = match (&edge, &buffer) {
            (Some(edge), Some(data)) if what == What::Write => edge.generate(lba, data.bytes()),
            (Some(edge), Some(data)) => edge.room(data.len()),
            _ => Vec::new(),
        };
        let (unit, lost) = (index, None);
        Ok(Self {
            unit,
            tag,
            what,
            lba,
            left,
            piece: 0,
            fua,
            tries: 0,
            failing: 0,
            block,
            buffer,
            edge,
            tuples,
            at: None,
            lost,
            sent: 0,
        })
    }

    pub(super) fn unit(&self) -> usize {
        self.unit
    }

    /// Blocks left, and the operation's buffer.
    #[cfg(test)]
    pub(super) fn memory(&mut self) -> (u64, &mut [u8]) {
        (self.left, self.buffer.as_mut().map_or(&mut [], Buffer::bytes_mut))
    }

    pub(super) fn has_command(&self) -> bool {
        self.left > 0 || self.fua
    }

    pub(super) fn next(&mut self, tag: Tag, lun: &FoundLun, pool: &mut Pool, timeout: u64) -> Next {
        if self.left == 0 {
            if let Err(mismatch) = self.check() {
                return Next::Damaged(mismatch);
            }
            if !std::mem::take(&mut self.fua) {
                return Next::Done;
            }
            (self.what, self.left) = (What::Flush, 1);
        }
        let command = match self.what {
            What::Read | What::Write => match self.transfer_buffer(lun, pool) {
                Ok(Some(buffer)) if self.what == What::Write => lun.write(tag, self.lba, buffer, true, timeout),
                Ok(Some(buffer)) => lun.read(tag, self.lba, buffer, timeout),
                Ok(None) => None,
                Err(mismatch) => return Next::Damaged(mismatch),
            },
            What::Flush => {
                self.piece = self.left;
                lun.flush(tag, timeout)
            }
            What::Discard => lun.unmap_pieces(self.lba, self.left).next().and_then(|piece| {
                self.piece = piece.1.into();
                lun.unmap(tag, &[piece], timeout)
            }),
            What::Zero(discard) => lun.write_same_pieces(self.lba, self.left).next().and_then(|piece| {
                self.piece = piece.1.into();
                lun.write_same(tag, piece, self.zeros(1, lun, pool), discard, timeout)
            }),
            What::WriteZeros => {
                let most = (MOST / lun.block_size).max(1).min(lun.max_transfer);
                self.piece = self.left.min(most.into());
                lun.write(tag, self.lba, self.zeros(self.piece, lun, pool), false, timeout)
            }
        };
        command.map_or(Next::Never, Next::Command)
    }

    /// Zeros for this number of the next blocks.
    fn zeros(&self, blocks: u64, lun: &FoundLun, pool: &mut Pool) -> Buffer {
        let mut buffer = take(pool, usize::try_from(blocks).unwrap_or(0) * lun.stride());
        match &self.edge {
            Some(edge) => {
                let deallocates = self.what == What::Zero(true) && lun.write_same_unmaps;
                edge.zeros(self.lba, deallocates, buffer.bytes_mut());
            }
            None => buffer.bytes_mut().fill(0),
        }
        buffer
    }

    /// Buffer for the next READ or WRITE: the operation's, or one for a piece of it if the disk accepts no more at once,
    /// or if its blocks carry protection information.
    fn transfer_buffer(&mut self, lun: &FoundLun, pool: &mut Pool) -> Result<Option<Buffer>, Mismatch> {
        let Some(whole) = self.buffer.as_ref().map(Buffer::len) else { return Ok(None) };
        let most = u64::from(lun.max_transfer.min(MOST / lun.block_size).max(1));
        self.piece = self.left.min(most);
        let all = (whole / self.block) as u64;
        if all <= most && self.edge.is_none() {
            return Ok(self.buffer.take());
        }
        let (Ok(first), Ok(blocks)) = (usize::try_from(all - self.left), usize::try_from(self.piece)) else {
            return Ok(None);
        };
        let mut piece = take(pool, blocks * lun.stride());
        let range = first * self.block..(first + blocks) * self.block;
        self.at = Some(range.start);
        if let Some(whole) = self.buffer.as_ref().filter(|_| self.what == What::Write) {
            let data = &whole.bytes()[range];
            match &self.edge {
                Some(edge) => {
                    let joined = edge.join(self.lba, data, &self.tuples[first * TUPLE..], piece.bytes_mut());
                    if let Err(mismatch) = joined {
                        pool.give(piece);
                        return Err(mismatch);
                    }
                }
                None => piece.bytes_mut().copy_from_slice(data),
            }
        }
        Ok(Some(piece))
    }

    /// Compares the data read with its protection information, now that all of it is in place.
    fn check(&mut self) -> Result<(), Mismatch> {
        match (&self.edge, &self.buffer) {
            (Some(edge), Some(data)) if self.what == What::Read => {
                // What is told of a mismatch is about all of them.
                self.piece = (data.len() / self.block) as u64;
                edge.check(self.lba.saturating_sub(self.piece), data.bytes(), &self.tuples)
            }
            _ => Ok(()),
        }
    }

    /// Takes back a command that was not accepted: it will be submitted again.
    pub(super) fn take_back(&mut self, command: Command, pool: &mut Pool) {
        let buffer = match command.data {
            Data::In(buffer) | Data::Out(buffer) => Some(buffer),
            Data::None => None,
        };
        self.again(buffer, pool);
    }

    /// Takes back the buffer of a command that failed: it will be submitted again.
    pub(super) fn again(&mut self, buffer: Option<Buffer>, pool: &mut Pool) {
        if self.at.take().is_none() && matches!(self.what, What::Read | What::Write) && self.buffer.is_none() {
            self.buffer = buffer;
        } else if let Some(piece) = buffer {
            pool.give(piece);
        }
    }

    /// Records that the disk is unreachable.
    pub(super) fn lose(&mut self, since: u64, session: Option<PeerId>) {
        self.lost = Some((self.lost.map_or(since, |(before, _)| before.min(since)), session));
    }

    /// Time since when the disk has been unreachable, and the last session that a command was sent in.
    pub(super) fn lost(&self) -> Option<(u64, Option<PeerId>)> {
        self.lost
    }

    /// Counts a failure; the time at which the command may be tried again, if it may: the first time at once, unless
    /// that is in vain.
    pub(super) fn try_again(&mut self, now: u64, at_once: bool) -> Option<u64> {
        if self.tries == 0 {
            self.failing = now;
        }
        self.tries = self.tries.saturating_add(1);
        if self.tries >= TRIES && now.saturating_sub(self.failing) >= PATIENCE {
            return None;
        }
        let pause = if at_once && self.tries == 1 { 0 } else { PAUSE << self.tries.min(20) };
        Some(now.saturating_add(pause.min(LONGEST_PAUSE)))
    }

    /// True if some of its blocks are not on the disk.
    pub(super) fn is_beyond(&self, lun: &FoundLun) -> bool {
        self.what != What::Flush && !lun.holds(self.lba, self.left)
    }

    /// Description of the command under way or the last one, or of the operation before its first one, for the user.
    pub(super) fn about(&self) -> String {
        let (lba, blocks) = match (self.piece, self.left) {
            (0, left) => (self.lba, left),
            // It has ended.
            (piece, 0) => (self.lba.saturating_sub(piece), piece),
            (piece, _) => (self.lba, piece),
        };
        let of = |name: &str| format!("{name} of {blocks} blocks at {lba}");
        match self.what {
            What::Read => of("READ"),
            What::Write | What::WriteZeros => of("WRITE"),
            What::Flush => "SYNCHRONIZE CACHE".to_owned(),
            What::Discard => of("UNMAP"),
            What::Zero(_) => of("WRITE SAME"),
        }
    }

    /// True while it writes: its flush is none.
    pub(super) fn is_write(&self) -> bool {
        !matches!(self.what, What::Read | What::Flush)
    }

    /// First block and number of blocks of the command under way, if it writes.
    pub(super) fn writes(&self) -> Option<(u64, u64)> {
        self.is_write().then_some((self.lba, self.piece))
    }

    /// Records a command that succeeded.
    pub(super) fn done(&mut self, buffer: Option<Buffer>, pool: &mut Pool) -> Result<(), Mismatch> {
        (self.tries, self.lost) = (0, None);
        match (self.at.take(), buffer) {
            (Some(at), Some(piece)) => {
                let placed = if self.what == What::Read { self.place(at, piece.bytes()) } else { Ok(()) };
                pool.give(piece);
                placed?;
            }
            (None, Some(buffer)) if matches!(self.what, What::Read | What::Write) => self.buffer = Some(buffer),
            (None, Some(buffer)) => pool.give(buffer),
            (_, None) => {}
        }
        self.lba += self.piece;
        self.left -= self.piece.min(self.left);
        Ok(())
    }

    /// Puts a piece that was read in its place in the operation's buffer.
    fn place(&mut self, at: usize, piece: &[u8]) -> Result<(), Mismatch> {
        let (block, blocks) = (self.block, usize::try_from(self.piece).unwrap_or(0));
        let Some(to) = self.buffer.as_mut().and_then(|to| to.bytes_mut().get_mut(at..at + blocks * block)) else {
            return Ok(());
        };
        match &self.edge {
            Some(edge) => edge.split(self.lba, piece, to, &mut self.tuples[at / block * TUPLE..]),
            None => {
                to.copy_from_slice(piece);
                Ok(())
            }
        }
    }

    /// To be called if the disk does not know WRITE SAME: zeros are written instead. False for any other command.
    pub(super) fn otherwise(&mut self) -> bool {
        let zero = matches!(self.what, What::Zero(_));
        if zero {
            self.what = What::WriteZeros;
        }
        zero
    }

    /// Ends the job; the operation's completion.
    pub(super) fn end(self, result: Result<(), BackendError>) -> Completion {
        Completion { tag: self.tag, buffer: self.buffer, result }
    }
}
