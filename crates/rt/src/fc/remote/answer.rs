//! What a target's answer to a command means for the operation.

use super::integrity::Field;
use linerate_block::{BackendError, Tag};
use linerate_fcoe::{Completed, Outcome, PeerId, TransportError};
use linerate_wire::scsi::{Sense, SenseKey, asc};

/// Reason for which a command failed.
pub(super) enum Failed {
    /// Temporary: the command can be retried at once.
    Again,
    /// The unit may be another one than before: what it is must be asked first.
    Questioned,
    /// Temporary: the target has no room for the command, or is not ready.
    Later,
    /// Permanent, with this error.
    For(BackendError),
    /// The target found that this field of the protection information does not match the data. It would do so again, and
    /// if not, that would be hidden.
    Mismatch(Field),
    /// The session is lost, or the target no longer answers.
    Lost,
}

impl Failed {
    pub(super) fn error(self) -> BackendError {
        match self {
            Self::Again | Self::Later | Self::Mismatch(_) => BackendError::Medium,
            Self::Questioned | Self::Lost => BackendError::Gone,
            Self::For(error) => error,
        }
    }
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
        // Frames were lost each time. The target has released the exchange.
        Outcome::TimedOut | Outcome::Transport(TransportError::Retries) => Err(Failed::Again),
        _ => Err(Failed::For(BackendError::Medium)),
    }
}

/// True for a unit attention that is about something else than which disk it is.
pub(super) fn is_attention(completed: &Completed) -> bool {
    let sense = Sense::parse(completed.sense()).ok().filter(|_| completed.status == 0x02);
    sense.is_some_and(|sense| sense.key == SenseKey::UNIT_ATTENTION && !sense.questions_identity())
}

/// True if the answer to REQUEST SENSE has an attention by which the unit may be another one than before.
pub(super) fn has_question(completed: &Completed) -> bool {
    let sense = Sense::parse(completed.data()).ok().filter(|_| completed.is_good());
    sense.is_some_and(|sense| sense.key == SenseKey::UNIT_ATTENTION && sense.questions_identity())
}

/// True if the disk that was found would not have answered so, unless it is write-protected: it has the blocks.
pub(super) fn is_strange(completed: &Completed) -> bool {
    let sense = Sense::parse(completed.sense()).ok().filter(|_| completed.status == 0x02);
    sense.is_some_and(|sense| {
        let protected = sense.key == SenseKey::DATA_PROTECT && sense.code != asc::NO_SPACE;
        protected || (sense.key, sense.code) == (SenseKey::ILLEGAL_REQUEST, asc::LBA_OUT_OF_RANGE)
    })
}

/// Reason for which a command failed, as text for the user.
pub(super) fn why(completed: &Completed) -> String {
    match (completed.outcome, Sense::parse(completed.sense())) {
        (Outcome::Response, Ok(sense)) if completed.status == 0x02 => match sense.information {
            Some(lba) => format!("{sense} at LBA {lba}"),
            None => sense.to_string(),
        },
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
        0x02 => Err(Sense::parse(completed.sense()).map_or(Failed::For(BackendError::Medium), |sense| checked(&sense))),
        // BUSY, TASK SET FULL, TASK ABORTED.
        0x08 | 0x28 | 0x40 => Err(Failed::Later),
        _ => Err(Failed::For(BackendError::Medium)),
    }
}

/// Result of CHECK CONDITION for the operation.
fn checked(sense: &Sense) -> Failed {
    match (sense.key, sense.code) {
        _ if sense.questions_identity() => Failed::Questioned,
        (SenseKey::ABORTED_COMMAND, asc::GUARD_CHECK) => Failed::Mismatch(Field::Guard),
        (SenseKey::ABORTED_COMMAND, asc::APPLICATION_TAG_CHECK) => Failed::Mismatch(Field::Application),
        (SenseKey::ABORTED_COMMAND, asc::REFERENCE_TAG_CHECK) => Failed::Mismatch(Field::Reference),
        (SenseKey::UNIT_ATTENTION | SenseKey::ABORTED_COMMAND, _) => Failed::Again,
        (SenseKey::NOT_READY, asc::MANUAL_INTERVENTION) => Failed::For(BackendError::Replaced),
        (SenseKey::NOT_READY, _) => Failed::Later,
        (SenseKey::DATA_PROTECT, asc::NO_SPACE) => Failed::For(BackendError::NoSpace),
        (SenseKey::DATA_PROTECT, _) => Failed::For(BackendError::ReadOnly),
        (SenseKey::ILLEGAL_REQUEST, _) => Failed::For(BackendError::Unsupported),
        _ => Failed::For(BackendError::Medium),
    }
}
