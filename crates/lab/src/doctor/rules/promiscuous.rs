//! Promiscuous mode.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "promiscuous",
    scope: Scope::Interface,
    about: "promiscuous mode",
    means: "frames for others are received and thrown away by a processor",
    published: "ip-link(8), promiscuity",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let bridged = view.interface().master.is_some();
    let Some(users) = view.interface().promiscuity.filter(|users| *users > 0 && !bridged) else { return healthy() };
    Finding::new(Severity::Note, "it receives frames for all addresses")
        .seen(format!("promiscuity {users}"), format!("ip -d link show dev {}", view.typed()))
        .mend(format!("end the program that captures there, or: ip link set dev {} promisc off", view.typed()))
        .alone()
}
