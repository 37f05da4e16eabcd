//! Speed of the target's wire.

/// Speed of the wire between the target and the switch, in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// As fast as memory.
    Unlimited,
    TenGigabit,
    /// 40 Gb/s, as the published port has.
    FortyGigabit,
}

impl Wire {
    pub const ALL: [Self; 3] = [Self::Unlimited, Self::TenGigabit, Self::FortyGigabit];

    /// Name used by ports: the value of `rate=`, or `unlimited`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unlimited => "unlimited",
            Self::TenGigabit => "10G",
            Self::FortyGigabit => "40G",
        }
    }

    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Unlimited => "unlimited wire",
            Self::TenGigabit => "wire of 10 Gb/s",
            Self::FortyGigabit => "wire of 40 Gb/s",
        }
    }

    /// Bits per second; `None` without a limit.
    #[must_use]
    pub fn bits_per_s(self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::TenGigabit => Some(10_000_000_000),
            Self::FortyGigabit => Some(40_000_000_000),
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.word() == word)
    }
}
