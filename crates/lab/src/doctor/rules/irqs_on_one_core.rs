//! Processors of the interrupts.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have, processors};

pub(super) const RULE: Rule = Rule {
    name: "irqs-on-one-core",
    scope: Scope::Interface,
    about: "which processors the interrupts come on",
    means: "one core serves all queues: the others wait for it",
    published: "Documentation/networking/scaling.rst; /proc/irq",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let irqs = have(&view.adapter.irqs)?;
    let queues: Vec<_> =
        irqs.iter().filter(|irq| !irq.queues.is_empty() && irq.count.is_some_and(|count| count > 0)).collect();
    let cores = view.online()?.len();
    let sets: Vec<_> =
        queues.iter().filter_map(|irq| irq.effective.as_ref().ok()).map(|list| processors(list)).collect();
    let Some(first) = sets.first().filter(|first| first.len() == 1 && sets.len() > 1 && cores > 1) else {
        return healthy();
    };
    if sets.iter().any(|set| set != first) {
        return healthy();
    }
    let core = first.iter().next().copied().unwrap_or_default();
    let numbers: Vec<String> = queues.iter().map(|irq| irq.number.to_string()).collect();
    let first =
        Finding::new(Severity::Warning, format!("all {} interrupts of its queues come on CPU {core}", sets.len()));
    // In turn, as many as there are.
    let cores = view.online()?;
    let each = numbers.iter().zip(cores.iter().cycle());
    each.fold(first, |one, (irq, core)| one.writes(format!("proc/irq/{irq}/smp_affinity_list"), core.to_string()))
        .seen(format!("interrupts {} on CPU {core}", numbers.join(", ")), "/proc/irq/N/effective_affinity_list")
        .mend("one core each: echo CPU > /proc/irq/N/smp_affinity_list (with irqbalance stopped)")
        .gain("as many cores as queues")
        .alone()
}
