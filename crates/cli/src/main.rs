//! The `linerate` command: arguments in, text and exit codes out.
//!
//! Called by the name of a program that it replaces (`pkt-gen`), it behaves like that program.

#![forbid(unsafe_code)]

mod commands;
mod dispatch;
mod print;
mod progress;
mod trouble;
mod wrong;

use linerate_text::path::to_text;
use std::path::Path;
use std::process::ExitCode;

/// Version, with the commit and its date if it was built in a repository.
const VERSION: &str = env!("LINERATE_VERSION");

fn main() -> ExitCode {
    linerate_lab::environment::built_as(VERSION);
    let mut words = std::env::args_os().map(|word| to_text(&word));
    let called = words.next().unwrap_or_default();
    let words: Vec<String> = words.collect();
    let called = Path::new(&called).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (name, outcome) = dispatch::obey(&called, &words);
    let code = outcome.unwrap_or_else(|trouble| {
        print::remark(&format!("{name}: {trouble}"));
        ExitCode::from(trouble.exit_code())
    });
    print::failure().unwrap_or(code)
}
