//! Number of times that the link went.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "carrier-flaps",
    scope: Scope::Interface,
    about: "how often the link went",
    means: "each time frames are lost, and connections wait for their retransmission",
    published: "linux/if_link.h, IFLA_CARRIER_DOWN_COUNT",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let Some(downs) = view.interface().carrier_changes[2].filter(|downs| *downs > 10) else { return healthy() };
    Finding::new(Severity::Note, format!("the link went {downs} times"))
        .seen(format!("carrier_down_count {downs}"), format!("ip -d link show dev {}", view.typed()))
        .mend("see cable, module and partner, if nobody took the interface down")
        .alone()
}
