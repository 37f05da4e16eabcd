//! Text of documents: tables, words, and what moved between two of them.

use serde_json::Value;
use std::iter::once;

/// A heading and rows, each column as wide as its widest word. Without rows, nothing.
pub(crate) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heading: Vec<String> = heading.iter().map(|word| (*word).to_owned()).collect();
    let wide = |column: usize| rows.iter().chain(once(&heading)).map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..heading.len()).filter_map(wide).collect();
    let line = |row: &Vec<String>| {
        let words = row.iter().zip(&widths).map(|(word, width)| format!("{word:width$}"));
        format!("{}\n", words.collect::<Vec<_>>().join("  ").trim_end())
    };
    once(&heading).chain(rows).map(line).collect()
}

/// Rows of a table: a list of the document, each entry as words.
pub(crate) fn rows(document: &Value, list: &str, row: impl Fn(&Value) -> Vec<String>) -> Vec<Vec<String>> {
    document[list].as_array().into_iter().flatten().map(row).collect()
}

/// A value as a word; `-` for none.
pub(crate) fn word(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Counters by name, those that are not zero; `-` for none.
pub(crate) fn reasons<'a>(counters: impl IntoIterator<Item = &'a Value>) -> String {
    let all = counters.into_iter().filter_map(Value::as_object).flatten();
    let list: Vec<String> =
        all.filter(|(_, n)| n.as_u64() != Some(0)).map(|(name, n)| format!("{name} {}", word(n))).collect();
    if list.is_empty() { "-".to_owned() } else { list.join(", ") }
}

/// Counters that moved, and how fast: `frames 1200/s  echoes 3/s`.
pub(crate) fn moved(before: &Value, now: &Value, seconds: f64) -> String {
    let rate = |(name, n): (&String, &Value)| {
        // A counter that has come into being was zero before.
        let more = n.as_u64()?.saturating_sub(before[name].as_u64().unwrap_or(0));
        (more > 0).then(|| format!("{name} {:.0}/s", more as f64 / seconds))
    };
    let list: Vec<String> = now.as_object().into_iter().flatten().filter_map(rate).collect();
    if list.is_empty() { "nothing moved".to_owned() } else { list.join("  ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_as_wide_as_their_words() {
        let rows = [vec!["a".to_owned(), "long word".to_owned()], vec!["bcd".to_owned(), "-".to_owned()]];
        assert_eq!(table(&["port", "x"], &rows), "port  x\na     long word\nbcd   -\n");
        assert_eq!(table(&["port"], &[]), "");
    }

    #[test]
    fn what_moved_is_told_by_the_second() {
        let (before, now) = (json!({"a": 1, "b": 5}), json!({"a": 1, "b": 25, "c": 2, "d": 0, "e": "no number"}));
        assert_eq!(moved(&before, &now, 2.0), "b 10/s  c 1/s");
        assert_eq!(moved(&now, &now, 2.0), "nothing moved");
        assert_eq!(reasons([&json!({"x": 0, "no_room": 3}), &json!({"y": 1}), &Value::Null]), "no_room 3, y 1");
        assert_eq!(reasons([&json!({})]), "-");
    }
}
