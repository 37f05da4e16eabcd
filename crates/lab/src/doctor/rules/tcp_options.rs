//! Options of TCP that fast paths need.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "tcp-options",
    scope: Scope::Host,
    about: "options of TCP that fast paths need",
    means: "without window scaling no window is larger than 64 KiB; without SACK a loss costs a round trip each; without timestamps old segments are not told",
    published: "RFC 7323, RFC 2018",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    for name in ["net.ipv4.tcp_window_scaling", "net.ipv4.tcp_sack", "net.ipv4.tcp_timestamps"] {
        if view.sysctl_number(name)? == 0 {
            found.push(view.set(Severity::Warning, name, 0, 1));
        }
    }
    Ok(found)
}
