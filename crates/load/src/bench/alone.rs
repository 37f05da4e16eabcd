//! Measurements of a single core.

use super::{Missing, failed};
use hdrhistogram::Histogram;
use linerate_rt::{Clock, spawn};
use linerate_text::saturating_ns;
use std::time::Duration;

/// Runs a measurement in a thread of its own on one core.
pub(super) fn on_core<T: Send + 'static>(
    core: usize,
    measure: impl FnOnce() -> Result<T, Missing> + Send + 'static,
) -> Result<T, Missing> {
    let thread = spawn("bench", &[core], measure).map_err(failed)?;
    thread.join().map_err(|_| failed("the thread panicked"))?
}

/// Nanoseconds that one piece of work takes. `stretch` does some pieces and returns their number; it is called
/// repeatedly for `time`, and once before as a warm-up.
pub(super) fn each_ns(time: Duration, mut stretch: impl FnMut() -> Result<u64, Missing>) -> Result<f64, Missing> {
    stretch()?;
    let (mut clock, mut stretches) = (Clock::new(), Stretches::new()?);
    let until = clock.now() + saturating_ns(time);
    loop {
        let before = clock.now();
        let pieces = stretch()?;
        let now = clock.now();
        stretches.add(now - before, pieces);
        if now >= until {
            return stretches.each_ns();
        }
    }
}

/// Durations of short stretches of work. Their median counts: an interrupt, or a neighbour on the processor, spoils
/// only few of them.
pub(super) struct Stretches {
    /// Picoseconds per piece.
    each: Histogram<u64>,
}

impl Stretches {
    pub(super) fn new() -> Result<Self, Missing> {
        /// One second in picoseconds; a longer stretch counts as that.
        const LONGEST: u64 = 1_000_000_000_000;
        Histogram::new_with_max(LONGEST, 3).map(|each| Self { each }).map_err(failed)
    }

    /// Adds a stretch in which `pieces` pieces were done.
    #[inline]
    pub(super) fn add(&mut self, ns: u64, pieces: u64) {
        if let Some(each) = ns.saturating_mul(1000).checked_div(pieces) {
            self.each.saturating_record(each);
        }
    }

    /// Nanoseconds per piece.
    pub(super) fn each_ns(&self) -> Result<f64, Missing> {
        if self.each.is_empty() {
            return Err(failed("nothing was done"));
        }
        Ok(self.each.value_at_quantile(0.5) as f64 / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_divided_by_the_pieces_done_in_it() {
        let mut calls = 0;
        let ns = each_ns(Duration::from_millis(20), || {
            calls += 1;
            std::thread::sleep(Duration::from_millis(1));
            Ok(1000)
        });
        // Each piece takes at least a microsecond; a loaded machine may make it longer. The histogram keeps three
        // digits.
        assert!(ns.unwrap() >= 999.0 && calls >= 2);
        assert_eq!(each_ns(Duration::ZERO, || Err(failed("no"))), Err(failed("no")));
    }

    #[test]
    fn a_stretch_that_was_spoilt_does_not_count() {
        let mut stretches = Stretches::new().unwrap();
        assert_eq!(stretches.each_ns(), Err(failed("nothing was done")));
        for ns in [1000, 1020, 980, 50_000_000, 1000] {
            stretches.add(ns, 100);
        }
        stretches.add(1, 0);
        assert!((stretches.each_ns().unwrap() - 10.0).abs() < 0.02);
    }

    #[test]
    fn a_measurement_that_panics_is_one_that_failed() {
        let core = linerate_rt::cpus()[0];
        assert_eq!(on_core(core, || Ok(7)), Ok(7));
        assert_eq!(on_core::<()>(core, || panic!("on purpose")), Err(failed("the thread panicked")));
    }
}
