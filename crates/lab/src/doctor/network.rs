//! Set-up of a machine's interfaces: addresses, neighbours, routes, queueing disciplines, filters. It is read once.

use linerate_host::Absent;
use linerate_host::adapter::{
    Address, Filter, FilterChain, FilterRule, Interface, Neighbour, Policy, Qdisc, Route, Source, Subject, addresses,
    chains, filter_rules, filters, least_ceiling, neighbours, policies, qdiscs, routes,
};
use std::collections::BTreeMap;

type Part<T> = Result<T, Absent>;

#[derive(Debug)]
pub(super) struct Network {
    pub(super) addresses: Part<Vec<Address>>,
    pub(super) neighbours: Part<Vec<Neighbour>>,
    pub(super) routes: Part<Vec<Route>>,
    /// Rules that say which table of routes is looked up.
    pub(super) policies: Part<Vec<Policy>>,
    pub(super) qdiscs: Part<Vec<Qdisc>>,
    /// Filters of traffic control, by the interface.
    pub(super) filters: BTreeMap<u32, Part<Vec<Filter>>>,
    /// Least rate of the classes that limit, by the interface, bytes per second.
    pub(super) ceilings: BTreeMap<u32, u64>,
    /// Chains of the packet filter.
    pub(super) chains: Part<Vec<FilterChain>>,
    /// Rules of the packet filter that drop, limit or change packets.
    pub(super) filter_rules: Part<Vec<FilterRule>>,
    /// Those before the machine was looked at.
    pub(super) earlier_rules: Part<Vec<FilterRule>>,
}

pub(super) static NOTHING: Network = Network {
    addresses: Ok(Vec::new()),
    neighbours: Ok(Vec::new()),
    routes: Ok(Vec::new()),
    policies: Ok(Vec::new()),
    qdiscs: Ok(Vec::new()),
    filters: BTreeMap::new(),
    ceilings: BTreeMap::new(),
    chains: Ok(Vec::new()),
    filter_rules: Ok(Vec::new()),
    earlier_rules: Ok(Vec::new()),
};

impl Network {
    pub(super) fn read<'a>(
        source: &mut dyn Source,
        of: impl Iterator<Item = &'a Interface>,
        earlier_rules: Part<Vec<FilterRule>>,
    ) -> Self {
        let (mut by, mut ceilings) = (BTreeMap::new(), BTreeMap::new());
        for one in of {
            let subject = Subject { index: one.index, name: one.name.clone() };
            by.insert(one.index, filters(source, &subject));
            if let Ok(Some(rate)) = least_ceiling(source, &subject) {
                ceilings.insert(one.index, rate);
            }
        }
        Self {
            filters: by,
            ceilings,
            addresses: addresses(source),
            neighbours: neighbours(source),
            routes: routes(source),
            policies: policies(source),
            qdiscs: qdiscs(source),
            chains: chains(source),
            filter_rules: filter_rules(source),
            earlier_rules,
        }
    }
}
