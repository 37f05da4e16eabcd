//! A device without a queue.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "no-queue",
    scope: Scope::Interface,
    about: "a device without a queue",
    means: "a full ring drops frames at once, which TCP takes for loss on the way",
    published: "tc(8), noqueue",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let interface = view.interface();
    let none = interface.qdisc.as_deref() == Some("noqueue") && view.is_hardware() && interface.kind.is_none();
    let short = interface
        .queue_length
        .filter(|length| (1..100).contains(length) && interface.qdisc.as_deref() == Some("pfifo_fast"));
    let short = short.filter(|_| view.is_hardware());
    if !none && short.is_none() {
        return healthy();
    }
    let typed = view.typed();
    Finding::new(Severity::Warning, "frames that the ring has no room for are dropped at once")
        .seen(
            format!(
                "qdisc {}, qlen {}",
                interface.qdisc.as_deref().unwrap_or("none"),
                interface.queue_length.unwrap_or_default()
            ),
            format!("ip link show dev {typed}"),
        )
        .mend(format!("tc qdisc replace dev {typed} root fq; ip link set dev {typed} txqueuelen 1000"))
        .alone()
}
