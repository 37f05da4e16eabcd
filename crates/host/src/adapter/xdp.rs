//! XDP and AF_XDP as the netdev family tells them (DEV_GET), and which NAPI instance, interrupt and thread serves which
//! queue (QUEUE_GET, NAPI_GET).

use super::fields::{uint, whole};
use crate::absent::{Absent, Part};
use serde::Serialize;

const FEATURES: &[(u64, &str)] = &[
    (1, "basic"),
    (2, "redirect"),
    (4, "ndo-xmit"),
    (8, "xsk-zerocopy"),
    (16, "hw-offload"),
    (32, "rx-sg"),
    (64, "ndo-xmit-sg"),
];
const RX_METADATA: &[(u64, &str)] = &[(1, "timestamp"), (2, "hash"), (4, "vlan-tag")];
const XSK: &[(u64, &str)] = &[(1, "tx-timestamp"), (2, "tx-checksum"), (4, "tx-launch-time-fifo")];

/// Capabilities of a driver's XDP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Xdp {
    pub features: Vec<String>,
    /// Metadata of received frames that programs can read.
    pub rx_metadata: Vec<String>,
    /// Features of AF_XDP's transmission.
    pub xsk: Vec<String>,
    /// Slots of a frame that zero-copy sends, if it has it.
    pub zero_copy_segments: Option<u32>,
}

/// A queue, and what serves it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// `rx-0`, `tx-0` …
    pub name: String,
    pub napi: Option<u32>,
    pub irq: Option<u32>,
    /// Process of the instance's thread, if it has one.
    pub thread: Option<u32>,
}

/// Names of the bits that are set; those without a name as numbers.
fn names(bits: u64, table: &[(u64, &str)]) -> Vec<String> {
    let known = table.iter().fold(0, |all, (bit, _)| all | bit);
    let mut names: Vec<_> =
        table.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| (*name).to_owned()).collect();
    if bits & !known != 0 {
        names.push(format!("{:#x}", bits & !known));
    }
    names
}

/// Parses DEV_GET's answer, and says of which interface it is.
pub(crate) fn parse(answer: &[u8]) -> Part<(u32, Xdp)> {
    let (Some(index), Some(features)) = (whole(answer, 1), uint(answer, 3)) else {
        return Err(Absent::told("the kernel's answer makes no sense"));
    };
    let set = |kind, table| uint(answer, kind).map(|bits| names(bits, table)).unwrap_or_default();
    let xdp = Xdp {
        features: names(features, FEATURES),
        rx_metadata: set(5, RX_METADATA),
        xsk: set(6, XSK),
        zero_copy_segments: whole(answer, 4).filter(|segments| *segments != 0),
    };
    Ok((index, xdp))
}

/// `rx-0` of a type and a number.
pub(crate) fn queue_name(kind: Option<u32>, id: Option<u32>) -> Option<String> {
    let way = match kind? {
        0 => "rx",
        1 => "tx",
        _ => return None,
    };
    Some(format!("{way}-{}", id?))
}

/// Queues of QUEUE_GET's answers, with what NAPI_GET's say of their instances.
pub(crate) fn queues(queues: &[Vec<u8>], napis: &[Vec<u8>]) -> Vec<Queue> {
    let queue = |answer: &Vec<u8>| {
        let napi = whole(answer, 4);
        let served = napis.iter().find(|one| napi.is_some() && whole(one, 2) == napi);
        let of = |kind| served.and_then(|one| whole(one, kind));
        Some(Queue { name: queue_name(whole(answer, 3), whole(answer, 1))?, napi, irq: of(3), thread: of(4) })
    };
    queues.iter().filter_map(queue).collect()
}
