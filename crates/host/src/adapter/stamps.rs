//! Time-stamping (TSINFO_GET), and the interface's clock.

use super::fields::whole;
use crate::ethtool::bitset;
use crate::netlink::message::attribute;
use serde::Serialize;

/// Time-stamps that an interface can make.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stamps {
    pub capabilities: Vec<String>,
    /// Number of its hardware clock (`/dev/ptpN`).
    pub clock: Option<u32>,
    /// Frames that the hardware stamps when they are sent.
    pub transmit: Vec<String>,
    /// Frames that the hardware stamps when they come.
    pub receive: Vec<String>,
}

/// Parses TSINFO_GET's answer.
pub(crate) fn parse(answer: &[u8]) -> Stamps {
    let set = |kind| attribute(answer, kind).map(bitset::on).unwrap_or_default();
    Stamps {
        capabilities: set(2),
        clock: whole(answer, 5).filter(|clock| *clock != u32::MAX),
        transmit: set(3),
        receive: set(4),
    }
}
