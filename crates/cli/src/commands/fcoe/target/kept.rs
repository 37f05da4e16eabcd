//! What the LUNs know after a restart: persistent reservations (APTPL) and identifying information, a file for each LUN in
//! the state directory.

use crate::print::remark;
use linerate_fcoe::{Keeper, UnitName};
use linerate_rt::{StateFiles, spawn};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Files of the LUNs, named by their NAA names.
pub(super) struct Kept {
    files: Arc<StateFiles>,
    storing: Storing,
}

/// The last store. A disk may take seconds for it, in which frames have to go on: each has a thread of its own, which is
/// cheap enough for what initiators seldom ask for.
enum Storing {
    Nothing,
    UnderWay(String, JoinHandle<bool>),
    Ended(bool),
}

impl Kept {
    /// Files in the state directory; None where nothing can be kept.
    pub(super) fn open() -> Option<Self> {
        Some(Self { files: Arc::new(StateFiles::open("units")?), storing: Storing::Nothing })
    }

    /// Waits for the store under way.
    fn wait(&mut self) {
        self.storing = match std::mem::replace(&mut self.storing, Storing::Nothing) {
            Storing::UnderWay(_, thread) => Storing::Ended(thread.join().unwrap_or(false)),
            ended => ended,
        };
    }
}

impl Keeper for Kept {
    fn load(&mut self, unit: &UnitName) -> Option<Vec<u8>> {
        let name = unit.naa().to_string();
        if matches!(&self.storing, Storing::UnderWay(other, _) if *other == name) {
            self.wait();
        }
        self.files.read(&name).unwrap_or_else(|error| {
            let path = self.files.path(&name);
            let path = path.display();
            remark(&format!("{path}: {error}; reservations in it are not in force: make it readable and start again"));
            None
        })
    }

    fn store(&mut self, unit: &UnitName, document: Vec<u8>) {
        let (files, name) = (self.files.clone(), unit.naa().to_string());
        let path = self.files.path(&name);
        let write = {
            let (path, name) = (path.clone(), name.clone());
            move || told(&path, files.write(&name, &document))
        };
        self.storing = match spawn("keep", &[], write) {
            Ok(thread) => Storing::UnderWay(name, thread),
            Err(error) => Storing::Ended(told(&path, Err(error))),
        };
    }

    fn stored(&mut self) -> Option<bool> {
        if let Storing::UnderWay(_, thread) = &self.storing
            && thread.is_finished()
        {
            self.wait();
        }
        match self.storing {
            Storing::Ended(stored) => {
                self.storing = Storing::Nothing;
                Some(stored)
            }
            _ => None,
        }
    }

    fn damaged(&mut self, unit: &UnitName) {
        let name = unit.naa().to_string();
        let path = self.files.set_aside(&name).unwrap_or_else(|_| self.files.path(&name));
        let path = path.display();
        remark(&format!("{path}: damaged; reservations in it are not in force: have the initiators register again"));
    }
}

/// True if a document was stored; tells the reason otherwise.
fn told(path: &Path, stored: std::io::Result<()>) -> bool {
    if let Err(error) = &stored {
        remark(&format!("{}: {error}; a change of reservations was refused: make room for it", path.display()));
    }
    stored.is_ok()
}
