//! iperf 2's text, of clients and servers, plain and enhanced (`-e`). The figure is that of the last line of a stream,
//! which covers the whole test, or of all streams together (`[SUM]`).

use linerate_result::{Parameter, Sample, Unit, parameters};

use super::found::{Figure, Found, Line, Measured};
use super::{Import, Read, Wrong, lines, shown, units};

pub(super) const IMPORT: Import =
    Import { name: "iperf", about: "text of iperf 2, client or server, also with -e", looks, read: Read::Log(read) };

fn looks(text: &str) -> bool {
    text.contains("[ ID] Interval")
        || (text.contains("connecting to ") && text.contains(" port ") && text.contains("sec "))
}

/// An interval of a stream: seconds from the start, figures.
struct Interval {
    from: f64,
    to: f64,
    bytes: f64,
    rate: Figure,
    jitter_ns: Option<f64>,
    lost: Option<(u64, u64)>,
    line: usize,
}

/// A stream, by its number in brackets.
#[derive(Default)]
struct Stream {
    id: String,
    peer: String,
    /// True if its connection came to a port at which this end listens.
    server: bool,
    intervals: Vec<Interval>,
    of_server: Option<Interval>,
}

/// The part of a log behind one heading.
#[derive(Default)]
struct Block {
    protocol: Option<&'static str>,
    datagram: Option<u64>,
    streams: Vec<Stream>,
    /// Lines of all streams together.
    sums: Vec<Interval>,
    reports: Option<String>,
}

/// The number behind the word `port`.
fn port(text: &str) -> Option<&str> {
    text.split_once(" port ")?.1.split_whitespace().next()
}

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let (mut block, mut listens) = (Block::default(), Vec::new());
    for line in lines(text) {
        let is_server = line.text.starts_with("Server listening on ");
        if is_server || line.text.starts_with("Client connecting to ") {
            // With -r and -d two headings stand before the first interval.
            if block.streams.iter().any(|stream| !stream.intervals.is_empty()) {
                std::mem::take(&mut block).end(found)?;
            }
            block.protocol = Some(if line.text.contains("UDP port") { "udp" } else { "tcp" });
            listens.extend(port(line.text).filter(|_| is_server && listens.len() < 64));
        } else if let Some(rest) = line.text.strip_prefix('[') {
            bracket(&mut block, rest, line, &listens, found)?;
        } else if let Some(rest) = line.text.strip_prefix("Sending ") {
            block.datagram = rest.split(' ').next().and_then(|bytes| bytes.parse().ok());
        }
    }
    block.end(found)
}

/// A line `[ 3] …` behind its bracket.
fn bracket(block: &mut Block, rest: &str, line: Line<'_>, listens: &[&str], found: &mut Found) -> Result<(), Wrong> {
    let (id, rest) = rest.split_once(']').ok_or_else(|| line.wrong("no ] behind the stream's number"))?;
    let (id, rest) = (id.trim().trim_start_matches('*'), rest.trim());
    if id == "ID" {
        return Ok(());
    }
    if rest.starts_with("local ") {
        if let Some((_, date)) = rest.split_once(" on ").filter(|_| found.start.is_none()) {
            found.start = utc(date);
        }
        let (local, peer) = rest.split_once(" connected with ").unwrap_or((rest, ""));
        let host = peer.split_whitespace().next().unwrap_or_default();
        let peer = port(peer).map(|port| format!("{host}:{port}")).unwrap_or_default();
        let server = port(local).is_some_and(|port| listens.contains(&port));
        block.streams.push(Stream { id: id.to_owned(), peer, server, ..Stream::default() });
        return Ok(());
    }
    if rest.starts_with("Server Report") {
        block.reports = Some(id.to_owned());
        return Ok(());
    }
    // A line of an interval has seconds before anything else.
    let Some((span, figures)) = rest.split_once(" sec") else { return Ok(()) };
    let span =
        span.split_once('-').and_then(|(from, to)| Some((units::number(from.trim())?, units::number(to.trim())?)));
    let Some((from, to)) = span else { return Ok(()) };
    let interval = interval(from, to, figures, line)?;
    if id == "SUM" {
        block.sums.push(interval);
        return Ok(());
    }
    let at = block.streams.iter().rposition(|stream| stream.id == id);
    if block.reports.take_if(|known| known == id).is_some() {
        if let Some(at) = at {
            block.streams[at].of_server = Some(interval);
        }
        return Ok(());
    }
    // Without the line of its connection, a number that begins anew is another stream.
    let again = |stream: &Stream| {
        stream.intervals.len() > 1 && from == 0.0 && stream.intervals.last().is_some_and(|last| last.from == 0.0)
    };
    match at.map(|at| &mut block.streams[at]) {
        Some(stream) if !again(stream) => stream.intervals.push(interval),
        _ => block.streams.push(Stream { id: id.to_owned(), intervals: vec![interval], ..Stream::default() }),
    }
    Ok(())
}

/// The figures behind ` sec`: amount, rate, and for datagrams jitter and losses.
fn interval(from: f64, to: f64, figures: &str, line: Line<'_>) -> Result<Interval, Wrong> {
    let words: Vec<&str> = figures.split_whitespace().collect();
    let [amount, amount_unit, rate, rate_unit, ..] = words[..] else {
        return Err(line.wrong("an interval without amount and rate"));
    };
    let read = || {
        let bytes = units::bytes(units::number(amount)?, amount_unit)?;
        Some((bytes, units::rate(units::number(rate)?, rate_unit)?))
    };
    let (bytes, rate) = read().ok_or_else(|| line.wrong("an amount or a rate in no unit that is known"))?;
    let jitter = match words[4..] {
        [jitter, unit, ..] => units::number(jitter).and_then(|jitter| units::nanoseconds(jitter, unit)),
        _ => None,
    };
    // `0/893 (0%)`, or `0/ 893 (0%)`.
    let behind = figures.split_once(" ms").filter(|_| jitter.is_some()).map_or("", |(_, behind)| behind);
    let lost = behind.split_once('/').and_then(|(lost, of)| {
        let of = of.split('(').next()?.trim();
        Some((lost.trim().parse().ok()?, of.parse().ok()?))
    });
    Ok(Interval { from, to, bytes, rate, jitter_ns: jitter, lost, line: line.number })
}

impl Block {
    /// Adds the streams of the block: those that a last line sums up as one test, others each by itself.
    fn end(mut self, found: &mut Found) -> Result<(), Wrong> {
        let protocol = self.protocol.unwrap_or("tcp");
        self.streams.retain(|stream| !stream.intervals.is_empty());
        // By the line of their end.
        self.streams.sort_by_key(|stream| stream.intervals.last().map(|last| last.line));
        let mut streams = self.streams.into_iter().peekable();
        let mut alone = Vec::new();
        let mut parts: Vec<Interval> = Vec::new();
        for sum in self.sums {
            // Streams that have ended before this line are in it, if it is over the whole time.
            let mut members = Vec::new();
            while let Some(stream) =
                streams.next_if(|stream| stream.intervals.last().is_some_and(|last| last.line < sum.line))
            {
                members.push(stream);
            }
            if members.is_empty() || sum.from != 0.0 {
                alone.append(&mut members);
                parts.push(sum);
                continue;
            }
            let first = members.iter().filter_map(|member| member.intervals.first()).map(|first| first.line).min();
            parts.retain(|part| Some(part.line) > first);
            parts.push(sum);
            let whole = Stream {
                server: members.iter().any(|member| member.server),
                intervals: std::mem::take(&mut parts),
                ..Stream::default()
            };
            let peers = members.iter().map(|member| member.peer.clone()).collect();
            add(&whole, protocol, members.len(), self.datagram, peers, found)?;
        }
        for stream in alone.into_iter().chain(streams) {
            add(&stream, protocol, 1, self.datagram, vec![stream.peer.clone()], found)?;
        }
        Ok(())
    }
}

fn add(
    stream: &Stream,
    protocol: &str,
    streams: usize,
    datagram: Option<u64>,
    ports: Vec<String>,
    found: &mut Found,
) -> Result<(), Wrong> {
    let Some(last) = stream.intervals.last() else { return Ok(()) };
    let whole = stream.intervals.len() == 1
        || last.from == 0.0 && stream.intervals.iter().rev().skip(1).all(|i| i.to <= last.to);
    let side = if stream.server { "server" } else { "client" };
    let mut measured = Measured {
        line: last.line,
        id: format!("{protocol}-{streams}s-{side}"),
        title: format!("{}, {streams} streams, as the {side} counts", protocol.to_uppercase()),
        workload: format!("iperf-{protocol}"),
        parameters: parameters([
            ("streams", Parameter::from(streams)),
            ("side", side.into()),
            ("protocol", protocol.into()),
        ]),
        ports: ports.into_iter().filter(|peer| !peer.is_empty()).map(|peer| shown(&peer, 100)).collect(),
        value: Some(last.rate.clone()),
        seconds: Some(last.to),
        ..Measured::default()
    };
    if let Some(datagram) = datagram {
        measured.parameters.insert("datagram_bytes".to_owned(), datagram.into());
    }
    let mut parts = &stream.intervals[..];
    if whole {
        parts = &parts[..parts.len() - 1];
    } else {
        measured
            .warnings
            .push("the log ends before the stream's last line: the figure is the mean of its intervals".to_owned());
        let count = stream.intervals.len() as f64;
        let mean = stream.intervals.iter().map(|interval| interval.rate.0).sum::<f64>() / count;
        measured.value = Some((mean, last.rate.1.clone()));
    }
    measured.samples = parts.iter().map(|part| Sample { t_s: part.to.into(), value: part.rate.0.into() }).collect();
    let of = stream.of_server.as_ref().unwrap_or(last);
    if let Some(of_server) = &stream.of_server {
        measured.further.push(("received".to_owned(), of_server.rate.clone()));
    }
    measured.further.extend(of.jitter_ns.map(|ns| ("jitter".to_owned(), (ns, Unit::Ns))));
    if let Some((lost, all)) = of.lost {
        measured.counters.extend([("lost_packets".to_owned(), lost), ("packets".to_owned(), all)]);
        if all > 0 {
            measured.further.push(("lost".to_owned(), (100.0 * lost as f64 / all as f64, Unit::PerCent)));
        }
    }
    measured.further.push(("transferred".to_owned(), (last.bytes, Unit::Bytes)));
    found.add(measured)
}

/// `2026-11-26 07:07:11 (UTC)`.
fn utc(text: &str) -> Option<linerate_result::Timestamp> {
    let (time, zone) = text.split_once(" (")?;
    let (date, time) = time.split_once(' ')?;
    zone.starts_with("UTC)").then(|| format!("{date}T{time}Z").parse().ok())?
}
