//! Flow control of the two ends.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::side::claimed;
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "ends-pause",
    scope: Scope::Ends,
    about: "flow control of this interface and of the other end's",
    means: "one end loses what the other, which is never paused, sends too fast; with a switch between, each has its own partner",
    published: "IEEE 802.3, annex 31B; ethtool(8), -a",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let [near, far] = view.ends()?;
    // What one end sends the other has to heed.
    let (Some([rx, tx]), Some([far_rx, far_tx])) = (near.pause, far.pause) else { return healthy() };
    if (tx, rx) == (far_rx, far_tx) {
        return healthy();
    }
    let word = |on| if on { "on" } else { "off" };
    let shown = |[rx, tx]: [bool; 2]| format!("pause rx {}, tx {}", word(rx), word(tx));
    Finding::new(Severity::Note, "flow control is not the same at the two ends")
        .seen(shown([rx, tx]), format!("ethtool -a {}", view.typed()))
        .seen(shown([far_rx, far_tx]), claimed(&far.name))
        .mend(format!("ethtool -A {} rx {} tx {}", view.typed(), word(far_tx), word(far_rx)))
        .alone()
}
