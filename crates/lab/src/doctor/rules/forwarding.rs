//! Routing.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;
use linerate_host::shell::word;

pub(super) const RULE: Rule = Rule {
    name: "forwarding",
    scope: Scope::Interface,
    about: "whether this machine routes",
    means: "packets for others are dropped",
    published: "Documentation/networking/ip-sysctl.rst",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let interface = view.interface();
    // A bridge passes frames on by itself.
    let bridged = interface.master.is_some() || interface.kind.as_deref() == Some("bridge");
    let addresses = view.addresses().unwrap_or_default();
    let global = |one: &&linerate_host::adapter::Address| matches!(one.address, std::net::IpAddr::V6(v6) if !v6.is_unicast_link_local());
    let routed = addresses.iter().any(|one| one.address.is_ipv4() || global(one));
    if !view.wants(&[Load::Forward]) || bridged && !routed {
        return healthy();
    }
    let mut found = Vec::new();
    let all = view.sysctl_number("net.ipv4.ip_forward")?;
    let own = view.own_sysctl("net.ipv4.conf", "forwarding");
    if all == 0 {
        found.push(view.set(Severity::Warning, "net.ipv4.ip_forward", 0, 1));
    } else if view.sysctl_number(&own) == Ok(0) {
        found.push(view.set(Severity::Warning, &own, 0, 1));
    }
    let v6 = "net.ipv6.conf.all.forwarding";
    if addresses.iter().any(global) && view.sysctl_number(v6) == Ok(0) {
        // Many route IPv4 alone, and have addresses of IPv6 for themselves.
        // Routes that routers announce go with it, unless they are asked for.
        found.push(
            Finding::new(Severity::Note, format!("{v6} is 0"))
                .seen(format!("{v6} = 0"), format!("sysctl {v6}"))
                .mend(format!("sysctl -w {}=2 {v6}=1", word(view.own_sysctl("net.ipv6.conf", "accept_ra")))),
        );
    }
    Ok(found)
}
