//! A rate cap, exact to the wire's framing: the virtual scheduling form of the generic cell rate algorithm (ITU-T I.371
//! annex A), in picoseconds.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes on the wire that are not in the frame: preamble and delimiter 8, FCS 4, gap 12.
pub const FRAMING: u64 = 24;
/// The shortest frame on the wire, without FCS.
const SHORTEST: u64 = 60;
/// How much may leave at once after a pause, in picoseconds of the cap's own time (10 ms), but of at most so many bytes, unless
/// that is less than a time (500 us) or two large frames: a thread that is kept from running for so long does not lose its rate.
const BURST: u64 = 10_000_000_000;
const BURST_BYTES: u64 = 256 << 10;
const LEAST: u64 = 500_000_000;

/// Bytes that a frame takes on the wire.
#[inline]
#[must_use]
pub fn on_the_wire(len: usize) -> u64 {
    (len as u64).max(SHORTEST) + FRAMING
}

/// A rate, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cap {
    rate: u64,
    burst: u64,
}

impl Cap {
    /// `rate` in bit/s, at least 1; `largest`: bytes of the largest frame.
    pub(crate) fn new(rate: u64, largest: usize) -> Self {
        let mut cap = Self { rate: rate.max(1), burst: 0 };
        let large = 2 * cap.cost(on_the_wire(largest));
        cap.burst = BURST.min(cap.cost(BURST_BYTES)).max(LEAST).max(large);
        cap
    }

    /// The same for a sender that is to be even: a frame at a time, and one that comes late has lost its turn.
    pub(crate) fn even(rate: u64, largest: usize) -> Self {
        let cap = Self { rate: rate.max(1), burst: 0 };
        Self { burst: cap.cost(on_the_wire(largest)), ..cap }
    }

    /// How long one may be late, in nanoseconds, and still lose nothing when it comes a little later than that: a quarter
    /// of what may leave at once, or all but 10 ms, and at most 50 ms.
    pub(crate) fn slack(self) -> u64 {
        let burst = self.burst / 1000;
        (burst / 4).max(burst.saturating_sub(10_000_000)).min(50_000_000)
    }

    /// Picoseconds that bytes on the wire take, rounded up, so that the cap is never exceeded.
    fn cost(self, bytes: u64) -> u64 {
        let bits = u128::from(bytes) * 8 * 1_000_000_000_000;
        u64::try_from(bits.div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX)
    }
}

/// When the next frame is due, in picoseconds since the adapter began; shared by all queues of an interface.
#[derive(Debug, Default)]
pub(crate) struct Bucket(AtomicU64);

impl Bucket {
    /// True if so many bytes may leave now (`now` in nanoseconds since the adapter began), and if so notes it.
    pub(crate) fn take(&self, cap: Cap, now: u64, bytes: u64) -> bool {
        let (now, cost) = (now.saturating_mul(1000), cap.cost(bytes));
        // Relaxed: the value stands for itself.
        let next = |due: u64| (due <= now.saturating_add(cap.burst)).then(|| due.max(now).saturating_add(cost));
        self.0.fetch_update(Relaxed, Relaxed, next).is_ok()
    }

    /// When something may leave, in nanoseconds, rounded up.
    pub(crate) fn due(&self, cap: Cap) -> u64 {
        self.0.load(Relaxed).saturating_sub(cap.burst).div_ceil(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender that always has frames gets its rate to a frame, whatever its size and however seldom it is asked.
    #[test]
    fn a_cap_is_exact_over_a_second() {
        for (rate, len) in [(1_000_000_000, 60), (3_333_333_333, 1514), (10_000_000, 64), (40_000_000_000, 9014)] {
            for step in [1_000, 10_000] {
                let (cap, bucket) = (Cap::new(rate, 9018), Bucket::default());
                let mut bytes = 0;
                for now in (0..1_000_000_000u64).step_by(step) {
                    while bucket.take(cap, now, on_the_wire(len)) {
                        bytes += on_the_wire(len);
                    }
                }
                let burst = u128::from(cap.burst) * u128::from(rate) / 8_000_000_000_000;
                let over = u128::from(bytes) * 8;
                let most = u128::from(rate) + 8 * (burst + u128::from(on_the_wire(len)));
                assert!(over <= most, "{rate} {len}: {over} bits in a second");
                assert!(over * 1000 >= u128::from(rate) * 999, "{rate} {len}: {over} bits in a second");
            }
        }
    }
}
