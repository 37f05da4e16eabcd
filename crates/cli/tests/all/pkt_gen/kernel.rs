//! Two processes over the kernel's interfaces, in network namespaces of their own.

use super::two::carry;
use crate::process::Process;
use linerate_host::{Namespace, Offloads, VethPair};
use linerate_port::{Cause, open};
use std::process::Command;

/// Frames per second of tests that must lose none: low enough for a kernel whose cores have other work.
const RATE: &str = "-R 50000";

/// A namespace whose new interfaces are silent; `None`, with the reason on standard output, if the privilege is
/// missing.
pub(crate) fn namespace() -> Option<Namespace> {
    linerate_skip::permitted(Namespace::quiet(), |e| e.cause == linerate_host::Cause::Capability)
}

/// A veth pair whose checksums are filled in. It must be dropped before the namespace.
pub(crate) fn veth(ns: &Namespace, names: [&str; 2]) -> VethPair {
    let pair = ns.run_in(|| VethPair::new(names, 1, 1500)).unwrap().unwrap();
    for name in names {
        pair.set_offloads(name, Offloads { tx_checksum: false, tso: false, gso: false, gro: false }).unwrap();
    }
    pair
}

/// True if the kernel can open such a port; prints the reason if the privilege, or the feature, is missing.
pub(crate) fn opens(ns: &Namespace, name: &str) -> bool {
    linerate_skip::permitted(ns.run_in(|| open(name)).unwrap(), |e| e.cause == Cause::Capability).is_some()
}

/// Function that starts a command in a namespace.
pub(crate) fn start_in(ns: &Namespace) -> impl Fn(Command, &str) -> Process {
    |command, word| ns.run_in(|| Process::ready(command, word)).unwrap()
}

/// Carries IPv4 in one size and IPv6 in two, over a veth pair of its own.
fn over_veth(kind: &str) {
    let Some(ns) = namespace() else { return };
    let _pair = veth(&ns, ["va", "vb"]);
    if !opens(&ns, &format!("{kind}:va")) {
        return;
    }
    for more in ["-l 64", "-6 --imix 80:3,1514:1"] {
        carry(&start_in(&ns), &format!("{kind}:va"), &format!("{kind}:vb"), &format!("{RATE} {more}"));
    }
}

#[test]
fn packet_ports_carry_every_frame_between_two_processes() {
    over_veth("packet");
}

#[test]
fn xdp_ports_carry_every_frame_between_two_processes() {
    over_veth("xdp");
}

/// Both directions between the program of a TAP interface and a program at the kernel's side.
#[test]
fn a_tap_port_carries_every_frame_between_two_processes() {
    let Some(ns) = namespace() else { return };
    let ip = |arguments: &str| ns.run_in(|| Command::new("ip").args(arguments.split(' ')).output()).unwrap();
    match ip("tuntap add dev t0 mode tap") {
        Err(e) => return linerate_skip::skip!("ip (of iproute2): {e}"),
        Ok(made) if !made.status.success() => {
            return linerate_skip::skip!("no TAP interface: {}", String::from_utf8_lossy(&made.stderr));
        }
        Ok(_) => assert!(ip("link set dev t0 up").unwrap().status.success()),
    }
    carry(&start_in(&ns), "tap:t0", "packet:t0", RATE);
    carry(&start_in(&ns), "packet:t0", "tap:t0", &format!("{RATE} -l 1000"));
}

/// Regression: a deleted interface was told as a link that is down, and the run went on until Ctrl-C.
#[test]
fn a_run_ends_when_its_interface_is_deleted_and_says_so() {
    let Some(ns) = namespace() else { return };
    for kind in ["packet", "xdp"] {
        for function in ["rx", "tx -R 1000", "pong"] {
            let pair = veth(&ns, ["va", "vb"]);
            if !opens(&ns, &format!("{kind}:va")) {
                return;
            }
            let command = super::linerate(&format!("pkt-gen -i {kind}:va -w 0 -f {function}"));
            let running = start_in(&ns)(command, "Ready...");
            drop(pair);
            let ended = running.end();
            assert_eq!(ended.code, Some(1), "{kind} {function}: {ended:?}");
            assert!(
                ended.log.contains(": the interface is gone") && ended.log.contains(&format!("{kind}:va")),
                "{kind} {function}: {}",
                ended.log
            );
            assert!(!ended.log.contains("its link is down"), "{kind} {function}: {}", ended.log);
        }
    }
}
