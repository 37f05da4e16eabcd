//! Amounts and speeds as iperf 2 and iperf3 print them, in four places.

const BYTES: [&str; 6] = ["Byte", "KByte", "MByte", "GByte", "TByte", "PByte"];
const BITS: [&str; 6] = ["bit", "Kbit", "Mbit", "Gbit", "Tbit", "Pbit"];

/// An amount, as `1.25 GByte`. The format is a letter of `-f`: bytes for a capital, otherwise bits; `A` and `a` for the fitting one
/// of the first so many units. Below 1 there are so many digits behind the point.
pub(crate) fn amount(bytes: f64, format: char, units: usize, digits: usize) -> String {
    let (base, names, mut n) =
        if format.is_ascii_uppercase() { (1024.0, BYTES, bytes) } else { (1000.0, BITS, bytes * 8.0) };
    let fixed = "BKMGTP".find(format.to_ascii_uppercase());
    let mut power = 0;
    while fixed.map_or(n.abs() >= base && power + 1 < units, |fixed| power < fixed) {
        n /= base;
        power += 1;
    }
    // Rounded, it still has four places.
    let digits = match n.abs() {
        n if n < 0.9995 => digits,
        n if n < 9.995 => 2,
        n if n < 99.95 => 1,
        _ => 0,
    };
    format!("{n:4.digits$} {}", names[power])
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
    fn amounts_have_four_places() {
        for (bytes, format, iperf3, iperf) in [
            (0.0, 'A', "0.00 Byte", "0.000 Byte"),
            (0.0, 'a', "0.00 bit", "0.000 bit"),
            (0.0, 'g', "0.00 Gbit", "0.000 Gbit"),
            (999.0, 'A', " 999 Byte", " 999 Byte"),
            (1023.0, 'A', "1023 Byte", "1023 Byte"),
            (1024.0, 'A', "1.00 KByte", "1.00 KByte"),
            (1470.0, 'A', "1.44 KByte", "1.44 KByte"),
            (10_234.0, 'A', "9.99 KByte", "9.99 KByte"),
            (10_235.0, 'A', "10.0 KByte", "10.0 KByte"),
            (16_384.0, 'A', "16.0 KByte", "16.0 KByte"),
            (131_072.0, 'A', " 128 KByte", " 128 KByte"),
            (131_072.0, 'B', "131072 Byte", "131072 Byte"),
            (512_000.0, 'A', " 500 KByte", " 500 KByte"),
            (1_024_000.0, 'A', "1000 KByte", "1000 KByte"),
            (1_099_511_627_776.0, 'A', "1.00 TByte", "1.00 TByte"),
            (2_251_799_813_685_248.0, 'A', "2048 TByte", "2.00 PByte"),
            (1.25e8, 'a', "1.00 Gbit", "1.00 Gbit"),
            (1.25e8, 'm', "1000 Mbit", "1000 Mbit"),
            (1.25e8, 'M', " 119 MByte", " 119 MByte"),
            (1.25e8, 'K', "122070 KByte", "122070 KByte"),
        ] {
            assert_eq!((&*amount(bytes, format, 5, 2), &*amount(bytes, format, 6, 3)), (iperf3, iperf));
        }
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
