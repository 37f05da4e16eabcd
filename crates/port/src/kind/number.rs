//! Parsing of numbers in a port's name.

/// Parses a whole number with an optional K, M or G, each of them `kilo` times the one before.
pub(super) fn scaled(text: &str, kilo: u64) -> Option<u64> {
    let (digits, power) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1),
        b'm' | b'M' => (&text[..text.len() - 1], 2),
        b'g' | b'G' => (&text[..text.len() - 1], 3),
        _ => (text, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(kilo.pow(power))
}

/// Parses a decimal number without sign or exponent, in units of 10^-`digits`; None if it is malformed, has more
/// decimal places than that, or is too large.
pub(crate) fn decimal(text: &str, digits: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !fits(whole) || !fits(fraction) || fraction.len() > digits || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    format!("{whole}{fraction:0<digits$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn decimals_are_exact() {
        for (text, n) in [("1", 1_000), ("0.5", 500), (".25", 250), ("2.", 2_000), ("0", 0), ("12.345", 12_345)] {
            assert_eq!(decimal(text, 3), Some(n), "{text}");
        }
        for text in ["", ".", "-1", "1e3", "0.1234", "1,5", "99999999999999999999"] {
            assert_eq!(decimal(text, 3), None, "{text}");
        }
    }
}
