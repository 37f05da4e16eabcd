//! `nic stats NAME`: counters by group and queue, with rates.

use super::super::layout::{Layout, cut, rate};
use super::{failed, freebsd, interface, source};
use crate::commands::shared::{ended, file, stop_at_signals};
use crate::print::print_told;
use crate::trouble::Trouble;
use clap::Args;
use linerate_host::adapter::{Counters, Rate, counters, rates};
use linerate_rt::{monotonic_ns, pause};
use serde_json::{Map, Value, json};
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
    if freebsd::texts(arguments.from.as_deref())?.is_some() {
        let mend = "see its counters in 'linerate nic show NAME --from DIR'";
        return Err(Trouble::usage(format!("--from: that is a tree of a FreeBSD host; {mend}")));
    }
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
        report(arguments, &rates(&before.groups, &before.groups, 0.0), 0.0, &before);
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
        report(arguments, &rates(&before.groups, &after.groups, seconds), seconds, &after);
        (before, at) = (after, now);
        shown += 1;
    }
    Ok(ended(&stop))
}

fn report(arguments: &Stats, rates: &[Rate], seconds: f64, read: &Counters) {
    let mut rows: Vec<_> = rates.iter().filter(|row| arguments.all || row.value != 0).collect();
    if arguments.json {
        let absent: Map<String, Value> =
            read.absent.iter().map(|(name, why)| ((*name).to_owned(), json!(why.why))).collect();
        let document = json!({"schema": "linerate.nic.stats", "version": 1, "interface": arguments.name,
            "seconds": seconds, "counters": rows, "absent": absent});
        return print_told(&format!("{document}\n"), true);
    }
    let over = if seconds > 0.0 { format!(", rates over {seconds:.2} s") } else { String::new() };
    let mut text = format!("{}: {}{over}\n", arguments.name, linerate_text::many(rows.len(), "counter"));
    // The driver's counters of a queue together, behind those of all.
    let heading = |row: &Rate| match queue_of(&row.name).filter(|_| row.group == "driver") {
        Some(queue) => format!("driver, queue {queue}"),
        None => row.group.clone(),
    };
    rows.sort_by_key(|row| (row.group == "driver").then(|| order(&row.name)));
    let mut group = String::new();
    for row in rows {
        let now = heading(row);
        if group != now {
            text += &format!("{now}\n");
            group = now;
        }
        let change = row.rate.filter(|rate| *rate != 0.0).map(rate).unwrap_or_default();
        text += format!("\t{:36}{:>20}{change:>16}", cut(&row.name, 35), row.value).trim_end();
        text += "\n";
    }
    if arguments.all {
        let mut out = Layout::default();
        out.group("not told");
        read.absent.iter().for_each(|(name, why)| out.row(name, &why.why));
        text += &out.finish();
    }
    print_told(&text, false);
}

/// Queue that a driver's counter is of, by its name: `rx_queue_0_packets`, `tx3_bytes`, `rx-1.drops`.
fn queue_of(name: &str) -> Option<String> {
    let (way, rest) = name.split_at_checked(2)?;
    let rest = ["_queue_", "-queue-", "_", "-", ""]
        .iter()
        .find_map(|between| rest.strip_prefix(between).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    // What follows is the counter's name, not a size: `rx_64_bytes` is of no queue, `rx0_bytes` is.
    let sized = rest[digits..].starts_with("_to_")
        || digits > 3
        || ["64", "127", "128", "255", "256", "511", "512"].contains(&&rest[..digits]);
    let named = rest[digits..].starts_with(['_', '.', '-']);
    (["rx", "tx"].contains(&way) && named && !sized).then(|| format!("{way}-{}", &rest[..digits]))
}

/// Place of a driver's counter: those of no queue first, then by the queue's number.
fn order(name: &str) -> (bool, u32, String) {
    match queue_of(name) {
        Some(queue) => (true, queue[3..].parse().unwrap_or(0), queue[..2].to_owned()),
        None => (false, 0, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_queues_are_known_by_their_names() {
        for (name, queue) in [
            ("rx_queue_0_packets", Some("rx-0")),
            ("tx12_bytes", Some("tx-12")),
            ("rx-1.drops", Some("rx-1")),
            ("rx_3_csum_none", Some("rx-3")),
            ("rx_packets", None),
            ("rx_64_bytes_phy", None),
            ("rx_1024_to_1518_bytes", None),
            ("rx_65_to_127_bytes_phy", None),
            ("queue_0_tx", None),
            ("rx", None),
            ("\u{fc}", None),
        ] {
            assert_eq!(queue_of(name).as_deref(), queue, "{name}");
        }
        assert!(order("rx_bytes") < order("rx2_bytes") && order("tx2_bytes") < order("rx10_bytes"));
    }
}
