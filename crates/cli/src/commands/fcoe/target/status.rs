//! Activity of a target's initiators at intervals: a table, or one JSON document per line.

use super::{Node, Nodes};
use crate::trouble::print;
use linerate_fcoe::PeerId;
use linerate_rt::control::Callee;
use linerate_rt::{Machine, Progress, Sleeper};
use serde_json::{Value, json};
use std::collections::HashMap;

const SECOND: u64 = 1_000_000_000;

/// A target that prints its status, and is looked at by calls.
pub(super) struct Shown {
    /// The target at each of its ports.
    nodes: Nodes,
    calls: Callee<Nodes>,
    /// Time between two views, nanoseconds.
    every: Option<u64>,
    json: bool,
    last: Option<u64>,
    /// Counters of each peer at the last view: commands, bytes sent, bytes received.
    before: HashMap<(usize, PeerId), [u64; 3]>,
}

/// An initiator that is logged in.
struct Initiator {
    wwpn: String,
    fc_id: String,
    /// Number of open commands.
    queue_depth: u16,
    /// Rates per second since the last view.
    iops: f64,
    read_bytes: f64,
    write_bytes: f64,
}

struct View {
    initiators: Vec<Initiator>,
    exchanges: usize,
    /// Errors since the target was started.
    errors: [(&'static str, &'static str, u64); 4],
}

impl Shown {
    /// Makes a target that prints a view every so many seconds.
    pub(super) fn new(nodes: Nodes, calls: Callee<Nodes>, seconds: Option<u64>, json: bool) -> Self {
        let every = seconds.map(|s| s.saturating_mul(SECOND));
        Self { nodes, calls, every, json, last: None, before: HashMap::new() }
    }

    /// The target at a port.
    pub(super) fn node(&self, number: usize) -> &Node {
        &self.nodes[number]
    }

    /// The target, which is called no more.
    pub(super) fn end(self) -> Nodes {
        self.nodes
    }

    /// View of the activity in the last `ns` nanoseconds.
    fn view(&mut self, ns: u64) -> View {
        let rate = |now: u64, before: u64| (now - before) as f64 * SECOND as f64 / ns.max(1) as f64;
        let (mut initiators, mut after, mut exchanges) = (Vec::new(), HashMap::new(), 0);
        let mut errors = [
            ("bad_crc", "frames with a wrong CRC", 0),
            ("dropped", "dropped", 0),
            ("aborted", "exchanges aborted", 0),
            ("expired", "given up", 0),
        ];
        for (number, node) in self.nodes.iter().enumerate() {
            let Some(target) = node.node().target() else { continue };
            for known in target.peers() {
                let now = [known.commands, known.bytes_sent, known.bytes_received];
                let key = (number, known.peer.id);
                let before = self.before.get(&key).copied().unwrap_or_default();
                let [iops, read_bytes, write_bytes] = [0, 1, 2].map(|i| rate(now[i], before[i]));
                let (wwpn, fc_id) = (known.peer.wwpn.to_string(), known.peer.fc_id.to_string());
                let queue_depth = known.queue_depth;
                initiators.push(Initiator { wwpn, fc_id, queue_depth, iops, read_bytes, write_bytes });
                after.insert(key, now);
            }
            exchanges += target.exchanges();
            let counters = target.counters();
            let found = [node.lines().1.counters().bad_crc, counters.drops(), counters.aborted, counters.expired];
            errors.iter_mut().zip(found).for_each(|((_, _, n), found)| *n += found);
        }
        self.before = after;
        View { initiators, exchanges, errors }
    }
}

impl View {
    fn text(&self) -> String {
        let mut text = String::new();
        for initiator in &self.initiators {
            let Initiator { wwpn, fc_id, queue_depth, iops, read_bytes, write_bytes } = initiator;
            text += &format!(
                "{wwpn}  {fc_id}  queue {queue_depth:>4}  {iops:>9.0} IOPS  read {:>9.3} MB/s  write {:>9.3} MB/s\n",
                read_bytes / 1e6,
                write_bytes / 1e6
            );
        }
        let errors = self.errors.map(|(_, what, n)| format!("{n} {what}")).join(", ");
        text + &format!("{} logged in, {} exchanges; {errors}\n", self.initiators.len(), self.exchanges)
    }

    fn document(&self) -> Value {
        let initiator = |initiator: &Initiator| {
            let Initiator { wwpn, fc_id, queue_depth, iops, read_bytes, write_bytes } = initiator;
            json!({
                "wwpn": wwpn, "fc_id": fc_id, "queue_depth": queue_depth, "iops": iops,
                "read_bytes_per_s": read_bytes, "write_bytes_per_s": write_bytes,
            })
        };
        let errors = self.errors.map(|(name, _, n)| (name.to_owned(), json!(n)));
        json!({
            "schema": "linerate.fcoe.target.status", "version": 1,
            "initiators": self.initiators.iter().map(initiator).collect::<Vec<_>>(),
            "exchanges": self.exchanges, "errors": Value::Object(errors.into_iter().collect()),
        })
    }
}

impl Machine for Shown {
    fn handle(&mut self, now: u64) -> Progress {
        let (mut worked, mut ended) = (false, 0);
        for node in &mut self.nodes {
            match node.handle(now) {
                Progress::Done => ended += 1,
                Progress::Worked => worked = true,
                Progress::Idle => {}
            }
        }
        // One port without its name ends all: the paths that are left would hide it.
        if ended > 0 && self.nodes.iter().any(|node| node.check().is_err()) {
            self.stop(now);
        }
        if ended == self.nodes.len() {
            return Progress::Done;
        }
        if let Some(every) = self.every {
            let last = *self.last.get_or_insert(now);
            if now.saturating_sub(last) >= every {
                self.last = Some(now);
                let view = self.view(now - last);
                print(&if self.json { format!("{}\n", view.document()) } else { view.text() });
            }
        }
        worked |= self.calls.serve(&mut self.nodes);
        // A port may have made progress for one that had its turn before.
        let waits = |node: &Node| node.node().target().is_some_and(|target| target.device().has_steps());
        if worked || self.nodes.iter().any(waits) { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let due = self.last.zip(self.every).map(|(last, every)| last.saturating_add(every));
        self.nodes.iter().filter_map(Machine::poll_timeout).chain(due).min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.nodes.iter_mut().for_each(|node| node.waits_for(visit));
        visit(&mut self.calls.sleep());
    }

    fn stop(&mut self, now: u64) {
        self.nodes.iter_mut().for_each(|node| node.stop(now));
    }
}
