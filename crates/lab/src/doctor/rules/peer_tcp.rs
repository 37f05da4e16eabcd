//! Answers of the peer to TCP.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::peer::{PORTS, Tcp};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "peer-tcp",
    scope: Scope::Peer,
    about: "whether the peer answers TCP at all, if only to refuse it",
    means: "a packet filter, here, there or between, drops what TCP sends: connections to these ports will not be made",
    published: "RFC 9293, section 3.10.7.1: a closed port answers by a reset",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let probed = view.probed()?;
    // Of a peer that answers nothing, that is said.
    if probed.answered == 0 {
        return healthy();
    }
    let what = match &probed.tcp {
        Tcp::Unknown | Tcp::Answered => return healthy(),
        Tcp::Silent => "it answers echo requests, and TCP at none of the ports tried".to_owned(),
        Tcp::Refused(why) => format!("what TCP sends to it is refused here: {why}"),
    };
    let severity = if view.loads.is_empty() || view.wants(&[Load::Tcp]) { Severity::Warning } else { Severity::Note };
    let ports: Vec<String> = PORTS.iter().map(u16::to_string).collect();
    let peer = probed.peer;
    Finding::new(severity, what)
        .seen(format!("ports {}", ports.join(", ")), format!("nc -vz {peer} {}", PORTS[0]))
        .mend("see the packet filters of both ends: nft list ruleset, iptables-save")
        .alone()
}
