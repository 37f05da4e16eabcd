//! Length of the switch's queues in the time that counts, and how often neighbours were asked to pause in it.

use super::Depth;
use linerate_port::switch::Switch;
use std::collections::BTreeMap;
use std::ops::Range;

/// A queue's length so far.
#[derive(Default)]
struct Gauge {
    /// Bytes times nanoseconds.
    area: u128,
    most: u64,
}

/// All queues; see the module's text.
#[derive(Default)]
pub(super) struct Gauges {
    /// Time of the last look, and what waited then, by port and class.
    at: u64,
    waited: Vec<(u16, usize, u64)>,
    all: BTreeMap<(u16, usize), Gauge>,
    /// Requests before the time that counts, and until its end.
    requests: [Option<u64>; 2],
}

impl Gauges {
    /// Looks at the queues at the end of an instant.
    pub(super) fn look(&mut self, now: u64, window: &Range<u64>, switch: &Switch) {
        let lasted = now.min(window.end).saturating_sub(self.at.max(window.start));
        for (port, class, bytes) in self.waited.drain(..).filter(|_| lasted > 0) {
            self.all.entry((port, class)).or_default().area += u128::from(bytes) * u128::from(lasted);
        }
        self.at = now;
        self.waited.extend(switch.depths());
        for (port, class, bytes) in self.waited.iter().filter(|_| window.contains(&now)) {
            let most = &mut self.all.entry((*port, *class)).or_default().most;
            *most = (*most).max(*bytes);
        }
        for (at, requests) in [window.start, window.end].into_iter().zip(&mut self.requests) {
            if now >= at && window.end > 0 && requests.is_none() {
                *requests = Some(switch.ports().iter().flat_map(|port| port.pfc.requests).sum());
            }
        }
    }

    /// Requests in the time that counts.
    pub(super) fn pauses(&self) -> u64 {
        let [before, after] = self.requests.map(Option::unwrap_or_default);
        after.saturating_sub(before)
    }

    /// Queues in which something waited, of ports with these names. `time`: what counts, in ns.
    pub(super) fn depths(&self, names: &[&str], time: u64) -> Vec<Depth> {
        let depth = |((port, class), gauge): (&(u16, usize), &Gauge)| Depth {
            port: names.get(usize::from(*port)).map_or_else(String::new, |name| (*name).to_owned()),
            class: *class,
            mean: gauge.area as f64 / time as f64,
            most: gauge.most,
        };
        self.all.iter().map(depth).collect()
    }
}
