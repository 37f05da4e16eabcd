//! Plans in files: TOML, with axes whose values are combined. All of it is checked before anything is measured, and what is
//! wrong is named with its line.

use super::order::Order;
use super::plan::{Beside, Part, Plan, Point};
use super::presets::PRESETS;
use super::repeats::{Confidence, Repeats};
use linerate_load::together::measures_latency;
use linerate_load::{WORKLOADS, Workload};
use linerate_result::{Parameter, Parameters};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;
use toml::Spanned;

/// Longest file, bytes; most points; longest name of a plan or test, characters.
const LONGEST: u64 = 64 << 10;
const MOST: usize = 10_000;
const NAME: usize = 40;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    order: Option<Spanned<String>>,
    repeats: Option<Spanned<Number>>,
    confidence: Option<Spanned<[f64; 2]>>,
    minutes: Option<Spanned<u64>>,
    test: Spanned<Vec<Spanned<WrittenTest>>>,
}

/// A test as it is written: a workload, parameters that all its points have, and axes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTest {
    workload: Spanned<String>,
    name: Option<Spanned<String>>,
    #[serde(default)]
    parameters: BTreeMap<Spanned<String>, Parameter>,
    #[serde(default)]
    axes: BTreeMap<Spanned<String>, Vec<Parameter>>,
    /// Seconds for which workloads that measure latency run alone before the others.
    quiet: Option<Spanned<u64>>,
    #[serde(default)]
    beside: Vec<Spanned<WrittenBeside>>,
}

/// A workload that is measured at the same time.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBeside {
    workload: Spanned<String>,
    name: Option<Spanned<String>>,
    #[serde(default)]
    parameters: BTreeMap<Spanned<String>, Parameter>,
    #[serde(default)]
    axes: BTreeMap<Spanned<String>, Vec<Parameter>>,
}

/// Keys that a test and a workload beside it are written with.
struct Asks<'a> {
    workload: &'static Workload,
    /// Its name, given or made of the workload's.
    name: String,
    /// Offset of the workload's name.
    at: usize,
    parameters: &'a BTreeMap<Spanned<String>, Parameter>,
    /// In the order in which they are written.
    axes: Vec<(&'a Spanned<String>, &'a Vec<Parameter>)>,
}

/// Parameters of the path and of the time, which workloads at the same time share: those beside have them from the test.
const SHARED: [&str; 3] = ["via", "mtu", "seconds"];
/// Longest time before the others, seconds.
const QUIET: u64 = 3600;

/// A number of repeats, or the least and the most.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    One(u32),
    Two([u32; 2]),
}

/// A mistake at an offset of the text.
struct Wrong {
    at: usize,
    what: String,
}

impl Wrong {
    fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }
}

impl Plan {
    /// Reads a plan from a file.
    ///
    /// # Errors
    /// One line with the file, its line, and the mend.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut bytes = Vec::new();
        std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(|e| {
            let names = || PRESETS.iter().map(|preset| preset.name);
            let meant =
                linerate_text::nearest(&path.to_string_lossy(), names()).filter(|_| e.kind() == ErrorKind::NotFound);
            match meant {
                Some(meant) => format!("{}: no such preset or file; did you mean {meant}?", path.display()),
                None => {
                    let presets = names().collect::<Vec<_>>().join(", ");
                    format!("{}: {e}; give one of {presets}, or a file with a plan", path.display())
                }
            }
        })?;
        if bytes.len() as u64 > LONGEST {
            return Err(format!("{}: longer than {LONGEST} bytes; give a file with a plan", path.display()));
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            format!("{}: byte {} is no UTF-8; write it as text", path.display(), e.utf8_error().valid_up_to())
        })?;
        Self::from_toml(&text).map_err(|wrong| format!("{}, {wrong}", path.display()))
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// One line: `line 7: what is wrong; the mend`.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let plan = toml::from_str(text).map_err(|e| {
            let what = e.message().lines().collect::<Vec<_>>().join("; ");
            Wrong::new(e.span().map_or(0, |span| span.start), what)
        });
        plan.and_then(|written| plan_of(written, text)).map_err(|Wrong { at, what }| {
            let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
            format!("line {line}: {what}")
        })
    }
}

fn plan_of(written: Written, text: &str) -> Result<Plan, Wrong> {
    let name = name(&written.name)?;
    let order = match &written.order {
        None => Order::default(),
        Some(word) => {
            let found = Order::ALL.iter().find(|(known, _)| known == word.get_ref()).map(|(_, order)| *order);
            let words = Order::ALL.map(|(known, _)| known).join(", ");
            found.ok_or_else(|| {
                Wrong::new(word.span().start, format!("order '{}': give one of {words}", word.get_ref()))
            })?
        }
    };
    let repeats = repeats(&written)?;
    let limit = match &written.minutes {
        None => None,
        Some(minutes) if (1..=100_000).contains(minutes.get_ref()) => Some(Duration::from_secs(60 * minutes.get_ref())),
        Some(minutes) => return Err(Wrong::new(minutes.span().start, "minutes: give a number from 1 to 100000")),
    };
    let (mut points, mut ids) = (Vec::new(), HashSet::new());
    for test in written.test.get_ref() {
        for point in points_of(test)? {
            if points.len() == MOST {
                return Err(Wrong::new(test.span().start, format!("more than {MOST} points; give shorter axes")));
            }
            if !ids.insert(point.id.clone()) {
                let what = format!("two points are called {}; give one of their tests a name of its own", point.id);
                return Err(Wrong::new(test.span().start, what));
            }
            points.push(point);
        }
    }
    if points.is_empty() {
        return Err(Wrong::new(written.test.span().start, "there is no test; write one: [[test]]"));
    }
    Ok(Plan {
        name,
        via: None,
        form: None,
        remote: None,
        text: Some(text.to_owned()),
        only: None,
        points,
        repeats,
        order,
        limit,
        shared: false,
    })
}

fn name(of: &Spanned<String>) -> Result<String, Wrong> {
    let text = of.get_ref();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > NAME || !text.chars().all(fits) {
        let what = format!("name: give 1 to {NAME} letters, digits, hyphens, dots and underlines");
        return Err(Wrong::new(of.span().start, what));
    }
    Ok(text.clone())
}

fn repeats(written: &Written) -> Result<Repeats, Wrong> {
    let confidence = written.confidence.as_ref().map(|given| {
        let [level, width] = *given.get_ref();
        Confidence { level, width }
    });
    let (at, least, most) = match &written.repeats {
        None if confidence.is_none() => return Ok(Repeats::default()),
        None => (written.confidence.as_ref().map_or(0, |given| given.span().start), 1, 1),
        Some(given) => match given.get_ref() {
            Number::One(n) => (given.span().start, *n, *n),
            Number::Two([least, most]) => (given.span().start, *least, *most),
        },
    };
    Repeats::new(least, most, confidence).map_err(|what| Wrong::new(at, format!("repeats: {what}")))
}

/// A value of each axis, with the place of the workload whose it is: 0 is the test's own.
type Chosen<'a> = Vec<(usize, &'a str, &'a Parameter)>;

/// Each combination with each value of a further axis.
fn combined<'a>(all: &[Chosen<'a>], (place, axis): (usize, &'a str), values: &'a [Parameter]) -> Vec<Chosen<'a>> {
    let with = |chosen: &Chosen<'a>, value| chosen.iter().copied().chain([(place, axis, value)]).collect();
    all.iter().flat_map(|chosen| values.iter().map(move |value| with(chosen, value))).collect()
}

impl<'a> Asks<'a> {
    /// Looks the workload up, and checks the names of its parameters and axes.
    fn of(
        word: &Spanned<String>,
        given: Option<&Spanned<String>>,
        parameters: &'a BTreeMap<Spanned<String>, Parameter>,
        axes: &'a BTreeMap<Spanned<String>, Vec<Parameter>>,
    ) -> Result<Self, Wrong> {
        let workload = WORKLOADS.iter().find(|workload| workload.name == word.get_ref()).ok_or_else(|| {
            let names = WORKLOADS.iter().map(|workload| workload.name).collect::<Vec<_>>().join(", ");
            Wrong::new(word.span().start, format!("workload '{}': give one of {names}", word.get_ref()))
        })?;
        let name = match given {
            Some(given) => name(given)?,
            None => workload.name.to_ascii_lowercase().replace('_', "-"),
        };
        let rows = (workload.parameters)();
        for given in parameters.keys().chain(axes.keys()) {
            if rows.iter().all(|row| row.name != *given.get_ref()) {
                let names = rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>().join(", ");
                let what = format!("{} has no parameter '{}'; it has {names}", workload.name, given.get_ref());
                return Err(Wrong::new(given.span().start, what));
            }
        }
        if let Some((twice, _)) = axes.iter().find(|(axis, _)| parameters.contains_key(axis.get_ref().as_str())) {
            let what = format!("'{}' is a parameter and an axis; give it once", twice.get_ref());
            return Err(Wrong::new(twice.span().start, what));
        }
        let mut axes: Vec<_> = axes.iter().collect();
        axes.sort_by_key(|(axis, _)| axis.span().start);
        if let Some((empty, _)) = axes.iter().find(|(_, values)| values.is_empty()) {
            return Err(Wrong::new(empty.span().start, format!("axis '{}' has no values; give some", empty.get_ref())));
        }
        Ok(Self { workload, name, at: word.span().start, parameters, axes })
    }

    /// Offset of the parameter or axis that a complaint begins with, if it is written here.
    fn line_of(&self, what: &str) -> Option<usize> {
        let first = what.split([':', ' ']).next().unwrap_or_default();
        let mut given = self.parameters.keys().chain(self.axes.iter().map(|(axis, _)| *axis));
        given.find(|name| name.get_ref() == first).map(|name| name.span().start)
    }

    fn has(&self, parameter: &str) -> bool {
        (self.workload.parameters)().iter().any(|row| row.name == parameter)
    }
}

/// All points of a test: each value of each axis with each value of the others, the last axis first.
fn points_of(test: &Spanned<WrittenTest>) -> Result<Vec<Point>, Wrong> {
    let written = test.get_ref();
    let mut all = vec![Asks::of(&written.workload, written.name.as_ref(), &written.parameters, &written.axes)?];
    for beside in &written.beside {
        let WrittenBeside { workload, name, parameters, axes } = beside.get_ref();
        let asks = Asks::of(workload, name.as_ref(), parameters, axes)?;
        if all.iter().any(|other| other.name == asks.name) {
            let what = format!("two workloads at once are called {}; give one a name of its own", asks.name);
            return Err(Wrong::new(beside.span().start, what));
        }
        all.push(asks);
    }
    let axes = || all.iter().enumerate().flat_map(|(place, asks)| asks.axes.iter().map(move |axis| (place, *axis)));
    let count = axes().try_fold(1_usize, |count, (_, (_, values))| count.checked_mul(values.len()));
    if count.is_none_or(|count| count > MOST) {
        return Err(Wrong::new(test.span().start, format!("more than {MOST} points; give shorter axes")));
    }
    let mut combinations: Vec<Chosen<'_>> = vec![Vec::new()];
    for (place, (axis, values)) in axes() {
        combinations = combined(&combinations, (place, axis.get_ref()), values);
    }
    let quiet = quiet(written, &all)?;
    let points = combinations.into_iter().map(|chosen| point(&all, quiet, &chosen));
    let checked = points.map(|point| match point.does() {
        Ok(_) => Ok(point),
        Err(what) => {
            // One that is wrong by itself, or else the last one that has it.
            let alone = all.iter().zip(point.asked()).find(|(_, (workload, asked))| workload.describe(asked).is_err());
            let at = match alone {
                Some((asks, _)) => asks.line_of(&what).or(Some(asks.at)),
                None => all.iter().rev().find_map(|asks| asks.line_of(&what)),
            };
            Err(Wrong::new(at.unwrap_or(all[0].at), what))
        }
    });
    checked.collect()
}

/// Seconds for which workloads that measure latency run alone before; as long as the rest, if the test does not say.
fn quiet(written: &WrittenTest, all: &[Asks<'_>]) -> Result<Option<u64>, Wrong> {
    let Some(given) = &written.quiet else { return Ok(None) };
    let wrong = |what: &str| Err(Wrong::new(given.span().start, format!("quiet: {what}")));
    if all.len() == 1 {
        return wrong("nothing is beside this workload; leave it out, or write one: [[test.beside]]");
    }
    if !all.iter().any(|asks| measures_latency(asks.workload)) {
        return wrong("none of the workloads measures latency; leave it out");
    }
    if *given.get_ref() > QUIET {
        return wrong(&format!("give a number from 0 to {QUIET}"));
    }
    Ok(Some(*given.get_ref()))
}

fn point(all: &[Asks<'_>], quiet: Option<u64>, chosen: &Chosen<'_>) -> Point {
    let (mut id, mut axes, mut told) = (all[0].name.clone(), String::new(), Parameters::new());
    let mut asked: Vec<Parameters> = all
        .iter()
        .map(|asks| asks.parameters.iter().map(|(name, value)| (name.get_ref().clone(), value.clone())).collect())
        .collect();
    for &(place, name, value) in chosen {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
        id.push('-');
        id.extend(value.to_string().chars().map(plain));
        let whose = if place == 0 { String::new() } else { format!("{} ", all[place].name) };
        axes.push_str(&format!(", {whose}{name} {value}"));
        asked[place].insert(name.to_owned(), value.clone());
        if !(place == 0 && SHARED.contains(&name)) {
            told.insert(format!("{}.{name}", all[place].name), value.clone());
        }
    }
    let mut asked = asked.into_iter();
    let parameters = asked.next().unwrap_or_default();
    let Asks { workload, name, .. } = &all[0];
    if all.len() == 1 {
        let title = format!("{}{axes}", workload.name);
        return Point { id, title, workload, parameters, beside: Beside::default() };
    }
    let part = |(asks, mut asked): (&Asks<'_>, Parameters)| {
        for (name, value) in parameters.iter().filter(|(name, _)| SHARED.contains(&name.as_str()) && asks.has(name)) {
            asked.entry(name.clone()).or_insert_with(|| value.clone());
        }
        Part { name: asks.name.clone(), workload: asks.workload, parameters: asked }
    };
    let others = all[1..].iter().zip(asked).map(part).collect();
    let latency = all.iter().any(|asks| measures_latency(asks.workload));
    let as_long = || parameters.get("seconds").and_then(Parameter::count).unwrap_or(1);
    let quiet = if latency { quiet.unwrap_or_else(as_long) } else { 0 };
    Point::together(id, workload, parameters, Beside { name: name.clone(), others, axes, told, quiet })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
name = "small-writes"
order = "shuffled"
repeats = [3, 10]
confidence = [95, 5]
minutes = 30

[[test]]
workload = "TCP_STREAM"
parameters = { via = "stack", seconds = 2 }
[test.axes]
parallel = [1, 8]
io_bytes = [64, 2048]

[[test]]
workload = "UDP_STREAM"
name = "datagrams"
[test.parameters]
io_bytes = 1000
"#;

    const TOGETHER: &str = r#"
name = "loaded"
repeats = 3
[[test]]
name = "ping"
workload = "UDP_RR"
quiet = 2
parameters = { via = "stack", seconds = 4, request_bytes = 64 }
axes = { mtu = [1500, 9000] }
[[test.beside]]
name = "up"
workload = "TCP_STREAM"
axes = { parallel = [1, 4], io_bytes = [64000] }
[[test.beside]]
name = "down"
workload = "TCP_MAERTS"
parameters = { io_bytes = 64000, parallel = 2 }
"#;

    #[test]
    fn workloads_beside_a_test_share_its_path_and_time_and_have_axes_of_their_own() {
        let plan = Plan::from_toml(TOGETHER).unwrap();
        let ids: Vec<&str> = plan.points.iter().map(|point| point.id.as_str()).collect();
        assert_eq!(ids, ["ping-1500-1-64000", "ping-1500-4-64000", "ping-9000-1-64000", "ping-9000-4-64000"]);
        let last = &plan.points[3];
        assert_eq!(last.title, "UDP_RR beside up, down, mtu 9000, up parallel 4, up io_bytes 64000");
        let all: Vec<_> = last.asked().map(|(workload, asked)| (workload.name, asked.clone())).collect();
        assert_eq!(all.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["UDP_RR", "TCP_STREAM", "TCP_MAERTS"]);
        for (_, asked) in &all {
            assert_eq!((asked["via"].text(), asked["mtu"].count()), (Some("stack"), Some(9000)));
            assert_eq!(asked["seconds"].count(), Some(4));
        }
        assert_eq!((all[1].1["parallel"].count(), all[2].1["parallel"].count()), (Some(4), Some(2)));
        assert!(!all[1].1.contains_key("request_bytes"));
        let told = plan.describe().unwrap();
        assert!(
            told.starts_with("loaded: 4 points, each measured 3 times, in rounds over all points; 1 min 12 s of"),
            "{told}"
        );
        let line = "4. ping-9000-4-64000: UDP_RR mtu=9000 request_bytes=64 seconds=4 via=stack, beside TCP_STREAM \
                    io_bytes=64000 mtu=9000 parallel=4 seconds=4 via=stack, beside TCP_MAERTS io_bytes=64000 mtu=9000 \
                    parallel=2 seconds=4 via=stack\n";
        assert!(told.contains(line), "{told}");
        assert!(told.contains("at once for 4 s; before that UDP_RR for 2 s\n"), "{told}");
        // As long as the rest, if it does not say.
        assert_eq!(Plan::from_toml(&TOGETHER.replace("quiet = 2", "")).unwrap().points[0].beside.quiet, 4);
    }

    #[test]
    fn axes_are_combined_in_the_order_in_which_they_are_written() {
        let plan = Plan::from_toml(PLAN).unwrap();
        let ids: Vec<&str> = plan.points.iter().map(|point| point.id.as_str()).collect();
        assert_eq!(ids, ["tcp-stream-1-64", "tcp-stream-1-2048", "tcp-stream-8-64", "tcp-stream-8-2048", "datagrams"]);
        assert_eq!(plan.points[1].title, "TCP_STREAM, parallel 1, io_bytes 2048");
        assert_eq!(plan.points[1].parameters["via"].text(), Some("stack"));
        assert_eq!(plan.points[1].parameters["io_bytes"].count(), Some(2048));
        let five = Confidence { level: 95.0, width: 5.0 };
        assert_eq!(plan.repeats, Repeats { least: 3, most: 10, confidence: Some(five) });
        assert_eq!((plan.order, plan.limit), (Order::Shuffled, Some(Duration::from_secs(1800))));
        let told = plan.describe().unwrap();
        assert!(told.starts_with("small-writes: 5 points, each measured 3 to 10 times"), "{told}");
        assert!(
            told.contains("\n4. tcp-stream-8-2048: TCP_STREAM io_bytes=2048 parallel=8 seconds=2 via=stack\n"),
            "{told}"
        );
    }

    #[test]
    fn a_preset_that_is_meant_is_told() {
        let told = |word: &str| Plan::read(Path::new(word)).err().unwrap();
        assert_eq!(told("t5-nick"), "t5-nick: no such preset or file; did you mean t5-nic?");
        assert!(told("other.toml").ends_with(
            "; give one of t5-fcoe, t5-netmap, t5-nic, emulex-netperf, latency-under-load, rfc2544, rrul, or a file with a plan"
        ));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (from, to, told) in [
            ("name = \"small-writes\"", "", "line 1: missing field `name`"),
            ("small-writes", "small writes", "line 2: name: give 1 to 40 letters"),
            ("shuffled", "random", "line 3: order 'random': give one of rounds, points, shuffled"),
            ("[3, 10]", "[10, 3]", "line 4: repeats: give a number from 1 to 1000"),
            ("[95, 5]", "[100, 5]", "line 4: repeats: confidence: give a level"),
            ("minutes = 30", "minutes = 0", "line 6: minutes: give a number from 1"),
            ("minutes = 30", "hours = 30", "line 6: unknown field `hours`, expected one of `name`"),
            ("\"TCP_STREAM\"", "\"TCP\"", "line 9: workload 'TCP': give one of pkt-gen, "),
            ("seconds = 2", "secs = 2", "line 10: TCP_STREAM has no parameter 'secs'; it has via, "),
            ("seconds = 2", "io_bytes = 2", "line 13: 'io_bytes' is a parameter and an axis; give it once"),
            ("[1, 8]", "[]", "line 12: axis 'parallel' has no values"),
            ("[1, 8]", "[1, 800]", "line 12: parallel: give a number from 1 to "),
            ("[64, 2048]", "[64, 64]", "line 8: two points are called tcp-stream-1-64; give"),
            ("[64, 2048]", "[[64]]", "line 13: "),
            ("io_bytes = 1000", "mtu = 1500", "line 16: io_bytes: give bytes of a write or a datagram"),
            ("minutes = 30", "minutes 30", "line 6: "),
        ] {
            assert!(PLAN.contains(from), "{from}");
            let Err(error) = Plan::from_toml(&PLAN.replace(from, to)) else { panic!("{to} is taken") };
            assert!(error.starts_with(told) && !error.contains('\n'), "{told}: {error}");
        }
        for (from, to, told) in [
            ("quiet = 2", "quiet = 4000", "line 7: quiet: give a number from 0 to 3600"),
            (
                "workload = \"UDP_RR\"",
                "workload = \"UDP_STREAM\"",
                "line 8: UDP_STREAM has no parameter 'request_bytes'",
            ),
            ("quiet = 2", "quiet = \"long\"", "line 7: "),
            ("name = \"down\"", "name = \"up\"", "line 14: two workloads at once are called up; give one"),
            ("name = \"down\"", "name = \"ping\"", "line 14: two workloads at once are called ping; give one"),
            ("TCP_STREAM", "xdd", "line 13: xdd has no parameter 'io_bytes'; it has "),
            ("io_bytes = 64000, parallel", "secs = 1, parallel", "line 17: TCP_MAERTS has no parameter 'secs'"),
            ("io_bytes = 64000", "mtu = 900, io_bytes = 64000", "line 17: mtu: workloads at once have one path"),
            ("io_bytes = 64000", "seconds = 5, io_bytes = 64000", "line 17: seconds: workloads at once end together"),
            ("parallel = [1, 4]", "parallel = [1, 400]", "line 13: parallel: give a number from 1 to 128"),
            ("[[test.beside]]", "[[test.besides]]", "line 10: unknown field `besides`, expected one of `workload`"),
        ] {
            assert!(TOGETHER.contains(from), "{from}");
            let Err(error) = Plan::from_toml(&TOGETHER.replacen(from, to, 1)) else { panic!("{to} is taken") };
            assert!(error.starts_with(told) && !error.contains('\n'), "{told}: {error}");
        }
        let alone = "name = \"x\"\n[[test]]\nworkload = \"UDP_RR\"\nquiet = 2\n";
        assert!(Plan::from_toml(alone).is_err_and(|e| e.starts_with("line 4: quiet: nothing is beside this workload")));
        assert!(Plan::from_toml("name = \"x\"\ntest = []\n").is_err_and(|e| e.starts_with("line 2: there is no test")));
        let long = format!(
            "name = \"x\"\n[[test]]\nworkload = \"TCP_STREAM\"\n[test.axes]\nio_bytes = {:?}\nmtu = {:?}\n",
            (1..=200).collect::<Vec<u32>>(),
            (1000..=1100).collect::<Vec<u32>>()
        );
        assert!(Plan::from_toml(&long).is_err_and(|e| e == "line 2: more than 10000 points; give shorter axes"));
    }
}
