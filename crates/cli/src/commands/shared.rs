//! What commands have in common that measure or run until they are told to stop.

use crate::trouble::{Trouble, print};
use linerate_lab::{store, text};
use linerate_load::result::RunResult;
use linerate_rt::{Capability, Stop, WaitMode, forward_signals, monotonic_ns, pause};
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

/// How a thread waits, by its name.
pub(super) fn wait(text: &str) -> Result<WaitMode, String> {
    let mode = WaitMode::ALL.iter().find(|(name, _)| *name == text);
    mode.map(|(_, mode)| *mode).ok_or_else(|| "give busy, adaptive or sleep".to_owned())
}

/// A stop that signals ask for.
pub(super) fn stop_at_signals() -> Result<Stop, Trouble> {
    let system = |e: std::io::Error| Trouble::failed(format!("signals: {e}; free some descriptors"));
    let stop = Stop::new().map_err(system)?;
    forward_signals(&stop).map_err(system)?;
    Ok(stop)
}

/// Gives up all privileges but these: all ports are open, and nothing later takes more.
pub(super) fn confine(keep: &[Capability]) {
    if let Err(e) = linerate_rt::confine(keep) {
        eprintln!("linerate: privileges are not given up: {e}");
    }
}

/// Asks for the stop after so many seconds, if that is wanted.
pub(super) fn stop_after(stop: &Stop, seconds: Option<u64>) {
    if let Some(seconds) = seconds {
        let (stop, until) = (stop.clone(), monotonic_ns() + seconds.saturating_mul(1_000_000_000));
        std::thread::spawn(move || {
            pause(&[&stop], Some(until));
            stop.ask(0);
        });
    }
}

/// Success, or the code of the signal that asked for the stop.
pub(super) fn ended(stop: &Stop) -> ExitCode {
    stop.signal().map_or(ExitCode::SUCCESS, |signal| ExitCode::from(128u8.saturating_add(signal)))
}

/// The whole command line.
pub(super) fn typed(name: &str, arguments: &[String]) -> Vec<String> {
    ["linerate".to_owned(), name.to_owned()].into_iter().chain(arguments.iter().cloned()).collect()
}

/// Stores a result, in a directory or where results are by default, and prints it.
pub(super) fn conclude(run: &RunResult, directory: Option<&Path>, json: bool) -> Result<ExitCode, Trouble> {
    let stored = store::save(run, directory).map_err(|e| Trouble::failed(e.to_string()))?;
    if json {
        print(&run.to_json());
    } else {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        print(&text::render(run, colour));
        print(&format!("\nResult: {}\nReport: {}\n", stored.result.display(), stored.report.display()));
    }
    Ok(ExitCode::from(run.exit_code()))
}
