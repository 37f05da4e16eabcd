//! Hosts as they stand in the world: what is meant there is no warning, what is advised does no harm, and what is broken is found
//! by its evidence.

use super::super::examine::examine_of;
use super::super::*;
use super::faults::{BOTH, END, Edit, LINK, NETSTAT, Put, SECOND, Swap};
use super::tree::{NAME, Tree};
use linerate_host::Absent;
use linerate_host::adapter::{Interface, Question, Recorded, Source, Subject};
use linerate_rt::Stop;
use std::cell::Cell;
use std::fs;
use std::io;
use std::rc::Rc;

/// Two readings of a host: a tree before, and one after.
struct Twice {
    trees: [Recorded; 2],
    later: Rc<Cell<bool>>,
}

impl Twice {
    fn now(&self) -> &Recorded {
        &self.trees[usize::from(self.later.get())]
    }
}

impl Source for Twice {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        self.now().file(path)
    }

    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        self.now().names(path)
    }

    fn real(&self, path: &str) -> io::Result<String> {
        self.now().real(path)
    }

    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Result<Vec<Vec<u8>>, Absent> {
        self.trees[usize::from(self.later.get())].ask(question, of)
    }
}

/// Findings about a tree that becomes another one while it is looked at.
pub(super) fn grown(before: &Tree, after: &Tree) -> Examination {
    let later = Rc::new(Cell::new(false));
    let trees = [before, after].map(|tree| Recorded::open(tree.0.path()).unwrap());
    let mut source = Twice { trees, later: later.clone() };
    let asked = Asked { names: &[NAME.to_owned()], tree: Some(after.0.path()), ..Asked::default() };
    examine_of(&mut source, &asked, || later.set(true), &Stop::new().unwrap()).unwrap()
}

/// Findings about a host by texts, each in a file of that name.
pub(super) fn printed(texts: &[(&str, &str)]) -> Examination {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in texts {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    examine(&Asked { tree: Some(folder.path()), ..Asked::default() }, &Stop::new().unwrap()).unwrap()
}

fn examined(edits: &[Edit]) -> Examination {
    Tree::new(&edits.iter().collect::<Vec<_>>()).examined(&[])
}

/// Findings of a rule: severity, and what is to be typed.
pub(super) fn of<'a>(all: &'a Examination, rule: &str) -> Vec<(Severity, &'a str)> {
    let of_rule = all.findings.iter().filter(|one| one.rule == rule);
    of_rule.map(|one| (one.severity, one.mend.as_deref().unwrap_or_default())).collect()
}

fn the<'a>(all: &'a Examination, rule: &str) -> &'a Finding {
    all.findings.iter().find(|one| one.rule == rule).unwrap_or_else(|| panic!("{rule}: {all:#?}"))
}

/// An interface as `ip -d -s addr` prints it, and lines of its own.
fn link(index: u32, name: &str, flags: &str, more: &str, lines: &str) -> String {
    format!(
        "{index}: {name}: <{flags}> mtu 1500 qdisc mq {more} group default qlen 1000\n\
         \x20   link/ether 3c:fd:fe:9c:11:20 brd ff:ff:ff:ff:ff:ff promiscuity 0\n{lines}"
    )
}

const RUNS: &str = "BROADCAST,MULTICAST,UP,LOWER_UP";
const ADDRESS: &str = "    inet 192.0.2.20/24 scope global eth0\n";

/// Regression: two VLANs of one adapter, and a bridge above a VLAN, were told to take other addresses.
#[test]
fn interfaces_of_one_stack_share_their_address() {
    let vlan = |number: u32| format!("    vlan protocol 802.1Q id {number} <REORDER_HDR>\n");
    let first = link(2, "eth0", RUNS, "state UP", ADDRESS);
    let vlans = [
        "# ip -d -s addr\n".to_owned(),
        first.clone(),
        link(3, "eth0.100@eth0", RUNS, "state UP", &vlan(100)),
        link(4, "eth0.200@eth0", RUNS, "state UP", &vlan(200)),
    ];
    let bridge = [
        "# ip -d -s addr\n".to_owned(),
        first.clone(),
        link(3, "eth0.100@eth0", RUNS, "master br0 state UP", &vlan(100)),
        link(4, "br0", RUNS, "state UP", "    bridge forward_delay 1500 stp_state 0\n"),
    ];
    for text in [vlans.concat(), bridge.concat()] {
        let all = printed(&[("host.txt", &text)]);
        assert!(all.interfaces.len() == 3 && of(&all, "duplicate-address").is_empty(), "{all:#?}");
    }
    // Two adapters are no stack.
    let two = ["# ip -d -s addr\n".to_owned(), first, link(3, "eth1", RUNS, "state UP", "")].concat();
    assert_eq!(of(&printed(&[("host.txt", &two)]), "duplicate-address").len(), 2);
}

/// Regression: the port of a laptop whose way is its radio was an error.
#[test]
fn a_port_without_cable_that_nothing_uses_is_a_note() {
    let port = |more: &str| link(2, "enp0", "NO-CARRIER,BROADCAST,MULTICAST,UP", "state DOWN", more);
    let text = |port: &str, route: &str| {
        let radio = link(3, "wlan0", RUNS, "state UP", "    inet 192.0.2.20/24 scope global wlan0\n");
        let radio = radio.replace(":11:20", ":11:21");
        printed(&[("host.txt", &format!("# ip -d -s addr\n{port}{radio}# ip route\n{route}"))])
    };
    let severity = |all: &Examination| of(all, "link-down").first().map(|one| one.0);
    let away = "default via 192.0.2.1 dev wlan0 proto dhcp metric 600\n";
    for own in ["", "    inet6 fe80::1/64 scope link\n"] {
        assert_eq!(severity(&text(&port(own), away)), Some(Severity::Note), "{own}");
    }
    // It has an address, or no other way leads out.
    assert_eq!(severity(&text(&port("    inet 198.51.100.2/24 scope global enp0\n"), away)), Some(Severity::Error));
    assert_eq!(severity(&text(&port(""), "192.0.2.0/24 dev wlan0\n")), Some(Severity::Error));
    // A bridge's port beside one that has its cable; a bond's is missed.
    for (own, kind, wanted) in [
        ("", "    bridge forward_delay 1500 stp_state 0\n", Severity::Note),
        ("SLAVE,", "    bond mode 802.3ad\n", Severity::Error),
    ] {
        let flags = format!("NO-CARRIER,{own}BROADCAST,MULTICAST,UP");
        let ports = [
            "# ip -d -s addr\n".to_owned(),
            link(2, "enp0", &flags, "master m0 state DOWN", ""),
            link(3, "enp1", &format!("{own}{RUNS}"), "master m0 state UP", "").replace(":11:20", ":11:21"),
            link(4, "m0", RUNS, "state UP", kind).replace(":11:20", ":11:22"),
            "# ip route\ndefault via 192.0.2.1 dev m0\n".to_owned(),
        ];
        let all = printed(&[("host.txt", &ports.concat())]);
        assert_eq!(severity(&all), Some(wanted), "{kind}: {all:#?}");
    }
    // What the kernel sends there by itself is lost with the carrier, which is told.
    let down = Swap(LINK, "0x11043", "0x1003");
    let counts = Swap("ioctl/gstrings", "tx_queue_1_packets", "tx_carrier_errors");
    let [before, after] = ["2", "9"].map(|now| {
        let tree = Tree::new(&[&down, &counts]);
        let text = fs::read_to_string(tree.at("ioctl/gstats")).unwrap();
        tree.put("ioctl/gstats", &text.replace("raw u64 2\n", &format!("raw u64 {now}\n")));
        tree
    });
    assert_eq!(of(&grown(&before, &after), "tx-drops")[0].0, Severity::Note);
}

/// A queueing discipline of the interface, with so many drops.
fn discipline(kind: &str, drops: u8) -> Examination {
    let tree = Tree::new(&[]);
    tree.put(
        "netlink/qdiscs",
        &format!(
            "raw u32 0\nraw u32 12\nraw u32 65536\nraw u32 4294967295\nraw u32 2\n1 text {kind}\n\
             7 {{\n3 hex 0000000000000000{drops:02x}000000\n}}\n"
        ),
    );
    tree.examined(&[])
}

/// Regression: a link that somebody shapes was told to lose its shaper.
#[test]
fn a_shaper_is_asked_about_and_never_deleted() {
    for kind in ["htb", "tbf", "hfsc"] {
        for (drops, severity) in [(0, Severity::Note), (9, Severity::Warning)] {
            let all = discipline(kind, drops);
            let found = of(&all, "shaped");
            assert!(found[0].0 == severity && !found[0].1.contains("del"), "{kind} {drops}: {found:?}");
            assert!(found[0].1.starts_with("nothing, if it is meant so; otherwise: tc "), "{found:?}");
        }
    }
    // One for the line behind it is meant.
    assert_eq!(of(&discipline("cake", 9), "shaped")[0].0, Severity::Note);
    // This one is there to harm.
    assert_eq!(of(&discipline("netem", 0), "shaped"), [(Severity::Warning, "tc qdisc del dev ens2f0 root")]);
}

/// Output of ethtool(8) for a link of copper.
fn copper(partner: &str, speed: u32, duplex: &str, agreed: &str) -> Examination {
    let text = format!(
        "# ip -d -s addr\n{}# ethtool -i eth0\ndriver: igb\nbus-info: 0000:01:00.0\n# ethtool eth0\nSettings for eth0:\n\tSupported ports: [ TP ]\n\
         \tSupported link modes:   10baseT/Half 10baseT/Full\n\t                        100baseT/Half 100baseT/Full\n\
         \t                        1000baseT/Full\n\
         \tAdvertised link modes:  10baseT/Half 10baseT/Full\n\t                        100baseT/Half 100baseT/Full\n\
         \t                        1000baseT/Full\n\tAdvertised auto-negotiation: Yes\n{partner}\
         \tSpeed: {speed}Mb/s\n\tDuplex: {duplex}\n\tAuto-negotiation: {agreed}\n\tPort: Twisted Pair\n\tLink detected: yes\n",
        link(2, "eth0", RUNS, "state UP", ADDRESS)
    );
    printed(&[("host.txt", &text)])
}

const HALF: &str = "\tLink partner advertised link modes:  100baseT/Half\n";
const FULL: &str = "\tLink partner advertised link modes:  100baseT/Full 1000baseT/Full\n";

/// Regression: a broken pair was to be mended by a command that narrows what is offered; and a partner by what is on already.
#[test]
fn a_link_below_what_both_ends_offer_is_of_its_cable() {
    for (agreed, typed) in [
        ("on", "another cable: 1000BASE-T takes all four pairs of it; then another port of the partner"),
        ("off", "ethtool -s eth0 autoneg on"),
    ] {
        assert_eq!(of(&copper(FULL, 100, "Full", agreed), "link-speed"), [(Severity::Warning, typed)]);
    }
    for (partner, agreed, typed) in [
        (HALF, "on", "at the partner, which offers no full duplex: autonegotiation on, with all that it has"),
        ("", "on", "at the partner: autonegotiation on; one without it is taken for half duplex"),
        (HALF, "off", "ethtool -s eth0 autoneg on"),
    ] {
        assert_eq!(of(&copper(partner, 100, "Half", agreed), "duplex"), [(Severity::Error, typed)], "{agreed}");
    }
}

/// Findings about the way to a peer by one of these interfaces, which answers as is said.
fn probed(interfaces: &[Interface], edits: &[Edit], probed: Probed) -> Examination {
    let tree = Tree::new(&edits.iter().collect::<Vec<_>>());
    let mut source = Recorded::open(tree.0.path()).unwrap();
    let (adapter, counters) = View::read(&mut source, NAME, || {}).unwrap();
    let mut view = View::new(&source, adapter, counters, interfaces, &[]);
    view.peer = Some(Probed { asked: 20, answered: 20, source: "192.0.2.1".parse().unwrap(), ..probed });
    let mut examination = Examination::default();
    examination.add(&view, Scope::Peer);
    examination
}

/// Regression: packets that are cut, or shorter than they could be, were said to vanish.
#[test]
fn what_becomes_of_long_packets_is_said_as_it_is() {
    let peer = "192.0.2.7".parse().unwrap();
    let way = |name: &str, kind: Option<&str>| {
        vec![Interface {
            index: 9,
            name: name.to_owned(),
            kind: kind.map(str::to_owned),
            hardware: 1,
            mtu: Some(1500),
            ..Interface::default()
        }]
    };
    let answers = Probed { way: "vx0".into(), mtu: 1500, largest: 1500, told: Some(1450), ..Probed::new(peer) };
    let tunnel = probed(&way("vx0", Some("vxlan")), &[], answers.clone());
    let one = the(&tunnel, "path-mtu");
    assert_eq!((one.severity, one.mend.as_deref()), (Severity::Warning, Some("ip link set dev vx0 mtu 1450")));
    assert!(one.means.contains("fragments") && !one.means.contains("vanish"), "{one:#?}");
    // A sysctl makes them short.
    let off = Put("proc/sys/net/ipv4/ip_no_pmtu_disc", "1");
    let short = probed(&way("vx0", None), &[off], Probed { told: Some(552), ..answers.clone() });
    let one = the(&short, "path-mtu");
    assert_eq!(one.mend.as_deref(), Some("sysctl -w net.ipv4.ip_no_pmtu_disc=0; ip route flush cache"));
    assert!(one.means.contains("shorter than") && !one.means.contains("vanish"), "{one:#?}");
    // Routers tell: nothing vanishes, and nothing stands still.
    let told = probed(&way("vx0", None), &[], Probed { told: Some(1400), largest: 1400, ..answers.clone() });
    let one = the(&told, "path-mtu");
    assert!(one.severity == Severity::Note && !one.means.contains("still"), "{one:#?}");
    // Room for the tag of a VLAN is no part of an MTU.
    let far = Probed { told: None, mtu: 9000, largest: 1504, ..answers };
    let one = probed(&way("vx0", None), &[], far);
    let mend = the(&one, "path-mtu").mend.clone().unwrap();
    assert!(mend.starts_with("ip link set dev vx0 mtu 1500, or 9000 at the other end"), "{mend}");
}

/// A message of another interface: index, flags of what runs, name, and attributes.
fn beside(index: u32, name: &str, attributes: &str) -> String {
    format!(
        "message\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 {index}\nraw u32 0x11043\nraw u32 0\n3 text {name}\n{attributes}"
    )
}

/// A tree whose interface has those attributes, with others beside it.
fn stacked(own: &str, mtu: u32, others: &[String]) -> Tree {
    let tree = Tree::new(&[]);
    let text = fs::read_to_string(tree.at(LINK)).unwrap().replace("4 u32 1500", &format!("4 u32 {mtu}"));
    tree.put(LINK, &text.replacen(END, &format!("{END}{own}{}", others.concat()), 1));
    tree
}

/// Regression: tunnels, and what is behind them, were told to take an MTU that has no room in them.
#[test]
fn the_right_mtu_of_a_tunnel_is_not_too_small() {
    let kind = |kind: &str| format!("18 {{\n1 text {kind}\n}}\n");
    let tunnel = beside(91, "flannel.1", &format!("4 u32 1450\n{}", kind("vxlan")));
    for (own, others) in [
        (kind("vxlan"), vec![]),
        (kind("bridge"), vec![tunnel.clone()]),
        (format!("5 u32 2\n37 u32 0\n{}", kind("veth")), vec![]),
    ] {
        assert!(of(&stacked(&own, 1450, &others).examined(&[]), "mtu-small").is_empty(), "{own}");
    }
    assert_eq!(of(&stacked("", 1450, &[]).examined(&[]), "mtu-small").len(), 1);
    // Too small for IPv6 is so everywhere, and what is typed has room.
    let all = stacked(&kind("vxlan"), 1000, &[]).examined(&[]);
    assert_eq!(
        of(&all, "mtu-small"),
        [(Severity::Warning, "ip link set dev ens2f0 mtu N, what its lower interface has room for")]
    );
}

/// A tunnel that names no interface has that of the way to its other end.
#[test]
fn a_tunnel_that_is_tied_to_no_interface_has_the_room_of_its_way() {
    let data = "2 {\n1 u32 42\n2 hex 0a000001\n4 hex 0a000002\n}\n";
    let own = format!("18 {{\n1 text vxlan\n{data}}}\n");
    let tree = stacked(&own, 1500, &[beside(93, "up0", "4 u32 1500\n")]);
    tree.put("netlink/routes", "raw hex 02180000fe030001\nraw u32 0\n15 u32 254\n1 hex 0a000000\n4 u32 93\n");
    let all = tree.examined(&[]);
    assert_eq!(of(&all, "mtu-of-lower"), [(Severity::Warning, "ip link set dev ens2f0 mtu 1450")]);
}

/// Regression: what a program of the network has set was to be deleted by hand.
#[test]
fn neighbours_that_a_program_has_set_are_not_set_by_hand() {
    let fixed = |flags: &str| {
        format!("raw hex 02000000\nraw u32 12\nraw hex 8000{flags}01\n1 hex 0a000002\n2 hex 020000000002\n")
    };
    for (own, flags, found) in [("", "00", 1), ("", "10", 0), ("18 {\n1 text vxlan\n}\n", "00", 0)] {
        let tree = stacked(own, 1500, &[]);
        tree.put("netlink/neighbours", &fixed(flags));
        assert_eq!(of(&tree.examined(&[]), "neighbour-fixed").len(), found, "{own} {flags}");
    }
}

/// Regression: a guard against forged sources was to be loosened without a word.
#[test]
fn what_loosens_a_guard_says_so() {
    let [before, after] = ["1", "60"].map(|count| {
        let tree = Tree::new(&[]);
        tree.put(
            NETSTAT,
            &format!(
                "TcpExt: ListenOverflows ListenDrops TCPMemoryPressures IPReversePathFilter\nTcpExt: 0 0 0 {count}\n"
            ),
        );
        tree
    });
    let all = grown(&before, &after);
    let [(severity, mend)] = of(&all, "ip-drops")[..] else { panic!("{all:#?}") };
    assert!(severity == Severity::Warning && mend.contains("rp_filter=2") && mend.contains("forged"), "{mend}");
}

/// The socket whose queue is full is named, with the limit that it has come to.
#[test]
fn a_full_listening_socket_is_named_with_its_limit() {
    let drops = Swap(NETSTAT, "0 0 0", "5 7 0");
    let line = |port: &str, state: &str, waiting: u32| {
        format!("   0: 00000000:{port} 00000000:0000 {state} 00000000:{waiting:08X} 00:00000000 00000000 0 0 1 2 0\n")
    };
    for (waiting, most, word, typed) in [
        (3, "2", "port 8080", "sysctl -w net.core.somaxconn='4096', and start the program at port 8080 again"),
        (129, "4096", "port 8080", "a greater backlog of the program at port 8080, or more threads that accept"),
        (
            0,
            "4096",
            "somaxconn = 4096",
            "see 'ss -ltn': where Recv-Q comes up to Send-Q, the program needs a greater backlog, or more threads that accept",
        ),
    ] {
        let tree = Tree::new(&[&drops]);
        tree.put("proc/sys/net/core/somaxconn", most);
        let lines = line("1F90", "0A", waiting) + &line("0016", "0A", 0) + &line("0050", "01", 500);
        tree.put("proc/net/tcp", &format!("  sl  local_address rem_address st tx_queue rx_queue\n{lines}"));
        let all = tree.examined(&[]);
        let one = the(&all, "listen-drops");
        assert_eq!(one.mend.as_deref(), Some(typed));
        assert!(one.evidence.iter().any(|seen| seen.value.contains(word)), "{one:#?}");
    }
}

#[test]
fn tables_are_widened_with_what_belongs_to_them() {
    let arp = "IP address\n10.0.0.2 0x1 0x2 02:00:00:00:00:02 * a\n10.0.0.3 0x1 0x2 02:00:00:00:00:03 * a\n";
    let all = examined(&[
        Put("proc/sys/net/ipv4/neigh/default/gc_thresh3", "3"),
        Put("proc/sys/net/ipv4/neigh/default/gc_thresh2", "2"),
        Put("proc/net/arp", arp),
        Put("proc/sys/net/netfilter/nf_conntrack_max", "65536"),
        Put("proc/sys/net/netfilter/nf_conntrack_count", "65536"),
        Put("proc/sys/net/netfilter/nf_conntrack_buckets", "16384"),
    ]);
    assert_eq!(
        the(&all, "neighbour-table").mend.as_deref(),
        Some("sysctl -w net.ipv4.neigh.default.gc_thresh3='4096' net.ipv4.neigh.default.gc_thresh2='2048'")
    );
    let one = the(&all, "conntrack");
    assert_eq!(
        one.mend.as_deref(),
        Some("sysctl -w net.netfilter.nf_conntrack_max='262144' net.netfilter.nf_conntrack_buckets='65536'")
    );
    assert!(one.what.contains("65536 of 65536") && one.fix.len() == 2, "{one:#?}");
}

/// A gateway that answers no ARP, of the default route that is taken first.
#[test]
fn a_gateway_that_does_not_answer_is_found() {
    let route = |metric: u32, gateway: &str| {
        format!("message\nraw hex 02000000fe030001\nraw u32 0\n15 u32 254\n4 u32 12\n5 hex {gateway}\n6 u32 {metric}\n")
    };
    let tree = Tree::new(&[]);
    tree.put("netlink/neighbours", "raw hex 02000000\nraw u32 12\nraw u16 32\nraw hex 0001\n1 hex 0a0000fe\n");
    tree.put("netlink/routes", &(route(10, "0a0000fe") + &route(100, "0a0000fd")));
    let typed =
        "see whether 10.0.0.254 is up; to go by 10.0.0.253 meanwhile: ip route del default via 10.0.0.254 dev ens2f0";
    assert_eq!(of(&tree.examined(&[]), "next-hop"), [(Severity::Warning, typed)]);
    // The one in reserve is not taken.
    tree.put("netlink/routes", &(route(100, "0a0000fe") + &route(10, "0a0000fd")));
    assert_eq!(of(&tree.examined(&[]), "next-hop")[0].0, Severity::Note);
}

/// A router that takes its own address from another one's advertisements has to be told to.
#[test]
fn advertisements_that_a_router_does_not_heed_are_found() {
    for (accepts, flags, found) in [("1", "00", true), ("2", "00", false), ("1", "80", false)] {
        let tree = Tree::new(&[]);
        tree.put("proc/sys/net/ipv6/conf/ens2f0/accept_ra", accepts);
        tree.put("proc/sys/net/ipv6/conf/ens2f0/forwarding", "1");
        tree.put(
            "netlink/addresses",
            &format!("raw hex 0a40{flags}00\nraw u32 12\n1 hex fd000000000000000000000000000009\n"),
        );
        let typed = (Severity::Warning, "sysctl -w net.ipv6.conf.ens2f0.accept_ra='2'");
        let wanted = if found { vec![typed] } else { vec![] };
        assert_eq!(of(&tree.examined(&[]), "advertisements"), wanted, "{accepts} {flags}");
    }
}

/// Two interfaces of one subnet on one segment answer for each other.
#[test]
fn two_interfaces_on_one_segment_are_more_than_a_note() {
    let neighbour = |link: u32, mac: u8| {
        format!(
            "message\nraw hex 02000000\nraw u32 {link}\nraw hex 02000001\n1 hex 0a000009\n2 hex 0200000000{mac:02x}\n"
        )
    };
    for (mac, severity) in [(9, Severity::Warning), (8, Severity::Note)] {
        let tree = Tree::new(&[&SECOND, &BOTH]);
        tree.put("netlink/neighbours", &(neighbour(12, 9) + &neighbour(93, mac)));
        assert_eq!(of(&tree.examined(&[]), "asymmetric-route")[0].0, severity);
    }
}

/// Containers behind a rule that translates their addresses have no way out without forwarding.
#[test]
fn containers_behind_a_host_that_does_not_forward_are_found() {
    let member = beside(91, "veth1", "10 u32 12\n18 {\n1 text veth\n}\n");
    let up = beside(93, "up0", "4 u32 1500\n");
    let masquerade = "message\n1 text nat\n2 text POSTROUTING\n4 {\n1 {\n1 text masq\n}\n}\n";
    for (rules, forwards, found) in [(masquerade, "0", 1), ("", "0", 0), (masquerade, "1", 0)] {
        let tree = stacked("18 {\n1 text bridge\n}\n", 1500, &[member.clone(), up.clone()]);
        tree.put("netlink/addresses", "raw hex 02188000\nraw u32 12\n1 hex ac110001\n2 hex ac110001\n");
        tree.put("netlink/routes", "raw hex 02000000fe030001\nraw u32 0\n15 u32 254\n4 u32 93\n5 hex 0a0000fe\n");
        tree.put("netlink/nft-rules", rules);
        tree.put("proc/sys/net/ipv4/ip_forward", forwards);
        let all = tree.examined(&[]);
        assert_eq!(of(&all, "forwarding").len(), found, "{rules} {forwards}: {all:#?}");
        assert!(found == 0 || of(&all, "forwarding") == [(Severity::Warning, "sysctl -w net.ipv4.ip_forward='1'")]);
    }
}

/// A comparison of what a rule has loaded.
fn compares(load: &str, value: &str) -> String {
    format!(
        "1 {{\n1 text payload\n2 {{\n{load}}}\n}}\n1 {{\n1 text cmp\n2 {{\n2 hex 00000000\n3 {{\n1 hex {value}\n}}\n}}\n}}\n"
    )
}

const PROTOCOL: &str = "2 hex 00000001\n3 hex 00000009\n4 hex 00000001\n";
const TYPE: &str = "2 hex 00000002\n3 hex 00000000\n4 hex 00000001\n";

fn verdict(code: u32) -> String {
    format!("1 {{\n1 text immediate\n2 {{\n2 {{\n2 {{\n1 hex {code:08x}\n}}\n}}\n}}\n}}\n")
}

fn rule(number: u32, expressions: &str) -> String {
    format!("message\n1 text fw\n2 text in\n3 hex {number:016x}\n4 {{\n{expressions}}}\n")
}

const INPUT: &str = "message\n1 text fw\n3 text in\n4 {\n1 hex 00000001\n}\n6 hex 00000003\n";

/// A rule that drops the word that a packet was too long makes a hole of each narrow path; one that lets it pass before does not.
#[test]
fn a_rule_that_drops_what_routers_tell_is_named() {
    let icmp = compares(PROTOCOL, "01");
    let drops = rule(4, &(icmp.clone() + &verdict(0)));
    let echo = rule(2, &(icmp.clone() + &compares(TYPE, "00") + &verdict(1)));
    let unreachable = rule(2, &(icmp.clone() + &compares(TYPE, "03") + &verdict(1)));
    let known = rule(2, &format!("1 {{\n1 text ct\n}}\n{}", verdict(1)));
    let named = rule(4, &(icmp + &compares(TYPE, "03") + &verdict(0)));
    for (rules, found) in [
        (echo.clone() + &drops, true),
        (named, true),
        (drops.clone(), true),
        (unreachable + &drops, false),
        (known + &drops, false),
        (echo, false),
    ] {
        let tree = Tree::new(&[]);
        tree.put("netlink/nft-chains", INPUT);
        tree.put("netlink/nft-rules", &rules);
        let all = tree.examined(&[]);
        let one = the(&all, "firewall");
        let wanted = if found { Severity::Warning } else { Severity::Note };
        assert_eq!(one.severity, wanted, "{one:#?}");
        assert!(!found || one.what.contains("fragmentation needed") && one.mend.as_ref().unwrap().contains("fw in"));
        // What guards is to stay.
        assert!(found || one.mend.as_ref().unwrap().starts_with("nothing, if they are meant to guard"), "{one:#?}");
    }
}

/// A limiter is told with its rate and what it has dropped, and is a warning while it drops.
#[test]
fn a_limiter_that_drops_is_told_with_its_rate() {
    let limiter = |packets: u32| {
        let limit = "1 {\n1 text limit\n2 {\n1 hex 0000000000100000\n2 hex 0000000000000001\n4 hex 00000001\n5 hex 00000001\n}\n}\n";
        let counter = format!("1 {{\n1 text counter\n2 {{\n1 hex 0000000000001000\n2 hex {packets:016x}\n}}\n}}\n");
        let tree = Tree::new(&[]);
        tree.put("netlink/nft-chains", INPUT);
        tree.put("netlink/nft-rules", &rule(4, &(limit.to_owned() + &counter + &verdict(0))));
        tree
    };
    for (before, after, severity) in [(5, 905, Severity::Warning), (905, 905, Severity::Note)] {
        let all = grown(&limiter(before), &limiter(after));
        let one = the(&all, "firewall");
        assert_eq!(one.severity, severity, "{one:#?}");
        let told = |seen: &Evidence| seen.value.contains("1048576 bytes/s") && seen.value.contains("905 packets");
        assert!(one.evidence.iter().any(told), "{one:#?}");
    }
}

/// Counters of ethtool(8) beside so many frames, of a host that was read once.
fn counters(rows: &str) -> Examination {
    let counts = "    RX:  bytes packets errors dropped  missed   mcast\n    18273645564   22318274 0 0 0 5521\n\
                  \x20   TX:  bytes packets errors dropped carrier collsns\n    18273645564   22318274 0 0 0 0\n";
    let link = link(2, "eth0", RUNS, "state UP", &format!("{ADDRESS}{counts}"));
    printed(&[("host.txt", &format!("# ip -d -s addr\n{link}# ethtool -S eth0\nNIC statistics:\n{rows}"))])
}

/// Regression: of a host that was read once nothing grows, so no loss was ever a warning.
#[test]
fn of_one_reading_the_share_of_frames_counts() {
    for (rule, name) in [
        ("crc-errors", "rx_crc_errors"),
        ("ring-rx", "rx_missed_errors"),
        ("pause-frames", "rx_pause_ctrl_phy"),
        ("pause-frames", "rx_flow_control_xoff"),
        ("pause-frames", "tx_prio3_pause"),
    ] {
        for (value, severity) in [(182_736, Severity::Warning), (3, Severity::Note)] {
            let all = counters(&format!("     {name}: {value}\n"));
            assert_eq!(of(&all, rule).first().map(|one| one.0), Some(severity), "{name} {value}: {all:#?}");
        }
    }
    assert!(of(&counters("     rx_pause_ctrl_phy: 0\n"), "pause-frames").is_empty());
    // One counter in two lists is one.
    let all = counters("     rx_missed_errors: 182736\n     rx_missed_errors: 182736\n");
    let seen = the(&all, "ring-rx").evidence.iter().filter(|seen| seen.value.starts_with("rx_missed_errors")).count();
    assert_eq!(seen, 1);
}

/// A report of a host with four processors, whose interrupts have come on one of them.
fn interrupts(on: &[usize]) -> Examination {
    let row = |number: u32, queue: u32, on: usize| {
        let counts = (0..4).map(|cpu| if cpu == on { " 2900000" } else { " 0" }).collect::<String>();
        format!(" {number}:{counts}  IR-PCI-MSI 524289-edge      eth0-TxRx-{queue}\n")
    };
    let rows: String = (0..).zip(on).map(|(queue, on)| row(140 + queue, queue, *on)).collect();
    let table = format!("           CPU0       CPU1       CPU2       CPU3\n{rows}");
    let link = link(2, "eth0", RUNS, "state UP", ADDRESS);
    printed(&[
        ("proc/interrupts", &table),
        ("sos_commands/networking/ip_-d_address", &link),
        ("sos_commands/networking/ethtool_-i_eth0", "driver: ice\nbus-info: 0000:81:00.0\n"),
        ("sos_commands/processor/lscpu", "On-line CPU(s) list: 0-3\nNUMA node0 CPU(s): 0,1\nNUMA node1 CPU(s): 2,3\n"),
        ("sos_commands/pci/lspci_-nnvv", "81:00.0 Ethernet controller: Intel E810\n\tNUMA node: 0\n"),
    ])
}

/// Without a list of affinity, the counts of each processor tell where interrupts come.
#[test]
fn interrupts_are_where_they_were_counted() {
    let one = interrupts(&[2, 2]);
    let typed = "one core each: echo CPU > /proc/irq/N/smp_affinity_list (with irqbalance stopped)";
    assert_eq!(of(&one, "irqs-on-one-core"), [(Severity::Warning, typed)]);
    assert_eq!(of(&one, "irq-far"), [(Severity::Warning, "echo 0,1 > /proc/irq/N/smp_affinity_list, for each")]);
    let spread = interrupts(&[0, 2]);
    assert!(of(&spread, "irqs-on-one-core").is_empty(), "{spread:#?}");
    assert!(the(&spread, "irq-far").what.starts_with("1 of its 2 interrupts"), "{spread:#?}");
}

/// More queues than there are processors on the adapter's node are on both.
#[test]
fn interrupts_on_all_processors_are_a_note() {
    assert_eq!(of(&interrupts(&[0, 1, 2, 3]), "irq-far")[0].0, Severity::Note);
    assert_eq!(of(&interrupts(&[0, 2, 2, 3]), "irq-far")[0].0, Severity::Warning);
}

/// FreeBSD's own settings are a note, and of a router nothing.
#[test]
fn buffers_of_freebsds_own_size_are_no_warning() {
    let of_host = |forwards: &str| {
        let small = VARIABLES.replace("16777216", "2097152").replace("forwarding: 1", forwards);
        of(&printed(&[("a.txt", FREEBSD), ("b.txt", &small)]), "freebsd-buffers")
            .iter()
            .map(|one| one.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(of_host("forwarding: 0"), [Severity::Note; 2]);
    assert!(of_host("forwarding: 1").is_empty());
}

const FREEBSD: &str = "ix0: flags=1008843<UP,BROADCAST,RUNNING,SIMPLEX> metric 0 mtu 1500\n\toptions=4e53fbb<RXCSUM,TXCSUM,TSO4,LRO>\n\
                       \tether 0c:c4:7a:1f:2e:00\n\tmedia: Ethernet autoselect (10Gbase-Twinax <full-duplex>)\n\tstatus: active\n";
const VARIABLES: &str = "kern.ostype: FreeBSD\nkern.ipc.nmbclusters: 65536\nnet.inet.ip.forwarding: 1\n\
                         net.inet.tcp.recvbuf_max: 16777216\nnet.inet.tcp.sendbuf_max: 16777216\n";
const MBUFS: &str = "66011/30349/96360 mbufs in use (current/cache/total)\n\
                     65536/0/65536/65536 mbuf clusters in use (current/cache/total/max)\n\
                     0/1882736/1882736 requests for mbufs denied (mbufs/clusters/mbuf+clusters)\n";

/// Regression: texts of a FreeBSD host were refused, unless their files had names that nobody knew.
#[test]
fn texts_of_freebsd_are_known_by_what_they_say() {
    let one = format!("# ifconfig -a\n{FREEBSD}# sysctl -a\n{VARIABLES}# netstat -m\n{MBUFS}");
    for texts in [
        vec![("host.txt", one.as_str())],
        vec![("ifconfig_-a", FREEBSD), ("sysctl_-a", VARIABLES), ("netstat_-m", MBUFS)],
        vec![("a.txt", FREEBSD), ("b.txt", VARIABLES), ("c.txt", MBUFS)],
    ] {
        let all = printed(&texts);
        assert_eq!(all.interfaces, ["ix0"]);
        assert_eq!(of(&all, "freebsd-lro-forwarding").len(), 1, "{all:#?}");
        let typed = "sysctl kern.ipc.nmbclusters=131072, and so in /etc/sysctl.conf";
        assert_eq!(of(&all, "freebsd-mbufs"), [(Severity::Warning, typed)]);
        assert!(the(&all, "freebsd-mbufs").evidence[0].value.contains("0 buffers, 1882736 clusters"), "{all:#?}");
    }
}
