//! `linerate completions`.

use super::root::root;
use super::{Command, parsed};
use crate::print::print;
use clap::{CommandFactory, Parser};
use clap_complete::{Shell, generate};
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("completions", Arguments::command, |matches, _| {
    let arguments: Arguments = parsed(matches)?;
    print(&script(arguments.shell));
    Ok(ExitCode::SUCCESS)
});

/// Print a completion script of linerate's commands and options for a shell.
#[derive(Parser)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  linerate completions bash >~/.local/share/bash-completion/completions/linerate
  linerate completions zsh >~/.zfunc/_linerate
  linerate completions fish >~/.config/fish/completions/linerate.fish";

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut root(), "linerate", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
