//! Every value beside that of `ethtool`, `ip` and `lspci` in a virtual machine, and settings of drivers that have more of them
//! than veth: its kernel has kinds of interfaces that few machines can make. This program runs there once more.

use super::beside::every_interface_has_the_values_of_the_other_programs;
use super::printed;
use super::settings::{done, ip, nic, value};
use crate::process::until;
use crate::rig;

/// Programs for the machine, besides those of its own.
const PROGRAMS: [&str; 5] = ["ethtool", "ip", "lspci", "devlink", "timeout"];

/// Interfaces that the machine must have, each by a kind of its own or in another state.
const INTERFACES: [&str; 10] =
    ["eth0", "eth1", "eth2", "tagged", "dummy1", "dropped", "bound", "member0", "member1", "lo"];

/// Commands that make the interfaces in the machine. Its shell has an `ip` of its own, which makes fewer.
const MAKE: &str = "for m in 8021q bonding dummy ifb e1000e vmxnet3; do modprobe $m || exit 1; done
until [ -e /sys/class/net/eth1 ] && [ -e /sys/class/net/eth2 ]; do usleep 100000; done
set -e
/rig/ip link set eth1 up; /rig/ip link set eth2 up
/rig/ip link add dropped type ifb
/rig/ip link add link eth0 name tagged type vlan id 7
/rig/ip link add dummy1 numtxqueues 2 numrxqueues 2 type dummy
/rig/ip link add bound type bond mode active-backup miimon 100
for m in member0 member1; do /rig/ip link add $m type dummy; /rig/ip link set $m master bound; done
/rig/ip link set tagged up; /rig/ip link set bound up
set +e
sleep 3
";

/// Words of `nic set`, the flag of ethtool's that shows what they do (none for its first page), its key and value there.
type Set = (&'static str, &'static str, &'static str, &'static str);

/// Settings of interfaces.
const SETTINGS: [(&str, &[Set]); 5] = [
    (
        "eth1",
        &[
            ("ring-rx=512", "-g", "RX", "512"),
            ("ring-tx=128", "-g", "TX", "128"),
            ("rx-usecs=20", "-c", "rx-usecs", "20"),
            ("pause-autoneg=off pause-rx=off pause-tx=on", "-a", "RX", "off"),
            ("-tso", "-k", "tcp-segmentation-offload", "off"),
            ("-rxcsum", "-k", "rx-checksumming", "off"),
            ("rx-all", "-k", "rx-all", "on"),
            ("autoneg=off speed=100 duplex=full", "", "Auto-negotiation", "off"),
        ],
    ),
    (
        "eth2",
        &[
            ("ring-rx=512", "-g", "RX", "512"),
            ("ring-rx-jumbo=256", "-g", "RX Jumbo", "256"),
            ("ring-tx=1024", "-g", "TX", "1024"),
            ("-lro", "-k", "large-receive-offload", "off"),
        ],
    ),
    ("eth0", &[("-gro", "-k", "generic-receive-offload", "off")]),
    ("bound", &[("-gso", "-k", "generic-segmentation-offload", "off"), ("-sg", "-k", "scatter-gather", "off")]),
    ("tagged", &[("-gro", "-k", "generic-receive-offload", "off")]),
];

/// Changes by ethtool, and what `nic diff` says of them then.
const CHANGES: [(&str, &str, &str); 6] = [
    ("eth1", "-G eth1 rx 1024", "ring-rx: 1024 here, 256 in the file"),
    ("eth1", "-A eth1 autoneg off rx off tx off", "pause-autoneg: off here, on in the file"),
    ("eth1", "-C eth1 rx-usecs 50", "rx-usecs: 50 here, 3 in the file"),
    ("eth1", "-K eth1 rx-fcs on", "rx-fcs: on here, off in the file"),
    ("eth2", "-G eth2 tx 256", "ring-tx: 256 here, 512 in the file"),
    ("bound", "-K bound gro off", "rx-gro: off here, on in the file"),
];

/// All that the other programs say of an interface's settings.
fn all_of(name: &str) -> String {
    let pages = ["", "-k", "-g", "-c", "-a"].map(|flag| {
        let words: Vec<&str> = [flag, name].into_iter().filter(|word| !word.is_empty()).collect();
        let out = super::run("ethtool", &words);
        format!("ethtool {flag}\n{}", String::from_utf8(out.stdout).unwrap())
    });
    pages.concat() + &ip(name)
}

/// Waits until the other programs say so much again: a link that was set up anew takes a few seconds to come back.
fn comes_back(name: &str, before: &str) {
    until(&format!("{name} is again as it was:\n{before}"), || all_of(name) == before);
}

/// Waits for a link that the last change has set up anew: some drivers change their pause frames when it comes back.
fn has_link(name: &str) {
    let carrier = format!("/sys/class/net/{name}/carrier");
    until(&format!("{name} has a link"), || std::fs::read_to_string(&carrier).map_or(true, |text| text.trim() == "1"));
}

/// Sets, reads by the other programs, and puts back.
fn settings_are_those_of_the_other_programs() {
    let dir = tempfile::tempdir().unwrap();
    for (name, settings) in SETTINGS {
        let (file, before) = (dir.path().join(name), all_of(name));
        let path = file.to_str().unwrap();
        done(&format!("save {name} {path}"));
        for (words, flag, key, expected) in settings {
            has_link(name);
            let out = done(&format!("set {name} {words}"));
            assert!(out.contains(" -> "), "{name} {words}: {out}");
            assert_eq!(value(flag, name, key), *expected, "{name} {words}: {out}");
            println!("set {name} {words}");
        }
        done(&format!("set {name} mtu=1400 txqueuelen=77"));
        assert!(ip(name).contains("mtu 1400") && ip(name).contains("qlen 77"), "{name}");
        assert_eq!(nic(&format!("diff {name} {path}")).0, 3, "{name}");
        done(&format!("restore {name} {path}"));
        assert_eq!(done(&format!("diff {name} {path}")), "", "{name}");
        comes_back(name, &before);
        for (_, words, line) in CHANGES.iter().filter(|(one, ..)| *one == name) {
            printed("ethtool", &words.split(' ').collect::<Vec<_>>());
            let (code, out, _) = nic(&format!("diff {name} {path}"));
            assert!(code == 3 && out.lines().any(|one| one == *line), "{words}: {out}");
            println!("seen {words}");
        }
        done(&format!("restore {name} {path}"));
        comes_back(name, &before);
    }
    // More than the driver has: refused in the kernel's own words, and nothing changes.
    let (code, out, errors) = nic("set eth1 ring-rx=100000");
    assert!(code == 1 && errors.contains("refused"), "{out} {errors}");
    assert!(out.contains("ring-rx: refused 100000: ") && value("-g", "eth1", "RX") == "256", "{out}");
}

#[test]
fn interfaces_of_a_virtual_machine_have_the_values_of_ethtool_ip_and_lspci() {
    let roles = ["nic_host::machine::every_interface", "nic_host::machine::every_setting"];
    let Some(said) = rig::within(&PROGRAMS, MAKE, &roles, &["--pcie", "e1000e", "--pcie", "vmxnet3"]) else { return };
    for interface in INTERFACES {
        assert!(said.contains(&format!("compared {interface}\n")), "{interface}: {said}");
    }
    for interface in ["tagged", "bound", "member0"] {
        let details =
            said.lines().any(|line| line.starts_with(&format!("compared {interface}: ")) && line.ends_with(" details"));
        assert!(details, "{interface}: {said}");
    }
    for part in ["LnkCap", "LnkSta"] {
        assert!(said.contains(&format!("compared eth1: {part}\n")), "{part}: {said}");
    }
    for (interface, settings) in SETTINGS {
        for (words, ..) in settings {
            assert!(said.contains(&format!("set {interface} {words}\n")), "{interface} {words}: {said}");
        }
    }
    for (_, words, _) in CHANGES {
        assert!(said.contains(&format!("seen {words}\n")), "{words}: {said}");
    }
}

#[test]
#[ignore = "a role of another test"]
fn every_interface() {
    if rig::is_role() {
        every_interface_has_the_values_of_the_other_programs();
    }
}

#[test]
#[ignore = "a role of another test"]
fn every_setting() {
    if rig::is_role() {
        settings_are_those_of_the_other_programs();
    }
}
