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

use super::attention::Attentions;
use super::disks::Disks;
use super::identifying::Identifying;
use super::nexus::NexusName;
use super::reserve::{Effects, Reservations};
use super::task::Stage;
use super::unit::{Unit, UnitIndex};
use super::{Response, Step, UnitName};
use crate::PeerId;
use crate::indexed::TableIndex;
use linerate_block::Tag;
use linerate_text::{hex, unhex};
use linerate_wire::Wwn;
use linerate_wire::scsi::{ReserveType, Sense, SenseKey, asc};
use std::collections::VecDeque;
use std::fmt::Write;

/// Storage for what units are to know after a restart: a document of each, by its name.
pub trait Keeper {
    /// Returns the document that was last stored for a unit; the one that is being stored, if it is that unit's.
    fn load(&mut self, unit: &UnitName) -> Option<Vec<u8>>;

    /// Begins to store a document in place of the one before; called again only when [`stored`](Self::stored) has told the
    /// outcome. The command that changes it waits for that, and the thread does not.
    fn store(&mut self, unit: &UnitName, document: Vec<u8>);

    /// Takes the outcome of the last store once it is known: true if the document is on stable storage.
    fn stored(&mut self) -> Option<bool>;

    /// Reports that a loaded document cannot be read, and so counts for nothing.
    fn damaged(&mut self, unit: &UnitName);
}

const FIRST: &str = "linerate unit 1";

/// Time between two looks at a document that is being stored, in ns.
const LOOK: u64 = 1_000_000;

/// The keeper, and what it is asked to keep: one change after the other, of all units.
#[derive(Default)]
pub(super) struct Keeping {
    keeper: Option<Box<dyn Keeper>>,
    /// The change that is being stored.
    change: Option<Change>,
    /// Tasks that want to change a unit after it.
    waiting: VecDeque<Tag>,
    look_at: u64,
}

/// A change of what a unit is to know.
struct Change {
    unit: UnitIndex,
    by: PeerId,
    /// Task that waits for it, unless that was ended.
    task: Option<Tag>,
    reservations: Reservations,
    identifying: Identifying,
    effects: Effects,
}

impl Keeping {
    /// True if units know after a restart what they are asked to.
    pub(super) fn keeps(&self) -> bool {
        self.keeper.is_some()
    }

    /// True if a change of the unit is being stored.
    pub(super) fn is_changing(&self, unit: UnitIndex) -> bool {
        self.change.as_ref().is_some_and(|change| change.unit == unit)
    }

    /// Time at which the outcome of a store is looked for.
    pub(super) fn due(&self) -> Option<u64> {
        self.change.as_ref().map(|_| self.look_at)
    }

    /// Lets a task wait that wants to change a unit; false if it need not.
    pub(super) fn postpone(&mut self, tag: Tag) -> bool {
        if self.change.is_some() {
            self.waiting.push_back(tag);
        }
        self.change.is_some()
    }

    /// Forgets a task that was ended. A change that is being stored goes on: nobody knows whether it can be called back.
    pub(super) fn forget(&mut self, tag: Tag) {
        self.waiting.retain(|waiting| *waiting != tag);
        if let Some(change) = &mut self.change {
            change.task.take_if(|task| *task == tag);
        }
    }
}

/// The document of a unit.
fn document(name: &UnitName, reservations: &Reservations, identifying: &Identifying) -> String {
    let mut text = format!("{FIRST}\nname {}\n", name.naa());
    let mut line = |line: std::fmt::Arguments<'_>| {
        // Writing to a string does not fail.
        let _ = text.write_fmt(line);
    };
    if reservations.persists() {
        for (NexusName { wwpn, port }, key) in reservations.registered() {
            line(format_args!("key {:016x} {port} {key:016x}\n", wwpn.0));
        }
        if let Some((kind, NexusName { wwpn, port })) = reservations.held() {
            line(format_args!("held {} {:016x} {port}\n", kind.code(), wwpn.0));
        }
        line(format_args!("persist\n"));
    }
    for (name, bytes) in [("unit", &identifying.unit), ("text", &identifying.text)] {
        if !bytes.is_empty() {
            line(format_args!("{name} {}\n", hex(bytes)));
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
            ["unit", hex] => identifying.unit = unhex(hex)?,
            ["text", hex] => identifying.text = unhex(hex)?,
            _ => return None,
        }
    }
    let reservations = if persist { Reservations::restored(registered, held)? } else { Reservations::default() };
    Some((reservations, identifying))
}

fn sum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

impl Disks {
    /// Lets units know after a restart what they are asked to; of disks that are added afterwards.
    pub fn keep_with(&mut self, keeper: Box<dyn Keeper>) {
        self.keeping.keeper = Some(keeper);
    }

    /// Brings back what a new unit knew.
    pub(super) fn restore(&mut self, unit: &mut Unit) {
        let Some(keeper) = &mut self.keeping.keeper else { return };
        let Some(document) = keeper.load(&unit.name) else { return };
        match parse(&document, &unit.name) {
            Some((reservations, identifying)) => {
                (unit.reservations, unit.identifying) = (reservations, identifying);
            }
            None => keeper.damaged(&unit.name),
        }
    }

    /// Changes a unit for a task, which ends when what the unit is to know is kept (SPC-4, clause 6.16.3: GOOD means that);
    /// if it cannot be, nothing has changed.
    pub(super) fn change(
        &mut self,
        tag: Tag,
        change: impl FnOnce(&mut Reservations, &mut Identifying) -> Result<Effects, Response>,
    ) -> Result<Step, Response> {
        let slot = &mut self.tasks[tag];
        let unit = &self.units[slot.unit];
        let (mut reservations, mut identifying) = (unit.reservations.clone(), unit.identifying.clone());
        let effects = change(&mut reservations, &mut identifying)?;
        let after = document(&unit.name, &reservations, &identifying);
        let is_new = after != document(&unit.name, &unit.reservations, &unit.identifying);
        let (unit, by, task) = (slot.unit, slot.nexus, Some(tag));
        let change = Change { unit, by, task, reservations, identifying, effects };
        match &mut self.keeping.keeper {
            Some(keeper) if is_new => {
                keeper.store(&self.units[unit].name, after.into_bytes());
                self.keeping.change = Some(change);
                slot.stage = Stage::Keeping;
                Ok(Step::Pending)
            }
            _ => {
                let then = Response::good(slot.wanted);
                self.put_in_force(change);
                Ok(Step::End(then))
            }
        }
    }

    /// Ends the change whose document was stored, and goes on with those that waited for it.
    pub(super) fn tend_kept(&mut self, now: u64) {
        self.keeping.look_at = now.saturating_add(LOOK);
        let Keeping { keeper: Some(keeper), change, .. } = &mut self.keeping else { return };
        let Some(stored) = change.as_ref().and_then(|_| keeper.stored()) else { return };
        let Some(change) = change.take() else { return };
        let task = change.task;
        if stored {
            self.put_in_force(change);
        }
        if let Some(tag) = task {
            let then = if stored {
                Response::good(self.tasks[tag].wanted)
            } else {
                Response::check(&Sense::new(SenseKey::HARDWARE_ERROR, asc::TARGET_FAILURE))
            };
            self.post(tag, Step::End(then));
        }
        while self.keeping.change.is_none()
            && let Some(tag) = self.keeping.waiting.pop_front()
        {
            let step = self.act(tag).unwrap_or_else(Step::End);
            self.post(tag, step);
        }
    }

    fn put_in_force(&mut self, change: Change) {
        let Change { unit: index, by, reservations, identifying, effects, .. } = change;
        let unit = &mut self.units[index];
        unit.reservations = reservations;
        // SPC-4, clause 6.43: all others are told of other identifying information.
        if std::mem::replace(&mut unit.identifying, identifying) != unit.identifying {
            self.tell(index, Attentions::IDENTIFIER_CHANGED, Some(by));
        }
        for (told, attention) in effects.told {
            for other in self.nexuses.iter_mut().filter(|other| other.name == told) {
                other.units[index.number()].add(attention);
            }
        }
        for aborted in effects.aborted {
            let named = self.nexuses.iter_mut().filter(|other| other.name == aborted);
            for id in named.map(|other| other.id).collect::<Vec<_>>() {
                // These are tasks of other initiators, which end with TASK ABORTED.
                self.end_tasks(index, Some(by), Some(id), &mut |_| {});
            }
        }
    }
}
