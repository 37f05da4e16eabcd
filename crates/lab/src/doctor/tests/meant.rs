//! What somebody has chosen by a file, or at a tunnel, is a note, and nothing changes it.

use super::super::*;
use super::faults::{END, Edit, LINK, Off, Put, Swap};
use super::tree::{NAME, Tree};

const OFF: Edit = Off("tx-tcp-segmentation", false);

/// Files that switch TSO of the interface off.
const FILES: &[(&str, &str)] = &[
    ("etc/systemd/network/10-x.link", "[Match]\nOriginalName=ens2*\n[Link]\nTCPSegmentationOffload=no\n"),
    (
        "etc/systemd/network/10-x.link",
        "[Match]\nOriginalName=eth0\n[Link]\nName=ens2f0\nTCPSegmentationOffload=false\n",
    ),
    ("usr/lib/systemd/network/50-x.link", "[Match]\nDriver=ixgbe\n[Link]\nTCPSegmentationOffload=0\n"),
    ("etc/systemd/network/99-default.link.d/tso.conf", "[Link]\nTCPSegmentationOffload=no\n"),
    (
        "etc/NetworkManager/system-connections/a.nmconnection",
        "[connection]\nid=a\ninterface-name=ens2f0\n[ethtool]\nfeature-tso=false\n",
    ),
    ("etc/netplan/01.yaml", "network:\n  ethernets:\n    ens2f0:\n      tcp-segmentation-offload: false\n"),
    (
        "etc/sysconfig/network-scripts/ifcfg-ens2f0",
        "DEVICE=ens2f0\nETHTOOL_OPTS=\"-K ens2f0 tso off; -G ens2f0 rx 256\"\n",
    ),
    ("etc/network/interfaces", "auto ens2f0\niface ens2f0 inet dhcp\n    offload-tso off\n"),
    ("etc/network/interfaces", "iface ens2f0 inet dhcp\n    post-up /sbin/ethtool -K $IFACE rx on tso off\n"),
    ("etc/network/interfaces.d/x", "iface ens2f0 inet dhcp\n    pre-up ethtool --offload ens2f0 tso off\n"),
    ("etc/network/if-up.d/tso", "#!/bin/sh\nethtool -K \"$IFACE\" tso off\n"),
    ("etc/udev/rules.d/80.rules", "ACTION==\"add\", SUBSYSTEM==\"net\", RUN+=\"/usr/sbin/ethtool -K $name tso off\"\n"),
    ("etc/systemd/system/tso.service", "[Service]\nExecStart=/usr/sbin/ethtool -K ens2f0 gso on \\\n tso off\n"),
    ("etc/systemd/system/off.service", "[Service]\nExecStart=/usr/bin/linerate nic set ens2f0 -tso\n"),
    ("etc/rc.local", "#!/bin/sh\nethtool -K ens2f0 tso off\n"),
];

/// Files that do not.
const OTHERS: &[(&str, &str)] = &[
    ("etc/systemd/network/10-x.link", "[Match]\nOriginalName=eth0\n[Link]\nTCPSegmentationOffload=no\n"),
    ("etc/systemd/network/10-x.link", "[Match]\nMACAddress=02:00:00:00:00:01\n[Link]\nTCPSegmentationOffload=no\n"),
    (
        "etc/systemd/network/10-x.link",
        "[Match]\nOriginalName=*\n[Link]\nTCPSegmentationOffload=yes\n#TCPSegmentationOffload=no\n",
    ),
    ("etc/systemd/network/10-x.link", "[Match]\nOriginalName=*\n[Link]\nGenericSegmentationOffload=no\n"),
    (
        "etc/NetworkManager/system-connections/a.nmconnection",
        "[connection]\ninterface-name=eth7\n[ethtool]\nfeature-tso=false\n",
    ),
    ("etc/sysconfig/network-scripts/ifcfg-eth7", "DEVICE=eth7\nETHTOOL_OPTS=\"-K $DEVICE tso off\"\n"),
    (
        "etc/network/interfaces",
        "iface ens2f0 inet dhcp\niface eth7 inet dhcp\n    offload-tso off\n    post-up ethtool -K $IFACE tso off\n",
    ),
    ("etc/udev/rules.d/80.rules", "RUN+=\"/usr/sbin/ethtool -G $name rx 4096\"\n"),
    ("etc/rc.local", "# ethtool -K ens2f0 tso off\nethtool -K eth7 tso off\n"),
];

fn finding(edits: &[&Edit], rule: &str) -> Finding {
    let examined = Tree::new(edits).examined(&[]);
    examined.findings.iter().find(|one| one.rule == rule).unwrap_or_else(|| panic!("{rule}: {examined:#?}")).clone()
}

#[test]
fn what_a_file_switches_off_stays_off() {
    for (path, text) in FILES {
        let one = finding(&[&OFF, &Put(path, text)], "tso");
        let place = one.evidence.last().unwrap();
        assert_eq!(
            (one.severity, place.read.as_str()),
            (Severity::Note, format!("/{path}").as_str()),
            "{text}: {one:#?}"
        );
        assert!(one.fix.is_empty() && one.mend.unwrap().starts_with("nothing, if it is meant so"), "{path}: {text}");
    }
    for (path, text) in OTHERS {
        let one = finding(&[&OFF, &Put(path, text)], "tso");
        assert!(one.severity == Severity::Warning && one.fix.len() == 1, "{path}: {text}: {one:#?}");
    }
}

#[test]
fn what_a_file_gives_a_number_or_a_sysctl_keeps_it() {
    let ring = Swap("ioctl/gstrings", "rx_queue_1_packets", "rx_missed_errors");
    let lazy = Swap("netlink/coalesce", "2 u32 1", "2 u32 250");
    let rules = "etc/udev/rules.d/80.rules";
    for (rule, fault, file) in [
        ("ring-rx", &ring, Put("etc/systemd/network/1.link", "[Match]\nOriginalName=*\n[Link]\nRxBufferSize=512\n")),
        ("ring-rx", &ring, Put(rules, "RUN+=\"ethtool -G %k rx 512\"\n")),
        ("coalesce-lazy", &lazy, Put(rules, "RUN+=\"ethtool -C ens2f0 adaptive-rx off rx-usecs 250\"\n")),
        (
            "tcp-options",
            &Put("proc/sys/net/ipv4/tcp_window_scaling", "0"),
            Put("etc/sysctl.d/50.conf", "net.ipv4.tcp_window_scaling = 0\n"),
        ),
        (
            "reverse-path",
            &Put("proc/sys/net/ipv4/conf/all/rp_filter", "1"),
            Put("etc/sysctl.conf", "net.ipv4.conf.all.rp_filter=1\n"),
        ),
    ] {
        let Put(path, text) = file else { unreachable!() };
        assert!(!finding(&[fault], rule).fix.is_empty(), "{rule}");
        let one = finding(&[fault, &file], rule);
        let place = one.evidence.last().unwrap();
        assert_eq!((one.severity, place.read.clone()), (Severity::Note, format!("/{path}")), "{text}: {one:#?}");
        assert!(one.fix.is_empty(), "{text}");
    }
}

/// The workaround for cards that count checksums of VXLAN wrongly.
#[test]
fn what_is_off_at_a_tunnel_stays_off() {
    let off = [Off("tx-checksum-ip-generic", false), Off("tx-tcp-segmentation", true)];
    for kind in ["vxlan", "geneve", "gretap", "ipip", "wireguard"] {
        let tree = Tree::new(&off.iter().collect::<Vec<_>>());
        let link = std::fs::read_to_string(tree.at(LINK)).unwrap();
        tree.put(LINK, &link.replacen(END, &format!("{END}18 {{\n1 text {kind}\n}}\n"), 1));
        let examined = tree.examined(&[]);
        let all: Vec<_> = examined.findings.iter().filter(|one| one.subject == NAME).collect();
        for rule in ["tx-checksum", "feature-refused"] {
            let one = all.iter().find(|one| one.rule == rule).unwrap_or_else(|| panic!("{kind}: {all:#?}"));
            assert!(one.severity == Severity::Note && one.fix.is_empty(), "{one:#?}");
        }
        assert!(plan(&examined, &["tx-checksum".to_owned()], Risk::Safe, true).is_empty());
    }
    assert_eq!(finding(&off.iter().collect::<Vec<_>>(), "tx-checksum").severity, Severity::Warning);
}

/// Advice that would open a loop.
#[test]
fn the_spanning_tree_is_never_to_be_switched_off() {
    const BLOCKED: Edit = Swap(
        LINK,
        END,
        "57 text pci\n10 u32 91\n18 {\n4 text bridge\n5 {\n1 u8 4\n}\n}\n\
         message\nraw u8 0\nraw u8 0\nraw u16 1\nraw u32 91\nraw u32 0x11043\nraw u32 0\n3 text br0\n18 {\n1 text bridge\n2 {\n5 u32 1\n}\n}\n",
    );
    let one = finding(&[&BLOCKED], "bridge-port");
    assert!(one.severity == Severity::Note && !one.mend.unwrap().contains("stp_state"));
}

/// Regression: limits that a unit or a role states were faults.
#[test]
fn what_a_role_or_a_unit_states_is_a_note() {
    let shaped = Swap(LINK, "6 text mq", "6 text tbf");
    let stamps = Put("proc/sys/net/ipv4/tcp_timestamps", "0");
    let hard = [
        Put("proc/sys/net/ipv4/conf/all/send_redirects", "0"),
        Put("proc/sys/net/ipv4/conf/all/accept_redirects", "0"),
        Put("proc/sys/net/ipv4/conf/all/log_martians", "1"),
    ];
    let unit = "ExecStart=/sbin/tc qdisc replace dev ens2f0 root tbf rate 5gbit burst 1m latency 9ms\n";
    for (rule, edits, read) in [
        ("shaped", vec![&shaped], None),
        ("shaped", vec![&shaped, &Put("etc/systemd/system/tc.service", unit)], Some("/etc/systemd/system/tc.service")),
        (
            "shaped",
            vec![&shaped, &Put("etc/rc.local", "# tc qdisc add dev ens2f0 root tbf\ntc qdisc add dev eth7 root tbf\n")],
            None,
        ),
        ("shaped", vec![&shaped, &Put("proc/77/comm", "bird")], Some("/proc/77/comm")),
        // A virtual machine's limit is at its TAP, and not at the card.
        ("shaped", vec![&shaped, &Put("proc/77/comm", "qemu-system-x86")], None),
        ("tcp-options", vec![&stamps], None),
        ("tcp-options", vec![&stamps, &hard[0], &hard[1]], None),
        (
            "tcp-options",
            vec![&stamps, &hard[0], &hard[1], &hard[2]],
            Some(
                "sysctl net.ipv4.conf.all.send_redirects net.ipv4.conf.all.accept_redirects net.ipv4.conf.all.log_martians",
            ),
        ),
    ] {
        let one = finding(&edits, rule);
        let expected = if read.is_some() { Severity::Note } else { Severity::Warning };
        assert_eq!(one.severity, expected, "{one:#?}");
        if let Some(read) = read {
            assert_eq!(one.evidence.last().unwrap().read, read);
            assert!(one.fix.is_empty() && one.mend.unwrap().starts_with("nothing, if it is meant so; otherwise"));
        }
    }
    let tree = Tree::new(&[&shaped]);
    let named = [NAME.to_owned()];
    let asked = Asked { names: &named, roles: &[Role::Router], tree: Some(tree.0.path()), ..Asked::default() };
    let examined = examine(&asked, &linerate_rt::Stop::new().unwrap()).unwrap();
    let one = examined.findings.iter().find(|one| one.rule == "shaped").unwrap();
    assert_eq!((one.severity, one.evidence.last().unwrap().read.as_str()), (Severity::Note, "--as router"));
}
