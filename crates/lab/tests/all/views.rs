//! Properties of all views of a run, over presets, plans of one's own made at random, the corpus of logs, and what `qualify` makes:
//! no two rows of a table and no two points of a chart have equal labels, each axis that varies is told, and figures say which way
//! is better.

use crate::import_foreign::runs;
use linerate_lab::export::EXPORTS;
use linerate_lab::qualify::{Order, begin, qualify};
use linerate_lab::sweep::{Form, PRESETS, Plan, Point, Via, sweep};
use linerate_lab::{report, text};
use linerate_load::{WORKLOADS, Workload};
use linerate_result::{Latency, Parameter, Parameters, Repeat, RunResult, Summary, Test, Unit, parameters};
use linerate_rt::Stop;
use std::collections::BTreeSet;
use std::time::Duration;

/// Numbers by chance, the same in every run (a linear congruential generator).
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// Runs a plan whose measurements are made up: some points have one repeat that counts, some none.
fn made(plan: &Plan, chance: &mut Chance) -> RunResult {
    let dir = tempfile::tempdir().unwrap();
    let mut measure = |point: &Point, _: &Stop| {
        let mut repeat = || Repeat {
            value: (1e6 * (1.0 + chance.below(1000) as f64)).into(),
            seconds: 1.0.into(),
            valid: chance.below(20) > 0,
            ..Repeat::default()
        };
        let mut test = Test {
            workload: point.workload.name.to_owned(),
            repeats: vec![repeat()],
            latency: Some(Latency { count: 9, p50: 5.0.into(), p99: 9.0.into(), ..Latency::default() }),
            wire_bytes: point.workload.name.starts_with("pkt-gen").then_some(64),
            ..Test::default()
        };
        for (name, unit) in &point.workload.reports[1..] {
            test.further.insert((*name).to_owned(), Summary::once(1.0 + chance.below(99) as f64, unit.clone()));
        }
        test.summarize(point.workload.reports[0].1.clone());
        Ok(vec![test])
    };
    sweep(plan, &mut measure, dir.path(), false, vec!["sweep".into()], &Stop::new().unwrap(), |_| {}).unwrap()
}

/// Parameters that each workload must be given.
fn least(workload: &Workload) -> Parameters {
    match workload.name {
        "pkt-gen" => parameters([("-i", "null:".into()), ("-f", "tx".into())]),
        "pkt-gen-pair" => parameters([("-i", "null:".into()), ("second", "null:".into()), ("-f", "tx".into())]),
        "xdd" => parameters([("-target", "/dev/zero".into())]),
        "fcoe" => parameters([("io_bytes", 4096_u32.into()), ("op", "read".into())]),
        name if name.starts_with("rfc2544") => parameters([("-i", "null:".into()), ("--to", "null:".into())]),
        name if name.ends_with("RR") => Parameters::new(),
        _ => parameters([("io_bytes", 1000_u32.into())]),
    }
}

/// Parameters of a workload with those of many values that each of them takes alone, two or more.
fn axes(workload: &Workload) -> Vec<(String, Vec<Parameter>)> {
    let numbers = [1_u32, 2, 4, 8, 64, 512, 1024, 1500, 4096, 9000].map(Parameter::from);
    let words = ["read", "write", "readwrite", "10G", "40G", "unlimited", "kernel", "stack", "tx", "rx", "ping"];
    let pool = || numbers.iter().cloned().chain(words.map(Parameter::from)).chain([true, false].map(Parameter::from));
    let rows = (workload.parameters)().into_iter();
    let taken = |name: &String| {
        let takes = |value: &Parameter| {
            let mut asked = least(workload);
            asked.insert(name.clone(), value.clone());
            // What begins with a dash is a flag of a program, which may be given a number as a word.
            workload.describe(&asked).is_ok()
        };
        pool().filter(takes).take(5).collect::<Vec<_>>()
    };
    rows.map(|row| (taken(&row.name), row.name)).filter(|(values, _)| values.len() > 1).map(|(v, n)| (n, v)).collect()
}

/// A plan of so many axes of a workload, as it is written to a file; none if they cannot be combined.
fn written(workload: &Workload, all: &[(String, Vec<Parameter>)], count: usize, chance: &mut Chance) -> Option<Plan> {
    let mut named = BTreeSet::new();
    while named.len() < count.min(all.len()) {
        named.insert(chance.below(all.len()));
    }
    let value = |value: &Parameter| match value {
        Parameter::Text(text) => format!("{text:?}"),
        other => other.to_string(),
    };
    let mut parameters = least(workload);
    let axes: Vec<String> = named
        .iter()
        .map(|at| {
            let (name, values) = &all[*at];
            parameters.remove(name);
            format!("{name:?} = [{}]", values.iter().map(value).collect::<Vec<_>>().join(", "))
        })
        .collect();
    let fixed: Vec<String> = parameters.iter().map(|(name, of)| format!("{name:?} = {}", value(of))).collect();
    let test = |name: &str| {
        format!(
            "[[test]]\nworkload = {:?}\nname = {name:?}\n[test.parameters]\n{}\n[test.axes]\n{}\n",
            workload.name,
            fixed.join("\n"),
            axes.join("\n")
        )
    };
    // The same test under two names is as good as two that differ in a parameter.
    let twice = if chance.below(4) == 0 { test("b") } else { String::new() };
    Plan::from_toml(&format!("name = \"p\"\nrepeats = {}\n{}{twice}", chance.pick(&[1, 2, 3]), test("a"))).ok()
}

/// Texts between two marks, each with what stands before the next one.
fn between<'a>(html: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    html.split(begin).skip(1).map(|rest| rest.split(end).next().unwrap()).collect()
}

#[track_caller]
fn unique(what: &str, labels: impl IntoIterator<Item = String>) {
    let mut seen = BTreeSet::new();
    for label in labels {
        assert!(seen.insert(label.clone()), "{what}: {label:?} twice");
    }
}

/// Checks all views of a run.
fn check(what: &str, run: &RunResult) {
    let page = report::render(run);
    unique(&format!("{what}: ids"), between(&page, " id=\"", "\"").into_iter().map(str::to_owned));
    for (number, table) in between(&page, "<table ", "</table>").into_iter().enumerate() {
        let rows = between(table.split_once("<tbody").unwrap().1, "<tr", "</tr>");
        let label = |row: &&str| {
            let cells = between(row, "<td role=\"rowheader\"", "</td>");
            let text = |cell: &&str| {
                between(cell, "<span class=\"cell\">", "<small>")[0].split("</span>").next().unwrap().to_owned()
            };
            assert!(!cells.is_empty(), "{what}: a row without a label: {row}");
            // Not the anchor, which is another one in each row.
            cells
                .iter()
                .map(text)
                .map(|text| between(&text, ">", "<").concat() + text.split('<').next().unwrap())
                .collect::<Vec<_>>()
                .join(" | ")
        };
        let name = between(table, "aria-label=\"", "\"")[0];
        unique(&format!("{what}: table {number}, {name}"), rows.iter().map(label));
    }
    unique(&format!("{what}: charts"), between(&page, "<h3>", "</h3>").into_iter().map(str::to_owned));
    for legend in between(&page, "class=\"legend\"", "</ul>") {
        unique(&format!("{what}: lines"), between(legend, "<span>", "</span>").into_iter().map(str::to_owned));
    }
    let (printed, narrow) = (text::render(run, false, usize::MAX), text::render(run, false, 80));
    let markdown = (report::FORMS.iter().find(|form| form.name == "md").unwrap().render)(run).unwrap();
    for (form, text) in [("text", &printed), ("narrow text", &narrow), ("Markdown", &markdown)] {
        for pair in text.lines().collect::<Vec<_>>().windows(2).filter(|pair| !pair[0].is_empty()) {
            assert_ne!(pair[0], pair[1], "{what}: a row of {form} repeats the one above it");
        }
    }
    for line in narrow.lines() {
        assert!(line.chars().count() <= 80, "{what}: wider than 80: {line}");
    }
    let figures = || run.tests.iter().filter_map(|test| test.value.as_ref());
    if !run.tests.is_empty() {
        let csv = EXPORTS.iter().find(|row| row.name == "csv").unwrap().text(std::slice::from_ref(run)).unwrap();
        unique(
            &format!("{what}: CSV"),
            csv.split("\r\n").filter(|row| !row.is_empty()).map(|row| {
                // All but the value.
                row.rsplit_once(',').unwrap().0.to_owned()
            }),
        );
    }
    for (form, text) in [("page", &page), ("text", &printed), ("Markdown", &markdown)] {
        assert!(!text.contains("No packet rate"), "{what}: {form}");
        let gates = run.tests.iter().any(|test| test.wanted.known().is_some());
        assert!(gates || !text.contains("every gate held"), "{what}: {form}");
        let less = figures().any(|value| [Unit::Ns, Unit::PerCent].contains(&value.unit));
        assert!(!less || text.contains("less is better"), "{what}: {form}");
    }
    // The headline is the first figure of the plan.
    let headline = between(&page, "<h1", "</h1>")[0];
    match figures().find(|value| value.median.known().is_some()) {
        None => assert!(headline.contains("Nothing was measured"), "{what}: {headline}"),
        Some(value) if run.tests.iter().all(|test| test.stages.is_empty()) => {
            let unit = linerate_lab::quantity::value(value.median, &value.unit);
            let symbol = unit.split(' ').nth(1).unwrap_or_default().trim_start_matches(['k', 'M', 'G']);
            assert!(headline.contains(symbol), "{what}: {headline} without {symbol}");
        }
        Some(_) => {}
    }
}

/// Checks that the views tell each value of each parameter in which tests differ.
fn tells_axes(what: &str, run: &RunResult) {
    let page = report::render(run);
    let measured: Vec<&Test> = run.tests.iter().filter(|test| test.value.is_some()).collect();
    let names: BTreeSet<&String> = measured.iter().flat_map(|test| test.parameters.keys()).collect();
    for name in names.into_iter().filter(|name| *name != "points") {
        let values: BTreeSet<String> =
            measured.iter().filter_map(|test| test.parameters.get(name)).map(ToString::to_string).collect();
        let tables = between(&page, "<section id=\"points-", "</section>").concat();
        for value in values.iter().filter(|_| values.len() > 1) {
            assert!(
                tables.contains(&format!(">{value}<"))
                    || tables.contains(&format!(">{value} B<"))
                    || measured.len() < 2,
                "{what}: {name} {value}"
            );
        }
    }
}

#[test]
fn presets_have_labels_of_their_own() {
    let mut chance = Chance(1);
    for preset in PRESETS {
        for form in [Form::Quick, Form::Full] {
            for via in [Via::Kernel, Via::Stack] {
                let run = made(&preset.plan(form, via, None), &mut chance);
                check(preset.name, &run);
            }
        }
    }
}

#[test]
fn plans_of_ones_own_have_labels_of_their_own_and_tell_each_axis() {
    let mut chance = Chance(2);
    for workload in WORKLOADS {
        let all = axes(workload);
        assert!(all.len() > 2, "{} has {} axes", workload.name, all.len());
        let mut plans = 0;
        for attempt in 0..200 {
            let Some(plan) = written(workload, &all, 2 + attempt % 2, &mut chance) else { continue };
            let run = made(&plan, &mut chance);
            let what = format!("{}: {}", workload.name, plan.text.as_deref().unwrap_or_default());
            check(&what, &run);
            tells_axes(&what, &run);
            plans += 1;
            if plans == 4 {
                break;
            }
        }
        assert!(plans > 1, "{}: {plans} plans", workload.name);
    }
}

#[test]
fn imported_logs_have_labels_of_their_own() {
    for (file, run) in runs() {
        check(&file, &run);
    }
    for recorded in crate::import::ALL {
        check(recorded.file, &crate::import::read(recorded.file, recorded.text).unwrap().remove(0));
    }
}

#[test]
fn qualifys_pages_have_labels_of_their_own() {
    for run in [crate::sample::passed(), crate::sample::failed()] {
        check("sample", &run);
    }
    let order = Order { time: Duration::from_millis(10), repeats: 1, ..Order::default() };
    let run = qualify(&order, begin(vec!["qualify".into()]), &Stop::new().unwrap(), |_| {});
    check("qualify", &run);
    // What was received is in the row of what was sent, also where no repeat of either counted, as on a busy machine.
    let mut none = run.clone();
    for test in
        none.tests.iter_mut().filter(|test| ["packet-tx-512-1p", "packet-rx-512-1p"].contains(&test.id.as_str()))
    {
        test.discard("the cores changed state");
    }
    for run in [run, none] {
        let narrow = text::render(&run, false, 80);
        assert!(!narrow.contains("received and checked") && narrow.contains("Received"), "{narrow}");
    }
}

/// Points of one line over the size, each a median with its spread.
fn line(points: &[(u32, [f64; 3])]) -> RunResult {
    let mut run = RunResult::new("r".to_owned(), Vec::new(), linerate_result::Timestamp::default());
    for (bytes, values) in points {
        let mut test = Test {
            id: format!("p-{bytes}"),
            workload: "TCP_STREAM".to_owned(),
            parameters: parameters([("io_bytes", (*bytes).into())]),
            repeats: values.map(|value| Repeat { value: value.into(), valid: true, ..Repeat::default() }).into(),
            ..Test::default()
        };
        test.summarize(Unit::BitsPerSecond);
        run.tests.push(test);
    }
    run
}

#[test]
fn a_rate_that_bends_the_wrong_way_and_a_wide_spread_are_amber_with_the_cause() {
    let good = line(&[(64, [1e9, 1.1e9, 1.2e9]), (512, [4e9, 4.1e9, 4.2e9]), (4096, [4e9, 4.05e9, 4.1e9])]);
    let bent = line(&[(64, [1e9, 1.1e9, 1.2e9]), (512, [4e9, 4.1e9, 4.2e9]), (4096, [2e9, 2.1e9, 2.2e9])]);
    let wide = line(&[(64, [1e9, 1.1e9, 1.2e9]), (512, [1e9, 4.1e9, 5e9])]);
    for (run, cause) in [
        (&good, None),
        (&bent, Some("2.100 Gb/s is less than 4.100 Gb/s with 512 B: it should rise with the size")),
        (&wide, Some("its repeats lie between 1.000 and 5.000 Gb/s")),
    ] {
        let (page, text) = (report::render(run), text::render(run, false, usize::MAX));
        let amber = between(&page, "<section id=\"points-1\"", "</section>")[0].matches("number doubtful").count();
        assert_eq!(amber, usize::from(cause.is_some()), "{cause:?}");
        assert_eq!(page.matches("class=\"few\"").count(), 2 * amber, "on wide and narrow pages");
        if let Some(cause) = cause {
            assert!(page.contains(&format!("<small>{cause}</small>")) && text.contains(cause), "{text}");
        }
    }
    // Requests a second fall with their size.
    let mut requests = bent.clone();
    for test in &mut requests.tests {
        test.workload = "xdd".to_owned();
        test.summarize(Unit::Iops);
    }
    let text = text::render(&requests, false, usize::MAX);
    assert!(text.contains("is more than") && text.contains("it should fall with the size"), "{text}");
}
