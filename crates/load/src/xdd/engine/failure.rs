//! End of operations, and the reasons of failures in the words of the part that refused them.

use linerate_block::{BackendError, Buffer, Completion, Tag};
use linerate_wire::scsi::Sense;
use std::fmt;
use std::io;
use thiserror::Error;

#[derive(Debug)]
pub struct Ended {
    pub tag: Tag,
    /// The buffer that went with it, filled if it was a read that succeeded.
    pub buffer: Option<Buffer>,
    pub result: Result<(), Box<Failure>>,
}

impl From<Completion> for Ended {
    fn from(Completion { tag, buffer, result }: Completion) -> Self {
        Self { tag, buffer, result: result.map_err(|why| Box::new(why.into())) }
    }
}

#[derive(Debug, Error)]
pub enum Failure {
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Command of an operation on a remote disk, and the answer to it.
    #[error("{0}")]
    Remote(String),
    /// CHECK CONDITION, with this sense data.
    #[error("{0}{at}", at = place(.0))]
    Sense(Sense),
    #[error("CHECK CONDITION without sense data")]
    Senseless,
    /// Another SCSI status.
    #[error("{name}", name = Status(*.0))]
    Status(u8),
    /// The host adapter, or its driver, aborted the command.
    #[error("{host}{driver}: the device is not reached, or gave no answer", host = Host(*.0), driver = driver(*.1))]
    Transport(u16, u16),
    #[error("{0} bytes of it were not transferred")]
    Short(u32),
    #[error("unit attentions without end")]
    Attentions,
    /// The system did not accept the command.
    #[error("SG_IO: {0}{mend}", mend = mend(.0))]
    System(io::Error),
}

/// LBA at which the device reports that it stopped.
fn place(sense: &Sense) -> String {
    sense.information.map(|lba| format!(" at LBA {lba}")).unwrap_or_default()
}

/// Driver status, if not zero.
fn driver(status: u16) -> String {
    if status == 0 { String::new() } else { format!(", driver status {status:02x}") }
}

/// Mend for errors of the kernel when it cannot map that much data for one command, which depends on the data's
/// address.
fn mend(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOMEM | libc::EIO) => "; a smaller -reqsize may do",
        _ => "",
    }
}

/// SCSI status by its name (SAM-5, clause 5.3.1).
struct Status(u8);

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            0x04 => "CONDITION MET",
            0x08 => "BUSY",
            0x18 => "RESERVATION CONFLICT",
            0x28 => "TASK SET FULL",
            0x30 => "ACA ACTIVE",
            0x40 => "TASK ABORTED",
            other => return write!(f, "SCSI status {other:02x}"),
        })
    }
}

/// Host status by its name in Linux (scsi/scsi_status.h).
struct Host(u16);

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 16] = [
            "OK",
            "NO_CONNECT",
            "BUS_BUSY",
            "TIME_OUT",
            "BAD_TARGET",
            "ABORT",
            "PARITY",
            "ERROR",
            "RESET",
            "BAD_INTR",
            "PASSTHROUGH",
            "SOFT_ERROR",
            "IMM_RETRY",
            "REQUEUE",
            "TRANSPORT_DISRUPTED",
            "TRANSPORT_FAILFAST",
        ];
        match NAMES.get(usize::from(self.0)) {
            Some(name) => write!(f, "DID_{name}"),
            None => write!(f, "host status {:02x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_wire::scsi::{SenseKey, asc};

    #[test]
    fn a_failure_is_told_in_the_words_of_who_refused() {
        let sense = Sense::new(SenseKey::MEDIUM_ERROR, asc::READ_ERROR).at(77);
        for (failure, line) in [
            (Failure::Sense(sense), "MEDIUM ERROR, UNRECOVERED READ ERROR (03/11/00) at LBA 77"),
            (Failure::Status(0x18), "RESERVATION CONFLICT"),
            (Failure::Status(0x22), "SCSI status 22"),
            (Failure::Transport(1, 0), "DID_NO_CONNECT: the device is not reached, or gave no answer"),
            (Failure::Short(512), "512 bytes of it were not transferred"),
            (BackendError::Gone.into(), "the device is gone"),
            (BackendError::NotReady.into(), "the device cannot be reached at present"),
            (BackendError::Replaced.into(), "another device answers in its place"),
            (
                Failure::System(io::Error::from_raw_os_error(libc::ENOMEM)),
                "SG_IO: Cannot allocate memory (os error 12); a smaller -reqsize may do",
            ),
        ] {
            assert_eq!(failure.to_string(), line);
        }
        assert!(Failure::Transport(0x20, 6).to_string().starts_with("host status 20, driver status 06: "));
    }
}
