//! Tracking of connections.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "conntrack",
    scope: Scope::Host,
    about: "tracking of connections",
    means: "each packet is looked up in a table; when it is full, new connections are dropped",
    published: "Documentation/networking/nf_conntrack-sysctl.rst",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let Ok(most) = view.sysctl_number("net.netfilter.nf_conntrack_max") else { return healthy() };
    let now = view.sysctl_number("net.netfilter.nf_conntrack_count")?;
    if now * 10 < most * 8 {
        return healthy();
    }
    view.set(Severity::Warning, "net.netfilter.nf_conntrack_max", most, most * 4)
        .seen(format!("nf_conntrack_count = {now}"), "sysctl net.netfilter.nf_conntrack_count")
        .gain("new connections are not dropped")
        .alone()
}
