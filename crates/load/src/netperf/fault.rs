//! Reasons why a test fails.

use super::protocol::Malformed;
use crate::socket::Refused;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Fault {
    #[error("are you sure there is a netserver listening on {host} at port {port}? {error}")]
    Connect { host: String, port: u16, error: io::Error },
    /// The port of a host of our own cannot be opened, or the host on it not be set up.
    #[error("{0}")]
    Port(String),
    #[error("cannot listen at port {0}: {1}; give another port behind -p")]
    Listen(u16, io::Error),
    #[error("control connection: {0}")]
    Control(io::Error),
    #[error("the other end closed the control connection before the test was over")]
    Closed,
    #[error("the other end does not answer")]
    Silent,
    /// The other end sent a message that is not valid at this point.
    #[error("wrong message: {0}")]
    Malformed(#[from] Malformed),
    #[error("remote error {0} {reason}", reason = reason(*.0))]
    Remote(i32),
    #[error("data connection: {0}")]
    DataConnect(io::Error),
    /// A data socket could not be made, or an option of it or of the thread could not be set.
    #[error("{what}: {error}")]
    Option {
        /// Name of the option.
        what: &'static str,
        error: io::Error,
    },
    #[error("data send error: {0}")]
    Send(io::Error),
    #[error("data receive error: {0}")]
    Receive(io::Error),
    /// The file whose bytes are sent.
    #[error("-F {path}: {error}; give a file that can be read", path = .path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("system: {0}")]
    System(io::Error),
    #[error("the server did not measure its processors; leave -C out")]
    NoCpu,
    #[error("/proc/stat cannot be read; leave -c out")]
    NoStat,
    #[error("a client asked for {0}")]
    NotBuilt(&'static str),
    #[error(
        "nothing was moved, so there is no result: the server or its data port is busy with somebody else, or nothing arrives"
    )]
    Nothing,
    /// This end was told to end before there was anything to measure.
    #[error("stopped")]
    Stopped,
}

fn reason(errno: i32) -> String {
    match errno {
        // netserver's number for a test that it does not know.
        998 => "the server does not know this test".to_owned(),
        errno => io::Error::from_raw_os_error(errno).to_string(),
    }
}

impl From<Refused> for Fault {
    fn from(Refused { row, error, .. }: Refused) -> Self {
        Self::Option { what: row.words.2, error }
    }
}

impl Fault {
    /// Number of the system for this fault, as a server tells its client.
    pub(super) fn errno(&self) -> i32 {
        match self {
            Self::Option { error, .. }
            | Self::DataConnect(error)
            | Self::Send(error)
            | Self::Receive(error)
            | Self::Control(error)
            | Self::System(error) => error.raw_os_error().unwrap_or(libc::EIO),
            Self::NotBuilt(_) => libc::EOPNOTSUPP,
            Self::Malformed(_) => libc::EINVAL,
            _ => libc::EIO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_numbers_that_a_client_understands() {
        assert_eq!(Fault::NotBuilt("x").errno(), libc::EOPNOTSUPP);
        let told = Fault::Remote(Fault::Malformed(Malformed::Range("x")).errno()).to_string();
        assert!(told.contains("Invalid argument"), "{told}");
        assert!(Fault::Remote(998).to_string().contains("does not know this test"));
    }
}
