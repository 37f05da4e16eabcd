//! The largest buffers of TCP.

use crate::doctor::finding::{Finding, Load};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "buffers-tcp",
    scope: Scope::Host,
    about: "the largest buffers of TCP",
    means: "a window smaller than bandwidth times delay: the sender waits for acknowledgements",
    published: "RFC 7323, section 1; Documentation/networking/ip-sysctl.rst",
    proof: Proof::Back,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    // 10 Gb/s for 5 ms.
    let wanted: u64 = 6 << 20;
    for name in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        let all = view.sysctl_numbers(name)?;
        let [least, usual, most] = all[..] else { return Err(format!("{name} has no three numbers")) };
        if usual < 16_384 {
            let finding = view.set(
                view.unless_others(&[Load::Tcp]),
                name,
                format!("{least} {usual} {most}"),
                format!("{least} {} {}", if name.ends_with("rmem") { 131_072 } else { 16_384 }, most.max(wanted)),
            );
            found.push(finding.gain("connections begin with a window of more than a few segments"));
            continue;
        }
        if most >= 4 << 20 {
            continue;
        }
        let finding = view.set(
            view.unless_others(&[Load::Tcp]),
            name,
            format!("{least} {usual} {most}"),
            format!("{least} {usual} {wanted}"),
        );
        found.push(finding.gain(format!(
            "{:.1} Gb/s at 5 ms instead of {:.2}",
            wanted as f64 * 8.0 / 5e6,
            most as f64 * 8.0 / 5e6
        )));
    }
    Ok(found)
}
