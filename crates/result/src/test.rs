//! One test of a run: what was asked, on which ports, and every figure taken.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Latency, Ledger, Number, Queues, Stage};

/// Units of a test's value. Values are written in the unit itself; prefixes (Mpps) are the reader's.
pub mod unit {
    /// Packets per second, summed over the test's sending ports.
    pub const PPS: &str = "pps";
    /// Bits per second.
    pub const BITS: &str = "bit/s";
    /// Bytes per second.
    pub const BYTES: &str = "B/s";
    /// Requests to a storage device per second.
    pub const IOPS: &str = "IOPS";
    /// Nanoseconds.
    pub const NS: &str = "ns";
    /// Parts of one.
    pub const RATIO: &str = "ratio";
}

/// What a warning of an older document begins with that is a failure.
const FAILED: &str = "failed: ";

/// One test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Test {
    /// Short and unique in the run, as `tx-64-1p`.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// Workload by its name in the table of workloads: `tx`, `rx`, `latency`, `paced`, `faults` ...
    pub workload: String,
    /// Ports used, in the order typed.
    pub ports: Vec<PortUsed>,
    /// Frame length in memory: Ethernet header and payload without the frame check sequence, bytes.
    pub frame_bytes: Option<u32>,
    /// Frame length with the frame check sequence (4 bytes), as sizes are quoted; without preamble and gap, bytes.
    pub wire_bytes: Option<u32>,
    /// Parameters by name, as they would be typed.
    pub parameters: BTreeMap<String, String>,
    /// Every repeat, in order, the discarded ones too.
    pub repeats: Vec<Repeat>,
    /// Median and spread of the valid repeats; `null` when there is none.
    pub value: Option<Summary>,
    /// Where the time of a packet goes, stage by stage, in the order of the path; empty when that was not measured.
    pub stages: Vec<Stage>,
    /// Figures beside the value, by name.
    pub further: BTreeMap<String, Summary>,
    /// Latency over all valid repeats, if it was measured.
    pub latency: Option<Latency>,
    /// What became of every frame, if frames were counted.
    pub ledger: Option<Ledger>,
    /// Raw counters of ports, adapters and kernels by name, counted over the test.
    pub counters: BTreeMap<String, u64>,
    /// Processor time of each thread that took part, both ends.
    pub cpu: Vec<Cpu>,
    /// The value over time, in the unit of `value`.
    pub samples: Vec<Sample>,
    /// What failed, a line each: with one the test, and its run, has failed.
    pub failures: Vec<String>,
    /// Things to know before trusting the figures, a line each.
    pub warnings: Vec<String>,
    /// Why the test did not run; `null` when it ran.
    pub skipped: Option<String>,
}

/// A port as it was asked for and as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PortUsed {
    /// The name as typed.
    pub name: String,
    /// What it did in the test.
    pub role: Role,
    /// The path it really got, in the port's own words, as `AF_XDP zero-copy, native`.
    pub path: String,
    /// Largest layer 3 packet, bytes.
    pub mtu: Option<u32>,
    /// Queues that the test used.
    pub queues: Option<Queues>,
}

/// What a port did in a test. JSON: `tx`, `rx` or `both`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sent.
    Tx,
    /// Received.
    Rx,
    /// Sent and received.
    #[default]
    Both,
}

/// One repeat of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeat {
    /// The value, in the unit of the test's summary.
    pub value: Number,
    /// Measured time, seconds.
    pub seconds: Number,
    /// Round trip of a cache line between the two cores before the repeat, ns.
    pub rtt_ns_before: Number,
    /// The same after the repeat, ns.
    pub rtt_ns_after: Number,
    /// Whether the repeat counts.
    pub valid: bool,
    /// Why it does not count; `null` when it does.
    pub why_invalid: Option<String>,
}

/// Median and spread of a test's valid repeats, in `unit`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The median; of an even number of repeats, the mean of the middle two.
    pub median: Number,
    /// The smallest.
    pub least: Number,
    /// The greatest.
    pub greatest: Number,
    /// See [`mod@unit`].
    pub unit: String,
    /// Repeats that the median is of; `null` in documents that do not tell.
    #[serde(default)]
    pub counted: Option<usize>,
    /// Repeats that were made, those too that do not count; `null` in documents that do not tell.
    #[serde(default)]
    pub made: Option<usize>,
}

/// Repeats that counted, of those that were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Repeats that the figure is of.
    pub counted: usize,
    /// All of them.
    pub made: usize,
}

/// Processor time of one thread over the test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// The thread's name.
    pub thread: String,
    /// The core it was pinned to, if it was.
    pub core: Option<u32>,
    /// In user mode, seconds.
    pub user_s: Number,
    /// In the kernel on the thread's behalf, seconds.
    pub system_s: Number,
    /// In soft interrupts on that core, whoever caused them, seconds; `null` when it was not pinned to one.
    pub softirq_s: Number,
    /// Polls that found work.
    pub busy_polls: Option<u64>,
    /// Polls that found none.
    pub empty_polls: Option<u64>,
}

/// The value at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Since the test's start, seconds.
    pub t_s: Number,
    /// The value since the sample before, in the unit of the test's summary.
    pub value: Number,
}

impl Test {
    /// Reads a test that stands by itself, as in a sweep's file; of older documents too.
    ///
    /// # Errors
    /// It is not JSON, or a field is of another type.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let mut test: Self = serde_json::from_str(text)?;
        test.renew();
        Ok(test)
    }

    /// Brings a test of an older document up to date: what failed stood among the warnings, or was counted only.
    pub(crate) fn renew(&mut self) {
        let (failures, warnings) = std::mem::take(&mut self.warnings).into_iter().partition(|w| w.starts_with(FAILED));
        self.warnings = warnings;
        self.failures.extend(Vec::into_iter(failures).map(|line| line[FAILED.len()..].to_owned()));
        let errors = self.counters.get("errors").filter(|n| **n > 0 && self.failures.is_empty());
        self.failures.extend(errors.map(|n| format!("{n} requests failed")));
    }

    /// Sets `value` from the valid repeats.
    pub fn summarize(&mut self, unit: &str) {
        self.value = Summary::of(&self.repeats, unit);
    }

    /// How many repeats the value is of.
    #[must_use]
    pub fn counted(&self) -> Counted {
        let counted = self.repeats.iter().filter(|repeat| repeat.valid && repeat.value.known().is_some()).count();
        Counted { counted, made: self.repeats.len() }
    }

    /// How many ports sent.
    #[must_use]
    pub fn senders(&self) -> usize {
        self.ports.iter().filter(|port| port.role != Role::Rx).count()
    }
}

impl Summary {
    /// Median, least and greatest of the repeats that are valid and have a value; `None` when there is none.
    #[must_use]
    pub fn of(repeats: &[Repeat], unit: &str) -> Option<Self> {
        let mut values: Vec<f64> =
            repeats.iter().filter(|repeat| repeat.valid).filter_map(|repeat| repeat.value.known()).collect();
        Some(Self { made: Some(repeats.len()), ..Self::of_values(&mut values, unit)? })
    }

    /// Median, least and greatest of numbers, which are sorted by it; `None` of none.
    pub fn of_values(values: &mut [f64], unit: &str) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (&least, &greatest) = (values.first()?, values.last()?);
        let upper = values[values.len() / 2];
        let lower = values[(values.len() - 1) / 2];
        // Halved before they are added, so that two huge values do not overflow.
        let median = if values.len() % 2 == 1 { upper } else { lower / 2.0 + upper / 2.0 };
        let number = Some(values.len());
        Some(Self {
            median: median.into(),
            least: least.into(),
            greatest: greatest.into(),
            unit: unit.to_owned(),
            counted: number,
            made: number,
        })
    }
}

impl Counted {
    /// Whether so many were thrown away that the figure is doubtful: fewer than three or fewer than half are left. One
    /// that was measured once or twice on purpose, and kept, is not.
    #[must_use]
    pub fn few(self) -> bool {
        self.counted < self.made && (self.counted < 3 || 2 * self.counted < self.made)
    }
}

impl fmt::Display for Counted {
    /// `3 of 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} of {}", self.counted, self.made))
    }
}

impl Cpu {
    /// Share of the polls that found work, 0..=1; unknown when polls were not counted or there were none.
    #[must_use]
    pub fn busy_share(&self) -> Number {
        let (Some(busy), Some(empty)) = (self.busy_polls, self.empty_polls) else { return Number::UNKNOWN };
        #[expect(clippy::cast_precision_loss, reason = "a share to a few digits")]
        Number::new(busy as f64 / (busy as f64 + empty as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::{Counted, Cpu, Number, Repeat, Summary, Test};

    fn repeats(values: &[f64]) -> Vec<Repeat> {
        values.iter().map(|&value| Repeat { value: value.into(), valid: true, ..Repeat::default() }).collect()
    }

    #[test]
    fn the_summary_is_of_valid_repeats_only() {
        let mut list = repeats(&[5.0, 1.0, 4.0, 1000.0]);
        list[3].valid = false;
        let summary = Summary::of(&list, "pps").unwrap();
        assert_eq!(summary.median, Number::new(4.0));
        assert_eq!((summary.least, summary.greatest), (Number::new(1.0), Number::new(5.0)));
    }

    #[test]
    fn a_figure_says_how_many_repeats_counted_of_how_many_made() {
        let mut test = Test { repeats: repeats(&[5.0, 1.0, f64::NAN, 1000.0]), ..Test::default() };
        test.repeats[3].valid = false;
        test.summarize("pps");
        assert_eq!(test.counted(), Counted { counted: 2, made: 4 });
        assert_eq!(test.counted().to_string(), "2 of 4");
        let document = serde_json::to_value(&test).unwrap();
        assert_eq!((&document["value"]["counted"], &document["value"]["made"]), (&2.into(), &4.into()));
        // A document of before.
        let old = r#"{"median": 1.0, "least": 1.0, "greatest": 1.0, "unit": "pps"}"#;
        let old: Summary = serde_json::from_str(old).unwrap();
        assert_eq!((old.counted, old.made), (None, None));
    }

    #[test]
    fn a_figure_is_doubtful_when_few_repeats_are_left() {
        let few = |counted, made| Counted { counted, made }.few();
        assert!(few(1, 3) && few(2, 3) && few(0, 1) && few(4, 9) && few(3, 7));
        assert!(!few(3, 5) && !few(3, 3) && !few(1, 1) && !few(2, 2) && !few(5, 10) && !few(0, 0));
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
        assert_eq!(Summary::of(&repeats(&[4.0, 1.0, 2.0, 9.0]), "pps").unwrap().median, Number::new(3.0));
        assert_eq!(Summary::of(&repeats(&[f64::MAX, f64::MAX]), "pps").unwrap().median, Number::new(f64::MAX));
    }

    #[test]
    fn without_a_known_value_there_is_no_summary() {
        assert_eq!(Summary::of(&[], "pps"), None);
        assert_eq!(Summary::of(&repeats(&[f64::NAN]), "pps"), None);
    }

    #[test]
    fn the_busy_share_needs_counted_polls() {
        let cpu = Cpu { busy_polls: Some(3), empty_polls: Some(1), ..Cpu::default() };
        assert_eq!(cpu.busy_share(), Number::new(0.75));
        assert_eq!(Cpu { busy_polls: Some(0), empty_polls: Some(0), ..Cpu::default() }.busy_share(), Number::UNKNOWN);
        assert_eq!(Cpu::default().busy_share(), Number::UNKNOWN);
    }
}
