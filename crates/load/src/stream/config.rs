//! Configuration of an end.

use super::login::{Guard, Login};
use super::settings::Settings;
use crate::socket::{Own, Place};
use std::path::PathBuf;
use std::time::Duration;

/// Configuration of an end. Made by [`Config::parse`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub place: Place,
    /// Host of our own stack, whose sockets are used instead of the kernel's.
    pub own: Option<Own>,
    pub form: Form,
    pub part: Part,
    /// File that is sent, or that takes what is received.
    pub file: Option<PathBuf>,
    /// Processor of all threads.
    pub cpu: Option<usize>,
    /// File with the number of the process.
    pub pid_file: Option<PathBuf>,
    /// Time without data after which a receiver gives up.
    pub idle: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Client(Box<Asked>),
    Server {
        daemon: bool,
        /// True to end after the first client.
        once: bool,
        /// Guard that asks clients for their logins; none takes everybody in.
        guard: Option<Box<Guard>>,
    },
}

/// Request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Name or address of the server.
    pub host: String,
    /// First port of the own streams; 0 for any.
    pub port: u16,
    /// Time for the first connection; none is the system's.
    pub patience: Option<Duration>,
    /// Login, if the server wants one.
    pub login: Option<Login>,
    pub settings: Settings,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Unit of speeds: a letter of iperf3's `-f`.
    pub unit: Option<char>,
    /// Time between two lines; none for only a summary.
    pub interval: Option<Duration>,
    pub verbose: bool,
    /// True for documents instead of lines.
    pub json: bool,
    /// True for a document a line for each event of a test, as it comes.
    pub events: bool,
    /// True for the whole document in the end, where there are those of events.
    pub whole: bool,
    /// True to have each test kept as a run.
    pub keep: bool,
    /// File that output is appended to instead of printed.
    pub log: Option<PathBuf>,
}
