//! Sysctls that have another value than a file gives them.

use crate::doctor::configured::{Configured, LAST, interchanged, is_pattern, is_same, sysctls};
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    name: "persistent-differs",
    scope: Scope::Host,
    about: "sysctls that have another value than a file gives them",
    means: "somebody has changed it since, or it could not be set at the start; the next start may change it back",
    published: "sysctl.d(5), sysctl(8) --system",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let files = sysctls(view)?;
    // A pattern may be meant for interfaces that are not there yet.
    let keys = files.iter().map(|one| one.name.as_str()).filter(|key| key.starts_with("net/") && !is_pattern(key));
    let keys: BTreeSet<&str> = keys.collect();
    // A list of ranges, which the kernel writes in its own way.
    let keys = keys.into_iter().filter(|key| !key.ends_with("ip_local_reserved_ports"));
    let one = |key: &str| {
        // What is not there, or is there to be written only, has no value.
        let now = view.file(&format!("proc/sys/{key}")).ok()?;
        let of = |is_last: bool| {
            let is_of = |one: &&Configured| one.name == key && (one.file == LAST) == is_last;
            files.iter().rev().find(is_of)
        };
        // Either may be in force: systemd does not read the last file, sysctl --system does.
        let said: Vec<&Configured> = [of(true), of(false)].into_iter().flatten().collect();
        let differs = !said.iter().any(|one| is_same(&one.value, &now));
        let Configured { value, file, .. } = said.first().filter(|_| differs)?;
        let name = interchanged(key);
        let finding = view
            .set(Severity::Warning, &name, &now, value)
            .seen(format!("{name} = {value}"), file.as_str())
            // What was changed since, and any key may be of security.
            .by_name()
            .gain("or take that line out of the file, if the present value is the right one");
        Some(Finding { what: format!("{name} is {now}, and {file} says {value}"), ..finding })
    };
    Ok(keys.filter_map(one).collect())
}
