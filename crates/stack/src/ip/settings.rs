//! Settings of a host: station, addresses, routes, path MTUs; checks and changes.

use super::Route;
use super::pmtu::Pmtu;
use super::route::Routes;
use crate::address::{Cidr, Own, is_mapped, link_local};
use crate::link::Station;
use linerate_wire::MacAddr;
use std::net::IpAddr;
use std::num::NonZeroU8;
use thiserror::Error;

/// Most addresses.
const ADDRESSES: usize = 64;
/// Smallest MTU: IPv4 needs 68 bytes (RFC 791); an IPv6 address needs 1280 (RFC 8200, section 5).
const LEAST_MTU: usize = 68;
const LEAST_MTU_V6: usize = 1280;

/// Reason for which a setting was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// An address that a host cannot have.
    #[error("{0} cannot be a host's address: give a unicast address that is not its network's own")]
    Address(Cidr),
    /// Too many addresses.
    #[error("a host has at most {ADDRESSES} addresses")]
    TooMany,
    /// An MTU that is too small or too large.
    #[error("an MTU of {0} is out of range: give {LEAST_MTU} to 65535, and at least {LEAST_MTU_V6} with IPv6")]
    Mtu(usize),
    /// A MAC address that is not a station's.
    #[error("{0} cannot be a host's hardware address: give a unicast one, as 02:00:00:00:00:01")]
    Mac(MacAddr),
    /// A route whose router is not on the link.
    #[error("the router {0} is on none of the host's networks: give one that is")]
    Router(IpAddr),
    /// Too many routes.
    #[error("there are too many routes")]
    TooManyRoutes,
}

/// Checks an MTU; `v6`: the host has IPv6 addresses.
pub(crate) fn check_mtu(mtu: usize, v6: bool) -> Result<(), ConfigError> {
    let least = if v6 { LEAST_MTU_V6 } else { LEAST_MTU };
    if (least..=65535).contains(&mtu) { Ok(()) } else { Err(ConfigError::Mtu(mtu)) }
}

/// Settings of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) station: Station,
    pub(crate) own: Own,
    pub(crate) routes: Routes,
    pub(crate) pmtu: Pmtu,
    /// Longest IPv6 packet on the link, if a router has said so (RFC 4861, section 6.3.4).
    pub(crate) mtu_v6: Option<usize>,
    /// Hop limit of IPv6 packets, if a router has said so (section 6.3.4).
    pub(crate) hops_v6: Option<NonZeroU8>,
}

/// Hop limit of packets (RFC 1700, IP TTL).
const HOPS: u8 = 64;

impl Settings {
    /// Settings without addresses and routes.
    pub(super) fn new(station: Station) -> Self {
        Self {
            station,
            own: Own::default(),
            routes: Routes::default(),
            pmtu: Pmtu::default(),
            mtu_v6: None,
            hops_v6: None,
        }
    }

    /// Longest packet on the link, by the family of an address.
    #[inline]
    pub(crate) fn mtu(&self, to: IpAddr) -> usize {
        let v6 = self.mtu_v6.filter(|_| to.is_ipv6());
        v6.map_or(self.station.mtu, |mtu| mtu.min(self.station.mtu))
    }

    /// Hop limit of a packet: 1 for groups, the default (RFC 1112, section 6.1; RFC 3493, section 5.2).
    #[inline]
    pub(crate) fn hops(&self, to: IpAddr) -> u8 {
        match self.hops_v6 {
            _ if to.is_multicast() => 1,
            Some(hops) if to.is_ipv6() => hops.get(),
            _ => HOPS,
        }
    }

    /// Adds an address and the route to its network. The first IPv6 address adds the link-local one too.
    pub(crate) fn add_address(&mut self, cidr: Cidr) -> Result<(), ConfigError> {
        let addr = cidr.addr();
        let own_network = addr.is_ipv4() && cidr.prefix() < 31 && cidr.network().addr() == addr;
        let limited =
            is_mapped(addr) || addr == IpAddr::from([255; 4]) || Some(addr) == cidr.broadcast().map(IpAddr::V4);
        if addr.is_multicast() || addr.is_unspecified() || addr.is_loopback() || own_network || limited {
            return Err(ConfigError::Address(cidr));
        }
        if addr.is_ipv6() && self.station.mtu < LEAST_MTU_V6 {
            return Err(ConfigError::Mtu(self.station.mtu));
        }
        let local = link_local(self.station.mac);
        let first_v6 = addr.is_ipv6() && !self.own.all().iter().any(|a| a.addr().is_ipv6()) && addr != local.addr();
        if self.own.all().len() + 1 + usize::from(first_v6) > ADDRESSES {
            return Err(ConfigError::TooMany);
        }
        if first_v6 {
            self.add_address(local)?;
        }
        // With another prefix than before, the old network is no longer on the link.
        self.remove_address(addr);
        if !self.routes.set(Route { to: cidr, via: None }) {
            return Err(ConfigError::TooManyRoutes);
        }
        self.own.add(cidr);
        Ok(())
    }

    /// Removes an address, and the route to its network unless another address is in it; false if it was not there.
    pub(crate) fn remove_address(&mut self, addr: IpAddr) -> bool {
        let Some(gone) = self.own.remove(addr) else { return false };
        if !self.own.all().iter().any(|a| a.network() == gone.network()) {
            self.routes.remove(gone);
        }
        true
    }

    /// Adds or replaces a route. Its router must be on one of the host's networks.
    pub(crate) fn set_route(&mut self, route: Route) -> Result<(), ConfigError> {
        if let Some(via) = route.via {
            let reached = via.is_ipv4() == route.to.addr().is_ipv4()
                && self.own.all().iter().any(|a| a.contains(via) && a.addr() != via);
            if !reached {
                return Err(ConfigError::Router(via));
            }
        }
        if self.routes.set(route) { Ok(()) } else { Err(ConfigError::TooManyRoutes) }
    }

    /// Changes the link's MTU.
    pub(crate) fn set_mtu(&mut self, mtu: usize) -> Result<(), ConfigError> {
        check_mtu(mtu, self.own.all().iter().any(|a| a.addr().is_ipv6()))?;
        self.station.mtu = mtu;
        Ok(())
    }
}
