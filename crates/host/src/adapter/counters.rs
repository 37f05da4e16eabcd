//! Counters of an interface: those that every interface has, ethtool's standard groups (STATS_GET), pause frames and FEC,
//! those of queues (QSTATS_GET), and the driver's own (ETHTOOL_GSTRINGS, ETHTOOL_GSTATS).

use super::fields::{Rows, whole};
use super::xdp::queue_name;
use crate::netlink::message::{attribute, attributes, count, long, text};
use serde::Serialize;
use std::collections::HashMap;

/// Standard groups: name, and names of their counters.
const GROUPS: &[(&str, &[&str])] = &[
    ("eth-phy", &["SymbolErrorDuringCarrier"]),
    (
        "eth-mac",
        &[
            "FramesTransmittedOK",
            "SingleCollisionFrames",
            "MultipleCollisionFrames",
            "FramesReceivedOK",
            "FrameCheckSequenceErrors",
            "AlignmentErrors",
            "OctetsTransmittedOK",
            "FramesWithDeferredXmissions",
            "LateCollisions",
            "FramesAbortedDueToXSColls",
            "FramesLostDueToIntMACXmitError",
            "CarrierSenseErrors",
            "OctetsReceivedOK",
            "FramesLostDueToIntMACRcvError",
            "MulticastFramesXmittedOK",
            "BroadcastFramesXmittedOK",
            "FramesWithExcessiveDeferral",
            "MulticastFramesReceivedOK",
            "BroadcastFramesReceivedOK",
            "InRangeLengthErrors",
            "OutOfRangeLengthField",
            "FrameTooLongErrors",
        ],
    ),
    ("eth-ctrl", &["MACControlFramesTransmitted", "MACControlFramesReceived", "UnsupportedOpcodesReceived"]),
    ("rmon", &["etherStatsUndersizePkts", "etherStatsOversizePkts", "etherStatsFragments", "etherStatsJabbers"]),
];

// linux/ethtool_netlink.h
const STATS_GRP: u16 = 4;
const GRP_ID: u16 = 2;
const GRP_STAT: u16 = 4;
const GRP_HIST_RX: u16 = 5;
const GRP_HIST_TX: u16 = 6;
const BKT_LOW: u16 = 7;
const BKT_HI: u16 = 8;
const BKT_VAL: u16 = 9;

/// Counters of a queue (NETDEV_A_QSTATS_…), by their attributes.
const QUEUE_COUNTERS: &[(u16, &str)] = &[
    (8, "rx-packets"),
    (9, "rx-bytes"),
    (10, "tx-packets"),
    (11, "tx-bytes"),
    (12, "rx-alloc-fail"),
    (13, "rx-hw-drops"),
    (14, "rx-hw-drop-overruns"),
    (15, "rx-csum-complete"),
    (16, "rx-csum-unnecessary"),
    (17, "rx-csum-none"),
    (18, "rx-csum-bad"),
    (19, "rx-hw-gro-packets"),
    (20, "rx-hw-gro-bytes"),
    (21, "rx-hw-gro-wire-packets"),
    (22, "rx-hw-gro-wire-bytes"),
    (23, "rx-hw-drop-ratelimits"),
    (24, "tx-hw-drops"),
    (25, "tx-hw-drop-errors"),
    (26, "tx-csum-none"),
    (27, "tx-needs-csum"),
    (28, "tx-hw-gso-packets"),
    (29, "tx-hw-gso-bytes"),
    (30, "tx-hw-gso-wire-packets"),
    (31, "tx-hw-gso-wire-bytes"),
    (32, "tx-hw-drop-ratelimits"),
    (33, "tx-stop"),
    (34, "tx-wake"),
];

/// Counters that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Name: `link`, one of ethtool's groups, `pause`, `fec`, a queue's, or `driver`.
    pub name: String,
    pub rows: Rows,
}

/// Groups of STATS_GET's answer.
pub(crate) fn standard(answer: &[u8]) -> Vec<Group> {
    let groups = attributes(answer).filter(|(kind, _)| *kind == STATS_GRP);
    let groups = groups.filter_map(|(_, group)| {
        let id = usize::try_from(whole(group, GRP_ID)?).ok()?;
        let (name, names) =
            GROUPS.get(id).map_or_else(|| (format!("group {id}"), &[][..]), |(n, all)| ((*n).to_owned(), *all));
        let mut rows = Rows::default();
        for (kind, value) in attributes(group) {
            match kind {
                // A counter is an attribute of its own here, its number the attribute's type.
                GRP_STAT => rows.0.extend(Rows::listed(value, names).0),
                GRP_HIST_RX | GRP_HIST_TX => {
                    rows.0.extend(bucket(value, if kind == GRP_HIST_RX { "rx" } else { "tx" }))
                }
                _ => {}
            }
        }
        Some(Group { name, rows })
    });
    groups.filter(|group| !group.rows.is_empty()).collect()
}

/// A row of a histogram over lengths of frames, by ethtool's name.
fn bucket(value: &[u8], way: &str) -> Option<(String, u64)> {
    let count = attribute(value, BKT_VAL).filter(|value| value.len() == 8)?;
    let low = whole(value, BKT_LOW)?;
    let high = whole(value, BKT_HI).filter(|high| *high != 0).map_or_else(|| "Max".to_owned(), |high| high.to_string());
    Some((format!("{way}-etherStatsPkts{low}to{high}Octets"), long(count, 0)))
}

/// Groups of QSTATS_GET's answers, one for each queue.
pub(crate) fn queues(answers: &[Vec<u8>]) -> Vec<Group> {
    let groups = answers.iter().filter_map(|answer| {
        let name = queue_name(whole(answer, 2), whole(answer, 3))?;
        Some(Group { name: format!("queue {name}"), rows: Rows::of(answer, QUEUE_COUNTERS) })
    });
    groups.filter(|group| !group.rows.is_empty()).collect()
}

/// The driver's own counters: `struct ethtool_gstrings` and `struct ethtool_stats`. Where their numbers differ, because
/// queues came or went between, only what both have is there.
pub(crate) fn own(names: &[u8], values: &[u8]) -> Rows {
    let names = names.get(12..).unwrap_or_default().chunks_exact(32).take(count(names, 8));
    let values = values.get(8..).unwrap_or_default().chunks_exact(8).take(count(values, 4));
    let rows = names.zip(values).map(|(name, value)| (text(name).trim().to_owned(), long(value, 0)));
    Rows(rows.filter(|(name, _)| !name.is_empty()).collect())
}

/// A counter in two readings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rate {
    pub group: String,
    pub name: String,
    /// Its value in the later reading.
    pub value: u64,
    /// Difference; none if the counter was not in the earlier reading, or has gone back.
    pub difference: Option<u64>,
    /// Difference a second.
    pub rate: Option<f64>,
}

/// Differences between two readings that so many seconds are between. Where a name is there several times, the n-th is
/// compared with the n-th.
#[must_use]
pub fn rates(before: &[Group], after: &[Group], seconds: f64) -> Vec<Rate> {
    let earlier: HashMap<_, _> = places(before).map(|(group, name, n, value)| ((group, name, n), value)).collect();
    let rate = |(group, name, n, value): (&str, &str, usize, u64)| {
        let difference = earlier.get(&(group, name, n)).and_then(|was| value.checked_sub(*was));
        let rate = difference.filter(|_| seconds > 0.0).map(|difference| as_float(difference) / seconds);
        Rate { group: group.to_owned(), name: name.to_owned(), value, difference, rate }
    };
    places(after).map(rate).collect()
}

/// Counters: group, name, how many of that name were before it, value.
fn places(groups: &[Group]) -> impl Iterator<Item = (&str, &str, usize, u64)> {
    let mut seen = HashMap::<(&str, &str), usize>::new();
    let all = groups.iter().flat_map(|group| group.rows.iter().map(|(name, value)| (group.name.as_str(), name, value)));
    all.map(move |(group, name, value)| {
        let n = seen.entry((group, name)).or_default();
        *n += 1;
        (group, name, *n, value)
    })
}

fn as_float(number: u64) -> f64 {
    number as f64
}
