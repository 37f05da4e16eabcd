//! Time that interrupts are held back.

use crate::doctor::finding::{Finding, Load};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};
use linerate_host::tunables::Value;

pub(super) const RULE: Rule = Rule {
    name: "coalesce-lazy",
    scope: Scope::Interface,
    about: "time that interrupts are held back",
    means: "each request waits that long for its answer, both ways",
    published: "ethtool(8), -C",
    proof: Proof::Requests,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let coalesce = have(&view.adapter.coalesce)?;
    let Some(usecs) = coalesce.get("rx-usecs").filter(|usecs| *usecs > 100) else { return healthy() };
    if coalesce.get("adaptive-rx") == Some(1) {
        return healthy();
    }
    let (name, typed) = (view.name(), view.typed());
    Finding::new(
        view.graver_for(&[Load::Tcp, Load::Udp, Load::Fcoe]),
        format!("interrupts are held back for {usecs} us"),
    )
    .seen(format!("rx-usecs {usecs}, adaptive-rx off"), format!("ethtool -c {typed}"))
    .mend(format!("ethtool -C {typed} rx-usecs 20, or adaptive-rx on"))
    .sets(name, "rx-usecs", Value::Number(20))
    .gain(format!("requests that take up to {} us less", 2 * usecs))
    .alone()
}
