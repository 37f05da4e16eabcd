//! The link: Ethernet headers and VLAN tags, neighbours (ARP, neighbour discovery), and packets that wait for
//! resolution.
//!
//! Upwards it delivers a frame's payload ([`Link::open`]), downwards it takes whole IP packets for a next hop
//! ([`Link::send`]). Packets whose neighbour never answered are kept until the layers above ask for them
//! ([`Link::failed`]).
//!
//! Out of scope: it knows no routes, no ICMP but neighbour discovery's, and no sockets. The host's own addresses are
//! passed in, because requests to neighbours are sent from them, and requests for them are answered.

mod arp;
mod common;
mod ethernet;
mod nd;
mod neighbour;

use crate::Transmit;
use crate::address::Own;
use crate::counters::{Counters, Discard};
use crate::due::Due;
pub use common::NeighbourTable;
pub(crate) use common::{Common, Generation};
pub(crate) use ethernet::Arrived;
use linerate_wire::{MacAddr, VlanTag, multicast_mac};
pub(crate) use nd::Message;
pub use neighbour::{
    Action, Config as NeighbourConfig, Counters as NeighbourCounters, Heard, HoldError, Lookup, Neighbour, Neighbours,
    State, TableFull,
};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

/// Most packets that wait for one neighbour: the largest datagram fits in fragments over any MTU from 552.
const HELD: usize = 128;

/// Settings of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Station {
    pub(crate) mac: MacAddr,
    /// Longest IP packet.
    pub(crate) mtu: usize,
    pub(crate) vlan: Option<VlanTag>,
    /// The interface is up: it receives, and sends if there is a carrier.
    pub(crate) up: bool,
    /// Frames that are sent reach the link.
    pub(crate) carrier: bool,
}

/// Claim of another station to an address of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) address: IpAddr,
    pub(crate) mac: MacAddr,
}

/// A station on a link, as one shard of the host sees it.
#[derive(Debug)]
pub(crate) struct Link {
    /// Its settings. The layer above keeps them equal to those that the shards share.
    pub(crate) station: Station,
    pub(crate) common: Arc<Common>,
    /// Packets for neighbours that never answered.
    failed: VecDeque<Vec<u8>>,
    /// Claim of another station to an address of ours, of the last message: IP takes it.
    pub(crate) conflict: Option<Conflict>,
    /// Counters of all layers, of this shard.
    pub(crate) counters: Counters,
}

impl Link {
    pub(crate) fn new(station: Station, neighbours: usize, seed: u64) -> Self {
        let config = NeighbourConfig { capacity: neighbours.max(1), queue: HELD, seed, ..NeighbourConfig::default() };
        Self::over(station, Arc::new(Common::new(config)))
    }

    /// Another shard's view of the same link.
    pub(crate) fn shard(&self) -> Self {
        Self::over(self.station, self.common.clone())
    }

    fn over(station: Station, common: Arc<Common>) -> Self {
        Self { station, common, failed: VecDeque::new(), conflict: None, counters: Counters::default() }
    }

    /// MAC address of a next hop; None while it is being resolved.
    #[inline]
    pub(crate) fn station(&mut self, now: u64, hop: IpAddr, own: &Own) -> Option<MacAddr> {
        group(hop, own).or_else(|| match self.common.neighbours().lookup(now, hop) {
            Lookup::Found { mac, .. } => Some(mac),
            Lookup::Unresolved => None,
        })
    }

    /// Sends a whole IP packet to a next hop, or keeps it until the hop is resolved.
    pub(crate) fn send<T: Transmit>(&mut self, now: u64, hop: IpAddr, packet: Vec<u8>, own: &Own, tx: &mut T) -> bool {
        if let Some(mac) = group(hop, own) {
            return self.send_frame(mac, hop.is_ipv4(), &packet, tx);
        }
        let mut neighbours = self.common.neighbours();
        if let Lookup::Found { mac, .. } = neighbours.lookup(now, hop) {
            drop(neighbours);
            return self.send_frame(mac, hop.is_ipv4(), &packet, tx);
        }
        // Under the same lock: an answer that comes by another shard finds the packet.
        let held = neighbours.hold(hop, packet);
        drop(neighbours);
        (0..held.unwrap_or(1)).for_each(|_| self.counters.discard(Discard::NoNeighbour));
        self.poll(now, own, tx);
        true
    }

    /// Sends the requests that are due.
    pub(crate) fn poll<T: Transmit>(&mut self, now: u64, own: &Own, tx: &mut T) {
        if !self.common.due().has_come(now) {
            return;
        }
        let mut actions = Vec::new();
        self.common.neighbours().poll(now, |action| actions.push(action));
        for action in actions {
            let sent = match action {
                Action::SendRequest { ip: IpAddr::V4(ip), unicast } => self.ask_v4(ip, unicast, own, tx),
                Action::SendRequest { ip: IpAddr::V6(ip), unicast } => self.ask_v6(ip, unicast, own, tx),
                Action::Failed { packets, .. } => {
                    packets.iter().for_each(|_| self.counters.discard(Discard::NoNeighbour));
                    self.failed.extend(packets);
                    Ok(())
                }
            };
            if let Err(why) = sent {
                self.counters.discard(why);
            }
        }
    }

    /// Time at which [`Link::poll`] has something to do, or the layers above have with what it found.
    #[inline]
    pub(crate) fn due(&self) -> Due {
        if self.failed.is_empty() { self.common.due() } else { Due::NOW }
    }

    /// Takes the oldest packet whose neighbour never answered.
    pub(crate) fn failed(&mut self) -> Option<Vec<u8>> {
        self.failed.pop_front()
    }

    /// Announces the host's addresses to all on the link: for use when the link came up, or an address moved here (RFC
    /// 5227, section 3; RFC 4861, section 7.2.6).
    pub(crate) fn announce<T: Transmit>(&mut self, own: &Own, tx: &mut T) {
        // Others' caches stay as they are while it is not known whose an address is (RFC 4429, section 3.3).
        for cidr in own.all().iter().filter(|cidr| !own.is_checked(cidr.addr())) {
            if let Err(why) = self.announce_one(cidr.addr(), tx) {
                self.counters.discard(why);
            }
        }
    }

    /// Announces an address.
    pub(crate) fn announce_one<T: Transmit>(&self, address: IpAddr, tx: &mut T) -> Result<(), Discard> {
        match address {
            IpAddr::V4(ip) => self.announce_v4(ip, tx),
            IpAddr::V6(ip) => self.announce_v6(ip, tx),
        }
    }

    /// Asks whether another station has an address.
    pub(crate) fn probe<T: Transmit>(&self, address: IpAddr, tx: &mut T) -> Result<(), Discard> {
        match address {
            IpAddr::V4(ip) => self.probe_v4(ip, tx),
            IpAddr::V6(ip) => self.probe_v6(ip, tx),
        }
    }

    /// Records a neighbour's MAC address, and sends the packets that waited for it.
    pub(crate) fn learn<T: Transmit>(&mut self, now: u64, ip: IpAddr, mac: Option<MacAddr>, how: Heard, tx: &mut T) {
        let held = self.common.neighbours().learn(now, ip, mac, how);
        let Some(mac) = mac else { return };
        for packet in held {
            if !self.send_frame(mac, ip.is_ipv4(), &packet, tx) {
                self.counters.discard(Discard::NoRoom);
            }
        }
    }
}

/// MAC address of a next hop that needs no resolution: a broadcast or a group.
#[inline]
fn group(hop: IpAddr, own: &Own) -> Option<MacAddr> {
    match hop {
        hop if own.is_broadcast(hop) => Some(MacAddr::BROADCAST),
        hop if hop.is_multicast() => multicast_mac(hop),
        _ => None,
    }
}
