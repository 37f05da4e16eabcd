//! Agreement between independent measurements of a path's stages.

use super::{How, Stage, Test, Unit};

/// Comparison of two independent measurements of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Name of the figure that was measured twice: a stage's name, or `sum`.
    pub what: String,
    /// Method by which `ns` was measured.
    pub how: How,
    /// First figure, ns.
    pub ns: f64,
    /// Second figure, ns: for a stage the one by early return, for `sum` the time of the whole path without
    /// time-stamps.
    pub other_ns: f64,
    /// True if the two figures differ by no more than the limit that [`Test::agreements`] states.
    pub holds: bool,
}

impl Test {
    /// Methods by which this test's stages were measured, sorted and without repetition.
    #[must_use]
    pub fn ways(&self) -> Vec<How> {
        let mut ways: Vec<How> = self.stages.iter().map(|stage| stage.how).collect();
        ways.sort_unstable();
        ways.dedup();
        ways
    }

    /// Sum of the medians of the stages that were measured by method `how`, ns; `None` if there is no such stage.
    #[must_use]
    pub fn stage_sum(&self, how: How) -> Option<f64> {
        let medians = self.stages.iter().filter(|stage| stage.how == how).filter_map(Stage::median);
        medians.reduce(|a, b| a + b)
    }

    /// Comparisons of all figures that were measured twice: each stage that has time-stamps and an early return (limit:
    /// 15 % of the greater figure or 3 ns), and each method's sum of stages beside the test's value, the time of the
    /// whole path without any such measurement (limit: 5 %).
    #[must_use]
    pub fn agreements(&self) -> Vec<Agreement> {
        let mut all = Vec::new();
        let stamped = self.stages.iter().filter(|stage| stage.how == How::TimeStamps);
        for (stage, ns) in stamped.filter_map(|stage| Some((stage, stage.median()?))) {
            let same = |other: &&Stage| other.how == How::EarlyReturn && other.name == stage.name;
            let Some(other_ns) = self.stages.iter().find(same).and_then(Stage::median) else { continue };
            let holds = (ns - other_ns).abs() <= (0.15 * ns.abs().max(other_ns.abs())).max(3.0);
            all.push(Agreement { what: stage.name.clone(), how: stage.how, ns, other_ns, holds });
        }
        let whole = self.value.as_ref().filter(|value| value.unit == Unit::Ns).and_then(|value| value.median.known());
        for how in self.ways() {
            let Some((ns, other_ns)) = self.stage_sum(how).zip(whole) else { continue };
            let holds = (ns - other_ns).abs() <= 0.05 * other_ns.abs();
            all.push(Agreement { what: "sum".to_owned(), how, ns, other_ns, holds });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::Repeat;
    use super::*;

    fn test(stages: &[(&str, How, f64)], whole: f64) -> Test {
        let stages = stages.iter().map(|(name, how, ns)| Stage::new(name, *how, "", &[*ns])).collect();
        let repeats = vec![Repeat { value: whole.into(), valid: true, ..Repeat::default() }];
        let mut test = Test { stages, repeats, ..Test::default() };
        test.summarize(Unit::Ns);
        test
    }

    fn held(test: &Test) -> Vec<(String, How, bool)> {
        test.agreements().into_iter().map(|a| (a.what, a.how, a.holds)).collect()
    }

    #[test]
    fn two_ways_agree_within_15_per_cent_or_3_ns() {
        use How::{EarlyReturn, TimeStamps};
        for (one, other, holds) in [(100.0, 85.0, true), (84.0, 100.0, false), (1.0, 4.0, true), (-1.0, 3.0, false)] {
            let test = test(&[("udp", TimeStamps, one), ("udp", EarlyReturn, other)], one);
            assert_eq!(held(&test)[0], ("udp".to_owned(), TimeStamps, holds), "{one} {other}");
        }
    }

    #[test]
    fn sums_agree_with_the_whole_within_5_per_cent() {
        for (whole, holds) in [(100.0, true), (105.2, true), (95.3, true), (105.3, false), (95.2, false)] {
            let test = test(&[("a", How::CutPoint, 130.0), ("b", How::CutPoint, -30.0)], whole);
            assert_eq!(held(&test), [("sum".to_owned(), How::CutPoint, holds)], "{whole}");
        }
    }

    #[test]
    fn what_was_measured_once_agrees_with_nothing() {
        let mut test = test(&[("a", How::TimeStamps, 5.0)], f64::NAN);
        assert!(test.agreements().is_empty());
        test.stages.push(Stage::missing("b", How::TimeStamps, "", "no such hook"));
        assert_eq!(test.stage_sum(How::TimeStamps), Some(5.0));
        assert_eq!(test.stage_sum(How::CutPoint), None);
    }
}
