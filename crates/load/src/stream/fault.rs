//! Reasons why a test fails, in iperf3's words and with its numbers, which a server sends to its client.

use super::login::Refusal;
use super::protocol::Malformed;
use crate::socket::Refused;
use std::io;
use std::time::Duration;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Fault {
    #[error("unable to connect to server: {0}")]
    Connect(io::Error),
    #[error("unable to start listener for connections: {0}")]
    Listen(io::Error),
    #[error("unable to send control message: {0}")]
    Send(io::Error),
    #[error("unable to receive control message: {0}")]
    Receive(io::Error),
    #[error("control socket has closed unexpectedly")]
    Closed,
    #[error("control socket has closed unexpectedly, as iperf3 from 3.21 on closes it when it refuses a login")]
    ClosedAtLogin,
    #[error("received an unknown control message")]
    Unknown,
    #[error("unable to receive parameters from client: {0}")]
    Parameters(Malformed),
    #[error("unable to receive results: {0}")]
    Results(Malformed),
    #[error("stream has an invalid id")]
    StreamId,
    #[error("unable to connect stream: {0}")]
    StreamConnect(io::Error),
    #[error("unable to start stream listener: {0}")]
    StreamListen(io::Error),
    #[error("unable to accept stream connection: {0}")]
    StreamAccept(io::Error),
    #[error("unable to create a new stream: {0}")]
    Create(io::Error),
    #[error("unable to write to stream socket: {0}")]
    Write(io::Error),
    #[error("unable to read from stream socket: {0}")]
    Read(io::Error),
    #[error("unable to open -F file: {0}")]
    File(io::Error),
    /// A socket option: its flag, and the reason.
    #[error("unable to set {what}: {error}")]
    Option {
        what: &'static str,
        /// iperf3's number of this fault.
        code: u32,
        error: io::Error,
    },
    #[error(
        "socket buffer size not set correctly: {given} bytes of {asked}; raise net.core.wmem_max and net.core.rmem_max"
    )]
    Buffers { asked: u64, given: u64 },
    /// A connection of our own has smaller buffers than asked for.
    #[error("socket buffer size not set correctly: {given} bytes of {asked}; give a smaller -w")]
    OwnBuffers { asked: u64, given: u64 },
    /// No data came for the time of `--rcv-timeout`.
    #[error("idle timeout for receiving data")]
    Idle,
    #[error("the test did not end in time")]
    Late,
    /// No data have moved for this time at the end of a test, which the client has not ended.
    #[error("the client has vanished: it has not ended its test, and no data have moved for {} s", .0.as_secs())]
    Vanished(Duration),
    /// A client that no user may be, for a reason that the server alone says.
    #[error("test authorization failed: {0}")]
    Unauthorized(Refusal),
    /// This client's login cannot be made: the flag, the reason and the mend.
    #[error("{0}")]
    Login(String),
    #[error("the server is busy running a test. try again later")]
    Denied,
    /// The streams of a test ask for more, or move more, than this server permits.
    #[error("total required bandwidth is larger than server limit")]
    TotalRate,
    /// The client asks for a longer test than this server permits.
    #[error("client's requested duration exceeds the server's maximum permitted limit")]
    TooLong,
    #[error("the client has terminated")]
    ClientTerminated,
    #[error("the server has terminated")]
    ServerTerminated,
    /// The server refused, with these numbers.
    #[error("{}", told(*code, *errno))]
    Refused {
        /// iperf3's number.
        code: u32,
        errno: i32,
    },
    /// This end was told to end.
    #[error("stopped")]
    Stopped,
}

/// Number of a login that is refused.
const UNAUTHORIZED: u32 = 142;

/// Faults that a server tells by number, and iperf3's words for them.
const WORDS: [(u32, &str); 23] = [
    (6, "number of parallel streams too large"),
    (7, "block size too large"),
    (18, "no SCTP support available"),
    (27, "total required bandwidth is larger than server limit"),
    (37, "client's requested duration exceeds the server's maximum permitted limit"),
    (114, "unable to receive parameters from client"),
    (122, "unable to set TCP/SCTP NODELAY"),
    (123, "unable to set TCP/SCTP MSS"),
    (124, "unable to set socket buffer size"),
    (125, "unable to set IP TOS"),
    (126, "unable to set IPv6 traffic class"),
    (132, "unable to set CPU affinity"),
    (134, "unable to set TCP_CONGESTION"),
    (140, "unable to set socket pacing"),
    (141, "socket buffer size not set correctly"),
    (UNAUTHORIZED, "test authorization failed"),
    (144, "idle timeout for receiving data"),
    (145, "unable to set IP Do-Not-Fragment flag"),
    (200, "unable to create a new stream"),
    (202, "unable to start stream listener"),
    (203, "unable to connect stream"),
    (204, "unable to accept stream connection"),
    (14, "unable to open -F file"),
];

fn told(code: u32, errno: i32) -> String {
    let words = WORDS.iter().find(|(known, _)| *known == code).map(|(_, words)| (*words).to_owned());
    let words = words.unwrap_or_else(|| format!("int_errno={code}"));
    // With a login that it refuses, iperf3 sends the system's number of something before.
    if errno == 0 || code == UNAUTHORIZED { words } else { format!("{words}: {}", io::Error::from_raw_os_error(errno)) }
}

impl From<Refused> for Fault {
    fn from(Refused { row, error, .. }: Refused) -> Self {
        let (what, code) = row.words.0;
        Self::Option { what, code, error }
    }
}

impl Fault {
    /// True if the server refused the login, as far as it says so.
    pub(super) fn is_unauthorized(&self) -> bool {
        matches!(self, Self::ClosedAtLogin | Self::Refused { code: UNAUTHORIZED, .. })
    }

    /// iperf3's number and the system's, as a server sends them.
    pub(super) fn numbers(&self) -> (u32, i32) {
        let of = |code, error: &io::Error| (code, error.raw_os_error().unwrap_or(0));
        match self {
            Self::TotalRate => (27, 0),
            Self::TooLong => (37, 0),
            Self::Parameters(_) => (114, 0),
            Self::File(e) => of(14, e),
            Self::Create(e) => of(200, e),
            Self::StreamListen(e) => of(202, e),
            Self::StreamConnect(e) => of(203, e),
            Self::StreamAccept(e) => of(204, e),
            Self::Option { code, error, .. } => of(*code, error),
            Self::Buffers { .. } | Self::OwnBuffers { .. } => (141, 0),
            Self::Unauthorized(_) => (UNAUTHORIZED, 0),
            Self::Idle => (144, 0),
            Self::Refused { code, errno } => (*code, *errno),
            _ => (100, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_refuses_is_told_in_words_and_in_numbers() {
        let fault = Fault::StreamListen(io::Error::from_raw_os_error(libc::EADDRINUSE));
        assert_eq!(fault.numbers(), (202, libc::EADDRINUSE));
        let (code, errno) = fault.numbers();
        let told = Fault::Refused { code, errno }.to_string();
        assert!(told.starts_with("unable to start stream listener: Address already in use"), "{told}");
        assert_eq!(Fault::Refused { code: 999, errno: 0 }.to_string(), "int_errno=999");
        assert_eq!(Fault::Refused { code: 142, errno: 11 }.to_string(), "test authorization failed");
    }
}
