//! What IP makes of the interface.

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

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let name = view.name();
    let at = format!("net.ipv6.conf.{name}");
    // Names of interfaces may have dots.
    let number = |key: &str| view.number::<u64>(&format!("proc/sys/net/ipv6/conf/{name}/{key}"));
    // Without IPv6 there is nothing to look at.
    let Ok(mtu) = number("mtu") else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let own = u64::from(view.interface().mtu.unwrap_or(0));
    if mtu < own {
        // A router may have announced it.
        let severity = if mtu * 2 < own { Severity::Warning } else { Severity::Note };
        let finding = view.set(severity, &format!("{at}.mtu"), mtu, own);
        found.push(Finding {
            what: format!("IPv6 sends packets of {mtu} bytes at most, the interface {own}"),
            ..finding
        });
    }
    if let Ok(hops) = number("hop_limit")
        && hops < 32
    {
        let finding = view.set(Severity::Warning, &format!("{at}.hop_limit"), hops, 64);
        found.push(Finding { what: format!("routers drop its packets of IPv6 after {hops} hops"), ..finding });
    }
    for version in ["ipv4", "ipv6"] {
        let key = format!("net.{version}.neigh.{name}.unres_qlen_bytes");
        if let Ok(held) = view.number::<u64>(&format!("proc/sys/net/{version}/neigh/{name}/unres_qlen_bytes"))
            && held < 4096
        {
            let finding = view.set(Severity::Warning, &key, held, 212_992);
            let what = format!("{held} bytes are held for a neighbour that is asked for: the first packets are lost");
            found.push(Finding { what, ..finding });
        }
    }
    for version in ["ipv4", "ipv6"] {
        let at = format!("proc/sys/net/{version}/neigh/{name}");
        if view.number::<u64>(&format!("{at}/mcast_solicit")) == Ok(0) {
            let key = format!("net.{version}.neigh.{name}.mcast_solicit");
            let finding = view.set(Severity::Warning, &key, 0, 3);
            found.push(Finding { what: "it asks for no neighbour that it does not know".to_owned(), ..finding });
        }
    }
    Ok(found)
}
