//! Reading of JSON documents, which may stand one behind the other and behind a program's other lines.

use serde_json::{Deserializer, Value};

use super::{Wrong, shown};

/// The documents of a text, each with the number of its first line. Lines of text before the first brace are passed over.
///
/// # Errors
/// No JSON, or what may be the rest of a document before the first one.
pub(super) fn documents(text: &str) -> Result<Vec<(Value, usize)>, Wrong> {
    let begin = opening(text).unwrap_or(text.len());
    let is_part = |line: &str| ["\":", "\" :", "\"\t:"].iter().any(|part| line.contains(part));
    if let Some((number, part)) = (1..).zip(text[..begin].lines()).find(|(_, line)| is_part(line)) {
        let why = format!("a part of a document before the first whole one: '{}'", shown(part.trim(), 60));
        return Err(Wrong { line: Some(number), why });
    }
    let mut all = Vec::new();
    let mut stream = Deserializer::from_str(&text[begin..]).into_iter::<Value>();
    let line_at =
        |offset: usize| 1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
    loop {
        let offset = begin + stream.byte_offset();
        match stream.next() {
            None => return Ok(all),
            Some(Ok(value)) => {
                let blanks = text[offset..].len() - text[offset..].trim_start().len();
                all.push((value, line_at(offset + blanks)));
            }
            Some(Err(why)) => {
                let line = line_at(begin) + why.line().saturating_sub(1);
                let text = why.to_string();
                let text = text.split(" at line ").next().unwrap_or_default();
                return Err(Wrong { line: Some(line), why: format!("no JSON: {}", shown(text, 100)) });
            }
        }
    }
}

/// Place of the first line that begins with a brace.
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
