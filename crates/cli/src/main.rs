//! The `linerate` command: arguments in, text and exit codes out.
//!
//! Called by the name of a program that it stands in for (`pkt-gen`), it behaves as that program.

#![forbid(unsafe_code)]

mod commands;
mod print;
mod progress;
mod trouble;

use commands::COMMANDS;
use linerate_port::path::to_text;
use std::path::Path;
use std::process::ExitCode;
use trouble::Trouble;

fn main() -> ExitCode {
    let mut words = std::env::args_os().map(|word| to_text(&word));
    let called = words.next().unwrap_or_default();
    let arguments: Vec<String> = words.collect();
    let called = Path::new(&called).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (name, result) = match COMMANDS.iter().find(|command| command.alone && command.name == called) {
        Some(command) => (command.name.to_owned(), (command.run)(&arguments)),
        None => dispatch(&arguments),
    };
    let code = result.unwrap_or_else(|trouble| {
        print::remark(&format!("{name}: {trouble}"));
        ExitCode::from(trouble.exit_code())
    });
    print::failure().unwrap_or(code)
}

fn dispatch(arguments: &[String]) -> (String, Result<ExitCode, Trouble>) {
    let (first, rest) = match arguments.split_first() {
        None => ("help", &[][..]),
        Some((first, rest)) => (first.as_str(), rest),
    };
    if matches!(first, "help" | "-h" | "--help") {
        print::print(&help());
        return ("linerate".into(), Ok(ExitCode::SUCCESS));
    }
    if matches!(first, "-V" | "--version") {
        print::print(concat!("linerate ", env!("CARGO_PKG_VERSION"), "\n"));
        return ("linerate".into(), Ok(ExitCode::SUCCESS));
    }
    match COMMANDS.iter().find(|command| command.name == first) {
        Some(command) => (format!("linerate {}", command.name), (command.run)(rest)),
        None => {
            let names: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
            let shown: String = first.chars().filter(|c| !c.is_control()).take(40).collect();
            let text = format!("there is no command '{shown}'; give one of {}", names.join(", "));
            ("linerate".into(), Err(Trouble::usage(text)))
        }
    }
}

fn help() -> String {
    let mut text = String::from("linerate: packets at line rate from user space, and the proof of it\n\n");
    for command in COMMANDS {
        text += &format!("  linerate {:10} {}\n", command.name, command.about);
    }
    text + "\n`linerate COMMAND -h` tells more.\n\n" + commands::ENDS
}
