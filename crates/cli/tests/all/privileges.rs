//! Tests that a command gives up its privileges once its ports are open, and that the ports go on.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process};
use linerate_host::{Cause, Namespace, VethPair};
use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

/// A namespace with a pair of so many queues; `None`, with the reason on standard output, if that is not permitted.
fn namespace(queues: u32) -> Option<(VethPair, Namespace)> {
    let ns = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability)?;
    let pair = ns.run_in(|| VethPair::new(["va", "vb"], queues, 2500)).unwrap().unwrap();
    Some((pair, ns))
}

fn start(ns: &Namespace, arguments: &[&str]) -> Process {
    let mut command = Command::new(BINARY);
    command.args(arguments);
    ns.run_in(|| Process::start(command)).unwrap()
}

/// Field `name` of the status of each thread.
fn fields(pid: u32, name: &str) -> Vec<String> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let status = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("status")).ok());
    let field = |status: String| Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned());
    status.filter_map(field).collect()
}

/// Waits until no thread of a command has a capability beyond `keeps`, or can get one by running a program.
fn gives_up(pid: u32, keeps: &str) {
    let until = Instant::now() + LIMIT;
    loop {
        let has = ["NoNewPrivs:", "CapPrm:", "CapEff:", "CapInh:"].map(|name| fields(pid, name));
        let wanted = ["1", keeps, keeps, NONE];
        if has.iter().zip(wanted).all(|(has, wanted)| !has.is_empty() && has.iter().all(|value| value == wanted)) {
            return;
        }
        assert!(Instant::now() < until, "it keeps {has:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const NONE: &str = "0000000000000000";
const DAC_OVERRIDE: &str = "0000000000000002";
const NET_BIND_SERVICE: &str = "0000000000000400";

#[test]
fn commands_give_up_their_privileges_once_their_ports_are_open() {
    let Some((_pair, ns)) = namespace(2) else { return };
    let dir = tempfile::tempdir().unwrap();
    let nbd = format!("unix:{}", dir.path().join("nbd").display());
    let switch = format!("priv-{}", std::process::id());
    let ram = "0=ram:1M";
    for arguments in [
        &["pkt-gen", "-i", "xdp:va,queues=2", "-f", "rx", "-p", "2"][..],
        &["pkt-gen", "-i", "packet:va", "-f", "tx", "-R", "1000"],
        &["bridge", "-i", "xdp:va@0", "-i", "tap:tap2", "-w", "0"],
        &["switch", &switch, "--attach", "packet:va", "--host", "tap0"],
        &["nic", "up", "-i", "packet:va", "--vis", "2"],
        &["stack", "up", "-i", "tap:tap1", "--addr", "10.9.0.2/24"],
        &["fcoe", "target", "-i", "xdp:va", "--lun", ram],
        &["fcoe", "initiator", "-i", "packet:va", "--nbd", &nbd],
        &["fcoe", "discover", "-i", "packet:va", "--seconds", "3600"],
        &["fcoe", "ls", "-i", "packet:va", "--timeout", "3600"],
    ] {
        let command = start(&ns, arguments);
        println!("{arguments:?}");
        gives_up(command.id(), NONE);
        // Its control socket needs none either.
        if let Some(show) = shown(arguments) {
            let shown = Command::new(BINARY).args(show).output().unwrap();
            assert!(shown.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&shown.stderr));
        }
        command.signal("TERM");
        let ended = command.end();
        assert_eq!(ended.code, Some(143), "{arguments:?}: {ended:?}");
    }
}

/// A server of iperf, iperf3 or netperf that listens, at a port that only root may take too, keeps no more than a new socket at
/// such a port takes; and serves.
#[test]
fn servers_of_loads_give_up_their_privileges_once_they_listen() {
    let Some((_pair, ns)) = namespace(1) else { return };
    ip(&ns, "link set lo up");
    for (server, keeps, client) in [
        (&["stream", "-s", "-p", "901"][..], NET_BIND_SERVICE, &["stream", "-u", "-n", "64K", "-p", "901"][..]),
        (&["stream", "-s", "-p", "5999"], NONE, &["stream", "-u", "-n", "64K", "-p", "5999"]),
        (&["iperf", "-s", "-p", "902"], NONE, &["iperf", "-n", "64K", "-p", "902"]),
        (&["iperf", "-s", "-u", "-p", "902"], NET_BIND_SERVICE, &["iperf", "-u", "-n", "64K", "-p", "902"]),
        (&["netserver", "-D", "-p", "903"], NONE, &["netperf", "-l", "-65536", "-p", "903"]),
        (&["netserver", "-D", "-p", "904"], NONE, &["netperf", "-t", "UDP_STREAM", "-l", "-65536", "-p", "904"]),
    ] {
        println!("{server:?}");
        let running = start(&ns, server);
        gives_up(running.id(), keeps);
        let host = if client[0] == "netperf" { "-H" } else { "-c" };
        let words = [&client[..1], &[host, "127.0.0.1"], &client[1..]].concat();
        let done = start(&ns, &words).end();
        assert_eq!(done.code, Some(0), "{words:?}: {done:?}");
        gives_up(running.id(), keeps);
        running.signal("TERM");
        running.end();
    }
}

/// Words that show a command from another shell, if it has a control socket.
fn shown<'a>(arguments: &[&'a str]) -> Option<[&'a str; 3]> {
    match arguments {
        ["switch", name, ..] => Some(["switch", "show", name]),
        ["stack", "up", "-i", port, ..] => Some(["stack", "show", port]),
        ["fcoe", "target", "-i", port, ..] => Some(["fcoe", "show", port]),
        _ => None,
    }
}

/// The socket of an NBD server that belongs to another user must be reachable again after a loss.
#[test]
fn a_target_keeps_what_it_takes_to_find_a_socket_again() {
    let Some((_pair, ns)) = namespace(1) else { return };
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    // The NBD server is our own: it exports a LUN of another target.
    let cable = format!("cable:priv-{}", std::process::id());
    let (theirs, ours) = (format!("{cable}{{1"), format!("{cable}}}1"));
    let first = Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", "0=ram:1M"], "LUN 0");
    let at = format!("unix:{}", socket.display());
    let server = Process::linerate(&["fcoe", "initiator", "-i", &ours, "--nbd", &at], "/0:");
    let lun = format!("0=nbd+unix:///?socket={}", socket.display());
    let second = start(&ns, &["fcoe", "target", "-i", "packet:va", "--lun", &lun]);
    gives_up(second.id(), DAC_OVERRIDE);
    second.stop();
    server.stop();
    first.stop();
}

/// Sends echo requests over the port until one is answered.
fn echoes(ns: &Namespace, what: &str) {
    let until = Instant::now() + LIMIT;
    let echo = || {
        let socket = UdpSocket::bind("10.9.0.1:0")?;
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        socket.send_to(b"there?", "10.9.0.2:7")?;
        socket.recv(&mut [0; 64])
    };
    while ns.run_in(echo).unwrap().is_err() {
        assert!(Instant::now() < until, "{what}: nobody answers");
    }
}

fn ip(ns: &Namespace, words: &str) {
    assert!(ns.run_in(|| Command::new("ip").args(words.split(' ')).status()).unwrap().unwrap().success(), "ip {words}");
}

/// The link goes down and up, the interface's queues are reset, addresses are added and removed: none of it needs a
/// privilege.
#[test]
fn a_port_goes_on_without_privileges() {
    for kind in ["packet", "xdp"] {
        let Some((pair, ns)) = namespace(1) else { return };
        ip(&ns, "addr add 10.9.0.1/24 dev va");
        pair.set_offloads("va", linerate_host::Offloads { tx_checksum: false, tso: false, gso: false, gro: false })
            .unwrap();
        let port = format!("{kind}:vb");
        let host = ["stack", "up", "-i", &port, "--addr", "10.9.0.2/24", "--mac", "02:00:00:00:00:02"];
        let host = start(&ns, &host);
        gives_up(host.id(), NONE);
        echoes(&ns, kind);
        for end in ["vb", "va"] {
            pair.set_up(end, false).unwrap();
            pair.set_up(end, true).unwrap();
            // A link that was down has forgotten its neighbours, and an interface that was never up has another address.
            echoes(&ns, &format!("{kind}, after {end} was off"));
        }
        host.stop();
    }
    // The second address of a node is added some time after its start.
    let Some((_pair, ns)) = namespace(1) else { return };
    let mut target =
        start(&ns, &["fcoe", "target", "-i", "packet:va", "--mac", "02:00:00:00:00:0a", "--lun", "0=ram:1M"]);
    target.until("ready");
    gives_up(target.id(), NONE);
    let listed = start(&ns, &["fcoe", "ls", "-i", "xdp:vb"]).done();
    assert!(listed.contains("LUN 0     LINERATE ram"), "{listed}");
    let said = target.stop();
    assert!(!said.contains("instead"), "a filter was refused: {said}");
}
