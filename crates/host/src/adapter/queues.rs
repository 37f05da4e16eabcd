//! Queues, rings and interrupt moderation as ethtool's family tells them (CHANNELS_GET, RINGS_GET, COALESCE_GET), by the
//! names that the `ethtool` program has for them.

use super::fields::{Rows, uint};
use serde::Serialize;

/// Attributes of a number: the greatest, the present, and its name.
type Limited = [(u16, u16, &'static str)];

const CHANNELS: &Limited = &[(2, 6, "rx"), (3, 7, "tx"), (4, 8, "other"), (5, 9, "combined")];
const RINGS: &Limited = &[(2, 6, "rx"), (3, 7, "rx-mini"), (4, 8, "rx-jumbo"), (5, 9, "tx")];
/// Besides the sizes of rings.
const RING_SETTINGS: &[(u16, &str)] = &[
    (10, "rx-buf-len"),
    (11, "tcp-data-split"),
    (12, "cqe-size"),
    (13, "tx-push"),
    (14, "rx-push"),
    (15, "tx-push-buf-len"),
    (16, "tx-push-buf-len-max"),
    (17, "hds-thresh"),
    (18, "hds-thresh-max"),
];
const COALESCE: &[(u16, &str)] = &[
    (11, "adaptive-rx"),
    (12, "adaptive-tx"),
    (2, "rx-usecs"),
    (3, "rx-frames"),
    (4, "rx-usecs-irq"),
    (5, "rx-frames-irq"),
    (6, "tx-usecs"),
    (7, "tx-frames"),
    (8, "tx-usecs-irq"),
    (9, "tx-frames-irq"),
    (10, "stats-block-usecs"),
    (23, "sample-interval"),
    (13, "pkt-rate-low"),
    (14, "rx-usecs-low"),
    (15, "rx-frames-low"),
    (16, "tx-usecs-low"),
    (17, "tx-frames-low"),
    (18, "pkt-rate-high"),
    (19, "rx-usecs-high"),
    (20, "rx-frames-high"),
    (21, "tx-usecs-high"),
    (22, "tx-frames-high"),
    (25, "cqe-mode-rx"),
    (24, "cqe-mode-tx"),
    (26, "tx-aggr-max-bytes"),
    (27, "tx-aggr-max-frames"),
    (28, "tx-aggr-time-usecs"),
];

/// A number and its limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Name that ethtool has for it.
    pub name: &'static str,
    pub now: Option<u64>,
    /// Greatest number that the driver takes.
    pub most: Option<u64>,
}

/// Rings: numbers of their descriptors, and what else is set for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rings {
    /// Descriptors of each kind of ring.
    pub sizes: Vec<Amount>,
    /// Other settings.
    pub settings: Rows,
}

fn amounts(answer: &[u8], table: &Limited) -> Vec<Amount> {
    let all = table.iter().map(|(most, now, name)| Amount { name, now: uint(answer, *now), most: uint(answer, *most) });
    all.filter(|amount| amount.now.is_some() || amount.most.is_some()).collect()
}

pub(crate) fn channels(answer: &[u8]) -> Vec<Amount> {
    amounts(answer, CHANNELS)
}

pub(crate) fn rings(answer: &[u8]) -> Rings {
    Rings { sizes: amounts(answer, RINGS), settings: Rows::of(answer, RING_SETTINGS) }
}

/// Interrupt moderation: microseconds, frames, truths.
pub(crate) fn coalesce(answer: &[u8]) -> Rows {
    Rows::of(answer, COALESCE)
}
