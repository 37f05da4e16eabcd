//! Prefixes and colours that terminals, `ts`, system logs and containers put around the lines of a log.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// The greatest number of lines of all parts together.
const MOST: usize = 1 << 24;

/// The lines of one program.
pub(super) struct Part<'a> {
    /// Mark of its lines; `None` where all lines are of one program.
    pub(super) source: Option<String>,
    /// Its lines without colours and stamps. Those of others are empty, so that each keeps its number.
    pub(super) text: Cow<'a, str>,
}

/// The text without colours, and without the stamp before each line, by the programs that wrote it.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut text = Cow::Borrowed(text);
    if text.contains("\u{1b}[") {
        text = Cow::Owned(uncoloured(&text));
    }
    for stamp in [of_ts, of_syslog, of_pod, of_compose] {
        let stamps: Option<Vec<_>> =
            text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("-- ")).map(stamp).collect();
        let Some(stamps) = stamps.filter(|stamps| !stamps.is_empty()) else { continue };
        let tags: BTreeSet<&str> =
            stamps.iter().map(|(tag, _)| *tag).filter(|tag| !tag.contains(" systemd[")).collect();
        if tags.is_empty() || tags.len().saturating_mul(stamps.len()) > MOST {
            continue;
        }
        let alone = tags.len() == 1;
        let part = |tag: &str| {
            let rest = |line| match stamp(line) {
                Some((of, rest)) if of == tag => rest,
                _ if alone => line,
                _ => "\n",
            };
            // The number of a process is no condition.
            let source = (!alone).then(|| tag.split('[').next().unwrap_or_default().to_owned());
            Part { source, text: Cow::Owned(text.split_inclusive('\n').map(rest).collect()) }
        };
        return tags.into_iter().map(part).collect();
    }
    vec![Part { source: None, text }]
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

/// `[pod/NAME/CONTAINER] …`, as `kubectl logs --prefix` writes: what stands in brackets, and the rest.
fn of_pod(line: &str) -> Option<(&str, &str)> {
    let (tag, rest) = line.strip_prefix('[')?.split_once(']')?;
    let is_tag = tag.contains('/') && !tag.contains(' ');
    is_tag.then(|| (tag, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// `NAME  | …`, as `docker compose logs` writes: the name, and the rest.
fn of_compose(line: &str) -> Option<(&str, &str)> {
    let (tag, rest) = line.split_once(" |")?;
    let tag = tag.trim_end();
    let is_tag = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_tag.then(|| (tag, rest.strip_prefix(' ').unwrap_or(rest)))
}
