//! The host's own adapters, for `nic list`, `nic show NAME` and `nic stats NAME`.

mod file_of_settings;
mod freebsd;
mod head;
mod kept;
mod list;
mod media;
mod module;
mod offloads;
mod queues;
mod record;
mod show;
mod stats;
mod tune;

use crate::trouble::Trouble;
use linerate_host::Absent;
use linerate_host::adapter::{Interface, Machine, Source, find};
use linerate_host::kept;
use linerate_text::path::shown;
use std::path::Path;

pub(super) use kept::{Diff, Restore, Save, diff, restore, save};
pub(super) use list::host;
pub(super) use record::{Record, record};
pub(super) use show::show;
pub(super) use stats::{Stats, stats};
pub(super) use tune::set;
pub(in crate::commands) use tune::{state, told};

/// Finds an interface; one line that says what to do if there is none of that name.
pub(in crate::commands) fn interface(source: &mut dyn Source, name: &str) -> Result<Interface, Trouble> {
    find(source, name).map_err(|absent| if absent.is_gone() { missing(name) } else { failed("netlink", &absent) })
}

fn missing(name: &str) -> Trouble {
    Trouble::usage(format!("{name}: no such interface here; see 'linerate nic list'"))
}

fn failed(subject: &str, absent: &Absent) -> Trouble {
    Trouble::failed(format!("{subject}: {absent}; see what the kernel logged"))
}

/// The place from which adapters are read: the machine, or a tree that `nic record` wrote.
fn source(from: Option<&Path>) -> Result<Box<dyn Source>, Trouble> {
    let Some(root) = from else { return Ok(Box::new(Machine::new())) };
    kept(root).map_err(|e| {
        Trouble::usage(format!(
            "--from {}: {e}; give a directory that 'linerate nic record' wrote",
            shown(&root.to_string_lossy())
        ))
    })
}
