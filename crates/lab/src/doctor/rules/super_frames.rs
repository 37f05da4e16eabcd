//! The sizes of super-frames.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;
use linerate_host::tunables::Value;

pub(super) const RULE: Rule = Rule {
    name: "super-frames",
    scope: Scope::Interface,
    about: "how much the stack hands down, or takes, at once",
    means: "the stack is passed once for a few segments: offloads are on and save little",
    published: "ip-link(8), gso_max_size, gso_max_segs, gro_max_size",
    proof: Proof::Stream,
    look,
};

/// Settings, linerate's names for them, the least that is of use, what is usual, and the driver's own limit.
const SIZES: &[(&str, &str, u64, u64, &str)] = &[
    ("gso_max_size", "gso-max-size", 16_384, 65_536, "tso_max_size"),
    ("gso_ipv4_max_size", "gso-ipv4-max-size", 16_384, 65_536, "tso_max_size"),
    ("gso_max_segs", "gso-max-segs", 12, 65_535, "tso_max_segs"),
    ("gro_max_size", "gro-max-size", 16_384, 65_536, ""),
    ("gro_ipv4_max_size", "gro-ipv4-max-size", 16_384, 65_536, ""),
];

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let sizes = &view.interface().super_frames;
    if sizes.0.is_empty() {
        return Err("the kernel does not tell them".to_owned());
    }
    let (name, typed) = (view.name(), view.typed());
    let mut found: Vec<Finding> = Vec::new();
    for (size, setting, least, usual, limit) in SIZES {
        let most = sizes.get(limit).filter(|most| *most > 0).unwrap_or(*usual).min(*usual);
        let Some(now) = sizes.get(size).filter(|now| *now > 0 && now < least && *now < most) else { continue };
        // To set one sets the other, too.
        if size.contains("ipv4") && found.iter().any(|one| one.what.starts_with(&size[..3])) {
            continue;
        }
        found.push(
            Finding::new(view.graver_than_program().min(Severity::Warning), format!("{size} is {now}"))
                .seen(format!("{size} {now}"), format!("ip -d link show dev {typed}"))
                .mend(format!("ip link set dev {typed} {size} {most}"))
                .sets(name, setting, Value::Number(most))
                .gain("up to several times the rate of TCP per processor"),
        );
    }
    Ok(found)
}
