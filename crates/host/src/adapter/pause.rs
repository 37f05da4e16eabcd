//! Functions of the link layer besides frames: pause frames (PAUSE_GET), error correction (FEC_GET), and idling (EEE_GET).

use super::fields::{Rows, truth, uint, whole};
use crate::ethtool::bitset;
use crate::netlink::message::{attribute, long};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pause {
    /// Agreed with the partner.
    pub autonegotiation: Option<bool>,
    /// Heeded when received.
    pub rx: Option<bool>,
    pub tx: Option<bool>,
    /// Pause frames received and sent, if the driver counts them.
    pub counters: Rows,
}

/// Error correction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fec {
    /// Chosen by the driver.
    pub auto: Option<bool>,
    pub configured: Vec<String>,
    /// Code in use; none without a link.
    pub active: Option<String>,
    /// Blocks and bits, if the driver counts them, of all lanes together.
    pub counters: Rows,
    /// Blocks corrected, not corrected, and bits corrected, by lane.
    pub lanes: Vec<(String, Vec<u64>)>,
}

/// Energy-efficient Ethernet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Eee {
    pub enabled: Option<bool>,
    /// In use on this link.
    pub active: Option<bool>,
    /// The transmitter idles.
    pub tx_idle: Option<bool>,
    /// Microseconds before it does.
    pub timer: Option<u32>,
}

/// Parses PAUSE_GET's answer.
pub(crate) fn pause(answer: &[u8]) -> Pause {
    Pause {
        autonegotiation: truth(answer, 2),
        rx: truth(answer, 3),
        tx: truth(answer, 4),
        counters: Rows::of(attribute(answer, 5).unwrap_or_default(), &[(2, "tx_pause_frames"), (3, "rx_pause_frames")]),
    }
}

/// Codes as link modes' bits (ETHTOOL_A_FEC_ACTIVE).
const CODES: &[(u32, &str)] = &[(49, "None"), (50, "RS"), (51, "BASER"), (74, "LLRS")];

/// Parses FEC_GET's answer.
pub(crate) fn fec(answer: &[u8]) -> Fec {
    let stats = attribute(answer, 5).unwrap_or_default();
    let mut fec = Fec {
        auto: truth(answer, 3),
        configured: attribute(answer, 2).map(bitset::on).unwrap_or_default(),
        active: whole(answer, 4).filter(|code| *code != 0).map(|code| {
            let name = CODES.iter().find(|(bit, _)| *bit == code);
            name.map_or_else(|| format!("code {code}"), |(_, name)| (*name).to_owned())
        }),
        ..Fec::default()
    };
    for (kind, name) in [(2, "corrected_blocks"), (3, "uncorrectable_blocks"), (4, "corrected_bits")] {
        // The total, and behind it a number for each lane.
        let Some(value) = attribute(stats, kind) else { continue };
        let numbers: Vec<_> = value.chunks_exact(8).map(|number| long(number, 0)).collect();
        if let Some((total, lanes)) = numbers.split_first() {
            fec.counters.0.push((name.to_owned(), *total));
            if !lanes.is_empty() {
                fec.lanes.push((name.to_owned(), lanes.to_vec()));
            }
        }
    }
    fec
}

/// Parses EEE_GET's answer.
pub(crate) fn eee(answer: &[u8]) -> Eee {
    Eee {
        enabled: truth(answer, 5),
        active: truth(answer, 4),
        tx_idle: truth(answer, 6),
        timer: uint(answer, 7).and_then(|timer| u32::try_from(timer).ok()),
    }
}
