//! Events of a target as they happen: initiators that log in and out.

use crate::commands::fcoe::common::{NO_ADDRESS, over, role};
use crate::trouble::print;
use linerate_fcoe::{Disks, Node, NodeEvent};
use linerate_rt::Sleeper;
use linerate_rt::block::Waits;
use linerate_rt::fc::Watcher;

/// Prints events, and wakes the node when its devices have made progress.
pub(super) struct Events {
    pub(super) silent: bool,
    pub(super) waits: Vec<Waits>,
}

impl Watcher<Disks> for Events {
    fn event(&mut self, _: u64, event: &NodeEvent, _: &mut Node<Disks>) {
        if self.silent {
            return;
        }
        match event {
            NodeEvent::Address(id) => print(&format!("address {id}: ready\n")),
            NodeEvent::NoAddress => print(NO_ADDRESS),
            NodeEvent::Up(peer) => {
                print(&format!("{} at {} logged in: {}\n", peer.wwpn, peer.fc_id, role(peer.role)));
            }
            NodeEvent::Down(peer, why) => print(&over(peer, *why)),
            NodeEvent::Found(_) | NodeEvent::Lost(_) => {}
        }
    }

    fn turn(&mut self, _: u64, _: &mut Node<Disks>) -> bool {
        false
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.waits.iter().for_each(|waits| waits.waits_for(visit));
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
