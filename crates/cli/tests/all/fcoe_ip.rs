//! One port for FCoE and IP, as a unified-wire adapter has it: `linerate fcoe … --addr`.
#![cfg(target_os = "linux")]

use crate::process::{Process, counter};
use crate::rig;
use linerate_host::Namespace;
use std::net::UdpSocket;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

const ADDRESS: &str = "10.9.0.2";
/// Least number of datagrams that must come back.
const ECHOES: u32 = 100_000;
/// Number of datagrams in flight.
const WINDOW: u32 = 16;

fn shell(ns: &Namespace, line: &str) -> Result<String, String> {
    let run = || Command::new("timeout").args(["200", "sh", "-ec", line]).output();
    let Output { status, stdout, stderr } = ns.run_in(run).unwrap().unwrap();
    if status.success() {
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&stderr).into_owned())
    }
}

/// Sends numbered datagrams of all lengths in turn, and compares each answer, until it is told to end and enough came
/// back. Returns their number.
fn echoes(ns: &Namespace, end: &AtomicBool) -> u32 {
    let socket = ns.run_in(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    socket.connect((ADDRESS, 7)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let datagram = |number: u32| {
        let mut bytes = vec![0x5a; 4 + number as usize % 1469];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        bytes
    };
    let mut buffer = [0; 2000];
    let (mut sent, mut back) = (0, 0);
    while back < ECHOES || !end.load(Relaxed) || back < sent {
        while sent < back + WINDOW && (sent < ECHOES || !end.load(Relaxed)) {
            socket.send(&datagram(sent)).unwrap();
            sent += 1;
        }
        let n = socket.recv(&mut buffer).unwrap_or_else(|e| panic!("{back} of {sent} came back: {e}"));
        assert!(buffer[..n] == datagram(back), "datagram {back} came back changed, or in another's place");
        back += 1;
    }
    back
}

/// The kernel of a virtual machine verifies a LUN over a bridge of TAPs; meanwhile the host's kernel pings the target's
/// address on the same port and has 10^5 datagrams echoed: nothing is lost or damaged.
#[test]
fn a_target_answers_ping_and_echo_while_a_kernel_verifies_its_disk() {
    if !rig::is_there() {
        return;
    }
    let made = linerate_skip::permitted(Namespace::new(), |e| e.cause == linerate_host::Cause::Capability);
    let Some(ns) = made else { return };
    let made = "ip link add bridge0 type bridge; ip link set bridge0 up; ip addr add 10.9.0.1/24 dev bridge0; \
        for tap in ours vm; do ip tuntap add dev $tap mode tap; ip link set $tap mtu 2500 master bridge0 up; done; \
        ip link set bridge0 mtu 2500";
    if let Err(why) = shell(&ns, made) {
        linerate_skip::skip!("no bridge of TAP interfaces: {why}");
        return;
    }
    let target = ["fcoe", "target", "-i", "tap:ours", "--lun", "0=ram:40M", "--addr", "10.9.0.2/24"];
    let mut target = ns.run_in(|| rig::ours(&target)).unwrap();
    target.until("LUN 0");
    let command = "echo BEGINS; verify 32";
    let machine = || {
        let limits = ["--timeout", "540", "--lun-timeout", "120", "--cmd", command];
        let all = [&["--role", "initiator", "--quiet", "--tap", "vm"], &limits[..]].concat();
        rig::start(&rig::file("run-vm.sh"), &all)
    };
    let mut machine = ns.run_in(machine).unwrap();
    machine.until("BEGINS");
    let end = AtomicBool::new(false);
    let (said, echoed, pinged) = thread::scope(|scope| {
        let echoed = scope.spawn(|| echoes(&ns, &end));
        let pinged = scope.spawn(|| shell(&ns, &format!("ping -n -c 50 -i 0.2 -W 10 -s 1000 {ADDRESS}")));
        let said = Process::done(machine);
        end.store(true, Relaxed);
        (said, echoed.join().unwrap(), pinged.join().unwrap())
    });
    assert!(said.contains("VERIFY-OK 32 MiB"), "{said}");
    assert!(pinged.as_ref().is_ok_and(|text| text.contains("50 received, 0% packet loss")), "{pinged:?}");
    let counters = target.stop();
    assert!(echoed >= ECHOES && counter(&counters, "ip.echo.sent") == u64::from(echoed), "{echoed}: {counters}");
    assert_eq!(counter(&counters, "ip.echoes"), 50, "{counters}");
    for none in ["frames_bad_crc", "frames_refused", "frames_too_long", "frames_spoiled", "exchanges_aborted"] {
        assert_eq!(counter(&counters, none), 0, "{none}: {counters}");
    }
    assert!(!counters.contains("ip.echo.unsent") && !counters.contains("ip.unexplained"), "{counters}");
}

/// Both ends of a cable carry FCoE and IP: a LUN is written and read back while the two hosts echo.
#[test]
fn target_and_initiator_are_hosts_on_one_cable() {
    let dir = tempfile::tempdir().unwrap();
    let cable = format!("cable:fcoeip{}", std::process::id());
    let ends = ["{1,mtu=2180", "}1"].map(|end| format!("{cable}{end}"));
    let mut target = rig::ours(&[
        "fcoe",
        "target",
        "-i",
        &ends[0],
        "--lun",
        "0=ram:16M",
        "--addr",
        "10.9.0.1/24",
        "--services",
        "echo,discard",
    ]);
    target.until("IP: 10.9.0.1/24");
    let nbd = dir.path().join("nbd");
    let nbd = format!("unix:{}", nbd.to_str().unwrap());
    let mut initiator = rig::ours(&[
        "fcoe",
        "initiator",
        "-i",
        &ends[1],
        "--nbd",
        &nbd,
        "--addr",
        "10.9.0.2/24",
        "--mac",
        "02:00:00:00:00:0a",
    ]);
    let line = initiator.until("IP: ");
    assert!(line.contains("10.9.0.2/24, MAC 02:00:00:00:00:0a, MTU 1500"), "{line}");
    initiator.until("export ");
    initiator.stop();
    let counters = target.stop();
    // It advertised its address, and learned that of the other end.
    assert!(counter(&counters, "ip.neighbour_messages") > 0, "{counters}");
    assert_eq!(counter(&counters, "sessions"), 1, "{counters}");
}

/// Options that need `--addr` are refused without it.
#[test]
fn routes_and_services_want_an_address() {
    for (more, name) in [("--route=0.0.0.0/0=10.9.0.9", "--addr"), ("--addr=10.9.0.0/24", "10.9.0.0")] {
        let output = Command::new(crate::process::BINARY)
            .args(["fcoe", "target", "-i", "null:", "--lun", "0=null:1M", "--seconds", "1", more])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more}: {said}");
        assert!(said.lines().count() == 1 && said.contains(name), "{said}");
    }
}
