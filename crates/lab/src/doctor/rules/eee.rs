//! Energy-efficient Ethernet.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};
use linerate_host::tunables::Value;

pub(super) const RULE: Rule = Rule {
    name: "eee",
    scope: Scope::Interface,
    about: "energy-efficient Ethernet",
    means: "the transmitter sleeps between frames, and wakes for each: microseconds each time",
    published: "IEEE 802.3az; ethtool(8), --show-eee",
    proof: Proof::Requests,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let eee = have(&view.adapter.eee)?;
    if eee.active != Some(true) {
        return healthy();
    }
    let (name, typed) = (view.name(), view.typed());
    Finding::new(Severity::Note, "energy-efficient Ethernet is active")
        .seen("EEE active", format!("ethtool --show-eee {typed}"))
        .mend(format!("ethtool --set-eee {typed} eee off"))
        .sets(name, "eee", Value::On(false))
        .gain("up to 17 us less for a frame after a pause")
        .alone()
}
