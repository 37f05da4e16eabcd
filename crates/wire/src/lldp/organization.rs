//! The information of the TLVs of IEEE 802.1 and 802.3 that are not DCBX's: what follows organization and subtype.

use crate::field::{Bit, record};

record! {
    /// Port And Protocol VLAN ID (IEEE 802.1Q-2022, D.2.2).
    LldpPortProtocolVlan[3] bytes;
    0 supported: bool as Bit<1> = "The port can have VLANs by protocol.";
    0 enabled: bool as Bit<2> = "It has this one.";
    1 vid: u16 = "The VLAN; 0 if it has none.";
}

record! {
    /// Congestion notification (IEEE 802.1Q-2022, D.2.7; 802.1Qau).
    LldpCongestion[2] bytes;
    0 priorities: u8 = "A bit for each priority with congestion notification.";
    1 ready: u8 = "A bit for each of them that the sender no longer remaps.";
}

record! {
    /// MAC/PHY Configuration/Status (IEEE 802.3-2022, clause 79.3.1).
    LldpMacPhy[5] bytes;
    0 supported: bool as Bit<0> = "The port can negotiate its speed.";
    0 enabled: bool as Bit<1> = "It does.";
    1 advertised: u16 = "Capabilities that it advertises (RFC 4836, ifMauAutoNegCapAdvertisedBits).";
    3 mau: u16 = "Type of the medium attachment unit in use (RFC 4836, dot3MauType).";
}

record! {
    /// Link Aggregation (IEEE 802.1AX; 802.3-2022, clause 79.3.3).
    LldpAggregation[5] bytes;
    0 capable: bool as Bit<0> = "The link can be aggregated.";
    0 enabled: bool as Bit<1> = "It is.";
    1 port: u32 = "Interface number of the aggregated port; 0 if it is not.";
}

/// Power Via MDI (IEEE 802.3-2022, clause 79.3.2): of 7 octets, of 12 with classification by LLDP, or of 29 with what
/// 802.3bt has added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LldpPower<'a> {
    /// Bits of support: port class, supported, enabled, pairs can be chosen.
    pub support: u8,
    /// Power pair of a source: 1 for the signal pairs, 2 for the spare ones.
    pub pair: u8,
    /// Power class, from 1 for class 0.
    pub class: u8,
    /// Classification by LLDP, as it stands: none, 5 octets, or 22.
    pub classification: &'a [u8],
}
