//! The one command line that all commands make: parsing, help, errors, completions and man pages derive from it.

use super::COMMANDS;

pub(crate) const NAME: &str = "linerate";

/// Exit codes of all commands, for `linerate help`; a command whose own codes need more words has them in its help.
const ENDS: &str = "\
Exit codes:
  0      all that was asked for was done, and all checks passed
  1      something failed, or a result could not be written
  2      the command line is wrong: one line says what, and how to correct it
  3      measured, but a figure is worse than required, or two ways of measuring disagree (bench, profile, compare);
         settings differ from those in a file (nic diff)
  4      what was measured is good, but not all could be measured or compared (qualify, sweep,
         profile, compare)
  128+n  ended early by signal n, with what was measured so far; 130 is Ctrl-C, 141 a closed output pipe";

/// The root command with all commands; runs none of them.
pub(crate) fn root() -> clap::Command {
    let root = clap::Command::new(NAME)
        .bin_name(NAME)
        .about("Packets and blocks at line rate from user space, and the proof of it")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .after_help(ENDS);
    COMMANDS.iter().fold(root, |root, command| root.subcommand(command.syntax()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_root_is_sound() {
        super::root().debug_assert();
    }
}
