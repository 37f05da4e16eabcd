//! Names of Differentiated Services codepoints (RFC 2474, RFC 2597, RFC 3246), as types of service.

use crate::flags::{based, named};

/// Names that iperf3 has besides.
const NAMES: [(&str, u8); 4] = [("lowdelay", 0x10), ("throughput", 0x08), ("reliability", 0x04), ("lowcost", 0x02)];

/// Type of service of a codepoint, by name or number.
pub(super) fn service(text: &str) -> Result<u8, String> {
    let numbered = || based(text).filter(|n| *n < 64).and_then(|n| u8::try_from(n << 2).ok());
    named(text, &NAMES)
        .or_else(numbered)
        .ok_or_else(|| "give a number from 0 to 63, or a name, as ef, cs1 or af11".to_owned())
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
