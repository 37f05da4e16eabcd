//! Files of /proc and /sys as people post them, each known by its lines; and programs that print what stands in one: nstat(8),
//! `netstat -s`, `ss -ltn`, dmesg(1), cpupower(1), `tuned-adm active`.

use super::{Printed, command};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(super) const LOG: &str = "var/log/dmesg";

/// A line of `netstat -s`: the heading above it, words in it, protocol and name of the counter.
const SUMMARY: [(&str, &str, &str, &str); 17] = [
    ("Ip", "total packets received", "Ip", "InReceives"),
    ("Ip", "fragments failed", "Ip", "FragFails"),
    ("Tcp", "passive connection openings", "Tcp", "PassiveOpens"),
    ("Tcp", "segments received", "Tcp", "InSegs"),
    ("Tcp", "segments sent out", "Tcp", "OutSegs"),
    ("Tcp", "segments send out", "Tcp", "OutSegs"),
    ("Tcp", "segments retransm", "Tcp", "RetransSegs"),
    ("Udp", "packets received", "Udp", "InDatagrams"),
    ("Udp", "packet receive errors", "Udp", "InErrors"),
    ("Udp", "receive buffer errors", "Udp", "RcvbufErrors"),
    ("TcpExt", "times the listen queue of a socket overflowed", "TcpExt", "ListenOverflows"),
    ("TcpExt", "SYNs to LISTEN sockets", "TcpExt", "ListenDrops"),
    ("TcpExt", "passive connections rejected because of time stamp", "TcpExt", "PAWSPassive"),
    ("TcpExt", "IPReversePathFilter:", "TcpExt", "IPReversePathFilter"),
    ("TcpExt", "TCPMemoryPressures:", "TcpExt", "TCPMemoryPressures"),
    ("TcpExt", "TCPBacklogDrop:", "TcpExt", "TCPBacklogDrop"),
    ("TcpExt", "TCPReqQFullDrop:", "TcpExt", "TCPReqQFullDrop"),
];

pub(super) fn read(host: &mut Printed, lines: &[String], file: &str) {
    files(host, lines);
    interrupts(host, lines);
    softnet(host, lines);
    bonding(host, lines, file);
    counters(host, lines);
    listening(host, lines);
    log(host, lines);
    let frequency = "sys/devices/system/cpu/cpu0/cpufreq";
    for line in lines {
        // Of cpupower(1), frequency-info.
        if let Some((_, rest)) = line.split_once("The governor \"") {
            host.write(format!("{frequency}/scaling_governor"), rest.split('"').next().unwrap_or_default());
        }
        if let Some(driver) = line.strip_prefix("  driver: ") {
            host.write(format!("{frequency}/scaling_driver"), driver.trim());
        }
        if let Some(profile) = line.strip_prefix("Current active profile: ") {
            host.write("etc/tuned/active_profile", profile.trim());
        }
        if line.starts_with("BOOT_IMAGE=") || line.contains(" root=") && line.contains(" ro ") && !is_of_log(line) {
            host.write("proc/cmdline", line.trim());
        }
    }
}

/// `/proc/irq/60/smp_affinity_list:0`, as grep(1) prints it.
fn files(host: &mut Printed, lines: &[String]) {
    for line in lines {
        let Some((path, value)) = line.split_once(':').filter(|(path, _)| !path.contains(char::is_whitespace)) else {
            continue;
        };
        let is_one = ["/proc/", "/sys/"].iter().any(|start| path.starts_with(start)) && !path.contains("..");
        if is_one && !value.is_empty() {
            host.write(path.trim_start_matches('/'), value.trim());
        }
    }
}

/// Lines of a text from one that begins it, as long as they belong to it.
fn block(lines: &[String], begins: impl Fn(&str) -> bool, goes_on: impl Fn(&str) -> bool) -> Vec<&str> {
    let from = lines.iter().position(|line| begins(line)).map_or(&[][..], |at| &lines[at..]);
    from.iter()
        .map(String::as_str)
        .enumerate()
        .take_while(|(at, line)| *at == 0 || goes_on(line))
        .map(|(_, l)| l)
        .collect()
}

fn interrupts(host: &mut Printed, lines: &[String]) {
    let is_head = |line: &str| {
        let mut words = line.split_whitespace().peekable();
        words.peek().is_some() && words.all(|word| word.strip_prefix("CPU").is_some_and(|n| n.parse::<u32>().is_ok()))
    };
    let is_row = |line: &str| {
        line.split_once(':').is_some_and(|(name, _)| name.trim().bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    let table = block(lines, is_head, is_row);
    if table.len() > 1 {
        host.write("proc/interrupts", table.join("\n"));
    }
}

fn softnet(host: &mut Printed, lines: &[String]) {
    let is_row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() >= 9 && words.iter().all(|word| word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let table = block(lines, is_row, is_row);
    if !table.is_empty() {
        host.write("proc/net/softnet_stat", table.join("\n"));
    }
}

/// `/proc/net/bonding/bond0`: its name is that of the file, or in the command.
fn bonding(host: &mut Printed, lines: &[String], file: &str) {
    let mut named = file.rsplit(['/', '_']).next().unwrap_or_default().trim_end_matches(".txt").to_owned();
    for (at, line) in lines.iter().enumerate() {
        if let Some((_, name)) = line.rsplit_once("/proc/net/bonding/") {
            named = name.split_whitespace().next().unwrap_or_default().to_owned();
        }
        if line.starts_with("Ethernet Channel Bonding Driver") && !named.is_empty() {
            let is_other = |line: &&String| command(line).is_some() || line.starts_with(|c: char| c.is_ascii_digit());
            let more = lines[at + 1..].iter().take_while(|line| !is_other(line) || line.starts_with("802.3ad"));
            let text: Vec<&str> = std::iter::once(line).chain(more).map(String::as_str).collect();
            host.write(format!("proc/net/bonding/{named}"), text.join("\n"));
        }
    }
}

/// Counters of protocols, as files have them: by file and protocol, names and values.
fn counters(host: &mut Printed, lines: &[String]) {
    let mut all: BTreeMap<(&str, String), Vec<(String, u64)>> = BTreeMap::new();
    let mut add = |protocol: &str, name: &str, value: u64| {
        let file = if protocol.ends_with("Ext") { "proc/net/netstat" } else { "proc/net/snmp" };
        let of = all.entry((file, protocol.to_owned())).or_default();
        if !of.iter().any(|(one, _)| one == name) {
            of.push((name.to_owned(), value));
        }
    };
    let mut heading = "";
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [name, value, rate] if rate.contains('.') && rate.parse::<f64>().is_ok() => {
                let protocols = ["TcpExt", "IpExt", "MPTcpExt", "Icmp", "Ip", "Tcp", "UdpLite", "Udp"];
                let of = protocols.iter().find_map(|protocol| Some((*protocol, name.strip_prefix(protocol)?)));
                if let (Some((protocol, name)), Ok(value)) = (of, value.parse()) {
                    // Those of IPv6 have a number behind the protocol.
                    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
                        add(protocol, name, value);
                    }
                }
            }
            [_] if !line.starts_with(' ') && line.ends_with(':') => heading = line.trim_end_matches(':'),
            _ => {
                let row = SUMMARY.iter().find(|(above, text, ..)| *above == heading && line.contains(text));
                let value = words.iter().find_map(|word| word.parse().ok());
                if let (Some((.., protocol, name)), Some(value), true) = (row, value, line.starts_with(' ')) {
                    add(protocol, name, value);
                }
            }
        }
    }
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for ((file, protocol), rows) in &all {
        let text = files.entry(file).or_default();
        let (names, values): (Vec<&str>, Vec<String>) =
            rows.iter().map(|(name, value)| (name.as_str(), value.to_string())).unzip();
        _ = writeln!(text, "{protocol}: {}\n{protocol}: {}", names.join(" "), values.join(" "));
    }
    files.into_iter().for_each(|(file, text)| host.write(file, text));
}

/// `LISTEN 129 128 0.0.0.0:443 0.0.0.0:*` of ss(8), as /proc/net/tcp has it.
fn listening(host: &mut Printed, lines: &[String]) {
    let mut text = String::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let words = if words.first() == Some(&"tcp") { &words[1..] } else { &words[..] };
        let ["LISTEN", waiting, _, local, ..] = words else { continue };
        let port = local.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        if let (Ok(waiting), Some(port)) = (waiting.parse::<u32>(), port) {
            _ = writeln!(
                text,
                "   0: 00000000:{port:04X} 00000000:0000 0A 00000000:{waiting:08X} 00:00000000 00000000"
            );
        }
    }
    if !text.is_empty() {
        host.write("proc/net/tcp", text);
    }
}

/// True for a line of the kernel's log: `[   12.345678] …`, `May 14 10:00:00 host kernel: …`, with a time in words, too.
fn is_of_log(line: &str) -> bool {
    let time = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(time, _)| time.trim());
    let is_time = |time: &str| {
        time.parse::<f64>().is_ok()
            || time.split(':').count() == 3 && time.starts_with(|c: char| c.is_ascii_uppercase())
    };
    time.is_some_and(is_time) || line.contains(" kernel: ")
}

fn log(host: &mut Printed, lines: &[String]) {
    let all: Vec<&str> = lines.iter().map(String::as_str).filter(|line| is_of_log(line)).collect();
    if !all.is_empty() {
        let text = host.files.entry(LOG.to_owned()).or_default();
        text.extend(all.join("\n").bytes());
        text.push(b'\n');
    }
}
