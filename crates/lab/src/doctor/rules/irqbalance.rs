//! A program that moves interrupts.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have, processors};

pub(super) const RULE: Rule = Rule {
    name: "irqbalance",
    scope: Scope::Interface,
    about: "whether a program moves interrupts that are tied to one processor each",
    means: "irqbalance looks at all interrupts every ten seconds: what was tied by hand does not stay",
    published: "irqbalance(1), --banirq; Documentation/networking/scaling.rst",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let irqs = have(&view.adapter.irqs)?;
    let queues: Vec<_> = irqs.iter().filter(|irq| !irq.queues.is_empty()).collect();
    let is_tied = |list: &str| processors(list).len() == 1;
    let tied = queues.iter().all(|irq| irq.wanted.as_ref().is_ok_and(|list| is_tied(list)));
    if queues.is_empty() || !tied || view.online()?.len() < 2 {
        return healthy();
    }
    let mut processes =
        view.names("proc").into_iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit())).peekable();
    processes.peek().ok_or("/proc shows no process")?;
    let comm = |process: &String| view.file(&format!("proc/{process}/comm")).unwrap_or_default();
    let Some(process) = processes.find(|process| comm(process) == "irqbalance") else { return healthy() };
    let banned = banned(&view.file(&format!("proc/{process}/cmdline")).unwrap_or_default());
    let left: Vec<u32> = queues.iter().map(|irq| irq.number).filter(|number| !banned.contains(number)).collect();
    if left.is_empty() {
        return healthy();
    }
    let words = |form: fn(&u32) -> String| left.iter().map(form).collect::<Vec<_>>();
    Finding::new(Severity::Note, "its interrupts are tied to one processor each, and irqbalance may move them")
        .seen(
            format!("interrupts {} on one processor each", words(u32::to_string).join(", ")),
            "/proc/irq/N/smp_affinity_list",
        )
        .seen(format!("process {process} is irqbalance"), format!("/proc/{process}/comm"))
        .mend(format!(
            "systemctl disable --now irqbalance, or start it with {}",
            words(|number| format!("--banirq={number}")).join(" ")
        ))
        .gain("they stay where they were put")
        .alone()
}

/// Interrupts that its command line forbids it to move.
fn banned(line: &str) -> Vec<u32> {
    let words: Vec<&str> = line.split('\0').collect();
    let behind = words.windows(2).filter(|pair| ["-i", "--banirq"].contains(&pair[0])).map(|pair| pair[1]);
    let within = words.iter().filter_map(|word| word.strip_prefix("--banirq=").or_else(|| word.strip_prefix("-i")));
    within.chain(behind).filter_map(|number| number.parse().ok()).collect()
}
