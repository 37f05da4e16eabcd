//! Texts as people post them: each fault with what is to be typed, and beside it a host that is well.

use super::super::*;
use linerate_rt::Stop;
use std::fs;

/// Findings of a rule about a posted text: severity, and what is to be typed.
pub(super) fn found(text: &str, rule: &str) -> Vec<(Severity, String)> {
    let of = examined(text).findings.into_iter().filter(|one| one.rule == rule);
    of.map(|one| (one.severity, one.mend.unwrap_or_default())).collect()
}

pub(super) fn examined(text: &str) -> Examination {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.txt");
    fs::write(&file, text).unwrap();
    examine(&Asked { tree: Some(&file), ..Asked::default() }, &Stop::new().unwrap()).unwrap()
}

/// A link as `ip -d -s addr` prints it, with counters, and lines of its own.
pub(super) fn link(index: u32, name: &str, flags: &str, more: &str, lines: &str) -> String {
    format!(
        "{index}: {name}: <BROADCAST,MULTICAST,{flags}> {more} state UP group default qlen 1000\n\
         \x20   link/ether 3c:fd:fe:9c:11:{index:02x} brd ff:ff:ff:ff:ff:ff promiscuity 0\n{lines}"
    )
}

pub(super) const RUNS: &str = "UP,LOWER_UP";
pub(super) const COUNTS: &str = "    RX:  bytes packets errors dropped  missed   mcast\n    8000000000   90000000 0 0 0 55\n\
                      \x20   TX:  bytes packets errors dropped carrier collsns\n    8000000000   90000000 0 0 0 0\n";

/// One adapter with an address.
pub(super) fn eth0() -> String {
    link(2, "eth0", RUNS, "mtu 1500 qdisc mq", &format!("    inet 192.0.2.20/24 scope global eth0\n{COUNTS}"))
}

const ISSUED: &str = "driver: ice\nbus-info: 0000:81:00.0\n";

pub(super) fn with(text: &str) -> String {
    format!("# ip -d -s addr\n{}# ethtool -i eth0\n{ISSUED}\n{text}", eth0())
}

pub(super) const LSCPU: &str = "# lscpu\nOn-line CPU(s) list: 0-7\n";
const W: Severity = Severity::Warning;
const N: Severity = Severity::Note;

pub(super) type Case = (&'static str, Option<(Severity, &'static str)>, String);

pub(super) fn holds(cases: &[Case]) {
    for (rule, wanted, text) in cases {
        let of = found(text, rule);
        let of: Vec<(Severity, &str)> = of.iter().map(|(severity, mend)| (*severity, mend.as_str())).collect();
        assert_eq!(of, wanted.iter().copied().collect::<Vec<_>>(), "{rule}: {text}\n{:#?}", examined(text));
    }
}

/// Regression: texts of ethtool with these options, /proc and lspci were not read, and what they show was not found.
#[test]
fn what_adapters_texts_show_is_found() {
    let rss = |row: &str| {
        with(&format!(
            "# ethtool -l eth0\nChannel parameters for eth0:\nCurrent hardware settings:\nCombined: 4\n\
                                         # ethtool -x eth0\nRX flow hash indirection table for eth0 with 4 RX ring(s):\n{row}\n"
        ))
    };
    let fec = |active: &str, mode: &str, errors: u64| {
        with(&format!(
            "# ethtool eth0\nSettings for eth0:\n\tSupported link modes:   {mode}\n\tAdvertised link modes:  {mode}\n\tSpeed: 100000Mb/s\n\
                       # ethtool --show-fec eth0\nFEC parameters for eth0:\nConfigured FEC encodings: {active}\n\
                       Active FEC encoding: {active}\n# ethtool -S eth0\nNIC statistics:\n     rx_crc_errors_phy: {errors}\n"
        ))
    };
    let light = |alarm: &str| {
        with(&format!(
            "# ethtool -m eth0\n\tIdentifier                                : 0x03 (SFP)\n\
                       \tReceiver signal average optical power     : 0.0089 mW / -20.51 dBm\n\
                       \tLaser rx power low alarm                  : {alarm}\n"
        ))
    };
    let eee = |status: &str, downs: usize| {
        let line = "[ 1.5] igb 0000:04:00.0 eth0: igb: eth0 NIC Link is Down\n";
        with(&format!(
            "# ethtool --show-eee eth0\nEEE settings for eth0:\n\tEEE status: {status}\n# dmesg\n{}",
            line.repeat(downs)
        ))
    };
    let pci = |bits: &str, lines: usize| {
        let line = "[ 2.5] pcieport 0000:80:01.1: AER: Multiple Corrected error message received from 0000:81:00.0\n";
        with(&format!(
            "# lspci -vv\n81:00.0 Ethernet controller: Intel E810\n\t\tDevCtl: RlxdOrd+\n\t\t\tMaxReadReq 512 bytes\n\
                       \t\tLnkCtl:\tASPM Disabled\n\t\tCESta:\t{bits}\n# dmesg\n{}",
            line.repeat(lines)
        ))
    };
    let allowed =
        |count: u64| with(&format!("# ethtool -S eth0\nNIC statistics:\n     pps_allowance_exceeded: {count}\n"));
    let guest = |driver: &str, hypervisor: &str| {
        format!(
            "# ip -d -s addr\n{}# ethtool -i eth0\ndriver: {driver}\nbus-info: 0000:00:03.0\n# lscpu\n{hypervisor}On-line CPU(s) list: 0-1\n",
            eth0()
        )
    };
    let pair = |squeezed: &str| {
        format!(
            "# ip -d -s addr\n{}# ethtool -i eth0\ndriver: virtio_net\nbus-info: 0000:00:03.0\n# ethtool -l eth0\nChannel parameters for eth0:\n\
                 Pre-set maximums:\nCombined:\t1\nCurrent hardware settings:\nCombined:\t1\n{LSCPU}# cat /proc/net/softnet_stat\n\
                 05608c24 00000000 {squeezed} 00000000 00000000 00000000 00000000 00000000 00000000\n\
                 05608c24 00000000 00000001 00000000 00000000 00000000 00000000 00000000 00000000\n",
            eth0()
        )
    };
    let held = |usecs: u32| {
        with(&format!(
            "# ethtool -c eth0\nCoalesce parameters for eth0:\nAdaptive RX: off  TX: off\n\nrx-usecs: {usecs}\n"
        ))
    };
    let governor = |driver: &str| {
        let at = "/sys/devices/system/cpu/cpu0/cpufreq";
        with(&format!(
            "{LSCPU}# sysctl -a\nnet.core.somaxconn = 4096\n# grep . {at}/*\n{at}/scaling_driver:{driver}\n{at}/scaling_governor:powersave\n"
        ))
    };
    let queues = "on its host: driver queues='8' of the interface (libvirt), or mq=on and queues=8 (QEMU); until then by software: \
                  echo MASK > /sys/class/net/eth0/queues/rx-0/rps_cpus";
    let set_fec = "ethtool --set-fec eth0 encoding rs, and the same at the other end";
    let fibre = "clean and try another fibre, then the module at the other end, whose light this one receives";
    let seat = "seat card and riser anew, or take another slot; then firmware of card and machine";
    let virtio = "in the machine's set-up on its host: virtio (libvirt: model type='virtio'; VMware: vmxnet3) instead";
    let bought = "a greater instance, fewer packets (MTU 9001 within a VPC), or fewer connections that its security groups track";
    holds(&[
        ("rss-table", Some((W, "ethtool -X eth0 equal 4")), rss("    0:      0     0     0     0")),
        ("rss-table", Some((N, "ethtool -X eth0 equal 4")), rss("    0:      0     1     0     1")),
        ("rss-table", None, rss("    0:      0     1     2     3")),
        ("fec-off", Some((W, set_fec)), fec("Off", "100000baseCR4/Full", 812_233)),
        ("fec-off", Some((N, set_fec)), fec("Off", "100000baseCR4/Full", 0)),
        ("fec-off", None, fec("Off", "100000baseLR4_ER4/Full", 0)),
        ("fec-off", None, fec("RS", "100000baseCR4/Full", 812_233)),
        ("optics", Some((W, fibre)), light("On")),
        ("optics", None, light("Off")),
        ("eee", Some((W, "ethtool --set-eee eth0 eee off")), eee("enabled - active", 13)),
        ("eee", Some((N, "ethtool --set-eee eth0 eee off")), eee("enabled - active", 2)),
        ("eee", None, eee("enabled - inactive", 13)),
        ("eee", None, eee("disabled", 13)),
        ("pcie-errors", Some((W, seat)), pci("RxErr+ BadTLP+ BadDLLP- AdvNonFatalErr-", 8)),
        ("pcie-errors", Some((N, seat)), pci("RxErr- BadTLP+ BadDLLP- AdvNonFatalErr-", 0)),
        ("pcie-errors", None, pci("RxErr- BadTLP- BadDLLP- AdvNonFatalErr+", 0)),
        ("allowances", Some((W, bought)), allowed(8_812_233)),
        ("allowances", Some((N, bought)), allowed(12)),
        ("allowances", None, allowed(0)),
        ("emulated", Some((W, virtio)), guest("e1000", "Hypervisor vendor: KVM\n")),
        ("emulated", None, guest("e1000", "")),
        ("emulated", None, guest("virtio_net", "Hypervisor vendor: KVM\n")),
        ("coalesce-lazy", Some((W, "ethtool -C eth0 rx-usecs 20, or adaptive-rx on")), held(8160)),
        ("coalesce-lazy", Some((N, "ethtool -C eth0 rx-usecs 20, or adaptive-rx on")), held(250)),
        ("coalesce-lazy", None, held(50)),
        ("governor", Some((W, "cpupower frequency-set -g performance")), governor("acpi-cpufreq")),
        ("governor", Some((N, "cpupower frequency-set -g performance")), governor("intel_pstate")),
        ("one-queue", Some((W, queues)), pair("003c1234")),
        ("one-queue", Some((N, queues)), pair("00000004")),
    ]);
}

/// Regression: of interfaces that stand on others, their details in texts were not read.
#[test]
fn what_texts_of_stacked_interfaces_show_is_found() {
    let vxlan = |mtu: u32| {
        let of = "    vxlan id 1 local 192.0.2.20 dev eth0 srcport 0 0 dstport 8472 nolearning ttl auto\n";
        format!("# ip -d -s addr\n{}{}", eth0(), link(3, "flannel.1", RUNS, &format!("mtu {mtu} qdisc noqueue"), of))
    };
    let bond = |how: &str, sent: u64, second: &str| {
        let member = |index: u32, name: &str, sent: u64, id: u32| {
            let more = "mtu 1500 qdisc mq master bond0";
            let lines = format!(
                "    bond_slave state ACTIVE mii_status UP ad_aggregator_id {id}\n{}",
                COUNTS.replace("8000000000", &sent.to_string())
            );
            link(index, name, "SLAVE,UP,LOWER_UP", more, &lines)
        };
        let id = if second.is_empty() { 1 } else { 2 };
        let own = link(
            4,
            "bond0",
            "MASTER,UP,LOWER_UP",
            "mtu 1500 qdisc noqueue",
            &format!("    bond {how}\n    inet 192.0.2.20/24 scope global bond0\n"),
        );
        format!("# ip -d -s addr\n{}{}{own}{second}", member(2, "eno1", 98_000_000_000, 1), member(3, "eno2", sent, id))
    };
    let lacp = "mode 802.3ad miimon 100 arp_interval 0 xmit_hash_policy";
    let active = |primary: &str| {
        format!(
            "{}# cat /proc/net/bonding/bond0\nEthernet Channel Bonding Driver: v5.14.0\n\nBonding Mode: fault-tolerance (active-backup)\n\
                 Primary Slave: {primary}\nCurrently Active Slave: eno1\nMII Status: up\nMII Polling Interval (ms): 100\n\n\
                 Slave Interface: eno1\nMII Status: up\nSpeed: 1000 Mbps\nDuplex: full\n\n\
                 Slave Interface: eno2\nMII Status: up\nSpeed: 10000 Mbps\nDuplex: full\n",
            bond("mode active-backup miimon 100", 0, "")
        )
    };
    let bridge = |called: u8, rule: &str| {
        let member = |index, name: &str| {
            link(index, name, RUNS, "mtu 1500 qdisc mq master br0", "    bridge_slave state forwarding\n")
        };
        format!(
            "# ip -d -s addr\n{}{}{}# sysctl -a\nnet.bridge.bridge-nf-call-iptables = {called}\n# iptables-save -c\n*filter\n\
                 :FORWARD DROP [881223:77122334]\n:DOCKER-USER - [0:0]\n[0:0] -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n{rule}COMMIT\n",
            member(2, "eno1"),
            member(5, "vnet0"),
            link(3, "br0", RUNS, "mtu 1500 qdisc noqueue", "    bridge stp_state 0\n")
        )
    };
    let behind = |rule: &str| {
        format!(
            "# ip addr\n{}{}{}# ip route\ndefault via 192.0.2.1 dev eth0\n# sysctl -a\nnet.ipv4.ip_forward = 1\n# iptables-save -c\n*filter\n\
                 :FORWARD DROP [55321:4412233]\n[0:0] -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n{rule}COMMIT\n",
            eth0(),
            link(4, "lxdbr0", RUNS, "mtu 1500 qdisc noqueue", "    inet 10.158.10.1/24 scope global lxdbr0\n"),
            link(5, "veth1a@if3", RUNS, "mtu 1500 qdisc noqueue master lxdbr0", "")
        )
    };
    let member = |failed: &str| {
        format!(
            "# ip addr\n2: enp1s0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq master br0 state UP group default\n    link/ether 3c:fd:fe:9c:11:02\n\
                 \x20   inet 192.0.2.31/24 scope global enp1s0\n3: br0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default\n\
                 \x20   link/ether 3c:fd:fe:9c:11:02\n# ip route\ndefault via 192.0.2.1 dev enp1s0\n# ip neigh\n192.0.2.1 dev enp1s0 {failed}\n"
        )
    };
    let accept = "iptables -I FORWARD -i br0 -o br0 -j ACCEPT; or, where no container network needs it, sysctl -w net.bridge.bridge-nf-call-iptables=0";
    let other = "at the partner: its port into the same channel (LAG) as the others, with LACP on";
    let moved = "ip addr del 192.0.2.31/24 dev enp1s0; ip addr add 192.0.2.31/24 dev br0; ip route add default via 192.0.2.1 dev br0";
    holds(&[
        ("mtu-of-lower", Some((W, "ip link set dev flannel.1 mtu 1450")), vxlan(1500)),
        ("mtu-of-lower", None, vxlan(1450)),
        (
            "bond-hash",
            Some((W, "ip link set dev bond0 type bond xmit_hash_policy layer3+4")),
            bond(&format!("{lacp} layer2"), 1_223_344, ""),
        ),
        ("bond-hash", None, bond(&format!("{lacp} layer2"), 70_000_000_000, "")),
        ("bond-hash", None, bond(&format!("{lacp} layer3+4"), 1_223_344, "")),
        ("bond-lacp", Some((W, other)), bond(&format!("{lacp} layer3+4"), 0, "\n")),
        ("bond-lacp", None, bond(&format!("{lacp} layer3+4"), 0, "")),
        (
            "bond-unwatched",
            Some((W, "ip link set dev bond0 type bond miimon 100")),
            bond("mode balance-xor miimon 0 arp_interval 0", 0, ""),
        ),
        ("bond-unwatched", None, bond("mode balance-xor miimon 0 arp_interval 1000", 0, "")),
        ("bond-half", Some((W, "ip link set dev bond0 type bond primary eno2")), active("None")),
        (
            "bond-half",
            Some((N, "ethtool -s DEV speed N duplex full autoneg on, the same for all; or ip link set DEV nomaster")),
            active("eno1"),
        ),
        ("bridge-filtered", Some((W, accept)), bridge(1, "")),
        ("bridge-filtered", None, bridge(0, "")),
        ("bridge-filtered", None, bridge(1, "[0:0] -A FORWARD -i br0 -o br0 -j ACCEPT\n")),
        ("bridge-filtered", None, bridge(1, "[0:0] -A FORWARD -m physdev --physdev-is-bridged -j ACCEPT\n")),
        (
            "bridge-filtered",
            Some((
                W,
                "iptables -I FORWARD -i lxdbr0 -j ACCEPT; iptables -I FORWARD -o lxdbr0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
            )),
            behind(""),
        ),
        ("bridge-filtered", None, behind("[9:9] -A FORWARD -i lxdbr0 ! -o lxdbr0 -j ACCEPT\n")),
        ("bridge-filtered", None, behind("[9:9] -A FORWARD -s 10.158.10.0/24 -j ACCEPT\n")),
        ("address-state", Some((W, moved)), member("FAILED")),
        ("address-state", Some((N, moved)), member("lladdr 02:00:00:00:00:01 REACHABLE")),
    ]);
}

/// Regression: firewalls, rules of routing and counters of protocols in texts were not read.
#[test]
fn what_texts_of_the_stack_show_is_found() {
    let filter = |rules: &str| with(&format!("# iptables-save\n*filter\n:INPUT DROP [0:0]\n{rules}COMMIT\n"));
    let nft = |rules: &str| {
        with(&format!(
            "# nft list ruleset\ntable ip f {{\n\tchain i {{\n\t\ttype filter hook input priority filter; policy accept;\n{rules}\t}}\n}}\n"
        ))
    };
    let related = "-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n";
    let policy = |table: &str| {
        with(&format!(
            "# ip route show table all\ndefault via 192.0.2.1 dev eth0\n{table}local 192.0.2.20 dev eth0 table local proto kernel scope host\n\
                       # ip rule\n0:\tfrom all lookup local\n32765:\tfrom 192.0.2.20 lookup 200\n32766:\tfrom all lookup main\n"
        ))
    };
    let sysctl = |name: &str, value: u64| with(&format!("# sysctl -a\n{name} = {value}\n"));
    let nstat = |rows: &str| {
        with(&format!(
            "# sysctl -a\nnet.core.somaxconn = 128\n# nstat -az\n{rows}# ss -ltn\nLISTEN 129 128 0.0.0.0:443 0.0.0.0:*\n"
        ))
    };
    let listen = |drops: u64| {
        nstat(&format!(
            "TcpPassiveOpens 9912233 0.0\nTcpExtListenOverflows {drops} 0.0\nTcpExtListenDrops {drops} 0.0\n"
        ))
    };
    let summary = |drops: u64| {
        nstat(&format!(
            "# netstat -s\nTcp:\n    9912233 passive connection openings\nTcpExt:\n    {drops} times the listen queue of a socket overflowed\n    {drops} SYNs to LISTEN sockets dropped\n"
        ))
    };
    let udp = |drops: u64| nstat(&format!("UdpInDatagrams 81223344 0.0\nUdpRcvbufErrors {drops} 0.0\n"));
    let strict = |drops: u64, other: &str| {
        format!(
            "# ip -d -s addr\n{}{other}# sysctl -a\nnet.ipv4.conf.all.rp_filter = 1\n# nstat -az\nTcpExtIPReversePathFilter {drops} 0.0\n",
            eth0()
        )
    };
    let second = link(3, "eth1", RUNS, "mtu 1500 qdisc mq", "    inet 198.51.100.20/24 scope global eth1\n");
    let gateway = |bits: u8| {
        format!(
            "# ip -d -s addr\n{}# ip route\ndefault via 192.0.2.200 dev eth0 onlink\n# ip neigh\n192.0.2.200 dev eth0 FAILED\n",
            eth0().replace("/24", &format!("/{bits}"))
        )
    };
    let bucket = |burst: &str| {
        with(&format!(
            "# tc -s qdisc\nqdisc tbf 8001: dev eth0 root refcnt 2 rate 5Gbit burst {burst} lat 50ms\n Sent 0 bytes 0 pkt (dropped 4412233, overlimits 0 requeues 0)\n"
        ))
    };
    let cake = with(
        "# tc -s qdisc\nqdisc cake 8001: dev eth0 root refcnt 2 bandwidth 90Mbit diffserv3\n Sent 0 bytes 0 pkt (dropped 4412233, overlimits 0 requeues 0)\n",
    );
    let pods = |forward: u8| {
        format!(
            "# ip -d -s addr\n{}{}{}# ip route\ndefault via 192.0.2.1 dev eth0\n# sysctl -a\nnet.ipv4.ip_forward = {forward}\n",
            eth0(),
            link(4, "cni0", RUNS, "mtu 1450 qdisc noqueue", "    inet 10.244.1.1/24 scope global cni0\n"),
            link(5, "veth1a@if3", RUNS, "mtu 1450 qdisc noqueue master cni0", "")
        )
    };
    let log = |line: &str| with(&format!("# sysctl -a\nnet.core.somaxconn = 4096\n# dmesg\n[  12.500000] {line}\n"));
    let pass = "let it pass before: iptables -I INPUT -p icmp --icmp-type destination-unreachable -j ACCEPT; of IPv6 ip6tables -I \
                INPUT -p icmpv6 --icmpv6-type packet-too-big -j ACCEPT";
    let insert = "let it pass before: nft insert rule FAMILY f i icmp type destination-unreachable accept; \
                  'nft list ruleset' shows the family, and of ip6 it is icmpv6 type packet-too-big";
    let guard = "nothing, if they are meant to guard; 'iptables-save -c' shows them";
    let guard_nft = "nothing, if they are meant to guard; 'nft list ruleset' shows them";
    let full = "sysctl -w net.core.somaxconn='4096', and start the program at port 443 again";
    let room = "see 'ss -lunm' (d in skmem): a larger SO_RCVBUF there and net.core.rmem_max, or more threads that read";
    let loose = "sysctl -w net.ipv4.conf.all.rp_filter='2'";
    holds(&[
        ("firewall", Some((W, pass)), filter(&format!("-A INPUT -p icmp -j DROP\n{related}"))),
        ("firewall", Some((N, guard)), filter(&format!("{related}-A INPUT -p icmp -j DROP\n"))),
        ("firewall", Some((N, guard)), filter("-A INPUT -p icmp --icmp-type 3 -j ACCEPT\n-A INPUT -p icmp -j DROP\n")),
        ("firewall", Some((W, insert)), nft("\t\tip protocol icmp drop\n")),
        ("firewall", Some((N, guard_nft)), nft("\t\tct state established,related accept\n\t\tip protocol icmp drop\n")),
        ("policy-empty", Some((W, "ip route add default via 192.0.2.1 dev eth0 table 200")), policy("")),
        ("policy-empty", None, policy("default via 192.0.2.1 dev eth0 table 200\n")),
        ("sysctl-range", Some((W, "sysctl -w net.ipv4.tcp_tw_recycle='0'")), sysctl("net.ipv4.tcp_tw_recycle", 1)),
        ("sysctl-range", None, sysctl("net.ipv4.tcp_tw_recycle", 0)),
        ("listen-drops", Some((W, full)), listen(8_812_233)),
        ("listen-drops", Some((N, full)), listen(12)),
        ("listen-drops", Some((W, full)), summary(8_812_233)),
        ("udp-drops", Some((W, room)), udp(8_812_233)),
        ("udp-drops", Some((N, room)), udp(12)),
        ("reverse-path", Some((W, loose)), strict(884_422, &second)),
        ("reverse-path", Some((N, loose)), strict(884_422, "")),
        ("reverse-path", Some((N, loose)), strict(12, &second)),
        (
            "next-hop",
            Some((
                W,
                "the mask or the gateway is wrong: ip addr change 192.0.2.20/BITS dev eth0 with one that has 192.0.2.200, or another gateway",
            )),
            gateway(25),
        ),
        ("next-hop", Some((W, "see whether 192.0.2.200 is up, and the cable to it")), gateway(24)),
        (
            "shaped",
            Some((
                W,
                "tc qdisc change dev eth0 root tbf rate 5000000000bit burst 2500000 latency 50ms, its rate for 4 ms",
            )),
            bucket("5Kb"),
        ),
        (
            "shaped",
            Some((W, "nothing, if it is meant so; otherwise: tc qdisc change dev eth0 root tbf with a higher rate")),
            bucket("4Mb"),
        ),
        (
            "shaped",
            Some((N, "nothing, if it is meant so; otherwise: tc qdisc change dev eth0 root cake with a higher rate")),
            cake,
        ),
        ("forwarding", Some((W, "sysctl -w net.ipv4.ip_forward='1'")), pods(0)),
        ("forwarding", None, pods(1)),
        (
            "kernel-log",
            Some((W, "another cable with all four pairs; then another port of the partner")),
            log(
                "RTL8211 Gigabit Ethernet r8169-200:00: Downshift occurred from negotiated speed 1Gbps to actual speed 100Mbps, check cabling!",
            ),
        ),
        ("kernel-log", None, log("igb 0000:04:00.0 eth0: igb: eth0 NIC Link is Up 1000 Mbps Full Duplex")),
    ]);
}

/// Regression: offloads were to be switched on that the adapter has not, or that are off on purpose.
#[test]
fn what_cannot_be_or_is_meant_otherwise_is_no_warning() {
    let features = |driver: &str, flags: &str, address: &str, sums: &str, more: &str| {
        let own = link(2, "eth0", flags, "mtu 1500 qdisc mq", &format!("{address}{COUNTS}"))
            .replace("promiscuity 0", if flags.contains("PROMISC") { "promiscuity 1" } else { "promiscuity 0" });
        format!(
            "# ip -d -s addr\n1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default\n    link/loopback 00:00:00:00:00:00\n    inet 127.0.0.1/8 scope host lo\n{own}# ethtool -i eth0\ndriver: {driver}\nbus-info: 0000:04:00.0\n# ethtool -k eth0\nFeatures for eth0:\nrx-checksumming: on\ntx-checksumming: {sums}\n\
                 \ttx-checksum-ipv4: off [fixed]\n\ttx-checksum-ip-generic: {sums}\nscatter-gather: off\n\ttx-scatter-gather: {sums}\n\
                 generic-segmentation-offload: off [requested on]\ngeneric-receive-offload: off\n{more}"
        )
    };
    let address = "    inet 192.0.2.20/24 scope global eth0\n";
    let warnings = |text: &str| {
        let all = examined(text);
        all.findings.iter().filter(|one| one.severity > N).map(|one| one.rule.to_string()).collect::<Vec<_>>()
    };
    // Fixed off: neither segmentation nor what it needs is to be had.
    assert_eq!(warnings(&features("smsc95xx", RUNS, address, "off [fixed]", "")), ["gro"]);
    assert!(warnings(&features("ixgbe", RUNS, address, "off", "")).contains(&"feature-refused".to_owned()));
    // A port that captures, a host set up for latency, a driver that is careful.
    assert!(warnings(&features("ixgbe", "PROMISC,UP,LOWER_UP", "", "off", "")).is_empty());
    assert!(!warnings(&features("ixgbe", "PROMISC,UP,LOWER_UP", address, "off", "")).is_empty());
    let tuned = "# tuned-adm active\nCurrent active profile: network-latency\n";
    assert!(warnings(&features("smsc95xx", RUNS, address, "off [fixed]", tuned)).is_empty());
    assert_eq!(
        warnings(&features("smsc95xx", RUNS, address, "off [fixed]", &tuned.replace("network-latency", "balanced"))),
        ["gro"]
    );
    let careful = examined(&features("r8169", RUNS, address, "off", ""));
    let sums = careful.findings.iter().find(|one| one.rule == "scatter-gather").unwrap();
    assert!(sums.severity == N && sums.mend.as_ref().unwrap().contains("console"), "{sums:#?}");
    assert!(careful.findings.iter().all(|one| one.rule != "feature-refused"), "{careful:#?}");
    // A bridge of containers that do not run has no carrier, and no cable.
    let docker = format!(
        "# ip addr\n{}3: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN group default\n    link/ether 02:42:00:00:00:01\n",
        eth0()
    );
    assert_eq!(
        found(&docker, "link-down"),
        [(N, "a program that opens the TAP, or a member of the bridge that is up".to_owned())]
    );
    // A laptop with cable and radio in one network; where both are cables, the one of which nothing leaves is told.
    let both = |name: &str, metric: u32, sent: u64| {
        let counts = COUNTS.replacen("8000000000   90000000 0 0 0 0", &format!("9 {sent} 0 0 0 0"), 1);
        format!(
            "# ip addr\n{}{}# ip route\n192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.20 metric 100\n\
                 192.0.2.0/24 dev {name} proto kernel scope link src 192.0.2.21 metric {metric}\n",
            eth0(),
            link(
                3,
                name,
                RUNS,
                "mtu 1500 qdisc noqueue",
                &format!("    inet 192.0.2.21/24 scope global {name}\n{counts}")
            )
        )
    };
    let gateway = "# ip neigh\n192.0.2.1 dev eth0 lladdr 02:00:00:00:00:01 REACHABLE\n192.0.2.1 dev wlp1s0 lladdr 02:00:00:00:00:01 STALE\n";
    let docked = both("wlp1s0", 600, 12) + gateway;
    assert!(found(&docked, "asymmetric-route").iter().all(|one| one.0 == N));
    let capture = format!("# ip addr\n{}", eth0().replace("UP,LOWER_UP", "NOARP,PROMISC,UP,LOWER_UP"));
    assert!(found(&capture, "arp").is_empty());
    assert_eq!(found(&capture.replace("PROMISC,", ""), "arp").len(), 1);
    assert!(found(&both("wlp1s0", 600, 12), "no-queue").is_empty());
    assert_eq!(found(&both("eth1", 101, 12), "asymmetric-route").iter().filter(|one| one.0 == W).count(), 1);
    assert!(found(&both("eth1", 101, 90_000_000), "asymmetric-route").iter().all(|one| one.0 == N));
}

/// Regression: "no rule has segments fit the path" stood there though no rules were read.
#[test]
fn what_was_not_read_is_not_said_to_be_absent() {
    let host = |more: &str| {
        format!(
            "# ip -d -s addr\n{}{}# ip route\ndefault via 192.0.2.1 dev eth0\n# sysctl -a\nnet.ipv4.ip_forward = 1\n{more}",
            eth0().replace("mtu 1500", "mtu 1450"),
            link(
                4,
                "docker0",
                RUNS,
                "mtu 1500 qdisc noqueue",
                "    bridge stp_state 0\n    inet 172.17.0.1/16 scope global docker0\n"
            )
        )
    };
    let pod = format!(
        "# ip addr\n{}{}# ip route\ndefault via 192.0.2.1 dev eth0\n192.0.2.77 dev cali1 scope link\n# sysctl -a\nnet.ipv4.ip_forward = 1\n",
        eth0().replace("mtu 1500", "mtu 1460"),
        link(7, "cali1@if4", RUNS, "mtu 1500 qdisc noqueue", "")
    );
    assert_eq!(found(&pod, "mtu-forwarded").len(), 1);
    assert!(found(&pod.replace("mtu 1460", "mtu 1500"), "mtu-forwarded").is_empty());
    let seen = |text: &str| {
        let all = examined(text);
        let one = all.findings.into_iter().find(|one| one.rule == "mtu-forwarded");
        one.map(|one| {
            one.evidence
                .into_iter()
                .map(|seen| seen.value)
                .filter(|seen| seen.contains("fit the path"))
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(seen(&host("")), Some(vec!["whether a rule has segments fit the path is not told".to_owned()]));
    let empty = "# iptables-save\n*filter\n:FORWARD ACCEPT [0:0]\nCOMMIT\n";
    assert_eq!(seen(&host(empty)), Some(vec!["no rule has segments fit the path".to_owned()]));
    let clamp = "# iptables-save\n*mangle\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p tcp -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu\nCOMMIT\n";
    assert_eq!(seen(&host(clamp)), None);
    // Containers that run behind a card whose network has no more room hang; of one that is a tunnel this end tells.
    let runs = link(5, "veth1a@if3", RUNS, "mtu 1500 qdisc noqueue master docker0", "");
    let graves = |text: &str| found(text, "mtu-forwarded").iter().map(|one| one.0).collect::<Vec<_>>();
    let running = |more: &str| format!("{}# ip link\n{runs}", host(more));
    assert_eq!(graves(&running(empty)), [W]);
    assert_eq!(graves(&running("")), [N]);
    assert_eq!(graves(&host(empty)), [N]);
    assert_eq!(graves(&running(clamp)), []);
    let tunnel = running(empty).replacen("link/ether", "link/none", 1);
    assert_eq!(graves(&tunnel), [N]);
}

/// Regression: frames that the stack drops behind the ring were said to have found no descriptor.
#[test]
fn a_ring_is_named_for_what_it_loses() {
    let counted = |dropped: u64, missed: u64, ring: u32| {
        let counts = COUNTS.replacen("90000000 0 0 0 55", &format!("90000000 0 {dropped} {missed} 55"), 1);
        let own = link(2, "eth0", RUNS, "mtu 1500 qdisc mq", &counts);
        format!(
            "# ip -d -s addr\n{own}# ethtool -g eth0\nRing parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nCurrent hardware settings:\nRX:\t\t{ring}\n"
        )
    };
    let inner = "see its PCIe link (pcie-width, pcie-speed) and the node of its memory (irq-far); a longer ring has no part in it";
    let behind = "see which: tcpdump -e -n -i eth0 not ip and not ip6 and not arp; 'nstat -az', backlog";
    holds(&[
        ("ring-rx", Some((W, "ethtool -G eth0 rx 4096")), counted(0, 33_122, 64)),
        ("ring-rx", Some((N, "ethtool -G eth0 rx 4096")), counted(0, 33_122, 512)),
        ("ring-rx", Some((N, behind)), counted(12_000, 0, 512)),
        (
            "ring-rx",
            Some((W, inner)),
            format!("{}# ethtool -S eth0\nNIC statistics:\n     rx_discards_phy: 7712233\n", counted(0, 0, 512)),
        ),
    ]);
}

/// Regression: half duplex and the options of TCP of a FreeBSD host were not looked at, and TSO4 was to be switched on where em(4)
/// takes it away.
#[test]
fn freebsd_hosts_are_looked_at_alike() {
    let host = |media: &str, options: u8| {
        format!(
            "# ifconfig -m\nem0: flags=1008843<UP,BROADCAST,RUNNING> metric 0 mtu 1500\n\toptions=9<RXCSUM,TXCSUM>\n\tcapabilities=19<RXCSUM,TXCSUM,TSO4>\n\
                 \tmedia: Ethernet autoselect ({media})\n\tstatus: active\n# sysctl -a\nnet.inet.ip.forwarding: 0\nnet.inet.tcp.rfc1323: {options}\n\
                 net.inet.tcp.sack.enable: {options}\nnet.inet.tcp.recvbuf_max: 65536\nnet.inet.tcp.sendbuf_max: 2097152\n"
        )
    };
    let half = host("100baseTX <half-duplex>", 1);
    let partner = "at the partner: autonegotiation on; one without it is taken for half duplex";
    assert_eq!(found(&half, "freebsd-duplex"), [(Severity::Error, partner.to_owned())]);
    assert!(found(&half, "freebsd-offloads").is_empty());
    let full = host("1000baseT <full-duplex>", 1);
    assert!(found(&full, "freebsd-duplex").is_empty() && found(&full, "freebsd-tcp-options").is_empty());
    assert_eq!(found(&full, "freebsd-offloads"), [(W, "ifconfig em0 tso4".to_owned())]);
    let fast = host("10Gbase-SR <full-duplex>", 0);
    assert_eq!(found(&fast, "freebsd-tcp-options").iter().map(|one| one.0).collect::<Vec<_>>(), [W, W]);
    assert_eq!(found(&fast, "freebsd-buffers").iter().map(|one| one.0).collect::<Vec<_>>(), [W, N]);
}

/// Regression: a text that was not taken was left without a word.
#[test]
fn a_text_that_is_not_taken_is_named() {
    let all = examined(&with("# ss -uanm\nUNCONN 0 0 0.0.0.0:514 0.0.0.0:*\n# ip rule\n0:\tfrom all lookup local\n"));
    assert_eq!(all.untaken, ["ss -uanm"]);
    assert!(render(&all, false, false).contains("Not taken, as nothing in it is read: ss -uanm."));
    let all = examined(&with(""));
    assert!(all.untaken.is_empty() && !render(&all, true, false).contains("Not taken"), "{:?}", all.untaken);
}

/// Regression: beside the cause another finding told the same twice, or had its own mend for what the cause does.
#[test]
fn a_cause_is_told_once_and_its_marks_are_not_mended() {
    let log = |line: &str, more: &str| {
        with(&format!("# sysctl -a\nnet.core.somaxconn = 4096\n{more}# dmesg\n[  12.500000] {line}\n"))
    };
    let full = "nf_conntrack: nf_conntrack: table full, dropping packet";
    let table = |now: u32| {
        log(full, &format!("net.netfilter.nf_conntrack_max = 65536\nnet.netfilter.nf_conntrack_count = {now}\n"))
    };
    let told = |text: &str| ["conntrack", "kernel-log"].map(|rule| found(text, rule).len());
    assert_eq!([told(&table(65_530)), told(&table(400)), told(&log(full, ""))], [[1, 0], [0, 1], [0, 1]]);
    let thresholds = |most: u32| {
        log(
            "neighbour: arp_cache: neighbor table overflow!",
            &format!(
                "net.ipv4.neigh.default.gc_thresh3 = {most}\n# ip neigh\n192.0.2.1 dev eth0 lladdr 02:00:00:00:00:01 REACHABLE\n192.0.2.2 dev eth0 lladdr 02:00:00:00:00:02 REACHABLE\n"
            ),
        )
    };
    let told = |text: &str| ["neighbour-table", "kernel-log"].map(|rule| found(text, rule).len());
    assert_eq!([told(&thresholds(2)), told(&thresholds(1024))], [[1, 0], [0, 1]]);
    // Collisions damage frames, and a link without error correction does.
    let damaged = |more: &str| {
        with(&format!(
            "# ethtool eth0\nSettings for eth0:\n{more}# ethtool -S eth0\nNIC statistics:\n     rx_crc_errors_phy: 812233\n"
        ))
    };
    let mend = |more: &str| found(&damaged(more), "crc-errors").pop().unwrap().1;
    assert!(mend("\tSpeed: 100Mb/s\n\tDuplex: Half\n").starts_with("duplex first"));
    assert!(mend("\tSpeed: 100Mb/s\n\tDuplex: Full\n").starts_with("clean or replace"));
    let bare = "\tAdvertised link modes:  100000baseCR4/Full\n\tSpeed: 100000Mb/s\n\tDuplex: Full\n# ethtool --show-fec eth0\nFEC parameters for eth0:\nConfigured FEC encodings: Off\nActive FEC encoding: Off\n";
    assert!(mend(bare).starts_with("error correction first"));
    // Connections that are dropped for their time-stamp find room in the queue.
    let recycled = |drops: u64, stamps: u64| {
        with(&format!(
            "# sysctl -a\nnet.core.somaxconn = 4096\n# nstat -az\nTcpPassiveOpens 9912233 0.0\nTcpExtListenOverflows 0 0.0\nTcpExtListenDrops {drops} 0.0\nTcpExtPAWSPassive {stamps} 0.0\n"
        ))
    };
    assert!(found(&recycled(441_223, 441_223), "listen-drops").is_empty());
    assert_eq!(found(&recycled(441_223, 12), "listen-drops").len(), 1);
}

/// Regression: lines to type took more away than the fault asks for.
#[test]
fn what_is_typed_keeps_routes_and_guards() {
    let member = "# ip addr\n2: enp1s0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq master br0 state UP group default\n    link/ether 3c:fd:fe:9c:11:02\n\
                  \x20   inet 192.0.2.31/24 scope global enp1s0\n3: br0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default\n\
                  \x20   link/ether 3c:fd:fe:9c:11:02\n# ip route\ndefault via 192.0.2.1 dev enp1s0\n198.51.100.0/24 via 192.0.2.9 dev enp1s0\n192.0.2.0/24 dev enp1s0 proto kernel scope link\n# ip neigh\n192.0.2.1 dev enp1s0 FAILED\n";
    let moved = "ip addr del 192.0.2.31/24 dev enp1s0; ip addr add 192.0.2.31/24 dev br0; ip route add default via 192.0.2.1 dev br0; \
                 ip route add 198.51.100.0/24 via 192.0.2.9 dev br0";
    assert_eq!(found(member, "address-state"), [(W, moved.to_owned())]);
    let second = link(3, "eth1", RUNS, "mtu 1500 qdisc mq", "    inet 198.51.100.20/24 scope global eth1\n");
    let strict = |device: &str| {
        format!(
            "# ip -d -s addr\n{}{second}# sysctl -a\nnet.ipv4.conf.all.rp_filter = 1\nnet.ipv4.conf.eth1.rp_filter = 1\n# nstat -az\nTcpExtIPReversePathFilter 884422 0.0\n\
             # dmesg\n[  12.500000] IPv4: martian source 198.51.100.20 from 203.0.113.9, on dev {device}\n",
            eth0()
        )
    };
    assert_eq!(found(&strict("eth1"), "reverse-path"), [(W, "sysctl -w net.ipv4.conf.eth1.rp_filter='2'".to_owned())]);
    assert_eq!(found(&strict("eth7"), "reverse-path"), [(W, "sysctl -w net.ipv4.conf.all.rp_filter='2'".to_owned())]);
}

/// Regression: a bond to two switches that are no stack, of which one waits, was told to be half of itself.
#[test]
fn a_second_switch_that_waits_is_no_warning() {
    let bond = |partner: &str| {
        let member = |index, name: &str| link(index, name, "SLAVE,UP,LOWER_UP", "mtu 1500 qdisc mq master bond0", "");
        let slave = |name: &str, id: u8, partner: &str| {
            format!(
                "\nSlave Interface: {name}\nMII Status: up\nSpeed: 10000 Mbps\nDuplex: full\nAggregator ID: {id}\ndetails actor lacp pdu:\n    system mac address: 3c:fd:fe:9c:11:04\ndetails partner lacp pdu:\n    system mac address: {partner}\n"
            )
        };
        format!(
            "# ip -d -s addr\n{}{}{}# cat /proc/net/bonding/bond0\nEthernet Channel Bonding Driver: v5.14.0\n\nBonding Mode: IEEE 802.3ad Dynamic link aggregation\n\
             MII Status: up\nMII Polling Interval (ms): 100\n\n802.3ad info\nActive Aggregator Info:\n\tAggregator ID: 1\n\tNumber of ports: 1\n\tPartner Mac Address: 00:1c:73:00:00:01\n{}{}",
            member(2, "eno1"),
            member(3, "eno2"),
            link(4, "bond0", "MASTER,UP,LOWER_UP", "mtu 1500 qdisc noqueue", "    bond mode 802.3ad miimon 100\n"),
            slave("eno1", 1, "00:1c:73:00:00:01"),
            slave("eno2", 2, partner)
        )
    };
    let graves = |partner: &str| found(&bond(partner), "bond-lacp").iter().map(|one| one.0).collect::<Vec<_>>();
    assert_eq!(graves("00:1c:73:00:00:02"), [N]);
    assert_eq!([graves("00:00:00:00:00:00"), graves("00:1c:73:00:00:01")], [[W], [W]]);
}

/// Regression: a bridge of Open vSwitch and a ring of HSR were to get another MAC address than their links.
#[test]
fn ports_of_one_switch_or_ring_share_their_address() {
    let of = |index: u32, name: &str, master: &str, kind: &str| {
        let more = format!("mtu 1500 qdisc noqueue {master}");
        link(index, name, RUNS, &more, kind).replace(&format!("3c:fd:fe:9c:11:{index:02x}"), "3c:fd:fe:9c:11:02")
    };
    let twins = |kind: &str, master: &str| {
        let switch = link(9, "ovs-system", RUNS, "mtu 1500 qdisc noop", "    openvswitch\n");
        let all = [of(2, "eth0", master, ""), of(3, "eth1", master, ""), of(4, "br-ex", "", kind), switch];
        found(&format!("# ip -d -s addr\n{}", all.concat()), "duplicate-address").len()
    };
    let switch = "master ovs-system";
    assert_eq!([twins("    openvswitch\n", switch), twins("    hsr slave1 eth0 slave2 eth1\n", "")], [0, 0]);
    assert_eq!([twins("    dummy\n", switch), twins("    openvswitch\n", "")], [3, 3]);
}

/// Regression: rules about the host did not run, without a word, unless its routes, sysctls or packet filter were told.
#[test]
fn what_tells_of_the_host_is_looked_at_without_its_settings() {
    let dmesg = |line: &str| format!("# dmesg\n[ 9123.123123] {line}\n");
    let clock = |name: &str| {
        format!(
            "# grep . /sys/devices/system/clocksource/clocksource0/*\n/sys/devices/system/clocksource/clocksource0/current_clocksource:{name}\n/sys/devices/system/clocksource/clocksource0/available_clocksource:tsc hpet acpi_pm\n"
        )
    };
    let row =
        |drops: &str| format!("09123123 {drops} 00000012 00000000 00000000 00000000 00000000 00000000 00000000\n");
    let softnet = |drops: &str| format!("# cat /proc/net/softnet_stat\n{}{}", row(drops), row(drops));
    let nstat = |drops: u64| {
        format!(
            "# nstat -az\nTcpPassiveOpens 9912233 0.0\nTcpExtListenOverflows {drops} 0.0\nTcpExtListenDrops {drops} 0.0\nUdpInDatagrams 99122330 0.0\nUdpRcvbufErrors {drops} 0.0\nUdpInErrors {drops} 0.0\n"
        )
    };
    let hang = "e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:";
    let own = "br0: received packet on eth0 with own address as source address (addr:ac:1f:6b:aa:00:01, vlan:0)";
    let up = "e1000e 0000:00:1f.6 eno1: NIC Link is Up 1000 Mbps Full Duplex, Flow Control: None";
    let graves = |rule: &str, text: &str| found(text, rule).iter().filter(|one| one.0 == W).count();
    for (rule, ill, well) in [
        ("kernel-log", dmesg(hang), dmesg(up)),
        ("kernel-log", dmesg(own), dmesg(up)),
        ("clock-source", clock("hpet"), clock("tsc")),
        ("backlog", softnet("0091e7a0"), softnet("00000000")),
        ("listen-drops", nstat(9_312_312), nstat(0)),
        ("udp-drops", nstat(9_312_312), nstat(0)),
    ] {
        // With an interface, and without any.
        assert_eq!([&with(&ill), &ill].map(|text| graves(rule, text)), [1, 1], "{rule}: {:#?}", examined(&ill));
        assert_eq!([&with(&well), &well].map(|text| graves(rule, text)), [0, 0], "{rule}: {:#?}", examined(&well));
    }
    let alone = examined(&dmesg(own));
    assert!(alone.interfaces.is_empty() && render(&alone, false, false).starts_with("host: 0 errors, 1 warning"));
    // What is not told was not looked at, and this is said.
    let bare = examined(&with(""));
    let silent =
        RULES.iter().filter(|rule| rule.scope == Scope::Host && bare.unable.iter().all(|one| one.1 != rule.name));
    assert_eq!(silent.map(|rule| rule.name).collect::<Vec<_>>(), Vec::<&str>::new());
}

/// Regression: registers of a virtual function, a link that carries what its ports need, and pauses of a fabric without loss, by its
/// Ethernet frames alone, were warnings.
#[test]
fn what_suffices_on_the_bus_and_in_a_fabric_is_no_warning() {
    let graves = |text: &str, rule: &str| found(text, rule).iter().map(|one| one.0).collect::<Vec<_>>();
    let lspci = |address: &str, cap: &str, sta: &str, read: u32| {
        format!(
            "{address} Ethernet controller: of a test\n\t\tDevCtl:\tRlxdOrd+\n\t\t\tMaxPayload 128 bytes, MaxReadReq {read} bytes\n\
                 \t\tLnkCap:\tPort #0, {cap}, ASPM not supported\n\t\tLnkCtl:\tASPM Disabled\n\t\tLnkSta:\t{sta}\n"
        )
    };
    let port = |name: &str, driver: &str, address: &str, speed: u32| {
        format!(
            "# ethtool -i {name}\ndriver: {driver}\nbus-info: 0000:{address}\n# ethtool {name}\nSettings for {name}:\n\tSpeed: {speed}Mb/s\n"
        )
    };
    let function = |driver: &str, link: &str| {
        let registers = lspci("00:06.0", link, link, 128);
        let guest = "# lscpu\nHypervisor vendor: KVM\n";
        format!("# ip -d -s addr\n{}{}{guest}# lspci -vv\n{registers}", eth0(), port("eth0", driver, "00:06.0", 25_000))
    };
    let whole = "Speed 8GT/s, Width x8";
    assert_eq!(graves(&function("iavf", whole), "pcie-requests"), []);
    assert_eq!(graves(&function("mlx5_core", "Speed unknown, Width x0"), "pcie-requests"), []);
    assert_eq!(graves(&function("ice", whole), "pcie-requests"), [W]);
    let card = |speed: u32| {
        let second = link(3, "eth1", RUNS, "mtu 1500 qdisc mq", COUNTS);
        let of = |address| lspci(address, "Speed 16GT/s, Width x8", "Speed 8GT/s (downgraded), Width x8", 512);
        let ports = [port("eth0", "mlx5_core", "5e:00.0", speed), port("eth1", "mlx5_core", "5e:00.1", speed)].concat();
        format!("# ip -d -s addr\n{}{second}{ports}# lspci -vv\n{}{}", eth0(), of("5e:00.0"), of("5e:00.1"))
    };
    // 63 Gb/s for two of 25, and for two of 40.
    assert_eq!(graves(&card(25_000), "pcie-speed"), [N, N]);
    assert_eq!(graves(&card(40_000), "pcie-speed"), [W, W]);
    let pauses = |rdma: &str| with(&format!("# ethtool -S eth0\nNIC statistics:\n{rdma}     rx_prio3_pause: 912310\n"));
    assert_eq!(graves(&pauses("     rx_vport_rdma_unicast_packets: 9123123123\n"), "pause-frames"), [N]);
    assert_eq!(graves(&pauses(""), "pause-frames"), [W]);
}

/// Regression: processors that are too hot, guests whose frames are dropped, and adapters on a slow port of USB were not found.
#[test]
fn heat_spoofed_frames_and_slow_ports_of_usb_are_found() {
    let hot =
        "[91231.1002] mce: CPU3: Package temperature above threshold, cpu clock throttled (total events = 912312)\n";
    let clock = |now: &str, log: &str| {
        format!(
            "# lscpu\nOn-line CPU(s) list: 0-27\nCPU MHz:                         {now}\nCPU max MHz:                     3300.0000\nCPU min MHz:                     1200.0000\n# dmesg\n{log}"
        )
    };
    let fans = "see fans, dust and the air before it; then its limits of power";
    let spoofed = |what: &str| with(&format!("# dmesg\n[ 8123.12] ixgbe 0000:3b:00.0 eth0: 46 {what}\n"));
    let mac = "ip link set dev DEV vf N mac ADDRESS, that from which the guest sends; for one that bonds or bridges its functions, and is \
               trusted: ip link set dev DEV vf N trust on spoofchk off";
    let usb = |speed: u32, port: &str| {
        let device = "# ethtool -i eth0\ndriver: r8152\nbus-info: usb-0000:00:14.0-3\n";
        format!(
            "# ip -d -s addr\n{}{device}# ethtool eth0\nSettings for eth0:\n\tSpeed: {speed}Mb/s\n# dmesg\n[   91.123] usb 1-3: new {port} USB device number 7 using xhci_hcd\n\
             [   95.123] r8152 1-3:1.0 eth0: carrier on\n",
            eth0()
        )
    };
    let port = "a port of USB 3 (5 Gb/s), with a cable and hub of that; 'lsusb -t' shows the speed of each";
    holds(&[
        ("kernel-log", Some((W, fans)), clock("1197.312", hot)),
        ("kernel-log", Some((N, fans)), clock("3100.000", hot)),
        ("kernel-log", None, clock("1197.312", "[    1.0] mce: CPU3: Core temperature/speed normal\n")),
        ("kernel-log", Some((W, mac)), spoofed("Spoofed packets detected")),
        ("kernel-log", None, spoofed("VFs enabled")),
        ("usb-speed", Some((W, port)), usb(2500, "high-speed")),
        ("usb-speed", Some((N, port)), usb(1000, "high-speed")),
        ("usb-speed", None, usb(2500, "SuperSpeed")),
        ("usb-speed", None, usb(100, "high-speed")),
    ]);
}
