//! The table of groups: which ports have listeners of a group in a VLAN, each with its time.
//!
//! It has a fixed number of places. A port that is in its share of them already, or comes when all are taken, gets no
//! new one, and the caller has to send it all groups instead; a group that has a place takes any number of ports. So no
//! port can take the places of others, and nobody who has asked for a group is left without it.

use super::portset::PortSet;
use super::table::{MOST_PORTS, PortId};
use std::collections::HashMap;
use std::net::IpAddr;

/// Most groups at a time.
const PLACES: u16 = 2048;
/// The same, as a length.
pub(super) const GROUPS: usize = PLACES as usize;

/// A group with its listeners.
#[derive(Clone, Copy)]
struct Place {
    /// VLAN and group; None: free.
    key: Option<(u16, IpAddr)>,
    ports: PortSet,
    /// Ports that a listener has left, until somebody asks whether others are there.
    left: PortSet,
}

/// Counters of the groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounters {
    /// Groups in the table now, each VLAN's for itself.
    pub known: u64,
    /// Groups that were entered.
    pub entered: u64,
    /// Reports that found no place: their ports get all groups for a while.
    pub refused: u64,
    /// Messages of IGMP and MLD that were heard.
    pub messages: u64,
}

/// See the module's text.
pub(super) struct Groups {
    // The standard library's hash is keyed: nobody can aim at a bucket.
    index: HashMap<(u16, IpAddr), u16>,
    places: Box<[Place]>,
    free: Vec<u16>,
    /// Last tick of a port in a place, by place and port.
    until: Box<[u32]>,
    /// Places that each port is in.
    joined: Box<[u32]>,
    /// Ports that share the table.
    sharers: usize,
    pub(super) count: GroupCounters,
}

fn at(place: u16, port: PortId) -> usize {
    usize::from(place) * MOST_PORTS + usize::from(port) % MOST_PORTS
}

impl Groups {
    pub(super) fn new() -> Self {
        Self {
            index: HashMap::with_capacity(GROUPS),
            places: vec![Place { key: None, ports: PortSet::default(), left: PortSet::default() }; GROUPS].into(),
            free: (0..PLACES).rev().collect(),
            until: vec![0; GROUPS * MOST_PORTS].into(),
            joined: vec![0; MOST_PORTS].into(),
            sharers: 1,
            count: GroupCounters::default(),
        }
    }

    /// Sets the number of ports that share the table.
    pub(super) fn shared_by(&mut self, ports: usize) {
        self.sharers = ports.max(1);
    }

    /// Ports with listeners of a group; None if it has no place.
    pub(super) fn find(&self, vid: u16, group: IpAddr) -> Option<PortSet> {
        let place = self.index.get(&(vid, group))?;
        Some(self.places[usize::from(*place)].ports)
    }

    /// Takes note of a listener at a port until a tick; false if there is no place for it.
    pub(super) fn join(&mut self, (vid, group): (u16, IpAddr), port: PortId, until: u32) -> bool {
        let place = match self.index.get(&(vid, group)) {
            Some(place) => *place,
            None => {
                let share = GROUPS / self.sharers;
                let may = (self.joined[usize::from(port) % MOST_PORTS] as usize) < share;
                let Some(place) = may.then(|| self.free.pop()).flatten() else {
                    self.count.refused += 1;
                    return false;
                };
                self.index.insert((vid, group), place);
                self.places[usize::from(place)].key = Some((vid, group));
                self.count.entered += 1;
                place
            }
        };
        let entry = &mut self.places[usize::from(place)];
        entry.left.remove(port);
        if !entry.ports.contains(port) {
            entry.ports.insert(port);
            self.joined[usize::from(port) % MOST_PORTS] += 1;
        }
        self.until[at(place, port)] = until;
        true
    }

    /// Takes note that a listener has left, while others may be behind its port; false if the port is not in the group.
    pub(super) fn leave(&mut self, (vid, group): (u16, IpAddr), port: PortId) -> bool {
        let Some(place) = self.index.get(&(vid, group)) else { return false };
        let entry = &mut self.places[usize::from(*place)];
        let there = entry.ports.contains(port);
        if there {
            entry.left.insert(port);
        }
        there
    }

    /// Takes note that the listeners at some ports were asked to answer before a tick: ports that one has left go then,
    /// unless another is there.
    pub(super) fn asked(&mut self, (vid, group): (u16, IpAddr), ports: PortSet, until: u32) {
        let Some(place) = self.index.get(&(vid, group)).copied() else { return };
        let left = &mut self.places[usize::from(place)].left;
        let asked = left.and(&ports);
        *left = left.and(&ports.others());
        for port in asked.iter() {
            let last = &mut self.until[at(place, port)];
            *last = until.min(*last);
        }
    }

    /// Forgets the listeners whose time is over.
    pub(super) fn age(&mut self, tick: u32) {
        for place in 0..PLACES {
            if self.places[usize::from(place)].key.is_some() {
                let over: PortSet = self.ports_of(place).filter(|port| self.until[at(place, *port)] < tick).collect();
                over.iter().for_each(|port| self.remove(place, port));
            }
        }
    }

    /// Forgets all listeners at a port.
    pub(super) fn forget(&mut self, port: PortId) {
        (0..PLACES).for_each(|place| self.remove(place, port));
    }

    fn ports_of(&self, place: u16) -> impl Iterator<Item = PortId> + use<> {
        self.places[usize::from(place)].ports.iter()
    }

    fn remove(&mut self, place: u16, port: PortId) {
        let entry = &mut self.places[usize::from(place)];
        if !entry.ports.contains(port) {
            return;
        }
        entry.ports.remove(port);
        entry.left.remove(port);
        self.joined[usize::from(port) % MOST_PORTS] -= 1;
        if entry.ports.is_empty() {
            if let Some(key) = entry.key.take() {
                self.index.remove(&key);
            }
            entry.left = PortSet::default();
            self.free.push(place);
        }
    }

    pub(super) fn counters(&self) -> GroupCounters {
        GroupCounters { known: self.index.len() as u64, ..self.count }
    }

    /// All groups: VLAN, group, and each port with its last tick.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u16, IpAddr, Vec<(PortId, u32)>)> + '_ {
        (0u16..).zip(&self.places).filter_map(|(place, entry)| {
            let (vid, group) = entry.key?;
            Some((vid, group, entry.ports.iter().map(|port| (port, self.until[at(place, port)])).collect()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(n: u32) -> (u16, IpAddr) {
        (1, IpAddr::from((0xef00_0000 + n).to_be_bytes()))
    }

    fn ports(groups: &Groups, (vid, group): (u16, IpAddr)) -> Vec<PortId> {
        groups.find(vid, group).map(|ports| ports.iter().collect()).unwrap_or_default()
    }

    #[test]
    fn listeners_come_age_and_go() {
        let mut g = Groups::new();
        assert!(g.join(group(1), 3, 10) && g.join(group(1), 5, 20) && g.join((2, group(1).1), 7, 20));
        assert_eq!((ports(&g, group(1)), ports(&g, (2, group(1).1))), (vec![3, 5], vec![7]));
        g.age(10);
        assert_eq!(ports(&g, group(1)), [3, 5]);
        g.age(11);
        assert_eq!(ports(&g, group(1)), [5]);
        // One that has left stays until somebody asks, and longer if it answers.
        assert!(g.join(group(1), 6, 50) && g.join(group(1), 7, 50));
        assert!(g.leave(group(1), 6) && g.leave(group(1), 7) && !g.leave(group(1), 8) && !g.leave(group(2), 6));
        g.age(12);
        assert_eq!(ports(&g, group(1)), [5, 6, 7]);
        g.asked(group(1), PortSet::from_iter([5, 7]), 13);
        g.age(14);
        assert_eq!(ports(&g, group(1)), [5, 6], "of those that were asked, the one that was left");
        assert!(g.join(group(1), 7, 50) && g.leave(group(1), 7));
        g.asked(group(1), PortSet::default().others(), 14);
        assert!(g.join(group(1), 7, 50));
        g.age(15);
        assert_eq!(ports(&g, group(1)), [5, 7]);
        g.asked(group(1), PortSet::default().others(), 15);
        g.age(16);
        assert_eq!(ports(&g, group(1)), [5, 7], "nobody has left since");
        g.forget(5);
        g.forget(7);
        assert_eq!((g.counters().known, g.free.len()), (0, GROUPS));
        assert!(g.joined.iter().all(|n| *n == 0));
    }

    /// Each group has times of its own: a later report of another one keeps nobody.
    #[test]
    fn a_listener_of_two_groups_leaves_each_in_its_time() {
        let mut g = Groups::new();
        assert!(g.join(group(1), 3, 10) && g.join(group(2), 3, 20) && g.join(group(3), 4, 30));
        g.age(11);
        assert_eq!((ports(&g, group(1)), ports(&g, group(2))), (vec![], vec![3]));
        g.age(21);
        assert_eq!((ports(&g, group(2)), ports(&g, group(3))), (vec![], vec![4]));
    }

    #[test]
    fn a_port_gets_its_share_and_no_more_and_takes_no_others() {
        let mut g = Groups::new();
        g.shared_by(4);
        let taken = (0..100_000).filter(|n| g.join(group(*n), 0, 100)).count();
        assert_eq!((taken, g.counters().refused), (GROUPS / 4, 100_000 - GROUPS as u64 / 4));
        for port in 1..4 {
            let mine = u32::from(port) * 1_000_000;
            assert!((mine..mine + 512).all(|n| g.join(group(n), port, 100)), "port {port}");
            assert!(!g.join(group(mine + 600), port, 100));
        }
        assert!(g.free.is_empty());
        // What has a place is open to all: a port does not lose a group because somebody else had it first.
        assert!(g.join(group(1_000_000), 0, 100) && g.join(group(7), 3, 100));
        assert_eq!(ports(&g, group(7)), [0, 3]);
        g.age(101);
        assert_eq!((g.counters().known, g.free.len()), (0, GROUPS));
        assert!(g.join(group(1), 9, 200));
    }
}
