//! A row of the table: one flag.

use super::Words;

type Text = &'static str;
/// Takes a value.
type Take<S> = fn(&mut S, &str) -> Result<(), String>;
/// Takes values.
type TakeAll<S> = fn(&mut S, &mut Words) -> Result<(), String>;
/// Words that a flag takes, each by its names, which are separated by spaces.
pub(crate) type Choices<S> = &'static [(Text, Does<S>)];

/// A flag of a program whose state is `S`.
pub(crate) struct Flag<S: 'static, A: 'static> {
    /// How it is typed: its names, dashes included, and then what its values are called, as in `-t --time SECONDS`.
    typed: Text,
    /// Where it has an effect, or what it is about.
    pub(crate) scope: A,
    /// What it does, for help; empty if no list shows it.
    pub(crate) about: Text,
    /// What it takes, and what is done with that.
    pub(crate) does: Does<S>,
}

/// What is done with a flag, or with a word that a flag takes. Errors say what is wrong and what to do.
pub(crate) enum Does<S: 'static> {
    /// Sets something; takes nothing.
    Set(fn(&mut S)),
    /// Takes a value.
    Value(Take<S>),
    /// Takes a value if what follows begins with a digit; else it is empty.
    Maybe(Take<S>),
    /// Takes as many values as it says.
    Values(TakeAll<S>),
    /// Takes one of these words, with what that one takes; the last is for words that are none of them.
    OneOf(Choices<S>, Take<S>),
    /// Prints this, and nothing else is done.
    Print(fn() -> String),
    /// Refuses: the reason, and the mend.
    Refused(Text),
}

/// A flag that sets something and takes nothing.
pub(crate) const fn set<S, A>(typed: Text, scope: A, about: Text, set: fn(&mut S)) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Set(set) }
}

/// A flag that takes a value.
pub(crate) const fn value<S, A>(typed: Text, scope: A, about: Text, set: Take<S>) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Value(set) }
}

/// A flag that may take a value.
pub(crate) const fn maybe<S, A>(typed: Text, scope: A, about: Text, set: Take<S>) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Maybe(set) }
}

/// A flag that takes several values.
pub(crate) const fn values<S, A>(typed: Text, scope: A, about: Text, set: TakeAll<S>) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Values(set) }
}

/// A flag that takes one of some words; the last is for words that are none of them.
pub(crate) const fn one_of<S, A>(typed: Text, scope: A, about: Text, of: Choices<S>, other: Take<S>) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::OneOf(of, other) }
}

/// A flag that prints something, and then nothing else is done.
pub(crate) const fn print<S, A>(typed: Text, scope: A, about: Text, text: fn() -> String) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Print(text) }
}

/// A flag that is refused.
pub(crate) const fn refused<S, A>(typed: Text, scope: A, about: Text, why: Text) -> Flag<S, A> {
    Flag { typed, scope, about, does: Does::Refused(why) }
}

impl<S, A> Flag<S, A> {
    /// All its names.
    pub(crate) fn names(&self) -> impl Iterator<Item = Text> + use<S, A> {
        self.typed.split(' ').take_while(|word| word.starts_with('-'))
    }

    /// Its name in lists.
    pub(crate) fn name(&self) -> Text {
        self.names().next().unwrap_or_default()
    }

    /// What its values are called; empty for none.
    pub(super) fn form(&self) -> Text {
        let names: usize = self.names().map(|name| name.len() + 1).sum();
        self.typed.get(names..).unwrap_or_default()
    }
}

impl<S> Does<S> {
    /// Does it, with values from these words.
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
