//! Time of a packet in each stage of its path.
//!
//! A *column* is one path of a packet, measured alone: a [`Test`] with [`Stage`]s and, as its value, the time of the
//! whole path without any measuring. [`SOURCES`] is the table of the sources of columns; one file and one row add one.
//! [`flood`] repeats the same call as fast as possible or paced.
//!
//! Out of scope: no tracer is used, no symbol of the kernel is needed, and no difference is explained away; a negative
//! one is shown.

#[cfg(target_os = "linux")]
mod flood;
#[cfg(target_os = "linux")]
mod kernel;
mod own;
mod peer;
#[cfg(target_os = "linux")]
mod sys;

pub use flood::{Flood, flood};
#[cfg(target_os = "linux")]
use linerate_text::saturating_ns;

use linerate_result::{Repeat, Stage, Test, Unit, parameters};
use linerate_rt::Stop;
use std::time::Duration;

/// Settings of a measurement of columns.
#[derive(Clone, Debug)]
pub struct Order {
    pub protocol: Protocol,
    pub way: Direction,
    /// Frame length in memory, bytes, Ethernet header included and FCS not: [`Protocol::sizes`].
    pub size: u32,
    /// Duration of each measurement in each round.
    pub time: Duration,
    /// Number of rounds; in each, everything is measured once.
    pub rounds: usize,
    pub core: usize,
}

impl Order {
    /// Bytes of payload in a frame.
    fn payload(&self) -> usize {
        self.size.saturating_sub(self.protocol.headers()) as usize
    }
}

/// Duration of one measurement, unless a stop cuts it short.
#[derive(Clone, Copy)]
struct Span<'a> {
    time: Duration,
    stop: &'a Stop,
}

impl Span<'_> {
    /// End of a measurement that began at `began`.
    fn until(self, began: u64) -> u64 {
        began + saturating_ns(self.time)
    }

    fn goes_on(self, until: u64, now: u64) -> bool {
        now < until && !self.stop.asked()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// UDP over IPv4.
    Udp,
    /// TCP over IPv4, with timestamps.
    Tcp,
}

impl Protocol {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        }
    }

    /// Ethernet, IPv4 and its own headers; of TCP with the timestamps that all segments have (RFC 7323).
    fn headers(self) -> u32 {
        match self {
            Self::Udp => 42,
            Self::Tcp => 66,
        }
    }

    /// Frame lengths that can be measured: at least one byte of payload, and an MTU of 1500.
    #[must_use]
    pub fn sizes(self) -> std::ops::RangeInclusive<u32> {
        self.headers() + 1..=1514
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Tx,
    Rx,
}

impl Direction {
    /// Workload name of the tests that hold such columns.
    #[must_use]
    pub fn workload(self) -> &'static str {
        match self {
            Self::Tx => "profile-tx",
            Self::Rx => "profile-rx",
        }
    }
}

/// A source of columns.
pub struct Source {
    pub name: &'static str,
    /// True for the system's network stack, false for linerate's.
    pub kernel: bool,
    /// Protocols and directions that it measures.
    pub ways: &'static [(Protocol, Direction)],
    /// Measures; columns that cannot be measured have the reason.
    pub measure: fn(&Order, &Stop, Tell<'_>) -> Vec<Test>,
}

impl Source {
    #[must_use]
    pub fn measures(&self, protocol: Protocol, way: Direction) -> bool {
        self.ways.contains(&(protocol, way))
    }
}

/// Function that is called with a line when something new begins.
pub type Tell<'a> = &'a mut dyn FnMut(&str);

/// All sources, in the order of the table.
pub const SOURCES: &[Source] = &[
    own::SOURCE,
    #[cfg(target_os = "linux")]
    kernel::SOURCE,
];

/// Measurement of a whole path in one round, without stamps or cuts.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    /// Nanoseconds per packet.
    pub ns: f64,
    /// Duration of the measurement, seconds.
    pub seconds: f64,
}

/// A column: its stages and the time of the whole path. [`Test::agreements`] tells if they agree.
#[must_use]
pub fn column(id: &str, title: &str, order: &Order, stages: Vec<Stage>, wholes: &[Whole]) -> Test {
    let repeat = |whole: &Whole| Repeat {
        value: whole.ns.into(),
        seconds: whole.seconds.into(),
        valid: true,
        ..Repeat::default()
    };
    let mut test = Test { stages, repeats: wholes.iter().map(repeat).collect(), ..empty_column(id, title, order) };
    test.summarize(Unit::Ns);
    test
}

/// A column that was not measured, with the reason.
#[must_use]
pub fn missing_column(id: &str, title: &str, order: &Order, why: &str) -> Test {
    Test { skipped: Some(why.to_owned()), ..empty_column(id, title, order) }
}

fn empty_column(id: &str, title: &str, order: &Order) -> Test {
    let milliseconds = saturating_ns(order.time) / 1_000_000;
    let asked = [
        ("protocol", order.protocol.name().into()),
        ("size", order.size.into()),
        ("time", milliseconds.into()),
        ("rounds", order.rounds.into()),
    ];
    Test {
        id: id.to_owned(),
        title: title.to_owned(),
        workload: order.way.workload().to_owned(),
        frame_bytes: Some(order.size),
        wire_bytes: Some(order.size + 4),
        parameters: parameters(asked),
        ..Test::default()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
