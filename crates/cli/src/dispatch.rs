//! Execution of a command line: finds the command, through clap's root or by its name, and runs it.

use crate::VERSION;
use crate::commands::root::{NAME, root};
use crate::commands::{Command, Outcome, Reader, commands};
use crate::print::print;
use crate::trouble::Trouble;
use crate::wrong;
use clap::error::ErrorKind;
use std::process::ExitCode;

/// Runs the command that the words name. Returns the name for messages, and the outcome.
pub(crate) fn obey(called: &str, words: &[String]) -> (String, Outcome) {
    let named = |name: &str| commands().find(|command| command.name == name);
    if let Some(Command { reader: Reader::Itself { run, .. }, .. }) = commands().find(|c| c.stands_in_for(called)) {
        return (called.to_owned(), run(words));
    }
    // The words of such a command may be anything: clap would take `--` away.
    if let Some((first, rest)) = words.split_first()
        && let Some(Command { name, reader: Reader::Itself { run, .. } }) = named(first)
    {
        return (format!("{NAME} {name}"), run(rest));
    }
    let mut root = root();
    let matches = root.try_get_matches_from_mut(std::iter::once(NAME).chain(words.iter().map(String::as_str)));
    let (command, path) = reached(&root, words);
    let outcome = match matches {
        Ok(matches) => match matches.subcommand() {
            Some((name, matches)) => match named(name).map(|command| &command.reader) {
                Some(Reader::Clap { run, .. }) => run(matches, words),
                _ => Err(Trouble::failed("no such command; linerate help lists them")),
            },
            None => Ok(said(&root.render_help().to_string())),
        },
        Err(help) if help.kind() == ErrorKind::DisplayHelp => Ok(said(&help.to_string())),
        Err(version) if version.kind() == ErrorKind::DisplayVersion => Ok(said(&format!("{NAME} {VERSION}\n"))),
        Err(error) => Err(Trouble::usage(wrong::line(&error, command, &path, words))),
    };
    (path, outcome)
}

fn said(text: &str) -> ExitCode {
    print(text);
    ExitCode::SUCCESS
}

/// The subcommand that the words lead to, and the words that one types for it.
fn reached<'a>(root: &'a clap::Command, words: &[String]) -> (&'a clap::Command, String) {
    let (mut command, mut path) = (root, NAME.to_owned());
    for word in words.iter().filter(|word| *word != "help") {
        let Some(next) = command.find_subcommand(word) else { break };
        command = next;
        path += &format!(" {word}");
    }
    (command, path)
}
