//! Options of TCP that fast paths need.

use crate::doctor::finding::{Finding, Load};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "tcp-options",
    scope: Scope::Host,
    about: "options of TCP that fast paths need",
    means: "both ends must have it, or neither uses it",
    published: "RFC 7323, RFC 2018",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    for (name, words) in [
        ("net.ipv4.tcp_window_scaling", "no window is larger than 64 KiB"),
        ("net.ipv4.tcp_sack", "each loss of a window costs a round trip"),
        ("net.ipv4.tcp_timestamps", "round trips are measured seldom, and old segments not told from new ones"),
    ] {
        if view.sysctl_number(name)? == 0 {
            found.push({
                let mut finding = view.set(view.unless_others(&[Load::Tcp]), name, 0, 1);
                finding.what = format!("{}: {words}", finding.what);
                finding
            });
        }
    }
    Ok(found)
}
