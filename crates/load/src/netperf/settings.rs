//! Settings of a client: the test and all that can be chosen in it.

use super::ring::Layout;
use super::table::{Test, Transport};
use crate::socket::{Own, Place};
use std::path::PathBuf;
use std::time::Duration;

pub const PORT: u16 = 12_865;
/// Payload of the largest datagram over IPv4, bytes.
pub(super) const DATAGRAM: u32 = 65_507;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Seconds; 0: until the program is told to end.
    Time(u32),
    /// Bytes, or transactions.
    Count(u32),
}

/// Buffers of an end's data socket, bytes; `None` for the system's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    pub send: Option<u32>,
    pub receive: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndSettings {
    /// Bytes of one call that sends; `None` for the socket's buffer.
    pub send_size: Option<u32>,
    /// Bytes of one call that receives; `None` for the socket's buffer.
    pub receive_size: Option<u32>,
    /// Buffers of the data socket.
    pub buffers: Buffers,
    /// Memory that is sent.
    pub send: Layout,
    /// Memory that is received to.
    pub receive: Layout,
    /// Measures the processors.
    pub cpu: bool,
    /// Processor to run on.
    pub pin: Option<usize>,
    /// Port of the data; 0 for any.
    pub port: u16,
    /// Priority of the data socket, and type of service or traffic class; `None` for the system's own.
    pub priority: Option<u32>,
    pub tos: Option<u8>,
    /// Congestion control; empty for the system's own.
    pub congestion: String,
}

/// Repetition until the mean is known well enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeats {
    pub least: u32,
    pub most: u32,
    /// Confidence, per cent: 95 or 99.
    pub level: u32,
    /// Width of the interval that the mean has to be in, as a part of it.
    pub width: f64,
    /// True if only the result has to be known so well, and not the processors' use.
    pub result_only: bool,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { least: 1, most: 1, level: 99, width: 0.05, result_only: false }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub test: &'static Test,
    /// The server.
    pub host: String,
    /// Its port, and own address.
    pub place: Place,
    /// Other addresses of the data than those of the control connection: the server's, and the own one.
    pub data: (Option<String>, Option<String>),
    /// Host of our own stack, whose sockets are used instead of the kernel's.
    pub own: Option<Own>,
    pub length: Length,
    /// Size of a request, bytes.
    pub request: u32,
    /// Size of a response, bytes.
    pub response: u32,
    pub local: EndSettings,
    pub remote: EndSettings,
    /// No delay for small segments, at both ends.
    pub no_delay: bool,
    pub keep_alive: bool,
    /// True if the data may go by a gateway; by default all but datagrams in one direction.
    pub routing: bool,
    /// Datagrams go by a connected socket.
    pub connected: bool,
    /// Time after which a datagram's response is lost.
    pub patience: Option<Duration>,
    /// Time between the setup and the data.
    pub wait: Duration,
    /// File whose bytes are sent.
    pub file: Option<PathBuf>,
    /// Keeps the time of each call or transaction.
    pub latency: bool,
    /// Letter of the unit of results; `None` for transactions, or 10^6 bits.
    pub unit: Option<char>,
    pub repeats: Repeats,
}

impl Settings {
    /// A test with this server, all else as usual.
    #[must_use]
    pub fn new(test: &'static Test, host: &str) -> Self {
        Self {
            test,
            host: host.to_owned(),
            place: Place { port: PORT, bind: None, device: None, family: None },
            data: (None, None),
            own: None,
            length: Length::Time(10),
            request: 1,
            response: 1,
            local: EndSettings::default(),
            remote: EndSettings::default(),
            no_delay: false,
            keep_alive: false,
            routing: test.transport == Transport::Tcp || test.is_transactions(),
            connected: false,
            patience: None,
            wait: Duration::ZERO,
            file: None,
            latency: false,
            unit: None,
            repeats: Repeats::default(),
        }
    }

    /// Letter of the unit of results: `x` for transactions.
    pub(super) fn unit(&self) -> char {
        self.unit.unwrap_or(if self.test.is_transactions() { 'x' } else { 'm' })
    }
}
