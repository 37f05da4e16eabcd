//! Addresses, packets and their longest.

use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::intent::MEANT;
use crate::doctor::protocols::{Grown, SNMP, ipsec_counter, ipv6_counter, is_share, protocol_counter, tcp_counter};
use crate::doctor::role::CONTAINERS;
use crate::doctor::rule::{Found, HOST, INTERFACE, Rule, healthy};
use crate::doctor::view::{View, have, is_tunnel, is_usual};
use linerate_host::adapter::{Address, Interface, Route};
use linerate_host::shell::word;
use std::net::IpAddr;

pub(super) const RULES: &[Rule] = &[
    INTERFACE.by("mtu-forwarded", mtu_forwarded),
    INTERFACE.by("mtu-small", mtu_small),
    INTERFACE.by("address-state", address_state),
    INTERFACE.by("ip-settings", ip_settings).risk(Risk::Safe),
    HOST.by("loopback", loopback),
    HOST.by("ip-drops", ip_drops),
    INTERFACE.by("checksum-offload", checksum_offload),
    HOST.by("checksum-errors", checksum_errors),
];

const MAIN: u32 = 254;
/// Bytes of the headers of IPv4 and TCP.
const HEADERS: u32 = 40;

/// Interface by which packets leave: that of the way to the peer, or else that of the default route.
pub(super) fn way_out<'a>(view: &'a View<'_>) -> Option<&'a Interface> {
    if let Some(way) = view.interfaces.iter().find(|one| one.name == view.way) {
        return Some(way);
    }
    let Ok(routes) = view.routes() else {
        // No text tells the routes: a line behind a modem, or the one adapter that stands for itself.
        let own = |one: &&Interface| {
            one.hardware != LOOPBACK && one.kind.is_none() && one.master.is_none() && one.has("RUNNING")
        };
        let line = view.interfaces.iter().find(|one| one.name.starts_with("ppp"));
        let mut all = view.interfaces.iter().filter(own).filter(|one| !one.name.starts_with("veth"));
        return line.or_else(|| all.next().filter(|_| all.next().is_none()));
    };
    let default = routes.iter().find(|route| route.to.1 == 0 && route.kind == "unicast" && route.table == MAIN);
    view.named(default?.link?)
}

/// Interface by which packets of a tunnel leave for its other end.
pub(super) fn way_to<'a>(view: &'a View<'_>, address: IpAddr) -> Option<&'a Interface> {
    let leads = |route: &&Route| {
        route.kind == "unicast"
            && route.table == MAIN
            && route.is_to(address)
            && route.link.is_some_and(|link| link != view.interface().index)
    };
    let all = view.network.routes.iter().flatten().filter(leads);
    view.named(all.max_by_key(|route| (route.to.1, std::cmp::Reverse(route.priority)))?.link?)
}

fn mtu_forwarded(view: &View<'_>) -> Found {
    let inside = view.interface();
    let Some((out, least, mtu)) = way_out(view).and_then(|out| Some((out, out.mtu?, inside.mtu?))) else {
        return healthy();
    };
    let one = |address: IpAddr| match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(v6) => !v6.is_unicast_link_local(),
    };
    // A routing domain is not a link.
    if inside.kind.as_deref() == Some("vrf") {
        return healthy();
    }
    // What is below the other one carries its packets, and forwards none.
    let stacked = |one: &Interface, other: &Interface| {
        one.lower == Some(other.index) && !one.lower_elsewhere && one.kind.as_deref() != Some("veth")
            || one.master == Some(other.index)
    };
    if least >= mtu || !view.is_up() || stacked(inside, out) || stacked(out, inside) {
        return healthy();
    }
    // Pairs of containers have routes instead of an address (Calico).
    let is_pair = inside.kind.as_deref() == Some("veth") && inside.lower_elsewhere;
    let leads = |route: &Route| route.kind == "unicast" && route.link == Some(inside.index);
    let runs = |one: &Interface| one.master == Some(inside.index) && one.has("RUNNING");
    let holds = inside.kind.as_deref() == Some("bridge") && view.interfaces.iter().any(runs);
    // Of a part of the text: a network of containers that run, or what a rule of the firewall lets in.
    let made = || holds && CONTAINERS.iter().any(|start| inside.name.starts_with(start));
    let let_in = || view.network.filter_rules.iter().flatten().any(|rule| rule.passes.as_deref() == Some(view.name()));
    let addressed = match view.addresses() {
        Ok(own) => own.iter().any(|own| one(own.address)),
        Err(why) if !made() && !let_in() => return Err(why),
        Err(_) => true,
    };
    let forwards = match view.sysctl_number("net.ipv4.ip_forward") {
        Err(why) if !made() => return Err(why),
        forwards => forwards != Ok(0),
    };
    if !(is_pair && view.routes()?.iter().any(leads) || addressed) || !forwards {
        return healthy();
    }
    let rules = match &view.network.filter_rules {
        Err(absent) if absent.is_forbidden() => return Err(format!("rules of nftables: {absent}")),
        rules => rules.as_deref().unwrap_or_default(),
    };
    let fits = |segment: u16| u32::from(segment) + HEADERS <= least;
    if rules.iter().any(|rule| rule.fits_path || rule.segment.is_some_and(fits)) {
        return healthy();
    }
    let clamped = match &view.network.filter_rules {
        Err(absent) if absent.errno.is_none() => "whether a rule has segments fit the path is not told",
        _ => "no rule has segments fit the path",
    };
    let (name, typed) = (&out.name, view.typed());
    let which = if inside.kind.as_deref() == Some("bridge") { ", and of all that is attached to it" } else { "" };
    // Packets that were to be forwarded and were too long.
    let dropped = protocol_counter(view, "Ip", "FragFails").map_or(0, |counter| counter.value);
    // Containers that run, and the network below a card has no more room: what comes for them is dropped by a switch, which tells nobody.
    let unheard = holds && out.kind.is_none() && out.hardware == 1 && view.network.filter_rules.is_ok();
    // A line behind a modem, and hosts of its network that know of no shorter MTU: many of those they speak to hear no ICMP.
    let line = out.name.starts_with("ppp") && inside.hardware == 1 && view.network.filter_rules.is_ok();
    let severity = if dropped > 0 || unheard || line { Severity::Warning } else { view.graver_for(&[Load::Forward]) };
    let first = Finding::new(
        severity,
        format!("its MTU is {mtu}, and that of {name}, by which its packets are forwarded, {least}"),
    );
    let first = match dropped {
        0 => first,
        dropped => first.seen(format!("IpFragFails {dropped}: so many packets were too long"), "nstat -az IpFragFails"),
    };
    first
        .seen(format!("mtu {mtu}"), format!("ip link show dev {typed}"))
        .seen(format!("mtu {least}"), format!("ip link show dev {}", word(name)))
        .seen(clamped, "nft list ruleset, iptables-save")
        .mend(format!(
            "ip link set dev {typed} mtu {least}{which}; or have segments of TCP fit: \
         nft insert rule inet TABLE FORWARD tcp flags syn tcp option maxseg size set rt mtu"
        ))
        .gain("long packets arrive, whoever loses ICMP")
        .alone()
}

/// Bytes of FCoE's header, of a full FC frame and of the trailer.
const FCOE: u32 = 2158;

fn mtu_small(view: &View<'_>) -> Found {
    let (typed, interface) = (view.typed(), view.interface());
    // A full frame of FC and its headers; shorter ones carry less of each sequence (FC-BB-6, 4.8).
    if let Some(mtu) = interface.mtu.filter(|mtu| *mtu < FCOE && view.wants(&[Load::Fcoe])) {
        return Finding::new(Severity::Warning, format!("its MTU is {mtu}: no full frame of FCoE fits"))
            .seen(format!("mtu {mtu}"), format!("ip link show dev {typed}"))
            .mend(format!("ip link set dev {typed} mtu 2500, at both ends and the switch"))
            .alone();
    }
    let Some(mtu) = interface.mtu.filter(|mtu| *mtu < 1500 && interface.hardware == 1) else { return healthy() };
    // A tunnel's headers take their room, and what is behind one has no more; a container's network sets that of its pairs.
    let behind =
        |one: &Interface| interface.kind.is_some() && is_tunnel(one) && one.mtu.is_some_and(|room| room <= mtu);
    let of_container = interface.kind.as_deref() == Some("veth") && interface.lower_elsewhere;
    if mtu >= 1280 && (view.is_tunnel() || of_container || view.interfaces.iter().any(behind)) {
        return healthy();
    }
    let severity = if mtu < 1280 { Severity::Warning } else { Severity::Note };
    Finding::new(severity, format!("its MTU is {mtu}"))
        .seen(format!("mtu {mtu}"), format!("ip link show dev {typed}"))
        .mend(match view.is_tunnel() {
            true => format!("ip link set dev {typed} mtu N, what its lower interface has room for"),
            false if severity == Severity::Note => format!(
                "{MEANT}ip link set dev {typed} mtu 1500; where the network below has tunnels (clouds, overlays), 1450 or so is its most"
            ),
            false => {
                let lease = view.file("posted/dhcp").is_ok_and(|text| text.contains(&format!("interface-mtu {mtu}")));
                let lease = if lease { ", and 'supersede interface-mtu 1500;' in dhclient.conf, as the lease sets it" } else { "" };
                format!("ip link set dev {typed} mtu 1500, if the path takes it{lease}")
            }
        })
        .alone()
}

/// Commands that give another interface the routes over gateways, which go with the address.
fn led_by(view: &View<'_>, interface: &Interface, to: &str) -> String {
    let routes = view.network.routes.iter().flatten();
    let own = routes.filter(|one| {
        (one.link, one.kind, one.table) == (Some(interface.index), "unicast", MAIN) && one.to.0.is_ipv4()
    });
    let add = |one: &Route| Some(format!("; ip route add {} via {} dev {to}", one.network(), one.gateway?));
    own.filter_map(add).collect()
}

fn address_state(view: &View<'_>) -> Found {
    let (name, typed, interface) = (view.name(), view.typed(), view.interface());
    let read = format!("ip addr show dev {typed}");
    let own = view.addresses()?;
    let mut found = Vec::new();
    let broken = own.iter().find(|one| one.states.contains(&"dadfailed"));
    if let Some(one) = broken {
        found.push(
            Finding::new(Severity::Error, format!("another host has its address {}", one.address))
                .seen(format!("{}/{} {}", one.address, one.prefix, one.states.join(" ")), read.as_str())
                .mend(format!("ip addr del {}/{} dev {typed}", one.address, one.prefix)),
        );
    }
    let deprecated = own.iter().filter(|one| one.states.contains(&"deprecated"));
    for one in deprecated {
        let local = |ip: IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
        let other = own.iter().any(|other| {
            other.address.is_ipv4() == one.address.is_ipv4() && other.states.is_empty() && !local(other.address)
        });
        // After renumbering the old ones stay for a while beside new ones.
        let severity = if other { Severity::Note } else { Severity::Warning };
        found.push(
            Finding::new(severity, format!("its address {} is deprecated: nothing new is sent from it", one.address))
                .seen(format!("{}/{} deprecated", one.address, one.prefix), read.as_str())
                .mend(format!(
                    "ip addr change {}/{} dev {typed} preferred_lft forever valid_lft forever",
                    one.address, one.prefix
                )),
        );
    }
    let bridge = interface
        .master
        .and_then(|master| view.named(master))
        .filter(|master| master.kind.as_deref() == Some("bridge"));
    if let (Some(bridge), Some(one)) = (bridge, own.iter().find(|one| one.address.is_ipv4())) {
        // What comes for it goes to the bridge, which may have it answered all the same.
        let silent = view.peer.as_ref().is_some_and(|probed| probed.way == name && probed.answered == 0);
        let failed = view.neighbours().is_ok_and(|all| all.iter().any(|one| one.state == "failed"));
        let severity = if silent || failed { Severity::Warning } else { Severity::Note };
        found.push(
            Finding::new(
                severity,
                format!("it belongs to the bridge {} and has the address {}", bridge.name, one.address),
            )
            .seen(format!("{}/{} at a member of {}", one.address, one.prefix, bridge.name), read.as_str())
            .mend(format!(
                "ip addr del {0}/{1} dev {typed}; ip addr add {0}/{1} dev {2}{3}",
                one.address,
                one.prefix,
                word(&bridge.name),
                led_by(view, interface, &word(&bridge.name))
            )),
        );
    }
    let routed = view
        .routes()?
        .iter()
        .any(|route| route.link == Some(interface.index) && route.kind == "unicast" && route.to.0.is_ipv4());
    let alone = |one: &&&Address| one.prefix == 32 && one.address.is_ipv4() && one.other_end.is_none();
    // One of another interface's network, as VRRP has it, is reached by that.
    let networks = have(&view.network.addresses)?;
    let beside = |one: &&&Address| networks.iter().any(|other| other.link != interface.index && other.has(one.address));
    let kinds = [None, Some("veth"), Some("bridge"), Some("bond"), Some("tun"), Some("vlan"), Some("macvlan")];
    if let Some(one) = own
        .iter()
        .filter(alone)
        .find(|one| !beside(one))
        .filter(|_| !routed && view.is_up() && kinds.contains(&interface.kind.as_deref()))
    {
        found.push(
            Finding::new(Severity::Warning, format!("its address {} has no network: no route leads out", one.address))
                .seen(format!("{}/32, no route by {name}", one.address), format!("{read}; ip route show dev {typed}"))
                .mend(format!("ip addr add {}/24 dev {typed}", one.address)),
        );
    }
    // Somebody wants to use it with IP, and it belongs to nobody who has an address.
    let upper = |other: &&Interface| other.lower == Some(interface.index);
    if own.is_empty()
        && view.is_up()
        && interface.master.is_none()
        && view.wants(&[Load::Tcp, Load::Udp])
        && !view.interfaces.iter().any(|other| upper(&other))
    {
        found.push(
            Finding::new(Severity::Warning, "it has no address")
                .seen("no address", read.as_str())
                .mend(format!("ip addr add ADDRESS/BITS dev {typed}")),
        );
    }
    Ok(found)
}

/// MTU and hops of IPv6.
fn of_ipv6(view: &View<'_>, found: &mut Vec<Finding>) {
    let [mtu, hops] = ["mtu", "hop_limit"].map(|key| view.own_sysctl("net.ipv6.conf", key));
    let own = u64::from(view.interface().mtu.unwrap_or(0));
    if let Ok(now) = view.sysctl_number(&mtu)
        && now < own
    {
        // A router may have announced it.
        let severity = if now < own / 2 { Severity::Warning } else { Severity::Note };
        let what = format!("IPv6 sends packets of {now} bytes at most, the interface {own}");
        found.push(Finding { what, ..view.set(severity, &mtu, now, own) });
    }
    if let Ok(now) = view.sysctl_number(&hops)
        && now < 32
    {
        let what = format!("routers drop its packets of IPv6 after {now} hops");
        found.push(Finding { what, ..view.set(Severity::Warning, &hops, now, 64) });
    }
}

fn ip_settings(view: &View<'_>) -> Found {
    let mut found = Vec::new();
    of_ipv6(view, &mut found);
    // A kernel without a version of IP has none of its neighbours.
    for group in ["net.ipv4.neigh", "net.ipv6.neigh"] {
        let [held, asks] = ["unres_qlen_bytes", "mcast_solicit"].map(|key| view.own_sysctl(group, key));
        if let Ok(now) = view.sysctl_number(&held)
            && now < 4096
        {
            let what = format!("{now} bytes are held for a neighbour that is asked for: the first packets are lost");
            found.push(Finding { what, ..view.set(Severity::Warning, &held, now, 212_992) });
        }
        if view.sysctl_number(&asks) == Ok(0) {
            let what = "it asks for no neighbour that it does not know".to_owned();
            found.push(Finding { what, ..view.set(Severity::Warning, &asks, 0, 3) });
        }
    }
    Ok(found)
}

/// MTU below which much is segmented that need not be.
const SMALL: u32 = 16_384;
const LOOPBACK: u16 = 772;

fn loopback(view: &View<'_>) -> Found {
    // It carries super-frames, whole ones.
    let small = |one: &&Interface| one.hardware == LOOPBACK && one.mtu.is_some_and(|mtu| mtu < SMALL);
    if let Some((typed, mtu)) = view.interfaces.iter().find(small).and_then(|lo| Some((word(&lo.name), lo.mtu?))) {
        let severity = if mtu < 9000 { Severity::Warning } else { Severity::Note };
        return Finding::new(severity, format!("the loopback has an MTU of {mtu}"))
            .seen(format!("mtu {mtu}"), format!("ip link show dev {typed}"))
            .mend(format!("ip link set dev {typed} mtu 65536"))
            .alone();
    }
    let lo = view.interfaces.iter().find(|one| one.hardware == LOOPBACK).ok_or("no loopback is told")?;
    if lo.has("UP") {
        return healthy();
    }
    let (name, typed) = (&lo.name, word(&lo.name));
    Finding::new(Severity::Warning, "the loopback is down")
        .seen(format!("{name} without flag UP"), format!("ip link show dev {typed}"))
        .mend(format!("ip link set dev {typed} up"))
        .alone()
}

/// Counters of drops, what they mean and what to look at.
const COUNTERS: &[(&str, &str, &str, &str)] = &[
    (
        "TcpExt",
        "IPReversePathFilter",
        "their source is behind another interface",
        "a route to it by the interface that they come in by; or sysctl -w net.ipv4.conf.all.rp_filter=2, which loosens a guard: forged \
         sources that any route leads to come in, too",
    ),
    (
        "Ip",
        "InAddrErrors",
        "they are for an address that is not here, and nothing is forwarded",
        "see 'ip addr', 'ip route', ip_forward",
    ),
    (
        "Ip",
        "InHdrErrors",
        "their header is damaged, or their hops are used up",
        "see 'ip -s link', net.ipv4.ip_default_ttl",
    ),
    ("Ip", "InDiscards", "there was no memory or room for them", "see 'nstat -az'"),
    (
        "Ip",
        "OutDiscards",
        "a packet filter or a full queue drops what is sent",
        "see 'nft list ruleset', 'tc -s qdisc'",
    ),
    ("Ip", "OutNoRoutes", "there is no route for them", "see 'ip route'"),
    ("Ip", "ReasmFails", "fragments did not become a packet", "see net.ipv4.ipfrag_high_thresh, ipfrag_time"),
    (
        "Xfrm",
        "OutNoStates",
        "a policy of IPsec wants them encrypted, and there is no key",
        "see 'ip xfrm policy', 'ip xfrm state'",
    ),
    ("Xfrm", "OutPolBlock", "a policy of IPsec blocks them", "see 'ip xfrm policy'"),
    (
        "Xfrm",
        "InStateSeqError",
        "they came too late for the window against replay: several queues or paths put them out of order",
        "a wider window for both ends: replay-window 1024 (strongSwan: replay_window = 1024)",
    ),
    ("Xfrm", "InNoPols", "they came unencrypted, and a policy of IPsec wants more", "see 'ip xfrm policy'"),
    ("Xfrm", "InPolBlock", "a policy of IPsec blocks them", "see 'ip xfrm policy'"),
];

/// So many in half a second come to each host that others send to.
const FEW: u64 = 2;

/// Those of which a host that is well has few in all, whatever is sent to it.
const SINCE: [&str; 6] = ["OutNoRoutes", "OutDiscards", "ReasmFails", "InHdrErrors", "InStateSeqError", "OutNoStates"];

fn ip_drops(view: &View<'_>) -> Found {
    let (mut found, mut told) = (Vec::new(), Err(String::new()));
    // Requests that were too long for the path were dropped here, which says nothing of others.
    let probed_long = view.peer.as_ref().is_some_and(|probed| probed.answered > 0 && probed.largest < probed.mtu);
    for (protocol, name, words, mend) in COUNTERS {
        if *name == "OutDiscards" && probed_long {
            continue;
        }
        // Older kernels lack some.
        let counted = match *protocol {
            "TcpExt" => tcp_counter(view, name),
            "Xfrm" => ipsec_counter(view, &format!("Xfrm{name}")),
            protocol => protocol_counter(view, protocol, name),
        };
        if told.is_err() {
            told = counted.clone();
        }
        let Ok(Grown { value, more }) = counted else { continue };
        let passed = match *name {
            name if name.starts_with("Out") => "OutRequests",
            "ReasmFails" => "ReasmReqds",
            _ => "InReceives",
        };
        let passed = protocol_counter(view, "Ip", passed).unwrap_or_default();
        let share = passed.value > 0 && is_share(view, SNMP, value, passed.value);
        if more == 0 && SINCE.contains(name) && (share || *protocol == "Xfrm" && value >= 10_000) {
            found.push(
                Finding::new(Severity::Warning, format!("{value} packets were dropped since the start: {words}"))
                    .seen(format!("{protocol}{name} {value}"), format!("nstat -az {protocol}{name}"))
                    .mend(*mend),
            );
            continue;
        }
        if is_usual(more, passed.more, FEW) {
            continue;
        }
        found.push(
            Finding::new(Severity::Warning, format!("{more} packets were dropped while it was looked at: {words}"))
                .seen(format!("{protocol}{name} {value} (+{more})"), format!("nstat -az {protocol}{name}"))
                .mend(*mend),
        );
    }
    told.map(|_| found)
}

fn checksum_errors(view: &View<'_>) -> Found {
    let mut all = Vec::new();
    for (protocol, name) in
        [("Ip", "InHdrErrors"), ("Tcp", "InCsumErrors"), ("Udp", "InCsumErrors"), ("Icmp", "InCsumErrors")]
    {
        // Of a part of the text some are there.
        all.extend(protocol_counter(view, protocol, name).ok().map(|counter| (format!("{protocol}{name}"), counter)));
    }
    if all.is_empty() {
        protocol_counter(view, "Tcp", "InCsumErrors")?;
    }
    for name in ["Udp6InCsumErrors", "Icmp6InCsumErrors"] {
        // A kernel without IPv6 has no such counters.
        all.extend(ipv6_counter(view, name).ok().map(|counter| (name.to_owned(), counter)));
    }
    all.retain(|(_, counter)| counter.value > 0);
    let grows: u64 = all.iter().map(|(_, counter)| counter.more).sum();
    let passed = protocol_counter(view, "Ip", "InReceives").unwrap_or_default().more
        + ipv6_counter(view, "Ip6InReceives").unwrap_or_default().more;
    let lost: u64 = all.iter().filter(|(name, _)| name.ends_with("CsumErrors")).map(|(_, counter)| counter.value).sum();
    // Of a part of the text one of them is there.
    let all_came = [("Ip", "InReceives"), ("Udp", "InDatagrams"), ("Tcp", "InSegs")];
    let came = all_came.map(|(protocol, name)| protocol_counter(view, protocol, name).unwrap_or_default().value);
    let came = came.into_iter().max().unwrap_or(0);
    if let Some(finding) = tunnelled(view, lost) {
        return finding.alone();
    }
    let first = match (all.is_empty(), grows) {
        (true, _) => return healthy(),
        (_, 0) if is_share(view, SNMP, lost, came / 10) => {
            Finding::new(Severity::Warning, format!("{lost} packets came with a wrong checksum since the start"))
        }
        (_, grows) if is_usual(grows, passed, FEW) => {
            Finding::new(Severity::Note, "packets came with a wrong checksum since the start")
        }
        (_, more) => {
            Finding::new(Severity::Warning, format!("{more} packets came with a wrong checksum while it was looked at"))
        }
    };
    all.iter()
        .fold(first, |finding, (name, counter)| {
            finding.seen(format!("{name} {} (+{})", counter.value, counter.more), "/proc/net/snmp, nstat -az")
        })
        .mend(
            "find where: 'tcpdump -vv' at each hop names bad checksums; at a sender whose packets leave with them: ethtool -K DEV tx off",
        )
        .alone()
}

fn checksum_offload(view: &View<'_>) -> Found {
    let names = "rx_csum_offload_errors|rx_csum_bad|rx_csum_err|rx_csum_errors|rx_tcp_checksum_error|rx_checksum_bad";
    let typed = view.typed();
    let Some(mut finding) = view.losses(names, 10, "the adapter finds checksums of received packets wrong") else {
        return healthy();
    };
    // Some adapters count packets that have none; of how many it is, a part of the text does not tell.
    if view.is_once() && view.counted("rx_packets|rx_packets_phy|rx_pkts_nic").is_empty() {
        finding.severity = Severity::Note;
    }
    finding
        .mend(format!(
            "see whether they are: tcpdump -vv -i {typed} names bad ones at the other end, too; if not, a newer driver, and until then \
             ethtool -K {typed} rx off"
        ))
        .alone()
}

/// Ports of VXLAN.
const PORTS: [&str; 2] = [".4789:", ".8472:"];

/// A finding about tunnelled packets that come with a wrong checksum of the outer header: their sender's adapter makes it.
fn tunnelled(view: &View<'_>, lost: u64) -> Option<Finding> {
    let text = view.file("posted/capture").ok()?;
    let bad = |line: &&str| line.contains("bad udp cksum") && PORTS.iter().any(|port| line.contains(port));
    let line = text.lines().find(bad).filter(|_| lost > 0)?;
    let name = view.interfaces.iter().find(|one| is_tunnel(one)).map_or("VXLAN", |one| &one.name);
    Some(
        Finding::new(Severity::Warning, format!("{lost} packets came with a wrong checksum, which the sender of a tunnel (VXLAN) makes"))
            .seen(line.trim(), "tcpdump -vv")
            .meaning("the sender's adapter is to make the outer checksum of tunnelled packets, and makes a wrong one: what is in the tunnel is lost")
            .mend(format!(
                "at the sender, and at each such host: ethtool -K {} tx-checksum-ip-generic off; or a newer driver or hypervisor, or another \
                 port of the tunnel",
                word(name)
            )),
    )
}
