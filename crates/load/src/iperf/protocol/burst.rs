//! Beginning of each block of a byte stream with times (`--trip-times`).

use super::{Stamp, high, low, put, word};

/// Beginning of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Number of the block, from 1.
    pub number: u32,
    /// Bytes of the block, these included.
    pub size: u32,
    /// Time of the write.
    pub sent: Stamp,
}

impl Burst {
    /// Bytes of it, and the least of a block.
    pub const LEN: usize = 92;

    /// Reads it; `None` for a block that is shorter than its own beginning.
    #[must_use]
    pub fn read(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let sent = Stamp { seconds: word(bytes, 20), micros: word(bytes, 24) };
        let burst = Self { number: word(bytes, 44), size: word(bytes, 48), sent };
        (burst.size as usize >= Self::LEN).then_some(burst)
    }

    /// Writes it at the beginning of a block. `begun` is the beginning of the test, `before` the bytes before this block.
    pub fn write(self, bytes: &mut [u8], begun: Stamp, before: u64) {
        put(bytes, 0, 0);
        put(bytes, 12, begun.seconds);
        put(bytes, 16, begun.micros);
        put(bytes, 20, self.sent.seconds);
        put(bytes, 24, self.sent.micros);
        put(bytes, 44, self.number);
        put(bytes, 48, self.size);
        let number = before + u64::from(self.size);
        put(bytes, 52, low(number));
        put(bytes, 56, high(number));
    }
}
