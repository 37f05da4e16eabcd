//! Frequency of the processors.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "governor",
    scope: Scope::Host,
    about: "frequency of the processors",
    means: "a core that is slow when work comes takes milliseconds to be fast",
    published: "Documentation/admin-guide/pm/cpufreq.rst",
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let path = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let now = view.file(path)?;
    if now == "performance" {
        return healthy();
    }
    Finding::new(Severity::Note, format!("processors follow the governor {now}"))
        .seen(now, format!("/{path}"))
        .mend("cpupower frequency-set -g performance")
        .alone()
}
