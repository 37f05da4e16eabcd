//! Disks behind several ports of one target: each port is a device server of its own, and all have the same units, with
//! the same names, tasks in one order and reservations in common. All are in one thread.

use super::disks::Disks;
use super::{DeviceServer, Function, FunctionResponse, Lun, Step, Task};
use crate::PeerId;
use linerate_block::{Buffer, Memory, Tag};
use linerate_wire::Wwn;
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;

/// Disks as they are accessed through one port.
pub struct DiskPort {
    shared: Rc<RefCell<SharedDisks>>,
    number: u16,
    count: u16,
}

/// State that the ports have in common.
struct SharedDisks {
    disks: Disks,
    /// Steps that were taken while another port was served, by port.
    steps: Vec<VecDeque<(Tag, Step)>>,
}

impl SharedDisks {
    /// Takes the step of a task that its port has not taken yet.
    fn take_step(&mut self, port: u16, tag: Tag) -> Option<Step> {
        let steps = self.steps.get_mut(usize::from(port))?;
        let at = steps.iter().position(|(of, _)| *of == tag)?;
        steps.remove(at).map(|(_, step)| step)
    }
}

impl DiskPort {
    /// A device server for each port, by its name; at least one.
    #[must_use]
    pub fn over(mut disks: Disks, names: &[Wwn]) -> Vec<Self> {
        disks.name_ports(names);
        let count = disks.port_count;
        let steps = names.iter().map(|_| VecDeque::new()).collect();
        let shared = Rc::new(RefCell::new(SharedDisks { disks, steps }));
        (0..count).map(|number| Self { shared: shared.clone(), number, count }).collect()
    }

    /// The disks, to look at them or to change them.
    ///
    /// # Panics
    ///
    /// Panics if they are looked at already.
    #[must_use]
    pub fn disks(&self) -> RefMut<'_, Disks> {
        RefMut::map(self.shared.borrow_mut(), |shared| &mut shared.disks)
    }

    /// True if another port has made a step for this one that was not taken yet: it is to be polled.
    #[must_use]
    pub fn has_steps(&self) -> bool {
        self.count > 1 && !self.shared.borrow().steps[usize::from(self.number)].is_empty()
    }

    /// The disks' name for a nexus: those of different ports differ.
    fn nexus_of(&self, nexus: PeerId) -> PeerId {
        PeerId { index: nexus.index.wrapping_mul(self.count).wrapping_add(self.number), ..nexus }
    }

    /// The disks' tag for one of this port.
    fn tag_of(&self, tag: Tag) -> Tag {
        Tag(tag.0 * u32::from(self.count) + u32::from(self.number))
    }
}

impl DeviceServer for DiskPort {
    fn nexus(&mut self, nexus: PeerId, wwpn: Wwn) {
        self.disks().nexus(self.nexus_of(nexus), wwpn);
    }

    fn nexus_lost(&mut self, nexus: PeerId) {
        self.disks().nexus_lost(self.nexus_of(nexus));
    }

    #[inline]
    fn command(&mut self, now: u64, task: &Task<'_>) -> Step {
        let task = Task { tag: self.tag_of(task.tag), nexus: self.nexus_of(task.nexus), ..*task };
        self.disks().command(now, &task)
    }

    fn received(&mut self, now: u64, tag: Tag, buffer: Option<Buffer>) -> Step {
        let mut shared = self.shared.borrow_mut();
        // Another nexus may have ended it, and the step that says so waits here.
        if let Some(step) = shared.take_step(self.number, tag) {
            buffer.into_iter().for_each(|buffer| shared.disks.give_back(buffer));
            return step;
        }
        shared.disks.received(now, self.tag_of(tag), buffer)
    }

    fn give_back(&mut self, buffer: Buffer) {
        self.disks().give_back(buffer);
    }

    #[inline]
    fn sent(&mut self, tag: Tag) -> bool {
        self.disks().sent(self.tag_of(tag))
    }

    fn abort(&mut self, tag: Tag, buffer: Option<Buffer>) {
        let mut shared = self.shared.borrow_mut();
        if let Some(Step::Send { buffer, .. } | Step::Receive { buffer }) = shared.take_step(self.number, tag) {
            shared.disks.give_back(buffer);
        }
        shared.disks.abort(self.tag_of(tag), buffer);
    }

    fn manage(
        &mut self,
        now: u64,
        nexus: PeerId,
        lun: Lun,
        function: Function,
        aborted: &mut dyn FnMut(Tag),
    ) -> FunctionResponse {
        let count = u32::from(self.count);
        self.disks().manage(now, self.nexus_of(nexus), lun, function, &mut |tag| aborted(Tag(tag.0 / count)))
    }

    fn poll(&mut self, now: u64) -> Option<(Tag, Step)> {
        let SharedDisks { disks, steps } = &mut *self.shared.borrow_mut();
        if let Some(step) = steps[usize::from(self.number)].pop_front() {
            return Some(step);
        }
        let count = u32::from(self.count);
        while let Some((tag, step)) = disks.poll(now) {
            let (port, tag) = (tag.0 % count, Tag(tag.0 / count));
            if port == u32::from(self.number) {
                return Some((tag, step));
            }
            steps[port as usize].push_back((tag, step));
        }
        None
    }

    fn poll_timeout(&self) -> Option<u64> {
        if self.has_steps() { Some(0) } else { self.shared.borrow().disks.poll_timeout() }
    }

    #[inline]
    fn with_memory<R>(&mut self, tag: Tag, with: impl FnOnce(&mut dyn Memory) -> R) -> Option<R> {
        self.disks().with_memory(self.tag_of(tag), with)
    }
}
