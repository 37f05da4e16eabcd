//! The information of DCBX's TLVs of IEEE 802.1Q-2022, annex D: what follows organization and subtype.

use crate::field::{Bit, Bits, Field, Low16, Nibbles, record};

/// Transmission selection algorithms of a traffic class (IEEE 802.1Q-2022, table 8-6).
pub mod dcbx_algorithm {
    /// Strict priority.
    pub const STRICT: u8 = 0;
    /// Credit-based shaper.
    pub const CREDIT: u8 = 1;
    /// Enhanced transmission selection.
    pub const ETS: u8 = 2;
    /// Asynchronous traffic shaping.
    pub const ASYNCHRONOUS: u8 = 3;
    /// One of the vendor's own.
    pub const VENDOR: u8 = 255;
}

/// Meanings of an application's protocol (IEEE 802.1Q-2022, table D-9).
pub mod dcbx_selector {
    /// An EtherType; 0 is all that have no entry of their own.
    pub const ETHERTYPE: u8 = 1;
    /// A port of TCP or SCTP.
    pub const STREAM: u8 = 2;
    /// A port of UDP or DCCP.
    pub const DATAGRAM: u8 = 3;
    /// A port of any of these.
    pub const ANY: u8 = 4;
    /// A differentiated services code point.
    pub const DSCP: u8 = 5;
}

record! {
    /// The traffic classes that are wanted: the information of ETS Recommendation (IEEE 802.1Q-2022, D.2.9).
    DcbxClasses[20] bytes;
    0 classes: [u8; 8] as Nibbles = "Traffic class of each priority.";
    4 shares: [u8; 8] = "Bandwidth of each traffic class in percent.";
    12 algorithms: [u8; 8] = "Transmission selection algorithm of each traffic class.";
}

record! {
    /// ETS Configuration (IEEE 802.1Q-2022, D.2.8).
    DcbxEts[21] bytes;
    0 willing: bool as Bit<7> = "The sender takes its peer's recommendation.";
    0 credit: bool as Bit<6> = "The sender has the credit-based shaper.";
    0 max_classes: u8 as Bits<2, 0> = "Traffic classes that the sender supports; 0 for eight.";
    1 classes: DcbxClasses = "What its traffic classes are.";
}

record! {
    /// Priority-based Flow Control Configuration (IEEE 802.1Q-2022, D.2.10).
    DcbxPfc[2] bytes;
    0 willing: bool as Bit<7> = "The sender takes its peer's settings.";
    0 bypass: bool as Bit<6> = "MBC: the sender cannot bypass MACsec, which makes its answers slower.";
    0 max_classes: u8 as Bits<3, 0> = "Traffic classes that may have flow control at once.";
    1 enabled: u8 = "A bit for each priority with flow control.";
}

record! {
    /// An entry of the Application Priority Table (IEEE 802.1Q-2022, D.2.11).
    DcbxApplication[3] bytes;
    0 priority: u8 as Bits<7, 5> = "Priority of the application.";
    0 selector: u8 as Bits<2, 0> = "Meaning of `protocol`, a [`dcbx_selector`].";
    1 protocol: u16 = "EtherType or port.";
}

record! {
    /// An entry of the Application VLAN Table (IEEE 802.1Q-2022, D.2.14; 802.1Qcd).
    DcbxApplicationVlan[4] bytes;
    0 vid: u16 as Vid = "VLAN of the application.";
    1 selector: u8 as Bits<2, 0> = "Meaning of `protocol`, a [`dcbx_selector`].";
    2 protocol: u16 = "EtherType or port.";
}

/// The upper 12 bits of a number of 16.
struct Vid;

impl Field for Vid {
    type Value = u16;

    fn get(bytes: &[u8], at: usize) -> u16 {
        u16::get(bytes, at) >> 4
    }

    fn put(value: u16, bytes: &mut [u8], at: usize) {
        let low = Low16::<4>::get(bytes, at);
        u16::put(value << 4 | low, bytes, at);
    }
}
