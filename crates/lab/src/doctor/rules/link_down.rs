//! The carrier of an interface that is up.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "link-down",
    scope: Scope::Interface,
    about: "the carrier of an interface that is up",
    means: "nothing can be sent or received",
    published: "ethtool(8); Documentation/networking/ethtool-netlink.rst, LINKSTATE_GET",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    // The state of operation follows the carrier up to a second later.
    if !view.is_up() || view.has_flag("RUNNING") && view.has_flag("LOWER_UP") {
        return healthy();
    }
    let typed = view.typed();
    if matches!(view.interface().kind.as_deref(), Some("tun" | "bridge")) {
        return Finding::new(Severity::Note, "it is up, and nothing is at its other end")
            .seen("no carrier", format!("ip link show dev {typed}"))
            .mend("a program that opens the TAP, or a member of the bridge that is up")
            .alone();
    }
    let interface = view.interface();
    if interface.kept_down {
        return Finding::new(Severity::Error, "it is up, and somebody keeps it down (protodown)")
            .seen("protodown on", format!("ip -d link show dev {typed}"))
            .mend(format!("ip link set dev {typed} protodown off"))
            .alone();
    }
    if interface.state == Some("dormant") {
        return Finding::new(Severity::Warning, "it waits for a program that lets it run: it is dormant")
            .seen("state dormant", format!("ip -d link show dev {typed}"))
            .mend(format!("ip link set dev {typed} mode default state up"))
            .alone();
    }
    let link = view.adapter.link.as_ref().ok();
    let reason = link.and_then(|link| link.reason.clone()).unwrap_or_else(|| "no reason is told".to_owned());
    let detail = link.and_then(|link| link.detail.clone()).map(|detail| format!(", {detail}")).unwrap_or_default();
    Finding::new(Severity::Error, "it is up and has no carrier")
        .seen(format!("no carrier: {reason}{detail}"), view.link_modes())
        .mend("see cable, module and partner; 'ip link set DEV up' at the other end of a virtual pair")
        .alone()
}
