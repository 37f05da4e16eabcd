//! An MTU below that of Ethernet.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "mtu-small",
    scope: Scope::Interface,
    about: "an MTU below that of Ethernet",
    means: "each frame carries less: more frames, and headers, for the same bytes; below 1280 there is no IPv6",
    published: "RFC 8200, section 5; IEEE 802.3",
    proof: Proof::Look,
    look,
};

/// Bytes of FCoE's header, of a full FC frame and of the trailer.
const FCOE: u32 = 2158;

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let (typed, interface) = (view.typed(), view.interface());
    // A full frame of FC and its headers; shorter ones carry less of each sequence (FC-BB-6, 4.8).
    if let Some(mtu) = interface.mtu.filter(|mtu| *mtu < FCOE && view.wants(&[Load::Fcoe])) {
        return Finding::new(Severity::Warning, format!("its MTU is {mtu}: no full frame of FCoE fits"))
            .seen(format!("mtu {mtu}"), format!("ip link show dev {typed}"))
            .mend(format!("ip link set dev {typed} mtu 2500, at both ends and the switch"))
            .alone();
    }
    let Some(mtu) = interface.mtu.filter(|mtu| *mtu < 1500 && interface.hardware == 1) else { return healthy() };
    let severity = if mtu < 1280 { Severity::Warning } else { Severity::Note };
    Finding::new(severity, format!("its MTU is {mtu}"))
        .seen(format!("mtu {mtu}"), format!("ip link show dev {typed}"))
        .mend(format!("ip link set dev {typed} mtu 1500, if the path takes it"))
        .alone()
}
