//! pkt-gen's lines, netmap's or linerate's: a rate each second, and at the end what was sent or received. What it did is told by
//! its own lines and by the command before it: netmap's `ping` and `pong` open as a sender and a receiver do.

use linerate_result::{Parameter, Sample, Unit, parameters};

use super::found::{Found, Line, MEAN, Measured};
use super::told::Told;
use super::{Import, Read, Wrong, command, lines, shown, units};

pub(super) const IMPORT: Import = Import {
    name: "pkt-gen",
    about: "lines of pkt-gen -f tx, rx or ping",
    looks,
    read: Read::Log(read, |line| opening(line).is_some()),
};

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
    /// Its function, by its own lines or by the command before it: `ping` sends, and `pong` receives, as `tx` and `rx` do.
    mode: Option<String>,
    port: Option<String>,
    threads: Option<u64>,
    samples: Vec<Sample>,
    /// Number of round trips, the least and the sum, nanoseconds; and true behind their total.
    trips: Option<(u64, f64, f64)>,
    tripped: bool,
    frames: Option<u64>,
    seconds: Option<f64>,
    bytes: Option<u32>,
    /// Its first line, and its last.
    opened: usize,
    line: usize,
}

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let (mut run, mut told) = (Run::default(), Told::default());
    // The function that a command names, of the run behind it.
    let mut commanded: Option<String> = None;
    for line in lines(text) {
        if let Some((way, port)) = opening(line.text) {
            std::mem::take(&mut run).end(None, &mut told, found)?;
            let count = |name: &str| {
                let words: Vec<&str> = line.text.split(' ').collect();
                let at = words.iter().position(|word| word.trim_end_matches(['.', ',']) == name)?;
                words[at.checked_sub(1)?].parse().ok()
            };
            told.set("port", port);
            for name in ["queues", "cpus"] {
                told.set(name, &count(name).map_or_else(String::new, |count: u64| count.to_string()));
            }
            let mode = commanded.take();
            let (way, port) = (Some(way), Some(shown(port, 100)));
            run = Run {
                way,
                mode,
                port,
                threads: count("threads"),
                opened: line.number,
                line: line.number,
                ..Run::default()
            };
        } else if line.text.contains("main_thread [") && line.text.contains("pps (") {
            run.line = line.number;
            run.sample(line)?;
        } else if let Some(way) = total(line.text) {
            if run.frames.is_some() {
                return Err(line.wrong("a second total of one run; import the whole log of each run alone"));
            }
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
        } else if let Some((stamp, _)) = line.text.split_once(" (").filter(|(stamp, _)| stamp.contains(" -> ")) {
            told.set("addresses", stamp);
        } else if stamped(line.text) {
            run.own(line);
        } else if !["Ledger: ", "Checked: ", "Latency", "Round trip ns: "].iter().any(|of| line.text.starts_with(of)) {
            told.line(line);
            // A command of a program between them names none.
            let words: Vec<&str> = line.text.split_whitespace().collect();
            if let Some((options, _)) = command::options(&words) {
                commanded = options.get("mode").cloned();
            }
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
    /// Takes a line of a mode's own: `515.1 ping_body [1401] count 33201 RTT: min 18210 av 30101 ns`, before 2016 without `RTT:`
    /// and the unit.
    fn own(&mut self, line: Line<'_>) {
        let name = line.text.split_whitespace().nth(1).and_then(|name| name.strip_suffix("_body"));
        if let Some(mode @ ("ping" | "pong" | "txseq" | "rxseq")) = name {
            self.mode = Some(mode.to_owned());
        }
        let read = || {
            let total = line.text.split_once("RTT over ").and_then(|(_, rest)| rest.split_once(" packets: min "));
            let second = || line.text.split_once(" count ")?.1.split_once(" min ");
            let (count, rest) = total.or_else(second)?;
            let (count, (least, mean)) = (
                count.trim_end_matches(':').trim_end_matches(" RTT"),
                rest.trim_end_matches(" ns").split_once(" av ")?,
            );
            Some((total.is_some(), count.parse::<u64>().ok()?, units::number(least)?, units::number(mean)?))
        };
        if let Some((true, count, least, mean)) = read() {
            (self.trips, self.tripped) = (Some((count, least, count as f64 * mean)), true);
        } else if let Some((_, count, least, mean)) = read() {
            let (all, known, sum) = self.trips.unwrap_or((0, f64::INFINITY, 0.0));
            self.trips = Some((all.saturating_add(count), known.min(least), sum + count as f64 * mean));
        }
    }

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

    /// Reason for which a run that was counted is not taken.
    fn unread(&self) -> Option<&'static str> {
        match (self.mode.as_deref(), self.way) {
            (Some("pong"), _) => {
                Some("a run of pong, which sends back what it receives: not read; give one of tx, rx or ping")
            }
            (Some("ping"), _) if self.trips.is_none() => {
                Some("a run of ping without its round trips; give its standard error too")
            }
            (Some("ping"), _) => None,
            (_, Some("other")) => {
                Some("a log of ping or pong without their lines, which is not read; give one of tx, rx or ping")
            }
            _ => None,
        }
    }

    /// Adds the run, if anything was counted.
    fn end(mut self, speed: Option<f64>, told: &mut Told, found: &mut Found) -> Result<(), Wrong> {
        let cut = speed.is_none() && self.frames.is_none() && !self.tripped;
        if self.way == Some("rx") {
            // A receiver's time begins with its first packet.
            let waited = self.samples.iter().take_while(|sample| sample.value.known() == Some(0.0)).count();
            let before = waited.checked_sub(1).and_then(|last| self.samples[last].t_s.known()).unwrap_or(0.0);
            self.samples.drain(..waited);
            self.samples.iter_mut().for_each(|of| of.t_s = of.t_s.known().map(|t| t - before).into());
            if waited > 0 && self.samples.is_empty() && cut {
                let why = "a receiver that waited for its first packet still".to_owned();
                found.pass(Wrong { line: Some(self.line), why });
                return Ok(());
            }
        }
        let rates = || self.samples.iter().filter_map(|sample| sample.value.known());
        let mut warnings = Vec::new();
        let value = match (speed, self.frames, rates().count()) {
            (Some(speed), ..) => speed,
            (None, None, 0) => {
                let why = "a run without its figures, as one that was broken off".to_owned();
                (self.opened > 0).then(|| found.pass(Wrong { line: Some(self.opened), why }));
                return Ok(());
            }
            (None, Some(0), _) => 0.0,
            (None, Some(frames), _) if self.seconds.is_some_and(|seconds| seconds > 0.0) => {
                frames as f64 / self.seconds.unwrap_or(1.0)
            }
            (None, _, 0) => return Ok(()),
            (None, _, count) => {
                if cut {
                    warnings.push("the log ends before the total: the figure is the mean of its lines".to_owned());
                }
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
        if let Some(why) = self.unread() {
            told.result();
            found
                .pass(Wrong { line: Some(if self.opened > 0 { self.opened } else { self.line }), why: why.to_owned() });
            return Ok(());
        }
        let pings = self.mode.as_deref() == Some("ping");
        let mode = if pings { "ping" } else { way };
        let mut measured = Measured {
            line: self.line,
            told: told.clone(),
            id: self.bytes.map_or_else(|| mode.to_owned(), |bytes| format!("{mode}-{bytes}")),
            title: match mode {
                "ping" => "Ping, round trips",
                "tx" => "Transmit",
                _ => "Receive",
            }
            .to_owned(),
            workload: format!("pkt-gen-{mode}"),
            parameters: parameters([("direction", Parameter::from(mode))]),
            ports: self.port.into_iter().collect(),
            // Frames of a rate are shown by their size.
            frame_bytes: self.bytes.filter(|_| !pings),
            value: Some((value, Unit::Pps)),
            seconds: self.seconds.or_else(|| self.samples.last().and_then(|last| last.t_s.known())),
            samples: self.samples,
            warnings,
            ..Measured::default()
        };
        if let Some(mode @ ("txseq" | "rxseq")) = self.mode.as_deref() {
            measured.told.set("mode", mode);
        }
        if let Some((count, least, sum)) = self.trips.filter(|(count, ..)| pings && *count > 0) {
            // The lines of each second are of what was sent.
            measured.samples.clear();
            measured.further.push(("sent".to_owned(), (value, Unit::Pps)));
            measured.further.push(("latency_min".to_owned(), (least, Unit::Ns)));
            measured.value = Some((sum / count as f64, Unit::Ns));
            measured.counters.push(("round_trips".to_owned(), count));
        }
        for (name, count) in [("frame_bytes", self.bytes.map(u64::from)), ("threads", self.threads)] {
            measured.parameters.extend(count.map(|count| (name.to_owned(), count.into())));
        }
        if cut {
            measured.parameters.insert("figure".to_owned(), MEAN.into());
        }
        told.result();
        measured.counters.extend(self.frames.map(|frames| ("packets".to_owned(), frames)));
        found.add(measured)
    }
}
