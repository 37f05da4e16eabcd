//! Times of day that a log tells. Only those of UTC are read: names of other zones have several meanings.

use linerate_result::Timestamp;

pub(super) const MONTHS: &[&str] =
    &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The time of the first line that begins with a date as `date` prints it.
pub(super) fn first(text: &str) -> Option<Timestamp> {
    super::lines(text).take(1000).find_map(|line| of_date(line.text))
}

/// `Fri Nov 27 15:25:58 UTC 2026 …`, `Fri Nov 27 03:25:58 PM UTC 2026 …`, `Fri 27 Nov 2026 03:25:58 PM UTC …`,
/// `Fri, 27 Nov 2026 15:25:58 GMT`, `2026-11-27 15:25:58 (UTC)`, `2026-11-27T15:25:58Z …`.
pub(super) fn of_date(line: &str) -> Option<Timestamp> {
    let words: Vec<&str> = line.split_whitespace().take(7).collect();
    if let [word, ..] = words[..]
        && word.len() >= 20
        && word.ends_with('Z')
    {
        return word.parse().ok();
    }
    let (year, month, day, time, rest) = match words[..] {
        [date, time, "(UTC)" | "UTC", ..] => return format!("{date}T{time}Z").parse().ok(),
        [_, day, month, year, time, "GMT" | "UTC"] => (year, month, day, time, ""),
        [_, month, day, time, "UTC", year, ..] => (year, month, day, time, ""),
        [_, month, day, time, half @ ("AM" | "PM"), "UTC", year] => (year, month, day, time, half),
        [_, day, month, year, time, half @ ("AM" | "PM"), "UTC"] => (year, month, day, time, half),
        _ => return None,
    };
    let month = 1 + MONTHS.iter().position(|known| *known == month)?;
    let (hour, rest_of_time) = time.split_once(':')?;
    let hour: u32 = hour.parse().ok()?;
    let hour = match rest {
        "" => hour,
        "AM" => hour % 12,
        _ => hour % 12 + 12,
    };
    let day: u32 = day.parse().ok()?;
    format!("{year}-{month:02}-{day:02}T{hour:02}:{rest_of_time}Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_utc_are_read_and_those_of_other_zones_are_not() {
        for text in [
            "Fri Nov 27 15:25:58 UTC 2026 TCP_STREAM mtu=576",
            "Fri Nov 27 03:25:58 PM UTC 2026",
            "Fri 27 Nov 2026 03:25:58 PM UTC",
            "Fri 27 Nov 2026 15:25:58 UTC",
            "Fri, 27 Nov 2026 15:25:58 GMT",
            "2026-11-27 15:25:58 (UTC)",
            "2026-11-27T15:25:58Z start",
        ] {
            assert_eq!(first(&format!("x\n{text}\n")).unwrap().to_string(), "2026-11-27T15:25:58.000Z", "{text}");
        }
        for text in
            ["Fri Nov 27 15:25:58 CET 2026", "Fr 27. Nov 15:25:58 UTC 2026", "2026-11-27 15:25:58 (CET)", "Fri", ""]
        {
            assert_eq!(first(text), None, "{text}");
        }
    }
}
