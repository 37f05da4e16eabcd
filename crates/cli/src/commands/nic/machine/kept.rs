//! `nic save`, `diff` and `restore`: settings of an interface in a file.

use super::tune::{self, state};
use super::{file_of_settings as form, source};
use crate::commands::shared::file;
use crate::print::print;
use crate::trouble::Trouble;
use clap::Args;
use linerate_host::adapter::{Machine, Question};
use linerate_host::shell::word;
use linerate_host::tunables::{self, Aim, Group, State, Wish};
use linerate_lab::store::{StoreError, write_file};
use linerate_text::path::shown;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub(in super::super) struct Save {
    /// The interface.
    #[arg(value_name = "NAME")]
    name: String,
    /// The file, which is overwritten.
    #[arg(value_name = "FILE", value_parser = file)]
    file: PathBuf,
    /// Save the machine's network settings too (net.core.rmem_max and others).
    #[arg(long)]
    sysctl: bool,
    /// Read a tree that `nic record` wrote, and not this machine.
    #[arg(long, value_name = "DIR", value_parser = file)]
    from: Option<PathBuf>,
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 nothing differs, 1 the interface could not be read, 2 wrong on the command line or in \
the file, 3 something differs, 128+n ended by signal n"
)]
pub(in super::super) struct Diff {
    /// The interface.
    #[arg(value_name = "NAME")]
    name: String,
    /// A file that `nic save` wrote.
    #[arg(value_name = "FILE", value_parser = file)]
    file: PathBuf,
    /// Read a tree that `nic record` wrote, and not this machine.
    #[arg(long, value_name = "DIR", value_parser = file)]
    from: Option<PathBuf>,
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 the interface is as the file says, 1 something was refused, 2 wrong on the command \
line or in the file, 128+n ended by signal n"
)]
pub(in super::super) struct Restore {
    /// The interface.
    #[arg(value_name = "NAME")]
    name: String,
    /// A file that `nic save` wrote.
    #[arg(value_name = "FILE", value_parser = file)]
    file: PathBuf,
}

pub(in super::super) fn save(arguments: &Save) -> Result<String, Trouble> {
    let mut source = source(arguments.from.as_deref())?;
    let (subject, state) = state(source.as_mut(), &arguments.name)?;
    let driver = source.ask(Question::Driver, Some(&subject)).ok().and_then(|mut blobs| blobs.pop());
    let driver = driver.map(|blob| linerate_host::Driver::parse(&blob)).unwrap_or_default();
    let kept: Vec<_> =
        state.all.iter().filter(|one| !one.fixed && (arguments.sysctl || one.group != Group::Sysctl)).collect();
    let text = form::write(&subject.name, &driver, &kept);
    let place = shown(&arguments.file.to_string_lossy());
    // What was there before stays until all is written.
    write_file(&arguments.file, text.as_bytes()).map_err(|e| match e {
        StoreError::File { why, .. } if why.kind() == ErrorKind::StorageFull => {
            Trouble::failed(format!("{place}: {why}; free some space"))
        }
        StoreError::File { why, .. } => Trouble::usage(format!("{place}: {why}; give a file that you can write")),
        e => Trouble::usage(e.to_string()),
    })?;
    let name = &arguments.name;
    let rest = absent(&state).map(|(group, why)| format!("not saved: {}: {why}\n", group.name())).collect::<String>();
    let next = format!("linerate nic diff -- {} {}", word(name), word(&arguments.file));
    Ok(format!("{name}: {} saved in {place}; {next}\n{rest}", linerate_text::many(kept.len(), "setting")))
}

/// Groups that an interface has not, each name once.
fn absent(state: &State) -> impl Iterator<Item = (Group, &linerate_host::Absent)> {
    let others = &state.absent;
    let first = |at: usize, group: Group| others[..at].iter().all(|(other, _)| other.name() != group.name());
    let named = others.iter().enumerate().filter(move |(at, (group, _))| first(*at, *group));
    named.map(|(_, (group, why))| (*group, why))
}

/// Wishes of a file.
fn wishes(path: &Path) -> Result<Vec<Wish>, Trouble> {
    form::read(path).map_err(|what| Trouble::usage(format!("{}: {what}", shown(&path.to_string_lossy()))))
}

pub(in super::super) fn diff(arguments: &Diff) -> Result<ExitCode, Trouble> {
    let wishes = wishes(&arguments.file)?;
    let (_, state) = state(source(arguments.from.as_deref())?.as_mut(), &arguments.name)?;
    let (mut text, mut rest, mut differs) = (String::new(), String::new(), false);
    for wish in &wishes {
        match state.get(&wish.name) {
            Some(one) if tunables::same(&one.kept(), &wish.value) => {}
            Some(one) => {
                differs = true;
                let fixed = match () {
                    () if one.fixed => " (its driver has it fixed)",
                    () if one.kept() != one.value => " (requested here, and off in effect)",
                    () => "",
                };
                text += &format!("{}: {} here, {} in the file{fixed}\n", wish.name, one.kept(), wish.value);
            }
            None => {
                let why = tunables::why_not(&state, &wish.name);
                rest += &format!("{}: not compared: {why}; {} in the file\n", wish.name, wish.value);
            }
        }
    }
    // The machine's own settings are in a file only if they were asked for.
    let sysctl = wishes.iter().any(|wish| tunables::group_of_name(&wish.name) == Group::Sysctl);
    for one in state.all.iter().filter(|one| !one.fixed && (sysctl || one.group != Group::Sysctl)) {
        if !wishes.iter().any(|wish| wish.name == one.name) {
            rest += &format!("{}: not compared: it is not in the file; {} here\n", one.name, one.value);
        }
    }
    print(&(text + &rest));
    Ok(if differs { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

pub(in super::super) fn restore(arguments: &Restore) -> Result<ExitCode, Trouble> {
    let wishes = wishes(&arguments.file)?;
    let mut machine = Machine::new();
    let (subject, _) = state(&mut machine, &arguments.name)?;
    let outcome = tunables::apply(&mut machine, &subject, &wishes, Aim::Request);
    tune::told(&arguments.name, &outcome)
}
