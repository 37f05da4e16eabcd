//! Queues of the adapter beside processors.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::{View, amount, have};
use linerate_host::tunables::Value;

pub(super) const RULE: Rule = Rule {
    name: "one-queue",
    scope: Scope::Interface,
    about: "queues of the adapter beside processors",
    means: "all frames of a direction are processed by one core: it is the limit",
    published: "Documentation/networking/scaling.rst",
    proof: Proof::Stream,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let channels = have(&view.adapter.channels)?;
    let cores = u64::try_from(view.online()?.len()).unwrap_or(1);
    let (name, typed) = (view.name(), view.typed());
    let pair = view.interface().kind.as_deref() == Some("veth");
    let merges = view.interface().xdp_program.is_some() || view.feature("rx-gro")?.is_some_and(|gro| gro.active);
    let mut found = Vec::new();
    for (kind, setting) in [("combined", "combined"), ("rx", "channels-rx"), ("tx", "channels-tx")] {
        let Some((now, most)) = amount(channels, kind).and_then(|one| Some((one.now?, one.most?))) else { continue };
        let wanted = most.min(cores);
        if now == 0 || now >= wanted {
            continue;
        }
        // A virtual pair is made with one queue in use, and few of them carry more than one core's worth.
        let severity = match now {
            1 if view.is_hardware() => Severity::Warning,
            // Without GRO or XDP a pair's frames are processed by the core that sends them, whatever its queues.
            1 if pair && !merges => Severity::Note,
            1 => view.graver_for(&[Load::Tcp, Load::Udp, Load::PktGen, Load::Forward]),
            _ => Severity::Note,
        };
        found.push(
            Finding::new(severity, format!("{now} of {most} {kind} queues are used, with {cores} processors"))
                .seen(format!("{kind} {now} of {most}"), format!("ethtool -l {typed}"))
                .mend(format!("ethtool -L {typed} {kind} {wanted}"))
                .sets(name, setting, Value::Number(wanted))
                .gain("several streams use several cores"),
        );
    }
    Ok(found)
}
