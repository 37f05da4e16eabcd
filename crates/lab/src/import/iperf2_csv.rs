//! iperf 2's lines of values (`-y C`). Their time is local time without a zone, so that a run's start stays that of the
//! file. Calls behind each other are repeats; of streams at once only their sum (stream -1) is read, since without it
//! nothing tells them from streams behind each other.

use linerate_result::{Parameter, Sample, Unit, parameters};

use super::found::{Found, Line, Measured};
use super::told::Told;
use super::{Import, Read, Wrong, lines, units};

pub(super) const IMPORT: Import =
    Import { name: "iperf-csv", about: "values of iperf 2 (-y C)", looks, read: Read::Log(read) };

fn looks(text: &str) -> bool {
    lines(text).take(50).any(|line| Values::of(line.text).is_some())
}

/// A line: time, both ends, stream, interval, bytes, bits a second; behind them for datagrams jitter, lost, all, per
/// cent, out of order.
struct Values<'a> {
    ends: [&'a str; 4],
    id: &'a str,
    from: f64,
    to: f64,
    bytes: u64,
    rate: f64,
    datagrams: Option<[f64; 3]>,
}

impl<'a> Values<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let words: Vec<&str> = text.split(',').collect();
        let [time, local, port, remote, remote_port, id, span, bytes, rate, ref more @ ..] = words[..] else {
            return None;
        };
        // Fractions of a second stand behind the time with -e.
        let time = time.split('.').next()?;
        if time.len() != 14 || !time.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let (from, to) = span.split_once('-')?;
        let datagrams = match more {
            [jitter, lost, all, ..] => Some([units::number(jitter)?, units::number(lost)?, units::number(all)?]),
            _ => None,
        };
        Some(Self {
            ends: [local, port, remote, remote_port],
            id,
            from: units::number(from)?,
            to: units::number(to)?,
            bytes: bytes.parse().ok()?,
            rate: units::number(rate)?,
            datagrams,
        })
    }

    fn is_of(&self, other: &Self) -> bool {
        self.ends == other.ends && self.id == other.id
    }
}

/// A stream: its lines, the first of them, and what the log tells before it.
struct Stream<'a> {
    list: Vec<Values<'a>>,
    line: Line<'a>,
    told: Told,
}

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let mut streams: Vec<Stream<'_>> = Vec::new();
    let mut told = Told::default();
    for line in lines(text) {
        // Other lines are messages, but one that begins like values must be read.
        let begins = line.text.len() > 15 && line.text.as_bytes()[..14].iter().all(u8::is_ascii_digit);
        let Some(values) = Values::of(line.text) else {
            if begins && line.text.contains(',') {
                return Err(line.wrong("not the values of an interval"));
            }
            if !found.failed(line) {
                told.line(line);
            }
            continue;
        };
        let seconds = values.to - values.from;
        if !units::agree(8.0 * values.bytes as f64, 8.0, seconds, 0.2, values.rate, 1.0) {
            return Err(line.wrong("an amount that is not that of the rate and the time beside it"));
        }
        told.result();
        // A stream's line over the whole time is its last.
        let open = streams
            .iter_mut()
            .rev()
            .take(256)
            .map(|stream| &mut stream.list)
            .find(|known| known[0].is_of(&values) && !(known.len() > 1 && known[known.len() - 1].from == 0.0));
        match open {
            Some(known) => known.push(values),
            None => streams.push(Stream { list: vec![values], line, told: told.clone() }),
        }
    }
    // Streams that wait for their sum.
    let mut alone: Vec<&Stream<'_>> = Vec::new();
    for stream in &streams {
        if stream.list[0].id != "-1" {
            alone.push(stream);
            continue;
        }
        let last = |stream: &Stream<'_>| stream.list[stream.list.len() - 1].bytes as f64;
        let (parts, sum) = (alone.iter().map(|part| last(part)).sum::<f64>(), last(stream));
        if (parts - sum).abs() > 0.02 * sum {
            return Err(stream.line.wrong("a sum that is not that of the streams before it"));
        }
        add(stream, std::mem::take(&mut alone).len(), found)?;
    }
    let summed = streams.len() > alone.len();
    for stream in &alone {
        let (known, of) = (&alone[0].list[0], &stream.list[0]);
        let same = known.id == of.id && known.ends[0] == of.ends[0];
        if summed || !same || known.ends[..2] != of.ends[..2] && known.ends[2..] != of.ends[2..] {
            let told = "streams that may be at once, without their sum, which iperf prints without -y";
            return Err(stream.line.wrong(told));
        }
        add(stream, 1, found)?;
    }
    Ok(())
}

fn add(stream: &Stream<'_>, streams: usize, found: &mut Found) -> Result<(), Wrong> {
    let Stream { list, line, told } = stream;
    let Some(last) = list.last() else { return Ok(()) };
    let is_whole = last.from == 0.0;
    let parts = if is_whole { &list[..list.len() - 1] } else { &list[..] };
    let protocol = if last.datagrams.is_some() { "udp" } else { "tcp" };
    let all = last.id == "-1";
    let id = if all { format!("{protocol}-sum") } else { protocol.to_owned() };
    let mut measured = Measured {
        line: line.number,
        id,
        title: format!("{}{}", protocol.to_uppercase(), if all { ", all streams together" } else { ", one stream" }),
        workload: format!("iperf-{protocol}"),
        parameters: parameters([("together", Parameter::from(all)), ("protocol", protocol.into())]),
        ports: vec![format!("{}:{}", last.ends[2], last.ends[3])],
        told: told.clone().lasting(Some(last.to)),
        value: Some((last.rate, Unit::BitsPerSecond)),
        seconds: Some(last.to),
        samples: parts.iter().map(|part| Sample { t_s: part.to.into(), value: part.rate.into() }).collect(),
        ..Measured::default()
    };
    measured.told.set("host", last.ends[2]);
    measured.told.set("streams", &streams.to_string());
    if is_whole {
        measured.counters.push(("bytes".to_owned(), last.bytes));
    } else {
        measured
            .warnings
            .push("the log ends before the stream's last line: the figure is the mean of its intervals".to_owned());
        let mean = units::mean(list.iter().map(|part| (part.rate, part.to - part.from)));
        measured.value = Some((mean, Unit::BitsPerSecond));
    }
    if let Some([jitter, lost, all]) = last.datagrams {
        if all > 0.0 && lost >= all {
            measured.value = Some((0.0, Unit::BitsPerSecond));
        }
        if all <= 0.0 {
            measured.parameters.insert("figure".to_owned(), "sent".into());
            let told = "no report of the server: the figure is what was sent, what arrived is unknown";
            measured.warnings.push(told.to_owned());
        }
        // A client that got no report of the server writes -1.
        if all > 0.0 && lost >= 0.0 {
            measured.further.push(("jitter".to_owned(), (jitter * 1e6, Unit::Ns)));
            measured.further.push(("lost".to_owned(), (100.0 * lost / all, Unit::PerCent)));
        }
    }
    found.add(measured)
}
