//! Tests of a point whose workloads are measured at the same time: one for each, one for each of those that measured latency
//! alone before, and one for the sum of all streams.
//!
//! Each says in a parameter what was beside it, so that views show it as any other condition.

use super::plan::{Beside, Point};
use linerate_load::{Workload, together};
use linerate_result::{Parameters, Test};
use linerate_rt::Stop;

/// Parameter with the names of what was measured at the same time.
const BESIDE: &str = "beside";
/// Its value where nothing was.
const NOTHING: &str = "nothing";
/// Parameter with the names of what was added up.
const SUM_OF: &str = "of";

impl Point {
    /// A point of a workload with others beside, which is named after them.
    pub(super) fn together(id: String, workload: &'static Workload, parameters: Parameters, beside: Beside) -> Self {
        let title = title(workload.name, &others(&beside, 0), &beside.axes);
        Self { id, title, workload, parameters, beside }
    }
}

fn title(workload: &str, others: &str, axes: &str) -> String {
    format!("{workload} beside {others}{axes}")
}

/// Names of all workloads, that of the point first.
fn names(beside: &Beside) -> impl Iterator<Item = &str> {
    std::iter::once(beside.name.as_str()).chain(beside.others.iter().map(|other| other.name.as_str()))
}

/// Names of all but the one at a place.
fn others(beside: &Beside, place: usize) -> String {
    let others = names(beside).enumerate().filter(|(at, _)| *at != place).map(|(_, name)| name);
    others.collect::<Vec<_>>().join(", ")
}

/// Measures all workloads of a point: its own test first, the others with the ends of their ids.
pub(super) fn measure(point: &Point, stop: &Stop) -> Result<Vec<Test>, String> {
    let asked: Vec<_> = point.asked().collect();
    let measured = together::measure(&asked, point.beside.quiet, stop)?;
    Ok(tests(point, measured))
}

fn tests(point: &Point, measured: together::Measured) -> Vec<Test> {
    let beside = &point.beside;
    let (asked, names): (Vec<_>, Vec<&str>) = (point.asked().collect(), names(beside).collect());
    let as_one = |mut test: Test, place: usize, id: String, with: String| {
        test.id = id;
        test.title = title(&test.workload, &with, &beside.axes);
        test.parameters.extend(asked[place].1.clone());
        // What the point's own test says by itself.
        let own = |name: &String| name.strip_prefix(names[place]).is_some_and(|rest| rest.starts_with('.'));
        test.parameters.extend(beside.told.clone().into_iter().filter(|(name, _)| !own(name)));
        test.parameters.insert(BESIDE.to_owned(), with.into());
        test
    };
    let sum = measured.sum.map(|mut test| {
        let streams = measured.loaded.iter().zip(&names).filter(|(one, _)| {
            one.value.as_ref().map(|value| &value.unit) == test.value.as_ref().map(|value| &value.unit)
        });
        let streams = streams.map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
        test.id = "sum".to_owned();
        test.title = format!("sum of {streams}{}", beside.axes);
        // Conditions that all have.
        let all = |name: &String, value: &_| asked.iter().all(|(_, asked)| asked.get(name) == Some(value));
        test.parameters.extend(asked[0].1.clone().into_iter().filter(|(name, value)| all(name, value)));
        test.parameters.extend(beside.told.clone());
        test.parameters.insert(SUM_OF.to_owned(), streams.into());
        test
    });
    let loaded = measured.loaded.into_iter().enumerate();
    let loaded = loaded.map(|(place, test)| as_one(test, place, names[place].to_owned(), others(beside, place)));
    let idle = measured.idle.into_iter().map(|(place, test)| {
        let mut test = as_one(test, place, format!("{}-alone", names[place]), NOTHING.to_owned());
        test.parameters.insert("seconds".to_owned(), beside.quiet.into());
        test
    });
    loaded.chain(idle).chain(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Compared, Judged};
    use crate::report;
    use crate::sweep::{Form, PRESETS, Plan, Via, sweep};
    use crate::view::{View, at};
    use linerate_load::together::{Measured, measures_latency};
    use linerate_result::{Outcome, Repeat, RunResult, Summary, Unit};
    use std::collections::BTreeSet;
    use std::path::Path;

    fn made(workload: &str, value: f64, unit: Unit) -> Test {
        let repeats = vec![Repeat { value: value.into(), seconds: 1.0.into(), valid: true, ..Repeat::default() }];
        let mut test = Test { workload: workload.to_owned(), repeats, ..Test::default() };
        test.summarize(unit);
        test
    }

    /// Makes figures up: a few milliseconds under load, microseconds without.
    fn measured(point: &Point, stop: &Stop) -> Result<Vec<Test>, String> {
        let of = |workload: &Workload, p50: f64| {
            let mut test = made(workload.name, 1e5, workload.reports[0].1.clone());
            for (name, unit) in &workload.reports[1..] {
                let value = if *unit == Unit::Ns { p50 } else { 0.5 };
                test.further.insert((*name).to_owned(), Summary::once(value, unit.clone()));
            }
            test
        };
        let asked: Vec<_> = point.asked().collect();
        let idle = asked.iter().enumerate().filter(|(_, (workload, _))| measures_latency(workload));
        let streams = asked.iter().filter(|(workload, _)| workload.reports[0].1 == Unit::BitsPerSecond).count();
        let measured = Measured {
            loaded: asked.iter().map(|(workload, _)| of(workload, 3e6)).collect(),
            idle: idle.map(|(place, (workload, _))| (place, of(workload, 2e4))).collect(),
            sum: (streams > 1).then(|| made("sum", 2e5, Unit::BitsPerSecond)),
        };
        if stop.asked() { Err("stopped".to_owned()) } else { Ok(tests(point, measured)) }
    }

    fn preset(name: &str) -> Plan {
        PRESETS.iter().find(|preset| preset.name == name).unwrap().plan(Form::Quick, Via::Stack, None)
    }

    fn swept(plan: &Plan, directory: &Path, resume: bool) -> RunResult {
        let stop = Stop::new().unwrap();
        sweep(plan, &mut measured, directory, resume, vec!["sweep".into()], &stop, |_| {}).unwrap()
    }

    #[test]
    fn each_workload_of_a_point_has_a_test_that_says_what_was_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let run = swept(&preset("rrul"), dir.path(), false);
        assert_eq!(run.outcome, Outcome::Pass, "{:?}", run.reasons);
        let told: Vec<_> = run.tests.iter().map(|test| (&test.id[..], &test.title[..], test.counted().made)).collect();
        assert_eq!(
            told,
            [
                ("rrul", "UDP_RR beside tcp, up, down", 3),
                ("rrul-tcp", "TCP_RR beside udp, up, down", 3),
                ("rrul-up", "TCP_STREAM beside udp, tcp, down", 3),
                ("rrul-down", "TCP_MAERTS beside udp, tcp, up", 3),
                ("rrul-udp-alone", "UDP_RR beside nothing", 3),
                ("rrul-tcp-alone", "TCP_RR beside nothing", 3),
                ("rrul-sum", "sum of up, down", 3),
            ]
        );
        assert_eq!(run.tests[6].parameters["of"].text(), Some("up, down"));
        // Views show it as they show any other condition.
        let (text, page) = (crate::text::render(&run, false, 80), report::render(&run));
        let forms = report::FORMS.iter().filter(|form| ["md", "csv"].contains(&form.name));
        let forms: Vec<String> = forms.map(|form| (form.render)(&run).unwrap()).collect();
        assert!(forms[1].contains("rrul-udp-alone") && forms[1].contains("rrul-sum"), "{}", forms[1]);
        for view in [&text, &page, &forms[0]] {
            for told in ["Beside", "tcp, up, down", "nothing", "3.00 ms", "20.0 µs", "sum of up, down"] {
                assert!(view.contains(told), "{told}: {view}");
            }
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let compared = Compared::new(&run, &run, 3.0);
        assert_eq!((compared.pairs.len(), compared.exit_code()), (7, 0));
        assert!(compared.pairs.iter().all(|pair| pair.judged == Judged::Same), "{compared:?}");
    }

    #[test]
    fn axes_of_what_is_beside_tell_the_points_apart() {
        let dir = tempfile::tempdir().unwrap();
        let run = swept(&preset("latency-under-load"), dir.path(), false);
        let view = View::of(&run);
        assert_eq!(run.tests.len(), 3 * 3, "latency with and without streams, and the streams");
        for group in &view.groups {
            let label = |test: &Test| group.axes.iter().map(|axis| at(test, axis)).collect::<Vec<_>>();
            let labels: BTreeSet<_> = group.points.iter().map(|(_, test)| label(test)).collect();
            assert_eq!((labels.len(), group.axes.contains(&"")), (group.points.len(), false), "{}", group.title);
        }
        let of = |name: &str| view.groups.iter().find(|group| group.title == name).unwrap().axes.clone();
        assert_eq!((of("UDP_RR"), of("TCP_STREAM")), (vec!["beside", "up.parallel"], vec!["parallel"]));
        assert!(crate::text::render(&run, false, 80).contains("Up parallel"));
    }

    /// Measurements of one time are a line of their own: they are kept whole, or measured again.
    #[test]
    fn a_measurement_that_was_cut_short_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let plan = preset("rrul");
        let whole = swept(&plan, dir.path(), false);
        let file = dir.path().join("points.ndjson");
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().count(), 1 + 3);
        std::fs::write(&file, &text[..text.len() - 40]).unwrap();
        let again = swept(&plan, dir.path(), true);
        assert_eq!(again.tests, whole.tests);
        std::fs::write(&file, text.replacen("\n[", "\n[]\n[", 1)).unwrap();
        assert_eq!(swept(&plan, dir.path(), true).tests, whole.tests, "an empty one is of no point");
    }
}
