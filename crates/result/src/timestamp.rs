//! A point in time in UTC, written as RFC 3339.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Milliseconds since 1970-01-01T00:00:00Z, years 1970 to 9999. JSON and `Display`: `2026-03-05T17:04:09.250Z`
/// (RFC 3339 section 5.6, always UTC, always three decimals).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(u64);

/// Error when a text is not a [`Timestamp`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is not a UTC time as 2026-03-05T17:04:09.250Z")]
pub struct TimestampError(String);

/// 9999-12-31T23:59:59.999Z, the latest time that RFC 3339 can represent.
const LAST: u64 = 253_402_300_799_999;

impl Timestamp {
    /// The host's clock, now.
    #[must_use]
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn milliseconds(self) -> u64 {
        self.0
    }

    /// `20260305T170409Z`: ISO 8601's basic form, for names of files.
    #[must_use]
    pub fn compact(self) -> String {
        let Civil { year, month, day, hour, minute, second, .. } = self.civil();
        format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }

    /// `2026-03-05 17:04:09 UTC`, for people.
    #[must_use]
    pub fn readable(self) -> String {
        let Civil { year, month, day, hour, minute, second, .. } = self.civil();
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }

    /// The proleptic Gregorian date, by Hinnant's `civil_from_days`: years start in March, so that the leap day is last.
    fn civil(self) -> Civil {
        let (days, in_day) = (self.0 / 86_400_000, self.0 % 86_400_000);
        let shifted = days + 719_468;
        let (era, of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Civil {
            year: year_of_era + era * 400 + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: in_day / 3_600_000,
            minute: in_day / 60_000 % 60,
            second: in_day / 1000 % 60,
            milli: in_day % 1000,
        }
    }
}

struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    milli: u64,
}

impl From<SystemTime> for Timestamp {
    /// Clamps a clock before 1970 or after 9999 to those limits.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self(u64::try_from(since.as_millis()).unwrap_or(LAST).min(LAST))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second, milli } = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    /// Takes `YYYY-MM-DDTHH:MM:SS[.fff…]Z`; digits beyond the millisecond are cut off.
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        parse(text).ok_or_else(|| TimestampError(text.chars().take(40).collect()))
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    let body = text.strip_suffix('Z')?;
    let (whole, fraction) = body.split_once('.').unwrap_or((body, "0"));
    let bytes = whole.as_bytes();
    let punctuated = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if bytes.len() != 19 || punctuated.iter().any(|&(at, mark)| bytes[at] != mark) {
        return None;
    }
    let digits = |range: std::ops::Range<usize>| -> Option<u64> {
        let text = whole.get(range)?;
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
    };
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let milli: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 59
    {
        return None;
    }
    let (shifted_year, from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (shifted_year / 400, shifted_year % 400);
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    let time = Timestamp(days * 86_400_000 + hour * 3_600_000 + minute * 60_000 + second * 1000 + milli);
    // 30 February came out as 1 or 2 March: there is no such day, and the text is refused.
    (time.civil().day == day).then_some(time)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::{LAST, Timestamp};

    #[test]
    fn known_moments() {
        // By `date -u -d @N +%FT%TZ`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_704_067_199, "2023-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000Z"),
        ] {
            let time = Timestamp(seconds * 1000);
            assert_eq!(time.to_string(), text);
            assert_eq!(text.parse(), Ok(time));
        }
        assert_eq!(Timestamp(LAST).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!("2026-03-05T17:04:09.2504Z".parse::<Timestamp>().unwrap().to_string(), "2026-03-05T17:04:09.250Z");
        assert_eq!("2026-03-05T17:04:09Z".parse::<Timestamp>().unwrap().compact(), "20260305T170409Z");
    }

    #[test]
    fn every_day_there_and_back() {
        for day in (0..=LAST / 86_400_000).step_by(17) {
            let time = Timestamp(day * 86_400_000 + 12_345_678);
            assert_eq!(time.to_string().parse(), Ok(time));
        }
    }

    #[test]
    fn other_texts_are_refused_in_one_line() {
        for text in [
            "",
            "Z",
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00+01:00",
            "2026-01-01T00:00:00.Z",
            "1969-12-31T23:59:59Z",
            "+026-01-01T00:00:00Z",
            "2026-01-0éT0:00:00Z",
            "\n\n",
        ] {
            let error = text.parse::<Timestamp>().unwrap_err().to_string();
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
