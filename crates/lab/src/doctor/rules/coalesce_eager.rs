//! Interrupts for each frame.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};
use linerate_host::tunables::Value;

pub(super) const RULE: Rule = Rule {
    name: "coalesce-eager",
    scope: Scope::Interface,
    about: "interrupts for each frame",
    means: "a processor spends its time in interrupts: streams get less of it",
    published: "ethtool(8), -C",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let coalesce = have(&view.adapter.coalesce)?;
    let eager = coalesce.get("rx-usecs") == Some(0) && coalesce.get("rx-frames").is_some_and(|frames| frames <= 1);
    // A virtual adapter's driver masks its interrupts while it polls.
    if !eager || coalesce.get("adaptive-rx") == Some(1) || view.speed().is_none_or(|speed| speed < 10_000) {
        return healthy();
    }
    let (name, typed) = (view.name(), view.typed());
    Finding::new(Severity::Note, "each frame may interrupt")
        .seen("rx-usecs 0, rx-frames 1, adaptive-rx off", format!("ethtool -c {typed}"))
        .mend(format!("ethtool -C {typed} rx-usecs 20, or adaptive-rx on"))
        .sets(name, "rx-usecs", Value::Number(20))
        .alone()
}
