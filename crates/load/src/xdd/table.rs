//! Rows that xdd prints: a target's pass, its average, and all targets together; and lines about latencies.

use super::columns::{self, Line};
use super::config::{Config, Target, WHOLE};
use super::streams::Streams;
use super::tally::{Account, float};
use hdrhistogram::Histogram;
use std::time::Duration;

/// A row before it is written.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    /// Label.
    pub(super) what: &'static str,
    /// Number of the pass, or of passes so far, from 1.
    pub(super) pass: u64,
    /// Number of the target, or number of targets.
    pub(super) target: usize,
    /// Requests in flight on each target; none if they differ.
    pub(super) depth: Option<u64>,
    pub(super) account: &'a Account,
    /// Bytes of a request, and of a block; none if the targets differ.
    pub(super) size: Option<u64>,
    pub(super) block: Option<u64>,
    pub(super) operation: &'static str,
    /// Processor time, seconds: user and system.
    pub(super) cpu: (f64, f64),
    /// True for percentages of all processor time.
    pub(super) relative: bool,
}

impl<'a> Row<'a> {
    /// Makes the row of one target. Its processor time is the share of its requests in the process's.
    pub(super) fn of(
        (what, pass): (&'static str, u64),
        (number, target): (usize, &Target),
        (account, all): (&'a Account, &Account),
        spent: (Duration, Duration),
        relative: bool,
    ) -> Self {
        let share = float(account.ops()) / float(all.ops().max(1));
        Self {
            what,
            pass,
            target: number,
            depth: Some(target.depth.into()),
            account,
            size: Some(target.request_bytes()),
            block: Some(target.block_size),
            operation: operation(target),
            cpu: (spent.0.as_secs_f64() * share, spent.1.as_secs_f64() * share),
            relative,
        }
    }

    /// Makes the row of all targets.
    pub(super) fn combined(config: &Config, passes: u64, account: &'a Account, spent: (Duration, Duration)) -> Self {
        let targets = &config.targets;
        Self {
            what: "COMBINED",
            pass: passes,
            target: targets.len(),
            depth: alike(targets, |target| target.depth.into()),
            account,
            size: alike(targets, Target::request_bytes),
            block: alike(targets, |target| target.block_size),
            operation: alike(targets, operation).unwrap_or("mixed"),
            cpu: (spent.0.as_secs_f64(), spent.1.as_secs_f64()),
            relative: config.relative,
        }
    }

    /// Duration in seconds.
    pub(super) fn seconds(&self) -> f64 {
        float(self.account.elapsed_ns) / 1e9
    }

    /// Time from the begin of the first request to the end of the last one, milliseconds.
    pub(super) fn since_first_ms(&self) -> f64 {
        float(self.account.from_first_ns) / 1e6
    }

    pub(super) fn per_second(&self, n: u64) -> f64 {
        if self.account.elapsed_ns > 0 { float(n) / self.seconds() } else { -1.0 }
    }

    /// Megabytes (10^6 bytes) per second.
    pub(super) fn megabytes(&self, bytes: u64) -> f64 {
        if self.account.elapsed_ns > 0 { float(bytes) / 1e6 / self.seconds() } else { -1.0 }
    }

    /// Mean time of a request, milliseconds.
    pub(super) fn latency(&self) -> f64 {
        let ns = self.account.reads.total_ns + self.account.writes.total_ns;
        float(ns) / float(self.account.ops().max(1)) / 1e6
    }

    /// Processor time in per cent of one processor, or of all processor time.
    pub(super) fn percent(&self, seconds: f64) -> f64 {
        let of = if self.relative { self.cpu.0 + self.cpu.1 } else { self.seconds() };
        if of > 0.0 { seconds * 100.0 / of } else { -1.0 }
    }

    /// Bytes of a request, in units of `unit` bytes.
    pub(super) fn size(&self, unit: u64) -> f64 {
        self.size.map_or(-1.0, |size| float(size) / float(unit))
    }

    /// Blocks of a request.
    pub(super) fn blocks(&self) -> f64 {
        self.block.map_or(-1.0, |block| self.size(block))
    }
}

/// xdd's name for the operations of a target.
fn operation(target: &Target) -> &'static str {
    match target.reads {
        WHOLE => "read",
        0 => "write",
        _ => "mixed",
    }
}

/// A value that all targets have alike.
fn alike<T: PartialEq>(targets: &[Target], of: impl Fn(&Target) -> T) -> Option<T> {
    let first = of(targets.first()?);
    targets.iter().all(|target| of(target) == first).then_some(first)
}

/// Writes the lines above the table.
pub(super) fn head(config: &Config, streams: &mut Streams) {
    for line in [Line::Headings, Line::Units] {
        streams.line(&columns::line(&config.columns, line, ' '));
        streams.csv(&columns::line(&config.columns, line, ','));
    }
}

/// Writes a row; returns it as it is in a file of comma-separated values.
pub(super) fn write(config: &Config, row: &Row<'_>, streams: &mut Streams) -> String {
    streams.line(&columns::line(&config.columns, Line::Row(row), ' '));
    let separated = columns::line(&config.columns, Line::Row(row), ',');
    streams.csv(&separated);
    separated
}

/// Line of quantiles of a distribution, in microseconds.
pub(super) fn percentiles(what: &str, latency: &Histogram<u64>) -> Option<String> {
    if latency.is_empty() {
        return None;
    }
    let us = |ns: u64| float(ns) / 1e3;
    let of = [("50", 0.5), ("90", 0.9), ("99", 0.99), ("99.9", 0.999), ("99.99", 0.9999)];
    let of: Vec<_> = of.iter().map(|(name, q)| format!("{name} % {:.2}", us(latency.value_at_quantile(*q)))).collect();
    Some(format!(
        "LATENCY  {what:8} min {:.2}, {}, max {:.2} usec over {} requests",
        us(latency.min()),
        of.join(", "),
        us(latency.max()),
        latency.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_all_targets_says_what_they_have_alike() {
        let account = Account::default();
        let target = |depth, reads| Target { depth, reads, ..Target::new("t") };
        let of = |targets: Vec<Target>| {
            let config = Config { targets, ..Config::default() };
            let row = Row::combined(&config, 1, &account, Default::default());
            (row.target, row.depth, row.size, row.operation)
        };
        assert_eq!(of(vec![target(16, WHOLE); 3]), (3, Some(16), Some(131_072), "read"));
        assert_eq!(of(vec![target(16, WHOLE), target(8, 0)]), (2, None, Some(131_072), "mixed"));
        assert!(percentiles("reads", &account.latency()).is_none(), "of nothing");
    }
}
