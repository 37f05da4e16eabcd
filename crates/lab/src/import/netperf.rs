//! netperf's text, as it is collected by `netperf … | tee -a npresults.txt`: blocks behind each other, with commands and
//! other lines between them.
//!
//! Classic tables are read by their test's name, omni's lists (`-o`, `-k`) by the names in them, and its table for people by the
//! names above the values, or of one that is out of line the throughput alone. Without a heading (`-P 0`) a line of numbers is one more repeat of the test before,
//! as long as the command's options and the text between them tell nothing else.

mod classic;
mod listed;

use linerate_result::Sample;

use super::found::{Found, Line, Measured};
use super::told::Told;
use super::{Import, Read, Wrong, command, date, lines, shown, units};
use classic::Table;
pub(super) use listed::UNREAD;

pub(super) const IMPORT: Import = Import {
    name: "netperf",
    about: "netperf's text, one test or many (npresults.txt)",
    looks,
    read: Read::Log(read, begins),
};

fn looks(text: &str) -> bool {
    text.lines().any(|line| banner(line).is_some() || line.starts_with("THROUGHPUT="))
}

fn begins(line: &str) -> bool {
    banner(line).is_some() || command::options(&line.split_whitespace().collect::<Vec<_>>()).is_some()
}

/// The test that a block is of.
#[derive(Clone, Default)]
struct Test {
    name: String,
    host: String,
    samples: Vec<Sample>,
    began: Option<f64>,
    /// Line of its banner, or of its first interim result, until its result has come.
    opened: Option<usize>,
    warnings: Vec<String>,
    told: Told,
}

/// The part of a block that has been read so far.
enum State {
    Heading(Box<Table>),
    /// Names of an omni list, whose values follow.
    Names(Vec<String>),
    Pairs(listed::Pairs),
}

/// Name, host and options of `MIGRATED TCP STREAM TEST from … to HOST (…) port 0 AF_INET : nodelay`.
fn banner(line: &str) -> Option<(String, String, String)> {
    let (name, ends) = line.split_once(" TEST")?;
    let ends = ends.split_once(" to ").filter(|_| ends.contains("from "))?.1;
    let name = name.trim().trim_start_matches("MIGRATED ");
    let name = match name.to_ascii_uppercase().as_str() {
        "TCP REQUEST/RESPONSE" => "TCP_RR".to_owned(),
        "TCP CONNECT/REQUEST/RESPONSE" => "TCP_CRR".to_owned(),
        "UDP REQUEST/RESPONSE" => "UDP_RR".to_owned(),
        "UDP UNIDIRECTIONAL SEND" => "UDP_STREAM".to_owned(),
        "TCP CONNECT/CLOSE" => "TCP_CC".to_owned(),
        "" => return None,
        other if other.len() <= 40 => shown(&other.replace([' ', '/'], "_"), 40),
        _ => return None,
    };
    let host = shown(ends.split_whitespace().next().unwrap_or_default(), 100);
    // How the figure was come by is no condition.
    let no_option = |option: &&str| !matches!(*option, "demo" | "histogram") && !option.ends_with("conf.");
    let options = ends.split(" : ").skip(1).map(str::trim).filter(no_option).collect::<Vec<_>>().join(", ");
    Some((name, host, if options.is_empty() { "none".to_owned() } else { options }))
}

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let (mut test, mut state) = (Test::default(), State::Heading(Box::default()));
    for line in lines(text) {
        if let Some((name, host, options)) = banner(line.text) {
            finish(&mut state, &mut test, found)?;
            test.unended(found);
            let mut told = test.told;
            told.set("host", &host);
            told.set("options", &options);
            test = Test { name, host, told, opened: Some(line.number), ..Test::default() };
            state = State::Heading(Box::default());
        } else if let Some(rest) = line.text.strip_prefix("Interim result: ") {
            test.interim(rest, line, found)?;
        } else if let Some(warning) = line.text.strip_prefix("!!! ") {
            if test.warnings.len() < 16 {
                test.warnings.push(shown(warning, 200));
            }
        } else {
            if !test.samples.is_empty() && begins(line.text) {
                test.unended(found);
            }
            next(&mut state, &mut test, line, found)?;
        }
    }
    finish(&mut state, &mut test, found)?;
    test.unended(found);
    Ok(())
}

/// Takes a line that is neither banner nor remark.
fn next(state: &mut State, test: &mut Test, line: Line<'_>, found: &mut Found) -> Result<(), Wrong> {
    if let State::Names(names) = state {
        let values = listed::values(line.text);
        if values.len() != names.len() {
            return Err(line.wrong(&format!("{} values behind {} names", values.len(), names.len())));
        }
        let pairs = names.drain(..).zip(values).collect();
        *state = State::Heading(Box::default());
        return list(test, pairs, line, found);
    }
    if let Some((name, value)) = listed::pair(line.text) {
        if !matches!(state, State::Pairs(pairs) if !pairs.has(name)) {
            finish(state, test, found)?;
            *state = State::Pairs(listed::Pairs::new(line.number));
        }
        if let State::Pairs(pairs) = state {
            return pairs.add(name, value, line);
        }
    }
    finish_pairs(state, test, found)?;
    if let Some(names) = listed::names(line.text) {
        *state = State::Names(names);
        return Ok(());
    }
    let values = listed::values(line.text);
    let State::Heading(table) = state else { return Ok(()) };
    let is_number = |value: &String| units::number(value).is_some();
    let is_list = values.iter().all(is_number)
        || values.iter().any(is_number) && values.iter().any(|value| units::rate(1.0, value).is_some());
    let ended = if values.len() > 1 && is_list {
        table.passed = Some(line.wrong("values without a line of their names; netperf -P 1 prints it"));
        table.end()?.into_iter().collect()
    } else {
        table.line(test, line)?
    };
    ended.into_iter().try_for_each(|measured| found.add(measured))?;
    if let Some(wrong) = table.passed.take() {
        // Numbers behind it may be of the same test.
        **table = Table::default();
        test.told.result();
        test.opened = None;
        found.pass(wrong);
    }
    Ok(())
}

/// Ends a block; a list of which only the names came is no result.
fn finish(state: &mut State, test: &mut Test, found: &mut Found) -> Result<(), Wrong> {
    finish_pairs(state, test, found)?;
    match state {
        State::Heading(table) => match table.end() {
            Ok(ended) => ended.into_iter().try_for_each(|measured| found.add(measured)),
            // The banner of another test, or the end, says that it has no second line.
            Err(wrong) => {
                found.pass(wrong);
                Ok(())
            }
        },
        _ => Ok(()),
    }
}

fn finish_pairs(state: &mut State, test: &mut Test, found: &mut Found) -> Result<(), Wrong> {
    if let State::Pairs(pairs) = state {
        let (line, pairs) = (pairs.line, std::mem::take(&mut pairs.all));
        *state = State::Heading(Box::default());
        list(test, pairs, Line::new("", line), found)?;
    }
    Ok(())
}

/// Adds the finding of a list; one without a throughput in its unit is passed over.
fn list(test: &mut Test, pairs: Vec<(String, String)>, line: Line<'_>, found: &mut Found) -> Result<(), Wrong> {
    let has = |wanted: &str| pairs.iter().any(|(name, _)| name.replace(' ', "_").eq_ignore_ascii_case(wanted));
    let is_whole = has("throughput") && has("throughput_units");
    match listed::measured(test, pairs, line) {
        Err(wrong) if !is_whole => found.pass(wrong),
        measured => found.add(measured?)?,
    }
    Ok(())
}

impl Test {
    /// Names a test whose result has not come.
    fn unended(&mut self, found: &mut Found) {
        let why = "a test without its result, as one that was broken off";
        self.opened.take().into_iter().for_each(|line| found.pass(Wrong { line: Some(line), why: why.to_owned() }));
        (self.samples, self.began) = (Vec::new(), None);
    }

    /// `1234.56 10^6bits/s over 1.000 seconds ending at 1234567.890`.
    fn interim(&mut self, rest: &str, line: Line<'_>, found: &mut Found) -> Result<(), Wrong> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let read = || {
            let (value, _) = units::rate(units::number(words.first()?)?, words.get(1)?)?;
            let (over, end) = (units::number(words.get(3)?)?, units::number(words.get(7)?)?);
            Some((value, over, end))
        };
        let (value, over, end) = read().ok_or_else(|| line.wrong("an interim result without rate and time"))?;
        found.start = found.start.or_else(|| date::of_epoch(end - over));
        self.opened.get_or_insert(line.number);
        let began = *self.began.get_or_insert(end - over);
        self.samples.push(Sample { t_s: (end - began).into(), value: value.into() });
        Ok(())
    }

    /// A finding of this test, to which its samples and warnings go.
    fn measured(&mut self, line: usize) -> Measured {
        let name = if self.name.is_empty() { "netperf" } else { &self.name };
        (self.began, self.opened) = (None, None);
        let told = self.told.clone();
        self.told.result();
        Measured {
            line,
            told,
            id: name.to_ascii_lowercase(),
            title: name.to_owned(),
            workload: format!("netperf-{}", name.to_ascii_lowercase()),
            ports: Some(self.host.clone()).filter(|host| !host.is_empty()).into_iter().collect(),
            samples: std::mem::take(&mut self.samples),
            warnings: std::mem::take(&mut self.warnings),
            ..Measured::default()
        }
    }
}
