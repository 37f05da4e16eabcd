//! Interfaces that stand on others: bridges, bonds, VLANs, virtual pairs.

use super::ip::{way_out, way_to};
use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::protocols::{protocol_counter, tcp_counter};
use crate::doctor::rule::{Found, INTERFACE, Proof, Rule, healthy};
use crate::doctor::view::View;
use linerate_host::adapter::{Detail, FilterChain, Interface};
use linerate_host::shell::word;
use linerate_host::tunables::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) const RULES: &[Rule] = &[
    INTERFACE.by("mtu-of-lower", mtu_of_lower).risk(Risk::Traffic).proof(Proof::Stream),
    INTERFACE.by("mtu-of-members", mtu_of_members),
    INTERFACE.by("bond-half", bond_half),
    INTERFACE.by("bond-unwatched", bond_unwatched),
    INTERFACE.by("bond-lacp", bond_lacp),
    INTERFACE.by("bond-hash", bond_hash),
    INTERFACE.by("bridge-filtered", bridge_filtered),
    INTERFACE.by("bridge-port", bridge_port),
    INTERFACE.by("bridge-vlan", bridge_vlan),
    INTERFACE.by("duplicate-address", duplicate_address),
];

/// Bytes that tunnels put before a packet of IPv4: outer headers, and that of Ethernet where they carry frames.
const TUNNELS: &[(&str, u32)] = &[
    ("vxlan", 50),
    ("geneve", 50),
    ("gretap", 38),
    ("gre", 24),
    ("ipip", 20),
    ("sit", 20),
    ("wireguard", 60),
    ("ip6tnl", 40),
    ("ip6gre", 44),
    ("ip6gretap", 58),
];

/// A finding about a tunnel whose packets do not fit the interface that it is tied to.
fn tunnel(view: &View<'_>) -> Option<Finding> {
    let interface = view.interface();
    let (_, bytes) = TUNNELS.iter().find(|(kind, _)| Some(*kind) == interface.kind.as_deref())?;
    let tied = match interface.details.get("dev") {
        Some(Detail::Link(index)) => view.named(*index),
        _ => interface.lower.filter(|_| !interface.lower_elsewhere).and_then(|lower| view.named(lower)),
    };
    let address = |name| match interface.details.get(name) {
        Some(Detail::Word(word)) => word.parse::<IpAddr>().ok(),
        _ => None,
    };
    let from = || {
        let local = address("local")?;
        view.named(view.network.addresses.iter().flatten().find(|one| one.address == local)?.link)
    };
    // Its peers may be anywhere: by the way out, unless that is itself.
    let out =
        || way_out(view).filter(|out| interface.kind.as_deref() == Some("wireguard") && out.index != interface.index);
    let below = tied.or_else(|| way_to(view, address("remote")?)).or_else(from).or_else(out)?;
    let (mtu, lower) = (interface.mtu?, below.mtu?);
    let fits = lower.saturating_sub(*bytes);
    (mtu > fits).then(|| {
        Finding::new(
            Severity::Warning,
            format!("its MTU is {mtu}, and with the {bytes} bytes of the tunnel {} has room for {fits}", below.name),
        )
        .seen(format!("{} {mtu}, {} {lower}", view.name(), below.name), "ip -d link")
        .mend(format!("ip link set dev {} mtu {fits}", view.typed()))
        .sets(view.name(), "mtu", Value::Number(fits.into()))
        .gain("long frames arrive, and are not cut into fragments")
    })
}

fn mtu_of_lower(view: &View<'_>) -> Found {
    let interface = view.interface();
    if let Some(finding) = tunnel(view) {
        return finding.alone();
    }
    let below = interface.lower.filter(|_| !interface.lower_elsewhere).and_then(|lower| view.named(lower));
    let Some((below, mtu, lower)) = below.and_then(|below| Some((below, interface.mtu?, below.mtu?))) else {
        return healthy();
    };
    let peers = interface.kind.as_deref() == Some("veth");
    if (peers && mtu == lower) || (!peers && mtu <= lower) {
        return healthy();
    }
    let (name, other) = (view.name(), &below.name);
    let less = if mtu < lower { name } else { other };
    let what = if peers { "the other end" } else { "the interface below" };
    Finding::new(Severity::Warning, format!("its MTU is {mtu}, that of {what}, {other}, {lower}"))
        .seen(format!("{name} {mtu}, {other} {lower}"), "ip link")
        .mend(format!("ip link set dev {} mtu {}", word(less), mtu.max(lower)))
        .sets(less, "mtu", Value::Number(mtu.max(lower).into()))
        .gain("long frames arrive")
        .alone()
}

fn mtu_of_members(view: &View<'_>) -> Found {
    let interface = view.interface();
    if interface.kind.as_deref() != Some("bridge") {
        return healthy();
    }
    let members: Vec<_> = view.interfaces.iter().filter(|one| one.master == Some(interface.index)).collect();
    let mtus: BTreeSet<u32> = members.iter().filter_map(|one| one.mtu).collect();
    if mtus.len() < 2 {
        return healthy();
    }
    let list: Vec<String> = members.iter().map(|one| format!("{} {}", one.name, one.mtu.unwrap_or_default())).collect();
    Finding::new(Severity::Warning, "its members have different MTUs")
        .seen(list.join(", "), format!("ip link show master {}", view.typed()))
        .mend("ip link set DEV mtu N, the same for all")
        .alone()
}

/// Lines of each member, by their names.
fn members(text: &str) -> Vec<(&str, BTreeMap<&str, &str>)> {
    let mut all: Vec<(&str, BTreeMap<&str, &str>)> = Vec::new();
    for (key, value) in text.lines().filter_map(|line| line.trim().split_once(": ")) {
        match all.last_mut() {
            _ if key == "Slave Interface" => all.push((value, BTreeMap::new())),
            Some((_, lines)) => _ = lines.entry(key).or_insert(value),
            None => {}
        }
    }
    all
}

fn bond_half(view: &View<'_>) -> Found {
    if view.interface().kind.as_deref() != Some("bond") || !view.is_up() {
        return healthy();
    }
    let (path, read) = (format!("proc/net/bonding/{}", view.name()), format!("/proc/net/bonding/{}", view.typed()));
    let text = view.file(&path)?;
    let members = members(&text);
    let runs = |name: &str| view.interfaces.iter().find(|one| one.name == name).is_none_or(|one| one.has("RUNNING"));
    let state = |lines: &BTreeMap<&str, &str>| lines.get("MII Status").map_or("not told", |state| state).to_owned();
    // What grep(1) has left may tell no state.
    let is_up = |lines: &BTreeMap<&str, &str>| matches!(state(lines).as_str(), "up" | "not told");
    let (up, down): (Vec<_>, Vec<_>) = members.iter().partition(|(name, lines)| is_up(lines) && runs(name));
    let mut found = Vec::new();
    if !down.is_empty() {
        let names: Vec<&str> = down.iter().map(|(name, _)| *name).collect();
        let of = members.len();
        let first = Finding::new(Severity::Warning, format!("{} of its {of} members are down", down.len()));
        let finding = down.iter().fold(first, |finding, (name, lines)| {
            let carrier = if runs(name) { "" } else { ", no carrier" };
            finding.seen(format!("{name}: MII Status {}{carrier}", state(lines)), read.as_str())
        });
        let set: Vec<String> = names.iter().map(|name| format!("ip link set dev {} up", word(name))).collect();
        found.push(finding.mend(format!("see cable, module and partner; {}", set.join("; "))));
    }
    let links: Vec<(&str, String)> = up
        .iter()
        .filter_map(|(name, lines)| Some((*name, lines.get("Speed")?, lines.get("Duplex")?)))
        .filter(|(_, speed, duplex)| !speed.starts_with("Unknown") && !duplex.starts_with("Unknown"))
        .map(|(name, speed, duplex)| (name, format!("{speed} {duplex}")))
        .collect();
    let kinds: BTreeSet<&str> = links.iter().map(|(_, link)| link.as_str()).collect();
    if kinds.len() > 1 {
        // Only one of them carries frames, and a slower one in reserve may be meant.
        let spare = text.lines().any(|line| line.starts_with("Bonding Mode: ") && line.contains("active-backup"));
        let severity = if spare { Severity::Note } else { Severity::Warning };
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let rate = |link: &str| link.split(' ').next().and_then(|rate| rate.parse::<u64>().ok()).unwrap_or(0);
        let active = value("Currently Active Slave:").and_then(|name| links.iter().find(|(one, _)| *one == name));
        let fastest = links.iter().max_by_key(|(_, link)| rate(link));
        if let (true, Some((name, link)), Some((faster, other))) = (spare, active, fastest)
            && rate(link) < rate(other)
            && value("Primary Slave:").is_none_or(|primary| primary == "None")
        {
            let what = format!("its active member {name} is slower than {faster}, and none is preferred");
            found.push(
                Finding::new(Severity::Warning, what)
                    .seen(format!("{name} {link}, {faster} {other}; Primary Slave: None"), read.as_str())
                    .mend(format!("ip link set dev {} type bond primary {}", view.typed(), word(faster)))
                    .gain("the faster link carries the traffic as long as it is up"),
            );
            return Ok(found);
        }
        let list: Vec<String> = links.iter().map(|(name, link)| format!("{name} {link}")).collect();
        found.push(
            Finding::new(severity, "its members have links of unlike speed or duplex")
                .seen(list.join(", "), read.as_str())
                .mend("ethtool -s DEV speed N duplex full autoneg on, the same for all; or ip link set DEV nomaster"),
        );
    }
    Ok(found)
}

fn bond_unwatched(view: &View<'_>) -> Found {
    if view.interface().kind.as_deref() != Some("bond") {
        return healthy();
    }
    let (name, typed) = (view.name(), view.typed());
    let told = |key: &str| match view.interface().details.get(key) {
        Some(Detail::Number(ms)) => Some(*ms),
        _ => None,
    };
    let text = view.file(&format!("proc/net/bonding/{name}"));
    let text = if told("miimon").is_some() { text.unwrap_or_default() } else { text? };
    let interval = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    let mii = interval("MII Polling Interval (ms):").or_else(|| told("miimon"));
    let mii = mii.ok_or("it does not tell how often it looks at links")?;
    let arp = interval("ARP Polling Interval (ms):").or_else(|| told("arp_interval"));
    if mii > 0 || arp.is_some_and(|ms| ms > 0) {
        return healthy();
    }
    Finding::new(Severity::Warning, "it does not watch the links of its members")
        .seen("MII Polling Interval (ms): 0, and none of ARP", format!("/proc/net/bonding/{typed}"))
        .mend(format!("ip link set dev {typed} type bond miimon 100"))
        .gain("a link that goes is left after a tenth of a second")
        .alone()
}

/// Members of a bond, and the word that it says of itself.
fn bonded<'a>(view: &'a View<'_>) -> Vec<&'a Interface> {
    view.interfaces.iter().filter(|one| one.master == Some(view.interface().index)).collect()
}

fn says(view: &View<'_>, key: &str) -> String {
    view.interface().details.get(key).map_or_else(String::new, ToString::to_string)
}

/// A partner that has said nothing.
const NOBODY: &str = "00:00:00:00:00:00";

/// Address of the system that a member's partner says it is, in a bond's file.
fn partner<'t>(text: &'t str, member: &str) -> Option<&'t str> {
    let (_, of) = text.split_once(&format!("Slave Interface: {member}\n"))?;
    let (_, of) = of.split("Slave Interface: ").next()?.split_once("details partner lacp pdu:")?;
    of.lines().find_map(|line| line.trim().strip_prefix("system mac address: "))
}

fn bond_lacp(view: &View<'_>) -> Found {
    if view.interface().kind.as_deref() != Some("bond") || !view.is_up() {
        return healthy();
    }
    let typed = view.typed();
    let text = view.file(&format!("proc/net/bonding/{}", view.name())).unwrap_or_default();
    if !text.contains("802.3ad") && says(view, "mode") != "802.3ad" {
        return healthy();
    }
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let of_link = |one: &Interface| match one.member.get("ad_aggregator_id") {
        Some(Detail::Number(id)) => Some(*id),
        _ => None,
    };
    let up = |name: &str| view.interfaces.iter().find(|one| one.name == name).is_none_or(|one| one.has("RUNNING"));
    let mut all: Vec<(String, u64)> = members(&text)
        .iter()
        .filter(|(_, lines)| lines.get("MII Status") == Some(&"up"))
        .filter_map(|(name, lines)| Some(((*name).to_owned(), number(lines.get("Aggregator ID")?)?)))
        .collect();
    let active = text
        .split_once("Active Aggregator Info")
        .and_then(|(_, rest)| number(rest.split_once("Aggregator ID:")?.1.lines().next()?));
    if all.is_empty() {
        all = bonded(view).into_iter().filter_map(|one| Some((one.name.clone(), of_link(one)?))).collect();
    }
    all.retain(|(name, _)| up(name));
    let Some(active) = active.or_else(|| all.first().map(|(_, id)| *id)) else {
        return Err("no text tells its aggregators".to_owned());
    };
    let left: Vec<&str> = all.iter().filter(|(_, id)| *id != active).map(|(name, _)| name.as_str()).collect();
    if left.is_empty() {
        return healthy();
    }
    // Links to another switch, which is no stack with the first, wait until that goes (ad_select): somebody has set up two.
    let heard = text.lines().find_map(|line| line.trim().strip_prefix("Partner Mac Address: "));
    let spare = |name: &&str| partner(&text, name).is_some_and(|own| own != NOBODY && Some(own) != heard);
    let severity = if left.iter().all(spare) { Severity::Note } else { Severity::Warning };
    Finding::new(
        severity,
        format!("{} of its {} links are left out by LACP: {}", left.len(), all.len(), left.join(", ")),
    )
    .seen(
        all.iter().map(|(name, id)| format!("{name} aggregator {id}")).collect::<Vec<_>>().join(", "),
        format!("/proc/net/bonding/{typed}"),
    )
    .mend("at the partner: its port into the same channel (LAG) as the others, with LACP on")
    .gain("all links of the bond carry traffic")
    .alone()
}

/// Bytes of which a bond has sent enough to judge, and times as many as another.
const MUCH: u64 = 10_000_000_000;
const UNLIKE: u64 = 20;

/// Modes of a bond, by words of its file.
const MODES: [(&str, &str); 4] = [
    ("802.3ad", "802.3ad"),
    ("(xor)", "balance-xor"),
    ("(round-robin)", "balance-rr"),
    ("(active-backup)", "active-backup"),
];

fn bond_hash(view: &View<'_>) -> Found {
    if view.interface().kind.as_deref() != Some("bond") {
        return healthy();
    }
    let text = view.file(&format!("proc/net/bonding/{}", view.name())).unwrap_or_default();
    let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default();
    let told = MODES.iter().find(|(words, _)| line("Bonding Mode: ").contains(words)).map_or("", |(_, mode)| mode);
    let or = |key: &str, other: &str| Some(says(view, key)).filter(|said| !said.is_empty()).unwrap_or(other.to_owned());
    let mode = or("mode", told);
    if mode == "balance-rr" {
        return in_turn(view);
    }
    if let Some(finding) = comes_by_one(view).filter(|_| ["802.3ad", "balance-xor"].contains(&mode.as_str())) {
        return finding.alone();
    }
    let hash = or("xmit_hash_policy", line("Transmit Hash Policy: ").split(' ').next().unwrap_or_default());
    if !["802.3ad", "balance-xor"].contains(&mode.as_str()) || hash != "layer2" {
        return healthy();
    }
    let running = || bonded(view).into_iter().filter(|one| one.has("RUNNING"));
    let mut sent: Vec<(&str, u64)> =
        running().filter_map(|one| Some((one.name.as_str(), one.counters.get("tx_bytes")?))).collect();
    let rates = view.file("posted/sar").unwrap_or_default();
    if sent.is_empty() {
        // kB in each second, which are bytes in a quarter of an hour.
        let rate = |name: &str| -> Option<u64> {
            let line = rates.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
            line.split(' ').nth(3)?.split('.').next()?.parse::<u64>().ok()?.checked_mul(1_000_000)
        };
        sent = running().filter_map(|one| Some((one.name.as_str(), rate(&one.name)?))).collect();
    }
    sent.sort_by_key(|(_, bytes)| *bytes);
    let [(_, least), .., (_, most)] = sent[..] else { return healthy() };
    if most < MUCH || least.saturating_mul(UNLIKE) > most {
        return healthy();
    }
    let by_rate =
        sent.iter().all(|(name, _)| running().all(|one| one.name != *name || one.counters.get("tx_bytes").is_none()));
    let (unit, words, read) = if by_rate { (1_000_000, "kB/s", "sar -n DEV") } else { (1, "bytes", "ip -s link") };
    let list: Vec<String> = sent.iter().map(|(name, bytes)| format!("{name} {}", bytes / unit)).collect();
    let typed = view.typed();
    Finding::new(Severity::Warning, "it spreads by MAC address, and sends by one link")
        .seen("xmit_hash_policy layer2", format!("ip -d link show dev {typed}"))
        .seen(format!("{words} sent: {}", list.join(", ")), read)
        .mend(format!("ip link set dev {typed} type bond xmit_hash_policy layer3+4"))
        .gain("connections are spread over all links")
        .alone()
}

/// A finding about a bond that sends by all of its links, and to which its switch sends by one.
fn comes_by_one(view: &View<'_>) -> Option<Finding> {
    let bytes = |name: &str| -> Option<[u64; 2]> {
        let running = bonded(view).into_iter().filter(|one| one.has("RUNNING"));
        let all: Vec<u64> = running.filter_map(|one| one.counters.get(name)).collect();
        Some([*all.iter().min().filter(|_| all.len() > 1)?, *all.iter().max()?])
    };
    let ([sent, most_sent], [came, most]) = (bytes("tx_bytes")?, bytes("rx_bytes")?);
    let alike = most_sent >= MUCH && sent.saturating_mul(3) >= most_sent;
    (alike && most >= MUCH && came.saturating_mul(UNLIKE) <= most).then(|| {
        Finding::new(Severity::Warning, "it sends by all of its links, and what comes comes by one")
            .seen(format!("bytes received: {came} by one link, {most} by another"), "ip -s link")
            .mend("at the switch: a hash of addresses and ports for the channel (port-channel load-balance src-dst-ip-port, or its like)")
            .gain("what comes is spread over all links")
    })
}

/// Of a bond that sends by its links in turn: segments of one connection come out of order, which TCP takes for loss.
fn in_turn(view: &View<'_>) -> Found {
    if bonded(view).into_iter().filter(|one| one.has("RUNNING")).count() < 2 {
        return healthy();
    }
    let count = |name: &str| tcp_counter(view, name).unwrap_or_default().value;
    let came = protocol_counter(view, "Tcp", "InSegs").unwrap_or_default().value;
    let [again, sent] =
        ["RetransSegs", "OutSegs"].map(|name| protocol_counter(view, "Tcp", name).unwrap_or_default().value);
    let late = count("TCPOFOQueue");
    let harms = late >= 10_000 && late * 100 >= came || again >= 10_000 && again * 100 >= sent;
    let typed = view.typed();
    let finding = Finding::new(
        if harms { Severity::Warning } else { Severity::Note },
        "it sends by its links in turn (balance-rr)",
    )
    .seen("mode balance-rr", format!("ip -d link show dev {typed}"))
    .meaning("segments of one connection come out of order: TCP takes that for loss, and slows down");
    let finding = match harms {
        true => finding.seen(format!("TCPOFOQueue {late} of {came}, RetransSegs {again} of {sent}"), "nstat -az"),
        false => finding,
    };
    finding
        .mend(
            "a mode that keeps a connection on one link: 802.3ad with the ports of the switch in one channel, or balance-xor, each with \
             xmit_hash_policy layer3+4, in the file that makes the bond",
        )
        .alone()
}

const FORWARD: u32 = 2;
/// Packets that a policy has dropped before it is more than what strays.
const STRAY: u64 = 1000;

fn bridge_filtered(view: &View<'_>) -> Found {
    let (interface, name, typed) = (view.interface(), "net.bridge.bridge-nf-call-iptables", view.typed());
    if interface.kind.as_deref() != Some("bridge") {
        return healthy();
    }
    let members = bonded(view);
    // Services of Kubernetes are translated by the firewall, which has to see what pods of one node send each other.
    let kube = || view.interfaces.iter().any(|one| one.name.starts_with("flannel") || one.name.starts_with("kube-"));
    if interface.name == "cni0" && view.sysctl_number(name) == Ok(0) && kube() {
        return view
            .set(Severity::Warning, name, 0, 1)
            .seen("pods at the bridge cni0 of a node of Kubernetes", "ip link")
            .meaning("answers between pods of one node go past the firewall: services do not reach them, or their answers come from a wrong address")
            .gain("services reach pods of their own node")
            .alone();
    }
    // Frames between members, if the module asks the firewall; and packets of those behind it, which are routed.
    let outward =
        |one: &&Interface| one.device.is_some() || matches!(one.kind.as_deref(), None | Some("tun" | "bond" | "vlan"));
    let bridged = view.sysctl_number(name) == Ok(1) && members.len() > 1 && members.iter().any(outward);
    let addressed = view.addresses().is_ok_and(|own| own.iter().any(|one| one.address.is_ipv4()));
    let inside = way_out(view).is_some_and(|out| out.index != interface.index);
    let routed = addressed && inside && !members.is_empty() && view.sysctl_number("net.ipv4.ip_forward") == Ok(1);
    if !bridged && !routed {
        return healthy();
    }
    let chains = view.network.chains.as_ref().map_err(ToString::to_string)?;
    let rules = view.network.filter_rules.as_deref().unwrap_or_default();
    let own = |passed: &str| passed.is_empty() || passed == view.name();
    let passes = |table: &str| rules.iter().any(|rule| rule.table == table && rule.passes.as_deref().is_some_and(own));
    let dropping = |one: &&FilterChain| one.hook == Some(FORWARD) && one.drops && !passes(&one.table);
    let Some(chain) = chains.iter().find(dropping) else { return healthy() };
    let severity =
        if chain.counted.is_some_and(|packets| packets >= STRAY) { Severity::Warning } else { Severity::Note };
    let what = if bridged { "its members send each other" } else { "comes from behind it" };
    let finding =
        Finding::new(severity, format!("{} {} drops what {what}: no rule lets it pass", chain.table, chain.name));
    let finding = if bridged { finding.seen(format!("{name} = 1"), format!("sysctl {name}")) } else { finding };
    let seen =
        chain.counted.map_or("policy DROP".to_owned(), |packets| format!("{packets} packets met the policy DROP"));
    let accept = format!("iptables -I {} -i {typed} -o {typed} -j ACCEPT", word(&chain.name));
    let mend = match bridged {
        true => format!("{accept}; or, where no container network needs it, sysctl -w {name}=0"),
        false => format!(
            "iptables -I {0} -i {typed} -j ACCEPT; iptables -I {0} -o {typed} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
            word(&chain.name)
        ),
    };
    finding.seen(seen, "iptables -nvL FORWARD").mend(mend).gain("what is behind the bridge reaches others").alone()
}

/// Flags of a member, as they ought to be, and the loss if one is not.
const WANTED: &[(&str, bool, &str)] = &[
    ("flood", true, "frames to stations that are not known yet do not leave by it"),
    ("mcast_flood", true, "multicast, and with it neighbour discovery, does not leave by it"),
    ("bcast_flood", true, "broadcast, and with it ARP, does not leave by it"),
    ("learning", true, "each frame to its stations goes to all members"),
    ("isolated", false, "it reaches no other isolated member"),
    ("locked", false, "frames of stations that nobody has allowed are dropped"),
];

fn bridge_port(view: &View<'_>) -> Found {
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
    if !bridge.has("UP") && view.is_up() {
        found.push(
            Finding::new(Severity::Warning, format!("{} is down: it passes on nothing", bridge.name))
                .seen(format!("{} without flag UP", bridge.name), format!("ip link show dev {}", word(&bridge.name)))
                .mend(format!("ip link set dev {} up", word(&bridge.name))),
        );
        return Ok(found);
    }
    let stp = matches!(bridge.details.get("stp_state"), Some(Detail::Number(1..)) | Some(Detail::On(true)));
    if let Some(Detail::Word(state)) = member.get("state")
        && state != "forwarding"
        // One without a carrier, as the tap of a guest that is stopped, has nothing to pass on.
        && view.is_up()
        && view.has_flag("RUNNING")
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
            // These guard, and are off unless somebody has set them.
            let guards = matches!(*flag, "isolated" | "locked");
            let silent = view.peer.as_ref().is_some_and(|probed| probed.answered == 0 && probed.way == bridge.name);
            let severity = match *flag {
                "learning" => view.graver_for(&[Load::Forward]),
                _ if guards && !silent => Severity::Note,
                _ => Severity::Warning,
            };
            let (now, to) = if *wanted { ("off", "on") } else { ("on", "off") };
            let meant = if guards { "nothing, if it is meant so; otherwise: " } else { "" };
            found.push(
                Finding::new(severity, format!("{flag} is {now} at {}: {words}", bridge.name))
                    .seen(format!("{flag} {now}"), read.as_str())
                    .mend(format!("{meant}bridge link set dev {typed} {flag} {to}")),
            );
        }
    }
    Ok(found)
}

/// Tagged frames that come in at a port of a bridge whose list has not their VLAN, and another port's has.
fn bridge_vlan(view: &View<'_>) -> Found {
    let (lists, capture) = (view.file("posted/bridge-vlan")?, view.file("posted/capture")?);
    let rows: Vec<(&str, u16)> = lists
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(port, vid)| Some((port, vid.parse().ok()?)))
        .collect();
    let has = |name: &str, vid: u16| rows.iter().any(|(port, one)| *port == name && *one == vid);
    if !rows.iter().any(|(port, _)| *port == view.name()) {
        return healthy();
    }
    let came = |line: &str| -> Option<u16> {
        let (_, rest) = line
            .strip_prefix(view.name())?
            .strip_prefix(' ')?
            .split_once(", vlan ")
            .or_else(|| line.split_once(": vlan "))?;
        rest.split([',', ' ']).next()?.parse().ok()
    };
    let missing: BTreeSet<u16> = capture.lines().filter_map(came).filter(|vid| !has(view.name(), *vid)).collect();
    let serves = |vid: &u16| rows.iter().any(|(_, one)| one == vid);
    let typed = view.typed();
    let found = missing.into_iter().filter(serves).take(4).map(|vid| {
        let line = capture.lines().find(|line| came(line) == Some(vid)).unwrap_or_default();
        Finding::new(
            Severity::Warning,
            format!("frames of VLAN {vid} come in at it, and the bridge drops them: its list has no {vid}"),
        )
        .seen(line.trim(), format!("tcpdump -e -i {typed} vlan {vid}"))
        .seen(format!("no {vid} at {typed}"), format!("bridge vlan show dev {typed}"))
        .mend(format!(
            "bridge vlan add dev {typed} vid {vid}, if it is to have that VLAN, and so in the file that makes the port"
        ))
    });
    Ok(found.collect())
}

/// Indices of the interfaces that stand on each other with this one. The ends of a virtual pair do not.
fn stack(view: &View<'_>) -> BTreeSet<u32> {
    let mut all = BTreeSet::from([view.interface().index]);
    loop {
        let before = all.len();
        for one in view.interfaces {
            let on = one.lower.filter(|_| !one.lower_elsewhere && one.kind.as_deref() != Some("veth"));
            let below = || [one.master, on].into_iter().flatten();
            if all.contains(&one.index) || below().any(|below| all.contains(&below)) {
                all.insert(one.index);
                all.extend(below());
            }
        }
        if all.len() == before {
            return all;
        }
    }
}

fn duplicate_address(view: &View<'_>) -> Found {
    let interface = view.interface();
    let Some(address) = interface.address.as_deref().filter(|address| *address != "00:00:00:00:00:00") else {
        return healthy();
    };
    // Pairs that lead to other namespaces are a link each, as those of Calico, which all have one address.
    let leads_away =
        |one: &Interface| one.kind.as_deref() == Some("veth") && one.master.is_none() && one.lower_elsewhere;
    // Ports of one Open vSwitch have the address of its way out.
    let of = |one: Option<&Interface>, kind: &str| one.is_some_and(|one| one.kind.as_deref() == Some(kind));
    let is_port = |one: &Interface| {
        of(Some(one), "openvswitch") || of(one.master.and_then(|master| view.named(master)), "openvswitch")
    };
    // A text of older programs tells of members no bond.
    let of_bond = |one: &Interface| one.has("SLAVE") || one.has("MASTER");
    let related = |one: &&Interface| {
        one.index != interface.index
            && one.address.as_deref() == Some(address)
            && !(leads_away(interface) && leads_away(one) || is_port(interface) && is_port(one))
            && !(of_bond(interface) && of_bond(one) && interface.master.is_none())
    };
    // What ip(8) prints with -br has neither an MTU nor what an interface belongs to.
    let untold = |one: &Interface| one.mtu.is_none() && interface.mtu.is_none();
    let (name, typed) = (view.name(), view.typed());
    let twins: Vec<&Interface> = view.interfaces.iter().filter(related).filter(|one| !untold(one)).collect();
    // Both links of a ring have the address of what sends by both (IEC 62439-3, HSR and PRP).
    let ring = twins.iter().copied().chain([interface]).any(|one| of(Some(one), "hsr"));
    // A bridge, a bond and each VLAN have the address of what is below them.
    let stack = if twins.is_empty() { BTreeSet::new() } else { stack(view) };
    let Some(other) = twins.into_iter().find(|one| !ring && !stack.contains(&one.index)) else {
        let neighbours = view.neighbours().unwrap_or_default();
        let Some(same) = neighbours.into_iter().find(|one| one.state != "noarp" && one.mac.as_deref() == Some(address))
        else {
            return healthy();
        };
        return Finding::new(Severity::Warning, format!("the neighbour {} has the same MAC address", same.address))
            .seen(format!("{address} at {name} and {}", same.address), format!("ip link show dev {typed}; ip neigh"))
            .mend(format!("ip link set dev {typed} address 02:…, another one"))
            .alone();
    };
    Finding::new(Severity::Warning, format!("{} has the same MAC address", other.name))
        .seen(format!("{address} at {name} and {}", other.name), "ip link")
        .mend(format!("ip link set dev {typed} address 02:…, another one"))
        .alone()
}
