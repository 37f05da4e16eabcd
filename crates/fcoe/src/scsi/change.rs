//! The set of disks, and its changes while initiators are logged in: disks that come, go and grow, and who may see them.

use super::attention::Attentions;
use super::disks::{Disks, DisksError, UnitOptions};
use super::task::Stage;
use super::unit::{NO_UNIT, Presence, Unit, UnitIndex};
use crate::indexed::TableIndex;
use linerate_block::{Backend, Completion, Geometry, Operation, Tag};
use linerate_wire::Wwn;

impl Disks {
    /// Adds a disk; with protection information of type 1 if its back end keeps any. Initiators that are logged in and see
    /// it are notified (REPORTED LUNS DATA HAS CHANGED).
    ///
    /// # Errors
    ///
    /// [`DisksError`]; nothing is added then.
    pub fn add(&mut self, lun: u16, backend: Box<dyn Backend>) -> Result<(), DisksError> {
        self.add_with(lun, backend, UnitOptions::default())
    }

    /// Adds a disk with these properties.
    ///
    /// # Errors
    ///
    /// [`DisksError`]; nothing is added then.
    pub fn add_with(&mut self, lun: u16, backend: Box<dyn Backend>, options: UnitOptions) -> Result<(), DisksError> {
        if lun >= 0x4000 {
            return Err(DisksError::Lun(lun));
        }
        let number = usize::from(lun);
        if self.unit_of(lun).is_some() {
            return Err(DisksError::Taken(lun));
        }
        let geometry = backend.geometry();
        let size = geometry.blocks.checked_mul(u64::from(geometry.block_size)).unwrap_or(0);
        Geometry::blocks_of(size, geometry.block_size).map_err(|error| DisksError::Geometry(lun, error))?;
        let mut unit = Unit::new(lun, backend, options);
        // Initiators would take the two for one disk with two ways to it.
        let alike = |known: &&Unit| known.presence == Presence::Here && known.name.naa() == unit.name.naa();
        if let Some(known) = self.units.iter().find(alike) {
            return Err(DisksError::Name(lun, known.lun));
        }
        if self.luns.len() <= number {
            self.luns.resize(number + 1, NO_UNIT);
        }
        self.restore(&mut unit);
        let vacant = self.units.indices().find(|index| self.units[*index].presence == Presence::Gone);
        let index = match vacant {
            Some(index) => {
                self.units[index] = unit;
                index
            }
            // There are no more units than LUNs, which are fewer than 16384, and those that leave.
            None => self.units.push(unit).ok_or(DisksError::Lun(lun))?,
        };
        self.luns[number] = index;
        for nexus in self.nexuses.iter_mut() {
            nexus.units.resize(self.units.len(), Attentions::RESET);
            let mut fresh = Attentions::RESET;
            fresh.hide(true);
            nexus.units[index.number()] = fresh;
        }
        self.see_anew();
        Ok(())
    }

    /// Removes a disk. Its tasks end with TASK ABORTED; initiators that saw it are notified (REPORTED LUNS DATA HAS
    /// CHANGED). Its back end is kept until the operations under way have ended: see [`leaving`](Self::leaving).
    ///
    /// # Errors
    ///
    /// [`DisksError::Unknown`].
    pub fn remove(&mut self, lun: u16) -> Result<(), DisksError> {
        let index = self.unit_of(lun).ok_or(DisksError::Unknown(lun))?;
        self.end_tasks(index, None, None, &mut |_| {});
        self.copies_of(index).into_iter().for_each(|tag| self.abort_task(tag, None, &mut |_| {}));
        self.give_up(index);
        self.luns[usize::from(lun)] = NO_UNIT;
        self.units[index].presence = Presence::Leaving;
        self.leaving.push(index);
        self.see_anew();
        self.bury();
        Ok(())
    }

    /// Lets a disk take over the size that its back end has now; initiators are notified (CAPACITY DATA HAS CHANGED).
    /// Returns its bytes.
    ///
    /// # Errors
    ///
    /// [`DisksError`]; nothing is changed then.
    pub fn refresh(&mut self, lun: u16) -> Result<u64, DisksError> {
        let index = self.unit_of(lun).ok_or(DisksError::Unknown(lun))?;
        let unit = &mut self.units[index];
        unit.backend.refresh().map_err(|error| DisksError::Size(lun, error))?;
        let before = std::mem::replace(&mut unit.geometry, unit.backend.geometry().clone());
        let bytes = unit.geometry.blocks * unit.block();
        if unit.geometry.blocks != before.blocks {
            self.tell(index, Attentions::CAPACITY_CHANGED, None);
        }
        Ok(bytes)
    }

    /// Lets an initiator see these LUNs, besides those of earlier calls; an initiator that no call names sees none.
    pub fn allow(&mut self, wwpn: Wwn, luns: &[u16]) {
        self.mask.allow(wwpn, luns);
        self.see_anew();
    }

    /// Replaces all that was allowed: an initiator that is not named sees nothing, and without any name everybody sees
    /// everything. Tasks under way go on.
    pub fn allow_only(&mut self, rules: &[(Wwn, Vec<u16>)]) {
        self.mask.replace(rules);
        self.see_anew();
    }

    /// Number of disks that were removed and have operations under way.
    #[must_use]
    pub fn leaving(&self) -> usize {
        self.leaving.len()
    }

    fn unit_of(&self, lun: u16) -> Option<UnitIndex> {
        self.luns.get(usize::from(lun)).copied().filter(|unit| *unit != NO_UNIT)
    }

    /// Updates the units that each initiator sees, after a change of units or rules, and notifies those who see others now
    /// (SPC-4, clause 6.33: REPORTED LUNS DATA HAS CHANGED).
    fn see_anew(&mut self) {
        for nexus in self.nexuses.iter_mut() {
            let mut changed = false;
            for (unit, attentions) in self.units.iter().zip(&mut nexus.units) {
                let hidden = !self.mask.shows(nexus.name.wwpn, unit);
                changed |= hidden != attentions.is_hidden();
                self.met.show(nexus.name.wwpn, unit, hidden, attentions);
            }
            if changed {
                nexus.units.iter_mut().for_each(|attentions| attentions.add(Attentions::LUNS_CHANGED));
            }
        }
    }

    /// Drops the back ends of units that have left: nothing is under way there any more.
    pub(super) fn bury(&mut self) {
        for at in (0..self.leaving.len()).rev() {
            let index = self.leaving[at];
            let is_of = |tag: &Tag| self.tasks[*tag].unit == index;
            let under_way = |tag: Tag| is_of(&tag) && self.tasks[tag].stage != Stage::Idle;
            if self.units[index].in_flight > 0 || self.keeping.is_changing(index) || self.tasks.tags().any(under_way) {
                continue;
            }
            // What is sent again finds no memory, instead of that of the next unit at this place.
            let ended: Vec<Tag> = self.tasks.tags().filter(is_of).collect();
            ended.into_iter().for_each(|tag| self.tasks[tag].unit = NO_UNIT);
            let unit = &mut self.units[index];
            unit.backend = Box::new(Nothing(unit.geometry.clone()));
            unit.presence = Presence::Gone;
            self.leaving.swap_remove(at);
        }
    }
}

/// The back end of a unit that has gone: nothing reaches it.
struct Nothing(Geometry);

impl Backend for Nothing {
    fn geometry(&self) -> &Geometry {
        &self.0
    }

    fn submit(&mut self, _: Tag, _: Operation) {}

    fn complete(&mut self) -> Option<Completion> {
        None
    }
}
