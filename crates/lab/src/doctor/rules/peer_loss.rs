//! Loss on the way to the peer and back.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "peer-loss",
    scope: Scope::Peer,
    about: "how many echo requests the peer answers",
    means: "frames are lost on an idle path: TCP is slowed down by each of them",
    published: "RFC 2680; Mathis and others, 1997: rate by loss",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let probed = view.probed()?;
    if probed.answered == 0 || probed.answered == probed.asked {
        return healthy();
    }
    let (asked, lost, peer) = (probed.asked, probed.asked - probed.answered, probed.peer);
    Finding::new(Severity::Warning, format!("{lost} of {asked} echo requests were not answered"))
        .seen(format!("{} of {asked} answered", probed.answered), format!("ping -c {asked} -i 0.2 {peer}"))
        .mend("see cable, module, pause frames and errors at both ends and the switch: the rules about errors")
        .alone()
}
