//! An operation on a remote disk: one SCSI command, or several in a row.

use linerate_block::{BackendError, Buffer, Completion, Operation, Tag};
use linerate_fcoe::{Command, Completed, Data, FoundLun, Outcome, PeerId, TransportError};
use linerate_wire::scsi::{Sense, SenseKey};

/// Most tries of a command that the target refuses temporarily.
const TRIES: u8 = 8;
/// Most bytes that one command transfers. Class 3 cannot retransmit a part: one lost frame costs the whole command, and
/// a long one may lose a frame each time.
const MOST: u32 = 512 << 10;

/// Next step of a job.
pub(super) enum Next {
    /// Submit this command.
    Command(Command),
    /// End: all is done.
    Done,
    /// End: the disk does not support the operation.
    Never,
}

/// Reason for which a command failed.
pub(super) enum Failed {
    /// Temporary: the command can be retried.
    Again,
    /// Permanent, with this error.
    For(BackendError),
    /// The session is lost, or the target no longer answers.
    Lost,
}

impl Failed {
    pub(super) fn error(self) -> BackendError {
        match self {
            Self::Again => BackendError::Medium,
            Self::Lost => BackendError::Gone,
            Self::For(error) => error,
        }
    }
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
    tries: u8,
    block: usize,
    /// The operation's buffer, while no command has it.
    buffer: Option<Buffer>,
    /// Offset in the buffer of the piece that the command under way transfers; None if it has the whole buffer.
    at: Option<usize>,
    /// Time at which the disk became unreachable during the operation, and the session that its command was sent in.
    lost: Option<(u64, Option<PeerId>)>,
}

/// Completion of an operation that was not begun.
pub(super) fn refused(tag: Tag, operation: Operation, error: BackendError) -> Completion {
    let buffer = match operation {
        Operation::Read { buffer, .. } | Operation::Write { buffer, .. } => Some(buffer),
        _ => None,
    };
    Completion { tag, buffer, result: Err(error) }
}

/// Completion as if a target had answered BUSY.
pub(super) fn busy(tag: Tag, peer: PeerId) -> Completed {
    Completed {
        tag,
        peer,
        outcome: Outcome::Response,
        status: 0x08,
        sense: [0; 96],
        sense_len: 0,
        residual: 0,
        buffer: None,
    }
}

/// Result of a completed command for the operation.
pub(super) fn result(completed: &Completed) -> Result<(), Failed> {
    match completed.outcome {
        Outcome::Response => answered(completed),
        Outcome::LinkLost | Outcome::Transport(TransportError::AbortUnanswered) => Err(Failed::Lost),
        _ => Err(Failed::For(BackendError::Medium)),
    }
}

/// Reason for which a command failed, as text for the user.
pub(super) fn why(completed: &Completed) -> String {
    match (completed.outcome, Sense::parse(completed.sense())) {
        (Outcome::Response, Ok(sense)) if completed.status == 0x02 => sense.to_string(),
        (Outcome::Response, _) => match completed.residual {
            0 => format!("SCSI status {:02x}h", completed.status),
            left => format!("SCSI status {:02x}h, residual {left}", completed.status),
        },
        (Outcome::Function(code), _) => format!("RSP_CODE {code:02x}h"),
        (Outcome::TimedOut, _) => "no answer in time".to_owned(),
        (Outcome::LinkLost, _) => "the target is gone".to_owned(),
        (Outcome::Transport(error), _) => error.to_string(),
    }
}

/// Result of a SCSI status for the operation.
fn answered(completed: &Completed) -> Result<(), Failed> {
    match completed.status {
        // A short transfer is an error: the disk has all the blocks.
        0x00 if completed.residual == 0 => Ok(()),
        0x00 => Err(Failed::For(BackendError::Medium)),
        0x02 => match Sense::parse(completed.sense()).map(|sense| (sense.key, sense.code)) {
            Ok((SenseKey::UNIT_ATTENTION | SenseKey::ABORTED_COMMAND | SenseKey::NOT_READY, _)) => Err(Failed::Again),
            Ok((SenseKey::DATA_PROTECT, (0x27, 0x07))) => Err(Failed::For(BackendError::NoSpace)),
            Ok((SenseKey::DATA_PROTECT, _)) => Err(Failed::For(BackendError::ReadOnly)),
            Ok((SenseKey::ILLEGAL_REQUEST, _)) => Err(Failed::For(BackendError::Unsupported)),
            _ => Err(Failed::For(BackendError::Medium)),
        },
        // BUSY, TASK SET FULL, TASK ABORTED.
        0x08 | 0x28 | 0x40 => Err(Failed::Again),
        _ => Err(Failed::For(BackendError::Medium)),
    }
}

impl Job {
    pub(super) fn new(unit: usize, tag: Tag, operation: Operation, lun: &FoundLun) -> Result<Self, Completion> {
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
        Ok(Self { unit, tag, what, lba, left, piece: 0, fua, tries: 0, block, buffer, at: None, lost: None })
    }

    pub(super) fn unit(&self) -> usize {
        self.unit
    }

    /// The next command.
    pub(super) fn next(&mut self, tag: Tag, lun: &FoundLun, timeout: u64) -> Next {
        if self.left == 0 {
            if !std::mem::take(&mut self.fua) {
                return Next::Done;
            }
            (self.what, self.left) = (What::Flush, 1);
        }
        let command = match self.what {
            What::Read | What::Write => self.transfer(tag, lun, timeout),
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
                lun.write_same(tag, piece, Buffer::new(self.block), discard, timeout)
            }),
            What::WriteZeros => {
                let most = (MOST / lun.block_size).max(1).min(lun.max_transfer);
                self.piece = self.left.min(most.into());
                let bytes = usize::try_from(self.piece).unwrap_or(0) * self.block;
                lun.write(tag, self.lba, Buffer::new(bytes), false, timeout)
            }
        };
        command.map_or(Next::Never, Next::Command)
    }

    /// READ or WRITE: of the whole buffer, or of a piece of it if the disk accepts no more at once.
    fn transfer(&mut self, tag: Tag, lun: &FoundLun, timeout: u64) -> Option<Command> {
        let whole = self.buffer.as_ref()?.len();
        let most = u64::from(lun.max_transfer.min(MOST / lun.block_size).max(1));
        self.piece = self.left.min(most);
        let all = (whole / self.block) as u64;
        let buffer = if all <= most {
            self.buffer.take()?
        } else {
            let at = usize::try_from(all - self.left).ok()? * self.block;
            let bytes = usize::try_from(self.piece).ok()? * self.block;
            let mut piece = Buffer::new(bytes);
            if self.what == What::Write {
                piece.bytes_mut().copy_from_slice(&self.buffer.as_ref()?.bytes()[at..at + bytes]);
            }
            self.at = Some(at);
            piece
        };
        match self.what {
            What::Write => lun.write(tag, self.lba, buffer, true, timeout),
            _ => lun.read(tag, self.lba, buffer, timeout),
        }
    }

    /// Takes back a command that was not accepted: it will be submitted again.
    pub(super) fn take_back(&mut self, command: Command) {
        let buffer = match command.data {
            Data::In(buffer) | Data::Out(buffer) => Some(buffer),
            Data::None => None,
        };
        self.again(buffer);
    }

    /// Takes back the buffer of a command that failed: it will be submitted again.
    pub(super) fn again(&mut self, buffer: Option<Buffer>) {
        if self.at.take().is_none() && matches!(self.what, What::Read | What::Write) && self.buffer.is_none() {
            self.buffer = buffer;
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

    /// Counts a try; true if the command may be retried.
    pub(super) fn may_try_again(&mut self) -> bool {
        self.tries += 1;
        self.tries < TRIES
    }

    /// Description of the command under way, for the user.
    pub(super) fn about(&self) -> String {
        let (lba, blocks) = (self.lba, self.piece);
        let of = |name: &str| format!("{name} of {blocks} blocks at {lba}");
        match self.what {
            What::Read => of("READ"),
            What::Write | What::WriteZeros => of("WRITE"),
            What::Flush => "SYNCHRONIZE CACHE".to_owned(),
            What::Discard => of("UNMAP"),
            What::Zero(_) => of("WRITE SAME"),
        }
    }

    /// Records a command that succeeded.
    pub(super) fn done(&mut self, buffer: Option<Buffer>) {
        (self.tries, self.lost) = (0, None);
        match (self.what, self.at.take(), buffer) {
            (What::Read, Some(at), Some(piece)) => {
                if let Some(whole) = &mut self.buffer
                    && let Some(to) = whole.bytes_mut().get_mut(at..at + piece.len())
                {
                    to.copy_from_slice(piece.bytes());
                }
            }
            (What::Read | What::Write, None, buffer) => self.buffer = buffer,
            _ => {}
        }
        self.lba += self.piece;
        self.left -= self.piece.min(self.left);
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
