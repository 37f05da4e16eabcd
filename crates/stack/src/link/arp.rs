//! ARP (RFC 826): requests for IPv4 neighbours, and answers to theirs.

use super::{Conflict, Heard, Link};
use crate::Transmit;
use crate::address::{Cidr, Own};
use crate::counters::Discard;
use linerate_wire::{ArpOperation, ArpPacket, ArpRepr, EtherType, MacAddr};
use std::net::{IpAddr, Ipv4Addr};

impl Link {
    /// RFC 826's packet reception.
    pub(crate) fn take_arp<T: Transmit>(
        &mut self,
        now: u64,
        payload: &[u8],
        own: &Own,
        tx: &mut T,
    ) -> Result<(), Discard> {
        let packet = ArpPacket::new_checked(payload).map_err(|_| Discard::Malformed)?;
        let arp = ArpRepr::parse(&packet);
        let (ours, from) = (own.is_ours(arp.target_ip.into()), IpAddr::V4(arp.sender_ip));
        // RFC 1122, section 3.2.1.3: no station has such an address.
        let nobody = arp.sender_ip.is_multicast() || arp.sender_ip.is_loopback() || own.is_broadcast(from);
        if arp.sender_mac.is_multicast() || arp.sender_mac == MacAddr::UNSPECIFIED || nobody {
            return Err(Discard::BadAddress);
        }
        if arp.sender_mac == self.station.mac {
            // Our own frame came back.
            return Err(Discard::BadAddress);
        }
        // RFC 5227, section 2.1.1: during the check another's probe for the address is a claim, too.
        let probed = arp.operation == ArpOperation::REQUEST && arp.sender_ip.is_unspecified();
        let contested = probed && own.is_checked(arp.target_ip.into());
        if own.is_ours(from) || contested {
            let address = if contested { arp.target_ip.into() } else { from };
            self.conflict = Some(Conflict { address, mac: arp.sender_mac });
            return Err(Discard::BadAddress);
        }
        let how = match arp.operation {
            ArpOperation::REQUEST if ours => Heard::Solicitation,
            ArpOperation::REPLY if ours => Heard::ARP_REPLY,
            _ => Heard::ARP_GRATUITOUS,
        };
        self.counters.neighbours += 1;
        // An address probe (RFC 5227) has no sender address to be learned.
        if !arp.sender_ip.is_unspecified() && own.on_link(from) {
            self.learn(now, from, Some(arp.sender_mac), how, tx);
        }
        if arp.operation == ArpOperation::REQUEST && ours {
            let answer = ArpRepr {
                operation: ArpOperation::REPLY,
                sender_mac: self.station.mac,
                sender_ip: arp.target_ip,
                target_mac: arp.sender_mac,
                target_ip: arp.sender_ip,
            };
            return self.send_arp(arp.sender_mac, &answer, tx);
        }
        Ok(())
    }

    /// Sends a request: to the neighbour alone, or to all on the link.
    pub(super) fn ask_v4<T: Transmit>(
        &self,
        ip: Ipv4Addr,
        unicast: Option<MacAddr>,
        own: &Own,
        tx: &mut T,
    ) -> Result<(), Discard> {
        let v4 = |a: &Cidr| match a.addr() {
            IpAddr::V4(addr) => Some(addr),
            IpAddr::V6(_) => None,
        };
        let near = own.all().iter().filter(|a| a.contains(ip.into())).find_map(v4);
        let sender_ip = near.or_else(|| own.all().iter().find_map(v4)).ok_or(Discard::NoRoute)?;
        let arp = ArpRepr {
            operation: ArpOperation::REQUEST,
            sender_mac: self.station.mac,
            sender_ip,
            target_mac: unicast.unwrap_or(MacAddr::UNSPECIFIED),
            target_ip: ip,
        };
        self.send_arp(unicast.unwrap_or(MacAddr::BROADCAST), &arp, tx)
    }

    /// Asks whether another station has an address (RFC 5227, section 2.1.1).
    pub(super) fn probe_v4<T: Transmit>(&self, ip: Ipv4Addr, tx: &mut T) -> Result<(), Discard> {
        let arp = ArpRepr {
            operation: ArpOperation::REQUEST,
            sender_mac: self.station.mac,
            sender_ip: Ipv4Addr::UNSPECIFIED,
            target_mac: MacAddr::UNSPECIFIED,
            target_ip: ip,
        };
        self.send_arp(MacAddr::BROADCAST, &arp, tx)
    }

    /// Announces an address to all on the link.
    pub(super) fn announce_v4<T: Transmit>(&self, ip: Ipv4Addr, tx: &mut T) -> Result<(), Discard> {
        let arp = ArpRepr {
            operation: ArpOperation::REQUEST,
            sender_mac: self.station.mac,
            sender_ip: ip,
            target_mac: MacAddr::UNSPECIFIED,
            target_ip: ip,
        };
        self.send_arp(MacAddr::BROADCAST, &arp, tx)
    }

    fn send_arp<T: Transmit>(&self, to: MacAddr, arp: &ArpRepr, tx: &mut T) -> Result<(), Discard> {
        let mut body = [0; 28];
        let written = arp.emit(&mut body).is_ok();
        if written && self.send_other(to, EtherType::ARP, &body, tx) { Ok(()) } else { Err(Discard::NoRoom) }
    }
}
