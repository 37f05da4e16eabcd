//! `nic record NAME DIR`: all that is read of an interface, written as files, for machines that do not have the card.

use super::{failed, interface};
use crate::commands::shared::file;
use crate::trouble::Trouble;
use clap::Args;
use linerate_host::adapter::{Machine, Recorder, counters, read};
use linerate_host::shell::{operand, word};
use linerate_text::path::shown;
use std::path::PathBuf;

#[derive(Args)]
pub(in super::super) struct Record {
    /// The interface.
    #[arg(value_name = "NAME")]
    name: String,
    /// The directory, which must not exist yet. Its files have addresses and serial numbers in them.
    #[arg(value_name = "DIR", value_parser = file)]
    directory: PathBuf,
}

pub(in super::super) fn record(arguments: &Record) -> Result<String, Trouble> {
    let found = interface(&mut Machine::new(), &arguments.name)?;
    let place = shown(&arguments.directory.to_string_lossy());
    let refused = |e: std::io::Error| Trouble::usage(format!("{place}: {e}; give a directory that does not exist yet"));
    let mut recorder = Recorder::new(Machine::new(), &arguments.directory).map_err(refused)?;
    let adapter = read(&mut recorder, found);
    let all = counters(&mut recorder, &adapter.interface).map_err(|absent| failed(&arguments.name, &absent))?;
    recorder.finish().map_err(|e| Trouble::failed(format!("{place}: {e}; free some space there")))?;
    let count: usize = all.groups.iter().map(|group| group.rows.0.len()).sum();
    Ok(format!(
        "{}: recorded in {place}, with {count} counters; linerate nic show --from={} {}\n",
        arguments.name,
        word(&arguments.directory),
        operand(&arguments.name)
    ))
}
