//! Prefixes and colours that terminals, `ts` and system logs put around the lines of a log.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// The text without colours, and without the stamp before each line. Lines keep their numbers.
pub(super) fn without(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if text.contains("\u{1b}[") {
        text = Cow::Owned(uncoloured(&text));
    }
    for stamp in [of_ts, of_syslog] {
        let stamps: Option<Vec<_>> =
            text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("-- ")).map(stamp).collect();
        // Lines of two programs at once are left as they are.
        let mut tags = BTreeSet::new();
        let Some(stamps) = stamps.filter(|stamps| !stamps.is_empty()) else { continue };
        tags.extend(stamps.iter().map(|(tag, _)| *tag).filter(|tag| !tag.contains(" systemd[")));
        if tags.len() == 1 {
            let rest = |line| stamp(line).filter(|(tag, _)| tags.contains(tag)).map_or(line, |(_, rest)| rest);
            text = Cow::Owned(text.split_inclusive('\n').map(rest).collect());
            break;
        }
    }
    text
}

/// The text without escape sequences (`ESC [ … letter`).
fn uncoloured(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && !";:?".contains(c)).unwrap_or(part.len());
        plain.extend(part[end..].chars().skip(1));
    }
    plain
}

/// `[2026-11-28 12:28:16] …`: nothing that differs, and the rest.
fn of_ts(line: &str) -> Option<(&str, &str)> {
    let (stamp, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (date, time) = stamp.split_once(' ')?;
    let of = |text: &str, mark: u8| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == mark);
    let is_stamp = date.len() == 10 && of(date, b'-') && time.len() >= 8 && of(time, b':');
    is_stamp.then(|| ("", rest.strip_prefix(' ').unwrap_or(rest)))
}

/// `Nov 28 12:37:21 HOST PROGRAM[PID]: …`: host and program, and the rest.
fn of_syslog(line: &str) -> Option<(&str, &str)> {
    let month = line.get(..3).filter(|month| super::date::MONTHS.contains(month))?;
    let (day, time, host) = (line.get(3..6)?, line.get(7..15)?, line.get(16..)?);
    let digits = |text: &str, other: u8| text.bytes().all(|byte| byte.is_ascii_digit() || byte == other);
    let (tag, rest) = host.split_once("]:")?;
    let (host, program) = tag.split_once(' ')?;
    let is_stamp = !month.is_empty() && digits(day, b' ') && digits(time, b':') && !host.is_empty();
    let (_, pid) = program.split_once('[')?;
    (is_stamp && digits(pid, b'0')).then(|| (tag, rest.strip_prefix(' ').unwrap_or(rest)))
}
