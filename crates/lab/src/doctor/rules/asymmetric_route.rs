//! Two interfaces in one subnet.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope, healthy};
use crate::doctor::view::View;
use linerate_host::shell::word;
use std::net::Ipv4Addr;

pub(super) const RULE: Rule = Rule {
    name: "asymmetric-route",
    scope: Scope::Interface,
    about: "two interfaces in one subnet",
    means: "each answers ARP for the other's address, and answers leave by the first of them: the second only receives",
    published: "Documentation/networking/ip-sysctl.rst, arp_ignore, arp_announce, rp_filter; RFC 1122, 3.3.4.2; /proc/net/route",
    proof: Proof::Look,
    look,
};

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
        let is_subnet = hex(flags)? & 0x205 == 1 && hex(mask)? != 0;
        let route = Direct { name, subnet: [hex(network)?, hex(mask)?], metric: metric.parse().ok()? };
        is_subnet.then_some(route)
    };
    let mut all: Vec<Direct<'_>> = text.lines().filter_map(one).collect();
    all.sort_by_key(|route| route.metric);
    all
}

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
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
    let (severity, what) = match drops {
        true => (Severity::Warning, "what it receives from there is dropped"),
        false => (view.graver_for(&[Load::Tcp, Load::Udp]), "answers for one may leave by the other"),
    };
    let loose = if drops { " net.ipv4.conf.all.rp_filter=2" } else { "" };
    Finding::new(severity, format!("{beside} has a route to {subnet}/{bits}, too: {what}"))
        .seen(format!("{subnet}/{bits} by {name} and {beside}, without a gateway"), "/proc/net/route")
        .seen(
            format!("arp_ignore {ignore}, arp_announce {announce}, rp_filter {strict}"),
            format!("sysctl -a -r {}, the greater", word(r"net\.ipv4\.conf\..*\.(arp_ignore|arp_announce|rp_filter)")),
        )
        .mend(format!("sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2{loose}"))
        .gain("each answers for its own address; a subnet each, or a bond of both, also sends by both")
        .alone()
}
