//! The command line: one root, made of the table of commands, from which parsing, help and errors derive.

use crate::commands::{COMMANDS, Command, Outcome, Reader};
use crate::print::print;
use crate::trouble::Trouble;
use crate::wrong;
use clap::error::ErrorKind;
use std::process::ExitCode;

const NAME: &str = "linerate";

/// Exit codes of all commands, for `linerate help`; a command whose own codes need more words says them in its help.
const ENDS: &str = "\
Exit codes:
  0      all that was asked for was done, and held
  1      something failed, or a result could not be written
  2      wrong on the command line: one line says what, and the mend
  3      measured, but a figure is worse than wanted, or two ways of measuring disagree (bench, profile)
  4      what was measured is good, but not all could be measured (qualify, sweep, profile)
  128+n  ended early by signal n, with what was measured so far; 130 is Ctrl-C, 141 a reader of the output that is gone";

/// The root: all commands, none of them done.
pub(crate) fn root() -> clap::Command {
    let root = clap::Command::new(NAME)
        .bin_name(NAME)
        .about("Packets and blocks at line rate from user space, and the proof of it")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .after_help(ENDS);
    COMMANDS.iter().fold(root, |root, command| root.subcommand(command.syntax()))
}

/// Does what the words behind the program's name ask for. Who it is that speaks, and how it ended.
pub(crate) fn obey(called: &str, words: &[String]) -> (String, Outcome) {
    let named = |name: &str| COMMANDS.iter().find(|command| command.name == name);
    if let Some(Command { name, reader: Reader::Itself { run, .. } }) = named(called) {
        return ((*name).to_owned(), run(words));
    }
    // Its words may be anything: clap would take `--` away.
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
        Err(version) if version.kind() == ErrorKind::DisplayVersion => {
            Ok(said(concat!("linerate ", env!("CARGO_PKG_VERSION"), "\n")))
        }
        Err(error) => Err(Trouble::usage(wrong::line(&error, command, &path, words))),
    };
    (path, outcome)
}

fn said(text: &str) -> ExitCode {
    print(text);
    ExitCode::SUCCESS
}

/// The subcommand that the words have come to, and how one types it.
fn reached<'a>(root: &'a clap::Command, words: &[String]) -> (&'a clap::Command, String) {
    let (mut command, mut path) = (root, NAME.to_owned());
    for word in words.iter().filter(|word| *word != "help") {
        let Some(next) = command.find_subcommand(word) else { break };
        command = next;
        path += &format!(" {word}");
    }
    (command, path)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_root_is_sound() {
        super::root().debug_assert();
    }
}
