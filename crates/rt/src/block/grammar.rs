//! The grammar of block devices.
//!
//! ```text
//!   device = kind ":" name { "," key [ "=" value ] }
//!   kind   = ram | null | file | nbd | nbd+unix                            (KINDS)
//!   name   = what the kind wants: a size, a path, the rest of a URI
//! ```
//! Sizes take K, M, G, T, which are binary: `ram:64M` has 67108864 bytes. A URI has no options, and its commas are written `%2c`.

use super::access::Access;
use super::kinds::{KINDS, Kind, NAA, Naming, SERIAL};
use super::shared::{Waits, share};
use super::{Device, DeviceError};
use crate::identity::hash;
use linerate_block::Backend;
use linerate_fcoe::{Naa, UnitName};
use linerate_text::{
    bytes,
    path::{from_text, to_text},
};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Longest text accepted, in bytes.
const LONGEST: usize = 8192;

/// A block device's text, parsed: the kind is known, name and options are valid for it.
#[derive(Clone)]
pub struct DeviceSpec {
    pub kind: &'static Kind,
    /// Text after the colon, without options.
    pub name: String,
    text: String,
    options: BTreeMap<&'static str, String>,
}

/// A block device that was opened to be a LUN.
pub struct Opened {
    pub backend: Box<dyn Backend + Send>,
    /// Sleepers to wait for while operations are under way; None if each completes as it is submitted.
    pub waits: Option<Waits>,
    /// Access path to its blocks, for display: "io_uring, O_DIRECT", "memory".
    pub path: String,
    /// Type of protection information that was requested (SBC-3, clause 4.22.2): 1, 2 or 3; 0 for none.
    pub protection: u8,
    pub name: UnitName,
}

/// Properties of a LUN besides its device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LunOptions {
    /// Name of a device that has none of its own, such as memory: unique, such as one made from a WWPN and a LUN.
    pub seed: u64,
    /// Time for which operations are held while the device is out of reach.
    pub hold: Duration,
    /// Everything is checked, and nothing is made.
    pub checks: bool,
    /// Serial number, unless the device's text has one.
    pub serial: Option<String>,
    /// World-wide name, unless the device's text has one.
    pub naa: Option<Naa>,
}

impl fmt::Debug for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSpec({})", self.text)
    }
}

/// The text that was parsed.
impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl DeviceSpec {
    /// Parses a device's text and makes all checks that are possible without opening it.
    ///
    /// # Errors
    /// The kind, the name, an option or a value is wrong.
    pub fn parse(text: &str) -> Result<Self, DeviceError> {
        let oops = |what: &str, mend: &str| DeviceError::new(format!("device '{text}'"), what, mend);
        if text.len() > LONGEST || text.contains('\0') {
            return Err(oops("it is too long or has a NUL", "give KIND:NAME"));
        }
        let Some((kind_name, rest)) = text.split_once(':') else {
            return Err(oops("no kind", &format!("give KIND:NAME, KIND being one of {}", kind_names())));
        };
        let Some(kind) = KINDS.iter().find(|kind| kind.name == kind_name) else {
            let what = format!("no kind of device is called '{kind_name}'");
            return Err(oops(&what, &format!("there are {}", kind_names())));
        };
        let (name, list) = rest.split_once(',').map_or((rest, None), |(name, list)| (name, Some(list)));
        if let Some(list) = list.filter(|_| kind.naming == Naming::Uri) {
            let what = format!("{kind_name}: has no options, such as '{list}'");
            return Err(oops(&what, "leave it out, or write %2c for a ',' of the URI's"));
        }
        if name.is_empty() {
            return Err(oops("nothing after the colon", &format!("write it as {}", kind.example)));
        }
        let mut options = BTreeMap::new();
        for part in list.into_iter().flat_map(|list| list.split(',')) {
            let (key, value) = part.split_once('=').map_or((part, None), |(key, value)| (key, Some(value)));
            let Some(row) = kind.options.iter().find(|row| row.key == key) else {
                let keys: Vec<_> = kind.options.iter().map(|row| row.key).collect();
                return Err(oops(
                    &format!("{kind_name}: has no option '{key}'"),
                    &format!("it has {}", keys.join(", ")),
                ));
            };
            let value = match (value, row.value.is_empty()) {
                (None, true) => "",
                (Some(value), false) if !value.is_empty() => value,
                (Some(_), true) => {
                    return Err(oops(&format!("option '{key}' takes no value"), &format!("write {key}")));
                }
                (_, false) => {
                    return Err(oops(&format!("option '{key}' has no value"), &format!("write {key}={}", row.value)));
                }
            };
            if options.insert(row.key, value.to_owned()).is_some() {
                return Err(oops(&format!("option '{key}' stands twice"), "give it once"));
            }
        }
        let spec = Self { kind, name: name.to_owned(), text: text.to_owned(), options };
        (kind.check)(&spec)?;
        spec.check_name()?;
        Ok(spec)
    }

    /// Makes a device from its kind and the text after the colon, in which a comma starts no option; checks it like
    /// [`Self::parse`].
    ///
    /// # Errors
    /// The name is wrong.
    pub fn new(kind: &'static Kind, name: &str) -> Result<Self, DeviceError> {
        let text = format!("{}:{name}", kind.name);
        let spec = Self { kind, name: name.to_owned(), text, options: BTreeMap::new() };
        (kind.check)(&spec)?;
        Ok(spec)
    }

    /// The same device with a path that does not depend on the current directory, for another process.
    ///
    /// # Errors
    /// There is no current directory.
    pub fn absolute(&self) -> Result<Self, DeviceError> {
        if self.kind.naming != Naming::Path {
            return Ok(self.clone());
        }
        let path = std::path::absolute(from_text(&self.name))
            .map_err(|e| self.oops(format!("there is no current directory ({e})"), "give an absolute path"))?;
        let name = to_text(path.as_os_str());
        let options = self.text.get(self.kind.name.len() + 1 + self.name.len()..).unwrap_or_default();
        Ok(Self { text: format!("{}:{name}{options}", self.kind.name), name, ..self.clone() })
    }

    /// Opens the device, to be driven by the thread that opens it.
    ///
    /// # Errors
    /// It does not exist, is not permitted, in use, or not what the text says.
    pub fn device(&self, access: &Access) -> Result<Box<dyn Device>, DeviceError> {
        for key in [SERIAL.key, NAA.key] {
            if self.flag(key) {
                return Err(self.oops(format!("only a LUN has {key}="), "leave it out"));
            }
        }
        (self.kind.open)(self, access, 0)
    }

    /// Opens the device as a LUN. Its name stays the same for as long as the device does, however it is spelled and
    /// opened, unless the options give it another.
    ///
    /// # Errors
    /// It does not exist, is not permitted, in use, or not what the text says.
    pub fn open(&self, lun: &LunOptions) -> Result<Opened, DeviceError> {
        let access = Access { hold: lun.hold, checks: lun.checks, ..Access::default() };
        let mut device = (self.kind.open)(self, &access, hash(&lun.seed.to_be_bytes()))?;
        let serial = self.options.get(SERIAL.key).or(lun.serial.as_ref());
        let mut name = match serial {
            // The same text gives the same name wherever the unit is served.
            Some(text) => UnitName::of_text(text, hash(text.as_bytes()))
                .ok_or_else(|| self.oops(wrong_serial(text), SERIAL_MEND))?,
            None => UnitName::of_number(device.geometry().serial),
        };
        if serial.is_some() && self.kind.forgets {
            name = name.anew(device.geometry().serial);
        }
        if let Some(naa) = self.naa()?.or_else(|| lun.naa.clone()) {
            name = name.with(naa);
        }
        let (path, protection) = (device.path(), self.protection()?);
        if device.memory().is_some() {
            return Ok(Opened { backend: device, waits: None, path, protection, name });
        }
        let (backend, waits) = share(device);
        Ok(Opened { backend: Box::new(backend), waits: Some(waits), path, protection, name })
    }

    fn naa(&self) -> Result<Option<Naa>, DeviceError> {
        let Some(text) = self.options.get(NAA.key) else { return Ok(None) };
        let mend = "give 16 hexadecimal digits that begin with 2, 3 or 5, or 32 that begin with 6";
        text.parse().map(Some).map_err(|_| self.oops(format!("naa={text} is no NAA name"), mend))
    }

    /// Checks the name that the text gives a LUN.
    pub(super) fn check_name(&self) -> Result<(), DeviceError> {
        if let Some(text) = self.options.get(SERIAL.key).filter(|text| UnitName::of_text(text, 0).is_none()) {
            return Err(self.oops(wrong_serial(text), SERIAL_MEND));
        }
        self.naa().map(drop)
    }

    /// True if a flag was given.
    #[must_use]
    pub fn flag(&self, key: &str) -> bool {
        self.options.contains_key(key)
    }

    /// Makes an error about this device.
    pub(super) fn oops(&self, what: impl fmt::Display, mend: impl fmt::Display) -> DeviceError {
        DeviceError::new(&self.text, what, mend)
    }

    /// Parses the name as a size in bytes.
    pub(super) fn size(&self) -> Result<u64, DeviceError> {
        bytes(&self.name).filter(|bytes| *bytes > 0).ok_or_else(|| {
            let what = format!("'{}' is no size", self.name);
            self.oops(what, format!("write it as {}: a number, with K, M, G or T behind it", self.kind.example))
        })
    }

    /// Bytes of a block: `block=512` or `block=4096`.
    pub(super) fn block_size(&self) -> Result<u32, DeviceError> {
        match self.options.get("block").map(String::as_str) {
            None | Some("512") => Ok(512),
            Some("4096" | "4K" | "4k") => Ok(4096),
            Some(other) => Err(self.oops(format!("block={other} will not do"), "give block=512 or block=4096")),
        }
    }

    /// Type of protection information: `pi=1`, `pi=2` or `pi=3`; 0 for none.
    pub(super) fn protection(&self) -> Result<u8, DeviceError> {
        match self.options.get("pi").map(String::as_str) {
            None | Some("0") => Ok(0),
            Some("1") => Ok(1),
            Some("2") => Ok(2),
            Some("3") => Ok(3),
            Some(other) => {
                Err(self.oops(format!("pi={other} will not do"), "give pi=1, pi=2 or pi=3, or leave it out"))
            }
        }
    }
}

fn wrong_serial(text: &str) -> String {
    format!("serial={text} will not do")
}

const SERIAL_MEND: &str = "give 1 to 64 letters, digits, '-', '_' and '.'";

fn kind_names() -> String {
    KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
