//! Responses of the peer.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::peer::Tcp;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::{View, have};
use linerate_host::shell::word;

pub(super) const RULE: Rule = Rule {
    name: "peer-silent",
    scope: Scope::Peer,
    about: "whether the peer answers echo requests",
    means: "the peer is down, is not on this network, or drops echo requests",
    published: "RFC 1122, section 3.2.2.6",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let probed = view.probed()?;
    if probed.answered > 0 {
        return healthy();
    }
    let (peer, way, typed_way, hop) = (probed.peer, &probed.way, word(&probed.way), probed.hop());
    let neighbours = have(&view.network.neighbours)?;
    let state = neighbours.iter().find(|one| one.address == hop).map(|one| one.state);
    let whose = if hop == peer {
        "its link-layer address".to_owned()
    } else {
        format!("the link-layer address of {hop}, the router on the way,")
    };
    let known = match state {
        Some("incomplete" | "failed") => format!("{whose} is not answered either"),
        Some(state) => format!("{whose} is known ({state})"),
        None => format!("{whose} was not asked for"),
    };
    let what = match state {
        Some("incomplete" | "failed") if hop != peer => {
            format!("the router {hop} does not answer: nothing reaches it")
        }
        _ => format!("it answers none of {} echo requests", probed.asked),
    };
    let mut finding = Finding::new(if probed.tcp == Tcp::Answered { Severity::Note } else { Severity::Warning }, what)
        .seen(format!("by {way}; {known}"), format!("ping {peer}, ip neigh show {hop}"));
    if let Some(program) = view.interface().xdp_program.filter(|_| view.name() == way) {
        finding = finding
            .seen(format!("XDP program {program} sees all frames first"), format!("ip link show dev {typed_way}"));
    }
    finding
        .mend(format!(
            "see whether it is up, and that both ends have addresses of one network: ip addr show dev {typed_way}"
        ))
        .alone()
}
