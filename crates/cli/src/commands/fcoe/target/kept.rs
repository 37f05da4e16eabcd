//! What the LUNs know after a restart: persistent reservations (APTPL) and identifying information, a file for each LUN in
//! the state directory.

use crate::print::remark;
use linerate_fcoe::{Keeper, UnitName};
use linerate_rt::StateFiles;

/// Files of the LUNs, named by their NAA names.
pub(super) struct Kept(StateFiles);

impl Kept {
    /// Files in the state directory; None where nothing can be kept.
    pub(super) fn open() -> Option<Self> {
        StateFiles::open("units").map(Self)
    }
}

impl Keeper for Kept {
    fn load(&mut self, unit: &UnitName) -> Option<Vec<u8>> {
        let name = unit.naa().to_string();
        self.0.read(&name).unwrap_or_else(|error| {
            let path = self.0.path(&name);
            let path = path.display();
            remark(&format!("{path}: {error}; reservations in it are not in force: make it readable and start again"));
            None
        })
    }

    fn store(&mut self, unit: &UnitName, document: &[u8]) -> bool {
        let name = unit.naa().to_string();
        let stored = self.0.write(&name, document);
        if let Err(error) = &stored {
            let path = self.0.path(&name);
            remark(&format!("{}: {error}; a change of reservations was refused: make room for it", path.display()));
        }
        stored.is_ok()
    }

    fn damaged(&mut self, unit: &UnitName) {
        let name = unit.naa().to_string();
        let path = self.0.set_aside(&name).unwrap_or_else(|_| self.0.path(&name));
        let path = path.display();
        remark(&format!("{path}: damaged; reservations in it are not in force: have the initiators register again"));
    }
}
