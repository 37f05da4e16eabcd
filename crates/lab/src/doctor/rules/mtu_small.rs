//! An MTU below that of Ethernet.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "mtu-small",
    scope: Scope::Interface,
    about: "an MTU below that of Ethernet",
    means: "each frame carries less: more frames, and headers, for the same bytes; below 1280 there is no IPv6",
    published: "RFC 8200, section 5; IEEE 802.3",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let interface = view.interface();
    let Some(mtu) = interface.mtu.filter(|mtu| *mtu < 1500 && interface.hardware == 1) else { return healthy() };
    let severity = if mtu < 1280 { Severity::Warning } else { Severity::Note };
    let name = view.name();
    Finding::new(severity, format!("its MTU is {mtu}"))
        .seen(format!("mtu {mtu}"), format!("ip link show {name}"))
        .mend(format!("ip link set {name} mtu 1500, if the path takes it"))
        .alone()
}
