//! Configuration of an end.

use super::settings::{IDLE, Settings, TCP_BLOCK, Transport};
use crate::socket::{Own, Place};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub place: Place,
    /// Host of our own stack, whose sockets are used instead of the kernel's.
    pub own: Option<Own>,
    pub form: Form,
    pub part: Part,
    /// True to run in the scheduler's class of real-time programs.
    pub realtime: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// True for more figures (`-e`).
    pub enhanced: bool,
    /// Letter of `-f`: unit of speeds.
    pub unit: char,
    /// Time between two lines of figures; `None` for the last ones only.
    pub interval: Option<Duration>,
    /// True for comma-separated values (`-y C`).
    pub csv: bool,
    /// True if the largest segment is shown (`-m`).
    pub segment: bool,
    /// True if addresses are hidden (`--hide-ips`).
    pub hidden: bool,
    /// Lines that are left out (`-x`).
    pub without: Without,
    /// True to have each test kept as a run.
    pub keep: bool,
    /// File that takes the output.
    pub file: Option<PathBuf>,
}

/// Lines that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without {
    pub connections: bool,
    /// Those with figures.
    pub data: bool,
    pub settings: bool,
    /// The server's report at a client.
    pub report: bool,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            enhanced: false,
            unit: 'a',
            interval: None,
            csv: false,
            segment: false,
            hidden: false,
            without: Without::default(),
            keep: false,
            file: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Client(Box<Asked>),
    Server(Box<Serving>),
}

/// A client's test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The server.
    pub host: String,
    /// First own port of the streams; 0 for any.
    pub own_port: u16,
    /// Port at which the server's connections are awaited (`-d`, `-r`).
    pub listen_port: u16,
    pub settings: Settings,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    pub transport: Transport,
    /// Bytes of a read, and largest datagram.
    pub block: usize,
    /// Size of the receive buffers, bytes; 0 for the system's.
    pub window: u64,
    /// Largest segment, bytes; 0 for what follows from the path.
    pub mss: u64,
    pub no_delay: bool,
    /// Type of service of what is sent; 0 for the client's.
    pub tos: u8,
    /// Congestion control of what is sent.
    pub congestion: Option<String>,
    /// Number of connections after which no more are taken in; 0 for no limit.
    pub clients: u32,
    /// Time after which the server ends.
    pub time: Option<Duration>,
    pub daemon: bool,
    /// Time without data after which a session ends.
    pub idle: Duration,
}

impl Default for Serving {
    fn default() -> Self {
        Self {
            transport: Transport::Tcp,
            block: TCP_BLOCK,
            window: 0,
            mss: 0,
            no_delay: false,
            tos: 0,
            congestion: None,
            clients: 0,
            time: None,
            daemon: false,
            idle: IDLE,
        }
    }
}

impl Place {
    /// Place of an end at iperf's port, without an own address.
    #[must_use]
    pub const fn at_port(port: u16) -> Self {
        Self { port, bind: None, device: None, family: Some(crate::socket::Family::V4) }
    }
}
