//! Configuration of an end.

use super::login::{Guard, Login};
use super::settings::Settings;
use crate::socket::sys::formatted_time;
use crate::socket::{Own, Place};
use linerate_rt::wall;
use std::borrow::Cow;
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
    /// Time without an acknowledgement after which TCP gives up; none is the system's.
    pub send_timeout: Option<Duration>,
    /// Keep-alive of control connections, if the kernel is to ask: seconds of silence, between two questions, and how many
    /// there are; none is the system's.
    pub keep_alive: Option<[Option<u32>; 3]>,
}

/// TestLimits that a server sets to its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestLimits {
    /// Most bits per second of a test, 0 for no limit, and the time over which they are counted.
    pub rate: u64,
    pub over: Duration,
    /// Longest test, seconds.
    pub longest: Option<u64>,
    /// Time for the client of a server that takes in one.
    pub idle: Option<Duration>,
}

impl Default for TestLimits {
    fn default() -> Self {
        Self { rate: 0, over: Duration::from_secs(5), longest: None, idle: None }
    }
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
        limits: TestLimits,
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
    /// Format of the time in front of each line (strftime(3)).
    pub timestamps: Option<String>,
    /// True to have each test kept as a run.
    pub keep: bool,
    /// File that output is appended to instead of printed.
    pub log: Option<PathBuf>,
}

impl Form {
    /// Lines with the time in front of each, if it is asked for.
    pub(super) fn stamped<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(format) = &self.timestamps else { return text.into() };
        let stamp = formatted_time(wall().as_secs(), format);
        text.split_inclusive('\n').map(|line| format!("{stamp}{line}")).collect::<String>().into()
    }
}
