//! Ports of `linerate switch` that are joined outside of it, by the kernel: the storm ends, others go on.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, Process, until};
use crate::switch_rig::{Host, ip, quiet, received};
use linerate_host::{Namespace, VethPair};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
/// Frames in a second in which nothing is sent; a storm has hundreds of thousands.
const QUIET: u64 = 200;

/// Starts a switch on these interfaces of a namespace.
fn switch(ns: &Namespace, name: &str, interfaces: &[&str]) -> Process {
    let mut command = Command::new(BINARY);
    command.args(["switch", &format!("{name}-{}", std::process::id()), "--json", "--wait", "sleep"]);
    for interface in interfaces {
        command.args(["--attach", &format!("packet:{interface}")]);
    }
    let mut running = ns.run_in(|| Process::start(command)).unwrap();
    running.until("attach to it");
    running
}

/// Sends broadcasts, which a loop multiplies.
fn shout(from: &Host) {
    let send = || {
        let socket = UdpSocket::bind((from.v4, 0)).unwrap();
        socket.set_broadcast(true).unwrap();
        for _ in 0..20 {
            socket.send_to(b"all", (Ipv4Addr::BROADCAST, 7)).unwrap();
        }
    };
    from.ns.run_in(send).unwrap();
}

/// Sends datagrams there and back.
fn talk(a: &Host, b: &Host) {
    let open = |host: &Host| {
        let socket = host.ns.run_in(|| UdpSocket::bind((host.v4, 7000)).unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        socket
    };
    let (here, there) = (open(a), open(b));
    let deadline = std::time::Instant::now() + LIMIT;
    for (from, to, address) in [(&here, &there, b.v4), (&there, &here, a.v4)] {
        // An address may have been learned behind a wrong port while frames went round.
        while {
            from.send_to(b"met", (address, 7000)).unwrap();
            to.recv(&mut [0; 9]).is_err()
        } {
            assert!(std::time::Instant::now() < deadline, "{address} hears nothing");
        }
    }
}

/// Waits for a second in which hardly a frame passes these interfaces: a storm never ends.
fn until_quiet(ns: &Namespace, interfaces: &[&str]) {
    until("frames go round no more", || interfaces.iter().all(|interface| is_quiet(ns, interface)));
}

/// True if hardly a frame passes an interface in a second.
fn is_quiet(ns: &Namespace, interface: &str) -> bool {
    let before = received(ns, interface);
    std::thread::sleep(Duration::from_secs(1));
    received(ns, interface) - before < QUIET
}

/// Ends a switch; the frames of each port that were refused because it was blocked.
fn end(running: Process) -> Vec<(String, u64)> {
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said());
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let ledger = &document["ledger"];
    assert_eq!(ledger["unexplained"], 0, "{document}");
    assert!(ledger["own"].as_u64() > Some(5), "{document}");
    let ports = document["ports"].as_array().unwrap().iter();
    let blocked = ports.map(|port| (port["name"].as_str().unwrap(), port["refused"]["blocked"].as_u64().unwrap_or(0)));
    blocked.map(|(name, n)| (name.to_owned(), n)).collect()
}

#[test]
fn both_ends_of_one_link_make_no_storm() {
    let Some(ns) = quiet() else { return };
    let pair = ns.run_in(|| VethPair::new(["w0", "w1"], 1, 1500)).unwrap().unwrap();
    // A bridge has no addresses and no probes; it does not begin.
    let mut command = Command::new(BINARY);
    command.args(["bridge", "-i", "packet:w0", "-i", "packet:w1"]);
    let refused = ns.run_in(|| Process::start(command)).unwrap().end();
    assert!(refused.code == Some(2) && refused.log.contains("two ends of one link"), "{}", refused.said());
    let (a, b) = (Host::new(1, &ns), Host::new(2, &ns));
    let mut running = switch(&ns, "ends", &["f1", "f2", "w0", "w1"]);
    running.until("w1: blocked: it is joined to w0 outside this switch (a loop); remove one link");
    shout(&a);
    talk(&a, &b);
    until_quiet(&ns, &["w0"]);
    pair.set_up("w0", false).unwrap();
    running.until("w1: open again: it is no longer joined to w0");
    let refused = end(running);
    assert!(refused.iter().all(|(name, n)| (*n > 0) == (name == "w1")), "{refused:?}");
}

#[test]
fn two_links_into_one_bridge_make_no_storm_and_the_second_serves_when_the_first_is_gone() {
    let Some(ns) = quiet() else { return };
    if let Err(why) = ip(&ns, "link add br0 type bridge") {
        linerate_skip::skip!("no bridge: {why}");
        return;
    }
    let pairs = [["w0", "x0"], ["w1", "x1"]].map(|names| ns.run_in(|| VethPair::new(names, 1, 1500)).unwrap().unwrap());
    // A host at the switch, and one at the bridge.
    let (a, b) = (Host::new(1, &ns), Host::new(2, &ns));
    for line in ["link set x0 master br0", "link set f2 master br0", "link set br0 up"] {
        ip(&ns, line).unwrap();
    }
    let mut running = switch(&ns, "into", &["f1", "w0", "w1"]);
    shout(&a);
    talk(&a, &b);
    // The loop comes while the switch runs.
    ip(&ns, "link set x1 master br0").unwrap();
    shout(&a);
    running.until("w1: blocked: it is joined to w0");
    talk(&a, &b);
    shout(&b);
    until_quiet(&ns, &["w0"]);
    ip(&ns, "link set x0 nomaster").unwrap();
    running.until("w1: open again");
    talk(&a, &b);
    end(running);
    drop(pairs);
}

#[test]
fn two_switches_that_are_joined_twice_carry_by_one_link() {
    let Some(ns) = quiet() else { return };
    // Crossed, so that each would block another link.
    let pairs = [["w0", "x1"], ["w1", "x0"]].map(|names| ns.run_in(|| VethPair::new(names, 1, 1500)).unwrap().unwrap());
    let (a, b) = (Host::new(1, &ns), Host::new(2, &ns));
    let one = switch(&ns, "one", &["f1", "w0", "w1"]);
    let two = switch(&ns, "two", &["f2", "x0", "x1"]);
    talk(&a, &b);
    // Some blocks later one of the two keeps its port closed.
    std::thread::sleep(Duration::from_secs(12));
    shout(&a);
    talk(&a, &b);
    until_quiet(&ns, &["w0", "w1"]);
    end(one);
    end(two);
    drop(pairs);
}
