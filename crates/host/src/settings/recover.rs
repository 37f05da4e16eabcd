//! Putting settings back: those changed by this process, and those changed by processes that have died.

use super::record::{Change, Record};
use super::setting::Hands;
use super::store::{self, Found, Store};
use super::{Settings, at};
use crate::error::{Cause, Error};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Result of putting changes back.
#[derive(Clone, Debug, Default)]
pub struct Undone {
    /// Settings that were put back, one line each.
    pub restored: Vec<String>,
    /// Settings that were not put back, and why.
    pub left: Vec<Error>,
}

/// Identifier of the current boot.
pub(super) fn boot() -> io::Result<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().into())
}

impl Settings {
    pub(super) fn put_back(&mut self) -> Undone {
        let mut undone = Undone::default();
        let all = std::mem::take(&mut self.record.changes);
        let count = all.len();
        for change in all.into_iter().rev() {
            match restore(&mut self.hands, &change) {
                Ok(true) => undone.restored.push(told(&change)),
                Ok(false) => {}
                Err(Left::ForGood(e)) => undone.left.push(e),
                Err(Left::ForNow(e)) => {
                    undone.left.push(e);
                    self.record.changes.insert(0, change);
                }
            }
        }
        // A record that stays as it is keeps its age, which decides the order of recovery.
        if self.record.changes.len() < count {
            undone.left.extend(self.write().err());
        }
        // Another attempt would fail in the same way.
        self.record.changes.clear();
        undone
    }
}

/// Reason for which a change was not put back.
pub(super) enum Left {
    /// Permanent: no later attempt can succeed.
    ForGood(Error),
    /// Temporary: a later attempt may succeed.
    ForNow(Error),
}

fn told(change: &Change) -> String {
    format!("{}: {} {} again", change.interface, change.key, change.before)
}

/// Puts one setting back; false if there was nothing to do.
pub(super) fn restore(hands: &mut Hands, change: &Change) -> Result<bool, Left> {
    let Change { interface, key, before, set, .. } = change;
    let link = match hands.links.link_at(change.index) {
        Err(e) if e.cause != Cause::Missing => return Err(Left::ForNow(e)),
        link => link.ok().filter(|link| link.name == *interface).ok_or_else(|| {
            let what = format!("{key} was changed and cannot be put back: the interface is gone");
            Left::ForGood(Error::new(
                interface,
                Cause::Missing,
                what,
                format!("nothing is to be done; it was {before}"),
            ))
        })?,
    };
    let now = hands.read(&link, key).map_err(Left::ForNow)?;
    if key.same(&now, before) {
        return Ok(false);
    }
    if !set.iter().any(|value| key.same(&now, value)) {
        let what = format!("{key} is {now}, which somebody else has set meanwhile; it is left so");
        return Err(Left::ForGood(Error::new(interface, Cause::Busy, what, format!("it was {before} before"))));
    }
    hands.write(&link, key, before).map_err(Left::ForNow)?;
    Ok(true)
}

/// Puts back the changes of processes that have died, in this network namespace, the newest record first. Records of an
/// earlier boot are deleted, those of other network namespaces kept. Files that are no records are reported and kept.
pub fn recover(directory: &Path) -> Result<Undone, Error> {
    let mut undone = Undone::default();
    let boot = boot().map_err(|e| at(directory, "asking for the kernel's boot", &e))?;
    for path in newest_first(directory).map_err(|e| at(directory, "looking for records", &e))? {
        let foreign = |why: &str| {
            let mend = "look at it, and delete it if it is not yours";
            Error::new(path.display(), Cause::System, format!("{why}; it is left as it is"), mend)
        };
        let (mut store, bytes) = match Store::find(directory, path.clone()) {
            Ok(Found::Abandoned(store, bytes)) => (store, bytes),
            Ok(Found::Nothing) => continue,
            Ok(Found::Foreign(why)) => {
                undone.left.push(foreign(why));
                continue;
            }
            Err(e) => {
                undone.left.push(at(&path, "reading it", &e));
                continue;
            }
        };
        let record = match Record::decode(&bytes) {
            Ok(record) => record,
            Err(why) => {
                undone.left.push(foreign(why));
                continue;
            }
        };
        if record.boot != boot || record.changes.is_empty() {
            undone.left.extend(store.remove().err().map(|e| at(&path, "deleting it", &e)));
            continue;
        }
        let hands = Hands::open()?;
        if record.net != hands.net() {
            continue;
        }
        let some = Settings { hands, store, record }.undo();
        undone.restored.extend(some.restored);
        undone.left.extend(some.left);
    }
    Ok(undone)
}

/// Records and other files of a directory, newest first; empty if there is no directory.
pub(super) fn newest_first(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    store::check(directory)?;
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let written = entry.metadata().and_then(|m| m.modified()).ok();
        files.push((written, entry.path()));
    }
    files.sort();
    Ok(files.into_iter().rev().map(|(_, path)| path).collect())
}
