//! Merging of received segments.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "gro",
    scope: Scope::Interface,
    about: "merging of received segments",
    means: "each segment passes the whole stack by itself",
    published: "Documentation/networking/segmentation-offloads.rst",
    proof: Proof::Back,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let mut found = view.off("rx-gro", "gro", "up to three times the rate of TCP per processor at MTU 1500")?;
    // A veth is made so: the kernel at its other end sends super-frames. What stands on another interface gets from it what
    // that has merged.
    if !view.is_hardware() {
        found.iter_mut().for_each(|finding| finding.severity = Severity::Note);
    }
    Ok(found)
}
