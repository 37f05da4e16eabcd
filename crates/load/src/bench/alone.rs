//! What one core does by itself.

use super::{Missing, failed};
use linerate_rt::{Clock, spawn};
use std::time::Duration;

/// Runs a measurement in a thread of its own on one core.
pub(super) fn on_core<T: Send + 'static>(
    core: usize,
    measure: impl FnOnce() -> Result<T, Missing> + Send + 'static,
) -> Result<T, Missing> {
    let thread = spawn("bench", &[core], measure).map_err(failed)?;
    thread.join().map_err(|_| failed("the thread panicked"))?
}

/// Nanoseconds that a piece of work takes. `stretch` does some pieces and says how many; it is called for a time, and once
/// before, so that nothing is done for the first time.
pub(super) fn each_ns(time: Duration, mut stretch: impl FnMut() -> Result<u64, Missing>) -> Result<f64, Missing> {
    stretch()?;
    let mut clock = Clock::new();
    let (start, mut pieces) = (clock.now(), 0);
    let until = start + nanoseconds(time);
    loop {
        pieces += stretch()?;
        let now = clock.now();
        if now >= until {
            return Ok((now - start) as f64 / pieces as f64);
        }
    }
}

/// A time in nanoseconds.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX / 2)
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
        // Each takes a microsecond at least; a loaded machine may make it more.
        assert!(ns.unwrap() >= 1000.0 && calls >= 2);
        assert_eq!(each_ns(Duration::ZERO, || Err(failed("no"))), Err(failed("no")));
    }

    #[test]
    fn a_measurement_that_panics_is_one_that_failed() {
        let core = linerate_rt::cpus()[0];
        assert_eq!(on_core(core, || Ok(7)), Ok(7));
        assert_eq!(on_core::<()>(core, || panic!("on purpose")), Err(failed("the thread panicked")));
    }
}
