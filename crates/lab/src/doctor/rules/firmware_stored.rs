//! Firmware that is in the flash and does not run.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};
use linerate_host::shell::word;

pub(super) const RULE: Rule = Rule {
    name: "firmware-stored",
    scope: Scope::Interface,
    about: "firmware that runs, beside that in the flash",
    means: "another firmware was written and is not in use yet: what is measured now is not what is there after the next reset",
    published: "Documentation/networking/devlink/devlink-info.rst, running and stored versions",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let devlink = have(&view.adapter.devlink)?;
    let handle = word(&devlink.handle);
    let pending: Vec<_> = devlink.pending().collect();
    let Some((name, running, stored)) = pending.first() else { return healthy() };
    let first = Finding::new(Severity::Warning, format!("{name} {running} runs, {stored} is stored"));
    pending
        .iter()
        .fold(first, |finding, (name, running, stored)| {
            finding.seen(format!("{name}: running {running}, stored {stored}"), format!("devlink dev info {handle}"))
        })
        .mend(format!("devlink dev reload {handle} action fw_activate, or restart the machine"))
        .alone()
}
