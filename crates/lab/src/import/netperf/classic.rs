//! Tables of netperf's classic tests: headings, then a line of numbers, for some tests a second one.

use linerate_result::{Parameter, Unit};

use super::super::found::{Line, Measured};
use super::super::{Wrong, shown, units};
use super::Test;

/// A table as far as it is read.
#[derive(Default)]
pub(super) struct Table {
    /// Unit of the throughput, from the heading.
    rate: Option<String>,
    /// Unit of the service demand.
    demand: Option<String>,
    /// A finding that a second line may complete.
    open: Option<Measured>,
    /// Name of the test that a command line behind the heading names, and true if it sets the unit (`-f`).
    commanded: Option<(String, bool)>,
    /// True behind a heading, until its numbers have come.
    awaits: bool,
}

/// Words of a heading that are units of a throughput.
fn is_rate(word: &str) -> bool {
    units::rate(1.0, word).is_some()
}

impl Table {
    /// Takes a line; returns the findings that are complete.
    pub(super) fn line(&mut self, test: &mut Test, line: Line<'_>) -> Result<Vec<Measured>, Wrong> {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let numbers: Option<Vec<f64>> = words.iter().map(|word| units::number(word)).collect();
        if let Some(numbers) = numbers.filter(|numbers| numbers.len() > 1) {
            return self.numbers(test, &numbers, line);
        }
        let mut ended: Vec<Measured> = self.end().into_iter().collect();
        if let Some(measured) = omni(test, &words, line) {
            self.awaits = false;
            ended.push(measured);
            return Ok(ended);
        }
        // A line of numbers but for one word is a broken table, not a heading.
        let mostly = words.iter().filter(|word| units::number(word).is_some()).count();
        if self.awaits && words.len() >= 4 && mostly + 1 == words.len() {
            return Err(line.wrong("a line of numbers with a word in it"));
        }
        if let Some(words) = line.text.strip_prefix("netperf ") {
            self.commanded = of_command(words);
            return Ok(ended);
        }
        let rate = words.iter().find(|word| is_rate(word)).map(|rate| (*rate).to_owned());
        if let Some(rate) = rate.or_else(|| line.text.contains("per sec").then(|| "Trans/s".to_owned())) {
            self.rate = Some(rate);
            self.awaits = true;
        }
        if let Some(demand) = words.iter().find(|word| word.starts_with("us/")) {
            self.demand = Some(shown(demand, 20));
        }
        Ok(ended)
    }

    /// A finding that has waited for its second line.
    pub(super) fn end(&mut self) -> Option<Measured> {
        self.open.take()
    }

    fn numbers(&mut self, test: &mut Test, numbers: &[f64], line: Line<'_>) -> Result<Vec<Measured>, Wrong> {
        let mut ended = Vec::new();
        if let Some(mut open) = self.open.take() {
            let completed = second(&mut open, numbers, self.rate.as_deref());
            ended.push(open);
            if completed {
                return Ok(ended);
            }
        }
        let Some(unit) = self.rate.clone() else {
            let told = "numbers without a heading before them, so without a unit; netperf -P 1 prints it";
            return if numbers.len() >= 5 { Err(line.wrong(told)) } else { Ok(ended) };
        };
        let name = self.commanded.as_ref().map_or(&test.name, |(name, _)| name).clone();
        let kind = Kind::of(&name, &unit);
        let places = kind.places();
        let fits = [0, 2, 4].iter().any(|more| numbers.len() == places.len() + more);
        if !fits && !self.awaits {
            // Numbers that belong to no table.
            return Ok(ended);
        }
        if !fits {
            return Err(line.wrong(&format!("{} numbers where {name} has {}", numbers.len(), places.len())));
        }
        let of_heading = kind == Kind::of(&test.name, &unit) && (kind == Kind::Requests) == (unit == "Trans/s");
        if let Some((_, has_unit)) = self.commanded.take()
            && !self.awaits
            && (has_unit || !of_heading)
        {
            return Err(
                line.wrong(&format!("numbers of {name} without a heading of their own; netperf -P 1 prints it"))
            );
        }
        self.awaits = false;
        test.name = name;
        let mut measured = test.measured(line.number);
        for (place, number) in places.iter().zip(numbers) {
            match place {
                Place::Parameter(name) => {
                    measured.parameters.insert((*name).to_owned(), whole(*number));
                }
                Place::Seconds => measured.seconds = Some(*number),
                Place::Counter(name) => measured.counters.push(((*name).to_owned(), count(*number))),
                Place::Value => measured.value = units::rate(*number, &unit),
            }
        }
        processors(&mut measured, &numbers[places.len()..], self.demand.as_deref());
        if kind == Kind::Stream {
            ended.push(measured);
        } else {
            self.open = Some(measured);
        }
        Ok(ended)
    }
}

/// Name of the test in the words behind `netperf`, and true if they set the unit.
fn of_command(words: &str) -> Option<(String, bool)> {
    let (mut name, mut unit) = (None, false);
    let mut words = words.split_whitespace().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        unit |= word.starts_with("-f");
        match word.strip_prefix("-t") {
            Some("") => name = words.next(),
            Some(joined) => name = Some(joined),
            None => {}
        }
    }
    Some((shown(&name.unwrap_or("TCP_STREAM").to_ascii_uppercase(), 40), unit))
}

/// Form of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One line: sizes, time, throughput.
    Stream,
    /// Two lines: what was sent and what was received.
    Datagrams,
    /// Two lines: sizes of this end, time, rate; sizes of the other end.
    Requests,
}

/// Meaning of a number of the first line.
enum Place {
    Parameter(&'static str),
    Seconds,
    Counter(&'static str),
    Value,
}

impl Kind {
    fn of(name: &str, unit: &str) -> Self {
        match name {
            name if name.starts_with("UDP") && name.contains("STREAM") => Self::Datagrams,
            name if name.ends_with("RR") || name.ends_with("_CC") || unit == "Trans/s" => Self::Requests,
            _ => Self::Stream,
        }
    }

    fn places(self) -> &'static [Place] {
        use Place::{Counter, Parameter, Seconds, Value};
        match self {
            Self::Stream => &[
                Parameter("receive_buffer_bytes"),
                Parameter("send_buffer_bytes"),
                Parameter("message_bytes"),
                Seconds,
                Value,
            ],
            Self::Datagrams => &[
                Parameter("send_buffer_bytes"),
                Parameter("message_bytes"),
                Seconds,
                Counter("sent"),
                Counter("send_errors"),
                Value,
            ],
            Self::Requests => &[
                Parameter("send_buffer_bytes"),
                Parameter("receive_buffer_bytes"),
                Parameter("request_bytes"),
                Parameter("response_bytes"),
                Seconds,
                Value,
            ],
        }
    }
}

/// Use of the processors and service demand behind the throughput; -1 stands for what was not measured.
fn processors(measured: &mut Measured, rest: &[f64], demand: Option<&str>) {
    let demand = Unit::Other(demand.unwrap_or("us/KB").into());
    let names: &[(&str, &Unit)] = match rest.len() {
        4.. => &[
            ("cpu_local", &Unit::PerCent),
            ("cpu_remote", &Unit::PerCent),
            ("service_demand_local", &demand),
            ("service_demand_remote", &demand),
        ],
        2 => &[("cpu", &Unit::PerCent), ("service_demand", &demand)],
        _ => &[],
    };
    for ((name, unit), number) in names.iter().zip(rest) {
        if *number >= 0.0 {
            measured.further.push(((*name).to_owned(), (*number, (*unit).clone())));
        }
    }
}

/// Takes the second line of a table; false if it is none.
fn second(open: &mut Measured, numbers: &[f64], unit: Option<&str>) -> bool {
    match numbers {
        // Sizes of the other end.
        [send, receive] => {
            open.parameters.insert("remote_send_buffer_bytes".to_owned(), whole(*send));
            open.parameters.insert("remote_receive_buffer_bytes".to_owned(), whole(*receive));
            true
        }
        // Size, time, datagrams, throughput, and perhaps processors.
        [size, _, received, rate, ..] if open.parameters.contains_key("message_bytes") && numbers.len() != 6 => {
            open.parameters.insert("receive_buffer_bytes".to_owned(), whole(*size));
            open.counters.push(("received".to_owned(), count(*received)));
            let sent = open.value.take();
            open.further.extend(sent.map(|sent| ("sent".to_owned(), sent)));
            // The figure is what arrived.
            open.value = unit.and_then(|unit| units::rate(*rate, unit));
            true
        }
        _ => false,
    }
}

/// A value with its unit in omni's table for people: the throughput, and nothing else.
fn omni(test: &mut Test, words: &[&str], line: Line<'_>) -> Option<Measured> {
    let at = words.iter().position(|word| is_rate(word)).filter(|at| *at > 0)?;
    let others = words.iter().take(at).all(|word| units::number(word).is_some());
    let value = units::rate(units::number(words[at - 1])?, words[at]).filter(|_| others)?;
    let mut measured = test.measured(line.number);
    measured.value = Some(value);
    measured.warnings.push("of omni's table only the throughput is read; -k prints a list".to_owned());
    Some(measured)
}

fn whole(number: f64) -> Parameter {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number below 2^53")]
    if number.fract() == 0.0 && (0.0..9e15).contains(&number) { Parameter::from(number as u64) } else { number.into() }
}

fn count(number: f64) -> u64 {
    whole(number).count().unwrap_or(0)
}
