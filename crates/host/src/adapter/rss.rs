//! Distribution of received frames over queues: hash function, key, table, and fields of each kind of flow (RSS_GET, since
//! Linux 6.2, with fields since 6.17; before that ETHTOOL_GRSSH and ETHTOOL_GRXFH by ioctl).

use super::fields::{uint, whole};
use super::source::{Question, Source, Subject, one};
use crate::absent::Part;
use crate::netlink::message::{attribute, attributes, count, long, word};
use serde::Serialize;

/// Functions, by their bits.
const FUNCTIONS: &[&str] = &["toeplitz", "xor", "crc32"];

/// Kinds of flows (ETHTOOL_A_FLOW_…).
const FLOWS: &[&str] = &[
    "",
    "ether",
    "ip4",
    "ip6",
    "tcp4",
    "tcp6",
    "udp4",
    "udp6",
    "sctp4",
    "sctp6",
    "ah4",
    "ah6",
    "esp4",
    "esp6",
    "ah-esp4",
    "ah-esp6",
    "gtpu4",
    "gtpu6",
    "gtpc4",
    "gtpc6",
    "gtpc-teid4",
    "gtpc-teid6",
    "gtpu-eh4",
    "gtpu-eh6",
    "gtpu-ul4",
    "gtpu-ul6",
    "gtpu-dl4",
    "gtpu-dl6",
];

/// Fields (RXH_…), by ethtool's words.
const FIELDS: &[(u64, &str)] = &[
    (1 << 1, "L2DA"),
    (1 << 2, "VLAN tag"),
    (1 << 3, "L3 proto"),
    (1 << 4, "IP SA"),
    (1 << 5, "IP DA"),
    (1 << 6, "L4 bytes 0 & 1 [TCP/UDP src port]"),
    (1 << 7, "L4 bytes 2 & 3 [TCP/UDP dst port]"),
    (1 << 8, "GTP TEID"),
    (1 << 9, "IPv6 flow label"),
    (1 << 31, "Discard"),
];

/// Kinds of flows that are asked by ioctl: number and name.
const BY_IOCTL: &[(u8, &str)] = &[
    (0x10, "ip4"),
    (0x11, "ip6"),
    (1, "tcp4"),
    (5, "tcp6"),
    (2, "udp4"),
    (6, "udp6"),
    (3, "sctp4"),
    (7, "sctp6"),
    (4, "ah-esp4"),
    (8, "ah-esp6"),
];

/// Distribution of received frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rss {
    /// Hash function; none if the driver does not say.
    pub function: Option<String>,
    /// Key, as bytes in hexadecimal.
    pub key: Option<String>,
    /// Queue for each value of the hash's last bits.
    pub table: Option<Vec<u32>>,
    /// Both directions of a flow come to one queue: how its fields are mixed.
    pub symmetric: Option<&'static str>,
    /// Fields of each kind of flow that is hashed.
    pub fields: Vec<(String, Vec<&'static str>)>,
}

pub(crate) fn read(source: &mut dyn Source, subject: &Subject) -> Part<Rss> {
    let mut rss = match one(source, Question::Rss, subject) {
        Ok(answer) => parse(&answer),
        // The reason is netlink's, which is the later kernel's and may have words.
        Err(why) => by_ioctl(&one(source, Question::Indirection, subject).map_err(|_| why)?),
    };
    if rss.fields.is_empty() {
        for (number, name) in BY_IOCTL {
            let Ok(answer) = one(source, Question::Fields(*number), subject) else { continue };
            rss.fields.push(((*name).to_owned(), fields(long(&answer, 8))));
        }
    }
    Ok(rss)
}

fn fields(bits: u64) -> Vec<&'static str> {
    FIELDS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect()
}

fn function(bits: u32) -> Option<String> {
    let one = bits.is_power_of_two().then(|| FUNCTIONS.get(usize::try_from(bits.trailing_zeros()).unwrap_or(64)));
    (bits != 0).then(|| one.flatten().map_or_else(|| format!("function {bits:#x}"), |name| (*name).to_owned()))
}

fn table(bytes: &[u8]) -> Option<Vec<u32>> {
    (!bytes.is_empty()).then(|| bytes.chunks_exact(4).map(|entry| word(entry, 0)).collect())
}

fn key(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| linerate_text::colons(bytes))
}

/// Parses `struct ethtool_rxfh` with its table and key.
fn by_ioctl(blob: &[u8]) -> Rss {
    let behind = blob.get(24..).unwrap_or_default();
    let entries = count(blob, 8).saturating_mul(4).min(behind.len());
    let (entries, rest) = behind.split_at(entries);
    let length = count(blob, 12).min(rest.len());
    Rss {
        function: blob.get(16).and_then(|bits| function(u32::from(*bits))),
        key: key(&rest[..length]),
        table: table(entries),
        ..Rss::default()
    }
}

/// Parses RSS_GET's answer.
fn parse(answer: &[u8]) -> Rss {
    let flows = attributes(attribute(answer, 8).unwrap_or_default()).filter_map(|(kind, _)| {
        let bits = uint(attribute(answer, 8)?, kind)?;
        let name = FLOWS.get(usize::from(kind)).map_or_else(|| format!("flow {kind}"), |name| (*name).to_owned());
        Some((name, fields(bits)))
    });
    Rss {
        function: whole(answer, 3).and_then(function),
        key: attribute(answer, 5).and_then(key),
        table: attribute(answer, 4).and_then(table),
        symmetric: whole(answer, 6).and_then(|bits| match bits {
            1 => Some("symmetric-xor"),
            2 => Some("symmetric-or-xor"),
            _ => None,
        }),
        fields: flows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{Machine, interfaces};

    #[test]
    fn a_table_by_ioctl_is_read_as_far_as_it_goes() {
        let mut blob = [0x46_u32, 0, 2, 3].map(u32::to_ne_bytes).concat();
        blob.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        blob.extend([5_u32, 6].map(u32::to_ne_bytes).concat());
        blob.extend([0xaa, 0xbb, 0xcc]);
        let whole = by_ioctl(&blob);
        assert_eq!((whole.function.as_deref(), whole.key.as_deref()), (Some("toeplitz"), Some("aa:bb:cc")));
        assert_eq!(whole.table, Some(vec![5, 6]));
        for end in 0..blob.len() {
            let cut = by_ioctl(&blob[..end]);
            assert!(cut.key != whole.key || cut.table != whole.table, "{end}");
        }
        assert_eq!(fields(0x30), ["IP SA", "IP DA"]);
    }

    /// Netlink and ioctl say the same where the kernel answers both.
    #[test]
    fn both_ways_to_ask_say_the_same() {
        let mut machine = Machine::new();
        let mut compared = 0;
        for interface in interfaces(&mut machine).unwrap_or_default() {
            let subject = Subject { index: interface.index, name: interface.name };
            let netlink = one(&mut machine, Question::Rss, &subject);
            let ioctl = one(&mut machine, Question::Indirection, &subject);
            let (Ok(netlink), Ok(ioctl)) = (netlink, ioctl) else { continue };
            let (netlink, ioctl) = (parse(&netlink), by_ioctl(&ioctl));
            assert_eq!((&ioctl.function, &ioctl.key, &ioctl.table), (&netlink.function, &netlink.key, &netlink.table));
            for (number, name) in BY_IOCTL {
                let Ok(answer) = one(&mut machine, Question::Fields(*number), &subject) else { continue };
                let Some((_, told)) = netlink.fields.iter().find(|(flow, _)| flow == name) else { continue };
                assert_eq!(&fields(long(&answer, 8)), told, "{name}");
            }
            compared += 1;
        }
        if compared == 0 {
            linerate_skip::skip!("no interface here has receive-side scaling by netlink and by ioctl");
        }
    }
}
