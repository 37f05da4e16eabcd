//! Types of service: numbers as C writes them, and names of Differentiated Services codepoints (RFC 2474, RFC 2597, RFC 3246).

/// Names of codepoints, and the types of service that they stand for.
const CODEPOINTS: [(&str, u8); 21] = [
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
];

/// Parses a number in decimal, octal (`064`) or hexadecimal (`0x34`).
pub(crate) fn based(text: &str) -> Option<u32> {
    let (digits, radix) = match text {
        "0" => ("0", 10),
        text if text.starts_with("0x") || text.starts_with("0X") => (&text[2..], 16),
        text => text.strip_prefix('0').map_or((text, 10), |digits| (digits, 8)),
    };
    u32::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))
}

/// Type of service of a name, in either case: of a codepoint, or of a program's own names.
pub(crate) fn named(text: &str, own: &[(&str, u8)]) -> Option<u8> {
    CODEPOINTS.iter().chain(own).find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, tos)| *tos)
}
