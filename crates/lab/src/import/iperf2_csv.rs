//! iperf 2's lines of values (`-y C`). Their time is local time without a zone, so that a run's start stays that of the
//! file. Calls behind each other are repeats. Streams of one call have numbers of their own, which begin anew with the next
//! call; their figure is that of their sum (stream -1), or, at a client that wrote none, theirs together. At a server nothing
//! tells streams at once without a sum from clients behind each other, unless their times do.

use std::net::IpAddr;

use linerate_result::{Parameter, Sample, Timestamp, Unit, parameters};

use super::found::{CALLED_TCP, Found, Line, MEAN, Measured, Seen};
use super::told::Told;
use super::{Import, Read, Wrong, lines, units};

pub(super) const IMPORT: Import =
    Import { name: "iperf-csv", about: "values of iperf 2 (-y C)", looks, read: Read::Log(read, |_| true) };

fn looks(text: &str) -> bool {
    lines(text).take(50).any(|line| Values::of(line.text).is_some())
}

/// A line: time, both ends, stream, interval, bytes, bits a second; behind them for datagrams jitter, lost, all, per
/// cent, out of order.
struct Values<'a> {
    /// The time of its end, seconds, whole but with -e; not a number if that is no date.
    at: f64,
    ends: [&'a str; 4],
    id: &'a str,
    from: f64,
    to: f64,
    bytes: u64,
    rate: f64,
    /// Jitter in milliseconds, datagrams lost, all, out of order.
    datagrams: Option<[f64; 4]>,
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
        let part = |from: usize| &time[from..from + 2];
        let (date, of_day) = ([part(4), part(6)].join("-"), [part(8), part(10), part(12)].join(":"));
        let at = format!("{}-{date}T{of_day}Z", &time[..4]).parse();
        let (from, to) = span.split_once('-')?;
        let datagrams = match more {
            [jitter, lost, all, rest @ ..] => {
                let late = rest.get(1).and_then(|late| units::number(late)).unwrap_or(f64::NAN);
                Some([units::number(jitter)?, units::number(lost)?, units::number(all)?, late])
            }
            _ => None,
        };
        Some(Self {
            at: at.map_or(f64::NAN, |at: Timestamp| at.milliseconds() as f64 / 1000.0),
            ends: [local, port, remote, remote_port],
            id,
            from: units::number(from)?,
            to: units::number(to)?,
            bytes: bytes.parse().ok()?,
            rate: units::number(rate)?,
            datagrams,
        })
    }

    /// True if an end is a group of hosts, to which nothing but datagrams are sent (RFC 1112, RFC 4291 2.7).
    fn to_group(&self) -> bool {
        [self.ends[0], self.ends[2]].iter().any(|end| {
            let host = end.split('%').next().unwrap_or_default();
            host.parse().is_ok_and(|host: IpAddr| host.is_multicast()) || host == "255.255.255.255"
        })
    }

    fn is_of(&self, other: &Self) -> bool {
        self.ends == other.ends && self.id == other.id
    }
}

/// A stream: its lines, the first of them, and what the log tells before it.
struct Stream<'a> {
    list: Vec<Values<'a>>,
    /// The server's report of its datagrams.
    report: Option<Values<'a>>,
    /// True behind the line that says that no server answered the last datagram.
    no_ack: bool,
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
            } else if line.text.contains("did not receive ack of last datagram") {
                streams.last_mut().into_iter().for_each(|stream| stream.no_ack = true);
            }
            continue;
        };
        let seconds = values.to - values.from;
        if !units::agree(8.0 * values.bytes as f64, 8.0, seconds, 0.2, values.rate, 1.0) {
            return Err(line.wrong("an amount that is not that of the rate and the time beside it"));
        }
        told.result();
        // Behind a client's line the server's, which names the ends from there.
        let swapped = |of: &Values<'_>| of.ends[..2] == values.ends[2..] && of.ends[2..] == values.ends[..2];
        let of_client = |stream: &&mut Stream<'_>| {
            stream.report.is_none()
                && stream.list.last().is_some_and(|last| {
                    last.datagrams.is_none() && last.from == 0.0 && last.id == values.id && swapped(last)
                })
        };
        if values.datagrams.is_some()
            && let Some(stream) = streams.last_mut().filter(of_client)
        {
            stream.report = Some(values);
            continue;
        }
        // A stream's line over the whole time is its last.
        let open = streams
            .iter_mut()
            .rev()
            .take(256)
            .map(|stream| &mut stream.list)
            .find(|known| known[0].is_of(&values) && !(known.len() > 1 && known[known.len() - 1].from == 0.0));
        match open {
            Some(known) => known.push(values),
            None => {
                streams.push(Stream { list: vec![values], report: None, no_ack: false, line, told: told.clone() });
            }
        }
    }
    // Whole seconds prove that a stream began behind the end of all before it, so that it is of another call.
    let (mut groups, mut end): (Vec<Vec<Stream<'_>>>, f64) = (Vec::new(), f64::NEG_INFINITY);
    for stream in streams {
        let (first, last) = (&stream.list[0], &stream.list[stream.list.len() - 1]);
        let (begun, ended) = (first.at - (first.to - first.from), last.at);
        match groups.last_mut().filter(|_| begun.is_nan() || begun <= end + 1.1) {
            Some(group) => group.push(stream),
            None => groups.push(vec![stream]),
        }
        end = end.max(ended);
    }
    let count = groups.len();
    let mut cut = found.cut.take();
    groups.iter().zip(1..).try_for_each(|(group, n)| calls(group, cut.take_if(|_| n == count), found))
}

/// Adds the tests of streams that may have run at once. `cut` is the line behind them that is cut.
fn calls(streams: &[Stream<'_>], cut: Option<String>, found: &mut Found) -> Result<(), Wrong> {
    // True of a call that the line may be of: another begins with the same number, from another port.
    let may_be_of = |first: &Values<'_>| {
        let words: Vec<&str> = cut.iter().flat_map(|cut| cut.split(',')).collect();
        let is_of = || words[5] != first.id || words[1..5] == first.ends || words[1..3] == first.ends[2..];
        cut.is_some() && (words.len() < 7 || is_of())
    };
    // Streams that wait for their sum.
    let mut alone: Vec<&Stream<'_>> = Vec::new();
    for stream in streams {
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
    let ambiguous = |stream: &Stream<'_>| {
        let told = "streams that may be at once, without their sum, which iperf prints without -y";
        Err(stream.line.wrong(told))
    };
    let mut alone = &alone[..];
    while let Some((first, rest)) = alone.split_first() {
        let head = &first.list[0];
        // To one port of a host, from another port each: a client's.
        let more = rest.iter().take_while(|stream| stream.list[0].id != head.id).count();
        let (call, others) = alone.split_at(1 + more);
        if others.is_empty() && may_be_of(head) {
            found.pass(first.line.wrong("a call that the line that is cut may be of"));
            break;
        }
        if summed {
            return ambiguous(first);
        }
        let is_client = |of: &Values<'_>| of.ends[2..] == head.ends[2..] && of.ends[0] == head.ends[0];
        if let Some(other) = call.iter().find(|stream| !is_client(&stream.list[0])) {
            return ambiguous(other);
        }
        // Calls behind each other are of one client, or of clients of one server.
        if let Some(next) = others.first().map(|next| &next.list[0].ends)
            && (next[0] != head.ends[0] || next[..2] != head.ends[..2] && next[2..] != head.ends[2..])
        {
            return ambiguous(others[0]);
        }
        match call {
            [one] => add(one, 1, found)?,
            _ => add(&together(call)?, call.len(), found)?,
        }
        alone = others;
    }
    Ok(())
}

/// The streams of a call as one: what they moved together.
fn together<'a>(call: &[&Stream<'a>]) -> Result<Stream<'a>, Wrong> {
    let lasts: Vec<&Values<'a>> = call.iter().filter_map(|stream| stream.list.last()).collect();
    let first = lasts[0];
    for (stream, last) in call.iter().zip(&lasts) {
        let alike = stream.report.is_none() && last.from == 0.0 && (last.to - first.to).abs() <= 0.5 * first.to + 0.5;
        if !alike || last.datagrams.is_some() != first.datagrams.is_some() {
            return Err(stream.line.wrong("a stream that did not last as long as those of its call"));
        }
    }
    let datagrams = first.datagrams.map(|_| {
        // A mean jitter says nothing of any stream.
        let sum = |at: usize| lasts.iter().filter_map(|last| last.datagrams.map(|of| of[at])).sum::<f64>();
        let told = lasts.iter().all(|last| last.datagrams.is_some_and(|of| of[2] > 0.0));
        if told { [f64::NAN, sum(1), sum(2), sum(3)] } else { [0.0, 0.0, -1.0, 0.0] }
    });
    // As of a [SUM]: over the time of the longest, which bytes and rate tell better than the time's one digit.
    let bytes = lasts.iter().map(|last| last.bytes).fold(0, u64::saturating_add);
    let seconds = |last: &Values<'_>| if last.rate > 0.0 { 8.0 * last.bytes as f64 / last.rate } else { last.to };
    let longest = lasts.iter().map(|last| seconds(last)).fold(0.0, f64::max);
    let whole = Values {
        id: "-1",
        bytes,
        rate: if longest > 0.0 { 8.0 * bytes as f64 / longest } else { 0.0 },
        datagrams,
        ..*first
    };
    let no_ack = call.iter().any(|stream| stream.no_ack);
    Ok(Stream { list: vec![whole], report: None, no_ack, line: call[0].line, told: call[0].told.clone() })
}

fn add(stream: &Stream<'_>, streams: usize, found: &mut Found) -> Result<(), Wrong> {
    let Stream { list, report, no_ack, line, told } = stream;
    let Some(last) = list.last() else { return Ok(()) };
    let is_whole = last.from == 0.0;
    let parts = if is_whole { &list[..list.len() - 1] } else { &list[..] };
    let datagrams = report.as_ref().map_or(last.datagrams, |report| report.datagrams);
    let unanswered = datagrams.is_none() && (*no_ack || last.to_group());
    let protocol = if datagrams.is_some() || unanswered { "udp" } else { "tcp" };
    // Of a sum that stands alone the streams are not told.
    let streams = Some(streams).filter(|streams| *streams > 0);
    let id = match streams {
        Some(1) => protocol.to_owned(),
        Some(streams) => format!("{protocol}-{streams}s"),
        None => format!("{protocol}-sum"),
    };
    let many = match streams {
        Some(1) => ", one stream".to_owned(),
        Some(streams) => format!(", {streams} streams"),
        None => ", all streams together".to_owned(),
    };
    let mut measured = Measured {
        line: line.number,
        id,
        title: format!("{}{many}", protocol.to_uppercase()),
        workload: format!("iperf-{protocol}"),
        parameters: parameters([("protocol", Parameter::from(protocol))]),
        ports: vec![format!("{}:{}", last.ends[2], last.ends[3])],
        told: told.clone().lasting(Some(last.to)).sending(Some(last.rate).filter(|_| protocol == "udp")),
        // A server's lines do not tell the rate that its client sends at.
        alone: report.is_none() && datagrams.is_some_and(|[_, _, all, _]| all > 0.0),
        value: Some((last.rate, Unit::BitsPerSecond)),
        // Of the row that has the figure.
        seconds: Some(report.as_ref().map_or(last.to, |report| report.to)),
        samples: parts.iter().map(|part| Sample { t_s: part.to.into(), value: part.rate.into() }).collect(),
        ..Measured::default()
    };
    measured.told.set("host", last.ends[2]);
    measured.parameters.insert("streams".to_owned(), streams.map_or_else(|| "not told".into(), Parameter::from));
    found.once(format!("{:?} {} {} {}", last.ends, last.id, last.to, last.bytes), Seen::default(), line.number)?;
    if protocol == "tcp" {
        let told = "the values do not tell TCP from datagrams of which no server reports";
        measured.warnings.push(format!("{told}{CALLED_TCP}"));
    }
    if is_whole {
        measured.counters.push(("bytes".to_owned(), report.as_ref().unwrap_or(last).bytes));
    } else {
        measured.parameters.insert("figure".to_owned(), MEAN.into());
        measured
            .warnings
            .push("the log ends before the stream's last line: the figure is the mean of its intervals".to_owned());
        let mean = units::mean(list.iter().map(|part| (part.rate, part.to - part.from)));
        measured.value = Some((mean, Unit::BitsPerSecond));
    }
    if let Some(report) = report {
        measured.arrived(Some((report.rate, Unit::BitsPerSecond)));
        if is_whole {
            measured.counters.push(("sent_bytes".to_owned(), last.bytes));
        }
    }
    if unanswered || datagrams.is_some_and(|[_, _, all, _]| all <= 0.0) {
        measured.parameters.insert("figure".to_owned(), "sent".into());
        let told = "no report of the server: the figure is what was sent, what arrived is unknown";
        measured.warnings.push(told.to_owned());
    }
    if let Some([jitter, lost, all, late]) = datagrams {
        if all > 0.0 && lost >= all {
            measured.value = Some((0.0, Unit::BitsPerSecond));
        }
        // A client that got no report of the server writes -1.
        if all > 0.0 && lost >= 0.0 {
            // Nought is less than the last digit.
            if jitter > 0.0 {
                measured.further.push(("jitter".to_owned(), (jitter * 1e6, Unit::Ns)));
            }
            measured.further.push(("lost".to_owned(), (100.0 * lost / all, Unit::PerCent)));
            for (name, number) in [("lost_packets", lost), ("packets", all), ("out_of_order", late)] {
                measured.counters.extend(units::count(number).map(|count| (name.to_owned(), count)));
            }
        }
    }
    found.add(measured)
}
