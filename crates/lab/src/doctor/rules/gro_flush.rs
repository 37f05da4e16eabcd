//! Time for which merged segments are held back.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "gro-flush",
    scope: Scope::Interface,
    about: "how long segments wait to be merged with later ones",
    means: "each response, and each acknowledgement, comes up as much later",
    published: "Documentation/networking/napi.rst, gro_flush_timeout, napi_defer_hard_irqs",
    proof: Proof::Requests,
    look,
};

/// Time, ns, that a response may be late by.
const MOST: u64 = 1_000_000;

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let at = format!("sys/class/net/{}/gro_flush_timeout", view.name());
    let now: u64 = view.number(&at)?;
    if now <= MOST {
        return healthy();
    }
    let typed = format!("/sys/class/net/{}/gro_flush_timeout", view.typed());
    Finding::new(Severity::Warning, format!("segments wait for {} ms to be merged", now / 1_000_000))
        .seen(format!("gro_flush_timeout {now} ns"), typed.as_str())
        .mend(format!("echo 0 > {typed}"))
        .writes(at, "0")
        .alone()
}
