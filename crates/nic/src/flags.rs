//! Capabilities of an adapter and those enabled: FreeBSD's `IFCAP_` names and bits (`net/if.h`), ethtool's names as
//! aliases, and the rules of the published adapter's manual (Emulex, FreeBSD application note, table 1).

mod meant;

use std::fmt;
use std::str::FromStr;

/// A set of capabilities.
///
/// It is printed and parsed in ifconfig's format: `507bb<RXCSUM,…>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u32);

/// The capabilities that the published adapter prints: `options=507bb<…>`.
pub const PUBLISHED: Flags = Flags(0x507bb);

/// Permitted changes of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It can be enabled and disabled.
    Free,
    /// It can be enabled only: it cannot be disabled.
    OnOnly,
    /// It cannot be changed at all.
    Never,
}

/// A flag that linerate's adapters may have.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Bit of the flag, as a set.
    pub flag: Flags,
    /// FreeBSD's name, without `IFCAP_`.
    pub label: &'static str,
    /// The words that set it (`-` before one clears it): ifconfig's first, then ethtool's.
    pub words: &'static [&'static str],
    /// Permitted changes.
    pub change: Change,
    /// Flags that are cleared with it, and cannot be set without it.
    pub clears: Flags,
    /// Description of its function, in one line.
    pub what: &'static str,
}

/// All flags, by bit. The words and permitted changes are the published table's; the IPv6 checksums are FreeBSD's own
/// and can be changed.
pub const FLAGS: &[Flag] = &[
    Flag {
        flag: Flags::RXCSUM,
        label: "RXCSUM",
        words: &["rxcsum", "rx", "rx-checksum", "rx-checksumming"],
        change: Change::Free,
        clears: Flags::NONE,
        what: "verify received checksums",
    },
    Flag {
        flag: Flags::TXCSUM,
        label: "TXCSUM",
        words: &["txcsum", "tx", "tx-checksumming", "tx-checksum-ipv4"],
        change: Change::Free,
        clears: Flags::TSO4.union(Flags::TSO6),
        what: "fill in checksums of sent packets",
    },
    Flag {
        flag: Flags::VLAN_MTU,
        label: "VLAN_MTU",
        words: &["vlanmtu"],
        change: Change::Never,
        clears: Flags::NONE,
        what: "carry a VLAN tag beyond the MTU",
    },
    Flag {
        flag: Flags::VLAN_HWTAGGING,
        label: "VLAN_HWTAGGING",
        words: &["vlanhwtag", "txvlan", "rxvlan", "tx-vlan-offload", "rx-vlan-offload"],
        change: Change::Free,
        clears: Flags::NONE,
        what: "insert VLAN tags into sent frames, strip them from received ones",
    },
    Flag {
        flag: Flags::JUMBO_MTU,
        label: "JUMBO_MTU",
        words: &["jumbomtu"],
        change: Change::Never,
        clears: Flags::NONE,
        what: "MTU up to 9216",
    },
    Flag {
        flag: Flags::VLAN_HWCSUM,
        label: "VLAN_HWCSUM",
        words: &["vlanhwcsum"],
        change: Change::OnOnly,
        clears: Flags::NONE,
        what: "checksums of tagged frames",
    },
    Flag {
        flag: Flags::TSO4,
        label: "TSO4",
        words: &["tso4", "tso", "tcp-segmentation-offload", "tx-tcp-segmentation"],
        change: Change::Free,
        clears: Flags::NONE,
        what: "segment TCP on IPv4",
    },
    Flag {
        flag: Flags::TSO6,
        label: "TSO6",
        words: &["tso6", "tx-tcp6-segmentation"],
        change: Change::OnOnly,
        clears: Flags::NONE,
        what: "segment TCP on IPv6",
    },
    Flag {
        flag: Flags::LRO,
        label: "LRO",
        words: &["lro", "gro", "large-receive-offload", "generic-receive-offload"],
        change: Change::Free,
        clears: Flags::NONE,
        what: "merge received TCP segments",
    },
    Flag {
        flag: Flags::VLAN_HWFILTER,
        label: "VLAN_HWFILTER",
        words: &["vlanhwfilter", "rx-vlan-filter"],
        change: Change::Free,
        clears: Flags::NONE,
        what: "receive only the VLANs that were added",
    },
    Flag {
        flag: Flags::VLAN_HWTSO,
        label: "VLAN_HWTSO",
        words: &["vlanhwtso"],
        change: Change::OnOnly,
        clears: Flags::NONE,
        what: "segment tagged frames",
    },
    Flag {
        flag: Flags::RXCSUM_IPV6,
        label: "RXCSUM_IPV6",
        words: &["rxcsum6"],
        change: Change::Free,
        clears: Flags::NONE,
        what: "verify received checksums on IPv6",
    },
    Flag {
        flag: Flags::TXCSUM_IPV6,
        label: "TXCSUM_IPV6",
        words: &["txcsum6", "tx-checksum-ipv6"],
        change: Change::Free,
        clears: Flags::TSO6,
        what: "fill in checksums of packets sent on IPv6",
    },
];

/// FreeBSD's names of all 32 bits (`IFCAPBITS`, `net/if.h`), to parse lines that other adapters print.
const NAMES: [&str; 32] = [
    "RXCSUM",
    "TXCSUM",
    "NETCONS",
    "VLAN_MTU",
    "VLAN_HWTAGGING",
    "JUMBO_MTU",
    "POLLING",
    "VLAN_HWCSUM",
    "TSO4",
    "TSO6",
    "LRO",
    "WOL_UCAST",
    "WOL_MCAST",
    "WOL_MAGIC",
    "TOE4",
    "TOE6",
    "VLAN_HWFILTER",
    "NV",
    "VLAN_HWTSO",
    "LINKSTATE",
    "NETMAP",
    "RXCSUM_IPV6",
    "TXCSUM_IPV6",
    "HWSTATS",
    "TXRTLMT",
    "HWRXTSTMP",
    "MEXTPG",
    "TXTLS4",
    "TXTLS6",
    "VXLAN_HWCSUM",
    "VXLAN_HWTSO",
    "TXTLS_RTLMT",
];

/// Reason for which a flag cannot be changed, or a line not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// No flag has this name.
    #[error("{0}: no such flag: {mend}", mend = meant::mend(.0))]
    Unknown(String),
    /// The adapter lacks this capability.
    #[error("{0}: the adapter has no such capability: see its line capabilities=")]
    Unsupported(&'static str),
    /// The flag cannot be changed at all.
    #[error("{0}: cannot be changed, it is part of how the adapter works: leave it out")]
    Fixed(&'static str),
    /// The flag can be enabled only.
    #[error("{0}: cannot be disabled: leave it on")]
    AlwaysOn(&'static str),
    /// The flag needs another one to be enabled first.
    #[error("{flag}: needs {needs}: enable that first")]
    Needs {
        /// Flag that was to be enabled.
        flag: &'static str,
        /// Flag that it needs.
        needs: &'static str,
    },
    /// A line that is not in ifconfig's format.
    #[error("{0:?}: not a set of flags: write it as options=507bb<RXCSUM,TXCSUM,...>")]
    Line(String),
    /// The number and the names of a line contradict each other.
    #[error("{number:x}<{names}>: the names are those of {expected}: correct one of the two")]
    Contradiction {
        /// Number in the line.
        number: u32,
        /// Names in the line.
        names: String,
        /// Set that the number stands for.
        expected: Flags,
    },
}

impl Flags {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Checksums verified on receive.
    pub const RXCSUM: Self = Self(1 << 0);
    /// Checksums computed on transmit.
    pub const TXCSUM: Self = Self(1 << 1);
    /// Full-size frames with a VLAN tag.
    pub const VLAN_MTU: Self = Self(1 << 3);
    /// VLAN tags inserted and stripped.
    pub const VLAN_HWTAGGING: Self = Self(1 << 4);
    /// Frames longer than 1500 bytes.
    pub const JUMBO_MTU: Self = Self(1 << 5);
    /// Checksums of tagged frames.
    pub const VLAN_HWCSUM: Self = Self(1 << 7);
    /// Segmentation of TCP on IPv4.
    pub const TSO4: Self = Self(1 << 8);
    /// Segmentation of TCP on IPv6.
    pub const TSO6: Self = Self(1 << 9);
    /// Received TCP segments merged.
    pub const LRO: Self = Self(1 << 10);
    /// Frames of other VLANs than the requested ones dropped on receive.
    pub const VLAN_HWFILTER: Self = Self(1 << 16);
    /// Segmentation of tagged frames.
    pub const VLAN_HWTSO: Self = Self(1 << 18);
    /// Checksums verified on receive over IPv6.
    pub const RXCSUM_IPV6: Self = Self(1 << 21);
    /// Checksums computed on transmit over IPv6.
    pub const TXCSUM_IPV6: Self = Self(1 << 22);

    /// True if all of `other` are in the set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Union of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Flags of `self` that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Display for Flags {
    /// Prints the number in hexadecimal and the names: `3<RXCSUM,TXCSUM>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}<", self.0)?;
        let mut comma = "";
        for (bit, name) in NAMES.iter().enumerate() {
            if self.0 >> bit & 1 == 1 {
                write!(f, "{comma}{name}")?;
                comma = ",";
            }
        }
        f.write_str(">")
    }
}

impl FromStr for Flags {
    type Err = FlagError;

    /// Parses `507bb<RXCSUM,…>`, also with `options=` or `capabilities=` and white space before it; number and names
    /// must agree.
    fn from_str(line: &str) -> Result<Self, FlagError> {
        let not_a_line = || FlagError::Line(line.to_owned());
        let text = line.trim();
        let text = text.strip_prefix("options=").or_else(|| text.strip_prefix("capabilities=")).unwrap_or(text);
        let (number, names) = text.strip_suffix('>').and_then(|text| text.split_once('<')).ok_or_else(not_a_line)?;
        // `from_str_radix` would accept a sign.
        if !number.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(not_a_line());
        }
        let number = u32::from_str_radix(number, 16).map_err(|_| not_a_line())?;
        let mut named = 0;
        for name in names.split(',').filter(|_| !names.is_empty()) {
            let bit = NAMES.iter().position(|known| *known == name).ok_or_else(not_a_line)?;
            named |= 1 << bit;
        }
        if named != number {
            return Err(FlagError::Contradiction { number, names: names.to_owned(), expected: Self(number) });
        }
        Ok(Self(number))
    }
}

/// Capabilities of an adapter, and those enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdapterFlags {
    capabilities: Flags,
    enabled: Flags,
}

impl AdapterFlags {
    /// An adapter with these capabilities, all enabled, as the published one starts.
    #[must_use]
    pub const fn new(capabilities: Flags) -> Self {
        Self { capabilities, enabled: capabilities }
    }

    /// Capabilities of the adapter.
    #[must_use]
    pub const fn capabilities(&self) -> Flags {
        self.capabilities
    }

    /// Enabled capabilities.
    #[must_use]
    pub const fn enabled(&self) -> Flags {
        self.enabled
    }

    /// Applies a word as typed after `ifconfig oce0`: a name enables, `-` before it disables; returns all flags that
    /// changed, dependent ones included.
    ///
    /// ```
    /// use linerate_nic::{AdapterFlags, Flags, PUBLISHED};
    ///
    /// let mut flags = AdapterFlags::new(PUBLISHED);
    /// assert_eq!(flags.apply("-txcsum")?, Flags::TXCSUM.union(Flags::TSO4).union(Flags::TSO6));
    /// assert_eq!(flags.apply("-vlanmtu").unwrap_err().to_string().split(':').next(), Some("VLAN_MTU"));
    /// # Ok::<(), linerate_nic::FlagError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FlagError`]; nothing changes then.
    pub fn apply(&mut self, word: &str) -> Result<Flags, FlagError> {
        let (name, on) = word.strip_prefix('-').map_or((word, true), |name| (name, false));
        let flag = FLAGS.iter().find(|flag| flag.words.contains(&name) || flag.label == name);
        self.change(flag.ok_or_else(|| FlagError::Unknown(word.to_owned()))?, on)
    }

    /// Enables or disables a flag, one bit of [`FLAGS`]; returns all flags that changed.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub fn set(&mut self, flag: Flags, on: bool) -> Result<Flags, FlagError> {
        let row = FLAGS.iter().find(|row| row.flag == flag);
        self.change(row.ok_or_else(|| FlagError::Unknown(flag.to_string()))?, on)
    }

    fn change(&mut self, row: &Flag, on: bool) -> Result<Flags, FlagError> {
        if !self.capabilities.contains(row.flag) {
            return Err(FlagError::Unsupported(row.label));
        }
        match row.change {
            Change::Never => return Err(FlagError::Fixed(row.label)),
            Change::OnOnly if !on => return Err(FlagError::AlwaysOn(row.label)),
            Change::OnOnly | Change::Free => {}
        }
        let before = self.enabled;
        if on {
            // A flag cleared together with another one cannot be set before that one.
            let missing = FLAGS.iter().find(|other| {
                let holds = other.clears.contains(row.flag) && self.capabilities.contains(other.flag);
                holds && !before.contains(other.flag)
            });
            if let Some(needs) = missing {
                return Err(FlagError::Needs { flag: row.label, needs: needs.label });
            }
            self.enabled = before.union(row.flag);
        } else {
            self.enabled = before.difference(row.flag.union(row.clears));
        }
        Ok(Flags(before.0 ^ self.enabled.0))
    }
}

impl fmt::Display for AdapterFlags {
    /// Prints the two lines of `ifconfig -m`, `options=…` and `capabilities=…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "options={}\ncapabilities={}", self.enabled, self.capabilities)
    }
}

#[cfg(test)]
mod tests;
