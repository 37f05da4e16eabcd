//! fio's terse lines (`--minimal`, `--output-format=terse`), versions 3 and 4: a test for each job and direction that did
//! something. Jobs of one name in lines that follow each other may be one call's, at once: they are refused.

use linerate_result::{Parameter, Unit, parameters};

use super::fio::{for_people, is_job, of_people};
use super::found::{Found, Line, Measured, Ran};
use super::told::Told;
use super::{Import, Read, Wrong, lines, shown, units};

pub(super) const IMPORT: Import = Import {
    name: "fio-terse",
    about: "fio --minimal, or --output-format=terse, of version 3 or 4",
    looks,
    read: Read::Log(read, |line| fields(line).is_some()),
};

pub(super) fn looks(text: &str) -> bool {
    !text.contains("\"fio version\"") && lines(text).any(|line| fields(line.text).is_some())
}

/// The values of a terse line: its version, that of fio, the job, …
pub(super) fn fields(line: &str) -> Option<Vec<&str>> {
    let all: Vec<&str> = line.split(';').map(str::trim).collect();
    (all.len() > 2 && all[0].parse::<u8>().is_ok() && all[1].starts_with("fio-")).then_some(all)
}

/// Places of a direction's values behind its first: bytes in KiB, KiB a second, requests a second, milliseconds, and 37 of
/// latencies and bandwidth.
const DIRECTION: usize = 41;

fn read(text: &str, found: &mut Found) -> Result<(), Wrong> {
    let (mut told, mut call): (Told, Vec<String>) = Default::default();
    let (mut people, mut names): (Vec<Line<'_>>, Vec<String>) = Default::default();
    for line in lines(text) {
        let Some(all) = fields(line.text) else {
            // Lines of others that stood between are empty.
            if line.text.is_empty() {
                continue;
            }
            people.extend(Some(line).filter(is_job));
            if !for_people(line.text) {
                told.line(line);
            }
            call.clear();
            continue;
        };
        let name = shown(all[2], 80);
        names.push(format!("{}: (groupid=", all[2]));
        let ways: &[&str] = match (all[0], all.len()) {
            ("3", 110..) => &["read", "write"],
            ("4", 150..) => &["read", "write", "trim"],
            (version, _) => {
                let why = match version {
                    "3" | "4" => "fewer values than a terse line has".to_owned(),
                    _ => format!("terse version {version}, which is not read; give --output-format=json"),
                };
                // It may have run beside those around it.
                call.push(name);
                found.pass(line.wrong(&why));
                continue;
            }
        };
        if call.contains(&name) {
            let why = "a job of the name of one before it, which may have run at once; give --output-format=json";
            return Err(line.wrong(why));
        }
        // Jobs of one call run at once, or one waits for the other: the lines do not tell.
        let mut ran = if call.is_empty() { Ran::After } else { Ran::Unknown };
        call.push(name.clone());
        let number = |at: usize, what: &str| {
            let value = all.get(at).and_then(|value| units::number(value));
            value.ok_or_else(|| line.wrong(&format!("{what} that is no number")))
        };
        let error = number(4, "an error")?;
        for (place, way) in ways.iter().enumerate() {
            let first = 5 + place * DIRECTION;
            let figure = |at: usize| number(first + at, "a figure");
            if figure(0)? == 0.0 && figure(2)? == 0.0 {
                continue;
            }
            let mut measured = direction(&name, way, [figure(0)?, figure(1)?, figure(2)?, figure(3)?], line)?;
            measured.told = told.clone();
            measured.ran = std::mem::replace(&mut ran, if call.len() == 1 { Ran::Beside } else { Ran::Unknown });
            latencies(&mut measured, &all[first + 8..first + 32]);
            let cpu = 5 + ways.len() * DIRECTION;
            for (at, name) in [(cpu, "cpu_user"), (cpu + 1, "cpu_system")] {
                let share = all.get(at).and_then(|share| units::number(share.strip_suffix('%')?));
                measured.further.extend(share.map(|share| (name.to_owned(), (share, Unit::PerCent))));
            }
            if error != 0.0 {
                measured.failures.push(format!("error {error}"));
            }
            found.add(measured)?;
        }
        told.result();
    }
    // Each job's once, as of `--output-format=normal,terse`.
    people.retain(|line| {
        names.iter().position(|name| line.text.starts_with(name)).map(|at| names.swap_remove(at)).is_none()
    });
    of_people(&people, found);
    Ok(())
}

fn direction(name: &str, way: &str, [kib, rate, iops, ms]: [f64; 4], line: Line<'_>) -> Result<Measured, Wrong> {
    // Whole KiB and milliseconds are written.
    if !units::agree(kib, 1.0, ms / 1e3, 0.002, rate, 1.0) {
        return Err(line.wrong("an amount that is not that of the rate and the time beside it"));
    }
    Ok(Measured {
        line: line.number,
        id: format!("{name}-{way}"),
        title: format!("{name}, {way}"),
        workload: "fio".to_owned(),
        parameters: parameters([("job", Parameter::from(name.to_owned())), ("direction", way.into())]),
        value: Some((iops, Unit::Iops)),
        seconds: Some(ms / 1e3),
        further: vec![("throughput".to_owned(), (rate * 1024.0, Unit::BytesPerSecond))],
        ..Measured::default()
    })
}

/// Adds the quantiles of the completion's latency, microseconds: least, greatest, mean, deviation, then `50.000000%=64`.
fn latencies(measured: &mut Measured, values: &[&str]) {
    let mut add = |name: &str, us: f64| measured.further.push((format!("clat_{name}"), (us * 1e3, Unit::Ns)));
    for (at, name) in [(0, "min"), (1, "max"), (2, "mean")] {
        // Nought is less than the last digit.
        if let Some(us) = units::number(values[at]).filter(|us| *us > 0.0) {
            add(name, us);
        }
    }
    for value in &values[4..] {
        let Some((share, us)) = value.split_once("%=") else { continue };
        let known = [("50.000000", "p50"), ("90.000000", "p90"), ("99.000000", "p99"), ("99.900000", "p99_9")];
        let us = units::number(us).filter(|us| *us > 0.0);
        if let (Some((_, name)), Some(us)) = (known.iter().find(|(known, _)| *known == share), us) {
            add(name, us);
        }
    }
}
