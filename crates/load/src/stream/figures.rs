//! Figures of a test, as they are counted and reported.

use super::settings::{Role, Settings};
use crate::socket::sys::TcpInfo;
use linerate_result::Connection;
use std::net::SocketAddr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamInfo {
    /// Number of its socket, which is its name in reports.
    pub(super) socket: i32,
    /// True if this end sends.
    pub(super) sends: bool,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

/// Figures of a stream in an interval. Times are seconds since the beginning of the count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figure {
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) bytes: u64,
    /// Segments sent again; of a TCP sender.
    pub(super) retransmits: u64,
    /// Congestion window and receiver's window, bytes.
    pub(super) cwnd: u64,
    pub(super) wnd: u64,
    /// Round-trip time and its variation, microseconds.
    pub(super) rtt: u64,
    pub(super) rttvar: u64,
    pub(super) pmtu: u64,
    /// Datagrams sent, or passed by their numbers.
    pub(super) packets: u64,
    /// Datagrams lost; negative if such as were counted before have come.
    pub(super) lost: i64,
    /// Seconds.
    pub(super) jitter: f64,
    /// True if the interval does not count.
    pub(super) omitted: bool,
}

impl Figure {
    pub(super) fn seconds(&self) -> f64 {
        self.end - self.start
    }
}

/// Figures of a stream over the whole test, of both ends as far as known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Total {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) retransmits: u64,
    /// State of the connection at the end, if this end sends.
    pub(super) tcp: Option<TcpInfo>,
    pub(super) max_cwnd: u64,
    pub(super) max_wnd: u64,
    pub(super) max_rtt: u64,
    pub(super) min_rtt: u64,
    pub(super) mean_rtt: u64,
    /// Datagrams sent, and passed by their numbers at the receiver.
    pub(super) packets_sent: u64,
    pub(super) packets_received: u64,
    pub(super) lost: u64,
    pub(super) out_of_order: u64,
    pub(super) jitter: f64,
}

impl Total {
    /// The connection in results, if it is one and segments sent again are known of its sender.
    fn connection(&self, sends: bool, summary: &Summary) -> Option<Connection> {
        match self.tcp {
            Some(tcp) => Some(tcp.connection(self.retransmits)),
            None if !sends && summary.other_retransmits => {
                Some(Connection { sent_again: Some(self.retransmits), ..Connection::default() })
            }
            None => None,
        }
    }
}

impl Summary {
    /// TCP's connections in results, each with true if this end sends by it; none of datagrams.
    pub(super) fn connections(&self, infos: &[StreamInfo]) -> Vec<(bool, Connection)> {
        let of = |(info, total): (&StreamInfo, &Total)| Some((info.sends, total.connection(info.sends, self)?));
        infos.iter().zip(&self.totals).filter_map(of).collect()
    }
}

/// Processor time in per cent of one processor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cpu {
    pub(super) total: f64,
    pub(super) user: f64,
    pub(super) system: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summary {
    /// Totals of the streams, in their order.
    pub(super) totals: Vec<Total>,
    /// Seconds that the own end counted, and that the sender and the receiver did.
    pub(super) seconds: f64,
    pub(super) sender_seconds: f64,
    pub(super) receiver_seconds: f64,
    /// True if segments sent again are known of what this end sends, and of what the other one does.
    pub(super) own_retransmits: bool,
    pub(super) other_retransmits: bool,
    pub(super) own_cpu: Cpu,
    pub(super) other_cpu: Cpu,
    pub(super) own_congestion: Option<String>,
    pub(super) other_congestion: Option<String>,
    /// True if the other end has told its figures: a server's client does later, and a test that was cut short hears of none.
    pub(super) other_known: bool,
    /// Output of the server, if it was asked for.
    pub(super) output: ServerOutput,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum ServerOutput {
    #[default]
    None,
    Text(String),
    Json(serde_json::Value),
}

/// Sizes of socket buffers: what was asked for, and what the system gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Buffers {
    pub(super) asked: u64,
    pub(super) send: u64,
    pub(super) receive: u64,
}

/// A test, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) role: Role,
    pub(super) settings: Settings,
    pub(super) cookie: String,
    /// Server's name and port, or the client's address.
    pub(super) host: String,
    pub(super) port: u16,
    /// Largest segment of the control connection, if known.
    pub(super) mss: u64,
}

/// Bytes per second.
pub(super) fn speed(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 }
}

pub(super) fn percent(part: f64, of: u64) -> f64 {
    if of > 0 { 100.0 * part / of as f64 } else { 0.0 }
}
