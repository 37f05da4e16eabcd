//! `linerate ports`.

use super::Command;
use crate::trouble::print;
use clap::{CommandFactory, Parser};
use linerate_port::{COMMON, KINDS, OptionRow, WRAPPERS};
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("ports", Arguments::command, |_, _| {
    print(&list());
    Ok(ExitCode::SUCCESS)
});

/// List the kinds of ports, how they are written, and their options.
#[derive(Parser)]
struct Arguments {}

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
