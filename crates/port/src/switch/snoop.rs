//! Listening to IGMP and MLD (RFC 4541): groups go to the ports that have listeners, to those that have routers, and to
//! those that it is not sure about.
//!
//! As in Linux's bridge, groups are told apart only in a VLAN that a querier is about in: without one, reports come when
//! hosts join and never again, and what the table does not have may be wanted. With one, a port gets
//!
//! - the groups that a report came from it for, until [`LASTS`] after the last one;
//! - all groups, if a query or a hello of a router came from it (RFC 4541, section 2.1.1), if its reports found no place
//!   in the table, or if it was not asked yet: it is new, its link was down, or a loop was found or opened there.
//!
//! Always flooded: 224.0.0.0/24, ff02::1, queries, and what is no packet of IP to a group. Reports go to routers only
//! (section 2.1.1, rule 1), for a host that hears another's may leave out its own.
//!
//! A guest cannot silence others' groups. A report or a leave counts for the port that it came by. A guest's query makes
//! its port one that gets all groups, and no more: it is no reason to tell groups apart, to be silent as a querier, or to
//! end what a listener has left, for it may be one that hosts do not answer (a host drops a packet from its own address).
//! Only the switch itself and attached ports are believed, and those in the forms alone in which hosts take a query, to
//! all of them, with an answer wanted before memberships end.

use super::groups::Groups;
use super::portset::PortSet;
use super::querier::{Ask, Querier};
use super::table::{MOST_PORTS, PortId};
use super::ticks;
use linerate_wire::{EtherType, GroupPacket, GroupQuery, GroupRecord, Listening};
use std::collections::HashMap;
use std::net::IpAddr;

/// Seconds for which a query of another querier counts (RFC 3376, section 8.5; RFC 3810, section 9.5).
const PRESENT: u32 = 255;
/// Longest time in ms that a querier may give for answers: what IGMPv2 can say. A longer one says nothing: answers would
/// come when memberships have ended.
const MOST_WITHIN: u64 = 25_500;
/// Seconds for which a report counts. RFC 3376's 260 (section 8.4) is less than the time between two answers to a
/// querier that uses [`PRESENT`] and [`MOST_WITHIN`].
const LASTS: u32 = PRESENT + 30;
/// Records of one report that are read; a port that sends more in one gets all groups.
const MOST_RECORDS: usize = 512;

/// The IP version of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) const ALL: [Self; 2] = [Self::V4, Self::V6];

    pub(super) fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

/// Knowledge of a VLAN about one family's queriers.
#[derive(Clone, Copy, Default)]
pub(super) struct Asked {
    /// Another querier: its address, its port, and the last tick at which its query counts.
    other: Option<(IpAddr, PortId)>,
    until: u32,
    /// Ports whose hosts have answered a general query, and ports whose hosts are answering it until a tick.
    settled: PortSet,
    asked: PortSet,
    answers: u32,
}

impl Asked {
    /// The other querier that is about, and its port.
    pub(super) fn present(&self, tick: u32) -> Option<(IpAddr, PortId)> {
        self.other.filter(|_| tick <= self.until)
    }

    /// Takes note that a general query went to these ports, to be answered within a time.
    pub(super) fn ask(&mut self, tick: u32, ports: PortSet, within_ms: u64) {
        if tick > self.answers {
            self.settled = self.settled.or(&self.asked);
            (self.asked, self.answers) = (ports, tick + ticks(seconds_of(within_ms)));
        }
    }

    /// Ports whose listeners are known.
    fn settled(&self, tick: u32) -> PortSet {
        if tick > self.answers { self.settled.or(&self.asked) } else { self.settled }
    }
}

/// The way that a frame came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub(super) from: PortId,
    pub(super) vid: u16,
    /// MAC address of its source.
    pub(super) source: u64,
    /// The port is a program's.
    pub(super) guest: bool,
}

/// Ports that a frame to a group goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    All,
    Only(PortSet),
}

/// See the module's text.
pub(super) struct Snoop {
    pub(super) groups: Groups,
    /// By VLAN, for those in which anything was heard or is asked.
    pub(super) vlans: HashMap<u16, [Asked; 2]>,
    /// Last tick for which a port has a router, by port, of each family.
    routers: [Box<[u32]>; 2],
    /// Last tick for which a port gets all groups because its reports found no place.
    beyond: Box<[u32]>,
    /// The ports of `routers` and of `beyond` whose time is not over, as of the last round.
    routing: [PortSet; 2],
    overfull: PortSet,
    /// Ports that take part in forwarding.
    live: PortSet,
    pub(super) querier: Option<Querier>,
}

/// True for groups that all ports always get (RFC 4541, section 2.1.2, rule 2, and section 3).
fn is_flooded(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(group) => group.octets()[..3] == [224, 0, 0],
        // All nodes, which is never reported, and scopes of less than a link (RFC 3810, section 6).
        IpAddr::V6(group) => group.octets()[1] & 0xf < 2 || group.segments() == [0xff02, 0, 0, 0, 0, 0, 0, 1],
    }
}

/// Seconds, rounded up; more than [`LASTS`] is as good as that.
fn seconds_of(ms: u64) -> u32 {
    u32::try_from(ms.div_ceil(1000).min(LASTS.into())).unwrap_or(LASTS)
}

fn all_ports() -> Box<[u32]> {
    vec![0; MOST_PORTS].into()
}

fn until(ports: &[u32], tick: u32) -> PortSet {
    (0..).zip(ports).filter(|(_, until)| **until > tick).map(|(port, _)| port).collect()
}

impl Snoop {
    pub(super) fn new() -> Self {
        Self {
            groups: Groups::new(),
            vlans: HashMap::new(),
            routers: [all_ports(), all_ports()],
            beyond: all_ports(),
            routing: [PortSet::default(); 2],
            overfull: PortSet::default(),
            live: PortSet::default(),
            querier: None,
        }
    }

    /// Takes note of the ports that take part in forwarding.
    pub(super) fn live(&mut self, live: PortSet) {
        self.live = live;
        self.groups.shared_by(live.iter().count());
    }

    /// Takes note that a port's hosts are to be asked anew.
    pub(super) fn unsettle(&mut self, port: PortId) {
        for asked in self.vlans.values_mut().flatten() {
            asked.settled.remove(port);
            asked.asked.remove(port);
        }
        if let Some(querier) = &mut self.querier {
            querier.hurry();
        }
    }

    /// Forgets a port that has gone.
    pub(super) fn forget(&mut self, port: PortId) {
        self.groups.forget(port);
        self.unsettle(port);
        let place = usize::from(port) % MOST_PORTS;
        self.routers.iter_mut().for_each(|routers| routers[place] = 0);
        self.beyond[place] = 0;
        self.routing.iter_mut().for_each(|routing| routing.remove(port));
        self.overfull.remove(port);
    }

    /// Forgets what has not been heard of for long.
    pub(super) fn age(&mut self, tick: u32) {
        self.groups.age(tick);
        self.routing = [0, 1].map(|family: usize| until(&self.routers[family], tick));
        self.overfull = until(&self.beyond, tick);
    }

    /// True if groups are told apart in a VLAN.
    fn is_asked(&self, tick: u32, vid: u16, family: Family) -> bool {
        let Some(asked) = self.vlans.get(&vid) else { return false };
        asked[family as usize].present(tick).is_some()
            || self.querier.as_ref().is_some_and(|querier| querier.asks(tick, vid, family))
    }

    /// Ports that get all groups of a VLAN.
    fn unsure(&self, tick: u32, vid: u16, family: Family) -> PortSet {
        let settled = self.vlans.get(&vid).map(|asked| asked[family as usize].settled(tick)).unwrap_or_default();
        self.routing[family as usize].or(&self.overfull).or(&settled.others())
    }

    /// Ports that have routers.
    pub(super) fn routers(&self, family: Family) -> PortSet {
        self.routing[family as usize]
    }

    fn route(&mut self, tick: u32, family: Family, port: PortId) {
        self.routers[family as usize][usize::from(port) % MOST_PORTS] = tick + ticks(PRESENT);
        self.routing[family as usize].insert(port);
    }

    fn overfill(&mut self, tick: u32, port: PortId) {
        self.beyond[usize::from(port) % MOST_PORTS] = tick + ticks(LASTS);
        self.overfull.insert(port);
    }

    /// Takes note of a frame to a group's MAC address, and says where it goes.
    pub(super) fn hear(&mut self, tick: u32, came: &Came, ethertype: EtherType, packet: &[u8]) -> Spread {
        let Came { from, vid, .. } = *came;
        let Some(packet) = GroupPacket::parse(ethertype, packet) else { return Spread::All };
        let version = if ethertype == EtherType::IPV4 { Family::V4 } else { Family::V6 };
        match packet {
            GroupPacket::Data(group) if is_flooded(group) => Spread::All,
            GroupPacket::Data(group) => match self.is_asked(tick, vid, version) {
                true => {
                    let listeners = self.groups.find(vid, group).unwrap_or_default();
                    Spread::Only(listeners.or(&self.unsure(tick, vid, version)))
                }
                false => Spread::All,
            },
            GroupPacket::Query(query) => {
                self.groups.count.messages += 1;
                self.hear_query(tick, came, &query);
                Spread::All
            }
            GroupPacket::Report(records) => {
                self.groups.count.messages += 1;
                for (n, record) in records.enumerate() {
                    if n == MOST_RECORDS {
                        self.overfill(tick, from);
                        break;
                    }
                    self.hear_record(tick, (from, vid), record);
                }
                match self.is_asked(tick, vid, version) {
                    true => Spread::Only(self.routers(version)),
                    false => Spread::All,
                }
            }
            GroupPacket::Hello => {
                self.groups.count.messages += 1;
                self.route(tick, version, from);
                Spread::All
            }
        }
    }

    fn hear_query(&mut self, tick: u32, came: &Came, query: &GroupQuery) {
        let Came { from, vid, source, guest } = *came;
        let family = Family::of(query.from);
        // Also of a querier without an address, unlike RFC 4541, section 2.1.1, rule 1: it is a bridge that needs the
        // reports.
        self.route(tick, family, from);
        if guest || query.within_ms > MOST_WITHIN {
            return;
        }
        let within = seconds_of(query.within_ms);
        if let Some(group) = query.group {
            if !query.sources {
                // Two such queries are sent, one after the other (RFC 3376, section 8.8).
                self.groups.asked((vid, group), PortSet::default().others(), tick + ticks(2 * within));
            }
            return;
        }
        let live = self.live;
        let asked = &mut self.vlans.entry(vid).or_default()[family as usize];
        (asked.other, asked.until) = (Some((query.from, from)), tick + ticks(PRESENT));
        asked.ask(tick, live, query.within_ms);
        if let Some(querier) = &mut self.querier {
            querier.hear(tick, (vid, family), query.from, source, ticks(PRESENT));
        }
    }

    fn hear_record(&mut self, tick: u32, (from, vid): (PortId, u16), record: GroupRecord) {
        let (family, key) = (Family::of(record.group), (vid, record.group));
        if is_flooded(record.group) {
            return;
        }
        // Whoever asks, asks in this VLAN too from now on.
        self.vlans.entry(vid).or_default();
        match record.listening {
            Listening::Begins => {
                if !self.groups.join(key, from, tick + ticks(LASTS)) {
                    self.overfill(tick, from);
                }
            }
            Listening::Ends => {
                if self.groups.leave(key, from)
                    && let Some(querier) = &mut self.querier
                    && querier.asks(tick, vid, family)
                    && querier.will_ask(Ask { vid, group: record.group, port: from })
                {
                    // Asked within a second and once more a second later, and answered within another.
                    self.groups.asked(key, PortSet::from_iter([from]), tick + ticks(4));
                }
            }
        }
    }
}
