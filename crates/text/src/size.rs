//! Numbers with a letter behind them: `64`, `2K`, `1.5M`.

/// Factor of a letter, K, M, G or T in either case, each `kilo` times the one before.
#[must_use]
pub fn power(letter: char, kilo: u64) -> Option<u64> {
    let power = "KMGT".find(letter.to_ascii_uppercase())? + 1;
    kilo.checked_pow(u32::try_from(power).ok()?)
}

/// Factor of a letter as netperf and iperf 2 have them: K, M and G of 1024, k, m and g of 1000.
#[must_use]
pub fn by_case(letter: char) -> Option<u64> {
    let kilo = if letter.is_ascii_uppercase() { 1024 } else { 1000 };
    power(letter, kilo).filter(|_| !letter.eq_ignore_ascii_case(&'t'))
}

/// Digits, and the factor of the letter behind them.
fn split(text: &str, factor: impl Fn(char) -> Option<u64>) -> Option<(&str, u64)> {
    match text.char_indices().last()? {
        (at, letter) if letter.is_ascii_alphabetic() => Some((&text[..at], factor(letter)?)),
        _ => Some((text, 1)),
    }
}

/// A whole number, and one letter at most, whose factor `factor` knows. `None` for anything else, and if it is too large.
#[must_use]
pub fn whole(text: &str, factor: impl Fn(char) -> Option<u64>) -> Option<u64> {
    let (digits, factor) = split(text, factor)?;
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| plain)?.checked_mul(factor)
}

/// A number of bytes with K, M, G or T behind it, of 1024: `512`, `64k`, `2G`.
#[must_use]
pub fn bytes(text: &str) -> Option<u64> {
    whole(text, |letter| power(letter, 1024))
}

/// The number of [whole](whole), with a decimal fraction; what the product has behind its point is cut off. Less than 9·10^18.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "powers of 1000 and 1024 below 2^53")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and less than 2^63")]
pub fn fraction(text: &str, factor: impl Fn(char) -> Option<u64>) -> Option<u64> {
    let (digits, factor) = split(text, factor)?;
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let n = digits.parse::<f64>().ok().filter(|_| plain)? * factor as f64;
    (n < 9e18).then_some(n as u64)
}

/// A decimal number without sign or exponent, in units of 10^-`digits`; `None` if it is malformed, has more decimal places
/// than that, or is too large.
#[must_use]
pub fn decimal(text: &str, digits: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !fits(whole) || !fits(fraction) || fraction.len() > digits || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    format!("{whole}{fraction:0<digits$}").parse().ok()
}

/// A number of bytes as it is typed: `64`, `2K` for 2048.
#[must_use]
pub fn size(bytes: u64) -> String {
    if bytes >= 1024 && bytes.is_multiple_of(1024) { format!("{}K", bytes / 1024) } else { bytes.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_multiply() {
        for (text, by_1024, by_1000) in [
            ("1", 1, 1),
            ("512k", 524_288, 512_000),
            ("2G", 1 << 31, 2_000_000_000),
            ("3T", 3 << 40, 3_000_000_000_000),
        ] {
            let (kibi, kilo) = (|letter| power(letter, 1024), |letter| power(letter, 1000));
            assert_eq!([bytes(text), fraction(text, kibi)], [Some(by_1024); 2], "{text}");
            assert_eq!([whole(text, kilo), fraction(text, kilo)], [Some(by_1000); 2], "{text}");
        }
        assert_eq!((whole("2k", by_case), whole("2K", by_case), whole("2t", by_case)), (Some(2000), Some(2048), None));
        assert_eq!((fraction("1.5M", by_case), fraction(".5k", by_case)), (Some(1_572_864), Some(500)));
        for wrong in [
            "",
            "k",
            "x",
            "1kk",
            "1x",
            "-1",
            "+1",
            "1 k",
            "1e3",
            "nan",
            "inf",
            "1k5",
            "99999999999999G",
            "é",
            "64MiB",
            "0x10",
        ] {
            assert_eq!((whole(wrong, by_case), fraction(wrong, by_case)), (None, None), "{wrong}");
        }
        for wrong in ["1.5", "1.5k", "."] {
            assert_eq!(whole(wrong, by_case), None, "{wrong}");
        }
    }

    #[test]
    fn decimals_are_exact() {
        for (text, n) in [("1", 1_000), ("0.5", 500), (".25", 250), ("2.", 2_000), ("0", 0), ("12.345", 12_345)] {
            assert_eq!(decimal(text, 3), Some(n), "{text}");
        }
        for text in ["", ".", "-1", "1e3", "0.1234", "1,5", "99999999999999999999"] {
            assert_eq!(decimal(text, 3), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_written_as_typed() {
        assert_eq!([0, 64, 1024, 1500, 65536].map(size), ["0", "64", "1K", "1500", "64K"]);
    }
}
