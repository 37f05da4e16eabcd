//! Progress of a long task: step n of m, an estimate of the remaining time, and the last figure.

use crate::quantity;
use linerate_rt::monotonic_ns;
use std::fmt;
use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Number of the step, from 1.
    pub n: usize,
    pub of: usize,
    pub what: String,
    /// Estimate of the time until all is done; `None` as long as it is unknown.
    pub left: Option<Duration>,
    /// Last figure, with its name.
    pub last: Option<String>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, of, what, left, last } = self;
        write!(f, "{n}/{of} {what}")?;
        if let Some(left) = left {
            let seconds = left.as_secs_f64().round().max(1.0);
            let left = if seconds < 60.0 { format!("{seconds} s") } else { quantity::duration(seconds.into()) };
            write!(f, "; about {left} left")?;
        }
        last.iter().try_for_each(|last| write!(f, "; last: {last}"))
    }
}

/// Counts steps and reports each at its beginning.
pub struct Steps<'a> {
    tell: &'a mut dyn FnMut(&Step),
    /// Estimated duration of each step, in any unit that is the same for all.
    shares: Vec<f64>,
    began: u64,
    step: Step,
}

impl<'a> Steps<'a> {
    /// Makes one step for each of the shares of the time.
    pub fn new(shares: Vec<f64>, tell: &'a mut dyn FnMut(&Step)) -> Self {
        let step = Step { of: shares.len(), ..Step::default() };
        Self { tell, shares, began: monotonic_ns(), step }
    }

    pub fn next(&mut self, what: &str) {
        self.step.n += 1;
        // A step too many is a mistake that only makes the number wrong.
        self.step.of = self.step.of.max(self.step.n);
        let done: f64 = self.shares.iter().take(self.step.n - 1).sum();
        let rest: f64 = self.shares.iter().skip(self.step.n - 1).sum();
        let passed = Duration::from_nanos(monotonic_ns() - self.began).as_secs_f64();
        self.step.left = Duration::try_from_secs_f64(passed * rest / done).ok().filter(|_| done > 0.0);
        self.within(what);
    }

    /// Leaves out a step that is not needed.
    pub fn without(&mut self) {
        if self.step.n < self.shares.len() {
            self.shares.remove(self.step.n);
            self.step.of -= 1;
        }
    }

    /// Reports other work within the same step.
    pub fn within(&mut self, what: &str) {
        what.clone_into(&mut self.step.what);
        (self.tell)(&self.step);
    }

    /// Sets the figure that the next reports show.
    pub fn figure(&mut self, text: String) {
        self.step.last = Some(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_and_tell_the_last_figure_and_the_time_left() {
        let mut told = Vec::new();
        let mut tell = |step: &Step| told.push(step.clone());
        let mut steps = Steps::new(vec![1.0, 1.0, 2.0], &mut tell);
        // As if the first step had begun ten seconds ago.
        steps.began = monotonic_ns() - 10_000_000_000;
        steps.next("one");
        steps.figure("rate 5 pps".into());
        steps.next("two");
        steps.within("two, again");
        steps.next("three");
        assert_eq!(told[0].to_string(), "1/3 one");
        let left = told[1].left.unwrap();
        assert!((Duration::from_secs(30)..Duration::from_secs(60)).contains(&left), "{left:?}");
        assert!(told[1].to_string().starts_with("2/3 two; about 3"), "{}", told[1]);
        assert!(told[1].to_string().ends_with(" left; last: rate 5 pps"), "{}", told[1]);
        assert_eq!(told[2], Step { what: "two, again".into(), ..told[1].clone() });
        let left = told[3].left.unwrap();
        assert!((Duration::from_secs(10)..Duration::from_secs(20)).contains(&left), "{left:?}");
    }

    #[test]
    fn a_step_that_is_not_needed_is_left_out_of_the_number() {
        let mut told = Vec::new();
        let mut tell = |step: &Step| told.push(step.to_string());
        let mut steps = Steps::new(vec![1.0; 3], &mut tell);
        steps.next("one");
        steps.without();
        steps.next("two");
        steps.without();
        assert_eq!(told.iter().map(|step| &step[..7]).collect::<Vec<_>>(), ["1/3 one", "2/2 two"]);
    }
}
