//! Packet filters.

use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::peer::Tcp;
use crate::doctor::rule::{Found, HOST, Look, Proof, Rule, healthy};
use crate::doctor::view::View;
use linerate_host::adapter::FilterRule;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "firewall",
        about: "tables of the firewall",
        means: "each packet passes their rules, which costs a tenth to a half of the rate of small packets, and may end there",
        published: "iptables(8), nft(8); /proc/net/ip_tables_names",
        look: Look::Custom(firewall),
        ..HOST
    },
    Rule {
        name: "conntrack",
        about: "tracking of connections",
        means: "each packet is looked up in a table; when it is full, new connections are dropped",
        published: "Documentation/networking/nf_conntrack-sysctl.rst",
        risk: Risk::Safe,
        proof: Proof::Stream,
        look: Look::Custom(conntrack),
        ..HOST
    },
];

const FORWARD: u32 = 2;
/// Rules that cost most of the time of a small packet.
const MANY: u64 = 500;
/// Bytes of a segment of which IPv6's least MTU has room.
const SEGMENT: u16 = 1220;

/// The harm that the tables do, if something shows it.
fn gravest(view: &View<'_>) -> Option<String> {
    let chains = view.network.chains.as_deref().unwrap_or_default();
    let rules = view.network.filter_rules.as_deref().unwrap_or_default();
    if view.wants(&[Load::Forward]) && chains.iter().any(|one| one.hook == Some(FORWARD) && one.drops && one.rules == 0)
    {
        return Some("the firewall drops all that is forwarded".to_owned());
    }
    if let Some(segment) = rules.iter().filter_map(|rule| rule.segment).find(|segment| *segment < SEGMENT) {
        return Some(format!("the firewall has connections use segments of {segment} bytes"));
    }
    if rules.iter().any(|rule| rule.random && rule.drops) {
        return Some("the firewall drops packets at random".to_owned());
    }
    let all: u64 = chains.iter().map(|one| u64::from(one.rules)).sum();
    if all > MANY {
        return Some(format!("packets pass up to {all} rules of the firewall, one after the other"));
    }
    // Where frames of an interface come in or go out, hardly anybody limits but by mistake.
    let device = |rule: &&FilterRule| {
        (rule.limits || rule.drops)
            && chains.iter().any(|one| one.hook.is_none() && (&one.table, &one.name) == (&rule.table, &rule.chain))
    };
    if rules.iter().any(|rule| device(&rule)) {
        return Some("the firewall limits or drops frames of an interface, before or behind the stack".to_owned());
    }
    let drops = rules.iter().any(|rule| rule.drops) || chains.iter().any(|one| one.drops);
    let probed = view.peer.as_ref().filter(|probed| drops && probed.refused.is_none())?;
    let (lost, tcp) = (
        probed.answered < probed.asked && probed.tcp != Tcp::Answered,
        matches!(probed.tcp, Tcp::Silent | Tcp::Refused(_)),
    );
    match (lost, tcp) {
        (true, _) => Some("the firewall drops packets, and not all echo requests of the peer are answered".to_owned()),
        (_, true) => Some("the firewall drops packets, and TCP is not answered by the peer".to_owned()),
        _ => None,
    }
}

fn firewall(view: &View<'_>) -> Found {
    let tables: Vec<String> = ["proc/net/ip_tables_names", "proc/net/ip6_tables_names", "proc/net/arp_tables_names"]
        .iter()
        .filter_map(|path| view.file(path).ok())
        .flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let chains: Vec<String> = match &view.network.chains {
        Ok(chains) => chains
            .iter()
            .filter(|chain| chain.rules > 0 || chain.drops)
            .map(|chain| match chain.rules {
                0 => format!("{} {} drops all", chain.table, chain.name),
                1 => format!("{} {} with a rule", chain.table, chain.name),
                rules => format!("{} {} with {rules} rules", chain.table, chain.name),
            })
            .collect(),
        // A kernel without them has none; a tree without them does not tell.
        Err(absent) if (absent.is_forbidden() || absent.errno.is_none()) && tables.is_empty() => {
            return Err(format!("chains of nftables: {absent}"));
        }
        Err(_) => Vec::new(),
    };
    if tables.is_empty() && chains.is_empty() {
        return healthy();
    }
    let (severity, what) = match gravest(view) {
        Some(what) => (Severity::Warning, what),
        None => (Severity::Note, "packets pass tables of the firewall".to_owned()),
    };
    let mut finding = Finding::new(severity, what);
    if !tables.is_empty() {
        finding = finding.seen(format!("tables {}", tables.join(", ")), "/proc/net/ip_tables_names");
    }
    if !chains.is_empty() {
        finding = finding.seen(format!("chains {}", chains.join(", ")), "nft list ruleset");
    }
    for rule in view.network.filter_rules.iter().flatten().take(4) {
        let segment = rule.segment.map(|segment| format!("sets segments of {segment} bytes"));
        let word = |does: bool, word: &str| does.then(|| word.to_owned());
        let does = [
            word(rule.drops, "drops"),
            word(rule.limits, "looks at the rate"),
            word(rule.fits_path, "has segments fit the path"),
            segment,
        ];
        let does: Vec<String> = does.into_iter().flatten().collect();
        finding =
            finding.seen(format!("a rule of {} {} {}", rule.table, rule.chain, does.join(", ")), "nft list ruleset");
    }
    let shows = if chains.is_empty() { "iptables-save" } else { "nft list ruleset" };
    finding.mend(format!("{shows} shows the rules; skip the measured ports in the first chain, or remove them")).alone()
}

fn conntrack(view: &View<'_>) -> Found {
    let Ok(most) = view.sysctl_number("net.netfilter.nf_conntrack_max") else { return healthy() };
    let now = view.sysctl_number("net.netfilter.nf_conntrack_count")?;
    if now * 10 < most * 8 {
        return healthy();
    }
    view.set(Severity::Warning, "net.netfilter.nf_conntrack_max", most, most * 4)
        .seen(format!("nf_conntrack_count = {now}"), "sysctl net.netfilter.nf_conntrack_count")
        .gain("new connections are not dropped")
        .alone()
}
