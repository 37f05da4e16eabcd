//! Bridges above the adapter that are slower than its own link.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "pcie-bridge",
    scope: Scope::Interface,
    about: "bridges above the adapter that are slower than its own link",
    means: "a bridge on the way to memory is narrower than the adapter: the slot is the limit",
    published: "PCI Express Base Specification, link status",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let pci = have(&have(&view.adapter.device)?.pci)?;
    let found = pci.narrows.iter().map(|(bridge, link)| {
        Finding::new(Severity::Warning, format!("the bridge {bridge} above it is narrower than the card"))
            .seen(
                format!("x{} at {} GT/s", link.width, link.speed),
                format!("/sys/bus/pci/devices/{bridge}/current_link_width, current_link_speed"),
            )
            .mend("a slot on another bridge; 'lspci -tv' shows which")
    });
    Ok(found.collect())
}
