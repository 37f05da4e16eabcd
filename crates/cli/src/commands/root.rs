//! The one command line that all commands make: parsing, help, errors, completions and man pages derive from it.

use super::GROUPS;
use crate::print::columns;
use linerate_text::wrapped;

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
    let rows = GROUPS.iter().flat_map(|(_, rows)| rows.iter());
    let commands: Vec<clap::Command> = rows.map(|(command, example)| command.syntax(example)).collect();
    let root = clap::Command::new(NAME)
        .bin_name(NAME)
        .about("Packets and blocks at line rate from user space, and the proof of it")
        .version(crate::VERSION)
        .propagate_version(true)
        .help_template(format!(
            "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
            listed(&commands)
        ))
        .after_help(ENDS);
    root.subcommands(commands)
}

/// Column at which descriptions begin.
const INDENT: usize = 15;

/// The commands with their descriptions, by who needs them.
fn listed(commands: &[clap::Command]) -> String {
    let (mut text, mut commands) = (String::new(), commands.iter());
    for (who, rows) in GROUPS {
        text += &format!("{who}:\n");
        for command in commands.by_ref().take(rows.len()) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            for (at, line) in wrapped(&about, columns().min(WIDEST).saturating_sub(INDENT)).iter().enumerate() {
                let name = if at == 0 { command.get_name() } else { "" };
                text += &format!("  {name:<width$}{line}\n", width = INDENT - 2);
            }
        }
        text += "\n";
    }
    text
}

/// Letters of the longest line of help.
const WIDEST: usize = 100;

#[cfg(test)]
mod tests {
    #[test]
    fn the_root_is_sound() {
        super::root().debug_assert();
    }
}
