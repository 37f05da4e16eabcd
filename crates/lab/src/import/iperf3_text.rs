//! iperf3's text, of clients and servers, and so that of `stream`: each test from the line that names the other end to its
//! summary. The figure is what the summary's receiver counted; what the sender counted is beside it, as of the document
//! (`iperf3.rs`). Rows of a summary that this end cannot know are noughts or are not there. Without `-V` no protocol is named:
//! with datagrams it is UDP, with `--sctp` in the command SCTP, otherwise TCP, with a warning where SCTP would look the same. What
//! a client prints of its server's output is the receiver's view of the same test, whose intervals are what arrived.

use std::collections::BTreeMap;

use linerate_result::{Parameters, Role, Sample, Unit};

use super::found::{CALLED_TCP, Found, Line, MEAN, Measured, NOT_TAKEN, Ran, Seen};
use super::interval::Interval;
use super::told::Told;
use super::{Import, Part, Read, Wrong, date, iperf3, lines, shown, units};

pub(super) const IMPORT: Import = Import {
    name: "iperf3-text",
    about: "iperf3's lines, of a client or a server, one test or many",
    looks,
    read: Read::Log(read, |line| begins(stamped(line))),
};

fn begins(line: &str) -> bool {
    ["Connecting to host ", "Accepted connection from "].iter().any(|begin| line.starts_with(begin))
}

pub(super) fn looks(text: &str) -> bool {
    text.lines().map(stamped).any(|line| is_own(line) && !line.starts_with("iperf3: warning: "))
}

/// Begins of lines that iperf3 alone writes; `stream` writes as it does.
const OWN: &[&str] = &[
    "Connecting to host ",
    "Accepted connection from ",
    "Reverse mode, remote host ",
    "iperf3: ",
    "iperf Done.",
    "- - - - -",
    "Starting Test: protocol: ",
    "Test Complete. Summary Results:",
];

/// Begins of what iperf3 says of a test that failed.
pub(super) const FAILS: &[&str] = &["error - ", "interrupt - ", "parameter error - ", "the client ", "the server "];

/// True of a log that has nothing of iperf3's but remarks, as they stand beside its documents.
pub(super) fn only_remarks(part: &Part<'_>) -> bool {
    let log = part.log.as_deref().unwrap_or(&part.text);
    log.lines().map(stamped).all(|line| !is_own(line) || line.starts_with("iperf3: "))
}

/// True for a line that iperf3 alone writes.
pub(super) fn is_own(line: &str) -> bool {
    OWN.iter().any(|own| line.starts_with(own))
        || line.starts_with('[')
            && (line.contains("][Role]")
                || line.contains(" Bitrate")
                || line.contains(" connected to ")
                || line.ends_with(" sender")
                || line.ends_with(" receiver"))
}

/// Lines that tell nothing of a test.
const SILENT: &[&str] = &["-----", "Test Complete.", "iperf Done.", "Finished omit period", "Cookie:", "iperf 3."];

/// Line behind which a client prints what its server wrote.
const OF_SERVER: &str = "Server output:";

/// The line without what `--title` puts before it, and `--timestamps` where not each line has a stamp.
pub(super) fn stamped(line: &str) -> &str {
    let line = line.trim();
    let begins = OWN.iter().chain(SILENT).chain(&[
        "Server listening on ",
        "TCP MSS: ",
        "CPU Utilization: ",
        "Time: ",
        OF_SERVER,
    ]);
    if let Some(at) = begins.filter_map(|begin| line.find(begin)).min() {
        return if at <= 100 { &line[at..] } else { line };
    }
    let is_row = |at: &usize| {
        let Some((name, rest)) = line[at + 1..].split_once(']') else { return false };
        let rest = rest.trim_start_matches("[Role]").trim_start();
        let rest =
            rest.strip_prefix('[').and_then(|role| role.split_once(']')).map_or(rest, |(_, rest)| rest.trim_start());
        match name.trim() {
            "ID" => rest.starts_with("Interval"),
            name => {
                (name == "SUM" || name.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty())
                    && (rest.starts_with("local ")
                        || rest.starts_with('(')
                        || rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(" sec "))
            }
        }
    };
    line.match_indices('[').map(|(at, _)| at).find(is_row).map_or(line, |at| &line[at..])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

/// A row of a stream, or of all (`SUM`).
struct Row {
    name: String,
    /// True in a row of what this end sends, where both directions are tested (`[TX-C]`).
    sends: Option<bool>,
    interval: Interval,
    /// Behind the summary's heading.
    last: bool,
    end: Option<End>,
    retransmits: Option<u64>,
    omitted: bool,
}

/// A test so far.
#[derive(Default)]
struct Test {
    line: usize,
    serves: bool,
    reverse: bool,
    udp: bool,
    sctp: bool,
    /// True behind a line that only TCP has.
    tcp: bool,
    cookie: Option<String>,
    ports: Vec<String>,
    /// Numbers of the streams that were connected.
    streams: Vec<String>,
    /// Both ends of each, which name the test.
    ends: String,
    /// Both ends of the first one.
    connection: String,
    /// The server's view, as the client prints it.
    of_server: Option<Box<Test>>,
    settings: Parameters,
    told: Told,
    rows: Vec<Row>,
    /// True behind a rule, and behind the heading that follows it.
    ruled: bool,
    last: bool,
    end: Option<End>,
    cpu: Vec<(&'static str, f64)>,
    /// The test before it, which has no summary.
    cut: Option<Wrong>,
    /// Lines that tell them, and what they tell.
    failures: Vec<(usize, String)>,
    warnings: Vec<String>,
}

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let (mut open, mut told, mut aside): (Option<Test>, Told, bool) = (None, Told::default(), false);
    let (mut listens, mut cut): (bool, Option<Wrong>) = (false, None);
    // An end by a signal that is told before the test: standard error comes first where output goes to a file.
    let mut early: Option<Test> = None;
    for line in lines(text) {
        let line = Line { text: stamped(line.text), ..line };
        let accepts = line.text.starts_with("Accepted connection from ") && !aside;
        let begins = accepts || line.text.starts_with("Connecting to host ");
        let heading = line.text.strip_prefix("Server listening on ").filter(|_| !aside);
        if let Some(test) = &mut open
            && begins
            && test.failures.is_empty()
            && !test.rows.iter().any(|row| row.last)
        {
            let why = format!(
                "the test of line {} begins before this one has its summary, as where two runs are mixed, or one is cut; \
                 import the whole log of each run alone",
                line.number
            );
            let wrong = Wrong { line: Some(test.line), why };
            // The rows of two runs that are mixed are not in order.
            if test.cut.is_some() {
                return Err(wrong);
            }
            (cut, open) = (Some(wrong), None);
            told.result();
        }
        // A server that is stopped within a test listens no more: another number says that the test before had ended.
        if let Some((_, number)) = heading.and_then(|heading| heading.split_once("(test #"))
            && number != "1)"
            && let Some(test) = &mut open
            && test.serves
        {
            test.failures.retain(|(_, why)| !why.starts_with("interrupt - the server"));
        }
        if begins || heading.is_some() {
            close(&mut open, &mut told, found)?;
        }
        listens =
            !line.text.starts_with("Connecting to host ") && (listens || line.text.starts_with("Server listening on "));
        // Of a server's output only the client's own view counts.
        aside = !begins && (aside || line.text == OF_SERVER || line.text == "Server JSON output:");
        if line.text.starts_with("iperf Done.") {
            aside = false;
            close(&mut open, &mut told, found)?;
        } else if line.text == OF_SERVER {
            open.iter_mut().for_each(|test| test.of_server = Some(Box::new(Test { serves: true, ..Test::default() })));
        } else if line.text.is_empty() {
        } else if aside {
            if let Some(server) = open.as_mut().and_then(|test| test.of_server.as_mut()) {
                server.take(line)?;
            }
        } else if begins {
            let (host, port) = line.text.rsplit_once(", port ").unwrap_or((line.text, ""));
            let host = host.split_whitespace().next_back().unwrap_or_default();
            if port.is_empty() {
                return Err(line.wrong("no port behind the host"));
            }
            told.set("host", host);
            let failures = early.take().map_or_else(Vec::new, |early| early.failures);
            let (line, told, cut) = (line.number, told.clone(), cut.take());
            open = Some(Test { line, serves: accepts, told, failures, cut, ..Test::default() });
        } else if let Some(why) = line.text.strip_prefix("iperf3: ") {
            if !FAILS.iter().any(|begin| why.starts_with(begin)) {
                open.iter_mut().for_each(|test| test.warn(why));
                continue;
            }
            let why = shown(why.strip_prefix("error - ").unwrap_or(why), 200);
            // It never connected, so it is another test.
            if why.starts_with("unable to connect to server") {
                close(&mut open, &mut told, found)?;
            }
            let failed = |why| Test {
                line: line.number,
                serves: listens,
                told: told.clone(),
                failures: vec![(line.number, why)],
                ..Test::default()
            };
            match &mut open {
                Some(test) => test.failures.push((line.number, why)),
                // A server that waited for the next test.
                None if why.starts_with("interrupt - ") && listens => {}
                None if why.starts_with("interrupt - ") => {
                    early = Some(Test { serves: false, ..failed(why) });
                }
                // What failed before anything was connected.
                None => open = Some(failed(why)),
            }
        } else if let Some(test) = &mut open {
            if !test.take(line)? && !test.knows(line, found) && !SILENT.iter().any(|begin| line.text.starts_with(begin))
            {
                test.told.line(line);
                told.line(line);
            }
        } else if line.text.starts_with('[')
            && Test::default().take(line)?
            && Interval::of(behind(line.text), line)?.is_some()
        {
            return Err(line.wrong("a row without the line before it that names the other end; give the whole log"));
        } else if !about(line, found) && !SILENT.iter().any(|begin| line.text.starts_with(begin)) {
            told.line(line);
        }
    }
    close(&mut open, &mut told, found)?;
    close(&mut early, &mut told, found)
}

/// The text of a row behind its brackets.
fn behind(line: &str) -> &str {
    line.rsplit_once(']').map_or(line, |(_, rest)| rest.trim())
}

/// Takes what a client tells of its machine, and when.
fn about(line: Line<'_>, found: &mut Found) -> bool {
    if let Some(time) = line.text.strip_prefix("Time: ") {
        found.start = found.start.or_else(|| date::of_date(time));
        return true;
    }
    // As `uname -a`: system, host, release.
    if let ["Linux" | "FreeBSD" | "Darwin", host, release, _, ..] = line.text.split_whitespace().collect::<Vec<_>>()[..]
    {
        if found.environment.host.is_none() && found.is_empty() {
            let system = line.text.split_whitespace().next().unwrap_or_default();
            found.environment.host = Some(shown(host, 100));
            found.environment.kernel = Some(shown(&format!("{system} {release}"), 100));
        }
        return true;
    }
    line.text.starts_with("Server listening on ") || line.text.starts_with("Control connection MSS ")
}

impl Test {
    /// Takes a line in brackets, a rule or a heading; false for any other.
    fn take(&mut self, line: Line<'_>) -> Result<bool, Wrong> {
        if line.text.starts_with("- - - - -") {
            self.ruled = true;
            return Ok(true);
        }
        if let "Sent" | "Received" = line.text {
            // Of 3.0's beta versions.
            self.end = Some(if line.text == "Sent" { End::Sender } else { End::Receiver });
            return Ok(true);
        }
        let Some((name, rest)) = line.text.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
            return Ok(false);
        };
        let (name, mut rest, mut sends) = (name.trim(), rest.trim(), None);
        if name == "ID" {
            self.udp |= rest.contains("Datagrams");
            self.tcp |= rest.contains("Retr") || rest.contains("Cwnd");
            self.last |= self.ruled && !self.rows.is_empty();
            return Ok(true);
        }
        if let Some((role, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            sends = match role {
                "TX-C" | "TX-S" => Some(true),
                "RX-C" | "RX-S" => Some(false),
                _ => return Err(line.wrong("a role that is not known")),
            };
            if role.ends_with('S') != self.serves {
                return Err(line.wrong("a row of the other end"));
            }
            rest = behind.trim();
        }
        if let Some(ends) = rest.strip_prefix("local ") {
            let peer = ends.split_once(" connected to ").map_or("", |(_, peer)| peer);
            self.ports.push(shown(&peer.replace(" port ", ":"), 100));
            self.streams.push(name.to_owned());
            self.ends.push_str(ends);
            if self.connection.is_empty() {
                ends.clone_into(&mut self.connection);
            }
            return Ok(true);
        }
        let Some((interval, words)) = Interval::of(rest, line)? else { return Ok(true) };
        let failed = self.streams.is_empty() && !self.failures.is_empty();
        let known = self.streams.is_empty() || self.streams.iter().any(|known| known == name);
        if name != "SUM" && !known || failed {
            return Err(line.wrong("a row of a stream that was not connected"));
        }
        let end = match words.last() {
            Some(&"sender") => Some(End::Sender),
            Some(&"receiver") => Some(End::Receiver),
            _ => self.end,
        };
        self.udp |= interval.lost.is_some();
        let retransmits = words.first().filter(|_| interval.jitter_ns.is_none()).and_then(|word| word.parse().ok());
        let last = self.last || end.is_some();
        if !last {
            self.ruled = false;
        }
        let omitted = words.last() == Some(&"(omitted)");
        self.rows.push(Row { name: name.to_owned(), sends, interval, last, end, retransmits, omitted });
        Ok(true)
    }

    /// Takes a line that `-V` adds, or one that tells the direction; false for any other.
    fn knows(&mut self, line: Line<'_>, found: &mut Found) -> bool {
        let text = line.text;
        let mut set = |name: &str, value: &str| {
            let value = value.parse::<u64>();
            self.settings.extend(value.ok().map(|value| (name.to_owned(), value.into())));
        };
        if text.starts_with("Reverse mode, ") {
            self.reverse = true;
        } else if let Some(cookie) = text.strip_prefix("Cookie: ") {
            self.cookie = Some(cookie.to_owned());
        } else if let Some(rate) = text.strip_prefix("Target Bitrate: ") {
            set("rate_bit_s", rate);
        } else if let Some(told) = text.strip_prefix("Starting Test: protocol: ") {
            // `TCP, 2 streams, 131072 byte blocks, omitting 0 seconds, 10 second test, tos 0`.
            for part in told.split(", ") {
                match part.split(' ').collect::<Vec<_>>()[..] {
                    ["UDP"] => self.udp = true,
                    ["SCTP"] => self.sctp = true,
                    ["TCP"] => self.tcp = true,
                    [bytes, "byte", "blocks"] => set("block_bytes", bytes),
                    ["omitting", seconds, "seconds"] => set("omit_s", seconds),
                    [seconds, "second", "test"] => set("duration_s", seconds),
                    [bytes, "bytes", "to", "send"] => set("limit_bytes", bytes),
                    ["tos", tos] => set("tos", tos),
                    _ => self.told.line(Line { text: part, ..line }),
                }
            }
        } else if let Some(told) = text.strip_prefix("CPU Utilization: ") {
            // `local/sender 2.4% (0.1%u/2.3%s), remote/receiver 10.5% (1.1%u/9.4%s)`.
            let share =
                |end: &str| units::number(told.split_once(end)?.1.split_whitespace().nth(1)?.strip_suffix('%')?);
            if self.cpu.is_empty() {
                let (own, other) =
                    if self.serves { ("cpu_server", "cpu_client") } else { ("cpu_client", "cpu_server") };
                // A server does not hear of the client's.
                let other = (other, share("remote/").filter(|_| !self.serves));
                self.cpu =
                    [(own, share("local/")), other].into_iter().filter_map(|(n, share)| Some((n, share?))).collect();
            }
        } else if let Some((name @ ("snd_tcp_congestion" | "rcv_tcp_congestion"), value)) = text.split_once(' ') {
            self.tcp = true;
            self.told.set(name, value);
        } else if let Some(mss) = text.strip_prefix("TCP MSS: ") {
            self.tcp = true;
            self.told.set("mss", mss);
        } else if text.to_ascii_lowercase().starts_with("warning: ") {
            self.warn(text);
        } else {
            return about(line, found);
        }
        true
    }

    fn warn(&mut self, text: &str) {
        let text = shown(text, 200);
        if self.warnings.len() < 16 && !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    /// The summary's row of an end: of all streams, or of the only one, and how many they are.
    fn whole(&self, sends: Option<bool>, end: Option<End>) -> Result<Option<(&Row, usize)>, Wrong> {
        let of = || self.rows.iter().filter(|row| row.last && row.sends == sends && row.end == end);
        let parts: Vec<&Row> = of().filter(|row| row.name != "SUM").collect();
        let mut sums = of().filter(|row| row.name == "SUM");
        let wrong = |row: &Row, why: String| Err(Wrong { line: Some(row.interval.line), why });
        for (at, row) in parts.iter().enumerate() {
            if parts[..at].iter().any(|other| other.name == row.name) {
                return wrong(row, format!("stream {} has a second row of that kind in one summary", row.name));
            }
        }
        let connected = self.streams.len() / if sends.is_some() { 2 } else { 1 };
        if let (Some(row), true) = (parts.last(), connected > parts.len() && self.failures.is_empty()) {
            return wrong(row, format!("{} streams in the summary, where {connected} were connected", parts.len()));
        }
        let (sum, second) = (sums.next(), sums.next());
        if let Some(second) = second {
            return wrong(second, "a second [SUM] of that kind in one summary".to_owned());
        }
        match (parts.len(), sum) {
            (0, Some(sum)) => wrong(sum, "a [SUM] without the rows of its streams".to_owned()),
            (0, None) => Ok(None),
            (1, None) => Ok(Some((parts[0], 1))),
            (count, None) => {
                wrong(parts[count - 1], "streams at once without the row of their sum behind it".to_owned())
            }
            (count, Some(sum)) => {
                let bytes: f64 = parts.iter().map(|row| row.interval.bytes).sum();
                // Amounts are written with three digits.
                if (bytes - sum.interval.bytes).abs() > 0.02 * sum.interval.bytes {
                    return wrong(sum, "a [SUM] that is not that of the streams before it".to_owned());
                }
                Ok(Some((sum, count)))
            }
        }
    }

    /// True if its rows are of one run: those of each stream follow each other from nought to its summary, which has their amount.
    fn is_in_order(&self) -> bool {
        // Of each stream the end, the amount so far, and the least share by which a row of the summary differs.
        let mut streams: BTreeMap<(&str, Option<bool>), [f64; 3]> = BTreeMap::new();
        let follows = self.rows.iter().filter(|row| !row.omitted).all(|row| {
            let [to, bytes, differs] = streams.entry((&row.name, row.sends)).or_insert([0.0, 0.0, f64::INFINITY]);
            let of = &row.interval;
            if row.last {
                *differs = differs.min((of.bytes - *bytes).abs() / of.bytes.max(1.0));
                return of.from == 0.0 && (of.to - *to).abs() < 0.1 + 0.05 * *to;
            }
            let follows = (of.from - *to).abs() < 0.02 && differs.is_infinite();
            (*to, *bytes) = (of.to, *bytes + of.bytes);
            follows
        });
        follows && streams.values().all(|[.., differs]| differs.is_infinite() || *differs <= 0.02)
    }

    /// Rows of the intervals of a direction, of all streams together.
    fn intervals(&self, sends: Option<bool>, streams: usize) -> impl Iterator<Item = &Interval> {
        let of =
            move |row: &&Row| !row.last && !row.omitted && row.sends == sends && (streams == 1 || row.name == "SUM");
        self.rows.iter().filter(of).map(|row| &row.interval)
    }

    /// Seconds at the begin that are in no figure (`-O`), as far as rows tell them.
    fn omitted(&self) -> Option<f64> {
        self.rows.iter().filter(|row| row.omitted).map(|row| row.interval.to).reduce(f64::max)
    }

    /// The finding of a direction. `sends` is of this end, where both are tested.
    fn measured(&self, sends: Option<bool>) -> Result<Measured, Wrong> {
        let reverse = sends.map_or(self.reverse, |sends| sends == self.serves);
        let this_sends = reverse == self.serves;
        let failed = !self.failures.is_empty();
        let broken = self.failures.iter().any(|(_, why)| iperf3::broken(why));
        // Of a test that was broken off, an end that is not heard of has noughts.
        let whole =
            |end| Ok(self.whole(sends, end)?.filter(|(row, _)| !broken && (!failed || row.interval.rate > 0.0)));
        let rows = self.rows.iter().filter(|row| broken && row.last && row.sends == sends && row.interval.rate > 0.0);
        let lines = rows.map(|row| row.interval.line);
        let (sender, receiver) = (whole(Some(End::Sender))?, whole(Some(End::Receiver))?);
        // Before version 3.2 datagrams have one row of both ends.
        let both = whole(None)?;
        let streams = [sender, receiver, both].into_iter().flatten().map(|(_, streams)| streams).max();
        let connected = self.streams.len() / if sends.is_some() { 2 } else { 1 };
        let streams = streams.or(Some(connected).filter(|connected| *connected > 0));
        let known = [sender, receiver, both].into_iter().flatten().next();
        if known.is_none() && self.failures.is_empty() {
            let why = "a test without its summary, the rows of sender and receiver; give the whole log".to_owned();
            return Err(Wrong { line: Some(self.line), why });
        }
        let sctp = self.sctp || self.told.value("--sctp").is_some();
        let protocol = if self.udp {
            Some("UDP")
        } else if sctp {
            Some("SCTP")
        } else {
            // Nothing was connected.
            (self.tcp || !self.streams.is_empty()).then_some("TCP")
        };
        let mut measured = iperf3::named(protocol, streams.map(|n| n as u64), reverse, self.serves);
        // The command of a client tells it.
        if protocol == Some("TCP") && !self.tcp && (self.serves || !self.told.commanded()) {
            measured.warnings.push(format!("the text does not tell TCP from SCTP{CALLED_TCP}"));
        }
        measured.line = known.map_or(self.line, |(row, _)| row.interval.line);
        measured.parameters.extend(self.settings.clone());
        // Neither the rate nor the size of the datagrams that a client sends is told to the server's reader.
        measured.alone = self.udp && self.serves && !this_sends;
        measured.told = self.told.clone().lasting(known.map(|(row, _)| row.interval.to));
        // With -V the heading tells it.
        if let Some(omitted) = self.omitted().filter(|_| !self.settings.contains_key("omit_s")) {
            measured.told.set("omit_s", &format!("{omitted:.0}"));
        }
        measured.ports.clone_from(&self.ports);
        measured.failures = self.failures.iter().map(|(line, why)| format!("line {line}: {why}")).collect();
        measured.warnings.extend(self.warnings.iter().cloned());
        measured.warnings.extend(lines.map(|line| format!("line {line} {NOT_TAKEN}: the test was broken off")));
        if sends.is_some() {
            measured.parameters.insert("bidir".to_owned(), true.into());
        }
        let rate = |row: Option<(&Row, usize)>, known: bool| row.filter(|_| known).map(|(row, _)| row.interval.rate);
        let (sent, received) = (rate(sender, this_sends || !self.serves), rate(receiver, !this_sends || !self.serves));
        measured.told = measured.told.sending(sent.filter(|_| self.udp));
        let mut value = received.or(sent).or_else(|| rate(both, true));
        if let (None, None, Some((row, _))) = (sent, received, both)
            && self.serves
            && row.interval.rate == 0.0
        {
            // A server of those versions tells no bytes of datagrams.
            let spans: Vec<_> =
                self.intervals(sends, streams.unwrap_or(1)).map(|part| (part.rate, part.to - part.from)).collect();
            value = Some(units::mean(spans.into_iter())).filter(|mean| mean.is_finite());
            measured.parameters.insert("figure".to_owned(), MEAN.into());
            measured.warnings.push("the summary tells no bytes: the figure is the mean of its intervals".to_owned());
        } else if received.is_none() && value.is_some() {
            iperf3::only_sent(&mut measured);
        }
        measured.value = value.map(|rate| (rate, Unit::BitsPerSecond));
        // Of the row that has the figure.
        let of_figure = [receiver.filter(|_| received.is_some()), sender.filter(|_| sent.is_some()), known];
        measured.seconds = of_figure.into_iter().flatten().next().map(|(row, _)| row.interval.to);
        measured.further.extend(sent.map(|rate| ("sent".to_owned(), (rate, Unit::BitsPerSecond))));
        if self.udp && (!this_sends || !self.serves) {
            let of = receiver.or(both).map(|(row, _)| &row.interval);
            // Nought is less than the last digit.
            let jitter = of.and_then(|of| of.jitter_ns).filter(|ns| *ns > 0.0);
            measured.further.extend(jitter.map(|ns| ("jitter".to_owned(), (ns, Unit::Ns))));
            if let Some((lost, all)) = of.and_then(|of| of.lost) {
                measured.counters.push(("lost_packets".to_owned(), lost));
                if all > 0 {
                    measured.further.push(("lost".to_owned(), (100.0 * lost as f64 / all as f64, Unit::PerCent)));
                }
            }
        }
        measured.further.extend(self.cpu.iter().map(|(name, share)| ((*name).to_owned(), (*share, Unit::PerCent))));
        if let Some((row, _)) = sender.filter(|_| sent.is_some()) {
            measured.counters.extend(row.retransmits.map(|count| ("retransmits".to_owned(), count)));
            measured.counters.extend(row.interval.lost.map(|(_, all)| ("packets".to_owned(), all)));
        }
        let sample = |part: &Interval| Sample { t_s: part.to.into(), value: part.rate.into() };
        let server = self.of_server.as_ref().filter(|_| sends.is_none() && !reverse);
        if let (Some(server), Some((ours, _))) = (server, receiver)
            && let Some((theirs, _)) = server.whole(None, Some(End::Receiver))?
            && (ours.interval.bytes - theirs.interval.bytes).abs() > 0.02 * ours.interval.bytes
        {
            let why = "the server's output is not of this test: it received another amount".to_owned();
            return Err(Wrong { line: Some(theirs.interval.line), why });
        }
        // What this end sends of datagrams is not what arrives.
        if !self.udp || !this_sends || received.is_none() {
            measured.samples = self.intervals(sends, streams.unwrap_or(1)).map(sample).collect();
            measured.samples_of = Some(if this_sends { Role::Tx } else { Role::Rx });
            measured.unit = Some(Unit::BitsPerSecond);
        } else if let Some(server) = server {
            measured.samples = server.intervals(None, streams.unwrap_or(1)).map(sample).collect();
            measured.samples_of = Some(Role::Rx).filter(|_| !measured.samples.is_empty());
        }
        Ok(measured)
    }
}

/// Ends a test: adds what it measured in each direction.
fn close(open: &mut Option<Test>, told: &mut Told, found: &mut Found) -> Result<(), Wrong> {
    let Some(mut test) = open.take() else { return Ok(()) };
    told.result();
    if let Some(cut) = test.cut.take() {
        if !test.is_in_order() {
            return Err(cut);
        }
        found.pass(cut);
    }
    if test.rows.is_empty() && test.failures.is_empty() {
        let why = "a test without its rows; give the whole log".to_owned();
        found.pass(Wrong { line: Some(test.line), why });
        return Ok(());
    }
    let figures = test.rows.iter().map(|row| (row.interval.bytes.to_bits(), row.interval.rate.to_bits()));
    let cookie = test.cookie.clone();
    let start = cookie.as_ref().map_or_else(String::new, |_| test.ends.clone());
    let seen = Seen { serves: test.serves, start, cookie };
    let name = match &seen.cookie {
        Some(cookie) => Some(format!("{cookie} {}", test.udp)),
        None => (!test.ends.is_empty()).then(|| format!("{} {:?}", test.ends, figures.collect::<Vec<_>>())),
    };
    if let Some(name) = name {
        found.once(name, seen, test.line)?;
    }
    // Both ends may tell of one test.
    let (other, mut ran) = (found.connected(&test.connection, " connected to ", "", test.line), Ran::After);
    let ways = if test.rows.iter().any(|row| row.sends.is_some()) {
        // First what the client sends.
        vec![Some(!test.serves), Some(test.serves)]
    } else {
        // A server says which end it was by the rows it has figures for.
        let has = |end| test.rows.iter().any(|row| row.last && row.end == Some(end) && row.interval.bytes > 0.0);
        test.reverse |= test.serves && has(End::Sender) && !has(End::Receiver);
        vec![None]
    };
    match ways.into_iter().map(|sends| test.measured(sends)).collect::<Result<Vec<_>, _>>() {
        // No other test depends on it.
        Err(wrong) => found.pass(wrong),
        Ok(all) => {
            for measured in all {
                let mut measured = Measured { ran, ..measured };
                measured.other_end(other);
                found.add(measured)?;
                ran = if ran == Ran::After { Ran::Beside } else { ran };
            }
        }
    }
    Ok(())
}
