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
    Printed::of(&[Text { text: text.to_owned(), interface: None }])
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
