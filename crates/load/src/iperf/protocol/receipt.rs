//! Account of what a receiver got: datagrams lost and out of order, jitter, times on the way.

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

/// Account of datagrams. Those that come late were counted as lost before, and are no longer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Receipt {
    /// Greatest number so far, which is how many were sent.
    pub highest: u64,
    /// Numbers that were passed over.
    skipped: u64,
    /// Datagrams whose number was not greater than all before.
    pub out_of_order: u64,
    /// Those of them that had come before, in whose place none was lost.
    copies: u64,
    /// Jitter in seconds (RFC 1889).
    pub jitter: f64,
    last: Option<f64>,
}

impl Receipt {
    /// Takes a datagram in, with the seconds that it took; `copy` of one that had come before.
    #[inline]
    pub fn arrived(&mut self, number: u64, transit: f64, copy: bool) {
        if number > self.highest {
            self.skipped = self.skipped.saturating_add(number - self.highest - 1);
            self.highest = number;
        } else {
            self.out_of_order += 1;
            self.copies += u64::from(copy);
        }
        if let Some(last) = self.last {
            self.jitter += ((transit - last).abs() - self.jitter) / 16.0;
        }
        self.last = Some(transit);
    }

    /// Takes the end in: the datagram with this number says that all before were sent.
    pub fn ended(&mut self, number: u64) {
        let sent = number.saturating_sub(1);
        if sent > self.highest {
            self.skipped = self.skipped.saturating_add(sent - self.highest);
            self.highest = sent;
        }
    }

    #[must_use]
    pub fn lost(&self) -> u64 {
        self.skipped.saturating_sub(self.out_of_order - self.copies)
    }
}
