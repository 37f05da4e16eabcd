//! Sets that FreeBSD prints as a number with names: `507bb<RXCSUM,TXCSUM,…>`.
//!
//! ifconfig(8) prints a name for each bit that it knows, the lowest first. So where there are as many names as bits, the
//! n-th name is that of the n-th bit, whatever the kernel's version; nothing here knows any name.

use serde::Serialize;

/// A set of bits with the names that were printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NamedBits {
    pub bits: u64,
    /// Names, the lowest bit's first.
    pub names: Vec<String>,
}

impl NamedBits {
    /// Parses a set at the beginning of a text, and returns what follows it. A number alone is a set without names.
    pub(super) fn parse(text: &str) -> Option<(Self, &str)> {
        let digits = text.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        let number = text.strip_suffix(digits)?;
        let bits = u64::from_str_radix(number, 16).ok()?;
        let Some(named) = digits.strip_prefix('<') else {
            let ends = digits.is_empty() || digits.starts_with(char::is_whitespace);
            return ends.then_some((Self { bits, names: Vec::new() }, digits));
        };
        let (names, rest) = named.split_once('>')?;
        let names = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Some((Self { bits, names }, rest))
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|one| one == name)
    }

    /// Bit of a name; none if the numbers of bits and names differ, so that it cannot be known.
    #[must_use]
    pub fn bit(&self, name: &str) -> Option<u32> {
        let places: Vec<u32> = (0..u64::BITS).filter(|bit| self.bits >> bit & 1 == 1).collect();
        let at = self.names.iter().position(|one| one == name)?;
        places.get(at).copied().filter(|_| places.len() == self.names.len())
    }
}

impl std::fmt::Display for NamedBits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}<{}>", self.bits, self.names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_name_is_that_of_the_nth_bit() {
        let (set, rest) = NamedBits::parse("40130<VLAN_HWTAGGING,JUMBO_MTU,TSO4,NEW_ONE> metric 0").unwrap();
        assert_eq!(rest, " metric 0");
        assert_eq!(
            ["VLAN_HWTAGGING", "JUMBO_MTU", "TSO4", "NEW_ONE"].map(|name| set.bit(name)),
            [4, 5, 8, 18].map(Some)
        );
        assert_eq!((set.bit("LRO"), set.has("TSO4"), set.has("LRO")), (None, true, false));
        assert_eq!(set.to_string(), "40130<VLAN_HWTAGGING,JUMBO_MTU,TSO4,NEW_ONE>");
        // A bit that the program has no name for: no name can be given a bit, and all are kept.
        let (set, _) = NamedBits::parse("13<RXCSUM,TXCSUM>").unwrap();
        assert_eq!((set.bits, set.bit("RXCSUM"), set.names.len()), (0x13, None, 2));
    }

    #[test]
    fn what_is_no_set_is_none() {
        for text in ["", "<UP>", "x<UP>", "8843<UP", "+1<UP>", "8843UP", "11111111111111111<UP>"] {
            assert_eq!(NamedBits::parse(text), None, "{text}");
        }
        for (text, bits) in [("0", 0), ("0<>", 0), ("3 metric", 3)] {
            assert_eq!(NamedBits::parse(text).unwrap().0, NamedBits { bits, names: Vec::new() }, "{text}");
        }
    }
}
