//! pkt-gen's lines, netmap's or linerate's: a rate each second, and at the end what was sent or received.

use linerate_result::{Parameter, Sample, Unit, parameters};

use super::found::{Found, Line, MEAN, Measured};
use super::told::Told;
use super::{Import, Read, Wrong, lines, shown, units};

pub(super) const IMPORT: Import =
    Import { name: "pkt-gen", about: "lines of pkt-gen -f tx or rx", looks, read: Read::Log(read) };

fn looks(text: &str) -> bool {
    let own = |line: &str| line.contains("main_thread [") && line.contains("pps (");
    let opens = |line: &str| opening(line).is_some() && line.contains(" queues, ");
    text.lines().any(|line| own(line) || is_speed(line) || opens(line))
}

fn is_speed(line: &str) -> bool {
    line.trim_start().starts_with("Speed: ") && line.contains("pps")
}

/// A run so far.
#[derive(Default)]
struct Run {
    way: Option<&'static str>,
    port: Option<String>,
    samples: Vec<Sample>,
    frames: Option<u64>,
    seconds: Option<f64>,
    bytes: Option<u32>,
    line: usize,
}

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let (mut run, mut told) = (Run::default(), Told::default());
    for line in lines(text) {
        if let Some((way, port)) = opening(line.text) {
            std::mem::take(&mut run).end(None, &mut told, found)?;
            told.line(line);
            if way == "other" {
                return Err(line.wrong("a log of ping or pong, which is not read; give one of tx or rx"));
            }
            run = Run { way: Some(way), port: Some(shown(port, 100)), line: line.number, ..Run::default() };
        } else if line.text.contains("main_thread [") && line.text.contains("pps (") {
            run.line = line.number;
            run.sample(line)?;
        } else if let Some(way) = total(line.text) {
            // Some versions of a receiver write `Sent` too.
            run.way.get_or_insert(way);
            run.line = line.number;
            run.total(line)?;
        } else if is_speed(line.text) {
            run.line = line.number;
            let words: Vec<&str> = line.text.split_whitespace().collect();
            // `1.49 Mpps`, or `1.49Mpps.`
            let joined = words.get(1).map(|word| word.trim_end_matches('.')).and_then(|word| {
                let unit = word.find(|c: char| c.is_ascii_alphabetic())?;
                Some((&word[..unit], &word[unit..]))
            });
            let rate = words.get(1).zip(words.get(2)).map(|(n, unit)| (*n, *unit)).into_iter().chain(joined);
            let rate = rate.filter_map(|(n, unit)| units::packets(units::number(n)?, unit)).next();
            let (rate, _) = rate.ok_or_else(|| line.wrong("a speed that is no packet rate"))?;
            std::mem::take(&mut run).end(Some(rate), &mut told, found)?;
        } else if let Some((_, pace)) = line.text.split_once("] Sending ") {
            told.line(Line { text: pace, ..line });
        } else if !stamped(line.text)
            && !["Ledger: ", "Checked: ", "Latency", "Round trip ns: "].iter().any(|of| line.text.starts_with(of))
        {
            told.line(line);
        }
    }
    run.end(None, &mut told, found)
}

/// True for a line of the program's log, `911.159032 main [2920] …`.
fn stamped(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(time, _)| time.contains('.') && units::number(time).is_some())
}

/// `Sending on netmap:eth0: 1 queues, …`, `Receiving from netmap:eth1: …`.
fn opening(line: &str) -> Option<(&'static str, &str)> {
    let (way, rest) = line
        .strip_prefix("Sending on ")
        .map(|rest| ("tx", rest))
        .or_else(|| line.strip_prefix("Receiving from ").map(|rest| ("rx", rest)))
        .or_else(|| line.strip_prefix("Working on ").map(|rest| ("other", rest)))?;
    Some((way, rest.rsplit_once(": ").map_or(rest, |(port, _)| port)))
}

/// `Sent N packets …`, `Received N packets …`, `Received N packets, in 10.00 seconds.`, `Received nothing.`
fn total(line: &str) -> Option<&'static str> {
    let way = if line.starts_with("Sent ") { "tx" } else { "rx" };
    let counts = line.contains(" packets") || line.ends_with(" nothing.");
    (counts && (way == "tx" || line.starts_with("Received "))).then_some(way)
}

impl Run {
    /// `911.1 main_thread [2781] 1.000 Mpps (1.008 Mpkts 480.214 Mbps in 1007678 usec) …`.
    fn sample(&mut self, line: Line<'_>) -> Result<(), Wrong> {
        let read = || {
            let (before, behind) = line.text.split_once("pps (")?;
            let words: Vec<&str> = before.split_whitespace().collect();
            let [.., number, prefix] = words[..] else { return None };
            // Without a prefix the number is the last word: `1234567 pps`.
            let (number, prefix) = match units::number(number) {
                Some(number) => (number, prefix),
                None => (units::number(prefix)?, ""),
            };
            let (rate, _) = units::packets(number, &format!("{prefix}pps"))?;
            let (_, time) = behind.split_once(" in ")?;
            let time = units::number(time.split_whitespace().next()?)?;
            Some((rate, time / 1e6))
        };
        // Where the unit has no prefix, a blank stands before it.
        let (rate, seconds) = read().ok_or_else(|| line.wrong("a rate that cannot be read"))?;
        let t = self.samples.last().and_then(|last| last.t_s.known()).unwrap_or(0.0) + seconds;
        self.samples.push(Sample { t_s: t.into(), value: rate.into() });
        Ok(())
    }

    /// `Sent 3000000 packets 180000000 bytes 5860 events 60 bytes each in 3.00 seconds.`
    fn total(&mut self, line: Line<'_>) -> Result<(), Wrong> {
        let words: Vec<&str> = line.text.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
        let frames = words.get(1).and_then(|word| if *word == "nothing." { Some(0) } else { word.parse().ok() });
        self.frames = Some(frames.ok_or_else(|| line.wrong("a total without a number of packets"))?);
        let before =
            |word: &str| words.iter().position(|known| *known == word).and_then(|at| words.get(at.checked_sub(1)?));
        let each = words.windows(2).position(|pair| pair[0] == "bytes" && pair[1] == "each");
        self.bytes = each.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok());
        self.seconds = before("seconds.").and_then(|word| units::number(word));
        Ok(())
    }

    /// Adds the run, if anything was counted.
    fn end(self, speed: Option<f64>, told: &mut Told, found: &mut Found) -> Result<(), Wrong> {
        let cut = speed.is_none() && self.frames.is_none();
        let rates = || self.samples.iter().filter_map(|sample| sample.value.known());
        let mut warnings = Vec::new();
        let value = match (speed, self.frames, rates().count()) {
            (Some(speed), ..) => speed,
            (None, None, 0) => return Ok(()),
            (None, Some(0), _) => 0.0,
            (None, Some(frames), _) if self.seconds.is_some_and(|seconds| seconds > 0.0) => {
                frames as f64 / self.seconds.unwrap_or(1.0)
            }
            (None, _, 0) => return Ok(()),
            (None, _, count) => {
                warnings.push("the log ends before the total: the figure is the mean of its lines".to_owned());
                rates().sum::<f64>() / count as f64
            }
        };
        if let (Some(speed), Some(frames), Some(seconds)) = (speed, self.frames, self.seconds)
            && !units::agree(frames as f64, 0.0, seconds, 0.02, speed, 1.0)
        {
            let why = "a speed that is not that of the packets and the time before it".to_owned();
            return Err(Wrong { line: Some(self.line), why });
        }
        let Some(way) = self.way else {
            let why = "nothing says whether it sent or received; give its standard output too".to_owned();
            return Err(Wrong { line: Some(self.line), why });
        };
        let mut measured = Measured {
            line: self.line,
            told: told.clone(),
            id: self.bytes.map_or_else(|| way.to_owned(), |bytes| format!("{way}-{bytes}")),
            title: if way == "tx" { "Transmit" } else { "Receive" }.to_owned(),
            workload: format!("pkt-gen-{way}"),
            parameters: parameters([("direction", Parameter::from(way))]),
            ports: self.port.into_iter().collect(),
            frame_bytes: self.bytes,
            value: Some((value, Unit::Pps)),
            seconds: self.seconds.or_else(|| self.samples.last().and_then(|last| last.t_s.known())),
            samples: self.samples,
            warnings,
            ..Measured::default()
        };
        if let Some(bytes) = self.bytes {
            measured.parameters.insert("frame_bytes".to_owned(), bytes.into());
        }
        if cut {
            measured.parameters.insert("figure".to_owned(), MEAN.into());
        }
        told.result();
        measured.counters.extend(self.frames.map(|frames| ("packets".to_owned(), frames)));
        found.add(measured)
    }
}
