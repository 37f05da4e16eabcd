//! Bytes as hexadecimal digits.

/// Two small digits a byte: `00ff`.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    separated(bytes, "")
}

/// Two small digits a byte, with colons between, as MAC addresses and WWNs are written: `02:00:0a`.
#[must_use]
pub fn colons(bytes: &[u8]) -> String {
    separated(bytes, ":")
}

fn separated(bytes: &[u8], between: &str) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(between)
}

/// Bytes of pairs of digits; `None` for anything else, an odd number of digits included.
#[must_use]
pub fn unhex(digits: &str) -> Option<Vec<u8>> {
    let plain = digits.len().is_multiple_of(2) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let pairs = (0..digits.len()).step_by(2);
    plain.then(|| pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&all)), Some(all));
        assert_eq!((hex(&[]), colons(&[]), unhex("")), (String::new(), String::new(), Some(Vec::new())));
        assert_eq!((colons(&[2, 0, 0xaf]).as_str(), unhex("0A")), ("02:00:af", Some(vec![10])));
        for wrong in ["0", "+1", "0x", "é", "0g", " 0"] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }
}
