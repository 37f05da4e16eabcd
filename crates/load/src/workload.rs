//! The table of workloads: what a plan can name, what may be asked of each, and what each reports.
//!
//! A workload is one row of [`WORKLOADS`] and one function: parameters in, a test out. pkt-gen's and xdd's parameters are
//! their flags, so that a point of a plan reads as a command line does.

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

/// All workloads.
pub const WORKLOADS: &[Workload] = &[crate::pktgen::WORKLOAD, crate::xdd::WORKLOAD, crate::fcoe::WORKLOAD];

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

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_result::parameters;

    fn asked(list: &[(&str, &str)]) -> Parameters {
        parameters(list.iter().map(|(name, value)| (*name, Parameter::from(*value))))
    }

    /// One measurement of each, which reports what its row says.
    #[test]
    fn each_workload_reports_what_its_row_says() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let path = file.path().to_str().unwrap();
        let few = [
            parameters([
                ("-i", "cable:w{1".into()),
                ("--to", "cable:w}1".into()),
                ("-f", "tx".into()),
                ("-n", 5000_u32.into()),
                ("-R", 1_000_000_u32.into()),
                ("-4", true.into()),
                ("-6", false.into()),
            ]),
            parameters([("-target", path.into()), ("-numreqs", 20_u32.into()), ("-reqsize", 4_u32.into())]),
            parameters([("io_bytes", 4096_u32.into()), ("op", "read".into()), ("time_ms", 50_u32.into())]),
        ];
        assert_eq!(few.len(), WORKLOADS.len());
        let stop = Stop::new().unwrap();
        for (workload, parameters) in WORKLOADS.iter().zip(few) {
            if let Err(why) = (workload.needs)() {
                linerate_skip::skip!("{}: {why}", workload.name);
                continue;
            }
            let test = workload.measure(&parameters, &stop).unwrap_or_else(|why| panic!("{}: {why}", workload.name));
            assert_eq!(test.failures, [""; 0], "{}", workload.name);
            let value = test.value.unwrap();
            assert_eq!(value.unit, workload.reports[0].1, "{}", workload.name);
            assert!(value.median.known() > Some(0.0));
            for (name, summary) in &test.further {
                let row = workload.reports.iter().find(|(reported, _)| reported == name);
                assert_eq!(row.map(|row| &row.1), Some(&summary.unit), "{}: {name}", workload.name);
            }
        }
    }

    #[test]
    fn what_a_workload_has_not_is_named() {
        let stop = Stop::new().unwrap();
        for workload in WORKLOADS {
            let error = workload.measure(&asked(&[("colour", "red")]), &stop).unwrap_err();
            assert!(error.starts_with(&format!("{} has no parameter 'colour'; it has ", workload.name)), "{error}");
        }
        let [pkt_gen, xdd, fcoe] = WORKLOADS else { panic!("three rows") };
        for (workload, list, told) in [
            (pkt_gen, &[("-f", "tx")][..], "-i"),
            (pkt_gen, &[("-i", "null:"), ("-l", "x")], "-l"),
            (xdd, &[("-target", "/nonexistent/x")], "/nonexistent/x"),
            (fcoe, &[("op", "read")], "io_bytes"),
            (fcoe, &[("io_bytes", "many"), ("op", "read")], "io_bytes: give a number"),
            (fcoe, &[("op", "erase")], "op: give one of read, write, readwrite"),
        ] {
            let error = workload.measure(&asked(list), &stop).unwrap_err();
            assert!(error.contains(told) && !error.contains('\n'), "{told}: {error}");
        }
    }

    #[test]
    fn half_a_measurement_is_none() {
        let stop = Stop::new().unwrap();
        stop.ask(2);
        let asked = asked(&[("-i", "null:"), ("-f", "tx")]);
        assert_eq!(WORKLOADS[0].measure(&asked, &stop), Err("stopped".to_owned()));
    }

    #[test]
    fn parameters_are_a_command_line() {
        let all =
            parameters([("-b", 64_u32.into()), ("-f", "tx".into()), ("--imix", true.into()), ("-X", false.into())]);
        assert_eq!(command_line(&all), ["--imix", "-b", "64", "-f", "tx"]);
    }
}
