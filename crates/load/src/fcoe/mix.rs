//! The mix of READs and WRITEs.

/// Mix of READs and WRITEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// All read.
    Read,
    /// All write.
    Write,
    /// Half of them read.
    ReadWrite,
}

impl Mix {
    /// In the order of the published table.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::ReadWrite];

    /// As the published table calls it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "readwrite",
        }
    }

    /// For people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::ReadWrite => "50/50",
        }
    }

    /// Requests of a hundred that read.
    #[must_use]
    pub fn reads(self) -> u32 {
        match self {
            Self::Read => 100,
            Self::Write => 0,
            Self::ReadWrite => 50,
        }
    }

    /// From its word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mix| mix.word() == word)
    }
}
