//! Row of the table: one flag.

use super::Words;

type Text = &'static str;
type Take<S> = fn(&mut S, &str) -> Result<(), String>;
type TakeAll<S> = fn(&mut S, &mut Words) -> Result<(), String>;
/// Words that a flag takes, each with its names, which are separated by spaces.
pub(crate) type Choices<S> = &'static [(Text, Does<S>)];

/// A flag of a program with state `S`.
pub(crate) struct Flag<S: 'static, A: 'static> {
    /// Syntax: its names, dashes included, and then the names of its values, as in `-t --time SECONDS`.
    typed: Text,
    /// Scope in which it has an effect, or what it applies to.
    pub(crate) scope: A,
    /// Description for help; empty if no list shows the flag.
    pub(crate) about: Text,
    pub(crate) does: Does<S>,
}

/// Action of a flag, or of a word that a flag takes. Errors name the fault and the mend.
pub(crate) enum Does<S: 'static> {
    /// Sets something; takes no value.
    Set(fn(&mut S)),
    /// Takes one value.
    Value(Take<S>),
    /// Takes a value if the next word begins with a digit; otherwise the value is empty.
    Maybe(Take<S>),
    /// Takes as many values as the function wants.
    Values(TakeAll<S>),
    /// Takes one of these words, with the values of that word; the last function is for all other words.
    OneOf(Choices<S>, Take<S>),
    /// Prints this text; nothing else is done.
    Print(fn() -> String),
    /// Refuses the flag: the reason, and the mend.
    Refused(Text),
}

pub(crate) const fn set<S, A>(typed: Text, scope: A, about: Text, set: fn(&mut S)) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Set(set) }
}

pub(crate) const fn value<S, A>(typed: Text, scope: A, about: Text, set: Take<S>) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Value(set) }
}

/// Makes a flag that may take a value.
pub(crate) const fn maybe<S, A>(typed: Text, scope: A, about: Text, set: Take<S>) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Maybe(set) }
}

pub(crate) const fn values<S, A>(typed: Text, scope: A, about: Text, set: TakeAll<S>) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Values(set) }
}

/// Makes a flag that takes one of some words; `other` is for all other words.
pub(crate) const fn one_of<S, A>(typed: Text, scope: A, about: Text, of: Choices<S>, other: Take<S>) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::OneOf(of, other) }
}

pub(crate) const fn print<S, A>(typed: Text, scope: A, about: Text, text: fn() -> String) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Print(text) }
}

pub(crate) const fn refused<S, A>(typed: Text, scope: A, about: Text, why: Text) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Refused(why) }
}

impl<S, A> Flag<S, A> {
    pub(crate) fn names(&self) -> impl Iterator<Item = Text> + use<S, A> {
        self.typed.split(' ').take_while(|word| word.starts_with('-'))
    }

    /// Name of the flag in lists.
    pub(crate) fn name(&self) -> Text {
        self.names().next().unwrap_or_default()
    }

    /// Names of its values; empty for none.
    pub(super) fn form(&self) -> Text {
        let names: usize = self.names().map(|name| name.len() + 1).sum();
        self.typed.get(names..).unwrap_or_default()
    }
}

impl<S> Does<S> {
    /// Performs the action, with values from these words.
    pub(super) fn set(&self, state: &mut S, words: &mut Words) -> Result<(), String> {
        match self {
            Self::Set(set) => set(state),
            Self::Value(set) => set(state, &words.value()?)?,
            Self::Maybe(set) => set(state, &words.perhaps())?,
            Self::Values(set) => set(state, words)?,
            Self::OneOf(rows, other) => {
                let word = words.value()?;
                match rows.iter().find(|(names, _)| names.split(' ').any(|name| name == word)) {
                    Some((_, Self::Refused(why))) => return Err(format!("{word}: {why}")),
                    Some((_, does)) => does.set(state, words)?,
                    None => other(state, &word)?,
                }
            }
            Self::Print(_) => {}
            Self::Refused(why) => return Err((*why).to_owned()),
        }
        Ok(())
    }
}
