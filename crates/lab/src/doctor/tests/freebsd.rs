//! Faults of FreeBSD hosts, by what their programs print.

use super::super::*;
use super::tree::CARDS;
use linerate_rt::Stop;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const OPTIONS: &str = "RXCSUM,TXCSUM,VLAN_MTU,TSO4,TSO6";

/// A host with an interface that has these options of those and LRO.
fn host(name: &str, options: &str, more: &str, files: &[(&str, &str)]) -> Examination {
    let tree = tempfile::tempdir().unwrap();
    let at = tree.path().join("freebsd");
    fs::create_dir(&at).unwrap();
    let ifconfig = format!(
        "{name}: flags=8843<UP,BROADCAST,RUNNING> metric 0 mtu 1500\n\toptions=0<{options}>\n\tcapabilities=0<{OPTIONS},LRO>\n\
         \tmedia: Ethernet autoselect (10Gbase-SR <full-duplex>)\n\tstatus: active\n{more}"
    );
    fs::write(at.join("ifconfig"), ifconfig).unwrap();
    for (name, text) in files {
        fs::write(at.join(name), text).unwrap();
    }
    examine(&Asked { tree: Some(tree.path()), ..Asked::default() }, &Stop::new().unwrap()).unwrap()
}

const HEALTHY: &str =
    "net.inet.ip.forwarding: 0\nnet.inet.tcp.recvbuf_max: 16777216\nnet.inet.tcp.sendbuf_max: 16777216\n";
/// Queues of IP with a thread, of which some is lost; and one of which nothing is.
const DEFERRED: &str = "net.inet.ip.forwarding: 0\nnet.inet.tcp.recvbuf_max: 16777216\nnet.inet.tcp.sendbuf_max: 16777216\nnet.inet.ip.intr_queue_drops: 8123123\nnet.inet.ip.intr_queue_maxlen: 256\nnet.isr.dispatch: deferred\nnet.isr.maxthreads: 1\n";
const DIRECT: &str = "net.inet.ip.forwarding: 0\nnet.inet.tcp.recvbuf_max: 16777216\nnet.inet.tcp.sendbuf_max: 16777216\nnet.inet.ip.intr_queue_drops: 0\nnet.inet.ip.intr_queue_maxlen: 256\nnet.isr.dispatch: deferred\nnet.isr.maxthreads: 1\n";
const UNSCALED: &str = "net.inet.ip.forwarding: 0\nnet.inet.tcp.rfc1323: 0\nnet.inet.tcp.recvbuf_max: 16777216\nnet.inet.tcp.sendbuf_max: 16777216\n";
const ROUTES: &str =
    "net.inet.ip.forwarding: 1\nnet.inet.tcp.recvbuf_max: 16777216\nnet.inet.tcp.sendbuf_max: 16777216\n";
const SMALL: &str = "net.inet.tcp.recvbuf_max: 2097152\nnet.inet.tcp.sendbuf_max: 16777216\n";
const LRO: &str = "RXCSUM,TXCSUM,VLAN_MTU,TSO4,TSO6,LRO";
const BRIDGE: &str =
    "bridge0: flags=8843<UP,BROADCAST,RUNNING> metric 0 mtu 1500\n\tmember: ix0 flags=143<LEARNING,DISCOVER>\n";
const PCI: &str = "ix0@pci0:1:0:0:\tclass=0x020000 rev=0x01\n    cap 10[a0] = PCI-Express 2 endpoint max data 256(512) link x4(x8)\n\
                   \x20                speed 2.5(5.0)\n";
const FEW: &str = "400/100/500/1000 mbuf clusters in use (current/cache/total/max)\n";
const FULL: &str = "900/50/950/1000 mbuf clusters in use (current/cache/total/max)\n";
const OCE: &str = "dev.oce.0.component_revision: ///4.2.313.0///\ndev.oce.0.firmware_version: 4.2.116.0\n\
                   net.inet.tcp.recvbuf_max: 16777216\nnet.inet.tcp.sendbuf_max: 16777216\n";
const ONE: &str = "dev.oce.0.component_revision: ///4.0.355.1///\ndev.oce.0.firmware_version: 4.0.360.15\n\
                   net.inet.tcp.recvbuf_max: 16777216\nnet.inet.tcp.sendbuf_max: 16777216\n";

#[test]
fn each_fault_of_freebsd_is_found_and_what_is_near_is_not() {
    type Case = (
        &'static str,
        &'static str,
        &'static str,
        &'static [(&'static str, &'static str)],
        &'static [[&'static str; 2]],
    );
    let cases: &[Case] = &[
        ("ix0", OPTIONS, "", &[("sysctl", HEALTHY)], &[]),
        ("ix0", LRO, "", &[("sysctl", HEALTHY)], &[]),
        ("ix0", OPTIONS, "", &[("sysctl", ROUTES)], &[]),
        (
            "ix0",
            LRO,
            "",
            &[("sysctl", ROUTES)],
            &[["freebsd-lro-forwarding", "ifconfig ix0 -lro -tso, and so in ifconfig_ix0 of /etc/rc.conf"]],
        ),
        (
            "ix0",
            LRO,
            BRIDGE,
            &[("sysctl", HEALTHY)],
            &[["freebsd-lro-forwarding", "ifconfig ix0 -lro -tso, and so in ifconfig_ix0 of /etc/rc.conf"]],
        ),
        (
            "vtnet0",
            OPTIONS,
            "",
            &[("sysctl", ROUTES)],
            &[[
                "freebsd-vtnet-checksum",
                "ifconfig vtnet0 -rxcsum -txcsum -rxcsum6 -txcsum6; for each start hw.vtnet.csum_disable=1 in /boot/loader.conf",
            ]],
        ),
        ("vtnet0", OPTIONS, "", &[("sysctl", HEALTHY)], &[]),
        ("vtnet0", "VLAN_MTU", "", &[("sysctl", ROUTES)], &[]),
        (
            "ix0",
            "RXCSUM,VLAN_MTU",
            "",
            &[("sysctl", HEALTHY)],
            &[["freebsd-offloads", "ifconfig ix0 txcsum"], ["freebsd-offloads", "ifconfig ix0 tso4"]],
        ),
        (
            "ix0",
            OPTIONS,
            "",
            &[("sysctl", SMALL)],
            &[[
                "freebsd-buffers",
                "sysctl kern.ipc.maxsockbuf=33554432 net.inet.tcp.recvbuf_max=16777216, and so in /etc/sysctl.conf",
            ]],
        ),
        (
            "ix0",
            OPTIONS,
            "",
            &[("sysctl", HEALTHY), ("pciconf", PCI)],
            &[[
                "freebsd-pcie",
                "another slot, or the card seated anew; see the link of the bridges above it in pciconf -lcv",
            ]; 2],
        ),
        ("ix0", OPTIONS, "", &[("sysctl", HEALTHY), ("netstat-m", FEW)], &[]),
        (
            "ix0",
            OPTIONS,
            "",
            &[("sysctl", HEALTHY), ("netstat-m", FULL)],
            &[["freebsd-mbufs", "sysctl kern.ipc.nmbclusters=2000, and so in /etc/sysctl.conf"]],
        ),
        ("ix0", OPTIONS, "", &[("sysctl", DIRECT)], &[]),
        (
            "ix0",
            OPTIONS,
            "lagg0: flags=8843<UP,RUNNING> metric 0 mtu 1500\n\tlaggproto lacp lagghash l2,l3,l4\n\tlaggport: ix0 flags=1c<ACTIVE,COLLECTING,DISTRIBUTING>\n\tlaggport: ix1 flags=1c<ACTIVE,COLLECTING,DISTRIBUTING>\n",
            &[("sysctl", HEALTHY)],
            &[],
        ),
        (
            "ix0",
            OPTIONS,
            "lagg0: flags=8843<UP,RUNNING> metric 0 mtu 1500\n\tlaggproto failover lagghash l2,l3,l4\n\tlaggport: ix0 flags=5<MASTER,ACTIVE>\n\tlaggport: ix1 flags=0<>\n",
            &[("sysctl", HEALTHY)],
            &[],
        ),
        (
            "ix0",
            OPTIONS,
            "lagg0: flags=8843<UP,RUNNING> metric 0 mtu 1500\n\tlaggproto lacp lagghash l2,l3,l4\n\tlaggport: ix0 flags=1c<ACTIVE,COLLECTING,DISTRIBUTING>\n\tlaggport: ix1 flags=0<>\n\tlaggport: ix2 flags=18<COLLECTING,DISTRIBUTING>\n",
            &[("sysctl", HEALTHY)],
            &[
                [
                    "freebsd-lagg",
                    "LACP on at the partner's port, in one group with the others; then cable and speed: ifconfig ix1, ifconfig -v lagg0",
                ],
                [
                    "freebsd-lagg",
                    "LACP on at the partner's port, in one group with the others; then cable and speed: ifconfig ix2, ifconfig -v lagg0",
                ],
            ],
        ),
        (
            "ix0",
            OPTIONS,
            "",
            &[("sysctl", DEFERRED)],
            &[[
                "freebsd-netisr",
                "sysctl net.inet.ip.intr_queue_maxlen=1024, and so in /etc/sysctl.conf; for each start net.isr.maxthreads=-1 in /boot/loader.conf: a thread for each processor",
            ]],
        ),
        (
            "oce0",
            OPTIONS,
            "",
            &[("sysctl", OCE)],
            &[[
                "freebsd-driver-firmware",
                "install driver and firmware of one release, as the vendor's compatibility list has them",
            ]],
        ),
        ("oce0", OPTIONS, "", &[("sysctl", ONE)], &[]),
        (
            "ix0",
            OPTIONS,
            "em0: flags=8843<UP,RUNNING> metric 0 mtu 1500\n\tstatus: no carrier\n",
            &[("sysctl", HEALTHY)],
            &[["freebsd-link-down", "see cable, module and partner"]],
        ),
        (
            "ix0",
            OPTIONS,
            "em0: flags=8843<UP,RUNNING> metric 0 mtu 1500\n\tmedia: Ethernet 100baseTX <half-duplex>\n\tstatus: active\n",
            &[("sysctl", HEALTHY)],
            &[["freebsd-duplex", "ifconfig em0 media autoselect, and autonegotiation on at the partner"]],
        ),
        (
            "ix0",
            OPTIONS,
            "",
            &[("sysctl", UNSCALED)],
            &[["freebsd-tcp-options", "sysctl net.inet.tcp.rfc1323=1, and so in /etc/sysctl.conf"]],
        ),
    ];
    let mut seen = BTreeSet::new();
    for (name, options, more, files, wanted) in cases {
        let examined = host(name, options, more, files);
        let found: Vec<[&str; 2]> =
            examined.findings.iter().map(|one| [&*one.rule, one.mend.as_deref().unwrap_or_default()]).collect();
        assert_eq!(found, *wanted, "{name} {options}: {examined:#?}");
        assert!(examined.findings.iter().all(|one| !one.evidence.is_empty() && one.fix.is_empty()), "{examined:#?}");
        seen.extend(wanted.iter().map(|one| one[0]));
    }
    // In posted texts.
    const ELSEWHERE: [&str; 4] = ["freebsd-messages", "freebsd-counters", "freebsd-mtu", "freebsd-one-queue"];
    seen.extend(ELSEWHERE);
    assert_eq!(seen.len(), RULES.iter().filter(|rule| rule.scope == Scope::Freebsd).count());
}

#[test]
fn a_text_of_freebsd_that_is_not_there_is_said() {
    let examined = host("ix0", OPTIONS, "", &[]);
    let why = |rule: &str| examined.unable.iter().find(|one| one.1 == rule).map(|one| one.2.as_str());
    assert!(why("freebsd-buffers").is_some_and(|why| why.starts_with("sysctl: not recorded")), "{examined:#?}");
    assert!(why("freebsd-pcie").is_some(), "{examined:#?}");
    // The adapter of the tuning note, in a slot of four lanes.
    let tree = Path::new(CARDS).join("../freebsd/oce-be3");
    let note = examine(&Asked { tree: Some(&tree), ..Asked::default() }, &Stop::new().unwrap()).unwrap();
    assert!(note.findings.iter().any(|one| one.rule == "freebsd-pcie" && one.subject == "oce0"), "{note:#?}");
}
