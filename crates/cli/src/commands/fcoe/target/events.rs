//! Events of a target as they happen: initiators that log in and out, devices that are lost and come back.

use crate::commands::fcoe::common::{authenticated, name_in_use, name_taken, no_address, over, role, unauthenticated};
use crate::print::remark;
use crate::trouble::print;
use linerate_fcoe::{DiskPort, Node, NodeEvent};
use linerate_rt::Sleeper;
use linerate_rt::block::Waits;
use linerate_rt::fc::Watcher;

/// Prints events, and wakes the node when its devices have made progress.
pub(super) struct Events {
    silent: bool,
    /// Devices that are not memory, with their LUNs.
    pub(super) waits: Vec<(u16, Waits)>,
    /// Time at which they are asked for news again.
    due: u64,
}

const SECOND: u64 = 1_000_000_000;

impl Events {
    pub(super) fn new(silent: bool, waits: Vec<(u16, Waits)>) -> Self {
        Self { silent, waits, due: 0 }
    }
}

/// Losses when devices are closed, by LUN.
pub(super) fn losses(waits: &[(u16, Waits)]) -> Vec<(u16, String)> {
    waits.iter().filter_map(|(lun, waits)| Some((*lun, waits.loss()?))).collect()
}

impl Watcher<DiskPort> for Events {
    fn event(&mut self, _: u64, event: &NodeEvent, node: &mut Node<DiskPort>) {
        if self.silent {
            return;
        }
        match event {
            NodeEvent::Address(id) => print(&format!("address {id}: ready\n")),
            NodeEvent::NoAddress => print(no_address(node)),
            NodeEvent::Up(peer) => {
                print(&format!("{} at {} logged in: {}\n", peer.wwpn, peer.fc_id, role(peer.role)));
            }
            NodeEvent::Down(peer, why) => print(&over(peer, *why)),
            NodeEvent::Refused(refused) => print(&format!("note: {refused}\n")),
            NodeEvent::NameInUse(holder) => print(&name_in_use(*holder)),
            NodeEvent::NameTaken(by) => print(&name_taken(*by)),
            NodeEvent::Authenticated(name, proof) => print(&authenticated(*name, proof)),
            NodeEvent::Unauthenticated(name, why) => print(&unauthenticated(*name, *why)),
            NodeEvent::Found(_) | NodeEvent::Lost(_) => {}
        }
    }

    fn turn(&mut self, now: u64, _: &mut Node<DiskPort>) -> bool {
        if now >= self.due {
            self.due = now + SECOND;
            for (lun, waits) in &self.waits {
                while let Some(news) = waits.news() {
                    // Documents have no place for it, and data may be at stake.
                    if self.silent {
                        remark(&format!("linerate: LUN {lun}: {news}"));
                    } else {
                        print(&format!("LUN {lun}: {news}\n"));
                    }
                }
            }
        }
        false
    }

    fn poll_timeout(&self) -> Option<u64> {
        (!self.waits.is_empty()).then_some(self.due)
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.waits.iter().for_each(|(_, waits)| waits.waits_for(visit));
    }

    fn is_done(&self) -> bool {
        false
    }

    fn note(&mut self, note: &str) {
        if !self.silent {
            print(&format!("note: {note}\n"));
        }
    }
}
