//! Interrupts on processors of another node than the adapter's.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have, processors};

pub(super) const RULE: Rule = Rule {
    name: "irq-far",
    scope: Scope::Interface,
    about: "whether interrupts come on processors of the adapter's node",
    means: "each frame crosses the link between the nodes, and its cache lines with it",
    published: "Documentation/networking/scaling.rst; sysfs, local_cpulist",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let device = have(&view.adapter.device)?;
    have(&device.node)?;
    let near = processors(have(&device.near)?);
    let irqs = have(&view.adapter.irqs)?;
    let far: Vec<String> = irqs
        .iter()
        .filter(|irq| !irq.queues.is_empty())
        .filter(|irq| irq.effective.as_ref().is_ok_and(|list| processors(list).is_disjoint(&near) && !list.is_empty()))
        .map(|irq| irq.number.to_string())
        .collect();
    if far.is_empty() || near.is_empty() {
        return healthy();
    }
    let list = device.near.as_deref().unwrap_or_default();
    let first =
        Finding::new(Severity::Warning, format!("{} of its interrupts come on processors of another node", far.len()));
    let near = |finding: Finding, irq: &String| finding.writes(format!("proc/irq/{irq}/smp_affinity_list"), list);
    far.iter()
        .fold(first, near)
        .seen(
            format!("interrupts {}; near are CPUs {list}", far.join(", ")),
            "/proc/irq/N/effective_affinity_list, local_cpulist",
        )
        .mend(format!("echo {list} > /proc/irq/N/smp_affinity_list, for each"))
        .alone()
}
