//! Round trip time of a cache line between two cores.
//!
//! Pairs of cores of virtual machines are in states (about 120, 440 or 880 ns) that last seconds to minutes and decide
//! all rates between two cores. Figures are comparable within one state only, so each two-core figure carries the round
//! trip before and after.

use linerate_rt::spawn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::time::Instant;

/// Number of round trips measured.
const ROUNDS: u64 = 100_000;
/// Greatest factor by which two round trips of one state differ.
const SAME: f64 = 1.4;

#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

/// Nanoseconds per round trip between two cores; `None` if they cannot be used.
#[must_use]
pub fn round_trip(cores: [usize; 2]) -> Option<f64> {
    let lines: Arc<[Line; 2]> = Arc::default();
    let theirs = lines.clone();
    let answer = spawn("probe-answer", &[cores[1]], move || {
        for i in 1..=ROUNDS {
            wait_for(&theirs[0], i);
            theirs[1].0.store(i, Release);
        }
    });
    let ask = spawn("probe-ask", &[cores[0]], move || {
        let start = Instant::now();
        for i in 1..=ROUNDS {
            lines[0].0.store(i, Release);
            wait_for(&lines[1], i);
        }
        start.elapsed()
    });
    let took = match (ask, &answer) {
        (Ok(ask), Ok(_)) => ask.join().ok()?,
        _ => return None,
    };
    answer.ok()?.join().ok()?;
    Some(took.as_secs_f64() * 1e9 / ROUNDS as f64)
}

fn wait_for(line: &Line, value: u64) {
    let mut spins = 0u32;
    while line.0.load(Acquire) != value {
        spins += 1;
        // If both threads must share a core, the other one gets to run.
        if spins.is_multiple_of(1 << 16) {
            std::thread::yield_now();
        }
    }
}

/// True if the round trips are of one state.
#[must_use]
pub fn same_state(round_trips: &[f64]) -> bool {
    let (least, most) = round_trips.iter().fold((f64::MAX, 0f64), |(a, b), t| (a.min(*t), b.max(*t)));
    round_trips.is_empty() || most <= SAME * least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_apart() {
        assert!(same_state(&[]) && same_state(&[440.0]) && same_state(&[400.0, 440.0, 500.0]));
        assert!(!same_state(&[120.0, 440.0]) && !same_state(&[440.0, 880.0, 450.0]));
    }

    #[test]
    fn a_round_trip_takes_time() {
        let cpus = linerate_rt::cpus();
        let Some(pair) = cpus.first_chunk::<2>() else {
            linerate_skip::skip!("one core only");
            return;
        };
        assert!(round_trip(*pair).unwrap() > 1.0);
        assert!(round_trip([4095, 4095]).is_none());
    }
}
