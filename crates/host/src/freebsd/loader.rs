//! `/boot/loader.conf`: what the kernel is given at boot, `NAME="VALUE"` (loader.conf(5)).

use super::lines;
use serde::Serialize;

/// Settings of a boot, in the file's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoaderConf {
    /// Names and values. A name that stands twice has the last value.
    pub settings: Vec<(String, String)>,
    /// Numbers of the lines that are neither a setting nor a comment.
    pub wrong: Vec<usize>,
}

impl LoaderConf {
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for (at, line) in lines(text).enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match setting(line) {
                Some((name, value)) => {
                    all.settings.retain(|(known, _)| known != name);
                    all.settings.push((name.to_owned(), value));
                }
                None => all.wrong.push(at + 1),
            }
        }
        all
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }
}

/// A name and its value, in quotes or as one word, with nothing but a comment behind it.
fn setting(line: &str) -> Option<(&str, String)> {
    let (name, rest) = line.split_once('=')?;
    let name = name.trim_end();
    let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.%-".contains(c));
    let (value, rest) = match rest.trim_start().strip_prefix('"') {
        Some(quoted) => quoted_value(quoted)?,
        None => {
            let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            (word.to_owned(), rest)
        }
    };
    let rest = rest.trim_start();
    let ends = rest.is_empty() || rest.starts_with('#');
    (named && ends && !value.contains('"')).then_some((name, value))
}

/// Value up to the closing quotation mark, and what follows; `\` before a character means that character.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let (mut value, mut letters) = (String::new(), text.chars());
    loop {
        match letters.next()? {
            '"' => return Some((value, letters.as_str())),
            '\\' => value.push(letters.next()?),
            letter => value.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_wrong_lines_are_numbered() {
        let all = LoaderConf::parse(
            "# a comment\nif_oce_load=\"YES\"  # the driver\n\nhw.oce.max_rsp_handled=128\nkern.x = \"a \\\\ b\"\n\
             if_oce_load=\"NO\"\nno setting\nopen=\"YES\ntwo=\"a\" b\n=\"x\"\nbad name=\"x\"\nhalf=a\"b\n",
        );
        assert_eq!((all.get("if_oce_load"), all.get("hw.oce.max_rsp_handled")), (Some("NO"), Some("128")));
        assert_eq!((all.get("kern.x"), all.settings.len()), (Some("a \\ b"), 3));
        assert_eq!(all.wrong, [7, 8, 9, 10, 11, 12]);
    }
}
