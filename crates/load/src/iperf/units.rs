//! Sizes and rates as iperf 2 reads and prints them: small letters go by 1000, capitals by 1024.

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

/// Units of bytes and of bits, each the next power.
const BYTES: [&str; 6] = ["Byte", "KByte", "MByte", "GByte", "TByte", "PByte"];
const BITS: [&str; 6] = ["bit", "Kbit", "Mbit", "Gbit", "Tbit", "Pbit"];

/// An amount in four places, as `1.25 GByte`. The format is a letter of `-f`: bytes for a capital, otherwise bits; `A` and
/// `a` for the fitting unit.
pub(super) fn amount(bytes: f64, format: char) -> String {
    let (capital, letter) = (format.is_ascii_uppercase(), format.to_ascii_uppercase());
    let (base, units, mut n) = if capital { (1024.0, BYTES, bytes) } else { (1000.0, BITS, bytes * 8.0) };
    let fixed = "BKMGTP".find(letter);
    let mut power = 0;
    while fixed.map_or(n.abs() >= base && power < 5, |fixed| power < fixed) {
        n /= base;
        power += 1;
    }
    // Rounded, it still has four places.
    let digits = match n.abs() {
        n if n < 0.9995 => 3,
        n if n < 9.995 => 2,
        n if n < 99.95 => 1,
        _ => 0,
    };
    format!("{n:4.digits$} {}", units[power])
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

    #[test]
    fn amounts_have_four_places() {
        for (bytes, format, text) in [
            (0.0, 'A', "0.000 Byte"),
            (512_000.0, 'A', " 500 KByte"),
            (1_024_000.0, 'A', "1000 KByte"),
            (16_384.0, 'A', "16.0 KByte"),
            (1.25e8, 'a', "1.00 Gbit"),
            (1.25e8, 'm', "1000 Mbit"),
            (1.25e8, 'K', "122070 KByte"),
            (131_072.0, 'B', "131072 Byte"),
            (1470.0, 'A', "1.44 KByte"),
            (0.0, 'a', "0.000 bit"),
        ] {
            assert_eq!(amount(bytes, format), text);
        }
    }
}
