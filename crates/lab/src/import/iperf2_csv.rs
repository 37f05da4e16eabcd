//! iperf 2's lines of values (`-y C`). Their time is local time without a zone, so that a run's start stays that of the
//! file.

use linerate_result::{Parameter, Sample, Unit, parameters};

use super::found::{Found, Line, Measured};
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

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let mut streams: Vec<(Vec<Values<'_>>, Line<'_>)> = Vec::new();
    for line in lines(text) {
        // Other lines are messages, but one that begins like values must be read.
        let begins = line.text.len() > 15 && line.text.as_bytes()[..14].iter().all(u8::is_ascii_digit);
        let Some(values) = Values::of(line.text) else {
            if begins && line.text.contains(',') {
                return Err(line.wrong("not the values of an interval"));
            }
            continue;
        };
        // A stream's line over the whole time is its last.
        let open = streams
            .iter_mut()
            .rev()
            .take(256)
            .find(|(known, _)| known[0].is_of(&values) && !(known.len() > 1 && known[known.len() - 1].from == 0.0));
        match open {
            Some((known, _)) => known.push(values),
            None => streams.push((vec![values], line)),
        }
    }
    for (list, line) in &streams {
        add(list, *line, found)?;
    }
    Ok(())
}

fn add(list: &[Values<'_>], line: Line<'_>, found: &mut Found) -> Result<(), Wrong> {
    let Some(last) = list.last() else { return Ok(()) };
    let is_whole = last.from == 0.0;
    let parts = if is_whole { &list[..list.len() - 1] } else { list };
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
        value: Some((last.rate, Unit::BitsPerSecond)),
        seconds: Some(last.to),
        samples: parts.iter().map(|part| Sample { t_s: part.to.into(), value: part.rate.into() }).collect(),
        ..Measured::default()
    };
    if is_whole {
        measured.counters.push(("bytes".to_owned(), last.bytes));
    } else {
        measured
            .warnings
            .push("the log ends before the stream's last line: the figure is the mean of its intervals".to_owned());
        let mean = list.iter().map(|part| part.rate).sum::<f64>() / list.len() as f64;
        measured.value = Some((mean, Unit::BitsPerSecond));
    }
    if let Some([jitter, lost, all]) = last.datagrams {
        // A client that got no report of the server writes -1.
        if all > 0.0 && lost >= 0.0 {
            measured.further.push(("jitter".to_owned(), (jitter * 1e6, Unit::Ns)));
            measured.further.push(("lost".to_owned(), (100.0 * lost / all, Unit::PerCent)));
        }
    }
    found.add(measured)
}
