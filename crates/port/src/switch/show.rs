//! Knowledge of the switch, as rows: addresses, groups, routers, queriers, blocked ports.

use super::groups::GroupCounters;
use super::snoop::Family;
use super::table::PortId;
use super::{Switch, tick_of};
use linerate_wire::MacAddr;
use std::net::IpAddr;

/// An address in the learning table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressRow<'a> {
    /// The station's address.
    pub mac: MacAddr,
    /// Its VLAN.
    pub vlan: u16,
    /// Name of the port behind which it is.
    pub port: &'a str,
    /// Number of that port, the same for all its rows.
    pub number: u16,
    /// Seconds, about, since a frame came from it.
    pub age: u64,
}

/// A group with listeners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow<'a> {
    /// The group.
    pub group: IpAddr,
    /// Its VLAN.
    pub vlan: u16,
    /// Names of the ports with listeners, and seconds, about, for which they count unless they report again.
    pub ports: Vec<(&'a str, u64)>,
}

/// A querier in a VLAN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuerierRow<'a> {
    /// Its address; unspecified for a bridge that has none.
    pub address: IpAddr,
    /// The VLAN.
    pub vlan: u16,
    /// Name of the port behind which it is; None: this switch.
    pub port: Option<&'a str>,
}

/// A port that gets all groups, for a router is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterRow<'a> {
    /// Name of the port.
    pub port: &'a str,
    /// True if it is a router of IPv6, else of IPv4.
    pub v6: bool,
}

/// A port that is blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedRow<'a> {
    /// Name of the port.
    pub port: &'a str,
    /// Name of the port that it is joined to outside of the switch.
    pub joined_to: &'a str,
}

/// Seconds that a number of ticks takes.
fn seconds(ticks: u32) -> u64 {
    (u64::from(ticks) << 30) / 1_000_000_000
}

impl Switch {
    fn name_of(&self, port: PortId) -> &str {
        self.members.get(usize::from(port)).and_then(Option::as_ref).map_or("", |member| &member.name)
    }

    /// The addresses that the switch has learned, in no order.
    pub fn addresses(&self) -> impl Iterator<Item = AddressRow<'_>> {
        self.table.entries().map(|(mac, vlan, port, age)| AddressRow {
            mac,
            vlan,
            port: self.name_of(port),
            number: port,
            age: seconds(age),
        })
    }

    /// The groups that were reported, in no order; none without [`Switch::snoop`].
    pub fn groups(&self) -> impl Iterator<Item = GroupRow<'_>> {
        let tick = tick_of(self.now);
        let rows = self.own.snoop.iter().flat_map(|snoop| snoop.groups.rows());
        rows.map(move |(vlan, group, ports)| {
            let port = |(port, until): (PortId, u32)| (self.name_of(port), seconds(until.saturating_sub(tick)));
            GroupRow { group, vlan, ports: ports.into_iter().map(port).collect() }
        })
    }

    /// Counters of the groups; None without [`Switch::snoop`].
    #[must_use]
    pub fn group_counters(&self) -> Option<GroupCounters> {
        self.own.snoop.as_ref().map(|snoop| snoop.groups.counters())
    }

    /// The queriers that are about, this switch among them.
    pub fn queriers(&self) -> impl Iterator<Item = QuerierRow<'_>> {
        let tick = tick_of(self.now);
        let snoop = self.own.snoop.iter();
        snoop.flat_map(move |snoop| {
            let vlans = snoop.vlans.iter().flat_map(|(vlan, asked)| Family::ALL.map(|family| (*vlan, family, *asked)));
            vlans.flat_map(move |(vlan, family, asked)| {
                let other = asked[family as usize].present(tick);
                let other = other.map(|(address, port)| QuerierRow { address, vlan, port: Some(self.name_of(port)) });
                let own = snoop.querier.as_ref().filter(|querier| querier.asks(tick, vlan, family));
                let own = own.map(|querier| QuerierRow { address: querier.address(family), vlan, port: None });
                other.into_iter().chain(own)
            })
        })
    }

    /// The ports that get all groups because a router is there.
    pub fn routers(&self) -> impl Iterator<Item = RouterRow<'_>> {
        let snoop = self.own.snoop.iter();
        snoop.flat_map(move |snoop| {
            Family::ALL.into_iter().flat_map(move |family| {
                let ports = snoop.routers(family).iter();
                ports.map(move |port| RouterRow { port: self.name_of(port), v6: family == Family::V6 })
            })
        })
    }

    /// The ports that are blocked, because they are joined to others outside of the switch.
    pub fn blocked(&self) -> impl Iterator<Item = BlockedRow<'_>> {
        self.members
            .iter()
            .flatten()
            .filter_map(|member| Some(BlockedRow { port: &member.name, joined_to: member.blocked.as_deref()? }))
    }
}
