//! Quantities as displayed. Every number has its unit, or is a dash when it is not known.

use linerate_result::{Number, Scale, Unit};

/// Sign for a number that is not known.
pub const UNKNOWN: &str = "–";

/// A value in its unit, with a suitable prefix: `44.567 Mpps`, `9.843 Gb/s`, `1.25 µs`.
#[must_use]
pub fn value(value: Number, unit: &Unit) -> String {
    let Some(value) = value.known() else { return UNKNOWN.to_owned() };
    match unit.row().map(|row| row.scale) {
        Some(Scale::Decimal { symbol, up_to }) => prefixed(value, symbol, up_to),
        Some(Scale::Time) => nanoseconds(value),
        Some(Scale::Memory) => binary(value),
        Some(Scale::Plain) => format!("{value:.3}"),
        Some(Scale::Symbol(symbol)) => format!("{} {symbol}", significant(value)),
        None => format!("{} {unit}", significant(value)),
    }
}

/// A spread in one of the units: `43.2 to 45.1 Mpps`; both units are shown where their prefixes differ.
#[must_use]
pub fn range(least: Number, greatest: Number, unit: &Unit) -> String {
    let [least, greatest] = [least, greatest].map(|bound| value(bound, unit));
    match (least.split_once(' '), greatest.split_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => format!("{number} to {greatest}"),
        _ => format!("{least} to {greatest}"),
    }
}

/// Three decimals, under the greatest prefix of which the value is at least a tenth, so that a column of one magnitude
/// lines up.
fn prefixed(value: f64, unit: &str, up_to: char) -> String {
    if value.abs() >= 1e15 {
        return format!("{value:.2e} {unit}");
    }
    let prefixes = [(1e9, 'G'), (1e6, 'M'), (1e3, 'k')];
    for (scale, prefix) in prefixes.into_iter().skip_while(|(_, prefix)| *prefix != up_to) {
        if value.abs() >= scale / 10.0 {
            return format!("{:.3} {prefix}{unit}", value / scale);
        }
    }
    format!("{} {unit}", significant(value))
}

/// A time given in nanoseconds: `820 ns`, `12.3 µs`, `4.56 ms`, `1.20 s`. No time is negative: a difference of two
/// measurements below zero is smaller than their resolution, and is shown as `under 8 ns`.
#[must_use]
pub fn nanoseconds(ns: f64) -> String {
    if ns < 0.0 {
        return format!("under {}", nanoseconds(-ns));
    }
    for (scale, unit) in [(1e9, "s"), (1e6, "ms"), (1e3, "µs")] {
        if ns.abs() >= scale {
            return format!("{} {unit}", significant(ns / scale));
        }
    }
    format!("{} ns", significant(ns))
}

/// Three significant digits; digits before the decimal point are never rounded away.
fn significant(value: f64) -> String {
    match value.abs() {
        size if size >= 1e15 => format!("{value:.2e}"),
        size if size >= 100.0 || value == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.001 => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}

/// Seconds with two decimals: `12.25 s`.
#[must_use]
pub fn seconds(value: Number) -> String {
    value.known().map_or_else(|| UNKNOWN.to_owned(), |seconds| format!("{seconds:.2} s"))
}

/// A duration for a sentence: `8.3 s`, `3 min 12 s`, `2 h 5 min`.
#[must_use]
pub fn duration(value: Number) -> String {
    let Some(seconds) = value.known().filter(|seconds| (0.0..1e9).contains(seconds)) else { return UNKNOWN.to_owned() };
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0..1e9, checked above")]
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// A share in per cent: `93.1 %`.
#[must_use]
pub fn per_cent(share: Number) -> String {
    share.known().filter(|share| share.abs() < 1e300).map_or_else(
        || UNKNOWN.to_owned(),
        |share| {
            let cents = share * 100.0;
            if cents.abs() < 1e9 { format!("{cents:.1} %") } else { format!("{} %", significant(cents)) }
        },
    )
}

/// A ratio: `×1.17`. A negative ratio has no meaning and is shown as a dash.
#[must_use]
pub fn ratio(value: Number) -> String {
    value
        .known()
        .filter(|ratio| *ratio >= 0.0)
        .map_or_else(|| UNKNOWN.to_owned(), |ratio| format!("×{}", significant(ratio)))
}

/// A counter with thousands separators: `55,898,702`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A counter, or a dash when it is not known.
#[must_use]
pub fn count_if_known(value: Option<u64>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), count)
}

/// A difference of counters with its sign: `+12`, `−3`, `0`.
#[must_use]
pub fn difference(value: i64) -> String {
    let sign = match value {
        0 => "",
        1.. => "+",
        _ => "−",
    };
    format!("{sign}{}", count(value.unsigned_abs()))
}

/// Memory in powers of 1024: `23.5 GiB`.
#[must_use]
pub fn memory(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    binary(bytes as f64)
}

fn binary(bytes: f64) -> String {
    for (scale, unit) in
        [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")].map(|(p, unit)| (f64::from(p).exp2(), unit))
    {
        if bytes.abs() >= scale {
            return format!("{} {unit}", significant(bytes / scale));
        }
    }
    format!("{bytes:.0} B")
}

/// Packets per second of a full Ethernet link of `bits_per_second`: `wire_bytes` is the frame with its FCS; preamble,
/// start delimiter and inter-frame gap add 20 bytes (IEEE 802.3 clause 4.4.2).
#[must_use]
pub fn line_rate_pps(bits_per_second: f64, wire_bytes: f64) -> f64 {
    bits_per_second / ((wire_bytes + 20.0) * 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_carry_their_units() {
        for (number, unit, text) in [
            (44_566_673.0, Unit::Pps, "44.567 Mpps"),
            (148_809_523.8, Unit::Pps, "148.810 Mpps"),
            (1_488_095_238.0, Unit::Pps, "1488.095 Mpps"),
            (812_345.0, Unit::Pps, "0.812 Mpps"),
            (9_999.0, Unit::Pps, "9.999 kpps"),
            (64.0, Unit::Pps, "64.0 pps"),
            (0.0, Unit::Pps, "0 pps"),
            (9_843_000_000.0, Unit::BitsPerSecond, "9.843 Gb/s"),
            (1.5e6, Unit::BytesPerSecond, "1.500 MB/s"),
            (1250.0, Unit::Ns, "1.25 µs"),
            (0.5, Unit::Ratio, "0.500"),
            (12.0, Unit::Iops, "12.0 IOPS"),
            (2_050_764.0, Unit::Iops, "2.051 MIOPS"),
            (18_358.0, Unit::TransactionsPerSecond, "18.358 ktrans/s"),
            (12.0, Unit::Other("furlongs".into()), "12.0 furlongs"),
            (93.12, Unit::PerCent, "93.1 %"),
            (262_656.0, Unit::Bytes, "256 KiB"),
        ] {
            assert_eq!(value(number.into(), &unit), text);
        }
        assert_eq!(value(Number::UNKNOWN, &Unit::Pps), UNKNOWN);
    }

    #[test]
    fn times() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (84.25, "84.2 ns"),
            (820.0, "820 ns"),
            (12_340.0, "12.3 µs"),
            (4.56e6, "4.56 ms"),
            (1.2e9, "1.20 s"),
        ] {
            assert_eq!(nanoseconds(ns), text);
        }
        assert_eq!(duration(8.31.into()), "8.3 s");
        assert_eq!(duration(192.2.into()), "3 min 12 s");
        assert_eq!(duration(7530.0.into()), "2 h 5 min");
        assert_eq!(duration((-1.0).into()), UNKNOWN);
    }

    #[test]
    fn no_time_is_negative() {
        assert_eq!(nanoseconds(-7.0), "under 7.00 ns");
        assert_eq!(value((-1500.0).into(), &Unit::Ns), "under 1.50 µs");
        assert_eq!(ratio((-0.46).into()), UNKNOWN);
    }

    #[test]
    fn a_spread_names_its_unit_once() {
        let spread = |least: f64, greatest: f64| range(least.into(), greatest.into(), &Unit::Pps);
        assert_eq!(spread(43.2e6, 45.1e6), "43.200 to 45.100 Mpps");
        assert_eq!(spread(59e3, 0.159e6), "59.000 kpps to 0.159 Mpps");
    }

    #[test]
    fn counters_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (u64::MAX, "18,446,744,073,709,551,615")] {
            assert_eq!(count(number), text);
        }
        assert_eq!((difference(-1234), difference(5), difference(0)), ("−1,234".into(), "+5".into(), "0".into()));
        assert_eq!(difference(i64::MIN), "−9,223,372,036,854,775,808");
    }

    #[test]
    fn memory_is_binary() {
        assert_eq!(
            (memory(25_276_510_208), memory(512), memory(u64::MAX)),
            ("23.5 GiB".into(), "512 B".into(), "16777216 TiB".into())
        );
    }

    #[test]
    fn ten_gigabit_ethernet_carries_14_88_million() {
        assert_eq!(line_rate_pps(10e9, 64.0).round(), 14_880_952.0);
        assert_eq!(line_rate_pps(10e9, 1518.0).round(), 812_744.0);
    }
}
