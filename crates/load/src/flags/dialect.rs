//! Syntax of flags in words.

use super::Words;

/// Syntax of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// getopt's syntax: one letter behind one dash, several of them in one word, and long names behind two dashes. A
    /// value is in the flag's own word (`-l60`, `--wait=busy`) or in the next. Long names are not abbreviated.
    Getopt,
    /// Each word is a flag, whatever its dashes; its values are the words behind it.
    Whole,
}

impl Dialect {
    /// Next flag's name as it is typed; `None` at the end.
    pub(super) fn name(self, words: &mut Words) -> Option<String> {
        let left = words.own.take().filter(|_| words.letters);
        words.letters = false;
        let letters = match left {
            Some(letters) => letters,
            None => {
                let word = words.next()?;
                match word.strip_prefix('-') {
                    Some(rest) if self == Self::Getopt && rest.starts_with('-') => {
                        let (name, value) = word.split_once('=').map_or((&*word, None), |(name, v)| (name, Some(v)));
                        words.own = value.map(str::to_owned);
                        return Some(name.to_owned());
                    }
                    Some(letters) if self == Self::Getopt && !letters.is_empty() => letters.to_owned(),
                    _ => return Some(word),
                }
            }
        };
        let mut chars = letters.chars();
        let name = format!("-{}", chars.next()?);
        words.own = Some(chars.as_str().to_owned()).filter(|rest| !rest.is_empty());
        words.letters = words.own.is_some();
        Some(name)
    }
}
