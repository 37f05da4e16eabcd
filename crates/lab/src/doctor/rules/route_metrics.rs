//! Metrics of routes, for the connections that take them.

use crate::doctor::finding::{Finding, Load, Severity};
use crate::doctor::rule::{Proof, Rule, Scope};
use crate::doctor::view::View;
use linerate_host::adapter::{Metric, Route};

pub(super) const RULE: Rule = Rule {
    name: "route-metrics",
    scope: Scope::Interface,
    about: "what routes set for the connections that take them",
    means: "connections by this route have a window, segments or a timer of their own, whatever the sysctls say",
    published: "ip-route(8)",
    proof: Proof::Look,
    look,
};

const MAIN: u32 = 254;

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

fn look(view: &View<'_>) -> Result<Vec<Finding>, String> {
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
