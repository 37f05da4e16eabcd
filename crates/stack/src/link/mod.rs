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
mod ethernet;
mod nd;
mod neighbour;

use crate::Transmit;
use crate::address::Own;
use crate::counters::{Counters, Discard};
pub(crate) use ethernet::Arrived;
use linerate_wire::{MacAddr, VlanTag, multicast_mac};
pub(crate) use nd::Message;
pub use neighbour::{
    Action, Config as NeighbourConfig, Counters as NeighbourCounters, Heard, HoldError, Lookup, Neighbour, Neighbours,
    State, TableFull,
};
use std::collections::VecDeque;
use std::net::IpAddr;

/// Most packets that wait for one neighbour: the largest datagram fits in fragments over any MTU from 552.
const HELD: usize = 128;

/// A station on a link.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) mac: MacAddr,
    /// Longest IP packet.
    pub(crate) mtu: usize,
    pub(crate) vlan: Option<VlanTag>,
    pub(crate) up: bool,
    pub(crate) neighbours: Neighbours,
    /// Packets for neighbours that never answered.
    failed: VecDeque<Vec<u8>>,
    /// Incremented by each change of any layer that a cached header could depend on.
    pub(crate) generation: u64,
    /// Counters of all layers.
    pub(crate) counters: Counters,
}

/// Generations under which a cached header was made. If they are equal, nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    /// Generation of the host's settings, addresses and routes.
    pub(crate) host: u64,
    /// Generation of the host's neighbours.
    pub(crate) neighbours: u64,
}

impl Link {
    pub(crate) fn new(mac: MacAddr, mtu: usize, vlan: Option<VlanTag>, seed: u64) -> Self {
        let neighbours = NeighbourConfig { queue: HELD, seed, ..NeighbourConfig::default() };
        Self {
            mac,
            mtu,
            vlan,
            up: true,
            neighbours: Neighbours::new(neighbours),
            failed: VecDeque::new(),
            generation: 1,
            counters: Counters::default(),
        }
    }

    #[inline]
    pub(crate) fn valid(&self) -> Validity {
        Validity { host: self.generation, neighbours: self.neighbours.generation() }
    }

    /// MAC address of a next hop; None while it is being resolved.
    #[inline]
    pub(crate) fn station(&mut self, now: u64, hop: IpAddr, own: &Own) -> Option<MacAddr> {
        match hop {
            hop if own.is_broadcast(hop) => Some(MacAddr::BROADCAST),
            hop if hop.is_multicast() => multicast_mac(hop),
            hop => match self.neighbours.lookup(now, hop) {
                Lookup::Found { mac, .. } => Some(mac),
                Lookup::Unresolved => None,
            },
        }
    }

    /// Sends a whole IP packet to a next hop, or keeps it until the hop is resolved.
    pub(crate) fn send<T: Transmit>(&mut self, now: u64, hop: IpAddr, packet: Vec<u8>, own: &Own, tx: &mut T) -> bool {
        match self.station(now, hop, own) {
            Some(mac) => self.send_frame(mac, hop.is_ipv4(), &packet, tx),
            None => {
                match self.neighbours.hold(hop, packet) {
                    Ok(dropped) => (0..dropped).for_each(|_| self.counters.discard(Discard::NoNeighbour)),
                    Err(_) => self.counters.discard(Discard::NoNeighbour),
                }
                self.poll(now, own, tx);
                true
            }
        }
    }

    /// Sends the requests that are due.
    pub(crate) fn poll<T: Transmit>(&mut self, now: u64, own: &Own, tx: &mut T) {
        let mut actions = Vec::new();
        self.neighbours.poll(now, |action| actions.push(action));
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

    /// Time at which [`Link::poll`] has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.neighbours.poll_timeout()
    }

    /// Takes the oldest packet whose neighbour never answered.
    pub(crate) fn failed(&mut self) -> Option<Vec<u8>> {
        self.failed.pop_front()
    }

    /// Announces the host's addresses to all on the link: for use when the link came up, or an address moved here (RFC
    /// 5227, section 3; RFC 4861, section 7.2.6).
    pub(crate) fn announce<T: Transmit>(&mut self, own: &Own, tx: &mut T) {
        for cidr in own.all() {
            let sent = match cidr.addr() {
                IpAddr::V4(ip) => self.announce_v4(ip, tx),
                IpAddr::V6(ip) => self.announce_v6(ip, tx),
            };
            if let Err(why) = sent {
                self.counters.discard(why);
            }
        }
    }

    /// Records a neighbour's MAC address, and sends the packets that waited for it.
    fn learn<T: Transmit>(&mut self, now: u64, ip: IpAddr, mac: Option<MacAddr>, how: Heard, tx: &mut T) {
        let held = self.neighbours.learn(now, ip, mac, how);
        let Some(mac) = mac else { return };
        for packet in held {
            if !self.send_frame(mac, ip.is_ipv4(), &packet, tx) {
                self.counters.discard(Discard::NoRoom);
            }
        }
    }
}
