//! Tables of netperf's classic tests: headings, then a line of numbers, for some tests a second one.

use linerate_result::{Parameter, Unit};

use super::super::found::{Line, Measured};
use super::super::{Wrong, command, shown, units};
use super::Test;

/// A table as far as it is read.
#[derive(Default)]
pub(super) struct Table {
    /// Unit of the throughput, from the heading.
    rate: Option<String>,
    demand: Option<String>,
    /// Unit of a throughput whose time stands below it.
    amount: Option<String>,
    /// A finding that a second line may complete, and how many numbers that has if it must come.
    open: Option<(Measured, Option<usize>)>,
    /// Name of the test that a command line behind the heading names, and true if it sets the unit (`-f`).
    commanded: Option<(String, bool)>,
    /// True behind a heading, until its numbers have come.
    awaits: bool,
    /// True behind a heading of what `-v 2` adds, whose line of numbers holds no figure.
    aside: bool,
    /// Lines of the heading, with their blanks.
    heading: Vec<String>,
    /// True behind text that is neither heading nor command: numbers behind it may be of another table.
    strange: bool,
    /// A result that cannot be proven.
    pub(super) passed: Option<Wrong>,
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
        if line.text.is_empty() {
            return Ok(Vec::new());
        }
        let mut ended: Vec<Measured> = self.end()?.into_iter().collect();
        if let Some(measured) = omni(test, &self.heading, &words, line, &mut self.passed)? {
            self.awaits = false;
            self.heading.clear();
            ended.push(measured);
            return Ok(ended);
        }
        let comma = |word: &&str| {
            word.split_once(',').is_some_and(|(whole, part)| {
                let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                digits(whole) && digits(part)
            })
        };
        if self.awaits && words.len() > 2 && words.iter().any(comma) {
            return Err(line.wrong("decimal commas; measure with LC_ALL=C"));
        }
        // A line of numbers but for one word is a broken table, not a heading.
        let mostly = words.iter().filter(|word| units::number(word).is_some()).count();
        if self.awaits && words.len() >= 4 && mostly + 1 == words.len() {
            return Err(line.wrong("a line of numbers with a word in it"));
        }
        if let Some((_, at)) = command::options(&words) {
            self.commanded = of_command(&words[at + 1..]);
            self.heading.clear();
            (self.awaits, self.strange, self.aside) = (false, false, false);
            test.told.line(line);
            return Ok(ended);
        }
        if self.heading.len() == 8 {
            self.heading.remove(0);
        }
        self.heading.push(line.raw.trim_end().to_owned());
        self.aside |= matches!(words[0], "Alignment" | "Maximum");
        let rate = words.iter().find(|word| is_rate(word)).map(|rate| (*rate).to_owned());
        let rate =
            rate.or_else(|| line.text.contains("per sec").then(|| self.amount.take().unwrap_or("Trans/s".to_owned())));
        // `Size   Size   Time    10^6bits local  remote`, above `secs.   per sec`.
        let amount = words.iter().filter(|word| word.len() > 5).map(|word| format!("{word}/s"));
        self.amount = amount.filter(|_| words.contains(&"Time")).find(|word| is_rate(word));
        // What `-v 2` adds has units of its own.
        if let Some(rate) = rate.filter(|_| !self.aside) {
            (self.rate, self.awaits) = (Some(rate), true);
        }
        if !self.awaits && !self.aside && !heading(&words) {
            self.strange = true;
            test.told.line(line);
        }
        if let Some(demand) = words.iter().find(|word| word.starts_with("us/")) {
            self.demand = Some(shown(demand, 20));
        }
        Ok(ended)
    }

    /// A finding that has waited for its second line.
    pub(super) fn end(&mut self) -> Result<Option<Measured>, Wrong> {
        match self.open.take() {
            Some((open, Some(_))) => {
                let why = "datagrams without the line of those received behind that of those sent".to_owned();
                Err(Wrong { line: Some(open.line), why })
            }
            open => Ok(open.map(|(open, _)| open)),
        }
    }

    fn numbers(&mut self, test: &mut Test, numbers: &[f64], line: Line<'_>) -> Result<Vec<Measured>, Wrong> {
        let mut ended = Vec::new();
        match self.open.take() {
            Some((mut open, Some(count))) if numbers.len() == count => {
                received(&mut open, numbers, self.rate.as_deref());
                return Ok(vec![open]);
            }
            Some((_, Some(count))) => {
                let told = format!("{} numbers where the line of datagrams received has {count}", numbers.len());
                return Err(line.wrong(&told));
            }
            // Sizes of the other end.
            Some((mut open, None)) if numbers.len() == 2 => {
                open.parameters.insert("remote_send_buffer_bytes".to_owned(), whole(numbers[0]));
                open.parameters.insert("remote_receive_buffer_bytes".to_owned(), whole(numbers[1]));
                return Ok(vec![open]);
            }
            open => ended.extend(open.map(|(open, _)| open)),
        }
        self.heading.clear();
        // `Local Remote Local Remote Xfered Per Per`: alignments and offsets, then amounts, or a latency and rates.
        if std::mem::take(&mut self.aside) && numbers.len() >= 8 {
            return Ok(ended);
        }
        // Sizes and dates are whole.
        let figures = numbers.len() >= 5 || numbers.len() == 4 && line.text.contains('.');
        let Some(unit) = self.rate.clone() else {
            let told = "numbers without a heading before them, so without a unit; netperf -P 1 prints it";
            self.passed = self.passed.take().or_else(|| figures.then(|| line.wrong(told)));
            return Ok(ended);
        };
        let name = self.commanded.as_ref().map_or(&test.name, |(name, _)| name).clone();
        let kind = Kind::of(&name, &unit);
        let places = kind.places();
        // Of datagrams each line has one end's processors.
        let more: &[usize] = if kind == Kind::Datagrams { &[0, 2] } else { &[0, 2, 4] };
        let fits = more.iter().any(|more| numbers.len() == places.len() + more);
        if !fits && !self.awaits {
            // Numbers that belong to no table.
            let told = format!("numbers that are not those of {name}, behind no heading; netperf -P 1 prints it");
            self.passed = figures.then(|| line.wrong(&told));
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
            let why = format!("numbers of {name} without a heading of their own; netperf -P 1 prints it");
            self.passed = Some(line.wrong(&why));
            return Ok(ended);
        }
        if self.strange && !self.awaits {
            let why = format!("numbers behind other text than a heading of {name}; netperf -P 1 prints it");
            self.passed = Some(line.wrong(&why));
            return Ok(ended);
        }
        (self.awaits, self.strange) = (false, false);
        test.name.clone_from(&name);
        let mut measured = test.measured(line.number);
        let words = line.text.split_whitespace();
        for ((place, number), word) in places.iter().zip(numbers).zip(words) {
            match place {
                Place::Parameter(name) => {
                    measured.parameters.insert((*name).to_owned(), whole(*number));
                }
                Place::Seconds => measured.seconds = Some(*number),
                Place::Counter(name) => measured.counters.push(((*name).to_owned(), count(*number))),
                Place::Value if *number > 0.0 && units::last_digit(word) > 0.21 * number => {
                    return Err(line.wrong("a figure of too few digits; measure with -f k"));
                }
                Place::Value => measured.value = units::rate(*number, &unit),
            }
        }
        let rest = &numbers[places.len()..];
        if rest.iter().take(rest.len() / 2).any(|share| *share > 100.5) {
            return Err(
                line.wrong(&format!("numbers that are not those of {name}: a processor is used by more than 100 %"))
            );
        }
        processors(&mut measured, rest, self.demand.as_deref());
        measured.told = measured.told.lasting(measured.seconds);
        match kind {
            Kind::Stream => ended.push(measured),
            Kind::Datagrams => self.open = Some((measured, Some(numbers.len() - 2))),
            Kind::Requests => self.open = Some((measured, None)),
        }
        Ok(ended)
    }
}

/// Name of the test in the words behind `netperf`, and true if they set the unit.
fn of_command(words: &[&str]) -> Option<(String, bool)> {
    let (mut name, mut unit) = (None, false);
    let mut words = words.iter().copied().take_while(|word| *word != "--");
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
        2 => &[("cpu_local", &Unit::PerCent), ("service_demand_local", &demand)],
        _ => &[],
    };
    for ((name, unit), number) in names.iter().zip(rest) {
        if *number >= 0.0 {
            measured.further.push(((*name).to_owned(), (*number, (*unit).clone())));
        }
    }
}

/// Takes the line of the datagrams that were received: size, time, datagrams, throughput, and perhaps processor and demand.
fn received(open: &mut Measured, numbers: &[f64], unit: Option<&str>) {
    open.parameters.insert("receive_buffer_bytes".to_owned(), whole(numbers[0]));
    open.seconds = Some(numbers[1]);
    open.counters.push(("received".to_owned(), count(numbers[2])));
    open.arrived(unit.and_then(|unit| units::rate(numbers[3], unit)));
    if let [share, demand, ..] = numbers[4..] {
        let unit = open.further.iter().find_map(|(_, (_, unit))| matches!(unit, Unit::Other(_)).then(|| unit.clone()));
        let unit = unit.unwrap_or_else(|| Unit::Other("us/KB".into()));
        for (name, figure) in [("cpu_remote", (share, Unit::PerCent)), ("service_demand_remote", (demand, unit))] {
            open.further.extend((figure.0 >= 0.0).then(|| (name.to_owned(), figure)));
        }
    }
}

/// True for a line of a heading: words of netperf's tables alone.
fn heading(words: &[&str]) -> bool {
    const WORDS: &str = " recv send socket message elapsed utilization service demand size time throughput local remote \
        bytes secs. % s ss u us us/kb us/tr util local /remote request resp. trans. rate per sec cpu s.dem okay errors # \
        messages final units (sec) ";
    words.iter().all(|word| WORDS.contains(&format!(" {} ", word.to_ascii_lowercase())) || is_rate(word))
}

/// A line of omni's table for people, which is a list if each of its values stands below its name; otherwise the throughput
/// and nothing else is read.
fn omni(
    test: &mut Test,
    heading: &[String],
    words: &[&str],
    line: Line<'_>,
    passed: &mut Option<Wrong>,
) -> Result<Option<Measured>, Wrong> {
    let read = || {
        let at = words.iter().position(|word| is_rate(word)).filter(|at| *at > 0)?;
        units::rate(units::number(words[at - 1])?, words[at]).map(|value| (value, at))
    };
    let Some((value, at)) = read() else { return Ok(None) };
    if let Some(pairs) = columns(heading, line) {
        return super::listed::measured(test, pairs, line).map(Some);
    }
    if words.iter().take(at).any(|word| units::number(word).is_none()) {
        *passed = Some(line.wrong("values that do not stand below their names; -k prints a list"));
        return Ok(None);
    }
    let mut measured = test.measured(line.number);
    // Without their names: sizes, and perhaps other whole numbers.
    let sizes = words[..at].iter().filter(|word| !word.contains('.')).copied().collect::<Vec<_>>().join(" ");
    measured.told.set("sizes", &sizes);
    measured.value = Some(value);
    measured.warnings.push("of omni's table only the throughput is read; -k prints a list".to_owned());
    if measured.workload.contains("udp") && !measured.workload.ends_with("_rr") {
        super::listed::undirected(&mut measured);
    }
    Ok(Some(measured))
}

/// Values and the names that stand above them; `None` if a word of the heading is in no column, or there is no throughput.
fn columns(heading: &[String], line: Line<'_>) -> Option<Vec<(String, String)>> {
    let placed = |text: &'_ str| -> Vec<(usize, usize)> {
        let begins = |at: &usize| !text[*at..].starts_with(' ') && (*at == 0 || text[..*at].ends_with(' '));
        let words = (0..text.len()).filter(|at| text.is_char_boundary(*at)).filter(begins);
        words.map(|at| (at, text[at..].find(' ').map_or(text.len(), |length| at + length))).collect()
    };
    let values = placed(line.raw.trim_end());
    let mut pairs: Vec<(String, String)> =
        values.iter().map(|(from, to)| (String::new(), line.raw[*from..*to].to_owned())).collect();
    for above in heading {
        for (from, to) in placed(above) {
            let column = values.iter().rposition(|(begin, _)| *begin <= from)?;
            values.get(column + 1).is_none_or(|(next, _)| to < *next).then_some(())?;
            let name = &mut pairs[column].0;
            name.push_str(if name.is_empty() { "" } else { " " });
            name.push_str(&above[from..to]);
        }
    }
    let has = |wanted: &str| pairs.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    (has("throughput") && has("throughput units")).then_some(pairs)
}

pub(super) fn whole(number: f64) -> Parameter {
    units::count(number).map_or_else(|| number.into(), Parameter::from)
}

fn count(number: f64) -> u64 {
    units::count(number).unwrap_or(0)
}
