//! Median and spread of repeats, and how many of them counted.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Number, Repeat, Unit};

/// Median and spread of a test's valid repeats, in `unit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The median; of an even number of repeats, the mean of the middle two.
    pub median: Number,
    pub least: Number,
    pub greatest: Number,
    /// Unit of the three.
    pub unit: Unit,
    /// Number of repeats that the median is computed from; `null` in documents that do not record it.
    #[serde(default)]
    pub counted: Option<usize>,
    /// Number of repeats that were made, including those that do not count; `null` in documents that do not record it.
    #[serde(default)]
    pub made: Option<usize>,
}

/// Number of repeats that counted, and of all that were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Repeats that the figure is computed from.
    pub counted: usize,
    /// All repeats that were made.
    pub made: usize,
}

impl Summary {
    /// Median, least and greatest of the valid repeats that have a value; `None` when there are none.
    #[must_use]
    pub fn of(repeats: &[Repeat], unit: Unit) -> Option<Self> {
        let mut values: Vec<f64> =
            repeats.iter().filter(|repeat| repeat.valid).filter_map(|repeat| repeat.value.known()).collect();
        Some(Self { made: Some(repeats.len()), ..Self::of_values(&mut values, unit)? })
    }

    /// Median, least and greatest of `values`, which are sorted in place; `None` if there are none.
    pub fn of_values(values: &mut [f64], unit: Unit) -> Option<Self> {
        let median = Number::median(values);
        let (&least, &greatest) = (values.first()?, values.last()?);
        let number = Some(values.len());
        Some(Self { median, least: least.into(), greatest: greatest.into(), unit, counted: number, made: number })
    }

    /// Summary of a value that was measured once.
    #[must_use]
    pub fn once(value: f64, unit: Unit) -> Self {
        let value = Number::new(value);
        Self { median: value, least: value, greatest: value, unit, counted: Some(1), made: Some(1) }
    }
}

impl Counted {
    /// True if so many repeats were discarded that the figure is doubtful: fewer than three or fewer than half are
    /// left. A figure of one or two repeats of which none was discarded is not doubtful.
    #[must_use]
    pub fn few(self) -> bool {
        self.counted < self.made && (self.counted < 3 || 2 * self.counted < self.made)
    }
}

impl fmt::Display for Counted {
    /// Writes it as `3 of 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} of {}", self.counted, self.made))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Test;
    use super::*;

    fn repeats(values: &[f64]) -> Vec<Repeat> {
        values.iter().map(|&value| Repeat { value: value.into(), valid: true, ..Repeat::default() }).collect()
    }

    #[test]
    fn the_summary_is_of_valid_repeats_only() {
        let mut list = repeats(&[5.0, 1.0, 4.0, 1000.0]);
        list[3].valid = false;
        let summary = Summary::of(&list, Unit::Pps).unwrap();
        assert_eq!(summary.median, Number::new(4.0));
        assert_eq!((summary.least, summary.greatest), (Number::new(1.0), Number::new(5.0)));
    }

    #[test]
    fn a_figure_says_how_many_repeats_counted_of_how_many_made() {
        let mut test = Test { repeats: repeats(&[5.0, 1.0, f64::NAN, 1000.0]), ..Test::default() };
        test.repeats[3].valid = false;
        test.summarize(Unit::Pps);
        assert_eq!(test.counted(), Counted { counted: 2, made: 4 });
        assert_eq!(test.counted().to_string(), "2 of 4");
        let document = serde_json::to_value(&test).unwrap();
        assert_eq!((&document["value"]["counted"], &document["value"]["made"]), (&2.into(), &4.into()));
        // A document from before these fields existed.
        let old = r#"{"median": 1.0, "least": 1.0, "greatest": 1.0, "unit": "pps"}"#;
        let old: Summary = serde_json::from_str(old).unwrap();
        assert_eq!((old.counted, old.made), (None, None));
    }

    #[test]
    fn a_figure_is_doubtful_when_few_repeats_are_left() {
        let few = |counted, made| Counted { counted, made }.few();
        assert!(few(1, 3) && few(2, 3) && few(0, 1) && few(4, 9) && few(3, 7));
        assert!(!few(3, 5) && !few(3, 3) && !few(1, 1) && !few(2, 2) && !few(5, 10) && !few(0, 0));
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
        assert_eq!(Summary::of(&repeats(&[4.0, 1.0, 2.0, 9.0]), Unit::Pps).unwrap().median, Number::new(3.0));
        assert_eq!(Summary::of(&repeats(&[f64::MAX, f64::MAX]), Unit::Pps).unwrap().median, Number::new(f64::MAX));
    }

    #[test]
    fn without_a_known_value_there_is_no_summary() {
        assert_eq!(Summary::of(&[], Unit::Pps), None);
        assert_eq!(Summary::of(&repeats(&[f64::NAN]), Unit::Pps), None);
    }
}
