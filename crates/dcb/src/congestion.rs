//! Congestion notification domains (IEEE 802.1Q-2022, clauses 30 to 32): which priorities have points at either end of the link. It is
//! told and shown, and not defended: no priority is remapped at the edge, and no CN-TAG is taken off.

use linerate_wire::{LldpCongestion, LldpTlv, Priority};

/// Points of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Congestion {
    /// None: the neighbour is told nothing.
    #[default]
    Off,
    /// Congestion points of these priorities, one bit each.
    Points(u8),
    /// Reaction points, for whatever priorities the neighbour has.
    Reacts,
}

/// Congestion notification at the port: a bit for each priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Notification {
    /// Priorities that have it here (CNPVs).
    pub priorities: u8,
    /// Those of them that the neighbour has too.
    pub interior: u8,
    /// Those of them whose frames the neighbour leaves as they are.
    pub ready: u8,
}

/// Place of a port in the domain of a priority (clause 32.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defence {
    /// The neighbour is not in it.
    Edge,
    /// The neighbour is, and may remap the priority.
    Interior,
    /// The neighbour is, and does not.
    InteriorReady,
}

impl Notification {
    pub(crate) fn new(settings: Congestion, peer: Option<LldpCongestion>) -> Self {
        let theirs = peer.map_or(0, |peer| peer.priorities);
        let priorities = match settings {
            Congestion::Off => 0,
            Congestion::Points(priorities) => priorities,
            Congestion::Reacts => theirs,
        };
        let interior = priorities & theirs;
        Self { priorities, interior, ready: interior & peer.map_or(0, |peer| peer.ready) }
    }

    /// TLV that the neighbour is told: nothing is remapped here, so all that there is is ready.
    pub(crate) fn tlv(self) -> Option<LldpTlv<'static>> {
        let Self { priorities, .. } = self;
        (priorities != 0).then_some(LldpTlv::Congestion(LldpCongestion { priorities, ready: priorities }))
    }

    /// Place in the domain of a priority; None if it has no congestion notification.
    #[must_use]
    pub const fn defence(self, priority: Priority) -> Option<Defence> {
        let bit = priority.bit();
        match (self.priorities & bit, self.interior & bit, self.ready & bit) {
            (0, ..) => None,
            (_, 0, _) => Some(Defence::Edge),
            (_, _, 0) => Some(Defence::Interior),
            _ => Some(Defence::InteriorReady),
        }
    }
}

impl Defence {
    /// Its name, in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Edge => "edge",
            Self::Interior => "interior",
            Self::InteriorReady => "interior ready",
        }
    }
}
