//! MTU of an interface beside the one below it.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;
use linerate_host::shell::word;
use linerate_host::tunables::Value;

pub(super) const RULE: Rule = Rule {
    name: "mtu-of-lower",
    scope: Scope::Interface,
    about: "MTU of an interface beside the one below it",
    means: "frames of the larger MTU do not pass the interface below",
    published: "ip-link(8)",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let interface = view.interface();
    let below = interface.lower.filter(|_| !interface.lower_elsewhere).and_then(|lower| view.named(lower));
    let Some((below, mtu, lower)) = below.and_then(|below| Some((below, interface.mtu?, below.mtu?))) else {
        return healthy();
    };
    let peers = interface.kind.as_deref() == Some("veth");
    if (peers && mtu == lower) || (!peers && mtu <= lower) {
        return healthy();
    }
    let (name, other) = (view.name(), &below.name);
    let less = if mtu < lower { name } else { other };
    let what = if peers { "the other end" } else { "the interface below" };
    Finding::new(Severity::Warning, format!("its MTU is {mtu}, that of {what}, {other}, {lower}"))
        .seen(format!("{name} {mtu}, {other} {lower}"), "ip link")
        .mend(format!("ip link set dev {} mtu {}", word(less), mtu.max(lower)))
        .sets(less, "mtu", Value::Number(mtu.max(lower).into()))
        .gain("long frames arrive")
        .alone()
}
