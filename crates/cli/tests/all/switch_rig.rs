//! Hosts for tests of `linerate switch`: kernels in namespaces of their own, each at one end of a veth pair.
#![cfg(target_os = "linux")]

use linerate_host::{Cause, Namespace, Rtnetlink, VethPair};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Command;
use std::sync::Mutex;

/// A namespace for a switch; `None`, with the reason printed, if that is not permitted.
pub(crate) fn quiet() -> Option<Namespace> {
    linerate_skip::permitted(Namespace::quiet(), |e| e.cause == Cause::Capability)
}

/// Runs `ip` in a namespace.
pub(crate) fn ip(ns: &Namespace, line: &str) -> Result<(), String> {
    let ran = ns.run_in(|| Command::new("ip").args(line.split_whitespace()).output()).unwrap();
    let out = ran.map_err(|e| e.to_string())?;
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
}

/// Frames that an interface has received, as its namespace sees it.
pub(crate) fn received(ns: &Namespace, interface: &str) -> u64 {
    let text = ns.run_in(|| std::fs::read_to_string("/proc/thread-self/net/dev").unwrap()).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {interface} in {text}")).split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A pair between a switch's namespace and a host's: `fN` here, `eN` there, with addresses that end in N.
pub(crate) struct Host {
    pub(crate) ns: Namespace,
    pub(crate) interface: String,
    pub(crate) v4: Ipv4Addr,
    pub(crate) v6: Ipv6Addr,
    pub(crate) index: u32,
    pair: Mutex<VethPair>,
}

impl Host {
    pub(crate) fn new(n: u8, between: &Namespace) -> Self {
        let ns = Namespace::new().unwrap();
        let (ours, interface) = (format!("f{n}"), format!("e{n}"));
        let pair = between.run_in(|| VethPair::new([&ours, &interface], 1, 1500)).unwrap().unwrap();
        let v4 = Ipv4Addr::new(10, 7, 1, n);
        let v6 = Ipv6Addr::new(0xfd07, 0, 0, 0, 0, 0, 0, n.into());
        between.run_in(|| Rtnetlink::open().unwrap().move_to(&interface, &ns).unwrap()).unwrap();
        let up = || {
            let mut net = Rtnetlink::open().unwrap();
            net.add_address(&interface, v4, 24).unwrap();
            net.set_up(&interface, true).unwrap();
            net.link(&interface).unwrap().index
        };
        let index = ns.run_in(up).unwrap();
        ip(&ns, &format!("-6 addr add {v6}/64 dev {interface} nodad")).unwrap();
        ip(&ns, &format!("route add 224.0.0.0/4 dev {interface}")).unwrap();
        Self { ns, interface, v4, v6, index, pair: Mutex::new(pair) }
    }

    /// Frames between the switch and this host that the pair's kernel has dropped: its backlog is shared with other tests.
    pub(crate) fn dropped(&self) -> u64 {
        let pair = self.pair.lock().unwrap();
        let there = self.ns.run_in(|| Rtnetlink::open().unwrap().link(&self.interface).unwrap()).unwrap();
        pair.link(pair.names()[0]).unwrap().stats.tx_dropped + there.stats.tx_dropped
    }
}
