//! A machine whose port's link is watched: the user is told when it changes, once a second at most.

use crate::print::remark;
use linerate_load::ports::Links;
use linerate_port::Link;
use linerate_rt::{Machine, Progress, Sleeper};

const SECOND: u64 = 1_000_000_000;

/// A machine, and the link of the port that it runs on.
pub(super) struct Watched<'a, M> {
    machine: &'a mut M,
    /// Reads the state of the link.
    link: fn(&M) -> Link,
    name: &'a str,
    links: Links,
    /// Time of the next look.
    due: u64,
}

impl<'a, M: Machine> Watched<'a, M> {
    /// `name`: the port's. Its present state is known to the user.
    pub(super) fn new(machine: &'a mut M, name: &'a str, link: fn(&M) -> Link) -> Self {
        let mut links = Links::default();
        let _ = links.change(name, link(machine));
        Self { machine, link, name, links, due: 0 }
    }
}

impl<M: Machine> Machine for Watched<'_, M> {
    #[inline]
    fn handle(&mut self, now: u64) -> Progress {
        if now >= self.due {
            self.due = now + SECOND;
            if let Some(line) = self.links.change(self.name, (self.link)(self.machine)) {
                remark(&format!("linerate: {line}"));
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
