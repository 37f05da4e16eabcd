//! A machine whose ports' links are watched: the user is told when one changes, once a second at most.

use crate::print::remark;
use linerate_load::ports::Links;
use linerate_port::Link;
use linerate_rt::{Machine, Progress, Sleeper};

const SECOND: u64 = 1_000_000_000;

/// A machine, and the links of the ports that it runs on.
pub(super) struct Watched<'a, M> {
    machine: &'a mut M,
    /// Reads the state of the link of a port, by its number.
    link: fn(&M, usize) -> Link,
    names: &'a [String],
    links: Links,
    /// Time of the next look.
    due: u64,
}

impl<'a, M: Machine> Watched<'a, M> {
    /// `names`: the ports'. Their present state is known to the user.
    pub(super) fn new(machine: &'a mut M, names: &'a [String], link: fn(&M, usize) -> Link) -> Self {
        let mut links = Links::default();
        for (number, name) in names.iter().enumerate() {
            let _ = links.change(name, link(machine, number));
        }
        Self { machine, link, names, links, due: 0 }
    }
}

impl<M: Machine> Machine for Watched<'_, M> {
    #[inline]
    fn handle(&mut self, now: u64) -> Progress {
        if now >= self.due {
            self.due = now + SECOND;
            for (number, name) in self.names.iter().enumerate() {
                if let Some(line) = self.links.change(name, (self.link)(self.machine, number)) {
                    remark(&format!("linerate: {line}"));
                }
            }
        }
        self.machine.handle(now)
    }

    fn poll_timeout(&self) -> Option<u64> {
        Some(self.machine.poll_timeout().map_or(self.due, |due| due.min(self.due)))
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.machine.waits_for(visit);
    }

    fn stop(&mut self, now: u64) {
        self.machine.stop(now);
    }
}
