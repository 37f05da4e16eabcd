//! Command line of a program: its flags, and reading them.

use super::{Dialect, Flag, Words};

/// A program with state `S` and flags of scopes `A`.
pub(crate) struct Program<S: 'static, A: 'static> {
    pub(crate) name: &'static str,
    /// Text behind its name in the first line of help.
    pub(crate) usage: &'static str,
    pub(crate) dialect: Dialect,
    /// Flags in the order of help.
    pub(crate) flags: &'static [Flag<S, A>],
    /// Width of the lines of a flag's description, bytes.
    pub(crate) width: usize,
}

/// Request of a command line.
#[derive(Debug)]
pub enum Command<C> {
    Run(Box<C>),
    /// Print help, or the version.
    Print(String),
}

/// A flag that was given, with its values.
pub(crate) struct Given<S: 'static, A: 'static> {
    pub(crate) flag: &'static Flag<S, A>,
    /// The flag with its values, as it is typed.
    typed: String,
    pub(crate) values: Vec<String>,
}

impl<S, A> Program<S, A> {
    /// Finds the next flag; `None` at the end.
    ///
    /// # Errors
    /// One line that names the unknown flag, and the one that may be meant.
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
    /// Takes the values of a flag that was found, and applies it to the state.
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
    /// Applies the flag again, to another state.
    pub(crate) fn set(&self, state: &mut S) -> Result<(), String> {
        self.flag.does.set(state, &mut Words::again(&self.values)).map_err(|why| format!("{}: {why}", self.typed))
    }
}
