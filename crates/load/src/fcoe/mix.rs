//! Mix of READs and WRITEs.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// READs only.
    Read,
    /// WRITEs only.
    Write,
    /// Half READs, half WRITEs.
    ReadWrite,
}

impl Mix {
    /// All mixes in the order of the published table.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::ReadWrite];

    /// Name in the published table.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "readwrite",
        }
    }

    /// Title for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::ReadWrite => "50/50",
        }
    }

    /// READs per hundred requests.
    #[must_use]
    pub fn reads(self) -> u32 {
        match self {
            Self::Read => 100,
            Self::Write => 0,
            Self::ReadWrite => 50,
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mix| mix.word() == word)
    }
}
