//! Sizes and rates as iperf3 reads and prints them: sizes go by 1024, rates by 1000.

use linerate_text::{fraction, power};

/// Letters behind a number, each standing for the base once more.
const LETTERS: &str = "kmgt";

/// Parses a size; `512k` is 524288.
pub(super) fn size(text: &str) -> Result<u64, String> {
    fraction(text, |letter| power(letter, 1024)).ok_or_else(|| "give a size, as 1000, 512k or 1.5M".to_owned())
}

/// Parses a rate; `512k` is 512000.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    fraction(text, |letter| power(letter, 1000))
        .ok_or_else(|| "give bits per second, as 1000000, 512k or 1.5G".to_owned())
}

/// An amount of bytes in four places, as `1.25 GByte`.
pub(super) fn amount(bytes: u64) -> String {
    fitted(bytes as f64, 1024.0, None, ["Byte", "KByte", "MByte", "GByte", "TByte"])
}

/// A speed in the format of `-f`: bits, or bytes for a capital letter; the fitting unit if none is given.
pub(super) fn speed(bytes_per_second: f64, format: Option<char>) -> String {
    let power = format.and_then(|letter| LETTERS.find(letter.to_ascii_lowercase())).map(|power| power + 1);
    if format.is_some_and(|letter| letter.is_ascii_uppercase()) {
        fitted(bytes_per_second, 1024.0, power, ["Byte", "KByte", "MByte", "GByte", "TByte"])
    } else {
        fitted(bytes_per_second * 8.0, 1000.0, power, ["bit", "Kbit", "Mbit", "Gbit", "Tbit"])
    }
}

fn fitted(mut n: f64, base: f64, power: Option<usize>, units: [&str; 5]) -> String {
    let mut at = 0;
    while power.map_or(n >= base && at < 4, |power| at < power) {
        n /= base;
        at += 1;
    }
    // Rounded, it still has four places.
    let digits = match n {
        n if n < 9.995 => 2,
        n if n < 99.95 => 1,
        _ => 0,
    };
    format!("{n:4.digits$} {}", units[at])
}

/// A number as C's `%.2g` prints it.
pub(crate) fn two_digits(n: f64) -> String {
    if n == 0.0 || !n.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{n:.1e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    if !(-4..2).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let decimals = usize::try_from(1 - exponent).unwrap_or(0);
    let text = format!("{n:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_go_by_1024_and_rates_by_1000() {
        for (text, by_1024, by_1000) in
            [("1", 1, 1), ("512k", 524_288, 512_000), ("1.5M", 1_572_864, 1_500_000), ("2G", 1 << 31, 2_000_000_000)]
        {
            assert_eq!((size(text), rate(text)), (Ok(by_1024), Ok(by_1000)), "{text}");
        }
        for wrong in ["", "k", "x", "1kk", "1x", "-1", "1 k", "1e3", "9999999999T", "nan", "inf", "1k5"] {
            assert!(size(wrong).is_err() && rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn amounts_have_four_places() {
        for (bytes, text) in [
            (0, "0.00 Byte"),
            (999, " 999 Byte"),
            (1023, "1023 Byte"),
            (1024, "1.00 KByte"),
            (131_072, " 128 KByte"),
            (10_234, "9.99 KByte"),
            (10_235, "10.0 KByte"),
            (1 << 40, "1.00 TByte"),
            (1 << 51, "2048 TByte"),
        ] {
            assert_eq!(amount(bytes), text);
        }
        let gbit = 1.25e8;
        assert_eq!(speed(gbit, None), "1.00 Gbit");
        assert_eq!(speed(gbit, Some('m')), "1000 Mbit");
        assert_eq!(speed(gbit, Some('M')), " 119 MByte");
        assert_eq!(speed(gbit, Some('K')), "122070 KByte");
        assert_eq!(speed(0.0, Some('g')), "0.00 Gbit");
    }

    /// Text that printf(3) prints.
    #[test]
    fn percentages_have_two_digits() {
        for (n, text) in [
            (0.0, "0"),
            (100.0, "1e+02"),
            (99.4, "99"),
            (99.6, "1e+02"),
            (12.0, "12"),
            (1.25, "1.2"),
            (3.0, "3"),
            (0.5, "0.5"),
            (0.033, "0.033"),
            (0.00012, "0.00012"),
            (0.000_012, "1.2e-05"),
        ] {
            assert_eq!(two_digits(n), text);
        }
    }
}
