//! Control sockets of long-running commands: how a command is asked, and `show`, which asks it from another shell.
//!
//! A command answers `show` with the document of its state, whatever form is wanted: text, and rates for each second, are
//! made of it by who asks, so that a thread of frames has nothing to do with it.

mod rows;
mod watch;

use super::shared::stop_at_signals;
use crate::print::{print_told, remark};
use crate::trouble::Trouble;
use clap::Args;
use linerate_host::shell::operand;
use linerate_rt::control::{CallError, ControlError, Server, ask, ask_within, list};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

pub(super) use rows::{moved, reasons, rows, table, word};

/// Time limit of a change: longer than that of any device that is opened for it.
const CHANGE: Duration = Duration::from_secs(60);

/// A kind of long-running command.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The same for many, as in "several … run".
    pub(super) many: &'static str,
    /// Command line that starts one.
    pub(super) start: &'static str,
    /// Command line that shows one, without its name.
    pub(super) show: &'static str,
    /// Name that a word stands for.
    pub(super) resolve: fn(&str) -> String,
    /// Text of a document, several lines.
    pub(super) text: fn(&Value) -> String,
    /// Difference between two documents, so many seconds apart, in one line.
    pub(super) moved: fn(&Value, &Value, f64) -> String,
}

/// Arguments of all `show`.
#[derive(Args)]
pub(super) struct Show {
    /// Name or port of the one to show; needless if only one runs.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print one JSON document, with the keys of the command's own final document, or one a line with --watch.
    #[arg(long)]
    json: bool,
    /// Print a line a second until Ctrl-C, or until the command that is shown ends: rates of what moved since the line
    /// before.
    #[arg(long)]
    watch: bool,
}

impl Show {
    /// Name that was typed.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// True if a document is asked for.
    pub(super) const fn json(&self) -> bool {
        self.json
    }

    /// True if a line a second is asked for.
    pub(super) const fn watches(&self) -> bool {
        self.watch
    }

    /// The same, of the one that `-i` names if it does.
    pub(super) fn of(mut self, name: Option<String>) -> Self {
        self.name = name.or(self.name);
        self
    }
}

/// Lets a command be asked by other processes: `document` gives its state. Without a socket the command goes on all the
/// same, and says so.
pub(super) fn serve(
    kind: &Kind,
    name: &str,
    mut document: impl FnMut() -> Result<Value, CallError> + Send + 'static,
) -> Option<Server> {
    let handler = move |words: &[&str]| match words {
        ["show"] => {
            let mut document = document().map_err(|e| e.to_string())?;
            document["pid"] = std::process::id().into();
            Ok(document.to_string())
        }
        _ => Err(format!("{}: there is no such request", words.join(" "))),
    };
    match Server::listen(kind.name, name, handler) {
        Ok(server) => {
            if server.name() != name {
                let (show, name) = (kind.show, server.name());
                remark(&format!("linerate: another one has that name; this one is shown by: {show} '{name}'"));
            }
            Some(server)
        }
        Err(e) => {
            remark(&format!("linerate: there is no control socket ({e}): `{}` cannot show this one", kind.show));
            None
        }
    }
}

/// Name of the one that is meant by what was typed, or of the only one that runs.
pub(super) fn the_one(kind: &Kind, typed: Option<&str>) -> Result<String, Trouble> {
    if let Some(typed) = typed {
        return named(kind, typed);
    }
    let mut names = names(kind)?;
    match names.len() {
        0 => Err(Trouble::failed(format!("no {0} runs as this user; start one: {1}", kind.name, kind.start))),
        1 => Ok(names.remove(0)),
        _ => Err(Trouble::usage(format!("-i is missing: several {} run; give one of {}", kind.many, names.join(", ")))),
    }
}

/// Lets other processes change what a command has that is shown under a name, by a socket of another kind: a change may
/// take its time while the command is shown.
pub(super) fn obey(
    socket: &str,
    shown: Option<&Server>,
    change: impl FnMut(&[&str]) -> Result<String, String> + Send + 'static,
) -> Option<Server> {
    // Without the first socket, nobody would find the second one.
    let served = Server::listen(socket, shown?.name(), change);
    served.inspect_err(|e| remark(&format!("linerate: there is no control socket ({e}): nothing can be changed"))).ok()
}

/// Asks one that runs to change something; returns its answer.
pub(super) fn request(kind: &Kind, socket: &str, name: &str, words: &str) -> Result<String, Trouble> {
    let kind = || kind.name.to_owned();
    ask_within(socket, name, words, CHANGE).map_err(|e| match e {
        ControlError::Refused(line) => Trouble::usage(line),
        ControlError::Nobody { name, .. } => Trouble::failed(ControlError::Nobody { kind: kind(), name }.to_string()),
        ControlError::Silent { name, .. } => Trouble::failed(ControlError::Silent { kind: kind(), name }.to_string()),
        other => Trouble::failed(other.to_string()),
    })
}

pub(super) fn show(kind: &Kind, arguments: &Show) -> Result<ExitCode, Trouble> {
    let name = match &arguments.name {
        Some(typed) => named(kind, typed)?,
        None => {
            let mut names = names(kind)?;
            match names.len() {
                0 => {
                    return Err(Trouble::failed(format!(
                        "no {0} runs as this user; start one: {1}",
                        kind.name, kind.start
                    )));
                }
                1 => names.remove(0),
                _ if arguments.watch => {
                    let names = names.join(", ");
                    return Err(Trouble::usage(format!(
                        "NAME is missing: several {} run; give one of {names}",
                        kind.many
                    )));
                }
                _ => {
                    print_told(&all(kind, &names, arguments.json), arguments.json);
                    return Ok(ExitCode::SUCCESS);
                }
            }
        }
    };
    let first = state(kind, &name)?;
    if arguments.watch {
        return watch::watch(kind, &name, first, arguments.json, &stop_at_signals()?);
    }
    print_told(&if arguments.json { format!("{first}\n") } else { (kind.text)(&first) }, arguments.json);
    Ok(ExitCode::SUCCESS)
}

/// Names of all that run.
pub(super) fn names(kind: &Kind) -> Result<Vec<String>, Trouble> {
    list(kind.name).map_err(|e| Trouble::failed(ControlError::from(e).to_string()))
}

/// Name of the process that a typed name stands for.
fn named(kind: &Kind, typed: &str) -> Result<String, Trouble> {
    let names = names(kind)?;
    let resolved = (kind.resolve)(typed);
    match names.iter().find(|name| *name == typed || **name == resolved) {
        Some(name) => Ok(name.clone()),
        None => {
            let mend = if names.is_empty() {
                format!("start it: {}", kind.start)
            } else {
                format!("give one of {}", names.join(", "))
            };
            Err(Trouble::failed(format!("no {} '{typed}' runs as this user; {mend}", kind.name)))
        }
    }
}

/// All that run, if there are several.
fn all(kind: &Kind, names: &[String], json: bool) -> String {
    if json {
        return format!("{}\n", json!({"schema": "linerate.running", "version": 1, "kind": kind.name, "names": names}));
    }
    names.iter().map(|name| format!("{} {}\n", kind.show, operand(name))).collect()
}

/// State of a process, now.
pub(super) fn state(kind: &Kind, name: &str) -> Result<Value, Trouble> {
    let answer = ask(kind.name, name, "show").map_err(|e| Trouble::failed(e.to_string()))?;
    serde_json::from_str(&answer).map_err(|_| {
        Trouble::failed(format!("{} '{name}' answers with something else: use one version of linerate", kind.name))
    })
}
