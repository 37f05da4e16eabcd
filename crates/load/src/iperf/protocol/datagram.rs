//! Beginning of each datagram: its number and the time at which it was sent.

use super::{Stamp, high, low, put, wide, word};

/// Beginning of a datagram. Numbers count from 1; the datagram that ends a test has a negative one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    pub number: i64,
    pub sent: Stamp,
}

impl Datagram {
    pub const LEN: usize = 16;
    /// Bytes that are there if numbers have 32 bits.
    const SHORT: usize = 12;

    /// Reads a datagram; `wide` if numbers have 64 bits. `None` if it is too short.
    #[inline]
    #[must_use]
    pub fn read(wide_number: bool, bytes: &[u8]) -> Option<Self> {
        let least = if wide_number { Self::LEN } else { Self::SHORT };
        if bytes.len() < least {
            return None;
        }
        let lower = word(bytes, 0);
        let number = if wide_number {
            i64::from_be_bytes(wide(word(bytes, 12), lower).to_be_bytes())
        } else {
            i32::from_be_bytes(lower.to_be_bytes()).into()
        };
        Some(Self { number, sent: Stamp { seconds: word(bytes, 4), micros: word(bytes, 8) } })
    }

    /// Writes it at the beginning of a datagram, which has room for it.
    #[inline]
    pub fn write(self, bytes: &mut [u8]) {
        let number = u64::from_be_bytes(self.number.to_be_bytes());
        put(bytes, 0, low(number));
        put(bytes, 4, self.sent.seconds);
        put(bytes, 8, self.sent.micros);
        put(bytes, 12, high(number));
    }
}
