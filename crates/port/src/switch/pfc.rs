//! Priority-based flow control of lossless classes (IEEE 802.1Q-2022, clause 36).
//!
//! Lossless frames in queues are accounted to the port and the class that they came by. When these have their share of the
//! buffers, the neighbour there is asked to pause the class's priorities: by the mask of a cable, elsewhere by frames. What it
//! sends until it has stopped finds its place in the headroom ([`Headroom`]); beyond that, it waits in the port's receive ring. The
//! neighbour goes on when the headroom is empty and the share has room for some frames.
//!
//! A frame from a neighbour stops the queues of a lossless class there for the time that it says. What is in the port's ring
//! leaves nevertheless.

use super::Switch;
use super::buffer::{Account, Pool, QueueDrop};
use super::headroom::{Headroom, Span};
use super::member::Member;
use super::rewrite::Whole;
use super::table::PortId;
use crate::class::PATIENCE;
use linerate_offload::{ClassTable, TrafficClass};
use linerate_text::counters;
use linerate_wire::{EtherType, EthernetRepr, MacAddr, MacControl, Priority};

/// Group of the frames.
pub(super) const GROUP: u64 = 0x0180_c200_0001;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Cells that a class has to have free in its share before its neighbour goes on: two frames of 1500 bytes.
const RESUME: u32 = 12;
/// Time in ns until a frame that found no room is tried again.
const AGAIN: u64 = 50_000;

counters! {
    /// Counters of flow control at a port, in the words of `dcb -s pfc show` and `ethtool -I -a`.
    pub struct PfcCounters {
        /// Times that the neighbour was asked to pause, or to go on, by priority.
        pub requests: [u64; Priority::COUNT],
        /// Times that the neighbour asked for it.
        pub indications: [u64; Priority::COUNT],
        /// Frames that asked the neighbour.
        pub tx_pause_frames: u64,
        /// Frames of the neighbour's.
        pub rx_pause_frames: u64,
    }
}

/// A class at the port that its frames came by.
#[derive(Default)]
struct Group {
    account: Account,
    /// Cells of the headroom, and those in use.
    headroom: u32,
    beyond: u32,
    paused: bool,
}

/// The classes of a port.
#[derive(Default)]
struct Classes {
    groups: [Group; TrafficClass::MOST],
    open: bool,
    /// Time at which the neighbour was last asked.
    asked: u64,
}

/// What waits in queues, by the ports that it came by; see the module's text.
pub(super) struct Ingress {
    span: Span,
    /// Priorities of each lossless class, one bit each; none of another class.
    priorities: [u8; TrafficClass::MOST],
    ports: Vec<Classes>,
    /// Ports whose neighbours are to be asked.
    news: Vec<PortId>,
    /// Time of the next look.
    due: Option<u64>,
}

impl Ingress {
    pub(super) fn new(table: &ClassTable, span: Span) -> Self {
        let mut priorities = [0; TrafficClass::MOST];
        for priority in Priority::ALL {
            let class = table.class(priority);
            priorities[class.index()] |= if table.lossless(class) { priority.bit() } else { 0 };
        }
        Self { span, priorities, ports: Vec::new(), news: Vec::new(), due: None }
    }

    /// Lossless priorities, one bit each.
    pub(super) fn lossless(&self) -> u8 {
        self.priorities.iter().fold(0, |all, of| all | of)
    }

    /// Takes cells away from the headroom of a class at a port.
    #[cfg(test)]
    pub(super) fn shorten(&mut self, port: PortId, class: usize, cells: u32) {
        self.ports[usize::from(port)].groups[class].headroom -= cells;
    }

    /// Opens the accounts of a port with frames of at most so many bytes. Those of an earlier port of its number stay: frames of
    /// it may still wait.
    pub(super) fn open(&mut self, pool: &mut Pool, port: PortId, largest: usize) {
        let at = usize::from(port);
        self.ports.resize_with(self.ports.len().max(at + 1), Classes::default);
        let Classes { groups, open, .. } = &mut self.ports[at];
        let cells = Headroom::new(&self.span, largest).cells;
        for (group, _) in groups.iter_mut().zip(self.priorities).filter(|(_, priorities)| *priorities != 0) {
            if !*open {
                (group.account, group.headroom) = (pool.open(), pool.reserve(cells));
            }
            group.paused = false;
        }
        *open = true;
    }

    fn group(&mut self, port: PortId, class: usize) -> Option<&mut Group> {
        self.ports.get_mut(usize::from(port)).map(|port| &mut port.groups[class])
    }

    /// True if a frame would find a place.
    pub(super) fn has_place(&self, pool: &Pool, port: PortId, class: usize, cells: u32) -> bool {
        let group = self.ports.get(usize::from(port)).map(|port| &port.groups[class]);
        group.is_some_and(|group| {
            pool.asks(&group.account, cells).is_ok() || group.beyond.saturating_add(cells) <= group.headroom
        })
    }

    /// Takes cells for a frame, of the share or of the headroom; with an error, none. Beyond the share, the neighbour is to
    /// pause.
    pub(super) fn take(&mut self, pool: &mut Pool, port: PortId, class: usize, cells: u32) -> Result<(), QueueDrop> {
        let Some(group) = self.group(port, class) else { return Err(QueueDrop::Buffers) };
        let Err(reason) = pool.take(&mut group.account, cells) else { return Ok(()) };
        let fits = group.beyond.saturating_add(cells) <= group.headroom;
        group.beyond += if fits { cells } else { 0 };
        if !std::mem::replace(&mut group.paused, true) {
            self.news.push(port);
        }
        if fits { Ok(()) } else { Err(reason) }
    }

    /// Gives the cells of a frame back.
    pub(super) fn give(&mut self, pool: &mut Pool, port: PortId, class: usize, cells: u32) {
        let Some(group) = self.group(port, class) else { return };
        let beyond = group.beyond.min(cells);
        group.beyond -= beyond;
        pool.give(&mut group.account, cells - beyond);
        if group.paused {
            self.resume(pool, port);
        }
    }

    /// Lets the neighbour of a port go on with the classes that have room again. What is in the headroom goes into the share if
    /// that has become larger.
    fn resume(&mut self, pool: &mut Pool, port: PortId) {
        let Some(classes) = self.ports.get_mut(usize::from(port)) else { return };
        for group in classes.groups.iter_mut().filter(|group| group.paused) {
            if pool.take(&mut group.account, group.beyond).is_ok() {
                group.beyond = 0;
            }
            let room = group.account.used() == 0 || pool.asks(&group.account, RESUME).is_ok();
            if group.beyond == 0 && room {
                group.paused = false;
                self.news.push(port);
            }
        }
    }

    /// Priorities that the neighbour of a port is to pause, one bit each.
    fn paused(&self, port: PortId) -> u8 {
        let groups = self.ports.get(usize::from(port)).map(|port| &port.groups);
        let each = groups.into_iter().flatten().zip(self.priorities);
        each.filter(|(group, _)| group.paused).fold(0, |all, (_, of)| all | of)
    }

    /// Time of the next look, in ns.
    pub(super) fn due(&self) -> Option<u64> {
        self.due
    }

    /// True if a neighbour is to be asked at this time.
    #[inline]
    pub(super) fn has_news(&self, now: u64) -> bool {
        !self.news.is_empty() || self.due.is_some_and(|due| now >= due)
    }

    /// Time for which a neighbour that is asked by frame pauses for so many quanta, in ns.
    pub(super) fn quanta_ns(&self, quanta: u16) -> u64 {
        self.span.quanta_ns(quanta)
    }

    /// Priorities of a class, if it is lossless.
    pub(super) fn of_class(&self, class: usize) -> u8 {
        self.priorities[class]
    }
}

impl Switch {
    /// Asks neighbours to pause or to go on, as the classes of their ports need it.
    #[cold]
    pub(super) fn ask_neighbours(&mut self) {
        let (now, mac) = (self.now, self.mac);
        let Some(store) = self.store.as_deref_mut() else { return };
        let super::queues::Store { pool, ingress, .. } = store;
        let mut news = std::mem::take(&mut ingress.news);
        for port in (0..ingress.ports.len()).filter_map(|port| PortId::try_from(port).ok()) {
            // What others gave back may be room for this one.
            ingress.resume(pool, port);
        }
        news.append(&mut ingress.news);
        ingress.due = None;
        for at in 0..ingress.ports.len() {
            let Some(port) = PortId::try_from(at).ok() else { break };
            let mask = ingress.paused(port);
            let Some(member) = self.members.get_mut(at).and_then(Option::as_mut) else { continue };
            let every = if member.masks { PATIENCE / 2 } else { ingress.quanta_ns(u16::MAX) / 2 };
            let asked = &mut ingress.ports[at].asked;
            if news.contains(&port) || mask != 0 && now >= *asked + every {
                let lossless = ingress.priorities.iter().fold(0, |all, of| all | of);
                if member.ask(mask, lossless, mac) {
                    *asked = now;
                } else {
                    ingress.news.push(port);
                    ingress.due = Some(now + AGAIN);
                }
                if !member.touched {
                    member.touched = true;
                    self.touched.push(port);
                }
            }
            if mask != 0 {
                let next = *asked + every;
                ingress.due = Some(ingress.due.map_or(next, |due| due.min(next)));
            }
        }
    }

    /// Hears a frame that is sent to the group of pause frames: a neighbour's stops the queues of its classes. A cable's other end
    /// has a mask, and is not heard.
    #[cold]
    pub(super) fn hear_pause(&mut self, from: PortId, whole: &Whole) {
        let now = self.now;
        let (Some(store), Some(member)) = (self.store.as_deref_mut(), self.members[usize::from(from)].as_mut()) else {
            return;
        };
        let body = whole
            .bytes
            .split_at_checked(ETHERNET)
            .filter(|(head, _)| head[12..] == EtherType::MAC_CONTROL.0.to_be_bytes());
        let Some(Ok(control)) = body.map(|(_, body)| MacControl::parse(body)).filter(|_| !member.masks) else { return };
        member.pfc.rx_pause_frames += 1;
        let MacControl::Pfc { enabled, quanta } = control else { return };
        for priority in Priority::ALL.into_iter().filter(|priority| enabled & priority.bit() != 0) {
            member.pfc.indications[priority.index()] += 1;
            let class = store.classes.class(priority).index();
            if store.ingress.of_class(class) != 0 {
                let until = now.saturating_add(store.ingress.quanta_ns(quanta[priority.index()]));
                store.hold(from, member, class, until);
            }
        }
    }
}

impl Member {
    /// Asks the neighbour to pause these priorities, and to go on with the other lossless ones; false if it cannot be asked now.
    fn ask(&mut self, mask: u8, lossless: u8, mac: [u8; 6]) -> bool {
        let Self { sources, outlets, finisher, count, pfc, masks, .. } = self;
        if *masks {
            sources.iter_mut().for_each(|source| source.rx.pause(mask));
        } else if let Some(outlet) = outlets.first_mut() {
            if outlet.free(1, false) == 0 {
                return false;
            }
            let quanta = Priority::ALL.map(|priority| if mask & priority.bit() == 0 { 0 } else { u16::MAX });
            let mut bytes = [0; ETHERNET + MacControl::LEN];
            let header = EthernetRepr { dst: MacControl::GROUP, src: MacAddr(mac), ethertype: EtherType::MAC_CONTROL };
            if let Ok(rest) = header.emit(&mut bytes) {
                let emitted = MacControl::Pfc { enabled: lossless, quanta }.emit(rest);
                debug_assert!(emitted.is_ok(), "there is room");
            }
            let put = finisher.put(&mut outlet.tx.ring, 1, &bytes, None);
            outlet.moved();
            count.own += 1;
            count.took(Priority::default(), &put, 1);
            pfc.tx_pause_frames += u64::from(put.frames);
        }
        for priority in Priority::ALL.into_iter().filter(|priority| lossless & priority.bit() != 0) {
            pfc.requests[priority.index()] += 1;
        }
        true
    }
}
