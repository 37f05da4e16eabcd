//! Reading of JSON documents, which may stand one behind the other and behind a program's other lines.

use serde_json::{Deserializer, Value};

use super::{Line, Wrong, shown};

/// Documents, each with the number of its first line.
type Documents = Vec<(Value, usize)>;

/// The documents of a text, each with the number of its first line.
///
/// # Errors
/// [`between`].
pub(super) fn documents(text: &str) -> Result<Documents, Wrong> {
    let (all, cut) = between(text, |_| {})?;
    cut.map_or(Ok(all), Err)
}

/// The documents of a text, each with the number of its first line, and the last one that has no end. Other lines are given to
/// `other` as they come, and `None` for a document.
///
/// # Errors
/// No JSON behind a brace that begins a line, or what may be a part of a document before it.
pub(super) fn between<'a>(
    text: &'a str,
    mut other: impl FnMut(Option<Line<'a>>),
) -> Result<(Documents, Option<Wrong>), Wrong> {
    let is_part = |line: &str| ["\":", "\" :", "\"\t:"].iter().any(|part| line.contains(part));
    let line_at = |offset: usize| 1 + text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count();
    let (mut all, mut at) = (Vec::new(), 0);
    loop {
        let begin = at + opening(&text[at..]).unwrap_or(text.len() - at);
        for (line, number) in text[at..begin].lines().zip(line_at(at)..) {
            let line = Line::new(line, number);
            if is_part(line.text) {
                return Err(line.wrong("a part of a document, and not a whole one"));
            }
            other(Some(line));
        }
        if begin == text.len() {
            return Ok((all, None));
        }
        let mut stream = Deserializer::from_str(&text[begin..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                all.push((value, line_at(begin)));
                other(None);
            }
            Some(Err(why)) => {
                let first = line_at(begin);
                let line = first + why.line().saturating_sub(1);
                let text = why.to_string();
                let text = text.split(" at line ").next().unwrap_or_default();
                let of =
                    if why.is_eof() { format!(" (the document of line {first} has no end)") } else { String::new() };
                let wrong = Wrong { line: Some(line), why: format!("no JSON: {}{of}", shown(text, 100)) };
                return if why.is_eof() { Ok((all, Some(wrong))) } else { Err(wrong) };
            }
            None => return Ok((all, None)),
        }
        at = begin + stream.byte_offset();
    }
}

/// The other lines of a text that has documents, each with its number; `None` if it has none, or they cannot be read.
pub(super) fn outside(text: &str) -> Option<String> {
    opening(text)?;
    let (mut rest, mut count) = (String::new(), 0);
    let told = |line: Option<Line<'_>>| {
        let Some(line) = line else { return };
        rest.extend(std::iter::repeat_n('\n', line.number.saturating_sub(count + 1)));
        rest.push_str(line.raw);
        rest.push('\n');
        count = line.number;
    };
    between(text, told).ok()?;
    Some(rest)
}

/// Place of the first line that begins with a brace, or of a brace that the text begins with.
pub(super) fn opening(text: &str) -> Option<usize> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let blanks = line.len() - line.trim_start().len();
        if line[blanks..].starts_with('{') {
            return Some(offset + blanks);
        }
        offset += line.len();
    }
    None
}

/// A number at a path of names.
pub(super) fn number(value: &Value, path: &[&str]) -> Option<f64> {
    at(value, path)?.as_f64().filter(|number| number.is_finite())
}

/// A text at a path of names, printable and short.
pub(super) fn text(value: &Value, path: &[&str]) -> Option<String> {
    at(value, path)?.as_str().map(|text| shown(text, 200))
}

pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}
