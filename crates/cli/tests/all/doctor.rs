//! Tests of `linerate doctor` between real interfaces: faults that ip, ethtool, tc and sysctl make in a network namespace.
#![cfg(target_os = "linux")]

mod damaged;
mod mend;
mod peers;
mod recorded;
mod remote;

use crate::process::BINARY;
use linerate_host::{Cause, Namespace};
use serde_json::Value;
use std::process::{Command, Output};

/// Functions, and two ends of a virtual pair, up, with two queues each. The kernel tells carriers and states some time later:
/// `settled` waits until they agree. `space P` makes a namespace, of the process `$P`; `leave P` ends all in it.
const PAIR: &str = "awaits() { for at in $(seq 6000); do eval \"$1\" && return; sleep 0.01; done; }; \
                    state() { awaits \"grep -q $2 /sys/class/net/$1/operstate\"; }; \
                    carrier() { awaits 'grep -q 1 /sys/class/net/left/carrier'; }; \
                    agree() { for at in /sys/class/net/*/; do case \"$(cat $at/carrier 2>/dev/null) $(cat $at/operstate)\" in \
                        '1 down' | '1 lowerlayerdown' | '0 up' | '0 unknown') return 1 ;; esac; done; }; \
                    settled() { awaits agree; }; \
                    space() { unshare -n sleep 900 >/dev/null 2>&1 & eval \"$1=$!\"; awaits \"! [ /proc/$!/ns/net -ef /proc/self/ns/net ]\"; }; \
                    leave() { [ -e /proc/$1/ns/net ] || return 0; exec 9</proc/$1/ns/net; \
                        for at in /proc/[0-9]*; do [ $at/ns/net -ef /proc/self/fd/9 ] && kill ${at#/proc/}; done 2>/dev/null; true; }; \
                    ip link add left numtxqueues 2 numrxqueues 2 type veth peer name right numtxqueues 2 numrxqueues 2; \
                    ip addr add 10.0.0.1/24 dev left; ip link set left up; ip link set right up; ip link set lo up; carrier";

/// `left` is a member of a bridge with another one, without an address of its own.
macro_rules! bridged {
    ($then:literal) => {
        concat!(
            "ip addr flush dev left; ip link add bridge type bridge; ip link set bridge up; ",
            "ip link add other type veth peer name far; ip link set other up; ip link set far up; ",
            "state left up; state other up; ip link set left master bridge; ip link set other master bridge; ",
            $then
        )
    };
}

/// A fault: the rule that finds it at an interface or the host, whether it is more than a note, and the commands that make it.
const FAULTS: &[(&str, &str, bool, &str)] = &[
    ("mtu-of-lower", "left", true, "ip link set right mtu 9000"),
    ("mtu-small", "left", true, "ip link set left mtu 576; ip link set right mtu 576"),
    ("tso", "left", true, "ethtool -K left tso off"),
    ("gso", "left", true, "ethtool -K left gso off"),
    ("tx-checksum", "left", true, "ethtool -K left tx off"),
    ("feature-refused", "left", true, "ethtool -K left tx off"),
    ("scatter-gather", "left", true, "ethtool -K left sg off"),
    ("one-queue", "left", false, "ethtool -L left rx 1 tx 1"),
    ("link-down", "left", true, "ip link set right down; state left lowerlayerdown"),
    ("interface-down", "left", false, "ip link set left down"),
    ("shaped", "left", false, "tc qdisc add dev left root tbf rate 1mbit burst 10k latency 50ms"),
    (
        "shaped",
        "left",
        false,
        "tc qdisc add dev left root handle 1: mq; tc qdisc add dev left parent 1:1 tbf rate 1mbit burst 10k latency 50ms",
    ),
    (
        "shaped",
        "left",
        false,
        "tc qdisc add dev left root handle 1: htb default 1; tc class add dev left parent 1: classid 1:1 htb rate 1mbit",
    ),
    ("queue-short", "left", true, "tc qdisc add dev left root pfifo limit 2"),
    ("super-frames", "left", true, "ip link set left gso_max_segs 1"),
    ("super-frames", "left", true, "ip link set left gso_max_size 3000"),
    ("gro-flush", "left", true, "echo 50000000 > /sys/class/net/left/gro_flush_timeout"),
    ("rps-one", "left", false, "for at in /sys/class/net/left/queues/rx-*; do echo 1 > $at/rps_cpus; done"),
    ("route-metrics", "left", true, "ip route add 10.7.0.0/16 via 10.0.0.2 mtu lock 576"),
    ("route-metrics", "left", true, "ip route add 10.7.0.0/16 dev left window 4096"),
    ("route-metrics", "left", true, "ip route add 10.7.0.0/16 dev left cwnd lock 2 advmss 256"),
    ("route-metrics", "left", true, "ip route add 10.7.0.0/16 dev left rto_min 10s hoplimit 1"),
    ("route-metrics", "left", false, "ip route add 10.7.0.0/16 dev left congctl reno"),
    ("address-state", "left", true, "ip addr add fd00::7/64 dev left nodad preferred_lft 0"),
    ("address-state", "left", true, "ip addr flush dev left; ip addr add 10.0.0.1/32 dev left"),
    (
        "address-state",
        "left",
        true,
        "ip addr add fd00::7/64 dev right nodad; ip addr add fd00::7/64 dev left; awaits 'ip addr show dev left | grep -q dadfailed'",
    ),
    (
        "address-state",
        "left",
        false,
        "ip link add bridge type bridge; ip link set bridge up; ip link set left master bridge",
    ),
    (
        "mtu-forwarded",
        "left",
        false,
        "sysctl -qw net.ipv4.ip_forward=1; ip link add out type veth peer name far; ip addr add 10.5.0.1/24 dev out; \
         ip link set out mtu 1420 up; ip link set far mtu 1420 up; ip route add default via 10.5.0.2",
    ),
    (
        "next-hop",
        "host",
        true,
        "ip route add 10.9.0.0/16 nexthop via 10.0.0.8 nexthop via 10.0.0.9; ping -c 1 -W 1 10.0.0.9 || true",
    ),
    ("arp", "left", true, "ip link set left arp off"),
    ("loopback", "host", true, "ip link set lo down"),
    (
        "ip-settings",
        "left",
        true,
        "ip link set left mtu 9000; ip link set right mtu 9000; sysctl -qw net.ipv6.conf.left.mtu=1280",
    ),
    ("ip-settings", "left", true, "sysctl -qw net.ipv6.conf.left.hop_limit=1"),
    ("ip-settings", "left", true, "sysctl -qw net.ipv4.neigh.left.unres_qlen_bytes=0"),
    ("arp", "left", true, "sysctl -qw net.ipv4.conf.left.arp_ignore=8"),
    ("neighbour-fixed", "left", false, "ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev left"),
    ("bridge-port", "left", true, bridged!("bridge link set dev left state 0")),
    ("bridge-port", "left", true, bridged!("bridge link set dev left flood off")),
    ("bridge-port", "left", false, bridged!("bridge link set dev left learning off")),
    // What guards is meant, until something shows otherwise.
    (
        "bridge-port",
        "left",
        false,
        bridged!("bridge link set dev left isolated on; bridge link set dev other isolated on"),
    ),
    ("bridge-port", "left", true, bridged!("ip link set bridge down")),
    (
        "mtu-of-lower",
        "tunnel",
        true,
        "ip link add tunnel type vxlan id 7 dstport 4789 local 10.0.0.1 dev left; ip link set tunnel up; \
         ip link set left mtu 1400; ip link set right mtu 1400",
    ),
    ("sysctl-range", "host", true, "sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0"),
    ("sysctl-range", "host", true, "sysctl -qw net.ipv4.tcp_limit_output_bytes=4096"),
    ("sysctl-range", "host", true, "sysctl -qw net.ipv4.ipfrag_low_thresh=0 net.ipv4.ipfrag_high_thresh=0"),
    ("sysctl-range", "host", true, "sysctl -qw net.ipv4.ip_local_port_range='40000 40015'"),
    ("sysctl-range", "host", true, "sysctl -qw net.ipv4.ip_no_pmtu_disc=1"),
    ("buffers-tcp", "host", true, "sysctl -qw net.ipv4.tcp_rmem='2304 2304 6291456'"),
    (
        "firewall",
        "host",
        true,
        "nft 'add table netdev t; add chain netdev t c { type filter hook ingress device left priority 0; }; \
         add rule netdev t c limit rate over 500 kbytes/second drop'",
    ),
    (
        "firewall",
        "host",
        true,
        "nft 'add table inet t; add chain inet t c { type filter hook output priority 0; }; \
         add rule inet t c tcp flags syn tcp option maxseg size set 500'",
    ),
    (
        "link-down",
        "upper",
        true,
        "ip link add link left name upper type macvlan mode bridge; ip link set upper up; ip link set upper protodown on",
    ),
    (
        "link-down",
        "left",
        true,
        "ip link set left mode dormant; ip link set right down; state left lowerlayerdown; ip link set right up; state left dormant",
    ),
    ("promiscuous", "left", false, "ip link set left promisc on"),
    ("duplicate-address", "left", true, "ip link set right address $(cat /sys/class/net/left/address)"),
    (
        "firewall",
        "host",
        false,
        "nft 'add table inet t; add chain inet t c { type filter hook input priority 0; }; add rule inet t c tcp dport 9 drop'",
    ),
    (
        "firewall",
        "host",
        false,
        "nft 'add table ip t; add chain ip t c { type filter hook forward priority 0; policy drop; }'",
    ),
    ("gro", "left", false, "true"),
    ("tcp-options", "host", true, "sysctl -qw net.ipv4.tcp_sack=0"),
    ("tcp-options", "host", true, "sysctl -qw net.ipv4.tcp_window_scaling=0"),
    ("buffers-tcp", "host", true, "sysctl -qw net.ipv4.tcp_rmem='4096 65536 65536'"),
    ("congestion-control", "host", false, "sysctl -qw net.ipv4.tcp_congestion_control=reno"),
    ("reverse-path", "host", false, "sysctl -qw net.ipv4.conf.all.rp_filter=1"),
    ("neighbours", "host", false, "ping -c 1 -W 1 10.0.0.9 >/dev/null || true"),
    (
        "mtu-of-members",
        "bridge",
        true,
        "ip link add bridge type bridge; ip link set bridge up; ip link add other type veth peer name far; \
         ip link set left master bridge; ip link set other master bridge; ip link set other mtu 9000; ip link set far mtu 9000",
    ),
    ("veth-checksums", "left", false, "true"),
    ("xdp-copy", "left", false, "true"),
    ("asymmetric-route", "left", true, SAME_SUBNET),
    ("asymmetric-route", "right", true, "sysctl -qw net.ipv4.conf.all.rp_filter=1; ip addr add 10.0.0.3/24 dev right"),
    (
        "module-options",
        "tunnel",
        true,
        "mount -t tmpfs none /etc/modprobe.d; echo 'options vxlan log_ecn_error=0' > /etc/modprobe.d/50-vxlan.conf; \
         ip link add tunnel type vxlan id 7 dstport 4789; ip link set tunnel up",
    ),
];

/// Both ends have an address of one subnet.
const SAME_SUBNET: &str = "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.left.rp_filter=0; \
                           ip addr add 10.0.0.3/24 dev right";

/// Set-ups without a fault.
const HEALTHY: &[&str] = &[
    "true",
    "ip link set left mtu 9000; ip link set right mtu 9000",
    "ip link add bridge type bridge; ip link set left master bridge; ip link set bridge up",
    "ip tuntap add tap0 mode tap; ip link set tap0 up",
    // Of a guest that is stopped.
    "ip link add bridge type bridge; ip link set bridge up; ip tuntap add tap0 mode tap; ip link set tap0 master bridge up; \
     ip link set left master bridge",
    "ip link add ifb7 type ifb; ip link set ifb7 up",
    "sysctl -qw net.ipv4.ip_forward=1",
    "ip addr add fd00::1/64 dev left; ip route add 192.0.2.0/24 via 10.0.0.2",
    "tc qdisc add dev left root pfifo limit 1000",
    "ip addr add 10.0.1.3/24 dev right; ip route add 10.0.2.0/24 via 10.0.0.2",
    "ip link add link left name upper type macvlan mode bridge; ip link set upper up",
    "ip link add tunnel type vxlan id 7 dstport 4789 local 10.0.0.1 remote 10.0.0.2 dev left; ip link set tunnel up",
    "ip link add link left name tap7 type macvtap mode bridge; ip link set tap7 up",
    "ip tuntap add tun0 mode tun; ip addr add 10.9.0.1/24 dev tun0; ip link set tun0 up",
    "ip link add bridge type bridge; ip link set bridge up; ip link add other type veth peer name far; \
     ip link set other up; ip link set far up; ip link set left master bridge; ip link set other master bridge",
    "tc qdisc add dev left root bfifo limit 3000000; ip link set left txqueuelen 2000",
    "tc qdisc add dev left clsact",
    "tc qdisc add dev left root handle 1: htb default 1; tc class add dev left parent 1: classid 1:1 htb rate 100gbit",
    "ip link add plain type veth peer name other; ip addr add 10.3.0.1/24 dev plain; ip link set plain up; ip link set other up",
    "ip rule add from 10.0.0.1 table 100; ip route add default via 10.0.0.2 table 100; ip route add default via 10.0.0.2",
    "ip addr add 10.0.0.5/24 dev left; ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev left",
    "ethtool -K left rx-gro-list on rx-udp-gro-forwarding off; ip maddr add 33:33:00:00:00:07 dev left",
    "sysctl -qw net.ipv4.tcp_rmem='4096 131072 33554432' net.ipv4.tcp_wmem='4096 65536 33554432' net.ipv4.tcp_ecn=1",
    "ip link set left alias uplink; ip link property add dev left altname en0",
    "nft 'add table inet t; add chain inet t c { type filter hook input priority 0; }'",
    "nft 'add table inet t; add chain inet t c { type filter hook input priority 0; policy drop; }; \
     add rule inet t c ct state established,related accept; add rule inet t c iif lo accept; add rule inet t c tcp dport 22 limit rate 3/minute accept'",
    "ip route add 10.7.0.0/16 via 10.0.0.2 mtu 1400 initcwnd 20 initrwnd 20 advmss 1360",
    "ip link set left gso_max_size 65536 gro_max_size 65536; tc qdisc add dev left root pfifo_fast",
    "ip link add bridge type bridge stp_state 0; ip link set bridge up; ip addr flush dev left; ip link set left master bridge; \
     bridge link set dev left isolated on",
    "ip addr add 10.5.0.1 peer 10.5.0.2/32 dev left; ip addr add 10.6.0.1/32 dev lo",
    // Calico's nodes, whose pairs all have one address here; and VRRP's address.
    "space P; for i in 1 2; do ip link add cali$i type veth peer name pod$i; ip link set pod$i netns $P; \
         nsenter -t $P -n ip link set pod$i up; ip link set cali$i address ee:ee:ee:ee:ee:ee up; \
         ip route add 10.8.0.$i/32 dev cali$i; done",
    "ip link add link left name vrrp type macvlan mode private; ip link set vrrp up; ip addr add 10.0.0.100/32 dev vrrp",
    "ip addr add fd00::7/64 dev left nodad preferred_lft 0; ip addr add fd00::8/64 dev left nodad",
];

/// Runs shell commands in a namespace with the pair; sysfs shows that namespace.
fn shell(line: &str) -> Option<Output> {
    if ["ip", "ethtool", "tc", "sysctl", "nft"].iter().any(|program| !linerate_skip::is_installed(program)) {
        linerate_skip::skip!("ip, ethtool, tc, sysctl or nft is not installed");
        return None;
    }
    let space = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability)?;
    let whole = format!("mount -t sysfs none /sys; set -e; {PAIR}; {line}");
    Some(space.run_in(|| Command::new("unshare").args(["-m", "sh", "-c", &whole]).output().unwrap()).unwrap())
}

fn examined(setup: &str, words: &str) -> Option<Value> {
    let out = shell(&format!("{{ {setup}; }} >/dev/null; settled; {BINARY} doctor --json {words} || [ $? = 3 ]"))?;
    assert!(out.status.success(), "{setup}: {out:?}");
    Some(serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{setup}: {e}: {out:?}")))
}

fn found<'a>(document: &'a Value, rule: &str, subject: &str) -> Option<&'a Value> {
    let all = document["findings"].as_array().unwrap();
    all.iter().find(|finding| finding["rule"] == rule && finding["subject"] == subject)
}

#[test]
fn faults_between_real_interfaces_are_found() {
    for (rule, subject, grave, setup) in FAULTS {
        let name = if *subject == "host" { "left" } else { subject };
        let Some(document) = examined(setup, name) else { return };
        let finding = found(&document, rule, subject).unwrap_or_else(|| panic!("{rule}: {document:#}"));
        assert_eq!(finding["severity"] != "note", *grave, "{finding:#}");
    }
}

/// Faults that take the interface away from others: what stands on it is not looked at, or is another's.
const ALONE: [&str; 3] = ["link-down", "interface-down", "mtu-of-members"];

#[test]
fn faults_of_random_pairs_are_found() {
    let (mut state, mut tried, mut missed) = (0x9e37_79b9_u32, 0, Vec::new());
    // Nor are routes and neighbours of an interface that has lost its addresses.
    let is_alone = |fault: &(&str, &str, bool, &str)| ALONE.contains(&fault.0) || fault.3.contains("addr flush");
    let together: Vec<_> = FAULTS.iter().filter(|fault| !is_alone(fault)).collect();
    let mut below = |n: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(state >> 16).unwrap() % n
    };
    while tried < 20 {
        let (a, b) = (together[below(together.len())], together[below(together.len())]);
        // One rule, or another interface than the pair's, has one place.
        if a.0 == b.0 || [a, b].iter().any(|fault| !["left", "host"].contains(&fault.1)) {
            continue;
        }
        tried += 1;
        let Some(document) = examined(&format!("{}; {}", a.3, b.3), "left") else { return };
        missed.extend(
            [a, b].iter().filter(|fault| found(&document, fault.0, fault.1).is_none()).map(|fault| (fault.0, a.3, b.3)),
        );
    }
    // 0.95 of 40.
    assert!(missed.len() <= 2, "{missed:#?}");
}

#[test]
fn what_is_typed_as_told_mends_it() {
    for (rule, setup) in [
        ("tso", "ethtool -K left tso off"),
        ("gso", "ethtool -K left gso off"),
        ("one-queue", "ethtool -L left rx 1 tx 1"),
        ("tcp-options", "sysctl -qw net.ipv4.tcp_sack=0"),
        ("buffers-tcp", "sysctl -qw net.ipv4.tcp_rmem='4096 65536 65536'"),
        ("mtu-of-lower", "ip link set right mtu 9000"),
        ("asymmetric-route", SAME_SUBNET),
    ] {
        let Some(before) = examined(setup, "left") else { return };
        let typed: Vec<&str> = before["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["rule"] == rule)
            .map(|finding| finding["mend"].as_str().unwrap())
            .collect();
        assert!(!typed.is_empty(), "{rule}: {before:#}");
        let after = examined(&format!("{setup}; {}", typed.join("; ")), "left").unwrap();
        assert!(["left", "host"].iter().all(|subject| found(&after, rule, subject).is_none()), "{rule}: {after:#}");
    }
}

#[test]
fn healthy_interfaces_have_no_warning() {
    for setup in HEALTHY {
        let Some(document) = examined(setup, "") else { return };
        let all = document["findings"].as_array().unwrap();
        // What is about the machine itself is not this test's to choose.
        let worse: Vec<&Value> =
            all.iter().filter(|one| one["severity"] != "note" && one["subject"] != "host").collect();
        assert!(worse.is_empty(), "{setup}: {worse:#?}");
    }
}

/// A hypervisor's bridge leads out, and passes on frames by itself; behind a bridge that does not, there is nothing but routing.
#[test]
fn a_bridge_that_leads_out_forwards_without_routing() {
    let bridge = "ip link add bridge type bridge; ip link set bridge up; ip addr flush dev left; ip link set left master bridge; \
                  ip link add other type veth peer name far; ip link set other up; ip link set far up; ip link set other master bridge; \
                  ip addr add 10.4.0.1/24 dev bridge; ip addr add 10.5.0.1/24 dev far; sysctl -qw net.ipv4.ip_forward=0";
    for (way, severity) in [("10.4.0.2", "note"), ("10.5.0.2", "warning")] {
        let setup = format!("{bridge}; ip route add default via {way}");
        let Some(document) = examined(&setup, "bridge --for forward") else { return };
        let finding = found(&document, "forwarding", "bridge").unwrap_or_else(|| panic!("{document:#}"));
        assert_eq!(finding["severity"], severity, "{way}: {document:#}");
    }
}

#[test]
fn the_code_tells_what_was_found() {
    for (setup, words, code) in [
        ("true", "left", 0),
        ("ethtool -K left tso off", "left", 3),
        ("true", "nowhere", 2),
        ("true", "left --for rain", 2),
    ] {
        let line = format!("{{ {setup}; }} >/dev/null; set +e; {BINARY} doctor {words}; exit $?");
        let Some(out) = shell(&line) else { return };
        assert_eq!(out.status.code(), Some(code), "{words}: {out:?}");
        if code == 2 {
            assert_eq!(String::from_utf8_lossy(&out.stderr).lines().count(), 1, "{out:?}");
        }
    }
}

#[test]
fn connections_that_no_program_takes_are_counted() {
    if ["ip", "ethtool", "tc", "sysctl", "nft"].iter().any(|program| !linerate_skip::is_installed(program)) {
        linerate_skip::skip!("ip, ethtool, tc, sysctl or nft is not installed");
        return;
    }
    let Some(space) = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability) else { return };
    let run = |line: &str| {
        let whole = format!("mount -t sysfs none /sys; set -e; {line}");
        let out = Command::new("unshare").args(["-m", "sh", "-c", &whole]).output().unwrap();
        assert!(out.status.success(), "{line}: {out:?}");
        out.stdout
    };
    let look = || {
        let out = run(&format!("{BINARY} doctor --json left --for tcp || [ $? = 3 ]"));
        serde_json::from_slice::<Value>(&out).unwrap()
    };
    space
        .run_in(|| {
            run(&format!("{{ {PAIR}; sysctl -qw net.core.somaxconn=4096; }} >/dev/null"));
            let before = look();
            assert!(
                ["somaxconn", "listen-drops"].iter().all(|rule| found(&before, rule, "host").is_none()),
                "{before:#}"
            );
            run("sysctl -qw net.core.somaxconn=1");
            // It has room for two.
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let limit = std::time::Duration::from_millis(100);
            let clients: Vec<_> = (0..6).map(|_| std::net::TcpStream::connect_timeout(&address, limit)).collect();
            assert!(clients.iter().any(Result::is_err), "{clients:?}");
            let after = look();
            for rule in ["somaxconn", "listen-drops"] {
                let finding = found(&after, rule, "host").unwrap_or_else(|| panic!("{rule}: {after:#}"));
                assert_eq!(finding["severity"], "note", "{finding:#}");
            }
        })
        .unwrap();
}

#[test]
fn a_sysctl_that_a_file_sets_otherwise_is_found() {
    // The machine's own settings are compared with a file that is there for this process alone; nothing is set.
    let Some(_permitted) = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability) else { return };
    if !std::path::Path::new("/proc/sys/net/core/netdev_max_backlog").exists() {
        linerate_skip::skip!("this is not the first network namespace");
        return;
    }
    let sack = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_sack").unwrap();
    let is_told = |value: u32| {
        let line = format!(
            "set -e; mkdir -p /etc/sysctl.d; mount -t tmpfs none /etc/sysctl.d; \
             echo net.ipv4.tcp_sack={value} > /etc/sysctl.d/zz.conf; {BINARY} doctor --json lo || [ $? = 3 ]"
        );
        let out = Command::new("unshare").args(["-m", "sh", "-c", &line]).output().unwrap();
        assert!(out.status.success(), "{out:?}");
        let document: Value = serde_json::from_slice(&out.stdout).unwrap();
        let told = |one: &Value| one["what"].as_str().is_some_and(|what| what.contains("net.ipv4.tcp_sack"));
        let all = document["findings"].as_array().unwrap();
        all.iter().any(|one| one["rule"] == "persistent-differs" && told(one))
    };
    let now: u32 = sack.trim().parse().unwrap();
    assert_eq!([is_told(now), is_told(1 - now.min(1))], [false, true]);
}

#[test]
fn in_a_namespace_files_of_sysctls_are_not_looked_at() {
    let Some(document) = examined("true", "left") else { return };
    for rule in ["not-persistent", "persistent-differs"] {
        let why = document["unable"].as_array().unwrap().iter().find(|one| one[1] == rule).map(|one| &one[2]);
        assert!(why.is_some_and(|why| why.as_str().unwrap().contains("namespace")), "{rule}: {document:#}");
    }
}
