//! Recorded tree of a healthy card and of the machine around it, to be changed.

use super::super::*;
use super::faults::{DEVLINK, Edit, Off, On, Put, SNMP, Space, Swap};
use linerate_rt::Stop;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

pub(super) const CARDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/cards");
pub(super) const NAME: &str = "ens2f0";
pub(super) const PCI: &str = "sys/devices/pci0000:00/0000:00:03.0/0000:05:00.0";

/// Settings of a healthy machine.
pub(super) const HEALTHY: &[(&str, &str)] = &[
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
    ("proc/meminfo", "MemTotal: 65792004 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"),
    ("proc/sys/vm/min_free_kbytes", "67584"),
    ("proc/sys/vm/zone_reclaim_mode", "0"),
    ("proc/sys/net/core/default_qdisc", "fq_codel"),
    ("proc/sys/net/core/rps_sock_flow_entries", "0"),
    ("proc/sys/net/ipv4/tcp_no_metrics_save", "0"),
    ("proc/sys/net/ipv4/tcp_fastopen", "1"),
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/devices/system/cpu/smt/active", "0"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet"),
    ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "128"),
];

/// Offloads, and whether they are on in a healthy tree.
pub(super) const FEATURES: &[(&str, bool)] = &[
    ("rx-checksum", true),
    ("tx-checksum-ip-generic", true),
    ("tx-scatter-gather", true),
    ("tx-tcp-segmentation", true),
    ("tx-generic-segmentation", true),
    ("rx-gro", true),
    ("rx-lro", false),
    ("rx-vlan-hw-parse", true),
    ("rx-ntuple-filter", false),
];

/// FEATURES_GET's answer in the notation of recorded trees: what can be switched, is asked for, and is on.
pub(super) fn features(on: impl Fn(&str) -> [bool; 2]) -> String {
    let set = |kind: u32, is_in: &dyn Fn(&str) -> bool| {
        let bits = FEATURES.iter().enumerate().map(|(bit, (name, _))| {
            let value = if is_in(name) { "3 flag\n" } else { "" };
            format!("1 {{\n1 u32 {bit}\n2 text {name}\n{value}}}\n")
        });
        format!("{kind} {{\n2 u32 {}\n3 {{\n{}}}\n}}\n", FEATURES.len(), bits.collect::<String>())
    };
    format!("message\n{}{}{}", set(2, &|_| true), set(3, &|name| on(name)[0]), set(4, &|name| on(name)[1]))
}

/// Configuration space of a PCI function: Device Control and Link Control, of which no byte is above 0x7f.
pub(super) fn space(device: u16, link: u16) -> String {
    let mut bytes = vec![0_u8; 0x60];
    (bytes[0x34], bytes[0x40], bytes[0x41], bytes[0x50]) = (0x40, 0x01, 0x50, 0x10);
    bytes[0x58..0x5a].copy_from_slice(&device.to_le_bytes());
    bytes.resize(0x70, 0);
    bytes[0x60..0x62].copy_from_slice(&link.to_le_bytes());
    String::from_utf8(bytes).unwrap()
}

pub(super) struct Tree(pub(super) tempfile::TempDir);

impl Tree {
    pub(super) fn new(edits: &[&Edit]) -> Self {
        Self::of("ixgbe-82599", edits)
    }

    /// Of a card of that folder.
    pub(super) fn of(card: &str, edits: &[&Edit]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        let card = format!("{CARDS}/{card}/.");
        assert!(
            Command::new("cp").arg("-a").args([&card, tree.0.path().to_str().unwrap()]).status().unwrap().success()
        );
        HEALTHY.iter().for_each(|(path, text)| tree.put(path, text));
        // Requests of 512 bytes, relaxed ordering, no sleep.
        tree.put(&format!("{PCI}/config"), &space(0x2810, 0x40));
        tree.put("netlink/pause", "message\n2 u8 0\n3 u8 1\n4 u8 1\n");
        let mut on: Vec<(&str, [bool; 2])> = FEATURES.iter().map(|(name, on)| (*name, [*on; 2])).collect();
        let mut set = |name: &str, to| on.iter_mut().filter(|one| one.0 == name).for_each(|one| one.1 = to);
        for edit in edits {
            match edit {
                Space(device, link) => tree.put(&format!("{PCI}/config"), &space(*device, *link)),
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

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(super) fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn examined(&self, loads: &[Load]) -> Examination {
        let asked = Asked { names: &[NAME.to_owned()], loads, tree: Some(self.0.path()), ..Asked::default() };
        examine(&asked, &Stop::new().unwrap()).unwrap()
    }
}
