//! Members of bridges that do not pass on all that they should.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;
use linerate_host::adapter::Detail;
use linerate_host::shell::word;

pub(super) const RULE: Rule = Rule {
    name: "bridge-port",
    scope: Scope::Interface,
    about: "whether a member of a bridge passes on frames",
    means: "frames from or to it vanish in the bridge",
    published: "bridge(8), link set; IEEE 802.1D, clause 7.4",
    proof: Proof::Look,
    look,
};

/// Flags of a member, as they ought to be, and the loss if one is not.
const WANTED: &[(&str, bool, &str)] = &[
    ("flood", true, "frames to stations that are not known yet do not leave by it"),
    ("mcast_flood", true, "multicast, and with it neighbour discovery, does not leave by it"),
    ("bcast_flood", true, "broadcast, and with it ARP, does not leave by it"),
    ("learning", true, "each frame to its stations goes to all members"),
    ("isolated", false, "it reaches no other isolated member"),
    ("locked", false, "frames of stations that nobody has allowed are dropped"),
];

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let (typed, member) = (view.typed(), &view.interface().member);
    let master = view.interface().master.and_then(|master| view.named(master));
    let Some(bridge) = master.filter(|one| one.kind.as_deref() == Some("bridge")) else { return Ok(Vec::new()) };
    let read = format!("bridge -d link show dev {typed}");
    let mut found = Vec::new();
    if matches!(bridge.details.get("ageing_time"), Some(Detail::Number(0))) {
        found.push(
            Finding::new(Severity::Note, format!("{} forgets stations at once: frames go to all members", bridge.name))
                .seen("ageing_time 0", format!("ip -d link show dev {}", word(&bridge.name)))
                .mend(format!("ip link set dev {} type bridge ageing_time 30000", word(&bridge.name))),
        );
    }
    let stp = matches!(bridge.details.get("stp_state"), Some(Detail::Number(1..)) | Some(Detail::On(true)));
    if let Some(Detail::Word(state)) = member.get("state")
        && state != "forwarding"
        && view.is_up()
    {
        // The spanning tree blocks what would be a loop.
        let severity = if stp && state == "blocking" { Severity::Note } else { Severity::Warning };
        let mend = if stp {
            "wait for the spanning tree, which takes 30 s; where it stays so, 'bridge -d link' shows the loop that it breaks".to_owned()
        } else {
            format!("bridge link set dev {typed} state 3")
        };
        found.push(
            Finding::new(severity, format!("{} has it {state}: it passes on nothing", bridge.name))
                .seen(format!("state {state}"), read.as_str())
                .mend(mend),
        );
    }
    let alone = !view.interfaces.iter().any(|other| {
        let isolated = matches!(other.member.get("isolated"), Some(Detail::On(true)));
        other.master == Some(bridge.index) && other.index != view.interface().index && isolated
    });
    for (flag, wanted, words) in WANTED {
        // One isolated member reaches all others.
        if *flag == "isolated" && alone {
            continue;
        }
        if matches!(member.get(flag), Some(Detail::On(on)) if on != wanted) {
            let severity = match *flag {
                "learning" => view.graver_for(&[Load::Forward]),
                _ => Severity::Warning,
            };
            let (now, to) = if *wanted { ("off", "on") } else { ("on", "off") };
            found.push(
                Finding::new(severity, format!("{flag} is {now} at {}: {words}", bridge.name))
                    .seen(format!("{flag} {now}"), read.as_str())
                    .mend(format!("bridge link set dev {typed} {flag} {to}")),
            );
        }
    }
    Ok(found)
}
