//! Names of a logical unit: its serial number, and its name that is unique in the world (SPC-4, clauses 7.8.5 and 7.8.15).

use linerate_text::{hex, unhex};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Longest serial number that can be given.
const LONGEST: usize = 64;

/// Names of a unit: an initiator that sees the same ones by two ways takes both for one disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitName {
    serial: String,
    naa: Naa,
    /// Number that tells disks with this serial number apart; None if there is only one.
    instance: Option<u64>,
}

impl UnitName {
    /// Names made from a number that is the device's own.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        Self { serial: format!("{number:016x}"), naa: Naa::local(number), instance: None }
    }

    /// Names made from a serial number, of 1 to 64 letters, digits, and `-`, `_`, `.`, and from a number that goes with it.
    #[must_use]
    pub fn of_text(serial: &str, number: u64) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if serial.is_empty() || serial.len() > LONGEST || !serial.bytes().all(fits) {
            return None;
        }
        Some(Self { serial: serial.to_owned(), naa: Naa::local(number), instance: None })
    }

    /// The same serial number, of a disk that is another one each time it is made, by the number of this one.
    #[must_use]
    pub fn anew(self, number: u64) -> Self {
        Self { naa: Naa::local(number), instance: Some(number), ..self }
    }

    /// The same serial number, with another name, which stands for one disk.
    #[must_use]
    pub fn with(self, naa: Naa) -> Self {
        Self { naa, instance: None, ..self }
    }

    /// Text that no other disk of its vendor and product has: the serial number, and the number of a disk that is made anew.
    #[must_use]
    pub fn unique(&self) -> String {
        let instance = self.instance.map_or_else(String::new, |number| format!("-{number:016x}"));
        format!("{}{instance}", self.serial)
    }

    /// Serial number.
    #[must_use]
    pub fn serial(&self) -> &str {
        &self.serial
    }

    /// Name that is unique in the world.
    #[must_use]
    pub fn naa(&self) -> &Naa {
        &self.naa
    }
}

/// A name in a format of Network Address Authority that SPC-4, clause 7.8.5.6, allows for a unit: 2 (IEEE extended), 3
/// (locally assigned) or 5 (IEEE registered) of 8 bytes, or 6 (IEEE registered extended) of 16.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naa(Vec<u8>);

/// Text that is no such name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no NAA name: give 16 hexadecimal digits that begin with 2, 3 or 5, or 32 that begin with 6")]
pub struct NaaError;

impl Naa {
    /// Locally assigned name (NAA 3) made from a number, without its upper 4 bits.
    #[must_use]
    pub fn local(number: u64) -> Self {
        Self((number & u64::MAX >> 4 | 3 << 60).to_be_bytes().to_vec())
    }

    /// Its bytes, 8 or 16.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Naa {
    type Err = NaaError;

    fn from_str(text: &str) -> Result<Self, NaaError> {
        let text = text.strip_prefix("0x").unwrap_or(text);
        let allowed = matches!((text.len(), text.bytes().next()), (16, Some(b'2' | b'3' | b'5')) | (32, Some(b'6')));
        unhex(text).filter(|_| allowed).map(Self).ok_or(NaaError)
    }
}

impl fmt::Display for Naa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_spc_allows() {
        for text in ["3123456789abcdef", "0x5001405012345678", "2000525400000001", "60014051234567890123456789abcdef"] {
            let naa: Naa = text.parse().unwrap();
            assert_eq!(naa.to_string(), text.trim_start_matches("0x"));
        }
        for text in ["", "1000525400000001", "6001405123456789", "50014050123456789012345678901234", "5001405g12345678"]
        {
            assert_eq!(text.parse::<Naa>(), Err(NaaError), "{text}");
        }
        assert_eq!(Naa::local(u64::MAX).to_string(), "3fffffffffffffff");
    }

    #[test]
    fn a_serial_number_makes_a_name() {
        let of_text = |text| UnitName::of_text(text, 7);
        let name = of_text("DISK-1_a.b").unwrap();
        assert_eq!((name.serial(), name.naa()), ("DISK-1_a.b", &Naa::local(7)));
        let (longest, longer) = ("x".repeat(LONGEST), "x".repeat(LONGEST + 1));
        assert!(of_text(&longest).is_some() && of_text(&longer).is_none());
        assert!(["", "a b", "a,b", "a\n", "ä"].iter().all(|text| of_text(text).is_none()));
        assert_eq!(UnitName::of_number(0x1f).serial(), "000000000000001f");
        let other: Naa = "5001405012345678".parse().unwrap();
        assert_eq!(
            name.clone().with(other.clone()),
            UnitName { serial: "DISK-1_a.b".into(), naa: other.clone(), instance: None }
        );
        let made = name.anew(0x1f);
        assert_eq!((made.serial(), &*made.unique()), ("DISK-1_a.b", "DISK-1_a.b-000000000000001f"));
        assert_eq!(made.naa(), &Naa::local(0x1f));
        assert_eq!(made.with(other).unique(), "DISK-1_a.b", "the name that was given stands for it");
    }
}
