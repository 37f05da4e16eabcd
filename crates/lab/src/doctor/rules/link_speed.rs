//! Speed of the link beside the fastest mode of the adapter.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "link-speed",
    scope: Scope::Interface,
    about: "speed of the link beside the fastest mode of the adapter",
    means: "the link carries a fraction of what the adapter could",
    published: "ethtool(8), link modes",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let modes = have(&view.adapter.modes)?;
    let Some(now) = view.speed() else { return healthy() };
    let digits = |mode: &String| -> Option<u32> {
        mode.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
    };
    let Some(most) = modes.supported.iter().filter_map(digits).max().filter(|most| *most > now) else {
        return healthy();
    };
    let typed = view.typed();
    let partner = modes.partner.as_ref().and_then(|partner| partner.iter().filter_map(digits).max());
    let (severity, mend) = match partner {
        Some(partner) if partner >= most => (Severity::Warning, format!("ethtool -s {typed} autoneg on speed {most}")),
        _ => (Severity::Note, format!("a partner, cable and module of {most} Mb/s")),
    };
    Finding::new(severity, format!("the link has {now} Mb/s, the adapter {most}"))
        .seen(format!("speed {now}Mb/s, supported up to {most}baseT or its like"), view.link_modes())
        .mend(mend)
        .gain(format!("up to {:.1} times the rate", f64::from(most) / f64::from(now)))
        .alone()
}
