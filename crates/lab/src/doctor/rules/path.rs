//! The path to others, by what ping(8) and tracepath(8) have said of it.

use super::ip::way_out;
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{Found, HOST, Rule, healthy};
use crate::doctor::view::View;
use linerate_host::shell::word;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) const RULES: &[Rule] = &[HOST.by("answered-twice", answered_twice), HOST.by("path-tried", path_mtu)];

fn answered_twice(view: &View<'_>) -> Found {
    let text = view.file("posted/arping")?;
    // `Unicast reply from 10.0.0.5 [02:00:00:00:00:05]  0.912ms`
    let one = |line: &str| {
        let (_, rest) = line.split_once(" reply from ")?;
        let (address, rest) = rest.split_once(" [")?;
        Some((address.to_owned(), rest.split_once(']')?.0.to_ascii_lowercase()))
    };
    let mut answers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    text.lines().filter_map(one).for_each(|(address, mac)| _ = answers.entry(address).or_default().insert(mac));
    // Another one answers for an address of this host.
    let own = |address: &str| {
        let link = view.network.addresses.iter().flatten().find(|one| one.address.to_string() == address)?.link;
        view.named(link)?.address.clone()
    };
    let taken = answers.iter().filter_map(|(address, macs)| {
        let mac = own(address)?;
        let other = macs.iter().find(|one| **one != mac && macs.len() == 1)?;
        Some(
            Finding::new(Severity::Warning, format!("another host has its address {address}"))
                .seen(format!("{other} answers, and this host has {mac}"), format!("arping -D {address}"))
                .mend(format!(
                    "another address for one of both: the switch's table of addresses shows at which port {other} is, its first three bytes \
                     who made it"
                )),
        )
    });
    let taken: Vec<Finding> = taken.collect();
    let found = answers.into_iter().filter(|(_, macs)| macs.len() > 1).map(|(address, macs)| {
        let macs: Vec<String> = macs.into_iter().collect();
        Finding::new(Severity::Warning, format!("{} hosts answer for {address}", macs.len()))
            .seen(macs.join(", "), format!("arping {address}"))
            .mend("another address for one of them: the switch's table of addresses shows at which port each is")
    });
    Ok(taken.into_iter().chain(found).collect())
}

const MAIN: u32 = 254;
/// Bytes of the headers of IPv4 and TCP, and of IPv4 and ICMP.
const SEGMENT: u32 = 40;

/// A number behind a word.
fn behind(line: &str, word: &str) -> Option<u32> {
    let rest = line.split_once(word)?.1.trim_start_matches([' ', '=', ':']);
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Lengths of packets of which all were lost, and of which some came back: `PING a (10.0.0.1) 1472(1500) bytes of data.`
fn lengths(text: &str) -> [Vec<u32>; 2] {
    let (mut lost, mut back, mut now) = (Vec::new(), Vec::new(), None);
    for line in text.lines() {
        if line.starts_with("PING ") {
            now = line
                .split(" bytes of data")
                .next()
                .and_then(|head| head.rsplit_once('(')?.1.trim_end_matches(')').parse().ok());
        } else if line.contains("packet loss")
            && let Some(length) = now.take()
        {
            if line.contains(" 100% packet loss") { lost.push(length) } else { back.push(length) }
        }
    }
    [lost, back]
}

fn path_mtu(view: &View<'_>) -> Found {
    let text = view.file("posted/ping")?;
    let of = |line: &str| Some(line.strip_prefix("PING ")?.split_once('(')?.1.split_once(')')?.0.to_owned());
    let to = text.lines().rev().find_map(of).filter(|to| !to.contains(':'));
    // By the route to it, or the default route.
    let routes = view.routes().unwrap_or_default();
    let leads = |address: IpAddr| {
        let all = routes.iter().filter(|one| one.kind == "unicast" && one.table == MAIN && one.is_to(address));
        view.named(all.max_by_key(|one| (one.to.1, std::cmp::Reverse(one.priority)))?.link?)
    };
    let out = to.as_deref().and_then(|to| leads(to.parse().ok()?)).or_else(|| way_out(view));
    let Some((out, mtu)) = out.and_then(|out| Some((out, out.mtu?))) else { return healthy() };
    // What this host says itself is its own MTU.
    let told = |words: &[&str]| {
        let lines = text.lines().filter(|line| !line.contains("local error"));
        let all = lines.filter_map(|line| words.iter().find_map(|word| behind(line, word)));
        all.filter(|told| (576..mtu).contains(told)).min()
    };
    let (refused, traced) = (told(&["(mtu =", "Packet too big: mtu=", "need to frag (mtu "]), told(&["pmtu "]));
    let least = refused.or(traced);
    let [lost, back] = lengths(&text);
    let passed = back.iter().copied().max();
    let hole =
        lost.iter().copied().filter(|length| *length <= mtu && passed.is_some_and(|passed| passed < *length)).min();
    let name = word(&out.name);
    let clamp = "nft insert rule inet TABLE FORWARD tcp flags syn tcp option maxseg size set rt mtu";
    // Where routers tell it, each connection learns it; who looks with packets that may not be cut has a reason.
    let severity = if refused.is_some() { Severity::Warning } else { Severity::Note };
    let to = to.unwrap_or_else(|| "NETWORK".to_owned());
    let via = routes.iter().find(|one| one.to.1 == 0 && one.link == Some(out.index)).and_then(|one| one.gateway);
    let via = via.map_or_else(|| "GATEWAY".to_owned(), |via| via.to_string());
    match (least, hole, passed) {
        (Some(least), None, _) => Finding::new(severity, format!("a path takes packets of {least} bytes, and {name} sends {mtu}"))
            .seen(format!("mtu {least}"), "ping -M do, tracepath")
            .mend(format!(
                "for that destination alone: ip route add {to} via {via} dev {name} mtu {least}; where this host forwards: {clamp}"
            ))
            .gain(format!("segments of {} bytes, which fit", least.saturating_sub(SEGMENT))),
        (_, Some(hole), Some(passed)) => Finding::new(
            Severity::Warning,
            format!("packets of {hole} bytes are lost on a path without a word, and those of {passed} pass"),
        )
        .seen(format!("100 % of {hole} bytes lost, not of {passed}"), "ping -M do -s")
        .mend(format!(
            "find which router drops ICMP of the type 'fragmentation needed', or has another MTU than its neighbour; until then \
             sysctl -w net.ipv4.tcp_mtu_probing=1, or ip link set dev {name} mtu {passed}"
        )),
        _ => return healthy(),
    }
    .alone()
}
