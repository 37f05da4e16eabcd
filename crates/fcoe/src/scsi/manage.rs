//! Task management functions (SAM-5, clause 7).

use super::attention::Attentions;
use super::disks::Disks;
use super::mode::Mode;
use super::task::Stage;
use super::unit::UnitIndex;
use super::{Function, FunctionResponse, Lun};
use crate::PeerId;
use crate::indexed::TableIndex;
use linerate_block::Tag;

impl Disks {
    pub(super) fn function(
        &mut self,
        nexus: PeerId,
        lun: Lun,
        function: Function,
        aborted: &mut dyn FnMut(Tag),
    ) -> FunctionResponse {
        if function == Function::TargetReset {
            // An initiator cannot reset units that are hidden from it.
            for unit in self.units.indices() {
                if self
                    .nexuses
                    .get(nexus)
                    .and_then(|nexus| nexus.units.get(unit.number()))
                    .is_some_and(|a| !a.is_hidden())
                {
                    self.reset(unit, nexus, aborted);
                }
            }
            return FunctionResponse::Complete;
        }
        let Some((unit, _)) = self.find(nexus, lun) else {
            return FunctionResponse::IncorrectLun;
        };
        match function {
            Function::AbortTaskSet => self.end_tasks(unit, Some(nexus), Some(nexus), aborted),
            Function::ClearTaskSet => self.end_tasks(unit, Some(nexus), None, aborted),
            Function::LogicalUnitReset | Function::TargetReset => self.reset(unit, nexus, aborted),
            // There is no auto contingent allegiance to clear (NORMACA).
            Function::ClearAca => return FunctionResponse::Rejected,
        }
        FunctionResponse::Complete
    }

    /// Ends all tasks in a unit, or those of one nexus, in favour of `by`; not those whose last step was returned.
    pub(super) fn end_tasks(
        &mut self,
        unit: UnitIndex,
        by: Option<PeerId>,
        of: Option<PeerId>,
        aborted: &mut dyn FnMut(Tag),
    ) {
        for tag in self.tasks.tags() {
            let slot = &self.tasks[tag];
            let here = !matches!(slot.stage, Stage::Idle | Stage::Sending) && slot.unit == unit;
            if here && of.is_none_or(|of| slot.nexus == of) {
                self.abort_task(tag, by, aborted);
            }
        }
    }

    /// A logical unit reset (SAM-5, clause 6.3.3): ends all tasks, and sets a unit attention for every initiator.
    /// Persistent reservations stay (SPC-4, clause 5.13.1).
    fn reset(&mut self, unit: UnitIndex, by: PeerId, aborted: &mut dyn FnMut(Tag)) {
        self.end_tasks(unit, Some(by), None, aborted);
        let reset = &mut self.units[unit];
        (reset.stopped, reset.mode) = (false, Mode::new(&reset.geometry));
        self.tell(unit, Attentions::RESET, None);
    }
}
