//! Order of execution of a unit's tasks (SAM-5, clause 8).

use super::TaskAttribute;
use linerate_block::Tag;
use linerate_wire::scsi::Cdb;
use std::collections::VecDeque;

/// Order of a command that has come with this attribute. One that changes how all others are done waits for those before
/// it, and those after it wait for it.
pub(super) fn attribute(cdb: &Cdb, asked: TaskAttribute) -> TaskAttribute {
    match cdb {
        Cdb::ModeSelect { .. } | Cdb::FormatUnit { .. } | Cdb::Sanitize { .. } => TaskAttribute::Ordered,
        _ => asked,
    }
}

/// A task set: running and waiting tasks. A task runs from its admission until its last step is returned.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Waiting tasks in the order of arrival.
    waiting: VecDeque<(Tag, TaskAttribute)>,
    running: u32,
    /// The running task is an ordered one: no other may begin, except at the head of the queue.
    ordered: bool,
}

impl Order {
    /// True if a task that arrives runs at once; otherwise it waits.
    pub(super) fn admit(&mut self, tag: Tag, attribute: TaskAttribute) -> bool {
        let runs = match attribute {
            // Clause 8.6.4: waits for no other task.
            TaskAttribute::HeadOfQueue => true,
            _ => self.waiting.is_empty() && self.may_run(attribute),
        };
        if runs {
            self.running += 1;
            self.ordered |= attribute == TaskAttribute::Ordered;
        } else {
            self.waiting.push_back((tag, attribute));
        }
        runs
    }

    /// Clause 8.6.3: an ordered task waits for all before it; clause 8.6.2: a simple one for the ordered before it.
    fn may_run(&self, attribute: TaskAttribute) -> bool {
        if attribute == TaskAttribute::Ordered { self.running == 0 } else { !self.ordered }
    }

    /// A running task has ended.
    pub(super) fn end(&mut self, attribute: TaskAttribute) {
        self.running = self.running.saturating_sub(1);
        self.ordered &= attribute != TaskAttribute::Ordered;
    }

    /// Takes a waiting task that may run now.
    pub(super) fn next(&mut self) -> Option<Tag> {
        let (tag, attribute) = *self.waiting.front()?;
        if !self.may_run(attribute) {
            return None;
        }
        self.waiting.pop_front();
        self.running += 1;
        self.ordered |= attribute == TaskAttribute::Ordered;
        Some(tag)
    }

    /// Removes a waiting task that was aborted.
    pub(super) fn forget(&mut self, tag: Tag) {
        self.waiting.retain(|(waiting, _)| *waiting != tag);
    }

    /// True if a task waits or an ordered one runs.
    pub(super) fn is_strict(&self) -> bool {
        self.ordered || !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::TaskAttribute::*;
    use super::*;

    #[test]
    fn an_ordered_task_waits_for_all_before_it_and_all_after_it_wait() {
        // SAM-5, clauses 8.6.2 and 8.6.3.
        let mut order = Order::default();
        assert!(order.admit(Tag(1), Simple) && order.admit(Tag(2), Simple));
        assert!(!order.admit(Tag(3), Ordered) && !order.admit(Tag(4), Simple) && !order.admit(Tag(5), Ordered));
        order.end(Simple);
        assert_eq!(order.next(), None, "one before it still runs");
        order.end(Simple);
        assert_eq!((order.next(), order.next()), (Some(Tag(3)), None));
        order.end(Ordered);
        assert_eq!((order.next(), order.next()), (Some(Tag(4)), None));
        order.end(Simple);
        assert_eq!((order.next(), order.is_strict()), (Some(Tag(5)), true));
        order.end(Ordered);
        assert!(!order.is_strict() && order.admit(Tag(6), Ordered));
    }

    #[test]
    fn the_head_of_the_queue_does_not_wait() {
        // SAM-5, clause 8.6.4.
        let mut order = Order::default();
        assert!(order.admit(Tag(1), Ordered) && !order.admit(Tag(2), Simple) && order.admit(Tag(3), HeadOfQueue));
        order.end(Ordered);
        assert_eq!(order.next(), Some(Tag(2)));
        assert!(!order.admit(Tag(4), Ordered));
        order.end(Simple);
        assert_eq!(order.next(), None, "the head of the queue is before it");
        order.end(HeadOfQueue);
        assert_eq!(order.next(), Some(Tag(4)));
        order.end(Ordered);
        assert!(order.admit(Tag(5), Ordered) && !order.admit(Tag(6), Simple));
        order.forget(Tag(6));
        order.end(Ordered);
        assert!(order.next().is_none() && order.admit(Tag(7), Simple));
    }
}
