//! Times on the way, summed up.

/// Spread of times, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    pub count: u64,
    pub sum: f64,
    pub least: f64,
    pub most: f64,
    pub mean: f64,
    /// Sum of the squares of their distances from the mean.
    pub squares: f64,
}

impl Spread {
    #[inline]
    pub fn add(&mut self, seconds: f64) {
        self.count += 1;
        self.sum += seconds;
        if self.count == 1 {
            (self.least, self.most) = (seconds, seconds);
        } else {
            self.least = self.least.min(seconds);
            self.most = self.most.max(seconds);
        }
        let off = seconds - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (seconds - self.mean);
    }

    /// Standard deviation; 0 for fewer than two times.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).max(0.0).sqrt() }
    }
}
