//! Busy polling.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "busy-poll",
    scope: Scope::Host,
    about: "busy polling",
    means: "a reader that waits sleeps until an interrupt, tens of microseconds",
    published: "Documentation/networking/napi.rst; Documentation/admin-guide/sysctl/net.rst",
    proof: Proof::Requests,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let name = "net.core.busy_read";
    if view.sysctl_number(name)? > 0 || !view.wants(&[Load::Udp, Load::Fcoe]) {
        return healthy();
    }
    view.set(Severity::Note, name, 0, 50)
        .gain("requests that take some microseconds less, for a processor that polls")
        .alone()
}
