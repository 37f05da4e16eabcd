//! Responses of the peer.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "peer-silent",
    scope: Scope::Peer,
    about: "whether the peer answers echo requests",
    means: "the peer is down, is not on this network, or drops echo requests",
    published: "RFC 1122, section 3.2.2.6",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let probed = view.probed()?;
    if probed.answered > 0 {
        return healthy();
    }
    let (peer, way) = (probed.peer, &probed.way);
    // proc_net(5): the address, then its flags; 0x2 is a complete entry.
    let table = view.file("proc/net/arp").unwrap_or_default();
    let entry = table.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == peer.to_string()).then(|| words.nth(1).unwrap_or_default().to_owned())
    });
    let known = match entry.as_deref() {
        Some("0x0") => "its link-layer address is not answered either",
        Some(_) => "its link-layer address is known",
        None => "it is reached by a router, or has no entry",
    };
    Finding::new(Severity::Warning, format!("it answers none of {} echo requests", probed.asked))
        .seen(format!("by {way}; {known}"), format!("ping {peer}, ip neigh show {peer}"))
        .mend(format!("see whether it is up, and that both ends have addresses of one network: ip addr show dev {way}"))
        .alone()
}
