//! `lspci -vv`: the links of PCI functions, and what their registers say of requests and sleep.

use super::{Printed, command};

/// Address of a function at the beginning of a line (`05:00.0`, `0000:05:00.0`), with its domain.
fn address(line: &str) -> Option<String> {
    let word = line.split_whitespace().next().filter(|_| !line.starts_with(char::is_whitespace))?;
    let parts: Vec<&str> = word.split([':', '.']).collect();
    let hex = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
    let whole = parts.iter().all(hex) && word.contains('.');
    match parts[..] {
        [_, _, _] if whole => Some(format!("0000:{word}")),
        [_, _, _, _] if whole => Some(word.to_owned()),
        _ => None,
    }
}

/// Text behind a word, up to a blank or a comma.
fn behind<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.split_once(word)?.1.split([' ', ',', ';']).next()
}

/// Bits of errors that the link has mended (PCI Express Base Specification, 7.8.4.5).
const CORRECTED: [(&str, u32); 6] =
    [("RxErr", 0), ("BadTLP", 6), ("BadDLLP", 7), ("Rollover", 8), ("Timeout", 12), ("AdvNonFatalErr", 13)];

#[derive(Default)]
struct Function {
    /// Device Control and Link Control.
    controls: [Option<u16>; 2],
    /// Correctable Error Status of Advanced Error Reporting.
    corrected: Option<u32>,
}

pub(super) fn read(host: &mut Printed, lines: &[String]) {
    let (mut at, mut function) = (String::new(), Function::default());
    for line in lines {
        // Of a part of the text the command alone tells which function it is of.
        let typed = command(line).map(|line| line.split_once("lspci ").and_then(|(_, rest)| rest.split_once("-s ")));
        let typed = typed.map(|rest| rest.and_then(|(_, rest)| address(rest)).unwrap_or_default());
        if let Some(address) = address(line).or(typed) {
            function.tell(host, &at);
            let place =
                |address: String| if address.is_empty() { address } else { format!("sys/devices/pci/{address}") };
            (at, function) = (place(address), Function::default());
            continue;
        }
        let text = line.trim_start();
        if at.is_empty() || text == line.as_str() {
            continue;
        }
        if let Some(node) = text.strip_prefix("NUMA node: ") {
            host.write(format!("{at}/numa_node"), node.trim());
            // As lscpu(1) tells it.
            if let Some(near) = host.files.get(&super::node(node.trim())).cloned() {
                host.write(format!("{at}/local_cpulist"), near);
            }
        }
        for (register, which) in [("LnkCap:", "max"), ("LnkSta:", "current")] {
            let Some(rest) = text.strip_prefix(register) else { continue };
            let speed = behind(rest, "Speed ").and_then(|speed| speed.strip_suffix("GT/s"));
            let width = behind(rest, "Width x");
            for (value, name) in [(speed, "speed"), (width, "width")] {
                if let Some(value) = value {
                    host.write(format!("{at}/{which}_link_{name}"), value);
                }
            }
        }
        let set = |slot: &mut Option<u16>, bits: u16| *slot = Some(slot.unwrap_or(0) | bits);
        if let Some(read) = behind(text, "MaxReadReq ").and_then(|read| read.parse::<u16>().ok()) {
            // 128 << n bytes.
            let code = u16::try_from(read.max(128).ilog2() - 7).unwrap_or(0);
            set(&mut function.controls[0], (code & 7) << 12);
        }
        if text.contains("RlxdOrd+") {
            set(&mut function.controls[0], 0x10);
        }
        if let Some(rest) = text.strip_prefix("CESta:") {
            let has = |(name, bit): &(&str, u32)| u32::from(rest.contains(&format!("{name}+"))) << bit;
            function.corrected = Some(CORRECTED.iter().map(has).sum());
        }
        if let Some(rest) = text.strip_prefix("LnkCtl:") {
            let on = rest.split(';').next().filter(|rest| rest.contains("Enabled")).unwrap_or_default();
            set(&mut function.controls[1], u16::from(on.contains("L0s")) | u16::from(on.contains("L1")) << 1);
        }
    }
    function.tell(host, &at);
}

impl Function {
    /// Configuration space with the PCI Express capability, if both registers were told.
    fn tell(&self, host: &mut Printed, at: &str) {
        let [Some(device), Some(link)] = self.controls else { return };
        let mut space = vec![0_u8; 0x60];
        if let Some(corrected) = self.corrected {
            // Behind it the extended capability, whose identifier is 1.
            space.resize(0x120, 0);
            space[0x100..0x104].copy_from_slice(&0x1_0001_u32.to_le_bytes());
            space[0x110..0x114].copy_from_slice(&corrected.to_le_bytes());
        }
        (space[0x34], space[0x40]) = (0x40, 0x10);
        space[0x48..0x4a].copy_from_slice(&device.to_le_bytes());
        space[0x50..0x52].copy_from_slice(&link.to_le_bytes());
        host.write(format!("{at}/config"), space);
    }
}
