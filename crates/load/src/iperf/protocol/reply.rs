//! Answers of a server: to the beginning of a byte stream, and to the end of a test with datagrams.

use super::{Datagram, Receipt, Spread, Stamp, VERSION, high, low, put, wide, word};

/// Answer to a client's header over TCP. A client reads it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack;

impl Ack {
    const TYPE: u32 = 2;
    /// Its length without times.
    const SHORT: usize = 28;
    /// Its length with times.
    const LONG: usize = 52;

    /// Bytes of the answer; with times if the client gave one: when it sent, and when that was read.
    #[must_use]
    pub fn bytes(times: Option<(Stamp, Stamp)>, now: Stamp) -> Vec<u8> {
        let mut bytes = vec![0; if times.is_some() { Self::LONG } else { Self::SHORT }];
        put(&mut bytes, 0, Self::TYPE);
        put(&mut bytes, 4, if times.is_some() { 52 } else { 28 });
        put(&mut bytes, 12, VERSION.0);
        put(&mut bytes, 16, VERSION.1);
        if let Some((sent, read)) = times {
            for (at, stamp) in [(28, sent), (36, read), (44, now)] {
                put(&mut bytes, at, stamp.seconds);
                put(&mut bytes, at + 4, stamp.micros);
            }
        }
        bytes
    }
}

/// A server's report of a test with datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Bytes received.
    pub bytes: u64,
    pub seconds: f64,
    /// Datagrams sent, as far as the server knows.
    pub datagrams: u64,
    pub lost: u64,
    pub out_of_order: u64,
    /// Jitter, seconds.
    pub jitter: f64,
    /// Times on the way, and datagrams per second; none if the server does not show them.
    pub latency: Option<(Spread, u32)>,
}

/// Bit of a report that has counters at all, has times, and has counters of 64 bits.
const COUNTED: u32 = 0x8000_0000;
const TIMED: u32 = 0x4000_0000;
const WIDE: u32 = 0x0800_0000;
/// Factor of the sum of squares in a report.
const SQUARES: f64 = 1e12;

impl Report {
    pub const LEN: usize = Datagram::LEN + 112;

    #[must_use]
    pub fn of(receipt: &Receipt, bytes: u64, seconds: f64, latency: Option<Spread>) -> Self {
        let rate = if seconds > 0.0 { receipt.highest as f64 / seconds } else { 0.0 };
        Self {
            bytes,
            seconds,
            datagrams: receipt.highest,
            lost: receipt.lost,
            out_of_order: receipt.out_of_order,
            jitter: receipt.jitter,
            latency: latency.map(|spread| (spread, whole(rate))),
        }
    }

    /// Reads a report; `None` if it is none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let body = bytes.get(Datagram::LEN..Self::LEN)?;
        let flags = word(body, 0);
        if flags & COUNTED == 0 {
            return None;
        }
        let upper = |at| if flags & WIDE != 0 { word(body, at) } else { 0 };
        let timed = || {
            let spread = Spread {
                count: word(body, 88).into(),
                least: seconds(body, 40),
                most: seconds(body, 48),
                sum: seconds(body, 56),
                mean: seconds(body, 64),
                squares: seconds(body, 72) / SQUARES,
            };
            (spread, word(body, 92))
        };
        Some(Self {
            bytes: wide(word(body, 4), word(body, 8)),
            seconds: seconds(body, 12),
            lost: wide(upper(100), word(body, 20)),
            out_of_order: wide(upper(104), word(body, 24)),
            datagrams: wide(upper(108), word(body, 28)),
            jitter: seconds(body, 32),
            latency: (flags & TIMED != 0).then(timed),
        })
    }

    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut all = [0; Self::LEN];
        let body = &mut all[Datagram::LEN..];
        put(body, 0, COUNTED | WIDE | if self.latency.is_some() { TIMED } else { 0 });
        put(body, 4, high(self.bytes));
        put(body, 8, low(self.bytes));
        put_seconds(body, 12, self.seconds);
        for (at, upper, count) in [(20, 100, self.lost), (24, 104, self.out_of_order), (28, 108, self.datagrams)] {
            put(body, at, low(count));
            put(body, upper, high(count));
        }
        put_seconds(body, 32, self.jitter);
        if let Some((spread, rate)) = self.latency {
            let squares = spread.squares * SQUARES;
            for (at, value) in
                [(40, spread.least), (48, spread.most), (56, spread.sum), (64, spread.mean), (72, squares)]
            {
                put_seconds(body, at, value);
            }
            put(body, 88, low(spread.count.min(u32::MAX.into())));
            put(body, 92, rate);
            put(body, 96, 1);
        }
        all
    }
}

/// Seconds of two words: whole ones and microseconds, which may be negative both.
fn seconds(bytes: &[u8], at: usize) -> f64 {
    let signed = |at| f64::from(i32::from_be_bytes(word(bytes, at).to_be_bytes()));
    signed(at) + signed(at + 4) / 1e6
}

#[expect(clippy::cast_possible_truncation, reason = "the conversion ends at the type's limits")]
fn put_seconds(bytes: &mut [u8], at: usize, seconds: f64) {
    let signed = |value: f64| u32::from_be_bytes((value as i32).to_be_bytes());
    put(bytes, at, signed(seconds.trunc()));
    put(bytes, at + 4, signed((seconds.fract() * 1e6).round()));
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion ends at the type's limits")]
fn whole(value: f64) -> u32 {
    value as u32
}
