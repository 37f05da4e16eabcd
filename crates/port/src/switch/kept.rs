//! Frames of a protocol of the link itself, such as LLDP: they are for the switch and not for others, and whoever runs it takes them, port
//! by port, and sends such by one port alone.
//!
//! Those that come are counted as kept, and those that leave as the switch's own.

use super::Switch;
use super::member::Member;
use super::rewrite::Whole;
use super::table::PortId;
use crate::class::queue_of;
use crate::info::Link;
use linerate_wire::{EtherType, MacAddr, Priority};

/// Most frames that wait to be taken; what comes beyond them is dropped.
const MOST: usize = 256;

/// Something new at a port, in the order in which it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortNews {
    /// The port has come, under this name.
    Come(String),
    /// It is gone.
    Gone,
    /// A frame has come by it.
    Frame(Vec<u8>),
}

/// The protocol, and what is new.
pub(super) struct Kept {
    group: u64,
    ethertype: u16,
    news: Vec<(PortId, PortNews)>,
    frames: usize,
}

impl Kept {
    /// Takes note of a port that comes or goes.
    pub(super) fn changed(&mut self, port: PortId, name: Option<&str>) {
        self.news.push((port, name.map_or(PortNews::Gone, |name| PortNews::Come(name.to_owned()))));
    }

    /// True if a frame to this address may be of the protocol.
    #[inline]
    pub(super) fn may_be(&self, mac: u64) -> bool {
        mac == self.group
    }

    /// Keeps a frame if it is of the protocol, and there is room.
    pub(super) fn take(&mut self, from: PortId, whole: &Whole) -> bool {
        let keeps = whole.bytes.get(12..14) == Some(&self.ethertype.to_be_bytes()) && self.frames < MOST;
        if keeps {
            self.frames += 1;
            self.news.push((from, PortNews::Frame(whole.bytes.clone())));
        }
        keeps
    }
}

impl Switch {
    /// Keeps frames of an EtherType to one of the sixteen reserved addresses for [`Switch::take_news`], which tells of ports too: first
    /// of those that there are.
    pub fn keep(&mut self, ethertype: EtherType, group: MacAddr) {
        let [a, b, c, d, e, f] = group.0;
        let mut kept = Kept {
            group: u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
            ethertype: ethertype.0,
            news: Vec::new(),
            frames: 0,
        };
        for id in &self.live {
            let name = self.members[usize::from(*id)].as_ref().map(|member| member.name.as_str());
            kept.changed(*id, name);
        }
        self.own.kept = Some(Box::new(kept));
    }

    /// News of ports since the last call, each with the port's number, which another has once it is gone.
    pub fn take_news(&mut self) -> Vec<(u16, PortNews)> {
        let Some(kept) = &mut self.own.kept else { return Vec::new() };
        kept.frames = 0;
        std::mem::take(&mut kept.news)
    }

    /// Link of a port, and the number of times that it has changed; down at one that shows another's traffic.
    #[must_use]
    pub fn link_of(&self, port: u16) -> Option<(Link, u32)> {
        let member = self.members.get(usize::from(port))?.as_ref()?;
        let rx = &member.sources.first()?.rx;
        Some((if member.monitor { Link::Down } else { rx.link() }, rx.link_generation()))
    }

    /// Sends a frame by a port before what waits there; false if it has no room, or is gone.
    #[must_use = "false means that nothing was sent"]
    pub fn send_by(&mut self, port: u16, frame: &[u8]) -> bool {
        if self.members.get(usize::from(port)).is_none_or(Option::is_none) {
            return false;
        }
        self.send_before(port, || frame)
    }

    /// Puts a frame of the switch itself into a port's ring, before what waits in queues; false if there is no room.
    pub(super) fn send_before<F: AsRef<[u8]>>(&mut self, id: PortId, frame: impl FnOnce() -> F) -> bool {
        // Its ring is asked for room, and so has to be flushed.
        self.touch(id);
        let priority = Priority::default();
        let Some(Member { outlets, finisher, count, .. }) = self.members[usize::from(id)].as_mut() else { return true };
        let queue = queue_of(priority, outlets.len());
        let Some(outlet) = outlets.get_mut(queue) else { return true };
        if outlet.free(1, false) == 0 {
            return false;
        }
        let put = finisher.put(&mut outlet.tx.ring, 1, frame().as_ref(), None);
        outlet.moved();
        count.own += 1;
        count.took(priority, &put, 1);
        true
    }
}
