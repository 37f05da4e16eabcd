//! Runs of linerate's own programs that write other programs' logs: what these write, read as any other log.

use super::found::{CALLED_TCP, OF_FILE};
use super::netperf::UNREAD;
use super::{IMPORTS, ImportError, read};
use crate::environment;
use crate::run::run_id;
use linerate_load::Over;
use linerate_result::{Outcome, RunResult, Timestamp};
use std::time::{Duration, SystemTime};

/// Begin of what iperf3's document tells of an end by a signal.
const INTERRUPT: &str = "interrupt - ";

/// The run of a test that has just ended. `path` is where its data went: a port, or the kernel's sockets.
///
/// # Errors
/// [`ImportError`] of the record that has no figures.
pub fn own(over: Over<'_>, command: &[String], path: &str) -> Result<RunResult, ImportError> {
    let mut whole: Option<RunResult> = None;
    // A record for each direction: both were tested at once.
    let both = over.records.iter().any(|record| record.reverse) && over.records.iter().any(|record| !record.reverse);
    for record in over.records {
        let format = IMPORTS.iter().find(|row| row.name == record.format);
        for mut part in read("the record of the test", &record.text, format, Timestamp::now(), command)? {
            for test in &mut part.tests {
                // Of all that the record could tell, the run has what is measured.
                let unread = |told: &String| {
                    [OF_FILE, CALLED_TCP].iter().any(|end| told.ends_with(end)) || told.starts_with(UNREAD)
                };
                test.warnings.retain(|told| !unread(told));
                test.ports.iter_mut().for_each(|port| path.clone_into(&mut port.path));
                if both {
                    test.parameters.insert("bidir".to_owned(), true.into());
                }
                let reverse = record.reverse || test.parameters.get("reverse") == Some(&true.into());
                let connections = record.connections.iter().filter(|(way, _)| *way == reverse);
                test.connections = connections.map(|(_, connection)| *connection).collect();
                test.warnings.extend(record.warnings.iter().cloned());
                if record.reverse {
                    test.id += "-reverse";
                    test.title += ", server to client";
                    test.parameters.insert("reverse".to_owned(), true.into());
                }
            }
            match &mut whole {
                Some(whole) => whole.tests.extend(part.tests),
                None => whole = Some(part),
            }
        }
    }
    let nothing = ImportError::Nothing { name: "the record of the test".to_owned(), format: "a test".to_owned() };
    let mut whole = whole.ok_or(nothing)?;
    whole.signal = over.signal;
    if let Some(first) = whole.tests.first_mut() {
        first.failures.extend(over.fault.map(str::to_owned));
    }
    for test in &mut whole.tests {
        // Who tests has no log whose lines have numbers.
        for told in &mut test.failures {
            let behind = told.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
            if let Some((_, why)) = behind.filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit())) {
                *told = why.to_owned();
            }
        }
        // Who ends a test early measures less of it: that is no failure.
        test.failures.retain(|told| over.signal.is_none() || !told.starts_with(INTERRUPT));
    }
    whole.reasons = whole.failures().collect();
    whole.outcome = match (whole.reasons.is_empty(), over.signal) {
        (false, _) => Outcome::Failed,
        (true, Some(_)) => Outcome::Partial,
        (true, None) => Outcome::Pass,
    };
    let took = Duration::try_from_secs_f64(whole.elapsed_s.known().unwrap_or(0.0)).unwrap_or_default();
    whole.start = SystemTime::now().checked_sub(took).map_or_else(Timestamp::now, Into::into);
    whole.run_id = run_id();
    whole.environment = environment::read(&[]);
    Ok(whole)
}
