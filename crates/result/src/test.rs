//! One test of a run: its parameters, its ports and every figure taken.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Connection, Counted, Counters, Latency, Ledger, Number, Parameters, Queues, Repeat, Stage, Summary, Unit, migrate,
};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Test {
    /// Identifier, short and unique in the run, such as `tx-64-1p`.
    pub id: String,
    /// Title for people, one line.
    pub title: String,
    /// Workload by its name in the table of workloads: `tx`, `rx`, `latency`, `paced`, `faults` ...
    pub workload: String,
    /// Ports used, in the order given on the command line.
    pub ports: Vec<PortUsed>,
    /// Frame length in memory: Ethernet header and payload without the frame check sequence, bytes.
    pub frame_bytes: Option<u32>,
    /// Frame length with the frame check sequence (4 bytes), as sizes are quoted; without preamble and gap, bytes.
    pub wire_bytes: Option<u32>,
    /// Parameters of the test, by name.
    pub parameters: Parameters,
    /// All repeats in order, including the discarded ones.
    pub repeats: Vec<Repeat>,
    /// Median and spread of the valid repeats; `null` when there is none.
    pub value: Option<Summary>,
    /// Target of the value: a lower bound where more is better, an upper bound where less is; `null` without a target.
    pub wanted: Number,
    /// Stages of the path in order, with the time that a packet spends in each; empty when not measured.
    pub stages: Vec<Stage>,
    /// Further figures, by name.
    pub further: BTreeMap<String, Summary>,
    /// Latency over all valid repeats, if it was measured. Of pkt-gen's streams: from just before a frame's own transmission
    /// to its arrival, of tagged frames as in RFC 2544, 26.2 (documents without `burst_latency` have that here).
    pub latency: Option<Latency>,
    /// Latency of the other frames of pkt-gen's streams: from a frame's writing, so with the time in its burst.
    pub burst_latency: Option<Latency>,
    /// Account of every frame, if frames were counted.
    pub ledger: Option<Ledger>,
    /// Raw counters of ports, adapters, kernels and the workload, counted over the test.
    pub counters: Counters,
    /// Processor time of each thread that took part, of senders and receivers.
    pub cpu: Vec<Cpu>,
    /// TCP's connections that carried the data, of all repeats, in their order.
    pub connections: Vec<Connection>,
    /// The value over time, in the unit of `value`.
    pub samples: Vec<Sample>,
    /// End that counted the samples: the sender's are of what was sent, though the value is of what arrived. Left out where the
    /// test has no two ends, or it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples_of: Option<Role>,
    /// Failures, one per line: any of them makes the test, and its run, fail.
    pub failures: Vec<String>,
    /// Things to know before trusting the figures, a line each.
    pub warnings: Vec<String>,
    /// Reason why the test did not run; `null` when it ran.
    pub skipped: Option<String>,
}

/// A port as it was requested and as it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PortUsed {
    /// Name as typed on the command line.
    pub name: String,
    pub role: Role,
    /// Path that the port actually uses, as the port describes it: `AF_XDP zero-copy, native`.
    pub path: String,
    /// Largest layer 3 packet, bytes.
    pub mtu: Option<u32>,
    /// Queues that the test used.
    pub queues: Option<Queues>,
}

/// Role of a port, or of an end, in a test. JSON: `tx`, `rx` or `both`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Tx,
    Rx,
    #[default]
    Both,
}

/// Processor time of one thread over the test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    pub thread: String,
    /// Core that the thread was pinned to; `null` if it was not pinned.
    pub core: Option<u32>,
    /// Time in user mode, seconds.
    pub user_s: Number,
    /// Time in the kernel on the thread's behalf, seconds.
    pub system_s: Number,
    /// Time of all soft interrupts on that core, whatever caused them, seconds; `null` when the thread was not pinned.
    pub softirq_s: Number,
    /// Number of polls that found work.
    pub busy_polls: Option<u64>,
    /// Number of polls that found no work.
    pub empty_polls: Option<u64>,
}

/// The value at one point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Time since the start of the test, seconds.
    pub t_s: Number,
    /// The value since the previous sample, in the unit of the test's summary.
    pub value: Number,
}

impl Test {
    /// Reads a test, or a list of tests, such as a point of a sweep's file; tests of older documents too.
    ///
    /// # Errors
    /// The text is not JSON, or a field is of another type.
    pub fn all_from_json(text: &str) -> Result<Vec<Self>, serde_json::Error> {
        let read = |mut test: serde_json::Value| {
            migrate::test(&mut test);
            serde_json::from_value(test)
        };
        match serde_json::from_str(text)? {
            serde_json::Value::Array(tests) => tests.into_iter().map(read).collect(),
            test => read(test).map(|test| vec![test]),
        }
    }

    /// Sets `value` from the valid repeats.
    pub fn summarize(&mut self, unit: Unit) {
        self.value = Summary::of(&self.repeats, unit);
    }

    /// Has none of the repeats count that did, for a reason.
    pub fn discard(&mut self, why: &str) {
        for repeat in self.repeats.iter_mut().filter(|repeat| repeat.valid) {
            (repeat.valid, repeat.why_invalid) = (false, Some(why.to_owned()));
        }
        if let Some(unit) = self.value.as_ref().map(|value| value.unit.clone()) {
            self.summarize(unit);
        }
    }

    /// Number of repeats that the value is computed from, and of all that were made.
    #[must_use]
    pub fn counted(&self) -> Counted {
        let counted = self.repeats.iter().filter(|repeat| repeat.valid && repeat.value.known().is_some()).count();
        Counted { counted, made: self.repeats.len() }
    }

    /// Reason why the test's figure is none: no repeat was measured, one has no value, or nothing moved in one. A skipped test
    /// has a reason of its own, and a repeat that does not count is no figure.
    #[must_use]
    pub fn idle(&self) -> Option<String> {
        let median = self.value.as_ref().and_then(|value| value.median.known());
        let rate = self.value.as_ref().is_some_and(|value| value.unit.more_is_better());
        let counts =
            |is: fn(Number) -> bool| self.repeats.iter().filter(|repeat| repeat.valid && is(repeat.value)).count();
        let unknown = counts(|value| value.known().is_none());
        let still = counts(|value| value.known().is_some_and(|value| value <= 0.0));
        let made = self.repeats.len();
        match median {
            _ if self.skipped.is_some() => None,
            None => Some(format!("not measured: {} repeats count", self.counted())),
            Some(_) if unknown > 0 => Some(format!("{unknown} of {made} repeats were not measured")),
            Some(_) if rate && still > 0 => Some(format!("nothing moved in {still} of {made} repeats")),
            Some(median) => (rate && median <= 0.0).then(|| "nothing moved".to_owned()),
        }
    }

    /// True if the value reaches the target; a missing value or target is no failure.
    #[must_use]
    pub fn holds(&self) -> bool {
        let Some(value) = &self.value else { return true };
        let worse = |(wanted, value): (f64, f64), more: bool| if more { value < wanted } else { value > wanted };
        !self.wanted.known().zip(value.median.known()).is_some_and(|both| worse(both, value.unit.more_is_better()))
    }

    /// Joins another measurement of the same thing, which was made afterwards: repeats, counters, the ledger, threads, samples,
    /// failures and warnings. The rest stays as it is.
    pub fn append(&mut self, more: Self) {
        let offset = self.samples.last().and_then(|sample| sample.t_s.known()).unwrap_or(0.0);
        self.repeats.extend(more.repeats);
        match (&mut self.ledger, more.ledger) {
            (Some(ledger), Some(more)) => ledger.add(&more),
            (ledger @ None, more) => *ledger = more,
            _ => {}
        }
        self.counters.append(&more.counters);
        self.cpu.extend(more.cpu);
        self.connections.extend(more.connections);
        self.counted_by(more.samples_of, more.samples.is_empty());
        self.samples.extend(more.samples.into_iter().map(|mut sample| {
            sample.t_s = sample.t_s.known().map_or(Number::UNKNOWN, |t| Number::new(t + offset));
            sample
        }));
        for (all, more) in [(&mut self.failures, more.failures), (&mut self.warnings, more.warnings)] {
            for line in more {
                if !all.contains(&line) {
                    all.push(line);
                }
            }
        }
        self.latency = self.latency.take().or(more.latency);
        self.burst_latency = self.burst_latency.take().or(more.burst_latency);
    }

    /// Notes the end that has counted further samples, if there are any: of several ends it is none.
    pub fn counted_by(&mut self, end: Option<Role>, none: bool) {
        if !none {
            let same = self.samples.is_empty() || self.samples_of == end;
            self.samples_of = end.filter(|_| same);
        }
    }

    /// Joins what was measured on other ports at the same time: the values add up.
    pub fn beside(&mut self, mut other: Self) {
        let sum = |a: Number, b: Number| match a.known().zip(b.known()) {
            Some((a, b)) => Number::new(a + b),
            None => Number::UNKNOWN,
        };
        for (mine, theirs) in self.repeats.iter_mut().zip(std::mem::take(&mut other.repeats)) {
            mine.value = sum(mine.value, theirs.value);
            mine.valid &= theirs.valid;
        }
        for (mine, theirs) in self.samples.iter_mut().zip(std::mem::take(&mut other.samples)) {
            mine.value = sum(mine.value, theirs.value);
        }
        self.ports.append(&mut other.ports);
        self.append(other);
    }

    /// Latencies that were measured, each with what its name says behind "latency".
    pub fn latencies(&self) -> impl Iterator<Item = (&'static str, &Latency)> {
        let both = [("", &self.latency), (" with the time in the burst", &self.burst_latency)];
        both.into_iter().filter_map(|(name, latency)| Some((name, latency.as_ref()?)))
    }

    /// Number of ports that sent.
    #[must_use]
    pub fn senders(&self) -> usize {
        self.ports.iter().filter(|port| port.role != Role::Rx).count()
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
    use super::{Cpu, Number, Summary, Test, Unit};

    #[test]
    fn the_value_is_held_against_what_is_wanted() {
        for (value, unit, wanted, holds) in [
            (5.0, Unit::Pps, 5.0, true),
            (4.9, Unit::Pps, 5.0, false),
            (5.0, Unit::Ns, 5.0, true),
            (5.1, Unit::Ns, 5.0, false),
            (5.1, Unit::Ns, f64::NAN, true),
        ] {
            let test = Test { value: Some(Summary::once(value, unit)), wanted: wanted.into(), ..Test::default() };
            assert_eq!(test.holds(), holds, "{value} {wanted}");
        }
        assert!(Test { wanted: 5.0.into(), ..Test::default() }.holds());
    }

    #[test]
    fn the_busy_share_needs_counted_polls() {
        let cpu = Cpu { busy_polls: Some(3), empty_polls: Some(1), ..Cpu::default() };
        assert_eq!(cpu.busy_share(), Number::new(0.75));
        assert_eq!(Cpu { busy_polls: Some(0), empty_polls: Some(0), ..Cpu::default() }.busy_share(), Number::UNKNOWN);
        assert_eq!(Cpu::default().busy_share(), Number::UNKNOWN);
    }
}
