//! The undo file: every value that is about to change, with what it was, written before the first of them changes. So it is
//! right at whatever moment the process is killed: what was not changed by then is as it was, and stays so.

use super::knob::{Knob, same, settings};
use crate::store::{StoreError, data_directory, write_file};
use linerate_host::tunables::{Aim, Target, Value};
use linerate_result::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const SCHEMA: &str = "linerate.doctor.undo";
const VERSION: u32 = 1;
/// Beginnings of the names of files about what is tried, and about what waits to be confirmed.
pub(super) const TRIED: &str = "tried-";
pub(super) const UNCONFIRMED: &str = "unconfirmed-";
/// Longest file.
const LONGEST: u64 = 1 << 20;

/// A value that was changed, or was about to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Was {
    /// Rule whose finding it mends.
    pub rule: String,
    pub before: Value,
    pub after: Value,
    /// Place of the value.
    #[serde(flatten)]
    pub knob: Knob,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    schema: String,
    version: u32,
    /// Start of the machine, and network namespace, for which it is right.
    boot: String,
    namespace: u64,
    #[serde(default)]
    change: Vec<Was>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenBack {
    /// Values that are again as they were, one line each.
    pub done: Vec<String>,
    /// Values that are not, and why.
    pub left: Vec<String>,
}

/// Identifier of the machine's present start, and number of the network namespace.
fn here() -> Result<(String, u64), String> {
    let wrong = |path: &'static str| move |e: std::io::Error| format!("{path}: {e}");
    let path = "/proc/sys/kernel/random/boot_id";
    let boot = std::fs::read_to_string(path).map_err(wrong(path))?;
    let path = "/proc/thread-self/ns/net";
    let namespace = std::fs::metadata(path).map_err(wrong(path))?.ino();
    Ok((boot.trim().to_owned(), namespace))
}

/// Folder of the undo files in the user's data directory.
///
/// # Errors
/// There is no such directory, and none can be made.
pub(super) fn folder() -> Result<PathBuf, String> {
    let folder = data_directory().map_err(|e| e.to_string())?.join("undo");
    linerate_host::place::make_folder(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// A name for a new undo file.
///
/// # Errors
/// There is no folder for it.
pub fn new_file() -> Result<PathBuf, String> {
    Ok(folder()?.join(format!("{}-{}.json", Timestamp::now().compact(), std::process::id())))
}

/// Writes an undo file. It is on the disk when this returns.
pub(super) fn write(path: &Path, changes: &[Was]) -> Result<(), String> {
    let (boot, namespace) = here()?;
    let record = Record { schema: SCHEMA.to_owned(), version: VERSION, boot, namespace, change: changes.to_vec() };
    let text = serde_json::to_string_pretty(&record).map_err(|e| format!("{}: {e}", path.display()))?;
    write_file(path, format!("{text}\n").as_bytes()).map(drop).map_err(|e| match e {
        StoreError::File { why, .. } => {
            format!("{}: {why}; nothing was changed: make room, or name another place by XDG_DATA_HOME", path.display())
        }
        e => e.to_string(),
    })
}

fn read(path: &Path) -> Result<Record, String> {
    let mut text = String::new();
    let mend = "give a file that 'linerate doctor --fix' wrote";
    let bytes = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    if bytes.map_err(|e| format!("{e}; {mend}"))? as u64 > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes; {mend}"));
    }
    // The error has its line and column.
    let record: Record =
        serde_json::from_str(&text).map_err(|e| format!("{}; {mend}", linerate_text::one_line(&e.to_string())))?;
    if (record.schema.as_str(), record.version) != (SCHEMA, VERSION) {
        return Err(format!("it is no undo file of version {VERSION}; {mend}"));
    }
    Ok(record)
}

/// Takes back what an undo file has, the last change first. A value that is neither as it was before nor as it was made is
/// somebody else's by now, and is left alone.
///
/// # Errors
/// One line about a file that cannot be read, or is about another place.
pub fn undo(target: &mut dyn Target, path: &Path) -> Result<TakenBack, String> {
    let wrong = |what: String| format!("{}: {what}", path.display());
    let record = read(path).map_err(wrong)?;
    let (boot, namespace) = here()?;
    if record.boot != boot {
        return Err(wrong(
            "it is from before the machine's last start, which took everything back; delete it".to_owned(),
        ));
    }
    if record.namespace != namespace {
        return Err(wrong("it is of another network namespace; call it there ('ip netns exec NAME …')".to_owned()));
    }
    let taken = take_back(target, &record.change);
    let is_done = taken.left.is_empty() && [TRIED, UNCONFIRMED].iter().any(|start| is_named(path, start));
    if is_done {
        let _ = std::fs::remove_file(path);
    }
    Ok(taken)
}

fn is_named(path: &Path, beginning: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning))
}

/// Files with that beginning of their name that are of this start and network namespace.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn named(beginning: &str) -> Result<Vec<PathBuf>, String> {
    let (folder, here) = (data_directory().map_err(|e| e.to_string())?.join("undo"), here()?);
    let files = match std::fs::read_dir(&folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        files => files.map_err(|e| format!("{}: {e}", folder.display()))?,
    };
    let is_here = |path: &PathBuf| read(path).is_ok_and(|record| (record.boot, record.namespace) == here);
    let mut all: Vec<PathBuf> =
        files.flatten().map(|file| file.path()).filter(|path| is_named(path, beginning) && is_here(path)).collect();
    all.sort();
    Ok(all)
}

pub(super) fn take_back(target: &mut dyn Target, changes: &[Was]) -> TakenBack {
    let mut taken = TakenBack::default();
    let mut open: Vec<&Was> = Vec::new();
    for was in changes.iter().rev() {
        let Was { knob, before, after, .. } = was;
        match knob.read(target) {
            Ok(now) if same(&now, before) => {}
            Ok(now) if same(&now, after) => open.push(was),
            Ok(now) => taken.left.push(format!("{knob}: it is {now}, which was not set here: left as it is")),
            Err(why) => taken.left.push(format!("{knob}: {why}")),
        }
    }
    // Settings of one interface together, as some need others.
    while let Some(first) = open.first().copied() {
        let of = |was: &Was| match (&first.knob, &was.knob) {
            (Knob::Setting { interface, .. }, Knob::Setting { interface: other, .. }) => interface == other,
            (one, other) => one == other,
        };
        let (now, later): (Vec<_>, Vec<_>) = open.iter().copied().partition(|was| of(was));
        open = later;
        for (was, outcome) in now.iter().zip(together(target, &now)) {
            match outcome {
                Ok(()) => taken.done.push(format!("{}: {} again", was.knob, was.before)),
                Err(why) => taken.left.push(format!("{}: {why}", was.knob)),
            }
        }
    }
    taken
}

/// Takes back changes of one interface, or of one file.
fn together(target: &mut dyn Target, all: &[&Was]) -> Vec<Result<(), String>> {
    let name = |was: &Was| match &was.knob {
        Knob::Setting { interface, name } => Some((interface.clone(), name.clone())),
        Knob::File(_) => None,
    };
    let named: Option<Vec<_>> = all.iter().map(|was| name(was)).collect();
    let Some(named) = named.filter(|named| !named.is_empty()) else {
        return all.iter().map(|was| was.knob.set(target, &was.before)).collect();
    };
    let wanted: Vec<_> = named.iter().zip(all).map(|((_, name), was)| (name, &was.before)).collect();
    match settings(target, &named[0].0, &wanted, Aim::Request) {
        Err(why) => all.iter().map(|_| Err(why.clone())).collect(),
        Ok(outcome) => wanted
            .iter()
            .map(|(name, _)| match outcome.refused.iter().find(|one| one.wish.name == **name) {
                Some(refused) => Err(refused.why.to_string()),
                None => Ok(()),
            })
            .collect(),
    }
}
