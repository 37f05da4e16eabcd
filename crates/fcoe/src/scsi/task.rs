//! The table of tasks, and the table of back-end operations for them.

use super::TaskAttribute;
use super::hold::{Hold, Span};
use super::unit::{NO_UNIT, UnitIndex};
use super::work::Work;
use crate::PeerId;
use linerate_block::{Operation, Tag};
use linerate_wire::scsi::Cdb;
use std::ops::{Index, IndexMut};

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Stage {
    /// No task, or its last step was returned.
    #[default]
    Idle,
    /// Waits for earlier tasks.
    Waiting,
    /// Its data out is written into the unit's memory.
    ReceivingMemory,
    /// Its data out is received into a buffer.
    Receiving,
    /// Its data in is read from the unit's memory as its frames are made.
    Sending,
    /// Waits for a hold on the device.
    Holding,
    /// An operation of the back end is under way.
    Operating(OperationId),
    /// Its last step is ready to be taken.
    Ready,
    /// Waits for the end of its unit's upkeep; no other task waits for it.
    Maintaining,
    /// Its blocks are being copied.
    Copying,
    /// Waits for what its unit is to know after a restart to be stored.
    Keeping,
    /// Another initiator has ended it while its data arrives.
    Doomed,
}

/// Entry of a task in the table.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) stage: Stage,
    pub(super) unit: UnitIndex,
    pub(super) attribute: TaskAttribute,
    pub(super) nexus: PeerId,
    /// Most bytes of data out from the initiator.
    pub(super) data_out: u32,
    /// Bytes that the command wants to move.
    pub(super) wanted: u64,
    /// Command of a waiting task.
    pub(super) cdb: Cdb,
    pub(super) work: Work,
    /// Hold on the device during its work.
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
    /// Extends the table to hold a tag.
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

    /// Tags of all entries; the table may be changed meanwhile.
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

/// Identifier of an operation, by which the back end reports its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OperationId(pub(super) u32);

/// Owner of an operation, who continues when it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Task(Tag),
    /// The copy of that task.
    Copy(Tag),
    /// The unit's upkeep.
    Upkeep,
    /// Nobody: the task is gone.
    Nobody,
}

/// Operations under way. An operation outlives its task when that is aborted: its completion must not reach the next
/// task with the same tag.
#[derive(Debug, Default)]
pub(super) struct Operations {
    table: Vec<Running>,
    /// Number of operations in the table.
    count: u32,
    free: Vec<OperationId>,
}

/// An operation under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) owner: Owner,
    pub(super) unit: UnitIndex,
    /// Blocks that the operation changes.
    pub(super) span: Span,
    /// The operation reads.
    pub(super) reads: bool,
    live: bool,
}

impl Operations {
    /// Records a new operation; returns its identifier for the back end.
    pub(super) fn begin(&mut self, owner: Owner, unit: UnitIndex, operation: &Operation, stride: u64) -> OperationId {
        let span = Span::of(operation, stride);
        let reads = matches!(operation, Operation::Read { .. });
        let running = Running { owner, unit, span, reads, live: true };
        if let Some(id) = self.free.pop() {
            self.table[id.0 as usize] = running;
            return id;
        }
        let id = OperationId(self.count);
        // Each operation has a buffer or a task, so there are not so many.
        self.count = self.count.wrapping_add(1);
        self.table.push(running);
        id
    }

    /// Removes a completed operation; None when there is no such operation of that unit.
    pub(super) fn end(&mut self, id: OperationId, unit: UnitIndex) -> Option<Running> {
        let running = self.table.get_mut(id.0 as usize).filter(|running| running.live && running.unit == unit)?;
        running.live = false;
        self.free.push(id);
        Some(*running)
    }

    /// Detaches an operation from its task, which is gone; returns the blocks that it still changes.
    pub(super) fn orphan(&mut self, id: OperationId) -> Span {
        self.table.get_mut(id.0 as usize).map_or(Span::default(), |running| {
            running.owner = Owner::Nobody;
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
        let first = operations.begin(Owner::Task(Tag(5)), UnitIndex(1), &Operation::Discard { lba: 0, blocks: 4 }, 1);
        let second = operations.begin(Owner::Task(Tag(6)), UnitIndex(1), &Operation::Flush, 1);
        assert_eq!(operations.orphan(first), Span::new(0, 4));
        assert!(
            operations.end(first, UnitIndex(2)).is_none() && operations.end(OperationId(99), UnitIndex(1)).is_none()
        );
        let ended = operations.end(first, UnitIndex(1)).unwrap();
        assert_eq!((ended.owner, ended.span), (Owner::Nobody, Span::new(0, 4)));
        assert!(operations.end(first, UnitIndex(1)).is_none());
        assert_eq!(operations.begin(Owner::Task(Tag(7)), UnitIndex(3), &Operation::Flush, 1), first);
        assert_eq!(operations.end(second, UnitIndex(1)).unwrap().owner, Owner::Task(Tag(6)));
    }
}
