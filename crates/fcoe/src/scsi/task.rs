//! The table of tasks, and that of the operations that back ends do for them.

use super::TaskAttribute;
use super::hold::{Hold, Span};
use super::work::Work;
use crate::PeerId;
use linerate_block::Tag;
use linerate_wire::scsi::Cdb;

/// Where a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Stage {
    /// There is none, or its last step was handed out.
    #[default]
    Idle,
    /// It waits for tasks before it.
    Waiting,
    /// Its data out goes into the unit's memory.
    ReceivingMemory,
    /// Its data out goes into a buffer.
    Receiving,
    /// Its data in is read from the unit's memory as frames are made of it.
    Sending,
    /// It waits until it may change the device.
    Holding,
    /// An operation of the back end is under way.
    Operating(u32),
    /// Its last step waits to be asked for.
    Ready,
    /// Another initiator has ended it while its data comes.
    Doomed,
}

/// A task's place in the table.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) stage: Stage,
    pub(super) unit: u16,
    pub(super) attribute: TaskAttribute,
    pub(super) nexus: PeerId,
    /// Octets that the initiator gives at most.
    pub(super) data_out: u32,
    /// Octets that the command wants to move.
    pub(super) wanted: u64,
    /// Of a task that waits.
    pub(super) cdb: Cdb,
    pub(super) work: Work,
    /// What it holds while it works.
    pub(super) hold: Hold,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            stage: Stage::Idle,
            unit: u16::MAX,
            attribute: TaskAttribute::Simple,
            nexus: PeerId { index: 0, generation: 0 },
            data_out: 0,
            wanted: 0,
            cdb: Cdb::TestUnitReady,
            work: Work::Idle,
            hold: Hold::None,
        }
    }
}

/// Operations under way. An operation outlives its task when that is aborted: the back end's answer must not reach the next
/// task of the same tag.
#[derive(Debug, Default)]
pub(super) struct Operations {
    table: Vec<Running>,
    free: Vec<u32>,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    /// Whose it is; none when the task is no more.
    pub(super) task: Option<Tag>,
    pub(super) unit: u16,
    /// What it changes.
    pub(super) span: Span,
    live: bool,
}

impl Operations {
    /// What the back end shall call it.
    pub(super) fn begin(&mut self, task: Tag, unit: u16, span: Span) -> u32 {
        let running = Running { task: Some(task), unit, span, live: true };
        if let Some(id) = self.free.pop() {
            self.table[id as usize] = running;
            return id;
        }
        self.table.push(running);
        u32::try_from(self.table.len() - 1).unwrap_or(u32::MAX)
    }

    /// It has ended; none when there is no such operation of that unit.
    pub(super) fn end(&mut self, id: u32, unit: u16) -> Option<Running> {
        let running = self.table.get_mut(id as usize).filter(|running| running.live && running.unit == unit)?;
        running.live = false;
        self.free.push(id);
        Some(*running)
    }

    /// Its task is no more; what it changes nevertheless.
    pub(super) fn orphan(&mut self, id: u32) -> Span {
        self.table.get_mut(id as usize).map_or(Span::default(), |running| {
            running.task = None;
            running.span
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_ends_once_and_only_for_its_unit() {
        let mut operations = Operations::default();
        let first = operations.begin(Tag(5), 1, Span::ALL);
        let second = operations.begin(Tag(6), 1, Span::default());
        assert_eq!(operations.orphan(first), Span::ALL);
        assert!(operations.end(first, 2).is_none() && operations.end(99, 1).is_none());
        let ended = operations.end(first, 1).unwrap();
        assert_eq!((ended.task, ended.span), (None, Span::ALL));
        assert!(operations.end(first, 1).is_none());
        assert_eq!(operations.begin(Tag(7), 3, Span::default()), first);
        assert_eq!(operations.end(second, 1).unwrap().task, Some(Tag(6)));
    }
}
