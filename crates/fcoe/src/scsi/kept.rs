//! What a unit knows after a restart (SPC-4, clause 5.13.5: APTPL; clause 6.43): a text for its keeper, and back.
//!
//! ```text
//! linerate unit 1
//! name 3123456789abcdef
//! key 2000020000000001 0000000000000007     a registered port and its key
//! held 5 2000020000000001                   type of the reservation, and the port that made it
//! persist                                   the lines before are there only with this one
//! unit 0700ff                               identifying information
//! text 6469736b00
//! end 8c9cbbd2a4fb4a8f                      FNV-1a of the lines before
//! ```

use super::Response;
use super::UnitName;
use super::disks::Disks;
use super::identifying::Identifying;
use super::nexus::NexusName;
use super::reserve::Reservations;
use super::unit::{Unit, UnitIndex};
use linerate_wire::Wwn;
use linerate_wire::scsi::{ReserveType, Sense, SenseKey, asc};
use std::fmt::Write;

/// Storage for what units are to know after a restart: a document of each, by its name.
pub trait Keeper {
    /// Returns the document that was last stored for a unit.
    fn load(&mut self, unit: &UnitName) -> Option<Vec<u8>>;

    /// Stores a document in place of the one before; true once it is on stable storage. The command that has changed it
    /// waits for that, and so does the thread.
    fn store(&mut self, unit: &UnitName, document: &[u8]) -> bool;

    /// Reports that a loaded document cannot be read, and so counts for nothing.
    fn damaged(&mut self, unit: &UnitName);
}

const FIRST: &str = "linerate unit 1";

/// The document of a unit.
fn document(unit: &Unit) -> String {
    let mut text = format!("{FIRST}\nname {}\n", unit.name.naa());
    let mut line = |line: std::fmt::Arguments<'_>| {
        // Writing to a string does not fail.
        let _ = text.write_fmt(line);
    };
    if unit.reservations.persists() {
        for (NexusName { wwpn, port }, key) in unit.reservations.registered() {
            line(format_args!("key {:016x} {port} {key:016x}\n", wwpn.0));
        }
        if let Some((kind, NexusName { wwpn, port })) = unit.reservations.held() {
            line(format_args!("held {} {:016x} {port}\n", kind.code(), wwpn.0));
        }
        line(format_args!("persist\n"));
    }
    for (name, bytes) in [("unit", &unit.identifying.unit), ("text", &unit.identifying.text)] {
        if !bytes.is_empty() {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            line(format_args!("{name} {hex}\n"));
        }
    }
    let sum = sum(&text);
    let _ = writeln!(text, "end {sum:016x}");
    text
}

/// Content of a document; None if it is damaged, or another unit's.
fn parse(document: &[u8], name: &UnitName) -> Option<(Reservations, Identifying)> {
    let text = std::str::from_utf8(document).ok()?;
    let at = text.rfind("end ")?;
    let (lines, end) = text.split_at(at);
    if end != format!("end {:016x}\n", sum(lines)) {
        return None;
    }
    let mut lines = lines.lines();
    if lines.next()? != FIRST || lines.next()? != format!("name {}", name.naa()) {
        return None;
    }
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let nexus = |wwpn: &str, port: &str| Some(NexusName { wwpn: Wwn(number(wwpn)?), port: port.parse().ok()? });
    let (mut registered, mut held, mut persist) = (Vec::new(), None, false);
    let mut identifying = Identifying::default();
    for line in lines {
        match *line.split(' ').collect::<Vec<_>>() {
            ["key", wwpn, port, key] => registered.push((nexus(wwpn, port)?, number(key)?)),
            ["held", code, wwpn, port] => {
                held = Some((ReserveType::from_code(code.parse().ok()?)?, nexus(wwpn, port)?));
            }
            ["persist"] => persist = true,
            ["unit", hex] => identifying.unit = bytes(hex)?,
            ["text", hex] => identifying.text = bytes(hex)?,
            _ => return None,
        }
    }
    let reservations = if persist { Reservations::restored(registered, held)? } else { Reservations::default() };
    Some((reservations, identifying))
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = (0..hex.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

fn sum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

impl Disks {
    /// Lets units know after a restart what they are asked to; of disks that are added afterwards.
    pub fn keep_with(&mut self, keeper: Box<dyn Keeper>) {
        self.keeper = Some(keeper);
    }

    /// Brings back what a new unit knew.
    pub(super) fn restore(&mut self, unit: &mut Unit) {
        let Some(keeper) = &mut self.keeper else { return };
        let Some(document) = keeper.load(&unit.name) else { return };
        match parse(&document, &unit.name) {
            Some((reservations, identifying)) => {
                (unit.reservations, unit.identifying) = (reservations, identifying);
            }
            None => keeper.damaged(&unit.name),
        }
    }

    /// Changes a unit, and returns when what it is to know is kept; if it cannot be, nothing has changed.
    pub(super) fn change<T>(
        &mut self,
        index: UnitIndex,
        change: impl FnOnce(&mut Unit) -> Result<T, Response>,
    ) -> Result<T, Response> {
        let unit = &mut self.units[index];
        let Some(keeper) = &mut self.keeper else { return change(unit) };
        let (before, old) = (document(unit), (unit.reservations.clone(), unit.identifying.clone()));
        let done = change(unit)?;
        let after = document(unit);
        if after != before && !keeper.store(&unit.name, after.as_bytes()) {
            (unit.reservations, unit.identifying) = old;
            return Err(Response::check(&Sense::new(SenseKey::HARDWARE_ERROR, asc::TARGET_FAILURE)));
        }
        Ok(done)
    }
}
