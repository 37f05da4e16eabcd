//! iperf3's JSON (`-J`, `--json-stream`), one document or several behind each other. The figure is what the receiver counted; what the
//! sender counted is beside it. A server that sends does not hear what its client received: the figure is its own then, with
//! a warning.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use linerate_result::{Parameters, Role, Sample, Unit, parameters};
use serde_json::{Value, json};

use super::found::{Found, Line, Measured, Ran, Seen};
use super::told::Told;
use super::{Import, Read, Wrong, iperf3_text, json, lines, shown, units};

pub(super) const IMPORT: Import = Import {
    name: "iperf3",
    about: "iperf3 -J or --json-stream: one test or several",
    looks,
    read: Read::Foreign(read),
};

fn looks(text: &str) -> bool {
    json::opening(text).is_some()
        && text.contains("\"start\"")
        && (text.contains("\"intervals\"") || text.contains("\"event\""))
        || text.contains("\"event\"") && text.contains("\"error\"") && json::opening(text).is_some()
}

/// One direction of a test: the names of its sums.
struct Half {
    sent: &'static str,
    received: &'static str,
    interval: &'static str,
}

const PLAIN: Half = Half { sent: "sum_sent", received: "sum_received", interval: "sum" };
const BACK: Half =
    Half { sent: "sum_sent_bidir_reverse", received: "sum_received_bidir_reverse", interval: "sum_bidir_reverse" };

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let (mut told, mut tolds) = (Told::default(), BTreeMap::new());
    let mut failures = Vec::new();
    let (documents, cut) = json::between(text, |line| match line {
        Some(Line { text, number, .. }) if text.starts_with("iperf3: ") => {
            let why = text["iperf3: ".len()..].to_owned();
            let fails = iperf3_text::FAILS.iter().any(|begin| why.starts_with(begin));
            let why = why.strip_prefix("error - ").unwrap_or(&why);
            failures.extend(Some(format!("line {number}: {why}")).filter(|_| fails));
        }
        Some(line) => {
            told.line(line);
            tolds.insert(line.number, told.clone());
        }
        None => told.result(),
    })?;
    cut.into_iter().for_each(|cut| found.pass(cut));
    found.failures.extend(failures.into_iter().take(16));
    let is_error = |line: &Line<'_>| line.text.contains("\"error\"");
    let errors: Vec<usize> = lines(text).filter(is_error).map(|line| line.number).collect();
    for (document, line) in joined(documents, found)? {
        let told = tolds.range(..line).next_back().map(|(_, told)| told.clone()).unwrap_or_default();
        if document.get("start").is_none() || document.get("end").is_none() {
            return Err(Wrong { line: Some(line), why: "no document of iperf3: it has no start or no end".to_owned() });
        }
        // A server that waited for the next test.
        let waited = json::text(&document, &["error"]).is_some_and(|why| why.starts_with("interrupt - the server"));
        let ends = json::at(&document, &["start", "connected"]).and_then(Value::as_array);
        if waited && ends.is_none_or(Vec::is_empty) {
            continue;
        }
        agrees(&document).map_err(|why| Wrong { line: Some(line), why })?;
        about(&document, found);
        let cookie = json::text(&document, &["start", "cookie"]).filter(|cookie| !cookie.is_empty());
        if let Some(cookie) = &cookie {
            // Who writes documents by hand may give tests of two kinds one cookie.
            let protocol = protocol(&document).unwrap_or_default();
            let of = |path: [&str; 3]| json::at(&document, &path).map(Value::to_string);
            let times = [["start", "timestamp", "timesecs"], ["start", "test_start", "num_streams"]].map(of);
            let serves = json::at(&document, &["start", "accepted_connection"]).is_some();
            let seen = Seen { cookie: Some(cookie.clone()), serves, start: format!("{times:?}") };
            found.once(format!("{cookie} {protocol}"), seen, line)?;
        }
        let failed = errors.get(errors.partition_point(|error| *error < line)).copied().unwrap_or(line);
        found.add(measured(&document, &PLAIN, [line, failed], told.clone()))?;
        if json::at(&document, &["end", BACK.sent]).is_some() {
            found.add(Measured { ran: Ran::Beside, ..measured(&document, &BACK, [line, failed], told) })?;
        }
    }
    Ok(())
}

/// A document, and its first line.
type Document = (Value, usize);

/// Documents, with those that came as events (`--json-stream`) put together. A document behind its own events (as
/// `--json-stream-full-output` writes) stands for them.
fn joined(all: Vec<Document>, found: &mut Found) -> Result<Vec<Document>, Wrong> {
    let (mut joined, mut open): (Vec<Document>, Option<Document>) = (Vec::new(), None);
    let unended = |line: usize| Wrong {
        line: Some(line),
        why: "events of a test without its end; give what --json-stream prints, whole".to_owned(),
    };
    let cookie = |document: &Value| json::text(document, &["start", "cookie"]);
    for (mut document, line) in all {
        let Some(event) = json::text(&document, &["event"]) else {
            if let Some((_, line)) = &open {
                return Err(unended(*line));
            }
            let known =
                joined.last().is_some_and(|(last, _)| cookie(last).is_some() && cookie(last) == cookie(&document));
            if known && joined.last().is_some_and(|(last, _)| last.get("of_events").is_some()) {
                joined.pop();
            }
            joined.push((document, line));
            continue;
        };
        let data = document.get_mut("data").map(Value::take).unwrap_or_default();
        if event == "start" {
            if let Some((_, line)) = open.replace((json!({"start": data, "intervals": [], "of_events": true}), line)) {
                return Err(unended(line));
            }
            continue;
        }
        // What failed before anything was connected has no start.
        let (whole, first) =
            open.get_or_insert_with(|| (json!({"start": {}, "intervals": [], "of_events": true}), line));
        match event.as_str() {
            "interval" => whole["intervals"].as_array_mut().into_iter().for_each(|list| list.push(data.clone())),
            "end" => {
                whole["end"] = data;
                joined.push((whole.take(), *first));
                open = None;
            }
            name => whole[name] = data,
        }
    }
    match open {
        // An error may be the last event.
        Some((mut whole, line)) if whole.get("error").is_some() => {
            whole["end"] = json!({});
            joined.push((whole, line));
        }
        // The last one: those before it are whole.
        Some((_, line)) => found.pass(unended(line)),
        None => {}
    }
    Ok(joined)
}

/// Refuses sums and numbers of streams that contradict each other.
fn agrees(document: &Value) -> Result<(), String> {
    let back = json::at(document, &["end", BACK.sent]).is_some();
    for name in [PLAIN.sent, PLAIN.received, BACK.sent, BACK.received, "sum"] {
        let number = |field: &str| json::number(document, &["end", name, field]);
        if let (Some(bytes), Some(seconds), Some(rate)) = (number("bytes"), number("seconds"), number("bits_per_second"))
            // What an end does not know is written as nought.
            && rate != 0.0
            && !units::agree(8.0 * bytes, 0.0, seconds, 0.0, rate, 1.0)
        {
            return Err(format!("{name}: bytes and seconds that are not its bits_per_second"));
        }
    }
    let streams = json::at(document, &["start", "test_start", "num_streams"]).and_then(Value::as_u64);
    let present = json::at(document, &["end", "streams"]).and_then(Value::as_array).map(|all| all.len() as u64);
    if let (Some(streams), Some(present), None) = (streams, present.filter(|n| *n > 0), document.get("error"))
        && streams.saturating_mul(1 + u64::from(back)) != present
    {
        return Err(format!("num_streams is {streams}, but the end has {present} streams"));
    }
    Ok(())
}

/// Start and machine, as the document tells them, and the first one the start of the run.
fn about(document: &Value, found: &mut Found) {
    let seconds = json::at(document, &["start", "timestamp", "timesecs"]).and_then(Value::as_u64);
    let time = seconds.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    found.start = found.start.or(time.map(Into::into));
    if !found.is_empty() {
        return;
    }
    // As `uname -a`: system, host, release.
    let system = json::text(document, &["start", "system_info"]).unwrap_or_default();
    if let [system, host, release, ..] = system.split_whitespace().collect::<Vec<_>>()[..] {
        found.environment.host = Some(host.to_owned());
        found.environment.kernel = Some(format!("{system} {release}"));
    }
}

/// Name of the protocol; `None` in a document of a test that did not begin.
fn protocol(document: &Value) -> Option<String> {
    json::text(document, &["start", "test_start", "protocol"])
}

/// The finding of a direction of a document that begins at the first line and tells its error at the second.
fn measured(document: &Value, half: &Half, [line, failed_at]: [usize; 2], told: Told) -> Measured {
    let start = |name: &str| json::at(document, &["start", "test_start", name]);
    let count = |name: &str| start(name).and_then(Value::as_u64);
    let protocol = protocol(document);
    let protocol = protocol.as_deref();
    let reverse = (count("reverse") == Some(1)) != (half.sent == BACK.sent);
    let streams = count("num_streams");
    let serves = json::at(document, &["start", "accepted_connection"]).is_some();
    let mut measured = Measured { line, told, ..named(protocol, streams, reverse, serves) };
    measured.parameters.extend(settings(&start));
    conditions(document, &mut measured.told);
    if json::at(document, &["end", BACK.sent]).is_some() {
        measured.parameters.insert("bidir".to_owned(), true.into());
        measured.told.set("bidir", "true");
    }
    let error = json::text(document, &["error"]);
    let error = error.as_deref().map(|why| why.strip_prefix("error - ").unwrap_or(why));
    measured.failures.extend(error.map(|why| format!("line {failed_at}: {why}")));
    let ends = json::at(document, &["start", "connected"]).and_then(Value::as_array);
    for end in ends.into_iter().flatten() {
        if let (Some(host), Some(port)) = (json::text(end, &["remote_host"]), json::number(end, &["remote_port"])) {
            measured.ports.push(format!("{host}:{port}"));
        }
    }
    let sum = |name: &str, field: &str| json::number(document, &["end", name, field]);
    // What this end did not count, and was not told, is written as nought.
    let (failed, whole) = (error.is_some(), !error.is_some_and(broken));
    let sends = serves == reverse;
    let rate =
        |name, known: bool| sum(name, "bits_per_second").filter(|rate| whole && (known && !failed || *rate > 0.0));
    let (knows_sent, knows_received) = (sends || !serves, !sends || !serves);
    let (sent, received) = (rate(half.sent, knows_sent), rate(half.received, knows_received));
    // Older versions have one sum of datagrams.
    let value = received.or(sent).or_else(|| rate("sum", true));
    if received.is_none() && value.is_some() {
        only_sent(&mut measured);
    }
    measured.value = value.map(|rate| (rate, Unit::BitsPerSecond));
    // Of the sum that has the figure.
    let of_figure = [received.map(|_| half.received), sent.map(|_| half.sent), Some("sum"), Some(half.sent)];
    measured.seconds = of_figure.into_iter().flatten().find_map(|name| sum(name, "seconds"));
    let mut further = |name: &str, value: Option<f64>, unit: Unit| {
        measured.further.extend(value.map(|value| (name.to_owned(), (value, unit))));
    };
    further("sent", sent, Unit::BitsPerSecond);
    let heard = knows_received && (received.is_some() || !failed);
    let of_receiver = |field| sum(half.received, field).or_else(|| sum("sum", field)).filter(|_| heard);
    if protocol == Some("UDP") {
        further("jitter", of_receiver("jitter_ms").map(|ms| ms * 1e6), Unit::Ns);
        further("lost", of_receiver("lost_percent"), Unit::PerCent);
    }
    let (own, other) = if serves { ("cpu_server", "cpu_client") } else { ("cpu_client", "cpu_server") };
    // A server writes nought for the client's, of which it does not hear, as a client whose test has failed for the server's.
    for (name, field, known) in [(own, "host_total", true), (other, "remote_total", !serves && !failed)] {
        let share = json::number(document, &["end", "cpu_utilization_percent", field]);
        further(name, share.filter(|_| known), Unit::PerCent);
    }
    let mut counted = |name: &str, known: bool, of: &str, field: &str| {
        let value = json::at(document, &["end", of, field]).and_then(Value::as_u64).filter(|_| known);
        measured.counters.extend(value.map(|count| (name.to_owned(), count)));
    };
    counted("sent_bytes", knows_sent, half.sent, "bytes");
    counted("received_bytes", heard, half.received, "bytes");
    counted("retransmits", knows_sent, half.sent, "retransmits");
    if protocol == Some("UDP") {
        counted("packets", knows_sent, half.sent, "packets");
        counted("lost_packets", heard, half.received, "lost_packets");
        if heard && half.sent == PLAIN.sent {
            measured.counters.extend(late(document).map(|count| ("out_of_order".to_owned(), count)));
        }
    }
    let intervals = document.get("intervals").and_then(Value::as_array);
    let sample = |interval: &Value| {
        let sum = interval.get(half.interval)?;
        let omitted = sum.get("omitted").and_then(Value::as_bool) == Some(true);
        let (t, value) = (json::number(sum, &["end"])?, json::number(sum, &["bits_per_second"])?);
        (!omitted).then(|| Sample { t_s: t.into(), value: value.into() })
    };
    // What this end sends of datagrams is not what arrives.
    if protocol != Some("UDP") || !sends || received.is_none() {
        measured.samples = intervals.into_iter().flatten().filter_map(sample).collect();
        measured.samples_of = Some(if sends { Role::Tx } else { Role::Rx });
        measured.unit = Some(Unit::BitsPerSecond);
    }
    if measured.value.is_none() && measured.failures.is_empty() {
        measured.failures.push("the document has no rate".to_owned());
    }
    measured
}

/// Datagrams that came out of order, of all streams of a test of one direction; `None` if one of them does not tell it.
fn late(document: &Value) -> Option<u64> {
    let streams = json::at(document, &["end", "streams"])?.as_array().filter(|streams| !streams.is_empty())?;
    let both = json::at(document, &["end", BACK.sent]).is_some();
    let late = |stream: &Value| json::at(stream, &["udp", "out_of_order"])?.as_u64();
    streams.iter().map(late).try_fold(0, |all: u64, late| Some(all.saturating_add(late?))).filter(|_| !both)
}

/// A finding of a direction, by the key that document and text have in common. `serves` is true of a server's view.
/// Without a protocol it is one that did not begin, whose direction is not told either.
pub(super) fn named(protocol: Option<&str>, streams: Option<u64>, reverse: bool, serves: bool) -> Measured {
    let known = protocol.map(str::to_ascii_lowercase);
    let name = known.clone().unwrap_or_else(|| "iperf3".to_owned());
    let protocol = protocol.unwrap_or("iperf3");
    let way = reverse.then(|| "reverse".to_owned());
    let side = serves.then(|| "server".to_owned());
    let parts = [Some(name.clone()), streams.map(|n| format!("{n}s")), way, side].into_iter().flatten();
    let way = if reverse { ", server to client" } else { "" };
    let many = streams.filter(|n| *n != 1).map_or_else(String::new, |n| format!(", {n} streams"));
    let mut measured = Measured {
        id: parts.collect::<Vec<_>>().join("-"),
        title: format!("{protocol}{many}{way}{}", if serves { ", as the server counts" } else { "" }),
        workload: known.as_ref().map_or_else(|| name.clone(), |known| format!("iperf3-{known}")),
        parameters: parameters([("side", if serves { "server" } else { "client" }.into())]),
        ..Measured::default()
    };
    if known.is_some() {
        measured.parameters.extend(parameters([("protocol", shown(protocol, 20).into()), ("reverse", reverse.into())]));
    }
    measured.parameters.extend(streams.map(|streams| ("streams".to_owned(), streams.into())));
    measured
}

/// True for a failure behind which iperf3 divides by a time that is not the test's. Who interrupts his own end has the right one.
pub(super) fn broken(why: &str) -> bool {
    !why.starts_with("interrupt - ")
}

/// Says that the figure of a finding is that of the sender.
pub(super) fn only_sent(measured: &mut Measured) {
    measured.parameters.insert("figure".to_owned(), "sent".into());
    measured.warnings.push(ONLY_SENT.to_owned());
}

/// Warning of a view that has no figure of the receiver.
const ONLY_SENT: &str = "the document does not tell what arrived: the figure is what was sent";

/// What a document tells of its test: all settings of its start, the peer, sizes of segments and buffers, congestion control.
fn conditions(document: &Value, told: &mut Told) {
    let mut set = |name: &str, value: &Value| told.set(name, value.to_string().trim_matches('"'));
    let all = json::at(document, &["start", "test_start"]).and_then(Value::as_object).into_iter().flatten();
    // What is off is nought in some versions, and nothing in others; how often is reported changes nothing.
    all.filter(|(name, value)| value.as_f64() != Some(0.0) && *name != "interval")
        .for_each(|(name, value)| set(name, value));
    for path in [
        ["start", "connecting_to", "host"].as_slice(),
        &["start", "accepted_connection", "host"],
        &["start", "sock_bufsize"],
        &["start", "tcp_mss"],
        &["start", "tcp_mss_default"],
        &["end", "sender_tcp_congestion"],
        &["end", "receiver_tcp_congestion"],
    ] {
        if let Some(value) = json::at(document, path) {
            set(path[path.len() - 1], value);
        }
    }
}

fn settings<'a>(start: &dyn Fn(&str) -> Option<&'a Value>) -> Parameters {
    let mut all = Parameters::new();
    for (name, ours) in [
        ("blksize", "block_bytes"),
        ("omit", "omit_s"),
        ("duration", "duration_s"),
        ("bytes", "limit_bytes"),
        ("tos", "tos"),
        ("target_bitrate", "rate_bit_s"),
    ] {
        // No limit is written as nought.
        let limits = matches!(name, "bytes" | "target_bitrate");
        if let Some(value) = start(name).and_then(Value::as_u64).filter(|value| !limits || *value > 0) {
            all.insert(ours.to_owned(), value.into());
        }
    }
    all
}
