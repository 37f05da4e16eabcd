//! Checksums that a veth leaves open.

use crate::doctor::finding::{Finding, Load};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "veth-checksums",
    scope: Scope::Interface,
    about: "checksums that a veth leaves open",
    means: "frames that stay in this machine have no checksum: a program that reads them by xdp: sees them unfinished",
    published: "Documentation/networking/checksum-offloads.rst",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    if view.interface().kind.as_deref() != Some("veth")
        || !view.feature("tx-checksum-ip-generic")?.is_some_and(|one| one.active)
    {
        return healthy();
    }
    let typed = view.typed();
    Finding::new(view.graver_for(&[Load::PktGen]), "the kernel leaves checksums of what it sends here to nobody")
        .seen("tx-checksum-ip-generic on", format!("ethtool -k {typed}"))
        .mend(format!("ethtool -K {typed} tx off, if another program than a kernel reads at the other end"))
        .alone()
}
