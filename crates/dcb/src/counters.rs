//! Counters of a port. What has no effect is counted by reason.

use linerate_text::{counters, reasons};

reasons! {
    /// Reason that a received frame had no effect.
    pub enum Drop {
        /// Not LLDP, or for another group than the nearest bridge.
        NotForUs = "not_for_us",
        /// Our own, reflected: from our MAC address, or with our chassis and port.
        Own = "own",
        /// Malformed: discarded as IEEE 802.1AB-2016, clause 9.2.7.7 says.
        Malformed = "malformed",
        /// There is no place for another neighbour.
        TooManyNeighbours = "too_many_neighbours",
        /// The end of a neighbour that is not known.
        UnknownShutdown = "unknown_shutdown",
    }

    /// Frames that had no effect, by reason.
    pub struct Drops;
}

reasons! {
    /// Reason that a TLV was discarded. What its sender's last good one said stays.
    pub enum TlvDrop {
        /// Its length is not that of its fields, or they contradict each other.
        Malformed = "malformed",
        /// There is one like it in the frame already.
        Duplicate = "duplicate",
        /// Shares of the classes do not sum to 100.
        Shares = "shares",
        /// A traffic class or group above 7.
        Class = "class",
        /// A transmission selection algorithm other than strict priority and ETS.
        Algorithm = "algorithm",
        /// An application has two priorities.
        ApplicationTwice = "application_twice",
        /// A version of CEE that is not ours.
        Version = "version",
    }

    /// Discarded TLVs, by reason.
    pub struct TlvDrops;
}

counters! {
    /// Counters of a port (IEEE 802.1AB-2016, clause 9.2.6).
    pub struct Counters {
        /// Frames sent, those of an end too.
        pub sent: u64,
        /// Frames received, with an effect or dropped.
        pub received: u64,
        /// Frames without an effect.
        pub dropped: Drops,
        /// Discarded TLVs.
        pub tlvs_discarded: TlvDrops,
        /// TLVs of a type or an organization that is not known.
        pub tlvs_unrecognized: u64,
        /// Neighbours whose time to live was over.
        pub aged_out: u64,
        /// Changes of what is operative.
        pub changes: u64,
        /// Changes that the peer's settings asked for too often to be followed.
        pub changes_held: u64,
        /// Events for which there was no room.
        pub events_lost: u64,
    }
}
