//! Moving of memory between nodes.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, processors};

pub(super) const RULE: Rule = Rule {
    name: "numa-balancing",
    scope: Scope::Host,
    about: "whether the kernel moves memory between nodes by itself",
    means: "pages are unmapped now and then to see who uses them: a thread tied to its core faults, and its latency has peaks",
    published: "Documentation/admin-guide/sysctl/kernel.rst, numa_balancing",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let name = "kernel.numa_balancing";
    // Kernels without it have no such file.
    let Ok(on) = view.sysctl_number(name) else { return healthy() };
    let nodes = processors(&view.file("sys/devices/system/node/online")?).len();
    if on == 0 || nodes < 2 || view.loads.is_empty() {
        return healthy();
    }
    view.set(Severity::Note, name, on, 0)
        .seen(format!("{nodes} nodes"), "/sys/devices/system/node/online")
        .gain("threads that are tied to a node (-A, -a) are not interrupted for it")
        .alone()
}
