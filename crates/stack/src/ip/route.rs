//! Routes: longest prefix match.

use crate::address::{Cidr, CidrError, Key};
use std::net::IpAddr;
use std::str::FromStr;
use thiserror::Error;

/// Most routes.
const MOST: usize = 16_384;
/// No route.
const NONE: u32 = u32::MAX;

/// A route to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Network of the destination.
    pub to: Cidr,
    /// Address of the router; None if the network is on the link.
    pub via: Option<IpAddr>,
}

/// Error in the text of a route.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    /// There is no `=`.
    #[error("write it as 0.0.0.0/0=10.0.0.1")]
    Form,
    /// The network is none.
    #[error(transparent)]
    Network(#[from] CidrError),
    /// The router is no address.
    #[error("'{0}' is no IPv4 or IPv6 address")]
    Router(String),
}

/// `NETWORK=ROUTER`, as `0.0.0.0/0=10.0.0.1`.
impl FromStr for Route {
    type Err = RouteError;

    fn from_str(text: &str) -> Result<Self, RouteError> {
        let (to, via) = text.split_once('=').ok_or(RouteError::Form)?;
        let via: IpAddr = via.parse().map_err(|_| RouteError::Router(via.into()))?;
        Ok(Self { to: to.parse()?, via: Some(via) })
    }
}

/// All routes, in the order of their networks: IPv4 and IPv6 apart, by first address, an enclosing network before those
/// that it encloses.
///
/// Two networks are apart or one is inside the other. So of all networks that hold an address, the longest prefix is
/// found from the last one that begins at or before the address: that one, or the nearest that encloses it and holds the
/// address. A search costs the logarithm of the number of routes, and the depth to which they are nested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Routes {
    all: Vec<Route>,
    /// Place of the nearest enclosing network, for each route.
    within: Vec<u32>,
}

/// Place of a network in the order.
fn order(to: &Cidr) -> (bool, u128, u8) {
    (to.addr().is_ipv6(), Key::new(to.addr()).bits(), to.prefix())
}

impl Routes {
    /// Adds a route or replaces the one to the same network; false if there are too many.
    pub(crate) fn set(&mut self, route: Route) -> bool {
        let route = Route { to: route.to.network(), ..route };
        match self.place(&route.to) {
            Ok(at) => self.all[at] = route,
            Err(_) if self.all.len() >= MOST => return false,
            Err(at) => {
                self.all.insert(at, route);
                self.nest();
            }
        }
        true
    }

    /// Removes the route to a network; false if there was none.
    pub(crate) fn remove(&mut self, to: Cidr) -> bool {
        let Ok(at) = self.place(&to.network()) else { return false };
        self.all.remove(at);
        self.nest();
        true
    }

    fn place(&self, to: &Cidr) -> Result<usize, usize> {
        self.all.binary_search_by_key(&order(to), |route| order(&route.to))
    }

    /// Finds for each route the nearest that encloses it.
    fn nest(&mut self) {
        self.within.clear();
        let mut open = NONE;
        for (at, route) in (0u32..).zip(&self.all) {
            // The networks that enclose the one before, from inside: the first that encloses this one, too.
            while let Some(outer) = self.all.get(open as usize)
                && !outer.to.contains(route.to.addr())
            {
                open = self.within[open as usize];
            }
            self.within.push(open);
            open = at;
        }
    }

    /// The next hop towards an address.
    pub(crate) fn next_hop(&self, to: IpAddr) -> Option<IpAddr> {
        let family = (to.is_ipv6(), Key::new(to).bits());
        let after = self.all.partition_point(|route| {
            let (v6, first, _) = order(&route.to);
            (v6, first) <= family
        });
        let mut at = after.checked_sub(1)?;
        while !self.all[at].to.contains(to) {
            // The outermost network's place is none, which is beyond all of them.
            at = self.within[at] as usize;
            if at >= self.all.len() {
                return None;
            }
        }
        Some(self.all[at].via.unwrap_or(to))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Route> {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins_whatever_the_order() {
        let via = |text: &str| Some(text.parse().unwrap());
        let all = [
            Route { to: "10.0.0.0/8".parse().unwrap(), via: via("192.0.2.8") },
            Route { to: "0.0.0.0/0".parse().unwrap(), via: via("192.0.2.1") },
            Route { to: "10.1.0.0/16".parse().unwrap(), via: None },
            Route { to: "::/0".parse().unwrap(), via: via("fe80::1") },
        ];
        for turn in 0..4 {
            let mut routes = Routes::default();
            (0..4).for_each(|i| assert!(routes.set(all[(i + turn) % 4])));
            let hop = |to: &str| routes.next_hop(to.parse().unwrap());
            assert_eq!(hop("10.1.2.3"), via("10.1.2.3"));
            assert_eq!(hop("10.2.2.3"), via("192.0.2.8"));
            assert_eq!(hop("8.8.8.8"), via("192.0.2.1"));
            assert_eq!(hop("2001:db8::1"), via("fe80::1"));
        }
    }

    #[test]
    fn a_route_is_replaced_and_removed() {
        let mut routes = Routes::default();
        let to: Cidr = "10.0.0.7/8".parse().unwrap();
        assert!(routes.set(Route { to, via: None }) && routes.set(Route { to, via: Some([1, 1, 1, 1].into()) }));
        assert_eq!(routes.iter().count(), 1);
        assert_eq!(routes.next_hop([10, 9, 9, 9].into()), Some([1, 1, 1, 1].into()));
        assert!(routes.remove(to) && !routes.remove(to));
        assert_eq!(routes.next_hop([10, 9, 9, 9].into()), None);
    }

    /// A scan of all routes is the model: networks nested in each other at random, of both versions, come and go.
    #[test]
    fn a_search_finds_what_a_scan_of_all_finds() {
        let mut random = linerate_sum::SplitMix64::new(5);
        let mut address = |v6: bool| -> IpAddr {
            // Few different bits, at places all over the address, so that networks meet.
            let bits = random.next_u64() & random.next_u64();
            let wide = u128::from(bits) | u128::from(bits.rotate_left(17) & 0x8000_0011) << 96;
            if v6 { IpAddr::V6(wide.into()) } else { IpAddr::V4(u32::try_from(bits >> 32).unwrap().into()) }
        };
        let (mut routes, mut model, mut draw) = (Routes::default(), Vec::<Route>::new(), 1u32);
        for step in 0..4000 {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let v6 = draw >> 31 == 1;
            let prefix = u8::try_from((draw >> 8) % if v6 { 129 } else { 33 }).unwrap();
            let to = Cidr::new(address(v6), prefix).unwrap().network();
            let known = model.iter().position(|route| route.to == to);
            if step % 3 == 2 && !model.is_empty() {
                let gone = model.swap_remove(draw as usize % model.len());
                assert!(routes.remove(gone.to));
            } else {
                let route = Route { to, via: Some(address(v6)) };
                assert!(routes.set(route));
                match known {
                    Some(at) => model[at] = route,
                    None => model.push(route),
                }
            }
            for v6 in [false, true] {
                let to = address(v6);
                let longest = model.iter().filter(|route| route.to.contains(to)).max_by_key(|route| route.to.prefix());
                assert_eq!(routes.next_hop(to), longest.and_then(|route| route.via), "step {step}: {to}");
            }
        }
        assert!(model.len() > 500);
    }

    #[test]
    fn routes_are_bounded() {
        let mut routes = Routes::default();
        let host = |i: u32| Route { to: Cidr::host(IpAddr::V4(i.into())), via: None };
        let most = u32::try_from(MOST).unwrap();
        routes.all = (0..most).map(host).collect();
        routes.nest();
        assert!(!routes.set(host(most)) && routes.set(host(7)) && routes.remove(host(3).to) && routes.set(host(most)));
        assert_eq!(routes.next_hop([0, 0, 0, 3].into()), None);
    }
}
