//! Units as other programs write them, turned into linerate's.

use linerate_result::Unit;

use super::found::Figure;

/// Prefix of a number of bits: powers of 1000; in iperf and netperf those of bytes are powers of 1024.
fn prefix(text: &str, base: f64) -> Option<f64> {
    let power = ["", "K", "M", "G", "T"].iter().position(|known| known.eq_ignore_ascii_case(text))?;
    Some(base.powi(i32::try_from(power).ok()?))
}

/// A rate in a unit as `Gbits/sec`, `10^6bits/s`, `KBytes/sec`, `Trans/s`. Bytes are told as bits, as `-f` is no condition.
pub(super) fn rate(value: f64, unit: &str) -> Option<Figure> {
    let unit = unit.strip_suffix("/sec").or_else(|| unit.strip_suffix("/s"))?;
    if let Some(power) = unit.strip_prefix("10^") {
        let power: i32 = power.strip_suffix("bits")?.parse().ok().filter(|power| (0..=12).contains(power))?;
        return Some((value * 10f64.powi(power), Unit::BitsPerSecond));
    }
    if let Some(scale) = unit.strip_suffix("bits") {
        return Some((value * prefix(scale, 1000.0)?, Unit::BitsPerSecond));
    }
    if let Some(scale) = unit.strip_suffix("Bytes") {
        return Some((8.0 * value * prefix(scale, 1024.0)?, Unit::BitsPerSecond));
    }
    (unit == "Trans").then_some((value, Unit::TransactionsPerSecond))
}

/// A rate of bits, in a unit as `Gbits/sec` or `KBytes/sec`.
pub(super) fn bit_rate(value: f64, unit: &str) -> Option<f64> {
    rate(value, unit).filter(|(_, unit)| *unit == Unit::BitsPerSecond).map(|(bits, _)| bits)
}

/// An amount of bytes in a unit as `MBytes`.
pub(super) fn bytes(value: f64, unit: &str) -> Option<f64> {
    Some(value * prefix(unit.strip_suffix("Bytes").or_else(|| unit.strip_suffix("Byte"))?, 1024.0)?)
}

/// A packet rate in a unit as `Mpps`.
pub(super) fn packets(value: f64, unit: &str) -> Option<Figure> {
    Some((value * prefix(unit.strip_suffix("pps")?, 1000.0)?, Unit::Pps))
}

/// A time in a unit as `ms`, `usec`, `millisec`, in nanoseconds.
pub(super) fn nanoseconds(value: f64, unit: &str) -> Option<f64> {
    let scale = match unit {
        "ns" | "nsec" => 1.0,
        "us" | "usec" | "microsec" | "Microseconds" => 1e3,
        "ms" | "msec" | "millisec" => 1e6,
        "s" | "sec" | "secs" | "seconds" => 1e9,
        _ => return None,
    };
    Some(value * scale)
}

/// The value of the last digit of a number as it is written.
pub(super) fn last_digit(text: &str) -> f64 {
    let decimals = text.rsplit_once('.').map_or(0, |(_, decimals)| decimals.len().min(30));
    0.1f64.powi(i32::try_from(decimals).unwrap_or(0))
}

/// True if amount, time and rate agree, but for a share of 5 % and the last digits with which they are written. No time
/// at all has no rate.
pub(super) fn agree(amount: f64, of_amount: f64, time: f64, of_time: f64, rate: f64, of_rate: f64) -> bool {
    let least = 0.95 * (amount - of_amount) / (time + of_time) - of_rate;
    let most = if time > of_time { 1.05 * (amount + of_amount) / (time - of_time) + of_rate } else { f64::INFINITY };
    time >= 0.0 && (time + of_time > 0.0 || rate == 0.0) && (least..=most).contains(&rate)
}

/// The mean of rates over times.
pub(super) fn mean(rates: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (amount, time) = rates.fold((0.0, 0.0), |(amount, all), (rate, time)| (amount + rate * time, all + time));
    amount / time
}

/// A whole number that is not negative.
pub(super) fn count(number: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number below 2^53")]
    (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
}

/// A plain decimal number: digits, a point, an exponent; neither `inf` nor `nan`.
pub(super) fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    text.parse().ok().filter(|number: &f64| plain && number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_keep_their_scales() {
        assert_eq!(rate(26.4, "Gbits/sec"), Some((26.4e9, Unit::BitsPerSecond)));
        assert_eq!(rate(16232.9, "10^6bits/sec"), Some((16232.9 * 1e6, Unit::BitsPerSecond)));
        assert_eq!(rate(2.0, "KBytes/sec"), Some((16_384.0, Unit::BitsPerSecond)));
        assert_eq!(rate(3.0, "MBytes/s"), Some((24.0 * 1_048_576.0, Unit::BitsPerSecond)));
        assert_eq!(rate(7.5, "Trans/s"), Some((7.5, Unit::TransactionsPerSecond)));
        assert_eq!(rate(10.0, "bits/sec"), Some((10.0, Unit::BitsPerSecond)));
        assert_eq!(packets(999.85, "Kpps"), Some((999_850.0, Unit::Pps)));
        assert_eq!(bytes(1.5, "GBytes"), Some(1.5 * 1_073_741_824.0));
        assert_eq!(nanoseconds(0.003, "ms"), Some(3000.0));
        for unknown in ["furlongs/sec", "10^99bits/s", "10^-1bits/s", "Xbits/s", "bits", ""] {
            assert_eq!(rate(1.0, unknown), None, "{unknown}");
        }
        for text in ["inf", "nan", "", "-", "e", "1e999", "0x10", "1_000"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!((number("1e3"), number("-0.5")), (Some(1000.0), Some(-0.5)));
    }
}
