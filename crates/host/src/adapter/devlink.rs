//! What devlink tells of the device under an interface (INFO_GET, linux/devlink.h): its versions.

use crate::netlink::message::{attribute, attributes, text};
use serde::Serialize;
use std::collections::BTreeMap;

// linux/devlink.h
const BUS_NAME: u16 = 1;
const DEV_NAME: u16 = 2;
const DRIVER_NAME: u16 = 98;
const SERIAL_NUMBER: u16 = 99;
const VERSION_FIXED: u16 = 100;
const VERSION_RUNNING: u16 = 101;
const VERSION_STORED: u16 = 102;
const VERSION_NAME: u16 = 103;
const VERSION_VALUE: u16 = 104;
const BOARD_SERIAL_NUMBER: u16 = 146;

/// A device, and its versions by their names (`fw`, `fw.mgmt`, `board.id` …).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Devlink {
    /// Bus and name on it: `pci/0000:3b:00.0`.
    pub handle: String,
    pub driver: Option<String>,
    /// Serial number of the device.
    pub serial_number: Option<String>,
    /// Serial number of its board.
    pub board_serial_number: Option<String>,
    /// Versions that do not change.
    pub fixed: BTreeMap<String, String>,
    /// Versions that run now.
    pub running: BTreeMap<String, String>,
    /// Versions that are in its flash, and run after a reset.
    pub stored: BTreeMap<String, String>,
}

impl Devlink {
    /// Names whose stored version is not the running one: name, running, stored.
    pub fn pending(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.stored.iter().filter_map(|(name, stored)| {
            let running = self.running.get(name).filter(|running| *running != stored)?;
            Some((name.as_str(), running.as_str(), stored.as_str()))
        })
    }
}

/// Parses INFO_GET's answer.
pub(crate) fn parse(answer: &[u8]) -> Devlink {
    let word = |kind| attribute(answer, kind).map(text);
    let versions = |wanted| {
        let nested = attributes(answer).filter(|(kind, _)| *kind == wanted);
        let version = |(_, one): (u16, &[u8])| {
            Some((attribute(one, VERSION_NAME).map(text)?, attribute(one, VERSION_VALUE).map(text)?))
        };
        nested.filter_map(version).collect()
    };
    Devlink {
        handle: format!("{}/{}", word(BUS_NAME).unwrap_or_default(), word(DEV_NAME).unwrap_or_default()),
        driver: word(DRIVER_NAME),
        serial_number: word(SERIAL_NUMBER),
        board_serial_number: word(BOARD_SERIAL_NUMBER),
        fixed: versions(VERSION_FIXED),
        running: versions(VERSION_RUNNING),
        stored: versions(VERSION_STORED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::notation::read;

    #[test]
    fn versions_are_told_by_kind_and_name() {
        let answer = "message\n1 text pci\n2 text 0000:3b:00.0\n98 text ice\n99 text 00-01-00-ff\n\
                      100 {\n103 text board.id\n104 text K65390-000\n}\n\
                      101 {\n103 text fw.mgmt\n104 text 7.2.3\n}\n101 {\n103 text fw.undi\n104 text 1.3286.0\n}\n\
                      102 {\n103 text fw.mgmt\n104 text 7.3.4\n}\n102 {\n103 text fw.undi\n104 text 1.3286.0\n}\n\
                      102 {\n103 text fw.app\n104 text 1\n}\n";
        let bytes = read(answer).unwrap().remove(0);
        let told = parse(&bytes);
        assert_eq!((told.handle.as_str(), told.driver.as_deref()), ("pci/0000:3b:00.0", Some("ice")));
        assert_eq!(told.fixed["board.id"], "K65390-000");
        assert_eq!((told.running.len(), told.stored.len()), (2, 3));
        // What does not run at all has no other version.
        assert_eq!(told.pending().collect::<Vec<_>>(), [("fw.mgmt", "7.2.3", "7.3.4")]);
        for length in 0..bytes.len() {
            parse(&bytes[..length]);
        }
        assert_eq!(parse(&[]), Devlink { handle: "/".to_owned(), ..Devlink::default() });
    }
}
