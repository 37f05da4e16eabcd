//! Address resolution.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;
use linerate_host::shell::word;

pub(super) const RULE: Rule = Rule {
    name: "arp",
    scope: Scope::Interface,
    about: "whether ARP is spoken",
    means: "neighbours are not found, or do not find this host",
    published: "RFC 826; ip-link(8), arp; Documentation/networking/ip-sysctl.rst, arp_ignore",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let (name, typed, interface) = (view.name(), view.typed(), view.interface());
    // Ethernet, of a kind that has neighbours.
    let kinds =
        [None, Some("veth"), Some("bridge"), Some("bond"), Some("team"), Some("tun"), Some("vlan"), Some("macvlan")];
    let member = interface.master.is_some() || interface.has("SLAVE");
    if interface.hardware != 1 || member || !kinds.contains(&interface.kind.as_deref()) {
        return healthy();
    }
    if view.has_flag("NOARP") {
        return Finding::new(Severity::Warning, "it does not speak ARP")
            .seen("NOARP", format!("ip link show dev {typed}"))
            .mend(format!("ip link set dev {typed} arp on"))
            .alone();
    }
    // The greater of both counts.
    let of = |whose: &str| view.number::<u64>(&format!("proc/sys/net/ipv4/conf/{whose}/arp_ignore")).ok();
    let ignore = of("all").max(of(name)).unwrap_or(0);
    let own = word(view.own_sysctl("net.ipv4.conf", "arp_ignore"));
    if ignore != 8 {
        return healthy();
    }
    Finding::new(Severity::Warning, "it answers no ARP request")
        .seen(format!("arp_ignore {ignore}"), format!("sysctl net.ipv4.conf.all.arp_ignore {own} (the greater)"))
        .mend(format!("sysctl -w net.ipv4.conf.all.arp_ignore=0 {}=0", own))
        .writes("proc/sys/net/ipv4/conf/all/arp_ignore", "0")
        .writes(format!("proc/sys/net/ipv4/conf/{name}/arp_ignore"), "0")
        .alone()
}
