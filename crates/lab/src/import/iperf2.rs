//! iperf 2's text, of clients and servers, plain and enhanced (`-e`). What a heading tells holds for the connections of its end,
//! what a connection's line marks for that one. The figure is that of the last line of a stream,
//! which covers the whole test, or of all streams together (`[SUM]`). Streams at once without that line are refused. A sum over
//! both directions (`-d`, `--full-duplex`) is that of two tests, one each way.

use std::collections::{BTreeSet, VecDeque};

use linerate_result::{Parameter, Role, Sample, Unit, parameters};

use super::found::{CALLED_TCP, Found, Line, MEAN, Measured, Ran, Seen};
use super::interval::Interval;
use super::told::Told;
use super::{Import, Read, Wrong, iperf3_text, lines, shown, units};

pub(super) const IMPORT: Import = Import {
    name: "iperf",
    about: "text of iperf 2, client or server, also with -e",
    looks,
    read: Read::Log(read, begins),
};

fn looks(text: &str) -> bool {
    let own = [" connected with ", "Client connecting to ", "Server listening on TCP", "Server listening on UDP"];
    own.iter().any(|own| text.contains(own)) || (text.contains("[ ID] Interval") && !iperf3_text::looks(text))
}

fn begins(line: &str) -> bool {
    line.starts_with("Client connecting to ") || line.starts_with("Server listening on ")
}

/// A stream, by its number in brackets.
#[derive(Clone, Default)]
struct Stream {
    id: String,
    peer: String,
    /// Both ends, which name it.
    ends: String,
    /// True if its connection came to a port at which this end listens.
    server: bool,
    /// True if the server sends (`-R`, `-r`).
    reverse: bool,
    /// True if its connection carries data both ways.
    duplex: bool,
    /// True if data flow in the other direction at the same time.
    both: bool,
    /// True if one that flows the other way has been added before it.
    beside: bool,
    /// True behind a line that only datagrams have.
    udp: bool,
    /// True of round trips of requests that are sent back (`--bounceback`), whose rate is none of the path.
    bounces: bool,
    /// Options that the line of its connection marks.
    marks: Vec<(String, String)>,
    /// Line of its connection.
    opened: Option<usize>,
    intervals: Vec<Interval>,
    /// The log's figures before its last interval.
    told: Told,
    of_server: Option<Interval>,
}

impl Stream {
    /// Line of its end.
    fn closed(&self) -> usize {
        self.intervals.last().map_or(0, |last| last.line)
    }

    /// Line at which it is known first.
    fn begun(&self) -> usize {
        self.opened.or_else(|| self.intervals.first().map(|first| first.line)).unwrap_or(0)
    }
}

/// Settings that a heading tells of the connections that a client opens, or of those to a server's port.
#[derive(Clone, Default)]
struct Heading {
    protocol: Option<&'static str>,
    datagram: Option<u64>,
    /// Time between datagrams, microseconds.
    pace: Option<String>,
    told: Told,
    text: String,
    /// True of one of `--bounceback`.
    bounces: bool,
    /// Line of a client's, until its connection or the reason why it has none.
    waits: Option<usize>,
}

/// The part of a log behind one heading.
#[derive(Default)]
struct Block {
    /// The heading in force of a client, and that of a server.
    headings: [Heading; 2],
    streams: Vec<Stream>,
    /// Lines of all streams together.
    sums: Vec<(Interval, Told)>,
    reports: Option<String>,
    told: Told,
}

/// Lines that tell sizes, and their names.
const SIZES: &[(&str, &str)] =
    &[("TCP window size: ", "window"), ("UDP buffer size: ", "window"), ("Write buffer size: ", "block_bytes")];

/// The number behind the word `port`.
fn port(text: &str) -> Option<&str> {
    text.split_once(" port ")?.1.split_whitespace().next()
}

impl Heading {
    /// Names a client that nothing is told of.
    fn unended(&mut self, found: &mut Found) {
        let why = || "a client without a connection behind it, as one that was broken off".to_owned();
        self.waits.take().into_iter().for_each(|line| found.pass(Wrong { line: Some(line), why: why() }));
    }

    /// Takes a line below the first one.
    fn line(&mut self, line: Line<'_>) {
        let size = SIZES.iter().find_map(|(begin, name)| Some((name, line.text.strip_prefix(begin)?)));
        if let Some((name, size)) = size {
            // The window that a host begins with is no setting.
            if !size.ends_with("(default)") {
                let size = size.split_once('(').map_or(size, |(size, _)| size);
                self.told.set(name, size.trim().trim_end_matches(" Byte"));
            }
            return;
        }
        if let Some(rest) = line.text.strip_prefix("Sending ") {
            self.datagram = rest.split(' ').next().and_then(|bytes| bytes.parse().ok());
            self.pace =
                rest.split_once(" target: ").map(|(_, pace)| shown(pace.split(" us").next().unwrap_or(pace), 40));
            return;
        }
        self.bounces |= line.text.starts_with("Bounce");
        let mark = if self.text.is_empty() { "" } else { "; " };
        self.text = shown(&format!("{}{mark}{}", self.text, line.text), 200);
        self.told.set("heading", &self.text);
    }
}

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let (mut block, mut listens) = (Block::default(), Vec::new());
    // Behind a heading's first line, until its rule.
    let mut open: Option<usize> = None;
    for line in lines(text) {
        if iperf3_text::is_own(line.text) {
            return Err(line.wrong("a line of iperf3; import its log alone"));
        }
        let is_server = line.text.starts_with("Server listening on ");
        if begins(line.text) {
            if line.text.contains("SCTP port") {
                return Err(line.wrong("a test over SCTP, which is not read"));
            }
            // With -r and -d two headings stand before the first interval; a server that sends has its own behind the connections.
            let last = block.streams.iter().map(Stream::closed).max().unwrap_or(0);
            let is_open = |stream: &mut Stream| stream.intervals.is_empty() && stream.begun() > last && !is_server;
            let mut opens = false;
            if last > 0 {
                let (headings, told) = (block.headings.clone(), block.told.clone());
                let streams: Vec<Stream> = block.streams.extract_if(.., is_open).collect();
                opens = streams.iter().any(|stream| !stream.server);
                std::mem::take(&mut block).end(found)?;
                block = Block { headings, told, streams, ..Block::default() };
            }
            let protocol = Some(if line.text.contains("UDP port") { "udp" } else { "tcp" });
            let heading = &mut block.headings[usize::from(is_server)];
            heading.unended(found);
            *heading =
                Heading { protocol, waits: Some(line.number).filter(|_| !is_server && !opens), ..Heading::default() };
            listens.extend(port(line.text).filter(|_| is_server && listens.len() < 64));
            if !is_server {
                heading.told.set("host", line.text.split([' ', ',']).nth(3).unwrap_or_default());
            }
            open = Some(usize::from(is_server));
        } else if found.failed(line) {
            block.headings[0].waits = None;
        } else if let Some(rest) = line.text.strip_prefix('[') {
            open = None;
            bracket(&mut block, rest, line, &listens, found)?;
        } else if line.text.starts_with("-----") {
            open = None;
        } else if let Some(side) = open {
            block.headings[side].line(line);
        } else {
            block.told.line(line);
        }
    }
    block.end(found)
}

/// A line `[ 3] …` behind its bracket.
fn bracket(block: &mut Block, rest: &str, line: Line<'_>, listens: &[&str], found: &mut Found) -> Result<(), Wrong> {
    let (id, rest) = rest.split_once(']').ok_or_else(|| line.wrong("no ] behind the stream's number"))?;
    let (id, rest) = (id.trim(), rest.trim());
    // The number of what a server sends has a star.
    let (id, star) = (id.trim_start_matches('*'), id.starts_with('*'));
    if id == "ID" {
        return Ok(());
    }
    if rest.starts_with("local ") {
        if let Some((_, date)) = rest.split_once(" on ").filter(|_| found.start.is_none()) {
            found.start = super::date::of_date(date);
        }
        let (local, peer) = rest.split_once(" connected with ").unwrap_or((rest, ""));
        let host = peer.split_whitespace().next().unwrap_or_default();
        let peer = port(peer).map(|port| format!("{host}:{port}")).unwrap_or_default();
        let server = port(local).is_some_and(|port| listens.contains(&port));
        if !server {
            block.headings[0].waits = None;
        }
        let (duplex, opened) = (rest.contains("(full-duplex)"), Some(line.number));
        let ends = rest.split(" (").next().unwrap_or(rest).to_owned();
        let marks = marks(rest);
        let bounces = rest.contains("(bb ") || rest.contains("(bb)") || !server && block.headings[0].bounces;
        let of = Stream { id: id.to_owned(), peer, ends, server, duplex, opened, marks, bounces, ..Stream::default() };
        if duplex {
            block.streams.push(Stream { reverse: true, ..of.clone() });
        }
        block.streams.push(Stream { reverse: !duplex && (star || rest.contains("(reverse)")), ..of });
        return Ok(());
    }
    if rest.starts_with("Server Report") {
        block.reports = Some(id.to_owned());
        return Ok(());
    }
    let is_sum = id == "SUM" || id.strip_prefix("SUM-").is_some_and(|count| count.parse::<u32>().is_ok());
    let at = block.streams.iter().rposition(|stream| stream.id == id && (!stream.duplex || stream.reverse == star));
    let Some((interval, _)) = Interval::of(rest, line)? else {
        let of_sum = block.sums.last_mut().map(|(sum, _)| sum).filter(|_| is_sum);
        if let Some(stream) = at.map(|at| &mut block.streams[at]) {
            stream.udp |= rest.starts_with("Sent ") && rest.ends_with(" datagrams");
            let last = stream.of_server.as_mut().or(stream.intervals.last_mut());
            last.into_iter().for_each(|last| last.late(rest));
        }
        of_sum.into_iter().for_each(|sum| sum.late(rest));
        return Ok(());
    };
    let (from, told, trips) = (interval.from, block.told.clone(), trips(rest));
    block.told.result();
    if is_sum && trips {
        return Ok(());
    }
    if is_sum {
        block.sums.push((interval, told));
        return Ok(());
    }
    // Both ways of a connection together, beside the lines of each.
    if id.strip_prefix("FD").is_some_and(|id| id.parse::<u32>().is_ok()) {
        return Ok(());
    }
    if block.reports.take_if(|known| known == id).is_some() {
        if let Some(at) = at {
            block.streams[at].of_server = Some(interval);
        }
        return Ok(());
    }
    // A number that begins anew is another stream, whose connection, and so its end and direction, is not told.
    let again = |stream: &Stream| {
        stream.intervals.len() > 1 && from == 0.0 && stream.intervals.last().is_some_and(|last| last.from == 0.0)
    };
    let unreported = |of: &Stream| of.id == id && of.intervals.is_empty();
    let beside = at.is_some_and(|at| block.streams[..at].iter().any(unreported));
    match at.map(|at| &mut block.streams[at]) {
        Some(stream) if !again(stream) => {
            let same = |last: &Interval| last.from == from && (last.to - interval.to).abs() <= 0.05 * last.to;
            if star && !stream.reverse {
                return Err(line.wrong("a stream in both directions at once, which is not read"));
            }
            // An interval of the whole time has the amount of the last line, but for what was under way.
            let other = |last: &Interval| (last.bytes - interval.bytes).abs() > 0.25 * last.bytes;
            if stream.intervals.last().is_some_and(|last| same(last) && (beside || from == 0.0 && other(last))) {
                let why = "a second row of these seconds: two runs are mixed; import the whole log of each run alone";
                return Err(line.wrong(why));
            }
            stream.udp |= interval.jitter_ns.is_some();
            stream.bounces |= trips;
            stream.intervals.push(interval);
            stream.told = told;
        }
        _ => return Err(line.wrong("an interval without the line of its connection")),
    }
    Ok(())
}

/// True of a row with round trips, `10=0.444/0.394/0.554/0.045 ms`.
fn trips(row: &str) -> bool {
    let count = |word: &str| {
        word.split_once('=')
            .is_some_and(|(count, times)| count.parse::<u64>().is_ok() && times.matches('/').count() == 3)
    };
    row.split_whitespace().any(count)
}

/// The options in the marks of a connection's line, `(trip-times) (sock=6) (icwnd/mss/irtt=14/1448/150)`. Its number, its
/// times and the other end's version are no options; its direction is read apart.
fn marks(line: &str) -> Vec<(String, String)> {
    let marks = line.split(" on ").next().unwrap_or(line).split('(').skip(1).filter_map(|mark| mark.split(')').next());
    let option = |mark: &str| {
        let (name, value) = mark.split_once('=').unwrap_or((mark, "on"));
        match name {
            "sock" | "ct" | "reverse" | "full-duplex" | "" => None,
            "icwnd/mss/irtt" => value.split('/').nth(1).map(|mss| ("mss".to_owned(), shown(mss, 20))),
            name if name.starts_with("peer ") => None,
            name => Some((shown(name, 40), shown(value, 40))),
        }
    };
    marks.filter_map(option).take(16).collect()
}

impl Block {
    /// Adds the streams of the block: those that a last line sums up as one test, others each by itself.
    fn end(mut self, found: &mut Found) -> Result<(), Wrong> {
        self.headings[0].unended(found);
        for bounces in self.streams.extract_if(.., |stream| stream.bounces) {
            let why = "a test of requests that are sent back (--bounceback), which is not read".to_owned();
            found.pass(Wrong { line: Some(bounces.begun()), why });
        }
        for opened in
            self.streams.iter().filter(|stream| stream.intervals.is_empty()).filter_map(|stream| stream.opened)
        {
            found.failures.push(format!("line {opened}: a stream that reported nothing"));
        }
        self.streams.retain(|stream| !stream.intervals.is_empty());
        // By the line of their end.
        self.streams.sort_by_key(Stream::closed);
        let mut streams = VecDeque::from(self.streams);
        let mut alone: Vec<Stream> = Vec::new();
        let mut parts: Vec<Interval> = Vec::new();
        // Streams that wait for their sum.
        let mut ended: Vec<Stream> = Vec::new();
        for (sum, told) in self.sums {
            // Streams that have ended before this line are in it, if it is over the whole time.
            while streams.front().is_some_and(|stream| stream.closed() < sum.line) {
                ended.extend(streams.pop_front());
            }
            // While others go on, it is one of a part.
            if streams.iter().any(|stream| stream.begun() < sum.line) {
                parts.push(sum);
                continue;
            }
            // Those that had ended before the others began are of earlier tests.
            let mut begun = 0;
            let at_once = ended.iter().rev().take_while(|member| {
                let is_one = begun == 0 || member.closed() > begun;
                begun = if begun == 0 { member.begun() } else { begun.min(member.begun()) };
                is_one
            });
            let members = ended.split_off(ended.len() - at_once.count());
            alone.append(&mut ended);
            if members.is_empty() || sum.from != 0.0 {
                alone.extend(members);
                parts.push(sum);
                continue;
            }
            let bytes: f64 = members.iter().filter_map(|member| Some(member.intervals.last()?.bytes)).sum();
            // Amounts are written with three digits.
            if (bytes - sum.bytes).abs() > 0.02 * sum.bytes {
                let why = "a [SUM] that is not that of the streams before it".to_owned();
                let wrong = Wrong { line: Some(sum.line), why };
                let longest = members.iter().filter_map(|member| Some(member.intervals.last()?.to)).fold(0.0, f64::max);
                // That of a server behind both directions is over the time of several tests.
                if sum.to < 1.5 * longest {
                    return Err(wrong);
                }
                found.pass(wrong);
                alone.extend(members);
                continue;
            }
            let beyond = |member: &Stream| {
                let last = member.intervals.last().map_or(0.0, |last| last.to);
                member.intervals.iter().find(|row| row.to > 1.05 * last + 0.5).map(|row| row.line)
            };
            if let Some(line) = members.iter().find_map(beyond) {
                let why = "a row of more seconds than the last one of its stream".to_owned();
                return Err(Wrong { line: Some(line), why });
            }
            let way = |member: &Stream| (member.reverse, member.server);
            let first = members.iter().filter_map(|member| member.intervals.first()).map(|first| first.line).min();
            let (of_these, of_none): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| Some(part.line) > first);
            parts = of_these;
            of_none.iter().for_each(|part| alone_of(part, found));
            if let Some(other) = members.iter().position(|member| way(member) != way(&members[0])) {
                let other = way(&members[other]);
                let (back, forth): (Vec<Stream>, Vec<Stream>) =
                    members.into_iter().partition(|member| way(member) == other);
                for (members, beside) in [(forth, false), (back, true)] {
                    let mut whole = Stream { beside, ..together(&members, &told) };
                    whole.both = true;
                    let peers = members.iter().map(|member| member.peer.clone()).collect();
                    add(&whole, &self.headings, members.len(), peers, found)?;
                }
                parts.clear();
                continue;
            }
            // Not every version has these in the sum.
            let whole = together(&members, &told);
            let of_members = |of: fn(&Interval) -> Option<u64>| whole.intervals.last().and_then(of);
            let late = sum.late.or(of_members(|whole| whole.late));
            let retries = sum.retries.or(of_members(|whole| whole.retries));
            let of_all = whole.intervals.last();
            let lost = sum.lost.or(of_all.and_then(|whole| whole.lost));
            let latency_ns = sum.latency_ns.or(of_all.and_then(|whole| whole.latency_ns));
            parts.push(Interval { late, retries, lost, latency_ns, ..sum });
            let whole = Stream { intervals: std::mem::take(&mut parts), ..whole };
            let peers = members.iter().map(|member| member.peer.clone()).collect();
            add(&whole, &self.headings, members.len(), peers, found)?;
        }
        alone.extend(ended);
        alone.extend(streams);
        // Streams at once whose sum has not come.
        let mut unsummed = BTreeSet::new();
        for at in 0..alone.len() {
            let (before, rest) = alone.split_at_mut(at);
            let stream = &mut rest[0];
            let begun = stream.begun();
            for (place, other) in before.iter_mut().enumerate().rev().take_while(|(_, other)| other.closed() > begun) {
                if (other.server, other.reverse) != (stream.server, stream.reverse) {
                    (stream.both, stream.beside, other.both) = (true, true, true);
                } else if unsummed.insert(at) | unsummed.insert(place) {
                    let why = format!("streams at once (line {}) without the line of their sum", other.closed());
                    found.pass(Wrong { line: Some(stream.closed()), why });
                }
            }
        }
        parts.iter().for_each(|part| alone_of(part, found));
        for (_, stream) in alone.iter().enumerate().filter(|(at, _)| !unsummed.contains(at)) {
            add(stream, &self.headings, 1, vec![stream.peer.clone()], found)?;
        }
        Ok(())
    }
}

/// Names a sum that is not taken.
fn alone_of(sum: &Interval, found: &mut Found) {
    found.pass(Wrong {
        line: Some(sum.line),
        why: "a [SUM] that is not behind the last rows of its streams".to_owned(),
    });
}

/// Datagrams of all streams that came out of order; `None` if no line tells it.
fn late(members: &[Stream]) -> Option<u64> {
    members.iter().filter_map(|member| member.intervals.last()?.late).reduce(u64::saturating_add)
}

/// The streams of one direction as one, from what each moved, over the time of the longest.
fn together(members: &[Stream], told: &Told) -> Stream {
    let lasts = || members.iter().filter_map(|member| member.intervals.last());
    let longest = lasts().map(|last| last.to).fold(0.0, f64::max);
    let whole = lasts().next().map(|first| Interval {
        to: longest,
        bytes: lasts().map(|last| last.bytes).sum(),
        rate: lasts().map(|last| last.rate * if longest > 0.0 { last.to / longest } else { 1.0 }).sum(),
        jitter_ns: first.jitter_ns.filter(|_| members.len() == 1),
        lost: lasts().try_fold((0, 0), |(lost, all), last| last.lost.map(|(more, of)| (lost + more, all + of))),
        latency_ns: latencies(lasts()),
        retries: lasts().try_fold(0, |all: u64, last| last.retries.map(|more| all.saturating_add(more))),
        late: late(members),
        ..*first
    });
    Stream {
        ends: members.iter().map(|member| member.ends.as_str()).collect::<Vec<_>>().join(" "),
        server: members.iter().any(|member| member.server),
        reverse: members.first().is_some_and(|first| first.reverse),
        intervals: match members {
            [one] => one.intervals.clone(),
            _ => whole.into_iter().collect(),
        },
        udp: members.iter().any(|member| member.udp),
        duplex: members.iter().any(|member| member.duplex),
        marks: members.iter().flat_map(|member| member.marks.clone()).collect(),
        of_server: of_servers(members),
        told: told.clone(),
        ..Stream::default()
    }
}

/// Mean, least and greatest latency of all streams together, by the datagrams that arrived; `None` if one does not tell it.
fn latencies<'a>(all: impl Iterator<Item = &'a Interval>) -> Option<[f64; 3]> {
    let all: Option<Vec<_>> = all.map(|of| Some((of.latency_ns?, of.lost))).collect();
    let all = all?;
    if let [(alone, _)] = all[..] {
        return Some(alone);
    }
    let arrived = |lost: Option<(u64, u64)>| lost.map(|(lost, all)| all.saturating_sub(lost) as f64);
    let count: f64 = all.iter().map(|(_, lost)| arrived(*lost)).sum::<Option<f64>>().filter(|count| *count > 0.0)?;
    let sum: f64 = all.iter().map(|([mean, ..], lost)| mean * arrived(*lost).unwrap_or(0.0)).sum();
    let least = all.iter().map(|([_, least, _], _)| *least).fold(f64::INFINITY, f64::min);
    Some([sum / count, least, all.iter().map(|([.., greatest], _)| *greatest).fold(0.0, f64::max)])
}

/// What the servers of all streams together report; `None` unless each does.
fn of_servers(members: &[Stream]) -> Option<Interval> {
    let mut all = members.iter().map(|member| member.of_server.as_ref());
    let first = all.next()??;
    let jitter_ns = first.jitter_ns.filter(|_| members.len() == 1);
    let latency_ns = latencies(members.iter().filter_map(|member| member.of_server.as_ref()));
    let mut whole = Interval { jitter_ns, latency_ns, ..*first };
    // Bits over the time of the longest.
    let mut bits = first.rate * first.to;
    for next in all {
        let next = next?;
        bits += next.rate * next.to;
        whole.to = whole.to.max(next.to);
        whole.bytes += next.bytes;
        whole.late = whole.late.into_iter().chain(next.late).reduce(u64::saturating_add);
        whole.lost = whole
            .lost
            .zip(next.lost)
            .map(|((lost, of), (more, all))| (lost.saturating_add(more), of.saturating_add(all)));
    }
    if members.len() > 1 && whole.to > 0.0 {
        whole.rate = bits / whole.to;
    }
    Some(whole)
}

fn add(
    stream: &Stream,
    headings: &[Heading; 2],
    streams: usize,
    ports: Vec<String>,
    found: &mut Found,
) -> Result<(), Wrong> {
    let Some(last) = stream.intervals.last() else { return Ok(()) };
    let whole = stream.intervals.len() == 1
        || last.from == 0.0 && stream.intervals.iter().rev().skip(1).all(|i| i.to <= last.to);
    let side = if stream.server { "server" } else { "client" };
    let counts = if stream.of_server.is_some() { "server reports".to_owned() } else { format!("{side} counts") };
    let heading = &headings[usize::from(stream.server)];
    let protocol = heading.protocol.unwrap_or(if stream.udp || stream.of_server.is_some() { "udp" } else { "tcp" });
    let mut told = heading.told.clone();
    told.also(&stream.told);
    stream.marks.iter().for_each(|(name, value)| told.set(name, value));
    // A command tells the rate itself.
    told.set("pace_us", heading.pace.as_deref().filter(|_| !told.commanded()).unwrap_or_default());
    told.set("full-duplex", if stream.duplex { "on" } else { "" });
    let mut measured = Measured {
        line: last.line,
        id: format!("{protocol}-{streams}s-{side}{}", if stream.reverse { "-reverse" } else { "" }),
        title: format!(
            "{}{}{}, as the {counts}",
            protocol.to_uppercase(),
            if streams == 1 { String::new() } else { format!(", {streams} streams") },
            if stream.reverse { ", server to client" } else { "" }
        ),
        workload: format!("iperf-{protocol}"),
        parameters: parameters([
            ("streams", Parameter::from(streams)),
            ("side", side.into()),
            ("protocol", protocol.into()),
        ]),
        ports: ports.into_iter().filter(|peer| !peer.is_empty()).map(|peer| shown(&peer, 100)).collect(),
        value: Some((last.rate, Unit::BitsPerSecond)),
        // Of the row that has the figure.
        seconds: Some(stream.of_server.as_ref().map_or(last.to, |of_server| of_server.to)),
        ran: if stream.beside { Ran::Beside } else { Ran::After },
        told: told.lasting(Some(last.to)).sending(Some(last.rate).filter(|_| protocol == "udp")),
        // A server's log does not tell the rate that its client sends at, or asks for.
        alone: stream.server && (protocol == "udp" || stream.reverse),
        ..Measured::default()
    };
    if let Some((host, _)) = measured.ports.first().and_then(|peer| peer.rsplit_once(':')) {
        measured.told.set("peer", host);
    }
    if stream.both {
        measured.parameters.insert("bidir".to_owned(), true.into());
    }
    if heading.protocol.is_none() && protocol == "tcp" {
        measured.warnings.push(format!("neither a heading nor a line of datagrams tells the protocol{CALLED_TCP}"));
    }
    if !stream.ends.is_empty() {
        let way = if stream.reverse { "back" } else { "forth" };
        found.once(format!("{way} {} {} {}", stream.ends, last.to, last.bytes), Seen::default(), last.line)?;
        // All of them are noted.
        let ends = stream.ends.split("local ").filter(|ends| !ends.is_empty());
        let seen = ends.filter_map(|ends| found.connected(ends, " connected with ", way, last.line)).max();
        measured.other_end(seen);
    }
    if stream.reverse {
        measured.parameters.insert("reverse".to_owned(), true.into());
    }
    if let Some(datagram) = heading.datagram {
        measured.parameters.insert("datagram_bytes".to_owned(), datagram.into());
    }
    let mut parts = &stream.intervals[..];
    if whole {
        parts = &parts[..parts.len() - 1];
    } else {
        measured.parameters.insert("figure".to_owned(), MEAN.into());
        measured
            .warnings
            .push("the log ends before the stream's last line: the figure is the mean of its intervals".to_owned());
        let spans = stream.intervals.iter().map(|interval| (interval.rate, interval.to - interval.from));
        measured.value = Some((units::mean(spans), Unit::BitsPerSecond));
    }
    measured.samples = parts.iter().map(|part| Sample { t_s: part.to.into(), value: part.rate.into() }).collect();
    measured.samples_of = Some(if stream.server == stream.reverse { Role::Tx } else { Role::Rx });
    let of = stream.of_server.as_ref().unwrap_or(last);
    if let Some(of_server) = &stream.of_server {
        measured.arrived(Some((of_server.rate, Unit::BitsPerSecond)));
        measured.further.push(("sent_transferred".to_owned(), (last.bytes, Unit::Bytes)));
    } else if protocol == "udp" && !stream.server && !stream.reverse && last.lost.is_none() {
        measured.parameters.insert("figure".to_owned(), "sent".into());
        measured
            .warnings
            .push("no report of the server: the figure is what was sent, what arrived is unknown".to_owned());
    }
    if let (Some((lost, all)), Some((value, _))) = (of.lost, &mut measured.value)
        && all > 0
        && lost >= all
    {
        *value = 0.0;
    }
    // Nought is less than the last digit.
    let told = |ns: &f64| *ns > 0.0;
    measured.further.extend(of.jitter_ns.filter(told).map(|ns| ("jitter".to_owned(), (ns, Unit::Ns))));
    for (name, ns) in
        ["latency_mean", "latency_min", "latency_max"].into_iter().zip(of.latency_ns.into_iter().flatten())
    {
        measured.further.extend(Some(ns).filter(told).map(|ns| (name.to_owned(), (ns, Unit::Ns))));
    }
    if streams > 1 && protocol == "udp" && of.lost.is_some() {
        measured.warnings.push("jitter is not taken: each stream has its own, and their sum has none".to_owned());
    }
    for (name, count) in [("out_of_order", of.late), ("retransmits", last.retries)] {
        measured.counters.extend(count.map(|count| (name.to_owned(), count)));
    }
    if let Some((lost, all)) = of.lost {
        measured.counters.extend([("lost_packets".to_owned(), lost), ("packets".to_owned(), all)]);
        if all > 0 {
            measured.further.push(("lost".to_owned(), (100.0 * lost as f64 / all as f64, Unit::PerCent)));
        }
    }
    measured.further.push(("transferred".to_owned(), (of.bytes, Unit::Bytes)));
    found.add(measured)
}
