//! Repetition until the mean is known well enough: with Student's distribution, as netperf does it.

use super::figures::{Means, Widths};
use super::settings::Repeats;
use linerate_text::cut;

/// Values that a mean is in with 95 and 99 per cent, in standard errors, for 1 to 30 degrees of freedom (Student's
/// distribution, two sides).
const STUDENT: [(f64, f64); 30] = [
    (12.706, 63.657),
    (4.303, 9.925),
    (3.182, 5.841),
    (2.776, 4.604),
    (2.571, 4.032),
    (2.447, 3.707),
    (2.365, 3.499),
    (2.306, 3.355),
    (2.262, 3.250),
    (2.228, 3.169),
    (2.201, 3.106),
    (2.179, 3.055),
    (2.160, 3.012),
    (2.145, 2.977),
    (2.131, 2.947),
    (2.120, 2.921),
    (2.110, 2.898),
    (2.101, 2.878),
    (2.093, 2.861),
    (2.086, 2.845),
    (2.080, 2.831),
    (2.074, 2.819),
    (2.069, 2.807),
    (2.064, 2.797),
    (2.060, 2.787),
    (2.056, 2.779),
    (2.052, 2.771),
    (2.048, 2.763),
    (2.045, 2.756),
    (2.042, 2.750),
];

#[derive(Debug, Default)]
pub(super) struct Runs(Vec<Means>);

impl Runs {
    pub(super) fn add(&mut self, run: Means) {
        self.0.push(run);
    }

    pub(super) fn count(&self) -> u32 {
        cut(self.0.len(), u32::MAX)
    }

    fn mean(&self, of: fn(&Means) -> f64) -> f64 {
        self.0.iter().map(of).sum::<f64>() / self.0.len().max(1) as f64
    }

    pub(super) fn means(&self) -> Means {
        Means {
            seconds: self.mean(|run| run.seconds),
            result: self.mean(|run| run.result),
            local_cpu: self.mean(|run| run.local_cpu),
            remote_cpu: self.mean(|run| run.remote_cpu),
            local_demand: self.mean(|run| run.local_demand),
            remote_demand: self.mean(|run| run.remote_demand),
        }
    }

    /// Width of the interval that a mean is in, as a part of it.
    fn width(&self, of: fn(&Means) -> f64, level: u32) -> f64 {
        let Some(freedom) = self.0.len().checked_sub(1).filter(|n| *n > 0) else { return -1.0 };
        let mean = self.mean(of);
        let spread = self.0.iter().map(|run| (of(run) - mean).powi(2)).sum::<f64>() / self.0.len() as f64;
        let (at_95, at_99) = STUDENT[freedom.min(STUDENT.len()) - 1];
        let student = if level == 95 { at_95 } else { at_99 };
        let error = (spread / freedom as f64).sqrt();
        // Of what is not measured, or is nothing, all runs are the same.
        if error == 0.0 { 0.0 } else { (2.0 * student * error / mean).abs() }
    }

    pub(super) fn widths(&self, level: u32) -> Widths {
        Widths {
            result: self.width(|run| run.result, level),
            local_cpu: self.width(|run| run.local_cpu, level),
            remote_cpu: self.width(|run| run.remote_cpu, level),
        }
    }

    /// True if the means are known as well as is asked for; a single run always is, if no more are.
    pub(super) fn are_enough(&self, repeats: &Repeats) -> bool {
        if repeats.most <= 1 {
            return true;
        }
        let widths = self.widths(repeats.level);
        let all = [widths.result, widths.local_cpu, widths.remote_cpu];
        let all = if repeats.result_only { &all[..1] } else { &all[..] };
        self.0.len() > 1 && all.iter().all(|width| *width <= repeats.width)
    }

    pub(super) fn go_on(&self, repeats: &Repeats) -> bool {
        self.count() < repeats.least || self.count() < repeats.most && !self.are_enough(repeats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(results: &[f64]) -> Runs {
        let run = |result: &f64| Means { result: *result, local_cpu: -1.0, remote_cpu: 50.0, ..Means::default() };
        Runs(results.iter().map(run).collect())
    }

    #[test]
    fn widths_follow_from_the_spread() {
        // Mean 10, variance 2/3: 2 * 4.303 * sqrt(2/3 / 2) / 10.
        let widths = runs(&[9.0, 10.0, 11.0]).widths(95);
        assert!((widths.result - 0.496_867).abs() < 1e-5, "{widths:?}");
        assert_eq!((widths.local_cpu, widths.remote_cpu), (0.0, 0.0));
        assert!(runs(&[9.0, 10.0, 11.0]).widths(99).result > 2.0 * widths.result);
        assert_eq!(runs(&[9.0]).widths(95).result, -1.0);
        assert_eq!(runs(&[9.0, 10.0, 11.0]).means().result, 10.0);
    }

    #[test]
    fn runs_go_on_until_the_mean_is_known_or_there_are_too_many() {
        let repeats = Repeats { least: 3, most: 5, width: 0.5, level: 95, result_only: false };
        for (results, on) in [
            (&[10.0, 10.0][..], true),
            (&[9.0, 10.0, 11.0], false),
            (&[1.0, 10.0, 20.0], true),
            (&[1.0, 10.0, 20.0, 30.0, 4.0], false),
        ] {
            assert_eq!(runs(results).go_on(&repeats), on, "{results:?}");
        }
        assert!(!runs(&[1.0, 10.0, 20.0, 30.0, 4.0]).are_enough(&repeats));
        assert!(!runs(&[5.0]).go_on(&Repeats::default()) && runs(&[5.0]).are_enough(&Repeats::default()));
        assert!(runs(&[]).go_on(&Repeats::default()));
    }
}
