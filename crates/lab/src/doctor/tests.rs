//! Faults that are put into the recorded tree of a card and of the machine around it: each is found by its rule, alone and with
//! another one, and a healthy tree has none.

mod dcb;
mod faults;
mod freebsd;
mod hosts;
mod kinds;
mod meant;
mod pasted;
mod posted;
mod replays;
mod tree;
mod typed;

use super::peer::Tcp;
use super::*;
use faults::*;
use linerate_load::Handshake;
use linerate_result::Unit;
use linerate_rt::Stop;
use std::fs;
use std::path::Path;
use tree::*;

fn needs_peer(rule: &Rule) -> bool {
    matches!(rule.scope, Scope::Peer | Scope::Ends | Scope::Freebsd)
}

fn found(examination: &Examination, rule: &str) -> Option<Severity> {
    examination.findings.iter().filter(|finding| finding.rule == rule).map(|finding| finding.severity).max()
}

/// A row of the texts for each rule, and a rule for each row.
#[test]
fn each_rule_has_its_texts() {
    let rows: Vec<&str> =
        include_str!("../../data/rules.txt").split("\n\n").filter_map(|one| one.lines().next()).collect();
    let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(rows, names);
    for rule in RULES.iter() {
        assert!(![rule.about, rule.means, rule.published].contains(&""), "{}", rule.name);
    }
}

#[test]
fn a_healthy_machine_has_no_warning_whatever_it_is_for() {
    for (word, load) in Load::ALL {
        let examined = Tree::new(&[]).examined(&[load]);
        let worse: Vec<&Finding> = examined.findings.iter().filter(|one| one.severity > Severity::Note).collect();
        // What forwards must forward.
        // A full frame of FCoE does not fit into an MTU of 1500.
        let expected = usize::from(matches!(load, Load::Forward | Load::Fcoe));
        assert_eq!(worse.len(), expected, "{word}: {worse:#?}");
    }
    let examined = Tree::new(&[]).examined(&[]);
    assert!(examined.findings.is_empty(), "{:#?}", examined.findings);
    let all = RULES.iter().filter(|rule| !needs_peer(rule)).count();
    assert!(examined.healthy + examined.unable.len() == all && examined.healthy > 50, "{:?}", examined.unable);
}

#[test]
fn each_fault_is_found_with_its_evidence_and_what_to_type() {
    for Fault(rule, grave, edits, typed) in FAULTS {
        let examined = Tree::new(&edits.iter().collect::<Vec<_>>()).examined(&[]);
        let severity = found(&examined, rule).unwrap_or_else(|| panic!("{rule}: {:#?}", examined));
        assert_eq!(severity > Severity::Note, *grave, "{rule}: {:#?}", examined.findings);
        for finding in examined.findings.iter().filter(|finding| finding.rule == *rule) {
            assert!(
                !finding.evidence.is_empty() && !finding.means.is_empty() && !finding.published.is_empty(),
                "{finding:#?}"
            );
            assert!(finding.mend.is_some() || *rule == "xdp-copy", "{finding:#?}");
        }
        let of_rule = examined.findings.iter().filter(|finding| finding.rule == *rule);
        let mends: std::collections::BTreeSet<&str> = of_rule.map(|one| one.mend.as_deref().unwrap_or("")).collect();
        assert_eq!(mends, typed.iter().copied().collect(), "{rule}");
        // What follows from a fault is found beside it, but nothing else.
        assert!(examined.findings.len() <= 4, "{rule}: {:#?}", examined.findings);
    }
}

#[test]
fn what_is_near_a_fault_and_none_is_not_found() {
    for (at, (rule, edits)) in SILENT.iter().enumerate() {
        let examined = Tree::new(&edits.iter().collect::<Vec<_>>()).examined(&[]);
        assert!(found(&examined, rule).is_none(), "{at} {rule}: {:#?}", examined.findings);
        // It has looked.
        assert!(examined.unable.iter().all(|one| one.1 != *rule), "{at} {rule}: {:?}", examined.unable);
    }
}

#[test]
fn a_rule_that_cannot_look_says_why() {
    let why = |tree: &Tree, rule: &str| {
        let examined = tree.examined(&[Load::Tcp]);
        assert!(found(&examined, rule).is_none(), "{rule}: {:#?}", examined.findings);
        examined.unable.iter().find(|one| one.1 == rule).map(|one| one.2.clone()).unwrap_or_default()
    };
    // What 'nic record' writes has no files of /etc, /run or /usr.
    let recorded = Tree::new(&[&RMEM, &BALANCED]);
    fs::remove_dir_all(recorded.at("etc")).unwrap();
    fs::remove_dir_all(recorded.at("usr")).unwrap();
    for rule in ["not-persistent", "persistent-differs"] {
        assert!(why(&recorded, rule).starts_with("/etc/sysctl.conf: "), "{}", why(&recorded, rule));
    }
    assert_eq!(why(&recorded, "module-options"), "there is no file of modprobe.d");
    // Files are for the first network namespace.
    let other = Tree::new(&[&RMEM]);
    fs::remove_file(other.at("proc/sys/net/core/netdev_max_backlog")).unwrap();
    assert!(why(&other, "not-persistent").ends_with("and this is another"), "{}", why(&other, "not-persistent"));
    let tied = Tree::new(&TIED.iter().collect::<Vec<_>>());
    fs::remove_file(tied.at("proc/1/comm")).unwrap();
    fs::remove_dir(tied.at("proc/1")).unwrap();
    assert_eq!(why(&tied, "irqbalance"), "/proc shows no process");
    for (rule, path) in [
        ("listen-drops", NETSTAT),
        ("udp-drops", SNMP),
        ("checksum-errors", SNMP),
        ("retransmits", SNMP),
        ("tcp-memory", "proc/net/sockstat"),
        ("asymmetric-route", ROUTE),
        ("neighbour-table", ARP),
        ("somaxconn", "proc/sys/net/core/somaxconn"),
    ] {
        let tree = Tree::new(&[]);
        fs::remove_file(tree.at(path)).unwrap();
        assert!(why(&tree, rule).starts_with(&format!("/{path}: ")), "{rule}: {}", why(&tree, rule));
    }
}

#[test]
fn files_cut_anywhere_are_no_fault() {
    let places = [
        ("listen-drops", NETSTAT),
        ("udp-drops", SNMP),
        ("checksum-errors", SNMP),
        ("retransmits", SNMP),
        ("tcp-memory", "proc/net/sockstat"),
        ("asymmetric-route", ROUTE),
        ("persistent-differs", "usr/lib/sysctl.d/50-default.conf"),
        ("bond-half", BOND),
    ];
    let tree = Tree::new(&[&BONDED, &MEMBERS]);
    for (rule, path) in places {
        let whole = fs::read(tree.at(path)).unwrap();
        for end in 0..whole.len() {
            fs::write(tree.at(path), [&whole[..end], b"\xff"].concat()).unwrap();
            let examined = tree.examined(&[]);
            let faults: Vec<_> = examined.findings.iter().filter(|one| one.rule == rule).collect();
            // Of a bond the last state that is written may be cut.
            let cut = rule == "bond-half" || rule == "persistent-differs";
            assert!(faults.is_empty() || cut && faults.len() == 1, "{rule} {end}: {faults:#?}");
        }
        fs::write(tree.at(path), whole).unwrap();
    }
}

#[test]
fn faults_do_not_hide_each_other() {
    let mut seed = 7_u64;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % n
    };
    let mut pairs = 0;
    while pairs < 20 {
        let (a, b) = (&FAULTS[below(FAULTS.len())], &FAULTS[below(FAULTS.len())]);
        // Two changes of one place are one fault.
        if a.places().iter().any(|place| b.places().contains(place)) {
            continue;
        }
        pairs += 1;
        let examined = Tree::new(&a.2.iter().chain(b.2).collect::<Vec<_>>()).examined(&[]);
        for Fault(rule, ..) in [a, b] {
            assert!(found(&examined, rule).is_some(), "{} and {}: {:#?}", a.0, b.0, examined.findings);
        }
    }
}

#[test]
fn every_rule_has_a_fault() {
    // Seen between real kernels, asked for by a load, or in posted texts.
    const ELSEWHERE: [&str; 25] = [
        "usb-speed",
        "optics",
        "emulated",
        "bond-hash",
        "bridge-filtered",
        "policy-empty",
        "metrics-save",
        "fast-open",
        "queue-drops",
        "tcp-drops",
        "connections",
        "path-tried",
        "answered-twice",
        "checksum-offload",
        "ip-drops",
        "veth-checksums",
        "mtu-of-members",
        "slow-start-after-idle",
        "busy-poll",
        "siblings",
        "huge-pages",
        "forwarding",
        "somaxconn",
        "numa-balancing",
        "bridge-vlan",
    ];
    for rule in RULES.iter().filter(|rule| !needs_peer(rule)) {
        let tried = FAULTS.iter().any(|fault| fault.0 == rule.name);
        assert!(tried != ELSEWHERE.contains(&rule.name), "{}", rule.name);
    }
    let names: std::collections::BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert!(names.len() == RULES.len() && RULES.len() >= 40);
}

#[test]
fn what_a_peer_answers_is_judged() {
    use linerate_host::adapter::Recorded;
    use std::time::Duration;
    const OPTIONS: &str = "see there sysctl net.ipv4.tcp_window_scaling net.ipv4.tcp_sack net.ipv4.tcp_timestamps; then firewalls and \
        proxies on the way: 'tcpdump -v' at both ends shows the options that were sent and that came";
    const LIMITS: &str = "see shapers, policers and limits on the way: 'tc -s qdisc', 'tc -s filter' and 'nft list ruleset' at both ends";
    let tree = Tree::new(&[]);
    tree.put(
        "proc/net/arp",
        "IP address HW type Flags HW address Mask Device\n192.0.2.7 0x1 0x0 00:00:00:00:00:00 * x\n",
    );
    let ms = Duration::from_millis(1);
    let well = Probed {
        peer: "192.0.2.7".parse().unwrap(),
        way: NAME.to_owned(),
        mtu: 9000,
        asked: 20,
        answered: 20,
        times: Some((ms, 2 * ms)),
        largest: 9000,
        source: "192.0.2.1".parse().unwrap(),
        claims: Ok(vec![("192.0.2.7".parse().unwrap(), "02:00:00:00:00:07".to_owned())]),
        ..Probed::new("192.0.2.7".parse().unwrap())
    };
    let agreed = Handshake { window_scale: true, sack: true, timestamps: true, segment: 8948 };
    let also = |address: &str| {
        let mut claims = well.claims.clone().unwrap();
        claims.push((address.parse().unwrap(), "02:00:00:00:00:08".to_owned()));
        Probed { claims: Ok(claims), ..well.clone() }
    };
    let mut seen = std::collections::BTreeSet::new();
    for (probed, expected) in [
        (well.clone(), None),
        (Probed { mtu: 65_536, largest: 65_535, ..well.clone() }, None),
        (
            Probed { largest: 1500, ..well.clone() },
            Some((
                "path-mtu",
                "packets of up to 1500 bytes come back",
                "ip link set dev ens2f0 mtu 1500, or 9000 at the other end and on all of the path",
            )),
        ),
        (
            Probed { largest: 1500, told: Some(1500), ..well.clone() },
            Some((
                "path-mtu",
                "the path takes packets of 1500 bytes",
                "nothing: TCP follows; datagrams of more than 1500 bytes become fragments",
            )),
        ),
        (Probed { largest: 1300, sizes: Sizes::Lossy, ..well.clone() }, None),
        (
            Probed { largest: 1300, sizes: Sizes::Limited, ..well.clone() },
            Some(("path-mtu", "limited in rate, or loses packets", LIMITS)),
        ),
        (
            Probed { sizes: Sizes::Limited, ..well.clone() },
            Some(("path-mtu", "limited in rate, or loses packets", LIMITS)),
        ),
        (
            Probed { largest: 200, ..well.clone() },
            Some((
                "path-mtu",
                "requests of more than 200 bytes are not answered",
                "see whether a packet filter drops long echo requests: then the path's MTU is not known",
            )),
        ),
        (
            Probed { told: Some(600), ..well.clone() },
            Some(("path-mtu", "taken for one of 600 bytes, and 9000", "ip route flush cache")),
        ),
        (
            Probed { elsewhere: true, ..well.clone() },
            Some(("peer-route", "which is not looked at", "linerate doctor --peer 192.0.2.7 ens2f0")),
        ),
        (
            Probed { largest: 1300, told: Some(1500), ..well.clone() },
            Some((
                "path-mtu",
                "packets of up to 1300",
                "ip link set dev ens2f0 mtu 1300, or 9000 at the other end and on all of the path",
            )),
        ),
        (
            Probed { refused: Some("a route prohibits it".to_owned()), ..well.clone() },
            Some((
                "peer-route",
                "prohibits",
                "an address or a route that its network is behind: ip addr, ip route, ip rule",
            )),
        ),
        (
            Probed { source: well.peer, claims: Ok(Vec::new()), ..well.clone() },
            Some((
                "peer-route",
                "an address of this machine",
                "another address here or there: ip addr show to 192.0.2.7",
            )),
        ),
        (Probed { tcp: Tcp::Answered, ..well.clone() }, None),
        (Probed { handshake: Some(agreed), ..well.clone() }, None),
        (
            Probed { handshake: Some(Handshake { window_scale: false, ..agreed }), ..well.clone() },
            Some(("peer-handshake", "no window scaling", OPTIONS)),
        ),
        (
            Probed { handshake: Some(Handshake { timestamps: false, sack: false, ..agreed }), ..well.clone() },
            Some(("peer-handshake", "no selective acknowledgements, no time-stamps", OPTIONS)),
        ),
        (
            Probed { handshake: Some(Handshake { segment: 300, ..agreed }), ..well.clone() },
            Some(("peer-handshake", "segments of 300 bytes", OPTIONS)),
        ),
        // Of a path with the least MTU of IPv6, and where more than that comes back.
        (
            Probed { handshake: Some(Handshake { segment: 1208, ..agreed }), mtu: 1280, largest: 1280, ..well.clone() },
            None,
        ),
        (
            Probed { handshake: Some(Handshake { segment: 1208, ..agreed }), ..well.clone() },
            Some(("peer-handshake", "segments of 1208 bytes, where packets of 9000 come back", OPTIONS)),
        ),
        (Probed { flows: Some(Flows { port: 22, asked: 32, ..Flows::default() }), ..well.clone() }, None),
        // A limit in a second, and losses by chance.
        (
            Probed {
                flows: Some(Flows { port: 22, asked: 32, silent: 20, again: 12, ..Flows::default() }),
                ..well.clone()
            },
            None,
        ),
        (
            Probed {
                flows: Some(Flows { port: 22, asked: 32, silent: 2, again: 6, silent_again: 1, ..Flows::default() }),
                ..well.clone()
            },
            None,
        ),
        (
            Probed {
                flows: Some(Flows { port: 22, asked: 32, silent: 15, again: 12, silent_again: 5, ..Flows::default() }),
                ..well.clone()
            },
            Some((
                "peer-flows",
                "15 of 32 connections that differ",
                "see where they end: traceroute -T -p 22 192.0.2.7, several times",
            )),
        ),
        (
            Probed {
                flows: Some(Flows {
                    port: 22,
                    asked: 32,
                    silent: 2,
                    again: 6,
                    silent_again: 6,
                    dead: vec![20_003, 20_011],
                }),
                ..well.clone()
            },
            Some((
                "peer-flows",
                "2 of 32 connections that differ",
                "see where that flow ends: traceroute -T -p 22 --sport=20003 192.0.2.7, and then from another port",
            )),
        ),
        (Probed { segments: Some(Segments { short: true, full: true, length: 1448 }), ..well.clone() }, None),
        // It ended while it was looked at: nothing is known of its length.
        (Probed { segments: Some(Segments { short: false, full: false, length: 1448 }), ..well.clone() }, None),
        (
            Probed { segments: Some(Segments { short: true, full: false, length: 1448 }), ..well.clone() },
            Some((
                "peer-segments",
                "segments of 1448 bytes are not acknowledged",
                "see tunnels, and packet filters that drop by length or drop ICMP, on the way: 'tcpdump -v icmp', 'nft list ruleset'",
            )),
        ),
        (
            Probed { tcp: Tcp::Silent, ..well.clone() },
            Some((
                "peer-tcp",
                "TCP at none of the ports",
                "see the packet filters of both ends: nft list ruleset, iptables-save",
            )),
        ),
        (
            Probed { tcp: Tcp::Refused("EPERM".to_owned()), ..well.clone() },
            Some((
                "peer-tcp",
                "refused here: EPERM",
                "see the packet filters of both ends: nft list ruleset, iptables-save",
            )),
        ),
        (
            also("192.0.2.1"),
            Some((
                "peer-claims",
                "another host has the address 192.0.2.1",
                "another address for one of them; see who has 192.0.2.1 by its MAC address, at the switch",
            )),
        ),
        (
            also("192.0.2.7"),
            Some((
                "peer-claims",
                "2 hosts have the address 192.0.2.7",
                "another address for one of them; see who has 192.0.2.7 by its MAC address, at the switch",
            )),
        ),
        (also("192.0.2.9"), None),
        (
            Probed { answered: 9, limited: true, sizes: Sizes::Limited, ..well.clone() },
            Some((
                "peer-loss",
                "in a second is limited",
                "nothing: it says nothing of other packets; see there sysctl net.ipv4.icmp_ratelimit and 'nft list ruleset'",
            )),
        ),
        (
            Probed { answered: 9, limited: true, sizes: Sizes::Limited, ..well.clone() },
            Some((
                "peer-loss",
                "are answered in a second is limited",
                "nothing: it says nothing of other packets; see there sysctl net.ipv4.icmp_ratelimit and 'nft list ruleset'",
            )),
        ),
        (
            Probed { answered: 18, ..well.clone() },
            Some((
                "peer-loss",
                "2 of 20 echo requests",
                "see cable, module, pause frames and errors at both ends and the switch: the rules about errors",
            )),
        ),
        (
            Probed { answered: 0, asked: 4, times: None, largest: 0, ..well },
            Some((
                "peer-silent",
                "none of 4",
                "see whether it is up, and that both ends have addresses of one network: ip addr show dev ens2f0",
            )),
        ),
    ] {
        let mut source = Recorded::open(tree.0.path()).unwrap();
        let (adapter, counters) = View::read(&mut source, NAME, || {}).unwrap();
        let mut view = View::new(&source, adapter, counters, &[], &[]);
        view.peer = Some(probed);
        let mut examination = Examination::default();
        examination.add(&view, Scope::Peer);
        let found: Vec<_> =
            examination.findings.iter().map(|one| (&*one.rule, one.what.as_str(), one.subject.as_str())).collect();
        match (&found[..], expected) {
            ([], None) => {}
            ([(rule, what, "192.0.2.7")], Some((name, words, typed))) => {
                assert!(*rule == name && what.contains(words), "{found:?}");
                assert_eq!(examination.findings[0].mend.as_deref(), Some(typed), "{rule}");
                seen.insert(name);
            }
            _ => panic!("{expected:?}: {:#?}", examination.findings),
        }
        assert!(examination.findings.iter().all(|one| !one.evidence.is_empty()));
    }
    assert_eq!(seen.len(), RULES.iter().filter(|rule| rule.scope == Scope::Peer).count());
}

#[test]
fn what_two_ends_do_not_have_in_common_is_found() {
    use linerate_host::adapter::Recorded;
    let tree = Tree::new(&[]);
    let examined = |end: LinkEnd| {
        let mut source = Recorded::open(tree.0.path()).unwrap();
        let (adapter, counters) = View::read(&mut source, NAME, || {}).unwrap();
        let mut view = View::new(&source, adapter, counters, &[], &[]);
        view.remote = Some(end);
        let mut examination = Examination::default();
        examination.add(&view, Scope::Ends);
        examination
    };
    let same = LinkEnd { name: "eth9".to_owned(), mtu: Some(1500), speed: Some(10_000), pause: Some([true; 2]) };
    let mut seen = std::collections::BTreeSet::new();
    for (end, expected) in [
        (same.clone(), None),
        // The other end has no such numbers.
        (LinkEnd { speed: None, pause: None, mtu: None, ..same.clone() }, None),
        (
            LinkEnd { mtu: Some(9000), ..same.clone() },
            Some((
                "ends-mtu",
                Severity::Warning,
                "the same MTU at both ends: ip link set dev ens2f0 mtu N, and so there",
            )),
        ),
        (
            LinkEnd { speed: Some(25_000), ..same.clone() },
            Some((
                "ends-speed",
                Severity::Note,
                "the same speed at both ends; or measure with the slower one's as the most",
            )),
        ),
        (
            LinkEnd { pause: Some([true, false]), ..same },
            Some(("ends-pause", Severity::Note, "ethtool -A ens2f0 rx off tx on")),
        ),
    ] {
        let all = examined(end).findings;
        let found: Vec<_> = all.iter().map(|one| (&*one.rule, one.severity, one.mend.as_deref().unwrap())).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{all:#?}");
        seen.extend(expected.map(|(rule, ..)| rule));
        assert!(all.iter().all(|one| one.evidence.len() == 2 && one.subject == NAME), "{all:#?}");
    }
    assert_eq!(seen.len(), RULES.iter().filter(|rule| rule.scope == Scope::Ends).count());
}

#[test]
fn what_grows_while_it_is_looked_at_is_graver() {
    use linerate_host::adapter::Recorded;
    for (rule, file, now, then) in [
        ("listen-drops", NETSTAT, "0 0 0", "5 7 0"),
        ("udp-drops", SNMP, "Udp: 9000 0 0", "Udp: 9000 7 0"),
        ("checksum-errors", SNMP, "Icmp: 12 0 0", "Icmp: 12 0 3"),
        ("retransmits", SNMP, "Tcp: 90000 90000 20", "Tcp: 190000 190000 1100"),
    ] {
        let grown = Tree::new(&[&Swap(file, now, then)]);
        for (first, grave) in [(Tree::new(&[]), true), (Tree::new(&[&Swap(file, now, then)]), false)] {
            let mut source = Recorded::open(grown.0.path()).unwrap();
            let (adapter, counters) = View::read(&mut source, NAME, || {}).unwrap();
            let mut view = View::new(&source, adapter, counters, &[], &[]);
            view.earlier = protocols::snapshot(&Recorded::open(first.0.path()).unwrap());
            let mut examination = Examination::default();
            examination.add(&view, Scope::Host);
            let severity = found(&examination, rule);
            // So few segments again since the start are usual.
            let silent = !grave && rule == "retransmits";
            let expected = if grave { Severity::Warning } else { Severity::Note };
            assert_eq!(severity, Some(expected).filter(|_| !silent), "{rule}: {:#?}", examination.findings);
        }
    }
}

/// Regression: blocks that were not mended while a link came up were warned of for ever.
#[test]
fn what_could_not_be_corrected_is_graver_only_while_it_grows() {
    use linerate_host::adapter::Recorded;
    let trees = ["01", "02"].map(|count| {
        let tree = Tree::new(&[]);
        let text =
            format!("message\n3 u8 1\n4 u32 50\n5 {{\n  2 hex 0c00000000000000\n  3 hex {count}00000000000000\n}}\n");
        tree.put("netlink/fec", &text);
        tree
    });
    for (first, expected) in [(0, Severity::Warning), (1, Severity::Note)] {
        let [first, mut source] = [first, 1].map(|at: usize| Recorded::open(trees[at].0.path()).unwrap());
        let (_, [before, _]) = View::read(&mut { first }, NAME, || {}).unwrap();
        let (adapter, [_, after]) = View::read(&mut source, NAME, || {}).unwrap();
        let mut examination = Examination::default();
        examination.add(&View::new(&source, adapter, [before, after], &[], &[]), Scope::Interface);
        assert_eq!(found(&examination, "fec-errors"), Some(expected), "{:#?}", examination.findings);
    }
}

#[test]
fn changes_do_what_is_to_be_typed() {
    // Sets of values in the order in which they are made: what others need first.
    let edits = [
        Off("tx-tcp-segmentation", false),
        Off("tx-checksum-ip-generic", false),
        Swap("netlink/channels", "9 u32 4", "9 u32 1"),
        Put("proc/sys/net/ipv4/tcp_window_scaling", "0"),
        Put("proc/irq/165/effective_affinity_list", "9"),
    ];
    let examined = Tree::new(&edits.iter().collect::<Vec<_>>()).examined(&[]);
    let steps = plan(&examined, &[], Risk::Traffic, false);
    let all: Vec<String> =
        steps.iter().flat_map(|step| &step.mends).map(|mend| format!("{}={}", mend.knob, mend.to)).collect();
    assert_eq!(
        all,
        [
            "net.ipv4.tcp_window_scaling=1",
            "/proc/irq/165/smp_affinity_list=0-7,16-23",
            "ens2f0 combined=4",
            "ens2f0 tx-checksum-ip-generic=on",
            "ens2f0 tx-tcp-segmentation=on"
        ]
    );
    let only = plan(&examined, &["tso".to_owned()], Risk::Safe, false);
    assert!(only.len() == 1 && only[0].rule == "tso" && planned(&only).lines().all(|line| line.len() <= 80));
    // What has a command of another kind has no change.
    let shaped = Tree::new(&[&Swap(LINK, "6 text mq", "6 text tbf")]).examined(&[]);
    assert!(found(&shaped, "shaped").is_some() && plan(&shaped, &[], Risk::Security, true).is_empty());
}

#[test]
fn notes_and_what_may_guard_are_changed_only_by_name() {
    let edits = [
        Off("tx-tcp-segmentation", false),
        Put("proc/sys/net/ipv4/tcp_sack", "0"),
        Put("proc/sys/net/ipv4/conf/all/rp_filter", "1"),
        Swap("netlink/coalesce", "2 u32 1", "2 u32 250"),
        Put("usr/lib/sysctl.d/50-default.conf", "net.core.rmem_max = 8388608\n"),
        Put("proc/sys/net/netfilter/nf_conntrack_max", "1000"),
        Put("proc/sys/net/netfilter/nf_conntrack_count", "990"),
    ];
    let examined = Tree::new(&edits.iter().collect::<Vec<_>>()).examined(&[Load::Forward]);
    let rules = |steps: &[Step]| steps.iter().map(|step| step.rule).collect::<std::collections::BTreeSet<_>>();
    let safe = plan(&examined, &[], Risk::Safe, false);
    assert_eq!(rules(&safe), ["conntrack"].into());
    let named = ["coalesce-lazy", "forwarding", "persistent-differs", "reverse-path", "tcp-options"];
    assert_eq!(left_out(&examined, &safe), [vec!["tso".to_owned()], named.map(str::to_owned).to_vec()]);
    // Nothing but a name takes what may guard.
    for most in [Risk::Traffic, Risk::Security] {
        let usual = plan(&examined, &[], most, false);
        assert_eq!(rules(&usual), ["conntrack", "tso"].into());
        assert_eq!(left_out(&examined, &usual), [Vec::new(), named.map(str::to_owned).to_vec()]);
        assert_eq!(rules(&plan(&examined, &[], most, true)), ["coalesce-lazy", "conntrack", "tso"].into());
    }
    let left = named.map(str::to_owned);
    // A rule whose changes are made in part is left in part.
    let mut two = examined.clone();
    let mut other = two.findings.iter().find(|finding| finding.rule == "tso").unwrap().clone();
    other.severity = Severity::Note;
    other.fix.iter_mut().for_each(|mend| {
        let Knob::Setting { interface, .. } = &mut mend.knob else { panic!("{mend:?}") };
        interface.push('1');
    });
    two.findings.push(other);
    assert!(left_out(&two, &plan(&two, &[], Risk::Traffic, false))[1].contains(&"tso".to_owned()));
    for rule in &left {
        let steps = plan(&examined, std::slice::from_ref(rule), Risk::Safe, false);
        assert_eq!(rules(&steps), [rule.as_str()].into());
        let class = if rule == "coalesce-lazy" { "note]" } else { "a security setting]" };
        assert!(planned(&steps).contains(class), "{}", planned(&steps));
    }
    // Said in both forms.
    let text = render(&examined, true, false).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("fix only by its name, as it may loosen what is meant: --fix --only tcp-options "), "{text}");
    let document = serde_json::to_value(&examined).unwrap();
    let risk = |rule: &str| {
        document["findings"].as_array().unwrap().iter().find(|one| one["rule"] == rule).map(|one| one["risk"].clone())
    };
    assert_eq!(
        ["forwarding", "tso", "conntrack"].map(risk),
        [Some("security".into()), Some("traffic".into()), Some(serde_json::Value::Null)]
    );
}

#[test]
fn what_a_load_needs_is_said_for_it() {
    for (rule, typed, load, edits) in [
        ("metrics-save", "sysctl -w net.ipv4.tcp_no_metrics_save='1'", Load::Tcp, &[][..]),
        ("fast-open", "sysctl -w net.ipv4.tcp_fastopen='1'", Load::Tcp, &[Put("proc/sys/net/ipv4/tcp_fastopen", "0")]),
        ("slow-start-after-idle", "sysctl -w net.ipv4.tcp_slow_start_after_idle='0'", Load::Tcp, &[][..]),
        ("busy-poll", "sysctl -w net.core.busy_read='50'", Load::Udp, &[]),
        (
            "siblings",
            "echo off > /sys/devices/system/cpu/smt/control, or pin by -A, -a",
            Load::Tcp,
            &[Put("sys/devices/system/cpu/smt/active", "1")],
        ),
        (
            "huge-pages",
            "sysctl -w vm.nr_hugepages=128",
            Load::PktGen,
            &[Put("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0")],
        ),
        ("forwarding", "sysctl -w net.ipv4.ip_forward='1'", Load::Forward, &[]),
        ("somaxconn", "sysctl -w net.core.somaxconn='4096'", Load::Tcp, &[Put("proc/sys/net/core/somaxconn", "128")]),
        (
            "numa-balancing",
            "sysctl -w kernel.numa_balancing='0'",
            Load::Udp,
            &[Put("proc/sys/kernel/numa_balancing", "1"), Put("sys/devices/system/node/online", "0-1")],
        ),
    ] {
        let tree = Tree::new(&edits.iter().collect::<Vec<_>>());
        assert!(found(&tree.examined(&[]), rule).is_none(), "{rule}");
        let examined = tree.examined(&[load]);
        let mends: Vec<_> =
            examined.findings.iter().filter(|one| one.rule == rule).map(|one| one.mend.as_deref()).collect();
        assert_eq!(mends, [Some(typed)], "{rule}");
    }
    // Nor is it said of a slow link.
    let slow = Tree::new(&[&Swap("netlink/linkmodes", "5 u32 10000", "5 u32 1000")]).examined(&[Load::Tcp]);
    assert!(found(&slow, "metrics-save").is_none(), "{slow:#?}");
    let copies = Tree::new(&[&Swap("netlink/netdev-dev", "3 u64 0x6f", "3 u64 0x67")]);
    let severity = |loads: &[Load]| found(&copies.examined(loads), "xdp-copy");
    assert_eq!((severity(&[]), severity(&[Load::PktGen])), (Some(Severity::Note), Some(Severity::Warning)));
}

#[test]
fn lines_have_80_columns_and_no_commands_to_the_terminal() {
    let edits = [Swap(LINK, "6 text mq", "6 text tbf"), Swap("netlink/coalesce", "2 u32 1", "2 u32 250")];
    let mut examined = Tree::new(&edits.iter().collect::<Vec<_>>()).examined(&[]);
    examined.findings[0].what.push_str(" \x1b[2J\u{7}");
    let text = render(&examined, true, false);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(
        !text.contains(['\x1b', '\u{7}']) && text.contains("[shaped]") && text.contains("1 warning, 1 note"),
        "{text}"
    );
    assert!(render(&examined, true, true).contains("\n\x1b[33mwarning\x1b[0m"));
    let measured = Measured {
        workload: "TCP_RR",
        unit: Unit::TransactionsPerSecond,
        rounds: [vec![99_999.9, 999_999.9], vec![999_999.0, 1_234_567.8]],
        change: 12.5,
        spread: 100.0,
        verdict: Verdict::Unclear,
    };
    let proven = Proven { rule: "tso", subject: NAME.to_owned(), what: "off".to_owned(), measured: Ok(measured) };
    let text = proof(&proven);
    assert!(text.contains(" to 1.235 Mtrans/s\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// Regression: a healthy host with ten containers had 420 lines.
#[test]
fn findings_that_are_alike_are_one_in_the_text() {
    let tso = Tree::new(&[&Off("tx-tcp-segmentation", false), &Off("rx-checksum", false)]).examined(&[]);
    let mut all = Examination { interfaces: Vec::new(), findings: Vec::new(), ..tso.clone() };
    for n in 0..12 {
        let name = format!("veth{n}");
        for one in &tso.findings {
            let renamed = |text: &str| text.replace(NAME, &name);
            let (what, mend) = (renamed(&one.what), one.mend.as_deref().map(renamed));
            all.findings.push(Finding { subject: name.clone(), what, mend, ..one.clone() });
        }
        all.interfaces.push(name);
    }
    let mut note = all.findings[0].clone();
    (note.severity, note.rule) = (Severity::Note, "promiscuous".into());
    all.findings.push(note.clone());
    // Another text is another finding, as is that of a host whose name is a part of a word.
    all.findings.push(Finding {
        what: "it is off at veth1".to_owned(),
        subject: "veth".to_owned(),
        ..all.findings[0].clone()
    });
    let text = render(&all, false, false);
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("warning  ")).collect();
    assert_eq!(heads.len(), 3, "{text}");
    assert!(
        heads[0].starts_with("warning  veth0, veth1, veth2, veth3, veth4, veth5, veth6, veth7 and 4 more:"),
        "{text}"
    );
    assert!(text.lines().count() < 40 && text.starts_with("veth0, veth1"), "{text}");
    assert!(
        text.contains("at each of the 12; this is of veth0") && text.contains("veth: it is off at veth1 [rx-checksum]"),
        "{text}"
    );
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let left = format!("Left out: 1 note, {} times that a rule could not look; --all tells them.", all.unable.len());
    assert!(said.contains("0 errors, 25 warnings, 1 note;") && said.contains(&left), "{text}");
    assert!(!text.contains("[promiscuous]") && render(&all, true, false).contains("[promiscuous]"), "{text}");
    // Each stands in the document.
    assert_eq!(serde_json::to_value(&all).unwrap()["findings"].as_array().unwrap().len(), 26);
}

#[test]
fn what_is_not_there_is_said() {
    let tree = Tree::new(&[]);
    let stop = Stop::new().unwrap();
    let none = ["eth7".to_owned()];
    let error = examine(&Asked { names: &none, tree: Some(tree.0.path()), ..Asked::default() }, &stop).unwrap_err();
    assert!(error.starts_with("eth7: ") && error.ends_with("see the names in 'linerate nic list'"), "{error}");
    let nowhere = Asked { tree: Some(Path::new("/nonexistent")), ..Asked::default() };
    assert!(examine(&nowhere, &stop).unwrap_err().starts_with("/nonexistent: "));
    let said = |tree: &Path| examine(&Asked { tree: Some(tree), ..Asked::default() }, &stop).unwrap_err();
    let empty = tempfile::tempdir().unwrap();
    assert!(said(empty.path()).ends_with("make a tree by 'linerate nic record IF DIR'"), "{}", said(empty.path()));
    let freebsd = Path::new(CARDS).join("../freebsd/oce-be3");
    let named = examine(&Asked { names: &none, tree: Some(&freebsd), ..Asked::default() }, &stop).unwrap_err();
    assert!(named.starts_with("eth7: ") && named.lines().count() == 1, "{named}");
}

/// A ring that can be larger is to be made so, and one that cannot is not.
#[test]
fn a_larger_ring_is_advised_where_there_is_one() {
    let missed = Swap("ioctl/gstrings", "rx_queue_1_packets", "rx_missed_errors");
    let advice = |edits: &[&Edit]| {
        let examined = Tree::new(edits).examined(&[]);
        let one = examined.findings.iter().find(|one| one.rule == "ring-rx").unwrap().clone();
        (one.mend.unwrap(), one.fix.into_iter().map(|mend| mend.to.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(advice(&[&missed]), ("ethtool -G ens2f0 rx 4096".to_owned(), vec!["4096".to_owned()]));
    let (mend, fix) = advice(&[&missed, &Swap("netlink/rings", "6 u32 512", "6 u32 4096")]);
    assert!(mend.starts_with("more queues") && fix.is_empty(), "{mend} {fix:?}");
}

/// A station may answer for any number of others.
#[test]
fn many_claims_of_an_address_are_a_few_lines() {
    use linerate_host::adapter::Recorded;
    let tree = Tree::new(&[]);
    let mut source = Recorded::open(tree.0.path()).unwrap();
    let (adapter, counters) = View::read(&mut source, NAME, || {}).unwrap();
    let mut view = View::new(&source, adapter, counters, &[], &[]);
    let claims = (0..64).map(|n| ("192.0.2.7".parse().unwrap(), format!("02:00:00:00:00:{n:02x}"))).collect();
    view.peer = Some(Probed { claims: Ok(claims), asked: 1, answered: 1, ..Probed::new("192.0.2.7".parse().unwrap()) });
    view.peer.as_mut().unwrap().source = "192.0.2.1".parse().unwrap();
    let mut examination = Examination::default();
    examination.add(&view, Scope::Peer);
    let finding = examination.findings.iter().find(|one| one.rule == "peer-claims").unwrap();
    assert_eq!((finding.what.as_str(), finding.evidence.len()), ("64 hosts have the address 192.0.2.7", 4));
}

/// Numbers as no kernel has them, and the greatest: nothing overflows.
#[test]
fn numbers_of_a_tree_are_taken_as_they_are() {
    let most = "u32 0xffffffff";
    let rule = "message\n1 text t\n3 text c\n4 {\n1 hex 00000000\n}\n6 hex ffffffff\n";
    let tree = Tree::new(&[]);
    tree.put("netlink/nft-chains", &rule.repeat(2));
    let metrics: String = (2..16).map(|kind| format!("{kind} {most}\n")).collect();
    tree.put(
        "netlink/routes",
        &format!("raw hex 02180000fe030001\nraw u32 0\n1 hex 0a000200\n4 u32 12\n8 {{\n{metrics}}}\n"),
    );
    tree.put("proc/sys/net/ipv6/conf/ens2f0/mtu", "18446744073709551615");
    tree.put("proc/sys/net/ipv4/ip_local_port_range", "18446744073709551615 0");
    let examined = tree.examined(&Load::ALL.map(|(_, load)| load));
    assert_eq!(found(&examined, "firewall"), Some(Severity::Warning), "{:#?}", examined.findings);
}

/// Regression: the dot in a VLAN's name became a slash in the path of its sysctls.
#[test]
fn an_interface_with_a_dot_has_sysctls_of_its_own() {
    let tree = Tree::new(&[&Swap(LINK, "3 text ens2f0", "3 text ens2f0.5")]);
    tree.put("proc/sys/net/ipv6/conf/ens2f0.5/hop_limit", "1");
    let asked = Asked { names: &["ens2f0.5".to_owned()], tree: Some(tree.0.path()), ..Asked::default() };
    let examined = examine(&asked, &Stop::new().unwrap()).unwrap();
    let finding = examined.findings.iter().find(|one| one.rule == "ip-settings").unwrap();
    assert_eq!(finding.mend.as_deref(), Some("sysctl -w net/ipv6/conf/ens2f0.5/hop_limit='64'"));
    assert_eq!(finding.fix[0].knob, Knob::File("proc/sys/net/ipv6/conf/ens2f0.5/hop_limit".to_owned()));
}
