//! Texts as a session at a shell leaves them: parts of outputs behind their commands, of which no `ip link` names the interface.

use super::super::*;
use super::posted::{examined, found};

const W: Severity = Severity::Warning;
const N: Severity = Severity::Note;

/// A rule, severities of its findings with a part of what each tells to type, and the text.
type Case<'a> = (&'a str, &'a [(Severity, &'a str)], &'a str);

fn all(cases: &[Case<'_>]) {
    for (rule, wanted, text) in cases {
        let of = found(text, rule);
        let is_one =
            |(one, other): (&(Severity, String), &(Severity, &str))| one.0 == other.0 && one.1.contains(other.1);
        let alike = of.len() == wanted.len() && of.iter().zip(*wanted).all(is_one);
        assert!(alike, "{rule}: {of:?}\n{text}\n{:#?}", examined(text));
    }
}

const CARD: &str = "db1 # ethtool -i eth9 | head -2\ndriver: mlx5_core\nversion: 5.14\ndb1 # ethtool eth9 | grep Speed\n\tSpeed: 100000Mb/s\n";

/// Regression: an interface that ethtool alone names was none, and nothing of it was looked at.
#[test]
fn an_interface_is_known_by_what_ethtool_answered() {
    let gro =
        |state: &str| format!("{CARD}db1 # ethtool -k eth9\nFeatures for eth9:\ngeneric-receive-offload: {state}\n");
    all(&[("gro", &[(W, "ethtool -K eth9 gro on")], &gro("off")), ("gro", &[], &gro("on"))]);
    let bus = |link: &str| {
        format!(
            "node:~ # ethtool -i eth9 | head -5; ethtool eth9 | grep Speed\ndriver: bnxt_en\nversion: 4.18\nfirmware-version: 226\n\
             expansion-rom-version:\nbus-info: 0000:3b:00.0\n\tSpeed: 25000Mb/s\nnode:~ # lspci -s 3b:00.0 -vv | grep -E 'LnkCap:|LnkSta:'\n\
             \t\tLnkCap:\tPort #0, Speed 8GT/s, Width x8, ASPM not supported\n\t\tLnkSta:\tSpeed {link}, Width x8 (ok)\n"
        )
    };
    all(&[
        ("pcie-speed", &[(W, "another slot")], &bus("2.5GT/s (downgraded)")),
        ("pcie-speed", &[], &bus("8GT/s (ok)")),
    ]);
    // What grows between two readings behind one prompt, and not what another host counts.
    let twice = |again: &str, later: u64| {
        format!(
            "{CARD}db1 # ethtool -S eth9\nNIC statistics:\n     pps_allowance_exceeded: 12\n{again} # sleep 30; ethtool -S eth9 | grep allow\n\
             \x20    pps_allowance_exceeded: {later}\n"
        )
    };
    all(&[
        ("allowances", &[(W, "")], &twice("db1", 67_012)),
        ("allowances", &[(N, "")], &twice("db1", 12)),
        ("allowances", &[(N, "")], &twice("db2", 67_012)),
    ]);
    let loops = |second: u64| {
        format!(
            "{CARD}db1 # for i in 1 2; do ethtool -S eth9 | grep flow_control; date; done\n     rx_pkts_nic: 11203948112\n\
             \x20    rx_flow_control_xoff: 20401\n\n12:00:01\n     rx_pkts_nic: 11203948112\n     rx_flow_control_xoff: {second}\n"
        )
    };
    all(&[("pause-frames", &[(W, "rx off")], &loops(62_313)), ("pause-frames", &[(N, "rx off")], &loops(20_401))]);
}

/// Regression: what ip prints with -br and -o, or tail leaves of it, and the parts of a bond's file were not read.
#[test]
fn parts_of_ip_and_of_a_bonds_file_are_read() {
    let sar = |second: &str| {
        format!(
            "cdn1# grep -E 'Mode|Hash|Slave Int' /proc/net/bonding/bond0\nBonding Mode: IEEE 802.3ad Dynamic link aggregation\n\
             Transmit Hash Policy: layer2 (0)\nSlave Interface: eth0\nMII Status: up\nSlave Interface: eth1\nMII Status: up\n\
             cdn1# sar -n DEV 10 1 | grep eth\n20:31:24  eth0 91022.10 2.10 6514.11 {second} 0.00 0.00 1.00 0.53\n\
             20:31:24  eth1 90187.40 811202.70 6470.90 1201107.44 0.00 0.00 1.00 98.39\n"
        )
    };
    all(&[("bond-hash", &[(W, "xmit_hash_policy layer3+4")], &sar("0.21")), ("bond-hash", &[], &sar("1190000.21"))]);
    let churned = "[root@kvm ~]# cat /proc/net/bonding/bond0\nEthernet Channel Bonding Driver: v5.14.0\n\nBonding Mode: IEEE 802.3ad Dynamic \
                   link aggregation\nMII Status: up\nMII Polling Interval (ms): 100\n\n802.3ad info\nActive Aggregator Info:\n\tAggregator \
                   ID: 1\n\tNumber of ports: 1\n\tPartner Mac Address: 44:4c:a8:9f:31:7b\n\nSlave Interface: eth0\nMII Status: up\nAggregator \
                   ID: 1\ndetails partner lacp pdu:\n    system mac address: 44:4c:a8:9f:31:7b\n\nSlave Interface: eth1\nMII Status: \
                   up\nAggregator ID: 2\ndetails partner lacp pdu:\n    system mac address: 00:00:00:00:00:00\n";
    all(&[("bond-lacp", &[(W, "with LACP on")], churned)]);
    let guests = |called: u8| {
        format!(
            "me@lab:~$ ip -br link\nlo               UNKNOWN        00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP>\n\
             enp4s0           UP             d8:bb:c1:5e:77:0a <BROADCAST,MULTICAST,UP,LOWER_UP>\n\
             br0              UP             d8:bb:c1:5e:77:0a <BROADCAST,MULTICAST,UP,LOWER_UP>\n\
             vnet0            UNKNOWN        fe:54:00:3c:a2:18 <BROADCAST,MULTICAST,UP,LOWER_UP>\nme@lab:~$ bridge link\n\
             2: enp4s0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 master br0 state forwarding priority 32 cost 4\n\
             6: vnet0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 master br0 state forwarding priority 32 cost 100\n\
             me@lab:~$ sysctl -a | grep nf-call\nnet.bridge.bridge-nf-call-iptables = {called}\nme@lab:~$ sudo iptables-save -c\n*filter\n\
             :FORWARD DROP [1411:398812]\n[0:0] -A FORWARD -i docker0 -o docker0 -j ACCEPT\nCOMMIT\n"
        )
    };
    all(&[("bridge-filtered", &[(W, "-i br0 -o br0 -j ACCEPT")], &guests(1)), ("bridge-filtered", &[], &guests(0))]);
    let two = |sent: u64, network: &str| {
        format!(
            "[root@san ~]# ip -4 -o addr show\n4: eth2    inet 10.9.0.21/24 brd 10.9.0.255 scope global eth2\\       valid_lft forever\n\
             5: eth3    inet 10.9.0.22/24 brd 10.9.0.255 scope global eth3\\       valid_lft forever\n[root@san ~]# ip -4 route\n\
             {network} dev eth2 proto kernel scope link metric 101\n{network} dev eth3 proto kernel scope link metric 102\n\
             [root@san ~]# ip -s link show eth2 | tail -4\n    RX: bytes  packets  errors  dropped overrun mcast\n    8811029344122 1120394411 0 0 0 0\n\
             \x20   TX: bytes  packets  errors  dropped carrier collsns\n    9911203948112 1302911822 0 0 0 0\n\
             [root@san ~]# ip -s link show eth3 | tail -4\n    RX: bytes  packets  errors  dropped overrun mcast\n    20114028 310229 0 0 0 0\n\
             \x20   TX: bytes  packets  errors  dropped carrier collsns\n    91203 {sent} 0 0 0 0\n"
        )
    };
    all(&[
        ("asymmetric-route", &[(W, "arp_ignore=1"), (N, "arp_ignore=1")], &two(1402, "10.9.0.0/24")),
        ("asymmetric-route", &[(N, ""), (N, "")], &two(1_200_000_000, "10.9.0.0/24")),
        // Each interface has a route to link-local addresses.
        ("asymmetric-route", &[], &two(1402, "169.254.0.0/16")),
    ]);
}

/// Regression: what these programs print was not read: lnstat, arping -D, tcpdump, rdisc6, `bridge vlan`, lldptool, loops over /proc/irq.
#[test]
fn programs_that_are_run_for_a_fault_are_read() {
    let table = |full: u32| {
        format!(
            "head:~ # sysctl -a | grep gc_thresh3\nnet.ipv4.neigh.default.gc_thresh3 = 1024\nhead:~ # lnstat -c 1 -f arp_cache -k entries,table_fulls\n\
             arp_cach|arp_cach|\n entries|table_fu|\n        |     lls|\n    {full}|  441902|\n"
        )
    };
    all(&[("neighbour-table", &[(W, "gc_thresh3='4096'")], &table(1022)), ("neighbour-table", &[], &table(12))]);
    let own = "root@b1:~# ip addr show eno1\n2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP\n    link/ether 18:66:da:3e:5c:92 brd \
               ff:ff:ff:ff:ff:ff\n    inet 10.1.1.40/24 brd 10.1.1.255 scope global eno1\n";
    let claimed = |mac: &str| {
        format!("{own}root@b1:~# arping -D -c 3 -I eno1 10.1.1.40\nUnicast reply from 10.1.1.40 [{mac}]  0.871ms\n")
    };
    all(&[
        ("answered-twice", &[(W, "00:04:4b:91:2e:f0")], &claimed("00:04:4B:91:2E:F0")),
        ("answered-twice", &[], &claimed("18:66:DA:3E:5C:92")),
    ]);
    let outer = |port: u16| {
        format!(
            "a:~ # ip -d link show flannel.1\n5: flannel.1: <BROADCAST,UP,LOWER_UP> mtu 1450 state UNKNOWN\n    link/ether 6e:91:10:fa:c3:22 brd \
             ff:ff:ff:ff:ff:ff\n    vxlan id 4096 local 10.3.7.12 dev eth0 dstport 4789\na:~ # tcpdump -ni eth0 -vv udp\n\
             \x20   10.3.7.12.48112 > 10.3.7.11.{port}: [bad udp cksum 0xffff -> 0x41d6!] VXLAN, flags [I] (0x08), vni 4096\n\
             a:~ # nstat -az\nUdpInCsumErrors 20118 0.0\n"
        )
    };
    all(&[
        ("checksum-errors", &[(W, "ethtool -K flannel.1 tx-checksum-ip-generic off")], &outer(4789)),
        // What the host checks stays checked.
        ("checksum-errors", &[(W, "at a sender whose packets leave with them: ethtool -K DEV tx off")], &outer(53)),
    ]);
    let tagged = |vid: u16| {
        format!(
            "root@hv:~# bridge link\n2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 master br0 state forwarding\n\
             14: vnet4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 master br0 state forwarding\nroot@hv:~# bridge vlan\n\
             port              vlan-id\neth0              1 PVID Egress Untagged\n                  30\nvnet4             1 PVID Egress \
             Untagged\n                  20\nroot@hv:~# tcpdump -c 4 -enni vnet4 vlan {vid}\n11:20:01.402938 52:54:00:7a:30:44 > \
             ff:ff:ff:ff:ff:ff, ethertype 802.1Q (0x8100), length 46: vlan {vid}, p 0, ethertype ARP (0x0806), Request who-has 10.30.0.254\n"
        )
    };
    all(&[
        ("bridge-vlan", &[(W, "bridge vlan add dev vnet4 vid 30")], &tagged(30)),
        ("bridge-vlan", &[], &tagged(20)),
        // No other port has it, either.
        ("bridge-vlan", &[], &tagged(40)),
    ]);
    let expired = |address: &str, lifetime: u32| {
        format!(
            "root@s:~# ip -6 addr show dev eno1\n2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP qlen 1000\n    inet6 {address} scope \
             global\nroot@s:~# ip -6 route\nfe80::/64 dev eno1 proto kernel metric 256 pref medium\nroot@s:~# sysctl -a | grep eno1\n\
             net.ipv6.conf.eno1.accept_ra = 1\nnet.ipv6.conf.eno1.forwarding = 1\nroot@s:~# rdisc6 eno1\nRouter lifetime           :         \
             {lifetime} (0x00000708) seconds\n"
        )
    };
    all(&[
        ("advertisements", &[(W, "accept_ra='2'")], &expired("fe80::1/64", 1800)),
        ("advertisements", &[], &expired("fe80::1/64", 0)),
        // A router's port, whose address is set by hand.
        ("advertisements", &[], &expired("2001:db8:1::1/64", 1800)),
    ]);
    let asked = |from: &str| {
        format!(
            "[root@m ~]# ip addr | grep -E '^[0-9]|inet '\n2: eth0: <BROADCAST,UP,LOWER_UP> mtu 1500 state UP\n    inet 10.20.0.15/24 scope global \
             eth0\n3: eth1: <BROADCAST,UP,LOWER_UP> mtu 1500 state UP\n    inet 10.77.3.15/24 scope global eth1\n[root@m ~]# ip route\ndefault via \
             10.20.0.1 dev eth0\n10.77.3.0/24 dev eth1 proto kernel scope link\n[root@m ~]# tcpdump -nni any port 9100\n15:40:11.220113 IP \
             {from}.51022 > 10.77.3.15.9100: Flags [S], seq 911203341, win 64240, length 0\n[root@m ~]# nstat -az | grep Path\n\
             TcpExtIPReversePathFilter 4129 0.0\n[root@m ~]# sysctl -a | grep rp_filter\nnet.ipv4.conf.all.rp_filter = 1\n\
             net.ipv4.conf.eth1.rp_filter = 1\n"
        )
    };
    all(&[
        ("reverse-path", &[(W, "net.ipv4.conf.eth1.rp_filter='2'")], &asked("172.31.40.9")),
        ("reverse-path", &[(N, "")], &asked("10.77.3.9")),
    ]);
    let tied = |second: u8| {
        format!(
            "root@lb:~# ethtool -i eth0 | head -1\ndriver: i40e\nroot@lb:~# grep -E 'CPU|eth0' /proc/interrupts\n           CPU0       CPU1\n\
             \x2075:  923464097  0  IR-PCI-MSI 30932993-edge      i40e-eth0-TxRx-0\n 76:  900246633  0  IR-PCI-MSI 30932994-edge      i40e-eth0-TxRx-1\n\
             root@lb:~# for i in 75 76; do echo \"$i $(cat /proc/irq/$i/smp_affinity_list) $(cat /proc/irq/$i/effective_affinity_list)\"; done\n\
             75 0 0\n76 {second} {second}\n"
        )
    };
    all(&[("irqs-on-one-core", &[(W, "one core each")], &tied(0)), ("irqs-on-one-core", &[], &tied(1))]);
}

/// Regression: these faults were not found in texts that show them.
#[test]
fn causes_that_a_session_shows_are_found() {
    let police = |burst: &str| {
        format!(
            "hv9:~# tc -s filter show dev vnet14 parent ffff:\nfilter protocol all pref 49 basic chain 0 handle 0x1\n\taction order 1:  police 0x5 \
             rate 2Gbit burst {burst} mtu 64Kb action drop overhead 0b\n"
        )
    };
    all(&[
        ("traffic-filters", &[(W, "ingress_policing_burst=8000")], &police("1500b")),
        ("traffic-filters", &[(W, "tc filter del dev vnet14 ingress")], &police("1Mb")),
    ]);
    let lossless = |state: &str| {
        format!(
            "t2:~# dcb pfc show dev eth9\npfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:off 2:off 3:{state} 4:off 5:off 6:off 7:off\n\
             t2:~# lldptool -t -n -i eth9 -V PFC\n\t PFC enabled: 3\nt2:~# ethtool -S eth9 | grep discard\n     rx_prio3_buf_discard: 51120394\n"
        )
    };
    all(&[("pause-frames", &[(W, "prio-pfc 3:on")], &lossless("off")), ("pause-frames", &[], &lossless("on"))]);
    let lanes = |third: &str| {
        format!(
            "st:~$ ethtool -S eth9 | grep _phy\n     rx_packets_phy: 88200119437\n     rx_crc_errors_phy: 1188402\nst:~$ ethtool -m eth9\n\
             \tIdentifier                                : 0x11 (QSFP28)\n\tRcvr signal avg optical power(Channel 1)  : 0.8123 mW / -0.90 dBm\n\
             \tRcvr signal avg optical power(Channel 2)  : 0.7914 mW / -1.02 dBm\n\tRcvr signal avg optical power(Channel 3)  : {third} mW / x dBm\n\
             \tRcvr signal avg optical power(Channel 4)  : 0.8266 mW / -0.83 dBm\n"
        )
    };
    all(&[("optics", &[(W, "fibre")], &lanes("0.0641")), ("optics", &[], &lanes("0.6641"))]);
    let slept = |states: &str| {
        format!(
            "$ dmesg\n[15022.440191] igc 0000:06:00.0 enp6s0: PCIe link lost, device now detached\n$ ethtool -i enp6s0\ndriver: igc\nbus-info: \
             0000:06:00.0\n$ sudo lspci -s 06:00.0 -vvv\n06:00.0 Ethernet controller: Intel I225-V\n\t\t\tMaxPayload 256 bytes, MaxReadReq 512 \
             bytes\n\t\tLnkCtl:\tASPM {states}; RCB 64 bytes\n"
        )
    };
    all(&[("aspm", &[(W, "pcie_aspm=off")], &slept("L1 Enabled")), ("aspm", &[], &slept("Disabled"))]);
    let jumbo = |lost: u8| {
        format!(
            "ini1:~ # ip -d link show eth4 | head -2\n6: eth4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP\n    link/ether \
             b4:96:91:d2:0a:5c brd ff:ff:ff:ff:ff:ff\nini1:~ # ping -c 3 -M do -s 1472 10.40.1.10\nPING 10.40.1.10 (10.40.1.10) 1472(1500) bytes of \
             data.\n3 packets transmitted, 3 received, 0% packet loss, time 2044ms\nini1:~ # ping -c 3 -M do -s 8972 10.40.1.10\nPING 10.40.1.10 \
             (10.40.1.10) 8972(9000) bytes of data.\n3 packets transmitted, 0 received, {lost}% packet loss, time 2044ms\n"
        )
    };
    all(&[("path-tried", &[(W, "mtu 1500")], &jumbo(100)), ("path-tried", &[], &jumbo(0))]);
    let line = |clamp: &str| {
        format!(
            "root@gw:~# ip link | grep mtu\n3: enp2s0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP\n5: ppp0: \
             <POINTOPOINT,MULTICAST,NOARP,UP,LOWER_UP> mtu 1492 qdisc fq_codel state UNKNOWN\nroot@gw:~# nft list ruleset\ntable inet filter {{\n\tchain \
             input {{\n\t\ttype filter hook input priority filter; policy drop;\n\t\tiifname \"enp2s0\" accept\n\t}}\n\tchain forward {{\n\t\ttype filter hook forward priority filter; policy drop;\n{clamp}\t\tiifname \"enp2s0\" oifname \"ppp0\" accept\n\t}}\n}}\n\
             root@gw:~# sysctl net.ipv4.ip_forward\nnet.ipv4.ip_forward = 1\n"
        )
    };
    all(&[
        ("mtu-forwarded", &[(W, "maxseg size set rt mtu")], &line("")),
        ("mtu-forwarded", &[], &line("\t\ttcp flags syn tcp option maxseg size set rt mtu\n")),
    ]);
    let docker = |mtu: u32| {
        format!(
            "u@ci:~$ ip -d link\n2: ens3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu {mtu} qdisc fq_codel state UP\n    link/ether fa:16:3e:1b:77:05 brd \
             ff:ff:ff:ff:ff:ff\n3: docker0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP\n    link/ether 02:42:6b:0f:ae:10 brd \
             ff:ff:ff:ff:ff:ff\n    bridge forward_delay 1500\n41: vethc1@if40: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue master docker0 \
             state UP\n    link/ether 9e:30:4c:5b:01:d8 brd ff:ff:ff:ff:ff:ff link-netnsid 0\n    veth\nu@ci:~$ sudo iptables -t mangle -S\n-P FORWARD \
             ACCEPT\n-P POSTROUTING ACCEPT\n"
        )
    };
    all(&[("mtu-forwarded", &[(W, "mtu 1450")], &docker(1450)), ("mtu-forwarded", &[], &docker(1500))]);
    let hop = |state: &str| {
        format!(
            "app:~$ ip route\ndefault proto static metric 20\n\tnexthop via 10.100.4.2 dev bond0.104 weight 1\n\tnexthop via 10.100.4.3 dev bond0.104 \
             weight 1\napp:~$ ip neigh show dev bond0.104\n10.100.4.2 lladdr 00:1c:73:aa:10:02 REACHABLE\n10.100.4.3 {state}\n"
        )
    };
    all(&[
        ("next-hop", &[(W, "fib_multipath_use_neigh=1")], &hop(" FAILED")),
        ("next-hop", &[], &hop("lladdr 00:1c:73:aa:10:03 STALE")),
    ]);
    let far = |ms: u32| {
        format!(
            "m:~# ss -ti\n\t cubic rtt:{ms}.9/0.1 mss:1448 cwnd:10\nm:~# sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem\n\
         net.ipv4.tcp_rmem = 4096 87380 262144\nnet.ipv4.tcp_wmem = 4096 65536 16777216\n"
        )
    };
    all(&[("buffers-tcp", &[(W, "67108864")], &far(204)), ("buffers-tcp", &[(W, "6291456")], &far(1))]);
}

/// Regression: these hosts are well, and were warned of.
#[test]
fn what_is_usual_in_parts_of_texts_is_no_warning() {
    let nstat = |rows: &str| format!("dtn # nstat -az\n{rows}");
    all(&[
        ("tcp-drops", &[], &nstat("TcpExtPruneCalled 20394 0.0\n")),
        ("tcp-drops", &[(W, "tcp_rmem")], &nstat("TcpExtPruneCalled 203940 0.0\n")),
        ("checksum-errors", &[(N, "")], &nstat("UdpInDatagrams 20394811203 0.0\nUdpInCsumErrors 20391 0.0\n")),
        ("checksum-errors", &[(W, "")], &nstat("UdpInDatagrams 2039481 0.0\nUdpInCsumErrors 20391 0.0\n")),
    ]);
    let sums = |name: &str| {
        format!(
            "w:~# ethtool -i {name}\ndriver: {}\nw:~# ethtool -k {name}\nFeatures for {name}:\n\ttx-checksum-ip-generic: off\n",
            if name == "eth0" { "igb" } else { "vxlan" }
        )
    };
    all(&[("tx-checksum", &[(N, "")], &sums("vxlan.calico")), ("tx-checksum", &[(W, "")], &sums("eth0"))]);
    let leaf = |root: &str| {
        format!(
            "f:~# tc -s qdisc show dev eth0\nqdisc {root} 1: root refcnt 33\n Sent 8112039481120 bytes 5620394811 pkt (dropped 0, overlimits 9 requeues 0)\n\
             qdisc sfq 20: parent 1:20 limit 127p\n Sent 8112038360726 bytes 5620382772 pkt (dropped 9120394, overlimits 0 requeues 0)\n"
        )
    };
    let class = |ceil: &str| {
        let speed = "f:~# ethtool -i eth0 | head -1; ethtool eth0 | grep Speed\ndriver: igb\n\tSpeed: 1000Mb/s\n";
        let classes = "f:~# tc -s class show dev eth0\nclass htb 1:1 root rate 200Mbit ceil";
        format!("{speed}{}{classes} {ceil} burst 6Kb cburst 1600b\n", leaf("htb").replace("dropped 0,", "dropped 411,"))
    };
    all(&[("shaped", &[(W, "")], &class("200Mbit")), ("shaped", &[(N, "")], &class("10Gbit"))]);
    all(&[("queue-drops", &[], &leaf("htb")), ("queue-drops", &[(W, "parent 1:20 fq")], &leaf("prio"))]);
}

/// Regression: a number to be typed was below what the host had.
#[test]
fn what_is_typed_lowers_nothing() {
    let full = |most: u64| {
        format!(
            "h:~# dmesg\n[ 1.5] neighbour: arp_cache: neighbor table overflow!\nh:~# sysctl -a | grep gc_\n\
             net.ipv4.neigh.default.gc_thresh3 = {most}\n"
        )
    };
    all(&[
        ("kernel-log", &[(W, "gc_thresh3=131072 net.ipv4.neigh.default.gc_thresh2=8192")], &full(65_536)),
        ("kernel-log", &[(W, "gc_thresh3=16384 ")], &full(1024)),
    ]);
    let closed = |most: u64| {
        format!(
            "h:~# nstat -az\nTcpExtTCPTimeWaitOverflow 912312 0.0\nh:~# sysctl -a | grep tw\nnet.ipv4.tcp_max_tw_buckets = {most}\n"
        )
    };
    all(&[
        ("tcp-drops", &[(W, "tcp_max_tw_buckets=2000000;")], &closed(1_000_000)),
        ("tcp-drops", &[(W, "tcp_max_tw_buckets=262144;")], &closed(8192)),
    ]);
}
