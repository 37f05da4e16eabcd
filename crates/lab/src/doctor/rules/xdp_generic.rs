//! XDP programs in generic mode where the driver has its own.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};

pub(super) const RULE: Rule = Rule {
    name: "xdp-generic",
    scope: Scope::Interface,
    about: "XDP programs in generic mode where the driver has its own",
    means: "each frame becomes a socket buffer first, which XDP is there to avoid",
    published: "Documentation/networking/af_xdp.rst; ip-link(8), xdpgeneric",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let interface = view.interface();
    let Some(program) = interface.xdp_program else { return healthy() };
    let native = have(&view.adapter.xdp)?.features.iter().any(|feature| feature == "basic");
    if !native || !interface.xdp_generic {
        return healthy();
    }
    let typed = view.typed();
    Finding::new(Severity::Warning, "an XDP program runs in generic mode, and the driver has a mode of its own")
        .seen(format!("program {program} xdpgeneric"), format!("ip link show dev {typed}"))
        .mend(format!(
            "end the program that attached it, or ip link set dev {typed} xdpgeneric off; then attach it as xdpdrv"
        ))
        .gain("two to five times as many frames a second")
        .alone()
}
