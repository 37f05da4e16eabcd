//! Display of times that are the difference of two measurements and may be below their noise.

use linerate_result::{Stage, Summary};

use crate::quantity::nanoseconds;

/// A time, or an upper bound of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Time {
    /// Time in nanoseconds.
    Is(f64),
    /// Less than the resolution of the measurement, given in nanoseconds.
    Under(f64),
}

/// Noise of a stage's median, ns; zero when there are too few rounds to tell.
pub(crate) fn noise(stage: &Stage) -> f64 {
    stage.noise_ns.known().unwrap_or(0.0)
}

/// Time of a stage; `None` if it was not measured.
pub(crate) fn time(stage: &Stage) -> Option<Time> {
    Some(Time::of(stage.median()?, noise(stage)))
}

impl Time {
    /// Makes a time from a difference and its noise, ns.
    pub(crate) fn of(ns: f64, noise: f64) -> Self {
        if ns < 0.0 || ns < noise { Self::Under(noise.max(-ns)) } else { Self::Is(ns) }
    }

    /// Length in a drawing, ns.
    pub(crate) fn length(self) -> f64 {
        match self {
            Self::Is(ns) => ns,
            Self::Under(_) => 0.0,
        }
    }

    /// Text without the unit: `14.2`, `under 3`.
    pub(crate) fn short(self) -> String {
        let number = |ns: f64| match ns {
            _ if ns >= 1e6 => format!("{ns:.1e}"),
            _ if ns >= 20.0 => format!("{ns:.0}"),
            _ => format!("{ns:.1}"),
        };
        match self {
            Self::Is(ns) => number(ns),
            Self::Under(ns) => format!("under {}", number(ns)),
        }
    }

    /// Text with the unit: `14.2 ns`, `under 3.00 ns`.
    pub(crate) fn long(self) -> String {
        match self {
            Self::Is(ns) => nanoseconds(ns),
            Self::Under(ns) => format!("under {}", nanoseconds(ns)),
        }
    }
}

/// Median and spread without a unit: `14.2 (12 to 19)`, `4.1 (up to 9)`, `under 7.0`. Of further figures only the
/// spread is known, not the noise.
pub(crate) fn spread(summary: &Summary, noise: f64) -> String {
    let (Some(median), Some(least), Some(greatest)) =
        (summary.median.known(), summary.least.known(), summary.greatest.known())
    else {
        return String::new();
    };
    match Time::of(median, noise) {
        Time::Is(ns) if least > 0.0 => format!("{ns:.1} ({least:.0} to {greatest:.0})"),
        Time::Is(ns) => format!("{ns:.1} (up to {greatest:.0})"),
        under @ Time::Under(_) => under.short(),
    }
}

#[cfg(test)]
mod tests {
    use linerate_result::{How, Unit};

    use super::*;

    fn stage(rounds: &[f64]) -> Stage {
        Stage::new("a", How::CutPoint, "", rounds)
    }

    #[test]
    fn a_difference_below_its_noise_is_under_so_many_nanoseconds() {
        let noisy = stage(&[-1.0, 3.0, 7.0, -20.0, 30.0]);
        assert!(noise(&noisy) > 3.0);
        assert_eq!(time(&noisy), Some(Time::Under(noise(&noisy))));
        assert!(time(&noisy).unwrap().long().starts_with("under "));
        assert_eq!(time(&stage(&[50.0, 51.0, 49.0])), Some(Time::Is(50.0)));
        assert_eq!(time(&stage(&[])), None);
    }

    #[test]
    fn a_time_below_zero_is_under_what_it_is_off_by() {
        assert_eq!(time(&stage(&[-96.8])), Some(Time::Under(96.8)));
        assert_eq!(Time::of(-2.0, 5.0).short(), "under 5.0");
        assert_eq!((Time::of(-2.0, 5.0).length(), Time::of(6.0, 5.0).length()), (0.0, 6.0));
    }

    #[test]
    fn no_bound_of_a_spread_is_negative() {
        let of = |values: &[f64]| Summary::of_values(&mut values.to_vec(), Unit::Ns).unwrap();
        assert_eq!(spread(&of(&[12.0, 14.2, 19.0]), 1.0), "14.2 (12 to 19)");
        assert_eq!(spread(&of(&[-2.0, 4.1, 9.0]), 1.0), "4.1 (up to 9)");
        assert_eq!(spread(&of(&[-9.0, -4.1, 9.0]), 1.0), "under 4.1");
    }
}
