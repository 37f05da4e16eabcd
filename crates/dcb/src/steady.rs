//! Restraint: a peer whose settings change again and again is followed a few times, and then once it keeps still.

use crate::transmit::SECOND;

/// Changes that are followed at once.
const CHANGES: u8 = 5;
/// Time for which a peer keeps still before it is followed again, and after which its changes are forgotten.
pub(crate) const STILL: u64 = 30 * SECOND;

/// Changes of what is wanted, counted.
#[derive(Debug, Clone)]
pub(crate) struct Steady<T> {
    wanted: T,
    /// Time of the last change.
    at: u64,
    changes: u8,
}

impl<T: PartialEq> Steady<T> {
    pub(crate) fn new(wanted: T) -> Self {
        Self { wanted, at: 0, changes: 0 }
    }

    /// Begins anew with what was set here.
    pub(crate) fn set(&mut self, wanted: T) {
        *self = Self::new(wanted);
    }

    /// Takes note of what is wanted now; says how many changes there were too many, if this is one.
    pub(crate) fn want(&mut self, wanted: T, now: u64) -> u8 {
        if self.wanted == wanted {
            return 0;
        }
        self.wanted = wanted;
        self.changes = if now.saturating_sub(self.at) >= STILL { 1 } else { self.changes.saturating_add(1) };
        self.at = now;
        self.changes.saturating_sub(CHANGES)
    }

    /// The settings that are wanted.
    pub(crate) fn wanted(&self) -> &T {
        &self.wanted
    }

    /// The settings to be followed now, if any.
    pub(crate) fn settled(&self, now: u64) -> Option<&T> {
        (self.changes <= CHANGES || now >= self.at + STILL).then_some(&self.wanted)
    }

    /// Time at which what is wanted will be followed.
    pub(crate) fn until(&self) -> u64 {
        self.at + STILL
    }
}
