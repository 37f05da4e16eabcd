//! One view of a run, of which its page, tables, Markdown, text, charts and headline are made: tests with labels that tell them
//! apart, and points with the axes that they vary over and the metrics of their workload's row. Nothing here knows a workload by
//! its name.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use linerate_load::{WORKLOADS, Workload};
use linerate_result::{Comparison, Parameter, Role, RunResult, Summary, Test, Unit};

use crate::import;
use crate::quantity::{UNKNOWN, range, ratio, value};
use crate::sweep::PLANNED;
use crate::table::{Cell, Table, Tone, anchor};
use crate::varied::{AXES, differing, varying};

pub(crate) struct View<'a> {
    pub(crate) run: &'a RunResult,
    /// Label of each test; no two are equal.
    pub(crate) labels: Vec<String>,
    pub(crate) groups: Vec<Group<'a>>,
    /// Reason why a test's figure is not to be relied on.
    pub(crate) doubts: BTreeMap<usize, String>,
}

/// Points of one workload and unit, and what they differ in.
pub(crate) struct Group<'a> {
    pub(crate) title: String,
    /// Tests with a figure, with their places in the run.
    pub(crate) points: Vec<(usize, &'a Test)>,
    /// Names of the parameters that vary, sizes first; [`ID`] if they do not tell the points apart.
    pub(crate) axes: Vec<&'a str>,
    /// The test's value first.
    pub(crate) metrics: Vec<Metric>,
    /// True for points of a workload of linerate's.
    pub(crate) own: bool,
}

#[derive(Clone)]
pub(crate) struct Metric {
    /// Name among the further figures; none of the test's value.
    pub(crate) name: Option<&'static str>,
    pub(crate) title: String,
    pub(crate) unit: Unit,
}

/// Axis of tests that differ in their ids alone.
const ID: &str = "";

/// Further figures of other programs' logs, with their titles.
const FURTHER: [(&str, &str); 11] = [
    ("sent", "Sent"),
    ("lost", "Lost"),
    ("jitter", "Jitter"),
    ("latency_min", "Least latency"),
    ("throughput", "Throughput"),
    ("cpu_local", "CPU here"),
    ("cpu_remote", "CPU there"),
    ("cpu_client", "CPU, client"),
    ("cpu_server", "CPU, server"),
    ("service_demand_local", "Service demand here"),
    ("service_demand_remote", "Service demand there"),
];

/// True of a unit of which less is better: service demand is a time for a KB or a transaction.
pub(crate) fn less_is_better(unit: &Unit) -> bool {
    !unit.more_is_better() || unit.name().starts_with("us/")
}

/// `text, less is better` of a figure of such a unit.
pub(crate) fn with_sense(text: &str, unit: &Unit) -> String {
    format!("{text}{}", if less_is_better(unit) { ", less is better" } else { "" })
}

/// A parameter's name for people.
pub(crate) fn word(name: &str) -> String {
    match name {
        ID => "test".to_owned(),
        "mtu" => "MTU".to_owned(),
        "io_bytes" => "I/O".to_owned(),
        name => name.trim_end_matches("_bytes").replace(['_', '.'], " "),
    }
}

/// A test's value of an axis.
pub(crate) fn at(test: &Test, axis: &str) -> String {
    let unit = if axis.ends_with("_bytes") { " B" } else { "" };
    match test.parameters.get(axis) {
        _ if axis == ID => test.id.clone(),
        Some(value) => format!("{value}{unit}"),
        None => UNKNOWN.to_owned(),
    }
}

/// A test's place on an axis of whole numbers above nought.
pub(crate) fn number(test: &Test, axis: &str) -> Option<u64> {
    test.parameters.get(axis).and_then(Parameter::count).filter(|n| *n > 0)
}

impl<'a> View<'a> {
    pub(crate) fn of(run: &'a RunResult) -> Self {
        let groups = groups(run);
        let mut doubts = BTreeMap::new();
        for (index, test) in run.tests.iter().enumerate() {
            doubts.extend(test.value.as_ref().and_then(scattered).map(|why| (index, why)));
        }
        for group in &groups {
            let size = group.axes.iter().find(|axis| AXES.contains(axis));
            let others =
                |test: &Test| group.axes.iter().filter(|axis| Some(*axis) != size).map(|axis| at(test, axis)).collect();
            let points = group
                .points
                .iter()
                .filter_map(|&(index, test)| Some((others(test), number(test, size?)?, index, test.value.as_ref()?)));
            bends(points.collect(), &mut doubts);
        }
        let tabled: HashSet<usize> = groups.iter().flat_map(|group| &group.points).map(|(index, _)| *index).collect();
        let frames =
            run.tests.iter().enumerate().filter(|(index, test)| !tabled.contains(index) && test.workload != "paced");
        let frames = frames.filter_map(|(index, test)| {
            let line = vec![test.workload.clone(), path(test), test.senders().to_string()];
            Some((line, test.wire_bytes?.into(), index, test.value.as_ref()?))
        });
        bends(frames.collect(), &mut doubts);
        Self { run, labels: labels(run), groups, doubts }
    }

    /// True for a test that has its row in a table of a group.
    pub(crate) fn is_tabled(&self, index: usize) -> bool {
        self.groups.iter().any(|group| group.has_table() && group.points.iter().any(|(of, _)| *of == index))
    }

    /// True for a point of a group.
    pub(crate) fn is_grouped(&self, index: usize) -> bool {
        self.groups.iter().any(|group| group.points.iter().any(|(of, _)| *of == index))
    }

    /// Table of a group's points: their axes, and their metrics beside what was published.
    pub(crate) fn table(&self, group: &Group<'_>) -> Table {
        let numbers = |axis: &&str| group.points.iter().all(|(_, test)| number(test, axis).is_some());
        let mut titles: Vec<String> = Vec::new();
        for axis in &group.axes {
            titles.push(format!("@{}{}", if numbers(axis) { "#" } else { "" }, capital(&word(axis))));
        }
        for metric in &group.metrics {
            titles.push(format!("#{}", with_sense(&metric.title, &metric.unit)));
            if metric.name.is_none() {
                titles.push("#Spread".to_owned());
            }
            titles.extend(["#Published", "#Ratio"].map(|title| format!("{title}, {}", metric.title)));
        }
        titles.push("#Repeats".to_owned());
        let mut table = Table::new(&titles);
        for &(index, test) in &group.points {
            let mut row: Vec<Cell> = group.axes.iter().map(|axis| at(test, axis).into()).collect();
            row[0].anchor = Some(anchor(index));
            for metric in &group.metrics {
                let summary = metric.of(test);
                match (summary, metric.name) {
                    (Some(summary), None) => {
                        row.push(figure_cell(test, summary, self.doubts.get(&index)));
                        let spread =
                            (test.counted().counted > 1).then(|| range(summary.least, summary.greatest, &summary.unit));
                        row.push(spread.map_or_else(Cell::absent, Cell::from));
                    }
                    (Some(summary), Some(_)) => row.push(value(summary.median, &summary.unit).into()),
                    (None, _) => row.push(Cell::absent()),
                }
                let beside = summary.and_then(|summary| beside(self.run, test, summary));
                let theirs =
                    |c: &Comparison| Cell::from(value(c.value, &c.unit)).note(c.name.as_str()).tone(Tone::Quiet);
                row.push(beside.map_or_else(Cell::absent, theirs));
                row.push(beside.map_or_else(Cell::absent, |c| ratio(c.ratio).into()));
            }
            row.push(counted_cell(test));
            table.row(row);
        }
        table.without_empty()
    }
}

/// The comparison of a figure of a test.
pub(crate) fn beside<'a>(run: &'a RunResult, test: &Test, figure: &Summary) -> Option<&'a Comparison> {
    let ours = figure.median.known();
    run.comparisons
        .iter()
        .find(|c| c.test == test.id && c.unit == figure.unit && ours.is_some() && c.ours.known() == ours)
}

impl Group<'_> {
    /// The parameters in which its points do not differ, if they are of linerate's own workloads.
    pub(crate) fn alike(&self) -> String {
        let first = self.points[0].1;
        let names = first.parameters.keys().filter(|name| self.own && ![PLANNED, "form"].contains(&name.as_str()));
        let alike = names.filter(|name| !self.axes.contains(&name.as_str()));
        alike.map(|name| format!("{} {}", word(name), at(first, name))).collect::<Vec<_>>().join(", ")
    }

    /// True if it has a table of its own: a single point is a row of the results.
    pub(crate) fn has_table(&self) -> bool {
        self.points.len() > 1
    }
}

impl Metric {
    pub(crate) fn of<'t>(&self, test: &'t Test) -> Option<&'t Summary> {
        match self.name {
            None => test.value.as_ref(),
            Some(name) => test.further.get(name),
        }
    }
}

/// The row of a test's workload, if it is one of linerate's.
fn row(test: &Test) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|workload| workload.name == test.workload)
}

fn groups(run: &RunResult) -> Vec<Group<'_>> {
    let imported = import::source(run).is_some();
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (index, test) in run.tests.iter().enumerate() {
        let Some(figure) = test.value.as_ref().filter(|value| value.median.known().is_some()) else { continue };
        // Frames of other programs' logs are shown by their size, as those of linerate's own.
        if !(row(test).is_some() || imported && test.wire_bytes.is_none()) {
            continue;
        }
        let place = *places.entry((&test.workload, figure.unit.name())).or_insert_with(|| {
            let title = title(&test.workload);
            groups.push(Group {
                title,
                points: Vec::new(),
                axes: Vec::new(),
                metrics: Vec::new(),
                own: row(test).is_some(),
            });
            groups.len() - 1
        });
        groups[place].points.push((index, test));
    }
    let mut titles: BTreeMap<String, usize> = BTreeMap::new();
    groups.iter().for_each(|group| *titles.entry(group.title.clone()).or_default() += 1);
    for group in &mut groups {
        let tests: Vec<&Test> = group.points.iter().map(|(_, test)| *test).collect();
        let parameters: Vec<_> = tests.iter().map(|test| &test.parameters).collect();
        group.axes = if group.own { varying(&parameters) } else { differing(&parameters) };
        // Who counted and which job it was is told even where other parameters tell the tests apart.
        let whose = varying(&parameters).into_iter().filter(|name| ["side", "host", "job"].contains(name));
        let whose: Vec<&str> = whose.filter(|name| !group.axes.contains(name)).collect();
        group.axes.extend(whose);
        let labels: HashSet<Vec<String>> =
            tests.iter().map(|test| group.axes.iter().map(|axis| at(test, axis)).collect()).collect();
        if labels.len() < tests.len() || group.axes.is_empty() {
            group.axes.insert(0, ID);
        }
        group.metrics = metrics(&tests);
        if titles[&group.title] > 1 {
            group.title = format!("{}, {}", group.title, group.metrics[0].unit);
        }
    }
    groups
}

/// The metrics of a workload's row, or those further figures of other programs that have a title.
fn metrics(tests: &[&Test]) -> Vec<Metric> {
    let unit = unit(tests[0]);
    let unit_of = |name: &str| Some(tests.iter().find_map(|test| test.further.get(name))?.unit.clone());
    let Some(row) = row(tests[0]) else {
        let further = FURTHER.iter().filter_map(|(name, title)| {
            Some(Metric { name: Some(name), title: (*title).to_owned(), unit: unit_of(name)? })
        });
        return [Metric { name: None, title: "Figure".to_owned(), unit }].into_iter().chain(further).collect();
    };
    let has = |name: &str| row.reports.iter().any(|(known, _)| *known == name);
    let title = |name: &str| match name.strip_suffix("_remote") {
        Some(of) => format!("{} there", metric_word(of)),
        None if has(&format!("{name}_remote")) => format!("{} here", metric_word(name)),
        None => metric_word(name),
    };
    let metric = |(place, (name, _)): (usize, &(&'static str, Unit))| {
        let name = (place > 0).then_some(*name);
        let unit = name.map_or_else(|| Some(unit.clone()), unit_of)?;
        Some(Metric { name, title: title(row.reports[place].0), unit })
    };
    row.reports.iter().enumerate().filter_map(metric).collect()
}

fn metric_word(name: &str) -> String {
    match name {
        "cpu" | "iops" => name.to_ascii_uppercase(),
        name => capital(&name.replace('_', " ")),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The name of a workload for people.
fn title(workload: &str) -> String {
    match workload.split_once('-') {
        Some((program, what)) if WORKLOADS.iter().all(|row| row.name != workload) => {
            format!("{program} {}", what.to_uppercase())
        }
        _ => workload.to_owned(),
    }
}

/// Words that tell tests apart whose labels are equal.
type Told<'a> = dyn Fn(&[usize]) -> Vec<String> + 'a;

/// Titles of the tests; where those are equal with what differs, or else with the id, or else with the place in the run.
fn labels(run: &RunResult) -> Vec<String> {
    let title = |test: &Test| if test.title.is_empty() { test.id.clone() } else { test.title.clone() };
    let mut labels: Vec<String> = run.tests.iter().map(title).collect();
    let told: [&Told<'_>; 3] = [
        &|alike| {
            let parameters: Vec<_> = alike.iter().map(|index| &run.tests[*index].parameters).collect();
            let names = varying(&parameters);
            let told = |index: &usize| {
                let test = &run.tests[*index];
                names.iter().map(|name| format!("{} {}", word(name), at(test, name))).collect::<Vec<_>>().join(", ")
            };
            alike.iter().map(told).collect()
        },
        &|alike| alike.iter().map(|index| run.tests[*index].id.clone()).collect(),
        &|alike| alike.iter().map(|index| format!("test {}", index + 1)).collect(),
    ];
    for told in told {
        let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        labels.iter().enumerate().for_each(|(index, label)| named.entry(label.clone()).or_default().push(index));
        for alike in named.into_values().filter(|alike| alike.len() > 1) {
            let more = told(&alike);
            if more.iter().collect::<BTreeSet<_>>().len() > 1 {
                for (index, more) in alike.iter().zip(more).filter(|(_, more)| !more.is_empty()) {
                    labels[*index] += &format!(", {more}");
                }
            }
        }
    }
    labels
}

/// Unit of a test's figures; a unit without a name if no figure counts.
pub(crate) fn unit(test: &Test) -> Unit {
    test.value.as_ref().map_or(Unit::Other("".into()), |value| value.unit.clone())
}

/// Path of the first sender, or of the first port.
pub(crate) fn path(test: &Test) -> String {
    let port = test.ports.iter().find(|port| port.role != Role::Rx).or(test.ports.first());
    port.map_or_else(String::new, |port| if port.path.is_empty() { port.name.clone() } else { port.path.clone() })
}

/// A figure; amber, with the reason, if it is not to be relied on.
pub(crate) fn figure_cell(test: &Test, figure: &Summary, doubt: Option<&String>) -> Cell {
    let cell = Cell::from(value(figure.median, &figure.unit));
    match doubt {
        Some(why) => cell.note(why.as_str()).tone(Tone::Doubtful),
        None if test.counted().few() => cell.tone(Tone::Doubtful),
        None => cell,
    }
}

/// Text such as `3 of 3`; amber where so many repeats were discarded that the figure is doubtful.
pub(crate) fn counted_cell(test: &Test) -> Cell {
    match test.counted() {
        counted if counted.made == 0 => Cell::from(UNKNOWN).tone(Tone::Absent),
        counted if counted.few() => Cell::from(format!("only {counted}")).tone(Tone::Doubtful),
        counted => counted.to_string().into(),
    }
}

/// Ratio of the greatest to the least repeat from which on a median says nothing.
const SCATTER: f64 = 5.0;
/// Change from a size to the next, against what is expected, that spread does not explain.
const BEND: f64 = 1.25;

fn scattered(figure: &Summary) -> Option<String> {
    let (least, greatest) = (figure.least.known()?, figure.greatest.known()?);
    (least > 0.0 && greatest >= SCATTER * least).then(|| {
        format!(
            "its repeats lie between {}",
            range(figure.least, figure.greatest, &figure.unit).replace(" to ", " and ")
        )
    })
}

/// Notes rates that fall to a larger size where they should rise, and the reverse: points of one line are alike in all but the
/// size.
fn bends(points: Vec<(Vec<String>, u64, usize, &Summary)>, doubts: &mut BTreeMap<usize, String>) {
    let mut points = points;
    points.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    for pair in points.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].1 < pair[1].1) {
        let [(_, size, _, before), (_, _, index, now)] = pair else { continue };
        let spread = |of: &Summary| Some((of.least.known()?, of.median.known()?, of.greatest.known()?));
        let (Some(was), Some(is)) = (spread(before), spread(now)) else { continue };
        let figures = || (value(now.median, &now.unit), value(before.median, &before.unit));
        let why = match now.unit {
            Unit::BitsPerSecond | Unit::BytesPerSecond if is.2 < was.0 && is.1 * BEND < was.1 => {
                let (now, before) = figures();
                format!("{now} is less than {before} with {size} B: it should rise with the size")
            }
            Unit::Pps | Unit::Iops | Unit::TransactionsPerSecond if is.0 > was.2 && is.1 > was.1 * BEND => {
                let (now, before) = figures();
                format!("{now} is more than {before} with {size} B: it should fall with the size")
            }
            _ => continue,
        };
        doubts.entry(*index).and_modify(|all| *all = format!("{all}; {why}")).or_insert(why);
    }
}
