//! `linerate ports`.

use super::{Command, parse};
use crate::trouble::{Trouble, print};
use clap::Parser;
use linerate_port::{COMMON, KINDS, OptionRow, WRAPPERS};
use std::process::ExitCode;

pub(super) const COMMAND: Command =
    Command { name: "ports", about: "the kinds of ports, how they are written, and their options", alone: false, run };

/// List the kinds of ports, how they are written, and their options.
#[derive(Parser)]
struct Arguments {}

fn run(arguments: &[String]) -> Result<ExitCode, Trouble> {
    if parse::<Arguments>(COMMAND.name, arguments)?.is_some() {
        print(&list());
    }
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    let mut text = String::from("A port is KIND:NAME, then options as ,key=value.\n");
    for kind in KINDS {
        let suffix = if kind.queue_suffix { "; @N after the name takes one queue" } else { "" };
        text += &format!("\n{}:  {}\n    as {}{suffix}\n", kind.name, kind.about, kind.example);
        kind.options.iter().for_each(|row| text += &option(row));
    }
    text += "\nAll kinds take\n";
    COMMON.iter().chain(WRAPPERS.iter().map(|wrapper| &wrapper.option)).for_each(|row| text += &option(row));
    text
}

fn option(row: &OptionRow) -> String {
    format!("    {:24} {}\n", format!("{}={}", row.key, row.value), row.about)
}
