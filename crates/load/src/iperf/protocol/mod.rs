//! Messages of iperf 2: what a client says at the beginning, what each datagram and each timed block begins with, and what
//! a server answers. Bytes in, values out; no socket is known here, and nothing is believed that was not checked.
//!
//! All numbers are 32 bits in the network's order; larger ones take two of them.

mod burst;
mod datagram;
mod reply;
mod request;
mod spread;
mod stamp;

pub use crate::sequence::Receipt;
pub use burst::Burst;
pub use datagram::Datagram;
pub use reply::{Ack, Report};
pub use request::{Amount, Ask, Refusal, Request};
pub use spread::Spread;
pub use stamp::Stamp;

/// Version that a message says: that of the iperf whose protocol this is.
const VERSION: (u32, u32) = (0x0002_0001, 0x0008_0003);

/// Number at this place of a message; 0 behind its end.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |four| u32::from_be_bytes(*four))
}

/// Writes a number at this place of a message that has room for it.
fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(four) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *four = value.to_be_bytes();
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the upper ones have a place of their own")]
const fn low(value: u64) -> u32 {
    value as u32
}

const fn high(value: u64) -> u32 {
    (value >> 32) as u32
}

fn wide(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests;
