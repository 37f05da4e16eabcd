//! Configuration above links: addresses, neighbours, unreachable routes, and the queueing discipline that drops
//! everything. IPv4 only.

use super::message::{MAKES, Message, attribute, word};
use super::{Netlink, bad_answer};
use std::io;
use std::net::Ipv4Addr;

// linux/if_addr.h, linux/neighbour.h, linux/rtnetlink.h
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NUD_PERMANENT: u16 = 0x80;
const RTA_DST: u16 = 1;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RTN_UNREACHABLE: u8 = 7;
const TCA_KIND: u16 = 1;
const TCA_STATS: u16 = 3;
const TC_H_ROOT: u32 = u32::MAX;
const TC_HEADER: usize = 20;
const REPLACES: u16 = 0x400 | 0x100;
const ECHO: u16 = 0x8;
const AF_INET: u8 = 2;

impl Netlink {
    /// Adds an address to an interface, and a route to the network around it.
    pub(crate) fn add_address(&mut self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        // struct ifaddrmsg: family, prefix, flags, scope, index
        let mut header = vec![AF_INET, prefix, 0, 0];
        header.extend(index.to_ne_bytes());
        let mut message = Message::about(libc::RTM_NEWADDR, MAKES, &header);
        message.attribute(IFA_LOCAL, &address.octets());
        message.attribute(IFA_ADDRESS, &address.octets());
        self.ask(message).map(drop)
    }

    /// Adds a permanent neighbour entry.
    pub(crate) fn add_neighbour(&mut self, index: u32, address: Ipv4Addr, mac: [u8; 6]) -> io::Result<()> {
        // struct ndmsg: family, padding, index, state, flags, type
        let mut header = vec![AF_INET, 0, 0, 0];
        header.extend(index.to_ne_bytes());
        header.extend(NUD_PERMANENT.to_ne_bytes());
        header.extend([0; 2]);
        let mut message = Message::about(libc::RTM_NEWNEIGH, REPLACES, &header);
        message.attribute(NDA_DST, &address.octets());
        message.attribute(NDA_LLADDR, &mac);
        self.ask(message).map(drop)
    }

    /// Adds a route of type `unreachable`: looking it up gives EHOSTUNREACH.
    pub(crate) fn add_unreachable(&mut self, network: Ipv4Addr, prefix: u8) -> io::Result<()> {
        // struct rtmsg: family, prefixes of destination and source, service, table, protocol, scope, type, flags
        let header = [AF_INET, prefix, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, 0, RTN_UNREACHABLE, 0, 0, 0, 0];
        let mut message = Message::about(libc::RTM_NEWROUTE, MAKES, &header);
        message.attribute(RTA_DST, &network.octets());
        self.ask(message).map(drop)
    }

    /// Sets an interface's root queueing discipline to `blackhole`, which drops everything, or back to the default one.
    pub(crate) fn blackhole(&mut self, index: u32, on: bool) -> io::Result<()> {
        let (kind, flags) = if on { (libc::RTM_NEWQDISC, REPLACES) } else { (libc::RTM_DELQDISC, 0) };
        let mut message = Message::about(kind, flags, &about_root(index));
        if on {
            message.attribute(TCA_KIND, b"blackhole\0");
        }
        self.ask(message).map(drop)
    }

    /// Packets dropped by an interface's root queueing discipline; the kernel counts in 32 bits.
    pub(crate) fn queue_drops(&mut self, index: u32) -> io::Result<u32> {
        // The answer is a notification, sent to the requester if it sets the echo flag.
        let request = Message::about(libc::RTM_GETQDISC, ECHO, &about_root(index));
        let answer = self.answer(request)?;
        // struct tc_stats: bytes (64 bits), packets, drops
        let stats = attribute(answer.get(TC_HEADER..).unwrap_or_default(), TCA_STATS).filter(|stats| stats.len() >= 16);
        stats.map(|stats| word(stats, 12)).ok_or_else(bad_answer)
    }
}

/// `struct tcmsg` for an interface's root: family and padding, index, handle, parent, info.
fn about_root(index: u32) -> Vec<u8> {
    let mut header = vec![0; 4];
    header.extend(index.to_ne_bytes());
    header.extend([0; 4]);
    header.extend(TC_H_ROOT.to_ne_bytes());
    header.extend([0; 4]);
    header
}
