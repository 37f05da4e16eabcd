//! Routes: longest prefix match.

use crate::address::Cidr;
use std::net::IpAddr;

/// Most routes; a host has a handful.
const MOST: usize = 1024;

/// A route to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Network of the destination.
    pub to: Cidr,
    /// Address of the router; None if the network is on the link.
    pub via: Option<IpAddr>,
}

/// All routes, longest prefix first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Routes(Vec<Route>);

impl Routes {
    /// Adds a route or replaces the one to the same network; false if there are too many.
    pub(crate) fn set(&mut self, route: Route) -> bool {
        let route = Route { to: route.to.network(), ..route };
        self.remove(route.to);
        if self.0.len() >= MOST {
            return false;
        }
        let at = self.0.partition_point(|r| r.to.prefix() > route.to.prefix());
        self.0.insert(at, route);
        true
    }

    /// Removes the route to a network; false if there was none.
    pub(crate) fn remove(&mut self, to: Cidr) -> bool {
        let before = self.0.len();
        self.0.retain(|r| r.to != to.network());
        self.0.len() != before
    }

    /// The next hop towards an address.
    pub(crate) fn next_hop(&self, to: IpAddr) -> Option<IpAddr> {
        let route = self.0.iter().find(|route| route.to.contains(to))?;
        Some(route.via.unwrap_or(to))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Route> {
        self.0.iter()
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

    #[test]
    fn routes_are_bounded() {
        let mut routes = Routes::default();
        let added = (0..2000u32).filter(|i| routes.set(Route { to: Cidr::host(IpAddr::V4((*i).into())), via: None }));
        assert_eq!(added.count(), MOST);
    }
}
