//! PCIe speed of the adapter beside its own most.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "pcie-speed",
    scope: Scope::Interface,
    about: "PCIe speed of the adapter beside its own most",
    means: "the adapter's way to memory is narrower than it was built for: at speed, frames are missed",
    published: "PCI Express Base Specification, link status; the 2012 tuning note asks for it first",
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let pci = have(&have(&view.adapter.device)?.pci)?;
    let link = have(&pci.link)?;
    if link.speed >= link.speed_most {
        return healthy();
    }
    let (now, most) = (format!("{} GT/s", link.speed), format!("{} GT/s", link.speed_most));
    let file = format!("/sys/bus/pci/devices/{}/current_link_speed", pci.address);
    Finding::new(Severity::Warning, format!("the PCIe link is {now}, the card can {most}"))
        .seen(format!("{now} of {most}"), file)
        .mend(format!("another slot, or the card seated anew; see 'lspci -vv -s {}', LnkCap and LnkSta", pci.address))
        .gain(format!(
            "{:.0} Gb/s instead of {:.0} to memory, each way",
            link.speed_most * f64::from(link.width_most) * 0.8,
            link.speed * f64::from(link.width) * 0.8
        ))
        .alone()
}
