//! A workload: its parameters, its requirements, its figures, and the function that prepares a measurement.

use crate::socket::{Ends, Path};
use crate::turn::{Start, Turn};
use linerate_result::{Parameters, Test, Unit};
use linerate_rt::Stop;

/// Function that measures once.
type Alone = dyn FnOnce(&Stop) -> Result<Test, String>;

/// Function that measures once between the ends of a path, when its turn begins.
pub(crate) type Over = dyn FnOnce(&Ends, &Turn<'_>, &Stop) -> Result<Test, String> + Send;

/// Function of a measurement, and what else may be measured at its time.
pub(crate) enum Run {
    Alone(Box<Alone>),
    /// Over a path, for so many seconds: others may be measured over it at the same time.
    Over(Path, u64, Box<Over>),
}

/// A measurement that is ready to be made.
pub(crate) struct Job {
    /// Description of what it makes and does, a line.
    pub(crate) does: String,
    pub(crate) run: Run,
}

impl Job {
    /// Makes a measurement of a function and a line that says what it makes and does.
    pub(crate) fn new(does: String, run: impl FnOnce(&Stop) -> Result<Test, String> + 'static) -> Self {
        Self { does, run: Run::Alone(Box::new(run)) }
    }

    /// Makes a measurement over a path, for so many seconds, of a function and of what it speaks.
    pub(crate) fn over(
        path: Path,
        seconds: u64,
        speaks: &str,
        run: impl FnOnce(&Ends, &Turn<'_>, &Stop) -> Result<Test, String> + Send + 'static,
    ) -> Self {
        Self { does: format!("{}; {speaks}", path.describe()), run: Run::Over(path, seconds, Box::new(run)) }
    }
}

pub struct Workload {
    /// Name in plans and results.
    pub name: &'static str,
    pub about: &'static str,
    pub parameters: fn() -> Vec<ParameterRow>,
    /// Checks the requirements on this machine; the error names the missing one.
    pub needs: fn() -> Result<(), String>,
    /// Names and units of its figures: the test's value first, then the further figures.
    pub reports: &'static [(&'static str, Unit)],
    /// Function that reads the parameters, and makes a measurement of them. It opens nothing.
    prepare: fn(&Parameters) -> Result<Job, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterRow {
    /// Name as typed.
    pub name: String,
    /// Syntax of its value; empty for a flag.
    pub value: String,
    pub about: String,
}

impl Workload {
    pub(crate) const fn new(
        (name, about): (&'static str, &'static str),
        parameters: fn() -> Vec<ParameterRow>,
        needs: fn() -> Result<(), String>,
        reports: &'static [(&'static str, Unit)],
        prepare: fn(&Parameters) -> Result<Job, String>,
    ) -> Self {
        Self { name, about, parameters, needs, reports, prepare }
    }

    /// Checks parameters, and describes in a line what a measurement of them makes and does. Nothing is opened.
    ///
    /// # Errors
    /// An unknown parameter, or a value that it cannot have, with the mend.
    pub fn describe(&self, parameters: &Parameters) -> Result<String, String> {
        Ok(self.job(parameters)?.does)
    }

    /// Measures once. Faults of the figures are among the test's failures.
    ///
    /// # Errors
    /// Those of [`Workload::describe`], or any other obstacle, with the mend. Also when `stop` was requested before the end:
    /// half a measurement does not count.
    pub fn measure(&self, parameters: &Parameters, stop: &Stop) -> Result<Test, String> {
        let test = match self.job(parameters)?.run {
            Run::Alone(run) => run(stop)?,
            Run::Over(path, _, run) => run(&path.open()?, &Start::of(1)?.turn(0), stop)?,
        };
        if stop.asked() { Err("stopped".to_owned()) } else { Ok(test) }
    }

    pub(crate) fn job(&self, parameters: &Parameters) -> Result<Job, String> {
        let rows = (self.parameters)();
        if let Some(name) = parameters.keys().find(|name| rows.iter().all(|row| row.name != **name)) {
            let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            return Err(format!("{} has no parameter '{name}'; it has {}", self.name, names.join(", ")));
        }
        (self.prepare)(parameters)
    }
}

/// Requirement check of a workload that runs anywhere.
#[expect(clippy::unnecessary_wraps, reason = "one form for all rows")]
pub(crate) fn nothing_needed() -> Result<(), String> {
    Ok(())
}
