//! TCP (RFC 9293), a connection at a time.
//!
//! A [`Connection`] is sans-IO: segments and times are passed in, segments are handed out. It knows neither addresses
//! nor ports; demultiplexing, checksums and cutting of what is longer than a segment are the business of who owns it.
//!
//! | file | |
//! |---|---|
//! | `connection/` | states, arrival, output, timers, recovery, path MTU |
//! | `flight.rs` | what was sent and is not acknowledged; which of it is lost (RACK) |
//! | `congestion/` | the congestion window: CUBIC, NewReno, HyStart++ |
//! | `holes.rs` | what has arrived beyond a gap, and the SACK blocks that tell of it |
//! | `cookie.rs` | SYN cookies |
//! | `fast.rs`, `early.rs` | Fast Open: cookies, given and kept; how many connections may begin so |
//! | `strays.rs` | connections that go from one shard of a host to another |
//! | `send_queue.rs`, `memory.rs` | bytes to be sent or acknowledged, copied or in buffers of their owner; memory |
//! | `shares.rs` | what the connections of an origin may hold |
//! | `rtt.rs`, `seq.rs` | time-out; sequence numbers |

mod congestion;
mod connection;
mod cookie;
mod early;
mod fast;
mod flight;
mod headers;
mod holes;
mod layer;
mod memory;
mod rtt;
mod segment;
mod send_queue;
mod seq;
mod shares;
mod sockets;
mod strays;

use crate::ip::Traffic;
use std::num::NonZeroU16;

pub use congestion::Algorithm;
pub use connection::{Config, Connection, Counters, Ecn, End, FastOpenLesson, KeepAlive, MtuSearch, State};
pub(crate) use layer::Tcp;
pub use layer::Tso;
pub use segment::{Outgoing, Segment};
pub use send_queue::PIECES;
pub use seq::Seq;
pub use sockets::{TcpId, TcpListenerId};
pub use strays::{TcpMoving, TcpStray};

/// Options of a connection from its first segment on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening {
    /// Most bytes of a segment, without options, if fewer than the link takes: what the peer is told, and may send (RFC 9293,
    /// section 3.7.1).
    pub mss: Option<NonZeroU16>,
    /// Traffic class, whose bits of ECN are the connection's own, and flow label.
    pub traffic: Traffic,
}

/// Number of bytes of a segment or a buffer: both are less than 2^31.
#[expect(clippy::cast_possible_truncation, reason = "limits of windows and packets")]
#[inline]
const fn count(bytes: usize) -> u32 {
    bytes as u32
}

/// The low bits of a number.
#[expect(clippy::cast_possible_truncation, reason = "what it is for")]
#[inline]
const fn low(number: u64) -> u32 {
    number as u32
}

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
