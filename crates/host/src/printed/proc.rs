//! Files of /proc and /sys as people post them, each known by its lines; and programs that print what stands in one: nstat(8),
//! `netstat -s`, `ss -ltn`, dmesg(1), cpupower(1), `tuned-adm active`.

use super::{Printed, command};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(super) const LOG: &str = "var/log/dmesg";

/// A line of `netstat -s`: the heading above it, words in it, protocol and name of the counter.
const SUMMARY: [(&str, &str, &str, &str); 41] = [
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
    ("TcpExt", "TCPTimeWaitOverflow:", "TcpExt", "TCPTimeWaitOverflow"),
    ("TcpExt", "TCPRcvQDrop:", "TcpExt", "TCPRcvQDrop"),
    ("TcpExt", "TCPZeroWindowDrop:", "TcpExt", "TCPZeroWindowDrop"),
    ("TcpExt", "TCPToZeroWindowAdv:", "TcpExt", "TCPToZeroWindowAdv"),
    ("TcpExt", "TCPSynRetrans:", "TcpExt", "TCPSynRetrans"),
    ("TcpExt", "TCPOFOQueue:", "TcpExt", "TCPOFOQueue"),
    ("TcpExt", "PFMemallocDrop:", "TcpExt", "PFMemallocDrop"),
    ("TcpExt", "packets pruned from receive queue because of socket buffer overrun", "TcpExt", "PruneCalled"),
    ("TcpExt", "packets dropped from out-of-order queue because of socket buffer overrun", "TcpExt", "OfoPruned"),
    ("TcpExt", "times the listen queue of a socket overflowed", "TcpExt", "ListenOverflows"),
    ("TcpExt", "TCP sockets finished time wait in", "TcpExt", "TW"),
    ("TcpExt", "TCPAbortOnMemory:", "TcpExt", "TCPAbortOnMemory"),
    ("TcpExt", "connections aborted due to memory pressure", "TcpExt", "TCPAbortOnMemory"),
    ("Tcp", "bad segments received", "Tcp", "InErrs"),
    ("Tcp", "InCsumErrors:", "Tcp", "InCsumErrors"),
    ("TcpExt", "InCsumErrors:", "Tcp", "InCsumErrors"),
    ("Udp", "InCsumErrors:", "Udp", "InCsumErrors"),
    ("Udp", "send buffer errors", "Udp", "SndbufErrors"),
    ("Udp", "MemErrors:", "Udp", "MemErrors"),
    ("Ip", "with invalid addresses", "Ip", "InAddrErrors"),
    ("Ip", "incoming packets discarded", "Ip", "InDiscards"),
    ("Ip", "packet reassemblies failed", "Ip", "ReasmFails"),
    ("Ip", "packet reassembles failed", "Ip", "ReasmFails"),
    ("Ip", "reassemblies required", "Ip", "ReasmReqds"),
];

pub(super) fn read(host: &mut Printed, lines: &[String], file: &str) {
    files(host, lines);
    shown(host, lines);
    outputs(host, lines);
    interrupts(host, lines);
    softnet(host, lines);
    bonding(host, lines, file);
    counters(host, lines);
    singles(host, lines);
    listening(host, lines);
    log(host, lines);
    typed(host, lines);
    let frequency = "sys/devices/system/cpu/cpu0/cpufreq";
    for line in lines {
        // Of cpupower(1), frequency-info.
        if let Some((_, rest)) = line.split_once("The governor \"") {
            host.write(format!("{frequency}/scaling_governor"), rest.split('"').next().unwrap_or_default());
        }
        if let Some(driver) = line.strip_prefix("  driver: ") {
            host.write(format!("{frequency}/scaling_driver"), driver.trim());
        }
        // `  current policy: frequency should be within 800 MHz and 1.20 GHz.`
        if let Some((_, most)) =
            line.split_once("frequency should be within ").and_then(|(_, rest)| rest.split_once(" and "))
        {
            host.write(format!("{frequency}/scaling_max_freq"), kilohertz(most));
        }
        if let Some((_, most)) = line.split_once("hardware limits: ").and_then(|(_, rest)| rest.split_once(" - ")) {
            host.write(format!("{frequency}/cpuinfo_max_freq"), kilohertz(most));
        }
        if let Some(profile) = line.strip_prefix("Current active profile: ") {
            host.write("etc/tuned/active_profile", profile.trim());
        }
        if line.starts_with("BOOT_IMAGE=") || line.contains(" root=") && line.contains(" ro ") && !is_of_log(line) {
            host.write("proc/cmdline", line.trim());
        }
    }
}

/// A clock as cpupower(1) prints it, in kHz.
fn kilohertz(text: &str) -> String {
    let mut words = text.split_whitespace();
    let number = words.next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0);
    let scale = if words.next().is_some_and(|unit| unit.starts_with("GHz")) { 1e6 } else { 1e3 };
    format!("{:.0}", number * scale)
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

/// Folders of files that are read as they were shown.
const FOLDERS: [&str; 10] = [
    "/usr/local/sbin/",
    "/usr/local/bin/",
    "/proc/",
    "/sys/",
    "/etc/sysctl",
    "/etc/modprobe.d/",
    "/etc/network",
    "/etc/netplan/",
    "/etc/sysconfig/",
    "/etc/udev/",
];

/// Files that `cat` shows, behind its command: one, or one line each.
fn shown(host: &mut Printed, lines: &[String]) {
    for (at, line) in lines.iter().enumerate() {
        let words: Vec<&str> = command(line).unwrap_or_default().split_whitespace().collect();
        let words = if words.first() == Some(&"sudo") { &words[1..] } else { &words[..] };
        let paths: Vec<&str> = words.iter().skip(1).copied().filter(|word| !word.starts_with('-')).collect();
        let is_path = |path: &&str| {
            FOLDERS.iter().any(|start| path.starts_with(start)) && !path.contains(['*', '?', '[', '{', '|', ';'])
        };
        let shows = words.first().is_some_and(|word| ["cat", "head", "tail", "more"].contains(word));
        if !shows || paths.is_empty() || !paths.iter().all(is_path) || line.contains("..") {
            continue;
        }
        let body = lines[at + 1..].iter().take_while(|line| command(line).is_none()).map(String::as_str);
        let body: Vec<&str> = body.filter(|line| !line.starts_with("cat: ")).collect();
        let text = body.join("\n");
        let told: Vec<&str> = text.trim().lines().collect();
        let write = |host: &mut Printed, path: &str, text: &str| host.write(path.trim_start_matches('/'), text);
        if paths.len() == 1 && !told.is_empty() {
            write(host, paths[0], text.trim());
        } else if paths.len() == told.len() {
            paths.iter().zip(told).for_each(|(path, text)| write(host, path, text));
        }
    }
}

/// Outputs that are kept as lines, each with words by which one is known: path MTU by ping(8) and tracepath(8), connections by
/// `ss -ti`, `conntrack -S`.
const OUTPUTS: [(&str, &[&str]); 13] = [
    ("posted/lldp", &["PFC enabled:"]),
    ("posted/rdisc6", &["Router lifetime ", ": "]),
    ("posted/dhcp", &["option interface-mtu "]),
    (PATHS, &["Frag needed and DF set"]),
    (PATHS, &["message too long, mtu"]),
    (PATHS, &["Packet too big", "mtu="]),
    (PATHS, &["pmtu ", "Resume:"]),
    (PATHS, &["PING ", " bytes of data"]),
    (PATHS, &[" packets transmitted, ", "packet loss"]),
    (PATHS, &["need to frag (mtu "]),
    ("posted/arping", &[" reply from ", "["]),
    ("posted/ss", &[" cwnd:", " rtt:"]),
    ("posted/conntrack", &["insert_failed=", " drop="]),
];
/// File of the lines that ping(8) and tracepath(8) have printed.
const PATHS: &str = "posted/ping";

fn outputs(host: &mut Printed, lines: &[String]) {
    for line in lines {
        let of = |(_, words): &&(&str, &[&str])| words.iter().all(|word| line.contains(word));
        if let Some((path, _)) = OUTPUTS.iter().find(of) {
            let text = host.files.entry((*path).to_owned()).or_default();
            text.extend(line.trim().bytes().chain([b'\n']));
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
        return host.write("proc/interrupts", table.join("\n"));
    }
    // Rows alone, as grep(1) finds them: so many numbers are before the chip's name.
    let is_one = |line: &&str| {
        let number = line.split_once(':').is_some_and(|(number, _)| number.trim().parse::<u32>().is_ok());
        number && ["-edge", "-fasteoi", "MSI", "-level", "xen-dyn"].iter().any(|word| line.contains(word))
    };
    let rows: Vec<&str> = lines.iter().map(String::as_str).filter(is_one).collect();
    if let Some(first) = rows.first() {
        let counts = first.split_whitespace().skip(1).take_while(|word| word.parse::<u64>().is_ok()).count();
        let head: Vec<String> = (0..counts).map(|at| format!("CPU{at}")).collect();
        host.write("proc/interrupts", format!("{}\n{}", head.join(" "), rows.join("\n")));
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

/// `/proc/net/bonding/bond0`, whole or what grep(1) has left: its name is that of the file, or in the command.
fn bonding(host: &mut Printed, lines: &[String], file: &str) {
    let mut named = file.rsplit(['/', '_']).next().unwrap_or_default().trim_end_matches(".txt").to_owned();
    let mut cut = false;
    for (at, line) in lines.iter().enumerate() {
        if let Some((_, name)) = line.rsplit_once("/proc/net/bonding/") {
            named = name.split_whitespace().next().unwrap_or_default().to_owned();
            cut = lines
                .get(at + 1)
                .is_some_and(|next| next.starts_with("Bonding Mode: ") || next.starts_with("Slave Interface: "));
        } else if cut || line.starts_with("Ethernet Channel Bonding Driver") && !named.is_empty() {
            cut = false;
            let is_other = |line: &&String| command(line).is_some() || line.starts_with(|c: char| c.is_ascii_digit());
            let more = lines[at + 1..].iter().take_while(|line| !is_other(line) || line.starts_with("802.3ad"));
            let text: Vec<&str> = std::iter::once(line).chain(more).map(String::as_str).collect();
            host.write(format!("proc/net/bonding/{named}"), text.join("\n"));
        }
    }
}

/// Protocols, of which the longer name is first.
const PROTOCOLS: [&str; 8] = ["TcpExt", "IpExt", "MPTcpExt", "Icmp", "Ip", "Tcp", "UdpLite", "Udp"];

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
    let (mut heading, mut names) = ("", Vec::<&str>::new());
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The files themselves: a line of names, and one of values.
        let protocol = words.first().and_then(|word| word.strip_suffix(':')).filter(|_| words.len() > 3);
        if let Some(protocol) = protocol.filter(|protocol| PROTOCOLS.contains(protocol)) {
            if names.first() == words.first() {
                let rows = names.iter().zip(&words).skip(1);
                rows.filter_map(|(name, value)| Some((name, value.parse().ok()?)))
                    .for_each(|(name, value)| add(protocol, name, value));
            }
            names = words;
            continue;
        }
        match words[..] {
            [name, value, rate] if rate.contains('.') && rate.parse::<f64>().is_ok() => {
                let of = PROTOCOLS.iter().find_map(|protocol| Some((*protocol, name.strip_prefix(protocol)?)));
                if let (Some((protocol, name)), Ok(value)) = (of, value.parse()) {
                    // Those of IPv6 have a number behind the protocol.
                    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
                        add(protocol, name, value);
                    }
                }
            }
            [_] if !line.starts_with(' ') && line.ends_with(':') => heading = line.trim_end_matches(':'),
            _ => {
                // Of a part that grep(1) has left the heading is not there.
                let is_of = |above: &str| above == heading || heading.is_empty();
                let row = SUMMARY.iter().find(|(above, text, ..)| is_of(above) && line.contains(text));
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

/// Lines that stand in files of one line each: memory of sockets, counters of IPsec.
fn singles(host: &mut Printed, lines: &[String]) {
    let all = |is_one: &dyn Fn(&str) -> bool| {
        lines.iter().map(String::as_str).filter(|line| is_one(line)).collect::<Vec<_>>().join("\n")
    };
    let sockets = all(&|line| line.starts_with("TCP: inuse ") || line.starts_with("UDP: inuse "));
    let ipsec = all(&|line| {
        line.starts_with("Xfrm") && line.split_whitespace().nth(1).is_some_and(|value| value.parse::<u64>().is_ok())
    });
    for (path, text) in [("proc/net/sockstat", sockets), ("proc/net/xfrm_stat", ipsec)] {
        if !text.is_empty() {
            host.write(path, text);
        }
    }
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

/// Processors that are online, by the head of the table of interrupts, where nothing else tells them.
pub(super) fn processors(host: &mut Printed) {
    let head = host.files.get("proc/interrupts").map(|text| String::from_utf8_lossy(text).into_owned());
    let head = head.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
    let cores: Vec<&str> = head.split_whitespace().filter_map(|word| word.strip_prefix("CPU")).collect();
    if !cores.is_empty() {
        host.write("sys/devices/system/cpu/online", cores.join(","));
    }
}

/// Line of a capture: it begins with a time, or has what tcpdump(8) says of a checksum.
fn is_captured(line: &str) -> bool {
    let time = line.split(' ').next().unwrap_or_default();
    time.len() == 15 && time.as_bytes()[2] == b':' && time.as_bytes()[8] == b'.' || line.contains("cksum ")
}

/// Texts whose command tells what they are: it, and the lines behind it up to the next one.
fn typed(host: &mut Printed, lines: &[String]) {
    for (at, line) in lines.iter().enumerate() {
        let Some(typed) = command(line) else { continue };
        let body = || lines[at + 1..].iter().take_while(|line| command(line).is_none()).map(|line| line.trim());
        let words: Vec<&str> = typed.split_whitespace().collect();
        let has = |word: &str| words.iter().any(|one| one.trim_end_matches(';') == word);
        let mut add = |path: &str, rows: Vec<String>| {
            let text = host.files.entry(path.to_owned()).or_default();
            rows.iter().for_each(|row| text.extend(row.bytes().chain([b'\n'])));
            if text.is_empty() {
                host.files.remove(path);
            }
        };
        if typed.contains("systemctl cat ") {
            // `# /etc/systemd/system/a.service`, and the file behind it
            let heads = || lines[at + 1..].iter().enumerate().take_while(|(_, line)| command(line).is_none());
            for (from, head) in heads().filter(|(_, line)| line.starts_with("# /etc/") && !line.contains("..")) {
                let text =
                    body().skip(from + 1).take_while(|line| !line.starts_with("# /")).collect::<Vec<_>>().join("\n");
                host.write(head[3..].trim(), text);
            }
        } else if has("nproc") {
            let number = body().next().and_then(|count| count.parse::<u32>().ok()).filter(|count| *count > 0);
            number.iter().for_each(|count| host.write("sys/devices/system/cpu/online", format!("0-{}", count - 1)));
        } else if has("tcpdump") {
            // `-nni eth0`, `-i eth0`
            let option = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('i');
            let name = words.iter().position(option).and_then(|at| words.get(at + 1)).unwrap_or(&"any");
            add(
                "posted/capture",
                body().filter(|line| is_captured(line)).map(|line| format!("{name} {line}")).collect(),
            );
        } else if has("sar") && has("DEV") {
            let numbers =
                |words: &Vec<&str>| words.len() > 5 && words[2..].iter().all(|word| word.parse::<f64>().is_ok());
            let rows = body().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(numbers);
            add("posted/sar", rows.map(|words| words[1..].join(" ")).collect());
        } else if has("lnstat") {
            let table = arp_cache(&body().collect::<Vec<_>>());
            host.write("proc/net/stat/arp_cache", table);
        } else if has("bridge") && has("vlan") && !has("-s") {
            let mut port = "";
            let rows = body().skip(1).zip(lines.iter().skip(at + 2)).filter_map(|(line, raw)| {
                let mut words = line.split_whitespace();
                if !raw.starts_with(char::is_whitespace) {
                    port = words.next()?;
                }
                Some(format!("{port} {}", words.next()?))
            });
            let rows: Vec<String> = rows.collect();
            add("posted/bridge-vlan", rows);
        } else if typed.contains("/proc/irq/$") {
            // `echo "$i $(cat /proc/irq/$i/smp_affinity_list) …"`
            let files: Vec<&str> = ["smp_affinity_list", "effective_affinity_list"]
                .into_iter()
                .filter(|file| typed.contains(file))
                .collect();
            for row in body() {
                let words: Vec<&str> = row.split_whitespace().collect();
                let Some((irq, lists)) = words.split_first().filter(|(_, lists)| lists.len() == files.len()) else {
                    continue;
                };
                if let Ok(irq) = irq.trim_end_matches(':').parse::<u32>() {
                    files
                        .iter()
                        .zip(lists)
                        .for_each(|(file, list)| host.write(format!("proc/irq/{irq}/{file}"), *list));
                }
            }
        }
    }
}

/// Table of lnstat(8), whose heads have several lines, as /proc has it.
fn arp_cache(lines: &[&str]) -> String {
    let (mut heads, mut values) = (Vec::<String>::new(), Vec::<String>::new());
    for line in lines.iter().filter(|line| line.contains('|')) {
        let cells: Vec<&str> = line.trim_end_matches('|').split('|').map(str::trim).collect();
        if cells.iter().all(|cell| cell.parse::<u64>().is_ok()) {
            values = cells.iter().filter_map(|cell| cell.parse().ok()).map(|cell: u64| format!("{cell:08x}")).collect();
        } else if cells.iter().all(|cell| *cell == cells[0]) {
            heads = vec![String::new(); cells.len()];
        } else {
            heads.iter_mut().zip(cells).for_each(|(head, cell)| head.push_str(cell));
        }
    }
    format!("{}\n{}", heads.join(" "), values.join(" "))
}
