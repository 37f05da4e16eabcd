//! A queueing discipline that limits the rate.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "shaped",
    scope: Scope::Interface,
    about: "a queueing discipline that limits the rate",
    means: "what is measured is the discipline, not the adapter",
    published: "tc(8); tc-tbf(8), tc-netem(8)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let Some(qdisc) = view.interface().qdisc.as_deref() else { return healthy() };
    if !["tbf", "netem", "htb", "hfsc", "cbq", "blackhole", "plug", "cake"].contains(&qdisc) {
        return healthy();
    }
    let name = view.name();
    Finding::new(Severity::Warning, format!("its queueing discipline is {qdisc}, which delays, drops or limits"))
        .seen(format!("qdisc {qdisc}"), format!("tc -s qdisc show dev {name}"))
        .mend(format!("tc qdisc del dev {name} root"))
        .alone()
}
