//! Types of service by number, and by the names that iperf 2 has (RFC 2474, RFC 8622, RFC 8325).

/// Names and the type of service that they stand for.
const NAMES: [(&str, u8); 31] = [
    ("af11", 0x28),
    ("af12", 0x30),
    ("af13", 0x38),
    ("af21", 0x48),
    ("af22", 0x50),
    ("af23", 0x58),
    ("af31", 0x68),
    ("af32", 0x70),
    ("af33", 0x78),
    ("af41", 0x88),
    ("af42", 0x90),
    ("af43", 0x98),
    ("cs0", 0x00),
    ("cs1", 0x20),
    ("cs2", 0x40),
    ("cs3", 0x60),
    ("cs4", 0x80),
    ("cs5", 0xa0),
    ("cs6", 0xc0),
    ("cs7", 0xe0),
    ("ef", 0xb8),
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
    let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, tos)| *tos);
    let number = || {
        let (digits, radix) = match text {
            "0" => ("0", 10),
            text if text.starts_with("0x") || text.starts_with("0X") => (&text[2..], 16),
            text => text.strip_prefix('0').map_or((text, 10), |digits| (digits, 8)),
        };
        u8::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))
    };
    named.or_else(number).ok_or_else(|| "give a number from 0 to 255, as 52, 064 or 0x34, or a name, as ef".to_owned())
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
