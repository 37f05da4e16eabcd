//! The hosts that are held beside each other, each at the far end of a link of its own: same addresses, same MAC
//! address, same MTU, same routes.

use super::stations::{ECHO, HOST_MAC, ROUTER4, ROUTER6};
use super::tester::Tester;
use crate::process::{BINARY, LIMIT, Process};
use linerate_host::{Namespace, Offloads, VethPair};
use linerate_port::{Cause, open};
use linerate_wire::MacAddr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::thread::JoinHandle;

const ADDRESSES: [&str; 2] = ["10.0.0.2/8", "fd09::2/64"];
/// Seconds after which linerate's host ends even if the test was killed.
const LONGEST: &str = "300";
/// Payload that ends an echo service of the test's, if it comes from the host itself.
const END: &[u8] = b"end of the test";

/// A subject, and what it needs to live. The links go with their namespaces.
pub(crate) struct Subject {
    pub(crate) tester: Tester,
    alive: Alive,
    _pair: VethPair,
    host: Namespace,
    _near: Option<Namespace>,
}

enum Alive {
    Kernel(Vec<(SocketAddr, JoinHandle<()>)>),
    Ours(Process),
}

/// Result of a step that needs a privilege; None, with the skip reported.
fn namespace() -> Option<Namespace> {
    linerate_skip::permitted(Namespace::quiet(), |e| e.cause == linerate_host::Cause::Capability)
}

/// A pair of interfaces that compute no checksum later and merge nothing.
fn pair(host: &Namespace, names: [&str; 2]) -> VethPair {
    let pair = host.run_in(|| VethPair::new(names, 1, 1500)).unwrap().unwrap();
    let off = Offloads { tx_checksum: false, tso: false, gso: false, gro: false };
    for name in names {
        pair.set_offloads(name, off).unwrap();
    }
    pair
}

fn ip(host: &Namespace, line: &str) {
    let limit = LIMIT.as_secs().to_string();
    let mut command = Command::new("timeout");
    command.args([&limit, "ip"]).args(line.split(' '));
    let out = host.run_in(|| command.output()).unwrap().unwrap();
    assert!(out.status.success(), "ip {line}: {}", String::from_utf8_lossy(&out.stderr));
}

/// The kernel's host, in a namespace of its own.
pub(crate) fn kernel() -> Option<Subject> {
    let (host, near) = (namespace()?, namespace()?);
    let pair = pair(&host, ["cka", "ckb"]);
    host.run_in(|| linerate_host::Rtnetlink::open().and_then(|mut net| net.move_to("cka", &near))).unwrap().unwrap();
    near.run_in(|| linerate_host::Rtnetlink::open().and_then(|mut net| net.set_up("cka", true))).unwrap().unwrap();
    let settings = [
        ("net/ipv6/conf/ckb/disable_ipv6", "0"),
        // Errors as many as there are occasions.
        ("net/ipv4/icmp_ratelimit", "0"),
        ("net/ipv4/icmp_ratemask", "0"),
        ("net/ipv6/icmp/ratelimit", "0"),
        // A host that takes no source routes, and filters nothing by the way back.
        ("net/ipv4/conf/all/accept_source_route", "0"),
        ("net/ipv4/conf/ckb/accept_source_route", "0"),
        ("net/ipv4/conf/all/rp_filter", "0"),
        ("net/ipv4/conf/ckb/rp_filter", "0"),
        ("net/ipv4/ip_forward", "0"),
        // Addresses and routes are given by hand.
        ("net/ipv6/conf/ckb/accept_dad", "0"),
        ("net/ipv6/conf/ckb/accept_ra", "0"),
        // A neighbour's new MAC address is taken at once, not after a second: of 0, not within the same tick.
        ("net/ipv4/neigh/ckb/locktime", "-100"),
        // Labels are random.
        ("net/ipv6/auto_flowlabels", "0"),
        // A socket for each version.
        ("net/ipv6/bindv6only", "1"),
    ];
    for (name, value) in settings {
        let set = host.run_in(|| std::fs::write(format!("/proc/sys/{name}"), value)).unwrap();
        set.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    for line in [
        &format!("link set dev ckb address {}", MacAddr(HOST_MAC))[..],
        &format!("addr add {} broadcast + dev ckb", ADDRESSES[0]),
        &format!("-6 addr add {} dev ckb nodad", ADDRESSES[1]),
        &format!("-6 addr add {}/64 dev ckb nodad", super::stations::HOST_LOCAL),
        &format!("route add default via {ROUTER4}"),
        &format!("-6 route add default via {ROUTER6}"),
    ] {
        ip(&host, line);
    }
    let port = linerate_skip::permitted(near.run_in(|| open("packet:cka")).unwrap(), |e| e.cause == Cause::Capability)?;
    let services = [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()].map(|any| echo(&host, any));
    let tester = Tester::new(port);
    Some(Subject { tester, alive: Alive::Kernel(services.into()), _pair: pair, host, _near: Some(near) })
}

/// An echo service, as linerate's: it answers no datagram from the port of a service.
fn echo(host: &Namespace, any: IpAddr) -> (SocketAddr, JoinHandle<()>) {
    let socket = host.run_in(|| UdpSocket::bind((any, ECHO))).unwrap().unwrap();
    let loopback: IpAddr = if any.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    let serve = move || {
        let mut buffer = vec![0; 65536];
        loop {
            // Errors are about datagrams that were sent before.
            let Ok((n, from)) = socket.recv_from(&mut buffer) else { continue };
            if from.ip() == loopback && &buffer[..n] == END {
                return;
            }
            if ![7, 9, 19].contains(&from.port()) {
                // What cannot be sent is missing from the record.
                let _ = socket.send_to(&buffer[..n], from);
            }
        }
    };
    (SocketAddr::new(loopback, ECHO), std::thread::spawn(serve))
}

/// linerate's host, on a port of this kind.
pub(crate) fn ours(kind: &str) -> Option<Subject> {
    let host = namespace()?;
    let pair = pair(&host, ["cla", "clb"]);
    let port = linerate_skip::permitted(host.run_in(|| open("packet:cla")).unwrap(), |e| e.cause == Cause::Capability)?;
    let mut command = Command::new(BINARY);
    command.args(["stack", "up", "-i", &format!("{kind}:clb"), "--no-offload", "--wait", "sleep"]);
    command.args(["--seconds", LONGEST]);
    command.args(["--mac", &MacAddr(HOST_MAC).to_string()]);
    command.args(ADDRESSES.iter().flat_map(|address| ["--addr", address]));
    for (all, router) in [("0.0.0.0/0", IpAddr::from(ROUTER4)), ("::/0", ROUTER6.into())] {
        command.args(["--route", &format!("{all}={router}")]);
    }
    let far = host.run_in(|| open(&format!("{kind}:clb"))).unwrap();
    drop(linerate_skip::permitted(far, |e| e.cause == Cause::Capability)?);
    let process = host.run_in(|| Process::ready(command, "link up: ")).unwrap();
    let mut tester = Tester::new(port);
    tester.wait_for_announcements();
    Some(Subject { tester, alive: Alive::Ours(process), _pair: pair, host, _near: None })
}

impl Subject {
    /// Ends the subject; returns what it printed.
    pub(crate) fn end(self) -> String {
        match self.alive {
            Alive::Kernel(services) => {
                for (at, service) in services {
                    let any: IpAddr = if at.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
                    let sender = self.host.run_in(|| UdpSocket::bind((any, 0))).unwrap().unwrap();
                    sender.send_to(END, at).unwrap();
                    service.join().unwrap();
                }
                String::new()
            }
            Alive::Ours(process) => process.stop(),
        }
    }
}
