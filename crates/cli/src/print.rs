//! Standard output and standard error: all commands print through this module.
//!
//! `println!` and `eprintln!` panic when a write fails. Here a failed write is recorded, and [`failure`] gives the
//! resulting exit code at the end: a closed pipe ends the command at once, without a message, with SIGPIPE's code;
//! after any other failure, which is reported when it happens, the command continues and ends with 1. Lines that cannot
//! be written to standard error are lost.

use linerate_load::pktgen::Output;
use linerate_rt::{Stop, stdout_was_closed};
use linerate_text::{escaped, plain_lines};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Signal that by default ends a program whose reader is gone.
const SIGPIPE: u8 = 13;

/// Columns of a terminal of old, and where there is none.
const COLUMNS: usize = 80;

/// States of standard output: no failure; reader gone; another failure.
const FINE: u8 = 0;
const GONE: u8 = 1;
const FAILED: u8 = 2;

/// The first failure of a write to standard output. Only its own value counts, so relaxed memory order is sufficient.
static FAILURE: AtomicU8 = AtomicU8::new(FINE);
/// Stop that is requested when the reader is gone.
static STOP: OnceLock<Stop> = OnceLock::new();

/// Prints a result to standard output.
pub(crate) fn print(text: &str) {
    // A failure is recorded in `noted`.
    let _ = Stdout.write_all(text.as_bytes());
}

/// Prints a text that repeats others' words, or a JSON document of them, without what drives a terminal.
pub(crate) fn print_told(text: &str, json: bool) {
    print(&if json { escaped(text) } else { plain_lines(text) });
}

/// Prints a line that is not a result to standard error.
pub(crate) fn remark(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Standard output and standard error for the output of pkt-gen and similar commands.
pub(crate) fn output(documents: bool, stop: &Stop) -> Arc<Output> {
    Arc::new(Output::new(Box::new(Stdout), Box::new(io::stderr()), documents, stop))
}

/// Lets a lost reader of standard output request the stop of a command.
pub(crate) fn stop_when_unread(stop: &Stop) {
    if FAILURE.load(Relaxed) == GONE {
        stop.ask(SIGPIPE);
    }
    STOP.get_or_init(|| stop.clone());
}

/// Records that the reader of standard output is gone, for code that does not write through [`Stdout`].
pub(crate) fn unread() {
    let _ = noted::<()>(Err(ErrorKind::BrokenPipe.into()));
}

/// True if the reader of standard output is gone: a command then ends without a message.
pub(crate) fn is_unread() -> bool {
    FAILURE.load(Relaxed) == GONE
}

/// Exit code after a failed write, which replaces the command's own.
pub(crate) fn failure() -> Option<ExitCode> {
    match FAILURE.load(Relaxed) {
        FINE => None,
        GONE => Some(ExitCode::from(128 + SIGPIPE)),
        _ => Some(ExitCode::FAILURE),
    }
}

/// True if text on standard output may have colours.
pub(crate) fn colours() -> bool {
    io::stdout().is_terminal() && wanted(|name| std::env::var_os(name))
}

/// Letters that a line of text on standard output has room for: as many as the terminal has columns; 80 in a pipe or a file.
pub(crate) fn columns() -> usize {
    let terminal = io::stdout().is_terminal().then(|| terminal_size::terminal_size_of(io::stdout())).flatten();
    // A terminal that does not know its width has none.
    terminal.map(|(width, _)| usize::from(width.0)).filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

/// True if a line on standard error may be written over by the next one.
pub(crate) fn renews() -> bool {
    io::stderr().is_terminal() && !dumb(|name| std::env::var_os(name))
}

/// True if the environment permits colours: TERM names a terminal with escape sequences, and NO_COLOR is unset or empty
/// (no-color.org).
fn wanted(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    !dumb(&variable) && variable("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn dumb(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    variable("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Standard output; failures are recorded. Each write is flushed at once: data still buffered at the end of the process
/// would be lost without a message if it could not be written.
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if stdout_was_closed() {
            return noted(Err(io::Error::other("it was closed from the begin")));
        }
        let mut stdout = io::stdout().lock();
        noted(stdout.write(bytes).and_then(|n| stdout.flush().map(|()| n)))
    }

    fn flush(&mut self) -> io::Result<()> {
        noted(io::stdout().flush())
    }
}

fn noted<T>(written: io::Result<T>) -> io::Result<T> {
    let Err(error) = &written else { return written };
    let kind = match error.kind() {
        ErrorKind::Interrupted => return written,
        ErrorKind::BrokenPipe => GONE,
        _ => FAILED,
    };
    if FAILURE.compare_exchange(FINE, kind, Relaxed, Relaxed).is_ok() && kind == FAILED {
        remark(&format!("standard output: {error}; give it a place that can be written"));
    }
    if kind == GONE
        && let Some(stop) = STOP.get()
    {
        stop.ask(SIGPIPE);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::wanted;
    use std::ffi::OsString;

    #[test]
    fn a_dumb_terminal_and_no_color_have_no_colours() {
        for (term, no_color, colours) in [
            (Some("xterm-256color"), None, true),
            (Some("xterm"), Some(""), true),
            (Some("xterm"), Some("1"), false),
            (Some("dumb"), None, false),
            (Some(""), None, false),
            (None, None, false),
        ] {
            let variable = |name: &str| if name == "TERM" { term } else { no_color }.map(OsString::from);
            assert_eq!(wanted(variable), colours, "TERM {term:?}, NO_COLOR {no_color:?}");
        }
    }
}
