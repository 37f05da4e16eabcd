//! An adapter's capabilities and what of them is enabled: FreeBSD's `IFCAP_` names and bits (`net/if.h`), ethtool's names
//! as aliases, and the rules of the published adapter's manual (Emulex, FreeBSD application note, table 1).

use std::fmt;
use std::str::FromStr;

/// A set of capabilities.
///
/// Displays as ifconfig does, `507bb<RXCSUM,…>`; [`FromStr`] reads that, with or without `options=` or `capabilities=`
/// before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u32);

/// The capabilities that the published adapter prints: `options=507bb<…>`.
pub const PUBLISHED: Flags = Flags(0x507bb);

/// How a user may change a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// On and off.
    Free,
    /// On only: it cannot be disabled.
    OnOnly,
    /// Not at all.
    Never,
}

/// A flag that linerate's adapters may have.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Its bit, alone in a set.
    pub flag: Flags,
    /// FreeBSD's name, without `IFCAP_`.
    pub label: &'static str,
    /// The words that set it (`-` before one clears it): ifconfig's first, then ethtool's. The first is how it is shown.
    pub words: &'static [&'static str],
    /// How it may be changed.
    pub change: Change,
    /// What goes with it when it is cleared, and what it needs to be set.
    pub clears: Flags,
    /// What it does, in a line.
    pub what: &'static str,
}

/// All of them, by bit.
pub const FLAGS: &[Flag] = &[];

/// Why a flag cannot be changed, or a line not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// No flag has this name.
    #[error("{0}: no such flag")]
    Unknown(String),
    /// The adapter does not have it.
    #[error("{0}: the adapter has no such capability")]
    Unsupported(&'static str),
    /// It cannot be changed at all.
    #[error("{0}: cannot be changed")]
    Fixed(&'static str),
    /// It cannot be disabled.
    #[error("{0}: cannot be disabled")]
    AlwaysOn(&'static str),
    /// It needs another one to be enabled first.
    #[error("{flag}: needs {needs}")]
    Needs {
        /// What was to be enabled.
        flag: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// Not a line of ifconfig's.
    #[error("{0}: not a set of flags")]
    Line(String),
}

impl Flags {
    /// None.
    pub const NONE: Self = Self(0);
    /// Receive checksums.
    pub const RXCSUM: Self = Self(1 << 0);
    /// Transmit checksums.
    pub const TXCSUM: Self = Self(1 << 1);
    /// Full-size frames with a tag.
    pub const VLAN_MTU: Self = Self(1 << 3);
    /// Tags inserted and stripped.
    pub const VLAN_HWTAGGING: Self = Self(1 << 4);
    /// Frames beyond 1500 octets.
    pub const JUMBO_MTU: Self = Self(1 << 5);
    /// Checksums of tagged frames.
    pub const VLAN_HWCSUM: Self = Self(1 << 7);
    /// Segmentation of TCP on IPv4.
    pub const TSO4: Self = Self(1 << 8);
    /// Segmentation of TCP on IPv6.
    pub const TSO6: Self = Self(1 << 9);
    /// Received segments merged.
    pub const LRO: Self = Self(1 << 10);
    /// Only the VLANs asked for are received.
    pub const VLAN_HWFILTER: Self = Self(1 << 16);
    /// Segmentation of tagged frames.
    pub const VLAN_HWTSO: Self = Self(1 << 18);
    /// Receive checksums on IPv6.
    pub const RXCSUM_IPV6: Self = Self(1 << 21);
    /// Transmit checksums on IPv6.
    pub const TXCSUM_IPV6: Self = Self(1 << 22);

    /// Whether all of `other` are in it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those of `self` that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl FromStr for Flags {
    type Err = FlagError;
    fn from_str(line: &str) -> Result<Self, FlagError> {
        todo!("{line}")
    }
}

/// An adapter's capabilities, and which of them are enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdapterFlags {
    capabilities: Flags,
    enabled: Flags,
}

impl AdapterFlags {
    /// An adapter with these capabilities, all enabled, as the published one comes up.
    #[must_use]
    pub const fn new(capabilities: Flags) -> Self {
        Self { capabilities, enabled: capabilities }
    }

    /// What the adapter can do.
    #[must_use]
    pub const fn capabilities(&self) -> Flags {
        self.capabilities
    }

    /// What it does.
    #[must_use]
    pub const fn enabled(&self) -> Flags {
        self.enabled
    }

    /// Obeys a word as typed after `ifconfig oce0`: a name enables, `-` before it disables; returns all flags that
    /// changed, those that went along included.
    ///
    /// # Errors
    ///
    /// [`FlagError`]; nothing is changed then.
    pub fn apply(&mut self, word: &str) -> Result<Flags, FlagError> {
        todo!("{word}")
    }

    /// Enables or disables a flag (one bit of [`FLAGS`]); returns all flags that changed.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub fn set(&mut self, flag: Flags, on: bool) -> Result<Flags, FlagError> {
        todo!("{flag}{on}")
    }
}

impl fmt::Display for AdapterFlags {
    /// `ifconfig -m`'s two lines, `options=…` and `capabilities=…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "options={}\ncapabilities={}", self.enabled, self.capabilities)
    }
}
