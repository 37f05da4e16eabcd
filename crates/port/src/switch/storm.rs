//! Watchdog of lossless classes: a neighbour that stops a class without end stops the senders to it, theirs in turn, and in the
//! end a fabric.
//!
//! The queue of a class at an output *stands* while frames wait in it and none leaves, because the neighbour stops the class or
//! takes nothing out of the ring. When it has stood for [`Watchdog::detect`], there is a storm: its frames are dropped, or
//! leave in spite of the pause, and so are those that come for it meanwhile, so that nobody is asked to pause for them. The storm
//! is over when the neighbour has not stopped the class for [`Watchdog::restore`]; a pause in between begins that time anew.
//!
//! Ports whose queues stand for each other's frames are a circle (a cyclic buffer dependency), and the storm names them.

use super::Switch;
use super::buffer::QueueDrop;
use super::queues::Store;
use super::table::PortId;
use linerate_offload::TrafficClass;

/// Fate of the frames of a class in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StormAction {
    /// They are dropped.
    Drop,
    /// They leave in spite of the pause; those for which the ring has no room are dropped.
    Forward,
}

/// Settings of the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Time in ns for which a queue stands until there is a storm.
    pub detect: u64,
    /// Time in ns without a pause after which the storm is over.
    pub restore: u64,
    /// Fate of the frames meanwhile.
    pub action: StormAction,
}

/// A class of a port in a storm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storm {
    /// Name of the port.
    pub port: String,
    /// Number of the class.
    pub class: usize,
    /// Its priorities, one bit each.
    pub priorities: u8,
    /// Names of the ports that waited for each other when it began, this one first; none: no circle.
    pub circle: Vec<String>,
}

/// State of one queue, as the watchdog knows it.
#[derive(Default)]
pub(super) struct Watch {
    /// Time since which the queue stands; in a storm, that at which the class was last stopped.
    since: Option<u64>,
    pub(super) storm: bool,
    circle: Vec<PortId>,
}

impl Watch {
    /// Looks at a queue; true if it has stood for too long. `stopped`: time until which its class is stopped, if it is.
    pub(super) fn look(&mut self, watchdog: &Watchdog, now: u64, stopped: Option<u64>, waits: bool) -> bool {
        if !self.storm && (stopped.is_none() || !waits) {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        match (self.storm, stopped) {
            (false, _) => now - since >= watchdog.detect,
            (true, Some(until)) => {
                self.since = Some(until);
                false
            }
            (true, None) => {
                if now.saturating_sub(since) >= watchdog.restore {
                    *self = Self::default();
                }
                false
            }
        }
    }

    /// Time of the next look, in ns.
    pub(super) fn due(&self, watchdog: &Watchdog) -> Option<u64> {
        self.since.map(|since| since + if self.storm { watchdog.restore } else { watchdog.detect })
    }

    fn begin(&mut self, now: u64, circle: Vec<PortId>) {
        *self = Self { since: Some(now), storm: true, circle };
    }
}

impl Switch {
    /// Begins the storms that the watchdog has found.
    #[cold]
    pub(super) fn begin_storms(&mut self, store: &mut Store, found: &[(PortId, usize)]) {
        let circles: Vec<_> = found.iter().map(|(port, class)| self.circle(*port, *class)).collect();
        for ((port, class), circle) in found.iter().zip(circles) {
            let Some(member) = self.members[usize::from(*port)].as_mut() else { continue };
            let (outlets, count) = (&mut member.outlets, &mut member.count);
            for queues in outlets.iter_mut().filter_map(|outlet| outlet.queues.as_deref_mut()) {
                let queue = &mut queues.classes[*class];
                if queue.watch.storm {
                    continue;
                }
                queue.watch.begin(self.now, circle.clone());
                queue.count.storms += 1;
            }
            for outlet in outlets.iter_mut() {
                outlet.queued = true;
                store.shed(outlet, *class, count);
            }
        }
    }

    /// Ports that wait for each other by way of a class of this one, this one first; none if there is no circle.
    fn circle(&self, port: PortId, class: usize) -> Vec<PortId> {
        // Of each port that was reached, the one whose queue has its frames.
        let mut by: Vec<Option<PortId>> = vec![None; self.members.len()];
        let mut next = vec![port];
        while let Some(at) = next.pop() {
            let member = self.members.get(usize::from(at)).and_then(Option::as_ref);
            let outlets = member.into_iter().flat_map(|member| &member.outlets);
            for queue in outlets.filter_map(|outlet| outlet.queues.as_deref()).map(|queues| &queues.classes[class]) {
                // One that goes waits for nobody.
                if queue.watch.since.is_none() {
                    continue;
                }
                for origin in queue.origins() {
                    if origin == port {
                        let mut circle: Vec<_> =
                            std::iter::successors(Some(at), |at| by.get(usize::from(*at)).copied().flatten()).collect();
                        circle.reverse();
                        return circle;
                    }
                    if let Some(place @ None) = by.get_mut(usize::from(origin)) {
                        *place = Some(at);
                        next.push(origin);
                    }
                }
            }
        }
        Vec::new()
    }

    /// Classes of ports that are in a storm now.
    #[must_use]
    pub fn storms(&self) -> Vec<Storm> {
        let Some(store) = self.store.as_deref() else { return Vec::new() };
        let name = |id: &PortId| self.members.get(usize::from(*id))?.as_ref().map(|member| member.name.clone());
        let mut storms = Vec::new();
        for member in self.members.iter().flatten() {
            let queues = || member.outlets.iter().filter_map(|outlet| outlet.queues.as_deref());
            for class in 0..TrafficClass::MOST {
                let Some(watch) = queues().map(|queues| &queues.classes[class].watch).find(|watch| watch.storm) else {
                    continue;
                };
                let circle = watch.circle.iter().filter_map(name).collect();
                let priorities = store.ingress.of_class(class);
                storms.push(Storm { port: member.name.clone(), class, priorities, circle });
            }
        }
        storms
    }
}

impl Store {
    /// True if a frame for a queue in a storm is dropped.
    pub(super) fn storm_drops(&self, storm: bool, room: u32) -> bool {
        storm && self.watchdog.is_some_and(|watchdog| watchdog.action == StormAction::Drop || room == 0)
    }

    /// Drops the frames of a queue in a storm that are to be dropped.
    pub(super) fn shed(&mut self, outlet: &mut super::member::Outlet, class: usize, count: &mut super::PortCounters) {
        let room = outlet.tx.ring.free();
        let Some(queues) = outlet.queues.as_deref_mut() else { return };
        if !self.storm_drops(queues.classes[class].watch.storm, room) {
            return;
        }
        let lost = self.discard(queues, class, |priority, copies| {
            count.drop_copies(crate::counters::DropReason::NoRoom, priority, copies);
        });
        queues.classes[class].count.dropped.add(QueueDrop::Storm, lost);
    }
}
