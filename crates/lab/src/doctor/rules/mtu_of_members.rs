//! MTU of a bridge and its members.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "mtu-of-members",
    scope: Scope::Interface,
    about: "MTU of a bridge and its members",
    means: "a frame that one member takes does not fit another: it is dropped in the bridge",
    published: "ip-link(8); Documentation/networking/bridge.rst",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let interface = view.interface();
    if interface.kind.as_deref() != Some("bridge") {
        return healthy();
    }
    let members: Vec<_> = view.interfaces.iter().filter(|one| one.master == Some(interface.index)).collect();
    let mtus: std::collections::BTreeSet<u32> = members.iter().filter_map(|one| one.mtu).collect();
    if mtus.len() < 2 {
        return healthy();
    }
    let list: Vec<String> = members.iter().map(|one| format!("{} {}", one.name, one.mtu.unwrap_or_default())).collect();
    Finding::new(Severity::Warning, "its members have different MTUs")
        .seen(list.join(", "), format!("ip link show master {}", view.typed()))
        .mend("ip link set DEV mtu N, the same for all")
        .alone()
}
