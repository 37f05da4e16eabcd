//! `nic stats NAME`: counters by group and queue, with rates.

use super::super::layout::{cut, rate};
use super::{failed, interface, source};
use crate::commands::shared::{ended, file, stop_at_signals};
use crate::trouble::{Trouble, print};
use clap::Args;
use linerate_host::adapter::{Rate, counters, rates};
use linerate_rt::{monotonic_ns, pause};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub(in super::super) struct Stats {
    /// The interface.
    #[arg(value_name = "NAME")]
    name: String,
    /// Seconds between two readings, 0.01 to 86400; 0 for one reading, without rates.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: f64,
    /// Number of tables; without an end if 0.
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: u64,
    /// Counters that are zero as well.
    #[arg(long)]
    all: bool,
    /// Print a JSON document for each table, a line each.
    #[arg(long)]
    json: bool,
    /// Read a tree that `nic record` wrote, and not this machine.
    #[arg(long, value_name = "DIR", value_parser = file)]
    from: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "that is no number".to_owned())?;
    if seconds == 0.0 || (0.01..=86_400.0).contains(&seconds) { Ok(seconds) } else { Err("out of range".to_owned()) }
}

pub(in super::super) fn stats(arguments: &Stats) -> Result<ExitCode, Trouble> {
    let stop = stop_at_signals()?;
    let mut source = source(arguments.from.as_deref())?;
    let found = interface(&mut *source, &arguments.name)?;
    let gone = |absent: linerate_host::Absent| {
        if absent.is_gone() {
            Trouble::failed(format!("{}: it is gone; see 'linerate nic list'", arguments.name))
        } else {
            failed(&arguments.name, &absent)
        }
    };
    let (mut before, mut at) = (counters(&mut *source, &found).map_err(gone)?, monotonic_ns());
    if arguments.interval == 0.0 {
        report(arguments, &rates(&before, &before, 0.0), 0.0);
        return Ok(ExitCode::SUCCESS);
    }
    let mut shown = 0;
    while arguments.count == 0 || shown < arguments.count {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0.01 s to a day")]
        pause(&[&stop], Some(at + (arguments.interval * 1e9) as u64));
        if stop.asked() {
            break;
        }
        let (after, now) = (counters(&mut *source, &found).map_err(gone)?, monotonic_ns());
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a day")]
        let seconds = (now - at) as f64 / 1e9;
        report(arguments, &rates(&before, &after, seconds), seconds);
        (before, at) = (after, now);
        shown += 1;
    }
    Ok(ended(&stop))
}

fn report(arguments: &Stats, rates: &[Rate], seconds: f64) {
    let rows: Vec<_> = rates.iter().filter(|row| arguments.all || row.value != 0).collect();
    if arguments.json {
        let document = json!({"schema": "linerate.nic.stats", "version": 1, "interface": arguments.name, "seconds": seconds, "counters": rows});
        return print(&format!("{document}\n"));
    }
    let mut text = if seconds > 0.0 {
        format!("{}: {} counters, rates over {seconds:.2} s\n", arguments.name, rows.len())
    } else {
        format!("{}: {} counters\n", arguments.name, rows.len())
    };
    let mut group = "";
    for row in rows {
        if group != row.group {
            group = &row.group;
            text += &format!("{group}\n");
        }
        let change = row.rate.filter(|rate| *rate != 0.0).map(rate).unwrap_or_default();
        text += format!("\t{:36}{:>20}{change:>16}", cut(&row.name, 35), row.value).trim_end();
        text += "\n";
    }
    print(&text);
}
