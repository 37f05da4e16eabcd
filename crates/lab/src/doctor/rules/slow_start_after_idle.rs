//! Slow start of TCP after a pause.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "slow-start-after-idle",
    scope: Scope::Host,
    about: "what TCP does after a pause",
    means: "each burst after a pause begins with ten segments again",
    published: "RFC 2861; Documentation/networking/ip-sysctl.rst",
    proof: Proof::Requests,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let name = "net.ipv4.tcp_slow_start_after_idle";
    if view.sysctl_number(name)? == 0 || !view.wants(&[Load::Tcp]) {
        return healthy();
    }
    view.set(Severity::Note, name, 1, 0).gain("requests after pauses are answered in fewer round trips").alone()
}
