//! Samples and signs of life during a pass.

use super::config::Config;
use super::lane::{Live, Shared};
use super::streams::Streams;
use super::tally::float;
use crate::sampler::Sampler;
use linerate_result::Sample;
use linerate_rt::monotonic_ns;
use linerate_text::saturating_ns;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Interval of samples.
const SAMPLE: Duration = Duration::from_secs(1);

/// Observes a pass while it lasts.
pub(super) struct Watch {
    began: u64,
    sampler: Sampler,
    beat: u64,
}

impl Watch {
    pub(super) fn new(began: u64) -> Self {
        Self { began, sampler: Sampler::new(began), beat: began }
    }

    pub(super) fn into_samples(self) -> Vec<Sample> {
        self.sampler.into_samples()
    }

    /// Takes a sample and prints a sign of life when they are due.
    pub(super) fn look(&mut self, config: &Config, shared: &Shared, streams: &mut Streams) {
        let now = monotonic_ns();
        let sum = |of: fn(&Live) -> &AtomicU64| shared.live.iter().map(|live| of(live).load(Relaxed)).sum::<u64>();
        if self.sampler.since(now) >= saturating_ns(SAMPLE) {
            self.sampler.take(now, sum(|live| &live.ops));
        }
        let Some(every) = config.heartbeat else { return };
        if now - self.beat >= saturating_ns(every) {
            self.beat = now;
            let (ops, bytes, seconds) = (sum(|live| &live.ops), sum(|live| &live.bytes), float(now - self.began) / 1e9);
            let (rate, iops) = (float(bytes) / 1e6 / seconds, float(ops) / seconds);
            streams.remark(&format!("{seconds:.1} s: {ops} ops, {bytes} bytes, {rate:.3} MB/s, {iops:.0} IOPS"));
        }
    }
}
