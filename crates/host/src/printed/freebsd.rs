//! Texts of a FreeBSD host, which are told apart by their lines: each becomes the file that a tree has it in.

use super::{Printed, command};
use std::collections::BTreeMap;

pub(super) const IFCONFIG: &str = "freebsd/ifconfig";
const SYSCTL: &str = "freebsd/sysctl";
const PCICONF: &str = "freebsd/pciconf";
const MBUFS: &str = "freebsd/netstat-m";
const MESSAGES: &str = "freebsd/dmesg";
const COUNTED: &str = "freebsd/netstat-i";
/// Words of the kernel's messages about the network.
const WORDS: [&str; 9] = [
    "Listen queue overflow",
    "limit reached",
    "atchdog timeout",
    "is using my IP address",
    " moved from ",
    "interrupt storm",
    "link state changed to",
    "Limiting ",
    "Could not setup receive structures",
];

/// File of what a line that is not indented begins, if it is FreeBSD's.
fn begins(line: &str) -> Option<&'static str> {
    if WORDS.iter().any(|word| line.contains(word)) {
        return Some(MESSAGES);
    }
    let (name, rest) = line.split_once(':')?;
    let word = !name.contains(char::is_whitespace) && !name.is_empty();
    match () {
        // That of Linux has no metric there.
        () if word && rest.starts_with(" flags=") && rest.contains(" metric ") => Some(IFCONFIG),
        () if word && name.contains("@pci") => Some(PCICONF),
        () if word && name.contains('.') && !name.contains('/') => Some(SYSCTL),
        () => None,
    }
}

/// True for a line of a FreeBSD host's texts.
pub(super) fn is_of(line: &str) -> bool {
    begins(line).is_some() || is_of_mbufs(line) || line.starts_with("Name ") && line.contains(" Mtu ")
}

/// True for a line of `netstat -m`: numbers, of buffers.
fn is_of_mbufs(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit()) && (line.contains("mbuf") || line.contains("clusters"))
}

/// Reads the lines, if an interface as ifconfig(8) of FreeBSD prints it is among them.
pub(super) fn read<'a>(host: &mut Printed, lines: impl Iterator<Item = &'a str>) {
    let (mut files, mut inside) = (BTreeMap::<&str, String>::new(), None);
    for line in lines {
        if !line.starts_with(char::is_whitespace) {
            // A table lasts up to an empty line or the next command.
            let table = inside == Some(COUNTED) && !line.is_empty() && command(line).is_none();
            inside = match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["Name", "Mtu", "Network", ..] => Some(COUNTED),
                _ if is_of_mbufs(line) => Some(MBUFS),
                _ if table && begins(line).is_none() => Some(COUNTED),
                _ => begins(line),
            };
        }
        if let Some(file) = inside {
            let text = files.entry(file).or_default();
            text.push_str(line);
            text.push('\n');
        }
    }
    if files.contains_key(IFCONFIG) {
        files.into_iter().for_each(|(file, text)| host.write(file, text));
    }
}
