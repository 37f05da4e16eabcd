//! Depth of the processors' sleep.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "idle-states",
    scope: Scope::Host,
    about: "how deep processors sleep",
    means: "a core in a deep state wakes in more than 100 us, which each request waits for",
    published: "Documentation/admin-guide/pm/cpuidle.rst",
    proof: Proof::Requests,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let at = "sys/devices/system/cpu/cpu0/cpuidle";
    let deep = view.names(at).into_iter().filter_map(|state| {
        let latency: u64 = view.number(&format!("{at}/{state}/latency")).ok()?;
        let off: u64 = view.number(&format!("{at}/{state}/disable")).unwrap_or(0);
        (latency > 100 && off == 0).then_some((state, latency))
    });
    let Some((state, latency)) = deep.max_by_key(|(_, latency)| *latency) else { return healthy() };
    Finding::new(Severity::Note, format!("processors may sleep so deep that they wake in {latency} us"))
        .seen(format!("{state} latency {latency}"), format!("/{at}/{state}/latency"))
        .mend("cpupower idle-set -D 50, or intel_idle.max_cstate=1 on the kernel's command line")
        .alone()
}
