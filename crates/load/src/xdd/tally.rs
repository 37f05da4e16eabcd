//! Counts of a target's requests.

use hdrhistogram::Histogram;

/// Longest latency that is distinguished: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

/// Counts of one direction of a target, over a pass or the whole run.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Requests that succeeded.
    pub ops: u64,
    /// Bytes transferred by successful requests.
    pub bytes: u64,
    /// Total time of successful requests, ns.
    pub total_ns: u64,
    pub errors: u64,
    /// Time from submission to completion of successful requests, ns, to three digits.
    pub latency: Histogram<u64>,
}

impl Default for Tally {
    fn default() -> Self {
        let latency = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are constants and good");
        Self { ops: 0, bytes: 0, total_ns: 0, errors: 0, latency }
    }
}

impl Tally {
    /// Counts a request that succeeded.
    #[inline]
    pub(super) fn done(&mut self, bytes: u64, ns: u64) {
        self.ops += 1;
        self.bytes += bytes;
        self.total_ns += ns;
        self.latency.saturating_record(ns.max(1));
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.total_ns += other.total_ns;
        self.errors += other.errors;
        self.latency.add(&other.latency).expect("both have the same bounds");
    }

    pub(super) fn clear(&mut self) {
        (self.ops, self.bytes, self.total_ns, self.errors) = (0, 0, 0, 0);
        self.latency.reset();
    }
}

/// Account of a target in a pass, or in the whole run.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub reads: Tally,
    pub writes: Tally,
    /// Number of reads whose contents were not as expected.
    pub miscompares: u64,
    /// Time from the begin of a pass to the last completion, ns.
    pub elapsed_ns: u64,
    /// Time from the first submission to the last completion, ns.
    pub from_first_ns: u64,
    /// Number of times that a failed request was repeated.
    pub retries: u64,
    /// Number of requests that took longer than their threshold.
    pub late: u64,
    /// First of these requests in this pass, one per line.
    pub late_told: Vec<String>,
    /// Number of requests that had not ended at the time limit.
    pub lost: u64,
    /// First errors, one per line.
    pub told: Vec<String>,
}

impl Account {
    /// Number of requests that succeeded.
    #[must_use]
    pub fn ops(&self) -> u64 {
        self.reads.ops + self.writes.ops
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.reads.bytes + self.writes.bytes
    }

    /// Number of requests that failed, moved wrong data, or did not end.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.reads.errors + self.writes.errors + self.miscompares + self.lost
    }

    /// Latencies of reads and writes together.
    #[must_use]
    pub fn latency(&self) -> Histogram<u64> {
        let mut both = self.reads.latency.clone();
        both.add(&self.writes.latency).expect("both have the same bounds");
        both
    }

    /// Name in xdd for the operations done or tried.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        let [reads, writes] = [&self.reads, &self.writes].map(|tally| tally.ops + tally.errors);
        match (reads, writes) {
            (_, 0) => "read",
            (0, _) => "write",
            _ => "mixed",
        }
    }

    /// Adds a further pass of the same target: times are added.
    pub(super) fn follow(&mut self, next: &Self) {
        self.add(next);
        self.elapsed_ns += next.elapsed_ns;
        self.from_first_ns += next.from_first_ns;
    }

    /// Adds the account of another target of the same time: the longest time counts.
    pub(super) fn beside(&mut self, other: &Self) {
        self.add(other);
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.from_first_ns = self.from_first_ns.max(other.from_first_ns);
    }

    fn add(&mut self, other: &Self) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        self.miscompares += other.miscompares;
        self.lost += other.lost;
        self.retries += other.retries;
        self.late += other.late;
        self.told.extend_from_slice(&other.told);
    }

    /// Resets all counts, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        (self.miscompares, self.elapsed_ns, self.from_first_ns, self.lost) = (0, 0, 0, 0);
        (self.retries, self.late) = (0, 0);
        self.told.clear();
        self.late_told.clear();
    }
}

/// Converts a count to a float, to 53 bits.
#[expect(clippy::cast_precision_loss, reason = "see above")]
pub(super) fn float(n: u64) -> f64 {
    n as f64
}
