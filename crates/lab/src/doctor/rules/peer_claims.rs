//! Addresses that two hosts have.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;
use linerate_host::shell::word;

pub(super) const RULE: Rule = Rule {
    name: "peer-claims",
    scope: Scope::Peer,
    about: "whether another host has this one's address, or two have the peer's",
    means: "packets go now to one of them and now to the other: connections break off",
    published: "RFC 5227",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let probed = view.probed()?;
    let claims = probed.claims.as_ref().map_err(Clone::clone)?;
    let typed_way = word(&probed.way);
    let finding = |what: String, of: &[&(std::net::Ipv4Addr, String)], address: std::net::Ipv4Addr| {
        let first = Finding::new(Severity::Error, what);
        of.iter()
            .take(4)
            .fold(first, |finding, (address, mac)| {
                finding.seen(format!("{address} is at {mac}"), format!("arping -D -I {typed_way} {address}"))
            })
            .mend(format!("another address for one of them; see who has {address} by its MAC address, at the switch"))
    };
    let mut found = Vec::new();
    let of = |address: std::net::IpAddr| claims.iter().filter(|one| one.0 == address).collect::<Vec<_>>();
    let own = of(probed.source);
    if let Some((address, _)) = own.first() {
        found.push(finding(format!("another host has the address {address}, too"), &own, *address));
    }
    let hop = of(probed.hop());
    if let [(address, _), _, ..] = hop[..] {
        found.push(finding(format!("{} hosts have the address {address}", hop.len()), &hop, *address));
    }
    Ok(found)
}
