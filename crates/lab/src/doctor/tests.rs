//! Faults that are put into the recorded tree of a card and of the machine around it: each is found by its rule, alone and with
//! another one, and a healthy tree has none.

use super::*;
use linerate_result::Unit;
use linerate_rt::Stop;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CARDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/cards");
const NAME: &str = "ens2f0";
const PCI: &str = "sys/devices/pci0000:00/0000:00:03.0/0000:05:00.0";

/// A change of a tree.
enum Edit {
    /// A file is written.
    Put(&'static str, &'static str),
    /// A part of a file is replaced.
    Swap(&'static str, &'static str, &'static str),
    /// An offload is off; true if it was asked for.
    Off(&'static str, bool),
    /// An offload is on.
    On(&'static str),
}
use Edit::{Off, On, Put, Swap};

/// A fault: the rule that finds it, whether as more than a note, and how the tree is changed.
struct Fault(&'static str, bool, &'static [Edit]);

const LINK: &str = "netlink/link";
/// Behind the message of the interface itself.
const END: &str = "57 text pci\n";

/// The interface is a bond of `a` and `b`.
const BONDED: Edit = Swap(
    LINK,
    END,
    "57 text pci\n18 {\n1 text bond\n}\n\
     message\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 91\nraw u32 0x11843\nraw u32 0\n3 text a\n10 u32 12\n\
     message\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 92\nraw u32 0x11843\nraw u32 0\n3 text b\n10 u32 12\n",
);
const BOND: &str = "proc/net/bonding/ens2f0";
const MEMBERS: Edit = Put(
    BOND,
    "Bonding Mode: load balancing (round-robin)\nMII Status: up\nMII Polling Interval (ms): 100\n\n\
     Slave Interface: a\nMII Status: up\nSpeed: 10000 Mbps\nDuplex: full\n\n\
     Slave Interface: b\nMII Status: up\nSpeed: 10000 Mbps\nDuplex: full\n",
);

/// A second interface, which runs.
const SECOND: Edit = Swap(
    LINK,
    END,
    "57 text pci\nmessage\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 93\nraw u32 0x11043\nraw u32 0\n3 text ens2f1\n",
);
/// A VLAN above the interface.
const VLAN: Edit = Swap(
    LINK,
    END,
    "57 text pci\nmessage\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 94\nraw u32 0x11043\nraw u32 0\n3 text v5\n5 u32 12\n\
     18 {\n1 text vlan\n}\n",
);
const ROUTE: &str = "proc/net/route";
/// 10.0.0.0/24 by the second interface first, and by the first.
const BOTH: Edit = Put(
    ROUTE,
    "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
     ens2f0 0000000A 00000000 0001 0 0 200 00FFFFFF 0 0 0\nens2f1 0000000A 00000000 0001 0 0 100 00FFFFFF 0 0 0\n",
);

const TIED: [Edit; 2] = [Put("proc/irq/164/smp_affinity_list", "0"), Put("proc/irq/165/smp_affinity_list", "1")];
const BALANCED: Edit = Put("proc/812/comm", "irqbalance\n");
/// Maps of four queues each way.
const QUEUES: [&str; 8] = [
    "sys/class/net/ens2f0/queues/tx-0/xps_cpus",
    "sys/class/net/ens2f0/queues/tx-1/xps_cpus",
    "sys/class/net/ens2f0/queues/tx-2/xps_cpus",
    "sys/class/net/ens2f0/queues/tx-3/xps_cpus",
    "sys/class/net/ens2f0/queues/rx-0/rps_cpus",
    "sys/class/net/ens2f0/queues/rx-1/rps_cpus",
    "sys/class/net/ens2f0/queues/rx-2/rps_cpus",
    "sys/class/net/ens2f0/queues/rx-3/rps_cpus",
];
const RMEM: Edit = Put("proc/sys/net/core/rmem_max", "8388608");
const NETSTAT: &str = "proc/net/netstat";
const SNMP: &str = "proc/net/snmp";
const DEVLINK: &str = "netlink/devlink-info";
const BE2NET: &str = "field32 be2net\nraw field32 12.0.0.0\nraw field32 11.1.1210.11";
const ARP: &str = "proc/net/arp";

const FAULTS: &[Fault] = &[
    Fault("link-down", true, &[Swap(LINK, "0x11043", "0x1003")]),
    Fault("interface-down", false, &[Swap(LINK, "0x11043", "0x1002")]),
    Fault("duplex", true, &[Swap("netlink/linkmodes", "6 u8 1", "6 u8 0")]),
    Fault("link-speed", false, &[Swap("netlink/linkmodes", "5 u32 10000", "5 u32 1000")]),
    Fault("pcie-width", true, &[Put("PCI/current_link_width", "4")]),
    Fault("pcie-speed", true, &[Put("PCI/current_link_speed", "2.5 GT/s PCIe")]),
    Fault("pcie-bridge", true, &[Put("sys/devices/pci0000:00/0000:00:03.0/current_link_width", "1")]),
    Fault("tx-checksum", true, &[Off("tx-checksum-ip-generic", false)]),
    Fault("rx-checksum", true, &[Off("rx-checksum", false)]),
    Fault("tso", true, &[Off("tx-tcp-segmentation", false)]),
    Fault("gso", true, &[Off("tx-generic-segmentation", false)]),
    Fault("gro", true, &[Off("rx-gro", false)]),
    Fault("vlan-offload", true, &[Off("rx-vlan-hw-parse", false), VLAN]),
    Fault("scatter-gather", true, &[Off("tx-scatter-gather", false)]),
    Fault("feature-refused", true, &[Off("tx-checksum-ip-generic", false), Off("tx-tcp-segmentation", true)]),
    Fault("lro-forwarding", true, &[On("rx-lro"), Put("proc/sys/net/ipv4/ip_forward", "1")]),
    Fault("ring-rx", false, &[Swap("ioctl/gstrings", "rx_queue_1_packets", "rx_missed_errors")]),
    Fault("tx-drops", false, &[Swap("ioctl/gstrings", "tx_queue_1_packets", "tx_fifo_errors")]),
    Fault("crc-errors", false, &[Swap("ioctl/gstrings", "rx_queue_1_packets", "rx_crc_errors")]),
    Fault("length-errors", false, &[Swap("ioctl/gstrings", "rx_queue_1_packets", "rx_length_errors")]),
    Fault("collisions", false, &[Swap("ioctl/gstrings", "rx_queue_1_packets", "collisions")]),
    Fault("pause-frames", false, &[Swap("netlink/pause", "4 u8 1\n", "4 u8 1\n5 {\n  2 u64 7\n  3 u64 9\n}\n")]),
    Fault("pause-unlike", false, &[Swap("netlink/pause", "4 u8 1", "4 u8 0")]),
    Fault(
        "fec-errors",
        true,
        &[Put(
            "netlink/fec",
            "message\n3 u8 1\n4 u32 50\n5 {\n  2 hex 0c00000000000000\n  3 hex 0100000000000000\n}\n",
        )],
    ),
    Fault("carrier-flaps", false, &[Swap(LINK, "48 u32 1", "48 u32 50")]),
    Fault("one-queue", true, &[Swap("netlink/channels", "9 u32 4", "9 u32 1")]),
    Fault(
        "irqs-on-one-core",
        true,
        &[Put("proc/irq/164/effective_affinity_list", "2"), Put("proc/irq/165/effective_affinity_list", "2")],
    ),
    Fault("irq-far", true, &[Put("proc/irq/165/effective_affinity_list", "9")]),
    Fault(
        "irqbalance",
        false,
        &[
            Put("proc/irq/164/smp_affinity_list", "0"),
            Put("proc/irq/165/smp_affinity_list", "1"),
            Put("proc/812/comm", "irqbalance\n"),
            Put("proc/812/cmdline", "/usr/sbin/irqbalance\0--banirq=164\0"),
        ],
    ),
    Fault("xps", false, &[Put(QUEUES[0], "0"), Put(QUEUES[1], "0"), Put(QUEUES[2], "0"), Put(QUEUES[3], "00,0")]),
    Fault(
        "rps-on-multiqueue",
        false,
        &[Put(QUEUES[4], "f"), Put(QUEUES[5], "0"), Put(QUEUES[6], "0"), Put(QUEUES[7], "0")],
    ),
    Fault("coalesce-lazy", false, &[Swap("netlink/coalesce", "2 u32 1", "2 u32 250")]),
    Fault("coalesce-eager", false, &[Swap("netlink/coalesce", "2 u32 1", "2 u32 0\n3 u32 1")]),
    Fault(
        "mtu-of-lower",
        true,
        &[Swap(
            LINK,
            END,
            "57 text pci\n5 u32 77\nmessage\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 77\nraw u32 0x1002\nraw u32 0\n3 text low\n4 u32 1400\n",
        )],
    ),
    Fault("bond-half", true, &[BONDED, MEMBERS, Swap(BOND, "b\nMII Status: up", "b\nMII Status: down")]),
    Fault("bond-half", true, &[BONDED, Swap(LINK, "92\nraw u32 0x11843", "92\nraw u32 0x1803"), MEMBERS]),
    Fault("bond-half", true, &[BONDED, MEMBERS, Swap(BOND, "Speed: 10000", "Speed: 1000")]),
    Fault("bond-half", true, &[BONDED, MEMBERS, Swap(BOND, "Duplex: full", "Duplex: half")]),
    Fault(
        "bond-half",
        false,
        &[BONDED, MEMBERS, Swap(BOND, "Speed: 10000", "Speed: 1000"), Swap(BOND, "load balancing", "active-backup")],
    ),
    Fault("bond-unwatched", true, &[BONDED, MEMBERS, Swap(BOND, "(ms): 100", "(ms): 0")]),
    Fault(
        "module-options",
        true,
        &[Put("etc/modprobe.d/ixgbe.conf", "options ixgbe max_vfs=0\noptions ixgbe max-vfs=4\n")],
    ),
    Fault("mtu-small", true, &[Swap(LINK, "4 u32 1500", "4 u32 576")]),
    Fault("xdp-generic", true, &[Swap(LINK, END, "57 text pci\n43 {\n  2 u8 2\n  4 u32 7\n}\n")]),
    Fault("xdp-copy", false, &[Swap("netlink/netdev-dev", "3 u64 0x6f", "3 u64 0x67")]),
    Fault("promiscuous", false, &[Swap(LINK, "30 u32 0", "30 u32 1")]),
    Fault("shaped", true, &[Swap(LINK, "6 text mq", "6 text tbf")]),
    Fault("no-queue", true, &[Swap(LINK, "6 text mq", "6 text noqueue")]),
    Fault("eee", false, &[Put("netlink/eee", "message\n4 u8 1\n5 u8 1\n")]),
    Fault(
        "duplicate-address",
        true,
        &[Swap(
            LINK,
            END,
            "57 text pci\nmessage\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 78\nraw u32 0x1002\nraw u32 0\n3 text twin\n1 hex 1402ec961d44\n",
        )],
    ),
    Fault("buffers-tcp", true, &[Put("proc/sys/net/ipv4/tcp_rmem", "4096 131072 212992")]),
    Fault("tcp-memory", true, &[Put("proc/net/sockstat", "TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 383869\n")]),
    Fault("tcp-memory", false, &[Swap(NETSTAT, "0 0 0", "0 0 3")]),
    Fault("listen-drops", false, &[Swap(NETSTAT, "0 0 0", "5 7 0")]),
    Fault("firmware-stored", true, &[Swap(DEVLINK, "104 text 2.0\n}\n102", "104 text 1.9\n}\n102")]),
    Fault(
        "driver-firmware",
        true,
        &[Swap("ioctl/drvinfo", "field32 ixgbe\nraw field32 5.3.7\nraw field32 0x80000897, 1.1446.0", BE2NET)],
    ),
    Fault("udp-drops", false, &[Swap(SNMP, "Udp: 9000 0 0", "Udp: 9000 7 0")]),
    Fault("checksum-errors", false, &[Swap(SNMP, "Tcp: 90000 90000 20 0", "Tcp: 90000 90000 20 3")]),
    Fault("checksum-errors", false, &[Put("proc/net/snmp6", "Udp6RcvbufErrors \t0\nUdp6InCsumErrors \t4\n")]),
    Fault("checksum-errors", false, &[Swap(SNMP, "Ip: 2 99000 0", "Ip: 2 99000 5")]),
    Fault("udp-drops", false, &[Put("proc/net/snmp6", "Udp6RcvbufErrors                \t9\n")]),
    Fault("retransmits", false, &[Swap(SNMP, "Tcp: 90000 90000 20", "Tcp: 90000 90000 1000")]),
    Fault("buffers-socket", true, &[Put("proc/sys/net/core/wmem_max", "65536")]),
    Fault("tcp-options", true, &[Put("proc/sys/net/ipv4/tcp_sack", "0")]),
    Fault("congestion-control", false, &[Put("proc/sys/net/ipv4/tcp_congestion_control", "reno")]),
    Fault("backlog", true, &[Put("proc/net/softnet_stat", "0000ffff 00000010 00000000\n00001234 00000000 00000000\n")]),
    Fault("backlog", true, &[Put("proc/sys/net/core/netdev_budget", "16")]),
    Fault("governor", false, &[Put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave")]),
    Fault(
        "idle-states",
        false,
        &[
            Put("sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "200"),
            Put("sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "0"),
        ],
    ),
    Fault("clock-source", true, &[Put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")]),
    Fault("swap", false, &[Put("proc/meminfo", "SwapTotal: 4194304 kB\nSwapFree: 1048576 kB\n")]),
    Fault(
        "conntrack",
        true,
        &[
            Put("proc/sys/net/netfilter/nf_conntrack_max", "1000"),
            Put("proc/sys/net/netfilter/nf_conntrack_count", "990"),
        ],
    ),
    Fault("firewall", false, &[Put("proc/net/ip_tables_names", "filter\nnat\n")]),
    Fault("reverse-path", false, &[Put("proc/sys/net/ipv4/conf/all/rp_filter", "1")]),
    Fault(
        "neighbours",
        false,
        &[Put(
            "proc/net/arp",
            "IP address HW type Flags HW address Mask Device\n10.0.0.9 0x1 0x0 00:00:00:00:00:00 * ens2f0\n",
        )],
    ),
    Fault(
        "neighbour-table",
        true,
        &[
            Put("proc/sys/net/ipv4/neigh/default/gc_thresh3", "3"),
            Put(ARP, "IP address\n10.0.0.2 0x1 0x2 02:00:00:00:00:02 * a\n10.0.0.3 0x1 0x2 02:00:00:00:00:03 * a\n"),
            Put("proc/net/stat/arp_cache", "entries table_fulls\n00000002 0000000a\n00000002 00000001\n"),
        ],
    ),
    Fault("asymmetric-route", false, &[SECOND, BOTH]),
    Fault("asymmetric-route", true, &[SECOND, BOTH, Put("proc/sys/net/ipv4/conf/all/rp_filter", "1")]),
    Fault("not-persistent", false, &[RMEM]),
    Fault("persistent-differs", true, &[Put("etc/sysctl.d/90-x.conf", "net.ipv4.tcp_rmem = 4096 131072 16777216\n")]),
    Fault("persistent-differs", true, &[Put("etc/sysctl.conf", "-net/ipv4/tcp_sack=0")]),
];

/// Changes that are near a rule's fault, and none.
const SILENT: &[(&str, &[Edit])] = &[
    // No version is stored, or of something that does not run; another driver, and one release.
    ("firmware-stored", &[Swap(DEVLINK, "102 {\n103 text fw\n", "102 {\n103 text fw.app\n")]),
    ("driver-firmware", &[Swap("ioctl/drvinfo", "field32 5.3.7", "field32 4.0.360")]),
    (
        "driver-firmware",
        &[Swap(
            "ioctl/drvinfo",
            "field32 ixgbe\nraw field32 5.3.7\nraw field32 0x80000897, 1.1446.0",
            "field32 oce\nraw field32 4.0.355.1\nraw field32 4.0.360.15",
        )],
    ),
    ("checksum-errors", &[Put("proc/net/snmp6", "Udp6RcvbufErrors \t3\nUdp6InCsumErrors \t0\n")]),
    ("udp-drops", &[Swap(SNMP, "Udp: 9000 0 0", "Udp: 9000 0 7")]),
    // Few again, and few at all.
    ("retransmits", &[Swap(SNMP, "Tcp: 90000 90000 20", "Tcp: 90000 90000 800")]),
    ("retransmits", &[Swap(SNMP, "Tcp: 90000 90000 20", "Tcp: 90000 900 200")]),
    ("irqbalance", &TIED),
    ("irqbalance", &[BALANCED]),
    (
        "irqbalance",
        &[
            Put("proc/irq/164/smp_affinity_list", "0"),
            Put("proc/irq/165/smp_affinity_list", "1"),
            BALANCED,
            Put("proc/812/cmdline", "irqbalance\0--banirq=164\0-i\x00165\0"),
        ],
    ),
    ("xps", &[Put(QUEUES[0], "0"), Put(QUEUES[1], "0")]),
    ("xps", &[Put(QUEUES[0], "0"), Put(QUEUES[1], "0"), Put(QUEUES[2], "0"), Put(QUEUES[3], "8")]),
    ("rps-on-multiqueue", &[Put(QUEUES[4], "f"), Put(QUEUES[5], "f")]),
    ("rps-on-multiqueue", &[Put(QUEUES[6], "0"), Put(QUEUES[7], "0")]),
    ("vlan-offload", &[Off("rx-vlan-hw-parse", false)]),
    ("vlan-offload", &[VLAN]),
    ("bond-half", &[BONDED, MEMBERS]),
    ("bond-half", &[BONDED, MEMBERS, Swap(BOND, "Speed: 10000 Mbps", "Speed: Unknown")]),
    ("bond-unwatched", &[BONDED, MEMBERS]),
    ("bond-unwatched", &[BONDED, MEMBERS, Swap(BOND, "(ms): 100", "(ms): 0\nARP Polling Interval (ms): 50")]),
    ("module-options", &[Put("etc/modprobe.d/ixgbe.conf", "# options ixgbe max_vfs=4\noptions ixgb max_vfs=4\n")]),
    (
        "module-options",
        &[Put("etc/modprobe.d/ixgbe.conf", "options ixgbe max_vfs=4\noptions ixgbe \\\n max_vfs=0x0\n")],
    ),
    (
        "module-options",
        &[Put("etc/modprobe.d/ixgbe.conf", "options ixgbe max_vfs=4"), Put("proc/cmdline", "ixgbe.max_vfs=0")],
    ),
    (
        "module-options",
        &[
            Put("sys/module/ixgbe/parameters/allow_unsupported_sfp", "Y"),
            Put("etc/modprobe.d/x.conf", "options ixgbe allow_unsupported_sfp=1 other=3"),
        ],
    ),
    (
        "neighbour-table",
        &[
            Put("proc/sys/net/ipv4/neigh/default/gc_thresh3", "3"),
            Put(ARP, "IP address\n10.0.0.2 0x1 0x6 02:00:00:00:00:02 * a\n10.0.0.3 0x1 0x2 02:00:00:00:00:03 * a\n"),
        ],
    ),
    // The other one is not there; has a gateway; is a host; is another subnet; or each answers for itself.
    ("asymmetric-route", &[BOTH]),
    (
        "asymmetric-route",
        &[SECOND, BOTH, Swap(ROUTE, "ens2f1 0000000A 00000000 0001", "ens2f1 0000000A 0100000A 0003")],
    ),
    (
        "asymmetric-route",
        &[SECOND, BOTH, Swap(ROUTE, "ens2f1 0000000A 00000000 0001", "ens2f1 0000000A 00000000 0005")],
    ),
    ("asymmetric-route", &[SECOND, BOTH, Swap(ROUTE, "ens2f1 0000000A", "ens2f1 0001000A")]),
    (
        "asymmetric-route",
        &[
            SECOND,
            BOTH,
            Put("proc/sys/net/ipv4/conf/all/arp_ignore", "1"),
            Put("proc/sys/net/ipv4/conf/ens2f0/arp_announce", "2"),
        ],
    ),
    ("not-persistent", &[RMEM, Put("etc/sysctl.d/10-a.conf", "net/core/rmem_max=8388608")]),
    ("not-persistent", &[RMEM, Put("etc/sysctl.d/10-a.conf", "net.core.*mem_max = 8388608")]),
    ("not-persistent", &[RMEM, Put("proc/cmdline", "quiet sysctl.net.core.rmem_max=8388608")]),
    (
        "persistent-differs",
        &[Put("run/sysctl.d/90-x.conf", "net.ipv4.tcp_sack=0"), Put("etc/sysctl.d/91-y.conf", "net.ipv4.tcp_sack = 1")],
    ),
    ("persistent-differs", &[Put("lib/sysctl.d/60-x.conf", "net.ipv4.tcp_sack=0"), Put("etc/sysctl.d/60-x.conf", "")]),
    (
        "persistent-differs",
        &[Put("etc/sysctl.d/90-x.conf", "net.ipv4.tcp_sack = 1"), Put("etc/sysctl.conf", "net.ipv4.tcp_sack = 0")],
    ),
    (
        "persistent-differs",
        &[Put(
            "etc/sysctl.d/90-x.conf",
            "#net.ipv4.tcp_sack=0\n; net.ipv4.tcp_sack=0\nnet.ipv4.conf.*.rp_filter=0\nnet.ipv4.none=1\n\
             net.ipv4.tcp_rmem = 4096   0x20000 6291456\n-net.ipv4.tcp_sack\n",
        )],
    ),
];

/// Settings of a healthy machine.
const HEALTHY: &[(&str, &str)] = &[
    ("proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456"),
    ("proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304"),
    ("proc/sys/net/core/rmem_max", "4194304"),
    ("proc/sys/net/core/wmem_max", "4194304"),
    ("proc/sys/net/ipv4/tcp_window_scaling", "1"),
    ("proc/sys/net/ipv4/tcp_sack", "1"),
    ("proc/sys/net/ipv4/tcp_timestamps", "1"),
    ("proc/sys/net/ipv4/tcp_congestion_control", "cubic"),
    ("proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic"),
    ("proc/sys/net/ipv4/tcp_slow_start_after_idle", "1"),
    ("proc/sys/net/ipv4/ip_forward", "0"),
    ("proc/sys/net/ipv4/conf/all/rp_filter", "2"),
    ("proc/sys/net/core/netdev_max_backlog", "1000"),
    ("proc/sys/net/core/netdev_budget", "300"),
    ("proc/sys/net/core/busy_read", "0"),
    ("proc/net/softnet_stat", "0000ffff 00000000 00000000\n"),
    ("proc/net/arp", "IP address HW type Flags HW address Mask Device\n"),
    ("proc/net/route", "Iface Destination Gateway\nens2f0 0000000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"),
    (
        "proc/net/netstat",
        "TcpExt: ListenOverflows ListenDrops TCPMemoryPressures\nTcpExt: 0 0 0\nIpExt: InOctets\nIpExt: 9\n",
    ),
    (
        DEVLINK,
        "message\n1 text pci\n2 text 0000:05:00.0\n101 {\n103 text fw\n104 text 2.0\n}\n102 {\n103 text fw\n104 text 2.0\n}\n",
    ),
    (
        SNMP,
        "Ip: Forwarding InReceives InHdrErrors\nIp: 2 99000 0\nIcmp: InMsgs InErrors InCsumErrors\nIcmp: 12 0 0\nIcmpMsg: InType0\n\
         IcmpMsg: 12\nTcp: InSegs OutSegs RetransSegs InCsumErrors\nTcp: 90000 90000 20 0\nUdp: InDatagrams RcvbufErrors InCsumErrors\n\
         Udp: 9000 0 0\n",
    ),
    ("proc/net/sockstat", "sockets: used 18\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem 146\nUDP: inuse 0 mem 0\n"),
    ("proc/sys/net/ipv4/tcp_mem", "287901\t383868\t575802"),
    ("proc/sys/net/core/somaxconn", "4096"),
    ("proc/sys/net/ipv4/neigh/default/gc_thresh3", "1024"),
    ("proc/sys/kernel/numa_balancing", "0"),
    ("sys/devices/system/node/online", "0"),
    ("proc/1/comm", "systemd"),
    ("etc/sysctl.conf", "# net.ipv4.tcp_sack = 0\n"),
    ("usr/lib/sysctl.d/50-default.conf", "-net.ipv4.conf.all.rp_filter = 2\n"),
    ("etc/modprobe.d/ixgbe.conf", "options ixgbe max_vfs=0\n"),
    ("sys/module/ixgbe/parameters/max_vfs", "0"),
    ("proc/meminfo", "SwapTotal: 0 kB\nSwapFree: 0 kB\n"),
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/devices/system/cpu/smt/active", "0"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet"),
    ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "128"),
];

/// Offloads, and whether they are on in a healthy tree.
const FEATURES: &[(&str, bool)] = &[
    ("rx-checksum", true),
    ("tx-checksum-ip-generic", true),
    ("tx-scatter-gather", true),
    ("tx-tcp-segmentation", true),
    ("tx-generic-segmentation", true),
    ("rx-gro", true),
    ("rx-lro", false),
    ("rx-vlan-hw-parse", true),
];

/// FEATURES_GET's answer in the notation of recorded trees: what can be switched, is asked for, and is on.
fn features(on: impl Fn(&str) -> [bool; 2]) -> String {
    let set = |kind: u32, is_in: &dyn Fn(&str) -> bool| {
        let bits = FEATURES.iter().enumerate().map(|(bit, (name, _))| {
            let value = if is_in(name) { "3 flag\n" } else { "" };
            format!("1 {{\n1 u32 {bit}\n2 text {name}\n{value}}}\n")
        });
        format!("{kind} {{\n2 u32 {}\n3 {{\n{}}}\n}}\n", FEATURES.len(), bits.collect::<String>())
    };
    format!("message\n{}{}{}", set(2, &|_| true), set(3, &|name| on(name)[0]), set(4, &|name| on(name)[1]))
}

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(edits: &[&Edit]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        let card = format!("{CARDS}/ixgbe-82599/.");
        assert!(
            Command::new("cp").arg("-a").args([&card, tree.0.path().to_str().unwrap()]).status().unwrap().success()
        );
        HEALTHY.iter().for_each(|(path, text)| tree.put(path, text));
        tree.put("netlink/pause", "message\n2 u8 0\n3 u8 1\n4 u8 1\n");
        let mut on: Vec<(&str, [bool; 2])> = FEATURES.iter().map(|(name, on)| (*name, [*on; 2])).collect();
        let mut set = |name: &str, to| on.iter_mut().filter(|one| one.0 == name).for_each(|one| one.1 = to);
        for edit in edits {
            match edit {
                Put(path, text) => tree.put(&path.replace("PCI", PCI), text),
                Swap(path, from, to) => {
                    let text = fs::read_to_string(tree.at(path)).unwrap();
                    assert!(text.contains(from), "{path} has no {from:?}: {text}");
                    tree.put(path, &text.replacen(from, to, 1));
                }
                Off(name, asked) => set(name, [*asked, false]),
                On(name) => set(name, [true; 2]),
            }
        }
        tree.put("netlink/features", &features(|name| on.iter().find(|one| one.0 == name).unwrap().1));
        tree
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn examined(&self, loads: &[Load]) -> Examination {
        let asked = Asked { names: &[NAME.to_owned()], loads, tree: Some(self.0.path()), ..Asked::default() };
        examine(&asked, &Stop::new().unwrap()).unwrap()
    }
}

fn needs_peer(rule: &Rule) -> bool {
    matches!(rule.scope, Scope::Peer | Scope::Ends)
}

fn found(examination: &Examination, rule: &str) -> Option<Severity> {
    examination.findings.iter().filter(|finding| finding.rule == rule).map(|finding| finding.severity).max()
}

#[test]
fn a_healthy_machine_has_no_warning_whatever_it_is_for() {
    for (word, load) in Load::ALL {
        let examined = Tree::new(&[]).examined(&[load]);
        let worse: Vec<&Finding> = examined.findings.iter().filter(|one| one.severity > Severity::Note).collect();
        // What forwards must forward.
        let expected = if load == Load::Forward { 1 } else { 0 };
        assert_eq!(worse.len(), expected, "{word}: {worse:#?}");
    }
    let examined = Tree::new(&[]).examined(&[]);
    assert!(examined.findings.is_empty(), "{:#?}", examined.findings);
    let all = RULES.iter().filter(|rule| !needs_peer(rule)).count();
    assert!(examined.healthy + examined.unable.len() == all && examined.healthy > 50, "{:?}", examined.unable);
}

#[test]
fn each_fault_is_found_with_its_evidence_and_what_to_type() {
    for Fault(rule, grave, edits) in FAULTS {
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
    let places = |fault: &Fault| -> Vec<&str> {
        let place = |edit: &Edit| match edit {
            Put(path, _) | Swap(path, _, _) => *path,
            Off(..) | On(_) => "features",
        };
        fault.2.iter().map(place).collect()
    };
    let mut pairs = 0;
    while pairs < 20 {
        let (a, b) = (&FAULTS[below(FAULTS.len())], &FAULTS[below(FAULTS.len())]);
        // Two changes of one place are one fault.
        if places(a).iter().any(|place| places(b).contains(place)) {
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
    // Seen between real kernels, or asked for by a load.
    const ELSEWHERE: [&str; 9] = [
        "veth-checksums",
        "mtu-of-members",
        "slow-start-after-idle",
        "busy-poll",
        "siblings",
        "huge-pages",
        "forwarding",
        "somaxconn",
        "numa-balancing",
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
    };
    let mut seen = std::collections::BTreeSet::new();
    for (probed, expected) in [
        (well.clone(), None),
        (Probed { mtu: 65_536, largest: 65_535, ..well.clone() }, None),
        (Probed { largest: 1500, ..well.clone() }, Some(("path-mtu", "packets of up to 1500 bytes come back"))),
        (Probed { answered: 18, ..well.clone() }, Some(("peer-loss", "2 of 20 echo requests"))),
        (Probed { answered: 0, asked: 4, times: None, largest: 0, ..well }, Some(("peer-silent", "none of 4"))),
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
            ([(rule, what, "192.0.2.7")], Some((name, words))) => {
                assert!(*rule == name && what.contains(words), "{found:?}");
                seen.insert(name);
            }
            _ => panic!("{expected:?}: {:#?}", examination.findings),
        }
        assert!(examination.findings.iter().all(|one| !one.evidence.is_empty() && one.mend.is_some()));
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
        (LinkEnd { mtu: Some(9000), ..same.clone() }, Some(("ends-mtu", Severity::Warning))),
        (LinkEnd { speed: Some(25_000), ..same.clone() }, Some(("ends-speed", Severity::Note))),
        (LinkEnd { pause: Some([true, false]), ..same }, Some(("ends-pause", Severity::Note))),
    ] {
        let all = examined(end).findings;
        let found: Vec<_> = all.iter().map(|one| (&*one.rule, one.severity)).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{all:#?}");
        seen.extend(expected.map(|(rule, _)| rule));
        assert!(all.iter().all(|one| one.evidence.len() == 2 && one.mend.is_some() && one.subject == NAME), "{all:#?}");
    }
    assert_eq!(seen.len(), RULES.iter().filter(|rule| rule.scope == Scope::Ends).count());
    let paused = examined(LinkEnd { pause: Some([true, false]), ..LinkEnd::default() });
    assert_eq!(paused.findings[0].mend.as_deref(), Some("ethtool -A ens2f0 rx off tx on"));
}

#[test]
fn what_grows_while_it_is_looked_at_is_graver() {
    use linerate_host::adapter::Recorded;
    for (rule, file, now, then) in [
        ("listen-drops", NETSTAT, "0 0 0", "5 7 0"),
        ("udp-drops", SNMP, "Udp: 9000 0 0", "Udp: 9000 7 0"),
        ("checksum-errors", SNMP, "Icmp: 12 0 0", "Icmp: 12 0 1"),
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

#[test]
fn changes_do_what_is_to_be_typed() {
    // Sets of values in the order in which they are made: what others need first.
    let edits = [
        Off("tx-tcp-segmentation", false),
        Off("tx-checksum-ip-generic", false),
        Swap("netlink/channels", "9 u32 4", "9 u32 1"),
        Put("proc/sys/net/ipv4/tcp_sack", "0"),
        Put("proc/irq/165/effective_affinity_list", "9"),
    ];
    let examined = Tree::new(&edits.iter().collect::<Vec<_>>()).examined(&[]);
    let steps = plan(&examined, &[]);
    let all: Vec<String> =
        steps.iter().flat_map(|step| &step.mends).map(|mend| format!("{}={}", mend.knob, mend.to)).collect();
    assert_eq!(
        all,
        [
            "net.ipv4.tcp_sack=1",
            "/proc/irq/165/smp_affinity_list=0-7,16-23",
            "ens2f0 combined=4",
            "ens2f0 tx-checksum-ip-generic=on",
            "ens2f0 tx-tcp-segmentation=on"
        ]
    );
    let only = plan(&examined, &["tso".to_owned()]);
    assert!(only.len() == 1 && only[0].rule == "tso" && planned(&only).lines().all(|line| line.len() <= 80));
    // What has a command of another kind has no change.
    let shaped = Tree::new(&[&Swap(LINK, "6 text mq", "6 text tbf")]).examined(&[]);
    assert!(found(&shaped, "shaped").is_some() && plan(&shaped, &[]).is_empty());
}

#[test]
fn what_a_load_needs_is_said_for_it() {
    for (rule, load, edits) in [
        ("slow-start-after-idle", Load::Tcp, &[][..]),
        ("busy-poll", Load::Udp, &[]),
        ("siblings", Load::Tcp, &[Put("sys/devices/system/cpu/smt/active", "1")]),
        ("huge-pages", Load::PktGen, &[Put("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0")]),
        ("forwarding", Load::Forward, &[]),
        ("somaxconn", Load::Tcp, &[Put("proc/sys/net/core/somaxconn", "128")]),
        (
            "numa-balancing",
            Load::Udp,
            &[Put("proc/sys/kernel/numa_balancing", "1"), Put("sys/devices/system/node/online", "0-1")],
        ),
    ] {
        let tree = Tree::new(&edits.iter().collect::<Vec<_>>());
        assert!(found(&tree.examined(&[]), rule).is_none(), "{rule}");
        assert!(found(&tree.examined(&[load]), rule).is_some(), "{rule}");
    }
    let copies = Tree::new(&[&Swap("netlink/netdev-dev", "3 u64 0x6f", "3 u64 0x67")]);
    let severity = |loads: &[Load]| found(&copies.examined(loads), "xdp-copy");
    assert_eq!((severity(&[]), severity(&[Load::PktGen])), (Some(Severity::Note), Some(Severity::Warning)));
}

#[test]
fn lines_have_80_columns_and_no_commands_to_the_terminal() {
    let edits = [Swap(LINK, "6 text mq", "6 text tbf"), Swap("netlink/coalesce", "2 u32 1", "2 u32 250")];
    let mut examined = Tree::new(&edits.iter().collect::<Vec<_>>()).examined(&[]);
    examined.findings[0].what.push_str(" \x1b[2J\u{7}");
    let text = render(&examined, false);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(
        !text.contains(['\x1b', '\u{7}']) && text.contains("[shaped]") && text.contains("1 warning, 1 note"),
        "{text}"
    );
    assert!(render(&examined, true).starts_with("\x1b[33mwarning\x1b[0m"));
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
    assert!(said(&freebsd).contains("it is of a FreeBSD host"), "{}", said(&freebsd));
}
