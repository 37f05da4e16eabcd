//! Unit attentions: events of a unit that each initiator must be told once (SAM-5, clause 5.14).

use linerate_wire::scsi::{Sense, SenseKey, asc};

/// Pending attentions of one nexus and one unit; the most urgent has the lowest bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Attentions(u16);

impl Attentions {
    /// The nexus is new to the unit, or the unit was reset: earlier state is lost.
    pub(super) const RESET: Self = Self(1);
    /// The nexus's reservation was preempted.
    pub(super) const RESERVATIONS_PREEMPTED: Self = Self(1 << 1);
    /// A reservation held by all registrants was released.
    pub(super) const RESERVATIONS_RELEASED: Self = Self(1 << 2);
    /// The nexus's registration was removed by another.
    pub(super) const REGISTRATIONS_PREEMPTED: Self = Self(1 << 3);
    /// The set of units has changed.
    pub(super) const LUNS_CHANGED: Self = Self(1 << 4);
    /// The unit's size has changed.
    pub(super) const CAPACITY_CHANGED: Self = Self(1 << 5);
    /// Another initiator has changed mode parameters.
    pub(super) const MODE_CHANGED: Self = Self(1 << 8);
    /// Another initiator has cleared log parameters.
    pub(super) const LOG_CHANGED: Self = Self(1 << 9);
    /// Another initiator has changed the identifying information.
    pub(super) const IDENTIFIER_CHANGED: Self = Self(1 << 10);
    /// The nexus knows another unit by this LUN, and has not asked for this one's name yet. Not an attention: it stays until
    /// the name is asked for.
    pub(super) const UNMET: Self = Self(1 << 14);
    /// The unit is hidden from the nexus: no attention is reported.
    pub(super) const HIDDEN: Self = Self(1 << 15);
    /// Flags that stay whatever is reported.
    const STATES: u16 = Self::UNMET.0 | Self::HIDDEN.0;

    const CODES: [(Self, (u8, u8)); 9] = [
        (Self::RESET, asc::RESET),
        (Self::RESERVATIONS_PREEMPTED, asc::RESERVATIONS_PREEMPTED),
        (Self::RESERVATIONS_RELEASED, asc::RESERVATIONS_RELEASED),
        (Self::REGISTRATIONS_PREEMPTED, asc::REGISTRATIONS_PREEMPTED),
        (Self::LUNS_CHANGED, asc::LUNS_CHANGED),
        (Self::CAPACITY_CHANGED, asc::CAPACITY_CHANGED),
        (Self::MODE_CHANGED, asc::MODE_CHANGED),
        (Self::LOG_CHANGED, asc::LOG_CHANGED),
        (Self::IDENTIFIER_CHANGED, asc::IDENTIFIER_CHANGED),
    ];

    /// True if no attention is pending, and the unit is visible.
    pub(super) const fn is_quiet(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn is_hidden(self) -> bool {
        self.0 & Self::HIDDEN.0 != 0
    }

    pub(super) const fn is_unmet(self) -> bool {
        self.0 & Self::UNMET.0 != 0
    }

    /// Hides the unit, or shows it.
    pub(super) fn hide(&mut self, hidden: bool) {
        self.0 = if hidden { self.0 | Self::HIDDEN.0 } else { self.0 & !Self::HIDDEN.0 };
    }

    pub(super) fn add(&mut self, other: Self) {
        // A reset supersedes all earlier attentions (SAM-5, clause 5.14.1: precedence).
        self.0 = if other == Self::RESET { self.0 & Self::STATES } else { self.0 } | other.0;
    }

    pub(super) fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }

    /// Takes the most urgent attention; it counts as reported.
    pub(super) fn take(&mut self) -> Option<Sense> {
        let (bit, code) = Self::CODES.into_iter().find(|(bit, _)| self.0 & bit.0 != 0)?;
        self.remove(bit);
        Some(Sense::new(SenseKey::UNIT_ATTENTION, code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_and_the_most_urgent_first() {
        let mut unit = Attentions::default();
        unit.add(Attentions::LUNS_CHANGED);
        unit.add(Attentions::RESERVATIONS_RELEASED);
        unit.add(Attentions::LUNS_CHANGED);
        unit.hide(true);
        let told: Vec<_> = std::iter::from_fn(|| unit.take()).map(|sense| (sense.key, sense.code)).collect();
        let attention = SenseKey::UNIT_ATTENTION;
        assert_eq!(told, [(attention, asc::RESERVATIONS_RELEASED), (attention, asc::LUNS_CHANGED)]);
        assert!(unit.is_hidden() && !unit.is_quiet());
        unit.hide(false);
        assert!(unit.is_quiet());
        unit.add(Attentions::RESERVATIONS_RELEASED);
        unit.add(Attentions::RESET);
        assert_eq!((unit.take().unwrap().code, unit.take()), (asc::RESET, None), "SAM-5, clause 5.14.1");
        unit.add(Attentions::UNMET);
        unit.add(Attentions::RESET);
        assert_eq!((unit.take().unwrap().code, unit.take(), unit.is_unmet()), (asc::RESET, None, true));
    }

    #[test]
    fn all_are_told_in_the_order_of_the_table() {
        let mut unit = Attentions::default();
        Attentions::CODES.into_iter().rev().for_each(|(bit, _)| unit.0 |= bit.0);
        let told: Vec<_> = std::iter::from_fn(|| unit.take()).map(|sense| sense.code).collect();
        assert_eq!(told, Attentions::CODES.map(|(_, code)| code));
    }
}
