//! Flags of programs that are a client or a server.

use super::{Does, Flag, Program, Words};

/// End that a flag is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Both,
    Client,
    Server,
}

/// First flags given that are for one end only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) client: Option<&'static str>,
    pub(crate) server: Option<&'static str>,
}

impl Ends {
    fn given<S>(&mut self, flag: &'static Flag<S, Scope>) {
        match flag.scope {
            Scope::Client => self.client.get_or_insert(flag.name()),
            Scope::Server => self.server.get_or_insert(flag.name()),
            Scope::Both => return,
        };
    }
}

impl<S> Program<S, Scope> {
    /// Reads a command line (without the program's name) into a state, which tells where its ends are kept; or gives a text to be
    /// printed instead.
    pub(crate) fn read(
        &'static self,
        arguments: &[String],
        state: &mut S,
        ends: fn(&mut S) -> &mut Ends,
    ) -> Result<Option<String>, String> {
        let mut words = Words::new(arguments);
        while let Some(flag) = self.find(&mut words)? {
            if let Does::Print(text) = flag.does {
                return Ok(Some(text()));
            }
            words.give(flag, state)?;
            ends(state).given(flag);
        }
        Ok(None)
    }
}
