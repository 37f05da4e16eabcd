//! PCIe width of the adapter beside its own most.

use crate::doctor::finding::Finding;
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "pcie-width",
    scope: Scope::Interface,
    about: "PCIe width of the adapter beside its own most",
    means: "the adapter's way to memory is narrower than it was built for: at speed, frames are missed",
    published: "PCI Express Base Specification, link status; the 2012 tuning note asks for it first",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    view.slow_pci("current_link_width", |link| [link.width.into(), link.width_most.into()], |lanes| format!("x{lanes}"))
}
