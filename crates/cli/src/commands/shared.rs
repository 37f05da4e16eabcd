//! Functions shared by commands that measure or run until they are stopped.

use super::kept::Db;
use crate::print::{self, print};
use crate::trouble::Trouble;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction};
use linerate_lab::store::{self, Place, StoreError, Stored};
use linerate_load::flags::{Listed, Takes};
use linerate_load::resolve;
use linerate_result::RunResult;
use linerate_rt::{Capability, Stop, WaitMode, forward_signals, monotonic_ns, pause};
use linerate_text::path::from_text;
use linerate_text::{power, whole};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Parser of a wait mode's name.
pub(super) fn wait() -> impl TypedValueParser<Value = WaitMode> {
    one_of(WaitMode::ALL)
}

/// Parser that maps a table's names to its values: help, completions and errors list the names.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(
    rows: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let rows: Vec<_> = rows.into_iter().collect();
    let names = PossibleValuesParser::new(rows.iter().map(|(name, _)| *name));
    names.try_map(move |typed| rows.iter().find(|(name, _)| *name == typed).map(|(_, row)| *row).ok_or("give another"))
}

/// Name of a port without its options, as in control sockets.
pub(super) fn port_name(typed: &str) -> String {
    let (name, _) = resolve(typed);
    name.split(',').next().unwrap_or_default().to_owned()
}

/// Flags of a program that reads its words itself, for shells to complete.
pub(super) fn arguments(listed: Vec<Listed>) -> Vec<Arg> {
    let arg = |flag: Listed| {
        // The id is a static text that no other flag has.
        let mut arg = Arg::new(flag.about).help(flag.about);
        for name in flag.names {
            arg = match name.strip_prefix("--") {
                Some(long) if arg.get_long().is_some() => arg.visible_alias(long),
                Some(long) => arg.long(long),
                None => arg.short(name.chars().nth(1)),
            };
        }
        match flag.takes {
            Takes::Nothing => arg.action(ArgAction::SetTrue),
            Takes::Maybe => arg.value_name(flag.form).num_args(0..=1),
            Takes::Value | Takes::Values => arg.value_name(flag.form),
        }
    };
    listed.into_iter().map(arg).collect()
}

/// Path of the file or directory that a word names; the bytes of the name are arbitrary.
#[expect(clippy::unnecessary_wraps, reason = "what clap takes")]
pub(super) fn file(text: &str) -> Result<PathBuf, String> {
    Ok(from_text(text))
}

/// A stop that signals request, and the loss of the reader of standard output.
pub(super) fn stop_at_signals() -> Result<Stop, Trouble> {
    let system = |e: std::io::Error| Trouble::failed(format!("signals: {e}; free some descriptors"));
    let stop = Stop::new().map_err(system)?;
    forward_signals(&stop).map_err(system)?;
    print::stop_when_unread(&stop);
    Ok(stop)
}

/// Gives up all privileges except `keep`: all ports and sockets are open, and no later step needs more.
pub(super) fn confine(keep: &[Capability]) {
    if let Err(e) = linerate_rt::confine(keep) {
        eprintln!("linerate: privileges are not given up: {e}");
    }
}

/// Requests the stop after so many seconds, if given.
pub(super) fn stop_after(stop: &Stop, seconds: Option<u64>) {
    if let Some(seconds) = seconds {
        let (stop, until) = (stop.clone(), monotonic_ns() + seconds.saturating_mul(1_000_000_000));
        std::thread::spawn(move || {
            pause(&[&stop], Some(until));
            stop.ask(0);
        });
    }
}

/// Success, or the code of the signal that requested the stop.
pub(super) fn ended(stop: &Stop) -> ExitCode {
    stop.signal().map_or(ExitCode::SUCCESS, |signal| ExitCode::from(128u8.saturating_add(signal)))
}

/// The whole command line, as words.
pub(super) fn typed(words: &[String]) -> Vec<String> {
    std::iter::once("linerate".to_owned()).chain(words.iter().cloned()).collect()
}

/// Prints a result, stores it if a place is given, and prints the paths; it is put on the list of runs. A result that
/// could not be stored is printed too. Without a place only the document is kept.
pub(super) fn conclude(
    run: &RunResult,
    text: &str,
    place: Option<Place>,
    json: bool,
    db: &Db,
) -> Result<ExitCode, Trouble> {
    let stored = match place {
        Some(place) => place.save(run).map(Some).map_err(|e| Trouble::failed(e.to_string())),
        None => db.keep(run).map(|_| None),
    };
    let listed = match &stored {
        Ok(Some(Stored { result, .. })) => db.record(run, result.parent().unwrap_or(Path::new("."))),
        _ => Ok(()),
    };
    print(&if json { run.to_json() } else { text.to_owned() });
    if let Some(stored) = stored? {
        let told = format!("\nResult: {}\nReport: {}", stored.result.display(), stored.report.display());
        // A JSON document is printed alone.
        if json { print::remark(told.trim_start()) } else { print(&(told + "\n")) }
    }
    listed.map(|()| ExitCode::from(run.exit_code()))
}

/// True for a disk without room: no other command line helps.
pub(super) fn is_full(why: &std::io::Error) -> bool {
    matches!(why.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Place for a result, opened before anything is measured: in `directory`, or in the default directory. It can be put on the list.
pub(super) fn place(directory: Option<&Path>, run: &RunResult, db: &Db) -> Result<Place, Trouble> {
    let refused = |error: StoreError| match &error {
        StoreError::Write { why, .. } | StoreError::Directory { why, .. } if is_full(why) => {
            Trouble::failed(error.to_string())
        }
        _ => Trouble::usage(error.to_string()),
    };
    let default = || store::default_directory(run);
    let directory = directory.map_or_else(default, |directory| Ok(directory.to_path_buf())).map_err(refused)?;
    let place = Place::open(&directory).map_err(refused)?;
    db.ready().map(|()| place)
}

/// Rate of a link in bit/s, as it is typed.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let fits = whole(text, |letter| power(letter, 1000)).filter(|n| (1_000_000..=1_000_000_000_000).contains(n));
    fits.ok_or_else(|| "give 1M to 1T (K, M, G, T may follow)".to_owned())
}
