//! The loopback interface.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;
use linerate_host::shell::word;

pub(super) const RULE: Rule = Rule {
    name: "loopback",
    scope: Scope::Host,
    about: "whether the loopback is up, and its MTU",
    means: "this host does not reach itself: neither 127.0.0.1 nor its own addresses",
    published: "RFC 1122, section 3.2.1.3; ip-link(8)",
    proof: Proof::Look,
    look,
};

/// MTU below which much is segmented that need not be.
const SMALL: u32 = 16_384;
const LOOPBACK: u16 = 772;

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    // It carries super-frames, whole ones.
    let small =
        |one: &&linerate_host::adapter::Interface| one.hardware == LOOPBACK && one.mtu.is_some_and(|mtu| mtu < SMALL);
    if let Some((typed, mtu)) = view.interfaces.iter().find(small).and_then(|lo| Some((word(&lo.name), lo.mtu?))) {
        let severity = if mtu < 9000 { Severity::Warning } else { Severity::Note };
        return Finding::new(severity, format!("the loopback has an MTU of {mtu}"))
            .seen(format!("mtu {mtu}"), format!("ip link show dev {typed}"))
            .mend(format!("ip link set dev {typed} mtu 65536"))
            .alone();
    }
    let Some(lo) = view.interfaces.iter().find(|one| one.hardware == LOOPBACK && !one.has("UP")) else {
        return healthy();
    };
    let (name, typed) = (&lo.name, word(&lo.name));
    Finding::new(Severity::Warning, "the loopback is down")
        .seen(format!("{name} without flag UP"), format!("ip link show dev {typed}"))
        .mend(format!("ip link set dev {typed} up"))
        .alone()
}
