//! Error lines about flags.

use super::{Flag, Program, Words, tidy};
use linerate_port::nearest;

impl<S, A> Program<S, A> {
    /// Error line for a word that is no flag, with the flag that may be meant.
    pub(super) fn unknown(&self, word: &str) -> String {
        let bare = |name: &'static str| name.trim_start_matches('-');
        let names = || self.shown().flat_map(Flag::names);
        let meant = nearest(word.trim_start_matches('-'), names().map(bare));
        let why = match meant.and_then(|meant| names().find(|name| bare(name) == meant)) {
            Some(meant) => format!("no such flag; did you mean {meant}?"),
            None if word.starts_with('-') => "no such flag; -h lists them".to_owned(),
            None => "not a flag; flags begin with a dash, -h lists them".to_owned(),
        };
        format!("{}: {why}", tidy(word))
    }
}

impl Words {
    /// The flag that was found, with the values taken since.
    pub(super) fn typed(&self) -> String {
        let values = tidy(&self.taken.join(" "));
        if values.is_empty() { self.name.clone() } else { format!("{} {values}", self.name) }
    }

    /// Error line for that flag.
    pub(crate) fn trouble(&self, why: &str) -> String {
        format!("{}: {why}", self.typed())
    }
}
