//! Protection information (SBC-3, clause 4.22) between whoever reads and writes a remote disk and the disk itself (DIX).
//!
//! It is made from the data of a WRITE as soon as that is handed over, kept apart from it, and joined with it for the
//! wire; of a READ it is taken apart again, and compared with the data where that is handed on.

use linerate_fcoe::{
    Carried, FoundLun, Guard, Protection, ProtectionChecks, ProtectionError, ProtectionTuple, ProtectionType,
};
use std::fmt;
use std::str::FromStr;

/// Protection information that is generated and checked here, for disks that are formatted with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integrity {
    /// Guard between here and whoever reads and writes; None to do without protection information. An IP checksum
    /// becomes a CRC on its way to the wire.
    pub guard: Option<Guard>,
    /// RDPROTECT and WRPROTECT, 1 to 5: the fields that the target checks (SBC-3, clauses 5.11 and 5.33).
    pub protect: u8,
    /// Application tag to write, and to expect; otherwise zero, and any.
    pub application: Option<u16>,
}

impl Integrity {
    /// Neither generated nor checked.
    pub const OFF: Self = Self { guard: None, protect: 0, application: None };
}

impl Default for Integrity {
    /// CRCs, which the target checks too.
    fn default() -> Self {
        Self { guard: Some(Guard::Crc16), protect: 1, application: None }
    }
}

impl FromStr for Integrity {
    type Err = String;

    /// Parses `off`, or `crc` or `ip` and options behind commas: `app=TAG`, `protect=N`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split(',');
        let mut integrity = match words.next() {
            Some("crc") => Self::default(),
            Some("ip") => Self { guard: Some(Guard::IpChecksum), ..Self::default() },
            Some("off") if text == "off" => return Ok(Self::OFF),
            _ => return Err("give crc, ip or off".to_owned()),
        };
        for word in words {
            match word.split_once('=') {
                Some(("app", tag)) => integrity.application = Some(application(tag)?),
                Some(("protect", n)) => {
                    let number = n.parse().ok().filter(|n| (1..=5).contains(n));
                    integrity.protect = number.ok_or("protect= is RDPROTECT and WRPROTECT: give 1 to 5")?;
                }
                _ => return Err(format!("there is no {word:?}: give app=TAG or protect=N, as crc,protect=3")),
            }
        }
        Ok(integrity)
    }
}

/// An application tag; all ones would mean that nothing is checked.
fn application(text: &str) -> Result<u16, String> {
    let tag = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    tag.filter(|tag| *tag != u16::MAX)
        .ok_or_else(|| "app= is the application tag: give 0 to 65534, as 0x1234".to_owned())
}

/// Block that does not match its protection information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) field: Field,
    pub(super) lba: u64,
}

/// Field of the protection information that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Guard,
    Application,
    Reference,
}

impl Mismatch {
    fn new(error: ProtectionError, lba: u64) -> Self {
        let (field, block) = match error {
            ProtectionError::Guard(block) => (Field::Guard, block),
            ProtectionError::Application(block) => (Field::Application, block),
            ProtectionError::Reference(block) => (Field::Reference, block),
        };
        Self { field, lba: lba.saturating_add(block) }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, meaning) = match self.field {
            Field::Guard => ("guard", "its data has changed"),
            Field::Application => ("application tag", "it belongs to something else"),
            Field::Reference => ("reference tag", "it belongs to another address"),
        };
        write!(f, "the {field} of the block at {} is wrong: {meaning}", self.lba)
    }
}

/// Operations that ended because a block did not match its protection information, by the field that differed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mismatches {
    pub guard: u64,
    pub application: u64,
    pub reference: u64,
}

impl Mismatches {
    pub(super) fn count(&mut self, field: Field) {
        *(match field {
            Field::Guard => &mut self.guard,
            Field::Application => &mut self.application,
            Field::Reference => &mut self.reference,
        }) += 1;
    }
}

/// The two sides between which protection information of a disk passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Towards whoever reads and writes.
    host: Protection,
    wire: Protection,
    application: u16,
    checks: ProtectionChecks,
}

impl Edge {
    /// Edge of a disk, whose commands carry protection information from now on; none if the disk has no known type of
    /// it, or has it for parts of blocks (SBC-3, clause 4.22.3), or if it is not wanted.
    pub(super) fn of(lun: &mut FoundLun, wanted: &Integrity) -> Option<Self> {
        let (kind, guard) = (ProtectionType::of(lun.protection)?, wanted.guard?);
        if lun.interval_exponent != 0 {
            return None;
        }
        lun.carried = Some(Carried { kind, protect: wanted.protect, application: wanted.application });
        let side = |guard| Protection { kind, guard, block: lun.block_size as usize };
        let application = wanted.application.map(|tag| (tag, u16::MAX));
        Some(Self {
            host: side(guard),
            wire: side(Guard::Crc16),
            application: wanted.application.unwrap_or(0),
            checks: ProtectionChecks { guard: true, reference: true, application },
        })
    }

    /// Guard towards whoever reads and writes.
    pub(super) fn guard(&self) -> Guard {
        self.host.guard
    }

    /// Room for the protection information of so many bytes.
    pub(super) fn room(&self, len: usize) -> Vec<u8> {
        vec![0; len / self.host.block * ProtectionTuple::LEN]
    }

    /// Makes the protection information of data that is to be written at `lba`.
    pub(super) fn generate(&self, lba: u64, data: &[u8]) -> Vec<u8> {
        let mut tuples = self.room(data.len());
        self.host.generate(data, self.application, self.host.kind.reference(lba), &mut tuples);
        tuples
    }

    /// Joins the blocks at `lba` with their protection information for the wire.
    pub(super) fn join(&self, lba: u64, data: &[u8], tuples: &[u8], wire: &mut [u8]) -> Result<(), Mismatch> {
        self.host.join(data, tuples, self.wire.guard, wire).map_err(|error| Mismatch::new(error, lba))
    }

    /// Fills a buffer for the wire with zeros that are to be written at `lba`. Protection information of those that may
    /// be deallocated is all ones: with another they could not be (SBC-3, clause 5.44).
    pub(super) fn zeros(&self, lba: u64, deallocates: bool, wire: &mut [u8]) {
        wire.fill(0);
        if deallocates {
            let (block, stride) = (self.wire.block, self.wire.stride());
            wire.chunks_exact_mut(stride).for_each(|to| to[block..].fill(u8::MAX));
        } else {
            self.wire.seal(wire, self.application, self.wire.kind.reference(lba));
        }
    }

    /// Takes the blocks at `lba` from the wire, and their protection information.
    pub(super) fn split(&self, lba: u64, wire: &[u8], data: &mut [u8], tuples: &mut [u8]) -> Result<(), Mismatch> {
        self.wire.split(wire, self.host.guard, data, tuples).map_err(|error| Mismatch::new(error, lba))
    }

    /// Compares the blocks at `lba` with their protection information, where they are handed on.
    pub(super) fn check(&self, lba: u64, data: &[u8], tuples: &[u8]) -> Result<(), Mismatch> {
        let first = self.host.kind.reference(lba);
        self.host.verify_apart(data, tuples, first, &self.checks).map_err(|error| Mismatch::new(error, lba))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_checked_is_said_in_words() {
        let default = Integrity::default();
        let ip = Integrity { guard: Some(Guard::IpChecksum), ..default };
        for (text, what) in [
            ("crc", default),
            ("ip", ip),
            ("off", Integrity::OFF),
            ("crc,protect=3", Integrity { protect: 3, ..default }),
            ("ip,app=0x1234", Integrity { application: Some(0x1234), ..ip }),
            ("crc,app=5,protect=5", Integrity { application: Some(5), protect: 5, ..default }),
        ] {
            assert_eq!(text.parse(), Ok(what), "{text}");
        }
        let wrong = [
            "",
            "on",
            "crc16",
            "off,app=1",
            "crc,protect=0",
            "crc,protect=6",
            "crc,app=65535",
            "crc,app=0xffff",
            "ip,x",
            "crc,",
        ];
        for text in wrong {
            assert!(text.parse::<Integrity>().is_err(), "{text}");
        }
    }
}
