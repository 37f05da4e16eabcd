//! AF_XDP without zero-copy.

use crate::doctor::finding::{Finding, Load};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};
use linerate_host::shell::operand;

pub(super) const RULE: Rule = Rule {
    name: "xdp-copy",
    scope: Scope::Interface,
    about: "AF_XDP without zero-copy",
    means: "xdp: copies each frame between kernel and program",
    published: "Documentation/networking/af_xdp.rst",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    if !view.is_up() || view.interface().hardware != 1 {
        return healthy();
    }
    let xdp = have(&view.adapter.xdp)?;
    if xdp.features.iter().any(|feature| feature == "xsk-zerocopy") {
        return healthy();
    }
    let features = if xdp.features.is_empty() { "none".to_owned() } else { xdp.features.join(", ") };
    Finding::new(view.graver_for(&[Load::PktGen]), "its driver has no zero-copy for AF_XDP: xdp: copies")
        .seen(format!("XDP features: {features}"), format!("linerate nic show {}", operand(view.name())))
        .alone()
}
