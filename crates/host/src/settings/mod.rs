//! Settings of interfaces that are changed for a time and put back even if the process is killed.
//!
//! Before a setting is changed, its value is written durably to a record: a file of this process, which it locks.
//! Changes are put back, the last one first, when the value is dropped; and if the process died, by the next one that
//! calls [`recover`]. Settings that others have changed meanwhile are left as they are, and reported.
//!
//! ```no_run
//! use linerate_host::settings::{self, Setting, Settings};
//! use std::path::{Path, PathBuf};
//! let directory = Path::new(settings::DIRECTORY);
//! settings::recover(directory)?;
//! let mut changed = Settings::open(directory)?;
//! changed.set("eth0", Setting::Mtu(9000))?;
//! changed.set("eth0", Setting::Feature { name: "rx-gro".into(), on: false })?;
//! // ... measure ...
//! for left in changed.undo().left {
//!     eprintln!("{left}");
//! }
//! # Ok::<(), linerate_host::Error>(())
//! ```

mod record;
mod recover;
mod setting;
mod store;
#[cfg(test)]
mod tests;

use crate::error::{Cause, Error};
use crate::netlink::link::LinkState;
use record::{Change, Record};
use setting::{Hands, Key};
use std::io;
use std::path::Path;
use store::Store;

pub use recover::{Undone, recover};
pub use setting::Setting;

/// Root's directory for records. Other users give a directory of their own; `/run` is empty after a boot, as settings
/// are reset then.
pub const DIRECTORY: &str = "/run/linerate";

/// Settings that this process has changed. They are put back when this value is dropped.
///
/// A process that gives up CAP_NET_ADMIN meanwhile cannot put anything back: its record stays for a later [`recover`].
///
/// It may be used from any thread: its requests go to the network namespace in which it was opened. Files of sysfs can
/// be set where `/sys` shows that namespace.
#[must_use = "what was changed is put back when this value goes"]
pub struct Settings {
    hands: Hands,
    store: Store,
    record: Record,
}

fn at(directory: &Path, doing: &str, e: &io::Error) -> Error {
    let cause = if e.kind() == io::ErrorKind::PermissionDenied { Cause::Capability } else { Cause::System };
    let mend = "give a directory that you alone can write, on a disk with room";
    Error::new(directory.display(), cause, format!("{doing}: {e}"), mend)
}

impl Settings {
    /// Opens the directory, and makes it if there is none. Nothing is written before the first change.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let hands = Hands::open()?;
        let make = || {
            store::prepare(directory)?;
            let record = Record { boot: recover::boot()?, net: hands.net(), changes: Vec::new() };
            Ok((Store::new(directory)?, record))
        };
        let (store, record) = make().map_err(|e| at(directory, "making room for a record", &e))?;
        Ok(Self { hands, store, record })
    }

    /// Changes a setting of an interface, after its present value was recorded. Setting the present value changes
    /// nothing; a value that the driver refuses is an error, and nothing of it is recorded.
    pub fn set(&mut self, interface: &str, setting: Setting) -> Result<(), Error> {
        match self.note(interface, setting)? {
            Some(noted) => self.apply(noted),
            None => Ok(()),
        }
    }

    /// Records a change to be made; None if the setting has that value already.
    fn note(&mut self, interface: &str, setting: Setting) -> Result<Option<Noted>, Error> {
        let (key, value) = setting.split();
        let link = self.hands.links.link(interface)?;
        let now = self.hands.read(&link, &key)?;
        if key.same(&now, &value) {
            return Ok(None);
        }
        let earlier = self.record.clone();
        let change = self.change(&link, &key, &now);
        if !change.set.contains(&value) {
            change.set.push(value.clone());
        }
        if let Err(e) = self.write() {
            self.record = earlier;
            return Err(e);
        }
        Ok(Some(Noted { link, key, now, value, earlier }))
    }

    fn apply(&mut self, noted: Noted) -> Result<(), Error> {
        let Noted { link, key, now, value, earlier } = noted;
        let written = self.hands.write(&link, &key, &value);
        let link = self.hands.links.link(&link.name)?;
        let got = self.hands.read(&link, &key)?;
        if key.same(&got, &now) {
            self.record = earlier;
            self.write()?;
            written?;
            let what = format!("{key} stays {now}, whatever is asked");
            return Err(Error::new(&link.name, Cause::Capability, what, "do without: its driver has it so"));
        }
        if !key.same(&got, &value) {
            // The driver set a value near the wanted one: it must be recognised later.
            self.change(&link, &key, &now).set.push(got);
            self.write()?;
        }
        written
    }

    /// The recorded change of a setting; if there is none, a new one with its present value.
    fn change(&mut self, link: &LinkState, key: &Key, now: &str) -> &mut Change {
        let changes = &mut self.record.changes;
        let at = changes.iter().position(|c| c.index == link.index && c.interface == link.name && c.key == *key);
        let at = at.unwrap_or_else(|| {
            let (index, interface) = (link.index, link.name.clone());
            changes.push(Change { index, interface, key: key.clone(), before: now.into(), set: Vec::new() });
            changes.len() - 1
        });
        &mut changes[at]
    }

    fn write(&mut self) -> Result<(), Error> {
        let written = match self.record.changes.is_empty() {
            true => self.store.remove(),
            false => self.store.write(&self.record.encode()),
        };
        written.map_err(|e| at(self.store.path(), "writing the record", &e))
    }

    /// Puts everything back, the last change first. Changes that failed but may succeed later stay in the record for
    /// [`recover`].
    pub fn undo(mut self) -> Undone {
        self.put_back()
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        self.put_back();
    }
}

/// A change that is recorded and not made yet.
struct Noted {
    link: LinkState,
    key: Key,
    now: String,
    value: String,
    /// The record without this change.
    earlier: Record,
}
