//! Times of day that a log tells. Those of UTC and with an offset are read: names of other zones have several meanings.

use std::time::{Duration, UNIX_EPOCH};

use linerate_result::Timestamp;

pub(super) const MONTHS: &[&str] =
    &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Lines of a log that are searched for a date.
const SEARCHED: usize = 1000;

/// Words before a time of day: in text behind more of them a date is that of something else, as a kernel's.
const BEFORE: usize = 4;

/// The lines in which a date is looked for: not that of a mail (RFC 5322, 3.6.1), which tells when it was written.
fn searched(text: &str) -> impl Iterator<Item = &str> {
    let is_mails = |line: &str| line.strip_prefix("Date: ").is_some_and(|date| date.get(3..4) == Some(","));
    super::lines(text).take(SEARCHED).map(|line| line.text).filter(move |line| !is_mails(line))
}

/// The time of the first line with a date near its begin.
pub(super) fn first(text: &str) -> Option<Timestamp> {
    searched(text).find_map(of_date)
}

/// True if a line has a date, of whatever zone.
pub(super) fn vague(text: &str) -> bool {
    searched(text).any(|line| {
        let words: Vec<&str> = words(line).collect();
        let date = |word: &&str| MONTHS.contains(word) || is_date(word);
        let values = line.get(..15).is_some_and(|begin| begin.ends_with(',') && is_digits(&begin[..14]));
        values || words.iter().any(|word| clock(word).is_some_and(|(of, ..)| of.is_some() || words.iter().any(date)))
    })
}

/// The time of seconds since 1970.
pub(super) fn of_epoch(seconds: f64) -> Option<Timestamp> {
    let known = (1e9..1e10).contains(&seconds);
    known.then(|| UNIX_EPOCH.checked_add(Duration::from_secs_f64(seconds)).map(Into::into))?
}

/// The words of a line, without brackets and commas around them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().map(|word| word.trim_matches(['[', ']', '(', ')', ',']))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for `2026-11-27`.
pub(super) fn is_date(word: &str) -> bool {
    word.len() == 10 && word.split('-').map(str::len).eq([4, 2, 2]) && word.split('-').all(is_digits)
}

/// Date, time of day and zone of `15:25:58`, `15:25:58.25+01:00` or `2026-11-27T15:25:58Z`.
pub(super) fn clock(word: &str) -> Option<(Option<&str>, &str, &str)> {
    let dated = word.split_once('T').filter(|(date, _)| is_date(date));
    let (date, rest) = dated.map_or((None, word), |(date, rest)| (Some(date), rest));
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(rest.len());
    let (time, zone) = rest.split_at(end);
    let mut parts = time.splitn(3, ':').map(|part| part.split('.').next().unwrap_or_default());
    let is_time = time.matches(':').count() == 2 && parts.all(|part| part.len() == 2 || part.len() == 1);
    is_time.then_some((date, time, zone))
}

/// Minutes that a zone is ahead of UTC.
fn ahead(zone: &str) -> Option<i64> {
    let (sign, digits) = match zone {
        "Z" | "UTC" | "GMT" => return Some(0),
        zone => (if zone.starts_with('-') { -1 } else { 1 }, zone.strip_prefix(['+', '-'])?.replace(':', "")),
    };
    let number = |digits: &str| digits.parse::<i64>().ok();
    match digits.len() {
        2 => Some(sign * 60 * number(&digits)?),
        4 if is_digits(&digits) => Some(sign * (60 * number(&digits[..2])? + number(&digits[2..])?)),
        _ => None,
    }
}

/// The time that a line tells near its begin, as `Fri Nov 27 15:25:58 UTC 2026 …`, `Fri 27 Nov 2026 03:25:58 PM UTC …`,
/// `Fri, 27 Nov 2026 15:25:58 GMT`, `2026-11-27 15:25:58 (UTC)`, `Script started on 2026-11-27 16:25:58+01:00`,
/// `2026-11-27T15:25:58Z …`.
pub(super) fn of_date(line: &str) -> Option<Timestamp> {
    let words: Vec<&str> = words(line).take(BEFORE + 5).collect();
    let at = words.iter().take(BEFORE + 1).position(|word| clock(word).is_some())?;
    let (date, time, zone) = clock(words[at])?;
    let behind = |n: usize| words.get(at + n).copied().unwrap_or_default();
    let half = Some(behind(1)).filter(|half| matches!(*half, "AM" | "PM"));
    let zone = if zone.is_empty() { behind(1 + usize::from(half.is_some())) } else { zone };
    let ahead = ahead(zone)?;
    let date = match date.or_else(|| at.checked_sub(1).map(|at| words[at]).filter(|word| is_date(word))) {
        Some(date) => date.to_owned(),
        None => {
            let place = words.iter().take(at).position(|word| MONTHS.contains(word))?;
            let month = 1 + MONTHS.iter().position(|month| *month == words[place])?;
            let is_day = |at: &usize| words.get(*at).is_some_and(|day| is_digits(day) && day.len() <= 2);
            let day: u32 = words[[place + 1, place.wrapping_sub(1)].into_iter().find(is_day)?].parse().ok()?;
            let year = words.iter().find(|word| word.len() == 4 && is_digits(word))?;
            format!("{year}-{month:02}-{day:02}")
        }
    };
    let (hour, rest) = time.split_once(':')?;
    let hour: u32 = hour.parse().ok()?;
    let hour = match half {
        None => hour,
        Some("AM") => hour % 12,
        Some(_) => hour % 12 + 12,
    };
    let there: Timestamp = format!("{date}T{hour:02}:{rest}Z").parse().ok()?;
    let here = there.milliseconds().checked_add_signed(-60_000 * ahead)?;
    UNIX_EPOCH.checked_add(Duration::from_millis(here)).map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_utc_and_with_an_offset_are_read_and_those_of_other_zones_are_not() {
        for text in [
            "Fri Nov 27 15:25:58 UTC 2026 TCP_STREAM mtu=576",
            "Fri Nov 27 03:25:58 PM UTC 2026",
            "Fri 27 Nov 2026 03:25:58 PM UTC",
            "Fri 27 Nov 2026 15:25:58 UTC",
            "Fri, 27 Nov 2026 15:25:58 GMT",
            "Fri, 27 Nov 2026 16:25:58 +0100",
            "2026-11-27 15:25:58 (UTC)",
            "2026-11-27T15:25:58Z start",
            "[2026-11-27T17:25:58+02:00] start",
            "Script started on 2026-11-27 09:55:58-05:30 [TERM=\"xterm\"]",
        ] {
            assert_eq!(first(&format!("x\n{text}\n")).unwrap().to_string(), "2026-11-27T15:25:58.000Z", "{text}");
            assert!(vague(text), "{text}");
        }
        for text in [
            "Fri Nov 27 15:25:58 CET 2026",
            "Fr 27. Nov 15:25:58 UTC 2026",
            "2026-11-27 15:25:58 (CET)",
            "2026-11-27 15:25:58",
            "Linux a 6.1.0 #1 SMP PREEMPT_DYNAMIC Fri Nov 27 15:25:58 UTC 2026 x86_64",
            "10.0.0.1 -> 10.1.0.1 (00:00:00:00:00:00 -> ff:ff:ff:ff:ff:ff)",
            "Fri",
            "",
        ] {
            assert_eq!(first(text), None, "{text}");
        }
        assert!(vague("20261127152558,10.0.0.1,4000") && !vague("Fri") && !vague("12:00:01 start"));
        assert_eq!(of_epoch(1_664_874_140.25).unwrap().to_string(), "2022-10-04T09:02:20.250Z");
        assert_eq!(of_epoch(486.1), None);
    }
}
