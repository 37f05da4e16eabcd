//! Error lines about flags.

use super::{Flag, Program, Words};
use linerate_text::{nearest, short};

impl<S, A> Program<S, A> {
    /// The flag that may be meant by a word that is none.
    pub(crate) fn meant(&self, word: &str) -> Option<&'static str> {
        let bare = |name: &'static str| name.trim_start_matches('-');
        let names = || self.shown().flat_map(Flag::names);
        let meant = nearest(word.trim_start_matches('-'), names().map(bare))?;
        names().find(|name| bare(name) == meant)
    }

    /// Error line for a word that is no flag, with the flag that may be meant.
    pub(crate) fn unknown(&self, word: &str) -> String {
        let why = match self.meant(word) {
            Some(meant) => format!("no such flag; did you mean {meant}?"),
            None if word.starts_with('-') => "no such flag; -h lists them".to_owned(),
            None => "not a flag; flags begin with a dash, -h lists them".to_owned(),
        };
        format!("{}: {why}", short(word, 80))
    }
}

impl Words {
    /// The flag that was found, with the values taken since.
    pub(super) fn typed(&self) -> String {
        let values = short(&self.taken.join(" "), 80);
        if values.is_empty() { self.name.clone() } else { format!("{} {values}", self.name) }
    }

    pub(crate) fn trouble(&self, why: &str) -> String {
        format!("{}: {why}", self.typed())
    }
}
