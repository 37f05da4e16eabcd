//! Counters of discovery. A frame that has no effect is counted with a reason.

use linerate_text::reasons;

reasons! {
    /// Reason that a received frame had no effect.
    pub enum FipDrop {
        NotFip = "not_fip",
        /// Another VLAN.
        Vlan = "vlan",
        /// The link is down, or for a login: we have no identifier yet.
        NotReady = "not_ready",
        /// From our own MAC address.
        Own = "own",
        /// For another station or group, or a login for another identifier.
        NotForUs = "not_for_us",
        /// Malformed: version, lengths, descriptors.
        Malformed = "malformed",
        /// Addresses contradict each other, or the known ones of the sender.
        Inconsistent = "inconsistent",
        /// The sender has our port name.
        SameName = "same_name",
        /// A claim to the port name of another station, which was there first.
        NameInUse = "name_in_use",
        /// A claim to the identifier of another station, which was there first.
        IdInUse = "id_in_use",
        /// Part of FIP that a VN2VN node does not support: discovery of fabrics, keep alives.
        Foreign = "foreign",
        /// Beacon of a port from which we have no claim; our own claim is repeated to ask for it.
        Unknown = "unknown",
        /// There is no room for another neighbour.
        TableFull = "table_full",
        /// There is no room for another event.
        EventsFull = "events_full",
    }

    /// Frames that had no effect, by reason.
    pub struct FipDrops;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FipCounters {
    /// Frames received, processed or dropped.
    pub received: u64,
    pub sent: u64,
    /// Frames for which there was no room.
    pub unsent: u64,
    /// Number of times that another identifier had to be chosen.
    pub conflicts: u64,
    pub(super) dropped: FipDrops,
}

impl FipCounters {
    #[must_use]
    pub fn dropped(&self, reason: FipDrop) -> u64 {
        self.dropped.of(reason)
    }

    /// All reasons with their numbers of frames.
    pub fn drops(&self) -> impl Iterator<Item = (FipDrop, u64)> + '_ {
        FipDrop::ALL.into_iter().map(|reason| (reason, self.dropped(reason)))
    }

    pub(super) fn drop(&mut self, reason: FipDrop) {
        self.dropped.add(reason, 1);
    }
}
