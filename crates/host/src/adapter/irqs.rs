//! Interrupts of an interface, and the processors that serve its queues: msi_irqs and `/proc/interrupts`, smp_affinity of
//! `/proc/irq`, and the maps of each queue (XPS, RPS) in sysfs.
//!
//! The kernel knows which interrupt serves which queue only where the driver says so (NAPI_GET). Elsewhere the interrupt's
//! name says it, in a form that each driver has for itself; a name of no known form says nothing.

use super::source::{Source, text};
use crate::absent::{Absent, Part, part};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Irq {
    pub number: u32,
    /// Name that the driver gave it; none while it is not in use.
    pub name: Option<String>,
    /// Queues that it serves, by its name.
    pub queues: Vec<String>,
    /// Times that it came, on all processors.
    pub count: Option<u64>,
    /// Processors on which it came, the most first, with their times.
    #[serde(skip)]
    pub came: Vec<(u32, u64)>,
    /// Processors on which it may come.
    #[serde(serialize_with = "part")]
    pub wanted: Part<String>,
    /// Processors on which it comes.
    #[serde(serialize_with = "part")]
    pub effective: Part<String>,
}

/// Processors that a queue is tied to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Steering {
    /// `rx-0`, `tx-0` …
    pub queue: String,
    /// Mask of processors: of those that process its frames further (RPS), or of those that send by it (XPS).
    #[serde(serialize_with = "part")]
    pub cpus: Part<String>,
    /// XPS by receive queue.
    pub by_queue: Option<String>,
    /// Entries of its flow table (RFS).
    pub flows: Option<String>,
    /// Limit of bytes under way (BQL), and bytes under way.
    pub limit: Option<(u64, u64)>,
}

/// Interrupts of an interface whose device has that path, if it has one.
pub(crate) fn read(source: &dyn Source, interface: &str, device: Option<&str>) -> Part<Vec<Irq>> {
    let mut numbers = BTreeSet::new();
    let mut at = device;
    // Of the function that the device is, or stands on: the nearest that has some.
    while let Some(path) = at {
        if let Ok(names) = source.names(&format!("{path}/msi_irqs")) {
            numbers = names.iter().filter_map(|name| name.parse::<u32>().ok()).collect();
            break;
        }
        at = path.rsplit_once('/').map(|(above, _)| above).filter(|above| above.contains("/devices/"));
    }
    let table = source.file("proc/interrupts").map_err(Absent::from);
    let rows = table.as_ref().map(|bytes| rows(&String::from_utf8_lossy(bytes))).unwrap_or_default();
    let own = device.and_then(|path| path.rsplit('/').next());
    if numbers.is_empty() {
        let named = rows.iter().filter(|(_, Row { name, .. })| is_of(name, interface, own));
        numbers = named.map(|(number, _)| *number).collect();
    }
    if numbers.is_empty() {
        table?;
        return Err(Absent::told("no interrupt has its name, or its device's"));
    }
    let irq = |number: u32| {
        let row = rows.get(&number);
        let affinity = |file: &str| text(source, &format!("proc/irq/{number}/{file}"));
        Irq {
            number,
            queues: row.map(|row| queues(&row.name)).unwrap_or_default(),
            name: row.map(|row| row.name.clone()).filter(|name| !name.is_empty()),
            count: row.map(|row| row.came.iter().fold(0_u64, |sum, (_, times)| sum.wrapping_add(*times))),
            came: row.map(|row| row.came.clone()).unwrap_or_default(),
            wanted: affinity("smp_affinity_list"),
            effective: affinity("effective_affinity_list"),
        }
    };
    Ok(numbers.into_iter().map(irq).collect())
}

/// A row of `/proc/interrupts`: the name, and processors on which it came, the most first, with their times.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    came: Vec<(u32, u64)>,
}

/// Numbered rows of `/proc/interrupts`.
fn rows(table: &str) -> BTreeMap<u32, Row> {
    let mut lines = table.lines();
    let processor = |word: &str| word.strip_prefix("CPU").map(|number| number.parse().unwrap_or(u32::MAX));
    let online: Vec<u32> =
        lines.next().map_or_else(Vec::new, |line| line.split_whitespace().filter_map(processor).collect());
    let processors = online.len();
    let row = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let words: Vec<_> = rest.split_whitespace().collect();
        let counts = words.iter().take(processors).map_while(|word| word.parse::<u64>().ok());
        let mut came: Vec<(u32, u64)> = online.iter().copied().zip(counts).filter(|(_, times)| *times > 0).collect();
        came.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        // Behind the counts: chip, hardware number (with its trigger), names of those that have asked for it.
        let names = words.get(processors..).unwrap_or_default();
        let first = names
            .iter()
            .position(|word| word.contains("-edge") || word.contains("-level") || *word == "edge" || *word == "level");
        let name = first.and_then(|at| names.get(at + 1..)).unwrap_or_default();
        let fallback = names.last().map(|word| (*word).to_owned()).unwrap_or_default();
        let name = if name.is_empty() { fallback } else { name.join(" ") };
        Some((number.trim().parse().ok()?, Row { name, came }))
    };
    lines.filter_map(row).collect()
}

/// Texts before a queue's number in drivers' names of interrupts, and the ways that such a one serves.
const FORMS: &[(&str, &[&str])] = &[
    ("-TxRx-", &["rx", "tx"]),
    ("-Tx-Rx-", &["rx", "tx"]),
    ("-tx-rx-", &["rx", "tx"]),
    ("mlx5_comp", &["rx", "tx"]),
    ("-rx-", &["rx"]),
    ("-rx", &["rx"]),
    ("-tx-", &["tx"]),
    ("-tx", &["tx"]),
    ("-input.", &["rx"]),
    ("-output.", &["tx"]),
];

/// Queues that an interrupt of that name serves.
fn queues(name: &str) -> Vec<String> {
    let word = name.split('@').next().unwrap_or(name);
    let end = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &word[end.len()..];
    let form = FORMS.iter().find(|(before, _)| end.ends_with(before)).filter(|_| !number.is_empty());
    form.map(|(_, ways)| ways.iter().map(|way| format!("{way}-{number}")).collect()).unwrap_or_default()
}

/// True if an interrupt's name is an interface's or its device's: `eth0-rx-0`, `virtio2-input.0`, `comp3@pci:0000:3b:00.0`.
fn is_of(name: &str, interface: &str, device: Option<&str>) -> bool {
    let has = |wanted: &str| {
        let mut rest = name;
        while let Some(at) = rest.find(wanted) {
            let (before, after) = (rest[..at].chars().next_back(), rest[at + wanted.len()..].chars().next());
            let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '.');
            if outside(before) && outside(after) {
                return true;
            }
            rest = &rest[at + wanted.len()..];
        }
        false
    };
    has(interface) || device.is_some_and(has)
}

/// Maps of each queue.
pub(crate) fn steering(source: &dyn Source, interface: &str) -> Part<Vec<Steering>> {
    let at = format!("sys/class/net/{interface}/queues");
    let mut queues = source.names(&at)?;
    queues.sort_by_key(|name| {
        let (way, number) = name.split_once('-').unwrap_or((name, "0"));
        (way.to_owned(), number.parse::<u32>().unwrap_or(u32::MAX))
    });
    let optional = |path: String| text(source, &path).ok();
    let one = |queue: String| {
        let way = if queue.starts_with("tx") { "xps" } else { "rps" };
        let bytes = |file: &str| optional(format!("{at}/{queue}/byte_queue_limits/{file}"))?.parse().ok();
        Steering {
            cpus: text(source, &format!("{at}/{queue}/{way}_cpus")),
            by_queue: optional(format!("{at}/{queue}/xps_rxqs")),
            flows: optional(format!("{at}/{queue}/rps_flow_cnt")),
            limit: bytes("limit").zip(bytes("inflight")),
            queue,
        }
    };
    Ok(queues.into_iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "           CPU0       CPU1\n  24:   1   0  IO-APIC   5-edge  ACPI:Ged\n  38:   0  35363  PCI-MSIX-0000:00:03.0   \
        1-edge      virtio2-input.0\n 131: 7 1 IR-PCI-MSI 524289-edge mlx5_comp0@pci:0000:01:00.0\nNMI: 0 0 Non-maskable interrupts\n";

    #[test]
    fn rows_have_names_and_times_by_processor() {
        let rows = rows(TABLE);
        assert_eq!(rows[&38], Row { name: "virtio2-input.0".to_owned(), came: vec![(1, 35363)] });
        assert_eq!(rows[&131], Row { name: "mlx5_comp0@pci:0000:01:00.0".to_owned(), came: vec![(0, 7), (1, 1)] });
        assert_eq!(rows.len(), 3);
        // Cut anywhere: fewer rows, and no panic.
        for end in 0..TABLE.len() {
            assert!(super::rows(&TABLE[..end]).len() <= 3);
        }
    }

    #[test]
    fn names_say_which_queues() {
        for (name, wanted) in [
            ("ice-eth0-TxRx-12", &["rx-12", "tx-12"][..]),
            ("mlx5_comp3@pci:0000:01:00.0", &["rx-3", "tx-3"]),
            ("virtio2-output.7", &["tx-7"]),
            ("eth0-rx-0", &["rx-0"]),
            ("ens5-Tx-Rx-1", &["rx-1", "tx-1"]),
            ("ens2f0", &[]),
            ("virtio2-config", &[]),
            ("mlx5_async0@pci:0000:01:00.0", &[]),
            ("", &[]),
        ] {
            assert_eq!(queues(name), wanted, "{name}");
        }
    }

    #[test]
    fn names_are_whole_words() {
        assert!(
            is_of("eth0-TxRx-1", "eth0", None) && is_of("ice-eth0-TxRx-1", "eth0", None) && is_of("eth0", "eth0", None)
        );
        assert!(!is_of("eth01-TxRx-1", "eth0", None) && !is_of("xeth0", "eth0", None));
        assert!(is_of("virtio2-input.0", "e", Some("virtio2")) && !is_of("virtio22-input.0", "e", Some("virtio2")));
        assert!(is_of("mlx5_comp0@pci:0000:01:00.0", "e", Some("0000:01:00.0")));
    }
}
