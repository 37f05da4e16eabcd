//! Sizes and rates as iperf 2 reads and prints them: small letters go by 1000, capitals by 1024.

use crate::units;
use linerate_text::{by_case, fraction};

/// Parses a size; `512k` is 512000, `512K` is 524288.
pub(super) fn size(text: &str) -> Result<u64, String> {
    fraction(text, by_case).ok_or_else(|| "give a size, as 1000, 512k (512000 bytes) or 512K (524288 bytes)".to_owned())
}

/// Parses a rate in bits per second, by the same letters.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    fraction(text, by_case).ok_or_else(|| "give bits per second, as 1000000, 10m or 1.5g".to_owned())
}

/// Parses a number of datagrams per second.
pub(super) fn packets(text: &str) -> Result<u64, String> {
    fraction(text, by_case).ok_or_else(|| "give datagrams per second, as 1000pps or 10kpps".to_owned())
}

/// An amount in a format of `-f`: bytes for a capital, otherwise bits; `A` and `a` for the fitting unit.
pub(super) fn amount(bytes: f64, format: char) -> String {
    units::amount(bytes, format, 6, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes that Debian's iperf 2.1.8 takes from these texts.
    #[test]
    fn small_letters_go_by_1000_and_capitals_by_1024() {
        for (text, bytes) in [
            ("1", 1),
            ("512k", 512_000),
            ("512K", 524_288),
            ("8K", 8192),
            ("10M", 10_485_760),
            ("10m", 10_000_000),
            ("1.5M", 1_572_864),
            ("2G", 1 << 31),
            ("2g", 2_000_000_000),
        ] {
            assert_eq!((size(text), rate(text), packets(text)), (Ok(bytes), Ok(bytes), Ok(bytes)), "{text}");
        }
        for wrong in ["", "k", "x", "1kk", "1x", "-1", "1 k", "1e3", "1t", "nan", "inf", "1k5", "99999999999999G"] {
            assert!(size(wrong).is_err() && rate(wrong).is_err() && packets(wrong).is_err(), "{wrong}");
        }
    }
}
