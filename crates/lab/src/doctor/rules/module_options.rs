//! Options of the driver's module that are not in force.

use crate::doctor::configured::{is_one_name, number, options};
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "module-options",
    scope: Scope::Interface,
    about: "options of the driver's module that are not in force",
    means: "the module was loaded before the file was written, or from an initramfs without it",
    published: "modprobe.d(5), options; /sys/module/DRIVER/parameters",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let of_device = view.adapter.device.as_ref().ok().and_then(|device| device.driver.clone().ok());
    let module = match of_device {
        Some(name) => name,
        None => have(&view.adapter.driver)?.name.clone().ok_or("its driver has no name")?,
    };
    let module = module.replace('-', "_");
    let folder = format!("sys/module/{module}/parameters");
    // Some names are of no module ("802.1Q VLAN Support").
    let parameters = match module.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => view.names(&folder),
        false => Vec::new(),
    };
    if parameters.is_empty() {
        return healthy();
    }
    let said = options(view, &module)?;
    // What the kernel's command line says as well may be in force.
    let boot = view.file("proc/cmdline").unwrap_or_default();
    let is_at_boot = |parameter: &str| {
        let names = boot.split_whitespace().filter_map(|word| word.split(['=', ' ']).next()?.split_once('.'));
        names.into_iter().any(|(of, name)| is_one_name(of, &module) && is_one_name(name, parameter))
    };
    let mut found = Vec::new();
    for parameter in parameters.iter().filter(|parameter| !is_at_boot(parameter)) {
        let Some(last) = said.iter().rev().find(|one| is_one_name(&one.name, parameter)) else { continue };
        // Some are there to be written only.
        let Ok(now) = view.file(&format!("{folder}/{parameter}")) else { continue };
        if is_in_force(&last.value, &now) {
            continue;
        }
        found.push(
            Finding::new(
                Severity::Warning,
                format!("{module} runs with {parameter} {now}, and {} says {}", last.file, last.value),
            )
            .seen(format!("{parameter} {now}"), format!("/{folder}/{parameter}"))
            .seen(format!("options {module} {parameter}={}", last.value), last.file.as_str())
            .mend(format!(
                "modprobe -r {module} && modprobe {module}, which takes its interfaces down; before it, renew the \
                     initramfs if the module is in there (update-initramfs -u, dracut -f)"
            ))
            .gain(format!("{parameter} is {}", last.value)),
        );
    }
    Ok(found)
}

/// True if a parameter has the value that it was given; of a list, as many as were given.
fn is_in_force(given: &str, now: &str) -> bool {
    if let "Y" | "N" = now {
        return truth(given) == Some(now == "Y");
    }
    let (given, now): (Vec<&str>, Vec<&str>) = (given.split(',').collect(), now.split(',').collect());
    given.len() <= now.len() && given.iter().zip(&now).all(|(given, now)| number(given) == number(now))
}

/// A truth in the forms that the kernel takes.
fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_bytes() {
        [b'y' | b't' | b'1', ..] | [b'o', b'n', ..] => Some(true),
        [b'n' | b'f' | b'0', ..] | [b'o', b'f', ..] => Some(false),
        _ => None,
    }
}
