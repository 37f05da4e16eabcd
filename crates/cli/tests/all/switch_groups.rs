//! Groups between the kernels of three namespaces, through `linerate switch` and, beside it, the kernel's own bridge: who
//! has joined gets them, who has not does not, and neighbours find each other.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, Process};
use crate::switch_rig::{Host, ip, quiet, received};
use linerate_host::Namespace;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(90);
const V4: Ipv4Addr = Ipv4Addr::new(239, 7, 1, 2);
const V6: Ipv6Addr = Ipv6Addr::new(0xff12, 0, 0, 0, 0, 0, 7, 0x102);
const PORTS: [u16; 2] = [7104, 7106];
/// Datagrams of a round; with many fewer frames at a host it has not got them.
const ROUND: u32 = 200;
/// For how long a datagram is waited for: a busy machine may keep it for more than a second.
const PATIENCE: Duration = Duration::from_secs(10);

fn open(host: &Host, v6: bool) -> UdpSocket {
    let any: IpAddr = if v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = host.ns.run_in(|| UdpSocket::bind((any, PORTS[usize::from(v6)])).unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    socket
}

/// Sends a round to a group; the number of datagrams that the listener got, and of frames that came to the third.
fn round(from: (&UdpSocket, SocketAddr), listener: &UdpSocket, third: &Host) -> (u32, u64) {
    let before = received(&third.ns, &third.interface);
    let mut got = 0;
    for number in 0..ROUND {
        from.0.send_to(&number.to_be_bytes(), from.1).unwrap();
        let (mut bytes, deadline) = ([0; 9], Instant::now() + PATIENCE);
        while Instant::now() < deadline {
            if listener.recv(&mut bytes).is_ok_and(|n| bytes[..n] == number.to_be_bytes()) {
                got += 1;
                break;
            }
        }
    }
    (got, received(&third.ns, &third.interface) - before)
}

/// The whole test; `forwarder` runs and asks.
fn groups_are_told_apart(forwarder: &str, [a, b, c]: [&Host; 3]) -> [UdpSocket; 2] {
    let sockets = [false, true].map(|v6| {
        let (sender, listener) = (open(a, v6), open(b, v6));
        let group: SocketAddr = if v6 {
            listener.join_multicast_v6(&V6, b.index).unwrap();
            SocketAddrV6::new(V6, PORTS[1], 0, a.index).into()
        } else {
            listener.join_multicast_v4(&V4, &b.v4).unwrap();
            (V4, PORTS[0]).into()
        };
        let deadline = Instant::now() + LIMIT;
        // Until the host has told that it listens.
        while {
            sender.send_to(b"met", group).unwrap();
            listener.recv(&mut [0; 9]).is_err()
        } {
            assert!(Instant::now() < deadline, "{forwarder}: {group}: it hears nothing");
        }
        loop {
            let dropped = || a.dropped() + b.dropped();
            let before = dropped();
            let (got, elsewhere) = round((&sender, group), &listener, c);
            let by_kernel = dropped() - before;
            assert!(
                u64::from(got) + by_kernel >= ROUND.into(),
                "{forwarder}: {group}: the listener loses none, before the table is in force and after: {got} of \
                 {ROUND}, {by_kernel} dropped by the pairs' kernel"
            );
            if elsewhere < u64::from(ROUND / 2) {
                break;
            }
            assert!(Instant::now() < deadline, "{forwarder}: {group}: {elsewhere} frames came to who has not joined");
        }
        listener
    });
    // Neighbours are found by groups: with none known, and with table in force.
    for (from, to) in [(a, c), (c, b), (b, a)] {
        let (sender, there) = (open_at(from, 7200), open_at(to, 7300));
        let deadline = Instant::now() + LIMIT;
        while {
            sender.send_to(b"met", (to.v6, 7300)).unwrap();
            there.recv(&mut [0; 9]).is_err()
        } {
            assert!(Instant::now() < deadline, "{forwarder}: {} is not found", to.v6);
        }
    }
    sockets
}

fn open_at(host: &Host, port: u16) -> UdpSocket {
    let socket = host.ns.run_in(|| UdpSocket::bind((host.v6, port)).unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    socket
}

fn hosts(between: &Namespace) -> [Host; 3] {
    [1, 2, 3].map(|n| Host::new(n, between))
}

#[test]
fn groups_go_to_the_kernels_that_have_joined() {
    let Some(between) = quiet() else { return };
    let [a, b, c] = hosts(&between);
    let name = format!("groups-{}", std::process::id());
    let mut command = Command::new(BINARY);
    command.args(["switch", &name, "--json", "--querier", "--wait", "sleep"]);
    for port in ["f1", "f2", "f3"] {
        command.args(["--attach", &format!("packet:{port}")]);
    }
    let mut running = between.run_in(|| Process::start(command)).unwrap();
    running.until("attach to it");
    let sockets = groups_are_told_apart("switch", [&a, &b, &c]);
    running.signal("INT");
    let ended = running.end();
    drop(sockets);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &document["ledger"]["unexplained"]), (Some(130), &0.into()), "{document}");
    let rows = |name: &str| document[name].as_array().unwrap().clone();
    for group in [V4.to_string(), V6.to_string()] {
        let row = rows("groups").into_iter().find(|row| row["group"] == group.as_str());
        let row = row.unwrap_or_else(|| panic!("no {group}: {document}"));
        let ports: Vec<_> = row["ports"].as_array().unwrap().iter().map(|port| port["port"].clone()).collect();
        assert_eq!((ports, &row["vlan"]), (vec!["f2".into()], &1.into()));
    }
    let queriers: Vec<_> = rows("queriers").iter().map(|row| row["port"].clone()).collect();
    assert_eq!(queriers, [serde_json::Value::Null, serde_json::Value::Null], "the switch itself, for IPv4 and IPv6");
    let ports: Vec<_> = rows("addresses").iter().map(|row| row["port"].as_str().unwrap().to_owned()).collect();
    for port in ["f1", "f2", "f3"] {
        assert!(ports.iter().any(|known| known == port), "{port} of {ports:?}");
    }
}

/// The same with the kernel's bridge in the switch's place: what the test asks for is what a bridge does.
#[test]
fn the_kernels_bridge_does_the_same() {
    let Some(between) = quiet() else { return };
    let bridge = "link add br0 type bridge mcast_snooping 1 mcast_querier 1";
    if let Err(why) = ip(&between, bridge) {
        linerate_skip::skip!("no bridge: {why}");
        return;
    }
    // Its queries of MLD need a link-local address.
    let enable = || std::fs::write("/proc/sys/net/ipv6/conf/br0/disable_ipv6", "0").unwrap();
    between.run_in(enable).unwrap();
    let [a, b, c] = hosts(&between);
    for line in ["link set f1 master br0", "link set f2 master br0", "link set f3 master br0", "link set br0 up"] {
        ip(&between, line).unwrap();
    }
    groups_are_told_apart("bridge", [&a, &b, &c]);
}
