//! Packets that are forwarded to a smaller MTU.

use crate::doctor::finding::{Finding, Load};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;
use linerate_host::adapter::Interface;
use linerate_host::shell::word;
use std::net::IpAddr;

pub(super) const RULE: Rule = Rule {
    name: "mtu-forwarded",
    scope: Scope::Interface,
    about: "whether packets from an interface fit that by which they are forwarded",
    means: "long packets are dropped here, and their senders told by ICMP: where that is lost, or what is behind the interface offers \
            segments that do not fit, connections stand still once they send much",
    published: "RFC 1191; RFC 2923, section 2.1; RFC 4459; nft(8), tcp option maxseg size set rt mtu",
    proof: Proof::Look,
    look,
};

const MAIN: u32 = 254;
/// Bytes of the headers of IPv4 and TCP.
const HEADERS: u32 = 40;

/// Interface by which packets leave: that of the way to the peer, or else that of the default route.
fn way_out<'a>(view: &'a View<'_>) -> Option<&'a Interface> {
    if let Some(way) = view.interfaces.iter().find(|one| one.name == view.way) {
        return Some(way);
    }
    let routes = view.routes().ok()?;
    let default = routes.iter().find(|route| route.to.1 == 0 && route.kind == "unicast" && route.table == MAIN);
    view.named(default?.link?)
}

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
    let inside = view.interface();
    let Some((out, least, mtu)) = way_out(view).and_then(|out| Some((out, out.mtu?, inside.mtu?))) else {
        return healthy();
    };
    let one = |address: IpAddr| match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(v6) => !v6.is_unicast_link_local(),
    };
    // What is below the other one carries its packets, and forwards none.
    let stacked = |one: &Interface, other: &Interface| {
        one.lower == Some(other.index) && !one.lower_elsewhere && one.kind.as_deref() != Some("veth")
            || one.master == Some(other.index)
    };
    if least >= mtu || !view.is_up() || stacked(inside, out) || stacked(out, inside) {
        return healthy();
    }
    if !view.addresses()?.iter().any(|own| one(own.address)) || view.sysctl_number("net.ipv4.ip_forward")? == 0 {
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
    let (name, typed) = (&out.name, view.typed());
    let which = if inside.kind.as_deref() == Some("bridge") { ", and of all that is attached to it" } else { "" };
    Finding::new(
        view.graver_for(&[Load::Forward]),
        format!("its MTU is {mtu}, and that of {name}, by which its packets are forwarded, {least}"),
    )
    .seen(format!("mtu {mtu}"), format!("ip link show dev {typed}"))
    .seen(format!("mtu {least}"), format!("ip link show dev {}", word(name)))
    .seen("no rule has segments fit the path", "nft list ruleset")
    .mend(format!(
        "ip link set dev {typed} mtu {least}{which}; or have segments of TCP fit: \
         nft add rule inet TABLE FORWARD tcp flags syn tcp option maxseg size set rt mtu"
    ))
    .gain("long packets arrive, whoever loses ICMP")
    .alone()
}
