//! Routing by this machine.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "forwarding",
    scope: Scope::Host,
    about: "whether this machine routes",
    means: "packets for others are dropped",
    published: "Documentation/networking/ip-sysctl.rst",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    if !view.wants(&[Load::Forward]) || view.sysctl_number("net.ipv4.ip_forward")? > 0 {
        return healthy();
    }
    view.set(Severity::Warning, "net.ipv4.ip_forward", 0, 1).alone()
}
