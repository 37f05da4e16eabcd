//! Frames that pkt-gen sends: Ethernet, IPv4 or IPv6, UDP, and a mark that identifies each frame.
//!
//! ```text
//!   virtio-net header (0, 10 or 12 zeros) | Ethernet 14 | IPv4 20 or IPv6 40 | UDP 8 |
//!   stream u16 | w0 u64 | w1 u64 | pattern …                    w0 = run (16 bits) << 48 | sequence (48 bits), w1 = !w0
//!   stream u16 | w0 u64 | w1 u64 | stamp u64 | !stamp u64 | pattern …                               with time-stamps
//! ```
//! A stamp's highest bit is the tag of a frame whose stamp is the time of its own transmission ([`Stamp`]).
//!
//! All numbers are in network byte order. A word and its complement sum to all ones, which is zero in the Internet
//! checksum (RFC 1071): the UDP checksum does not depend on sequence and stamp, so it is filled in once, and a frame is
//! sent by copying the template and writing 16 bytes. A frame too short for the mark has none. The bytes after the mark
//! are a pattern that depends only on the position.

mod flow;
mod mark;
mod template;

pub(crate) use flow::Dice;
pub use flow::{Flow, FlowRange, Flows};
pub use mark::{Mark, RUN_BITS, SEQUENCE_MASK, Stamp};
pub use template::{Head, Heads, Layout, Payload, Template, pattern};

#[cfg(test)]
mod tests;
