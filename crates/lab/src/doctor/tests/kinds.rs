//! Kinds of texts and faults that people post, each with a host beside it that is well.

use super::super::*;
use super::posted::{COUNTS, Case, LSCPU, RUNS, eth0, examined, found, holds, link, with};

const W: Severity = Severity::Warning;
const N: Severity = Severity::Note;

/// Severity of a rule's first finding.
fn severity(text: &str, rule: &str) -> Option<Severity> {
    found(text, rule).first().map(|(severity, _)| *severity)
}

fn severities(cases: &[(&str, Option<Severity>, String)]) {
    for (rule, wanted, text) in cases {
        assert_eq!(severity(text, rule), *wanted, "{rule}: {text}\n{:#?}", examined(text));
    }
}

/// Regression: what older programs print was not read: neither ifconfig of both forms, nor `netstat -i`, route, arp and /proc/net/dev.
#[test]
fn texts_of_older_programs_are_read() {
    let new = |overruns: u64| {
        format!(
            "$ ifconfig\nem1: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500\n        inet 192.0.2.20  netmask 255.255.255.0  broadcast \
             192.0.2.255\n        ether e4:43:4b:18:b5:50  txqueuelen 1000  (Ethernet)\n        RX packets 318352777  bytes 159830547000 \
             (152.4 GiB)\n        RX errors 0  dropped 0  overruns {overruns}  frame 0\n        TX packets 240498111  bytes 418 (418.0 B)\n\
             \x20       TX errors 0  dropped 0 overruns 0  carrier 0  collisions 0\n$ ethtool -g em1\nRing parameters for em1:\n\
             Pre-set maximums:\nRX: 4096\nCurrent hardware settings:\nRX: 256\n"
        )
    };
    let old = |frame: u64, rest: &str| {
        format!(
            "# ifconfig eth2\neth2      Link encap:Ethernet  HWaddr 00:1B:21:AA:BB:CC\n          inet addr:192.0.2.20  Bcast:192.0.2.255  \
             Mask:255.255.255.0\n          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1\n          RX packets:277593775 \
             errors:{frame} dropped:0 overruns:0 frame:{frame}\n          TX packets:187593775 errors:0 dropped:0 overruns:0 carrier:0\n\
             \x20         collisions:0 txqueuelen:1000\n{rest}"
        )
    };
    let routed = |neighbour: &str| {
        old(
            0,
            &format!(
                "# route -n\nKernel IP routing table\nDestination     Gateway         Genmask         Flags Metric Ref    Use Iface\n\
                 0.0.0.0         192.0.2.254     0.0.0.0         UG    100    0        0 eth2\n\
                 192.0.2.0       0.0.0.0         255.255.255.0   U     100    0        0 eth2\n{neighbour}"
            ),
        )
    };
    let failed = "# arp -n\nAddress                  HWtype  HWaddress           Flags Mask            Iface\n\
                  192.0.2.254                      (incomplete)                              eth2\n";
    let table = |errors: u64| {
        format!(
            "$ netstat -i\nKernel Interface table\nIface      MTU    RX-OK RX-ERR RX-DRP RX-OVR    TX-OK TX-ERR TX-DRP TX-OVR Flg\n\
             eno1      1500 81231231  {errors}      0 0      71231231      0      0      0 BMRU\n$ ethtool eno1\nSettings for eno1:\n\
             \tSupported link modes:   1000baseT/Full\n\tSpeed: 1000Mb/s\n"
        )
    };
    let dev = |fifo: u64| {
        format!(
            "$ cat /proc/net/dev\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier \
             compressed\n    lo: 12312 12 0 0 0 0 0 0 12312 12 0 0 0 0 0 0\n  eth0: 81231231 612312312 0 0 {fifo} 0 0 123 712312 5123 0 0 0 0 0 0\n"
        )
    };
    severities(&[
        ("ring-rx", Some(W), new(4_864_222)),
        ("ring-rx", None, new(0)),
        ("crc-errors", Some(W), old(104_900, "")),
        ("crc-errors", Some(N), old(3, "")),
        ("crc-errors", None, old(0, "")),
        ("next-hop", Some(W), routed(failed)),
        ("next-hop", None, routed("# arp -a\n? (192.0.2.254) at 02:00:00:00:00:fe [ether] on eth2\n")),
        ("crc-errors", Some(W), table(91_231)),
        ("crc-errors", None, table(0)),
        ("ring-rx", Some(W), dev(9_123_123)),
        ("ring-rx", None, dev(0)),
    ]);
    // Members of a bond have its address.
    let bond = ["bond0 MASTER", "eth2 SLAVE", "eth3 SLAVE"].map(|one| {
        let (name, flag) = one.split_once(' ').unwrap();
        old(0, "\n").replace("eth2", name).replace("RUNNING", &format!("RUNNING {flag}"))
    });
    severities(&[("duplicate-address", None, bond.concat())]);
    // Texts of both tell one interface.
    let both = format!("{}# ip -d -s addr\n{}", new(0).replace("em1", "eth0"), eth0());
    assert_eq!(examined(&both).interfaces, ["eth0"]);
}

/// Regression: of `iptables -L` with and without counters nothing was read.
#[test]
fn a_listed_packet_filter_is_read() {
    let listed = |first: &str, second: &str| {
        with(&format!(
            "# iptables -L -n -v\nChain INPUT (policy DROP 1523 packets, 90K bytes)\n pkts bytes target     prot opt in     out     source     \
             destination\n{first}{second} 812K  512M ACCEPT     tcp  --  *      *       0.0.0.0/0            0.0.0.0/0            tcp dpt:22\n\n"
        ))
    };
    let icmp = "   12   896 DROP       icmp --  *      *       0.0.0.0/0            0.0.0.0/0\n";
    let related = " 9123 8123K ACCEPT     all  --  *      *       0.0.0.0/0            0.0.0.0/0            ctstate RELATED,ESTABLISHED\n";
    let plain = |rule: &str| {
        with(&format!(
            "# iptables -L -n\nChain INPUT (policy ACCEPT)\ntarget     prot opt source               destination\n{rule}\n\n"
        ))
    };
    severities(&[
        ("firewall", Some(W), listed(icmp, related)),
        ("firewall", Some(N), listed(related, icmp)),
        ("firewall", Some(W), plain("DROP       icmp --  0.0.0.0/0            0.0.0.0/0")),
        ("firewall", Some(N), plain("DROP       icmp --  0.0.0.0/0            0.0.0.0/0            icmptype 8")),
    ]);
}

/// Regression: a text of which grep had left a part had no heading, and a file that cat showed no name: nothing of them was read.
#[test]
fn parts_of_texts_and_files_that_were_shown_are_read() {
    let rows = |one: u64, other: u64| {
        with(&format!(
            "{LSCPU}# cat /proc/interrupts | grep eth0\n  64: 91231 0 IR-PCI-MSI 524288-edge      eth0-TxRx-0\n  65: {one} {other} IR-PCI-MSI \
             524289-edge      eth0-TxRx-1\n"
        ))
    };
    let counted = |missed: u64| {
        with(&format!("# ethtool -S eth0 | egrep 'miss|drop'\n     rx_dropped: 0\n     rx_missed_errors: {missed}\n"))
    };
    let features = |gro: &str| {
        with(&format!("# ethtool -k eth0 | grep offload\ngeneric-receive-offload: {gro}\nlarge-receive-offload: off\n"))
    };
    let shown = |missed: u64| {
        format!(
            "# cat /sys/class/net/eth1/statistics/rx_missed_errors\n{missed}\n# cat /sys/class/net/eth1/statistics/rx_packets\n2059646370\n\
             # cat /sys/class/net/eth1/mtu /sys/class/net/eth1/operstate\n1500\nup\n"
        )
    };
    let governor = |driver: &str| {
        let at = "/sys/devices/system/cpu/cpu0/cpufreq";
        with(&format!("{LSCPU}# cat {at}/scaling_governor\npowersave\n# cat {at}/scaling_driver\n{driver}\n"))
    };
    let forced = |speed: u32| format!("{}# cat /sys/class/net/eth0/speed\n{speed}\n", with("").replace("ice", "ixgbe"));
    severities(&[
        ("irqs-on-one-core", Some(W), rows(81_231, 0)),
        ("irqs-on-one-core", None, rows(0, 81_231)),
        ("ring-rx", Some(W), counted(7_142_467)),
        ("ring-rx", None, counted(0)),
        ("gro", Some(W), features("off")),
        ("gro", None, features("on")),
        ("ring-rx", Some(W), shown(7_142_467)),
        ("ring-rx", Some(N), shown(7)),
        ("governor", Some(W), governor("intel_cpufreq")),
        ("governor", Some(N), governor("intel_pstate")),
    ]);
    // The speed in sysfs is that of the link.
    let text = |speed| format!("{}# sysctl -a\nnet.ipv4.tcp_congestion_control = reno\n", forced(speed));
    severities(&[("congestion-control", Some(W), text(10_000)), ("congestion-control", Some(N), text(1000))]);
    // The place of a port is in its name, and in the log.
    let lanes = |text: String| {
        format!(
            "{text}# lspci -vv\naf:00.1 Ethernet controller: XL710\n\t\tLnkCap:\tSpeed 8GT/s, Width x8\n\t\tLnkSta:\tSpeed 8GT/s, Width x4 (downgraded)\n"
        )
    };
    let own = |name: &str, log: &str| {
        format!("# ip addr\n{}# dmesg\n[ 1.5] {log}\n", link(2, name, RUNS, "mtu 1500 qdisc mq", ""))
    };
    severities(&[
        ("pcie-width", Some(W), lanes(own("enp175s0f1", "-"))),
        ("pcie-width", Some(W), lanes(own("eth5", "i40e 0000:af:00.1 eth5: NIC Link is Up, 40 Gbps Full Duplex"))),
        ("pcie-width", None, lanes(own("enp175s0f0", "-"))),
        ("pcie-width", None, lanes(own("enp175s0u2u1", "-"))),
    ]);
}

/// Regression: counters were known by the names of some drivers alone.
#[test]
fn counters_are_known_by_their_family() {
    let of = |rows: &str| with(&format!("# ethtool -S eth0\nNIC statistics:\n     rx_packets: 90000000\n{rows}"));
    for row in [
        "port.rx_discards: 3312344",
        "rx_dropped.nic: 3312344",
        "rx_missed_errors: 3312344",
        "rx_nodesc_drop_cnt: 3312344",
        "no_buff_discards: 3312344",
        "rx_queue_1_drops: 3312344",
        "rx3_buff_alloc_err: 3312344",
        "rx_drops_no_pbuf: 3312344",
        "pkts rx OOB: 3312344",
        "rx_overruns: 3312344",
    ] {
        severities(&[
            ("ring-rx", Some(W), of(&format!("     {row}\n"))),
            ("ring-rx", None, of(&format!("     {}\n", row.replace("3312344", "0")))),
        ]);
    }
    for (rule, row) in [
        ("crc-errors", "port.rx_crc_errors"),
        ("crc-errors", "rx_crc_errors.nic"),
        ("crc-errors", "rx_fcs_err_frames"),
        ("crc-errors", "rx_align_errors"),
        ("length-errors", "rx_oversize.nic"),
        ("length-errors", "rx_ovrsz_frames"),
        ("pause-frames", "port.link_xoff_rx"),
        ("checksum-offload", "rx_csum_offload_errors"),
        ("pause-frames", "rx_xoff_pause_rcvd"),
    ] {
        severities(&[
            (rule, Some(W), of(&format!("     {row}: 3312344\n"))),
            (rule, Some(N), of(&format!("     {row}: 2\n"))),
            (rule, None, of(&format!("     {row}: 0\n"))),
        ]);
    }
    // Those of queues are one loss, and none of them is enough alone.
    let queues: String = (0..4).map(|queue| format!("     [{queue}]: rx_discards: 40000\n")).collect();
    let all = examined(&of(&queues));
    let one = all.findings.iter().find(|one| one.rule == "ring-rx").unwrap();
    assert!(one.severity == W && one.evidence[0].value.starts_with("[*]: rx_discards 160000 "), "{one:#?}");
    severities(&[
        ("tx-drops", Some(W), of("     tx_timeout_count: 37\n")),
        ("tx-drops", Some(N), of("     tx_timeout_count: 1\n")),
        ("tx-drops", None, of("     tx_timeout_count: 0\n")),
        ("carrier-flaps", Some(W), of("     link_down_events_phy: 81\n")),
        ("carrier-flaps", Some(N), of("     link_down_events_phy: 12\n")),
        ("carrier-flaps", None, of("     link_down_events_phy: 2\n")),
    ]);
}

/// Regression: pause frames did not say which end is slow, and the short ring of the one that sends them was not told.
#[test]
fn who_sends_pause_frames_is_slow() {
    let of = |came: u64, sent: u64, ring: u32| {
        with(&format!(
            "# ethtool -S eth0\nNIC statistics:\n     rx_pause_ctrl_phy: {came}\n     tx_pause_ctrl_phy: {sent}\n# ethtool -g eth0\nRing parameters \
             for eth0:\nPre-set maximums:\nRX: 8192\nCurrent hardware settings:\nRX: {ring}\n"
        ))
    };
    let partner = "see the switch's port, and behind it the receiver that does not keep up; or do without, and lose frames instead: \
                   ethtool -A eth0 rx off, at the switch, too";
    holds(&[
        (
            "pause-frames",
            Some((W, "ethtool -G eth0 rx 8192; then more queues, and processors near the adapter")),
            of(123, 912_312_312, 256),
        ),
        (
            "pause-frames",
            Some((
                W,
                "more queues, larger rings, and processors near the adapter: see the findings about those, and about PCIe",
            )),
            of(123, 912_312_312, 8192),
        ),
        ("pause-frames", Some((W, partner)), of(912_312_312, 123, 256)),
        ("pause-frames", None, of(0, 0, 256)),
    ]);
    let pfc = |state: &str, paused: u64| {
        with(&format!(
            "# ethtool -S eth0\nNIC statistics:\n     rx_prio3_pause: {paused}\n# dcb pfc show dev eth0\npfc-cap 8 macsec-bypass off delay 0\n\
             prio-pfc 0:off 1:off 2:off 3:{state} 4:off 5:off 6:off 7:off\n"
        ))
    };
    let lossless = "dcb pfc set dev eth0 prio-pfc 3:on, as at the switch; and ethtool -A eth0 rx off tx off";
    holds(&[("pause-frames", Some((W, lossless)), pfc("off", 912_312)), ("pause-frames", None, pfc("on", 0))]);
    assert!(examined(&pfc("on", 0)).untaken.is_empty());
}

/// Regression: a link that was forced to a slower rate, or offers no more, was a note that asked for another partner.
#[test]
fn a_link_that_was_forced_is_found() {
    let of = |auto: &str, speed: u32, supported: &str, advertised: &str, crc: u64| {
        with(&format!(
            "# ethtool eth0\nSettings for eth0:\n\tSupported link modes:   {supported}\n\tAdvertised link modes:  {advertised}\n\tLink partner \
             advertised link modes:  Not reported\n\tSpeed: {speed}Mb/s\n\tDuplex: Full\n\tAuto-negotiation: {auto}\n\
             # ethtool -S eth0\nNIC statistics:\n     rx_crc_errors: {crc}\n"
        ))
    };
    let copper = "100baseT/Full 1000baseT/Full";
    let negotiate = "ethtool -s eth0 autoneg on, and at the partner, too";
    let partner = "ethtool -s eth0 autoneg on: a partner that negotiates takes half duplex of an end that does not, and its frames \
                   collide; or forced likewise at both ends";
    let clean = "clean or replace cable and module; see optical power in 'linerate nic show'";
    let cases: &[Case] = &[
        ("link-speed", Some((W, negotiate)), of("off", 100, copper, "100baseT/Full", 0)),
        ("link-speed", Some((W, negotiate)), of("on", 100, copper, "100baseT/Full", 0)),
        ("link-speed", Some((N, "a partner, cable and module of 1000 Mb/s")), of("on", 100, copper, copper, 0)),
        ("link-speed", None, of("on", 1000, copper, copper, 0)),
        // Of fibre nothing is negotiated.
        (
            "link-speed",
            Some((N, "a partner, cable and module of 25000 Mb/s")),
            of("off", 10_000, "10000baseSR/Full 25000baseSR/Full", "10000baseSR/Full", 0),
        ),
        ("crc-errors", Some((W, partner)), of("off", 100, copper, "100baseT/Full", 812_233)),
        ("crc-errors", Some((W, clean)), of("on", 1000, copper, copper, 812_233)),
    ];
    holds(cases);
}

/// Regression: what the kernel writes of these faults was not looked for.
#[test]
fn lines_of_the_kernels_log_are_faults() {
    let log = |line: &str| format!("# dmesg\n[   12.345678] {line}\n");
    for line in [
        "TCP: eth0: Driver has suspect GRO implementation, TCP performance may be compromised.",
        "bond0: Warning: No 802.3ad response from the link partner for any adapters in the bond",
        "TCP: time wait bucket table overflow",
        "TCP: too many orphaned sockets",
        "Route cache is full: consider increasing sysctl net.ipv6.route.max_size.",
        "ice 0000:17:00.0: The DDP package file was not found or could not be read. Entering Safe Mode",
        "ixgbe 0000:05:00.0: PCI-Express bandwidth available for this card is not sufficient for optimal performance.",
        "mlx5_core 0000:03:00.0: mlx5_health:  device's health compromised - reached miss count",
        "tg3 0000:02:00.0: eth0: transmit timed out, resetting",
        "ena 0000:00:05.0: Keep alive watchdog timeout.",
        "swapper/3: page allocation failure: order:2, mode:0x20",
    ] {
        assert_eq!(severity(&log(line), "kernel-log"), Some(W), "{line}");
    }
    for line in [
        "bond0: (slave eth0): link status definitely up, 10000 Mbps full duplex",
        "TCP: Hash tables configured (established 524288)",
    ] {
        assert_eq!(severity(&log(line), "kernel-log"), None, "{line}");
    }
    let downs =
        |times: usize| with(&"# dmesg\n[ 1.5] igb 0000:81:00.0 eth0: igb: eth0 NIC Link is Down\n".repeat(times));
    severities(&[("carrier-flaps", Some(W), downs(20)), ("carrier-flaps", None, downs(3))]);
}

/// Regression: counters of the stack were told only if they grew while it was looked at, which those of a text never do.
#[test]
fn counters_of_the_stack_are_losses_if_they_are_a_share() {
    let tcp = |name: &str, value: u64| with(&format!("# nstat -az\nTcpInSegs 8123123 0.0\nTcpExt{name} {value} 0.0\n"));
    for name in
        ["TCPTimeWaitOverflow", "TCPReqQFullDrop", "TCPBacklogDrop", "TCPRcvQDrop", "PruneCalled", "TCPAbortOnMemory"]
    {
        severities(&[("tcp-drops", Some(W), tcp(name, 912_312)), ("tcp-drops", None, tcp(name, 12))]);
    }
    let raw = |bad: u64| {
        with(&format!(
            "# cat /proc/net/snmp\nIp: Forwarding DefaultTTL InReceives InHdrErrors OutRequests OutNoRoutes\nIp: 1 64 81231231 0 71231231 0\n\
             Tcp: RtoAlgorithm RtoMin InSegs OutSegs InCsumErrors\nTcp: 1 200 61231231 71231231 {bad}\n"
        ))
    };
    let again = |segments: u64| {
        with(&format!(
            "# netstat -s\nTcp:\n    81231231 segments received\n    71231231 segments sent out\n    {segments} segments retransmitted\n"
        ))
    };
    let ipsec = |late: u64| {
        with(&format!(
            "# cat /proc/net/xfrm_stat\nXfrmInError 0\nXfrmInStateSeqError {late}\n# nstat -az\nIpInReceives 81231231 0.0\n"
        ))
    };
    let routes = |none: u64| with(&format!("# nstat -az\nIpOutRequests 8123123 0.0\nIpOutNoRoutes {none} 0.0\n"));
    let squeezed = |times: &str| {
        let row = format!("05608c24 00000000 {times} 00000000 00000000 00000000 00000000 00000000 00000000\n");
        with(&format!("# sysctl -a\nnet.core.netdev_budget = 300\n# cat /proc/net/softnet_stat\n{}", row.repeat(2)))
    };
    let queue = |kind: &str, sent: u64| {
        with(&format!(
            "# tc -s qdisc show dev eth0\nqdisc {kind} 0: root refcnt 2\n Sent 812331223 bytes {sent} pkt (dropped 91231, overlimits 0 requeues 12)\n"
        ))
    };
    let tracked = |failed: u64| {
        with(&format!(
            "# conntrack -S\ncpu=0   \tfound=12 invalid=3 insert=0 insert_failed={failed} drop=12 early_drop=0\n"
        ))
    };
    let waits = |share: &str| {
        with(&format!(
            "# ss -ti\nESTAB 0 0 192.0.2.20:5201 203.0.113.7:41234\n\t cubic rto:284 rtt:82.1/0.5 mss:1448 cwnd:1231 busy:60123ms \
             rwnd_limited:5123ms({share}%)\n"
        ))
    };
    severities(&[
        ("checksum-errors", Some(W), raw(91_231)),
        ("checksum-errors", Some(N), raw(12)),
        ("checksum-errors", None, raw(0)),
        ("retransmits", Some(W), again(6_123_123)),
        ("retransmits", Some(N), again(1_123_123)),
        ("retransmits", None, again(12_312)),
        ("ip-drops", Some(W), ipsec(812_312)),
        ("ip-drops", None, ipsec(12)),
        ("ip-drops", Some(W), routes(91_231)),
        ("ip-drops", None, routes(123)),
        ("backlog", Some(W), squeezed("00091234")),
        ("backlog", Some(N), squeezed("00001234")),
        ("queue-drops", Some(W), queue("pfifo_fast", 5_123_123)),
        ("queue-drops", None, queue("pfifo_fast", 512_312_300)),
        ("queue-drops", None, queue("fq_codel", 5_123_123)),
        ("conntrack", Some(W), tracked(81_231)),
        ("conntrack", None, tracked(12)),
        ("connections", Some(W), waits("96.7")),
        ("connections", None, waits("9.7")),
    ]);
}

/// Regression: limits of traffic control that texts tell were not read.
#[test]
fn limits_of_traffic_control_in_texts_are_found() {
    let filter = |action: &str| {
        with(&format!(
            "# tc -s filter show dev eth0 ingress\nfilter protocol all pref 49152 matchall chain 0 handle 0x1\n\taction order 1: {action}\n"
        ))
    };
    let paced = |rate: &str| {
        with(&format!(
            "# tc -s qdisc\nqdisc fq 8001: dev eth0 root refcnt 2 limit 10000p flow_limit 100p{rate}\n Sent 8123 bytes 5123123 pkt (dropped 1231, \
             overlimits 0 requeues 12)\n"
        ))
    };
    severities(&[
        ("traffic-filters", Some(W), filter("police 0x1 rate 100Mbit burst 125Kb mtu 2Kb action drop overhead 0b")),
        ("traffic-filters", Some(W), filter("gact action drop")),
        ("traffic-filters", None, filter("mirred (Egress Redirect to device ifb0) stolen")),
        ("shaped", Some(W), paced(" maxrate 1Gbit")),
        ("shaped", None, paced("")),
    ]);
}

/// Regression: what ping and tracepath had found of a path was not read.
#[test]
fn paths_that_ping_has_tried_are_looked_at() {
    let of = |mtu: u32, text: &str| {
        let own = eth0().replace("mtu 1500", &format!("mtu {mtu}"));
        format!("# ip addr\n{own}# ip route\ndefault via 192.0.2.1 dev eth0\n# ping -M do -s 1 203.0.113.9\n{text}")
    };
    let tried = |bytes: u32, lost: u32| {
        format!(
            "PING 203.0.113.9 (203.0.113.9) {}({bytes}) bytes of data.\n\n4 packets transmitted, 4 received, {lost}% packet loss, time 3063ms\n",
            bytes - 28
        )
    };
    let told = "From 192.0.2.1 icmp_seq=1 Frag needed and DF set (mtu = 1400)\n";
    let known = "for that destination alone: ip route add 203.0.113.9 via 192.0.2.1 dev eth0 mtu 1400; where this host forwards: \
                 nft insert rule inet TABLE FORWARD tcp flags syn tcp option maxseg size set rt mtu";
    holds(&[("path-tried", Some((W, known)), of(1500, &(tried(1500, 100) + told)))]);
    severities(&[
        ("path-tried", Some(W), of(9000, &(tried(9000, 100) + &tried(1500, 0)))),
        ("path-tried", None, of(9000, &(tried(9000, 0) + &tried(1500, 0)))),
        ("path-tried", None, of(1500, &tried(84, 0))),
        // What routers tell is learnt.
        ("path-tried", Some(N), of(1500, " 2:  203.0.113.1  1.4ms pmtu 1480\n     Resume: pmtu 1480 hops 2 back 2\n")),
        ("path-tried", None, of(1500, " 1?: [LOCALHOST]     pmtu 1500\n     Resume: pmtu 1500 hops 2 back 2\n")),
    ]);
}

/// Regression: these set-ups of addresses, routes, filters and stacked interfaces were not looked for.
#[test]
fn set_ups_that_lose_packets_are_found() {
    let two = format!(
        "# ip -d -s addr\n{}{}",
        eth0(),
        link(3, "eth1", RUNS, "mtu 1500 qdisc mq", "    inet 198.51.100.20/24 scope global eth1\n")
    );
    let strict = |own: u8, drops: u64| {
        format!(
            "{two}# ip route\ndefault via 192.0.2.1 dev eth0\n# sysctl -a\nnet.ipv4.conf.all.rp_filter = 0\nnet.ipv4.conf.eth0.rp_filter = {own}\n\
             net.ipv4.conf.eth1.rp_filter = {own}\n# nstat -az\nTcpExtIPReversePathFilter {drops} 0.0\n"
        )
    };
    let mask = |bits: u8, third: &str| {
        format!(
            "# ip addr\n{}# ip neigh\n10.20.4.1 dev eth0 lladdr 02:00:00:00:00:fe REACHABLE\n10.30.1.5 dev eth0 FAILED\n10.31.1.5 dev eth0 FAILED\n\
             10.32.7.5 dev eth0 {third}\n",
            eth0().replace("192.0.2.20/24", &format!("10.20.4.17/{bits}"))
        )
    };
    let held = |address: &str, ignore: u8| {
        format!(
            "# ip addr\n1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN\n    link/loopback 00:00:00:00:00:00\n    inet \
             {address}/32 scope global lo\n{}# sysctl -a\nnet.ipv4.conf.all.arp_ignore = {ignore}\n",
            eth0()
        )
    };
    let wireguard = |mtu: u32| {
        format!(
            "# ip -d addr\n{}5: wg0: <POINTOPOINT,NOARP,UP,LOWER_UP> mtu {mtu} qdisc noqueue state UNKNOWN\n    link/none  promiscuity 0\n    \
             wireguard addrgenmode none\n# ip route\ndefault via 192.0.2.1 dev eth0\n",
            eth0()
        )
    };
    let bond = |mode: &str, late: u64| {
        let member = |index, name: &str| {
            link(index, name, "SLAVE,UP,LOWER_UP", "mtu 1500 qdisc mq master bond0", "    bond_slave state ACTIVE\n")
        };
        let own = link(
            4,
            "bond0",
            "MASTER,UP,LOWER_UP",
            "mtu 1500 qdisc noqueue",
            &format!("    bond mode {mode} miimon 100\n"),
        );
        format!(
            "# ip -d addr\n{}{}{own}# nstat -az\nTcpInSegs 81231231 0.0\nTcpExtTCPOFOQueue {late} 0.0\n",
            member(2, "eno1"),
            member(3, "eno2")
        )
    };
    let channel = |other: u64| {
        let member = |index, name: &str, came: u64| {
            let counts = COUNTS.replacen("8000000000 ", &format!("{came} "), 1).replace("8000000000 ", "98000000000 ");
            link(
                index,
                name,
                "SLAVE,UP,LOWER_UP",
                "mtu 1500 qdisc mq master bond0",
                &format!("    bond_slave state ACTIVE\n{counts}"),
            )
        };
        let own = link(
            4,
            "bond0",
            "MASTER,UP,LOWER_UP",
            "mtu 1500 qdisc noqueue",
            "    bond mode 802.3ad miimon 100 xmit_hash_policy layer3+4\n",
        );
        format!("# ip -d addr\n{}{}{own}", member(2, "eno1", 98_000_000_000), member(3, "eno2", other))
    };
    let pods = |called: u8, overlay: &str| {
        format!(
            "# ip -d addr\n{}{}{}{}# sysctl -a\nnet.bridge.bridge-nf-call-iptables = {called}\nnet.ipv4.ip_forward = 1\n",
            eth0(),
            link(
                4,
                "cni0",
                RUNS,
                "mtu 1450 qdisc noqueue",
                "    bridge stp_state 0\n    inet 10.244.1.1/24 scope global cni0\n"
            ),
            link(5, "veth1a@if3", RUNS, "mtu 1450 qdisc noqueue master cni0", "    veth\n"),
            link(6, overlay, RUNS, "mtu 1450 qdisc noqueue", "    vxlan id 1 local 192.0.2.20 dev eth0 dstport 8472\n")
        )
    };
    let line = |rule: &str| {
        format!(
            "# ip addr\n{}5: ppp0: <POINTOPOINT,MULTICAST,NOARP,UP,LOWER_UP> mtu 1492 qdisc fq_codel state UNKNOWN\n    link/ppp\n    inet \
             203.0.113.9 peer 203.0.113.1/32 scope global ppp0\n# ip route\ndefault dev ppp0 scope link\n# sysctl -a\nnet.ipv4.ip_forward = 1\n\
             # iptables-save\n*mangle\n:FORWARD ACCEPT [0:0]\n{rule}COMMIT\n",
            eth0()
        )
    };
    let clamp = "-A FORWARD -p tcp -m tcp --tcp-flags SYN,RST SYN -j TCPMSS --clamp-mss-to-pmtu\n";
    let hot = |flag: &str| {
        with(&format!(
            "# ethtool -m eth0\n\tIdentifier    : 0x03 (SFP)\n\tModule temperature     : 93.21 degrees C\n\tModule temperature high alarm  : {flag}\n"
        ))
    };
    let light = |power: &str| {
        with(&format!(
            "# ethtool -m eth0 | grep power\n\tReceiver signal average optical power     : {power} mW / -26.58 dBm\n\tLaser rx power low alarm \
             threshold        : 0.0200 mW / -16.99 dBm\n"
        ))
    };
    let memory = |low: u64| with(&format!("# sysctl -a\nnet.ipv4.tcp_mem = {low}\t251000\t376000\n"));
    severities(&[
        ("reverse-path", Some(W), strict(1, 184_433)),
        ("reverse-path", None, strict(1, 12)),
        ("reverse-path", None, strict(2, 184_433)),
        ("neighbours", Some(W), mask(8, "FAILED")),
        ("neighbours", Some(N), mask(8, "lladdr 02:00:00:00:00:aa REACHABLE")),
        ("arp", Some(W), held("192.0.2.100", 0)),
        ("arp", None, held("192.0.2.100", 1)),
        ("arp", None, held("198.51.100.7", 0)),
        ("mtu-of-lower", Some(W), wireguard(1500)),
        ("mtu-of-lower", None, wireguard(1420)),
        ("bond-hash", Some(W), bond("balance-rr", 9_123_123)),
        ("bond-hash", Some(N), bond("balance-rr", 12)),
        ("bond-hash", None, bond("active-backup", 9_123_123)),
        ("bond-hash", Some(W), channel(1_223_344)),
        ("bond-hash", None, channel(70_000_000_000)),
        ("bridge-filtered", Some(W), pods(0, "flannel.1")),
        ("bridge-filtered", None, pods(1, "flannel.1")),
        ("bridge-filtered", None, pods(0, "overlay1")),
        ("mtu-forwarded", Some(W), line("")),
        ("mtu-forwarded", None, line(clamp)),
        ("optics", Some(W), hot("On")),
        ("optics", None, hot("Off")),
        ("optics", Some(W), light("0.0022")),
        ("optics", None, light("0.5000")),
        ("sysctl-range", Some(W), memory(1024)),
        ("sysctl-range", None, memory(188_000)),
    ]);
    let sixth = |entries: u32| {
        let row = |n| format!("2001:db8::{n:x} dev eth0 lladdr 02:00:00:00:00:aa STALE\n");
        with(&format!(
            "# sysctl -a\nnet.ipv6.neigh.default.gc_thresh3 = 1024\n# ip -6 neigh\n{}",
            (1..=entries).map(row).collect::<String>()
        ))
    };
    let capped = |most: &str| {
        with(&format!(
            "{LSCPU}# cpupower frequency-info\n  driver: intel_pstate\n  hardware limits: 800 MHz - 3.90 GHz\n  current policy: frequency should \
             be within 800 MHz and {most}.\n                  The governor \"performance\" may decide which speed to use\n"
        ))
    };
    let twice = |other: &str| {
        with(&format!(
            "# arping -I eth0 192.0.2.77\nUnicast reply from 192.0.2.77 [02:00:00:00:00:01]  0.9ms\nUnicast reply from 192.0.2.77 [{other}]  1.1ms\n"
        ))
    };
    let core = |first: &str| {
        let rest = "00608c24 00000000 00000004 00000000 00000000 00000000 00000000 00000000 00000000\n".repeat(7);
        with(&format!(
            "# cat /proc/net/softnet_stat\n{first} 00000000 00091234 00000000 00000000 00000000 00000000 00000000 00000000\n{rest}"
        ))
    };
    let tap = |dropped: u64| {
        let counts = COUNTS.replace("90000000 0 0 0 0", &format!("90000000 0 {dropped} 0 0"));
        format!(
            "# ip -d -s addr\n{}",
            link(7, "vnet0", RUNS, "mtu 1500 qdisc fq_codel", &format!("    tun type tap pi off\n{counts}"))
        )
    };
    severities(&[
        ("neighbour-table", Some(W), sixth(1000)),
        ("neighbour-table", None, sixth(100)),
        ("governor", Some(W), capped("1.20 GHz")),
        ("governor", None, capped("3.90 GHz")),
        ("answered-twice", Some(W), twice("02:00:00:00:00:02")),
        ("answered-twice", None, twice("02:00:00:00:00:01")),
        ("backlog", Some(W), core("f5608c24")),
        ("backlog", None, core("00608c24").replace("00091234", "00000004")),
        ("tx-drops", Some(W), tap(9_123_123)),
        ("tx-drops", Some(N), tap(12_312)),
    ]);
    let own = "sysctl -w net.ipv4.conf.eth1.rp_filter='2'";
    let long = "the network's own mask, /24 as a rule: ip addr add 10.20.4.17/24 dev eth0 && ip addr del 10.20.4.17/8 dev eth0, and so in the \
                file that sets it";
    holds(&[("reverse-path", Some((W, own)), strict(1, 184_433)), ("neighbours", Some((W, long)), mask(8, "FAILED"))]);
}

/// Regression: of FreeBSD neither the kernel's messages nor counters, nor MTUs of what stands on each other were looked at.
#[test]
fn messages_counters_and_mtus_of_freebsd_are_looked_at() {
    let of = |mtu: u32, options: &str, more: &str| {
        format!(
            "# ifconfig\nem0: flags=8863<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> metric 0 mtu {mtu}\n\toptions=4e527bb<RXCSUM,TXCSUM{options}>\n\
             \tether 00:25:90:11:22:33\n\tmedia: Ethernet autoselect (1000baseT <full-duplex>)\n\tstatus: active\n{more}"
        )
    };
    let log = |line: &str, times: usize| of(1500, "", &format!("# dmesg\n{}", format!("{line}\n").repeat(times)));
    let table = |errors: u64, drops: u64| {
        of(
            1500,
            "",
            &format!(
                "# netstat -i\nName    Mtu Network       Address              Ipkts Ierrs Idrop    Opkts Oerrs  Coll\n\
                 em0    1500 <Link#1>      00:25:90:11:22:33 812312312 {errors} {drops} 712312312     0     0\n\
                 em0       - 192.0.2.0/24  192.0.2.3          712312312     -     - 612312312     -     -\n"
            ),
        )
    };
    let own = |missed: u64| {
        of(
            1500,
            "",
            &format!(
                "# sysctl dev.em.0\ndev.em.0.mac_stats.missed_packets: {missed}\ndev.em.0.mac_stats.total_pkts_recvd: 812312312\n"
            ),
        )
    };
    let bridge = |mtu: u32| {
        let other = of(1500, "", "").replace("# ifconfig\n", "").replace("em0", "em1");
        of(
            mtu,
            "",
            &format!(
                "{other}bridge0: flags=8843<UP,BROADCAST,RUNNING> metric 0 mtu 1500\n\tmember: em0 flags=143<LEARNING>\n\tmember: em1 flags=143<LEARNING>\n"
            ),
        )
    };
    let filtered = |options: &str, more: &str| {
        of(1500, options, &format!("{more}# sysctl net.inet.ip.forwarding\nnet.inet.ip.forwarding: 1\n"))
    };
    let pf = "pflog0: flags=100<PROMISC> metric 0 mtu 33152\n\tgroups: pflog\n";
    let queues = |number: u8| {
        let more = format!("# sysctl hw.ncpu dev.ix.0\nhw.ncpu: 8\ndev.ix.0.iflib.override_nrxqs: {number}\n");
        of(1500, "", &more).replace("em0", "ix0").replace("1000baseT", "10Gbase-SR")
    };
    let overflow = "sonewconn: pcb 0xfffff8012: Listen queue overflow: 193 already in queue awaiting acceptance";
    let moved = "arp: 192.0.2.9 moved from 00:11:22:33:44:55 to 00:11:22:33:44:66 on em0";
    severities(&[
        ("freebsd-messages", Some(W), log(overflow, 1)),
        ("freebsd-messages", Some(W), log("em0: Watchdog timeout Queue[0]-- resetting", 1)),
        ("freebsd-messages", Some(W), log(moved, 5)),
        ("freebsd-messages", None, log(moved, 1)),
        ("freebsd-messages", None, log("em0: link state changed to DOWN", 2)),
        ("freebsd-counters", Some(W), table(9_123_123, 0)),
        ("freebsd-counters", Some(W), table(0, 9_123_123)),
        ("freebsd-counters", None, table(12, 0)),
        ("freebsd-counters", Some(W), own(9_123_123)),
        ("freebsd-counters", None, own(12)),
        ("freebsd-one-queue", Some(W), queues(1)),
        ("freebsd-one-queue", None, queues(0)),
        ("freebsd-mtu", Some(W), bridge(9000)),
        ("freebsd-mtu", None, bridge(1500)),
        ("freebsd-lro-forwarding", Some(W), filtered(",TSO4", pf)),
        ("freebsd-lro-forwarding", None, filtered(",TSO4", "")),
        ("freebsd-lro-forwarding", None, filtered("", pf)),
    ]);
}
