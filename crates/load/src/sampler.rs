//! Samples of a rate over time, from readings of a total.

use linerate_result::{Number, Sample};

/// Greatest number of samples kept: more than a day's at one per second.
const SAMPLES: usize = 100_000;

/// Sampler of a rate.
pub(crate) struct Sampler {
    began: u64,
    /// Time of the last sample, and the total at that time.
    last: (u64, u64),
    samples: Vec<Sample>,
}

impl Sampler {
    /// Makes a sampler that begins now, at a total of zero.
    pub(crate) fn new(now: u64) -> Self {
        Self { began: now, last: (now, 0), samples: Vec::new() }
    }

    /// Nanoseconds since the last sample.
    pub(crate) fn since(&self, now: u64) -> u64 {
        now.saturating_sub(self.last.0)
    }

    /// Takes a sample: growth of the total since the last one, per second.
    pub(crate) fn take(&mut self, now: u64, total: u64) -> Sample {
        #[expect(clippy::cast_precision_loss, reason = "rates and times to fifteen digits")]
        let float = |n: u64| n as f64;
        let rate = float(total.saturating_sub(self.last.1)) * 1e9 / float(self.since(now));
        let t_s = float(now.saturating_sub(self.began)) / 1e9;
        let sample = Sample { t_s: Number::new(t_s), value: Number::new(rate) };
        self.last = (now, total);
        if self.samples.len() < SAMPLES {
            self.samples.push(sample);
        }
        sample
    }

    pub(crate) fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_what_was_done_since_the_last_one() {
        let mut sampler = Sampler::new(5_000_000_000);
        sampler.take(6_000_000_000, 100);
        assert_eq!(sampler.since(8_000_000_000), 2_000_000_000);
        let second = sampler.take(8_000_000_000, 500);
        assert_eq!((second.t_s, second.value), (Number::new(3.0), Number::new(200.0)));
        // Two samples at one time give no rate; a total that decreased counts as no growth.
        assert_eq!(sampler.take(8_000_000_000, 900).value, Number::UNKNOWN);
        assert_eq!(sampler.take(9_000_000_000, 600).value, Number::new(0.0));
        let times: Vec<_> = sampler.into_samples().iter().map(|sample| sample.t_s.known().unwrap()).collect();
        assert_eq!(times, [1.0, 3.0, 3.0, 4.0]);
    }
}
