//! A program's command line: which flags it has, and reading them.

use super::{Dialect, Flag, Words};

/// A program whose state is `S`, and whose flags have scopes `A`.
pub(crate) struct Program<S: 'static, A: 'static> {
    /// Its name.
    pub(crate) name: &'static str,
    /// What stands behind its name in the first line of help.
    pub(crate) usage: &'static str,
    /// How its flags are written.
    pub(crate) dialect: Dialect,
    /// Its flags, in the order of help.
    pub(crate) flags: &'static [Flag<S, A>],
    /// Octets of a line that says what a flag does.
    pub(crate) width: usize,
}

/// What a command line asks for.
#[derive(Debug)]
pub enum Command<C> {
    /// To run.
    Run(Box<C>),
    /// Help, or the version.
    Print(String),
}

/// A flag that was given, with its values.
pub(crate) struct Given<S: 'static, A: 'static> {
    /// Its row.
    pub(crate) flag: &'static Flag<S, A>,
    /// All of it, as it is typed.
    typed: String,
    values: Vec<String>,
}

impl<S, A> Program<S, A> {
    /// The next flag; none at the end.
    ///
    /// # Errors
    /// One line that says what is no flag, and which one may be meant.
    pub(crate) fn find(&self, words: &mut Words) -> Result<Option<&'static Flag<S, A>>, String> {
        let Some(name) = self.dialect.name(words) else { return Ok(None) };
        let flag = self.flags.iter().find(|flag| flag.names().any(|known| known == name));
        let flag = flag.ok_or_else(|| self.unknown(&name))?;
        words.form = format!("{name} {}", flag.form());
        words.name = name;
        words.taken.clear();
        Ok(Some(flag))
    }
}

impl Words {
    /// Takes the values of a flag that was found, and does with the state what it says.
    ///
    /// # Errors
    /// One line that names the flag and the mend.
    pub(crate) fn give<S, A>(&mut self, flag: &'static Flag<S, A>, state: &mut S) -> Result<Given<S, A>, String> {
        let begin = self.taken.len();
        flag.does.set(state, self).map_err(|why| self.trouble(&why))?;
        if self.own.is_some() && !self.letters {
            return Err(self.trouble("takes no value; leave it out"));
        }
        Ok(Given { flag, typed: self.typed(), values: self.taken.split_off(begin) })
    }
}

impl<S, A> Given<S, A> {
    /// Does it again, with another state.
    ///
    /// # Errors
    /// One line that names the flag and the mend.
    pub(crate) fn set(&self, state: &mut S) -> Result<(), String> {
        self.flag.does.set(state, &mut Words::again(&self.values)).map_err(|why| format!("{}: {why}", self.typed))
    }
}
