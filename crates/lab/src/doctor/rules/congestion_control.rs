//! Congestion control of TCP.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "congestion-control",
    scope: Scope::Host,
    about: "congestion control of TCP",
    means: "NewReno and older ones fill a fast long path only after minutes",
    published: "RFC 9438",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let name = "net.ipv4.tcp_congestion_control";
    let now = view.sysctl(name)?;
    if ["cubic", "bbr", "bbr2", "bbr3", "dctcp", "htcp"].contains(&now.as_str()) {
        return healthy();
    }
    let known = view.sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let to =
        ["cubic", "bbr"].into_iter().find(|one| known.split_whitespace().any(|word| word == *one)).unwrap_or("cubic");
    view.set(Severity::Note, name, now, to).alone()
}
