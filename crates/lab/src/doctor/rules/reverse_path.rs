//! The reverse path filter.

use crate::doctor::finding::{Finding, Severity};
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
    // Drops by it are counted, of IPv4 packets that come in: rule ip-drops.
    let silent = view.peer.as_ref().is_some_and(|probed| probed.refused.is_none() && probed.answered == 0);
    let several = view.routes().is_ok_and(|routes| {
        let links: std::collections::BTreeSet<_> =
            routes.iter().filter(|one| one.kind == "unicast").map(|one| one.link).collect();
        links.len() > 1
    });
    let severity = if silent && several { Severity::Warning } else { Severity::Note };
    view.set(severity, "net.ipv4.conf.all.rp_filter", all, 2).alone()
}
