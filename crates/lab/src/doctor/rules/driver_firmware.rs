//! Driver and firmware of one release.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "driver-firmware",
    scope: Scope::Interface,
    about: "versions of driver and firmware that are released together",
    means: "driver and firmware are of different releases, which their vendor does not test together: commands can be refused, offloads \
            be missing",
    published: "the 2012 tuning note: driver and firmware; release notes of the driver",
    proof: Proof::Look,
    look,
};

/// Drivers whose own version is that of their firmware's release, and how many of its numbers are the same.
const TOGETHER: &[(&str, usize)] = &[("be2net", 2), ("oce", 2)];

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let driver = have(&view.adapter.driver)?;
    let together = TOGETHER.iter().find(|(name, _)| driver.name.as_deref() == Some(name));
    let (Some((name, numbers)), Some(version), Some(firmware)) = (together, &driver.version, &driver.firmware) else {
        return healthy();
    };
    let release = |version: &str| version.split('.').take(*numbers).map(str::to_owned).collect::<Vec<_>>();
    if release(version) == release(firmware) {
        return healthy();
    }
    Finding::new(Severity::Warning, format!("the driver is {name} {version}, the firmware {firmware}"))
        .seen(format!("version {version}, firmware-version {firmware}"), format!("ethtool -i {}", view.typed()))
        .mend("install driver and firmware of one release, as the vendor's compatibility list has them")
        .alone()
}
