//! Standard output and standard error: the one way in which commands print.
//!
//! `println!` and `eprintln!` panic when nobody takes what they write. Here a failed write is noted, and [`failure`] says at
//! the end what it makes of the exit code: a reader that is gone ends the command at once and in silence, with SIGPIPE's
//! code; after any other failure, which is said when it happens, the command goes on and ends with 1. Lines on standard
//! error that cannot be written are lost: there is nowhere left to say so.

use linerate_load::pktgen::Output;
use linerate_rt::Stop;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The signal by which a reader that is gone ends programs that do not ask for it to be otherwise.
const SIGPIPE: u8 = 13;

/// Nothing has failed; the reader is gone; something else.
const FINE: u8 = 0;
const GONE: u8 = 1;
const FAILED: u8 = 2;

/// The first failure of a write to standard output. Only its own value counts, so no order of memory matters.
static FAILURE: AtomicU8 = AtomicU8::new(FINE);
/// Asked when the reader is gone.
static STOP: OnceLock<Stop> = OnceLock::new();

/// Prints a result to standard output.
pub(crate) fn print(text: &str) {
    // Noted below.
    let _ = Stdout.write_all(text.as_bytes());
}

/// Prints a line that is no result to standard error.
pub(crate) fn remark(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Standard output and standard error as pkt-gen and its kin write them.
pub(crate) fn output(documents: bool, stop: &Stop) -> Arc<Output> {
    Arc::new(Output::new(Box::new(Stdout), Box::new(io::stderr()), documents, stop))
}

/// Has a command stop when nobody reads its results any more.
pub(crate) fn stop_when_unread(stop: &Stop) {
    if FAILURE.load(Relaxed) == GONE {
        stop.ask(SIGPIPE);
    }
    STOP.get_or_init(|| stop.clone());
}

/// Notes that nobody reads standard output any more, where something else than [`Stdout`] writes to it.
pub(crate) fn unread() {
    let _ = noted::<()>(Err(ErrorKind::BrokenPipe.into()));
}

/// Whether the reader of standard output is gone: a command then ends in silence.
pub(crate) fn is_unread() -> bool {
    FAILURE.load(Relaxed) == GONE
}

/// The exit code that a failed write asks for, whatever else the command came to.
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

/// True if a line on standard error may be written over by the next one.
pub(crate) fn renews() -> bool {
    io::stderr().is_terminal() && !dumb(|name| std::env::var_os(name))
}

/// A terminal that knows no escape sequences says so in TERM; NO_COLOR, if it is set and not empty, asks for none
/// (no-color.org).
fn wanted(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    !dumb(&variable) && variable("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn dumb(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    variable("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Standard output; what fails is noted. Each write goes out at once: what stays in a buffer until the process ends is lost
/// in silence when it cannot be written then.
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let mut stdout = io::stdout().lock();
        noted(stdout.write(octets).and_then(|n| stdout.flush().map(|()| n)))
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
