//! The host's own addresses, and the broadcasts and groups that it receives.

use super::{Cidr, Key, is_mapped};
use linerate_wire::solicited_node;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All hosts on the link (RFC 1112, section 4).
const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
/// All nodes on the link (RFC 4291, section 2.7.1).
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// The host's addresses, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Own {
    all: Vec<Cidr>,
    /// The same addresses, in the form in which they are compared.
    keys: Vec<Key>,
    /// Those of which it is not known yet whether another station has them.
    checked: Vec<IpAddr>,
    /// Those that are no source for something new.
    deprecated: Vec<IpAddr>,
}

impl Own {
    pub(crate) fn all(&self) -> &[Cidr] {
        &self.all
    }

    pub(crate) fn add(&mut self, cidr: Cidr) {
        self.all.push(cidr);
        self.keys = self.all.iter().map(|a| Key::new(a.addr())).collect();
    }

    /// Removes an address; None if it was not there.
    pub(crate) fn remove(&mut self, addr: IpAddr) -> Option<Cidr> {
        let at = self.all.iter().position(|a| a.addr() == addr)?;
        let gone = self.all.remove(at);
        self.keys = self.all.iter().map(|a| Key::new(a.addr())).collect();
        self.checked.retain(|checked| *checked != addr);
        self.deprecated.retain(|deprecated| *deprecated != addr);
        Some(gone)
    }

    /// True if it is being asked whether another station has an address.
    #[inline]
    pub(crate) fn is_checked(&self, addr: IpAddr) -> bool {
        self.checked.contains(&addr)
    }

    /// True if an address is no source for something new.
    pub(crate) fn is_deprecated(&self, addr: IpAddr) -> bool {
        self.deprecated.contains(&addr)
    }

    pub(crate) fn check_all(&mut self) {
        self.checked = self.all.iter().map(Cidr::addr).collect();
    }

    pub(crate) fn set_checked(&mut self, addr: IpAddr, checked: bool) {
        let marked = checked && self.is_ours(addr);
        mark(&mut self.checked, addr, marked);
    }

    pub(crate) fn set_deprecated(&mut self, addr: IpAddr, deprecated: bool) {
        let marked = deprecated && self.is_ours(addr);
        mark(&mut self.deprecated, addr, marked);
    }

    /// True if an address is the host's.
    #[inline]
    pub(crate) fn is_ours(&self, addr: IpAddr) -> bool {
        !is_mapped(addr) && self.has(Key::new(addr))
    }

    /// Like [`Own::is_ours`], for a key.
    #[inline]
    pub(crate) fn has(&self, addr: Key) -> bool {
        self.keys.contains(&addr)
    }

    /// True if an address is on one of the host's networks.
    pub(crate) fn on_link(&self, addr: IpAddr) -> bool {
        self.all.iter().any(|a| a.contains(addr))
    }

    /// True if an address is a broadcast address of the link.
    #[inline]
    pub(crate) fn is_broadcast(&self, addr: IpAddr) -> bool {
        let IpAddr::V4(addr) = addr else { return false };
        addr.is_broadcast() || self.all.iter().any(|a| a.broadcast() == Some(addr))
    }

    /// True if an address is a broadcast or a group that this host receives.
    #[inline]
    pub(crate) fn is_to_all(&self, to: IpAddr) -> bool {
        match to {
            IpAddr::V4(to) => self.is_broadcast(to.into()) || to == ALL_HOSTS,
            IpAddr::V6(to) => self.is_member(to),
        }
    }

    /// True for groups that every IPv6 host is in (RFC 4291, section 2.8): all nodes, and the solicited-node groups of
    /// its addresses.
    fn is_member(&self, group: Ipv6Addr) -> bool {
        let ours = |a: &Cidr| match a.addr() {
            IpAddr::V6(addr) => solicited_node(addr) == group,
            IpAddr::V4(_) => false,
        };
        group == ALL_NODES || self.all.iter().any(ours)
    }
}

/// Adds an address to a list, once, or removes it.
fn mark(list: &mut Vec<IpAddr>, addr: IpAddr, marked: bool) {
    list.retain(|known| *known != addr);
    if marked {
        list.push(addr);
    }
}
