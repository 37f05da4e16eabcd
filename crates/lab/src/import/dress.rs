//! Prefixes and colours that terminals, `ts`, system logs and containers put around the lines of a log.

use std::borrow::Cow;
use std::collections::BTreeSet;

use linerate_result::Timestamp;

use super::{date, json};

/// The greatest number of lines of all parts together.
const MOST: usize = 1 << 24;

/// The lines of one program.
pub(super) struct Part<'a> {
    /// Mark of its lines; `None` where all lines are of one program.
    pub(super) source: Option<String>,
    /// Its lines without colours and stamps. Those of others are empty, so that each keeps its number.
    pub(super) text: Cow<'a, str>,
    /// Time of its first stamp, if that is one in seconds since 1970.
    pub(super) begun: Option<Timestamp>,
    /// Its lines without the documents among them; `None` if there are none.
    pub(super) log: Option<String>,
}

/// A form of mark: what stands before a line, and the rest.
type Mark = fn(&str) -> Option<(&str, &str)>;

/// The text without colours, and without the stamp before each line, by the programs that wrote it.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let parts = by_program(text).into_iter();
    parts.map(|part| Part { log: json::outside(&part.text), ..part }).collect()
}

fn by_program(text: &str) -> Vec<Part<'_>> {
    let mut text = Cow::Borrowed(text);
    if text.contains("\u{1b}[") {
        text = Cow::Owned(uncoloured(&text));
    }
    if let Some(plain) = unquoted(&text) {
        text = Cow::Owned(plain);
    }
    // A system log's stamp is a part of its mark.
    if let Some(parts) = by_mark(&text, of_syslog) {
        return parts;
    }
    let plain = unstamped(None, text);
    match [of_pod as Mark, of_compose].into_iter().find_map(|mark| by_mark(&plain.text, mark)) {
        Some(parts) => parts,
        None => vec![plain],
    }
}

/// The lines of each program whose mark stands before them; `None` if a line has none.
fn by_mark(text: &str, mark: Mark) -> Option<Vec<Part<'static>>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !is_aside(line));
    let marks = lines.map(mark).collect::<Option<Vec<_>>>()?;
    let tags: BTreeSet<&str> = marks.iter().map(|(tag, _)| *tag).filter(|tag| !tag.contains(" systemd[")).collect();
    if tags.is_empty() || tags.len().saturating_mul(marks.len()) > MOST {
        return None;
    }
    let alone = tags.len() == 1;
    let part = |tag: &str| {
        let rest = |line| match mark(line) {
            Some((of, rest)) if of == tag => rest,
            _ if alone && !is_aside(line) => line,
            _ => "\n",
        };
        // The number of a process is no condition.
        let source = (!alone).then(|| tag.split('[').next().unwrap_or_default().to_owned());
        unstamped(source, Cow::Owned(text.split_inclusive('\n').map(rest).collect()))
    };
    Some(tags.into_iter().map(part).collect())
}

/// True for a line that who marks the others writes himself: of journalctl, of `docker compose`.
fn is_aside(line: &str) -> bool {
    let ended = line.trim_end().rsplit_once(" exited with code ").is_some_and(|(_, code)| code.parse::<u8>().is_ok());
    // What `docker compose up` tells of networks and containers before it attaches, and of its end behind.
    const DOCKER: &[&str] = &["✔ ", "[+] ", "Attaching to ", "Gracefully ", "Aborting on container exit"];
    ended || line.starts_with("-- ") || DOCKER.iter().any(|begin| line.trim_start().starts_with(begin))
}

/// The lines of a program without their stamps, if most have one.
fn unstamped(source: Option<String>, text: Cow<'_, str>) -> Part<'_> {
    let (mut all, mut stamps, mut begun) = (0, 0, None);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        all += 1;
        if let Some((stamp, _)) = stamped(line) {
            stamps += 1;
            begun = begun.or_else(|| date::of_epoch(stamp.parse().ok()?));
        }
    }
    if 2 * stamps < all || stamps == 0 {
        return Part { source, text, begun: None, log: None };
    }
    let rest = |line| stamped(line).map_or(line, |(_, rest)| rest);
    Part { source, text: Cow::Owned(text.split_inclusive('\n').map(rest).collect()), begun, log: None }
}

/// The text without the signs before what a mail quotes (`> `, `>> `), if most lines have one.
fn unquoted(text: &str) -> Option<String> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let quoted = lines().filter(|line| line.starts_with('>')).count();
    let rest = |mut line: &'_ str| -> String {
        while let Some(rest) = line.strip_prefix('>') {
            line = rest.strip_prefix(' ').unwrap_or(rest);
        }
        line.to_owned()
    };
    (quoted > 0 && 2 * quoted >= lines().count()).then(|| text.split_inclusive('\n').map(rest).collect())
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

/// A stamp as `ts` writes by default and by the formats that people give it, in brackets or not, and the rest: `Nov 28 12:28:16`,
/// `2026-11-28 12:28:16`, `2026-11-28T12:28:16.25+01:00`, `12:28:16`, `Sat Nov 28 12:28:16 2026`, `1795868896.25`.
fn stamped(line: &str) -> Option<(&str, &str)> {
    const DAYS: &[&str] = &["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let bracketed = line.strip_prefix('[').and_then(|line| line.split_once(']'));
    let (text, behind) = bracketed.map_or((line, None), |(text, behind)| (text, Some(behind)));
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let first = |text: &str| text.find([' ', '\t', '\r', '\n']).unwrap_or(text.len());
    let (mut rest, mut before, mut timed, mut named) = (text, "", false, false);
    loop {
        let next = rest.trim_start_matches(' ');
        let word = &next[..first(next)];
        let is_day = DAYS.contains(&word);
        let known = match word {
            "" => false,
            // The year of `date` and `ctime`.
            _ if timed => named && word.len() == 4 && number(word),
            _ if is_day || date::MONTHS.contains(&word) => true,
            _ if date::is_date(word) || date::clock(word).is_some() => true,
            _ => date::MONTHS.contains(&before) && word.len() <= 2 && number(word),
        };
        if !known {
            break;
        }
        named = !timed && (named || is_day);
        timed |= date::clock(word).is_some();
        (before, rest) = (word, &next[word.len()..]);
    }
    if rest.len() == text.len() {
        // Seconds since 1970.
        let word = &text[..first(text)];
        let (whole, part) = word.split_once('.').unwrap_or((word, ""));
        timed = whole.len() == 10 && whole.starts_with('1') && number(whole) && number(part);
        rest = &text[word.len()..];
    }
    let whole = timed && (behind.is_none() || rest.is_empty());
    let stamp = &text[..text.len() - rest.len()];
    let rest = behind.unwrap_or(rest);
    whole.then(|| (stamp, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// `Nov 28 12:37:21 HOST PROGRAM[PID]: …`: host and program, and the rest.
fn of_syslog(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = stamped(line)?;
    let (tag, rest) = rest.split_once("]:")?;
    let (host, program) = tag.split_once(' ')?;
    let (_, pid) = program.split_once('[')?;
    let is_tag = !host.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    is_tag.then(|| (tag, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// `[pod/NAME/CONTAINER] …`, as `kubectl logs --prefix` writes, or `[tx] …`: what stands in brackets, and the rest.
fn of_pod(line: &str) -> Option<(&str, &str)> {
    let (tag, rest) = line.strip_prefix('[')?.split_once(']')?;
    let is_tag = tag.contains('/') || tag.starts_with(|first: char| first.is_ascii_lowercase());
    let is_tag = is_tag && !tag.contains(' ');
    is_tag.then(|| (tag, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// `NAME  | …`, as `docker compose logs` writes: the name, and the rest.
fn of_compose(line: &str) -> Option<(&str, &str)> {
    let (tag, rest) = line.split_once(" |")?;
    let tag = tag.trim_end();
    let is_tag = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_tag.then(|| (tag, rest.strip_prefix(' ').unwrap_or(rest)))
}
