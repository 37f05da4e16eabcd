//! Sizes as netperf reads them, pairs of them, and units of results.

use linerate_text::{by_case, whole};

/// Parses a size: capitals go by 1024, small letters by 1000. The error is the mend.
pub(super) fn size(text: &str) -> Result<u32, String> {
    let n = whole(text, by_case).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= i32::MAX.unsigned_abs());
    n.ok_or_else(|| "give a size, as 1000, 64K (65536) or 64k (64000)".to_owned())
}

/// Splits `FIRST,SECOND`; one without a comma stands for both.
pub(super) fn both(text: &str) -> (Option<&str>, Option<&str>) {
    match text.split_once(',') {
        Some((first, second)) => (filled(first), filled(second)),
        None => (filled(text), filled(text)),
    }
}

/// Splits `FIRST,SECOND`; one without a comma is the first.
pub(super) fn first(text: &str) -> (Option<&str>, Option<&str>) {
    match text.split_once(',') {
        Some((first, second)) => (filled(first), filled(second)),
        None => (filled(text), None),
    }
}

fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Units of results: letter, bytes of a unit, name.
const FORMATS: [(char, f64, &str); 7] = [
    ('K', 1024.0, "KBytes"),
    ('M', 1_048_576.0, "MBytes"),
    ('G', 1_073_741_824.0, "GBytes"),
    ('k', 125.0, "10^3bits"),
    ('m', 125_000.0, "10^6bits"),
    ('g', 125_000_000.0, "10^9bits"),
    ('x', 1.0, "Trans"),
];

/// True if there is a unit of this letter.
pub(super) fn is_unit(letter: char) -> bool {
    FORMATS.iter().any(|(known, ..)| *known == letter)
}

pub(super) fn name(letter: char) -> &'static str {
    FORMATS.iter().find(|(known, ..)| *known == letter).map_or("", |(_, _, name)| *name)
}

/// Bytes in units of this letter; transactions are their own.
pub(super) fn scaled(n: f64, letter: char) -> f64 {
    FORMATS.iter().find(|(known, ..)| *known == letter).map_or(n, |(_, unit, _)| n / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_go_by_1024_and_small_letters_by_1000() {
        for (text, n) in [("0", 0), ("64", 64), ("128K", 131_072), ("128k", 128_000), ("1M", 1 << 20), ("1G", 1 << 30)]
        {
            assert_eq!(size(text), Ok(n), "{text}");
        }
        for wrong in ["", "K", "-1", "+1", "1.5K", "1KK", "1x", "4G", "2147483648", "99999999999", "1 K"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pairs_are_split_at_the_comma() {
        assert_eq!((both("1"), both("1,"), both(",2")), ((Some("1"), Some("1")), (Some("1"), None), (None, Some("2"))));
        assert_eq!((first("1"), first("1,2"), first(",")), ((Some("1"), None), (Some("1"), Some("2")), (None, None)));
    }

    #[test]
    fn units_are_of_bytes_or_of_bits() {
        assert_eq!((scaled(125_000.0, 'm'), scaled(2048.0, 'K'), scaled(5.0, 'x')), (1.0, 2.0, 5.0));
        assert_eq!((name('m'), name('x'), is_unit('b')), ("10^6bits", "Trans", false));
    }
}
