//! Options of TCP that the peer and this host agree on.

use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;

pub(super) const RULE: Rule = Rule {
    name: "peer-handshake",
    scope: Scope::Peer,
    about: "which options a connection to the peer has, and how long its segments are",
    means: "the other end has them switched off, or something on the way takes them out of the handshake: windows stay below 64 KiB, \
            each loss costs round trips, or each packet carries little",
    published: "RFC 7323; RFC 2018; RFC 9293, section 3.7.1; tcp(7), TCP_INFO",
    proof: Proof::Look,
    look,
};

/// Segments, with their time-stamps, of which each link has room (RFC 8200, section 5, without the headers).
const SEGMENT: u32 = 1220;
/// Bytes of time-stamps in each segment.
const STAMPS: u32 = 12;

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let probed = view.probed()?;
    let agreed = probed.handshake.ok_or("none of the ports tried takes a connection")?;
    // What this host does not offer is no fault of the way.
    let offers = |name: &str| view.sysctl_number(&format!("net.ipv4.{name}")).is_ok_and(|value| value > 0);
    let all = [
        (agreed.window_scale, "tcp_window_scaling", "window scaling", Severity::Warning),
        (agreed.sack, "tcp_sack", "selective acknowledgements", Severity::Warning),
        // Some systems do not offer them by themselves.
        (agreed.timestamps, "tcp_timestamps", "time-stamps", Severity::Note),
    ];
    let mut missing: Vec<(String, Severity)> = all
        .iter()
        .filter(|(has, name, ..)| !has && offers(name))
        .map(|(_, _, words, severity)| (format!("no {words}"), *severity))
        .collect();
    let stamps = if agreed.timestamps { STAMPS } else { 0 };
    if agreed.segment + stamps < SEGMENT && probed.mtu >= 1280 && probed.largest >= 1280 {
        missing.push((format!("segments of {} bytes", agreed.segment), Severity::Warning));
    }
    let Some(severity) = missing.iter().map(|one| one.1).max() else { return healthy() };
    let words: Vec<&str> = missing.iter().map(|one| one.0.as_str()).collect();
    let peer = probed.peer;
    Finding::new(severity, format!("connections to it have {}", words.join(", ")))
        .seen(
            format!(
                "wscale {}, sack {}, ts {}, mss {}",
                agreed.window_scale, agreed.sack, agreed.timestamps, agreed.segment
            ),
            format!("ss -ti dst {peer}, while there is a connection"),
        )
        .mend(
            "see there sysctl net.ipv4.tcp_window_scaling net.ipv4.tcp_sack net.ipv4.tcp_timestamps; then firewalls and proxies on the \
             way: 'tcpdump -v' at both ends shows the options that were sent and that came",
        )
        .gain("more than 64 KiB in a round trip")
        .alone()
}
