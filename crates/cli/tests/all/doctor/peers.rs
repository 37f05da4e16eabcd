//! Tests of `doctor --peer` where something between this host and the peer is set up wrong.

use super::shell;
use crate::process::BINARY;
use serde_json::Value;

/// Findings with a peer in another network namespace: this host is made wrong by `here`, the peer by `there`, where the address
/// of our end is `$MAC`, and `$E` a process in a third namespace.
fn examined(here: &str, there: &str, words: &str) -> Option<Value> {
    let line = format!(
        "trap 'leave $P; leave $E' EXIT; space P; space E; export E MAC=$(cat /sys/class/net/left/address); \
         ip link set right netns $P; \
         nsenter -t $P -n sh -c 'ip link set lo up; ip addr add 10.0.0.2/24 dev right; ip link set right up; {there}' >/dev/null; \
         carrier; {{ {here}; }} >/dev/null; {BINARY} doctor left --json {words} || [ $? = 3 ]"
    );
    let out = shell(&line)?;
    assert!(out.status.success(), "{here}; {there}: {out:?}");
    Some(serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}")))
}

/// Rules with more than a note.
fn warned(document: &Value) -> Vec<&str> {
    let all = document["findings"].as_array().unwrap().iter().filter(|one| one["severity"] != "note");
    all.map(|one| one["rule"].as_str().unwrap()).collect()
}

const PEER: &str = "--peer 10.0.0.2";
/// A chain of the packet filter of this host.
const CHAIN: &str = "nft 'add table inet t; add chain inet t c";

#[test]
fn a_cause_that_this_host_or_the_peer_can_tell_is_found() {
    let chain = |rest: &str| format!("{CHAIN} {rest}'");
    for (here, there, words, rules) in [
        ("true", "true", PEER, &[][..]),
        ("ip route add 10.7.0.0/16 via 10.0.0.2", "true", PEER, &[]),
        // Refused here; lost on the way in, with their answers; lost there.
        (
            &chain("{ type filter hook output priority 0; }; add rule inet t c meta l4proto tcp reject"),
            "true",
            PEER,
            &["peer-tcp", "firewall"],
        ),
        (
            &chain("{ type filter hook input priority 0; policy drop; }; add rule inet t c meta l4proto icmp accept"),
            "true",
            PEER,
            &["peer-tcp", "firewall"],
        ),
        (
            "true",
            "nft \"add table inet t; add chain inet t c { type filter hook input priority 0; }; add rule inet t c meta l4proto tcp drop\"",
            PEER,
            &["peer-tcp"],
        ),
        ("ip route add blackhole 10.0.0.2", "true", PEER, &["peer-route"]),
        ("ip route add prohibit 10.0.0.2", "true", PEER, &["peer-route"]),
        ("ip link set left down", "true", "--for tcp --peer 10.0.0.2", &["peer-route", "interface-down"]),
        ("true", "true", "--peer 10.0.0.1", &["peer-route"]),
        ("true", "ip addr add 10.0.0.1/24 dev right", PEER, &["peer-claims"]),
        ("ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:99 dev left", "true", PEER, &["neighbour-fixed", "peer-silent"]),
        ("ip link set left arp off", "true", PEER, &["arp", "peer-silent"]),
        ("ip route add 10.9.0.0/16 via 10.0.0.77", "true", "--peer 10.9.0.1", &["peer-silent"]),
        ("sysctl -qw net.ipv4.ip_default_ttl=1", "true", PEER, &["sysctl-range"]),
        (
            "true",
            "ip neigh add 10.0.0.77 lladdr $MAC dev right; ping -i 0.05 10.0.0.77 >/dev/null 2>&1 &",
            PEER,
            &["ip-drops"],
        ),
    ] {
        let Some(document) = examined(here, there, words) else { return };
        let found = warned(&document);
        for rule in rules {
            assert!(found.contains(rule), "{here}; {there}: no {rule} in {document:#}");
        }
        assert!(!rules.is_empty() || found.is_empty(), "{here}; {there}: {document:#}");
    }
}

/// Of a path with a smaller MTU in the midst routers tell, and nothing stands still; unless what they tell is dropped.
#[test]
fn a_smaller_mtu_on_the_way_is_a_fault_only_where_nobody_tells_of_it() {
    let router = |more: &str| {
        format!(
            "ip addr add 10.0.0.254/24 dev right; sysctl -qw net.ipv4.ip_forward=1; ip link add on type veth peer name end; \
             ip link set end netns $E; ip addr add 10.1.0.1/24 dev on; ip link set on mtu 1400 up; \
             nsenter -t $E -n sh -c \"ip addr add 10.1.0.2/24 dev end; ip link set end mtu 1400 up; ip route add default via 10.1.0.1\"; \
             {more}"
        )
    };
    let here = "ip route add 10.1.0.0/16 via 10.0.0.254; awaits 'ping -c 1 -W 1 10.1.0.2'";
    let mute = "nft \"add table ip t; add chain ip t c { type filter hook output priority 0; }; \
                add rule ip t c icmp type destination-unreachable drop\"";
    for (more, severity) in [("true", "note"), (mute, "warning")] {
        let Some(document) = examined(here, &router(more), "--peer 10.1.0.2") else { return };
        let all = document["findings"].as_array().unwrap();
        let finding = all.iter().find(|one| one["rule"] == "path-mtu").unwrap_or_else(|| panic!("{document:#}"));
        assert_eq!(finding["severity"], severity, "{finding:#}");
    }
}

/// Findings of a rule.
fn of<'a>(document: &'a Value, rule: &str) -> Vec<&'a Value> {
    document["findings"].as_array().unwrap().iter().filter(|one| one["rule"] == rule).collect()
}

/// Regression: what a limiter of rate dropped was taken for longer than the path's MTU.
#[test]
fn a_limited_rate_is_no_smaller_mtu() {
    let tbf = "tc qdisc add dev right root tbf rate 100kbit burst 2k latency 5ms";
    let Some(document) = examined("true", tbf, PEER) else { return };
    for one in of(&document, "path-mtu") {
        assert_eq!(one["what"], "the way to it is limited in rate, or loses packets", "{document:#}");
    }
    assert!(document["peer"].as_str().unwrap().contains("packets of up to 1500 bytes come back"), "{document:#}");
}

/// Regression: a peer that limits its answers to echo requests was called a lossy path.
#[test]
fn a_peer_that_limits_echo_loses_nothing() {
    let limits = "nft \"add table ip t; add chain ip t c { type filter hook input priority 0; }; \
                  add rule ip t c icmp type echo-request limit rate over 5/second burst 5 packets drop\"";
    let Some(document) = examined("true", limits, PEER) else { return };
    let found = of(&document, "peer-loss");
    assert!(found.len() == 1 && found[0]["severity"] == "note", "{document:#}");
    assert!(warned(&document).is_empty(), "{document:#}");
}

#[test]
fn options_that_the_way_takes_out_of_a_handshake_are_named() {
    let serves = |filter: &str| {
        format!(
            "nft \"add table ip t; add chain ip t c {{ type filter hook input priority 0; }}; \
             add chain ip t o {{ type filter hook output priority 0; }}; {filter}\"; \
             {BINARY} stream -s >/dev/null 2>&1 & \
             for at in $(seq 3000); do ss -Hltn | grep -q :5201 && break; sleep 0.02; done"
        )
    };
    let strips = "add rule ip t c tcp flags syn reset tcp option window; add rule ip t c tcp flags syn reset tcp option sack-perm; \
                  add rule ip t o tcp flags syn tcp option maxseg size set 300";
    let Some(stripped) = examined("true", &serves(strips), PEER) else { return };
    let found = of(&stripped, "peer-handshake");
    let what = found.first().map_or("", |one| one["what"].as_str().unwrap());
    assert!(
        what.starts_with("connections to it have no window scaling, no selective acknowledgements, segments of "),
        "{stripped:#}"
    );
    let whole = examined("true", &serves(""), PEER).unwrap();
    assert!(of(&whole, "peer-handshake").is_empty(), "{whole:#}");
    let untold = whole["unable"].as_array().unwrap().iter().any(|one| one[1] == "peer-handshake");
    assert!(!untold, "it was looked at: {whole:#}");
}

#[test]
fn a_dead_next_hop_of_two_is_named() {
    for (second, dead) in [("10.0.0.3", false), ("10.0.0.77", true)] {
        let here = format!("ip route add 10.7.0.0/16 nexthop via 10.0.0.2 nexthop via {second}");
        let there = "ip addr add 10.0.0.3/24 dev right; ip addr add 10.7.0.1/32 dev lo";
        let Some(document) = examined(&here, there, "--peer 10.7.0.1") else { return };
        let found = of(&document, "next-hop");
        assert_eq!(found.len(), usize::from(dead), "{document:#}");
        assert!(found.iter().all(|one| one["what"].as_str().unwrap().contains(second)), "{document:#}");
    }
}

/// Of several ways to a peer one is dead, so some connections hang; or full segments are lost, and nothing else.
#[test]
fn flows_and_segments_that_die_on_the_way_are_named() {
    let filter = |rule: &str| {
        format!(
            "nft \"add table ip t; add chain ip t c {{ type filter hook input priority 0; }}; {rule}\"; \
             {BINARY} stream -s >/dev/null 2>&1 & \
             for at in $(seq 3000); do ss -Hltn | grep -q :5201 && break; sleep 0.02; done"
        )
    };
    for (rule, expected) in [
        ("", None),
        // A limit of connections in a second is no dead way.
        ("add rule ip t c tcp flags syn limit rate over 20/second burst 10 packets drop", None),
        ("add rule ip t c tcp sport and 7 == 3 drop", Some("peer-flows")),
        ("add rule ip t c ip protocol tcp meta length > 1400 drop", Some("peer-segments")),
    ] {
        let Some(document) = examined("true", &filter(rule), PEER) else { return };
        assert_eq!(warned(&document), expected.into_iter().collect::<Vec<_>>(), "{rule}: {document:#}");
        let untold = document["unable"].as_array().unwrap().iter().any(|one| one[1] == "peer-flows");
        assert!(!untold, "it was looked at: {document:#}");
        if expected == Some("peer-flows") {
            let found = of(&document, "peer-flows")[0];
            assert!(found["what"].as_str().unwrap().starts_with("4 of 32 connections"), "{found:#}");
        }
    }
}
