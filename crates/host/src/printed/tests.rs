//! Texts as programs print them, whole, cut anywhere, and damaged.

use super::*;
use crate::adapter::{addresses, counters, find, interfaces, neighbours, qdiscs, read, routes};

const TEXT: &str = "\
$ ip -d -s -s addr
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00 promiscuity 0 minmtu 0 maxmtu 0 numtxqueues 1 numrxqueues 1
    inet 127.0.0.1/8 scope host lo
7: eth0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq master br0 state DOWN group default qlen 1000
    link/ether 02:00:00:00:00:07 brd ff:ff:ff:ff:ff:ff promiscuity 1 minmtu 68 maxmtu 9702 \
    bridge_slave state disabled learning off isolated on numtxqueues 8 numrxqueues 8 parentbus pci parentdev 0000:05:00.0
    altname enp5s0
    RX: bytes  packets errors dropped  missed   mcast
        1000       20      0       3       5       0
    RX errors:  length    crc   frame    fifo overrun
                     0      7       0       0       0
    TX: bytes  packets errors dropped carrier collsns
          99        1      0       0       2       0
8: br0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000
    link/ether 02:00:00:00:00:08 brd ff:ff:ff:ff:ff:ff promiscuity 0
    bridge forward_delay 1500 ageing_time 0 stp_state 1 numtxqueues 1
    inet 10.0.0.1 peer 10.0.0.2/32 scope global deprecated br0
       valid_lft forever preferred_lft 0sec
    inet6 fe80::8/64 scope link dadfailed tentative
9: br0.5@br0: <BROADCAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000
    link/ether 02:00:00:00:00:08 brd ff:ff:ff:ff:ff:ff
    vlan protocol 802.1Q id 5 <REORDER_HDR> numtxqueues 1
$ ip route show table all
default proto dhcp metric 100
\tnexthop via 10.0.0.253 dev br0 weight 1
\tnexthop via 10.0.0.254 dev br0 weight 1
10.7.0.0/16 via 10.0.0.2 dev br0 mtu lock 576 rto_min 10s
unicast fd00::/64 dev br0 proto kernel metric 256 pref medium
blackhole 192.0.2.0/24
local 10.0.0.1 dev br0 table local proto kernel scope host src 10.0.0.1
$ lscpu
  On-line CPU(s) list:   0-3
$ ip neigh
10.0.0.253 dev br0 lladdr 02:00:00:00:00:fd REACHABLE
10.0.0.254 dev br0 FAILED
$ tc -s qdisc
qdisc pfifo 8001: dev br0 root refcnt 2 limit 2p
 Sent 0 bytes 0 pkt (dropped 4, overlimits 0 requeues 0)
$ sysctl -a
net.ipv4.tcp_rmem = 4096\t131072\t6291456
net.ipv4.conf.br0/5.forwarding = 0
$ ethtool eth0
Settings for eth0:
\tSupported link modes:   1000baseT/Full
\t                        10000baseT/Full
\tAdvertised link modes:  1000baseT/Full
\tLink partner advertised link modes:  Not reported
\tSpeed: 1000Mb/s
\tDuplex: Half
\tAuto-negotiation: on
\tLink detected: no
$ ethtool -k eth0
Features for eth0:
rx-checksumming: off
tx-checksumming: on
\ttx-checksum-ipv4: off [fixed]
\ttx-checksum-ip-generic: on
tcp-segmentation-offload: off
\ttx-tcp-segmentation: off [requested on]
$ ethtool -g eth0
Ring parameters for eth0:
Pre-set maximums:
RX:\t\t4096
RX Mini:\tn/a
TX:\t\t4096
Current hardware settings:
RX:\t\t512
TX:\t\t256
$ sudo ethtool -S eth0
NIC statistics:
     rx_missed_errors: 12
     queue: a: 3
$ ethtool -i eth0
driver: ixgbe
version: 5.3.7
firmware-version: 0x80000897
bus-info: 0000:05:00.0
$ ethtool -c eth0
Coalesce parameters for eth0:
Adaptive RX: off  TX: off

rx-usecs: 250
$ lspci -vv
05:00.0 Ethernet controller: Intel 82599
\tNUMA node: 0
\tCapabilities: [a0] Express (v2) Endpoint
\t\tDevCtl:\tCorrErr+ RlxdOrd+ ExtTag-
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 5GT/s, Width x8, ASPM L0s
\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes
\t\tLnkSta:\tSpeed 5GT/s (ok), Width x4 (downgraded)
";

fn host(text: &str) -> Printed {
    Printed::of(&[Text { text: text.to_owned(), file: String::new() }])
}

#[test]
fn what_programs_print_is_read_as_what_the_kernel_says() {
    let mut host = host(TEXT);
    let all = interfaces(&mut host).unwrap();
    assert_eq!(all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["lo", "eth0", "br0", "br0.5"]);
    let (eth0, br0, vlan) = (&all[1], &all[2], &all[3]);
    assert!(eth0.has("UP") && !eth0.has("RUNNING") && br0.has("RUNNING"), "{eth0:?}");
    assert_eq!((eth0.mtu, eth0.master, eth0.state, eth0.hardware), (Some(9000), Some(8), Some("down"), 1));
    assert_eq!((eth0.device.as_deref(), eth0.kind.as_deref(), eth0.promiscuity), (Some("0000:05:00.0"), None, Some(1)));
    assert_eq!((br0.kind.as_deref(), vlan.kind.as_deref(), vlan.lower), (Some("bridge"), Some("vlan"), Some(8)));
    assert_eq!(format!("{:?}", eth0.member.get("state")), "Some(Word(\"disabled\"))");
    assert_eq!(format!("{:?}", br0.details.get("stp_state")), "Some(Number(1))");
    let eth0 = find(&mut host, "eth0").unwrap();
    let groups = counters(&mut host, &eth0).unwrap().groups;
    let count = |name: &str| groups.iter().find_map(|group| group.rows.get(name));
    assert_eq!(["rx_crc_errors", "rx_missed_errors", "tx_carrier_errors"].map(count), [Some(7), Some(5), Some(2)]);
    assert!(groups.iter().any(|group| group.name == "driver" && group.rows.get("queue: a") == Some(3)), "{groups:?}");
    let adapter = read(&mut host, eth0);
    let modes = adapter.modes.unwrap();
    assert_eq!((modes.speed, modes.duplex, modes.supported.len()), (Some(1000), Some("half"), 2));
    assert!(modes.partner.is_none() && modes.advertised == ["1000baseT/Full"]);
    let features = adapter.features.unwrap().0;
    let of = |name: &str| features.get(name).map(|one| (one.active, one.wanted, one.changeable));
    assert_eq!(of("rx-checksum"), Some((false, false, true)));
    assert_eq!(of("tx-checksum-ipv4"), Some((false, false, false)));
    assert_eq!(of("tx-tcp-segmentation"), Some((false, true, true)));
    let rings = adapter.rings.unwrap().sizes;
    let ring = |name: &str| rings.iter().find(|one| one.name == name).map(|one| (one.now, one.most));
    assert_eq!([ring("rx"), ring("tx")], [Some((Some(512), Some(4096))), Some((Some(256), Some(4096)))]);
    assert_eq!(adapter.coalesce.unwrap().get("rx-usecs"), Some(250));
    assert_eq!(adapter.driver.unwrap().name.as_deref(), Some("ixgbe"));
    let link = adapter.device.unwrap().pci.unwrap().link.unwrap();
    assert_eq!((link.width, link.width_most), (4, 8));
    // What no text tells is absent.
    assert_eq!(adapter.pause.unwrap_err().why, "no text tells it");
    let space = host.file("sys/devices/pci/0000:05:00.0/config").unwrap();
    assert_eq!((&space[0x48..0x4a], space[0x50]), (&0x2010_u16.to_le_bytes()[..], 2));
    let own = addresses(&mut host).unwrap();
    let br0: Vec<_> = own.iter().filter(|one| one.link == 8).collect();
    assert_eq!((br0[0].other_end, br0[0].states.clone()), ("10.0.0.2".parse().ok(), vec!["deprecated"]));
    assert_eq!(br0[1].states, ["dadfailed", "tentative"]);
    let routes = routes(&mut host).unwrap();
    let route = |network: &str| routes.iter().find(|one| one.network() == network).unwrap();
    assert_eq!(route("default").hops.len(), 2);
    let metrics: Vec<_> = route("10.7.0.0/16").metrics.iter().map(|one| (one.name, one.value, one.locked)).collect();
    assert_eq!(metrics, [("mtu", 576, true), ("rto_min", 10_000, false)]);
    assert_eq!((route("192.0.2.0/24").kind, route("10.0.0.1/32").table), ("blackhole", 255));
    let states: Vec<_> = neighbours(&mut host).unwrap().iter().map(|one| one.state).collect();
    assert_eq!(states, ["reachable", "failed"]);
    let queue = &qdiscs(&mut host).unwrap()[0];
    assert_eq!((queue.kind.as_str(), queue.limit, queue.drops), ("pfifo", Some(2), 4));
    assert_eq!(host.file("proc/sys/net/ipv4/conf/br0.5/forwarding").unwrap(), b"0");
    assert_eq!(host.file("sys/devices/system/cpu/online").unwrap(), b"0-3");
    assert!(host.names("proc/sys").unwrap() == ["net"] && host.file("proc/sys/net/x").is_err());
}

#[test]
fn texts_that_are_cut_or_damaged_are_read_as_far_as_they_go() {
    for end in (0..TEXT.len()).step_by(5).filter(|end| TEXT.is_char_boundary(*end)) {
        let mut host = host(&TEXT[..end]);
        for interface in interfaces(&mut host).unwrap_or_default() {
            read(&mut host, interface);
        }
        _ = (routes(&mut host), neighbours(&mut host), qdiscs(&mut host));
    }
    let words: Vec<&str> = TEXT.split_inclusive([' ', '\n', '\t']).collect();
    for at in 0..words.len() {
        let bent: String =
            words.iter().enumerate().map(|(i, word)| if i == at { "99999999999 " } else { word }).collect();
        let mut host = host(&bent);
        for interface in interfaces(&mut host).unwrap_or_default() {
            read(&mut host, interface);
        }
        _ = (routes(&mut host), neighbours(&mut host), qdiscs(&mut host));
    }
}

#[test]
fn a_file_that_is_none_of_it_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a");
    std::fs::write(&file, "hello\n1: no link\n").unwrap();
    assert!(Printed::open(&file).unwrap().is_none() && Printed::open(dir.path()).unwrap().is_none());
    assert!(kept(&file).err().unwrap().to_string().starts_with("no interface is in it"));
    assert!(kept(&dir.path().join("b")).is_err());
}

/// Files of a sosreport: outputs by their names, and copies of files.
#[test]
fn a_sosreports_folder_is_a_host() {
    let dir = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let links = TEXT.split("$ ip route").next().unwrap();
    put("sos_commands/networking/ip_-d_address", links.split_once('\n').unwrap().1);
    put("sos_commands/networking/ethtool_-S_eth0", "NIC statistics:\n     rx_missed_errors: 12\n");
    put("sos_commands/networking/ethtool_-i_eth0", "driver: ixgbe\nbus-info: 0000:05:00.0\n");
    put("sos_commands/kernel/sysctl_-a", "net.ipv4.tcp_sack = 0\n");
    put("sos_commands/secrets/other_-a", "7: other: <UP> mtu 1\n");
    put("proc/meminfo", "MemTotal: 7 kB\n");
    put("etc/sysctl.conf", "net.ipv4.tcp_sack = 1\n");
    let mut host = Printed::open(dir.path()).unwrap().unwrap();
    let eth0 = find(&mut host, "eth0").unwrap();
    let groups = counters(&mut host, &eth0).unwrap().groups;
    assert!(groups.iter().any(|group| group.rows.get("rx_missed_errors") == Some(12)), "{groups:?}");
    assert_eq!(host.file("proc/sys/net/ipv4/tcp_sack").unwrap(), b"0");
    assert_eq!(host.file("proc/meminfo").unwrap(), b"MemTotal: 7 kB\n");
    assert!(host.file("etc/sysctl.conf").is_ok() && find(&mut host, "other").is_err());
}

const POSTED: &str = "\
[root@a ~]# ip -d -s addr
2: eth0: <BROADCAST,MULTICAST,SLAVE,UP,LOWER_UP> mtu 1500 qdisc mq master bond0 state UP group default qlen 1000
    link/ether 02:00:00:00:00:02 brd ff:ff:ff:ff:ff:ff promiscuity 0
    bond_slave state BACKUP mii_status UP link_failure_count 3 perm_hwaddr 02:00:00:00:00:02 ad_aggregator_id 2
3: bond0: <BROADCAST,MULTICAST,MASTER,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000
    link/ether 02:00:00:00:00:02 brd ff:ff:ff:ff:ff:ff promiscuity 0
    bond mode 802.3ad miimon 0 updelay 0 arp_interval 0 xmit_hash_policy layer2 ad_select stable
4: vx0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UNKNOWN group default qlen 1000
    link/ether 02:00:00:00:00:04 brd ff:ff:ff:ff:ff:ff promiscuity 0
    vxlan id 7 local 10.0.0.1 dev bond0 srcport 0 0 dstport 8472 nolearning ttl auto ageing 300
5: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN group default
    link/ether 02:00:00:00:00:05 brd ff:ff:ff:ff:ff:ff
6: veth1@if3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue master br-0123456789ab state UP group default
    link/ether 02:00:00:00:00:06 brd ff:ff:ff:ff:ff:ff link-netnsid 0
[root@a ~]# ip rule
0:\tfrom all lookup local
32765:\tfrom 10.0.2.10 lookup 200
32766:\tfrom all lookup main
[root@a ~]# tc -s -d qdisc
qdisc tbf 8001: dev eth0 root refcnt 2 rate 5Gbit burst 5Kb lat 50ms
 Sent 0 bytes 0 pkt (dropped 4, overlimits 0 requeues 0)
[root@a ~]# ethtool -x eth0
RX flow hash indirection table for eth0 with 2 RX ring(s):
    0:      0     1     0     1
    4:      0     0     0     0
RSS hash key:
6d:5a
[root@a ~]# ethtool --show-fec eth0
FEC parameters for eth0:
Configured FEC encodings: Auto RS
Active FEC encoding: RS
Statistics:
  uncorrectable_blocks: 7
[root@a ~]# ethtool --show-eee eth0
EEE settings for eth0:
\tEEE status: enabled - active
[root@a ~]# ethtool -m eth0
\tIdentifier                                : 0x03 (SFP)
\tConnector                                 : 0x07 (LC)
\tVendor name                               : FINISAR CORP.
\tLaser bias current                        : 7.928 mA
\tReceiver signal average optical power     : 0.0089 mW / -20.51 dBm
\tModule temperature                        : -1.50 degrees C / 29.30 degrees F
\tLaser rx power low alarm                  : On
[root@a ~]# cat /proc/interrupts
            CPU0       CPU1
  60:          7          0  IR-PCI-MSI 1-edge      eth0-TxRx-0
 NMI:          0          0  Non-maskable interrupts
[root@a ~]# grep . /proc/irq/*/smp_affinity_list
/proc/irq/60/smp_affinity_list:0
[root@a ~]# cat /proc/net/softnet_stat
05608c24 00000000 0000000c 00000000 00000000 00000000 00000000 00000000 00000000
[root@a ~]# cat /proc/net/bonding/bond0
Ethernet Channel Bonding Driver: v5.14.0

Bonding Mode: IEEE 802.3ad Dynamic link aggregation

802.3ad info
Slave Interface: eth0
MII Status: up
[root@a ~]# nstat -az
#kernel
TcpExtListenOverflows           12                 0.0
UdpRcvbufErrors                 9                  0.0
[root@a ~]# ss -ltn
State  Recv-Q Send-Q Local Address:Port Peer Address:Port
LISTEN 129    128          0.0.0.0:443       0.0.0.0:*
[root@a ~]# dmesg
[   12.345678] igb 0000:04:00.0 eth0: igb: eth0 NIC Link is Down
[root@a ~]# iptables-save -c
# Generated by iptables-save v1.8.9
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [881223:77122334]
[0:0] -A INPUT -p icmp -j DROP
[0:0] -A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
[0:0] -A FORWARD -i br0 -o br0 -j ACCEPT
[0:0] -A FORWARD -p tcp -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu
COMMIT
[root@a ~]# nft list ruleset
table inet f {
\tchain i {
\t\ttype filter hook input priority filter; policy drop;
\t\tct state vmap { established : accept, related : accept, invalid : drop }
\t\ticmp type { echo-request } limit rate 5/second accept
\t\tmeta l4proto icmp drop
\t}
}
[root@a ~]# cpupower frequency-info
analyzing CPU 0:
  driver: acpi-cpufreq
                  The governor \"powersave\" may decide which speed to use
[root@a ~]# uptime
 12:00 up 3 days
[root@a ~]# ss -uanm
UNCONN 0 0 0.0.0.0:514 0.0.0.0:*
[root@a ~]# true
";

/// Regression: of what people post, these were left without a word.
#[test]
fn what_people_post_beside_links_is_read_or_named() {
    let mut host = host(POSTED);
    let eth0 = find(&mut host, "eth0").unwrap();
    assert_eq!(
        eth0.member.line(|n| n.to_string()).unwrap(),
        "state BACKUP, mii_status UP, link_failure_count 3, perm_hwaddr 02:00:00:00:00:02, ad_aggregator_id 2"
    );
    let bond = find(&mut host, "bond0").unwrap();
    assert_eq!(
        bond.details.line(|n| n.to_string()).unwrap(),
        "mode 802.3ad, miimon 0, updelay 0, arp_interval 0, xmit_hash_policy layer2, ad_select stable"
    );
    let vxlan = find(&mut host, "vx0").unwrap();
    assert_eq!(vxlan.details.line(|n| n.to_string()).unwrap(), "id 7, local 10.0.0.1, dev 3");
    let kind = |host: &mut Printed, name: &str| find(host, name).unwrap().kind;
    assert_eq!(
        ["docker0", "veth1"].map(|name| kind(&mut host, name)),
        ["bridge", "veth"].map(|kind| Some(kind.to_owned()))
    );
    let policies: Vec<_> =
        crate::adapter::policies(&mut host).unwrap().iter().map(|one| (one.from, one.table)).collect();
    assert_eq!(policies, [(None, 255), (Some(("10.0.2.10".parse().unwrap(), 32)), 200), (None, 254)]);
    let tbf = &qdiscs(&mut host).unwrap()[0];
    assert_eq!((tbf.rate, tbf.burst, tbf.drops), (Some(625_000_000), Some(5120), 4));
    let adapter = read(&mut host, eth0);
    assert_eq!(adapter.rss.unwrap().table, Some(vec![0, 1, 0, 1, 0, 0, 0, 0]));
    let fec = adapter.fec.unwrap();
    assert_eq!(
        (fec.active.as_deref(), fec.auto, fec.counters.get("uncorrectable_blocks")),
        (Some("RS"), Some(true), Some(7))
    );
    assert_eq!(adapter.eee.map(|eee| (eee.enabled, eee.active)), Ok((Some(true), Some(true))));
    let module = adapter.module.unwrap();
    assert_eq!(
        (module.vendor.as_deref(), module.temperature, module.alarms),
        (Some("FINISAR CORP."), Some(-1.5), vec!["rx power low".to_owned()])
    );
    assert_eq!(module.lanes[0].rx_power, Some(0.0089));
    let irqs = adapter.irqs.unwrap();
    assert_eq!((irqs[0].number, irqs[0].wanted.as_deref()), (60, Ok("0")));
    let file = |path: &str| String::from_utf8(host.file(path).unwrap()).unwrap();
    assert!(file("proc/net/softnet_stat").starts_with("05608c24"));
    assert!(file("proc/net/bonding/bond0").ends_with("Slave Interface: eth0\nMII Status: up"));
    assert_eq!(file("proc/net/netstat"), "TcpExt: ListenOverflows\nTcpExt: 12\n");
    assert_eq!(file("proc/net/snmp"), "Udp: RcvbufErrors\nUdp: 9\n");
    assert!(file("proc/net/tcp").contains(":01BB 00000000:0000 0A 00000000:00000081 "));
    let frequency =
        ["driver", "governor"].map(|name| file(&format!("sys/devices/system/cpu/cpu0/cpufreq/scaling_{name}")));
    assert_eq!(frequency, ["acpi-cpufreq", "powersave"]);
    assert!(file("var/log/dmesg").contains("Link is Down"));
    let chains = crate::adapter::chains(&mut host).unwrap();
    let shown: Vec<_> =
        chains.iter().map(|one| (one.name.as_str(), one.hook, one.drops, one.counted, one.rules)).collect();
    assert_eq!(
        shown,
        [
            ("INPUT", Some(1), false, Some(0), 2),
            ("FORWARD", Some(2), true, Some(881_223), 2),
            ("i", Some(1), true, None, 3)
        ]
    );
    let rules = crate::adapter::filter_rules(&mut host).unwrap();
    let shown: Vec<_> = rules
        .iter()
        .map(|one| (one.chain.as_str(), one.drops, one.too_big, one.passes.as_deref(), one.fits_path))
        .collect();
    assert_eq!(
        shown,
        [
            ("INPUT", true, Some(true), None, false),
            ("INPUT", false, Some(false), None, false),
            ("FORWARD", false, None, Some("br0"), false),
            ("FORWARD", false, None, None, true),
            ("i", false, Some(false), None, false),
            ("i", false, None, None, false),
            ("i", true, Some(true), None, false),
        ]
    );
    assert_eq!(host.untaken(), ["uptime", "ss -uanm"]);
}

#[test]
fn posted_texts_that_are_cut_or_damaged_are_read_as_far_as_they_go() {
    for end in (0..POSTED.len()).step_by(23) {
        let mut host = host(&POSTED[..end]);
        for interface in interfaces(&mut host).unwrap_or_default() {
            read(&mut host, interface);
        }
        _ = (crate::adapter::chains(&mut host), crate::adapter::filter_rules(&mut host), qdiscs(&mut host));
    }
}

/// A session at a shell, of which no `ip link` names the interfaces.
const SESSION: &str = "\
db1 # ethtool -i eth9 | head -1; ethtool eth9 | grep Speed
driver: mlx5_core
\tSpeed: 100000Mb/s
db1 # ethtool -l eth9 | tail -1
Combined:\t8
db1 # ethtool -S eth9 | grep drop
     rx_dropped: 5
db1 # sleep 9; ethtool -S eth9 | grep drop
     rx_dropped: 7
db2 # ethtool -S eth9 | grep drop
     rx_dropped: 900
db1 # ip -br link
br0              UP             d8:bb:c1:5e:77:0a <BROADCAST,MULTICAST,UP,LOWER_UP>
vnet0            UNKNOWN        fe:54:00:3c:a2:18 <BROADCAST,MULTICAST,UP,LOWER_UP>
db1 # ip -4 -o addr
7: eth2    inet 10.9.0.21/24 brd 10.9.0.255 scope global eth2\\       valid_lft forever
db1 # ip -4 -o addr | awk '{print $2,$4}'
eth3 10.8.0.1/24
db1 # ip -s link show eth2 | tail -2
    TX: bytes  packets  errors  dropped carrier collsns
    91203 1402 0 0 0 0
db1 # ip route
default via 10.9.0.1 dev bond1.5
db1 # ip neigh show dev bond1.5
10.9.0.1 FAILED
db1 # grep -E 'Mode|Slave' /proc/net/bonding/bond1
Bonding Mode: IEEE 802.3ad Dynamic link aggregation
Slave Interface: eth4
db1 # bridge vlan
port vlan-id
br0 1 PVID Egress Untagged
db1 # nproc
16
db1 # sudo iptables -t mangle -S
-P FORWARD DROP
db1 # lnstat -f arp_cache -k entries,table_fulls
arp_cach|arp_cach|
 entries|table_fu|
        |     lls|
    1022|  441902|
db1 # for i in 75; do echo \"$i $(cat /proc/irq/$i/smp_affinity_list)\"; done
75 3
db1 # tcpdump -nni vnet0
12:01:22.110293 IP 0.0.0.0.68 > 255.255.255.255.67: BOOTP/DHCP, Request
db1 # systemctl cat a.service
# /etc/systemd/system/a.service
ExecStart=/bin/true
";

#[test]
fn a_session_names_its_interfaces_by_what_was_answered() {
    let mut host = host(SESSION);
    let all = interfaces(&mut host).unwrap();
    let one = |name: &str| all.iter().find(|one| one.name == name).unwrap();
    let names = all.iter().map(|one| one.name.as_str()).collect::<std::collections::BTreeSet<_>>();
    assert!(
        ["eth9", "br0", "vnet0", "eth2", "eth3", "bond1", "bond1.5", "eth4"].iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    assert_eq!((one("bond1").kind.as_deref(), one("eth4").master), (Some("bond"), Some(one("bond1").index)));
    assert_eq!(one("eth2").counters.get("tx_packets"), Some(1402));
    let own: Vec<_> =
        addresses(&mut host).unwrap().into_iter().map(|one| (one.link, one.address.to_string())).collect();
    assert_eq!(own, [(7, "10.9.0.21".to_owned()), (one("eth3").index, "10.8.0.1".to_owned())]);
    assert_eq!(neighbours(&mut host).unwrap()[0].state, "failed");
    let eth9 = one("eth9").clone();
    let rows = |host: &mut Printed| {
        counters(host, &eth9).unwrap().groups.iter().find_map(|group| group.rows.get("rx_dropped"))
    };
    // What another host counts is none of it.
    assert_eq!([rows(&mut host), rows(&mut host)], [Some(5), Some(7)]);
    let adapter = read(&mut host, eth9);
    assert_eq!(adapter.modes.unwrap().speed, Some(100_000));
    assert_eq!(adapter.channels.unwrap().iter().find(|one| one.name == "combined").and_then(|one| one.now), Some(8));
    for (path, text) in [
        ("posted/bridge-vlan", "br0 1\n"),
        ("sys/devices/system/cpu/online", "0-15"),
        ("proc/net/stat/arp_cache", "entries table_fulls\n000003fe 0006be2e"),
        ("proc/irq/75/smp_affinity_list", "3"),
        ("posted/capture", "vnet0 12:01:22.110293 IP 0.0.0.0.68 > 255.255.255.255.67: BOOTP/DHCP, Request\n"),
        ("etc/systemd/system/a.service", "ExecStart=/bin/true"),
    ] {
        assert_eq!(String::from_utf8(host.file(path).unwrap()).unwrap(), text, "{path}");
    }
    for end in (0..SESSION.len()).filter(|end| SESSION.is_char_boundary(*end)) {
        _ = interfaces(&mut self::host(&SESSION[..end]));
    }
}
