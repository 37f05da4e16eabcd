//! Time stamps: seconds since 1970 and microseconds.

use std::time::Duration;

/// A time, as messages say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Seconds since 1970.
    pub seconds: u32,
    /// Microseconds of the second.
    pub micros: u32,
}

impl Stamp {
    /// Stamp of a time since 1970; the first one after 2106.
    #[must_use]
    pub fn of(time: Duration) -> Self {
        Self { seconds: u32::try_from(time.as_secs()).unwrap_or(0), micros: time.subsec_micros() }
    }

    /// Microseconds since 1970.
    #[must_use]
    pub fn micros(self) -> i64 {
        i64::from(self.seconds) * 1_000_000 + i64::from(self.micros)
    }
}
