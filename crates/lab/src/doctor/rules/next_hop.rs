//! Routes over several next hops, of which one does not answer.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};
use linerate_host::adapter::Route;
use std::net::IpAddr;

pub(super) const RULE: Rule = Rule {
    name: "next-hop",
    scope: Scope::Host,
    about: "next hops of routes over several that do not answer",
    means: "the kernel gives each flow one of the next hops by its hash: those of a dead one stand still, and others work",
    published: "RFC 2992; Documentation/networking/ip-sysctl.rst, fib_multipath_use_neigh, fib_multipath_hash_policy",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let several: Vec<&Route> = view.routes()?.iter().filter(|route| route.hops.len() > 1).collect();
    if several.is_empty() {
        return healthy();
    }
    let neighbours = have(&view.network.neighbours)?;
    let state = |link: u32, hop: IpAddr| {
        neighbours.iter().find(|one| one.link == link && one.address == hop).map_or("not known", |one| one.state)
    };
    let asked =
        view.peer.iter().flat_map(|probed| &probed.silent_hops).map(|hop| IpAddr::from(*hop)).collect::<Vec<_>>();
    // One that was heard of lately, or was set, may not answer ARP at once.
    let is_dead = |link: u32, hop: IpAddr| match state(link, hop) {
        "failed" | "incomplete" => true,
        "not known" | "none" | "probe" => asked.contains(&hop),
        _ => false,
    };
    let mut found = Vec::new();
    for route in several {
        let dead: Vec<_> = route
            .hops
            .iter()
            .filter_map(|(link, hop)| Some((*link, (*hop)?)))
            .filter(|(link, hop)| is_dead(*link, *hop))
            .collect();
        let network = route.network();
        let Some((_, first)) = dead.first() else { continue };
        let what = format!(
            "{} of {} next hops of the route to {network} do not answer: {first}",
            dead.len(),
            route.hops.len()
        );
        let finding = dead.iter().take(4).fold(Finding::new(Severity::Warning, what), |finding, (link, hop)| {
            finding.seen(format!("{hop} {}", state(*link, *hop)), format!("ip neigh show {hop}"))
        });
        found.push(
            finding
                .mend(format!(
                    "see whether {first} is up; or have routes leave out those that do not answer: \
                     sysctl -w net.ipv4.fib_multipath_use_neigh=1"
                ))
                .gain("flows take a next hop that answers"),
        );
    }
    found.truncate(8);
    Ok(found)
}
