//! Names of Differentiated Services codepoints (RFC 2474, RFC 2597, RFC 3246), as types of service.

/// Names and the type of service that they stand for.
const NAMES: [(&str, u8); 25] = [
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
    ("lowdelay", 0x10),
    ("throughput", 0x08),
    ("reliability", 0x04),
    ("lowcost", 0x02),
];

/// Parses a number in decimal, octal (`064`) or hexadecimal (`0x34`).
pub(super) fn number(text: &str) -> Option<u32> {
    let (digits, radix) = match text {
        "0" => ("0", 10),
        text if text.starts_with("0x") || text.starts_with("0X") => (&text[2..], 16),
        text => text.strip_prefix('0').map_or((text, 10), |digits| (digits, 8)),
    };
    u32::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))
}

/// Type of service of a codepoint, by name or number.
pub(super) fn service(text: &str) -> Result<u8, String> {
    let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, tos)| *tos);
    let numbered = || number(text).filter(|n| *n < 64).and_then(|n| u8::try_from(n << 2).ok());
    named.or_else(numbered).ok_or_else(|| "give a number from 0 to 63, or a name, as ef, cs1 or af11".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codepoints_have_names_and_numbers() {
        for (text, tos) in
            [("EF", 0xb8), ("46", 0xb8), ("056", 0xb8), ("0x2e", 0xb8), ("0", 0), ("63", 252), ("cs7", 224)]
        {
            assert_eq!(service(text), Ok(tos), "{text}");
        }
        for wrong in ["64", "-1", "", "af44", "0x", "08", "+5", "0+5"] {
            assert!(service(wrong).is_err(), "{wrong}");
        }
    }
}
