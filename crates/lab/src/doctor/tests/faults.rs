//! Faults, each with the changes of a tree that make it, and changes near one that make none.

/// A change of a tree.
pub(super) enum Edit {
    /// A file is written.
    Put(&'static str, &'static str),
    /// A part of a file is replaced.
    Swap(&'static str, &'static str, &'static str),
    /// An offload is off; true if it was asked for.
    Off(&'static str, bool),
    /// An offload is on.
    On(&'static str),
    /// Device Control and Link Control of the adapter's PCI Express capability.
    Space(u16, u16),
}
pub(super) use Edit::{Off, On, Put, Space, Swap};

/// A fault: the rule that finds it, whether as more than a note, how the tree is changed, and what is to be typed.
pub(super) struct Fault(
    pub(super) &'static str,
    pub(super) bool,
    pub(super) &'static [Edit],
    pub(super) &'static [&'static str],
);

impl Fault {
    /// Files that it changes.
    pub(super) fn places(&self) -> Vec<&'static str> {
        let place = |edit: &Edit| match edit {
            Put(path, _) | Swap(path, _, _) => *path,
            Off(..) | On(_) => "features",
            Space(..) => "config",
        };
        self.2.iter().map(place).collect()
    }
}

pub(super) const LINK: &str = "netlink/link";
/// Behind the message of the interface itself.
pub(super) const END: &str = "57 text pci\n";

/// Zeros in hexadecimal digits.
macro_rules! zeros {
    (8) => {
        "0000000000000000"
    };
    (24) => {
        concat!(zeros!(8), zeros!(8), zeros!(8))
    };
    (64) => {
        concat!(zeros!(24), zeros!(24), zeros!(8), zeros!(8))
    };
}

/// dcbnl tells these attributes.
macro_rules! dcb {
    ($($part:expr),*) => {
        Put("netlink/dcb", concat!("message\nraw hex 00150000\n13 {\n", $($part),*, "}\n"))
    };
}

/// `struct ieee_pfc`: attribute, lossless priorities, allowance for the link, pauses received for priority 3.
macro_rules! pfc {
    ($kind:literal, $bits:literal, $delay:literal) => {
        pfc!($kind, $bits, $delay, "00")
    };
    ($kind:literal, $bits:literal, $delay:literal, $came:literal) => {
        concat!(
            $kind,
            " hex 08",
            $bits,
            "0000",
            $delay,
            "0000",
            zeros!(64),
            zeros!(24),
            $came,
            "00000000000000",
            zeros!(24),
            zeros!(8),
            "\n"
        )
    };
}

/// `struct ieee_ets`: attribute, willing, and of the first four: shares, algorithms, classes of priorities.
macro_rules! ets {
    ($kind:literal, $willing:literal, $shares:literal, $algorithms:literal, $classes:literal) => {
        concat!(
            $kind,
            " hex ",
            $willing,
            "0800",
            $shares,
            "00000000",
            zeros!(8),
            $algorithms,
            "00000000",
            $classes,
            "00000000",
            zeros!(24),
            "\n"
        )
    };
}

/// Buffer 1, of priority 3, has so many bytes (32 bits, little-endian).
macro_rules! buffer {
    ($size:literal) => {
        concat!("10 hex 0000000100000000 00000100", $size, zeros!(24), "00000400\n")
    };
}

/// FCoE has priority 3.
macro_rules! fcoe {
    () => {
        "3 {\n1 hex 01030689\n}\n"
    };
}

/// The interface is a bond of `a` and `b`.
pub(super) const BONDED: Edit = Swap(
    LINK,
    END,
    "57 text pci\n18 {\n1 text bond\n}\n\
     message\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 91\nraw u32 0x11843\nraw u32 0\n3 text a\n10 u32 12\n\
     message\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 92\nraw u32 0x11843\nraw u32 0\n3 text b\n10 u32 12\n",
);
pub(super) const BOND: &str = "proc/net/bonding/ens2f0";
pub(super) const MEMBERS: Edit = Put(
    BOND,
    "Bonding Mode: load balancing (round-robin)\nMII Status: up\nMII Polling Interval (ms): 100\n\n\
     Slave Interface: a\nMII Status: up\nSpeed: 10000 Mbps\nDuplex: full\n\n\
     Slave Interface: b\nMII Status: up\nSpeed: 10000 Mbps\nDuplex: full\n",
);

/// A second interface, which runs.
pub(super) const SECOND: Edit = Swap(
    LINK,
    END,
    "57 text pci\nmessage\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 93\nraw u32 0x11043\nraw u32 0\n3 text ens2f1\n",
);
/// A VLAN above the interface.
pub(super) const VLAN: Edit = Swap(
    LINK,
    END,
    "57 text pci\nmessage\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 94\nraw u32 0x11043\nraw u32 0\n3 text v5\n5 u32 12\n\
     18 {\n1 text vlan\n}\n",
);
pub(super) const ROUTE: &str = "proc/net/route";
/// 10.0.0.0/24 by the second interface first, and by the first.
pub(super) const BOTH: Edit = Put(
    ROUTE,
    "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
     ens2f0 0000000A 00000000 0001 0 0 200 00FFFFFF 0 0 0\nens2f1 0000000A 00000000 0001 0 0 100 00FFFFFF 0 0 0\n",
);

pub(super) const TIED: [Edit; 2] =
    [Put("proc/irq/164/smp_affinity_list", "0"), Put("proc/irq/165/smp_affinity_list", "1")];
pub(super) const BALANCED: Edit = Put("proc/812/comm", "irqbalance\n");
/// Maps of four queues each way.
pub(super) const QUEUES: [&str; 8] = [
    "sys/class/net/ens2f0/queues/tx-0/xps_cpus",
    "sys/class/net/ens2f0/queues/tx-1/xps_cpus",
    "sys/class/net/ens2f0/queues/tx-2/xps_cpus",
    "sys/class/net/ens2f0/queues/tx-3/xps_cpus",
    "sys/class/net/ens2f0/queues/rx-0/rps_cpus",
    "sys/class/net/ens2f0/queues/rx-1/rps_cpus",
    "sys/class/net/ens2f0/queues/rx-2/rps_cpus",
    "sys/class/net/ens2f0/queues/rx-3/rps_cpus",
];
pub(super) const RMEM: Edit = Put("proc/sys/net/core/rmem_max", "8388608");
pub(super) const NETSTAT: &str = "proc/net/netstat";
pub(super) const SNMP: &str = "proc/net/snmp";
pub(super) const DEVLINK: &str = "netlink/devlink-info";
pub(super) const BE2NET: &str = "field32 be2net\nraw field32 12.0.0.0\nraw field32 11.1.1210.11";
pub(super) const ARP: &str = "proc/net/arp";

/// The link has 100 Gb/s.
const SPEED: Edit = Swap("netlink/linkmodes", "5 u32 10000", "5 u32 100000");
const GROUP: &str = "PCI/iommu_group/type";
const QDISC: &str = "proc/sys/net/core/default_qdisc";
const FREE: &str = "proc/sys/vm/min_free_kbytes";
const ENTRIES: &str = "proc/sys/net/core/rps_sock_flow_entries";
const FLOWS: &str = "sys/class/net/ens2f0/queues/rx-0/rps_flow_cnt";
/// The link has 1 Gb/s.
const SLOW: Edit = Swap("netlink/linkmodes", "5 u32 10000", "5 u32 1000");

pub(super) const FAULTS: &[Fault] = &[
    Fault(
        "pcie-requests",
        true,
        &[Space(0x1010, 0)],
        &["setpci -s 0000:05:00.0 CAP_EXP+8.w=5000:7000, or 'Max Read Request' in the firmware's set-up"],
    ),
    Fault(
        "pcie-requests",
        false,
        &[SPEED, Space(0x5000, 0)],
        &[
            "setpci -s 0000:05:00.0 CAP_EXP+8.w=0010:0010, if its driver has not switched it off for a fault of the machine",
        ],
    ),
    Fault(
        "pcie-errors",
        true,
        &[Put("PCI/aer_dev_correctable", "RxErr 812\nBadTLP 4\nTOTAL_ERR_COR 816\n")],
        &["seat card and riser anew, or take another slot; then firmware of card and machine"],
    ),
    Fault(
        "pcie-errors",
        false,
        &[Put("PCI/aer_dev_correctable", "RxErr 2\nBadTLP 0\n")],
        &["seat card and riser anew, or take another slot; then firmware of card and machine"],
    ),
    Fault(
        "fec-off",
        false,
        &[
            SPEED,
            Swap("netlink/linkmodes", "10000baseSR/Full", "100000baseCR4/Full"),
            Put("netlink/fec", "message\n4 u32 49\n"),
        ],
        &["ethtool --set-fec ens2f0 encoding rs, and the same at the other end"],
    ),
    Fault(
        "rss-table",
        true,
        &[Put("netlink/rss", "message\n4 hex 0000000000000000\n")],
        &["ethtool -X ens2f0 equal 4"],
    ),
    Fault(
        "allowances",
        false,
        &[Swap("ioctl/gstrings", "rx_queue_1_packets", "pps_allowance_exceeded")],
        &[
            "a greater instance, fewer packets (MTU 9001 within a VPC), or fewer connections that its security groups track",
        ],
    ),
    Fault(
        "bond-lacp",
        true,
        &[
            BONDED,
            Put(
                BOND,
                "Bonding Mode: IEEE 802.3ad Dynamic link aggregation\nMII Polling Interval (ms): 100\nActive Aggregator Info:\n\
             \tAggregator ID: 1\n\nSlave Interface: a\nMII Status: up\nAggregator ID: 1\n\nSlave Interface: b\nMII Status: up\n\
             Aggregator ID: 2\n",
            ),
        ],
        &["at the partner: its port into the same channel (LAG) as the others, with LACP on"],
    ),
    Fault(
        "kernel-log",
        true,
        &[Put("var/log/dmesg", "[ 9.5] NETDEV WATCHDOG: ens2f0 (ixgbe): transmit queue 3 timed out\n")],
        &["firmware and driver of one release; to see whether an offload does it: ethtool -K DEV tso off gso off"],
    ),
    Fault(
        "aspm",
        false,
        &[Space(0x2010, 2)],
        &[
            "echo performance > /sys/module/pcie_aspm/parameters/policy, or pcie_aspm.policy=performance on the kernel's command line",
        ],
    ),
    Fault(
        "iommu",
        false,
        &[Put(GROUP, "DMA")],
        &[
            "nothing, if what the adapter may reach is to be guarded so; otherwise iommu.strict=0 on the kernel's command line",
        ],
    ),
    Fault("flow-steering", false, &[Put(FLOWS, "4096")], &["sysctl -w net.core.rps_sock_flow_entries='32768'"]),
    Fault(
        "flow-steering",
        false,
        &[Put(FLOWS, "0"), Put(ENTRIES, "32768")],
        &["echo 32768 | tee /sys/class/net/ens2f0/queues/rx-*/rps_flow_cnt"],
    ),
    Fault("flow-steering", false, &[Put(FLOWS, "4096"), Put(ENTRIES, "32768")], &["ethtool -K ens2f0 ntuple on"]),
    Fault("default-qdisc", false, &[Put(QDISC, "pfifo_fast")], &["sysctl -w net.core.default_qdisc='fq'"]),
    Fault(
        "zone-reclaim",
        true,
        &[Put("proc/sys/vm/zone_reclaim_mode", "1"), Put("sys/devices/system/node/online", "0-1")],
        &["sysctl -w vm.zone_reclaim_mode='0'"],
    ),
    Fault("min-free", false, &[Put(FREE, "8192")], &["sysctl -w vm.min_free_kbytes='65536'"]),
    Fault("min-free", true, &[Put(FREE, "9000000")], &["sysctl -w vm.min_free_kbytes='657920'"]),
    Fault(
        "link-down",
        true,
        &[Swap(LINK, "0x11043", "0x1003")],
        &["see cable, module and partner; 'ip link set DEV up' at the other end of a virtual pair"],
    ),
    Fault("interface-down", false, &[Swap(LINK, "0x11043", "0x1002")], &["ip link set dev ens2f0 up"]),
    Fault("duplex", true, &[Swap("netlink/linkmodes", "6 u8 1", "6 u8 0")], &["ethtool -s ens2f0 autoneg on"]),
    Fault(
        "link-speed",
        false,
        // A slower link would have no faults of fast ones.
        &[Swap("netlink/linkmodes", "10000baseSR/Full", "100000baseSR4/Full")],
        &["a partner, cable and module of 100000 Mb/s"],
    ),
    Fault(
        "pcie-width",
        true,
        &[Put("PCI/current_link_width", "1")],
        &["another slot, or the card seated anew; see LnkCap and LnkSta of lspci -vv -s 0000:05:00.0"],
    ),
    Fault(
        "pcie-speed",
        false,
        &[Put("PCI/current_link_speed", "2.5 GT/s PCIe")],
        &["another slot, or the card seated anew; see LnkCap and LnkSta of lspci -vv -s 0000:05:00.0"],
    ),
    Fault(
        "pcie-bridge",
        true,
        &[Put("sys/devices/pci0000:00/0000:00:03.0/current_link_width", "1")],
        &["a slot on another bridge; 'lspci -tv' shows which"],
    ),
    Fault("tx-checksum", true, &[Off("tx-checksum-ip-generic", false)], &["ethtool -K ens2f0 tx on"]),
    Fault("rx-checksum", true, &[Off("rx-checksum", false)], &["ethtool -K ens2f0 rx on"]),
    Fault("tso", true, &[Off("tx-tcp-segmentation", false)], &["ethtool -K ens2f0 tso on"]),
    Fault("gso", true, &[Off("tx-generic-segmentation", false)], &["ethtool -K ens2f0 gso on"]),
    Fault("gro", true, &[Off("rx-gro", false)], &["ethtool -K ens2f0 gro on"]),
    Fault("vlan-offload", true, &[Off("rx-vlan-hw-parse", false), VLAN], &["ethtool -K ens2f0 rxvlan on"]),
    Fault("scatter-gather", true, &[Off("tx-scatter-gather", false)], &["ethtool -K ens2f0 sg on"]),
    Fault(
        "feature-refused",
        true,
        &[Off("tx-checksum-ip-generic", false), Off("tx-tcp-segmentation", true)],
        &["ethtool -K ens2f0 tx on"],
    ),
    Fault(
        "lro-forwarding",
        true,
        &[On("rx-lro"), Put("proc/sys/net/ipv4/ip_forward", "1")],
        &["ethtool -K ens2f0 lro off gro on"],
    ),
    Fault(
        "ring-rx",
        false,
        &[Swap("ioctl/gstrings", "rx_queue_1_packets", "rx_missed_errors")],
        &["ethtool -G ens2f0 rx 4096"],
    ),
    Fault(
        "tx-drops",
        false,
        &[Swap("ioctl/gstrings", "tx_queue_1_packets", "tx_fifo_errors")],
        &["see the queueing discipline: tc -s qdisc show dev ens2f0"],
    ),
    Fault(
        "crc-errors",
        false,
        &[Swap("ioctl/gstrings", "rx_queue_1_packets", "rx_crc_errors")],
        &["clean or replace cable and module; see optical power in 'linerate nic show'"],
    ),
    Fault(
        "length-errors",
        false,
        &[Swap("ioctl/gstrings", "rx_queue_1_packets", "rx_length_errors")],
        &["ip link set dev ens2f0 mtu N, with the MTU of the other end"],
    ),
    Fault(
        "collisions",
        false,
        &[Swap("ioctl/gstrings", "rx_queue_1_packets", "collisions")],
        &["ethtool -s ens2f0 autoneg on, at both ends"],
    ),
    Fault(
        "pause-frames",
        false,
        &[Swap("netlink/pause", "4 u8 1\n", "4 u8 1\n5 {\n  2 u64 7\n  3 u64 9\n}\n")],
        &["find the slower end: more queues, larger rings there; or switch pause off at both ends (ethtool -A)"],
    ),
    Fault(
        "pause-unlike",
        false,
        &[Swap("netlink/pause", "4 u8 1", "4 u8 0")],
        &["ethtool -A ens2f0 rx on tx on, and the same at the other end"],
    ),
    Fault(
        "fec-errors",
        false,
        &[Put(
            "netlink/fec",
            "message\n3 u8 1\n4 u32 50\n5 {\n  2 hex 0c00000000000000\n  3 hex 0100000000000000\n}\n",
        )],
        &["clean or replace cable and module; the same FEC at both ends"],
    ),
    Fault(
        "carrier-flaps",
        false,
        &[Swap(LINK, "48 u32 1", "48 u32 50")],
        &["see cable, module and partner, if nobody took the interface down"],
    ),
    Fault("one-queue", true, &[Swap("netlink/channels", "9 u32 4", "9 u32 1")], &["ethtool -L ens2f0 combined 4"]),
    Fault(
        "irqs-on-one-core",
        true,
        &[Put("proc/irq/164/effective_affinity_list", "2"), Put("proc/irq/165/effective_affinity_list", "2")],
        &["one core each: echo CPU > /proc/irq/N/smp_affinity_list (with irqbalance stopped)"],
    ),
    Fault(
        "irq-far",
        true,
        &[Put("proc/irq/165/effective_affinity_list", "9")],
        &["echo 0-7,16-23 > /proc/irq/N/smp_affinity_list, for each"],
    ),
    Fault(
        "irqbalance",
        false,
        &[
            Put("proc/irq/164/smp_affinity_list", "0"),
            Put("proc/irq/165/smp_affinity_list", "1"),
            Put("proc/812/comm", "irqbalance\n"),
            Put("proc/812/cmdline", "/usr/sbin/irqbalance\0--banirq=164\0"),
        ],
        &["systemctl disable --now irqbalance, or start it with --banirq=165"],
    ),
    Fault(
        "xps",
        false,
        &[Put(QUEUES[0], "0"), Put(QUEUES[1], "0"), Put(QUEUES[2], "0"), Put(QUEUES[3], "00,0")],
        &["a processor each: echo MASK > /sys/class/net/ens2f0/queues/tx-N/xps_cpus, with bit N in the mask"],
    ),
    Fault(
        "rps-on-multiqueue",
        false,
        &[Put(QUEUES[4], "f"), Put(QUEUES[5], "0"), Put(QUEUES[6], "0"), Put(QUEUES[7], "0")],
        &["for queue in /sys/class/net/ens2f0/queues/rx-*; do echo 0 > \"$queue/rps_cpus\"; done"],
    ),
    Fault(
        "coalesce-lazy",
        false,
        &[Swap("netlink/coalesce", "2 u32 1", "2 u32 250")],
        &["ethtool -C ens2f0 rx-usecs 20, or adaptive-rx on"],
    ),
    Fault(
        "coalesce-eager",
        false,
        &[Swap("netlink/coalesce", "2 u32 1", "2 u32 0\n3 u32 1")],
        &["ethtool -C ens2f0 rx-usecs 20, or adaptive-rx on"],
    ),
    Fault(
        "mtu-of-lower",
        true,
        &[Swap(
            LINK,
            END,
            "57 text pci\n5 u32 77\nmessage\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 77\nraw u32 0x1002\nraw u32 0\n3 text low\n4 u32 1400\n",
        )],
        &["ip link set dev low mtu 1500"],
    ),
    Fault(
        "bond-half",
        true,
        &[BONDED, MEMBERS, Swap(BOND, "b\nMII Status: up", "b\nMII Status: down")],
        &["see cable, module and partner; ip link set dev b up"],
    ),
    Fault(
        "bond-half",
        true,
        &[BONDED, Swap(LINK, "92\nraw u32 0x11843", "92\nraw u32 0x1803"), MEMBERS],
        &["see cable, module and partner; ip link set dev b up"],
    ),
    Fault(
        "bond-half",
        true,
        &[BONDED, MEMBERS, Swap(BOND, "Speed: 10000", "Speed: 1000")],
        &["ethtool -s DEV speed N duplex full autoneg on, the same for all; or ip link set DEV nomaster"],
    ),
    Fault(
        "bond-half",
        true,
        &[BONDED, MEMBERS, Swap(BOND, "Duplex: full", "Duplex: half")],
        &["ethtool -s DEV speed N duplex full autoneg on, the same for all; or ip link set DEV nomaster"],
    ),
    Fault(
        "bond-half",
        false,
        &[BONDED, MEMBERS, Swap(BOND, "Speed: 10000", "Speed: 1000"), Swap(BOND, "load balancing", "active-backup")],
        &["ethtool -s DEV speed N duplex full autoneg on, the same for all; or ip link set DEV nomaster"],
    ),
    Fault(
        "bond-unwatched",
        true,
        &[BONDED, MEMBERS, Swap(BOND, "(ms): 100", "(ms): 0")],
        &["ip link set dev ens2f0 type bond miimon 100"],
    ),
    Fault(
        "module-options",
        true,
        &[Put("etc/modprobe.d/ixgbe.conf", "options ixgbe max_vfs=0\noptions ixgbe max-vfs=4\n")],
        &[
            "modprobe -r ixgbe && modprobe ixgbe, which takes its interfaces down; before it, renew the initramfs if the module is in there (update-initramfs -u, dracut -f)",
        ],
    ),
    Fault(
        "mtu-small",
        true,
        &[Swap(LINK, "4 u32 1500", "4 u32 576")],
        &["ip link set dev ens2f0 mtu 1500, if the path takes it"],
    ),
    Fault(
        "xdp-generic",
        true,
        &[Swap(LINK, END, "57 text pci\n43 {\n  2 u8 2\n  4 u32 7\n}\n")],
        &["end the program that attached it, or ip link set dev ens2f0 xdpgeneric off; then attach it as xdpdrv"],
    ),
    Fault("xdp-copy", false, &[Swap("netlink/netdev-dev", "3 u64 0x6f", "3 u64 0x67")], &[""]),
    Fault(
        "promiscuous",
        false,
        &[Swap(LINK, "30 u32 0", "30 u32 1")],
        &["end the program that captures there, or: ip link set dev ens2f0 promisc off"],
    ),
    Fault(
        "shaped",
        true,
        &[Swap(LINK, "6 text mq", "6 text tbf")],
        &["nothing, if it is meant so; otherwise: tc qdisc change dev ens2f0 root tbf with a higher rate"],
    ),
    Fault(
        "no-queue",
        true,
        &[Swap(LINK, "6 text mq", "6 text noqueue")],
        &["tc qdisc replace dev ens2f0 root fq; ip link set dev ens2f0 txqueuelen 1000"],
    ),
    Fault("eee", false, &[Put("netlink/eee", "message\n4 u8 1\n5 u8 1\n")], &["ethtool --set-eee ens2f0 eee off"]),
    Fault(
        "dcb-ends",
        true,
        &[dcb!(pfc!("2", "08", "0000"), pfc!("5", "10", "0000"))],
        &["dcb pfc set dev ens2f0 prio-pfc 3:off 4:on, or the peer as this end"],
    ),
    Fault(
        "dcb-ends",
        true,
        &[dcb!(fcoe!(), "6 {\n1 hex 01040689\n}\n")],
        &["dcb app replace dev ens2f0 with the peer's words, or the peer as this end"],
    ),
    Fault(
        "dcb-willing",
        true,
        &[dcb!(
            ets!("1", "00", "3c280000", "02020000", "00000001"),
            ets!("4", "00", "32320000", "02020000", "00000001")
        )],
        &["dcb ets set dev ens2f0 willing on, at the end that is to follow"],
    ),
    Fault(
        "dcb-willing",
        false,
        &[dcb!(
            ets!("1", "01", "3c280000", "02020000", "00000001"),
            ets!("4", "01", "3c280000", "02020000", "00000001")
        )],
        &["dcb ets set dev ens2f0 willing off, at the end whose settings are to count"],
    ),
    Fault(
        "dcb-share",
        true,
        &[dcb!(ets!("1", "00", "64000000", "02020000", "00000001"), pfc!("2", "08", "0000"))],
        &["dcb ets set dev ens2f0 tc-bw 1:50, and less for others: they sum to 100"],
    ),
    Fault(
        "dcb-headroom",
        true,
        &[dcb!(pfc!("2", "08", "0000"), buffer!("00100000"))],
        &["dcb buffer set dev ens2f0 buffer-size 1:9K, or more for a long cable"],
    ),
    Fault(
        "dcb-headroom",
        true,
        &[dcb!(pfc!("2", "08", "0500"))],
        &["dcb pfc set dev ens2f0 delay 31392, or more for a long cable; 0 leaves it to the driver"],
    ),
    Fault("dcb-fcoe", true, &[dcb!(fcoe!(), pfc!("2", "10", "0000"))], &["dcb pfc set dev ens2f0 prio-pfc 3:on"]),
    Fault(
        "dcb-pauses",
        false,
        &[dcb!(pfc!("2", "08", "0000", "07"))],
        &["find what is slow at the neighbour, or behind it"],
    ),
    Fault(
        "duplicate-address",
        true,
        &[Swap(
            LINK,
            END,
            "57 text pci\nmessage\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 78\nraw u32 0x1002\nraw u32 0\n3 text twin\n1 hex 1402ec961d44\n",
        )],
        &["ip link set dev ens2f0 address 02:…, another one"],
    ),
    Fault(
        "buffers-tcp",
        true,
        &[Put("proc/sys/net/ipv4/tcp_rmem", "4096 131072 212992")],
        &["sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'"],
    ),
    Fault(
        "tcp-memory",
        true,
        &[Put("proc/net/sockstat", "TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 383869\n")],
        &["sysctl -w net.ipv4.tcp_mem='575802 767736 1151604', if the machine has the memory"],
    ),
    Fault(
        "tcp-memory",
        false,
        &[Swap(NETSTAT, "0 0 0", "0 0 3")],
        &["sysctl -w net.ipv4.tcp_mem='575802 767736 1151604', if the machine has the memory"],
    ),
    Fault(
        "listen-drops",
        false,
        &[Swap(NETSTAT, "0 0 0", "5 7 0")],
        &[
            "see 'ss -ltn': where Recv-Q comes up to Send-Q, the program needs a greater backlog, or more threads that accept",
        ],
    ),
    Fault(
        "firmware-stored",
        true,
        &[Swap(DEVLINK, "104 text 2.0\n}\n102", "104 text 1.9\n}\n102")],
        &["devlink dev reload pci/0000:05:00.0 action fw_activate, or restart the machine"],
    ),
    Fault(
        "driver-firmware",
        true,
        &[Swap("ioctl/drvinfo", "field32 ixgbe\nraw field32 5.3.7\nraw field32 0x80000897, 1.1446.0", BE2NET)],
        &["install driver and firmware of one release, as the vendor's compatibility list has them"],
    ),
    Fault(
        "udp-drops",
        false,
        &[Swap(SNMP, "Udp: 9000 0 0", "Udp: 9000 7 0")],
        &["see 'ss -lunm' (d in skmem): a larger SO_RCVBUF there and net.core.rmem_max, or more threads that read"],
    ),
    Fault(
        "checksum-errors",
        false,
        &[Swap(SNMP, "Tcp: 90000 90000 20 0", "Tcp: 90000 90000 20 3")],
        &[
            "find where: 'tcpdump -vv' at each hop names bad checksums; at a sender whose packets leave with them: ethtool -K DEV tx off",
        ],
    ),
    Fault(
        "checksum-errors",
        false,
        &[Put("proc/net/snmp6", "Udp6RcvbufErrors \t0\nUdp6InCsumErrors \t4\n")],
        &[
            "find where: 'tcpdump -vv' at each hop names bad checksums; at a sender whose packets leave with them: ethtool -K DEV tx off",
        ],
    ),
    Fault(
        "checksum-errors",
        false,
        &[Swap(SNMP, "Ip: 2 99000 0", "Ip: 2 99000 5")],
        &[
            "find where: 'tcpdump -vv' at each hop names bad checksums; at a sender whose packets leave with them: ethtool -K DEV tx off",
        ],
    ),
    Fault(
        "udp-drops",
        false,
        &[Put("proc/net/snmp6", "Udp6RcvbufErrors                \t9\n")],
        &["see 'ss -lunm' (d in skmem): a larger SO_RCVBUF there and net.core.rmem_max, or more threads that read"],
    ),
    Fault(
        "retransmits",
        false,
        &[Swap(SNMP, "Tcp: 90000 90000 20", "Tcp: 90000 90000 1000")],
        &["see which peers: 'ss -ti' (retrans), and the rules about errors and drops at both ends"],
    ),
    Fault(
        "buffers-socket",
        true,
        &[Put("proc/sys/net/core/wmem_max", "65536")],
        &["sysctl -w net.core.wmem_max='4194304'"],
    ),
    Fault("tcp-options", true, &[Put("proc/sys/net/ipv4/tcp_sack", "0")], &["sysctl -w net.ipv4.tcp_sack='1'"]),
    Fault(
        "congestion-control",
        true,
        &[Put("proc/sys/net/ipv4/tcp_congestion_control", "reno")],
        &["sysctl -w net.ipv4.tcp_congestion_control='cubic'"],
    ),
    Fault(
        "backlog",
        true,
        &[Put("proc/net/softnet_stat", "0000ffff 00000010 00000000\n00001234 00000000 00000000\n")],
        &["sysctl -w net.core.netdev_max_backlog='4000'"],
    ),
    // Few of many, long ago.
    Fault(
        "backlog",
        false,
        &[Put("proc/net/softnet_stat", "25ca3ac0 000001a1 00000024\n")],
        &["sysctl -w net.core.netdev_max_backlog='4000'"],
    ),
    Fault(
        "backlog",
        true,
        &[Put("proc/sys/net/core/netdev_budget", "16")],
        &["sysctl -w net.core.netdev_budget='300'"],
    ),
    Fault(
        "governor",
        false,
        &[Put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave")],
        &["cpupower frequency-set -g performance"],
    ),
    Fault(
        "idle-states",
        false,
        &[
            Put("sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "200"),
            Put("sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "0"),
        ],
        &["cpupower idle-set -D 50, or intel_idle.max_cstate=1 on the kernel's command line"],
    ),
    Fault(
        "clock-source",
        true,
        &[Put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")],
        &["echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"],
    ),
    Fault(
        "swap",
        false,
        &[Put("proc/meminfo", "SwapTotal: 4194304 kB\nSwapFree: 1048576 kB\n")],
        &["swapoff -a && swapon -a, with memory enough"],
    ),
    Fault(
        "conntrack",
        true,
        &[
            Put("proc/sys/net/netfilter/nf_conntrack_max", "1000"),
            Put("proc/sys/net/netfilter/nf_conntrack_count", "990"),
        ],
        &["sysctl -w net.netfilter.nf_conntrack_max='4000'"],
    ),
    Fault(
        "firewall",
        false,
        &[Put("proc/net/ip_tables_names", "filter\nnat\n")],
        &["nothing, if they are meant to guard; 'iptables-save -c' shows them"],
    ),
    // A chain with a hook and two rules.
    Fault(
        "firewall",
        false,
        &[Put("netlink/nft-chains", "message\n1 text filter\n3 text input\n4 {\n1 u32 0\n}\n6 u32 33554432\n")],
        &["nothing, if they are meant to guard; 'nft list ruleset' shows them"],
    ),
    // One that drops what comes to it.
    Fault(
        "firewall",
        false,
        &[Put("netlink/nft-chains", "message\n1 text filter\n3 text input\n4 {\n1 u32 0\n}\n5 u32 0\n6 u32 0\n")],
        &["nothing, if they are meant to guard; 'nft list ruleset' shows them"],
    ),
    Fault(
        "super-frames",
        true,
        &[Swap(LINK, END, "57 text pci\n40 u32 1\n60 u32 65535\n")],
        &["ip link set dev ens2f0 gso_max_segs 65535"],
    ),
    Fault(
        "super-frames",
        true,
        &[Swap(LINK, END, "57 text pci\n41 u32 3000\n59 u32 524280\n")],
        &["ip link set dev ens2f0 gso_max_size 65536"],
    ),
    Fault(
        "gro-flush",
        true,
        &[Put("sys/class/net/ens2f0/gro_flush_timeout", "50000000")],
        &["echo 0 > /sys/class/net/ens2f0/gro_flush_timeout"],
    ),
    Fault(
        "rps-one",
        false,
        &[Put(QUEUES[4], "4"), Put(QUEUES[5], "4"), Put(QUEUES[6], "4"), Put(QUEUES[7], "4")],
        &["echo 0 | tee /sys/class/net/ens2f0/queues/rx-*/rps_cpus"],
    ),
    Fault(
        "shaped",
        true,
        &[Put(QDISCS, "raw u32 0\nraw u32 12\nraw u32 0\nraw u32 65537\nraw u32 0\n1 text netem\n")],
        &["tc qdisc del dev ens2f0 root"],
    ),
    Fault(
        "queue-short",
        true,
        &[Put(QDISCS, "raw u32 0\nraw u32 12\nraw u32 0\nraw u32 65537\nraw u32 0\n1 text pfifo\n2 u32 2\n")],
        &["tc qdisc replace dev ens2f0 parent 1:1 pfifo limit 1000"],
    ),
    Fault(
        "queue-short",
        true,
        &[
            Put(QDISCS, "raw u32 0\nraw u32 12\nraw u32 0\nraw u32 65537\nraw u32 0\n1 text pfifo_fast\n"),
            Swap(LINK, "13 u32 1000", "13 u32 2"),
        ],
        &["ip link set dev ens2f0 txqueuelen 1000"],
    ),
    Fault("traffic-filters", true, &[Put(FILTERS, POLICE)], &["tc filter del dev ens2f0 ingress"]),
    Fault(
        "route-metrics",
        true,
        &[Put("netlink/routes", "raw hex 02180000fe030001\nraw u32 0\n1 hex 0a000200\n4 u32 12\n8 {\n2 u32 576\n}\n")],
        &["ip route replace 10.0.2.0/24 dev ens2f0"],
    ),
    Fault(
        "address-state",
        true,
        &[Put(ADDRESSES, "raw hex 0a400800\nraw u32 12\n1 hex fd000000000000000000000000000009\n"), NO_ROUTE],
        &["ip addr del fd00::9/64 dev ens2f0"],
    ),
    Fault(
        "address-state",
        true,
        &[Put(ADDRESSES, "raw hex 02208000\nraw u32 12\n1 hex 0a000001\n2 hex 0a000001\n"), NO_ROUTE],
        &["ip addr add 10.0.0.1/24 dev ens2f0"],
    ),
    Fault(
        "loopback",
        true,
        &[Swap(
            LINK,
            END,
            "57 text pci\nmessage\nraw u8 0\nraw u8 0\nraw u16 772\nraw u32 1\nraw u32 0x8\nraw u32 0\n3 text lo\n",
        )],
        &["ip link set dev lo up"],
    ),
    Fault(
        "ip-settings",
        false,
        &[Put("proc/sys/net/ipv6/conf/ens2f0/mtu", "1280")],
        &["sysctl -w net.ipv6.conf.ens2f0.mtu='1500'"],
    ),
    Fault(
        "ip-settings",
        true,
        &[Put("proc/sys/net/ipv6/conf/ens2f0/mtu", "1500"), Put("proc/sys/net/ipv6/conf/ens2f0/hop_limit", "1")],
        &["sysctl -w net.ipv6.conf.ens2f0.hop_limit='64'"],
    ),
    Fault(
        "arp",
        true,
        &[Put("proc/sys/net/ipv4/conf/ens2f0/arp_ignore", "8")],
        &["sysctl -w net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.ens2f0.arp_ignore=0"],
    ),
    Fault("arp", true, &[Swap(LINK, "raw u32 0x11043", "raw u32 0x110c3")], &["ip link set dev ens2f0 arp on"]),
    Fault(
        "neighbour-fixed",
        false,
        &[Put(NEIGHBOURS, "raw hex 02000000\nraw u32 12\nraw hex 80000001\n1 hex 0a000002\n2 hex 020000000002\n")],
        &["ip neigh del 10.0.0.2 dev ens2f0"],
    ),
    Fault(
        "duplicate-address",
        true,
        &[Put(NEIGHBOURS, "raw hex 02000000\nraw u32 12\nraw hex 02000001\n1 hex 0a000002\n2 hex 1402ec961d44\n")],
        &["ip link set dev ens2f0 address 02:…, another one"],
    ),
    Fault(
        "bridge-port",
        true,
        &[Swap(
            LINK,
            END,
            "57 text pci\n10 u32 91\n18 {\n4 text bridge\n5 {\n1 u8 4\n}\n}\n\
         message\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 91\nraw u32 0x11043\nraw u32 0\n3 text br0\n18 {\n1 text bridge\n}\n",
        )],
        &["bridge link set dev ens2f0 state 3"],
    ),
    Fault(
        "sysctl-range",
        true,
        &[Put("proc/sys/net/ipv4/tcp_limit_output_bytes", "4096")],
        &["sysctl -w net.ipv4.tcp_limit_output_bytes='4194304'"],
    ),
    Fault(
        "sysctl-range",
        true,
        &[Put("proc/sys/net/ipv4/ip_local_port_range", "40000\t40015")],
        &["sysctl -w net.ipv4.ip_local_port_range='32768 60999'"],
    ),
    Fault(
        "buffers-tcp",
        true,
        &[Put("proc/sys/net/ipv4/tcp_rmem", "2304 2304 6291456")],
        &["sysctl -w net.ipv4.tcp_rmem='2304 131072 6291456'"],
    ),
    Fault(
        "firewall",
        true,
        &[Put("netlink/nft-chains", INGRESS), Put("netlink/nft-rules", LIMITS)],
        &["'nft list ruleset' shows the rules: change that one, and leave those that guard"],
    ),
    Fault(
        "next-hop",
        true,
        &[Put("netlink/routes", HOPS), Put(NEIGHBOURS, FAILED)],
        &[
            "see whether 10.0.0.254 is up; or have routes leave out those that do not answer: sysctl -w net.ipv4.fib_multipath_use_neigh=1",
        ],
    ),
    Fault(
        "next-hop",
        true,
        &[A_ROUTE, Put(NEIGHBOURS, FAILED)],
        &["see whether 10.0.0.254 is up, and the cable to it"],
    ),
    Fault(
        "advertisements",
        true,
        &[
            Put("proc/sys/net/ipv6/conf/ens2f0/accept_ra", "1"),
            Put("proc/sys/net/ipv6/conf/ens2f0/forwarding", "1"),
            Put(ADDRESSES, "raw hex 0a400000\nraw u32 12\n1 hex fd000000000000000000000000000009\n"),
        ],
        &["sysctl -w net.ipv6.conf.ens2f0.accept_ra='2'"],
    ),
    Fault(
        "mtu-forwarded",
        false,
        &[NARROW, Put("netlink/routes", OUT), Put(ADDRESSES, INSIDE), FORWARDS],
        &[
            "ip link set dev ens2f0 mtu 1420; or have segments of TCP fit: nft insert rule inet TABLE FORWARD tcp flags syn tcp option maxseg size set rt mtu",
        ],
    ),
    Fault(
        "reverse-path",
        false,
        &[Put("proc/sys/net/ipv4/conf/all/rp_filter", "1")],
        &["sysctl -w net.ipv4.conf.all.rp_filter='2'"],
    ),
    Fault(
        "neighbours",
        false,
        &[Put(
            "proc/net/arp",
            "IP address HW type Flags HW address Mask Device\n10.0.0.9 0x1 0x0 00:00:00:00:00:00 * ens2f0\n",
        )],
        &["see that these addresses are in use; 'ip neigh flush nud failed' forgets them"],
    ),
    Fault(
        "neighbour-table",
        true,
        &[
            Put("proc/sys/net/ipv4/neigh/default/gc_thresh3", "3"),
            Put(ARP, "IP address\n10.0.0.2 0x1 0x2 02:00:00:00:00:02 * a\n10.0.0.3 0x1 0x2 02:00:00:00:00:03 * a\n"),
            Put("proc/net/stat/arp_cache", "entries table_fulls\n00000002 0000000a\n00000002 00000001\n"),
        ],
        &["sysctl -w net.ipv4.neigh.default.gc_thresh3='4096'"],
    ),
    Fault(
        "asymmetric-route",
        false,
        &[SECOND, BOTH],
        &["sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"],
    ),
    Fault(
        "asymmetric-route",
        true,
        &[SECOND, BOTH, Put("proc/sys/net/ipv4/conf/all/rp_filter", "1")],
        &["sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=2"],
    ),
    Fault(
        "not-persistent",
        false,
        &[RMEM],
        &["to keep them: printf '%s\\n' 'net.core.rmem_max = 8388608' >> /etc/sysctl.d/90-network.conf"],
    ),
    Fault(
        "persistent-differs",
        true,
        &[Put("etc/sysctl.d/90-x.conf", "net.ipv4.tcp_rmem = 4096 131072 16777216\n")],
        &["sysctl -w net.ipv4.tcp_rmem='4096 131072 16777216'"],
    ),
    Fault(
        "persistent-differs",
        true,
        &[Put("etc/sysctl.conf", "-net/ipv4/tcp_sack=0")],
        &["sysctl -w net.ipv4.tcp_sack='0'"],
    ),
];

const QDISCS: &str = "netlink/qdiscs";
const FILTERS: &str = "netlink/filters";
const POLICE: &str =
    "raw hex 0000000000000000000000000000000000000000\n1 text matchall\n2 {\n2 {\n1 {\n1 text police\n}\n}\n}\n";
const PASS: &str = "raw hex 0000000000000000000000000000000000000000\n1 text matchall\n2 {\n2 {\n1 {\n1 text gact\n2 {\n\
                    2 hex 010000000000000000000000\n}\n}\n}\n}\n";
const A_ROUTE: Edit = Put("netlink/routes", "raw hex 02000000fe030001\nraw u32 0\n4 u32 12\n5 hex 0a0000fe\n");
const ADDRESSES: &str = "netlink/addresses";
const NEIGHBOURS: &str = "netlink/neighbours";
const NO_ROUTE: Edit = Put("netlink/routes", "");
/// A chain at the ingress of an interface, and a rule of it.
const INGRESS: &str = "message\n1 text t\n3 text c\n4 {\n1 hex 00000000\n3 text ens2f0\n}\n6 hex 00000001\n";
const LIMITS: &str = "message\n1 text t\n2 text c\n4 {\n1 {\n1 text limit\n}\n}\n";

/// A route over two next hops, of which the second one does not answer.
const HOPS: &str = "raw hex 02000000fe030001\nraw u32 0\n15 u32 254\n\
                    9 hex 100000000c000000080005000a0000fd100000000c000000080005000a0000fe\n";
const FAILED: &str = "raw hex 02000000\nraw u32 12\nraw u16 32\nraw hex 0001\n1 hex 0a0000fe\n";
const STALE: &str = "raw hex 02000000\nraw u32 12\nraw u16 4\nraw hex 0001\n1 hex 0a0000fe\n2 hex 020000000002\n";
/// A second interface with an MTU of 1420, by which the default route leads; and an address of the first.
const NARROW: Edit = Swap(
    LINK,
    END,
    "57 text pci\nmessage\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 93\nraw u32 0x11043\nraw u32 0\n3 text wg0\n4 u32 1420\n",
);
const OUT: &str = "raw hex 02000000fe030001\nraw u32 0\n15 u32 254\n4 u32 93\n5 hex 0a0100fe\n";
const INSIDE: &str = "raw hex 02188000\nraw u32 12\n1 hex 0a000001\n2 hex 0a000001\n";
const FORWARDS: Edit = Put("proc/sys/net/ipv4/ip_forward", "1");
/// A rule that has segments fit the path.
const CLAMPS: &str = "message\n1 text t\n2 text c\n4 {\n1 {\n1 text rt\n2 {\n1 hex 00000001\n2 hex 00000003\n}\n}\n\
                      1 {\n1 text exthdr\n2 {\n2 hex 02\n6 hex 00000001\n7 hex 00000001\n}\n}\n}\n";

/// Changes that are near a rule's fault, and none.
pub(super) const SILENT: &[(&str, &[Edit])] = &[
    // Long requests and relaxed ordering; what a slow link does without; an IOMMU that flushes many at once, or none.
    ("pcie-requests", &[SPEED, Space(0x5010, 0)]),
    ("pcie-requests", &[SLOW, Space(0x0000, 3)]),
    ("aspm", &[SLOW, Space(0x0000, 3)]),
    ("iommu", &[Put(GROUP, "DMA-FQ")]),
    ("iommu", &[Put(GROUP, "identity")]),
    ("iommu", &[SLOW, Put(GROUP, "DMA")]),
    ("flow-steering", &[Put(FLOWS, "0")]),
    ("flow-steering", &[Put(FLOWS, "4096"), Put(ENTRIES, "32768"), On("rx-ntuple-filter")]),
    ("flow-steering", &[SLOW, Put(FLOWS, "4096")]),
    ("default-qdisc", &[Put(QDISC, "fq")]),
    ("default-qdisc", &[SLOW, Put(QDISC, "pfifo_fast")]),
    ("zone-reclaim", &[Put("proc/sys/vm/zone_reclaim_mode", "1")]),
    ("min-free", &[SLOW, Put(FREE, "8192")]),
    ("min-free", &[Put(FREE, "8192"), Put("proc/meminfo", "MemTotal: 4096000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")]),
    ("metrics-save", &[]),
    ("fast-open", &[]),
    // What a driver takes at most, and what is usual.
    (
        "super-frames",
        &[Swap(LINK, END, "57 text pci\n40 u32 8\n60 u32 8\n41 u32 16384\n59 u32 524280\n58 u32 65536\n")],
    ),
    ("gro-flush", &[Put("sys/class/net/ens2f0/gro_flush_timeout", "200000")]),
    ("rps-one", &[Put(QUEUES[4], "4"), Put(QUEUES[5], "2"), Put(QUEUES[6], "4"), Put(QUEUES[7], "4")]),
    ("rps-one", &[Put(QUEUES[4], "6"), Put(QUEUES[5], "6"), Put(QUEUES[6], "6"), Put(QUEUES[7], "6")]),
    // Of another interface; long enough; the driver's queue, which a discipline with packets of its own has.
    (
        "queue-short",
        &[Put(QDISCS, "raw u32 0\nraw u32 13\nraw u32 0\nraw u32 65537\nraw u32 0\n1 text pfifo\n2 u32 2\n")],
    ),
    (
        "queue-short",
        &[Put(QDISCS, "raw u32 0\nraw u32 12\nraw u32 0\nraw u32 65537\nraw u32 0\n1 text pfifo\n2 u32 100\n")],
    ),
    (
        "queue-short",
        &[
            Put(
                QDISCS,
                "raw u32 0\nraw u32 12\nraw u32 0\nraw u32 65537\nraw u32 0\n1 text fq_codel\n2 {\n2 u32 10240\n}\n",
            ),
            Swap(LINK, "13 u32 1000", "13 u32 2"),
        ],
    ),
    (
        "shaped",
        &[Put(
            QDISCS,
            "raw u32 0\nraw u32 12\nraw u32 0\nraw u32 65537\nraw u32 0\n1 text fq\n2 {\n7 u32 4294967295\n}\n",
        )],
    ),
    // It lets pass.
    ("traffic-filters", &[Put(FILTERS, PASS)]),
    // As the interface, more than that, or a route of another one, or one that is nobody's way.
    (
        "route-metrics",
        &[Put(
            "netlink/routes",
            "raw hex 02180000fe030001\nraw u32 0\n1 hex 0a000200\n4 u32 12\n8 {\n2 u32 1500\n11 u32 20\n}\n",
        )],
    ),
    (
        "route-metrics",
        &[Put("netlink/routes", "raw hex 02180000fe030001\nraw u32 0\n1 hex 0a000200\n4 u32 13\n8 {\n2 u32 576\n}\n")],
    ),
    (
        "route-metrics",
        &[Put("netlink/routes", "raw hex 02180000fe030001\nraw u32 0\n1 hex 0a000200\n4 u32 12\n8 {\n7 u32 2\n}\n")],
    ),
    ("address-state", &[Put(ADDRESSES, "raw hex 02208000\nraw u32 12\n1 hex 0a000001\n2 hex 0a000001\n"), A_ROUTE]),
    ("address-state", &[Put(ADDRESSES, "raw hex 02208000\nraw u32 12\n1 hex 0a000002\n2 hex 0a000001\n"), NO_ROUTE]),
    ("address-state", &[Put(ADDRESSES, "raw hex 02188000\nraw u32 12\n1 hex 0a000001\n2 hex 0a000001\n"), NO_ROUTE]),
    ("arp", &[Put("proc/sys/net/ipv4/conf/ens2f0/arp_ignore", "1")]),
    // No frames of Ethernet, which has its MTU.
    ("mtu-small", &[Swap(LINK, "raw u16 1\n", "raw u16 512\n"), Swap(LINK, "4 u32 1500", "4 u32 1200")]),
    // It is known, or the route has one next hop.
    ("next-hop", &[Put("netlink/routes", HOPS), Put(NEIGHBOURS, STALE)]),
    ("next-hop", &[A_ROUTE, Put(NEIGHBOURS, STALE)]),
    // It heeds them, or its address is its own.
    (
        "advertisements",
        &[
            Put("proc/sys/net/ipv6/conf/ens2f0/accept_ra", "2"),
            Put("proc/sys/net/ipv6/conf/ens2f0/forwarding", "1"),
            Put(ADDRESSES, "raw hex 0a400000\nraw u32 12\n1 hex fd000000000000000000000000000009\n"),
        ],
    ),
    // It does not forward; segments are made to fit; the way out is the wider one; nothing is routed from here.
    ("mtu-forwarded", &[NARROW, Put("netlink/routes", OUT), Put(ADDRESSES, INSIDE)]),
    (
        "mtu-forwarded",
        &[NARROW, Put("netlink/routes", OUT), Put(ADDRESSES, INSIDE), FORWARDS, Put("netlink/nft-rules", CLAMPS)],
    ),
    ("mtu-forwarded", &[NARROW, A_ROUTE, Put(ADDRESSES, INSIDE), FORWARDS]),
    ("mtu-forwarded", &[NARROW, Put("netlink/routes", OUT), Put(ADDRESSES, ""), FORWARDS]),
    (
        "arp",
        &[Swap(LINK, END, "57 text pci\n18 {\n1 text dummy\n}\n"), Swap(LINK, "raw u32 0x11043", "raw u32 0x110c3")],
    ),
    (
        "neighbour-fixed",
        &[Put(NEIGHBOURS, "raw hex 02000000\nraw u32 12\nraw hex 02000001\n1 hex 0a000002\n2 hex 020000000002\n")],
    ),
    (
        "duplicate-address",
        &[Put(NEIGHBOURS, "raw hex 02000000\nraw u32 12\nraw hex 02000001\n1 hex 0a000002\n2 hex 020000000002\n")],
    ),
    (
        "bridge-port",
        &[Swap(
            LINK,
            END,
            "57 text pci\n10 u32 91\n18 {\n4 text bridge\n5 {\n1 u8 3\n8 u8 1\n9 u8 1\n}\n}\n\
             message\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 91\nraw u32 0x11043\nraw u32 0\n3 text br0\n18 {\n1 text bridge\n}\n",
        )],
    ),
    ("sysctl-range", &[Put("proc/sys/net/ipv4/tcp_limit_output_bytes", "262144")]),
    ("sysctl-range", &[Put("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999")]),
    (
        "sysctl-range",
        &[Put("proc/sys/net/ipv4/tcp_notsent_lowat", "16384"), Put("proc/sys/net/ipv4/tcp_retries2", "8")],
    ),
    ("buffers-tcp", &[Put("proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304")]),
    // Chains to which nothing comes by itself, and one without a rule.
    (
        "firewall",
        &[Put(
            "netlink/nft-chains",
            "message\n1 text filter\n3 text mine\n6 u32 33554432\n\
             message\n1 text filter\n3 text input\n4 {\n1 u32 0\n}\n5 u32 16777216\n6 u32 0\n",
        )],
    ),
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
    // A driver without DCB, one without a peer, and ends that agree.
    ("dcb-ends", &[Put("netlink/dcb", "refused 95\n")]),
    ("dcb-ends", &[dcb!(pfc!("2", "08", "0000"))]),
    ("dcb-ends", &[dcb!(pfc!("2", "08", "0000"), pfc!("5", "08", "0000"), fcoe!(), "6 {\n1 hex 01030689\n}\n")]),
    (
        "dcb-willing",
        &[dcb!(
            ets!("1", "01", "3c280000", "02020000", "00000001"),
            ets!("4", "00", "32320000", "02020000", "00000001")
        )],
    ),
    (
        "dcb-willing",
        &[dcb!(
            ets!("1", "00", "3c280000", "02020000", "00000001"),
            ets!("4", "00", "3c280000", "02020000", "00000001")
        )],
    ),
    // A strict class needs no share, and one that may lose frames may have none.
    ("dcb-share", &[dcb!(ets!("1", "00", "64000000", "02000000", "00000001"), pfc!("2", "08", "0000"))]),
    ("dcb-share", &[dcb!(ets!("1", "00", "64000000", "02020000", "00000001"), pfc!("2", "01", "0000"))]),
    ("dcb-headroom", &[dcb!(pfc!("2", "08", "a07a"), buffer!("00000100"))]),
    ("dcb-headroom", &[dcb!(pfc!("2", "01", "0000"), buffer!("00100000"))]),
    ("dcb-fcoe", &[dcb!(fcoe!(), pfc!("2", "08", "0000"))]),
    ("dcb-fcoe", &[dcb!(pfc!("2", "10", "0000"))]),
    ("dcb-pauses", &[dcb!(pfc!("2", "08", "0000"))]),
];
