//! Progress of tasks: submits operations, takes their completions, and wakes waiting tasks.

use super::attention::Attentions;
use super::disks::Disks;
use super::hold::Hold;
use super::task::{OperationId, Owner, Stage};
use super::unit::UnitIndex;
use super::work::{Next, Outcome, Work};
use super::{Response, Step};
use crate::PeerId;
use crate::indexed::TableIndex;
use linerate_block::{Operation, Tag};
use linerate_wire::scsi::Cdb;

impl Disks {
    /// Begins a task that its unit's order admits.
    pub(super) fn run(&mut self, tag: Tag, cdb: Cdb) -> Step {
        let mut step = match self.execute(tag, cdb) {
            Ok(step) => step,
            Err(response) => Step::End(response),
        };
        self.settle(tag, &mut step);
        step
    }

    /// Continues a task that has waited.
    pub(super) fn resume(&mut self, tag: Tag) -> Step {
        match self.tasks.get(tag).map(|slot| (slot.stage, slot.cdb)) {
            Some((Stage::Waiting, cdb)) => self.run(tag, cdb),
            Some((Stage::Holding, _)) => {
                let mut step = self.advance(tag, Outcome::NONE);
                self.settle(tag, &mut step);
                step
            }
            _ => Step::Pending,
        }
    }

    /// Starts the operations of a task whose data has arrived; the caller settles the step.
    pub(super) fn go(&mut self, tag: Tag) -> Step {
        let slot = &mut self.tasks[tag];
        slot.hold = slot.work.hold();
        let unit = &mut self.units[slot.unit];
        let span = slot.work.span(unit.block());
        if !unit.holds.take(tag, slot.hold, span) {
            slot.stage = Stage::Holding;
            return Step::Pending;
        }
        self.advance(tag, Outcome::NONE)
    }

    /// Continues until an operation is pending or the task has a step.
    fn advance(&mut self, tag: Tag, mut outcome: Outcome) -> Step {
        loop {
            let slot = &mut self.tasks[tag];
            let unit = &self.units[slot.unit];
            let mut tools = unit.tools(&mut self.pool, slot.wanted);
            match slot.work.next(&mut tools, outcome) {
                Next::Submit(operation) => match self.submit(tag, operation) {
                    Some(ended) => outcome = ended,
                    None => return Step::Pending,
                },
                Next::Then(work) => (slot.work, outcome) = (work, Outcome::NONE),
                Next::Step(step) => {
                    let work = std::mem::take(&mut slot.work);
                    let (unit, hold) = (slot.unit, slot.hold);
                    if let Work::SelfTest(test) = work {
                        self.units[unit].log.tested(test.result());
                    }
                    self.let_go(unit, hold);
                    return step;
                }
            }
        }
    }

    /// Submits an operation; a device in memory has completed it on return.
    fn submit(&mut self, tag: Tag, operation: Operation) -> Option<Outcome> {
        let unit = self.tasks[tag].unit;
        match self.launch(unit, Owner::Task(tag), operation) {
            Ok(ended) => Some(ended),
            Err(id) => {
                self.tasks[tag].stage = Stage::Operating(id);
                None
            }
        }
    }

    /// Submits an operation of `owner`; its outcome, if it has ended at once.
    pub(super) fn launch(
        &mut self,
        index: UnitIndex,
        owner: Owner,
        operation: Operation,
    ) -> Result<Outcome, OperationId> {
        let unit = &mut self.units[index];
        let operation = if unit.writes_through() { durable(operation) } else { operation };
        let id = self.operations.begin(owner, index, &operation, unit.stride());
        unit.backend.submit(Tag(id.0), operation);
        if unit.in_memory
            && let Some(ended) = unit.backend.complete()
        {
            let reads = self.operations.end(id, index).is_some_and(|running| running.reads);
            unit.operated(reads, &ended.result);
            return Ok(Outcome { result: ended.result, buffer: ended.buffer });
        }
        unit.dirty = true;
        unit.in_flight += 1;
        if unit.in_flight == 1 {
            self.busy.push(index);
        }
        Err(id)
    }

    /// Passes submitted operations on and takes completions.
    pub(super) fn collect(&mut self) {
        let mut i = 0;
        while let Some(&index) = self.busy.get(i) {
            let unit = &mut self.units[index];
            if std::mem::take(&mut unit.dirty) {
                unit.backend.flush();
            }
            while let Some(ended) = self.units[index].backend.complete() {
                self.ended(index, ended);
            }
            if self.units[index].in_flight == 0 {
                self.busy.swap_remove(i);
            } else {
                i += 1;
            }
        }
    }

    fn ended(&mut self, index: UnitIndex, ended: linerate_block::Completion) {
        let unit = &mut self.units[index];
        // Only a completion of a submitted operation counts, whatever the back end reports.
        let Some(running) = self.operations.end(OperationId(ended.tag.0), index) else {
            ended.buffer.into_iter().for_each(|buffer| self.pool.give(buffer));
            return;
        };
        unit.in_flight -= 1;
        unit.operated(running.reads, &ended.result);
        let outcome = Outcome { result: ended.result, buffer: ended.buffer };
        let task = match running.owner {
            Owner::Task(task) => task,
            Owner::Copy(task) => return self.copied(task, outcome),
            Owner::Upkeep => return self.tended(index, outcome),
            Owner::Nobody => {
                outcome.buffer.into_iter().for_each(|buffer| self.pool.give(buffer));
                unit.holds.buried(running.span);
                self.let_go(index, Hold::None);
                return;
            }
        };
        let step = self.advance(task, outcome);
        self.post(task, step);
    }

    /// Lets [`poll`](super::DeviceServer::poll) return the step of a task, if it has one.
    pub(super) fn post(&mut self, tag: Tag, mut step: Step) {
        self.settle(tag, &mut step);
        match step {
            Step::Pending => {}
            step => {
                self.tasks[tag].stage = Stage::Ready;
                self.ready.push_back((tag, step));
            }
        }
    }

    /// Ends the task if the step is its last; tasks that waited for it continue.
    #[inline]
    pub(super) fn settle(&mut self, tag: Tag, step: &mut Step) {
        let slot = &mut self.tasks[tag];
        match step {
            Step::End(then) | Step::Send { then, .. } => {
                if then.status == Response::CHECK_CONDITION {
                    let unit = slot.unit;
                    *then = self.count(unit, *then);
                }
            }
            Step::SendMemory { .. } => {
                // Later tasks must not change the memory before it is read.
                slot.stage = Stage::Sending;
                return;
            }
            Step::Pending | Step::Receive { .. } | Step::ReceiveMemory { .. } => return,
        }
        self.end_task(tag);
    }

    /// Ends a task; tasks that waited for it continue.
    #[inline]
    pub(super) fn end_task(&mut self, tag: Tag) {
        let slot = &mut self.tasks[tag];
        let unit = &mut self.units[slot.unit];
        slot.stage = Stage::Idle;
        unit.order.end(slot.attribute);
        if unit.order.is_strict() {
            while let Some(next) = unit.order.next() {
                self.woken.push_back(next);
            }
        }
    }

    /// Gives a hold back; tasks that waited for it continue.
    pub(super) fn let_go(&mut self, unit: UnitIndex, hold: Hold) {
        let holds = &mut self.units[unit].holds;
        holds.end(hold);
        while let Some(next) = holds.next() {
            self.woken.push_back(next);
        }
    }

    /// Ends a task without a response.
    pub(super) fn drop_task(&mut self, tag: Tag) {
        let slot = &mut self.tasks[tag];
        let (index, hold, attribute) = (slot.unit, slot.hold, slot.attribute);
        let stage = std::mem::take(&mut slot.stage);
        let work = std::mem::take(&mut slot.work);
        if let Work::SelfTest(test) = &work {
            self.units[index].log.tested(test.result());
        }
        work.release(&mut self.pool);
        let woken = self.woken.iter().position(|woken| *woken == tag).and_then(|at| self.woken.remove(at)).is_some();
        match stage {
            Stage::Idle | Stage::Doomed => return,
            Stage::Maintaining => return self.forget_waiter(index),
            Stage::Ready => {
                while let Some(at) = self.ready.iter().position(|(ready, _)| *ready == tag) {
                    if let Some((_, Step::Send { buffer, .. })) = self.ready.remove(at) {
                        self.pool.give(buffer);
                    }
                }
                return;
            }
            Stage::Waiting if !woken => self.units[index].order.forget(tag),
            Stage::Holding if !woken => self.units[index].holds.forget(tag),
            Stage::Holding => self.let_go(index, hold),
            Stage::Operating(id) => {
                let holds = &mut self.units[index].holds;
                holds.orphan(self.operations.orphan(id));
                holds.end(hold);
            }
            Stage::Copying => self.drop_copy(tag),
            Stage::Keeping => self.keeping.forget(tag),
            Stage::Waiting | Stage::Receiving | Stage::ReceivingMemory | Stage::Sending => {}
        }
        // Other tasks may have waited for this one to begin.
        self.let_go(index, Hold::None);
        let order = &mut self.units[index].order;
        if stage != Stage::Waiting || woken {
            order.end(attribute);
        }
        while let Some(next) = order.next() {
            self.woken.push_back(next);
        }
    }

    /// Ends a task in favour of `by`, if that is an initiator: a task of `by` itself gets no response, any other one TASK
    /// ABORTED (SAM-5, clause 5.3.1).
    pub(super) fn abort_task(&mut self, tag: Tag, by: Option<PeerId>, aborted: &mut dyn FnMut(Tag)) {
        let (stage, nexus) = (self.tasks[tag].stage, self.tasks[tag].nexus);
        self.drop_task(tag);
        if Some(nexus) == by {
            return aborted(tag);
        }
        match stage {
            // The transport has the task's buffer: the task ends when its data has arrived. Transfers into memory must
            // stop at once.
            Stage::Receiving | Stage::Doomed => self.tasks[tag].stage = Stage::Doomed,
            _ => {
                self.tasks[tag].stage = Stage::Ready;
                let step = Step::End(Response::status(Response::TASK_ABORTED));
                self.ready.push_back((tag, step));
            }
        }
    }

    /// Sets a unit attention for every nexus, except perhaps one.
    pub(super) fn tell(&mut self, unit: UnitIndex, attention: Attentions, but: Option<PeerId>) {
        for nexus in self.nexuses.iter_mut().filter(|nexus| Some(nexus.id) != but) {
            if let Some(attentions) = nexus.units.get_mut(unit.number()) {
                attentions.add(attention);
            }
        }
    }
}

/// The same operation, complete only when its data is on stable storage.
fn durable(operation: Operation) -> Operation {
    match operation {
        Operation::Write { lba, buffer, .. } => Operation::Write { lba, buffer, fua: true },
        Operation::WriteZeroes { lba, blocks, discard, .. } => {
            Operation::WriteZeroes { lba, blocks, discard, fua: true }
        }
        other => other,
    }
}
