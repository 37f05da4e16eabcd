//! The peer that was named, the way to it, and the other end.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::flows::Flows;
use crate::doctor::longest::Sizes;
use crate::doctor::peer::{PORTS, Tcp};
use crate::doctor::rule::{ENDS, Found, PEER, Rule, healthy};
use crate::doctor::side::claimed;
use crate::doctor::view::{View, have, is_tunnel};
use linerate_host::shell::{operand, word};
use std::net::{IpAddr, Ipv4Addr};

pub(super) const RULES: &[Rule] = &[
    PEER.by("peer-route", peer_route),
    PEER.by("peer-silent", peer_silent),
    PEER.by("peer-tcp", peer_tcp),
    PEER.by("peer-handshake", peer_handshake),
    PEER.by("peer-flows", peer_flows),
    PEER.by("peer-segments", peer_segments),
    PEER.by("peer-claims", peer_claims),
    PEER.by("peer-loss", peer_loss),
    PEER.by("path-mtu", path_mtu),
    ENDS.by("ends-mtu", ends_mtu),
    ENDS.by("ends-pause", ends_pause),
    ENDS.by("ends-speed", ends_speed),
];

fn peer_route(view: &View<'_>) -> Found {
    let probed = view.peer.as_ref().ok_or_else(|| "no --peer was given".to_owned())?;
    let peer = probed.peer;
    if probed.is_own() {
        return Finding::new(Severity::Warning, "it is an address of this machine: nothing leaves it")
            .seen(format!("local, by {}", probed.way), format!("ip route get {peer}"))
            .mend(format!("another address here or there: ip addr show to {peer}"))
            .alone();
    }
    if probed.elsewhere {
        let way = &probed.way;
        return Finding::new(Severity::Note, format!("it is reached by {way}, which is not looked at"))
            .seen(format!("by {way}"), format!("ip route get {peer}"))
            .mend(format!("linerate doctor --peer {peer} {}", operand(way)))
            .alone();
    }
    let Some(why) = &probed.refused else { return healthy() };
    let read = format!("ip route get {peer}");
    let is_off = |whose: &&str| view.number::<u64>(&format!("proc/sys/net/ipv6/conf/{whose}/disable_ipv6")) == Ok(1);
    if let Some(whose) = ["all", view.name()].into_iter().filter(|_| peer.is_ipv6()).find(is_off) {
        return Finding::new(Severity::Error, "there is no way to it: IPv6 is switched off")
            .seen(format!("net.ipv6.conf.{whose}.disable_ipv6 = 1"), read)
            .mend(format!("sysctl -w {}=0", word(format!("net/ipv6/conf/{whose}/disable_ipv6"))))
            .alone();
    }
    let first =
        Finding::new(Severity::Error, format!("there is no way to it: {why}")).seen(why.as_str(), read.as_str());
    let Some(route) = view
        .network
        .routes
        .iter()
        .flatten()
        .filter(|route| ["blackhole", "unreachable", "prohibit", "throw"].contains(&route.kind) && route.is_to(peer))
        .max_by_key(|route| route.to.1)
    else {
        let down = if view.is_up() { "" } else { ", and see that its interface is up" };
        return first
            .mend(format!("an address or a route that its network is behind{down}: ip addr, ip route, ip rule"))
            .alone();
    };
    let network = route.network();
    first
        .seen(format!("{} {network}", route.kind), "ip route show table all")
        .mend(format!("ip route del {} {network}", route.kind))
        .alone()
}

fn peer_silent(view: &View<'_>) -> Found {
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

fn peer_tcp(view: &View<'_>) -> Found {
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

/// Segments, with their time-stamps, of which each link has room (RFC 8200, section 5, without the headers).
const SEGMENT: u32 = 1220;
/// Bytes of time-stamps in each segment.
const STAMPS: u32 = 12;

fn peer_handshake(view: &View<'_>) -> Found {
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
    let whole = usize::try_from(agreed.segment + stamps).unwrap_or_default() + 40;
    if missing.is_empty() && whole < probed.largest.min(probed.mtu) / 10 * 9 {
        let (segment, largest) = (agreed.segment, probed.largest);
        missing.push((format!("segments of {segment} bytes, where packets of {largest} come back"), Severity::Note));
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

fn peer_flows(view: &View<'_>) -> Found {
    let probed = view.probed()?;
    let flows = probed.flows.as_ref().ok_or("none of the ports tried answers TCP")?;
    // Losses by chance are fewer among a dozen, and a limit of connections in a second lets slow ones pass.
    let by_chance = flows.silent < 2 || flows.silent_again * 4 < flows.again;
    if flows.dead.is_empty() && by_chance {
        return healthy();
    }
    let (Flows { port, asked, silent, again, silent_again, .. }, peer) = (flows, probed.peer);
    let what = format!("{silent} of {asked} connections that differ in their source port alone get no answer");
    let slow = format!("of {again} slow tries of some of them {silent_again} were not answered either");
    let Some(first) = flows.dead.first() else {
        return Finding::new(Severity::Warning, what)
            .seen(slow, format!("nc -vz -w 1 {peer} {port}, several times"))
            .mend(format!("see where they end: traceroute -T -p {port} {peer}, several times"))
            .alone();
    };
    let ports = flows.dead.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    Finding::new(Severity::Warning, what)
        .seen(format!("{slow}: never from ports {ports}"), format!("nc -vz -w 1 -p {first} {peer} {port}"))
        .mend(format!(
            "see where that flow ends: traceroute -T -p {port} --sport={first} {peer}, and then from another port"
        ))
        .alone()
}

fn peer_segments(view: &View<'_>) -> Found {
    let probed = view.probed()?;
    let segments = probed.segments.ok_or("none of the ports tried takes a connection, or it ended at once")?;
    if !segments.short || segments.full {
        return healthy();
    }
    let (peer, length) = (probed.peer, segments.length);
    Finding::new(Severity::Warning, format!("segments of {length} bytes are not acknowledged, and short ones are"))
        .seen(format!("{length} bytes sent again for 3 s"), format!("ss -ti dst {peer}, while there is a connection"))
        .mend("see tunnels, and packet filters that drop by length or drop ICMP, on the way: 'tcpdump -v icmp', 'nft list ruleset'")
        .alone()
}

fn peer_claims(view: &View<'_>) -> Found {
    let probed = view.probed()?;
    let claims = probed.claims.as_ref().map_err(Clone::clone)?;
    let typed_way = word(&probed.way);
    let finding = |what: String, of: &[&(Ipv4Addr, String)], address: Ipv4Addr| {
        let first = Finding::new(Severity::Error, what);
        of.iter()
            .take(4)
            .fold(first, |finding, (address, mac)| {
                finding.seen(format!("{address} is at {mac}"), format!("arping -D -I {typed_way} {address}"))
            })
            .mend(format!("another address for one of them; see who has {address} by its MAC address, at the switch"))
    };
    let mut found = Vec::new();
    let of = |address: IpAddr| claims.iter().filter(|one| one.0 == address).collect::<Vec<_>>();
    let own = of(probed.source);
    if let Some((address, _)) = own.first() {
        found.push(finding(format!("another host has the address {address}, too"), &own, *address));
    }
    let hop = of(probed.hop());
    if let [(address, _), _, ..] = hop[..] {
        found.push(finding(format!("{} hosts have the address {address}", hop.len()), &hop, *address));
    }
    Ok(found)
}

fn peer_loss(view: &View<'_>) -> Found {
    let probed = view.probed()?;
    if probed.answered == 0 || probed.answered == probed.asked {
        return healthy();
    }
    let (asked, lost, peer) = (probed.asked, probed.asked - probed.answered, probed.peer);
    if probed.limited {
        return Finding::new(Severity::Note, "how many echo requests are answered in a second is limited, there or on the way")
            .seen(
                format!("{} of {asked} answered, and all of those with a second between", probed.answered),
                format!("ping -c {asked} -i 0.01 {peer}, and with -i 1"),
            )
            .mend("nothing: it says nothing of other packets; see there sysctl net.ipv4.icmp_ratelimit and 'nft list ruleset'")
            .alone();
    }
    Finding::new(Severity::Warning, format!("{lost} of {asked} echo requests were not answered"))
        .seen(format!("{} of {asked} answered", probed.answered), format!("ping -c {asked} -i 0.2 {peer}"))
        .mend("see cable, module, pause frames and errors at both ends and the switch: the rules about errors")
        .alone()
}

fn path_mtu(view: &View<'_>) -> Found {
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
        let finding = Finding::new(
            Severity::Warning,
            format!("the path is taken for one of {told} bytes, and {largest} come back"),
        )
        .seen(format!("cache mtu {told}"), format!("ip route get {peer}"));
        // A tunnel learns what its outer packets have room for.
        if view.interfaces.iter().any(|one| one.name == *way && is_tunnel(one)) {
            return finding
                .meaning("the tunnel's headers do not fit: each longer packet travels in fragments, and is lost with one of them")
                .mend(format!("ip link set dev {typed_way} mtu {told}"))
                .alone();
        }
        let off = view.sysctl_number("net.ipv4.ip_no_pmtu_disc").is_ok_and(|off| off > 0);
        let first = if off { "sysctl -w net.ipv4.ip_no_pmtu_disc=0; " } else { "" };
        return finding
            .meaning("packets are shorter than the path takes: there are more of them, with more headers, for the same bytes")
            .mend(format!("{first}ip route flush cache"))
            .alone();
    }
    let ping = largest.saturating_sub(if peer.is_ipv4() { 28 } else { 48 });
    if probed.sizes == Sizes::Limited && probed.limited {
        return Err("how many echo requests are answered in a second is limited".to_owned());
    }
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
        .meaning("a link on the way is narrower, and its router says so: connections take segments that fit")
        .mend(format!("nothing: TCP follows; datagrams of more than {told} bytes become fragments"))
        .alone();
    }
    let finding = Finding::new(
        Severity::Warning,
        format!("packets of up to {largest} bytes come back, {way} has an MTU of {mtu}"),
    )
    .seen(format!("{largest} of {mtu} bytes"), format!("ping -M do -s {ping} {peer}"));
    // Receivers leave room for the tag of a VLAN (4 bytes, IEEE 802.1Q), and MTUs are round.
    let tag = if largest % 10 == 4 { 4 } else { 0 };
    let finding = match tag {
        0 => finding,
        _ => finding
            .seen(format!("4 of them are the room for a VLAN's tag: an MTU of {}", largest - 4), "IEEE 802.1Q, 9.6"),
    };
    let fits = largest - tag;
    finding
        .mend(format!("ip link set dev {typed_way} mtu {fits}, or {mtu} at the other end and on all of the path"))
        .alone()
}

fn ends_mtu(view: &View<'_>) -> Found {
    let [near, far] = view.ends()?;
    let (Some(here), Some(there)) = (near.mtu, far.mtu) else { return healthy() };
    if here == there {
        return healthy();
    }
    Finding::new(Severity::Warning, format!("the MTU is {here} here and {there} at the other end"))
        .seen(format!("mtu {here}"), format!("ip link show dev {}", view.typed()))
        .seen(format!("mtu {there}"), claimed(&far.name))
        .mend(format!("the same MTU at both ends: ip link set dev {} mtu N, and so there", view.typed()))
        .gain("no packet is too long for the other end")
        .alone()
}

fn ends_pause(view: &View<'_>) -> Found {
    let [near, far] = view.ends()?;
    // What one end sends the other has to heed.
    let (Some([rx, tx]), Some([far_rx, far_tx])) = (near.pause, far.pause) else { return healthy() };
    if (tx, rx) == (far_rx, far_tx) {
        return healthy();
    }
    let word = |on| if on { "on" } else { "off" };
    let shown = |[rx, tx]: [bool; 2]| format!("pause rx {}, tx {}", word(rx), word(tx));
    Finding::new(Severity::Note, "flow control is not the same at the two ends")
        .seen(shown([rx, tx]), format!("ethtool -a {}", view.typed()))
        .seen(shown([far_rx, far_tx]), claimed(&far.name))
        .mend(format!("ethtool -A {} rx {} tx {}", view.typed(), word(far_tx), word(far_rx)))
        .alone()
}

fn ends_speed(view: &View<'_>) -> Found {
    let [near, far] = view.ends()?;
    let (Some(here), Some(there)) = (near.speed, far.speed) else { return healthy() };
    if here == there {
        return healthy();
    }
    Finding::new(Severity::Note, format!("the link has {here} Mb/s here, {there} at the other end"))
        .seen(format!("{here} Mb/s"), view.link_modes())
        .seen(format!("{there} Mb/s"), claimed(&far.name))
        .mend("the same speed at both ends; or measure with the slower one's as the most")
        .alone()
}
