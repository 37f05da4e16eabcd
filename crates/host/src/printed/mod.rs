//! A host by what its programs print, as people post it: `ip -d -s link`, `ip addr`, `ip route`, `ip neigh`, `tc -s qdisc`,
//! `sysctl -a`, `lscpu`, `ethtool` with its options, `dcb OBJECT show dev IF`, `lspci -vv`, iptables-save, `nft list ruleset`, dmesg, nstat and files of /proc, one
//! behind the other in a file, in the files of a folder, or in those of a sosreport, whose copies of /proc, /sys and /etc are read, too; and
//! of FreeBSD `ifconfig`, `sysctl -a`, `netstat -m` and `pciconf -lcv`.
//!
//! The texts become what the kernel would have answered, so that all that reads a host reads this one. What no text tells is absent,
//! and a text of which nothing is read is named.

mod dcb;
mod ethtool;
mod filter;
mod freebsd;
mod ip;
mod lspci;
mod older;
mod proc;

use crate::absent::{Absent, Part};
use crate::adapter::{Question, Recorded, Source, Subject};
use crate::netlink::message::word;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Bytes of all texts, texts, and folders within each other, at most.
const LARGEST: usize = 64 << 20;
const MOST: usize = 4096;
const DEEPEST: usize = 4;
/// Folder of a sosreport's outputs of programs, and the programs whose output is read.
const OUTPUTS: &str = "sos_commands";
const PROGRAMS: [&str; 16] = [
    "ethtool_",
    "ip_",
    "tc_",
    "sysctl_",
    "lspci_",
    "lscpu",
    "dmesg",
    "nstat_",
    "netstat_",
    "ss_",
    "iptables",
    "ip6tables",
    "nft_",
    "ifconfig",
    "arp_",
    "route_",
];
/// Words with which a command begins where the prompt is no more than `#`, as comments do, too.
const COMMANDS: [&str; 53] = [
    "ip",
    "tc",
    "dcb",
    "ethtool",
    "sysctl",
    "lspci",
    "lscpu",
    "dmesg",
    "nstat",
    "netstat",
    "ss",
    "iptables-save",
    "ip6tables-save",
    "nft",
    "cat",
    "sudo",
    "ifconfig",
    "uname",
    "grep",
    "for",
    "tuned-adm",
    "journalctl",
    "bridge",
    "cpupower",
    "ps",
    "systemctl",
    "head",
    "tail",
    "lsmod",
    "uptime",
    "arp",
    "route",
    "iptables",
    "conntrack",
    "ping",
    "tracepath",
    "arping",
    "awk",
    "curl",
    "docker",
    "egrep",
    "fping",
    "ip6tables",
    "iperf3",
    "lldptool",
    "lnstat",
    "mpstat",
    "nproc",
    "pfctl",
    "rdisc6",
    "sar",
    "sleep",
    "tcpdump",
];

/// A host by its texts, as a source.
#[derive(Default)]
pub struct Printed {
    files: BTreeMap<String, Vec<u8>>,
    /// By the interface, which is empty for lists of all.
    answers: BTreeMap<(Question, String), Vec<Vec<u8>>>,
    /// Place of interfaces' devices in sysfs.
    devices: BTreeMap<String, String>,
    /// Copies of files, of a sosreport.
    copies: Option<Recorded>,
    /// Commands, or files, of whose text nothing was read.
    untaken: Vec<String>,
    /// Counters of drivers, by the interface.
    readings: BTreeMap<String, ethtool::Readings>,
    /// Interfaces whose counters were asked for: what is asked later is what a later text tells.
    asked: BTreeSet<String>,
}

/// A text, and the interface that its file's name tells.
struct Text {
    text: String,
    /// Name of its file.
    file: String,
}

impl Printed {
    /// Reads a file, or a folder. None: it is none of what programs print, as nothing of a host is in it; or it has copies of /proc
    /// and /sys alone.
    ///
    /// # Errors
    /// The file or folder cannot be read, or is too large.
    pub fn open(at: &Path) -> io::Result<Option<Self>> {
        let (mut paths, outputs) = (Vec::new(), at.join(OUTPUTS));
        let sos = outputs.is_dir();
        list(if sos { &outputs } else { at }, DEEPEST, &mut paths)?;
        let (mut texts, mut all) = (Vec::new(), 0);
        for path in paths {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if sos && !PROGRAMS.iter().any(|program| name.starts_with(program)) {
                continue;
            }
            all += usize::try_from(fs::metadata(&path)?.len()).unwrap_or(LARGEST);
            if all > LARGEST || texts.len() >= MOST {
                return Err(io::Error::new(
                    ErrorKind::FileTooLarge,
                    "its texts are longer than 64 MiB, or more than 4096",
                ));
            }
            let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
            texts.push(Text { text, file: name });
        }
        let copies = if sos { Some(Recorded::open(at)?) } else { None };
        let host = Self { copies, ..Self::of(&texts) };
        let is_copy = ["proc", "sys"].iter().any(|name| at.join(name).exists());
        let is_one = host.answers.contains_key(&(Question::Link, String::new()))
            || host.files.contains_key(freebsd::IFCONFIG)
            || !host.files.is_empty() && (sos || !is_copy);
        Ok(is_one.then_some(host))
    }

    fn of(texts: &[Text]) -> Self {
        let mut host = Self::default();
        let lines = |text: &str| older::newer(text.lines().map(str::to_owned).collect());
        let all: Vec<(Vec<String>, &str)> = texts.iter().map(|one| (lines(&one.text), one.file.as_str())).collect();
        let mut links = ip::Links::default();
        all.iter().for_each(|(lines, _)| links.read(lines));
        all.iter().for_each(|(lines, _)| links.imply(lines));
        // Routes and neighbours name interfaces, which have numbers by then.
        all.iter().for_each(|(lines, file)| host.take(&mut links, lines, file));
        links.of_files(&host);
        links.answer(&mut host);
        proc::processors(&mut host);
        // It names nodes, whose processors another text tells.
        all.iter().for_each(|(lines, _)| lspci::read(&mut host, lines));
        freebsd::read(&mut host, all.iter().flat_map(|(lines, _)| lines.iter().map(String::as_str)));
        let mut names = links.names();
        host.untaken = all.iter().flat_map(|(lines, file)| left(&mut names, lines, file)).collect();
        host
    }

    /// Reads all of a text but links and devices on PCI.
    fn take(&mut self, links: &mut ip::Links, lines: &[String], file: &str) {
        ip::lists(self, links, lines);
        ip::filters(self, lines);
        sysctls(self, lines);
        ethtool::read(self, links, lines, named(file).as_deref());
        dcb::read(self, lines);
        filter::read(self, lines);
        proc::read(self, lines, file);
    }

    fn add(&mut self, question: Question, interface: &str, answer: Vec<u8>) {
        self.answers.entry((question, interface.to_owned())).or_default().push(answer);
    }

    /// Has an answer for the first text that tells it.
    fn add_once(&mut self, question: Question, interface: &str, answer: Vec<u8>) {
        self.answers.entry((question, interface.to_owned())).or_insert_with(|| vec![answer]);
    }

    fn write(&mut self, path: impl Into<String>, text: impl Into<Vec<u8>>) {
        self.files.entry(path.into()).or_insert_with(|| text.into());
    }
}

/// A host that was kept: what `nic record` wrote, or the texts of a FreeBSD host; or else what programs print.
///
/// # Errors
/// The file or folder cannot be read.
pub fn kept(at: &Path) -> io::Result<Box<dyn Source>> {
    let is_tree = ["netlink", "freebsd", "interface"].iter().any(|name| at.join(name).exists());
    let printed = if is_tree { None } else { Printed::open(at)? };
    match printed {
        Some(printed) => Ok(Box::new(printed)),
        None if at.is_file() => Err(io::Error::new(
            ErrorKind::InvalidData,
            "no interface is in it; it takes the output of 'ip -d -s addr', with that of ethtool, ip route, sysctl -a and lspci -vv \
             behind it; of FreeBSD that of ifconfig, sysctl -a, netstat -m and pciconf -lcv",
        )),
        None => Ok(Box::new(Recorded::open(at)?)),
    }
}

/// Files in a folder, in the order of their names.
fn list(at: &Path, deep: usize, to: &mut Vec<PathBuf>) -> io::Result<()> {
    if !at.is_dir() {
        to.push(at.to_owned());
        return Ok(());
    }
    let mut entries: Vec<PathBuf> = fs::read_dir(at)?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        let kind = fs::symlink_metadata(&entry)?.file_type();
        if kind.is_file() {
            to.push(entry);
        } else if kind.is_dir() && deep > 0 {
            list(&entry, deep - 1, to)?;
        }
    }
    Ok(())
}

/// Interface in the name of a sosreport's file: `ethtool_eth0`, `ethtool_-k_eth0`.
fn named(file: &str) -> Option<String> {
    let rest = file.strip_prefix("ethtool_")?;
    let rest = match rest.strip_prefix('-') {
        Some(option) => option.split_once('_')?.1,
        None => rest,
    };
    Some(rest.trim_end_matches(".txt").to_owned()).filter(|name| !name.is_empty())
}

/// Command of a line with a prompt: `[root@a ~]# ip rule`, `b@a:~$ sudo ip rule`, `a:~ # ip rule`, `a# ip rule`, `$ ip rule`.
fn command(line: &str) -> Option<&str> {
    let of = |end: &str| line.split_once(end).map(|(_, rest)| rest.trim()).filter(|rest| !rest.is_empty());
    let (first, rest) = line.split_once(' ')?;
    let known = |rest: &&str| COMMANDS.contains(&rest.split_whitespace().next().unwrap_or_default());
    let behind = || rest.strip_prefix("# ").or_else(|| rest.strip_prefix("$ ")).map(str::trim);
    let named = first.contains(|c: char| c.is_ascii_alphanumeric());
    let folder = first.split_once(':').is_some_and(|(host, path)| !host.is_empty() && path.starts_with(['~', '/']));
    match first {
        _ if line.starts_with('[') && first.contains('@') => of("]# ").or_else(|| of("]$ ")),
        _ if folder && first.ends_with(['#', '$']) => Some(rest.trim()),
        _ if first.contains('@') && first.contains(':') && first.ends_with(['#', '$']) => Some(rest.trim()),
        "$" => Some(rest.trim()),
        "#" => Some(rest.trim()).filter(known),
        _ if folder || first == "[~]" => behind(),
        _ if !named => None,
        _ => behind().or_else(|| first.ends_with(['#', '$']).then(|| rest.trim())).filter(known),
    }
}

/// Commands, or the file, behind which a text stands of which nothing is read.
fn left(links: &mut ip::Links, lines: &[String], file: &str) -> Vec<String> {
    let starts = || lines.iter().enumerate().filter(|(_, line)| command(line).is_some()).map(|(at, _)| at);
    let ends = starts().chain([lines.len()]);
    let blocks = std::iter::once(0).chain(starts()).zip(ends).map(|(from, to)| &lines[from..to]);
    let mut is_left = |block: &&[String]| {
        let body = if block.first().is_some_and(|line| command(line).is_some()) { &block[1..] } else { block };
        if body.iter().all(|line| line.trim().is_empty()) {
            return false;
        }
        let (mut alone, mut own) = (Printed::default(), ip::Links::default());
        own.read(body);
        alone.take(links, block, file);
        lspci::read(&mut alone, block);
        let is_freebsd = body.iter().any(|line| freebsd::is_of(line));
        alone.files.is_empty() && alone.answers.is_empty() && alone.readings.is_empty() && own.is_empty() && !is_freebsd
    };
    let name = |block: &[String]| block.first().and_then(|line| command(line)).unwrap_or(file).to_owned();
    blocks.filter(|block| is_left(block)).map(name).filter(|name| !name.is_empty()).collect()
}

/// Variables as files: `net.ipv4.conf.eth0/5.forwarding = 0`; and the processors that lscpu(1) tells.
fn sysctls(host: &mut Printed, lines: &[String]) {
    if let Some(list) = lines.iter().find_map(|line| line.trim_start().strip_prefix("On-line CPU(s) list:")) {
        host.write("sys/devices/system/cpu/online", list.trim());
    }
    // In kHz there.
    for (words, file) in [("CPU MHz:", "scaling_cur_freq"), ("CPU max MHz:", "cpuinfo_max_freq")] {
        let told = lines.iter().find_map(|line| line.trim_start().strip_prefix(words)?.trim().parse::<f64>().ok());
        if let Some(clock) = told.filter(|clock| clock.is_finite()) {
            host.write(format!("sys/devices/system/cpu/cpu0/cpufreq/{file}"), format!("{:.0}", clock * 1000.0));
        }
    }
    // As /proc/cpuinfo has it.
    if lines.iter().any(|line| line.trim_start().starts_with("Hypervisor vendor:")) {
        host.write("proc/cpuinfo", "flags\t\t: hypervisor");
    }
    for line in lines.iter().filter_map(|line| line.trim_start().strip_prefix("NUMA node")) {
        if let Some((number, list)) = line.split_once(" CPU(s):") {
            host.write(node(number), list.trim());
        }
    }
    for (name, value) in lines.iter().filter_map(|line| line.split_once(" = ")) {
        let begins = ["net.", "kernel.", "vm.", "fs."].iter().any(|begin| name.starts_with(begin));
        if begins && !name.contains(char::is_whitespace) && !name.contains("..") {
            let other = |c| match c {
                '.' => '/',
                '/' => '.',
                c => c,
            };
            host.write(format!("proc/sys/{}", name.chars().map(other).collect::<String>()), value.trim());
        }
    }
}

/// File of a node's processors.
fn node(number: &str) -> String {
    format!("sys/devices/system/node/node{number}/cpulist")
}

impl Source for Printed {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        match (self.files.get(path), &self.copies) {
            (Some(bytes), _) => Ok(bytes.clone()),
            (None, Some(copies)) => copies.file(path),
            (None, None) => Err(io::Error::new(ErrorKind::NotFound, "no text tells it")),
        }
    }

    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let at = format!("{path}/");
        let below = self.files.range(at.clone()..).map_while(|(name, _)| name.strip_prefix(&at));
        let mut names: Vec<String> = below.filter_map(|rest| Some(rest.split('/').next()?.to_owned())).collect();
        names.extend(self.copies.iter().filter_map(|copies| copies.names(path).ok()).flatten());
        names.sort();
        names.dedup();
        if names.is_empty() { Err(io::Error::new(ErrorKind::NotFound, "no text tells it")) } else { Ok(names) }
    }

    fn real(&self, path: &str) -> io::Result<String> {
        let interface = path.strip_prefix("sys/class/net/").and_then(|rest| rest.strip_suffix("/device"));
        match (interface.and_then(|name| self.devices.get(name)), &self.copies) {
            (Some(device), _) => Ok(device.clone()),
            (None, Some(copies)) => copies.real(path),
            (None, None) => Err(io::Error::new(ErrorKind::NotFound, "no text tells it")),
        }
    }

    fn untaken(&self) -> Vec<String> {
        self.untaken.clone()
    }

    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        if let (Question::Names | Question::Values, Some(of)) = (question, of)
            && let Some(readings) = self.readings.get(&of.name)
        {
            let is_later = question == Question::Values && !self.asked.insert(of.name.clone());
            return Ok(vec![readings.answer(question, is_later)]);
        }
        let all = |name: &str| self.answers.get(&(question, name.to_owned())).cloned();
        let mut answers = match of {
            Some(of) => all(&of.name).or_else(|| all("")),
            None => all(""),
        }
        .ok_or_else(|| Absent::told("no text tells it"))?;
        if let (Question::Link, Some(of)) = (question, of) {
            answers.retain(|answer| word(answer, 4) == of.index);
            // What is not there.
            if answers.is_empty() {
                return Err(Absent::new(19, None));
            }
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests;
