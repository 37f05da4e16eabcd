//! Settings that IP has of the interface.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "ip-settings",
    scope: Scope::Interface,
    about: "MTU, hops and the queue of neighbours that IP has of the interface",
    means: "packets are shorter than the interface takes, or are lost on the way or before it",
    published: "RFC 4861, section 6.3.2; Documentation/networking/ip-sysctl.rst, conf/*",
    proof: Proof::Look,
    look,
};

/// MTU and hops of IPv6.
fn of_ipv6(view: &View<'_>, found: &mut Vec<Finding>) {
    let [mtu, hops] = ["mtu", "hop_limit"].map(|key| view.own_sysctl("net.ipv6.conf", key));
    let own = u64::from(view.interface().mtu.unwrap_or(0));
    if let Ok(now) = view.sysctl_number(&mtu)
        && now < own
    {
        // A router may have announced it.
        let severity = if now < own / 2 { Severity::Warning } else { Severity::Note };
        let what = format!("IPv6 sends packets of {now} bytes at most, the interface {own}");
        found.push(Finding { what, ..view.set(severity, &mtu, now, own) });
    }
    if let Ok(now) = view.sysctl_number(&hops)
        && now < 32
    {
        let what = format!("routers drop its packets of IPv6 after {now} hops");
        found.push(Finding { what, ..view.set(Severity::Warning, &hops, now, 64) });
    }
}

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    of_ipv6(view, &mut found);
    // A kernel without a version of IP has none of its neighbours.
    for group in ["net.ipv4.neigh", "net.ipv6.neigh"] {
        let [held, asks] = ["unres_qlen_bytes", "mcast_solicit"].map(|key| view.own_sysctl(group, key));
        if let Ok(now) = view.sysctl_number(&held)
            && now < 4096
        {
            let what = format!("{now} bytes are held for a neighbour that is asked for: the first packets are lost");
            found.push(Finding { what, ..view.set(Severity::Warning, &held, now, 212_992) });
        }
        if view.sysctl_number(&asks) == Ok(0) {
            let what = "it asks for no neighbour that it does not know".to_owned();
            found.push(Finding { what, ..view.set(Severity::Warning, &asks, 0, 3) });
        }
    }
    Ok(found)
}
