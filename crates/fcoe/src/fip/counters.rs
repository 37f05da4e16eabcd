//! Counters, named after the place where they count. A frame that does nothing has a reason.

/// Why a frame that came did nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum FipDrop {
    /// It is no FIP frame.
    NotFip,
    /// Its VLAN is not ours.
    Vlan,
    /// The link is down, or for a login: we have no identifier yet.
    NotReady,
    /// We sent it ourselves.
    Own,
    /// It is for another station or group, or a login for another identifier.
    NotForUs,
    /// Its bytes are not what the format allows: version, lengths, descriptors.
    Malformed,
    /// Its addresses contradict each other, or what is known of its sender.
    Inconsistent,
    /// Its sender has our port name.
    SameName,
    /// It is of a protocol that a VN2VN node does not speak: discovery of fabrics or VLANs, keep alives.
    Foreign,
    /// A Beacon of a port that has not claimed its identifier before us; it is asked to.
    Unknown,
    /// There is no room for another neighbour.
    TableFull,
    /// There is no room for another event.
    EventsFull,
}

/// All reasons, in order.
const REASONS: [(FipDrop, &str); 12] = [
    (FipDrop::NotFip, "not_fip"),
    (FipDrop::Vlan, "vlan"),
    (FipDrop::NotReady, "not_ready"),
    (FipDrop::Own, "own"),
    (FipDrop::NotForUs, "not_for_us"),
    (FipDrop::Malformed, "malformed"),
    (FipDrop::Inconsistent, "inconsistent"),
    (FipDrop::SameName, "same_name"),
    (FipDrop::Foreign, "foreign"),
    (FipDrop::Unknown, "unknown"),
    (FipDrop::TableFull, "table_full"),
    (FipDrop::EventsFull, "events_full"),
];

impl FipDrop {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        REASONS[self as usize].1
    }
}

/// Frames and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FipCounters {
    /// Frames that came: those that meant something, and those dropped.
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

    /// All reasons and how many frames each had.
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
