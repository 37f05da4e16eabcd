//! Longest packet of the path to the peer.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::longest::Sizes;
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;
use linerate_host::shell::word;

pub(super) const RULE: Rule = Rule {
    name: "path-mtu",
    scope: Scope::Peer,
    about: "how long packets may be on the way to the peer",
    means: "longer packets vanish on the path: connections stand still once they send much",
    published: "RFC 1191; RFC 2923, section 2.1",
    proof: Proof::Look,
    look,
};

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let probed = view.probed()?;
    let (typed_way, way, mtu, largest, peer) =
        (word(&probed.way), &probed.way, probed.mtu, probed.largest, probed.peer);
    // No packet is longer than its length field tells.
    if probed.answered == 0 {
        return healthy();
    }
    // What the machine remembers of the path, if no route sets it.
    let told = probed.told.and_then(|told| usize::try_from(told).ok()).filter(|told| *told < mtu);
    let set = |told: usize| {
        let mut metrics = view.network.routes.iter().flatten().flat_map(|route| &route.metrics);
        metrics.any(|metric| metric.name == "mtu" && usize::try_from(metric.value) == Ok(told))
    };
    if let Some(told) = told.filter(|told| *told < largest && !set(*told)) {
        // A tunnel that may fragment learns what its outer packets have room for.
        let severity = if view.is_tunnel() { Severity::Note } else { Severity::Warning };
        return Finding::new(severity, format!("the path is taken for one of {told} bytes, and {largest} come back"))
            .seen(format!("cache mtu {told}"), format!("ip route get {peer}"))
            .mend("ip route flush cache")
            .alone();
    }
    let ping = largest.saturating_sub(if peer.is_ipv4() { 28 } else { 48 });
    if probed.sizes == Sizes::Limited {
        return Finding::new(Severity::Warning, "the way to it is limited in rate, or loses packets")
            .seen(
                format!("{largest} bytes come back when they are sent slowly, and not when they are sent fast"),
                format!("ping -M do -i 0.01 -c 50 -s {ping} {peer}, and with -i 2"),
            )
            .mend("see shapers, policers and limits on the way: 'tc -s qdisc', 'tc -s filter' and 'nft list ruleset' at both ends")
            .alone();
    }
    if largest >= mtu.min(65_535) {
        return healthy();
    }
    if probed.sizes == Sizes::Lossy {
        return Err("echo requests are lost, or their rate is limited".to_owned());
    }
    // No link has so small an MTU (RFC 1122, 3.3.2; RFC 8200, 5).
    if largest < if peer.is_ipv4() { 576 } else { 1280 } {
        return Finding::new(Severity::Note, format!("echo requests of more than {largest} bytes are not answered"))
            .seen(format!("{largest} of {mtu} bytes"), format!("ping -M do -s {largest} {peer}"))
            .mend("see whether a packet filter drops long echo requests: then the path's MTU is not known")
            .alone();
    }
    // Routers tell senders, which then send no longer ones (RFC 1191).
    if let Some(told) = told.filter(|told| *told <= largest) {
        return Finding::new(
            Severity::Note,
            format!("the path takes packets of {told} bytes, {way} has an MTU of {mtu}"),
        )
        .seen(format!("{told} of {mtu} bytes, as a router tells"), format!("ip route get {peer}"))
        .mend(format!("nothing: TCP follows; datagrams of more than {told} bytes become fragments"))
        .alone();
    }
    Finding::new(Severity::Warning, format!("packets of up to {largest} bytes come back, {way} has an MTU of {mtu}"))
        .seen(format!("{largest} of {mtu} bytes"), format!("ping -M do -s {ping} {peer}"))
        .mend(format!("ip link set dev {typed_way} mtu {largest}, or {mtu} at the other end and on all of the path"))
        .alone()
}
