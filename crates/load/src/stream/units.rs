//! Sizes and rates as iperf3 reads and prints them: sizes go by 1024, rates by 1000.

use crate::units;
use linerate_text::{fraction, power};

/// Parses a size; `512k` is 524288.
pub(super) fn size(text: &str) -> Result<u64, String> {
    fraction(text, |letter| power(letter, 1024)).ok_or_else(|| "give a size, as 1000, 512k or 1.5M".to_owned())
}

/// Parses a rate; `512k` is 512000.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    fraction(text, |letter| power(letter, 1000))
        .ok_or_else(|| "give bits per second, as 1000000, 512k or 1.5G".to_owned())
}

/// An amount of bytes, as `1.25 GByte`.
pub(super) fn amount(bytes: u64) -> String {
    units::amount(bytes as f64, 'A', 5, 2)
}

/// A speed in the format of `-f`: bits, or bytes for a capital letter; the fitting unit if none is given.
pub(super) fn speed(bytes_per_second: f64, format: Option<char>) -> String {
    units::amount(bytes_per_second, format.unwrap_or('a'), 5, 2)
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
}
