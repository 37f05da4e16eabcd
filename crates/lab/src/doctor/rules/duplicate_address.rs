//! Two interfaces with one MAC address.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "duplicate-address",
    scope: Scope::Interface,
    about: "two interfaces with one MAC address",
    means: "switches and neighbours send to the one that spoke last",
    published: "IEEE 802, clause 8",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let interface = view.interface();
    let Some(address) = interface.address.as_deref().filter(|address| *address != "00:00:00:00:00:00") else {
        return healthy();
    };
    let pair = interface.kind.as_deref() == Some("veth");
    let related = |one: &&linerate_host::adapter::Interface| {
        one.index != interface.index
            && one.address.as_deref() == Some(address)
            // A bridge, bond or VLAN has its lower interface's; the ends of a pair have not.
            && one.master != Some(interface.index)
            && interface.master != Some(one.index)
            && (one.master.is_none() || one.master != interface.master)
            && (pair || one.lower != Some(interface.index))
            && (pair || interface.lower != Some(one.index))
    };
    let (name, typed) = (view.name(), view.typed());
    let Some(other) = view.interfaces.iter().find(related) else {
        let neighbours = view.neighbours().unwrap_or_default();
        let Some(same) = neighbours.into_iter().find(|one| one.state != "noarp" && one.mac.as_deref() == Some(address))
        else {
            return healthy();
        };
        return Finding::new(Severity::Warning, format!("the neighbour {} has the same MAC address", same.address))
            .seen(format!("{address} at {name} and {}", same.address), format!("ip link show dev {typed}; ip neigh"))
            .mend(format!("ip link set dev {typed} address 02:…, another one"))
            .alone();
    };
    Finding::new(Severity::Warning, format!("{} has the same MAC address", other.name))
        .seen(format!("{address} at {name} and {}", other.name), "ip link")
        .mend(format!("ip link set dev {typed} address 02:…, another one"))
        .alone()
}
