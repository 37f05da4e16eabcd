//! MTU of the two ends.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::side::claimed;
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "ends-mtu",
    scope: Scope::Ends,
    about: "the MTU of this interface and of the other end's",
    means: "the end with the smaller MTU need not take the other one's packets: they vanish, or wait for a search of the path's",
    published: "RFC 894; RFC 1191; ip-link(8)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let [near, far] = view.ends()?;
    let (Some(here), Some(there)) = (near.mtu, far.mtu) else { return healthy() };
    if here == there {
        return healthy();
    }
    Finding::new(Severity::Warning, format!("the MTU is {here} here and {there} at the other end"))
        .seen(format!("mtu {here}"), format!("ip link show dev {}", view.typed()))
        .seen(format!("mtu {there}"), claimed(&far.name))
        .mend(format!("the same MTU at both ends: ip link set dev {} mtu N, and so there", view.typed()))
        .gain("no packet is too long for the other end")
        .alone()
}
