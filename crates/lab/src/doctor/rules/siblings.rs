//! Processors that share a core.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "siblings",
    scope: Scope::Host,
    about: "processors that share a core",
    means: "two busy threads on one core get a little more than one",
    published: "Documentation/admin-guide/cputopology.rst",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let on: u64 = view.number("sys/devices/system/cpu/smt/active")?;
    if on == 0 || view.loads.is_empty() {
        return healthy();
    }
    let pair = view.file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list").unwrap_or_default();
    Finding::new(Severity::Note, "processors share cores: pin loads to one of each pair")
        .seen(format!("smt active; CPU 0 with {pair}"), "/sys/devices/system/cpu/smt/active, thread_siblings_list")
        .mend("echo off > /sys/devices/system/cpu/smt/control, or pin by -A, -a")
        .alone()
}
