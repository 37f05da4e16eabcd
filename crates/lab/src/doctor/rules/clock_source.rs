//! Clock of the kernel.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "clock-source",
    scope: Scope::Host,
    about: "clock of the kernel",
    means: "each look at the time is a system call and a slow read: time-stamps of each frame cost microseconds",
    published: "Documentation/timers/timekeeping.rst",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let now = view.file(path)?;
    if ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "xen"].contains(&now.as_str()) {
        return healthy();
    }
    let known = view.file("sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    let finding = Finding::new(Severity::Warning, format!("the clock source is {now}"))
        .seen(format!("{now}; there are {known}"), format!("/{path}"));
    match ["tsc", "kvm-clock"].into_iter().find(|one| known.split_whitespace().any(|word| word == *one)) {
        Some(better) => finding.mend(format!("echo {better} > /{path}")).writes(path, better),
        None => finding,
    }
    .alone()
}
