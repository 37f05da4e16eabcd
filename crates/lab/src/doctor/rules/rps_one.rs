//! Receive steering to one processor.

use crate::doctor::finding::{Finding, Load};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "rps-one",
    scope: Scope::Interface,
    about: "receive steering to one processor",
    means: "one processor handles all that arrives, whatever the queues are",
    published: "Documentation/networking/scaling.rst, RPS",
    proof: Proof::Back,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let steering = have(&view.adapter.steering)?;
    let mut masks = Vec::new();
    for one in steering.iter().filter(|one| one.queue.starts_with("rx-")) {
        masks.push(have(&one.cpus)?.as_str());
    }
    let is_one =
        |mask: &str| mask.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum::<u32>() == 1;
    let Some(first) = masks.first().filter(|first| is_one(first) && masks.iter().all(|mask| mask == *first)) else {
        return healthy();
    };
    let (typed, cores) = (view.typed(), view.online()?.len());
    if cores < 2 {
        return healthy();
    }
    let at = format!("/sys/class/net/{typed}/queues/rx-*/rps_cpus");
    Finding::new(
        view.graver_for(&[Load::Tcp, Load::Udp, Load::Forward]),
        format!("all that it receives goes to one of {cores} processors"),
    )
    .seen(format!("mask {first} for {} queues", masks.len()), at.as_str())
    .mend(format!("echo 0 | tee {at}"))
    .alone()
}
