//! Answers of the kernel as text, for recorded trees: legible, written by the recorder and by hand.
//!
//! ```text
//! message                    begins an answer; a file may have several
//! 4 {                        an attribute of attributes
//!   1 u32 8                  an attribute with a number (u8, u16, u32, u64, of this machine's byte order)
//!   2 text mlx5_core         with a text and its zero
//!   3 hex 0a1b               with bytes
//!   5 flag                   without a value
//! }
//! raw field32 ice            bytes outside attributes: a text in a field of 32 bytes; also raw u32, raw hex …
//! refused 95 words           instead of answers: the error number and what the kernel said besides; - without a number
//! ```
//! `#` begins a line of comment.

use crate::absent::{Absent, Part};
use crate::netlink::message::{Message, attributes};
use linerate_text::{hex, unhex};
use std::fmt::Write;

const NESTED: u16 = 0x8000;

/// Reads answers from text.
///
/// # Errors
/// The refusal that the text has instead, or the line that is none of the notation.
pub fn read(text: &str) -> Part<Vec<Vec<u8>>> {
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    if let Some(refused) = lines.first().and_then(|line| line.strip_prefix("refused ")) {
        let (errno, said) = refused.split_once(' ').map_or((refused, None), |(errno, said)| (errno, Some(said)));
        if errno == "-" {
            return Err(Absent::told(said.unwrap_or_default()));
        }
        let errno = errno.parse().map_err(|_| wrong(refused))?;
        return Err(Absent::new(errno, said));
    }
    let (mut answers, mut rest) = (Vec::new(), lines.as_slice());
    while let Some((first, after)) = rest.split_first() {
        rest = if *first == "message" { after } else { rest };
        let end = rest.iter().position(|line| *line == "message").unwrap_or(rest.len());
        let (mut lines, mut message) = (rest[..end].iter(), Message::about(0, 0, &[]));
        pieces(&mut message, &mut lines, 0)?;
        answers.push(message.into_body());
        rest = &rest[end..];
    }
    Ok(answers)
}

/// Deepest nesting.
const DEEPEST: usize = 8;

fn pieces<'a>(message: &mut Message, lines: &mut impl Iterator<Item = &'a &'a str>, depth: usize) -> Part<()> {
    while let Some(line) = lines.next() {
        if *line == "}" && depth > 0 {
            return Ok(());
        }
        let (kind, value) = line.split_once(' ').ok_or_else(|| wrong(line))?;
        if kind == "raw" {
            message.raw(&bytes(value)?);
            continue;
        }
        let kind = kind.parse::<u16>().ok().filter(|kind| *kind < 0x4000).ok_or_else(|| wrong(line))?;
        if value == "{" {
            if depth == DEEPEST {
                return Err(wrong(line));
            }
            let mut inner = Ok(());
            message.nest(kind | NESTED, |message| inner = pieces(message, lines, depth + 1));
            inner?;
        } else {
            let value = bytes(value)?;
            if value.len() > 0xfff0 {
                return Err(wrong(line));
            }
            message.attribute(kind, &value);
        }
    }
    if depth == 0 { Ok(()) } else { Err(Absent::told("recorded answer: a { without its }")) }
}

fn bytes(value: &str) -> Part<Vec<u8>> {
    let (form, rest) = value.split_once(' ').unwrap_or((value, ""));
    let number = || {
        let hex = rest.strip_prefix("0x");
        hex.map_or_else(|| rest.parse::<u64>(), |hex| u64::from_str_radix(hex, 16)).map_err(|_| wrong(value))
    };
    Ok(match form {
        "u8" => u8::try_from(number()?).map_err(|_| wrong(value))?.to_ne_bytes().to_vec(),
        "u16" => u16::try_from(number()?).map_err(|_| wrong(value))?.to_ne_bytes().to_vec(),
        "u32" => u32::try_from(number()?).map_err(|_| wrong(value))?.to_ne_bytes().to_vec(),
        "u64" => number()?.to_ne_bytes().to_vec(),
        "text" => [rest.as_bytes(), &[0]].concat(),
        "field32" => {
            let mut field = rest.as_bytes().to_vec();
            field.resize(32, 0);
            field
        }
        "hex" => {
            let digits: String = rest.split_ascii_whitespace().collect();
            unhex(&digits).ok_or_else(|| wrong(value))?
        }
        "flag" => Vec::new(),
        _ => return Err(wrong(value)),
    })
}

fn wrong(line: &str) -> Absent {
    Absent::told(format!("recorded answer: {line}"))
}

/// Writes answers as text. `header` bytes of each are no attributes.
pub(crate) fn write(answers: &Part<Vec<Vec<u8>>>, header: usize) -> String {
    let mut text = String::new();
    match answers {
        Err(absent) => match absent.errno {
            Some(errno) => {
                let plain = Absent::new(errno, None).why;
                let said = absent.why.strip_suffix(&plain).unwrap_or_default().trim_end_matches([':', ' ']);
                text = format!("refused {errno} {said}").trim_end().to_owned() + "\n";
            }
            None => text = format!("refused - {}\n", absent.why),
        },
        Ok(answers) => {
            for answer in answers {
                text += "message\n";
                let (raw, rest) = answer.split_at_checked(header).unwrap_or((answer, &[]));
                if !raw.is_empty() {
                    raw.chunks(32).for_each(|chunk| _ = writeln!(text, "raw hex {}", hex(chunk)));
                }
                tree(&mut text, rest, 0);
            }
        }
    }
    text
}

fn tree(text: &mut String, bytes: &[u8], depth: usize) {
    let mut at = 0;
    for (kind, value) in attributes(bytes) {
        // Nested attributes are marked; the iterator has taken the mark away.
        let marked = bytes.get(at + 3).is_some_and(|high| high & 0x80 != 0);
        let indent = "  ".repeat(depth);
        if marked && depth < DEEPEST {
            _ = writeln!(text, "{indent}{kind} {{");
            tree(text, value, depth + 1);
            _ = writeln!(text, "{indent}}}");
        } else if value.is_empty() {
            _ = writeln!(text, "{indent}{kind} flag");
        } else {
            match printable(value) {
                Some(words) => _ = writeln!(text, "{indent}{kind} text {words}"),
                None => _ = writeln!(text, "{indent}{kind} hex {}", hex(value)),
            }
        }
        at += (value.len() + 4).next_multiple_of(4);
    }
}

/// Text that reads back as the same bytes.
fn printable(value: &[u8]) -> Option<&str> {
    let (last, text) = value.split_last()?;
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() > 1 && *last == 0)?;
    (text.bytes().all(|b| b.is_ascii_graphic() || b == b' ') && text.trim() == text).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let text = "message\n9 u32 63\n3 {\n  1 flag\n  3 {\n    1 {\n      1 u32 7\n      2 text 10000baseSR/Full\n    }\n  }\n}\n4 hex 0a 1b\n";
        let answers = read(text).unwrap();
        assert_eq!(answers.len(), 1);
        let again = write(&Ok(answers.clone()), 0);
        assert_eq!(read(&again).unwrap(), answers, "{again}");
        assert!(again.contains("text 10000baseSR/Full") && again.contains("1 flag"), "{again}");
        let raw = read("raw field32 ice\nraw u64 0x10\n").unwrap();
        assert_eq!((raw[0].len(), &raw[0][..4], raw[0][32]), (40, &b"ice\0"[..], 16));
        assert_eq!(read(&write(&Ok(raw.clone()), 40)).unwrap(), raw);
    }

    #[test]
    fn refusals_are_kept_with_their_words() {
        for absent in [
            Absent::new(95, None),
            Absent::new(22, Some("requested channel count exceeds maximum")),
            Absent::told("no"),
        ] {
            let text = write(&Err(absent.clone()), 0);
            assert_eq!(read(&text), Err(absent), "{text}");
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for text in ["1 {", "1 u8 256", "x u8 1", "1 hex 0", "1", "1 word 7", "refused x", "70000 flag", "16384 flag"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"1 {\n".repeat(100)).is_err());
    }
}
