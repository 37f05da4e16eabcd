//! A workload: what may be asked of it, what it needs, what it reports, and the function that measures.

use linerate_result::{Parameter, Parameters, Test, Unit};
use linerate_rt::Stop;
use std::ops::RangeInclusive;

/// One workload.
pub struct Workload {
    /// What plans and results call it.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// All that may be asked of it.
    pub parameters: fn() -> Vec<ParameterRow>,
    /// Says what it needs and this machine has not.
    pub needs: fn() -> Result<(), String>,
    /// Names and units of its figures: the test's value first, then those beside it.
    pub reports: &'static [(&'static str, Unit)],
    /// Measures once.
    run: fn(&Parameters, &Stop) -> Result<Test, String>,
}

/// One parameter of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterRow {
    /// Its name, as it is typed.
    pub name: String,
    /// Form of its value; empty if it is a flag.
    pub value: String,
    /// What it does.
    pub about: String,
}

impl Workload {
    /// A row of the table.
    pub(crate) const fn new(
        (name, about): (&'static str, &'static str),
        parameters: fn() -> Vec<ParameterRow>,
        needs: fn() -> Result<(), String>,
        reports: &'static [(&'static str, Unit)],
        run: fn(&Parameters, &Stop) -> Result<Test, String>,
    ) -> Self {
        Self { name, about, parameters, needs, reports, run }
    }

    /// Measures once. What is wrong with the figures stands in the test's failures.
    ///
    /// # Errors
    /// A parameter that it has not, or whatever else keeps it from measuring: what, and the mend. Also when `stop` was asked
    /// for before the end: half a measurement is none.
    pub fn measure(&self, parameters: &Parameters, stop: &Stop) -> Result<Test, String> {
        let rows = (self.parameters)();
        if let Some(name) = parameters.keys().find(|name| rows.iter().all(|row| row.name != **name)) {
            let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            return Err(format!("{} has no parameter '{name}'; it has {}", self.name, names.join(", ")));
        }
        let test = (self.run)(parameters, stop)?;
        if stop.asked() { Err("stopped".to_owned()) } else { Ok(test) }
    }
}

/// No needs: it runs anywhere.
#[expect(clippy::unnecessary_wraps, reason = "one form for all rows")]
pub(crate) fn nothing_needed() -> Result<(), String> {
    Ok(())
}

/// A parameter's whole number, or what it is when it was not given.
pub(crate) fn count(all: &Parameters, name: &str, range: RangeInclusive<u64>, unsaid: u64) -> Result<u64, String> {
    let (least, most) = (range.start(), range.end());
    match all.get(name).map(Parameter::count) {
        None => Ok(unsaid),
        Some(Some(n)) if range.contains(&n) => Ok(n),
        Some(_) => Err(format!("{name}: give a number from {least} to {most}")),
    }
}

/// A parameter's word, if it was given; `parse` knows all `words`.
pub(crate) fn word<T>(
    all: &Parameters,
    name: &str,
    parse: impl FnOnce(&str) -> Option<T>,
    words: &[&str],
) -> Result<Option<T>, String> {
    let Some(given) = all.get(name) else { return Ok(None) };
    let known = given.text().and_then(parse);
    known.map(Some).ok_or_else(|| format!("{name}: give one of {}", words.join(", ")))
}

/// Parameters as the command line of a program whose flags they are.
pub(crate) fn command_line(all: &Parameters) -> Vec<String> {
    let mut words = Vec::new();
    for (name, value) in all {
        match value {
            Parameter::Flag(false) => {}
            Parameter::Flag(true) => words.push(name.clone()),
            value => words.extend([name.clone(), value.to_string()]),
        }
    }
    words
}
