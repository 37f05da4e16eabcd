//! Findings of a log, and the run that they make.
//!
//! Findings are repeats of one test if its program's parameters and all that the log tells beside (`told`) are equal.
//! A condition that keeps two tests apart becomes a parameter of each, so that no two tests have the same name and parameters.

use std::collections::{BTreeMap, HashMap};

use linerate_result::{
    Environment, Latency, Number, Outcome, Parameter, Parameters, PortUsed, Repeat, Role, RunResult, Sample, Summary,
    Test, Timestamp, Unit,
};

use super::told::Told;
use super::{IMPORTED, MOST_SAMPLES, MOST_TESTS, Wrong, shown};
use crate::varied::differing;

/// The greatest number of results that are named though they are not taken.
const MOST_PASSED: usize = 16;

/// A line of a log.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    /// The line with its blanks, by which columns stand below each other.
    pub(super) raw: &'a str,
    pub(super) number: usize,
}

impl<'a> Line<'a> {
    pub(super) fn new(raw: &'a str, number: usize) -> Self {
        Self { text: raw.trim(), raw, number }
    }

    pub(super) fn wrong(self, why: &str) -> Wrong {
        Wrong { line: Some(self.number), why: format!("{why}: '{}'", shown(self.text, 60)) }
    }
}

pub(super) type Figure = (f64, Unit);

/// Time of a finding beside those before it, by which the run's time is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ran {
    /// After them.
    #[default]
    After,
    /// At once with the last of them.
    Beside,
    /// Within their time, or within that of one behind it.
    Within,
    /// Not told.
    Unknown,
}

/// One end's view of a test: its program's cookie, if that is the name it has, the end, and what else tells when it was.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) cookie: Option<String>,
    pub(super) serves: bool,
    pub(super) start: String,
}

/// Value of the parameter `figure` of a test without its total, which is no repeat of one that has it.
pub(super) const MEAN: &str = "mean of its intervals";

#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) line: usize,
    /// Id of the test, as long as no other test of the run has it.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) workload: String,
    pub(super) parameters: Parameters,
    /// Conditions that the log tells beside the parameters, which repeats have in common.
    pub(super) told: Told,
    /// True if the log does not tell what the test was asked to do, so that no other is a repeat of it.
    pub(super) alone: bool,
    /// Addresses, interfaces or files that were used.
    pub(super) ports: Vec<String>,
    pub(super) frame_bytes: Option<u32>,
    /// The figure; a test without one has failed or was not finished.
    pub(super) value: Option<Figure>,
    /// Unit of the samples of a test without a figure.
    pub(super) unit: Option<Unit>,
    pub(super) seconds: Option<f64>,
    pub(super) ran: Ran,
    /// Further figures that the log has on the value's repeats: of several passes, each.
    pub(super) further: Vec<(String, Figure)>,
    pub(super) latency: Option<Latency>,
    pub(super) counters: Vec<(String, u64)>,
    pub(super) samples: Vec<Sample>,
    /// End that counted them, if that is known.
    pub(super) samples_of: Option<Role>,
    pub(super) warnings: Vec<String>,
    pub(super) failures: Vec<String>,
}

impl Measured {
    /// Makes what arrived the figure. What was sent stands beside it; its intervals are none of what arrived, and go.
    pub(super) fn arrived(&mut self, figure: Option<Figure>) {
        let sent = std::mem::replace(&mut self.value, figure);
        self.further.extend(sent.map(|sent| ("sent".to_owned(), sent)));
        self.samples.clear();
        self.samples_of = None;
    }

    /// Says that the test was seen at a line from its other end, so that its time has been counted.
    pub(super) fn other_end(&mut self, line: Option<usize>) {
        if let Some(line) = line {
            self.ran = Ran::Within;
            self.warnings.push(format!("the other end of the test of line {line}, which is measured once"));
        }
    }

    /// Makes parameters of the settings that are axes of every table and chart, known as they are before any test is compared.
    fn promote(&mut self) {
        for name in ["mtu", "block_bytes"] {
            if let Some(value) = self.told.value(name).filter(|_| !self.parameters.contains_key(name)) {
                // iperf takes `k` for 1000, iperf3 for 1024.
                let of_iperf3 = self.workload.starts_with("iperf3");
                let bytes = if of_iperf3 {
                    linerate_text::bytes(value)
                } else {
                    linerate_text::whole(value, linerate_text::by_case)
                };
                let value = bytes.map_or_else(|| parameter(value), Parameter::from);
                self.parameters.insert(name.to_owned(), value);
            }
        }
    }
}

/// A value as it was written.
fn parameter(text: &str) -> Parameter {
    text.parse::<u64>().map_or_else(|_| text.into(), Parameter::from)
}

/// A test that is being put together.
struct Made {
    test: Test,
    /// Conditions of its first finding.
    told: Told,
    unit: Option<Unit>,
    /// Values of the further figures, of all repeats.
    further: BTreeMap<String, (Vec<f64>, Unit)>,
}

/// Tests that are being put together.
#[derive(Default)]
pub(super) struct Found {
    tests: Vec<Made>,
    /// Places of tests with the same parameters.
    places: HashMap<String, Vec<usize>>,
    ids: HashMap<String, usize>,
    /// Lines at which tests that name themselves were found.
    once: HashMap<String, (usize, Seen)>,
    samples: usize,
    /// Time of all tests, seconds, and of those that ran at once with the last one.
    elapsed: f64,
    longest: f64,
    /// True if a test does not tell how long, or beside which other, it ran.
    untimed: bool,
    /// Connections that were seen, from either end: that end, and the line.
    connections: HashMap<String, (String, usize)>,
    /// Start of the run, if the log tells it.
    pub(super) start: Option<Timestamp>,
    /// True if the log has dates, whose zone or year is not sure.
    pub(super) dated: bool,
    /// Mark of the lines that are read, where those of several programs are in one log (`dress`): a condition of their tests.
    pub(super) source: Option<String>,
    /// The last line, if it is cut.
    pub(super) cut: Option<String>,
    /// Results that have no proof in the log, which are not taken while others are.
    pub(super) passed: Vec<Wrong>,
    /// Failures that the log tells, which go to the next finding, or to the last one.
    pub(super) failures: Vec<String>,
    /// Facts of the machine that the log tells.
    pub(super) environment: Environment,
}

impl Found {
    pub(super) fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// True for a line by which iperf 2 says that a test failed, which is kept.
    pub(super) fn failed(&mut self, line: Line<'_>) -> bool {
        let failed = ["did not receive ack of last datagram", "read failed: ", "write failed: ", "connect failed: "]
            .iter()
            .any(|known| line.text.contains(known))
            || line.text.contains("Assertion") && line.text.contains("failed");
        if failed && self.failures.len() < 16 {
            self.failures.push(format!("line {}: {}", line.number, line.text));
        }
        failed
    }

    /// Passes over a result that cannot be proven and that no other depends on.
    pub(super) fn pass(&mut self, wrong: Wrong) {
        if self.passed.len() < MOST_PASSED {
            self.passed.push(wrong);
        }
    }

    /// Notes a test by what tells it from all others: its ends and figures, or the cookie that its program drew.
    ///
    /// # Errors
    /// The test was there before: seen from its other end, written twice, or a copy that was changed.
    pub(super) fn once(&mut self, name: String, seen: Seen, line: usize) -> Result<(), Wrong> {
        let same = seen.cookie.as_ref().map_or_else(String::new, |cookie| format!(" (cookie {})", shown(cookie, 40)));
        let (serves, start) = (seen.serves, seen.start.clone());
        let Some((before, other)) = self.once.insert(name, (line, seen)) else { return Ok(()) };
        let why = if serves == other.serves && start != other.start {
            format!(
                "the cookie of line {before}{same} again, of a test with another start or other streams: a program draws one \
                     for each test, so one of them is a copy that was changed; import each alone"
            )
        } else {
            format!("the test of line {before}{same} again, or its other end: no repeat of it; import each alone")
        };
        Err(Wrong { line: Some(line), why })
    }

    /// Notes a direction of a connection, `A%eth0 port 1 connected to B port 2`; the line at which it was seen from its other end.
    pub(super) fn connected(&mut self, ends: &str, between: &str, way: &str, line: usize) -> Option<usize> {
        let plain = |end: &str| -> Option<String> {
            let (host, port) = end.trim().split_once(" port ")?;
            Some(format!("{} {port}", host.split('%').next()?))
        };
        let (near, far) = ends.split_once(between)?;
        let (near, far) = (plain(near)?, plain(far)?);
        let both = format!("{way} {} {}", near.clone().min(far.clone()), near.clone().max(far));
        let (seen, at) = self.connections.insert(both, (near.clone(), line))?;
        (seen != near).then_some(at)
    }

    /// Counts the time of a finding.
    fn timed(&mut self, seconds: Option<f64>, ran: Ran) {
        let seconds = seconds.unwrap_or_else(|| {
            self.untimed = true;
            0.0
        });
        match ran {
            Ran::After => (self.elapsed, self.longest) = (self.elapsed + seconds, seconds),
            Ran::Beside => {
                self.elapsed += (seconds - self.longest).max(0.0);
                self.longest = self.longest.max(seconds);
            }
            Ran::Within => {}
            Ran::Unknown => self.untimed = true,
        }
    }

    pub(super) fn add(&mut self, mut measured: Measured) -> Result<(), Wrong> {
        let line = measured.line;
        measured.failures.append(&mut self.failures);
        if measured.value.as_ref().is_some_and(|(value, _)| *value <= 0.0) {
            measured.failures.push(format!("line {line}: nothing was moved"));
        }
        let too_many = |what: &str| Wrong { line: Some(line), why: format!("more than {what}; import it in parts") };
        self.samples += measured.samples.len() + 1 + measured.further.len();
        if self.samples > MOST_SAMPLES {
            return Err(too_many(&format!("{MOST_SAMPLES} figures")));
        }
        let unit = measured.value.as_ref().map(|(_, unit)| unit.clone());
        if let Some(source) = &self.source {
            measured.parameters.insert("source".to_owned(), source.as_str().into());
            measured.ran = Ran::Unknown;
        }
        if measured.value.is_some() {
            self.timed(measured.seconds, measured.ran);
        }
        measured.promote();
        let parameters = serde_json::to_string(&measured.parameters).unwrap_or_default();
        let unit_name = unit.as_ref().map_or("", Unit::name);
        let key = format!("{}\n{}\n{unit_name}\n{parameters}", measured.id, measured.workload);
        let alike = self.places.entry(key).or_default();
        // Quantiles of two distributions cannot be joined: they stay two tests.
        let joins = measured.latency.is_none() && measured.value.is_some() && !measured.alone;
        let known = alike.iter().copied().find(|place| joins && self.tests[*place].told.is(&measured.told));
        let place = match known {
            Some(place) => place,
            None if self.tests.len() >= MOST_TESTS => return Err(too_many(&format!("{MOST_TESTS} tests"))),
            None => {
                let test = Test {
                    id: measured.id,
                    title: measured.title,
                    workload: shown(&measured.workload, 80),
                    parameters: measured.parameters,
                    frame_bytes: measured.frame_bytes,
                    wire_bytes: measured.frame_bytes.and_then(|bytes| bytes.checked_add(4)),
                    latency: measured.latency,
                    ..Test::default()
                };
                alike.push(self.tests.len());
                let unit = unit.or(measured.unit);
                self.tests.push(Made { test, told: measured.told, unit, further: BTreeMap::new() });
                self.tests.len() - 1
            }
        };
        let Made { test, further, .. } = &mut self.tests[place];
        for name in measured.ports {
            if !test.ports.iter().any(|port| port.name == name) && test.ports.len() < 16 {
                test.ports.push(PortUsed { name, ..PortUsed::default() });
            }
        }
        if let Some((value, _)) = measured.value {
            let valid = value.is_finite() && value > 0.0;
            let (value, seconds) = (Number::new(value), measured.seconds.into());
            test.repeats.push(Repeat { value, seconds, valid, ..Repeat::default() });
        }
        for (name, (value, unit)) in measured.further {
            let (values, known) = further.entry(name).or_insert_with(|| (Vec::new(), unit.clone()));
            if *known == unit {
                values.push(value);
            }
        }
        for (name, count) in measured.counters {
            test.counters.add(None, name, count);
        }
        test.counted_by(measured.samples_of, measured.samples.is_empty());
        // Samples of a second repeat follow those of the first one.
        let after = test.samples.last().and_then(|sample| sample.t_s.known()).unwrap_or(0.0);
        test.samples.extend(
            measured
                .samples
                .into_iter()
                .map(|sample| Sample { t_s: sample.t_s.known().map(|t| t + after).into(), ..sample }),
        );
        for warning in measured.warnings.iter().map(|warning| shown(warning, 300)) {
            if !test.warnings.contains(&warning) {
                test.warnings.push(warning);
            }
        }
        test.failures.extend(measured.failures.iter().map(|failure| shown(failure, 300)));
        Ok(())
    }

    /// The id, or the id with the least number behind it that is free.
    fn free_id(&mut self, id: &str) -> String {
        let id: String =
            id.chars().take(80).map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
        loop {
            let count = self.ids.entry(id.clone()).or_insert(0);
            *count += 1;
            if *count == 1 {
                return id;
            }
            let named = format!("{id}-{count}");
            if !self.ids.contains_key(&named) {
                self.ids.insert(named.clone(), 1);
                return named;
            }
        }
    }

    /// Makes what keeps tests of the same parameters apart a parameter, and names each test by what differs.
    fn name(&mut self) {
        for alike in std::mem::take(&mut self.places).into_values().filter(|alike| alike.len() > 1) {
            let told: Vec<&Told> = alike.iter().map(|place| &self.tests[*place].told).collect();
            for (place, apart) in alike.iter().zip(Told::apart(&told)) {
                let known = &mut self.tests[*place].test.parameters;
                for (name, value) in apart {
                    known.entry(name).or_insert_with(|| parameter(&value));
                }
            }
        }
        let mut times: HashMap<String, u64> = HashMap::new();
        for Made { test, .. } in &mut self.tests {
            let known = serde_json::to_string(&test.parameters).unwrap_or_default();
            let time = times.entry(format!("{}\n{}\n{known}", test.id, test.title)).or_insert(0);
            *time += 1;
            if *time > 1 {
                test.parameters.insert("run".to_owned(), (*time).into());
            }
        }
        // The differences of tests of one id make the id, and those of tests of one title the title.
        let parts: [fn(&mut Test) -> &mut String; 2] = [|test| &mut test.id, |test| &mut test.title];
        for (part, titles) in parts.into_iter().zip([false, true]) {
            let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (place, Made { test, .. }) in self.tests.iter_mut().enumerate() {
                named.entry(part(test).clone()).or_default().push(place);
            }
            for alike in named.into_values() {
                let tests: Vec<&Parameters> = alike.iter().map(|place| &self.tests[*place].test.parameters).collect();
                let names: Vec<String> = differing(&tests).into_iter().map(str::to_owned).collect();
                for place in &alike {
                    let test = &mut self.tests[*place].test;
                    for name in &names {
                        let Some(value) = test.parameters.get(name).map(ToString::to_string) else { continue };
                        let (word, unit) = name.strip_suffix("_bytes").map_or((name.as_str(), ""), |word| (word, " B"));
                        let more = if titles { format!(", {word} {value}{unit}") } else { format!("-{word}_{value}") };
                        part(test).push_str(&more);
                    }
                }
            }
        }
        for Made { test, .. } in &mut self.tests {
            test.title = shown(&test.title, 200);
        }
        for place in 0..self.tests.len() {
            self.tests[place].test.id = self.free_id(&self.tests[place].test.id.clone());
        }
    }

    /// The run; `None` if nothing was found. Its id follows from the text, so that a log that is read twice is one run.
    pub(super) fn run(mut self, name: &str, text: &str, at: Timestamp, command: &[String]) -> Option<RunResult> {
        if self.tests.is_empty() {
            return None;
        }
        self.name();
        let last = self.tests.last_mut().map(|last| &mut last.test.failures);
        last.into_iter().for_each(|last| last.extend(self.failures.iter().map(|failure| shown(failure, 300))));
        let id = format!("i{:08x}", checksum(text.as_bytes()));
        let mut run = RunResult::new(id, command.to_vec(), self.start.unwrap_or(at));
        run.environment = self.environment;
        for Made { mut test, unit, further, .. } in self.tests {
            test.summarize(unit.clone().unwrap_or_else(|| Unit::Other("".into())));
            // Samples have the unit of the figure, also of one that is not known.
            if test.value.is_none() && !test.samples.is_empty() {
                test.value = unit.map(unknown);
            }
            test.further = further
                .into_iter()
                .filter_map(|(name, (mut values, unit))| Some((name, Summary::of_values(&mut values, unit)?)))
                .collect();
            if test.ports.is_empty() {
                test.ports.push(PortUsed::default());
            }
            for port in &mut test.ports {
                port.name = shown(&port.name, 200);
                port.path = format!("{IMPORTED}{name}");
            }
            run.tests.push(test);
        }
        if self.start.is_none() {
            run.tests[0].warnings.push(format!("{}{OF_FILE}", if self.dated { VAGUE } else { UNDATED }));
        }
        let more = if self.passed.len() < MOST_PASSED { "" } else { ", as perhaps others behind it" };
        for (at, Wrong { line, why }) in self.passed.iter().enumerate() {
            let more = if at + 1 == self.passed.len() { more } else { "" };
            run.tests[0].warnings.push(shown(&format!("line {} {NOT_TAKEN}{more}: {why}", line.unwrap_or(0)), 300));
        }
        let known = self.elapsed > 0.0 && !self.untimed;
        run.elapsed_s = if known { self.elapsed.into() } else { Number::UNKNOWN };
        run.reasons = run.failures().collect();
        run.outcome = if run.reasons.is_empty() { Outcome::Pass } else { Outcome::Failed };
        Some(run)
    }
}

/// The summary of a figure that is not known.
fn unknown(unit: Unit) -> Summary {
    let [median, least, greatest] = [Number::UNKNOWN; 3];
    Summary { median, least, greatest, unit, counted: Some(0), made: Some(0) }
}

/// Part of the warning of a result that was not taken, behind its line.
pub(super) const NOT_TAKEN: &str = "was not taken";

/// Warnings of a run whose log has no time, and of one whose dates are not sure; and their end.
const UNDATED: &str = "the log does not tell when it was made";
const VAGUE: &str = "the log's dates have no zone, or no year, that is sure";
pub(super) const OF_FILE: &str = ": the start is the time of the file";

/// End of the warning of a test whose protocol is not told.
pub(super) const CALLED_TCP: &str = ": it is called TCP";

/// FNV-1a in 32 bits: tells files apart, and proves nothing.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
