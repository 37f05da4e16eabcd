//! Time at which something is due, or never: one number, so that the first of several is found without a branch.

/// A time in ns, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due(u64);

impl Due {
    pub(crate) const NOW: Self = Self(0);
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// A time, or never if it is the greatest number.
    #[inline]
    pub(crate) fn at(time: u64) -> Self {
        Self(time)
    }

    /// A time from another.
    #[inline]
    pub(crate) fn after(now: u64, time: u64) -> Self {
        Self(now.saturating_add(time))
    }

    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self != Self::NEVER
    }

    /// True if the time has come.
    #[inline]
    pub(crate) fn has_come(self, now: u64) -> bool {
        self.0 <= now && self.is_set()
    }

    /// Takes a time that has come; false if it has not.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) -> bool {
        let come = self.has_come(now);
        if come {
            *self = Self::NEVER;
        }
        come
    }

    /// Sets a time, unless one is set; the time that is set then.
    #[inline]
    pub(crate) fn set_once(&mut self, time: Self) -> Self {
        if !self.is_set() {
            *self = time;
        }
        *self
    }

    /// The time; None: never.
    #[inline]
    pub(crate) fn time(self) -> Option<u64> {
        self.is_set().then_some(self.0)
    }
}
