//! Commands whose data out is a parameter list: they act on the unit, not on its blocks.

use super::disks::Disks;
use super::task::Stage;
use super::work::Work;
use super::{Response, Step};
use linerate_block::Tag;
use linerate_wire::scsi::{Cdb, asc};

impl Disks {
    /// Asks for the parameter list of a command; [`act`](Self::act) continues with it.
    pub(super) fn receive_list(&mut self, tag: Tag, cdb: Cdb, len: u32) -> Result<Step, Response> {
        self.tasks[tag].cdb = cdb;
        self.receive(tag, len, Work::List(None))
    }

    /// Executes a command whose parameter list has come.
    pub(super) fn act(&mut self, tag: Tag) -> Result<Step, Response> {
        let slot = &mut self.tasks[tag];
        let keeps = matches!(slot.cdb, Cdb::PersistentReserveOut { .. } | Cdb::SetIdentifyingInformation { .. });
        if keeps && self.keeping.postpone(tag) {
            slot.stage = Stage::Keeping;
            return Ok(Step::Pending);
        }
        let Work::List(Some(list)) = std::mem::take(&mut slot.work) else {
            return Err(Response::illegal(asc::OPCODE));
        };
        let step = match slot.cdb {
            Cdb::PersistentReserveOut { action, scope, kind, .. } => {
                self.reserve(tag, action, scope, kind, list.bytes())
            }
            Cdb::ModeSelect { ten, .. } => self.select_mode(tag, ten, list.bytes()),
            Cdb::WriteBuffer { mode, offset, .. } => self.fill_buffer(tag, mode, offset, list.bytes()),
            Cdb::SetIdentifyingInformation { kind, .. } => self.identify(tag, kind, list.bytes()),
            Cdb::ExtendedCopy { .. } => self.copy(tag, list.bytes()),
            Cdb::FormatUnit { long, .. } => self.format_with(tag, long, list.bytes()),
            Cdb::Sanitize { immediate, unrestricted, .. } => self.overwrite(tag, immediate, unrestricted, list.bytes()),
            _ => Err(Response::illegal(asc::OPCODE)),
        };
        self.pool.give(list);
        step
    }
}
