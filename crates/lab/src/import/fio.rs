//! fio's JSON (`--output-format=json`, `json+`): a test for each job and direction that did something. Of several machines
//! (`--client`) the name of its host is a parameter of each, and their sum (`All clients`) a test of its own, within their time. What
//! fio prints for people is rounded: it is not read, and named unless it tells of a document's run.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use linerate_result::{Latency, LatencyUnit, Number, Parameter, Unit, parameters};
use serde_json::Value;

use super::found::{Found, Line, Measured, Ran};
use super::told::Told;
use super::{Import, Read, Wrong, fio_terse, json, lines, shown};

pub(super) const IMPORT: Import =
    Import { name: "fio", about: "fio --output-format=json (or json+)", looks, read: Read::Foreign(read) };

/// Error of times that are told in seconds, milliseconds.
const SLACK: u64 = 1500;

fn looks(text: &str) -> bool {
    json::opening(text).is_some() && text.contains("\"fio version\"")
        || text.contains(": (groupid=") && !fio_terse::looks(text)
}

/// Options of a job that are its parameters; others do not make two jobs differ.
const OPTIONS: &str =
    "rw readwrite bs blocksize iodepth ioengine direct numjobs size rwmixread runtime fsync rate rate_iops offset";

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    if let Some(line) =
        lines(text).find(|line| line.text.contains(": (groupid=")).filter(|_| json::opening(text).is_none())
    {
        return Err(line.wrong("fio's output for people, which is rounded; give that of --output-format=json"));
    }
    let mut before: Option<(Vec<String>, u64, usize)> = None;
    let mut people = Vec::new();
    let (mut told, mut tolds) = (Told::default(), BTreeMap::new());
    let (mut documents, cut) = json::between(text, |line| match line {
        Some(line) if for_people(line.text) || fio_terse::fields(line.text).is_some() => {
            people.extend(Some(line).filter(is_job));
        }
        Some(line) => {
            told.line(line);
            tolds.insert(line.number, told.clone());
        }
        None => told.result(),
    })?;
    // What it prints beside its document (`--output-format=normal,json`) has the document's time.
    let times: Vec<String> = documents.iter().filter_map(|(document, _)| json::text(document, &["time"])).collect();
    people.retain(|line| !times.iter().any(|time| line.text.ends_with(time.as_str())));
    of_people(&people, found);
    if let Some(cut) = cut {
        found.pass(cut);
        // One before it may be a status of the same run.
        let apart =
            documents.last().and_then(|(last, _)| Some(begun_cut(text, documents.len())? + SLACK >= written(last)?));
        if apart != Some(true)
            && let Some((_, line)) = documents.pop()
        {
            let why = "a document that may be a status of the one behind it, which is cut".to_owned();
            found.pass(Wrong { line: Some(line), why });
        }
    }
    for (document, line) in documents {
        let told = tolds.range(..line).next_back().map(|(_, told)| told.clone()).unwrap_or_default();
        let jobs = ["jobs", "client_stats"].iter().find_map(|name| document.get(*name)?.as_array());
        let jobs =
            jobs.ok_or_else(|| Wrong { line: Some(line), why: "no document of fio: it has no jobs".to_owned() })?;
        let began = began(&document, jobs);
        if found.is_empty() {
            found.start = began.and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms))).map(Into::into);
        }
        let names = jobs.iter().filter_map(|job| json::text(job, &["jobname"])).collect();
        if let (Some((others, written, first)), Some(began)) = (&before, began)
            && *others == names
            && began.saturating_add(SLACK) < *written
        {
            let why = format!(
                "it began before the document of line {first} was written, as what --status-interval writes does: \
                 the last of them has the whole; import it alone"
            );
            return Err(Wrong { line: Some(line), why });
        }
        before = written(&document).map(|written| (names, written, line));
        let mut ran = Ran::After;
        for (at, job) in jobs.iter().enumerate() {
            let mut any = false;
            // Jobs run at once but for those that wait for the ones before them.
            if waits(job) {
                ran = Ran::After;
            }
            if is_sum(job) {
                ran = Ran::Within;
            }
            for way in WAYS {
                // The sum of one is the same test.
                let acts = |other: &&Value| !is_sum(other) && acts(other, way);
                if is_sum(job) && jobs.iter().filter(acts).count() < 2 {
                    any = true;
                    continue;
                }
                if let Some(mut measured) = direction(&document, job, way, line) {
                    measured.told.also(&told);
                    // Jobs of one name run at once.
                    measured.told.set("place", &at.to_string());
                    measured.ran = ran;
                    ran = if ran == Ran::After { Ran::Beside } else { ran };
                    found.add(measured)?;
                    any = true;
                }
            }
            // Where jobs are reported as a group, the others of it have no name.
            if !any && job.get("jobname").is_some() {
                found.add(Measured {
                    failures: vec!["the job did nothing".to_owned()],
                    ..of_job(&document, job, "job", line)
                })?;
            }
        }
    }
    Ok(())
}

/// True for a line of fio's output for people (`--output-format=normal,json`).
pub(super) fn for_people(line: &str) -> bool {
    const BEGINS: &str = "fio-;Starting ;Run status group;Disk stats;Jobs: ;read;write;trim;mixed;slat;clat;\
        lat ;lat(;bw ;iops ;cpu ;IO depths;submit ;complete ;issued ;latency ;READ: ;WRITE: ;|;...";
    BEGINS.split(';').any(|begin| line.starts_with(begin))
        || ["(g=", "(groupid=", "Laying out IO file", "ios=", "aggrios="].iter().any(|part| line.contains(part))
}

/// True for the line that begins a job's figures for people.
pub(super) fn is_job(line: &Line<'_>) -> bool {
    line.text.contains(": (groupid=") && !line.text.starts_with("All clients: ")
}

/// Names jobs of which only the output for people is there.
pub(super) fn of_people(jobs: &[Line<'_>], found: &mut Found) {
    if let Some(first) = jobs.first() {
        let what = "fio's output for people, which is rounded; give that of --output-format=json";
        found.pass(first.wrong(&format!("{} jobs in {what}", jobs.len())));
    }
}

/// The time at which the jobs of a document that is cut began, milliseconds, if that part is whole.
fn begun_cut(text: &str, before: usize) -> Option<u64> {
    let cut = text.split("\"fio version\"").nth(before + 1)?;
    let of = |name: &str| cut.split_once(name)?.1.trim_start_matches([' ', ':']).split_once(',')?.0.parse::<u64>().ok();
    of("\"timestamp\"")?.checked_sub(of("\"elapsed\"")?)?.checked_mul(1000)
}

/// The time at which a document was written, milliseconds.
fn written(document: &Value) -> Option<u64> {
    let count = |name: &str| document.get(name).and_then(Value::as_u64);
    count("timestamp_ms").or_else(|| count("timestamp")?.checked_mul(1000))
}

/// The time at which the jobs began. Versions before 3.30 tell how long they took, in whole seconds, until it was written; where
/// they do not, it is at least the time of the jobs, one behind the other where one waits.
fn began(document: &Value, jobs: &[Value]) -> Option<u64> {
    let began = jobs.iter().filter_map(|job| job.get("job_start")?.as_u64()).min();
    began.or_else(|| {
        let elapsed = jobs.iter().filter_map(|job| job.get("elapsed")?.as_u64()).max().unwrap_or(0);
        let (mut before, mut longest) = (0_u64, 0);
        for job in jobs.iter().filter(|job| !is_sum(job)) {
            if waits(job) {
                (before, longest) = (before.saturating_add(longest), 0);
            }
            let ran = |way: &&str| json::at(job, &[way, "runtime"])?.as_u64();
            longest = WAYS.iter().filter_map(ran).max().unwrap_or(0).max(longest);
        }
        written(document)?.checked_sub(elapsed.saturating_mul(1000).max(before.saturating_add(longest)))
    })
}

/// Directions, and that of both together (`--unified_rw_reporting`).
const WAYS: [&str; 4] = ["read", "write", "trim", "mixed"];

/// True of a job that waits for those before it.
fn waits(job: &Value) -> bool {
    job.get("job options").is_some_and(|options| options.get("stonewall").is_some())
}

/// True of the sum over all machines.
fn is_sum(job: &Value) -> bool {
    job.get("hostname").is_some() && job.get("jobname").and_then(Value::as_str) == Some("All clients")
}

fn of_job(document: &Value, job: &Value, way: &str, line: usize) -> Measured {
    let name = json::text(job, &["jobname"]).unwrap_or_else(|| "job".to_owned());
    let option = |name: &str| {
        let of = |of: &Value, from: &str| json::text(of, &[from, name]);
        of(job, "job options").or_else(|| of(document, "global options"))
    };
    let mut measured = Measured {
        line,
        id: format!("{name}-{way}"),
        title: format!("{name}, {way}"),
        workload: "fio".to_owned(),
        parameters: parameters([("job", Parameter::from(name)), ("direction", way.into())]),
        ..Measured::default()
    };
    if let Some(host) = json::text(job, &["hostname"]) {
        measured.parameters.insert("host".to_owned(), if is_sum(job) { "all".into() } else { host.into() });
    }
    // Those that are no parameter are conditions all the same.
    for options in [document.get("global options"), job.get("job options")].into_iter().flatten() {
        for (name, value) in options.as_object().into_iter().flatten() {
            measured.told.set(name, value.as_str().unwrap_or_default());
        }
    }
    for known in OPTIONS.split(' ') {
        if let Some(value) = option(known) {
            let value = value.parse::<u64>().map_or_else(|_| shown(&value, 100).into(), Parameter::from);
            measured.parameters.insert(known.to_owned(), value);
        }
    }
    measured.ports.extend(option("filename").or_else(|| option("directory")));
    if let Some(error) = job.get("error").and_then(Value::as_i64).filter(|error| *error != 0) {
        measured.failures.push(format!("error {error}"));
    }
    measured
}

/// True if a job did something that way.
fn acts(job: &Value, way: &str) -> bool {
    let count = |name: &str| json::at(job, &[way, name])?.as_u64();
    job.get(way).is_some() && count("total_ios").or_else(|| count("io_bytes")) != Some(0)
}

fn direction(document: &Value, job: &Value, way: &str, line: usize) -> Option<Measured> {
    let part = job.get(way).filter(|_| acts(job, way))?;
    let count = |name: &str| part.get(name).and_then(Value::as_u64);
    let number = |name: &str| json::number(part, &[name]);
    let iops = number("iops")?;
    let mut measured = Measured {
        value: Some((iops, Unit::Iops)),
        seconds: number("runtime").map(|ms| ms / 1000.0),
        latency: latency(part),
        ..of_job(document, job, way, line)
    };
    // Before version 3 only KiB are written.
    let throughput = number("bw_bytes").or_else(|| number("bw").map(|kib| kib * 1024.0));
    measured.further.extend(throughput.map(|rate| ("throughput".to_owned(), (rate, Unit::BytesPerSecond))));
    for (name, field) in [("cpu_user", "usr_cpu"), ("cpu_system", "sys_cpu")] {
        measured.further.extend(json::number(job, &[field]).map(|share| (name.to_owned(), (share, Unit::PerCent))));
    }
    for (name, field) in
        [("bytes", "io_bytes"), ("requests", "total_ios"), ("short", "short_ios"), ("dropped", "drop_ios")]
    {
        measured.counters.extend(count(field).map(|count| (name.to_owned(), count)));
    }
    Some(measured)
}

/// The distribution of the whole latency if it has quantiles, otherwise that of the completion.
fn latency(part: &Value) -> Option<Latency> {
    let kinds = [("lat_ns", 1.0), ("clat_ns", 1.0), ("lat", 1e3), ("clat", 1e3)];
    let (block, scale) = kinds.iter().find_map(|(name, scale)| {
        let block = part.get(*name)?;
        block.get("percentile").is_some().then_some((block, scale))
    })?;
    let of = |path: &[&str]| Number::from(json::number(block, path).map(|value| value * scale));
    let quantile = |name: &str| of(&["percentile", name]);
    let count = block.get("N").and_then(Value::as_u64).or_else(|| part.get("total_ios")?.as_u64())?;
    Some(Latency {
        count,
        unit: LatencyUnit::Nanoseconds,
        min: of(&["min"]),
        p50: quantile("50.000000"),
        p90: quantile("90.000000"),
        p99: quantile("99.000000"),
        p99_9: quantile("99.900000"),
        p99_99: quantile("99.990000"),
        max: of(&["max"]),
        mean: of(&["mean"]),
    })
}
