//! Offloads that were asked for and are off.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::fix::Mend;
use crate::doctor::intent::meant;
use crate::doctor::knob::Knob;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};
use linerate_host::tunables::Value;

pub(super) const RULE: Rule = Rule {
    name: "feature-refused",
    scope: Scope::Interface,
    about: "offloads that were asked for and are off",
    means: "what it needs is off, or the driver refused it: the load runs without",
    published: "linux/netdev_features.h; Documentation/networking/netdev-features.rst",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let features = have(&view.adapter.features)?;
    let (name, typed) = (view.name(), view.typed());
    let refused: Vec<&str> =
        features.0.iter().filter(|(_, one)| one.wanted && !one.active).map(|(feature, _)| feature.as_str()).collect();
    if refused.is_empty() {
        return healthy();
    }
    let on = |feature: &str| features.0.get(feature).is_some_and(|one| one.active);
    let segments = refused.iter().any(|feature| feature.contains("segmentation"));
    let sums = features.0.iter().any(|(feature, one)| feature.starts_with("tx-checksum-ip") && one.active);
    let (needs, severity, why, mend) = match (segments, sums, on("tx-scatter-gather")) {
        (true, false, _) => (
            Some("tx-checksum-ip-generic"),
            view.graver_than_program(),
            "segmentation needs checksums on transmit",
            format!("ethtool -K {typed} tx on"),
        ),
        (true, true, false) => (
            Some("tx-scatter-gather"),
            view.graver_than_program(),
            "segmentation needs scatter-gather",
            format!("ethtool -K {typed} sg on"),
        ),
        _ => (
            None,
            Severity::Note,
            "something that it needs is off",
            format!("see what is off beside it: ethtool -k {typed}"),
        ),
    };
    let knob = |needs: &str| Knob::Setting { interface: name.to_owned(), name: needs.to_owned() };
    let meant = needs.and_then(|needs| meant(view, &Mend { knob: knob(needs), to: Value::On(true) }));
    let finding = Finding::new(
        severity,
        format!("{} {} asked for and off: {why}", refused.join(", "), if refused.len() == 1 { "is" } else { "are" }),
    )
    .seen(format!("{} off [requested on]", refused.join(", ")), format!("ethtool -k {typed}"))
    .mend(mend);
    match meant {
        Some(evidence) => finding.meant(evidence),
        None => finding,
    }
    .alone()
}
