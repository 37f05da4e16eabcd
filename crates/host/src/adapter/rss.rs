//! Distribution of received frames over queues (RSS_GET): hash function, key, table, and fields of each kind of flow.

use super::fields::{uint, whole};
use crate::netlink::message::{attribute, attributes, word};
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

/// Parses RSS_GET's answer.
pub(crate) fn parse(answer: &[u8]) -> Rss {
    let function = whole(answer, 3).filter(|bits| *bits != 0).map(|bits| {
        let one = bits.is_power_of_two().then(|| FUNCTIONS.get(usize::try_from(bits.trailing_zeros()).unwrap_or(64)));
        one.flatten().map_or_else(|| format!("function {bits:#x}"), |name| (*name).to_owned())
    });
    let table = attribute(answer, 4).map(|table| table.chunks_exact(4).map(|entry| word(entry, 0)).collect());
    let key = attribute(answer, 5).filter(|key| !key.is_empty());
    let flows = attributes(attribute(answer, 8).unwrap_or_default()).filter_map(|(kind, _)| {
        let bits = uint(attribute(answer, 8)?, kind)?;
        let name = FLOWS.get(usize::from(kind)).map_or_else(|| format!("flow {kind}"), |name| (*name).to_owned());
        Some((name, FIELDS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect()))
    });
    Rss {
        function,
        key: key.map(|key| key.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")),
        table,
        symmetric: whole(answer, 6).and_then(|bits| match bits {
            1 => Some("symmetric-xor"),
            2 => Some("symmetric-or-xor"),
            _ => None,
        }),
        fields: flows.collect(),
    }
}
