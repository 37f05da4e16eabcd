//! Texts of ethtool(8), each behind its heading; those without one (`-i`, `-S`) are of the interface that a line with the command
//! names, or the name of the file.

use super::Printed;
use super::ip::Links;
use crate::adapter::Question;
use crate::ethtool::bitset;
use crate::netlink::message::Message;

/// `ethtool -k` has its own names for families; those of one feature, or of which the first member stands for all.
const FAMILIES: [(&str, &str); 8] = [
    ("rx-checksumming", "rx-checksum"),
    ("generic-segmentation-offload", "tx-generic-segmentation"),
    ("generic-receive-offload", "rx-gro"),
    ("large-receive-offload", "rx-lro"),
    ("rx-vlan-offload", "rx-vlan-hw-parse"),
    ("tx-vlan-offload", "tx-vlan-hw-insert"),
    ("ntuple-filters", "rx-ntuple-filter"),
    ("receive-hashing", "rx-hashing"),
];
/// Families whose members are listed below them.
const HEADS: [&str; 3] = ["tx-checksumming", "scatter-gather", "tcp-segmentation-offload"];
const COALESCE: [(&str, u16); 4] = [("rx-usecs", 2), ("rx-frames", 3), ("tx-usecs", 6), ("tx-frames", 7)];
const AMOUNTS: [(&str, u16, u16); 4] = [("RX:", 2, 6), ("TX:", 3, 7), ("Other:", 4, 8), ("Combined:", 5, 9)];

/// Kind of a text, by its heading.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Settings,
    Features,
    Rings,
    Channels,
    Coalesce,
    Pause,
    Driver,
    Statistics,
}

const HEADINGS: [(&str, Kind); 6] = [
    ("Settings for ", Kind::Settings),
    ("Features for ", Kind::Features),
    ("Ring parameters for ", Kind::Rings),
    ("Channel parameters for ", Kind::Channels),
    ("Coalesce parameters for ", Kind::Coalesce),
    ("Pause parameters for ", Kind::Pause),
];

/// Interface in a line with the command: `# ethtool -S eth0`, `$ ethtool -i eth0 | head`.
fn commanded(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "ethtool" || word.ends_with("/ethtool"))?;
    words[at + 1..].iter().find(|word| !word.starts_with('-')).copied()
}

fn heading(line: &str) -> Option<(Kind, Option<&str>)> {
    let one = |(text, kind): &(&str, Kind)| Some((*kind, line.strip_prefix(text)?.strip_suffix(':')));
    match HEADINGS.iter().find_map(one) {
        Some((kind, Some(name))) => Some((kind, Some(name))),
        _ if line.starts_with("driver: ") => Some((Kind::Driver, None)),
        _ if line == "NIC statistics:" => Some((Kind::Statistics, None)),
        _ => None,
    }
}

pub(super) fn read(host: &mut Printed, links: &mut Links, lines: &[String], file: Option<&str>) {
    let mut named = file.map(str::to_owned);
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let line = line.trim_end();
        if let Some(name) = commanded(line) {
            named = Some(name.to_owned());
        }
        let Some((kind, name)) = heading(line) else {
            at += 1;
            continue;
        };
        // Up to an empty line, the next heading, or the next command; the first line of a driver is its own.
        let from = if kind == Kind::Driver { at } else { at + 1 };
        let rest = lines[at + 1..].iter();
        let is_end = |line: &String| {
            heading(line.trim_end()).is_some()
                || commanded(line).is_some()
                || line.trim().is_empty() && kind != Kind::Coalesce
                || line.starts_with(|c: char| c.is_ascii_digit())
        };
        let end = at + 1 + rest.take_while(|line| !is_end(line)).count();
        let interface = name.map(str::to_owned).or_else(|| named.clone());
        if let Some(interface) = interface {
            block(host, links, kind, &interface, &lines[from..end]);
        }
        at = end;
    }
}

/// Name and value of a line, and true if it stands behind a tab.
fn row(line: &str) -> Option<(&str, &str)> {
    line.trim().split_once(':').map(|(name, value)| (name.trim(), value.trim()))
}

fn value<'a>(lines: &'a [String], name: &str) -> Option<&'a str> {
    lines.iter().filter_map(|line| row(line)).find(|(one, _)| *one == name).map(|(_, value)| value)
}

fn number(lines: &[String], name: &str) -> Option<u32> {
    value(lines, name)?.trim_end_matches("Mb/s").parse().ok()
}

fn block(host: &mut Printed, links: &mut Links, kind: Kind, interface: &str, lines: &[String]) {
    let mut message = Message::about(0, 0, &[]);
    let question = match kind {
        Kind::Settings => {
            settings(&mut message, lines);
            if let Some(detected) = value(lines, "Link detected") {
                let mut state = Message::about(0, 0, &[]);
                state.attribute(2, &[u8::from(detected.starts_with("yes"))]);
                host.add_once(Question::LinkState, interface, state.into_body());
            }
            Question::LinkModes
        }
        Kind::Features => {
            features(&mut message, lines);
            Question::Features
        }
        Kind::Rings | Kind::Channels => {
            amounts(&mut message, lines, kind);
            if kind == Kind::Rings { Question::Rings } else { Question::Channels }
        }
        Kind::Coalesce => {
            for (name, kind) in COALESCE {
                number(lines, name).iter().for_each(|value| message.attribute(kind, &value.to_ne_bytes()));
            }
            // `Adaptive RX: on  TX: off`
            if let Some(adaptive) = value(lines, "Adaptive RX") {
                message.attribute(11, &[u8::from(adaptive.starts_with("on"))]);
            }
            Question::Coalesce
        }
        Kind::Pause => {
            for (name, kind) in [("Autonegotiate", 2), ("RX", 3), ("TX", 4)] {
                value(lines, name).iter().for_each(|value| message.attribute(kind, &[u8::from(*value == "on")]));
            }
            Question::Pause
        }
        Kind::Driver => {
            let field = |name: &str| {
                let mut field = value(lines, name).unwrap_or_default().as_bytes().to_vec();
                field.resize(32, 0);
                field
            };
            let fields = ["driver", "version", "firmware-version", "bus-info", "expansion-rom-version"].map(field);
            message.raw(&[0; 4]);
            fields.iter().for_each(|field| message.raw(field));
            if let Some(bus) = value(lines, "bus-info").filter(|bus| !bus.is_empty()) {
                links.buses.insert(interface.to_owned(), bus.to_owned());
            }
            Question::Driver
        }
        Kind::Statistics => return statistics(host, interface, lines),
    };
    host.add_once(question, interface, message.into_body());
}

/// Speed, duplex, and modes, which are in several lines.
fn settings(message: &mut Message, lines: &[String]) {
    let modes = |name: &str| -> Option<Vec<&str>> {
        let at = lines.iter().position(|line| row(line).is_some_and(|(one, _)| one == name))?;
        let first = row(&lines[at])?.1;
        if first.contains("Not reported") {
            return None;
        }
        let more = lines[at + 1..].iter().take_while(|line| row(line).is_none()).map(|line| line.trim());
        Some(std::iter::once(first).chain(more).flat_map(str::split_whitespace).collect())
    };
    let auto = value(lines, "Auto-negotiation");
    auto.iter().for_each(|auto| message.attribute(2, &[u8::from(*auto == "on")]));
    if let Some(supported) = modes("Supported link modes") {
        let advertised = modes("Advertised link modes").unwrap_or_default();
        let bits: Vec<(&str, bool)> = supported.iter().map(|mode| (*mode, advertised.contains(mode))).collect();
        bitset::build(message, 3, &bits);
    }
    if let Some(partner) = modes("Link partner advertised link modes") {
        let bits: Vec<(&str, bool)> = partner.iter().map(|mode| (*mode, true)).collect();
        bitset::build(message, 4, &bits);
    }
    number(lines, "Speed").iter().for_each(|speed| message.attribute(5, &speed.to_ne_bytes()));
    match value(lines, "Duplex") {
        Some("Half") => message.attribute(6, &[0]),
        Some("Full") => message.attribute(6, &[1]),
        _ => {}
    }
}

/// `tx-checksum-ipv4: off [fixed]`, `tx-tcp-segmentation: off [requested on]`.
fn features(message: &mut Message, lines: &[String]) {
    let family = |name: &str| FAMILIES.iter().find(|(one, _)| *one == name).map(|(_, kernel)| (*kernel).to_owned());
    let rows: Vec<(String, &str)> = lines
        .iter()
        .filter_map(|line| row(line))
        .filter(|(name, value)| !HEADS.contains(name) && value.starts_with(['o']))
        .map(|(name, value)| (family(name).unwrap_or_else(|| name.to_owned()), value))
        .collect();
    let set =
        |is_in: fn(&str) -> bool| rows.iter().map(|(name, value)| (name.as_str(), is_in(value))).collect::<Vec<_>>();
    bitset::build(message, 2, &set(|value| !value.contains("[fixed]")));
    bitset::build(message, 3, &set(|value| value.starts_with("on") || value.contains("[requested on]")));
    bitset::build(message, 4, &set(|value| value.starts_with("on")));
}

/// The greatest first, then those in use.
fn amounts(message: &mut Message, lines: &[String], kind: Kind) {
    let Some(split) = lines.iter().position(|line| line.starts_with("Current hardware settings")) else { return };
    for (name, most, now) in AMOUNTS {
        // Rings have the transmit ring at the fourth place.
        let shift = if kind == Kind::Rings && name == "TX:" { 2 } else { 0 };
        for (part, kind) in [(&lines[..split], most + shift), (&lines[split..], now + shift)] {
            let name = name.trim_end_matches(':');
            number(part, name).iter().for_each(|value| message.attribute(kind, &value.to_ne_bytes()));
        }
    }
}

/// Names and values of the driver's own counters, in the forms of the two ioctls.
fn statistics(host: &mut Printed, interface: &str, lines: &[String]) {
    let rows: Vec<(&str, u64)> = lines
        .iter()
        .filter_map(|line| line.trim().rsplit_once(':'))
        .filter_map(|(name, value)| Some((name.trim(), value.trim().parse().ok()?)))
        .collect();
    let count = u32::try_from(rows.len()).unwrap_or(0);
    let (mut names, mut values) =
        ([0, 1, count].map(u32::to_ne_bytes).concat(), [0, count].map(u32::to_ne_bytes).concat());
    for (name, value) in rows {
        let mut field = name.as_bytes().to_vec();
        field.resize(32, 0);
        names.extend(field);
        values.extend(value.to_ne_bytes());
    }
    host.add_once(Question::Names, interface, names);
    host.add_once(Question::Values, interface, values);
}
