//! Lines of the kernel's log about the network: each line is a fault that it has seen itself.

use super::firewall::conntrack;
use super::memory::clock_source;
use super::routes::{neighbour_table, reverse_path};
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Found, HOST, Rule};
use crate::doctor::view::View;

pub(super) const RULES: &[Rule] = &[HOST.by("kernel-log", kernel_log)];

/// Rows: whether it is a warning (`!`) or a note (`.`), and the lines that are more than usual; words that all are in the line, of
/// which `/` parts those that stand for each other; the fault, and what to type.
const ROWS: &str = include_str!("../../../data/log.txt");

/// Words of a processor that is too hot: for a moment under load that is usual.
const HOT: &str = "clock throttled";

/// The clock that is held down: below half of its most while its processor is too hot.
fn held_down(view: &View<'_>) -> Option<String> {
    let number = |file| view.number::<u64>(&format!("sys/devices/system/cpu/cpu0/cpufreq/{file}")).ok();
    let (now, most) = (number("scaling_cur_freq")?, number("cpuinfo_max_freq")?);
    (now < most / 2).then(|| format!("a clock of {} MHz, at most {}", now / 1000, most / 1000))
}

type Tells = fn(&View<'_>) -> bool;

/// Rows, by their first words, whose state another rule looks at: it tells the values, and they are not told twice.
const ELSEWHERE: &[(&str, Tells)] = &[
    ("conntrack: table full", |view| conntrack(view).is_ok_and(|found| !found.is_empty())),
    ("table overflow!", |view| neighbour_table(view).is_ok_and(|found| !found.is_empty())),
    ("martian source", |view| reverse_path(view).is_ok_and(|found| !found.is_empty())),
    ("order:", |view| !view.logged(&["page allocation failure", "order:0"]).is_empty()),
    ("Marking", |view| clock_source(view).is_ok_and(|found| !found.is_empty())),
    ("duplicate address", |view| view.network.addresses.iter().flatten().any(|one| one.states.contains(&"dadfailed"))),
];

fn kernel_log(view: &View<'_>) -> Found {
    view.file("var/log/dmesg")?;
    let told = |words: &str| ELSEWHERE.iter().any(|(first, tells)| words.starts_with(first) && tells(view));
    let found = ROWS.lines().filter_map(|row| {
        let mut parts = row[2..].split(" | ");
        let (words, what, mend) = (parts.next()?, parts.next()?, parts.next()?);
        let lines = view.logged(&words.split(" & ").collect::<Vec<_>>());
        if lines.is_empty() || told(words) {
            return None;
        }
        let grave = row.starts_with('!');
        let last = lines.last()?;
        let held = held_down(view).filter(|_| words == HOT);
        let severity = if grave || held.is_some() { Severity::Warning } else { Severity::Note };
        let times = if lines.len() == 1 { String::new() } else { format!(" ({} lines)", lines.len()) };
        let finding =
            Finding::new(severity, format!("{what}{times}")).seen(last.trim(), "dmesg").mend(view.raised(mend));
        Some(
            held.into_iter()
                .fold(finding, |finding, clock| finding.seen(clock, "lscpu, /sys/devices/system/cpu/cpu0/cpufreq")),
        )
    });
    Ok(found.collect())
}
