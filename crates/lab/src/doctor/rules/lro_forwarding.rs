//! Large receive offload where frames are forwarded.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "lro-forwarding",
    scope: Scope::Interface,
    about: "large receive offload where frames are forwarded",
    means: "merged frames are larger than the next link takes, and cannot be split as they were: they are dropped or changed",
    published: "Documentation/networking/ip-sysctl.rst; linux/netdev_features.h",
    proof: Proof::Back,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    if !view.feature("rx-lro")?.is_some_and(|lro| lro.active) {
        return healthy();
    }
    let typed = view.typed();
    let bridged = view
        .interface()
        .master
        .and_then(|master| view.named(master))
        .filter(|master| master.kind.as_deref() == Some("bridge"));
    let routed = view.sysctl_number("net.ipv4.ip_forward").is_ok_and(|on| on > 0);
    if bridged.is_none() && !routed && !view.wants(&[Load::Forward]) {
        return healthy();
    }
    Finding::new(Severity::Error, "LRO is on, and this machine forwards")
        .seen("rx-lro on", format!("ethtool -k {typed}"))
        .seen(
            bridged.map_or_else(
                || "net.ipv4.ip_forward".to_owned(),
                |bridge| format!("member of the bridge {}", bridge.name),
            ),
            "sysctl net.ipv4.ip_forward, ip link",
        )
        .mend(format!("ethtool -K {typed} lro off gro on"))
        .gain("forwarded frames arrive as they were sent")
        .alone()
}
