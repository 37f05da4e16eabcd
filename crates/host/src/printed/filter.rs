//! Texts of the packet filter: iptables-save(8), with or without counters, and `nft list ruleset`.

use super::Printed;
use crate::adapter::Question;
use crate::netlink::message::Message;

const NESTED: u16 = 0x8000;
const HOOKS: [&str; 5] = ["prerouting", "input", "forward", "output", "postrouting"];
const PROTOCOLS: [(&str, u8); 7] =
    [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmpv6", 58), ("ipv6-icmp", 58), ("gre", 47), ("esp", 50)];
/// Messages of ICMP and of ICMPv6 by the names that both programs have for them, as they stand in a packet.
const MESSAGES: [(&str, &[u8]); 7] = [
    ("destination-unreachable", &[3]),
    ("fragmentation-needed", &[3, 4]),
    ("frag-needed", &[3, 4]),
    ("3/4", &[3, 4]),
    ("packet-too-big", &[2]),
    ("echo-request", &[8]),
    ("echo-reply", &[0]),
];
/// Options of iptables that narrow nothing, with a word behind them.
const IDLE: [&str; 5] = ["-m", "--comment", "--log-prefix", "--log-level", "--reject-with"];
/// Verdicts (NF_DROP, NF_ACCEPT, NFT_RETURN, NFT_JUMP).
const VERDICTS: [(&str, u32); 3] = [("DROP", 0), ("ACCEPT", 1), ("RETURN", 0xffff_fffb)];
const JUMP: u32 = 0xffff_fffd;
// NFT_META_IIFNAME, OIFNAME, L4PROTO
const CAME_BY: u32 = 6;
const LEAVES_BY: u32 = 7;
const PROTOCOL: u32 = 16;

/// Expressions of a rule, as nftables has them.
struct Rule(Message);

impl Rule {
    fn new() -> Self {
        Self(Message::about(0, 0, &[]))
    }

    fn add(&mut self, name: &str, fill: impl FnOnce(&mut Message)) {
        self.0.nest(1 | NESTED, |one| {
            one.text(1, name);
            one.nest(2 | NESTED, fill);
        });
    }

    fn compare(&mut self, value: &[u8]) {
        self.add("cmp", |data| {
            data.attribute(2, &0_u32.to_be_bytes());
            data.nest(3 | NESTED, |of| of.attribute(1, value));
        });
    }

    fn meta(&mut self, key: u32, value: &[u8]) {
        self.add("meta", |data| data.attribute(2, &key.to_be_bytes()));
        self.compare(value);
    }

    fn protocol(&mut self, name: &str) {
        match PROTOCOLS.iter().find(|(one, _)| *one == name).map(|(_, number)| *number).or_else(|| name.parse().ok()) {
            Some(number) => self.meta(PROTOCOL, &[number]),
            None if name == "all" => {}
            None => self.other(),
        }
    }

    /// A type of ICMP's messages.
    fn message(&mut self, name: &str) {
        let number: Option<u8> = name.parse().ok();
        let known = MESSAGES.iter().find(|(one, _)| *one == name).map(|(_, bytes)| bytes.to_vec());
        match known.or_else(|| number.map(|number| vec![number])) {
            Some(bytes) => {
                self.add("payload", |data| {
                    data.attribute(2, &2_u32.to_be_bytes());
                    data.attribute(3, &0_u32.to_be_bytes());
                });
                self.compare(&bytes);
            }
            None => self.other(),
        }
    }

    /// States of a connection; what routers tell is of one that is related.
    fn states(&mut self, list: &str) {
        if list.to_ascii_lowercase().contains("related") { self.add("ct", |_| {}) } else { self.other() }
    }

    /// `10/second`, `5 mbytes/minute`.
    fn limit(&mut self, text: &str) {
        let (amount, unit) = text.split_once('/').unwrap_or((text, "second"));
        let digits: String = amount.chars().take_while(char::is_ascii_digit).collect();
        let bytes = amount.contains("byte");
        let scale = if amount.contains("kb") { 1 << 10 } else { 1 << (20 * u32::from(amount.contains("mb"))) };
        let seconds: u64 = match unit.as_bytes().first() {
            Some(b'm') => 60,
            Some(b'h') => 3600,
            Some(b'd') => 86_400,
            _ => 1,
        };
        self.add("limit", |data| {
            if let Ok(rate) = digits.parse::<u64>() {
                data.attribute(1, &rate.saturating_mul(scale).to_be_bytes());
            }
            data.attribute(2, &seconds.to_be_bytes());
            data.attribute(4, &u32::from(bytes).to_be_bytes());
        });
    }

    /// Anything else that narrows a rule.
    fn other(&mut self) {
        self.add("match", |_| {});
    }

    fn counter(&mut self, packets: u64) {
        self.add("counter", |data| data.attribute(2, &packets.to_be_bytes()));
    }

    fn verdict(&mut self, code: u32) {
        self.add("immediate", |data| {
            data.nest(2 | NESTED, |of| of.nest(2 | NESTED, |verdict| verdict.attribute(1, &code.to_be_bytes())));
        });
    }

    /// The longest segment; none for that of the path.
    fn segment(&mut self, bytes: Option<u16>) {
        match bytes {
            Some(bytes) => self.add("immediate", |data| {
                data.nest(2 | NESTED, |of| of.attribute(1, &bytes.to_be_bytes()));
            }),
            None => self.add("rt", |data| data.attribute(2, &3_u32.to_be_bytes())),
        }
        self.add("exthdr", |data| {
            data.attribute(2, &[2]);
            data.attribute(6, &1_u32.to_be_bytes());
            data.attribute(7, &1_u32.to_be_bytes());
        });
    }

    fn end(self, table: &str, chain: &str, handle: u64) -> Vec<u8> {
        let mut message = Message::about(0, 0, &[]);
        message.text(1, table);
        message.text(2, chain);
        message.attribute(3, &handle.to_be_bytes());
        message.attribute(4 | NESTED, &self.0.into_body());
        message.into_body()
    }
}

/// A chain as it was read.
#[derive(Default)]
struct Posted {
    table: String,
    name: String,
    /// Number of its hook.
    hook: Option<u32>,
    device: Option<String>,
    drops: bool,
    /// Packets that met its policy.
    counted: Option<u64>,
    rules: u32,
}

impl Posted {
    fn end(&self) -> Vec<u8> {
        let mut message = Message::about(0, 0, &[]);
        message.text(1, &self.table);
        message.text(3, &self.name);
        if let Some(hook) = self.hook {
            message.nest(4 | NESTED, |at| {
                at.attribute(1, &hook.to_be_bytes());
                self.device.iter().for_each(|device| at.text(3, device));
            });
        }
        message.attribute(5, &u32::from(!self.drops).to_be_bytes());
        message.attribute(6, &self.rules.to_be_bytes());
        if let Some(counted) = self.counted {
            message.nest(8 | NESTED, |counters| counters.attribute(2, &counted.to_be_bytes()));
        }
        message.into_body()
    }
}

/// Chains and rules of texts, in their order.
#[derive(Default)]
struct Ruleset {
    chains: Vec<Posted>,
    rules: Vec<Vec<u8>>,
    /// Tables of iptables.
    tables: Vec<String>,
}

pub(super) fn read(host: &mut Printed, lines: &[String]) {
    let mut all = Ruleset::default();
    all.iptables(lines);
    all.nft(lines);
    if all.chains.is_empty() {
        return;
    }
    let chains: Vec<_> = all.chains.iter().map(Posted::end).collect();
    chains.into_iter().for_each(|chain| host.add(Question::Chains, "", chain));
    host.answers.entry((Question::FilterRules, String::new())).or_default().extend(all.rules);
    if !all.tables.is_empty() {
        let names = host.files.entry("proc/net/ip_tables_names".to_owned()).or_default();
        all.tables.iter().for_each(|table| names.extend(format!("{table}\n").bytes()));
    }
}

impl Ruleset {
    fn chain(&mut self, table: &str, name: &str) -> Option<&mut Posted> {
        self.chains.iter_mut().rev().find(|one| (one.table.as_str(), one.name.as_str()) == (table, name))
    }

    fn rule(&mut self, table: &str, chain: &str, rule: Rule) {
        let Some(of) = self.chain(table, chain) else { return };
        of.rules += 1;
        let handle = u64::try_from(self.rules.len()).unwrap_or(0) + 1;
        self.rules.push(rule.end(table, chain, handle));
    }

    fn iptables(&mut self, lines: &[String]) {
        let mut table = String::new();
        for line in lines {
            let line = line.trim();
            if let Some(name) = line.strip_prefix('*').filter(|name| name.bytes().all(|b| b.is_ascii_lowercase())) {
                table = name.to_owned();
                if !self.tables.contains(&table) {
                    self.tables.push(table.clone());
                }
            } else if line == "COMMIT" {
                table.clear();
            }
            if table.is_empty() {
                continue;
            }
            if let Some(rest) = line.strip_prefix(':') {
                let words: Vec<&str> = rest.split_whitespace().collect();
                let [name, policy, ..] = words[..] else { continue };
                let counted = words.get(2).and_then(|text| counts(text));
                let hook = HOOKS.iter().position(|hook| *hook == name.to_ascii_lowercase() && policy != "-");
                self.chains.push(Posted {
                    table: table.clone(),
                    name: name.to_owned(),
                    hook: hook.and_then(|hook| u32::try_from(hook).ok()),
                    drops: policy == "DROP",
                    counted,
                    ..Posted::default()
                });
                continue;
            }
            let (counted, rest) = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
                Some((counted, rest)) => (counts(counted), rest),
                None => (None, line),
            };
            let Some((chain, rest)) = rest.strip_prefix("-A ").map(|rest| rest.split_once(' ').unwrap_or((rest, "")))
            else {
                continue;
            };
            let rule = self.of_iptables(&table, &words(rest), counted);
            self.rule(&table, chain, rule);
        }
    }

    fn of_iptables(&mut self, table: &str, words: &[String], counted: Option<u64>) -> Rule {
        let mut rule = Rule::new();
        let (mut at, mut verdict, mut negated) = (0, None, false);
        let mut segment = None;
        while let Some(word) = words.get(at) {
            let value = words.get(at + 1).map_or("", String::as_str);
            at += 1;
            match word.as_str() {
                "!" => {
                    negated = true;
                    continue;
                }
                word if !word.starts_with('-') => continue,
                "-j" | "-g" => verdict = Some(value),
                "-m" if value == "statistic" => rule.add("numgen", |_| {}),
                "-m" if value == "physdev" => rule.add("match", |data| data.text(1, value)),
                word if word.starts_with("--physdev-is") => {}
                idle if IDLE.contains(&idle) => {}
                "--clamp-mss-to-pmtu" => segment = Some(None),
                "--set-mss" => segment = Some(value.parse().ok()),
                _ if negated => rule.other(),
                "-p" => rule.protocol(value),
                "-i" => rule.meta(CAME_BY, value.as_bytes()),
                "-o" => rule.meta(LEAVES_BY, value.as_bytes()),
                "--icmp-type" | "--icmpv6-type" => rule.message(value),
                "--ctstate" | "--state" => rule.states(value),
                "--limit" | "--hashlimit-upto" | "--hashlimit-above" => rule.limit(value),
                _ => rule.other(),
            }
            negated = false;
        }
        counted.iter().for_each(|packets| rule.counter(*packets));
        match verdict {
            Some("REJECT") => rule.add("reject", |_| {}),
            Some("MASQUERADE") => rule.add("masq", |_| {}),
            Some("TCPMSS") => rule.segment(segment.flatten()),
            Some("LOG") => rule.add("log", |_| {}),
            Some(word) => match VERDICTS.iter().find(|(one, _)| *one == word) {
                Some((_, code)) => rule.verdict(*code),
                None if self.chain(table, word).is_some() => rule.verdict(JUMP),
                None => rule.other(),
            },
            None => {}
        }
        rule
    }

    fn nft(&mut self, lines: &[String]) {
        let (mut table, mut chain, mut depth) = (None::<String>, None::<String>, 0_u32);
        for line in lines {
            let words = words(line);
            let word = |at: usize| words.get(at).map_or("", String::as_str);
            let opens = words.last().is_some_and(|last| last == "{");
            match (word(0), depth) {
                ("table", 0) if opens && words.len() == 4 => table = Some(word(2).to_owned()),
                ("chain", 1) if opens => {
                    chain = Some(word(1).to_owned());
                    let table = table.clone().unwrap_or_default();
                    self.chains.push(Posted { table, name: word(1).to_owned(), ..Posted::default() });
                }
                ("}", 2) => chain = None,
                ("}", 1) => table = None,
                ("type", 2) => {
                    if let Some(of) = chain.as_ref().and_then(|_| self.chains.last_mut()) {
                        let behind = |name: &str| {
                            let at = words.iter().position(|one| one == name)?;
                            words.get(at + 1).map(|one| one.trim_end_matches(';').trim_matches('"'))
                        };
                        let hook = behind("hook").map(|name| HOOKS.iter().position(|hook| *hook == name));
                        of.hook = hook.map(|hook| hook.and_then(|hook| u32::try_from(hook).ok()).unwrap_or(0));
                        of.device = behind("device").map(str::to_owned);
                        of.drops = behind("policy") == Some("drop");
                    }
                }
                ("" | "policy" | "comment", _) => {}
                (_, 2) if !opens => {
                    if let (Some(table), Some(chain)) = (&table, &chain) {
                        let rule = of_nft(&words);
                        self.rule(table, chain, rule);
                    }
                }
                _ => {}
            }
            // Outside of a table braces are of other texts.
            if table.is_none() {
                depth = 0;
                continue;
            }
            let count = |brace: char| u32::try_from(line.matches(brace).count()).unwrap_or(0);
            depth = (depth + count('{')).saturating_sub(count('}'));
        }
    }
}

/// A rule as `nft` prints it.
fn of_nft(words: &[String]) -> Rule {
    let mut rule = Rule::new();
    let mut rest = words.iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        match word {
            "iif" | "iifname" | "oif" | "oifname" => match next(&mut rest) {
                "!=" | "{" => rule.other(),
                name => rule.meta(if word.starts_with('i') { CAME_BY } else { LEAVES_BY }, name.as_bytes()),
            },
            "meta" | "ip" | "ip6" => match (next(&mut rest), next(&mut rest)) {
                ("l4proto" | "protocol" | "nexthdr", name) if name != "{" && name != "!=" => rule.protocol(name),
                ("nfproto", _) => {}
                _ => rule.other(),
            },
            "icmp" | "icmpv6" => {
                rule.protocol(word);
                match (next(&mut rest), next(&mut rest)) {
                    ("type", "{") => {
                        let all: Vec<&str> = rest.by_ref().take_while(|one| *one != "}").collect();
                        let too_big = all.iter().any(|one| one.contains("unreachable") || one.contains("too-big"));
                        if too_big { rule.add("ct", |_| {}) } else { rule.other() }
                    }
                    ("type", name) => rule.message(name),
                    _ => rule.other(),
                }
            }
            "ct" => {
                let (of, list) = (next(&mut rest), next(&mut rest));
                if list == "vmap" || list == "{" {
                    let map = rest.by_ref().take_while(|one| *one != "}").collect::<Vec<_>>().join(" ");
                    rule.states(&map);
                    if map.contains("accept") {
                        rule.verdict(1);
                    }
                } else if of == "state" {
                    rule.states(list);
                } else {
                    rule.other();
                }
            }
            "limit" => {
                next(&mut rest);
                let mut amount = next(&mut rest);
                if amount == "over" {
                    amount = next(&mut rest);
                }
                let unit = rest.next_if(|one| one.contains("bytes/")).unwrap_or_default();
                rule.limit(&format!("{amount}{unit}"));
            }
            "burst" => _ = (next(&mut rest), next(&mut rest)),
            "counter" => {
                let packets = rest.next_if(|one| *one == "packets").and_then(|_| rest.next());
                if let Some(packets) = packets.and_then(|packets| packets.parse().ok()) {
                    rule.counter(packets);
                    _ = (rest.next(), rest.next());
                }
            }
            "tcp" if rest.peek() == Some(&"option") => {
                let words: Vec<&str> = rest.by_ref().take(6).collect();
                match words[..] {
                    [_, "maxseg", "size", "set", "rt", "mtu"] => rule.segment(None),
                    [_, "maxseg", "size", "set", bytes, ..] => rule.segment(bytes.parse().ok()),
                    _ => rule.other(),
                }
            }
            "log" => rule.add("log", |_| {}),
            "prefix" | "comment" | "level" => _ = next(&mut rest),
            "numgen" => rule.add("numgen", |_| {}),
            "drop" => rule.verdict(0),
            "accept" => rule.verdict(1),
            "reject" => {
                rule.add("reject", |_| {});
                break;
            }
            "masquerade" => rule.add("masq", |_| {}),
            "jump" | "goto" => {
                next(&mut rest);
                rule.verdict(JUMP);
            }
            "return" => rule.verdict(0xffff_fffb),
            // Behind a comment's number of the rule.
            "#" => break,
            _ => rule.other(),
        }
    }
    rule
}

/// The next word; an empty one behind the last.
fn next<'a>(rest: &mut impl Iterator<Item = &'a str>) -> &'a str {
    rest.next().unwrap_or_default()
}

/// Words, of which those in quotes are one.
fn words(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (at, part) in text.split('"').enumerate() {
        match at % 2 {
            0 => all.extend(part.split_whitespace().map(str::to_owned)),
            _ => all.push(part.to_owned()),
        }
    }
    all
}

/// Packets of `[packets:bytes]`.
fn counts(text: &str) -> Option<u64> {
    text.trim_matches(['[', ']']).split_once(':')?.0.parse().ok()
}
