//! Counters of discovery. A frame that has no effect is counted with a reason.

/// Reason that a received frame had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum FipDrop {
    /// Not a FIP frame.
    NotFip,
    /// Another VLAN.
    Vlan,
    /// The link is down, or for a login: we have no identifier yet.
    NotReady,
    /// From our own MAC address.
    Own,
    /// For another station or group, or a login for another identifier.
    NotForUs,
    /// Malformed: version, lengths, descriptors.
    Malformed,
    /// Addresses contradict each other, or the known ones of the sender.
    Inconsistent,
    /// The sender has our port name.
    SameName,
    /// A claim to the port name of another station, which was there first.
    NameInUse,
    /// A claim to the identifier of another station, which was there first.
    IdInUse,
    /// Part of FIP that a VN2VN node does not support: discovery of fabrics or VLANs, keep alives.
    Foreign,
    /// Beacon of a port from which we have no claim; our own claim is repeated to ask for it.
    Unknown,
    /// There is no room for another neighbour.
    TableFull,
    /// There is no room for another event.
    EventsFull,
}

/// All reasons, in order.
const REASONS: [(FipDrop, &str); 14] = [
    (FipDrop::NotFip, "not_fip"),
    (FipDrop::Vlan, "vlan"),
    (FipDrop::NotReady, "not_ready"),
    (FipDrop::Own, "own"),
    (FipDrop::NotForUs, "not_for_us"),
    (FipDrop::Malformed, "malformed"),
    (FipDrop::Inconsistent, "inconsistent"),
    (FipDrop::SameName, "same_name"),
    (FipDrop::NameInUse, "name_in_use"),
    (FipDrop::IdInUse, "id_in_use"),
    (FipDrop::Foreign, "foreign"),
    (FipDrop::Unknown, "unknown"),
    (FipDrop::TableFull, "table_full"),
    (FipDrop::EventsFull, "events_full"),
];

impl FipDrop {
    /// Name of the reason in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        REASONS[self as usize].1
    }
}

/// Counters of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FipCounters {
    /// Frames received, processed or dropped.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames for which there was no room.
    pub unsent: u64,
    /// Number of times that another identifier had to be chosen.
    pub conflicts: u64,
    pub(super) dropped: [u64; REASONS.len()],
}

impl FipCounters {
    /// Frames dropped for this reason.
    #[must_use]
    pub fn dropped(&self, reason: FipDrop) -> u64 {
        self.dropped[reason as usize]
    }

    /// All reasons with their numbers of frames.
    pub fn drops(&self) -> impl Iterator<Item = (FipDrop, u64)> + '_ {
        REASONS.iter().map(|&(reason, _)| (reason, self.dropped(reason)))
    }

    pub(super) fn drop(&mut self, reason: FipDrop) {
        self.dropped[reason as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_in_order() {
        for (at, (reason, name)) in REASONS.iter().enumerate() {
            assert_eq!((*reason as usize, reason.name()), (at, *name));
        }
    }
}
