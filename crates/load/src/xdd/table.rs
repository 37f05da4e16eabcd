//! Lines that xdd prints: a row per target and pass, each target's average, and all together.

use super::tally::{Account, float};
use hdrhistogram::Histogram;

/// Heading of the rows.
pub(super) const HEADER: &str =
    "                     T  Q       Bytes      Ops    Time      Rate      IOPS   Latency     %CPU  OP_Type    ReqSize";

/// Heading for a file of comma-separated values.
pub(super) const CSV_HEADER: &str = ",Target,Q,Bytes,Ops,Time,Avg Rate,IOPS,Latency,Percent CPU,OP_Type,ReqSize";

/// A row before it is written.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Label of the row, 17 characters.
    pub(super) what: String,
    /// Number of the target, or number of targets.
    pub(super) target: usize,
    /// Number of requests in flight.
    pub(super) depth: u64,
    bytes: u64,
    ops: u64,
    /// Duration, seconds.
    seconds: f64,
    /// Megabytes (10^6 bytes) per second.
    pub(super) rate: f64,
    /// Requests per second.
    pub(super) iops: f64,
    /// Mean time per request, milliseconds.
    latency: f64,
    /// Processor time in per cent of one processor.
    pub(super) cpu: f64,
    operation: &'static str,
    /// Mean bytes per request.
    size: u64,
}

impl Row {
    /// Makes the row of an account. Values that were not measured are -1, as in xdd.
    pub(super) fn of(what: String, target: usize, depth: u64, account: &Account, cpu: f64) -> Self {
        let (ops, bytes, seconds) = (account.ops(), account.bytes(), float(account.elapsed_ns) / 1e9);
        let any = ops > 0 && account.elapsed_ns > 0;
        let per_second = |n: f64| if any { n / seconds } else { -1.0 };
        let ns = float(account.reads.total_ns + account.writes.total_ns) / float(ops.max(1));
        Self {
            what,
            target,
            depth,
            bytes,
            ops,
            seconds,
            rate: per_second(float(bytes) / 1e6),
            iops: per_second(float(ops)),
            latency: if any { ns / 1e6 } else { -1.0 },
            cpu,
            operation: account.operation(),
            size: bytes / ops.max(1),
        }
    }

    /// The row as it is printed.
    pub(super) fn line(&self) -> String {
        let Self { what, target, depth, bytes, ops, seconds, rate, iops, latency, cpu, operation, size } = self;
        format!(
            "{what:17} {target:4} {depth:2}  {bytes:12}   {ops:6}   {seconds:7.3}   {rate:7.3}     {iops:6.2}   {latency:7.4}    \
             {cpu:5.2}   {operation}  {size:10}"
        )
    }

    /// The row separated by commas.
    pub(super) fn csv(&self) -> String {
        let Self { what, target, depth, bytes, ops, seconds, rate, iops, latency, cpu, operation, size } = self;
        format!(
            "{},{target},{depth},{bytes},{ops},{seconds:.3},{rate:.3},{iops:.2},{latency:.4},{cpu:.2},{operation},{size}",
            what.trim()
        )
    }
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
    fn columns_stand_where_xdd_has_them() {
        let mut account = Account { elapsed_ns: 2_000_000_000, ..Account::default() };
        for _ in 0..1000 {
            account.reads.done(512, 1_000_000);
            account.writes.done(512, 3_000_000);
        }
        let row = Row::of("TARGET   PASS0001".into(), 3, 16, &account, 12.25);
        assert_eq!(
            row.line(),
            "TARGET   PASS0001    3 16       1024000     2000     2.000     0.512     1000.00    2.0000    12.25   mixed         512"
        );
        assert_eq!(row.csv(), "TARGET   PASS0001,3,16,1024000,2000,2.000,0.512,1000.00,2.0000,12.25,mixed,512");
        let columns = HEADER.split_whitespace().count();
        assert_eq!((columns, CSV_HEADER.split(',').count()), (11, 12));
        assert_eq!(row.line().split_whitespace().count(), columns + 2, "with the two words in front");
    }

    #[test]
    fn of_nothing_there_is_no_rate() {
        let row = Row::of("x".into(), 0, 1, &Account::default(), 0.0).csv();
        assert_eq!(row, "x,0,1,0,0,0.000,-1.000,-1.00,-1.0000,0.00,read,0");
        assert!(percentiles("reads", &Account::default().latency()).is_none());
    }
}
