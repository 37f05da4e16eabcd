//! Mapping of values to coordinates. Scales never divide by zero, so no coordinate is NaN.

/// A straight or logarithmic scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    logarithmic: bool,
}

/// Smallest and largest value that a chart can show; other values are clamped.
pub(super) const SMALLEST: f64 = 1e-3;
pub(super) const LARGEST: f64 = 1e15;

impl Scale {
    /// Maps values `from..=to` to coordinates `start..=end`. An empty range is extended.
    pub(super) fn linear(from: f64, to: f64, start: f64, end: f64) -> Self {
        let (from, to) = (from.clamp(-LARGEST, LARGEST), to.clamp(-LARGEST, LARGEST));
        let to = if to > from { to } else { from + 1.0 };
        Self { from, to, start, end, logarithmic: false }
    }

    /// As [`Scale::linear`], by the logarithms of the values.
    pub(super) fn logarithmic(from: f64, to: f64, start: f64, end: f64) -> Self {
        let (from, to) = (from.clamp(SMALLEST, LARGEST), to.clamp(SMALLEST, LARGEST));
        let (from, to) = if to > from { (from, to) } else { (from / 2.0, from * 2.0) };
        Self { from, to, start, end, logarithmic: true }
    }

    /// Coordinate of `value`, clamped to the ends of the scale.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.from, self.to);
        let share = if self.logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.start + share * (self.end - self.start)
    }

    pub(super) fn holds(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// Round values inside the scale, about `wanted` of them. On a logarithmic scale: 1, 2 and 5 of each decade while
    /// there is room, then 1 only.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.logarithmic { self.decades(wanted) } else { self.steps(wanted) }
    }

    fn decades(&self, wanted: usize) -> Vec<f64> {
        let first = self.from.log10().floor();
        let marks = |of_decade: &[f64], stride: f64| {
            let mut marks = Vec::new();
            let mut decade = first;
            while 10f64.powf(decade) <= self.to {
                marks.extend(of_decade.iter().map(|mark| mark * 10f64.powf(decade)).filter(|&mark| self.holds(mark)));
                decade += stride;
            }
            marks
        };
        let choices = [marks(&[1.0, 2.0, 5.0], 1.0), marks(&[1.0, 3.0], 1.0), marks(&[1.0], 1.0), marks(&[1.0], 2.0)];
        choices.into_iter().find(|marks| marks.len() <= wanted).unwrap_or_else(|| marks(&[1.0], 3.0))
    }

    fn steps(&self, wanted: usize) -> Vec<f64> {
        let rough = (self.to - self.from) / wanted.max(1) as f64;
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|round| round * decade).into_iter().find(|&step| step >= rough);
        let step = step.unwrap_or(10.0 * decade);
        let mut marks = Vec::new();
        let mut mark = (self.from / step).ceil() * step;
        // The number of marks is bounded too: a mark that does not grow must not hang the report.
        while mark <= self.to && marks.len() <= 2 * wanted + 2 {
            marks.push(mark);
            mark += step;
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, Scale};

    #[test]
    fn ends_and_middles() {
        let linear = Scale::linear(0.0, 10.0, 100.0, 0.0);
        assert_eq!((linear.at(0.0), linear.at(5.0), linear.at(10.0), linear.at(99.0)), (100.0, 50.0, 0.0, 0.0));
        let log = Scale::logarithmic(1.0, 100.0, 0.0, 10.0);
        assert!((log.at(10.0) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(Scale::linear(0.0, 47.0, 0.0, 1.0).ticks(5), [0.0, 10.0, 20.0, 30.0, 40.0]);
        let marks = Scale::logarithmic(0.9, 12.0, 0.0, 1.0).ticks(8);
        assert_eq!(marks, [1.0, 2.0, 5.0, 10.0]);
        assert!(Scale::logarithmic(1e-3, 1e15, 0.0, 1.0).ticks(8).len() <= 8);
    }

    #[test]
    fn no_range_makes_a_coordinate_that_is_not_finite() {
        let values = [0.0, -1.0, 1.0, 1e-300, f64::MAX, f64::MIN, LARGEST, f64::INFINITY];
        for from in values {
            for to in values {
                for scale in [Scale::linear(from, to, 0.0, 100.0), Scale::logarithmic(from, to, 0.0, 100.0)] {
                    for value in values {
                        let place = scale.at(value);
                        assert!((-1e-6..=100.000_001).contains(&place), "{scale:?} {value} {place}");
                    }
                    assert!(scale.ticks(6).len() < 20);
                }
            }
        }
    }
}
