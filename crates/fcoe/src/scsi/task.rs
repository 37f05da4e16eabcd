//! The table of tasks, and that of the operations that back ends do for them.

use super::TaskAttribute;
use super::hold::{Hold, Span};
use super::unit::{NO_UNIT, UnitIndex};
use super::work::Work;
use crate::PeerId;
use linerate_block::Tag;
use linerate_wire::scsi::Cdb;
use std::ops::{Index, IndexMut};

/// State of a task.
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
    Operating(OperationId),
    /// Its last step waits to be asked for.
    Ready,
    /// Another initiator has ended it while its data comes.
    Doomed,
}

/// A task's place in the table.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) stage: Stage,
    pub(super) unit: UnitIndex,
    pub(super) attribute: TaskAttribute,
    pub(super) nexus: PeerId,
    /// Bytes that the initiator gives at most.
    pub(super) data_out: u32,
    /// Bytes that the command wants to move.
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
            unit: NO_UNIT,
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

/// The tasks, each found by its tag.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    slots: Vec<Slot>,
}

impl Tasks {
    /// Makes the table long enough for a tag.
    pub(super) fn reach(&mut self, tag: Tag) {
        let at = tag.0 as usize;
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, Slot::default);
        }
    }

    pub(super) fn get(&self, tag: Tag) -> Option<&Slot> {
        self.slots.get(tag.0 as usize)
    }

    pub(super) fn get_mut(&mut self, tag: Tag) -> Option<&mut Slot> {
        self.slots.get_mut(tag.0 as usize)
    }

    /// The tags of all places; the table may be changed meanwhile.
    pub(super) fn tags(&self) -> impl Iterator<Item = Tag> + use<> {
        (0..).take(self.slots.len()).map(Tag)
    }
}

impl Index<Tag> for Tasks {
    type Output = Slot;

    #[inline]
    fn index(&self, tag: Tag) -> &Slot {
        &self.slots[tag.0 as usize]
    }
}

impl IndexMut<Tag> for Tasks {
    #[inline]
    fn index_mut(&mut self, tag: Tag) -> &mut Slot {
        &mut self.slots[tag.0 as usize]
    }
}

/// The name of an operation, by which the back end says that it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OperationId(pub(super) u32);

/// Operations under way. An operation outlives its task when that is aborted: the back end's answer must not reach the next
/// task of the same tag.
#[derive(Debug, Default)]
pub(super) struct Operations {
    table: Vec<Running>,
    /// Number of operations in the table.
    count: u32,
    free: Vec<OperationId>,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    /// Whose it is; none when the task is no more.
    pub(super) task: Option<Tag>,
    pub(super) unit: UnitIndex,
    /// What it changes.
    pub(super) span: Span,
    live: bool,
}

impl Operations {
    /// What the back end shall call it.
    pub(super) fn begin(&mut self, task: Tag, unit: UnitIndex, span: Span) -> OperationId {
        let running = Running { task: Some(task), unit, span, live: true };
        if let Some(id) = self.free.pop() {
            self.table[id.0 as usize] = running;
            return id;
        }
        let id = OperationId(self.count);
        // Each has a buffer or a task, of which there are not so many.
        self.count = self.count.wrapping_add(1);
        self.table.push(running);
        id
    }

    /// It has ended; none when there is no such operation of that unit.
    pub(super) fn end(&mut self, id: OperationId, unit: UnitIndex) -> Option<Running> {
        let running = self.table.get_mut(id.0 as usize).filter(|running| running.live && running.unit == unit)?;
        running.live = false;
        self.free.push(id);
        Some(*running)
    }

    /// Its task is no more; what it changes nevertheless.
    pub(super) fn orphan(&mut self, id: OperationId) -> Span {
        self.table.get_mut(id.0 as usize).map_or(Span::default(), |running| {
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
        let first = operations.begin(Tag(5), UnitIndex(1), Span::ALL);
        let second = operations.begin(Tag(6), UnitIndex(1), Span::default());
        assert_eq!(operations.orphan(first), Span::ALL);
        assert!(
            operations.end(first, UnitIndex(2)).is_none() && operations.end(OperationId(99), UnitIndex(1)).is_none()
        );
        let ended = operations.end(first, UnitIndex(1)).unwrap();
        assert_eq!((ended.task, ended.span), (None, Span::ALL));
        assert!(operations.end(first, UnitIndex(1)).is_none());
        assert_eq!(operations.begin(Tag(7), UnitIndex(3), Span::default()), first);
        assert_eq!(operations.end(second, UnitIndex(1)).unwrap().task, Some(Tag(6)));
    }
}
