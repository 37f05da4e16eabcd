//! Speed of the two ends' links.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::side::claimed;
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "ends-speed",
    scope: Scope::Ends,
    about: "the speed of this interface's link and of the other end's",
    means: "what the faster end sends at its own rate waits in the switch between, or is lost there",
    published: "RFC 2544, section 26.1; ethtool(8)",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let [near, far] = view.ends()?;
    let (Some(here), Some(there)) = (near.speed, far.speed) else { return healthy() };
    if here == there {
        return healthy();
    }
    Finding::new(Severity::Note, format!("the link has {here} Mb/s here, {there} at the other end"))
        .seen(format!("{here} Mb/s"), view.link_modes())
        .seen(format!("{there} Mb/s"), claimed(&far.name))
        .mend("the same speed at both ends; or measure with the slower one's as the most")
        .alone()
}
