//! Outcome of a test.

use super::cpu::{Cpu, service_demand};
use super::table::Test;
use hdrhistogram::Histogram;
use linerate_result::Connection;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndFigures {
    /// Bytes sent.
    pub sent: u64,
    /// Calls that sent them: datagrams, or blocks of a stream.
    pub sends: u64,
    /// Datagrams that the system dropped before they left.
    pub failed: u64,
    /// Bytes received.
    pub received: u64,
    /// Calls that received them.
    pub receives: u64,
    /// Buffers of the data socket, bytes: to send and to receive, before the test and after it.
    pub send_buffer: (u32, u32),
    pub receive_buffer: (u32, u32),
    /// Bytes of one call that sends; -1 if the end does not say.
    pub send_size: i64,
    /// Bytes of one call that receives.
    pub receive_size: i64,
    /// Blocks of memory that take turns.
    pub send_width: u32,
    /// The same of what is received.
    pub receive_width: u32,
    /// Segments sent again; -1 if nobody knows.
    pub retransmits: i32,
    /// Congestion control; empty if nobody knows.
    pub congestion: String,
    /// Priority and type of service of the data socket; -1 for the system's own, or if the end does not say.
    pub priority: i32,
    pub tos: i32,
    /// Use of the end's processors, if it was measured.
    pub cpu: Option<Cpu>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Time of the run at this end, seconds.
    pub seconds: f64,
    pub transactions: u64,
    pub local: EndFigures,
    pub remote: EndFigures,
    /// The data connection at its end, if there was one.
    pub connection: Option<Connection>,
    /// Largest segment of the data connection, bytes.
    pub mss: Option<u32>,
    /// Times of calls or transactions, ns.
    pub times: Option<Histogram<u64>>,
}

impl Figures {
    /// Bytes that arrived in a second: at this end if it only receives, otherwise at the server, with those that it sent.
    #[must_use]
    pub fn bytes_per_second(&self, test: &Test) -> f64 {
        let bytes = if test.sends { self.remote.sent + self.remote.received } else { self.local.received };
        self.per_second(bytes)
    }

    #[must_use]
    pub fn transactions_per_second(&self) -> f64 {
        self.per_second(self.transactions)
    }

    #[must_use]
    pub fn per_second(&self, amount: u64) -> f64 {
        if self.seconds > 0.0 { amount as f64 / self.seconds } else { 0.0 }
    }

    /// Processor time of an end for a transaction, or for 1024 bytes that this end has moved, microseconds.
    pub(super) fn demand(&self, of: &EndFigures, by_transactions: bool) -> Option<f64> {
        let bytes = (self.local.sent + self.local.received) as f64;
        let units = if by_transactions { self.transactions as f64 } else { bytes / 1024.0 };
        of.cpu.as_ref().map(|cpu| service_demand(cpu.all, cpu.count, units, self.seconds))
    }
}

/// Means of all runs. What is not measured is -1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Means {
    /// Time of a run, seconds.
    pub seconds: f64,
    /// Bytes or transactions of a second.
    pub result: f64,
    /// Use of this end's processors, per cent.
    pub local_cpu: f64,
    pub remote_cpu: f64,
    /// Service demand of this end, microseconds.
    pub local_demand: f64,
    pub remote_demand: f64,
}

/// Widths of the intervals that the means are in with the confidence asked for, as parts of the means; -1 for a
/// single run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Widths {
    pub result: f64,
    pub local_cpu: f64,
    pub remote_cpu: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The last run.
    pub last: Figures,
    pub means: Means,
    pub runs: u32,
    /// Widths of the means' intervals.
    pub widths: Widths,
    /// True if the means are known as well as was asked for.
    pub confident: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrived_counts() {
        let [stream, maerts] = ["TCP_STREAM", "TCP_MAERTS"].map(|name| Test::by_name(name).unwrap());
        let end = |sent, received, all| {
            let cpu = Some(Cpu { all, count: 2, ..Cpu::default() });
            EndFigures { sent, received, cpu, ..EndFigures::default() }
        };
        let figures =
            Figures { seconds: 2.0, local: end(4096, 8, 50.0), remote: end(0, 1000, 25.0), ..Figures::default() };
        assert_eq!((figures.bytes_per_second(stream), figures.bytes_per_second(maerts)), (500.0, 4.0));
        let demand = figures.demand(&figures.remote, false).unwrap();
        assert!((demand - 25.0 * 10_000.0 / (4104.0 / 1024.0 / 2.0) * 2.0).abs() < 1e-6, "{demand}");
    }
}
