//! The table of units: name in documents, display scale, and whether more or less is better.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Unit of a value. Values are stored in the unit itself; readers add prefixes (Mpps). JSON: its name in [`UNITS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets per second, summed over the test's sending ports.
    Pps,
    BitsPerSecond,
    BytesPerSecond,
    /// Requests to a storage device per second.
    Iops,
    /// Requests with their responses per second.
    TransactionsPerSecond,
    Ns,
    /// Bytes of memory.
    Bytes,
    /// Number of frames, such as those of a burst.
    Frames,
    /// Parts of one.
    Ratio,
    PerCent,
    /// A unit that this version does not know, by its name.
    Other(Box<str>),
}

/// One row of [`UNITS`].
#[derive(Debug)]
pub struct UnitRow {
    pub unit: Unit,
    /// Name of the unit in documents.
    pub name: &'static str,
    /// Scale in which values of the unit are displayed.
    pub scale: Scale,
    pub more_is_better: bool,
}

/// Scale in which values of a unit are displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Number with a decimal prefix, up to a greatest one, before the symbol.
    Decimal {
        /// Symbol in common use: `b/s`, where documents have `bit/s`.
        symbol: &'static str,
        /// Greatest prefix: rates of packets and requests are quoted in millions however many there are.
        up_to: char,
    },
    /// Time in ns, µs, ms or s.
    Time,
    /// Amount of memory in powers of 1024: KiB, MiB, GiB.
    Memory,
    /// Number with three decimals and no symbol.
    Plain,
    /// Number with a symbol that takes no prefix.
    Symbol(&'static str),
}

/// All units that this version knows.
pub static UNITS: &[UnitRow] = &[
    row(Unit::Pps, "pps", Scale::Decimal { symbol: "pps", up_to: 'M' }, true),
    row(Unit::BitsPerSecond, "bit/s", Scale::Decimal { symbol: "b/s", up_to: 'G' }, true),
    row(Unit::BytesPerSecond, "B/s", Scale::Decimal { symbol: "B/s", up_to: 'G' }, true),
    row(Unit::Iops, "IOPS", Scale::Decimal { symbol: "IOPS", up_to: 'M' }, true),
    row(Unit::TransactionsPerSecond, "transactions/s", Scale::Decimal { symbol: "trans/s", up_to: 'M' }, true),
    row(Unit::Ns, "ns", Scale::Time, false),
    row(Unit::Bytes, "B", Scale::Memory, false),
    row(Unit::Frames, "frames", Scale::Decimal { symbol: "frames", up_to: 'M' }, true),
    row(Unit::Ratio, "ratio", Scale::Plain, true),
    row(Unit::PerCent, "%", Scale::Symbol("%"), false),
];

const fn row(unit: Unit, name: &'static str, scale: Scale, more_is_better: bool) -> UnitRow {
    UnitRow { unit, name, scale, more_is_better }
}

impl Unit {
    /// Unit of that name in a document.
    #[must_use]
    pub fn named(name: &str) -> Self {
        UNITS.iter().find(|row| row.name == name).map_or_else(|| Self::Other(name.into()), |row| row.unit.clone())
    }

    /// Row of the unit; `None` for a unit that this version does not know.
    #[must_use]
    pub fn row(&self) -> Option<&'static UnitRow> {
        UNITS.iter().find(|row| row.unit == *self)
    }

    /// True if more is better, as of a rate; assumed for a unit that this version does not know.
    #[must_use]
    pub fn more_is_better(&self) -> bool {
        self.row().is_none_or(|row| row.more_is_better)
    }

    /// Name of the unit in documents.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => known.row().map_or("", |row| row.name),
        }
    }
}

/// Writes the unit's name in documents.
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Self::named(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_has_a_row_and_every_name_is_its_own() {
        let all = [
            Unit::Pps,
            Unit::BitsPerSecond,
            Unit::BytesPerSecond,
            Unit::Iops,
            Unit::TransactionsPerSecond,
            Unit::Ns,
            Unit::Bytes,
            Unit::Frames,
            Unit::Ratio,
            Unit::PerCent,
        ];
        assert_eq!(all.len(), UNITS.len());
        for unit in all {
            assert_eq!(Unit::named(unit.name()), unit, "{unit}");
            assert_eq!(unit.row().unwrap().unit, unit);
        }
    }

    #[test]
    fn a_unit_of_a_later_writer_keeps_its_name() {
        let unit: Unit = serde_json::from_str("\"furlongs\"").unwrap();
        assert_eq!((unit.name(), unit.row().is_none()), ("furlongs", true));
        assert_eq!(serde_json::to_string(&unit).unwrap(), "\"furlongs\"");
        assert!(unit.more_is_better() && Unit::Pps.more_is_better() && !Unit::Ns.more_is_better());
    }
}
