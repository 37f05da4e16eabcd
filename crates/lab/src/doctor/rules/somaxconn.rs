//! Greatest number of connections that wait for a program.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "somaxconn",
    scope: Scope::Host,
    about: "how many connections may wait for a program",
    means: "of clients that connect at once, those beyond it wait a second and longer for another try",
    published: "listen(2); Documentation/admin-guide/sysctl/net.rst, somaxconn: 4096 since Linux 5.4",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let name = "net.core.somaxconn";
    let most = view.sysctl_number(name)?;
    if most >= 1024 || !view.wants(&[Load::Tcp]) {
        return healthy();
    }
    view.set(Severity::Note, name, most, 4096).gain("that many connections may wait at a listening socket").alone()
}
