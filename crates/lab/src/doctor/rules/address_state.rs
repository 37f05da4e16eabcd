//! Addresses that are not used, or where nobody is reached by them.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;
use linerate_host::shell::word;

pub(super) const RULE: Rule = Rule {
    name: "address-state",
    scope: Scope::Interface,
    about: "addresses that are not used, or by which nobody is reached",
    means: "packets go out with another address, or not at all",
    published: "RFC 4862, section 5.4; ip-address(8)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let (name, typed, interface) = (view.name(), view.typed(), view.interface());
    let read = format!("ip addr show dev {typed}");
    let own = view.addresses()?;
    let mut found = Vec::new();
    let broken = own.iter().find(|one| one.states.contains(&"dadfailed"));
    if let Some(one) = broken {
        found.push(
            Finding::new(Severity::Error, format!("another host has its address {}", one.address))
                .seen(format!("{}/{} {}", one.address, one.prefix, one.states.join(" ")), read.as_str())
                .mend(format!("ip addr del {}/{} dev {typed}", one.address, one.prefix)),
        );
    }
    let deprecated = own.iter().filter(|one| one.states.contains(&"deprecated"));
    for one in deprecated {
        let local = |ip: std::net::IpAddr| matches!(ip, std::net::IpAddr::V6(v6) if v6.is_unicast_link_local());
        let other = own.iter().any(|other| {
            other.address.is_ipv4() == one.address.is_ipv4() && other.states.is_empty() && !local(other.address)
        });
        // After renumbering the old ones stay for a while beside new ones.
        let severity = if other { Severity::Note } else { Severity::Warning };
        found.push(
            Finding::new(severity, format!("its address {} is deprecated: nothing new is sent from it", one.address))
                .seen(format!("{}/{} deprecated", one.address, one.prefix), read.as_str())
                .mend(format!(
                    "ip addr change {}/{} dev {typed} preferred_lft forever valid_lft forever",
                    one.address, one.prefix
                )),
        );
    }
    let bridge = interface
        .master
        .and_then(|master| view.named(master))
        .filter(|master| master.kind.as_deref() == Some("bridge"));
    if let (Some(bridge), Some(one)) = (bridge, own.iter().find(|one| one.address.is_ipv4())) {
        // What comes for it goes to the bridge, which may have it answered all the same.
        let silent = view.peer.as_ref().is_some_and(|probed| probed.way == name && probed.answered == 0);
        let severity = if silent { Severity::Warning } else { Severity::Note };
        found.push(
            Finding::new(
                severity,
                format!("it belongs to the bridge {} and has the address {}", bridge.name, one.address),
            )
            .seen(format!("{}/{} at a member of {}", one.address, one.prefix, bridge.name), read.as_str())
            .mend(format!(
                "ip addr del {0}/{1} dev {typed}; ip addr add {0}/{1} dev {2}",
                one.address,
                one.prefix,
                word(&bridge.name)
            )),
        );
    }
    let routed = view
        .routes()?
        .iter()
        .any(|route| route.link == Some(interface.index) && route.kind == "unicast" && route.to.0.is_ipv4());
    let alone =
        |one: &&&linerate_host::adapter::Address| one.prefix == 32 && one.address.is_ipv4() && one.other_end.is_none();
    let kinds = [None, Some("veth"), Some("bridge"), Some("bond"), Some("tun"), Some("vlan"), Some("macvlan")];
    if let Some(one) =
        own.iter().find(alone).filter(|_| !routed && view.is_up() && kinds.contains(&interface.kind.as_deref()))
    {
        found.push(
            Finding::new(Severity::Warning, format!("its address {} has no network: no route leads out", one.address))
                .seen(format!("{}/32, no route by {name}", one.address), format!("{read}; ip route show dev {typed}"))
                .mend(format!("ip addr add {}/24 dev {typed}", one.address)),
        );
    }
    // Somebody wants to use it with IP, and it belongs to nobody who has an address.
    let upper = |other: &&linerate_host::adapter::Interface| other.lower == Some(interface.index);
    if own.is_empty()
        && view.is_up()
        && interface.master.is_none()
        && view.wants(&[Load::Tcp, Load::Udp])
        && !view.interfaces.iter().any(|other| upper(&other))
    {
        found.push(
            Finding::new(Severity::Warning, "it has no address")
                .seen("no address", read.as_str())
                .mend(format!("ip addr add ADDRESS/BITS dev {typed}")),
        );
    }
    Ok(found)
}
