//! `nic record NAME DIR`: all that is read of an interface, and of the host around it, written as files, for other machines.

use super::{failed, interface};
use crate::commands::shared::{file, stop_at_signals};
use crate::trouble::Trouble;
use clap::Args;
use linerate_host::adapter::{Machine, Recorder, counters, read};
use linerate_host::shell::{operand, word};
use linerate_lab::doctor::touch;
use linerate_text::path::shown;
use std::path::PathBuf;

#[derive(Args)]
pub(in super::super) struct Record {
    /// The interface.
    #[arg(value_name = "NAME")]
    name: String,
    /// The directory, which must not exist yet. Its files have addresses, names and serial numbers in them, and no keys or
    /// passwords; of /etc those of sysctl.d, modprobe.d and systemd.link alone.
    #[arg(value_name = "DIR", value_parser = file)]
    directory: PathBuf,
}

pub(in super::super) fn record(arguments: &Record) -> Result<String, Trouble> {
    let found = interface(&mut Machine::new(), &arguments.name)?;
    let stop = stop_at_signals()?;
    let place = shown(&arguments.directory.to_string_lossy());
    let refused = |e: std::io::Error| Trouble::usage(format!("{place}: {e}; give a directory that does not exist yet"));
    let mut recorder = Recorder::new(Machine::new(), &arguments.directory, &found.name).map_err(refused)?;
    let adapter = read(&mut recorder, found);
    let all = counters(&mut recorder, &adapter.interface).map_err(|absent| failed(&arguments.name, &absent))?;
    touch(&mut recorder, &adapter.interface.name, &stop).map_err(Trouble::failed)?;
    recorder.finish().map_err(|e| Trouble::failed(format!("{place}: {e}; free some space there")))?;
    let count: usize = all.groups.iter().map(|group| group.rows.0.len()).sum();
    Ok(format!(
        "{}: recorded in {place}, with {}; linerate nic show --from={} {}\n",
        arguments.name,
        linerate_text::many(count, "counter"),
        word(&arguments.directory),
        operand(&arguments.name)
    ))
}
