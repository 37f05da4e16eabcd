//! Types of service by number, and by the names that iperf 2 has (RFC 2474, RFC 8622, RFC 8325).

use crate::flags::{based, named};

/// Names that iperf 2 has besides.
const NAMES: [(&str, u8); 10] = [
    ("le", 0x01),
    ("nqb", 0x05),
    ("nqb2", 0x2d),
    ("ac_be", 0x00),
    ("ac_bk", 0x20),
    ("ac_vi", 0x80),
    ("ac_vo", 0xb8),
    ("lowdelay", 0x10),
    ("throughput", 0x08),
    ("reliability", 0x04),
];

/// Parses a type of service: a name, or a number in decimal, octal (`064`) or hexadecimal (`0x34`).
pub(super) fn service(text: &str) -> Result<u8, String> {
    let number = || based(text).and_then(|n| u8::try_from(n).ok());
    named(text, &NAMES)
        .or_else(number)
        .ok_or_else(|| "give a number from 0 to 255, as 52, 064 or 0x34, or a name, as ef".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_taken() {
        for (text, tos) in [("0", 0), ("52", 52), ("064", 52), ("0x34", 52), ("EF", 0xb8), ("nqb2", 0x2d)] {
            assert_eq!(service(text), Ok(tos), "{text}");
        }
        for wrong in ["", "256", "0x", "-1", "+5", "af44", "0x100", "08"] {
            assert!(service(wrong).is_err(), "{wrong}");
        }
    }
}
