//! A bond that does not see a link go.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "bond-unwatched",
    scope: Scope::Interface,
    about: "whether a bond sees a link go",
    means: "the links of its members are not looked at: frames are sent over one that is down, and lost",
    published: "Documentation/networking/bonding.rst, miimon",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    if view.interface().kind.as_deref() != Some("bond") {
        return healthy();
    }
    let (name, typed) = (view.name(), view.typed());
    let text = view.file(&format!("proc/net/bonding/{name}"))?;
    let interval = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    let mii = interval("MII Polling Interval (ms):").ok_or("it does not tell how often it looks at links")?;
    if mii > 0 || interval("ARP Polling Interval (ms):").is_some_and(|ms| ms > 0) {
        return healthy();
    }
    Finding::new(Severity::Warning, "it does not watch the links of its members")
        .seen("MII Polling Interval (ms): 0, and none of ARP", format!("/proc/net/bonding/{typed}"))
        .mend(format!("ip link set dev {typed} type bond miimon 100"))
        .gain("a link that goes is left after a tenth of a second")
        .alone()
}
