//! State of the interface.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "interface-down",
    scope: Scope::Interface,
    about: "whether the interface is up",
    means: "nothing can be sent or received",
    published: "ip-link(8)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    if view.is_up() || view.interface().name == "lo" || view.interface().kind.as_deref() == Some("ifb") {
        return healthy();
    }
    let typed = view.typed();
    let severity = if view.loads.is_empty() { Severity::Note } else { Severity::Error };
    Finding::new(severity, "it is down")
        .seen("no flag UP", format!("ip link show dev {typed}"))
        .mend(format!("ip link set dev {typed} up"))
        .alone()
}
