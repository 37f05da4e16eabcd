//! Routes and neighbours.

use super::ip::way_out;
use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::protocols::tcp_counter;
use crate::doctor::role::CONTAINERS;
use crate::doctor::rule::{Found, HOST, INTERFACE, Rule, healthy};
use crate::doctor::view::{View, have, sysctl_path};
use linerate_host::adapter::{Address, FilterRule, Metric, Neighbour, Route};
use linerate_host::shell::word;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

pub(super) const RULES: &[Rule] = &[
    INTERFACE.by("forwarding", forwarding),
    HOST.by("reverse-path", reverse_path),
    INTERFACE.by("asymmetric-route", asymmetric_route),
    HOST.by("next-hop", next_hop),
    INTERFACE.by("advertisements", advertisements),
    HOST.by("policy-empty", policy_empty),
    INTERFACE.by("route-metrics", route_metrics),
    HOST.by("neighbours", neighbours),
    HOST.by("neighbour-table", neighbour_table).risk(Risk::Safe),
    INTERFACE.by("neighbour-fixed", neighbour_fixed),
    INTERFACE.by("arp", arp),
];

/// Rule that gives packets from an interface an address of this host, if containers are behind it: a bridge with members and an
/// address, by which nothing leads out.
fn masquerades<'a>(view: &'a View<'_>) -> Option<&'a FilterRule> {
    let interface = view.interface();
    let has_members = view.interfaces.iter().any(|one| one.master == Some(interface.index));
    let addressed = view.addresses().is_ok_and(|own| own.iter().any(|one| one.address.is_ipv4()));
    let inside = way_out(view).is_some_and(|out| out.index != interface.index);
    let behind = interface.kind.as_deref() == Some("bridge") && has_members && addressed && inside;
    view.network.filter_rules.iter().flatten().find(|rule| behind && rule.masquerades)
}

fn forwarding(view: &View<'_>) -> Found {
    let interface = view.interface();
    if let Some(rule) = masquerades(view).filter(|_| view.sysctl_number("net.ipv4.ip_forward") == Ok(0)) {
        let read = "nft list ruleset";
        return view
            .set(Severity::Warning, "net.ipv4.ip_forward", 0, 1)
            .seen(format!("{} {} gives what leaves this host's address", rule.table, rule.chain), read)
            .gain("what is behind it reaches other hosts")
            .alone();
    }
    // A network of containers that run, whose packets go nowhere but by this host.
    let holds =
        view.interfaces.iter().any(|one| one.master == Some(interface.index) && one.kind.as_deref() == Some("veth"));
    let made = CONTAINERS.iter().any(|start| interface.name.starts_with(start));
    let contained = made && holds && !view.addresses().unwrap_or_default().is_empty();
    let inside = way_out(view).is_some_and(|out| out.index != interface.index);
    if contained && inside && view.sysctl_number("net.ipv4.ip_forward") == Ok(0) {
        return view
            .set(Severity::Warning, "net.ipv4.ip_forward", 0, 1)
            .seen("a bridge with members and an address, by which nothing leads out", "ip -d addr; ip route")
            .gain("the containers behind it reach other hosts")
            .alone();
    }
    // A bridge passes frames on by itself.
    let bridged = interface.master.is_some() || interface.kind.as_deref() == Some("bridge");
    let addresses = view.addresses().unwrap_or_default();
    let global = |one: &&Address| matches!(one.address, IpAddr::V6(v6) if !v6.is_unicast_link_local());
    let routed = addresses.iter().any(|one| one.address.is_ipv4() || global(one));
    if !view.wants(&[Load::Forward]) || bridged && !routed {
        return healthy();
    }
    let mut found = Vec::new();
    let all = view.sysctl_number("net.ipv4.ip_forward")?;
    let own = view.own_sysctl("net.ipv4.conf", "forwarding");
    if all == 0 {
        // A bridge that leads out, as a hypervisor's, passes on frames of its members by itself.
        let members = view.interfaces.iter().filter(|one| one.master == Some(interface.index)).count();
        let leads_out = way_out(view).is_some_and(|out| out.index == interface.index);
        let severity = if leads_out && members > 1 { Severity::Note } else { Severity::Warning };
        found.push(view.set(severity, "net.ipv4.ip_forward", 0, 1));
    } else if view.sysctl_number(&own) == Ok(0) {
        found.push(view.set(Severity::Warning, &own, 0, 1));
    }
    let v6 = "net.ipv6.conf.all.forwarding";
    if addresses.iter().any(global) && view.sysctl_number(v6) == Ok(0) {
        // Many route IPv4 alone, and have addresses of IPv6 for themselves.
        // Routes that routers announce go with it, unless they are asked for.
        found.push(
            Finding::new(Severity::Note, format!("{v6} is 0"))
                .seen(format!("{v6} = 0"), format!("sysctl {v6}"))
                .mend(format!("sysctl -w {}=2 {v6}=1", word(view.own_sysctl("net.ipv6.conf", "accept_ra")))),
        );
    }
    Ok(found)
}

pub(super) fn reverse_path(view: &View<'_>) -> Found {
    let all = view.sysctl_number("net.ipv4.conf.all.rp_filter")?;
    if all != 1 {
        return strict_by_itself(view, all);
    }
    // Drops by it are counted, of IPv4 packets that come in: rule ip-drops.
    let silent = view.peer.as_ref().is_some_and(|probed| probed.refused.is_none() && probed.answered == 0);
    let several = view.routes().is_ok_and(|routes| {
        let links: BTreeSet<_> = routes.iter().filter(|one| one.kind == "unicast").map(|one| one.link).collect();
        links.len() > 1
    });
    // Of a host with several networks so many are no forged sources, but answers by another way.
    let dropped = tcp_counter(view, "IPReversePathFilter").map_or(0, |counter| counter.value);
    let own = view.network.addresses.iter().flatten().filter(|one| one.address.is_ipv4() && !one.address.is_loopback());
    let links: BTreeSet<u32> = own.map(|one| one.link).collect();
    let drops = dropped >= DROPPED && links.len() > 1;
    let unanswered = unanswered(view).filter(|_| dropped > 0);
    let severity = if silent && several || drops || unanswered.is_some() { Severity::Warning } else { Severity::Note };
    // The greater of both counts, so that one interface can be loosened by itself.
    let martian = view.logged(&["martian source"]).pop();
    let came = martian.as_deref().and_then(|line| line.rsplit_once("on dev ")).map(|(_, name)| name.trim());
    let came = came.or(unanswered.as_ref().map(|(name, _)| name.as_str()));
    let own = came.filter(|name| !name.contains('.') && view.interfaces.iter().any(|one| one.name == *name));
    let own = own.map(|name| (name, format!("net.ipv4.conf.{name}.rp_filter")));
    let finding = match own.and_then(|(name, own)| Some((name, view.sysctl_number(&own).ok()?, own))) {
        Some((name, now, own)) => Finding {
            what: format!("the reverse path filter drops what comes by {name} and would be answered by another"),
            ..view.set(severity, &own, now, 2)
        }
        .seen(format!("net.ipv4.conf.all.rp_filter = {all}"), "sysctl net.ipv4.conf.all.rp_filter"),
        None => view.set(severity, "net.ipv4.conf.all.rp_filter", all, 2),
    };
    let finding = match dropped {
        0 => finding,
        dropped => finding.seen(format!("TcpExtIPReversePathFilter {dropped}"), "nstat -az TcpExtIPReversePathFilter"),
    };
    match (martian, unanswered) {
        (Some(line), _) => finding.seen(line.trim(), "dmesg"),
        (None, Some((_, line))) => finding.seen(line, "tcpdump"),
        _ => finding,
    }
    .gain("or, for sources behind one interface: a rule and a table of routes for its address, so that answers leave by it")
    .alone()
}

/// Interface whose address a captured SYN is for, from a source that leads out by another, and that SYN, if nothing answers it.
fn unanswered(view: &View<'_>) -> Option<(String, String)> {
    let text = view.file("posted/capture").ok()?;
    let host = |word: &str| word.trim_end_matches(':').rsplit_once('.')?.0.parse::<IpAddr>().ok();
    let ends = |line: &str| {
        let (_, rest) = line.split_once(" IP ")?;
        let mut words = rest.split_whitespace();
        Some((host(words.next()?)?, host(words.nth(1)?)?))
    };
    let answered = |from: IpAddr, to: IpAddr| text.lines().any(|line| ends(line) == Some((to, from)));
    let routes = view.routes().ok()?;
    text.lines().filter(|line| line.contains("Flags [S],")).find_map(|line| {
        let (from, to) = ends(line)?;
        let own = view.network.addresses.iter().flatten().find(|one| one.address == to)?;
        let way = routes.iter().filter(|one| one.kind == "unicast" && one.table == MAIN && one.is_to(from));
        let way = way.max_by_key(|one| (one.to.1, std::cmp::Reverse(one.priority)))?.link?;
        (way != own.link && !answered(from, to))
            .then(|| Some((view.named(own.link)?.name.clone(), line.trim().to_owned())))?
    })
}

/// The filter of one interface, which is strict though that of all is not: told where it has dropped much.
fn strict_by_itself(view: &View<'_>, all: u64) -> Found {
    let dropped = tcp_counter(view, "IPReversePathFilter").map_or(0, |counter| counter.value);
    let file = |name: &str| format!("proc/sys/net/ipv4/conf/{name}/rp_filter");
    let holds =
        |link: u32| view.network.addresses.iter().flatten().any(|own| own.link == link && own.address.is_ipv4());
    let strict: Vec<_> = (view.interfaces.iter())
        .filter(|one| one.hardware != LOOPBACK && holds(one.index) && view.number(&file(&one.name)) == Ok(1_u64))
        .collect();
    if all > 1 || dropped < DROPPED || view.interfaces.iter().filter(|one| holds(one.index)).count() < 2 {
        return healthy();
    }
    // Answers leave by the way out: what is dropped came by another one.
    let out = way_out(view).map(|out| out.index);
    let Some(one) = strict.iter().find(|one| Some(one.index) != out).or(strict.first()) else { return healthy() };
    let name = match one.name.contains('.') {
        true => format!("net/ipv4/conf/{}/rp_filter", one.name),
        false => format!("net.ipv4.conf.{}.rp_filter", one.name),
    };
    let what = format!("the reverse path filter drops what comes by {} and would be answered by another", one.name);
    Finding { what, ..view.set(Severity::Warning, &name, 1, 2) }
        .seen(format!("TcpExtIPReversePathFilter {dropped}"), "nstat -az TcpExtIPReversePathFilter")
        .gain("or, for sources behind one interface: a rule and a table of routes for its address, so that answers leave by it")
        .alone()
}

const LOOPBACK: u16 = 772;

/// Packets that the reverse path filter has dropped before it is told as a loss.
const DROPPED: u64 = 10_000;

#[derive(PartialEq, Eq)]
struct Direct<'a> {
    name: &'a str,
    /// Network and mask.
    subnet: [u32; 2],
    metric: u64,
}

/// Routes to subnets without a gateway, those first that are taken first.
fn direct(text: &str) -> Vec<Direct<'_>> {
    let one = |line| {
        let words: Vec<&str> = str::split_whitespace(line).collect();
        let [name, network, "00000000", flags, _, _, metric, mask, ..] = words[..] else { return None };
        let hex = |word| u32::from_str_radix(word, 16).ok();
        // RTF_UP, and neither RTF_HOST nor RTF_REJECT.
        // Of link-local addresses each interface has a route.
        let local = u32::from_ne_bytes([169, 254, 0, 0]) == hex(network)?;
        let is_subnet = hex(flags)? & 0x205 == 1 && hex(mask)? != 0 && !local;
        let route = Direct { name, subnet: [hex(network)?, hex(mask)?], metric: metric.parse().ok()? };
        is_subnet.then_some(route)
    };
    let mut all: Vec<Direct<'_>> = text.lines().filter_map(one).collect();
    all.sort_by_key(|route| route.metric);
    all
}

/// Neighbour that stands at the interface and at another one alike.
fn one_segment<'a>(view: &'a View<'_>, beside: &str) -> Option<&'a Neighbour> {
    let other = view.interfaces.iter().find(|one| one.name == beside)?.index;
    let all = || view.network.neighbours.iter().flatten().filter(|one| one.mac.is_some());
    let alike =
        |one: &Neighbour| all().any(|two| two.link == other && (two.address, &two.mac) == (one.address, &one.mac));
    all().find(|one| one.link == view.interface().index && alike(one))
}

fn asymmetric_route(view: &View<'_>) -> Found {
    let text = view.file("proc/net/route")?;
    let name = view.name();
    let routes = direct(&text);
    let runs = |name: &str| view.interfaces.iter().any(|one| one.name == name && one.has("RUNNING"));
    let other = |own: &Direct<'_>| {
        routes.iter().position(|route| route.name != own.name && route.subnet == own.subnet && runs(route.name))
    };
    let pair = routes.iter().enumerate().filter(|(_, own)| own.name == name && runs(name));
    let Some((at, own, other)) = pair.into_iter().find_map(|(at, own)| Some((at, own, other(own)?))) else {
        return healthy();
    };
    // The greater of both counts.
    let setting = |key: &str| {
        let of = |whose: &str| view.number::<u64>(&format!("proc/sys/net/ipv4/conf/{whose}/{key}")).ok();
        of("all").max(of(name)).unwrap_or(0)
    };
    let [ignore, announce, strict] = ["arp_ignore", "arp_announce", "rp_filter"].map(setting);
    let drops = strict == 1 && other < at;
    if ignore > 0 && announce > 1 && !drops {
        return healthy();
    }
    // In the order of the bytes in memory.
    let subnet = Ipv4Addr::from(own.subnet[0].to_ne_bytes());
    let (bits, beside) = (own.subnet[1].count_ones(), routes[other].name);
    // One neighbour at both: they are on one segment, where each answers for the other.
    let shared = one_segment(view, beside);
    // Of a laptop at the dock the radio is what is left when the cable goes.
    let radio = [name, beside].iter().any(|one| view.is_wireless(one)) && own.metric != routes[other].metric;
    // It receives, and sends nothing: all answers leave by the other.
    let passed = |name: &str| view.interface().counters.get(name).unwrap_or(0);
    let [sent, received] = ["tx_packets", "rx_packets"].map(passed);
    let of_other = view.interfaces.iter().find(|one| one.name == beside).and_then(|one| one.counters.get("tx_packets"));
    let one_way = received.max(of_other.unwrap_or(0)) > 1_000_000
        && view.interface().counters.get("tx_packets").is_some()
        && sent.saturating_mul(1000) < received.max(of_other.unwrap_or(0))
        && received > 0
        && other < at;
    let (severity, what) = match drops {
        _ if radio => (Severity::Note, "the one with the lesser metric is taken"),
        false if one_way => (Severity::Warning, "answers for one leave by the other"),
        true => (Severity::Warning, "what it receives from there is dropped"),
        false if shared.is_some() => (Severity::Warning, "both answer for each one's address"),
        false => (view.graver_for(&[Load::Tcp, Load::Udp]), "answers for one may leave by the other"),
    };
    let (loose, guard) = match drops {
        true => (" net.ipv4.conf.all.rp_filter=2", "; rp_filter=2 loosens a guard against forged sources"),
        false => ("", ""),
    };
    Finding::new(severity, format!("{beside} has a route to {subnet}/{bits}, too: {what}"))
        .seen(format!("{subnet}/{bits} by {name} and {beside}, without a gateway"), "/proc/net/route")
        .seen(
            format!("arp_ignore {ignore}, arp_announce {announce}, rp_filter {strict}"),
            format!("sysctl -a -r {}, the greater", word(r"net\.ipv4\.conf\..*\.(arp_ignore|arp_announce|rp_filter)")),
        )
        .mend(format!("sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2{loose}"))
        .gain(format!("each answers for its own address; a subnet each, or a bond of both, also sends by both{guard}"))
        .alone()
}

fn advertisements(view: &View<'_>) -> Found {
    let [accepts, forwards] = ["accept_ra", "forwarding"].map(|key| view.own_sysctl("net.ipv6.conf", key));
    // A kernel without IPv6 has none of it.
    if [&accepts, &forwards].map(|name| view.sysctl_number(name)) != [Ok(1), Ok(1)] {
        return healthy();
    }
    let told = |one: &&&Address| matches!(one.address, IpAddr::V6(v6) if one.dynamic && !v6.is_unicast_link_local());
    let own = view.addresses()?;
    let what = format!("it forwards IPv6, and so heeds no advertisement of a router: {accepts} is 1");
    // An address that was set by hand: it is a router's port, or a server's, that is not to follow others.
    let by_hand =
        |one: &&&Address| matches!(one.address, IpAddr::V6(v6) if !one.dynamic && !v6.is_unicast_link_local());
    let Some(one) = own.iter().find(told) else {
        // What it had has ended, and a router goes on to offer it.
        let text = view.file("posted/rdisc6").unwrap_or_default();
        let lifetime = text.lines().find(|line| {
            line.contains("Router lifetime")
                && line.split(':').nth(1).is_some_and(|time| !time.trim().starts_with("0 "))
        });
        let way = view
            .routes()
            .is_ok_and(|all| all.iter().any(|one| one.to.0.is_ipv6() && one.to.1 == 0 && one.kind == "unicast"));
        let local = own.iter().any(|one| one.address.is_ipv6());
        let Some(line) = lifetime.filter(|_| local && !way && !own.iter().any(|one| by_hand(&one))) else {
            return healthy();
        };
        return Finding { what, ..view.set(Severity::Warning, &accepts, 1, 2) }
            .seen(format!("{forwards} = 1"), format!("sysctl {}", word(&forwards)))
            .seen("no address of IPv6 but the link's own, and no default route", "ip -6 addr; ip -6 route")
            .seen(line.trim(), format!("rdisc6 {}", view.typed()))
            .gain("advertisements are heeded though it forwards")
            .alone();
    };
    if own.iter().any(|one| by_hand(&one)) {
        return healthy();
    }
    Finding { what, ..view.set(Severity::Warning, &accepts, 1, 2) }
        .seen(format!("{forwards} = 1"), format!("sysctl {}", word(&forwards)))
        .seen(format!("{}/{} ends some time", one.address, one.prefix), format!("ip -6 addr show dev {}", view.typed()))
        .gain("advertisements are heeded though it forwards")
        .alone()
}

/// Gateways of routes that answer no ARP, each once: a warning if no other route to the network is taken before.
fn gateways(view: &View<'_>, neighbours: &[Neighbour]) -> Result<Vec<Finding>, String> {
    let failed = |link: u32, via: IpAddr| {
        neighbours.iter().any(|one| one.link == link && one.address == via && one.state == "failed")
    };
    let routes = view.routes()?.iter().filter(|route| route.kind == "unicast" && route.table == MAIN);
    let mut routes: Vec<(&Route, u32, IpAddr)> =
        routes.filter_map(|route| Some((route, route.link?, route.gateway?))).collect();
    // The default route, and of those to one network that which is taken.
    routes.sort_by_key(|(route, ..)| (route.to.1, route.priority));
    let (mut found, mut told) = (Vec::new(), BTreeSet::new());
    for (route, link, via) in routes.iter().filter(|(_, link, via)| failed(*link, *via)) {
        if !told.insert((*link, *via)) {
            continue;
        }
        let others = || routes.iter().filter(|(other, at, by)| other.to == route.to && !failed(*at, *by));
        let is_spare = others().any(|(other, ..)| other.priority < route.priority);
        let (severity, network) = (if is_spare { Severity::Note } else { Severity::Warning }, route.network());
        let name = word(view.named(*link).map_or("DEV", |one| &one.name));
        let mend = match others().next().filter(|_| !is_spare) {
            Some((.., by)) => {
                format!("see whether {via} is up; to go by {by} meanwhile: ip route del {network} via {via} dev {name}")
            }
            None => format!("see whether {via} is up, and the cable to it"),
        };
        let finding = Finding::new(severity, format!("the gateway {via} of the route to {network} does not answer"))
            .seen(format!("{via} failed"), format!("ip neigh show {via} dev {name}"));
        // Reached by no network of the interface: a mask that is too long, or another network's gateway.
        let own: Vec<&Address> = view.network.addresses.iter().flatten().filter(|one| one.link == *link).collect();
        let outside = own.iter().find(|one| one.address.is_ipv4() == via.is_ipv4() && one.prefix < 32);
        let outside = outside.filter(|_| via.is_ipv4() && !own.iter().any(|one| one.has(*via)));
        found.push(match outside {
            Some(one) => Finding {
                what: format!("the gateway {via} of the route to {network} does not answer, and lies outside of {}/{}", one.address, one.prefix),
                ..finding
            }
            .seen(format!("{}/{}", one.address, one.prefix), format!("ip addr show dev {name}"))
            .mend(format!("the mask or the gateway is wrong: ip addr change {0}/BITS dev {name} with one that has {via}, or another gateway", one.address)),
            None => finding.mend(mend),
        });
    }
    Ok(found)
}

fn next_hop(view: &View<'_>) -> Found {
    let routes = view.routes()?;
    let several: Vec<&Route> = routes.iter().filter(|route| route.hops.len() > 1).collect();
    if several.is_empty() && routes.iter().all(|route| route.gateway.is_none()) {
        return healthy();
    }
    let neighbours = have(&view.network.neighbours)?;
    let state = |link: u32, hop: IpAddr| {
        neighbours.iter().find(|one| one.link == link && one.address == hop).map_or("not known", |one| one.state)
    };
    let asked =
        view.peer.iter().flat_map(|probed| &probed.silent_hops).map(|hop| IpAddr::from(*hop)).collect::<Vec<_>>();
    // One that was heard of lately, or was set, may not answer ARP at once.
    let is_dead = |link: u32, hop: IpAddr| match state(link, hop) {
        "failed" | "incomplete" => true,
        "not known" | "none" | "probe" => asked.contains(&hop),
        _ => false,
    };
    let mut found = gateways(view, neighbours)?;
    for route in several {
        let dead: Vec<_> = route
            .hops
            .iter()
            .filter_map(|(link, hop)| Some((*link, (*hop)?)))
            .filter(|(link, hop)| is_dead(*link, *hop))
            .collect();
        let network = route.network();
        let Some((_, first)) = dead.first() else { continue };
        let what = format!(
            "{} of {} next hops of the route to {network} do not answer: {first}",
            dead.len(),
            route.hops.len()
        );
        let finding = dead.iter().take(4).fold(Finding::new(Severity::Warning, what), |finding, (link, hop)| {
            finding.seen(format!("{hop} {}", state(*link, *hop)), format!("ip neigh show {hop}"))
        });
        found.push(
            finding
                .mend(format!(
                    "see whether {first} is up; or have routes leave out those that do not answer: \
                     sysctl -w net.ipv4.fib_multipath_use_neigh=1"
                ))
                .gain("flows take a next hop that answers"),
        );
    }
    found.truncate(8);
    Ok(found)
}

const MAIN: u32 = 254;
const LOCAL: u32 = 255;

fn policy_empty(view: &View<'_>) -> Found {
    let (policies, routes) = (have(&view.network.policies)?, view.routes()?);
    if !routes.iter().any(|route| route.table == LOCAL) {
        return Err("the routes of other tables than the main one are not told".to_owned());
    }
    let own = |address: IpAddr| view.network.addresses.iter().flatten().find(|one| one.address == address);
    let mut found = Vec::new();
    for one in policies.iter().filter(|one| !(MAIN - 1..=LOCAL).contains(&one.table)) {
        let Some((from, bits)) = one.from.filter(|_| !routes.iter().any(|route| route.table == one.table)) else {
            continue;
        };
        let address = own(from);
        let severity = if address.is_some() { Severity::Warning } else { Severity::Note };
        let link = address.and_then(|address| view.named(address.link));
        let gateway = routes
            .iter()
            .find(|route| link.is_some_and(|link| route.link == Some(link.index)) && route.gateway.is_some());
        let gateway = gateway.and_then(|route| route.gateway).map_or("GATEWAY".to_owned(), |via| via.to_string());
        let device = link.map_or("DEV".to_owned(), |link| word(&link.name));
        found.push(
            Finding::new(
                severity,
                format!("packets from {from}/{bits} are to take table {}, which has no route", one.table),
            )
            .seen(format!("{}: from {from}/{bits} lookup {}", one.priority, one.table), "ip rule")
            .mend(format!("ip route add default via {gateway} dev {device} table {}", one.table)),
        );
    }
    found.truncate(8);
    Ok(found)
}

/// The loss that a metric means, if it means one.
fn cost(metric: &Metric, mtu: u32, view: &View<'_>) -> Option<(Severity, String)> {
    let Metric { name, value, locked } = *metric;
    let warning = |words: &str| Some((Severity::Warning, words.to_owned()));
    match name {
        "mtu" if value < mtu => {
            let probed = view
                .peer
                .as_ref()
                .is_some_and(|probed| u32::try_from(probed.largest).is_ok_and(|largest| largest > value));
            let severity = if probed || value < 1280 { Severity::Warning } else { Severity::Note };
            Some((severity, format!("packets of {value} bytes at most, the interface sends {mtu}")))
        }
        "advmss" if value < mtu.saturating_sub(100) => {
            let severity = if value < 1220 { Severity::Warning } else { Severity::Note };
            Some((severity, format!("the other end is asked for segments of {value} bytes at most")))
        }
        "window" if value < 1 << 18 => warning("the window that is offered stays below it"),
        "cwnd" if locked && value < 128 => warning("so many segments are under way at most"),
        "initcwnd" if value < 10 => {
            Some((view.graver_for(&[Load::Tcp]), "connections begin with so few segments".to_owned()))
        }
        "initrwnd" if value < 10 => {
            Some((view.graver_for(&[Load::Tcp]), "so few segments are offered room at first".to_owned()))
        }
        "rto_min" if value > 1000 => warning("a lost segment that nothing follows is sent again after so many ms"),
        "hoplimit" if value < 32 => warning("routers on the way drop packets after so many hops"),
        _ => None,
    }
}

fn route_metrics(view: &View<'_>) -> Found {
    let (typed, interface) = (view.typed(), view.interface());
    let mtu = interface.mtu.unwrap_or(0);
    let mut found = Vec::new();
    let set = |route: &Route| !route.metrics.is_empty() || route.congestion.is_some();
    let own = |route: &&Route| route.link == Some(interface.index) && route.kind == "unicast" && set(route);
    for route in view.routes()?.iter().filter(own) {
        let network = route.network();
        let read = format!("ip{} route show table all dev {typed}", if route.to.0.is_ipv4() { "" } else { " -6" });
        let mut seen: Vec<(Severity, String, String)> = route
            .metrics
            .iter()
            .filter_map(|metric| {
                let (severity, words) = cost(metric, mtu, view)?;
                let lock = if metric.locked { "lock " } else { "" };
                Some((severity, format!("{} {lock}{}", metric.name, metric.value), words))
            })
            .collect();
        if let Some(reno) = route.congestion.as_deref().filter(|one| ["reno", "lp", "vegas"].contains(one)) {
            let words = "connections by it have this congestion control".to_owned();
            seen.push((Severity::Note, format!("congctl {reno}"), words));
        }
        let Some(severity) = seen.iter().map(|one| one.0).max() else { continue };
        let names: Vec<&str> = seen.iter().map(|one| one.1.as_str()).collect();
        let first = Finding::new(severity, format!("its route to {network} sets {}", names.join(", ")));
        let finding = seen
            .iter()
            .fold(first, |finding, (_, value, words)| finding.seen(format!("{value}: {words}"), read.as_str()));
        let table = if route.table == MAIN { String::new() } else { format!(" table {}", route.table) };
        let via = route.gateway.map(|via| format!(" via {via}")).unwrap_or_default();
        // What is typed takes off these and nothing else, or it is not told.
        let alone = route.plain && seen.len() == route.metrics.len() + usize::from(route.congestion.is_some());
        found.push(if alone {
            finding.mend(format!("ip route replace {network}{via} dev {typed}{table}"))
        } else {
            finding.gain("make the route anew with all that it has but these, or change what made it")
        });
    }
    found.truncate(8);
    Ok(found)
}

fn neighbours(view: &View<'_>) -> Found {
    let text = view.file("proc/net/arp")?;
    let dead: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            // Incomplete: no flag is set.
            (words.get(2) == Some(&"0x0")).then_some(words[0])
        })
        .collect();
    let Some(first) = dead.first() else { return healthy() };
    if let Some(finding) = mask_too_short(view, &dead) {
        return finding.alone();
    }
    Finding::new(Severity::Note, format!("{} of the neighbours asked for do not answer", dead.len()))
        .seen(format!("{first} incomplete"), "/proc/net/arp, ip neigh")
        .mend("see that these addresses are in use; 'ip neigh flush nud failed' forgets them")
        .alone()
}

/// A finding about a mask that is too short: hosts of many other networks are asked for on the link, and none answers.
fn mask_too_short(view: &View<'_>, dead: &[&str]) -> Option<Finding> {
    let near = |ip: Ipv4Addr| u32::from(ip) >> 8;
    let dead: Vec<Ipv4Addr> = dead.iter().filter_map(|one| one.parse().ok()).collect();
    let own = view.network.addresses.iter().flatten().filter(|one| (1..24).contains(&one.prefix));
    own.filter_map(|one| if let IpAddr::V4(v4) = one.address { Some((one, v4)) } else { None }).find_map(|(one, v4)| {
        let far: Vec<_> = dead.iter().filter(|ip| one.has(IpAddr::V4(**ip)) && near(**ip) != near(v4)).collect();
        let networks: BTreeSet<u32> = far.iter().map(|ip| near(**ip)).collect();
        // Nobody answers but in its own one.
        let silent = !view.network.neighbours.iter().flatten().any(|two| match two.address {
            IpAddr::V4(ip) => two.mac.is_some() && two.link == one.link && near(ip) != near(v4),
            IpAddr::V6(_) => false,
        });
        if networks.len() < 3 || !silent {
            return None;
        }
        let name = word(view.named(one.link).map_or("DEV", |link| &link.name));
        let what = format!(
            "hosts of {} other networks are asked for on the link, as the mask of {}/{} has them, and none answers",
            networks.len(),
            one.address,
            one.prefix
        );
        Some(
            Finding::new(Severity::Warning, what)
                .seen(format!("{} and {} more do not answer", far[0], far.len() - 1), "ip neigh")
                .meaning("a mask that is shorter than the network's: what is to go by the gateway is looked for on the link")
                .mend(format!(
                    "the network's own mask, /24 as a rule: ip addr add {v4}/24 dev {name} && ip addr del {v4}/{} dev {name}, and so in \
                     the file that sets it",
                    one.prefix
                )),
        )
    })
}

/// The table of IPv6's neighbours, which has limits of its own.
fn neighbour_table_of_ipv6(view: &View<'_>) -> Found {
    let (name, soft) = ("net.ipv6.neigh.default.gc_thresh3", "net.ipv6.neigh.default.gc_thresh2");
    let Ok(most) = view.sysctl_number(name) else { return healthy() };
    let all = view.network.neighbours.iter().flatten();
    let entries =
        all.filter(|one| one.address.is_ipv6() && !["permanent", "noarp"].contains(&one.state)).count() as u64;
    if entries * 2 <= most {
        return healthy();
    }
    let to = (entries * 4).max(4096);
    let finding = view.set(Severity::Warning, name, most, to).writes(sysctl_path(soft), (to / 2).to_string());
    let mend = finding.mend.clone().unwrap_or_default();
    finding
        .mend(format!("{mend} {soft}='{}'", to / 2))
        .seen(format!("{entries} entries of IPv6"), "ip -6 neigh")
        .alone()
}

pub(super) fn neighbour_table(view: &View<'_>) -> Found {
    let mut found = neighbour_table_of_ipv6(view)?;
    match neighbour_table_of_ipv4(view) {
        Ok(more) => found.extend(more),
        Err(why) if found.is_empty() => return Err(why),
        Err(_) => {}
    }
    Ok(found)
}

fn neighbour_table_of_ipv4(view: &View<'_>) -> Found {
    let name = "net.ipv4.neigh.default.gc_thresh3";
    let most = view.sysctl_number(name)?;
    // Permanent ones (ATF_PERM) do not count.
    let is_counted = |line: &str| {
        let flags = line.split_whitespace().nth(2)?.strip_prefix("0x")?;
        Some(u32::from_str_radix(flags, 16).ok()? & 4 == 0)
    };
    let statistics = view.file("proc/net/stat/arp_cache").unwrap_or_default();
    let table = view.file("proc/net/arp");
    let table = if statistics.is_empty() { table? } else { table.unwrap_or_default() };
    let entries = table.lines().skip(1).filter(|line| is_counted(line) == Some(true)).count() as u64;
    // Each processor's line has all of them.
    let known =
        statistics.lines().nth(1).and_then(|line| u64::from_str_radix(line.split_whitespace().next()?, 16).ok());
    let entries = entries.max(known.unwrap_or(0));
    if entries * 2 <= most {
        return healthy();
    }
    let to = (entries * 4).max(4096);
    let finding = view.set(Severity::Warning, name, most, to);
    // Above this one entries are collected after five seconds.
    let soft = "net.ipv4.neigh.default.gc_thresh2";
    let finding = match view.sysctl_number(soft) {
        Ok(now) if now < to / 2 => {
            let mend = finding.mend.clone().unwrap_or_default();
            finding
                .seen(format!("{soft} = {now}"), format!("sysctl {soft}"))
                .mend(format!("{mend} {soft}='{}'", to / 2))
                .writes(sysctl_path(soft), (to / 2).to_string())
        }
        _ => finding,
    };
    let finding = finding
        .seen(format!("{entries} entries that are not permanent"), "/proc/net/arp")
        .gain("the table has room for the neighbours that it has, and as many again");
    match full(&statistics) {
        0 => finding,
        times => finding.seen(format!("table_fulls {times}"), "/proc/net/stat/arp_cache"),
    }
    .alone()
}

/// Number of times that the table was full, of all processors.
fn full(text: &str) -> u64 {
    let mut lines = text.lines();
    let at = lines.next().and_then(|names| names.split_whitespace().position(|name| name == "table_fulls"));
    let count = |line: &str| u64::from_str_radix(line.split_whitespace().nth(at?)?, 16).ok();
    lines.filter_map(count).sum()
}

fn neighbour_fixed(view: &View<'_>) -> Found {
    let (name, typed) = (view.name(), view.typed());
    // Programs of overlay networks (flannel, BGP EVPN) set those of theirs, and what they have learned.
    let overlay = matches!(view.interface().kind.as_deref(), Some("vxlan" | "geneve"));
    let by_hand = |one: &&Neighbour| one.state == "permanent" && one.mac.is_some() && !one.learned && !overlay;
    let fixed: Vec<_> = view.neighbours()?.into_iter().filter(by_hand).collect();
    // The next hop of the peer that was named.
    let hop = view.peer.as_ref().filter(|probed| probed.way == name && probed.refused.is_none());
    let dead = hop.filter(|probed| probed.answered == 0).map(|probed| probed.hop());
    let Some(first) = fixed.iter().find(|one| Some(one.address) == dead).or(fixed.first()) else { return healthy() };
    let severity = if Some(first.address) == dead { Severity::Warning } else { Severity::Note };
    let mac = first.mac.as_deref().unwrap_or_default();
    let what = match severity {
        Severity::Note => format!("{} of its neighbours are set by hand", fixed.len()),
        _ => format!("the neighbour {} is set by hand, and does not answer there", first.address),
    };
    Finding::new(severity, what)
        .seen(format!("{} is {mac}, permanent", first.address), format!("ip neigh show dev {typed}"))
        .mend(format!("ip neigh del {} dev {typed}", first.address))
        .alone()
}

fn arp(view: &View<'_>) -> Found {
    let (name, typed, interface) = (view.name(), view.typed(), view.interface());
    // Ethernet, of a kind that has neighbours.
    let kinds =
        [None, Some("veth"), Some("bridge"), Some("bond"), Some("team"), Some("tun"), Some("vlan"), Some("macvlan")];
    let member = interface.master.is_some() || interface.has("SLAVE");
    if interface.hardware != 1 || member || !kinds.contains(&interface.kind.as_deref()) {
        return healthy();
    }
    // A port that captures speaks to nobody.
    // One of containers has its neighbours from a program.
    let contained = CONTAINERS.iter().any(|start| name.starts_with(start));
    // Nor has one of two ends, or a VRF's.
    let needs_none = ["PROMISC", "POINTOPOINT", "MASTER"].iter().any(|flag| view.has_flag(flag));
    if view.has_flag("NOARP") && (needs_none || contained) {
        return healthy();
    }
    if view.has_flag("NOARP") {
        return Finding::new(Severity::Warning, "it does not speak ARP")
            .seen("NOARP", format!("ip link show dev {typed}"))
            .mend(format!("ip link set dev {typed} arp on"))
            .alone();
    }
    // The greater of both counts.
    let of = |whose: &str| view.number::<u64>(&format!("proc/sys/net/ipv4/conf/{whose}/arp_ignore")).ok();
    let ignore = of("all").max(of(name)).unwrap_or(0);
    let own = word(view.own_sysctl("net.ipv4.conf", "arp_ignore"));
    // An address of this network at the loopback is one that others answer for, as of a service behind a balancer.
    let lo = view.interfaces.iter().find(|one| one.hardware == LOOPBACK).map(|lo| lo.index);
    let mut held = view.network.addresses.iter().flatten().filter(|one| Some(one.link) == lo && one.prefix == 32);
    let near = held.find(|one| {
        !one.address.is_loopback() && view.addresses().is_ok_and(|own| own.iter().any(|two| two.has(one.address)))
    });
    if let (0, Some(one)) = (ignore, near) {
        return Finding::new(
            Severity::Warning,
            format!("it answers ARP for {}, which stands at the loopback", one.address),
        )
        .seen(
            format!("{}/32 at lo, arp_ignore {ignore}", one.address),
            "ip addr show dev lo; sysctl net.ipv4.conf.all.arp_ignore",
        )
        .meaning("where others of this network have that address, too, as a balancer does, all of them answer for it")
        .mend("sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2")
        .alone();
    }
    if ignore != 8 {
        return healthy();
    }
    Finding::new(Severity::Warning, "it answers no ARP request")
        .seen(format!("arp_ignore {ignore}"), format!("sysctl net.ipv4.conf.all.arp_ignore {own} (the greater)"))
        .mend(format!("sysctl -w net.ipv4.conf.all.arp_ignore=0 {}=0", own))
        .writes("proc/sys/net/ipv4/conf/all/arp_ignore", "0")
        .writes(format!("proc/sys/net/ipv4/conf/{name}/arp_ignore"), "0")
        .alone()
}
