//! Mark of a frame: run, stream and sequence; and its time-stamp.

use super::template::Layout;

/// Bits of a run's number, above the sequence in a word of 64 bits.
pub const RUN_BITS: u32 = 16;
/// Bits of the sequence in that word.
pub const SEQUENCE_MASK: u64 = (1 << (64 - RUN_BITS)) - 1;

/// Identification of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Run that sent it, drawn at random for each.
    pub run: u16,
    /// The stream within the run: one for each transmit queue.
    pub stream: u16,
    /// Position in the stream, from 0.
    pub sequence: u64,
}

/// Time-stamp of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Time, nanoseconds; 63 bits of it are kept.
    pub ns: u64,
    /// True if that is the time just before the frame's own transmission (the tag of RFC 2544, 26.2), false if it is the
    /// time at which the frame was written, with others of its burst.
    pub tagged: bool,
}

impl Stamp {
    const TAG: u64 = 1 << 63;

    /// The stamp as a word of 64 bits.
    #[inline]
    #[must_use]
    pub fn word(self) -> u64 {
        (self.ns & !Self::TAG) | if self.tagged { Self::TAG } else { 0 }
    }

    #[inline]
    #[must_use]
    pub fn of(word: u64) -> Self {
        Self { ns: word & !Self::TAG, tagged: word & Self::TAG != 0 }
    }
}

impl Mark {
    /// Packs run and sequence into one word.
    #[inline]
    #[must_use]
    pub fn word(run: u16, sequence: u64) -> u64 {
        u64::from(run) << (64 - RUN_BITS) | sequence & SEQUENCE_MASK
    }

    /// The 16 bytes of the mark that differ from frame to frame.
    #[inline]
    #[must_use]
    pub fn bytes(word: u64) -> [u8; 16] {
        ((u128::from(word) << 64) | u128::from(!word)).to_be_bytes()
    }

    /// Word at `at`, if its complement follows.
    #[inline]
    #[must_use]
    pub fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
        let pair: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
        let pair = u128::from_be_bytes(pair);
        #[expect(clippy::cast_possible_truncation, reason = "the halves are wanted")]
        let (word, complement) = ((pair >> 64) as u64, pair as u64);
        (word == !complement).then_some(word)
    }

    /// Mark of a frame, if it has one.
    #[must_use]
    pub fn of(frame: &[u8], layout: Layout) -> Option<Self> {
        let word = Self::word_at(frame, layout.words())?;
        let stream = u16::from_be_bytes(frame.get(layout.mark()..layout.words())?.try_into().ok()?);
        Some(Self { run: Self::run_of(word), stream, sequence: word & SEQUENCE_MASK })
    }

    #[must_use]
    pub fn run_of(word: u64) -> u16 {
        u16::try_from(word >> (64 - RUN_BITS)).unwrap_or(0)
    }
}
