//! Packet filters.

use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::peer::Tcp;
use crate::doctor::role::Role;
use crate::doctor::rule::{Found, HOST, Proof, Rule, healthy};
use crate::doctor::view::{View, sysctl_path};
use linerate_host::adapter::{FilterChain, FilterRule, Limit};

pub(super) const RULES: &[Rule] =
    &[HOST.by("firewall", firewall), HOST.by("conntrack", conntrack).risk(Risk::Safe).proof(Proof::Stream)];

const FORWARD: u32 = 2;
/// Rules that cost most of the time of a small packet.
const MANY: u64 = 500;
/// Bytes of a segment of which IPv6's least MTU has room.
const SEGMENT: u16 = 1220;

/// The rule that drops what routers tell of packets that were too long, if none of its chain lets that pass before.
fn drops_too_big(rules: &[FilterRule]) -> Option<&FilterRule> {
    let of_chain = |one: &FilterRule, other: &FilterRule| (&one.table, &one.chain) == (&other.table, &other.chain);
    let first = |(at, rule): &(usize, &FilterRule)| {
        let passes = |one: &FilterRule| of_chain(one, rule) && one.too_big == Some(false);
        rule.too_big == Some(true) && !rules[..*at].iter().any(passes)
    };
    rules.iter().enumerate().find(first).map(|(_, rule)| rule)
}

/// The limiter that has dropped packets while it was looked at, and how many.
fn limiter<'a>(view: &'a View<'_>) -> Option<(&'a FilterRule, u64)> {
    let earlier = view.network.earlier_rules.as_deref().unwrap_or_default();
    let place = |rule: &FilterRule| (rule.table.clone(), rule.chain.clone(), rule.handle);
    let rules = view.network.filter_rules.iter().flatten().filter(|rule| rule.drops && rule.limits);
    let dropped = rules.filter_map(|rule| {
        let before = earlier.iter().find(|one| place(one) == place(rule))?.counted?;
        Some((rule, rule.counted?.saturating_sub(before))).filter(|(_, more)| *more > 0)
    });
    dropped.max_by_key(|(_, more)| *more)
}

/// The harm that the tables do, if something shows it.
fn gravest(view: &View<'_>) -> Option<String> {
    let chains = view.network.chains.as_deref().unwrap_or_default();
    let rules = view.network.filter_rules.as_deref().unwrap_or_default();
    if let Some(FilterRule { table, chain, .. }) = drops_too_big(rules) {
        return Some(format!(
            "a rule of {table} {chain} drops ICMP of the type 'fragmentation needed': long packets vanish on narrow paths"
        ));
    }
    if let Some((FilterRule { table, chain, .. }, more)) = limiter(view) {
        return Some(format!("a limit of rate in {table} {chain} has dropped {more} packets while it was looked at"));
    }
    let routes = view.roles.iter().any(|(role, _)| *role == Role::Router);
    let much = |one: &FilterChain| {
        view.wants(&[Load::Forward]) || routes && one.counted.is_some_and(|packets| packets >= 1000)
    };
    if chains.iter().any(|one| one.hook == Some(FORWARD) && one.drops && one.rules == 0 && much(one)) {
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

/// The rate of a limiter in words.
fn rate(Limit { rate, seconds, bytes }: Limit) -> String {
    let unit = if bytes { "bytes" } else { "packets" };
    let per = if seconds == 1 { "s".to_owned() } else { format!("{seconds} s") };
    format!("looks at a rate of {rate} {unit}/{per}")
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
    let tells = |rule: &&FilterRule| rule.drops || rule.limits || rule.segment.is_some() || rule.fits_path;
    for rule in view.network.filter_rules.iter().flatten().filter(tells).take(4) {
        let segment = rule.segment.map(|segment| format!("sets segments of {segment} bytes"));
        let word = |does: bool, word: &str| does.then(|| word.to_owned());
        let does = [
            word(rule.drops, "drops"),
            word(rule.limits && rule.limit.is_none(), "looks at the rate"),
            rule.limit.map(rate),
            rule.counted.map(|packets| format!("has counted {packets} packets behind it")),
            word(rule.too_big == Some(true), "so ICMP of the type 'fragmentation needed', too"),
            word(rule.fits_path, "has segments fit the path"),
            segment,
        ];
        let does: Vec<String> = does.into_iter().flatten().collect();
        finding =
            finding.seen(format!("a rule of {} {} {}", rule.table, rule.chain, does.join(", ")), "nft list ruleset");
    }
    // Tables have those names where iptables of old filters.
    let shows = if tables.is_empty() { "nft list ruleset" } else { "iptables-save -c" };
    let too_big = drops_too_big(view.network.filter_rules.as_deref().unwrap_or_default());
    finding
        .mend(match (severity, too_big) {
            (Severity::Note, _) => format!("nothing, if they are meant to guard; '{shows}' shows them"),
            (_, Some(FilterRule { table, chain, .. })) if tables.iter().any(|one| one == table) => format!(
                "let it pass before: iptables -I {chain} -p icmp --icmp-type destination-unreachable -j ACCEPT; of IPv6 ip6tables -I \
                 {chain} -p icmpv6 --icmpv6-type packet-too-big -j ACCEPT"
            ),
            (_, Some(FilterRule { table, chain, .. })) => format!(
                "let it pass before: nft insert rule FAMILY {table} {chain} icmp type destination-unreachable accept; \
                 '{shows}' shows the family, and of ip6 it is icmpv6 type packet-too-big"
            ),
            _ => format!("'{shows}' shows the rules: change that one, and leave those that guard"),
        })
        .alone()
}

/// Packets that the table of connections dropped, by all processors' counters (`conntrack -S`): early_drop of one that was full, and
/// insert_failed of two that asked for one entry at once.
fn untracked(view: &View<'_>) -> Found {
    let text = view.file("posted/conntrack").unwrap_or_default();
    let sum = |name: &str| -> u64 {
        let of = |word: &str| word.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok();
        text.split_whitespace().filter_map(of).sum()
    };
    let [drops, early, failed] = ["drop", "early_drop", "insert_failed"].map(sum);
    let seen = format!("insert_failed {failed}, drop {drops}, early_drop {early}");
    let (what, mend) = match (drops.max(early), failed) {
        (1000.., _) => (
            "the table of connections had no room for some",
            "sysctl -w net.netfilter.nf_conntrack_max=N, with twice what it is; and see who opens so many: conntrack -L",
        ),
        (_, 1000..) => (
            "packets of new connections were dropped, as two asked for one entry at once",
            "queries that come in pairs from one port (DNS: 'options single-request-reopen' in resolv.conf, a cache on each node); for \
             translated ports MASQUERADE --random-fully",
        ),
        _ => return healthy(),
    };
    Finding::new(Severity::Warning, what).seen(seen, "conntrack -S").mend(mend).alone()
}

pub(super) fn conntrack(view: &View<'_>) -> Found {
    let mut found = untracked(view)?;
    match full_table(view) {
        Err(why) if found.is_empty() => return Err(why),
        full => found.extend(full.unwrap_or_default()),
    }
    Ok(found)
}

fn full_table(view: &View<'_>) -> Found {
    let most = match view.sysctl_number("net.netfilter.nf_conntrack_max") {
        Err(why) => return view.lacks(why),
        Ok(most) => most,
    };
    let now = view.sysctl_number("net.netfilter.nf_conntrack_count")?;
    if now * 10 < most * 8 {
        return healthy();
    }
    let to = most.saturating_mul(4);
    let finding = view.set(Severity::Warning, "net.netfilter.nf_conntrack_max", most, to);
    let what = format!("the table of connections has {now} of {most}");
    // Lists of more than a few connections are slow to search. Namespaces but the first cannot set it.
    let name = "net.netfilter.nf_conntrack_buckets";
    let finding = match view.sysctl_number(name) {
        Ok(buckets) if buckets < to / 4 => {
            let mend = finding.mend.clone().unwrap_or_default();
            finding
                .seen(format!("{name} = {buckets}"), format!("sysctl {name}"))
                .mend(format!("{mend} {name}='{}'", to / 4))
                .writes(sysctl_path(name), (to / 4).to_string())
        }
        _ => finding,
    };
    Finding { what, ..finding }
        .seen(format!("nf_conntrack_count = {now}"), "sysctl net.netfilter.nf_conntrack_count")
        .gain("new connections are not dropped")
        .alone()
}
