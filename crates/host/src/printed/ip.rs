//! Texts of ip(8) and tc(8): links with their addresses, routes, neighbours, queueing disciplines.

use super::ethtool::{commanded, is_typed};
use super::older::FIRST;
use super::proc::LOG;
use super::{Printed, command};
use crate::adapter::Details;
use crate::adapter::Question;
use crate::adapter::link::{COUNTERS, FLAGS, STATES};
use crate::adapter::qdiscs::ACTIONS;
use crate::facts::is_name;
use crate::netlink::message::Message;
use linerate_text::{cut, unhex};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

const NESTED: u16 = 0x8000;
const ETHERNET: u16 = 1;
/// Types of hardware by ip's names for them.
const HARDWARE: [(&str, u16); 6] =
    [("ether", ETHERNET), ("loopback", 772), ("none", 0xfffe), ("ipip", 768), ("sit", 776), ("infiniband", 32)];
/// Words behind a link's first line that are no kind.
const OTHER: [&str; 8] = ["bridge_slave", "bond_slave", "altname", "alias", "vf", "prog/xdp", "parentbus", "link/"];
/// Values of ip -d link: word, and number of the attribute.
const NUMBERS: [(&str, u16); 13] = [
    ("promiscuity", 30),
    ("minmtu", 50),
    ("maxmtu", 51),
    ("numtxqueues", 31),
    ("numrxqueues", 32),
    ("gso_max_size", 41),
    ("gso_max_segs", 40),
    ("tso_max_size", 59),
    ("tso_max_segs", 60),
    ("gro_max_size", 58),
    ("gso_ipv4_max_size", 63),
    ("gro_ipv4_max_size", 64),
    ("carrier_down_count", 48),
];
/// Kinds by the driver that `ethtool -i` tells, which `ip` without -d does not.
const DRIVERS: [(&str, &str); 10] = [
    ("bridge", "bridge"),
    ("bonding", "bond"),
    ("veth", "veth"),
    ("tun", "tun"),
    ("vxlan", "vxlan"),
    ("802.1Q VLAN Support", "vlan"),
    ("openvswitch", "openvswitch"),
    ("macvlan", "macvlan"),
    ("dummy", "dummy"),
    ("team", "team"),
];
/// Beginnings of names that programs give bridges.
const BRIDGES: [&str; 9] = ["docker0", "virbr", "vmbr", "lxcbr", "lxdbr", "incusbr", "cni0", "cbr0", "br"];

/// A link as its lines tell it.
#[derive(Default)]
struct Link {
    flags: Vec<String>,
    /// All words, of all lines.
    words: Vec<String>,
    lower: Option<String>,
    kind: Option<String>,
    counters: BTreeMap<&'static str, u64>,
    /// Address, bits, the other end's, states.
    addresses: Vec<(IpAddr, u8, Option<IpAddr>, u32)>,
}

/// Links by their numbers and names.
#[derive(Default)]
pub(super) struct Links {
    all: BTreeMap<u32, (String, Link)>,
    /// Addresses of devices on their buses, as `ethtool -i` tells them.
    pub(super) buses: BTreeMap<String, String>,
    /// Names of drivers, likewise.
    pub(super) drivers: BTreeMap<String, String>,
    /// Some text has addresses.
    addressed: bool,
}

/// Value behind a word.
fn behind<'a>(words: &'a [String], word: &str) -> Option<&'a str> {
    let at = words.iter().position(|one| one == word)?;
    words.get(at + 1).map(String::as_str)
}

fn number<T: FromStr>(words: &[String], word: &str) -> Option<T> {
    behind(words, word)?.parse().ok()
}

/// An address and the bits of its network.
fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().ok()?;
    let whole = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(whole), |bits| bits.parse().ok().filter(|bits| *bits <= whole))?;
    Some((address, bits))
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

fn family(address: IpAddr) -> u8 {
    if address.is_ipv4() { 2 } else { 10 }
}

fn mac(text: &str) -> Option<Vec<u8>> {
    unhex(&text.replace(':', "")).filter(|bytes| !bytes.is_empty())
}

/// Texts that begin with the name of an interface.
const HEADED: [&str; 4] = ["Settings for ", "Features for ", "Pause parameters for ", "Ring parameters for "];

/// Interface of a command of dcb(8) or tc(8) that is typed.
fn told(line: &str) -> Option<&str> {
    let typed = command(line)?.trim_start_matches("sudo ");
    let (_, rest) = typed.strip_prefix("dcb ").or_else(|| typed.strip_prefix("tc "))?.split_once(" dev ")?;
    rest.split([' ', '|', ';']).next()
}

/// Number, name, lower link and flags of a link's first line: `7: eth0.5@eth0: <UP> mtu 1500 …`.
fn head(line: &str) -> Option<(u32, String, Option<String>, Vec<String>)> {
    let (index, rest) = line.split_once(": ")?;
    let (name, rest) = rest.split_once(": <")?;
    let (flags, _) = rest.split_once('>')?;
    let (name, lower) = name.split_once('@').map_or((name, None), |(name, lower)| (name, Some(lower.to_owned())));
    let flags = flags.split(',').map(str::to_owned).collect();
    (!name.contains(char::is_whitespace)).then_some((index.parse().ok()?, name.to_owned(), lower, flags))
}

impl Links {
    pub(super) fn read(&mut self, lines: &[String]) {
        let (mut current, mut counters): (Option<u32>, Vec<&str>) = (None, Vec::new());
        for line in lines {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            if let Some((index, name, lower, flags)) = head(line) {
                // Older programs tell no number: it is that of another text, or a new one.
                let known = self.index(&name).filter(|known| index.max(*known) >= FIRST);
                let index = known.unwrap_or(if index < FIRST { index } else { self.free() });
                let (known, link) = self.all.entry(index).or_default();
                // A number of another host's text.
                if known.is_empty() || *known == name {
                    *known = name;
                    if link.flags.is_empty() || line.contains(" state ") {
                        link.flags = flags;
                    }
                    (link.lower, current) = (lower.or(link.lower.take()), Some(index));
                    link.words.extend(words);
                } else {
                    current = None;
                }
                continue;
            }
            if !line.starts_with(' ') {
                current = None;
            }
            let Some((_, link)) = current.and_then(|index| self.all.get_mut(&index)) else { continue };
            match words.first().map(String::as_str) {
                Some(first @ ("RX:" | "TX:")) => counters = columns(first, &words[1..]),
                Some(first @ ("RX" | "TX")) => counters = columns(&format!("{first}!"), &words[2.min(words.len())..]),
                Some("inet" | "inet6") => {
                    self.addressed = true;
                    link.addresses.extend(address(&words).filter(|one| !link.addresses.contains(one)));
                }
                Some(first) if first.bytes().all(|b| b.is_ascii_digit()) => {
                    let values = words.iter().map(|word| word.parse().unwrap_or(0));
                    link.counters.extend(counters.drain(..).zip(values).filter(|(name, _)| !name.is_empty()));
                }
                Some(first) => {
                    let is_kind =
                        !OTHER.iter().any(|other| first.starts_with(other)) && !first.contains(['_', '/', ':']);
                    if is_kind && link.kind.is_none() && link.words.iter().any(|word| word.starts_with("link/")) {
                        link.kind = Some(first.to_owned()).filter(|_| first.bytes().all(|b| b.is_ascii_alphanumeric()));
                    }
                    link.words.extend(words);
                }
                None => {}
            }
        }
    }

    /// Links that the texts of other programs name alone: ethtool(8) that was answered, routes, neighbours.
    pub(super) fn imply(&mut self, lines: &[String]) {
        for (at, line) in lines.iter().enumerate() {
            let next = lines.get(at + 1).map_or("", |next| next.trim());
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let answered = !next.is_empty() && command(next).is_none() && !next.contains("No such device");
            let first = words.first().map_or("", String::as_str);
            let routed = matches!(first, "default" | "nexthop") || network(first).is_some();
            let name = match commanded(line).or_else(|| told(line)).filter(|_| is_typed(line) && answered) {
                Some(name) => Some(name),
                None if routed => behind(&words, "dev"),
                None => HEADED.iter().find_map(|head| line.strip_prefix(head)?.strip_suffix(':')),
            };
            name.into_iter().for_each(|name| _ = self.implied(name));
        }
    }

    /// A link that is known by its name alone.
    fn implied(&mut self, name: &str) -> Option<&mut Link> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if !is_name(name) || !name.chars().all(plain) {
            return None;
        }
        let index = self.index(name).unwrap_or_else(|| self.free());
        let lower = name.rsplit_once('.').map(|(lower, _)| lower).filter(|lower| self.index(lower).is_some());
        let lower = lower.map(str::to_owned);
        let (_, link) = self.all.entry(index).or_insert_with(|| {
            let none = ["ppp", "tun", "wg", "tailscale"].iter().any(|start| name.starts_with(start));
            let layer = if name == "lo" {
                "link/loopback"
            } else if none {
                "link/none"
            } else {
                "link/ether"
            };
            let flags = ["UP", "LOWER_UP"].map(str::to_owned).to_vec();
            (name.to_owned(), Link { flags, words: vec![layer.to_owned()], lower, ..Link::default() })
        });
        Some(link)
    }

    /// Number of a link.
    fn index(&self, name: &str) -> Option<u32> {
        self.all.iter().find(|(_, (known, _))| known == name).map(|(index, _)| *index)
    }

    fn free(&self) -> u32 {
        FIRST + u32::try_from(self.all.len()).unwrap_or(0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Numbers and names alone.
    pub(super) fn names(&self) -> Self {
        let all = self.all.iter().map(|(index, (name, _))| (*index, (name.clone(), Link::default()))).collect();
        Self { all, ..Self::default() }
    }

    /// Kind of a link of which no text with details tells it.
    fn kind(&self, name: &str, link: &Link) -> Option<String> {
        let has = |flag: &str| link.flags.iter().any(|one| one == flag);
        let is_master = self.all.values().any(|(_, one)| behind(&one.words, "master") == Some(name));
        // A bridge that Docker makes is called by twelve digits.
        let made = |name: &str| name.len() == 15 && name.bytes().skip(3).all(|b| b.is_ascii_hexdigit());
        let driver = self.drivers.get(name);
        let told = driver.and_then(|driver| DRIVERS.iter().find(|(one, _)| one == driver)).map(|(_, kind)| *kind);
        let guessed = || match link.lower.as_deref() {
            _ if driver.is_some() || behind(&link.words, "parentdev").is_some() || self.buses.contains_key(name) => {
                None
            }
            Some(lower) if lower.starts_with("if") && self.index(lower).is_none() => Some("veth"),
            Some(lower) if name.starts_with(&format!("{lower}.")) => Some("vlan"),
            _ if has("MASTER") => Some("bond"),
            _ if name.starts_with("ifb") => Some("ifb"),
            _ if ["vxlan", "flannel."].iter().any(|start| name.starts_with(start)) => Some("vxlan"),
            _ if is_master && BRIDGES.iter().any(|start| name.starts_with(start)) => Some("bridge"),
            _ if BRIDGES[..8].iter().any(|start| name.starts_with(start)) => Some("bridge"),
            _ if name.strip_prefix("br-").is_some_and(|_| made(name)) => Some("bridge"),
            _ => None,
        };
        told.or_else(guessed).map(str::to_owned)
    }

    /// A bond and its members, by its file.
    fn bond(&mut self, name: &str, text: &str) {
        let Some(bond) = self.implied(name) else { return };
        bond.kind.get_or_insert_with(|| "bond".to_owned());
        for member in text.lines().filter_map(|line| line.trim().strip_prefix("Slave Interface: ")) {
            let Some(link) = self.implied(member.trim()) else { continue };
            if behind(&link.words, "master").is_none() {
                link.words.extend(["master".to_owned(), name.to_owned()]);
                link.flags.push("SLAVE".to_owned());
            }
        }
    }

    /// Content of files of sysfs and of bonds about links, which no other text may tell.
    pub(super) fn of_files(&mut self, host: &Printed) {
        for (path, text) in &host.files {
            if let Some(name) = path.strip_prefix("proc/net/bonding/") {
                self.bond(name, &String::from_utf8_lossy(text));
            }
        }
        for (path, value) in &host.files {
            let Some((name, file)) = path.strip_prefix("sys/class/net/").and_then(|rest| rest.split_once('/')) else {
                continue;
            };
            let value = String::from_utf8_lossy(value).trim().to_owned();
            let Some(link) = self.implied(name) else { continue };
            let counter = file.strip_prefix("statistics/").and_then(|file| COUNTERS.iter().find(|one| **one == file));
            match (file, counter) {
                (_, Some(counter)) => {
                    link.counters.entry(counter).or_insert(value.parse().unwrap_or(0));
                }
                ("mtu", _) => link.words.extend(["mtu".to_owned(), value]),
                ("tx_queue_len", _) => link.words.extend(["qlen".to_owned(), value]),
                ("carrier_down_count", _) => link.words.extend(["carrier_down_count".to_owned(), value]),
                ("operstate" | "carrier", _) if value == "down" || value == "0" => {
                    link.flags.retain(|flag| flag != "LOWER_UP");
                    link.flags.push("NO-CARRIER".to_owned());
                }
                _ => {}
            }
        }
    }

    /// Address on PCI in the name that udev gives a port: `enp175s0f1np1` is 0000:af:00.1.
    fn placed(name: &str) -> Option<String> {
        let rest = name.strip_prefix("en")?;
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let of = |rest: &str, letter: char| -> Option<(u32, usize)> {
            let rest = rest.strip_prefix(letter)?;
            Some((rest[..digits(rest)].parse().ok()?, 1 + digits(rest)))
        };
        let (domain, at) = of(rest, 'P').unwrap_or((0, 0));
        let (bus, more) = of(&rest[at..], 'p')?;
        let at = at + more;
        let (slot, more) = of(&rest[at..], 's')?;
        let (function, _) = of(&rest[at + more..], 'f').unwrap_or((0, 0));
        // Those of USB have a place on that behind it.
        (!rest[at + more..].starts_with('u')).then(|| format!("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"))
    }

    /// Drivers and places of links by lines of the kernel's log: `ixgbe 0000:05:00.0 eth2: NIC Link is Up`.
    fn of_log(&mut self, host: &Printed) {
        let log = host.files.get(LOG).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
        for line in log.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            for three in words.windows(3) {
                let (driver, place, name) = (three[0], three[1], three[2].trim_end_matches(':'));
                let is_place = place.len() == 12 && place.as_bytes()[4] == b':' && place.as_bytes()[10] == b'.';
                if is_place && self.index(name).is_some() {
                    self.buses.entry(name.to_owned()).or_insert_with(|| place.to_owned());
                    self.drivers.entry(name.to_owned()).or_insert_with(|| driver.to_owned());
                }
            }
        }
    }

    /// Answers about all links and their addresses, and what sysfs shows of them.
    pub(super) fn answer(&mut self, host: &mut Printed) {
        self.of_log(host);
        let kinds: Vec<(u32, String)> = (self.all.iter())
            .filter(|(_, (_, link))| link.kind.is_none())
            .filter_map(|(index, (name, link))| Some((*index, self.kind(name, link)?)))
            .collect();
        kinds.into_iter().for_each(|(index, kind)| _ = self.all.get_mut(&index).map(|one| one.1.kind = Some(kind)));
        for (index, (name, link)) in &self.all {
            host.add(Question::Link, "", self.link(*index, name, link));
            let at = format!("sys/class/net/{name}");
            host.write(format!("{at}/ifindex"), index.to_string());
            if let Some(address) = link.words.iter().position(|word| word.starts_with("link/")) {
                host.write(format!("{at}/address"), link.words.get(address + 1).cloned().unwrap_or_default());
            }
            let told = behind(&link.words, "parentdev").or_else(|| self.buses.get(name).map(String::as_str));
            let device = told.map(str::to_owned).or_else(|| Self::placed(name).filter(|_| link.kind.is_none()));
            if let Some(device) = device.filter(|device| device.contains(':')) {
                host.devices.insert(name.clone(), format!("sys/devices/pci/{device}"));
            }
            let file = |file: &str| host.files.get(&format!("{at}/{file}")).map(|text| String::from_utf8_lossy(text));
            if let Some(speed) = file("speed").and_then(|speed| speed.trim().parse::<u32>().ok()) {
                let mut modes = Message::about(0, 0, &[]);
                modes.attribute(5, &speed.to_ne_bytes());
                let duplex = file("duplex").and_then(|duplex| ["half", "full"].iter().position(|one| *one == duplex));
                duplex.iter().for_each(|duplex| modes.attribute(6, &[u8::from(*duplex == 1)]));
                host.add_once(Question::LinkModes, name, modes.into_body());
            }
            for (address, bits, other, states) in &link.addresses {
                let header = [&[family(*address), *bits, 0, 0][..], &index.to_ne_bytes()].concat();
                let mut message = Message::about(0, 0, &header);
                message.attribute(1, &octets(other.unwrap_or(*address)));
                message.attribute(2, &octets(*address));
                message.attribute(8, &states.to_ne_bytes());
                host.add(Question::Addresses, "", message.into_body());
            }
        }
        if self.addressed {
            host.answers.entry((Question::Addresses, String::new())).or_default();
        }
    }

    fn link(&self, index: u32, name: &str, link: &Link) -> Vec<u8> {
        let words = &link.words;
        let has = |flag: &str| link.flags.iter().any(|one| one == flag);
        let mut flags: u32 = FLAGS.iter().filter(|(_, name)| has(name)).map(|(bit, _)| bit).sum();
        // ip(8) prints the lack of a carrier instead of IFF_RUNNING.
        if has("UP") && !has("NO-CARRIER") {
            flags |= 0x40;
        }
        let layer = words.iter().find_map(|word| word.strip_prefix("link/")).unwrap_or_default();
        // Of a part of the text the flags tell it.
        let layer = match layer {
            "" if has("LOOPBACK") => "loopback",
            "" if has("BROADCAST") => "ether",
            "" if has("POINTOPOINT") => "none",
            layer => layer,
        };
        let hardware = HARDWARE.iter().find(|(name, _)| *name == layer).map_or(0xffff, |(_, number)| *number);
        let header =
            [&[0, 0][..], &hardware.to_ne_bytes(), &index.to_ne_bytes(), &flags.to_ne_bytes(), &0_u32.to_ne_bytes()]
                .concat();
        let mut message = Message::about(0, 0, &header);
        message.text(3, name);
        let own = words.iter().position(|word| word.starts_with("link/")).and_then(|at| words.get(at + 1));
        own.and_then(|text| mac(text)).iter().for_each(|mac| message.attribute(1, mac));
        let mut value = |kind: u16, value: Option<u32>| {
            value.iter().for_each(|value| message.attribute(kind, &value.to_ne_bytes()));
        };
        value(4, number(words, "mtu"));
        value(13, number(words, "qlen"));
        value(5, link.lower.as_deref().and_then(|lower| self.index(lower)));
        // Of another namespace.
        value(37, link.lower.as_deref().filter(|lower| self.index(lower).is_none()).map(|_| 0));
        value(10, behind(words, "master").and_then(|master| self.index(master)));
        NUMBERS.iter().for_each(|(word, kind)| value(*kind, number(words, word)));
        let state = behind(words, "state").map(str::to_ascii_lowercase);
        let state = STATES.iter().position(|one| Some(*one) == state.as_deref()).and_then(|at| u8::try_from(at).ok());
        state.iter().for_each(|state| message.attribute(16, &[*state]));
        behind(words, "qdisc").iter().for_each(|qdisc| message.text(6, qdisc));
        if behind(words, "protodown") == Some("on") {
            message.attribute(39, &[1]);
        }
        if words.iter().any(|word| word == "xdp" || word == "xdpgeneric") {
            let mode = if words.iter().any(|word| word == "xdpgeneric") { 2 } else { 1 };
            message.nest(43 | NESTED, |xdp| xdp.attribute(2, &[mode]));
        }
        behind(words, "parentdev").iter().for_each(|device| message.text(56, device));
        behind(words, "parentbus").iter().for_each(|bus| message.text(57, bus));
        message.nest(18 | NESTED, |info| about(info, link, |name| self.index(name)));
        if !link.counters.is_empty() {
            let row = |name: &&str| link.counters.get(name).copied().unwrap_or(0).to_ne_bytes();
            message.attribute(23, &COUNTERS.iter().map(row).collect::<Vec<_>>().concat());
        }
        message.into_body()
    }
}

/// IFLA_LINKINFO: kind, and values of the link and of it as a member.
fn about(info: &mut Message, link: &Link, index: impl Fn(&str) -> Option<u32> + Copy) {
    let words = &link.words;
    let own = words.iter().position(|word| word.starts_with("link/")).map_or(&words[..0], |at| &words[at..]);
    let member = |word: &String| word == "bridge_slave" || word == "bond_slave";
    if let Some(kind) = &link.kind {
        info.text(1, kind);
        let of = own.iter().position(|word| word == kind).map_or(&own[..0], |at| &own[at..]);
        let end = of.iter().position(member).unwrap_or(of.len());
        info.nest(2 | NESTED, |data| Details::printed(data, kind, false, &of[..end], index));
    }
    let Some(at) = words.iter().position(member) else { return };
    let of = words[at].trim_end_matches("_slave");
    info.text(4, of);
    info.nest(5 | NESTED, |data| Details::printed(data, of, true, &words[at..], index));
}

/// Counters of a line of values, by its line of names: `!` for that of errors.
fn columns(which: &str, names: &[String]) -> Vec<&'static str> {
    let one = |name: &String| match (which, name.as_str()) {
        ("RX:", "bytes") => "rx_bytes",
        ("RX:", "packets") => "rx_packets",
        ("RX:", "errors") => "rx_errors",
        ("RX:", "dropped") => "rx_dropped",
        ("RX:", "missed") => "rx_missed_errors",
        ("RX:", "overrun") => "rx_over_errors",
        ("RX:", "mcast") => "multicast",
        ("TX:", "bytes") => "tx_bytes",
        ("TX:", "packets") => "tx_packets",
        ("TX:", "errors") => "tx_errors",
        ("TX:", "dropped") => "tx_dropped",
        ("TX:", "carrier") => "tx_carrier_errors",
        ("TX:", "collsns") => "collisions",
        ("RX!", "length") => "rx_length_errors",
        ("RX!", "crc") => "rx_crc_errors",
        ("RX!", "frame") => "rx_frame_errors",
        ("RX!", "fifo") => "rx_fifo_errors",
        ("RX!", "overrun") => "rx_over_errors",
        ("RX!", "missed") => "rx_missed_errors",
        ("TX!", "aborted") => "tx_aborted_errors",
        ("TX!", "fifo") => "tx_fifo_errors",
        ("TX!", "window") => "tx_window_errors",
        ("TX!", "heartbt") => "tx_heartbeat_errors",
        _ => "",
    };
    names.iter().map(one).collect()
}

/// `inet 10.0.0.1 peer 10.0.0.2/32 scope global deprecated`.
fn address(words: &[String]) -> Option<(IpAddr, u8, Option<IpAddr>, u32)> {
    let (address, bits) = network(words.get(1)?)?;
    let peer = behind(words, "peer").and_then(network);
    let states = [("dadfailed", 0x08), ("deprecated", 0x20), ("tentative", 0x40)];
    let has = |name: &str| words.iter().any(|word| word == name);
    let states: u32 = states.iter().filter(|(name, _)| has(name)).map(|(_, bit)| bit).sum();
    // IFA_F_PERMANENT: what ip(8) calls by no word is set by hand.
    let states = if has("dynamic") { states } else { states | 0x80 };
    Some((address, peer.map_or(bits, |peer| peer.1), peer.map(|peer| peer.0), states))
}

const KINDS: [&str; 10] =
    ["none", "unicast", "local", "broadcast", "anycast", "multicast", "blackhole", "unreachable", "prohibit", "throw"];
const TABLES: [(&str, u32); 3] = [("default", 253), ("main", 254), ("local", 255)];
const PROTOCOLS: [(&str, u8); 5] = [("redirect", 1), ("kernel", 2), ("static", 4), ("ra", 9), ("dhcp", 16)];
const METRICS: [(&str, u16); 9] = [
    ("mtu", 2),
    ("window", 3),
    ("cwnd", 7),
    ("advmss", 8),
    ("reordering", 9),
    ("hoplimit", 10),
    ("initcwnd", 11),
    ("rto_min", 13),
    ("initrwnd", 14),
];
const STATES_OF: [(&str, u16); 8] = [
    ("INCOMPLETE", 0x01),
    ("REACHABLE", 0x02),
    ("STALE", 0x04),
    ("DELAY", 0x08),
    ("PROBE", 0x10),
    ("FAILED", 0x20),
    ("NOARP", 0x40),
    ("PERMANENT", 0x80),
];
/// Header of /proc/net/arp.
const ARP: &str = "IP address       HW type     Flags       HW address            Mask     Device\n";

/// Routes, neighbours and queueing disciplines.
pub(super) fn lists(host: &mut Printed, links: &Links, lines: &[String]) {
    let (mut at, mut device, mut lists) = (0, None::<String>, false);
    while let Some(line) = lines.get(at) {
        at += 1;
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if let Some(line) = command(line) {
            let of: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            device = behind(&of, "dev").map(str::to_owned);
            let kind = |word: &String| {
                word.len() > 1 && ["neighbour", "neighbor", "route"].iter().any(|kind| kind.starts_with(word.as_str()))
            };
            lists = of.iter().any(|word| word == "ip") && of.iter().any(kind);
            continue;
        }
        // Of `tc qdisc show dev eth0`, `ip neigh show dev eth0` the device stands in the command alone.
        let first = words.first().map_or("", String::as_str);
        let listed = first == "qdisc" || lists && (first == "default" || network(first).is_some());
        if listed && behind(&words, "dev").is_none() {
            let at = if first == "qdisc" { words.len() } else { 1 };
            let own = device.iter().flat_map(|device| ["dev".to_owned(), device.clone()]);
            words.splice(at..at, own);
        }
        if line.starts_with(char::is_whitespace) || words.len() < 2 {
            continue;
        }
        if let (Some(priority), Some(table)) = (words[0].strip_suffix(':'), behind(&words, "lookup")) {
            policy(priority, &words, table).into_iter().for_each(|one| host.add(Question::Policies, "", one));
        } else if words[0] == "qdisc" {
            // ` Sent 812 bytes 5 pkt (dropped 4, overlimits 0 requeues 0)`
            let next: Vec<&str> = lines.get(at).map_or_else(Vec::new, |line| line.split_whitespace().collect());
            let of =
                |at: usize| next.get(at).and_then(|word| word.trim_end_matches(',').parse::<u64>().ok()).unwrap_or(0);
            let counts = if next.first() == Some(&"Sent") { [of(3), of(6)] } else { [0; 2] };
            qdisc(links, &words, counts).into_iter().for_each(|one| host.add(Question::Qdiscs, "", one));
        } else if let Some(state) = STATES_OF.iter().find(|(name, _)| words.last().is_some_and(|word| word == name)) {
            neighbour(host, links, &words, state.1);
        } else {
            let hops: Vec<Vec<String>> = lines[at..]
                .iter()
                .take_while(|line| line.trim_start().starts_with("nexthop "))
                .map(|line| line.split_whitespace().map(str::to_owned).collect())
                .collect();
            at += hops.len();
            route(host, links, &words, &hops);
        }
    }
}

/// Number of a routing table, whose name may be one that a file gives it.
fn number_of_table(name: &str) -> Option<u32> {
    TABLES.iter().find(|(one, _)| *one == name).map(|(_, number)| *number).or_else(|| name.parse().ok())
}

/// `32765: from 10.0.2.10 lookup 200`.
fn policy(priority: &str, words: &[String], table: &str) -> Option<Vec<u8>> {
    let priority: u32 = priority.parse().ok()?;
    let from = behind(words, "from").and_then(network);
    let bits = from.map_or(0, |(_, bits)| bits);
    let header = [from.map_or(2, |(address, _)| family(address)), 0, bits, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    let mut message = Message::about(0, 0, &header);
    from.iter().for_each(|(address, _)| message.attribute(2, &octets(*address)));
    message.attribute(6, &priority.to_ne_bytes());
    message.attribute(15, &number_of_table(table)?.to_ne_bytes());
    Some(message.into_body())
}

fn neighbour(host: &mut Printed, links: &Links, words: &[String], state: u16) {
    let (Ok(address), Some(device)) = (words[0].parse::<IpAddr>(), behind(words, "dev")) else { return };
    let Some(index) = links.index(device) else { return };
    let header = [&[family(address), 0, 0, 0][..], &index.to_ne_bytes(), &state.to_ne_bytes(), &[0, 1]].concat();
    let mut message = Message::about(0, 0, &header);
    message.attribute(1, &octets(address));
    let own = behind(words, "lladdr");
    own.and_then(mac).iter().for_each(|mac| message.attribute(2, mac));
    host.add(Question::Neighbours, "", message.into_body());
    if address.is_ipv4() && state != 0x40 {
        let flags = match (own, state) {
            (None, _) => 0,
            (_, 0x80) => 6,
            _ => 2,
        };
        let mac = own.unwrap_or("00:00:00:00:00:00");
        let table = host.files.entry("proc/net/arp".to_owned()).or_insert_with(|| ARP.into());
        table.extend(format!("{address} 0x1 {flags:#x} {mac} * {device}\n").bytes());
    }
}

fn route(host: &mut Printed, links: &Links, words: &[String], hops: &[Vec<String>]) {
    let (kind, rest) = match KINDS.iter().position(|kind| *kind == words[0]) {
        Some(kind) => (kind, &words[1..]),
        None => (1, words),
    };
    let via = behind(rest, "via").and_then(|via| via.parse::<IpAddr>().ok());
    let Some((first, index)) = rest.first().zip(Some(behind(rest, "dev").and_then(|name| links.index(name)))) else {
        return;
    };
    let sixth = via.is_some_and(|via| via.is_ipv6()) || rest.iter().any(|word| word == "pref");
    let to = match (first.as_str(), sixth) {
        ("default", false) => (Ipv4Addr::UNSPECIFIED.into(), 0),
        ("default", true) => (std::net::Ipv6Addr::UNSPECIFIED.into(), 0),
        (text, _) => match network(text) {
            Some(to) => to,
            None => return,
        },
    };
    // A line of something else begins with an address, too.
    if index.is_none() && hops.is_empty() && kind < 6 {
        return;
    }
    let usual = if kind == 2 || kind == 3 { 255 } else { 254 };
    let table = behind(rest, "table").map_or(Some(usual), number_of_table);
    let protocol = behind(rest, "proto");
    let protocol = PROTOCOLS.iter().find(|(name, _)| Some(*name) == protocol).map_or(3, |(_, number)| *number);
    let onlink = u32::from(rest.iter().any(|word| word == "onlink")) << 2;
    let kind = u8::try_from(kind).unwrap_or(0);
    let header = [&[family(to.0), to.1, 0, 0, 0, protocol, 0, kind][..], &onlink.to_ne_bytes()].concat();
    let mut message = Message::about(0, 0, &header);
    if to.1 > 0 {
        message.attribute(1, &octets(to.0));
    }
    message.attribute(15, &table.unwrap_or(0).to_ne_bytes());
    index.iter().for_each(|index| message.attribute(4, &index.to_ne_bytes()));
    via.iter().for_each(|via| message.attribute(5, &octets(*via)));
    let metric = number::<u32>(rest, "metric");
    metric.iter().for_each(|metric| message.attribute(6, &metric.to_ne_bytes()));
    // What makes it another route than one without it.
    for (word, kind) in [("src", 7), ("nhid", 30)] {
        behind(rest, word).iter().for_each(|value| message.text(kind, value));
    }
    metrics(&mut message, rest);
    if !hops.is_empty() {
        message.nest(9, |all| hops.iter().for_each(|hop| next_hop(all, links, hop)));
    }
    host.add(Question::Routes, "", message.into_body());
    if let (IpAddr::V4(to_v4), Some(254), 1, Some(device)) = (to.0, table, kind, behind(rest, "dev")) {
        let gateway = via.and_then(|via| if let IpAddr::V4(via) = via { Some(via) } else { None });
        let hex = |address: Ipv4Addr| u32::from_ne_bytes(address.octets());
        let mask = u32::MAX.checked_shl(32 - u32::from(to.1)).unwrap_or(0);
        let flags = 1 | u32::from(gateway.is_some()) << 1 | u32::from(to.1 == 32) << 2;
        let line = format!(
            "{device}\t{:08X}\t{:08X}\t{flags:04X}\t0\t0\t{}\t{:08X}\t0\t0\t0\n",
            hex(to_v4),
            gateway.map_or(0, hex),
            metric.unwrap_or(0),
            hex(Ipv4Addr::from(mask))
        );
        let table =
            host.files.entry("proc/net/route".to_owned()).or_insert_with(|| "Iface\tDestination\tGateway\n".into());
        table.extend(line.bytes());
    }
}

fn next_hop(to: &mut Message, links: &Links, words: &[String]) {
    let Some(index) = behind(words, "dev").and_then(|name| links.index(name)) else { return };
    let via = behind(words, "via").and_then(|via| via.parse::<IpAddr>().ok()).map(octets).unwrap_or_default();
    // `struct rtnexthop`: length, flags, hops, interface.
    let length = u16::try_from(8 + if via.is_empty() { 0 } else { 4 + via.len() }).unwrap_or(8);
    to.raw(&[&length.to_ne_bytes()[..], &[0, 0], &index.to_ne_bytes()].concat());
    if !via.is_empty() {
        to.attribute(5, &via);
    }
}

/// RTA_METRICS: those that have a `lock` before their number are kept.
fn metrics(message: &mut Message, words: &[String]) {
    let mut set: Vec<(u16, u32)> = Vec::new();
    let mut locks = 0_u32;
    for (name, kind) in METRICS {
        let Some(at) = words.iter().position(|word| word == name) else { continue };
        let locked = words.get(at + 1).is_some_and(|word| word == "lock");
        let text = words.get(at + 1 + usize::from(locked)).map_or("", String::as_str);
        // Times have their unit; the kernel's is the millisecond.
        let value = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(ms), _) => ms.parse().ok(),
            (None, Some(seconds)) => seconds.parse::<u32>().ok().and_then(|seconds| seconds.checked_mul(1000)),
            _ => text.parse().ok(),
        };
        if let Some(value) = value {
            set.push((kind, value));
            locks |= u32::from(locked) << kind;
        }
    }
    let congestion = behind(words, "congctl");
    if set.is_empty() && congestion.is_none() {
        return;
    }
    message.nest(8 | NESTED, |metrics| {
        if locks != 0 {
            metrics.attribute(1, &locks.to_ne_bytes());
        }
        set.iter().for_each(|(kind, value)| metrics.attribute(*kind, &value.to_ne_bytes()));
        congestion.iter().for_each(|name| metrics.text(16, name));
    });
}

/// `qdisc pfifo 8001: dev eth0 root refcnt 2 limit 2p`.
fn qdisc(links: &Links, words: &[String], [sent, dropped]: [u64; 2]) -> Option<Vec<u8>> {
    let index = links.index(behind(words, "dev")?)?;
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let parent = match behind(words, "parent").and_then(|parent| parent.split_once(':')) {
        Some((major, minor)) => hex(if major.is_empty() { "0" } else { major })? << 16 | hex(minor)?,
        None if words[1] == "ingress" || words[1] == "clsact" => 0xffff_fff1,
        None => u32::MAX,
    };
    let mut message = Message::about(0, 0, &[0, index, 0, parent, 0].map(u32::to_ne_bytes).concat());
    message.text(1, words.get(1)?);
    let limit = behind(words, "limit").map(|limit| limit.trim_end_matches(|c: char| c.is_ascii_alphabetic()));
    let limit = limit.and_then(|limit| limit.parse::<u32>().ok()).map(u32::to_ne_bytes);
    match (words[1].as_str(), limit) {
        ("pfifo" | "bfifo", Some(limit)) => message.attribute(2, &limit),
        ("tbf", _) => message.nest(2 | NESTED, |options| bucket(options, words)),
        ("fq", Some(limit)) => message.nest(2 | NESTED, |options| {
            options.attribute(1, &limit);
            let most = behind(words, "maxrate").and_then(|rate| scaled(rate, 1000));
            most.iter().for_each(|bits| options.attribute(7, &cut(bits / 8, u32::MAX).to_ne_bytes()));
        }),
        ("fq_codel" | "codel", Some(limit)) => message.nest(2 | NESTED, |options| options.attribute(2, &limit)),
        _ => {}
    }
    message.nest(7 | NESTED, |stats| {
        stats.attribute(8, &sent.to_ne_bytes());
        stats.attribute(3, &[0, 0, cut(dropped, u32::MAX), 0, 0].map(u32::to_ne_bytes).concat());
    });
    Some(message.into_body())
}

/// `struct tc_tbf_qopt` of `rate 5Gbit burst 5Kb`, and its rate alone.
fn bucket(options: &mut Message, words: &[String]) {
    let Some(rate) = behind(words, "rate").and_then(|rate| scaled(rate, 1000)).map(|bits| bits / 8) else { return };
    let burst = behind(words, "burst").and_then(|text| scaled(text.split('/').next()?, 1024)).unwrap_or(0);
    let ticks = u128::from(burst) * 1_000_000_000 / 64 / u128::from(rate.max(1));
    let mut parameters = vec![0; 36];
    parameters[8..12].copy_from_slice(&cut(rate, u32::MAX).to_ne_bytes());
    parameters[28..32].copy_from_slice(&cut(ticks, u32::MAX).to_ne_bytes());
    options.attribute(1, &parameters);
    options.attribute(4, &rate.to_ne_bytes());
}

/// `struct tc_police` of `police 0x1 rate 2Gbit burst 1500b`.
fn policer(words: &[String]) -> Option<Vec<u8>> {
    let rate = behind(words, "rate").and_then(|rate| scaled(rate, 1000))? / 8;
    let burst = behind(words, "burst").and_then(|text| scaled(text.split('/').next()?, 1024))?;
    let ticks = (u128::from(burst) * 1_000_000_000).div_ceil(64 * u128::from(rate.max(1)));
    let mut parameters = vec![0; 56];
    parameters[12..16].copy_from_slice(&cut(ticks, u32::MAX).to_ne_bytes());
    parameters[28..32].copy_from_slice(&cut(rate, u32::MAX).to_ne_bytes());
    Some(parameters)
}

/// A number with its unit, of which each is so many of the one before: `5Gbit`, `128Kb`.
fn scaled(text: &str, step: u64) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match text[digits.len()..].bytes().next() {
        Some(b'K') => 1,
        Some(b'M') => 2,
        Some(b'G') => 3,
        Some(b'T') => 4,
        _ => 0,
    };
    digits.parse::<u64>().ok()?.checked_mul(step.pow(power))
}

/// Filters of traffic control, behind the command that names their interface, as far as they limit or drop:
/// `filter protocol ip pref 1 u32 …`, `action order 1: police 0x1 rate 100Mbit …`.
pub(super) fn filters(host: &mut Printed, lines: &[String]) {
    let (mut device, mut kind) = (None::<String>, None::<String>);
    for line in lines {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if let Some(line) = command(line) {
            let of: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let lists = |word: &String| word == "filter" || word == "class";
            device = behind(&of, "dev").filter(|_| of.iter().any(lists)).map(str::to_owned);
            continue;
        }
        // `class htb 1:1 root rate 200Mbit ceil 200Mbit …`
        let ceiling =
            behind(&words, "ceil").and_then(|rate| scaled(rate, 1000)).filter(|_| line.starts_with("class htb "));
        if let (Some(device), Some(bits)) = (&device, ceiling) {
            let mut message = Message::about(0, 0, &[0_u32; 5].map(u32::to_ne_bytes).concat());
            message.text(1, "htb");
            message.nest(2 | NESTED, |options| options.attribute(7, &(bits / 8).to_ne_bytes()));
            host.add(Question::Classes, device, message.into_body());
        }
        if line.starts_with("filter ") {
            let known = |word: &&String| ["u32", "matchall", "flower", "basic", "bpf", "fw"].contains(&word.as_str());
            kind = words.iter().find(known).cloned();
            device = behind(&words, "dev").map(str::to_owned).or(device);
        }
        let polices = words.iter().any(|word| word == "police");
        let drops = words.iter().any(|word| word == "gact") && words.iter().any(|word| word == "drop");
        if let (Some(device), Some(kind), true) = (&device, &kind, polices || drops) {
            let mut message = Message::about(0, 0, &[0_u32; 5].map(u32::to_ne_bytes).concat());
            message.text(1, kind);
            let at = ACTIONS.iter().find(|(one, _)| one == kind).map_or(2, |(_, at)| *at);
            message.nest(2 | NESTED, |options| {
                options.nest(at | NESTED, |all| {
                    all.nest(1 | NESTED, |one| {
                        one.text(1, if polices { "police" } else { "gact" });
                        if let Some(police) = policer(&words) {
                            one.nest(2 | NESTED, |of| of.attribute(1, &police));
                        }
                        if drops {
                            let shot = [0_u32, 0, 2].map(u32::to_ne_bytes).concat();
                            one.nest(2 | NESTED, |of| of.attribute(2, &shot));
                        }
                    });
                });
            });
            host.add(Question::Filters, device, message.into_body());
        }
    }
}
