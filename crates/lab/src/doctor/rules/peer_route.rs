//! A way to the peer.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;
use linerate_host::shell::{operand, word};

pub(super) const RULE: Rule = Rule {
    name: "peer-route",
    scope: Scope::Peer,
    about: "whether there is a way to the peer",
    means: "nothing can be sent to it",
    published: "ip-route(8), ip-rule(8)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let probed = view.peer.as_ref().ok_or_else(|| "no --peer was given".to_owned())?;
    let peer = probed.peer;
    if probed.is_own() {
        return Finding::new(Severity::Warning, "it is an address of this machine: nothing leaves it")
            .seen(format!("local, by {}", probed.way), format!("ip route get {peer}"))
            .mend(format!("another address here or there: ip addr show to {peer}"))
            .alone();
    }
    if probed.elsewhere {
        let way = &probed.way;
        return Finding::new(Severity::Note, format!("it is reached by {way}, which is not looked at"))
            .seen(format!("by {way}"), format!("ip route get {peer}"))
            .mend(format!("linerate doctor --peer {peer} {}", operand(way)))
            .alone();
    }
    let Some(why) = &probed.refused else { return healthy() };
    let read = format!("ip route get {peer}");
    let is_off = |whose: &&str| view.number::<u64>(&format!("proc/sys/net/ipv6/conf/{whose}/disable_ipv6")) == Ok(1);
    if let Some(whose) = ["all", view.name()].into_iter().filter(|_| peer.is_ipv6()).find(is_off) {
        return Finding::new(Severity::Error, "there is no way to it: IPv6 is switched off")
            .seen(format!("net.ipv6.conf.{whose}.disable_ipv6 = 1"), read)
            .mend(format!("sysctl -w {}=0", word(format!("net/ipv6/conf/{whose}/disable_ipv6"))))
            .alone();
    }
    let first =
        Finding::new(Severity::Error, format!("there is no way to it: {why}")).seen(why.as_str(), read.as_str());
    let Some(route) = view
        .network
        .routes
        .iter()
        .flatten()
        .filter(|route| ["blackhole", "unreachable", "prohibit", "throw"].contains(&route.kind) && route.is_to(peer))
        .max_by_key(|route| route.to.1)
    else {
        let down = if view.is_up() { "" } else { ", and see that its interface is up" };
        return first
            .mend(format!("an address or a route that its network is behind{down}: ip addr, ip route, ip rule"))
            .alone();
    };
    let network = route.network();
    first
        .seen(format!("{} {network}", route.kind), "ip route show table all")
        .mend(format!("ip route del {} {network}", route.kind))
        .alone()
}
