//! Flow control of each direction.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "pause-unlike",
    scope: Scope::Interface,
    about: "flow control of each direction",
    means: "one end stops the other, and is not stopped itself: loss in one direction only",
    published: "IEEE 802.3, annex 28B; ethtool(8), -a",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let pause = have(&view.adapter.pause)?;
    let (Some(rx), Some(tx)) = (pause.rx, pause.tx) else { return healthy() };
    if rx == tx {
        return healthy();
    }
    let typed = view.typed();
    let word = |on| if on { "on" } else { "off" };
    Finding::new(Severity::Note, "flow control is on in one direction only")
        .seen(format!("pause rx {}, tx {}", word(rx), word(tx)), format!("ethtool -a {typed}"))
        .mend(format!("ethtool -A {typed} rx on tx on, and the same at the other end"))
        .alone()
}
