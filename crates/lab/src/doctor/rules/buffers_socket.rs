//! The largest buffers that programs may ask for.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "buffers-socket",
    scope: Scope::Host,
    about: "the largest buffers that programs may ask for",
    means: "programs that set their buffers, as iperf -w and netperf -s do, get less than they ask for",
    published: "Documentation/admin-guide/sysctl/net.rst",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    for name in ["net.core.rmem_max", "net.core.wmem_max"] {
        let most = view.sysctl_number(name)?;
        if most < 512_000 {
            let severity = if most < 128_000 { Severity::Warning } else { view.graver_for(&[Load::Udp]) };
            found.push(view.set(severity, name, most, 4 << 20).gain("'-w 512k' is what it says"));
        }
    }
    Ok(found)
}
