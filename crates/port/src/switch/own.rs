//! Work of the switch of its own accord, about once a second: probes for loops (`guard`), queries (`querier`), ageing.
//!
//! Frames that it makes are copies without a received frame: each port counts those made for it (`own`), and they are in
//! the ledger beside the copies of what was received. Monitors do not get them. The switch's own probes go no further
//! when they come back, and are counted there as refused (`own`).

use super::forward::{Head, Target};
use super::guard::{Guard, Heard};
use super::kept::Kept;
use super::portset::PortSet;
use super::querier::{Due, INTERVAL, Querier, WITHIN};
use super::queues::Store;
use super::rewrite::Whole;
use super::snoop::{Came, Family, Snoop, Spread};
use super::table::PortId;
use super::vlan::Leave;
use super::{Switch, probe, tick_of};
use crate::counters::DropReason;
use crate::info::Link;
use linerate_wire::{EtherType, EthernetRepr, MacAddr, multicast_mac};
use std::net::{IpAddr, Ipv4Addr};

/// Nanoseconds between two rounds.
const ROUND: u64 = 1_000_000_000;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Least bytes of a frame, without FCS.
const LEAST: usize = 60;

/// True if an address is one of IP's groups (RFC 1112, section 6.4; RFC 2464, section 7).
pub(super) fn is_ip_group(mac: u64) -> bool {
    mac >> 23 == 0x0100_5e00_0000 >> 23 || mac >> 32 == 0x3333
}

/// Parts of the switch that have work of their own.
#[derive(Default)]
pub(super) struct Own {
    pub(super) guard: Option<Box<Guard>>,
    pub(super) snoop: Option<Box<Snoop>>,
    pub(super) kept: Option<Box<Kept>>,
    /// Time of the next round; none while there is no such part.
    next: Option<u64>,
    /// Time of the last round.
    last: u64,
    /// A probe found no room yet.
    owing: bool,
}

impl Own {
    /// True if frames to a group address cannot be carried without a look into them.
    #[inline]
    pub(super) fn looks_into(&self, mac: u64) -> bool {
        self.guard.is_some() && mac == probe::GROUP || self.snoop.is_some() && is_ip_group(mac)
    }

    /// Takes note of a port that comes, under a name, or goes.
    pub(super) fn changed(&mut self, port: PortId, name: Option<&str>) {
        if let Some(kept) = &mut self.kept {
            kept.changed(port, name);
        }
        if let Some(guard) = &mut self.guard {
            guard.begin(port);
        }
        if let Some(snoop) = &mut self.snoop {
            if name.is_none() {
                snoop.forget(port);
            } else {
                snoop.unsettle(port);
            }
        }
        // Ports that come and go quickly do not make probes obsolete before they can come back.
        self.next = self.next.map(|next| next.min(self.last + ROUND / 10));
    }
}

impl Switch {
    /// Looks for loops among attached ports, and blocks a port that is joined to another one outside of the switch, by
    /// probes that leave through each of them every second.
    pub fn find_loops(&mut self) {
        self.own.guard = Some(Box::new(Guard::new()));
        self.own.next = Some(0);
    }

    /// Listens to IGMP and MLD, and sends groups to those alone that want them; `querier`: asks them itself, from this
    /// address or 0.0.0.0, while no other does.
    pub fn snoop(&mut self, querier: Option<Ipv4Addr>) {
        let mac = self.own.guard.as_ref().map_or_else(|| Guard::new().source(), |guard| guard.source());
        let mut snoop = Snoop::new();
        snoop.querier = querier.map(|address| Querier::new(mac, address));
        self.mac = mac;
        self.store.iter_mut().for_each(|store| store.mac = mac);
        self.own.snoop = Some(Box::new(snoop));
        self.own.next = Some(0);
        self.rewire();
    }

    /// Time at which the switch has to be polled whatever arrives, for its own frames and pauses.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        [self.own.next, self.store.as_deref().and_then(Store::due)].into_iter().flatten().min()
    }

    /// Does what is due.
    #[inline]
    pub(super) fn tend(&mut self) {
        if self.own.owing || self.own.next.is_some_and(|next| self.now >= next) {
            self.round();
        }
    }

    #[cold]
    fn round(&mut self) {
        if self.own.next.is_some_and(|next| self.now >= next) {
            (self.own.last, self.own.next) = (self.now, Some(self.now + ROUND));
            self.look_at_links();
            self.begin_probes();
            self.end_blocks();
            self.ask();
        }
        self.send_probes();
    }

    /// A link that was down may be to somebody else.
    fn look_at_links(&mut self) {
        for id in self.live.clone() {
            let Some(member) = self.members[usize::from(id)].as_mut() else { continue };
            let Some(source) = member.sources.first().filter(|_| member.life.is_none()) else { continue };
            let is_up = source.rx.link() == Link::Up;
            if std::mem::replace(&mut member.was_up, is_up) != is_up
                && is_up
                && let Some(snoop) = &mut self.own.snoop
            {
                snoop.unsettle(id);
            }
        }
    }

    fn begin_probes(&mut self) {
        let members = &self.members;
        let probed = |id: &PortId| {
            let member = members[usize::from(*id)].as_ref();
            member.is_some_and(|m| m.life.is_none() && !m.monitor && m.was_up && !m.outlets.is_empty())
        };
        let ports: Vec<PortId> = self.live.iter().copied().filter(probed).collect();
        if let Some(guard) = &mut self.own.guard {
            guard.round(ports.into_iter());
        }
    }

    /// Sends the probes that are wanted and find room; the others wait, for what fills a ring may be a loop.
    fn send_probes(&mut self) {
        self.own.owing = false;
        let Some(mut guard) = self.own.guard.take() else { return };
        for id in self.live.clone() {
            if !guard.wants(id) {
                continue;
            }
            // Before what waits in queues: that may be a loop's.
            if !self.send_before(id, || guard.probe(id)) {
                self.own.owing = true;
            }
        }
        self.own.guard = Some(guard);
    }

    /// Puts a frame of the switch itself into a port's ring; true if it is there.
    pub(super) fn send_own(&mut self, target: &Target, whole: &Whole) -> bool {
        let Some((first, second)) = whole.head() else { return false };
        let Some(member) = self.members[usize::from(target.to)].as_mut() else { return false };
        member.count.own += 1;
        let before = member.count.sent;
        self.put(None, target, whole, Head::new(first, second));
        self.members[usize::from(target.to)].as_ref().is_some_and(|member| member.count.sent > before)
    }

    /// Takes a probe of this switch that came back; false if a frame is none.
    #[cold]
    pub(super) fn hear_probe(&mut self, from: PortId, whole: &Whole) -> bool {
        let (Some(guard), Some(member)) = (&mut self.own.guard, &self.members[usize::from(from)]) else { return false };
        let heard = guard.hear(self.now, from, (member.life.is_some(), member.monitor), &whole.bytes);
        let Some(heard) = heard else { return false };
        self.count_mut(from).refused.add(DropReason::Own, 1);
        if let Heard::Loop(port, other) = heard {
            let name = self.members[usize::from(other)].as_ref().map(|member| member.name.clone());
            self.set_blocked(port, name);
            self.forget_joined(port, other);
        }
        true
    }

    fn set_blocked(&mut self, port: PortId, joined_to: Option<String>) {
        if let Some(member) = self.members[usize::from(port)].as_mut() {
            member.blocked = joined_to;
        }
        self.rewire();
    }

    /// Forgets what was learned at two ports: stations may be behind either.
    fn forget_joined(&mut self, port: PortId, other: PortId) {
        for id in [port, other] {
            self.table.flush(id);
            if let Some(snoop) = &mut self.own.snoop {
                snoop.unsettle(id);
            }
        }
    }

    fn end_blocks(&mut self) {
        let (over, fresh) = self.own.guard.as_mut().map(|guard| guard.look(self.now)).unwrap_or_default();
        for (id, is_over) in over.into_iter().map(|id| (id, true)).chain(fresh.into_iter().map(|id| (id, false))) {
            let name = self.members[usize::from(id)].as_ref().and_then(|member| member.blocked.clone());
            let other = name.and_then(|name| self.find(&name)).unwrap_or(id);
            if is_over {
                self.set_blocked(id, None);
            }
            // At the start once more: frames that had gone round were still in rings.
            self.forget_joined(id, other);
        }
    }

    /// Destinations of a frame to a group's address, as listeners have reported.
    #[cold]
    pub(super) fn spread(&mut self, from: PortId, vid: u16, head: Head, whole: &Whole) -> Spread {
        let guest = self.members[usize::from(from)].as_ref().is_some_and(|member| member.life.is_some());
        let Some(snoop) = &mut self.own.snoop else { return Spread::All };
        let at = if head.tag.is_some() { ETHERNET + 4 } else { ETHERNET };
        let Some((kind, packet)) = whole.bytes.get(at - 2..).and_then(|rest| rest.split_first_chunk::<2>()) else {
            return Spread::All;
        };
        let came = Came { from, vid, source: head.src, guest };
        snoop.hear(tick_of(self.now), &came, EtherType(u16::from_be_bytes(*kind)), packet)
    }

    /// Sends the queries that are due.
    fn ask(&mut self) {
        let tick = tick_of(self.now);
        let Some(snoop) = &mut self.own.snoop else { return };
        snoop.age(tick);
        let members = self.members.iter().flatten().filter(|member| !member.apart);
        let untagged: Vec<u16> = members.filter_map(|member| member.policy.vlans.enter(None)).collect();
        let Some(mut querier) = snoop.querier.take() else { return };
        let mut vlans: Vec<u16> = untagged.into_iter().chain(snoop.vlans.keys().copied()).collect();
        vlans.sort_unstable();
        vlans.dedup();
        let due = querier.due(tick, vlans.into_iter());
        snoop.querier = Some(querier);
        for due in due {
            self.query(tick, &due);
        }
    }

    fn query(&mut self, tick: u32, Due { vid, to, query }: &Due) {
        let group = query.group.unwrap_or(match query.from {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::new(224, 0, 0, 1)),
            IpAddr::V6(_) => IpAddr::V6([0xff02, 0, 0, 0, 0, 0, 0, 1].into()),
        });
        let (Some(packet), Some(dst)) = (query.packet(INTERVAL), multicast_mac(group)) else { return };
        let ethertype = if group.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
        let mut bytes = vec![0; (ETHERNET + packet.len()).max(LEAST)];
        let header = EthernetRepr { dst, src: MacAddr(self.mac), ethertype };
        let Ok(rest) = header.emit(&mut bytes) else { return };
        rest[..packet.len()].copy_from_slice(&packet);
        let whole = Whole { bytes, ..Whole::default() };
        let mut asked = PortSet::default();
        for id in self.live.clone() {
            let Some(member) = self.members[usize::from(id)].as_ref() else { continue };
            let leave = member.policy.vlans.leave(*vid, None);
            if member.apart || leave == Leave::Not || to.is_some_and(|to| to != id) {
                continue;
            }
            if self.send_own(&Target { to: id, leave, watches: false }, &whole) {
                asked.insert(id);
            }
        }
        if to.is_none()
            && let Some(snoop) = &mut self.own.snoop
        {
            snoop.vlans.entry(*vid).or_default()[Family::of(group) as usize].ask(tick, asked, WITHIN);
        }
    }
}
