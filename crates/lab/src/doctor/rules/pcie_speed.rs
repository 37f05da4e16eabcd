//! PCIe speed of the adapter beside its own most.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "pcie-speed",
    scope: Scope::Interface,
    about: "PCIe speed of the adapter beside its own most",
    means: "the adapter's way to memory is narrower than it was built for: at speed, frames are missed",
    published: "PCI Express Base Specification, link status; the 2012 tuning note asks for it first",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    view.slow_pci("current_link_speed", |link| [link.speed, link.speed_most], |speed| format!("{speed} GT/s"))
}
