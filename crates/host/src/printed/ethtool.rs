//! Texts of ethtool(8), each behind its heading; those without one (`-i`, `-S`) are of the interface that a line with the command
//! names, or the name of the file. Of a module (`-m`) they become its memory again.

use super::ip::Links;
use super::{Printed, command};
use crate::adapter::{ModulePage, Question};
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
    Rss,
    Fec,
    Eee,
    Module,
    Driver,
    Statistics,
}

const HEADINGS: [(&str, Kind); 10] = [
    ("Settings for ", Kind::Settings),
    ("Features for ", Kind::Features),
    ("Ring parameters for ", Kind::Rings),
    ("Channel parameters for ", Kind::Channels),
    ("Coalesce parameters for ", Kind::Coalesce),
    ("Pause parameters for ", Kind::Pause),
    ("RX flow hash indirection table for ", Kind::Rss),
    ("FEC parameters for ", Kind::Fec),
    ("EEE settings for ", Kind::Eee),
    ("EEE Settings for ", Kind::Eee),
];

/// Interface in a line with the command: `# ethtool -S eth0`, `$ ethtool -i eth0 | head`.
pub(super) fn commanded(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "ethtool" || word.ends_with("/ethtool"))?;
    words[at + 1..].iter().find(|word| !word.starts_with('-')).map(|word| word.trim_end_matches(';'))
}

/// True if a line is typed, rather than a text that names the command.
pub(super) fn is_typed(line: &str) -> bool {
    command(line).is_some() || line.starts_with("ethtool ") || line.starts_with("sudo ethtool ")
}

/// Options, and what is printed behind a command with one; a text of which grep(1) has left a part has no heading.
const OPTIONS: [(&str, Kind); 14] = [
    ("-g", Kind::Rings),
    ("-l", Kind::Channels),
    ("-k", Kind::Features),
    ("--show-features", Kind::Features),
    ("--show-offload", Kind::Features),
    ("-c", Kind::Coalesce),
    ("-a", Kind::Pause),
    ("-x", Kind::Rss),
    ("-i", Kind::Driver),
    ("-S", Kind::Statistics),
    ("--statistics", Kind::Statistics),
    ("-m", Kind::Module),
    ("--show-fec", Kind::Fec),
    ("--show-eee", Kind::Eee),
];

/// Kind of what a command prints, if the text behind it has lost its heading.
fn asked(line: &str) -> Option<Kind> {
    let line = &line[line.find("ethtool")?..];
    let mut words = line.split(['|', ';']).next()?.split_whitespace().skip(1);
    match words.find(|word| word.starts_with('-')) {
        Some(option) => OPTIONS.iter().find(|(one, _)| *one == option).map(|(_, kind)| *kind),
        None => Some(Kind::Settings),
    }
}

fn heading(line: &str) -> Option<(Kind, Option<&str>)> {
    // Behind the interface the number of rings may stand.
    let one =
        |(text, kind): &(&str, Kind)| Some((*kind, line.strip_prefix(text)?.strip_suffix(':')?.split(" with ").next()));
    match HEADINGS.iter().find_map(one) {
        Some((kind, Some(name))) => Some((kind, Some(name))),
        _ if line.trim_start().starts_with("Identifier  ") && line.contains(": 0x") => Some((Kind::Module, None)),
        _ if line.starts_with("driver: ") => Some((Kind::Driver, None)),
        _ if line == "NIC statistics:" => Some((Kind::Statistics, None)),
        _ => None,
    }
}

pub(super) fn read(host: &mut Printed, links: &mut Links, lines: &[String], file: Option<&str>) {
    let mut named = file.map(str::to_owned);
    // Settings are asked for, too; and what stands before the command.
    let (mut at, mut settled, mut prompt) = (0, false, "");
    while let Some(line) = lines.get(at) {
        let line = line.trim_end();
        if let Some(name) = commanded(line) {
            named = Some(name.to_owned());
        }
        let next = lines.get(at + 1).map_or("", |next| next.trim_end());
        // Of several commands in a line the first may have nothing to say.
        let pieces = || line.match_indices("ethtool ").map(|(at, _)| &line[at..]);
        let typed = commanded(line).is_some() && is_typed(line);
        if typed {
            settled = pieces().any(|piece| asked(piece) == Some(Kind::Settings));
            prompt = command(line).and_then(|typed| line.strip_suffix(typed)).unwrap_or(line);
            if pieces().any(|piece| asked(piece) == Some(Kind::Statistics)) && line.contains("do ") {
                // A loop, whose readings follow each other up to the next command.
                let end = at + 1 + lines[at + 1..].iter().take_while(|line| command(line).is_none()).count();
                named.iter().for_each(|name| statistics(host, name, prompt, &lines[at + 1..end]));
            }
        }
        let bare = asked(line).filter(|_| typed && next.contains(':') && heading(next).is_none());
        let Some((kind, name)) = heading(line).or(bare.map(|kind| (kind, None))) else {
            at += 1;
            continue;
        };
        // Up to an empty line, the next heading, or the next command; the first line of a driver is its own.
        let from = if matches!(kind, Kind::Driver | Kind::Module) && bare.is_none() { at } else { at + 1 };
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
            let body = &lines[from..end];
            match kind {
                Kind::Statistics => statistics(host, &interface, prompt, body),
                kind => block(host, links, kind, &interface, body),
            }
            let is_link = |line: &String| {
                ["Speed: ", "Duplex: ", "Link detected: "].iter().any(|word| line.trim().starts_with(word))
            };
            if settled && kind != Kind::Settings && body.iter().any(is_link) {
                block(host, links, Kind::Settings, &interface, body);
            }
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
            let driver = value(lines, "driver").unwrap_or_default().to_owned();
            links.drivers.insert(interface.to_owned(), driver);
            if let Some(bus) = value(lines, "bus-info").filter(|bus| !bus.is_empty()) {
                links.buses.insert(interface.to_owned(), bus.to_owned());
            }
            Question::Driver
        }
        Kind::Rss => {
            // `    8:      0     1     2 …`
            let rows = lines.iter().filter_map(|line| row(line)).filter(|(first, _)| first.parse::<u32>().is_ok());
            let table = rows.flat_map(|(_, queues)| queues.split_whitespace()).map_while(|queue| queue.parse().ok());
            message.attribute(4, &table.flat_map(u32::to_ne_bytes).collect::<Vec<u8>>());
            Question::Rss
        }
        Kind::Fec => {
            fec(&mut message, lines);
            Question::Fec
        }
        Kind::Eee => {
            let status = value(lines, "EEE status").unwrap_or_default();
            if status.is_empty() || status.contains("not supported") {
                return;
            }
            message.attribute(4, &[u8::from(status.ends_with("- active"))]);
            message.attribute(5, &[u8::from(status.starts_with("enabled"))]);
            Question::Eee
        }
        Kind::Module => return module(host, interface, lines),
        Kind::Statistics => return,
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
    let at = |words: &str| lines.iter().position(|line| line.starts_with(words));
    // What tail(1) leaves are those in use.
    let cut = || if at("Pre-set").is_none() { Some(0) } else { None };
    let Some(split) = at("Current hardware settings").or_else(cut) else { return };
    for (name, most, now) in AMOUNTS {
        // Rings have the transmit ring at the fourth place.
        let shift = if kind == Kind::Rings && name == "TX:" { 2 } else { 0 };
        for (part, kind) in [(&lines[..split], most + shift), (&lines[split..], now + shift)] {
            let name = name.trim_end_matches(':');
            number(part, name).iter().for_each(|value| message.attribute(kind, &value.to_ne_bytes()));
        }
    }
}

/// Codes as link modes' bits.
const CODES: [(&str, u32); 5] = [("Off", 49), ("None", 49), ("RS", 50), ("BaseR", 51), ("LLRS", 74)];

/// `Configured FEC encodings: Auto RS`, `Active FEC encoding: Off`, and totals with those of lanes behind them.
fn fec(message: &mut Message, lines: &[String]) {
    let configured = value(lines, "Supported/Configured FEC encodings").or(value(lines, "Configured FEC encodings"));
    let configured: Vec<&str> = configured.unwrap_or_default().split_whitespace().collect();
    let bits: Vec<(&str, bool)> = configured.iter().filter(|one| **one != "Auto").map(|one| (*one, true)).collect();
    bitset::build(message, 2, &bits);
    message.attribute(3, &[u8::from(configured.contains(&"Auto"))]);
    let active = value(lines, "Active FEC encoding").or(value(lines, "Active FEC encodings"));
    let code = active.and_then(|active| CODES.iter().find(|(name, _)| name.eq_ignore_ascii_case(active)));
    code.iter().for_each(|(_, code)| message.attribute(4, &code.to_ne_bytes()));
    let count = |name: &str| value(lines, name).and_then(|text| text.parse::<u64>().ok());
    message.nest(5 | 0x8000, |stats| {
        for (name, kind) in [("corrected_blocks", 2), ("uncorrectable_blocks", 3), ("corrected_bits", 4)] {
            count(name).iter().for_each(|value| stats.attribute(kind, &value.to_ne_bytes()));
        }
    });
}

/// Parts of a module's memory that hold what is measured (SFF-8472, SFF-8636): words in the line, page, place, and the unit.
const MEASURED: [(&str, bool, usize, &str, f64); 5] = [
    ("Module temperature  ", true, 96, " degrees C", 256.0),
    ("Module voltage  ", true, 98, " V", 10_000.0),
    ("Laser bias current  ", true, 100, " mA", 500.0),
    ("Laser output power  ", true, 102, " mW", 10_000.0),
    ("Receiver signal average optical power", true, 104, " mW", 10_000.0),
];
/// Flags, of SFP at its second address, and of QSFP by channel: words, place, bit; of later channels in the lower half.
const FLAGS: [(&str, usize, u8); 5] = [
    ("Module temperature high alarm", 112, 7),
    ("Laser output power high alarm", 112, 1),
    ("Laser output power low alarm", 112, 0),
    ("Laser rx power high alarm", 113, 7),
    ("Laser rx power low alarm", 113, 6),
];

/// The memory of a module, as far as the text tells it.
fn module(host: &mut Printed, interface: &str, lines: &[String]) {
    let hex = |text: &str| u8::from_str_radix(text.split_whitespace().next()?.trim_start_matches("0x"), 16).ok();
    let has = |words: &str| lines.iter().any(|line| line.contains(words));
    // Of a part of the text its other lines tell the form.
    let form =
        || if has("(Channel ") { Some(0x11) } else { has("Receiver signal average optical power").then_some(0x03) };
    let Some(kind) = value(lines, "Identifier").and_then(hex).or_else(form) else { return };
    let (mut pages, is_sfp) = ([vec![0_u8; 128], vec![0_u8; 128]], matches!(kind, 0x02 | 0x03 | 0x0b));
    pages[0][0] = kind;
    let number = |line: &str, unit: &str| line.split_once(unit)?.0.rsplit([' ', ':']).next()?.parse::<f64>().ok();
    let put = |page: &mut Vec<u8>, at: usize, value: f64| {
        // Temperatures are signed.
        let whole: i64 = format!("{value:.0}").parse().unwrap_or(0);
        let bits = u16::try_from(whole.rem_euclid(0x1_0000)).unwrap_or(0);
        page[at..at + 2].copy_from_slice(&bits.to_be_bytes());
    };
    let mut told = false;
    for line in lines {
        let text = line.trim_start();
        if is_sfp {
            for (words, second, at, unit, scale) in MEASURED {
                if let Some(value) = text.strip_prefix(words).and_then(|rest| number(rest, unit)) {
                    put(&mut pages[usize::from(second)], at, value * scale);
                    told = true;
                }
            }
            let on = text.ends_with(": On");
            for (_, at, bit) in FLAGS.iter().filter(|(words, ..)| on && text.starts_with(words)) {
                pages[1][*at] |= 1 << bit;
            }
            for (words, at) in [("Connector  ", 2), ("Option values  ", 64), ("Vendor OUI  ", 37)] {
                let values = text.strip_prefix(words).and_then(|rest| rest.split_once(": ")).map(|(_, values)| values);
                let values = values.into_iter().flat_map(|values| values.split([' ', ':'])).map_while(hex);
                values.take(3).enumerate().for_each(|(i, value)| pages[0][at + i] = value);
            }
            for (words, at, most) in [("Vendor name  ", 20, 16), ("Vendor PN  ", 40, 16), ("Vendor SN  ", 68, 16)] {
                if let Some((_, name)) = text.strip_prefix(words).and_then(|rest| rest.split_once(": ")) {
                    let name = name.trim().bytes().chain(std::iter::repeat(b' ')).take(most).collect::<Vec<_>>();
                    pages[0][at..at + most].copy_from_slice(&name);
                }
            }
            continue;
        }
        let channel = |words: &str| -> Option<usize> {
            let digits = text.strip_prefix(words)?.split(')').next()?;
            digits.parse::<usize>().ok().filter(|channel| (1..=4).contains(channel)).map(|channel| channel - 1)
        };
        if let (Some(lane), Some(light)) = (channel("Rcvr signal avg optical power(Channel "), number(text, " mW")) {
            put(&mut pages[0], 34 + 2 * lane, light * 10_000.0);
        }
        if text.starts_with("Module temperature high alarm") && text.ends_with(": On") {
            pages[0][6] |= 0x80;
        }
        if let Some(lane) = channel("Rx power low alarm (Channel ").or(channel("Laser rx power low alarm (Channel "))
            && text.ends_with(": On")
        {
            pages[0][9 + lane / 2] |= if lane % 2 == 0 { 0x40 } else { 0x04 };
        }
    }
    // Some modules know their limits, and raise no flag.
    let light = |words: &str| lines.iter().find_map(|line| number(line.trim_start().strip_prefix(words)?, " mW"));
    let received = light("Receiver signal average optical power");
    if let (true, Some(light), Some(least)) = (is_sfp, received, light("Laser rx power low alarm threshold"))
        && light < least
    {
        pages[1][113] |= 0x40;
    }
    if is_sfp && told {
        // It measures, in units that need no calibration, and its flags are in use.
        (pages[0][92], pages[0][93]) = (0x60, 0x80);
    }
    for (device, page) in [(0x50, &pages[0]), (0x51, &pages[1])] {
        let mut message = Message::about(0, 0, &[]);
        message.attribute(7, page);
        let range = ModulePage { device, page: 0, offset: 0, length: 128 };
        host.add_once(Question::Module(range), interface, message.into_body());
    }
}

/// Names of a driver's own counters, each with what the first text tells of it and the last one behind the same prompt.
#[derive(Default)]
pub(super) struct Readings {
    prompt: String,
    all: Vec<(String, [u64; 2])>,
}

impl Readings {
    /// Names or values in the forms of the two ioctls.
    pub(super) fn answer(&self, question: Question, is_later: bool) -> Vec<u8> {
        let count = u32::try_from(self.all.len()).unwrap_or(0);
        if question == Question::Values {
            let values = self.all.iter().flat_map(|(_, values)| values[usize::from(is_later)].to_ne_bytes());
            return [0, count].map(u32::to_ne_bytes).concat().into_iter().chain(values).collect();
        }
        let mut names = [0, 1, count].map(u32::to_ne_bytes).concat();
        for (name, _) in &self.all {
            let mut field = name.as_bytes().to_vec();
            field.resize(32, 0);
            names.extend(field);
        }
        names
    }
}

fn statistics(host: &mut Printed, interface: &str, prompt: &str, lines: &[String]) {
    let all = host.readings.entry(interface.to_owned()).or_default();
    if all.all.is_empty() {
        prompt.clone_into(&mut all.prompt);
    } else if all.prompt != prompt || prompt.is_empty() {
        // Of another host an interface may have the same name.
        return;
    }
    for (name, value) in lines.iter().filter_map(|line| line.trim().rsplit_once(':')) {
        let (name, Ok(value)) = (name.trim(), value.trim().parse::<u64>()) else { continue };
        match all.all.iter_mut().find(|(one, _)| one == name) {
            Some((_, values)) => values[1] = values[1].max(value),
            None => all.all.push((name.to_owned(), [value; 2])),
        }
    }
}
