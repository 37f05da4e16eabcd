//! Repeats of a point: how many are made, and one test of them all.

use crate::quantity;
use crate::student::{LEAST, two_sided};
use linerate_result::{Latency, Number, Summary, Test};
use std::fmt;

/// False for a measurement that others were in the way of.
fn counts(test: &Test) -> bool {
    test.repeats.is_empty() || test.repeats.iter().any(|repeat| repeat.valid)
}

/// Reason why a point's figure is not to be relied on: too few of its repeats count, or they have little in common.
pub(super) fn doubt(wanted: &Repeats, test: &Test) -> Option<String> {
    let counted = test.counted();
    if counted.counted < wanted.least as usize {
        let why = test.repeats.iter().rev().find_map(|repeat| repeat.why_invalid.as_deref())?;
        return Some(format!("{}: {counted} repeats count: {why}", test.id));
    }
    let value = test.value.as_ref()?;
    let (least, greatest) = (value.least.known()?, value.greatest.known()?);
    (greatest > SCATTER * least && least > 0.0).then(|| {
        let [least, greatest] = [value.least, value.greatest].map(|end| quantity::value(end, &value.unit));
        format!("{}: its {counted} repeats lie between {least} and {greatest}", test.id)
    })
}

/// Width of the interval in which the mean is to be known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// Probability that the mean lies in the interval, per cent.
    pub level: f64,
    /// Width of the whole interval, per cent of the mean, as netperf's `-I` has it.
    pub width: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeats {
    pub least: u32,
    /// At most so many, if the interval of `confidence` is not narrow enough before.
    pub most: u32,
    /// Interval that ends the repeats.
    pub confidence: Option<Confidence>,
}

/// As many as a comparison needs.
impl Default for Repeats {
    fn default() -> Self {
        let least = u32::try_from(LEAST).unwrap_or(1);
        Self { least, most: least, confidence: None }
    }
}

/// Ratio of the greatest to the least repeat above which a median says little.
const SCATTER: f64 = 2.0;

impl Repeats {
    /// Most repeats of a point.
    pub const MOST: u32 = 1000;

    /// Checks the numbers.
    pub fn new(least: u32, most: u32, confidence: Option<Confidence>) -> Result<Self, String> {
        if least == 0 || most < least || most > Self::MOST {
            return Err(format!("give a number from 1 to {}, or two of them, the smaller one first", Self::MOST));
        }
        match confidence {
            None if most > least => {
                return Err("give one number, or say by a confidence when there are enough of them".to_owned());
            }
            Some(_) if least < 2 || most == least => {
                return Err(
                    "an interval needs at least 2 repeats and room for more: give two numbers, such as 3,10".to_owned()
                );
            }
            Some(Confidence { level, width }) if !((50.0..100.0).contains(&level) && width > 0.0 && width <= 100.0) => {
                return Err(
                    "confidence: give a level from 50 to below 100 and a width up to 100, per cent: 95,5".to_owned()
                );
            }
            _ => {}
        }
        Ok(Self { least, most, confidence })
    }

    /// Most measurements of a point, with those that do not count.
    pub(super) fn attempts(&self) -> u32 {
        2 * self.most + 1
    }

    /// True if a point needs no more measurements than it has.
    pub(super) fn suffice(&self, measured: &[&[Test]]) -> bool {
        let made = measured.iter().filter(|tests| tests.iter().all(counts)).count();
        let (least, most) = (self.least as usize, self.most as usize);
        if made >= most || made < least {
            return made >= most;
        }
        let known = |tests: &[&Test], wanted: Confidence| width(tests, wanted.level).is_some_and(|w| w <= wanted.width);
        self.confidence.is_none_or(|wanted| repeated(measured).iter().all(|tests| known(tests, wanted)))
    }
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { least: 1, most: 1, .. } => f.write_str("each measured once"),
            Self { least, confidence: None, .. } => write!(f, "each measured {least} times"),
            Self { least, most, confidence: Some(Confidence { level, width }) } => {
                write!(f, "each measured {least} to {most} times, until the mean is known to {width} % with {level} %")
            }
        }
    }
}

/// Width of the interval in which the mean of the repeats lies with this probability, per cent of it; `None` of fewer than two.
fn width(tests: &[&Test], level: f64) -> Option<f64> {
    let repeats = tests.iter().flat_map(|test| &test.repeats).filter(|repeat| repeat.valid);
    let values: Vec<f64> = repeats.filter_map(|repeat| repeat.value.known()).collect();
    if values.len() < 2 {
        return None;
    }
    let (count, free) = (values.len() as f64, (values.len() - 1) as f64);
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / free;
    let half = two_sided(level / 100.0, free) * (variance / count).sqrt();
    Some(200.0 * half / mean.abs()).filter(|width| width.is_finite())
}

/// Tests of one id in all measurements of a point, for each id in the order in which they came first. A measurement may lack some:
/// workloads that did not run at the same time have no sum.
fn repeated<'a>(measured: &[&'a [Test]]) -> Vec<Vec<&'a Test>> {
    let mut all: Vec<Vec<&Test>> = Vec::new();
    for test in measured.iter().copied().flatten() {
        match all.iter_mut().find(|tests| tests[0].id == test.id) {
            Some(tests) => tests.push(test),
            None => all.push(vec![test]),
        }
    }
    all
}

/// Tests of a point, each of all of its repeats.
pub(super) fn all(measured: &[&[Test]]) -> Vec<Test> {
    repeated(measured).iter().filter_map(|tests| merged(tests)).collect()
}

/// One test of all repeats of it: values of repeats as they are, medians of further figures and of quantiles, sums of
/// what was counted, threads and samples one behind the other. What is not a number is the first one's.
fn merged(tests: &[&Test]) -> Option<Test> {
    let (first, others) = tests.split_first()?;
    let mut all = (*first).clone();
    if others.is_empty() {
        return Some(all);
    }
    others.iter().for_each(|test| all.append((*test).clone()));
    if let Some(unit) = tests.iter().find_map(|test| Some(test.value.as_ref()?.unit.clone())) {
        all.summarize(unit);
    }
    let tests: Vec<&Test> = tests.iter().copied().filter(|test| counts(test)).collect();
    for (name, summary) in &mut all.further {
        let values = tests.iter().filter_map(|test| test.further.get(name)?.median.known());
        if let Some(whole) = Summary::of_values(&mut values.collect::<Vec<_>>(), summary.unit.clone()) {
            *summary = whole;
        }
    }
    all.latency = latency(&tests, |test| test.latency.as_ref());
    all.burst_latency = latency(&tests, |test| test.burst_latency.as_ref());
    Some(all)
}

/// Latency of all repeats: extremes, the mean, and medians of the quantiles.
fn latency(tests: &[&Test], of: fn(&Test) -> Option<&Latency>) -> Option<Latency> {
    let all: Vec<&Latency> = tests.iter().filter_map(|test| of(test)).collect();
    let numbers = |of: fn(&Latency) -> Number| all.iter().filter_map(move |latency| of(latency).known());
    let median = |of: fn(&Latency) -> Number| Number::median(&mut numbers(of).collect::<Vec<_>>());
    let count: u64 = all.iter().map(|latency| latency.count).sum();
    let total: f64 = all.iter().filter_map(|latency| Some(latency.mean.known()? * latency.count as f64)).sum();
    let first = all.first()?;
    Some(Latency {
        count,
        unit: first.unit,
        min: numbers(|latency| latency.min).reduce(f64::min).map_or(Number::UNKNOWN, Number::new),
        p50: median(|latency| latency.p50),
        p90: median(|latency| latency.p90),
        p99: median(|latency| latency.p99),
        p99_9: median(|latency| latency.p99_9),
        p99_99: median(|latency| latency.p99_99),
        max: numbers(|latency| latency.max).reduce(f64::max).map_or(Number::UNKNOWN, Number::new),
        mean: Number::new(total / count as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_result::{Cpu, Ledger, Repeat, Unit};

    fn test(value: f64, cpu: f64) -> Test {
        let mut test = Test {
            repeats: vec![Repeat { value: value.into(), valid: true, ..Repeat::default() }],
            warnings: vec!["busy".to_owned()],
            further: [("cpu".to_owned(), Summary::once(cpu, Unit::PerCent))].into(),
            ..Test::default()
        };
        test.summarize(Unit::BitsPerSecond);
        test.counters.add(None, "bytes", 10);
        test.ledger = Some(Ledger { sent: Some(5), received: Some(4), ..Ledger::default() });
        test.cpu = vec![Cpu { thread: "tx".to_owned(), user_s: cpu.into(), ..Cpu::default() }];
        test
    }

    #[test]
    fn repeats_end_when_there_are_enough_or_the_mean_is_known() {
        let tests = [test(100.0, 1.0), test(101.0, 1.0), test(99.0, 1.0), test(100.0, 1.0)];
        let some = |n: usize| tests.iter().take(n).map(std::slice::from_ref).collect::<Vec<_>>();
        let three = Repeats::new(3, 3, None).unwrap();
        assert_eq!([0, 2, 3].map(|n| three.suffice(&some(n))), [false, false, true]);
        // Of the first three: standard deviation 1, 4.3027 standard errors each way, 4.97 % of the mean.
        for (width, narrow) in [(4.9, false), (5.0, true)] {
            let repeats = Repeats::new(2, 10, Some(Confidence { level: 95.0, width })).unwrap();
            assert!(!repeats.suffice(&some(1)));
            assert_eq!(repeats.suffice(&some(3)), narrow, "{width}");
        }
        let never = Repeats::new(2, 4, Some(Confidence { level: 99.0, width: 0.001 })).unwrap();
        assert_eq!([3, 4].map(|n| never.suffice(&some(n))), [false, true]);
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        let five = Some(Confidence { level: 95.0, width: 5.0 });
        assert!(Repeats::new(3, 10, five).is_ok());
        for (least, most, confidence) in [
            (0, 0, None),
            (3, 2, None),
            (1, 1001, None),
            (3, 10, None),
            (3, 3, five),
            (1, 10, five),
            (3, 10, Some(Confidence { level: 100.0, width: 5.0 })),
            (3, 10, Some(Confidence { level: 95.0, width: 0.0 })),
            (3, 10, Some(Confidence { level: 95.0, width: f64::NAN })),
        ] {
            assert!(Repeats::new(least, most, confidence).is_err(), "{least} {most} {confidence:?}");
        }
    }

    /// Regression: the sum of workloads that ran apart at first was lost, though they ran at once when they were measured again.
    #[test]
    fn what_the_first_measurement_lacks_is_told_of_the_others() {
        let named = |id: &str, value: f64| Test { id: id.to_owned(), ..test(value, 1.0) };
        let measured = [vec![named("up", 1.0)], vec![named("up", 3.0), named("sum", 7.0)], vec![named("sum", 9.0)]];
        let whole = all(&measured.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let told =
            whole.iter().map(|test| (test.id.as_str(), test.counted().made, test.value.as_ref().unwrap().median));
        assert_eq!(told.collect::<Vec<_>>(), [("up", 2, 2.0.into()), ("sum", 2, 8.0.into())]);
    }

    #[test]
    fn repeats_make_one_test() {
        let mut tests = [test(3.0, 10.0), test(1.0, 30.0), test(2.0, 50.0)];
        tests[2].warnings.push("hot".to_owned());
        let all = merged(&tests.iter().collect::<Vec<_>>()).unwrap();
        let value = all.value.as_ref().unwrap();
        assert_eq!([value.least, value.median, value.greatest], [1.0, 2.0, 3.0].map(Number::new));
        assert_eq!(all.counted().to_string(), "3 of 3");
        assert_eq!(all.further["cpu"].median, Number::new(30.0));
        assert_eq!(all.counters.get(None, "bytes"), Some(30));
        let ledger = all.ledger.unwrap();
        assert_eq!((ledger.sent, ledger.received, all.cpu.len()), (Some(15), Some(12), 3));
        assert_eq!(all.warnings, ["busy", "hot"]);
        assert_eq!(merged(&[&tests[0]]).unwrap(), tests[0]);
        assert_eq!(merged(&[]), None);
    }
}
