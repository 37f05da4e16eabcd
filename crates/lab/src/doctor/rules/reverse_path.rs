//! The reverse path filter.

use crate::doctor::finding::{Finding, Load};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "reverse-path",
    scope: Scope::Host,
    about: "the reverse path filter",
    means: "answers that take another way back are dropped without a word",
    published: "RFC 3704; Documentation/networking/ip-sysctl.rst",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let all = view.sysctl_number("net.ipv4.conf.all.rp_filter")?;
    if all != 1 {
        return healthy();
    }
    view.set(view.graver_for(&[Load::Forward]), "net.ipv4.conf.all.rp_filter", all, 2).alone()
}
