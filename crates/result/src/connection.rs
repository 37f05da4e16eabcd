//! State of a TCP connection at its sender.

use serde::{Deserialize, Serialize};

use super::Number;

/// A connection when a test ended, as its sender's TCP knows it: of the kernel TCP_INFO (tcp(7)), of linerate's own stack the
/// same. What the sender does not tell, or is at another machine, is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connection {
    /// Segments that were sent again during the test.
    pub sent_again: Option<u64>,
    /// Smoothed round-trip time (RFC 6298, section 2), ns.
    pub rtt_ns: Number,
    /// Least round-trip time of late, ns: of minutes in the kernel, of ten seconds in linerate's own stack.
    pub least_rtt_ns: Number,
    /// Congestion window, bytes.
    pub window_bytes: Option<u64>,
    /// Rate of the latest delivery to the other end, bit/s; linerate's own stack has none.
    pub delivered_bits_per_second: Number,
}
