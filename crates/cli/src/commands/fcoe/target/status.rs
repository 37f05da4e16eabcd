//! What a target says while it runs: who comes and goes, and what they do.

use crate::commands::fcoe::common::role;
use crate::trouble::print;
use linerate_fcoe::{Disks, Node, NodeEvent, PeerId};
use linerate_rt::Sleeper;
use linerate_rt::fc::Watcher;
use std::collections::HashMap;

const SECOND: u64 = 1_000_000_000;

/// Prints as things happen.
pub(super) struct Status {
    /// From one table to the next, nanoseconds.
    every: Option<u64>,
    silent: bool,
    last: Option<u64>,
    /// What each peer had done by then: commands, octets sent, octets received.
    before: HashMap<PeerId, [u64; 3]>,
}

impl Status {
    /// A table each so many seconds; nothing at all if it shall be silent.
    pub(super) fn new(seconds: Option<u64>, silent: bool) -> Self {
        Self { every: seconds.map(|s| s.saturating_mul(SECOND)), silent, last: None, before: HashMap::new() }
    }

    fn table(&mut self, ns: u64, node: &Node<Disks>) -> String {
        let Some(target) = node.target() else { return String::new() };
        let rate = |now: u64, before: u64| (now - before) as f64 * SECOND as f64 / ns.max(1) as f64;
        let mut text = String::new();
        let mut after = HashMap::new();
        for known in target.peers() {
            let now = [known.commands, known.octets_sent, known.octets_received];
            let before = self.before.get(&known.peer.id).copied().unwrap_or_default();
            let [commands, sent, received] = [0, 1, 2].map(|i| rate(now[i], before[i]));
            text += &format!(
                "{}  {}  queue {:>4}  {commands:>9.0} IOPS  read {:>9.3} MB/s  write {:>9.3} MB/s\n",
                known.peer.wwpn, known.peer.fc_id, known.queue_depth, sent / 1e6, received / 1e6
            );
            after.insert(known.peer.id, now);
        }
        self.before = after;
        let errors = target.counters().drops();
        text + &format!("{} logged in, {} exchanges, {errors} frames dropped\n", target.peers().count(), target.exchanges())
    }
}

impl Watcher<Disks> for Status {
    fn event(&mut self, _: u64, event: &NodeEvent, node: &mut Node<Disks>) {
        if self.silent {
            return;
        }
        match event {
            NodeEvent::Address(id) => print(&format!("address {id}: ready\n")),
            NodeEvent::NoAddress => print("no address\n"),
            NodeEvent::Up(peer) => {
                print(&format!("{} at {} logged in: {}\n", peer.wwpn, peer.fc_id, role(peer.role)));
            }
            NodeEvent::Down(peer, why) => print(&format!("peer {} logged out: {why}\n", peer.index)),
            NodeEvent::Found(_) | NodeEvent::Lost(_) => {}
        }
        let _ = node;
    }

    fn turn(&mut self, now: u64, node: &mut Node<Disks>) -> bool {
        let Some(every) = self.every.filter(|_| !self.silent) else { return false };
        let last = *self.last.get_or_insert(now);
        if now.saturating_sub(last) >= every {
            print(&self.table(now - last, node));
            self.last = Some(now);
        }
        false
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.last.zip(self.every).map(|(last, every)| last.saturating_add(every))
    }

    fn waits_for(&mut self, node: &mut Node<Disks>, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        let _ = (node, visit);
    }

    fn is_done(&self) -> bool {
        false
    }
}
