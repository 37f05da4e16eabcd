//! Steering of received frames by software where the adapter does it.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "rps-on-multiqueue",
    scope: Scope::Interface,
    about: "steering of received frames by software where the adapter does it",
    means: "each frame goes to a second processor, by an interrupt between processors, though it had one of its own",
    published: "Documentation/networking/scaling.rst, RPS: redundant if each processor has a queue",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    if !view.is_hardware() {
        return healthy();
    }
    let steering = have(&view.adapter.steering)?;
    let receiving: Vec<_> = steering.iter().filter(|one| one.queue.starts_with("rx-")).collect();
    let cores = view.online()?.len();
    let is_set = |mask: &str| mask.bytes().any(|b| b != b'0' && b != b',');
    let set: Vec<_> = receiving
        .iter()
        .filter_map(|one| Some((&one.queue, one.cpus.as_ref().ok().filter(|mask| is_set(mask))?)))
        .collect();
    if cores < 2 || receiving.len() < cores || set.is_empty() {
        return healthy();
    }
    let folder = format!("/sys/class/net/{}/queues", view.typed());
    let (first, mask) = set[0];
    Finding::new(Severity::Note, format!("{cores} processors and {} receive queues, and RPS is on", receiving.len()))
        .seen(
            format!("{mask}, and {} of {} queues have one", set.len(), receiving.len()),
            format!("{folder}/{first}/rps_cpus"),
        )
        .mend(format!("for queue in {folder}/rx-*; do echo 0 > \"$queue/rps_cpus\"; done"))
        .gain("an interrupt between processors less for each batch of frames")
        .alone()
}
