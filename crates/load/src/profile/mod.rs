//! Where each nanosecond of a packet goes, stage by stage.
//!
//! A *column* is one way that a packet can go, measured alone: a [`Test`] with [`Stage`]s and, as
//! its value, what the whole way takes without any measuring. [`SOURCES`] is the table of who measures columns; one file
//! and one row add one. [`flood`] is the same call over and over, as fast as it goes or paced.
//!
//! What this module refuses to do: it uses no tracer and needs no symbol of the kernel, and it explains no difference
//! away; a negative one is shown.

#[cfg(target_os = "linux")]
mod flood;
#[cfg(target_os = "linux")]
mod kernel;
mod own;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(target_os = "linux")]
pub use flood::{Flood, flood};

use linerate_result::{Repeat, Stage, Test, Unit, parameters};
use linerate_rt::Stop;
use std::time::Duration;

/// How columns are measured.
#[derive(Clone, Debug)]
pub struct Order {
    /// Which way the packets go.
    pub way: Direction,
    /// Bytes of a frame in memory, Ethernet header included and FCS not: [`SIZES`].
    pub size: u32,
    /// How long each measurement of each round takes.
    pub time: Duration,
    /// Rounds; in each, everything is measured once.
    pub rounds: u32,
    /// The processor on which it is measured.
    pub core: usize,
}

/// How long one measurement takes, unless a stop cuts it short.
#[derive(Clone, Copy)]
struct Span<'a> {
    time: Duration,
    stop: &'a Stop,
}

impl Span<'_> {
    /// When it is over, if it began then.
    fn until(self, began: u64) -> u64 {
        began.saturating_add(u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX))
    }

    fn goes_on(self, until: u64, now: u64) -> bool {
        now < until && !self.stop.asked()
    }
}

/// Frames that can be measured: UDP over IPv4 with at least one byte of payload, and an MTU of 1500.
pub const SIZES: std::ops::RangeInclusive<u32> = 43..=1514;

/// Ethernet, IPv4 and UDP headers.
const HEADERS: u32 = 42;

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Out.
    Tx,
    /// In.
    Rx,
}

impl Direction {
    /// The workload of the tests that hold such columns.
    #[must_use]
    pub fn workload(self) -> &'static str {
        match self {
            Self::Tx => "profile-tx",
            Self::Rx => "profile-rx",
        }
    }
}

/// Who measures columns.
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// Whether it is the system's network and not linerate's own.
    pub kernel: bool,
    /// The ways of which it measures any.
    pub ways: &'static [Direction],
    /// Measures; columns that cannot be measured say why.
    pub measure: fn(&Order, &Stop, Tell<'_>) -> Vec<Test>,
}

/// Is given a line when something new begins.
pub type Tell<'a> = &'a mut dyn FnMut(&str);

/// All of them, in the order of the table.
pub const SOURCES: &[Source] = &[
    own::SOURCE,
    #[cfg(target_os = "linux")]
    kernel::SOURCE,
];

/// One round's measurement of a whole way, without stamps or cuts.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    /// Nanoseconds a packet.
    pub ns: f64,
    /// How long it was measured, seconds.
    pub seconds: f64,
}

/// A column: its stages and what the whole way took. Whether they agree, [`Test::agreements`] tells.
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

/// A column that was not measured, and why.
#[must_use]
pub fn missing_column(id: &str, title: &str, order: &Order, why: &str) -> Test {
    Test { skipped: Some(why.to_owned()), ..empty_column(id, title, order) }
}

fn empty_column(id: &str, title: &str, order: &Order) -> Test {
    let milliseconds = u64::try_from(order.time.as_millis()).unwrap_or(u64::MAX);
    let asked = [("size", order.size.into()), ("time", milliseconds.into()), ("rounds", order.rounds.into())];
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
