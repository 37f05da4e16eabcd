//! Frequency of the processors.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "governor",
    scope: Scope::Host,
    about: "frequency of the processors",
    means: "a core that is slow when work comes takes milliseconds to be fast",
    published: "Documentation/admin-guide/pm/cpufreq.rst",
    proof: Proof::Requests,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let path = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let now = view.file(path)?;
    if now == "performance" {
        return healthy();
    }
    let first = Finding::new(Severity::Note, format!("processors follow the governor {now}"));
    let file = |core| format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor");
    let online = view.online()?;
    online
        .iter()
        .fold(first, |finding, core| finding.writes(file(core), "performance"))
        .seen(now, format!("/{path}"))
        .mend("cpupower frequency-set -g performance")
        .alone()
}
