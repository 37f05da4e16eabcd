//! Texts of older programs, line by line as newer ones print the same: ifconfig(8) of Linux, `netstat -i`, `netstat -rn`, route(8),
//! arp(8) and /proc/net/dev as ip(8) does, and `iptables -L` and `iptables -S` as iptables-save(8) does; and what ip(8) prints with
//! -br and -o, or tail(1) has left of it, as it prints without.

use super::command;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Least number of a link that has none in its text.
pub(super) const FIRST: u32 = 1 << 20;

/// An interface as these programs tell it.
#[derive(Default)]
struct Link {
    flags: String,
    mtu: String,
    queue: String,
    layer: String,
    address: String,
    /// Addresses with their prefixes.
    own: Vec<String>,
    /// Counters of each way, by ip's names for the columns.
    counters: [BTreeMap<&'static str, String>; 2],
}

impl Link {
    fn lines(&self, index: usize, name: &str) -> Vec<String> {
        let has = |flag: &str| self.flags.split([',', ' ']).any(|one| one == flag);
        let state = match (has("UP"), has("RUNNING")) {
            (true, true) => ",LOWER_UP",
            (true, false) => ",NO-CARRIER",
            _ => "",
        };
        // Others than VLANs have a dot in their names, too.
        let lower = name.rsplit_once('.').filter(|(lower, _)| !["flannel", "vxlan"].contains(lower));
        let lower = lower.map_or_else(String::new, |(lower, _)| format!("@{lower}"));
        let layer = if name == "lo" { "loopback" } else { &self.layer };
        let told = |word: &str, value: &str| if value.is_empty() { String::new() } else { format!(" {word} {value}") };
        let flags = self.flags.split([',', ' ']).filter(|one| !one.is_empty()).collect::<Vec<_>>().join(",");
        let (mtu, queue) = (told("mtu", &self.mtu), told("qlen", &self.queue));
        let mut all = vec![
            format!("{}: {name}{lower}: <{flags}{state}>{mtu}{queue}", FIRST as usize + index),
            format!("    link/{layer} {}", self.address),
        ];
        all.extend(self.own.iter().map(|own| format!("    {own} scope global {name}")));
        for (way, counters) in ["RX", "TX"].into_iter().zip(&self.counters) {
            for (head, others) in [(":", false), (" errors:", true)] {
                let of = |(column, _): &(&&str, &String)| OTHER.contains(*column) == others;
                let (names, values): (Vec<_>, Vec<_>) =
                    counters.iter().filter(of).map(|(column, value)| (*column, value.as_str())).unzip();
                if !names.is_empty() {
                    all.push(format!("    {way}{head} {}", names.join(" ")));
                    all.push(format!("    {}", values.join(" ")));
                }
            }
        }
        all
    }

    /// Takes the pairs of words that a line has: `errors:3`, `errors 3`.
    fn count(&mut self, line: &str) {
        let mut way = 0;
        let mut words = line.split([' ', ':', '\t']).filter(|word| !word.is_empty()).peekable();
        while let Some(word) = words.next() {
            way = match word {
                "RX" => 0,
                "TX" | "collisions" => 1,
                _ => way,
            };
            let value = words.peek().filter(|value| value.bytes().all(|b| b.is_ascii_digit()));
            let column = NAMES.iter().find(|(one, ways, _)| *one == word && ways.contains(&way));
            if let (Some(value), Some((.., column))) = (value, column) {
                self.counters[way].entry(column).or_insert_with(|| (*value).to_owned());
            }
            if let ("MTU" | "mtu", Some(value)) = (word, value) {
                self.mtu = (*value).to_owned();
            }
            if let ("txqueuelen", Some(value)) = (word, value) {
                self.queue = (*value).to_owned();
            }
        }
    }

    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let behind = |word: &str| {
            let at = words.iter().position(|one| *one == word || one.starts_with(word) && word.ends_with(':'))?;
            words[at].strip_prefix(word).filter(|rest| !rest.is_empty()).or_else(|| words.get(at + 1).copied())
        };
        let mask = behind("netmask").or_else(|| behind("Mask:")).and_then(prefix);
        match words[..] {
            ["inet", ..] => {
                let own = behind("addr:").or_else(|| behind("inet"));
                let peer = behind("P-t-P:").or_else(|| behind("destination")).map(|peer| format!(" peer {peer}"));
                if let (Some(own), Some(bits)) = (own, mask) {
                    self.own.push(format!("inet {own}{}/{bits}", peer.unwrap_or_default()));
                }
            }
            ["inet6", "addr:", own, ..] => self.own.push(format!("inet6 {own}")),
            ["inet6", own, "prefixlen", bits, ..] => self.own.push(format!("inet6 {own}/{bits}")),
            ["ether", address, ..] => (self.layer, self.address) = ("ether".to_owned(), address.to_owned()),
            ["UP", ..] if line.contains("MTU:") => {
                self.flags = line.split("MTU:").next().unwrap_or_default().to_owned()
            }
            ["loop", ..] => self.layer = "loopback".to_owned(),
            _ => {}
        }
        self.count(line);
    }
}

/// Columns that ip(8) prints in a line of errors.
const OTHER: [&str; 3] = ["frame", "fifo", "length"];
/// Words of ifconfig, the ways that have them, and ip's columns.
const NAMES: [(&str, &[usize], &str); 8] = [
    ("packets", &[0, 1], "packets"),
    ("bytes", &[0, 1], "bytes"),
    ("errors", &[0, 1], "errors"),
    ("dropped", &[0, 1], "dropped"),
    ("overruns", &[0, 1], "fifo"),
    ("frame", &[0], "frame"),
    ("carrier", &[1], "carrier"),
    ("collisions", &[1], "collsns"),
];
/// Columns of /proc/net/dev and of `netstat -i`, in their order.
const DEV: [(usize, &str); 16] = [
    (0, "bytes"),
    (0, "packets"),
    (0, "errors"),
    (0, "dropped"),
    (0, "fifo"),
    (0, "frame"),
    (2, ""),
    (0, "mcast"),
    (1, "bytes"),
    (1, "packets"),
    (1, "errors"),
    (1, "dropped"),
    (1, "fifo"),
    (1, "collsns"),
    (1, "carrier"),
    (2, ""),
];
const TABLE: [(usize, &str); 8] = [
    (0, "packets"),
    (0, "errors"),
    (0, "dropped"),
    (0, "fifo"),
    (1, "packets"),
    (1, "errors"),
    (1, "dropped"),
    (1, "fifo"),
];

fn prefix(mask: &str) -> Option<u32> {
    mask.parse::<Ipv4Addr>().ok().map(|mask| u32::from(mask).count_ones())
}

/// Name and the rest of a line that begins an interface: `eth0: flags=4163<UP,RUNNING>  mtu 1500`, `eth0  Link encap:Ethernet …`.
fn head(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(char::is_whitespace)?;
    let rest = rest.trim_start();
    let is_one = rest.starts_with("Link encap:") || rest.starts_with("flags=") && !rest.contains(" metric ");
    (is_one && !name.is_empty()).then(|| (name.split(':').next().unwrap_or(name), rest))
}

/// Counters of a row, if it has as many as the table's columns.
fn row(words: &[&str], columns: &[(usize, &'static str)]) -> Option<Link> {
    let numbers = words.get(..columns.len())?;
    if !numbers.iter().all(|word| word.bytes().all(|b| b.is_ascii_digit())) {
        return None;
    }
    let mut link = Link { flags: "UP,RUNNING".to_owned(), layer: "ether".to_owned(), ..Link::default() };
    for ((way, column), number) in columns.iter().zip(numbers).filter(|((way, _), _)| *way < 2) {
        link.counters[*way].insert(column, (*number).to_owned());
    }
    // It has never been in use.
    let idle = numbers.iter().all(|number| *number == "0");
    Some(link).filter(|_| !idle)
}

/// The lines of a text, those of older programs as newer ones have them.
pub(super) fn newer(lines: Vec<String>) -> Vec<String> {
    let (mut all, mut at, mut count) = (Vec::with_capacity(lines.len()), 0, 0);
    let (mut header, mut pairs) = (String::new(), false);
    while let Some(line) = lines.get(at) {
        at += 1;
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(name) = asked(line, lines.get(at).map_or("", String::as_str)) {
            all.extend([line.clone(), format!("{}: {name}: <UP,LOWER_UP>", FIRST as usize + count)]);
            count += 1;
            continue;
        }
        if let Some(typed) = command(line) {
            let has = |all: &[&str]| typed.split_whitespace().any(|word| all.contains(&word));
            pairs = has(&["ip"]) && has(&["awk"]) && has(&["a", "ad", "addr", "address"]);
        }
        // `ip -4 -o addr | awk '{print $2,$4}'`
        if let (true, [name, own]) = (pairs, &words[..])
            && own.contains('/')
        {
            let family = if own.contains(':') { "inet6" } else { "inet" };
            all.extend([format!("{}: {name}: <UP,LOWER_UP>", FIRST as usize + count), format!("    {family} {own}")]);
            count += 1;
            continue;
        }
        if let Some(of) = brief(line, FIRST as usize + count) {
            all.extend(of);
            count += 1;
            continue;
        }
        if let Some(of) = listed(line, &lines[at..]) {
            at += of.len() - 3;
            all.extend(of);
            continue;
        }
        if let Some((name, rest)) = head(line) {
            let flags = rest.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map_or("", |(flags, _)| flags);
            let layer = if rest.contains("Loopback") { "loopback" } else { "none" };
            let layer = if rest.contains("encap:Ethernet") { "ether" } else { layer };
            let address = rest.split_once("HWaddr ").map_or("", |(_, address)| address.trim()).to_owned();
            let mut link = Link { flags: flags.to_owned(), layer: layer.to_owned(), address, ..Link::default() };
            link.count(rest.split_once('>').map_or("", |(_, rest)| rest));
            let own =
                lines[at..].iter().take_while(|line| line.starts_with(char::is_whitespace) && !line.trim().is_empty());
            at += own.map(|line| link.line(line)).count();
            all.extend(link.lines(count, name));
            count += 1;
            continue;
        }
        match words[..] {
            ["Iface", "MTU", ..] | ["Destination", "Gateway", "Genmask", ..] | ["Address", "HWtype", ..] => {
                header.clone_from(line);
            }
            ["Chain", ..] if line.ends_with(')') => {
                at += filter(&mut all, line, &lines[at..]);
                continue;
            }
            _ => {}
        }
        let of = match words[..] {
            [name, ..] if name.ends_with(':') && words.len() == 17 => {
                row(&words[1..], &DEV).map(|link| (link, name.trim_end_matches(':')))
            }
            [name, mtu, ..] if header.starts_with("Iface") && words.len() >= 11 => {
                // Some have a metric behind the MTU.
                let from = if header.contains(" Met ") { 3 } else { 2 };
                let link = row(&words[from.min(words.len())..], &TABLE);
                link.map(|link| (Link { mtu: mtu.to_owned(), ..link }, name))
            }
            _ => None,
        };
        match of {
            Some((link, name)) => {
                all.extend(link.lines(count, name));
                count += 1;
            }
            None => match one(&words, &header) {
                Some(newer) => all.push(newer),
                None => {
                    if words.is_empty() || line.contains("# ") || line.contains("$ ") {
                        header.clear();
                    }
                    all.push(line.clone());
                }
            },
        }
    }
    all
}

/// Interface that a command of ip(8) asks for, the tail of whose answer stands alone: `ip -s link show eth0 | tail -4`.
fn asked<'a>(line: &'a str, next: &str) -> Option<&'a str> {
    let left = ["RX:", "TX:", "link/"].iter().any(|word| next.trim_start().starts_with(word));
    let words: Vec<&str> = command(line)?.split(['|', ';']).next()?.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "ip").filter(|_| left && next.starts_with(' '))?;
    let behind = |word: &str| words[at..].iter().position(|one| *one == word).and_then(|by| words.get(at + by + 1));
    behind("dev").or_else(|| behind("show")).or_else(|| behind("ls")).copied()
}

/// Lines of ip(8) with -br or -o as those without, or with no number before the name.
fn brief(line: &str, index: usize) -> Option<Vec<String>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let name = *words.first()?;
    let is_state = |word: &str| ["UP", "DOWN", "UNKNOWN", "LOWERLAYERDOWN", "DORMANT"].contains(&word);
    let layer = if name == "lo" { "loopback" } else { "ether" };
    match words[..] {
        // `lo: <LOOPBACK,UP> mtu 65536 …`
        [_, flags, "mtu", ..] if name.ends_with(':') && flags.starts_with('<') => {
            Some(vec![format!("{index}: {line}")])
        }
        // `2: eth0    inet 10.0.0.1/24 scope global eth0\       valid_lft …`
        [number, name, "inet" | "inet6", ..] if number.ends_with(':') && !name.ends_with(':') => {
            let (_, rest) = line.split_once(name)?;
            let own = rest.split('\\').next()?.trim();
            Some(vec![format!("{number} {name}: <UP,LOWER_UP>"), format!("    {own}")])
        }
        [number, _, flags, ..] if number.ends_with(':') && flags.starts_with('<') && line.contains("\\    link/") => {
            Some(line.split('\\').map(str::to_owned).collect())
        }
        // Columns of a width.
        [_, state, ..] if is_state(state) && line.find(&format!(" {state}")) >= Some(16) && !name.ends_with(':') => {
            let (rest, state) = (&words[2..], format!("state {state}"));
            match rest {
                [.., flags] if flags.starts_with('<') => Some(vec![
                    format!("{index}: {name}: {flags} {state}"),
                    format!("    link/{layer} {}", if rest.len() > 1 { rest[0] } else { "" }),
                ]),
                _ if rest.iter().all(|word| word.contains('/') || word.parse::<u32>().is_ok() || *word == "metric") => {
                    let flags = if state.ends_with(" UP") || state.ends_with("UNKNOWN") { "UP,LOWER_UP" } else { "" };
                    let own = rest.iter().filter(|word| word.contains('/'));
                    let own = own.map(|own| format!("    {} {own}", if own.contains(':') { "inet6" } else { "inet" }));
                    let head = [format!("{index}: {name}: <{flags}>"), format!("    link/{layer}")];
                    Some(head.into_iter().chain(own).collect())
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Chains of `iptables -S`, which is behind a command that may name the table, as iptables-save(8) has them.
fn listed(line: &str, lines: &[String]) -> Option<Vec<String>> {
    let typed: Vec<&str> = command(line)?.split_whitespace().collect();
    let is_one = typed.iter().any(|word| word.starts_with("iptables")) && typed.contains(&"-S");
    let table = typed.iter().position(|word| *word == "-t").and_then(|at| typed.get(at + 1)).unwrap_or(&"filter");
    let body =
        lines.iter().take_while(|line| line.starts_with("-P ") || line.starts_with("-A ") || line.starts_with("-N "));
    let chain = |line: &String| match line.strip_prefix("-P ") {
        Some(policy) => format!(":{policy}"),
        None => line.strip_prefix("-N ").map_or_else(|| line.clone(), |chain| format!(":{chain} -")),
    };
    let body: Vec<String> = body.map(chain).collect();
    (is_one && !body.is_empty())
        .then(|| [vec![line.to_owned(), format!("*{table}")], body, vec!["COMMIT".to_owned()]].concat())
}

/// A route or a neighbour.
fn one(words: &[&str], header: &str) -> Option<String> {
    let device = *words.last()?;
    match *words {
        // `? (10.0.0.1) at 02:00:00:00:00:01 [ether] on eth0`
        [_, address, "at", mac, ..] if words.contains(&"on") && address.starts_with('(') => {
            let address = address.trim_matches(['(', ')']);
            Some(if mac.starts_with('<') {
                format!("{address} dev {device} FAILED")
            } else {
                format!("{address} dev {device} lladdr {mac} REACHABLE")
            })
        }
        [address, "(incomplete)", ..] if header.starts_with("Address") => {
            Some(format!("{address} dev {device} FAILED"))
        }
        [address, "ether", mac, flags, ..] if header.starts_with("Address") => {
            let state = if flags.contains('M') { "PERMANENT" } else { "REACHABLE" };
            Some(format!("{address} dev {device} lladdr {mac} {state}"))
        }
        [to, via, mask, flags, metric, window, _, _] if header.starts_with("Destination") => {
            let to = match prefix(mask)? {
                0 => "default".to_owned(),
                bits => format!("{}/{bits}", to.parse::<Ipv4Addr>().ok()?),
            };
            let via = if flags.contains('G') { format!(" via {via}") } else { String::new() };
            let kind = if flags.contains('!') { "unreachable " } else { "" };
            // `netstat -rn` has segment and window there.
            let more = match header.contains("Window") {
                true if *window != *"0" => format!(" window {window}"),
                true => String::new(),
                false => format!(" metric {metric}"),
            };
            Some(format!("{kind}{to}{via} dev {device}{more}"))
        }
        _ => None,
    }
}

/// A number of packets: `123K`.
fn number(text: &str) -> Option<u64> {
    let scale = match text.bytes().last()? {
        b'K' => 1000,
        b'M' => 1_000_000,
        b'G' => 1_000_000_000,
        b'T' => 1_000_000_000_000,
        _ => 1,
    };
    text.trim_end_matches(['K', 'M', 'G', 'T']).parse::<u64>().ok()?.checked_mul(scale)
}

/// A chain of `iptables -L`, with and without -v; the number of its lines behind the first.
fn filter(all: &mut Vec<String>, line: &str, lines: &[String]) -> usize {
    let body: Vec<&String> = lines.iter().take_while(|line| !line.trim().is_empty()).collect();
    let counted = body.first().is_some_and(|line| line.trim_start().starts_with("pkts"));
    let is_one = counted || body.first().is_some_and(|line| line.starts_with("target"));
    let parts = line.strip_prefix("Chain ").and_then(|rest| rest.split_once(" (")).filter(|_| is_one);
    let Some((name, rest)) = parts else {
        all.push(line.to_owned());
        return 0;
    };
    let words: Vec<&str> = rest.trim_end_matches(')').split_whitespace().collect();
    let (policy, packets) = match words[..] {
        ["policy", policy, packets, ..] => (policy, number(packets).unwrap_or(0)),
        ["policy", policy] => (policy, 0),
        _ => ("-", 0),
    };
    // Which table it is of is not in the text.
    let table = match name {
        "PREROUTING" | "POSTROUTING" => "nat",
        _ => "filter",
    };
    let counts = if counted { format!(" [{packets}:0]") } else { String::new() };
    all.extend([format!("*{table}"), format!(":{name} {policy}{counts}")]);
    for line in &body[1..] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (counts, words) = match (counted, words.split_at_checked(2)) {
            (true, Some(([packets, _], rest))) => (format!("[{}:0] ", number(packets).unwrap_or(0)), rest),
            _ => (String::new(), &words[..]),
        };
        // A rule that only counts has no target.
        let at = usize::from(words.get(1).is_none_or(|word| !word.starts_with('-')));
        let Some([protocol, _, rest @ ..]) = words.get(at..) else { continue };
        let mut rule = format!("{counts}-A {name} -p {protocol}");
        let ways = if counted { rest.get(..2).unwrap_or_default() } else { &[] };
        let given = |word: &&str| !matches!(*word, "*" | "any" | "0.0.0.0/0" | "anywhere" | "::/0");
        for (option, way) in ["-i", "-o"].iter().zip(ways).filter(|(_, way)| given(way)) {
            rule += &format!(" {option} {way}");
        }
        let ends = rest.get(ways.len()..).unwrap_or_default();
        for (option, end) in ["-s", "-d"].iter().zip(ends).filter(|(_, end)| given(end)) {
            rule += &format!(" {option} {end}");
        }
        let more = ends.get(2..).unwrap_or_default().join(" ");
        rule += &matches(more.split("/*").next().unwrap_or_default());
        all.push(if at == 1 { format!("{rule} -j {}", words[0]) } else { rule });
    }
    all.push("COMMIT".to_owned());
    body.len()
}

/// Matches of a firewall's rule, as options.
fn matches(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        [] | ["reject-with", ..] => String::new(),
        ["icmptype" | "icmp", kind, "code", code] => format!(" --icmp-type {kind}/{code}"),
        ["icmptype" | "icmp" | "ipv6-icmptype" | "ipv6-icmp", kind] => format!(" --icmp-type {kind}"),
        ["ctstate" | "state", states] => format!(" --ctstate {states}"),
        ["limit:", "avg", rate, ..] => format!(" --limit {rate}"),
        [.., "clamp", "to", "PMTU"] => " --clamp-mss-to-pmtu".to_owned(),
        [.., "TCPMSS", "set", bytes] => format!(" --set-mss {bytes}"),
        _ => " --other".to_owned(),
    }
}
