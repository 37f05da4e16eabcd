//! Processors and the queues that they send by.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "xps",
    scope: Scope::Interface,
    about: "whether processors have transmit queues of their own",
    means: "a queue is chosen by hash: processors wait for each other's locks, and completions come on another core",
    published: "Documentation/networking/scaling.rst, XPS",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    if !view.is_hardware() {
        return healthy();
    }
    let steering = have(&view.adapter.steering)?;
    let sending: Vec<_> = steering.iter().filter(|one| one.queue.starts_with("tx-")).collect();
    let cores = view.online()?.len();
    if cores < 2 || sending.len() < cores {
        return healthy();
    }
    let is_zero = |mask: &str| mask.bytes().all(|b| b == b'0' || b == b',');
    let by_queue = |mask: Option<&str>| mask.is_some_and(|mask| !is_zero(mask));
    let mut masks = Vec::new();
    for one in &sending {
        masks.push(have(&one.cpus)?);
    }
    if masks.into_iter().any(|mask| !is_zero(mask)) || sending.iter().any(|one| by_queue(one.by_queue.as_deref())) {
        return healthy();
    }
    let at = format!("/sys/class/net/{}/queues/tx-N/xps_cpus", view.typed());
    Finding::new(
        Severity::Note,
        format!("{cores} processors and {} transmit queues, and none is any's own", sending.len()),
    )
    .seen("0 for all queues", at.as_str())
    .mend(format!("a processor each: echo MASK > {at}, with bit N in the mask"))
    .gain("no lock of a queue goes from core to core")
    .alone()
}
