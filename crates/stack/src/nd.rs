//! Asking neighbours, and telling them: ARP requests, neighbour solicitations and advertisements.

use crate::host::Host;
use crate::neighbour::{Action, Heard};
use crate::Transmit;
use linerate_wire::{ArpOperation, ArpRepr, MacAddr};
use std::net::{IpAddr, Ipv6Addr};

/// All nodes on the link (RFC 4291, section 2.7.1).
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// The group that a node listens to for one of its addresses (RFC 4291, section 2.7.1).
pub(crate) fn solicited_node(addr: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = addr.octets();
    Ipv6Addr::from([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c])
}

impl Host {
    /// Notes where a neighbour is, and sends what waited for it.
    pub(crate) fn learn<T: Transmit>(&mut self, now: u64, ip: IpAddr, mac: Option<MacAddr>, how: Heard, tx: &mut T) {
        let held = self.neighbours.learn(now, ip, mac, how);
        let Some(mac) = mac else { return };
        for packet in held {
            self.send_frame(mac, ip.is_ipv4(), &packet, tx);
        }
    }

    /// Sends the requests that are due, and errors for what waited in vain.
    pub(crate) fn ask_neighbours<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        let mut actions = Vec::new();
        self.neighbours.poll(now, |action| actions.push(action));
        for action in actions {
            match action {
                Action::SendRequest { ip: IpAddr::V4(ip), unicast } => {
                    let from = self.addresses.iter().find_map(|a| match a.addr() { IpAddr::V4(v4) if a.contains(ip.into()) => Some(v4), _ => None });
                    let Some(from) = from else { continue };
                    let arp = ArpRepr { operation: ArpOperation::REQUEST, sender_mac: self.mac, sender_ip: from, target_mac: MacAddr::UNSPECIFIED, target_ip: ip };
                    let _ = self.send_arp(unicast.unwrap_or(MacAddr::BROADCAST), &arp, tx);
                }
                _ => {}
            }
        }
    }
}
